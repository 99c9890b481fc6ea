"""YAML that is more than data, or that would exhaust memory or stack, is rejected at once."""

import pytest

from robot_dynamics_ros.base.errors import RobotModelWarning
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_documents, load_yaml


def test_plain_data_is_read() -> None:
    assert load_yaml(
        b"a: [1, 1e-3, -2.5E+6, x, true, null]\nb: {c: &d [1], e: *d}"
    ) == {
        "a": [1, 1e-3, -2.5e6, "x", True, None],
        "b": {"c": [1], "e": [1]},
    }
    assert load_yaml(b"") is None
    assert load_documents(b"1\n---\n2\n---\n") == [1, 2, None]
    assert load_yaml("base: &b {x: 1}\nmore: {<<: *b, y: 2}")["more"] == {
        "x": 1,
        "y": 2,
    }


def test_numbers_in_another_base_are_named() -> None:
    """Numbers that YAML 1.1 reads in another base cause a warning, but not texts in quotes."""
    with pytest.warns(RobotModelWarning) as caught:
        values = load_yaml("[017, -1:30, 1:30.5, '017', a017, 0, 0.5, 1.7]", "arm.yaml")
    assert values == [15, -90, 90.5, "017", "a017", 0, 0.5, 1.7]
    for warning, number in zip(caught, ("017", "-1:30", "1:30.5"), strict=True):
        assert f"arm.yaml: {number}," in str(warning.message)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[" * 100_000, "line 1, column 33"),
        (b"\n".join(b" " * k + b"a:" for k in range(5000)), "line 33"),
        (b"a: &a [*a]", "alias"),
        (b"a: 1\nb: 2\na: 3", "'a'.*line 3, column 1"),
        (b"[1, 2]: 3", "unhashable"),
        (b"a: 2001-13-45", "month"),
        (b"1\n---\n2", "2 documents"),
        (b"\xff\xfe\x00\xd8\x00\xd8", "."),
        (b"*a", "alias"),
        (b"!!bool maybe", "tag"),
        (b"!!int ''", "tag"),
    ],
)
def test_refused(text: bytes, reason: str) -> None:
    with pytest.raises(NotPlainYaml, match=reason) as caught:
        load_yaml(text)
    assert "\n" not in str(caught.value)

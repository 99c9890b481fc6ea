"""Comparison of recordings; its result as a table and as JUnit XML."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.alignment import align, paired
from robot_dynamics_ros.recordings.bags.comparison import (
    Comparison,
    assert_bags_match,
    compare_bags,
    topic_table,
    write_junit,
)
from robot_dynamics_ros.recordings.bags.differences import (
    FieldComparison,
    FieldDifference,
    TopicDifference,
    difference,
)
from robot_dynamics_ros.recordings.bags.storage import Message
from robot_dynamics_ros.recordings.messages.joint_state import renaming
from support.bag_recordings import JOINT_STATE, header, joint_state, make, serialized

ARRAY = "std_msgs/msg/Float64MultiArray"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
START = 1_700_000_000_000_000_000
PERIOD = 1_000_000
NAN = float("nan")
INF = float("inf")


def state(
    stamp: int, position: Any = (), velocity: Any = (), effort: Any = (), **more: Any
) -> bytes:
    """Return the state of joints a and b; ``more`` are names, frame and little_endian."""
    return joint_state(
        stamp, position=position, velocity=velocity, effort=effort, **more
    )


def array(*numbers: float) -> bytes:
    return serialized(
        ARRAY,
        make("std_msgs/msg/MultiArrayLayout", [], 0),
        np.array(numbers, dtype=float),
    )


def drive_commands(stamp: int, *numbers: float) -> bytes:
    """Return a message of drive_commands; its layout has no dimensions."""
    return serialized(
        ARRAY,
        make("std_msgs/msg/MultiArrayLayout", [], 2),
        np.array([*divmod(stamp, 1_000_000_000), *numbers], dtype=float),
    )


def trajectory(names: Sequence[str], rows: Any) -> bytes:
    """Return a trajectory with a point each second; ``rows`` are the positions."""
    point = "trajectory_msgs/msg/JointTrajectoryPoint"
    duration = "builtin_interfaces/msg/Duration"
    nothing = [np.zeros(0)] * 3
    points = [
        make(point, np.array(row, dtype=float), *nothing, make(duration, k, 0))
        for k, row in enumerate(rows)
    ]
    return serialized(TRAJECTORY, header(0), list(names), points)


def record(
    path: Path,
    messages: Sequence[bytes],
    topic: str = "/x",
    kind: str = JOINT_STATE,
    delay: int = 0,
) -> Path:
    with BagWriter(path, {topic: kind}) as writer:
        for k, data in enumerate(messages):
            writer.write(topic, START + k * PERIOD + delay, data)
    return path


def compare(
    tmp_path: Path,
    a: Sequence[bytes],
    b: Sequence[bytes],
    kind: str = JOINT_STATE,
    **options: Any,
) -> Any:
    paths = (
        record(tmp_path / "a", a, kind=kind),
        record(tmp_path / "b", b, kind=kind, delay=77),
    )
    found = compare_bags(*paths, **options)
    (topic,) = found.topics
    assert found.matches == topic.matches and found.largest == topic.largest
    return topic


def fields(topic: Any) -> dict[str, Any]:
    return {field.name: field for field in topic.fields}


def test_drive_commands_are_paired_by_the_stamp_in_their_data(tmp_path: Path) -> None:
    """A replay has no commands without a state, and begins later."""
    stamps = [START + k * PERIOD for k in range(4)]
    a = [drive_commands(stamp, k) for k, stamp in enumerate(stamps)]
    a.insert(3, drive_commands(0, 7.0))
    b = [drive_commands(stamps[2], 2.0), drive_commands(stamps[3], 3.5)]
    paths = [
        record(tmp_path / name, messages, "/arm/drive_commands", ARRAY)
        for name, messages in (("a", a), ("b", b))
    ]
    (topic,) = compare_bags(*paths, common=True).topics
    assert (topic.count, topic.only_a, topic.only_b) == (2, 3, 0)
    differing = {name for name, field in fields(topic).items() if not field.equal}
    assert differing == {"data[2]"} and topic.largest == 0.5


def test_largest_and_root_mean_square_difference(tmp_path: Path) -> None:
    """Differences 0, 3, -4, 0 on one joint: the largest is 4, the RMS sqrt(25 / 4)."""
    a = [state(START + k * PERIOD, [k, 0], effort=[1, k]) for k in range(4)]
    b = [
        state(START + k * PERIOD, [k + d, 0], effort=[1, k])
        for k, d in enumerate((0, 3, -4, 0))
    ]
    topic = compare(tmp_path, a, b)
    found = fields(topic)
    assert list(found) == [
        "header.frame_id",
        "a position",
        "b position",
        "a effort",
        "b effort",
    ]
    joint = found["a position"]
    assert (joint.count, joint.beyond, joint.largest, joint.rms) == (4, 2, 4.0, 2.5)
    assert (joint.a, joint.b) == (2.0, -2.0)
    at = joint.largest_at
    assert (at.stamp, at.a, at.b) == (
        START + 2 * PERIOD,
        2,
        2,
    ) and at.seconds == pytest.approx(0.002)
    assert joint.first_at.a == 1
    assert all(field.equal for name, field in found.items() if name != "a position")
    assert (topic.count, topic.only_a, topic.only_b, topic.stamped) == (4, 0, 0, True)


def test_one_bit_of_many_messages_is_found(tmp_path: Path) -> None:
    """There are more messages than in one block of the comparison."""
    count = 3000
    altered = 2222
    a, b = (
        [state(START + k * PERIOD, velocity=[0.1, 0.7]) for k in range(count)]
        for _ in range(2)
    )
    b[altered] = state(START + altered * PERIOD, velocity=[0.1, np.nextafter(0.7, 1.0)])
    (field,) = [field for field in compare(tmp_path, a, b).fields if not field.equal]
    assert (field.name, field.count, field.beyond, field.largest) == (
        "b velocity",
        count,
        1,
        np.spacing(0.7),
    )
    assert (field.largest_at.a, field.largest_at.stamp) == (
        altered,
        START + altered * PERIOD,
    )
    assert field.rms == pytest.approx(field.largest / np.sqrt(count))


@given(st.lists(st.tuples(*[st.floats()] * 6), min_size=1, max_size=8), st.data())
def test_any_alteration_is_found(
    rows: list[tuple[float, ...]], data: st.DataObject
) -> None:
    """A bag equals itself; a change of any value is found, in both directions with the same difference."""
    k = data.draw(st.integers(0, len(rows) - 1))
    j = data.draw(st.integers(0, 5))
    value = data.draw(st.floats())
    altered = [list(row) for row in rows]
    altered[k][j] = value
    name = f"{'ab'[j % 2]} {('position', 'velocity', 'effort')[j // 2]}"
    same = value == rows[k][j] or (np.isnan(value) and np.isnan(rows[k][j]))
    whole, other = (
        [state(START + i, row[:2], row[2:4], row[4:]) for i, row in enumerate(table)]
        for table in (rows, altered)
    )
    assert all(field.equal for field in compared(whole, whole))
    forth = compared(whole, other)
    back = compared(other, whole)
    assert [field.largest for field in forth] == [field.largest for field in back]
    for field in forth:
        assert field.matches == (same or field.name != name)
        if not field.matches:
            assert field.largest_at.a == k and field.beyond == 1


def compared(
    a: Sequence[bytes], b: Sequence[bytes], kind: str = JOINT_STATE, **tolerance: float
) -> Any:
    """Compare messages by their order, without bags, and return the fields."""
    times = np.zeros(len(a), dtype=np.int64)
    comparison = FieldComparison(kind, renaming({}), **tolerance)
    comparison.add(zip(a, b, strict=True))
    return comparison.result("/x", align(times, times, stamped=False)).fields


@given(
    st.lists(st.floats(), min_size=1, max_size=20),
    st.data(),
    st.floats(0, 10),
    st.floats(0, 1),
)
def test_tolerance_equals_that_of_isclose(
    a: list[float], data: st.DataObject, atol: float, rtol: float
) -> None:
    """np.isclose with equal_nan, on numbers whose tolerance does not overflow to infinity."""
    near = [
        st.just(x) | st.floats() | st.floats(-10, 10).map(lambda d, x=x: x + d)
        for x in a
    ]
    b = [data.draw(strategy) for strategy in near]
    found = compared(
        [array(x) for x in a], [array(x) for x in b], ARRAY, atol=atol, rtol=rtol
    )
    (field,) = [field for field in found if field.name == "data[0]"]
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        huge = np.abs(np.array(a) - np.array(b)) == INF
    close &= ~huge | (np.array(a) == np.array(b))
    assert field.beyond == int((~close).sum())


def test_differences_of_nan_and_infinity() -> None:
    a = np.array([NAN, NAN, INF, INF, INF, 0.0, 1.0])
    b = np.array([NAN, 1.0, INF, -INF, 1.0, -0.0, 3.0])
    np.testing.assert_array_equal(difference(a, b), [0, INF, 0, INF, INF, 0, 2])
    np.testing.assert_array_equal(difference(b, a), difference(a, b))


def test_nan_signed_zero_and_byte_order_are_no_difference(tmp_path: Path) -> None:
    """NaN equals NaN of any bits, -0 equals 0, and messages may differ in byte order."""
    other_nan = np.uint64(0xFFF8000000000123).view(np.float64)
    a = [state(START, [NAN, 0.0]), state(START + 1, [1, 2])]
    b = [state(START, [other_nan, -0.0]), state(START + 1, [1, 2], little_endian=False)]
    assert a[0] != b[0] and a[1] != b[1]
    assert all(field.equal for field in compare(tmp_path, a, b).fields)


@given(
    st.lists(st.integers(0, 12), max_size=30), st.lists(st.integers(0, 12), max_size=30)
)
def test_alignment(a: list[int], b: list[int]) -> None:
    """The k-th message of a stamp is paired with the k-th of that stamp in B, if there is one."""
    messages = [
        [Message("/x", JOINT_STATE, 0, state(stamp)) for stamp in stamps]
        for stamps in (a, b)
    ]
    pairs = align(
        np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), stamped=True
    )
    expected = []
    for i, stamp in enumerate(a):
        partners = [k for k, other in enumerate(b) if other == stamp]
        repeat = a[:i].count(stamp)
        if repeat < len(partners):
            expected.append((i, partners[repeat]))
    assert list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected
    assert sorted([*pairs.a.tolist(), *pairs.only_a.tolist()]) == list(range(len(a)))
    assert sorted([*pairs.b.tolist(), *pairs.only_b.tolist()]) == list(range(len(b)))
    assert list(paired(*messages, pairs)) == [
        (messages[0][i].data, messages[1][k].data) for i, k in expected
    ]


@pytest.mark.parametrize("shift", [1_234_567, -3 * PERIOD, 20 * PERIOD, 10**9])
@pytest.mark.parametrize("lost", [0, 4])
def test_a_constant_shift_of_time_and_a_constant_offset(
    shift: int, lost: int, tmp_path: Path
) -> None:
    """Both are found, also if shifted stamps equal other stamps."""

    def q(k: int) -> list[float]:
        return [np.sin(0.1 * k), 0.0]

    def effort(k: int) -> list[float]:
        return [np.cos(0.3 * k), 1.0]

    a = [state(START + k * PERIOD, q(k), effort=effort(k)) for k in range(200)]
    b = [
        state(START + k * PERIOD + shift, q(k), effort=np.array([0.25, 0]) + effort(k))
        for k in range(lost, 200)
    ]
    if lost and shift % PERIOD == 0:
        return  # the pairs are ambiguous
    topic = compare(tmp_path, a, b)
    assert not topic.matches and (topic.shift, topic.count, topic.only_a) == (
        shift,
        200 - lost,
        lost,
    )
    offset = fields(topic)["a effort"].offset
    assert offset == pytest.approx(0.25, abs=1e-12)
    assert all(
        field.equal and field.offset is None
        for name, field in fields(topic).items()
        if name != "a effort"
    )
    assert "B - A = 0.25" in str(compare_bags(tmp_path / "a", tmp_path / "b"))


def test_recordings_that_begin_at_other_times_are_not_shifted(tmp_path: Path) -> None:
    states = [state(START + k * PERIOD, [np.sin(0.1 * k), 0.0]) for k in range(200)]
    topic = compare(tmp_path, states[:190], states[10:], common=True)
    assert topic.matches and topic.shift == 0 and topic.count == 180


def test_joints_are_renamed(tmp_path: Path) -> None:
    a = [
        state(START, [1, 2], names=("a", "b")),
        state(START + 1, [3, 4], names=("b", "a")),
    ]
    b = [
        state(START, [2, 1], names=("old_b", "x")),
        state(START + 1, [3, 4.5], names=("old_b", "x")),
    ]
    found = fields(compare(tmp_path, a, b, rename={"old_": "", "x": "a"}))
    assert found["a position"].largest == 0.5 and found["b position"].equal


def test_several_publishers_on_one_topic(tmp_path: Path) -> None:
    """An arm, a gripper with frame_id, and messages with more values than names."""
    a = []
    for k in range(30):
        a += [
            state(START + 3 * k, [k, 1]),
            state(START + 3 * k + 1, [k], names=["finger"], frame="hand"),
        ]
        a += [state(START + 3 * k + 2, [k, 1, 2])]
    b = list(a)
    b[46] = state(START + 46, [99], names=["finger"], frame="hand")
    b[50] = state(START + 50, [16, 1, -2])
    found = {
        name: field
        for name, field in fields(compare(tmp_path, a, b)).items()
        if not field.equal
    }
    assert {
        name: (field.largest, field.largest_at.a) for name, field in found.items()
    } == {
        "finger position": (84.0, 46),
        "position[2]": (4.0, 50),
    }


def test_long_arrays_are_one_field(tmp_path: Path) -> None:
    numbers = np.arange(100.0)
    other = numbers.copy()
    other[[60, 70]] += [1, -2]
    topic = compare(
        tmp_path, [array(*numbers), array(1)], [array(*other), array(1, 2)], kind=ARRAY
    )
    found = fields(topic)
    assert (
        found["data"].largest,
        found["data"].largest_at.element,
        found["data"].beyond,
    ) == (2.0, 70, 2)
    assert found["data[1]"].only_b == 1


def test_images_differ_in_elements(tmp_path: Path) -> None:
    """The table has the numbers of the first byte that differs."""
    kind = "sensor_msgs/msg/Image"
    data = np.arange(64, dtype=np.uint8)
    images = [
        serialized(
            kind, header(START), 8, 8, "mono8", 0, 8, np.where(data < k, data, 7)
        )
        for k in (64, 60)
    ]
    topic = compare(tmp_path, images[:1], images[1:], kind=kind)
    (image,) = [field for field in topic.fields if not field.matches]
    assert (image.count, image.beyond, image.largest_at.element, image.a, image.b) == (
        64,
        4,
        60,
        60,
        7,
    )
    assert topic_table(topic).endswith("A 60, B 7")


def test_trajectories_are_compared_joint_by_joint(tmp_path: Path) -> None:
    a = [trajectory(("a", "b"), [[0, 0], [1, 10], [2, 20]])]
    b = [trajectory(("b", "a"), [[0, 0], [10, 1], [19, 2]])]
    found = fields(compare(tmp_path, a, b, kind=TRAJECTORY))
    assert found["a positions"].equal and found["time_from_start"].equal
    assert (found["b positions"].largest, found["b positions"].largest_at.element) == (
        1.0,
        2,
    )
    longer = compare(
        tmp_path / "more",
        a,
        [trajectory(("a", "b"), [[0, 0], [1, 10], [2, 20], [3, 30]])],
        TRAJECTORY,
    )
    assert not longer.matches and "length of a positions" in fields(longer)


def test_nested_messages(tmp_path: Path) -> None:
    kind = "diagnostic_msgs/msg/DiagnosticArray"

    def report(level: int, value: str) -> bytes:
        pair = make("diagnostic_msgs/msg/KeyValue", "rate", value)
        status = make(
            "diagnostic_msgs/msg/DiagnosticStatus", level, "n", "m", "h", [pair]
        )
        return serialized(kind, header(START), [status])

    topic = compare(tmp_path, [report(0, "1")], [report(2, "1.0")], kind=kind)
    differing = [field.name for field in topic.fields if not field.matches]
    assert differing == ["status[0].level", "status[0].values[0].value"]


def test_invalid_messages_are_compared_as_bytes(tmp_path: Path) -> None:
    truncated = state(START, [1, 2])[:-20]
    assert compare(tmp_path, [truncated], [truncated]).matches
    topic = compare(tmp_path / "2", [truncated], [truncated[:-1] + b"x"])
    assert [field.name for field in topic.fields if not field.matches] == ["bytes"]
    without_stamp = compare(tmp_path / "3", [truncated[:6]], [truncated])
    assert (without_stamp.only_a, without_stamp.only_b) == (1, 1)


def one_of_each(path: Path, topics: dict[str, str]) -> Path:
    with BagWriter(path, topics) as writer:
        for topic, kind in topics.items():
            writer.write(
                topic, START, state(START, [1, 2]) if kind == JOINT_STATE else array(1)
            )
    return path


def test_common_topics_are_compared(tmp_path: Path) -> None:
    a = one_of_each(tmp_path / "a", {"/x": JOINT_STATE, "/y": JOINT_STATE, "/z": ARRAY})
    b = one_of_each(tmp_path / "b", {"/y": JOINT_STATE, "/z": ARRAY, "/w": JOINT_STATE})
    found = compare_bags(a, b)
    assert [topic.topic for topic in found.topics] == ["/y", "/z"] and found.alone == (
        "/x",
        "/w",
    )
    with pytest.raises(AssertionError, match="/x, /w"):
        assert_bags_match(a, b)
    for chosen in ({"common": True}, {"topics": ["/y", "/z"]}):
        assert_bags_match(a, b, **chosen)
    assert [topic.topic for topic in compare_bags(a, b, ["z", "/y", "/z"]).topics] == [
        "/z",
        "/y",
    ]


@pytest.mark.parametrize("common", [False, True])
def test_a_changed_type_is_a_difference_and_other_topics_are_compared(
    common: bool, tmp_path: Path
) -> None:
    a, b = (
        one_of_each(tmp_path / kind[-5:], {"/x": kind, "/y": JOINT_STATE})
        for kind in (JOINT_STATE, ARRAY)
    )
    found = compare_bags(a, b, common=common)
    assert [topic.topic for topic in found.topics] == ["/y"] and found.topics[0].matches
    assert (
        found.alone == ("/x",)
        and not found.matches
        and f"its type is {JOINT_STATE}" in str(found)
    )


def test_diagnostics_of_a_live_recording_are_not_compared(tmp_path: Path) -> None:
    kind = "diagnostic_msgs/msg/DiagnosticArray"
    for k, name in enumerate("ab"):
        with BagWriter(
            tmp_path / name, {"/diagnostics": kind, "/y": JOINT_STATE}
        ) as writer:
            writer.write("/diagnostics", START, serialized(kind, header(START + k), []))
            writer.write("/y", START, state(START, [1, 2]))
    assert_bags_match(tmp_path / "a", tmp_path / "b", common=True)
    for options in ({}, {"common": True, "topics": ["/diagnostics"]}):
        with pytest.raises(AssertionError, match="/diagnostics"):
            assert_bags_match(tmp_path / "a", tmp_path / "b", **options)


def test_errors_name_bags_and_topics(tmp_path: Path) -> None:
    x, y, other = (
        one_of_each(tmp_path / name, kinds)
        for name, kinds in (
            ("x", {"/x": JOINT_STATE}),
            ("y", {"/y": JOINT_STATE}),
            ("other", {"/x": ARRAY}),
        )
    )
    empty = record(tmp_path / "empty", [])
    for a, b, topics, culprit in (
        (x, y, None, f"{x}, {y}"),
        (x, other, None, f"{x}, {other}: /x .*{JOINT_STATE}.*{ARRAY}"),
        (x, y, ["/x"], f"{y}: .*/x.* /y"),
        (x, tmp_path / "missing", None, "missing"),
        (empty, empty, None, "/x"),
    ):
        with pytest.raises(BagError, match=culprit):
            compare_bags(a, b, topics)
    for wrong in (-1.0, np.nan):
        with pytest.raises(BagError, match=str(wrong)):
            compare_bags(x, x, atol=wrong)


def test_tolerances_are_absolute_and_relative_to_b(tmp_path: Path) -> None:
    """|10 - 10.5| <= atol + rtol 10.5."""
    a, b = (
        record(tmp_path / name, [state(START, [x, 0])])
        for name, x in (("a", 10), ("b", 10.5))
    )
    assert_bags_match(a, a)
    for atol, rtol in ((0.5, 0.0), (0.0, 0.048)):
        assert_bags_match(a, b, atol=atol, rtol=rtol)
        with pytest.raises(AssertionError, match="a position"):
            assert_bags_match(a, b, atol=0.98 * atol, rtol=0.98 * rtol)
    (topic,) = compare_bags(a, b, atol=1.0).topics
    assert topic.largest == 0.5 and not fields(topic)["a position"].equal


def test_table_has_topics_places_and_values(tmp_path: Path) -> None:
    a = [state(START + k * PERIOD, [k, k], [0, 0]) for k in range(5)]
    b = [
        state(START + k * PERIOD, [k, k], names=("a", "c"), frame="b")
        for k in (3, 1, 0, 9, 8)
    ]
    rows = {"a": [(1, 2), (3, 4), (5, NAN), (7, 8)], "b": [(1, 2.5), (3, 4.25), (5, 6)]}
    for name, states in (("a", a), ("b", b)):
        with BagWriter(tmp_path / name, {"/x": JOINT_STATE, "/z": ARRAY}) as writer:
            for data in states:
                writer.write("/x", START, data)
            for k, row in enumerate(rows[name]):
                writer.write("/z", START + k * PERIOD, array(*row))
    found = compare_bags(tmp_path / "a", tmp_path / "b", atol=0.3)
    text = str(found)
    for part in (
        "atol 0.3, rtol 0",
        "/x, /z",
        "0.009000 s, message 3, stamp 1700000000.009000000",
        "message 0 of A, 2 of B, stamp 1700000000.000000000; A '', B 'b'",
        "inf  inf  0.002000 s, message 2; A nan, B 6.0",
    ):
        assert part in text
    x, z = found.topics
    assert not x.matches and x.stamped and (x.count, x.only_a, x.only_b) == (3, 2, 2)
    assert (
        not z.matches and not z.stamped and (z.count, z.only_a, z.only_b) == (3, 1, 0)
    )
    assert fields(x)["b position"].only_a == fields(x)["c position"].only_b == 3


def test_tables_have_a_maximum_length(tmp_path: Path) -> None:
    names = [f"j{k}" for k in range(100)]
    a, b = (
        record(tmp_path / name, [state(START, np.full(100, x), names=names)])
        for name, x in (("a", 0), ("b", 1))
    )
    text = str(compare_bags(a, b))
    assert "60 more" in text and len(text.splitlines()) < 60


def test_common_messages_are_compared(tmp_path: Path) -> None:
    """Messages that a live recording lacks are counted; all others must agree."""
    states = [state(START + k * PERIOD, [0.1 * k, 0.2]) for k in range(20)]
    whole = record(tmp_path / "whole", states)
    part = record(tmp_path / "part", [states[3], *states[7:18]])
    assert_bags_match(whole, part, common=True)
    found = compare_bags(part, whole, common=True)
    assert (found.topics[0].count, found.topics[0].only_a, found.topics[0].only_b) == (
        12,
        0,
        8,
    )
    with pytest.raises(AssertionError, match="/x"):
        assert_bags_match(whole, part)
    altered = record(tmp_path / "altered", [state(START + 9 * PERIOD, [0.9, 0.3])])
    with pytest.raises(AssertionError, match="b position"):
        assert_bags_match(whole, altered, common=True)
    other = record(tmp_path / "other", [state(START + 1, [0.1, 0.2])])
    with pytest.raises(AssertionError, match="/x"):
        assert_bags_match(whole, other, common=True)


# JUnit XML: https://github.com/windyroad/JUnit-Schema, and Jenkins' junit-10.xsd


def outcome(*topics: tuple[str, float]) -> Comparison:
    found = []
    for topic, largest in topics:
        field = FieldDifference(
            "data",
            7,
            int(largest > 0),
            0,
            0,
            largest,
            largest / 7,
            None,
            None,
            0.0,
            largest,
        )
        found.append(
            TopicDifference(
                topic, "std_msgs/msg/Float64", False, 7, 0, 0, None, None, (field,)
            )
        )
    return Comparison(
        Path("first"), Path("second"), 0.0, 0.0, tuple(found), ("a note",), ("/alone",)
    )


def read_junit(path: Path) -> ElementTree.Element:
    suites = ElementTree.parse(path).getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    assert suite.tag == "testsuite"
    # Attributes and order of elements in the stricter schema.
    required = {
        "package",
        "id",
        "name",
        "timestamp",
        "hostname",
        "tests",
        "failures",
        "errors",
        "time",
    }
    assert set(suite.attrib) == required
    tags = [child.tag for child in suite]
    assert tags == [
        "properties",
        *["testcase"] * int(suite.attrib["tests"]),
        "system-out",
        "system-err",
    ]
    for case in suite.iter("testcase"):
        assert {"classname", "name", "time"} == set(case.attrib)
        assert all({"message", "type"} == set(problem.attrib) for problem in case)
    for kind in ("failures", "errors"):
        assert int(suite.attrib[kind]) == len(list(suite.iter(kind[:-1])))
    return suite


def test_junit_has_a_case_for_each_topic(tmp_path: Path) -> None:
    """Characters that are invalid in XML are replaced."""
    write_junit(
        outcome(("/x", 0.0), ('/a<b>&"\x01\ud800', 0.5)), tmp_path / "out.xml", 1.25
    )
    suite = read_junit(tmp_path / "out.xml")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["time"]) == (
        "3",
        "2",
        "1.250",
    )
    x, y, alone = suite.iter("testcase")
    assert (x.attrib["name"], y.attrib["name"], alone.attrib["name"]) == (
        "/x",
        '/a<b>&"??',
        "/alone",
    )
    assert len(x) == 0 and len(alone) == 1
    (failure,) = y
    assert failure.attrib["message"].startswith('/a<b>&"??: ')
    assert "A 0.0, B 0.5" in (failure.text or "") and "/x" not in (failure.text or "")
    assert "a note" in (suite.findtext("system-out") or "")


def test_junit_of_an_error_and_overwriting(tmp_path: Path) -> None:
    write_junit(BagError("no such <bag>"), tmp_path / "out.xml")
    (error,) = read_junit(tmp_path / "out.xml").iter("error")
    assert error.attrib["message"] == error.text == "no such <bag>"
    for taken in (tmp_path / "out.xml", tmp_path / "missing" / "out.xml"):
        with pytest.raises(BagError, match=f"{taken}: "):
            write_junit(outcome(), taken)
    write_junit(outcome(), tmp_path / "out.xml", overwrite=True)

"""Malicious URDFs, dynamics and parameter files: refused at once, without opening files or running code."""

import sys
from pathlib import Path

import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.dynamics.codegen import loading
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file
from support.crafted_bags import soon
from tools.fuzz.trial import no_file_is_opened

pytestmark = pytest.mark.filterwarnings(
    "ignore::robot_dynamics_ros.base.errors.RobotModelWarning"
)

ROOT = Path(__file__).resolve().parents[2]
ARM = '<robot name="r"><link name="a"/>{}</robot>'
JOINT = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
LAUGHS = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        f'<!DOCTYPE robot [<!ENTITY e0 "ha">{LAUGHS}]>' + ARM.format("&e11;"),
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        + ARM.format("&x;"),
        '<!DOCTYPE robot [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]>'
        + ARM.format(""),
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd">' + ARM.format(""),
        f'<!DOCTYPE robot [<!ENTITY q "{"q" * 100_000}">]>'
        + ARM.format("&q;" * 10_000),
    ],
    ids=["laughs", "file", "network", "external", "quadratic"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_of_a_urdf_are_refused(text: str, encoding: str) -> None:
    with soon(), no_file_is_opened(), pytest.raises(RobotModelError, match="entities"):
        RobotModel.from_urdf(text.encode(encoding))


@pytest.mark.parametrize(
    "part",
    [
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>',
        '<link name="c"><visual><geometry><mesh filename="/etc/passwd"/></geometry></visual></link>',
        '<link name="c"><visual><geometry><mesh filename="package://x/../../etc/passwd"/></geometry></visual></link>',
    ],
)
def test_files_named_in_a_urdf_are_not_opened(part: str) -> None:
    arm = ARM.format('<link name="b"/>' + JOINT + "{}")
    if "<link" in part:
        part += JOINT.replace('"j"', '"k"').replace('"b"', '"c"')
    RobotModel.from_urdf(arm.format(""))  # imports what it needs
    with no_file_is_opened():
        assert RobotModel.from_urdf(arm.format(part)).n == 1 + ("<link" in part)


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * 300_000,
        ARM.format("<a>" * 50_000 + "</a>" * 50_000),
        ARM.format("<visual/>" * 300_000),
    ],
    ids=["open", "deep", "many"],
)
def test_large_urdfs_are_refused(text: str) -> None:
    with soon(), pytest.raises(RobotModelError):
        RobotModel.from_urdf(text)


YAML = {
    "object": "!!python/object/apply:os.system ['touch {}']",
    "module": "!!python/module:os",
    "bomb": "a0: &a0 [1, 1]\n"
    + "\n".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 60)),
    "deep": "[" * 100_000,
}
READERS = {
    "dynamics": lambda file: RobotModel.from_urdf_file(
        ROOT / "urdf" / "panda.urdf", dynamics=file
    ),
    "parameters": lambda file: read_parameter_file(
        file, "/computed_torque_node", controller.ALL
    ),
    "trajectory": read_trajectory_file,
}


@pytest.mark.parametrize("kind", YAML)
@pytest.mark.parametrize("reader", READERS)
def test_yaml_is_data_only(kind: str, reader: str, tmp_path: Path) -> None:
    """Tags that create Python objects, and documents that fill the memory, are refused for all YAML files."""
    made = tmp_path / "made"
    file = tmp_path / "file.yaml"
    file.write_text(YAML[kind].replace("{}", str(made)), encoding="utf-8")
    with soon(), pytest.raises(RobotDynamicsError):
        READERS[reader](file)
    assert not made.exists()


class _Stop(Exception):
    pass


def test_generated_source_excludes_names_of_the_robot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A joint with the name of a statement does not appear in generated source."""
    written: list[str] = []

    def load_source(source: str, name: str) -> None:
        written.extend((source, name))
        raise _Stop

    for module in [
        loading,
        *(m for m in list(sys.modules.values()) if getattr(m, "load_source", None)),
    ]:
        monkeypatch.setattr(module, "load_source", load_source)
    urdf = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
    for name in ("joint1", "planar_2r", "link1"):
        urdf = urdf.replace(f'"{name}"', f'"x\n    raise SystemExit({name})"')
    model = RobotModel.from_urdf(urdf)
    assert any("SystemExit" in name for name in model.joint_names)
    with pytest.raises(_Stop):
        model.customised().inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert written and not any("SystemExit" in source for source in written)

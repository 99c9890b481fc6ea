"""Errors of commands on stderr, and the treatment of existing files."""

from pathlib import Path

import pytest

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.cli import processes
from robot_dynamics_ros.cli.main import main

ROOT = Path(__file__).resolve().parents[2]

#: Words of the command line, and what its error names.
ERRORS = [
    ("excite", "--robot"),
    ("excite --robot planar_2r --joints joint9", "joint9"),
    ("excite --robot planar_2r --cycles 0", "--cycles"),
    ("excite --robot planar_2r --margin 2", "margin 2"),
    ("excite --robot planar_2r --restarts 1 -o /no/such/folder.yaml", "/no/such/folder.yaml"),
    ("identify bag -o no/new.yaml", "no/new.yaml"),
    ("identify bag -o new.yaml --holdout=-0.1", "--holdout"),
    ("identify bag -o new.yaml --holdout 0.95", "--holdout"),
    ("inspect nosuch", "nosuch"),
    ("inspect panda --equations", "7 joints of panda"),
    ("inspect panda --joints nosuch", "nosuch"),
    ("inspect panda --locked nosuch=1", "nosuch"),
    ("inspect panda --locked panda_joint1=nan", "panda_joint1"),
    ("inspect panda --xacro-arg a:=1", "--xacro-arg"),
    ("inspect scara --state 0.1", "--state"),
    ("inspect scara --state 0 nan 0", "not finite"),
    ("inspect scara --dynamics /no/such.yaml", "/no/such.yaml"),
    ("simulate nosuch", "nosuch"),
    ("simulate scara --duration 0", "--duration"),
    ("simulate scara --duration 1e9", "--duration"),
    ("simulate fallen.urdf --law pd", '"joint1"'),
    ("simulate scara --rate 1e9", "publish_rate"),
    ("simulate scara --rate 0.5", "state_timeout"),
    ("simulate scara --mass-scale -1", "mass_scale"),
    ("simulate scara --friction-scale 1 2", "friction_scale"),
    ("simulate scara --config /no/such.yaml", "/no/such.yaml"),
    ("simulate scara --trajectory /no/such.yaml", "/no/such.yaml"),
    ("simulate scara --plant-dynamics /no/such.yaml", "/no/such.yaml"),
    ("simulate planar_2r --config floating.yaml", "gravity_compensation"),
    ("simulate planar_2r --trajectory elbow.yaml", "'elbow'"),
    ("view planar_2r --host 192.0.2.1", "192.0.2.1"),
    ("view planar_2r --host nowhere.invalid", "nowhere.invalid"),
    ("view planar_2r nothing --live", "only one of them"),
    ("view planar_2r nothing", "nothing"),
]


@pytest.mark.parametrize(("line", "culprit"), ERRORS, ids=[line for line, _ in ERRORS])
def test_errors_name_the_culprit(
    line: str, culprit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if line.startswith("view"):
        pytest.importorskip("viser")
        pytest.importorskip("yourdfpy")
    monkeypatch.chdir(tmp_path)
    arm = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
    Path("fallen.urdf").write_text(arm.replace('velocity="6"', 'velocity="0.1"'), encoding="utf-8")
    Path("floating.yaml").write_text("/**: {ros__parameters: {law: gravity_compensation}}", encoding="utf-8")
    points = "[{positions: [1.0], time_from_start: {sec: 1, nanosec: 0}}]"
    Path("elbow.yaml").write_text(f"joint_names: [elbow]\npoints: {points}", encoding="utf-8")
    assert main(line.split()) == 1
    (reported,) = [part for part in capsys.readouterr().err.splitlines() if part.startswith("robot_dynamics: ")]
    assert culprit in reported


@pytest.mark.parametrize("line", ["demo --live", "play bag", "view planar_2r --live"])
def test_without_ros_commands_that_start_nodes_name_it(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    assert main(line.split()) == 1
    assert "rclpy" in capsys.readouterr().err


# --- Files that are there already

WRITING = {
    "compare": ["bag", "bag", "--junit"],
    "demo": ["--output"],
    "excite": ["--robot", "planar_2r", "-o"],
    "identify": ["bag", "--robot", "planar_2r", "-o"],
    "record": ["/x", "-o"],
    "replay": ["bag", "--robot", "planar_2r", "-o"],
    "report": ["bag", "--robot", "planar_2r", "-o"],
    "simulate": ["planar_2r", "-o"],
    "torque": ["bag", "--robot", "planar_2r", "-o"],
}


@pytest.mark.parametrize("command", WRITING)
def test_nothing_is_overwritten_unasked_and_no_input_ever(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with BagWriter("bag", {}):
        pass
    Path("notes").mkdir()
    Path("link.mcap").symlink_to("bag/bag.mcap")
    Path("hard.mcap").hardlink_to("bag/bag.mcap")
    Path("nowhere").symlink_to("not_there")
    before = {file: file.read_bytes() for file in Path("bag").iterdir()}
    line = WRITING[command]
    inputs = ["bag", "bag/bag.mcap", "link.mcap", "hard.mcap"] if "bag" in line else []
    overwrite = [] if command in ("demo", "record") else ["--overwrite"]
    for output, more in [("bag", []), ("nowhere", []), ("notes", overwrite), *((name, overwrite) for name in inputs)]:
        assert main([command, *line, output, *more]) == (2 if command == "compare" else 1)
        assert capsys.readouterr().err.startswith(f"robot_dynamics: {output}: ")
    assert {file: file.read_bytes() for file in Path("bag").iterdir()} == before and Path("notes").is_dir()


def test_a_bag_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    line = ["simulate", "scara", "--duration", "4", "-o", str(tmp_path / "kept")]
    assert main(line) == 0
    before = (tmp_path / "kept" / "bag.mcap").read_bytes()
    replayed = ["replay", str(tmp_path / "other"), "-o", str(tmp_path / "kept"), "--overwrite"]
    assert main([*line[:-1], str(tmp_path / "other")]) == 0
    assert main([*replayed, "--topic", "joint_states=/nothing"]) == 1
    assert (tmp_path / "kept" / "bag.mcap").read_bytes() == before
    assert main(replayed) == 0
    assert (tmp_path / "kept" / "bag.mcap").read_bytes() != before
    assert {file.name for file in tmp_path.iterdir()} == {"kept", "other"}

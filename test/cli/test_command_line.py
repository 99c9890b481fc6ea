"""What every command does about files that are there already."""

from pathlib import Path

import pytest

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.cli.main import main

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
    before = (tmp_path / "kept" / "kept.mcap").read_bytes()
    replayed = ["replay", str(tmp_path / "other"), "-o", str(tmp_path / "kept"), "--overwrite"]
    assert main([*line[:-1], str(tmp_path / "other")]) == 0
    assert main([*replayed, "--topic", "joint_states=/nothing"]) == 1
    assert (tmp_path / "kept" / "kept.mcap").read_bytes() == before
    assert main(replayed) == 0
    assert (tmp_path / "kept" / "kept.mcap").read_bytes() != before
    assert {file.name for file in tmp_path.iterdir()} == {"kept", "other"}

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
    before = {file: file.read_bytes() for file in Path("bag").iterdir()}
    line, inputs = WRITING[command], ["bag", "bag/bag.mcap", "link.mcap"] if "bag" in WRITING[command] else []
    overwrite = [] if command == "demo" else ["--overwrite"]
    for output, more in [("bag", []), ("notes", overwrite), *((name, overwrite) for name in inputs)]:
        assert main([command, *line, output, *more]) == (2 if command == "compare" else 1)
        assert capsys.readouterr().err.startswith(f"robot_dynamics: {output}: ")
    assert {file: file.read_bytes() for file in Path("bag").iterdir()} == before and Path("notes").is_dir()


def test_overwrite(tmp_path: Path) -> None:
    for command in (["excite", "--robot", "planar_2r", "--restarts", "1"], ["simulate", "scara"]):
        line = [*command, "--duration", "4", "-o", str(tmp_path / command[0])]
        assert main(line) == 0
        assert main(line) == 1
        assert main([*line, "--overwrite"]) == 0

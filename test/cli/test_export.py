"""robot_dynamics export: names, and folders of an earlier export."""

from pathlib import Path

import pytest

from robot_dynamics_ros.cli.main import main


def test_an_export_replaces_another_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check runs the self-test of the new export, although files of the old one remain."""
    output = str(tmp_path / "c")
    line = ["export", "craig_rp", "-o", output]
    assert main(line) == 0
    header = tmp_path / "c" / "craig_rp_dynamics.h"
    header.write_text("mine")
    assert main(line) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main([*line, "--name", "arm", "--overwrite", "--check"]) == 0
    assert "0 failures" in capsys.readouterr().out
    assert header.read_text() == "mine"

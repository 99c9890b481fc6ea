"""The code in README and docs runs, and the dynamics files in README and docs are ones that the package reads."""

import re
from pathlib import Path

import pytest

from robot_dynamics_ros.model.dynamics_file import read_dynamics_file

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SIMULATION = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README + SIMULATION, flags=re.DOTALL)


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(block, "example", "exec"), {})
    assert "nan" not in capsys.readouterr().out


def test_there_are_python_blocks() -> None:
    assert len(BLOCKS) >= 3


def test_dynamics_file_is_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    path = tmp_path / "readme.dynamics.yaml"
    path.write_text(block, encoding="utf-8")
    content = read_dynamics_file(path)
    assert content.joints["joint1"].coulomb_negative == 0.35
    assert content.payload is not None and content.payload[0] == "link2"


def test_dynamics_files_of_the_docs_are_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "dynamics_file.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        path = tmp_path / "docs.dynamics.yaml"
        path.write_text(block, encoding="utf-8")
        read_dynamics_file(path)
    assert len(blocks) == 3

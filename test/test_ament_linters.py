"""Linters of ROS except ament_copyright, from ROS or from Debian (python3-ament-flake8)."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTED = ["robot_dynamics_ros", "launch", "benchmarks", "examples", "setup.py"]

# The numpy convention, less what ruff leaves out, too (D104, D105, D401), and where pydocstyle is wrong: names that
# begin a sentence are not capitalised (D403), and an attribute called "notes" is no section (D405, D407, D410, D411).
DOCSTRINGS = [
    "--convention",
    "numpy",
    "--add-ignore",
    "D104",
    "D105",
    "D401",
    "D403",
    "D405",
    "D407",
    "D410",
    "D411",
]


@pytest.mark.slow
def test_flake8(capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("ament_flake8.main")
    errors, _ = main.main_with_errors(
        argv=["--config", str(ROOT / "setup.cfg"), str(ROOT)]
    )
    assert errors == 0, capsys.readouterr().out


def test_pep257(capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("ament_pep257.main")
    errors = main.main(argv=[*(str(ROOT / path) for path in DOCUMENTED), *DOCSTRINGS])
    assert errors == 0, capsys.readouterr().err


def test_xmllint(capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("ament_xmllint.main")
    if shutil.which("xmllint") is None:
        pytest.skip("xmllint is not installed")
    assert main.main(argv=[str(ROOT / "package.xml")]) == 0, capsys.readouterr().err

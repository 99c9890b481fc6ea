"""The table of what the tests run, and its bars: for lines and for branches, without the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.coverage_table import PART, main

DOCUMENT = f"# Reliability\n\n<!-- begin: {PART} -->\n\nof yesterday\n\n<!-- end: {PART} -->\n\nafter\n"


def _file(lines: int, run: int, branches: int, taken: int) -> dict[str, Any]:
    counts = {"num_statements": lines, "covered_lines": run, "num_branches": branches, "covered_branches": taken}
    return {"summary": counts}


def _report(folder: Path, **changed: dict[str, Any]) -> str:
    """A report that just meets both bars, apart from ``changed``: names of modules, __ for /."""
    files = {
        "errors": _file(10, 10, 0, 0),
        "model__urdf": _file(100, 95, 50, 45),
        "model__inertia": _file(90, 85, 50, 45),
        "cli__view": _file(100, 0, 50, 0),
        **changed,
    }
    path = folder / "report.json"
    content = {"files": {f"robot_dynamics_ros/{name.replace('__', '/')}.py": file for name, file in files.items()}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_a_row_for_each_folder_and_their_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([_report(tmp_path)]) == 0
    _, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["`cli/`", "100", "0.0 %", "50", "0.0 %"],
        ["`model/`", "190", "94.7 %", "100", "90.0 %"],
        ["`robot_dynamics_ros/*.py`", "10", "100.0 %", "0", "100.0 %"],
        ["all but `cli/`", "200", "95.0 %", "100", "90.0 %"],
    ]


@pytest.mark.parametrize(
    ("urdf", "said"),
    [(_file(100, 94, 50, 50), "94.5 % of the lines ran"), (_file(100, 100, 50, 44), "89.0 % of the branches ran")],
)
def test_each_bar_counts_for_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], urdf: dict[str, Any], said: str
) -> None:
    assert main([_report(tmp_path, model__urdf=urdf)]) == 1
    problem = capsys.readouterr().err
    assert said in problem and "Cure: " in problem
    assert len(problem.splitlines()) == 1


def test_shares_are_rounded_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What misses its bar by little must not look as if it had met it."""
    assert main([_report(tmp_path, model__urdf=_file(100_000, 94_999, 0, 0))]) == 1
    assert "94.9 %" in capsys.readouterr().err


def test_the_table_goes_into_its_place(tmp_path: Path) -> None:
    page = tmp_path / "reliability.md"
    page.write_text(DOCUMENT, encoding="utf-8")
    assert main([_report(tmp_path), "--write", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "of yesterday" not in text and "| all but `cli/`" in text and text.endswith("\n\nafter\n")

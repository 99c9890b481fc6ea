"""The notebook runs from top to bottom, by itself and under Jupyter, and is stored without outputs."""

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from example_scripts import EXAMPLES

TOUR = EXAMPLES / "tour.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(TOUR.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_it_is_stored_without_outputs(cells: list[dict[str, Any]]) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_its_code_says_what_its_text_says(cells: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), names)
    names["plt"].close("all")
    # The Coulomb level of panda_joint7, a hundredth of the ramp above it at most.
    level = names["arm"].friction_torque(names["q"], np.eye(7)[6] * 1e-9)[6]
    assert level < names["pushes"][names["moved"]] < level + 0.01
    assert "before that it moved by 0.0 rad" in capsys.readouterr().out
    errors = names["errors"]
    assert errors["pd"] > errors["pd_gravity"] > 100.0 * errors["computed_torque"]


@pytest.mark.slow
def test_jupyter_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    notebook = nbformat.read(TOUR, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [
        output for cell in notebook.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 3

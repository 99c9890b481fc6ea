"""The notebook runs from top to bottom and finds what its text says."""

import json
from typing import Any

import matplotlib
import numpy as np
import pytest

from support.example_scripts import EXAMPLES


def test_its_code_finds_what_its_text_says(capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), names)
    names["plt"].close("all")
    # The Coulomb level of panda_joint7, a hundredth of the ramp above it at most.
    level = names["arm"].friction_torque(names["q"], np.eye(7)[6] * 1e-9)[6]
    assert level < names["pushes"][names["moved"]] < level + 0.01
    assert "before that it moved by 0.0 rad" in capsys.readouterr().out
    errors = names["errors"]
    assert errors["pd"] > errors["pd_gravity"] > 100.0 * errors["computed_torque"]

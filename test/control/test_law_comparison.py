"""Computed torque compared with independent joint control: Craig 10.4; Khosla and Kanade 1989."""

import pytest

from benchmarks import control_laws
from benchmarks.control_laws import EXACT, FRICTION, OFF, compare, load


def test_computed_torque_beats_independent_joint_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without saturation, by far with an exact model."""
    monkeypatch.setattr(control_laws, "DRAWS", 1)
    results = compare(
        load("Panda", 4.0),
        (EXACT, OFF, FRICTION),
        ("pd", "pd_gravity", "computed_torque"),
    )
    pd, _, ours = (
        {column: result.error for column, result in results[law].items()}
        for law in results
    )
    assert ours[EXACT] < 1.0 and ours[EXACT] < pd[EXACT] / 100.0
    assert ours[OFF] < pd[OFF] / 10.0
    assert ours[FRICTION] < pd[FRICTION]
    # Model errors do not affect laws that do not use that part of the model.
    assert ours[EXACT] < ours[OFF] < ours[FRICTION]
    assert results["pd"][FRICTION] == results["pd"][EXACT]
    assert results["pd_gravity"][EXACT].error < pd[EXACT]

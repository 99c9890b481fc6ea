"""Runs of tools/hint_study: mistakes of recordings and residuals without a cause are named, and nothing else is."""

import pytest

from tools.hint_study import run

pytestmark = [
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.base.errors.BagWarning"),
]


@pytest.mark.parametrize(
    "kind",
    [
        "healthy", "payload later", "drift", "spring", "cycle of three", "wrong gains", "external torque", "commanded",
        "turns", "percent", "motor side", "clipped", "stamps ms", "late velocity", "constant position", "spikes",
        "repeated", "wrapped", "slow drift", "lugre", "ripple",
    ],
)  # fmt: skip
def test_kind_is_named(kind: str) -> None:
    result = run("puma560", kind, 1)
    assert result["right"], result["hints"]

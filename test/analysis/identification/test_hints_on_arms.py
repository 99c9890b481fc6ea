"""Hints on recordings of arms with friction and noise in all joints: the true causes and no others."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from robot_dynamics_ros.analysis.identification.hints import hints
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from support.arm_cases import CASES, Arm

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


@pytest.mark.parametrize(
    ("robot", "seeds"),
    [
        ("ur5e", [0]),
        pytest.param("ur5e", range(1, 20), marks=pytest.mark.slow),
        pytest.param("panda", range(20), marks=pytest.mark.slow),
    ],
    ids=["ur5e", "ur5e, many", "panda, many"],
)
@pytest.mark.parametrize("name", CASES)
def test_hints_name_exactly_the_true_causes(
    name: str, robot: str, seeds: Sequence[int], urdf_path: Callable[[str], Path], tmp_path: Path
) -> None:
    for seed in seeds:
        case = CASES[name](Arm(urdf_path(robot), tmp_path, seed))
        reported = hints(case.model, analyse_torque(case.model, case.motion))
        assert len(reported) == len(case.causes), (seed, reported)
        for cause in case.causes:
            assert any(cause in hint for hint in reported), (seed, cause, reported)

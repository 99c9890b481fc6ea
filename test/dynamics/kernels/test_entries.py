"""Single-state kernels reject wrong shapes and report singular robots; test_batches.py tests their results."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR, WRONG_SHAPE
from support import arms

N = 3
VECTOR = (N,)
MATRIX = (N, N)
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "inverse_dynamics": [VECTOR, VECTOR, VECTOR, VECTOR],
    "gravity_torque": [VECTOR, VECTOR],
    "mass_matrix": [VECTOR, MATRIX],
    "forward_dynamics": [VECTOR, VECTOR, VECTOR, VECTOR],
    "inverse_dynamics_derivatives": [VECTOR, VECTOR, VECTOR, (2, N, N)],
    "friction_torque": [(1,), VECTOR, VECTOR, VECTOR, VECTOR],
}


@pytest.fixture(scope="module")
def model() -> RobotModel:
    arm = arms.random_arm(
        np.random.default_rng(2), [0, 1, 2], ["revolute", "prismatic", "continuous"]
    )
    dynamics = "<dynamics damping='0.7' friction='0.2'/>"
    return RobotModel.from_urdf(arm.with_joint(arm.joints[0].name, extra=dynamics).urdf)


@pytest.mark.parametrize("name", SHAPES)
def test_wrong_shapes_are_found(name: str, model: RobotModel) -> None:
    """Each axis of each argument is made too long and too short. The result is not written then."""
    fixed = [
        *_with_scratch(model),
        *([model.friction_parameters.flatten()] if name == "friction_torque" else []),
    ]
    entry = getattr(entries, name)
    assert entry(*fixed, *map(np.zeros, SHAPES[name])) == OK
    for k, shape in enumerate(SHAPES[name]):
        for axis in range(len(shape)):
            for change in (-1, 1):
                shapes = [list(shape) for shape in SHAPES[name]]
                shapes[k][axis] += change
                arrays = [np.full(shape, 0.7) for shape in shapes]
                assert entry(*fixed, *arrays) == WRONG_SHAPE
                assert all((array == 0.7).all() for array in arrays)


@pytest.mark.filterwarnings("ignore:.*mass")
@pytest.mark.parametrize("coordinate", [0, 1])
def test_the_coordinate_of_a_singular_robot_is_reported(coordinate: int) -> None:
    """Two coaxial joints, with mass beyond the second joint or between the two only."""
    heavy = arms.Link("", 1.0, (0.3, 0.0, 0.0), np.eye(3))
    links = [heavy, arms.Link("")] if coordinate else [arms.Link(""), heavy]
    model = RobotModel.from_urdf(arms.planar_2r(0.0, 0.5, *links).urdf)
    q, qd, tau, qdd = np.zeros((4, 2))
    assert (
        entries.forward_dynamics(*_with_scratch(model), q, qd, tau, qdd)
        == SINGULAR + coordinate
    )
    assert OK < WRONG_SHAPE < SINGULAR
    states = np.zeros((4, 3, 2))
    for wrenches in (entries.NO_WRENCHES, np.zeros((3, 2, 6))):
        assert (
            entries.forward_dynamics_batch(*_robot(model), wrenches, *states)
            == SINGULAR + coordinate
        )


def _robot(model: RobotModel) -> tuple[Any, Any]:
    return model.kernels.topology.copy(), model.kernels.parameters.copy()


def _with_scratch(model: RobotModel) -> tuple[Any, Any]:
    topology, parameters = _robot(model)
    return topology, entries.with_scratch(topology, parameters)

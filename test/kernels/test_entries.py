"""The kernels for one state: they find wrong shapes and singular robots, and otherwise do as those for many states."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels import entries
from robot_dynamics_ros.kernels.entries import OK, SINGULAR, WRONG_SHAPE
from support import arms

N = 3
VECTOR, MATRIX = (N,), (N, N)
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "inverse_dynamics": [VECTOR, VECTOR, VECTOR, VECTOR],
    "gravity_torque": [VECTOR, VECTOR],
    "mass_matrix": [VECTOR, MATRIX],
    "forward_dynamics": [VECTOR, VECTOR, VECTOR, VECTOR],
    "inverse_dynamics_derivatives": [VECTOR, VECTOR, VECTOR, MATRIX, MATRIX],
    "friction_torque": [(1,), VECTOR, VECTOR, VECTOR],
}


@pytest.fixture(scope="module")
def model() -> RobotModel:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1, 2], ["revolute", "prismatic", "continuous"])
    dynamics = "<dynamics damping='0.7' friction='0.2'/>"
    return RobotModel.from_urdf(arm.with_joint(arm.joints[0].name, extra=dynamics).urdf)


def call(name: str, model: RobotModel, shapes: list[tuple[int, ...]]) -> tuple[int, list[Any]]:
    """Status and arguments."""
    packed, rng = model.packed, np.random.default_rng(3)
    arrays = [rng.uniform(0.5, 1.0, shape) for shape in shapes]
    fixed = [packed.friction.ravel()] if name == "friction_torque" else []
    status = getattr(entries, name)(packed.structure, packed.numbers, *fixed, *arrays)
    return status, arrays


@pytest.mark.parametrize("name", SHAPES)
def test_wrong_shapes_are_found(name: str, model: RobotModel) -> None:
    """In each argument and each of its axes, too long and too short; nothing is written then."""
    for k, shape in enumerate(SHAPES[name]):
        for axis in range(len(shape)):
            for change in (-1, 1):
                shapes = [list(shape) for shape in SHAPES[name]]
                shapes[k][axis] += change
                status, arrays = call(name, model, [tuple(shape) for shape in shapes])
                rng = np.random.default_rng(3)
                assert status == WRONG_SHAPE
                assert all(np.array_equal(array, rng.uniform(0.5, 1.0, array.shape)) for array in arrays)


@pytest.mark.parametrize("name", SHAPES)
def test_one_state_is_as_one_of_many(name: str, model: RobotModel) -> None:
    status, arrays = call(name, model, SHAPES[name])
    assert status == OK
    results = 2 if name == "inverse_dynamics_derivatives" else 1
    many = [array.copy()[None] for array in arrays]
    for result in many[-results:]:
        result[:] = np.nan
    if name == "gravity_torque":
        rest = np.zeros((1, N))
        many[1:1] = [rest, rest]
        name = "inverse_dynamics"
    if name == "friction_torque":
        entries.friction_batch(*_robot(model), model.packed.friction, float(arrays[0][0]), *many[1:])
    else:
        assert getattr(entries, f"{name}_batch")(*_robot(model), *many) == OK
    for got, expected in zip(arrays[-results:], many[-results:], strict=True):
        np.testing.assert_array_equal(got, expected[0])


@pytest.mark.filterwarnings("ignore:.*mass")
@pytest.mark.parametrize("coordinate", [0, 1])
def test_the_coordinate_of_a_singular_robot_is_told(coordinate: int) -> None:
    """Two joints on one axis, and mass behind the second, or behind the first alone."""
    heavy = arms.Link("", 1.0, (0.3, 0.0, 0.0), np.eye(3))
    links = [heavy, arms.Link("")] if coordinate else [arms.Link(""), heavy]
    model = RobotModel.from_urdf(arms.planar_2r(0.0, 0.5, *links).urdf)
    q, qd, tau, qdd = np.zeros((4, 2))
    assert entries.forward_dynamics(*_robot(model), q, qd, tau, qdd) == SINGULAR + coordinate
    assert OK < WRONG_SHAPE < SINGULAR
    states = np.zeros((4, 3, 2))
    assert entries.forward_dynamics_batch(*_robot(model), *states) == SINGULAR + coordinate
    none = np.zeros((3, 2, 6))
    status = entries.forward_dynamics_under_wrenches(*_robot(model), *states[:3], none, states[3])
    assert status == SINGULAR + coordinate


def _robot(model: RobotModel) -> tuple[Any, Any]:
    return model.packed.structure, model.packed.numbers

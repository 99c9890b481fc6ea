"""The kernels of one robot take plain arrays of its size, and give the last one back; the caller sees to all others."""

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels.general import GeneralKernels
from support import arms

N = 2
AXES = {
    "inverse_dynamics": (1, 1, 1, 1),
    "gravity_torque": (1, 1),
    "mass_matrix": (1, 2),
    "forward_dynamics": (1, 1, 1, 1),
    "inverse_dynamics_derivatives": (1, 1, 1, 2, 2),
}


@pytest.fixture(scope="module")
def kernels() -> GeneralKernels:
    packed = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute"] * N).urdf).packed
    return GeneralKernels(packed.structure, packed.numbers)


@pytest.mark.parametrize("name", AXES)
def test_one_state(name: str, kernels: GeneralKernels) -> None:
    axes = AXES[name]
    arrays = [np.ones(count * (N,)) for count in axes]
    assert getattr(kernels, name)(*arrays) is arrays[-1]
    for k, count in enumerate(axes):
        others = [*arrays[:k], np.ones((3 - count) * (N,)), *arrays[k + 1 :]]
        assert getattr(kernels, name)(*others) is not others[-1]

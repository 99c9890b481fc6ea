"""Forward dynamics with locked joints, and of singular mass matrices; test_pinocchio.py tests all others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels.entries import make_work
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import (
    solve_fixed_mode_motion,
    solve_motion,
)
from robot_dynamics_ros.dynamics.kernels.layout import ModelArrays
from robot_dynamics_ros.dynamics.model.model_data import views
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, size, state


def _robot(model: RobotModel) -> ModelArrays:
    return views(model.kernels.topology.copy(), model.kernels.parameters.copy())


@given(robot=robots(), held=st.integers(0, 255))
def test_held_joints(robot: Robot, held: int) -> None:
    """A qdd + h = force + reaction: locked joints do not accelerate, and only they have a reaction."""
    model = robot.model()
    n = model.n
    kernels = _robot(model)
    q, qd, force = state(robot, n)
    stiffness = np.linspace(0.5, 2.0, n)
    moves = np.array([float(not held >> k & 1) for k in range(n)])
    motion = np.empty((2 + n, n))
    none = np.empty((0, 6))
    failed = solve_fixed_mode_motion(
        kernels,
        q,
        qd,
        force,
        stiffness,
        moves,
        none,
        make_work(kernels),
        np.empty((n, n)),
        motion,
    )
    assert failed == -1
    matrix = model.mass_matrix(q) + np.diag(stiffness)
    bias = model.bias_torque(q, qd)
    free = moves == 1.0
    acceleration = np.zeros(n)
    acceleration[free] = np.linalg.solve(
        matrix[np.ix_(free, free)], (force - bias)[free]
    )
    gain = float(np.abs(np.linalg.inv(matrix)).sum(axis=1).max())
    scale = float(np.abs(bias).max()) + size(model, q, qd, acceleration)
    assert_close(motion[0], acceleration, 1e-12 * max(1.0, gain * scale))
    reaction = np.where(free, 0.0, matrix @ acceleration + bias - force)
    assert_close(
        motion[1], reaction, 1e-12 * max(1.0, float(np.linalg.cond(matrix))), scale
    )
    assert not motion[0][~free].any() and not motion[1][free].any()
    assert_close(motion[2:], matrix, 1e-14)


def test_the_coordinate_without_inertia_is_returned() -> None:
    """-1 is returned for a regular mass matrix."""
    arm = arms.planar_2r(
        1.0,
        1.0,
        arms.Link("", 1.0, (0.5, 0.0, 0.0)),
        arms.Link("", 1.0, (0.5, 0.0, 0.0)),
    )
    robot = _robot(RobotModel.from_urdf(arm.urdf))
    ones = np.ones(2)
    none = np.empty((0, 6))
    matrix = np.empty((2, 2))
    qdd = np.empty(2)
    motion = np.empty((4, 2))
    assert (
        solve_motion(robot, ones, ones, ones, none, make_work(robot), matrix, qdd) == -1
    )
    for singular in (0, 1):
        stiffness = np.zeros(2)
        stiffness[singular] = -100.0
        work = make_work(robot)
        assert (
            solve_fixed_mode_motion(
                robot, ones, ones, ones, stiffness, ones, none, work, matrix, motion
            )
            == singular
        )

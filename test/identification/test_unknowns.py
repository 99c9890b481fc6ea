"""The columns of everything that is identified, against the model's own torque."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.identification.unknowns import Unknowns
from robot_dynamics_ros.kernels.layout import RIPPLE_AMPLITUDE, SIGMOID_AMPLITUDE, STATIC
from support.robots_with_drives import Robot, robots, state

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

SMALL = robots(friction=True).filter(lambda robot: len(robot.arm.movable) <= 4)


def torque(model: RobotModel, friction: str, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    unknowns = Unknowns.of(model, friction)
    motion = tuple(x[np.newaxis] for x in (q, qd, qdd))
    return (unknowns.columns(*motion) @ unknowns.own + unknowns.known(*motion))[0], model.inverse_dynamics(q, qd, qdd)


@given(robot=SMALL)
def test_own_values_give_the_models_torque(robot: Robot) -> None:
    """columns own + known = inverse dynamics + friction: payload, rotors, couplings and any kept friction included."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    found, rigid = torque(model, "keep", q, qd, qdd)
    expected = rigid + model.friction_torque(q, qd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1.0 + np.abs(expected).max()))
    found, rigid = torque(model, "none", q, qd, qdd)
    np.testing.assert_allclose(found, rigid, rtol=0, atol=1e-9 * (1.0 + np.abs(rigid).max()))


@given(robot=SMALL)
def test_columns_of_friction_are_the_nodes_friction(robot: Robot) -> None:
    """Where all of a robot's friction is viscous and Coulomb: through couplings too, tau = G^T tau_tree."""
    model = robot.model()
    model.packed.friction[:, [STATIC, RIPPLE_AMPLITUDE, SIGMOID_AMPLITUDE]] = 0.0
    unknowns = Unknowns.of(model)
    if len([name for name in unknowns.names if name.endswith(".coulomb_negative")]) < len(model.moving_joints):
        return  # one level for both directions: not what the model has
    q, qd, qdd = state(robot, model.n)
    found, rigid = torque(model, "viscous_coulomb", q, qd, qdd)
    expected = rigid + model.friction_torque(q, qd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_unknown_kind_of_friction_is_refused(load_robot: Callable[..., RobotModel]) -> None:
    with pytest.raises(RobotDynamicsError, match="oil"):
        Unknowns.of(load_robot("planar_2r"), "oil")

"""Base parameters against closed forms and published numbers; regressor columns against the model's torque."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.analysis.identification.friction_shapes import FrictionShape
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.dynamics.kernels.friction import (
    RIPPLE_AMPLITUDE,
    SIGMOID_AMPLITUDE,
    STATIC,
)
from robot_dynamics_ros.dynamics.model.base_parameters import BaseParameters
from support.robots_with_drives import Robot, robots, state

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
SMALL = robots(friction=True).filter(lambda robot: len(robot.arm.movable) <= 4)


def rigid(model: RobotModel) -> BaseParameters:
    """Return the base parameters of the links and rotors, without friction."""
    columns = model.regressor(*random_states(model, 0, 50))
    return BaseParameters.of(
        columns.reshape(-1, columns.shape[-1]), model.parameter_names
    )


def random_states(
    model: RobotModel, seed: int, count: int
) -> tuple[Array, Array, Array]:
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, count, model.n))
    return 3.0 * q, 2.0 * qd, 9.0 * qdd


def test_base_parameters_of_planar_arm(load_robot: Callable[..., RobotModel]) -> None:
    """Khalil and Dombre 2002, chapter 9.4, with a1 = 0.5 m: mcx1 + a1 m2 and izz1 + a1^2 m2."""
    base = rigid(load_robot("planar_2r"))
    assert set(base.names) == {
        "link1.mcx + 0.5 link2.mass",
        "link1.mcy",
        "link1.izz + 0.25 link2.mass",
        "link2.mcx",
        "link2.mcy",
        "link2.izz",
    }


def test_base_parameters_of_scara(load_robot: Callable[..., RobotModel]) -> None:
    """From the kinetic energy, with a1 = 0.4 m, a2 = 0.3 m, and frame 3 rotated by pi about x."""
    base = rigid(load_robot("scara"))
    assert base.names == (
        "link1.izz + 0.16 link2.mass",
        "link2.mcx + link3.mcx",
        "link2.mcy - link3.mcy",
        "link2.izz + 0.6 link3.mcx + link3.izz",
        "link3.mass",
    )


@pytest.mark.parametrize(
    ("name", "count"), [("panda", 43), ("puma560", 36), ("ur5e", 36)]
)
def test_published_numbers_of_base_parameters(
    name: str, count: int, load_robot: Callable[..., RobotModel]
) -> None:
    """Panda: 43 dynamic coefficients, Gaz et al. 2019. PUMA 560: 36, Mayeda, Yoshida, Osuka 1990; UR arms: 36."""
    assert len(rigid(load_robot(name)).names) == count


@pytest.mark.parametrize(
    ("name", "dynamics"),
    [
        ("planar_2r", None),
        ("scara", None),
        ("puma560", "puma560"),
        ("ur5e", "ur5e"),
        ("panda", "panda"),
    ],
)
def test_base_parameters_determine_torque(
    name: str, dynamics: str | None, load_robot: Callable[..., RobotModel]
) -> None:
    """W x = W_b (combination x) for any x, at other states than those of the combination; W_b has full rank."""
    parameterization = Parameterization.of(load_robot(name, dynamics))
    columns = parameterization.columns(
        *random_states(parameterization.model, 9, 60)
    ).reshape(-1, len(parameterization.names))
    base = parameterization.base
    x = np.random.default_rng(2).standard_normal(len(parameterization.names))
    chosen = columns[:, base.independent]
    np.testing.assert_allclose(
        chosen @ (base.combination @ x),
        columns @ x,
        rtol=0,
        atol=1e-9 * np.abs(columns).max(),
    )
    assert np.linalg.matrix_rank(
        chosen / np.linalg.norm(chosen, axis=0), tol=1e-6
    ) == len(base.names)
    lengths = np.linalg.norm(columns, axis=0)
    nonzero = lengths > 1e-9 * lengths.max()
    assert np.linalg.matrix_rank(
        columns[:, nonzero] / lengths[nonzero], tol=1e-6
    ) == len(base.names)
    np.testing.assert_array_equal(base.combination[:, base.without_effect], 0.0)


def test_base_parameter_names_list_the_combination() -> None:
    """Constructed columns: c = 2 a, d = a - 3 b, e = 0."""
    a, b = np.random.default_rng(0).standard_normal((2, 30))
    base = BaseParameters.of(
        np.column_stack([a, b, 2 * a, a - 3 * b, 0 * a]), ["a", "b", "c", "d", "e"]
    )
    assert base.names == ("a + 2 c + d", "b - 3 d")
    np.testing.assert_allclose(
        base.combination, [[1, 0, 2, 1, 0], [0, 1, 0, -3, 0]], rtol=0, atol=1e-14
    )
    assert base.without_effect.tolist() == [4]


def test_coulomb_level_is_dropped_if_indistinguishable_from_weight(
    load_robot: Callable[..., RobotModel],
) -> None:
    """A weight on a vertical prismatic joint equals a Coulomb level. Rotors of the model are not added again."""
    model = load_robot("scara")
    directions = (FrictionShape(directions=True),) * 3
    names = Parameterization.of(model, shapes=directions).names
    assert "joint1.rotor_inertia" in names and "joint2.rotor_inertia" in names
    assert "joint3.coulomb" in names and "joint3.coulomb_negative" not in names
    assert "joint1.coulomb_negative" in names
    parameterization = Parameterization.of(model)
    assert "joint1.coulomb_negative" not in parameterization.names
    np.testing.assert_array_equal(parameterization.offsets, [True, True, False])
    names = Parameterization.of(load_robot("puma560", "puma560")).names
    assert "joint3 rotor.inertia" in names and not [
        name for name in names if name.endswith(".rotor_inertia")
    ]


def torque(
    model: RobotModel, friction: str, q: Array, qd: Array, qdd: Array
) -> tuple[Array, Array]:
    directions = (FrictionShape(directions=True),) * len(model.moving_joints)
    parameterization = Parameterization.of(model, friction, directions)
    motion = tuple(x[np.newaxis] for x in (q, qd, qdd))
    return (
        parameterization.columns(*motion) @ parameterization.own
        + parameterization.known(*motion)
    )[0], model.inverse_dynamics(q, qd, qdd)


@given(robot=SMALL)
def test_prior_values_reproduce_model_torque(robot: Robot) -> None:
    """columns own + known = inverse dynamics + friction, with payload, rotors, couplings and any friction."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    actual, rigid = torque(model, "keep", q, qd, qdd)
    expected = rigid + model.friction_torque(q, qd)
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=1e-9 * (1.0 + np.abs(expected).max())
    )
    actual, rigid = torque(model, "none", q, qd, qdd)
    np.testing.assert_allclose(
        actual, rigid, rtol=0, atol=1e-9 * (1.0 + np.abs(rigid).max())
    )


@given(robot=SMALL)
def test_friction_columns_reproduce_model_friction(robot: Robot) -> None:
    """Viscous and Coulomb friction, also through couplings: tau = G^T tau_tree."""
    model = robot.model()
    table = model.friction_parameters.copy()
    table[:, [STATIC, RIPPLE_AMPLITUDE, SIGMOID_AMPLITUDE]] = 0.0
    model = replace(model, _data=replace(model._data, friction=table))
    directions = (FrictionShape(directions=True),) * len(model.moving_joints)
    parameterization = Parameterization.of(model, shapes=directions)
    if len(
        [name for name in parameterization.names if name.endswith(".coulomb_negative")]
    ) < len(model.moving_joints):
        # a single level for both directions cannot represent the model's friction
        return
    q, qd, qdd = state(robot, model.n)
    actual, rigid = torque(model, "viscous_coulomb", q, qd, qdd)
    expected = rigid + model.friction_torque(q, qd)
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=1e-9 * (1.0 + np.abs(expected).max())
    )


def test_unknown_kind_of_friction_is_refused(
    load_robot: Callable[..., RobotModel],
) -> None:
    with pytest.raises(RobotDynamicsError, match="oil"):
        Parameterization.of(load_robot("planar_2r"), "oil")

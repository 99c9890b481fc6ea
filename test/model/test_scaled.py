"""A robot whose links and friction are not what its controller believes: the same as one loaded from changed files."""

from dataclasses import replace
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from robots_with_drives import Robot, load, robots, size, state

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.kernels.compilation import COMPILED

ARM = arms.random_arm(np.random.default_rng(3), [0, 1, 2], ["revolute", "prismatic", "revolute"])
NAMES = ARM.movable
PAYLOAD = ARM.links[-1].name, 2.0, [0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
FACTORS = st.floats(0.1, 4.0)


def _worn(friction: dict[str, Any], factor: float) -> dict[str, Any]:
    """A joint's friction in the dynamics file with every torque times a factor."""
    worn = dict(friction)
    for name in {"viscous", "coulomb", "coulomb_negative", "static"} & set(worn):
        worn[name] = worn[name] * factor
    for name in {"ripple", "sigmoid"} & set(worn):
        worn[name] = {**worn[name], "amplitude": worn[name]["amplitude"] * factor}
    return worn


@given(robot=robots(friction=True), mass=FACTORS, friction=FACTORS)
def test_is_the_robot_of_scaled_files(robot: Robot, mass: float, friction: float) -> None:
    """Masses and inertias in the URDF, friction torques in the dynamics file; payload and rotors as they were."""
    arm = robot.arm
    for link in arm.links:
        if link.mass is not None:
            inertia = None if link.inertia is None else mass * np.asarray(link.inertia)
            arm = arm.with_link(link.name, mass=mass * link.mass, inertia=inertia)
    worn = replace(robot, friction={name: _worn(each, friction) for name, each in robot.friction.items()})
    expected = load(arm, worn.dynamics)
    model = robot.model()
    found = model.scaled(mass, friction)
    q, qd, qdd = state(robot, model.n)
    scale = size(expected, q, qd, qdd)
    assert_close(found.inverse_dynamics(q, qd, qdd), expected.inverse_dynamics(q, qd, qdd), 1e-12, scale)
    assert_close(found.mass_matrix(q), expected.mass_matrix(q), 1e-12)
    assert_close(found.inertial_parameters, expected.inertial_parameters, 1e-12)
    assert_close(found.friction_torque(q, qd), expected.friction_torque(q, qd), 1e-12)
    assert_close(found.packed.friction, expected.packed.friction, 1e-14)
    assert found.packed.massless_ends == expected.packed.massless_ends
    # The model it came from is as it was.
    assert np.array_equal(model.inertial_parameters, robot.model().inertial_parameters)
    assert np.array_equal(model.packed.friction, robot.model().packed.friction)


@given(robot=robots(friction=True))
def test_factors_of_one_change_no_bit(robot: Robot) -> None:
    model = robot.model()
    same = model.scaled()
    assert np.array_equal(same.packed.numbers, model.packed.numbers)
    assert np.array_equal(same.packed.friction, model.packed.friction)


def _frictional(**friction: Any) -> RobotModel:
    joints = {name: {"viscous": 1.0, "coulomb": 2.0, "static": 3.0} for name in NAMES}
    return load(ARM, {"joints": joints, **friction})


def test_friction_by_joint() -> None:
    """In the order of `joint_names`, which need not be that of the tree."""
    model = RobotModel.from_urdf(_with_dampers(), joints=NAMES[::-1])
    qd = np.array([1.0, -2.0, 3.0])
    expected = np.array([0.5, 0.0, 2.0]) * model.friction_torque(np.zeros(3), qd)
    assert_close(model.scaled(friction=[0.5, 0.0, 2.0]).friction_torque(np.zeros(3), qd), expected, 1e-15)
    assert np.count_nonzero(expected) == 2


def _with_dampers() -> str:
    arm = ARM
    for k, name in enumerate(NAMES):
        arm = arm.with_joint(name, extra=f'<dynamics damping="{k + 1.0}" friction="{k + 2.0}"/>')
    return arm.urdf


def test_a_follower_has_the_factor_of_what_it_follows() -> None:
    """q2 = -2 q0: its viscous torque, brought back to joint 0, is b (-2)^2 qd0, and Coulomb c |-2|."""
    model = _frictional(couplings={NAMES[2]: {NAMES[0]: -2.0}})
    assert model.joint_names == (NAMES[0], NAMES[1])
    tau = model.scaled(friction=[3.0, 0.5]).friction_torque(np.zeros(2), np.array([1.0, 1.0]))
    assert_close(tau, [3.0 * (1.0 + 2.0 + 4.0 + 4.0), 0.5 * (1.0 + 2.0)], 1e-14)


def test_a_follower_of_two_joints_needs_the_same_factor_of_both() -> None:
    model = _frictional(couplings={NAMES[2]: {NAMES[0]: 1.0, NAMES[1]: 1.0}})
    q, qd = np.zeros(2), np.array([1.0, 2.0])
    assert_close(model.scaled(friction=[3.0, 3.0]).friction_torque(q, qd), 3.0 * model.friction_torque(q, qd), 1e-14)
    with pytest.raises(RobotModelError, match=f'joint "{NAMES[2]}" follows others with different factors'):
        model.scaled(friction=[3.0, 2.0])


def test_before_or_after_another_payload() -> None:
    model = RobotModel.from_urdf(ARM.urdf)
    numbers = model.with_payload(*PAYLOAD).scaled(1.3).packed.numbers
    assert np.array_equal(numbers, model.scaled(1.3).with_payload(*PAYLOAD).packed.numbers)


@pytest.mark.parametrize("customised", [False, True])
def test_states_alone_and_many_at_once(customised: bool) -> None:
    """Without payload and rotors, inverse dynamics and mass matrix are proportional to the links' masses."""
    model = RobotModel.from_urdf(ARM.urdf)
    if customised:
        model = model.customised()
    heavy = model.scaled(1.7)
    assert type(heavy.kernels) is type(model.kernels)
    q, qd, qdd = arms.states(3, 3, 4)
    for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
        assert_close(heavy.inverse_dynamics(*states), 1.7 * model.inverse_dynamics(*states), 1e-13, 100.0)
        assert_close(heavy.mass_matrix(states[0]), 1.7 * model.mass_matrix(states[0]), 1e-13)
        accelerations = heavy.forward_dynamics(states[0], states[1], 1.7 * model.inverse_dynamics(*states))
        assert_close(accelerations, states[2], 1e-11, 100.0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
def test_nothing_is_compiled() -> None:
    from numba.core import event

    model = RobotModel.from_urdf(ARM.urdf)
    states: Any = [x[0] for x in arms.states(3, 3, 1)]

    def call(model: RobotModel) -> None:
        model.inverse_dynamics(*states)
        model.mass_matrix(states[0])
        model.friction_torque(*states[:2])

    call(model)
    with event.install_recorder("numba:compile") as compiled:
        call(model.scaled(2.0, [1.0, 2.0, 3.0]))
    assert not compiled.buffer


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"mass": 0.0}, r"scaled: mass is 0.0\. Cure: give a positive number"),
        ({"mass": -1.0}, "mass is -1.0"),
        ({"mass": np.nan}, "mass is nan"),
        ({"mass": np.inf}, "mass is inf"),
        ({"mass": [1.0, 1.0, 1.0]}, "mass is"),
        ({"mass": "heavy"}, "mass is 'heavy'"),
        ({"mass": None}, "mass is None"),
        ({"friction": -0.1}, f'friction: -0.1 for joint "{NAMES[0]}"'),
        ({"friction": [1.0, np.nan, 1.0]}, f'friction: nan for joint "{NAMES[1]}"'),
        ({"friction": [1.0, 1.0, np.inf]}, f'friction: inf for joint "{NAMES[2]}"'),
        ({"friction": [1.0, 1.0]}, f"give one number, or 3: for {', '.join(NAMES)}"),
        ({"friction": [[1.0, 1.0, 1.0]]}, "give one number, or 3"),
        ({"friction": "rusty"}, "friction is 'rusty'"),
        ({"mass": 1.79e308}, "makes numbers too large"),
        ({"friction": 1.7e308}, "makes numbers too large"),
    ],
)
def test_impossible_factors_are_refused(keywords: dict[str, Any], message: str) -> None:
    payload = {"link": PAYLOAD[0], "mass": 1.0, "com": [0, 0, 0], "inertia": [1, 0, 0, 1, 0, 1]}
    model = _frictional(payload=payload)
    with pytest.raises(RobotModelError, match=message):
        model.scaled(**keywords)

"""Models derived from a model: other masses and friction, zero gravity, a payload. None is recompiled."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from support import arms
from support.comparing import assert_close
from support.model_methods import METHODS, call
from support.robots_with_drives import Robot, load, robots, size, state

# As in test_arguments.py, so that what is customised is compiled once.
ARM = arms.random_arm(
    np.random.default_rng(3), [0, 1, 2], ["revolute", "prismatic", "continuous"]
)
NAMES = ARM.movable
PAYLOAD = ARM.links[-1].name, 2.0, [0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
FACTORS = st.floats(0.1, 4.0)


def _worn(friction: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return a joint's friction in the dynamics file with every torque scaled."""
    worn = dict(friction)
    for name in {"viscous", "coulomb", "coulomb_negative", "static"} & set(worn):
        worn[name] = worn[name] * factor
    for name in {"ripple", "sigmoid"} & set(worn):
        worn[name] = {**worn[name], "amplitude": worn[name]["amplitude"] * factor}
    return worn


# --- Other masses and friction


@given(robot=robots(friction=True), mass=FACTORS, friction=FACTORS)
def test_scaled_is_the_robot_of_scaled_files(
    robot: Robot, mass: float, friction: float
) -> None:
    """Masses and inertias of the URDF and friction of the dynamics file are scaled; payload and rotors are not."""
    arm = robot.arm
    for link in arm.links:
        if link.mass is not None:
            inertia = None if link.inertia is None else mass * np.asarray(link.inertia)
            arm = arm.with_link(link.name, mass=mass * link.mass, inertia=inertia)
    worn = replace(
        robot,
        friction={name: _worn(each, friction) for name, each in robot.friction.items()},
    )
    expected = load(arm, worn.dynamics)
    model = robot.model()
    numbers = model._data.parameters.copy()
    terms = model._data.friction.copy()
    actual = model.scaled(mass, friction)
    same = model.scaled()
    q, qd, qdd = state(robot, model.n)
    scale = size(expected, q, qd, qdd)
    assert_close(
        actual.inverse_dynamics(q, qd, qdd),
        expected.inverse_dynamics(q, qd, qdd),
        1e-12,
        scale,
    )
    assert_close(actual.mass_matrix(q), expected.mass_matrix(q), 1e-12)
    assert_close(actual.inertial_parameters, expected.inertial_parameters, 1e-12)
    assert_close(actual._data.friction, expected._data.friction, 1e-14)
    assert actual._data.massless_joints == expected._data.massless_joints
    # Factors of one change no bit, and the model it came from is as it was.
    for unchanged in (same, model):
        assert np.array_equal(unchanged._data.parameters, numbers)
        assert np.array_equal(unchanged._data.friction, terms)


def _frictional(couplings: dict[str, Any] | None = None, **keywords: Any) -> RobotModel:
    joints = {name: {"viscous": 1.0, "coulomb": 2.0, "static": 3.0} for name in NAMES}
    return load(ARM, {"joints": joints, "couplings": couplings}, **keywords)


def test_friction_by_joint_in_the_order_of_joint_names() -> None:
    model = _frictional(joints=NAMES[::-1])
    factors = np.array([0.5, 0.0, 2.0])
    qd = np.array([1.0, -2.0, 3.0])
    expected = factors * model.friction_torque(np.zeros(3), qd)
    assert_close(
        model.scaled(friction=factors).friction_torque(np.zeros(3), qd), expected, 1e-15
    )


def test_a_follower_has_the_factor_of_what_it_follows() -> None:
    """q2 = -2 q0: its viscous torque at joint 0 is b (-2)^2 qd0, its Coulomb torque c |-2|."""
    model = _frictional({NAMES[2]: {NAMES[0]: -2.0}})
    tau = model.scaled(friction=[3.0, 0.5]).friction_torque(
        np.zeros(2), np.array([1.0, 1.0])
    )
    assert_close(tau, [3.0 * (1.0 + 2.0 + 4.0 + 4.0), 0.5 * (1.0 + 2.0)], 1e-14)


def test_a_follower_of_two_joints_needs_the_same_factor_of_both() -> None:
    model = _frictional({NAMES[2]: {NAMES[0]: 1.0, NAMES[1]: 1.0}})
    q = np.zeros(2)
    qd = np.array([1.0, 2.0])
    assert_close(
        model.scaled(friction=[3.0, 3.0]).friction_torque(q, qd),
        3.0 * model.friction_torque(q, qd),
        1e-14,
    )
    with pytest.raises(RobotModelError, match=NAMES[2]):
        model.scaled(friction=[3.0, 2.0])


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        *(
            ({"mass": mass}, "mass is")
            for mass in (0.0, np.nan, np.inf, [1.0, 1.0, 1.0], "heavy")
        ),
        ({"friction": -0.1}, f'-0.1 for joint "{NAMES[0]}"'),
        ({"friction": [1.0, np.nan, 1.0]}, f'nan for joint "{NAMES[1]}"'),
        ({"friction": [1.0, 1.0, np.inf]}, f'inf for joint "{NAMES[2]}"'),
        *(
            ({"friction": friction}, "friction is")
            for friction in ([1.0, 1.0], [[1.0, 1.0, 1.0]], "rusty")
        ),
        ({"mass": 1.79e308}, "mass 1.79e"),
        ({"friction": 1.7e308}, "friction 1.7e"),
    ],
)
def test_impossible_factors_are_refused(keywords: dict[str, Any], culprit: str) -> None:
    model = _frictional().with_payload(*PAYLOAD)
    with pytest.raises(RobotModelError, match=culprit):
        model.scaled(**keywords)


# --- Another gravity, and none


@given(robot=robots(payload=True), gravity=st.tuples(*3 * [st.floats(-20.0, 20.0)]))
def test_another_gravity_is_as_if_loaded_with_it(
    robot: Robot, gravity: tuple[float, float, float]
) -> None:
    changed = robot.model().with_gravity(gravity)
    loaded = robot.model(gravity=gravity)
    q, qd, qdd = state(robot, changed.n)
    assert np.array_equal(changed.gravity, gravity)
    assert np.array_equal(
        changed.inverse_dynamics(q, qd, qdd), loaded.inverse_dynamics(q, qd, qdd)
    )
    assert np.array_equal(changed.gravity_torque(q), loaded.gravity_torque(q))
    assert_close(
        changed.gravity_torque(q),
        changed.inverse_dynamics(q, 0 * q, 0 * q),
        1e-15,
        size(changed, q, qd, qdd),
    )


@pytest.mark.parametrize("gravity", [(0.0, 0.0), [0.0, 0.0, np.nan], "down", None])
def test_invalid_gravity_is_refused(gravity: Any) -> None:
    with pytest.raises(RobotModelError, match="gravity"):
        load(ARM, {}).with_gravity(gravity)


@given(robot=robots(payload=True))
def test_without_gravity_nothing_has_weight_and_all_else_is_as_it_was(
    robot: Robot,
) -> None:
    model = robot.model()
    numbers = model._data.parameters.copy()
    without = model.without_gravity()
    q, qd, qdd = state(robot, model.n)
    assert_close(without.gravity, np.zeros(3), 0.0)
    assert_close(without.gravity_torque(q), np.zeros(model.n), 0.0)
    assert without.potential_energy(q) == 0.0
    expected = model.inverse_dynamics(q, qd, qdd) - model.gravity_torque(q)
    assert_close(
        without.inverse_dynamics(q, qd, qdd), expected, 1e-12, size(model, q, qd, qdd)
    )
    assert np.array_equal(model.mass_matrix(q), without.mass_matrix(q))
    assert np.array_equal(model.inertial_parameters, without.inertial_parameters)
    assert np.array_equal(model._data.parameters, numbers)


def test_the_arrays_of_a_model_cannot_be_written_to() -> None:
    """Kernels do not change with copies of the arrays. The same holds for a pickled model."""
    model = load(ARM, {})
    for each in (model, pickle.loads(pickle.dumps(model)), model.scaled(2.0)):
        arrays = [
            each.friction_parameters,
            each.moving_joint_limits,
            each.kernels.parameters,
            each.kernels.topology,
        ]
        arrays += [each._data.parameters, each._data.limits.effort]
        for array in (*arrays, each.link_frames[each.end_links[0]].position):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        torque = each.gravity_torque(np.ones(each.n))
        each.effort_limits[:] = each.kernels.parameters.copy()[:] = 0.0
        assert np.array_equal(each.gravity_torque(np.ones(each.n)), torque)


# --- Payload and combinations


def _bits(model: RobotModel, robot: Robot) -> list[bytes]:
    """Return the results of every method, and the inertial parameters."""
    results = [call(name, model, {}, *state(robot, model.n)) for name in METHODS]
    return [
        np.asarray(result).tobytes() for result in (*results, model.inertial_parameters)
    ]


@given(robot=robots(payload=True))
def test_a_payload_set_later_is_that_of_the_file_bit_for_bit(robot: Robot) -> None:
    """Also if it replaces another payload. The original models are unchanged."""
    assert robot.payload is not None
    body = float(robot.payload.mass or 0.0), robot.payload.com, robot.payload.inertia
    empty = replace(robot, payload=None).model()
    in_file = robot.model()
    other = robot.bare.links[-1].name
    bare = _bits(empty, robot)
    assert _bits(empty.with_payload(robot.holder, *body), robot) == _bits(
        in_file, robot
    )
    assert _bits(in_file.with_payload(other, *body), robot) == _bits(
        empty.with_payload(other, *body), robot
    )
    assert (
        _bits(in_file.with_payload(other, 0.0, np.zeros(3), np.zeros((3, 3))), robot)
        == bare
    )
    assert _bits(empty, robot) == bare


@pytest.mark.parametrize("customised", [False, True])
def test_payload_masses_and_gravity_change_in_any_order(customised: bool) -> None:
    """For one state and many. The payload is not scaled; without it, all results are proportional to the masses."""
    general = RobotModel.from_urdf(ARM.urdf)
    weightless = RobotModel.from_urdf(ARM.urdf, gravity=[0.0, 0.0, 0.0])
    model = general.customised() if customised else general
    q, qd, qdd = arms.states(3, 3, 4)
    numbers = model.with_payload(*PAYLOAD).scaled(1.7)._data.parameters
    assert np.array_equal(
        numbers, model.scaled(1.7).with_payload(*PAYLOAD)._data.parameters
    )
    for actual, expected, factor in (
        (model.with_payload(*PAYLOAD), general.with_payload(*PAYLOAD), 1.0),
        (
            model.with_payload(*PAYLOAD).without_gravity(),
            weightless.with_payload(*PAYLOAD),
            1.0,
        ),
        (
            model.without_gravity().with_payload(*PAYLOAD),
            weightless.with_payload(*PAYLOAD),
            1.0,
        ),
        (model.scaled(1.7).without_gravity(), weightless, 1.7),
    ):
        assert type(actual.kernels) is type(model.kernels)
        for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
            tau = factor * expected.inverse_dynamics(*states)
            assert_close(actual.inverse_dynamics(*states), tau, 1e-13, 100.0)
            assert_close(
                actual.mass_matrix(states[0]),
                factor * expected.mass_matrix(states[0]),
                1e-13,
            )
            assert_close(
                actual.forward_dynamics(states[0], states[1], tau),
                states[2],
                1e-11,
                100.0,
            )
            gravity = expected.gravity_torque(states[0])
            assert_close(
                actual.gravity_torque(states[0]),
                factor * gravity,
                1e-13 * bool(gravity.any()),
                100.0,
            )


def test_gear_load_of_a_customised_model_is_without_rotors() -> None:
    """Rotors are constants of generated code, so that the model without them needs its own."""
    model = RobotModel.shipped("puma560", dynamics="puma560_geared")
    states = [x[0] for x in arms.states(3, model.n, 1)]
    load = model.gear_load(*states)
    assert not np.allclose(load, model.inverse_dynamics(*states))
    assert_close(model.customised().gear_load(*states), load, 1e-13, 100.0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
@pytest.mark.parametrize(
    "customised", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_nothing_is_compiled(customised: bool) -> None:
    from numba import njit
    from numba.core import event

    model = RobotModel.from_urdf(ARM.urdf)
    model = model.customised() if customised else model

    def run(model: RobotModel) -> None:
        for count in (1, 4):
            states = [np.squeeze(x) for x in arms.states(2, 3, count)]
            for name in METHODS:
                call(name, model, {}, *states)

    run(model)
    with event.install_recorder("numba:compile") as compiled:
        for changed in (
            model.scaled(2.0, [1.0, 2.0, 3.0]),
            model.without_gravity(),
            model.with_payload(*PAYLOAD),
        ):
            run(changed)
        assert not compiled.buffer
        njit(lambda x: x + 1.0)(1.0)
    assert compiled.buffer  # the recorder would have noticed

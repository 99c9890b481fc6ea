"""Limits of commanded effort and motion."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.checks.cycle_checks import MotionLimits, lasting
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.limits import EffortLimiter
from robot_dynamics_ros.control.safety import Cause
from robot_dynamics_ros.dynamics.model.joint_limits import LimitRows
from robot_dynamics_ros.simulation import Plant
from support.coupled_arms import differential, follower, joint_motion
from support.pinocchio_peer import Peer
from support.task_space_loops import READY

NAMES = ("a", "b")
FREE = np.full(2, np.inf)


def rows(names: tuple[str, ...], lower: Any, upper: Any, velocity: Any) -> LimitRows:
    """Return the limits of independent joints."""
    n = len(names)
    return LimitRows(
        names,
        np.array([lower, upper, lower, upper, velocity]),
        (names,) * 5,
        np.empty((0, n)),
        np.empty(0),
    )


def limiter(rates: Any) -> EffortLimiter:
    """Return a limiter that starts at zero effort."""
    made = EffortLimiter(np.array([10.0, 5.0]), np.array(rates))
    made.start(np.zeros(2), np.zeros(2), 0.0)
    return made


def test_effort_is_clamped_on_both_sides_and_the_joints_are_named() -> None:
    cut = limiter([1000.0, 1000.0])
    assert not cut.clamped and not cut.slowed
    np.testing.assert_array_equal(
        cut.limit(np.array([9.0, -5.0]), 0.1, 0.1), [9.0, -5.0]
    )
    assert (
        not cut.clamped
        and not cut.slowed
        and cut.over(NAMES, np.array([9.0, -5.0])) == ()
    )
    np.testing.assert_array_equal(
        cut.limit(np.array([11.0, -50.0]), 0.1, 0.1), [10.0, -5.0]
    )
    assert cut.clamped and not cut.slowed
    assert cut.over(NAMES, np.array([9.0, -50.0])) == ("b",)
    cut.limit(np.array([-50.0, 0.0]), 0.001, 0.001)
    assert cut.clamped and cut.slowed
    np.testing.assert_array_equal(cut.zero(), [0.0, 0.0])
    assert not cut.clamped and not cut.slowed


def test_a_lowered_limit_applies_at_once() -> None:
    slow = limiter([1.0, 1.0])
    slow.limit(np.array([6.0, -4.0]), 5.0, 5.0)
    slow.set(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(
        slow.limit(np.array([6.0, -4.0]), 0.001, 0.001), [2.0, -1.0]
    )


def test_only_a_step_is_slowed() -> None:
    """At its rate, 0.2 a cycle, while further changes, up to a tenth of the limit a cycle, are not delayed."""
    each = limiter(FREE)
    each.set_step_rates(np.array([20.0, 20.0]))
    continuous = np.array([0.9, -0.5])
    np.testing.assert_array_equal(each.limit(continuous, 0.01, 0.01), continuous)
    assert not each.slowed
    requested = np.array([4.9, -0.5])
    assert each.limit(requested, 0.01, 0.01)[0] == pytest.approx(1.1)
    requested = np.array([5.7, -0.9])
    effort = each.limit(requested, 0.01, 0.01)
    np.testing.assert_allclose(effort, [1.1 + 0.8 + 0.2, -0.9])
    for _ in range(18):
        assert each.slowed
        each.limit(requested, 0.01, 0.01)
    np.testing.assert_array_equal(each.limit(requested, 0.01, 0.01), requested)
    assert not each.slowed


def test_steps_to_and_fro_do_not_add_up() -> None:
    each = limiter(FREE)
    each.set_step_rates(np.array([20.0, 20.0]))
    for k in range(200):
        effort = each.limit(np.full(2, 9.0 * (-1.0) ** k), 0.01, 0.01)
        assert np.abs(effort).max() < 0.21


sane = st.floats(-1e6, 1e6)


@given(
    st.lists(
        st.tuples(arrays(float, 2, elements=sane), st.floats(0.0, 1.0)),
        min_size=1,
        max_size=20,
    ),
    arrays(float, 2, elements=st.floats(0.1, 100.0)),
    arrays(float, 2, elements=st.one_of(st.floats(0.1, 1e3), st.just(np.inf))),
    st.floats(0.0, 2.0),
)
def test_no_limit_is_ever_exceeded(
    history: Any, limits: Any, rates: Any, ramp_time: float
) -> None:
    each = EffortLimiter(limits, rates)
    last = np.zeros(2)
    each.start(last, np.ones(2), ramp_time)
    for requested, dt in history:
        effort = each.limit(requested, dt, dt)
        assert np.isfinite(effort).all() and (np.abs(effort) <= limits).all()
        bounded = np.isfinite(rates)
        assert (np.abs(effort - last)[bounded] <= rates[bounded] * dt + 1e-9).all()
        last = effort


@pytest.mark.parametrize(
    ("q", "qd", "cause", "limit"),
    [
        (2.0625, 0.0, None, ""),  # exactly at the margin
        (-1.0625, 0.0, None, ""),
        (0.0, 3.5, None, ""),
        (0.0, -3.5, None, ""),
        (2.07, 0.0, Cause.POSITION_LIMIT, "limit 2"),
        (-1.07, 0.0, Cause.POSITION_LIMIT, "limit -1"),
        (0.0, 3.51, Cause.VELOCITY_LIMIT, "limit 3"),
        (0.0, -3.51, Cause.VELOCITY_LIMIT, "limit -3"),
    ],
)
def test_beyond_a_limit_and_its_margin(
    q: float, qd: float, cause: Cause | None, limit: str
) -> None:
    bounds = np.array([-np.inf, -1.0]), np.array([np.inf, 2.0]), np.array([np.inf, 3.0])
    state = np.array([[9.0, q], [9.0, qd]])
    limits = MotionLimits(rows(NAMES, *bounds), np.full(2, 0.0625), np.full(2, 0.5))
    limits.accept(np.array([9.0, 2.0]))
    limits.accept(np.array([9.0, -1.0]))
    fault = limits.check(state)
    if cause is None:
        assert fault is None
    else:
        assert (fault.joint, fault.cause, fault.value) == ("b", cause, q or qd)
        assert limit in fault.message
    assert MotionLimits(rows(NAMES, *bounds), FREE, FREE).check(state) is None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_at_its_margin_is_not_reported(side: float) -> None:
    bounds = (x * np.ones(2) for x in (-2.0, 2.0, 3.0))
    limits = MotionLimits(rows(NAMES, *bounds), np.full(2, 0.25), np.full(2, 0.5))
    fault = limits.check(np.array([[2.25 * side, 2.5 * side], [0.0, 0.0]]))
    assert fault is not None and (fault.joint, fault.value) == ("b", 2.5 * side)


def test_a_limit_may_be_reached_for_some_time() -> None:
    """Each joint separately; leaving the limit resets the time."""
    seconds = np.zeros(2)
    limits = np.array([1.0, 2.0])
    for a, b, joint in (
        (-1.0, 0.0, None),
        (-1.0, 0.0, None),
        (0.9, 2.0, None),
        (1.0, 1.9, None),
        (1.0, 0.0, None),
        (0.0, 0.0, None),
        (0.0, -2.0, None),
        (0.0, -2.0, None),
        (0.0, -2.5, 1),
    ):
        assert lasting(seconds, np.array([a, b]), limits, 0.25, 0.5) == joint


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_widened_limit_follows_the_joint_inwards(side: float) -> None:
    """On both sides, also for the only joint of an arm, and with steps smaller than the margin."""
    one = np.ones(1)
    limits = MotionLimits(
        rows(("a",), -2.0 * one, 2.0 * one, 9.0 * one), 0.1 * one, one
    )
    limits.accept(2.5 * side * one)
    for q, inside in (
        (2.5, True),
        (2.4, True),
        (2.3, True),
        (2.38, True),
        (2.46, False),
        (1.0, True),
        (2.15, False),
    ):
        fault = limits.check(np.array([[q * side], [0.0]]))
        assert (fault is None) == inside
        assert inside or "limit 2" in fault.message.replace("-", "")
    limits.accept(0.0 * one)


def test_a_manually_guided_arm_stops_before_its_soft_limit(
    urdf_path: Callable[[str], Path],
) -> None:
    """Pushed with 5 Nm, Pinocchio's Panda brakes at 2 rad/s^2 and stops; pulled back it moves freely."""
    urdf = urdf_path("panda").read_text()
    soft = '<safety_controller soft_lower_limit="-2" soft_upper_limit="1.2" k_velocity="10"/>'
    model = RobotModel.from_urdf(
        urdf.replace('type="revolute">', f'type="revolute">{soft}', 1)
    ).scaled(friction=0.0)
    controller = make_controller(
        model, ControllerSettings(law="gravity_compensation", update_rate=500.0)
    )
    peer = Peer(urdf, model.joint_names)
    q = READY["panda"]
    qd = np.zeros(7)
    braked = []
    for k in range(1500):
        controller.measure(0.002 * k, 0.002 * k, q, qd)
        command = controller.update(0.002 * k, 0.002 * k)
        assert command is not None and controller.safety.fault is None
        braked.append(not np.array_equal(command.effort, model.gravity_torque(q)))
        if k == 1200:
            assert q[0] == pytest.approx(1.2, abs=0.01) and abs(qd[0]) < 0.01
        push = np.array([5.0 if k < 1200 else -5.0, 0, 0, 0, 0, 0, 0])
        q, qd = peer.step(q, qd, command.effort + push - 3.0 * qd, 0.002)
    assert not any(braked[:100]) and all(braked[800:1200]) and not any(braked[-100:])
    assert q[0] < 1.0


def test_the_limits_of_a_follower_are_checked() -> None:
    """j1 at 0.9 rad pushes j2 = -2 j1 against its stop at 1 rad; 2.26 rad/s of j1 are 4.52 rad/s of j2, limit 3."""
    limits = MotionLimits(follower().limit_rows, np.full(1, 0.05), np.full(1, 0.2))
    for q, qd, cause in (
        (0.9, 0.0, Cause.POSITION_LIMIT),
        (0.0, -2.26, Cause.VELOCITY_LIMIT),
    ):
        fault = limits.check(np.array([[q], [qd]]))
        assert fault is not None and (fault.cause, fault.joint, fault.value) == (
            cause,
            "j1",
            q or qd,
        )
        assert 'of joint "j2"' in fault.message
    assert limits.check(np.array([[-0.54], [1.6]])) is None


def test_the_limits_of_a_differential_are_checked() -> None:
    """The margin of a joint is that of its motors, by their factors; a widened limit follows it inwards."""
    limits = MotionLimits(
        differential().limit_rows, np.array([0.1, 0.1]), np.array([0.2, 0.2])
    )
    assert limits.check(np.array([[0.59, 0.59], [2.19, 2.19]])) is None
    for state, cause, value in (
        ([[0.61, 0.61], [0.0, 0.0]], Cause.POSITION_LIMIT, 0.61),
        ([[0.0, 0.0], [-2.0, -2.5]], Cause.VELOCITY_LIMIT, -2.25),
    ):
        fault = limits.check(np.array(state))
        assert fault is not None and (fault.cause, fault.joint, fault.value) == (
            cause,
            "j1",
            value,
        )
    limits.accept(np.array([0.7, 0.7]))
    for q, inside in ((0.79, True), (0.65, True), (0.74, True), (0.76, False)):
        assert (limits.check(np.array([[q, q], [0.0, 0.0]])) is None) == inside
    assert (
        MotionLimits(differential().limit_rows, FREE, FREE).check(np.full((2, 2), 9.0))
        is None
    )


@pytest.mark.parametrize("velocity", [(1.0, 1.0), (1.0, -1.0), (1.0, 0.0)])
def test_a_guided_differential_brakes_before_the_limits_of_its_joints(
    velocity: tuple[float, float],
) -> None:
    """It coasts without friction until it is braked, and does not hit the stops of the plant."""
    model = differential()
    controller = make_controller(
        model, ControllerSettings(law="gravity_compensation", update_rate=500.0)
    )
    plant = Plant(model, step_size=0.002, initial_velocities=velocity)
    for k in range(1500):
        controller.measure(0.002 * k, 0.002 * k, plant.position, plant.velocity)
        command = controller.update(0.002 * k, 0.002 * k)
        assert command is not None and controller.safety.fault is None
        plant.step(command.effort)
        rates, above, below = joint_motion(model, plant.position, plant.velocity)
        room = np.minimum(above, below)
        assert (np.abs(rates[room < 1e-3]) < 0.1).all()
    assert room.min() < 0.05 and np.abs(rates).max() < 0.01


def test_the_largest_limits_do_not_overflow() -> None:
    with np.errstate(all="raise"):
        made = EffortLimiter(np.array([1e308]), np.array([np.inf]))
        made.start(np.zeros(1), np.zeros(1), 0.0)
        assert made.limit(np.array([5.0]), 0.001, 0.001).tolist() == [5.0]

"""What may be commanded, and where the arm may be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.limits import EffortLimiter, MotionLimits
from robot_dynamics_ros.control.settings import ControllerSettings
from support.pinocchio_peer import Peer
from support.task_space_loops import READY

NAMES = ("a", "b")
FREE = np.full(2, np.inf)


def limiter(limits: Any = (10.0, 5.0), rates: Any = FREE, ramp_time: float = 0.0) -> EffortLimiter:
    """It starts from zero, with an effort of -8, 4 to fade."""
    made = EffortLimiter(np.array(limits), np.array(rates))
    made.start(np.zeros(2), np.array([8.0, -4.0]), ramp_time)
    return made


def test_effort_is_cut_on_both_sides_and_the_joints_are_named() -> None:
    cut = limiter()
    np.testing.assert_array_equal(cut.limit(np.array([9.0, -5.0]), 0.1), [9.0, -5.0])
    assert not cut.clamped and cut.over(NAMES, np.array([9.0, -5.0])) == ()
    np.testing.assert_array_equal(cut.limit(np.array([11.0, -50.0]), 0.1), [10.0, -5.0])
    assert cut.clamped and not cut.slowed
    assert cut.over(NAMES, np.array([9.0, -50.0])) == ("b",)


def test_the_rate_is_kept_from_zero_on() -> None:
    slow = limiter(rates=[10.0, np.inf])
    wanted = np.array([6.0, -4.0])
    np.testing.assert_array_equal(slow.limit(wanted, 0.0), [0.0, -4.0])
    assert slow.slowed
    np.testing.assert_allclose(slow.limit(wanted, 0.25), [2.5, -4.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(slow.limit(wanted, 0.5), [6.0, -4.0], rtol=0, atol=1e-15)
    assert not slow.slowed and not slow.clamped


def test_a_lowered_limit_binds_at_once() -> None:
    slow = limiter(rates=[1.0, 1.0])
    slow.limit(np.array([6.0, -4.0]), 5.0)
    slow.set(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(slow.limit(np.array([6.0, -4.0]), 0.001), [2.0, -1.0])


sane = st.floats(-1e6, 1e6)


@given(
    st.lists(st.tuples(arrays(float, 2, elements=sane), st.floats(0.0, 1.0)), min_size=1, max_size=20),
    arrays(float, 2, elements=st.floats(0.1, 100.0)),
    arrays(float, 2, elements=st.one_of(st.floats(0.1, 1e3), st.just(np.inf))),
    st.floats(0.0, 2.0),
)
def test_no_limit_is_ever_broken(history: Any, limits: Any, rates: Any, ramp_time: float) -> None:
    each = EffortLimiter(limits, rates)
    last = np.zeros(2)
    each.start(last, np.ones(2), ramp_time)
    for wanted, dt in history:
        effort = each.limit(wanted, dt)
        assert np.isfinite(effort).all() and (np.abs(effort) <= limits).all()
        bounded = np.isfinite(rates)
        assert (np.abs(effort - last)[bounded] <= rates[bounded] * dt + 1e-9).all()
        last = effort


# Where the arm may be


def motion(margin: float = 0.1, speed_margin: float = 0.5) -> MotionLimits:
    return MotionLimits(
        NAMES, np.array([-1.0, -np.inf]), np.array([2.0, np.inf]), np.array([3.0, np.inf]),
        np.full(2, margin), np.full(2, speed_margin),
    )  # fmt: skip


def state(q: Any, qd: Any = (0.0, 0.0)) -> Any:
    return np.array([q, qd], dtype=float)


@pytest.mark.parametrize(
    ("q", "qd", "cause", "limit"),
    [
        ((2.11, 0.0), (0.0, 0.0), Cause.POSITION_LIMIT, "limit 2"),
        ((-1.11, 0.0), (0.0, 0.0), Cause.POSITION_LIMIT, "limit -1"),
        ((0.0, 0.0), (3.51, 0.0), Cause.VELOCITY_LIMIT, "limit 3"),
        ((0.0, 0.0), (-3.51, 0.0), Cause.VELOCITY_LIMIT, "limit -3"),
    ],
)
def test_beyond_a_limit_and_its_margin(q: Any, qd: Any, cause: Cause, limit: str) -> None:
    fault = motion().check(state(q, qd))
    assert fault is not None
    assert (fault.joint, fault.cause) == ("a", cause)
    assert fault.value == (q if cause is Cause.POSITION_LIMIT else qd)[0]
    assert limit in fault.message
    unchecked = MotionLimits(NAMES, np.array([-1.0, -1.0]), np.array([1.0, 1.0]), np.ones(2), FREE, FREE)
    assert unchecked.check(state(q, qd)) is None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_on_the_edge_is_inside(side: float) -> None:
    """Of the limits for what is accepted, of the margins for what is checked."""
    limits = MotionLimits(
        NAMES, np.full(2, -2.0), np.full(2, 2.0), np.full(2, 3.0), np.full(2, 0.25), np.full(2, 0.5)
    )  # fmt: skip
    assert limits.accept(np.array([2.0 * side, 0.0])) == ()
    assert limits.check(state((2.25 * side, 0.0), (3.5 * side, 0.0))) is None
    fault = limits.check(state((2.25 * side, 2.5 * side)))
    assert fault is not None and (fault.joint, fault.value) == ("b", 2.5 * side)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_way_back_inside_is_one_way_on_both_sides(side: float) -> None:
    """Also for the only joint of an arm, and in steps that are smaller than the margin."""
    one = np.ones(1)
    limits = MotionLimits(("a",), -2.0 * one, 2.0 * one, 9.0 * one, 0.1 * one, one)
    assert limits.accept(2.5 * side * one) == ("a",)
    for q in (2.5, 2.4, 2.3, 2.38):
        assert limits.check(state([q * side], [0.0])) is None
    fault = limits.check(state([2.46 * side], [0.0]))
    assert fault is not None and "limit 2" in fault.message.replace("-", "")
    assert limits.check(state([1.0 * side], [0.0])) is None
    assert limits.check(state([2.15 * side], [0.0])) is not None, "it has been inside"
    assert limits.accept(0.0 * one) == ()


def test_an_arm_led_by_hand_stops_before_its_soft_limit(urdf_path: Callable[[str], Path]) -> None:
    """Pushed on at 5 Nm, Pinocchio's Panda brakes at 2 rad/s^2 and stands; pulled back it floats as before."""
    urdf = urdf_path("panda").read_text()
    soft = '<safety_controller soft_lower_limit="-2" soft_upper_limit="1.2" k_velocity="10"/>'
    model = RobotModel.from_urdf(urdf.replace('type="revolute">', f'type="revolute">{soft}', 1)).scaled(friction=0.0)
    controller = Controller(model, ControllerSettings(law="gravity_compensation", update_rate=500.0))
    peer, q, qd, braked = Peer(urdf, model.joint_names), READY["panda"], np.zeros(7), []
    for k in range(1500):
        controller.measure(0.002 * k, 0.002 * k, q, qd)
        command = controller.update(0.002 * k, 0.002 * k)
        assert command is not None and controller.fault is None
        braked.append(not np.array_equal(command.effort, model.gravity_torque(q)))
        if k == 1200:
            assert q[0] == pytest.approx(1.2, abs=0.01) and abs(qd[0]) < 0.01
        hand = np.array([5.0 if k < 1200 else -5.0, 0, 0, 0, 0, 0, 0])
        q, qd = peer.step(q, qd, command.effort + hand - 3.0 * qd, 0.002)
    assert not any(braked[:100]) and all(braked[800:1200]) and not any(braked[-100:])
    assert q[0] < 1.0


def test_what_was_cut_is_told_of_the_last_command_alone() -> None:
    both = limiter(rates=[1.0, 1.0])
    assert not both.clamped and not both.slowed
    both.limit(np.array([50.0, 0.0]), 0.1)
    assert both.clamped and both.slowed
    both.zero()
    assert not both.clamped and not both.slowed

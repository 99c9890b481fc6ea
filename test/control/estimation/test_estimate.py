"""Estimate of the state: valid states, defects of messages and their duration."""

import math
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.estimation.estimator import (
    Estimator,
    VelocitySource,
)
from robot_dynamics_ros.control.safety import Cause, Fault

Q = np.array([0.5, -1.0])
QD = np.array([2.0, -4.0])
REST = np.zeros(2)


def estimator(cutoff: float = 0.0) -> Estimator:
    return Estimator(("a", "b"), cutoff, 0.25)


def known() -> Estimator:
    """Return an estimator with one valid state at 1 s."""
    made = estimator()
    assert made.measure(1.0, 1.0, Q, QD)
    return made


def fault_of(given: Estimator, steady: float = 1.0) -> Fault:
    fault = given.cycle(steady).defect
    assert fault is not None
    return fault


def test_the_first_good_state_is_kept() -> None:
    one = estimator()
    assert (
        not one.estimate.known
        and one.estimate.source is VelocitySource.UNKNOWN
        and one.trouble
    )
    assert one.estimate.stamp == one.arrival == -math.inf
    assert np.array_equal(one.estimate.state, np.zeros((2, 2))) and np.array_equal(
        one.estimate.velocity, [0.0, 0.0]
    )
    assert fault_of(one, 0.0).cause is Cause.STATE_STALE
    assert one.measure(7.0, 3.0, Q, QD)
    assert (
        one.estimate.known
        and one.estimate.source is VelocitySource.MEASURED
        and (one.estimate.stamp, one.arrival) == (7.0, 3.0)
    )
    np.testing.assert_array_equal(one.estimate.state, [Q, QD])
    np.testing.assert_array_equal(one.estimate.velocity, QD)
    assert one.cycle(3.0).defect is None


def test_velocities_are_filtered_and_kept_unfiltered_too() -> None:
    """y = u (1 - exp(-2 pi fc t)) after a step; a new cutoff resets the filter."""
    one = estimator(cutoff=2.0)
    one.measure(0.0, 0.0, Q, np.zeros(2))
    one.measure(0.125, 0.125, Q, QD)
    np.testing.assert_allclose(
        one.estimate.state[1], QD * (1.0 - math.exp(-4.0 * math.pi * 0.125)), rtol=1e-14
    )
    np.testing.assert_array_equal(one.estimate.velocity, QD)
    one.set_cutoff(0.0)
    one.measure(0.25, 0.25, Q, -QD)
    np.testing.assert_array_equal(one.estimate.state, [Q, -QD])


@pytest.mark.parametrize("qd", [None, np.full(2, np.nan)])
def test_positions_are_differentiated_without_measured_velocities(qd: Any) -> None:
    one = estimator()
    assert (
        one.measure(1.0, 1.0, Q, qd) and one.estimate.source is VelocitySource.UNKNOWN
    )
    np.testing.assert_array_equal(one.estimate.state, [Q, [0.0, 0.0]])
    assert (
        one.measure(1.5, 1.5, Q + [0.25, -0.5], qd)
        and one.estimate.source is VelocitySource.DIFFERENTIATED
    )
    np.testing.assert_allclose(one.estimate.state[1], [0.5, -1.0], rtol=1e-14)
    np.testing.assert_allclose(one.estimate.velocity, [0.5, -1.0], rtol=1e-14)


def test_velocities_that_become_nan_are_a_fault() -> None:
    """NaN means not measured only if all velocities are NaN from the first message on."""
    one = known()
    assert one.measure(1.1, 1.1, Q + 0.1, np.full(2, np.nan))
    assert fault_of(one).cause is Cause.STATE_INVALID
    assert one.estimate.source is VelocitySource.DIFFERENTIATED
    np.testing.assert_allclose(one.estimate.state[1], [1.0, 1.0], rtol=1e-9)
    assert (
        one.measure(1.2, 1.2, Q, QD)
        and one.cycle(1.2).source is VelocitySource.MEASURED
    )


@pytest.mark.parametrize("value", [np.nan, -np.inf, -1.0000001e9])
def test_positions_that_are_not_finite_or_too_large_are_refused(value: float) -> None:
    one = known()
    bad = np.array([Q, QD])
    bad[0, 1] = value
    assert not one.measure(1.1, 1.1, bad[0], bad[1])
    np.testing.assert_array_equal(one.estimate.state, [Q, QD])
    assert (one.estimate.stamp, one.arrival) == (1.0, 1.1)
    for _ in range(2):  # until a valid one arrives
        fault = fault_of(one, 1.1)
        assert (fault.cause, fault.joint) == (Cause.STATE_INVALID, "b")
        assert fault.value == value or math.isnan(value)
    assert one.trouble == fault.message
    one.measure(1.2, 1.2, Q, QD)
    assert one.cycle(1.2).defect is None


def test_the_largest_accepted_numbers() -> None:
    assert estimator().measure(0.0, 0.0, np.array([1e9, -1e9]), np.array([-1e9, 1e9]))


def test_an_invalid_message_is_a_fault_until_a_valid_one_arrives() -> None:
    one = known()
    one.reject(1.2, "two positions for one name")
    assert one.arrival == 1.2
    for _ in range(2):
        assert fault_of(one, 1.2).message == one.trouble == "two positions for one name"
    one.measure(1.3, 1.3, Q, QD)
    assert one.cycle(1.3).defect is None
    # reported once if a valid one follows at once
    one.measure(1.4, 1.4, Q * np.nan, QD)
    one.measure(1.5, 1.5, Q, QD)
    assert (
        fault_of(one, 1.5).cause is Cause.STATE_INVALID
        and one.cycle(1.5).defect is None
    )


def test_the_filter_is_reset_when_the_time_goes_back() -> None:
    one = estimator(cutoff=2.0)
    one.measure(5.0, 1.0, Q, np.zeros(2))
    assert one.measure(3.5, 1.1, Q, QD) and one.estimate.stamp == 3.5
    np.testing.assert_array_equal(one.estimate.state[1], QD)
    assert fault_of(one, 1.1).value == 1.5


def test_a_repeated_stamp_is_a_fault_for_another_state_only() -> None:
    one = known()
    assert one.measure(1.0, 1.1, Q, QD) and one.cycle(1.1).defect is None
    one.measure(1.0, 1.1, Q + 0.01, QD)
    assert one.at(1.1).stamp_repeats and fault_of(one, 1.1).cause is Cause.STAMP_REPEATS
    assert not one.at(1.1).stamp_repeats and one.cycle(1.1).defect is None


BACK = Cause.CLOCK_JUMPED_BACK
AHEAD = Cause.CLOCK_JUMPED_AHEAD
STALE = Cause.STATE_STALE
#: If time is simulated; stamp and steady time of each state, and the fault after it; state_timeout is 0.25 s.
CLOCKS: dict[str, tuple[bool, list[tuple[float, float, Cause | None]]]] = {
    "the first stamp may be any": (False, [(100.0, 1.0, None)]),
    "back, once": (False, [(5.0, 1.0, None), (3.5, 1.1, BACK), (3.6, 1.2, None)]),
    "ahead by the timeout": (True, [(100.0, 1.0, None), (102.25, 3.0, None), (102.25, 9.0, None)]),
    "ahead by more": (True, [(100.0, 1.0, None), (102.375, 3.0, AHEAD), (102.375, 9.0, None)]),
    "late states that catch up, then a jump": (False, [
        (10.0, 5.0, None), (10.001, 5.2, None), (10.3, 5.201, STALE), (10.8, 5.3, AHEAD),
    ]),
    "later ones": (False, [(10.0, 5.0, None), (10.001, 7.0, STALE), (12.1, 7.001, STALE), (12.6, 7.1, AHEAD)]),
    "a jump after a simulation slower than real time": (True, [
        *((0.01 * k, 0.04 * k, None) for k in range(1000)), (20.0, 40.0, AHEAD),
    ]),
}  # fmt: skip


@pytest.mark.parametrize(("simulated_time", "states"), CLOCKS.values(), ids=CLOCKS)
def test_stamps_relative_to_the_steady_clock(
    simulated_time: bool, states: list[tuple[float, float, Cause | None]]
) -> None:
    one = estimator()
    one.simulated_time = simulated_time
    for stamp, steady, cause in states:
        assert one.measure(stamp, steady, Q, QD)
        fault = one.cycle(steady).defect
        assert (fault.cause if fault else None) is cause, stamp


def test_the_value_of_a_jump_is_its_size() -> None:
    one = estimator()
    for stamp, steady in ((100.0, 1.0), (102.375, 3.0)):
        one.measure(stamp, steady, Q, QD)
    assert fault_of(one, 3.0).value == 0.375


def test_a_state_is_stale_after_state_timeout_unless_it_is_sent_again() -> None:
    one = known()
    assert one.age(1.25) == 0.25 and one.cycle(1.25).defect is None
    fault = fault_of(one, 1.5)
    assert (fault.cause, fault.value) == (Cause.STATE_STALE, 0.5)
    one.repeat(1.5)
    assert (
        one.arrival == 1.5
        and one.cycle(1.5).defect is None
        and one.estimate.stamp == 1.0
    )


def test_usable_states() -> None:
    """The newest state unless it is stale; a valid one also for two invalid messages after it."""
    one = estimator()
    one.cycle(0.0)
    assert not one.estimate.valid and one.missing(0.0)
    one.measure(1.0, 1.0, Q, QD)
    for steady, usable in ((1.0, True), (1.25, True), (1.5, False)):
        one.cycle(steady)
        assert one.estimate.valid == usable == (not one.missing(steady))
    one.measure(1.5, 1.5, Q, QD)
    for usable in (True, True, False):
        one.reject(1.5, "two positions for one name")
        assert one.missing(1.5)
        assert fault_of(one, 1.5).cause is Cause.STATE_INVALID
        assert one.estimate.valid == usable
    one.measure(1.75, 1.75, Q, QD)
    assert (
        one.cycle(1.75).defect is None and one.estimate.valid and not one.missing(1.75)
    )


def test_messages_without_these_joints_are_an_error_after_state_timeout() -> None:
    new = estimator()
    one = known()
    for each in (new, one):
        each.note_incomplete("joint b is missing")
    assert new.trouble == "joint b is missing"
    assert one.cycle(1.25).defect is None and one.arrival == 1.0
    assert "joint b is missing" in fault_of(one, 1.5).message
    one.measure(1.5, 1.5, Q, QD)
    assert "joint b is missing" not in fault_of(one, 2.0).message


def compared(velocity: Any = 0.0) -> Estimator:
    """Return an estimator after a state at 1 s; the first joint may jump by 0.1 rad, the second one by any amount."""
    one = Estimator(("a", "b"), 0.0, 0.1)
    one.set_plausible(np.array([0.1, np.inf]), np.full(2, 5.0))
    qd = None if velocity is None else np.array([velocity, 0.0])
    assert one.measure(1.0, 1.0, Q, qd)
    return one


@pytest.mark.parametrize(
    ("before", "velocity", "change", "trusted"),
    [
        (0.0, 2.0, 0.34, True),  # 0.1 and the interval from 0 to 2 rad/s times 0.125 s
        (0.0, 2.0, 0.36, False),
        (0.0, 2.0, -0.11, False),
        (2.0, 0.0, 0.34, True),
        (2.0, 3.0, 0.0, True),  # it may have stopped
        (-2.0, 2.0, -0.34, True),
        (None, None, 0.72, True),  # not measured: 0.1 and 5 rad/s
        (None, None, -0.73, False),
    ],
)
def test_a_position_continues_the_one_before(
    before: Any, velocity: Any, change: float, trusted: bool
) -> None:
    """A joint that does not is refuted: its state is the one before, at rest; the other joint is not concerned."""
    one = compared(before)
    qd = None if velocity is None else np.array([velocity, 9.0])
    assert one.measure(1.125, 1.125, Q + [change, 3.0], qd)
    assert one.estimate.refuted.tolist() == [not trusted, False]
    assert one.estimate.trusted == trusted
    np.testing.assert_array_equal(
        one.estimate.state[0], Q + [change if trusted else 0.0, 3.0]
    )
    if not trusted:
        fault = fault_of(one)
        assert (fault.cause, fault.joint) == (Cause.STATE_IMPLAUSIBLE, "a")
        assert fault.value == Q[0] + change
        assert one.estimate.state[1, 0] == (before or 0.0)


@pytest.mark.parametrize("seconds", [0.05, 0.09, 0.2, 3.0])
def test_a_position_that_has_jumped_returns_within_a_tenth_of_a_second(
    seconds: float,
) -> None:
    """Or by ``accepting``; or if the clock jumps back, too: a reset of the simulation."""
    one = compared()
    times = 1.0 + np.arange(0.01, seconds, 0.01)
    for t in times:
        one.measure(t, t, Q + 0.7, REST)
        assert one.estimate.refuted.tolist() == [True, False]
    assert fault_of(one, times[-1]).cause is Cause.STATE_IMPLAUSIBLE
    end = 1.0 + seconds
    for _ in range(2):
        one.measure(end, end, Q + 0.02, REST)
        assert one.estimate.trusted == (seconds < 0.1)
        end += 0.01
    if seconds > 0.1:
        one = one.accepting()
        assert one.estimate.trusted and one.estimate.state[0, 0] == Q[0] + 0.02
    one.measure(end, end, Q + 0.7, REST)
    assert not one.estimate.trusted
    one.measure(0.5, end + 0.1, Q + 0.7, REST)
    assert one.estimate.trusted


@pytest.mark.parametrize(
    ("gap", "change", "trusted"),
    [
        (0.2, 0.09, True),
        (0.2, 0.11, False),  # at rest before and after the gap
        (0.2, 0.28, True),
        (3.0, 1.08, True),
        (3.0, 1.2, False),  # the motion of at most a second
    ],
)
def test_a_gap_entitles_to_the_motion_at_the_velocities(
    gap: float, change: float, trusted: bool
) -> None:
    """By stamps: a late state of the beginning of the gap, then a current one; the velocity is 1 rad/s after 0.2."""
    one = compared()
    end = 1.0 + gap
    one.measure(1.01, end, Q, REST)
    velocity = np.array([1.0 if change > 0.2 else 0.0, 0.0])
    one.measure(end, end + 0.01, Q + [change, 0.0], velocity)
    assert one.estimate.trusted == trusted


@pytest.mark.parametrize("seconds", [0.5, 1.5])
def test_a_position_that_its_velocity_contradicts_is_not_followed(
    seconds: float,
) -> None:
    """An encoder that creeps by 0.5 rad/s while the velocity is 0. It is trusted again at the old position."""
    one = compared()
    for k in range(1, round(100 * seconds)):
        t = 1.0 + 0.01 * k
        one.measure(t, t, Q + [0.005 * k, 0.0], REST)
        assert abs(one.estimate.state[0, 0] - Q[0]) < 0.25
    assert one.estimate.refuted.tolist() == [True, False]
    for k in range(1, 60):
        t = 1.0 + seconds + 0.01 * k
        one.measure(t, t, Q + [max(0.04, 0.005 * (100 * seconds - 5 * k)), 0.0], REST)
    assert one.estimate.trusted == (seconds < 1.0)


def test_stamps_that_hardly_advance_count_as_repeated() -> None:
    """Milliseconds that are sent as nanoseconds; positions and velocities are compared by the time of arrival."""
    one = known()
    one.set_plausible(np.full(2, 0.1), np.full(2, 5.0))
    for k in range(1, 220):
        assert one.measure(
            1.0 + 1e-9 * (k // 100), 1.0 + 0.002 * k, Q + 0.002 * k, np.full(2, -1.0)
        )
        assert fault_of(one, 1.0 + 0.002 * k).cause in (
            Cause.STAMP_REPEATS,
            Cause.STATE_IMPLAUSIBLE,
        )
    assert one.estimate.refuted.all()


def test_a_continuous_joint_is_unwrapped() -> None:
    """Its encoder reports angles modulo 2 pi; positions of the other joint are unchanged."""
    one = Estimator(("a", "b"), 0.0, 0.25, np.array([True, False]))
    for k, angle in enumerate(np.arange(0.0, 15.0, 0.5)):
        wrapped = math.remainder(angle, math.tau)
        assert one.measure(0.1 * k, 0.1 * k, np.full(2, wrapped), QD)
        np.testing.assert_allclose(one.estimate.state[0], [angle, wrapped], atol=1e-12)

"""What is known of the joints: what counts as measured, what as wrong, and for how long."""

import math
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.faults import Cause, Fault
from robot_dynamics_ros.control.feedback import Feedback

NAMES = ("a", "b")
Q, QD = np.array([0.5, -1.0]), np.array([2.0, -4.0])


def feedback(cutoff: float = 0.0, state_timeout: float = 0.25) -> Feedback:
    return Feedback(NAMES, cutoff, state_timeout)


def known(time: float = 1.0) -> Feedback:
    """With one good state."""
    made = feedback()
    assert made.take(time, time, Q, QD)
    return made


def found(given: Feedback, steady: float = 1.0) -> Fault:
    fault = given.fault(steady)
    assert fault is not None
    return fault


def test_at_first_nothing_is_known() -> None:
    new = feedback()
    assert not new.known and not new.settled and new.trouble
    assert new.stamp == new.arrival == -math.inf
    assert np.array_equal(new.state, np.zeros((2, 2))) and np.array_equal(new.unfiltered, [0.0, 0.0])
    assert found(new, 0.0).cause is Cause.STATE_STALE


def test_a_good_state_is_kept() -> None:
    one = feedback()
    assert one.take(7.0, 3.0, Q, QD)
    assert one.known and one.settled and (one.stamp, one.arrival) == (7.0, 3.0)
    np.testing.assert_array_equal(one.state, [Q, QD])
    np.testing.assert_array_equal(one.unfiltered, QD)
    assert one.fault(3.0) is None


def test_velocities_are_filtered_and_kept_as_they_came_too() -> None:
    """y = u (1 - exp(-2 pi fc t)) after a step; a new cutoff starts anew."""
    one = feedback(cutoff=2.0)
    one.take(0.0, 0.0, Q, np.zeros(2))
    one.take(0.125, 0.125, Q, QD)
    np.testing.assert_allclose(one.state[1], QD * (1.0 - math.exp(-4.0 * math.pi * 0.125)), rtol=1e-14)
    np.testing.assert_array_equal(one.unfiltered, QD)
    one.set_cutoff(0.0)
    assert not one.settled
    one.take(0.25, 0.25, Q, -QD)
    np.testing.assert_array_equal(one.state, [Q, -QD])


@pytest.mark.parametrize("qd", [None, np.full(2, np.nan)])
def test_where_no_velocity_is_measured_positions_are_differentiated(qd: Any) -> None:
    one = feedback()
    assert one.take(1.0, 1.0, Q, qd) and not one.settled
    np.testing.assert_array_equal(one.state, [Q, [0.0, 0.0]])
    assert one.take(1.5, 1.1, Q + [0.25, -0.5], qd) and one.settled
    np.testing.assert_allclose(one.state[1], [0.5, -1.0], rtol=1e-14)
    np.testing.assert_allclose(one.unfiltered, [0.5, -1.0], rtol=1e-14)


@pytest.mark.parametrize("first", [QD, np.array([np.nan, 1.0])])
def test_a_velocity_that_was_there_is_missed(first: Any) -> None:
    """All NaN counts as not measured only from the first message on; and one joint alone never does."""
    one = feedback()
    one.take(1.0, 1.0, Q, first)
    assert not one.take(1.1, 1.1, Q, np.full(2, np.nan))
    assert (found(one).cause, found(one).joint) == (Cause.STATE_INVALID, "a")


@pytest.mark.parametrize("value", [np.nan, -np.inf, -2e9])
@pytest.mark.parametrize(("row", "what"), [(0, "position"), (1, "velocity")])
def test_a_number_that_cannot_be_is_no_state(value: float, row: int, what: str) -> None:
    one, bad = known(), np.array([Q, QD])
    bad[row, 1] = value
    assert not one.take(1.1, 1.1, bad[0], bad[1])
    np.testing.assert_array_equal(one.state, [Q, QD])
    assert (one.stamp, one.arrival) == (1.0, 1.1)
    for _ in range(2):  # until a good one comes
        fault = found(one, 1.1)
        assert (fault.cause, fault.joint) == (Cause.STATE_INVALID, "b")
        assert fault.value == value or math.isnan(value)
        assert what in fault.message
    assert one.trouble == fault.message
    one.take(1.2, 1.2, Q, QD)
    assert one.fault(1.2) is None


def test_a_bad_state_between_two_good_ones_is_told_once() -> None:
    one = known()
    one.take(1.1, 1.1, Q * np.nan, QD)
    one.take(1.2, 1.2, Q, QD)
    assert found(one, 1.2).cause is Cause.STATE_INVALID
    assert one.fault(1.2) is None


def test_a_message_that_cannot_be_used() -> None:
    one = known()
    one.reject(1.2, "two positions for one name")
    assert one.arrival == 1.2
    for _ in range(2):
        assert found(one, 1.2).message == one.trouble == "two positions for one name"
    one.take(1.3, 1.3, Q, QD)
    assert one.fault(1.3) is None


def test_a_time_that_went_back_is_told_once_and_the_filter_starts_anew() -> None:
    one = feedback(cutoff=2.0)
    one.take(5.0, 1.0, Q, np.zeros(2))
    assert one.take(3.5, 1.1, Q, QD)
    np.testing.assert_array_equal(one.state[1], QD)
    fault = found(one, 1.1)
    assert (fault.cause, fault.value) == (Cause.CLOCK_JUMPED_BACK, 1.5)
    assert one.fault(1.1) is None and one.stamp == 3.5


def test_a_repeated_stamp_is_no_jump() -> None:
    one = known()
    assert one.take(1.0, 1.1, Q, QD) and one.fault(1.1) is None


@pytest.mark.parametrize(("ahead", "told"), [(0.25, False), (0.375, True)])
def test_a_time_that_went_ahead_of_the_steady_clock(ahead: float, told: bool) -> None:
    """By more than state_timeout, however long both took; the first state may have any stamp."""
    one = feedback()
    one.take(100.0, 1.0, Q, QD)
    assert one.fault(1.0) is None
    one.take(102.0 + ahead, 3.0, Q, QD)
    fault = one.fault(3.0)
    assert (fault is not None) == told
    if fault is not None:
        assert (fault.cause, fault.value) == (Cause.CLOCK_JUMPED_AHEAD, ahead)
    one.take(102.0 + ahead, 9.0, Q, QD)  # the stamp stood still
    assert one.fault(9.0) is None


@pytest.mark.parametrize("stall", [0.2, 2.0])
def test_states_that_catch_up_after_late_ones_were_delivered_late(stall: float) -> None:
    """Their stamps are right, and so no clock has jumped; one that has jumps beyond what was late."""
    one = feedback()
    one.take(10.0, 5.0, Q, QD)
    one.take(10.001, 5.0 + stall, Q, QD)
    assert one.fault(5.0 + stall) is None
    one.take(10.1 + stall, 5.001 + stall, Q, QD)
    assert found(one, 5.001 + stall).cause is Cause.STATE_STALE
    one.take(10.6 + stall, 5.1 + stall, Q, QD)
    assert found(one, 5.1 + stall).cause is Cause.CLOCK_JUMPED_AHEAD


def test_how_old_it_may_be() -> None:
    one = known()
    assert one.age(1.25) == 0.25 and one.fault(1.25) is None
    fault = found(one, 1.5)
    assert (fault.cause, fault.value) == (Cause.STATE_STALE, 0.5)
    one.hear(1.5)
    assert one.arrival == 1.5 and one.fault(1.5) is None and one.stamp == 1.0


def test_what_the_last_look_found_to_go_by() -> None:
    """The newest state, unless it is stale; or a good one beside a bad one, once."""
    one = feedback()
    one.fault(0.0)
    assert not one.usable and one.missing(0.0)
    one.take(1.0, 1.0, Q, QD)
    for steady, usable in ((1.0, True), (1.25, True), (1.5, False)):
        one.fault(steady)
        assert one.usable == usable == (not one.missing(steady))
    one.take(1.5, 1.5, Q, QD)
    one.reject(1.5, "two positions for one name")
    assert one.missing(1.5)
    for usable in (True, False):  # the good one is used once
        assert found(one, 1.5).cause is Cause.STATE_INVALID
        assert one.usable == usable
    one.take(1.75, 1.75, Q, QD)
    assert one.fault(1.75) is None and one.usable and not one.missing(1.75)


def test_the_largest_number_that_counts() -> None:
    one = feedback()
    assert one.take(0.0, 0.0, np.array([1e9, -1e9]), np.array([-1e9, 1e9]))
    assert not one.take(0.1, 0.1, np.array([1e9, -1.0000001e9]), QD)
    assert found(one).joint == "b"


def test_a_clock_that_jumps_while_a_simulation_is_slower_than_real_time() -> None:
    one = feedback()
    for k in range(1000):
        one.take(0.01 * k, 0.04 * k, Q, QD)
    one.take(20.0, 40.0, Q, QD)
    assert found(one, 40.0).cause is Cause.CLOCK_JUMPED_AHEAD


def test_messages_without_these_joints_are_an_error_only_in_time() -> None:
    new = feedback()
    new.miss("joint b is missing")
    assert new.trouble == "joint b is missing"
    one = known()
    one.miss("joint b is missing")
    assert one.fault(1.25) is None and one.arrival == 1.0
    assert "joint b is missing" in found(one, 1.5).message
    one.take(1.5, 1.5, Q, QD)
    assert "joint b is missing" not in found(one, 2.0).message


def test_a_position_that_jumps_is_implausible_and_no_state() -> None:
    one = known()
    one.set_plausible(np.array([0.1, np.inf]), np.full(2, 5.0))
    assert not one.take(1.01, 1.01, Q + [0.5, 0.0], QD)
    np.testing.assert_array_equal(one.state, [Q, QD])
    assert (found(one).cause, found(one).joint, found(one).value) == (Cause.STATE_IMPLAUSIBLE, "a", 1.0)


def test_another_state_with_the_same_stamp_is_told() -> None:
    one = known()
    one.take(1.0, 1.1, Q + 0.01, QD)
    assert one.stamp_repeats and found(one, 1.1).cause is Cause.STAMP_REPEATS
    assert not one.stamp_repeats and one.fault(1.1) is None

"""Transitions of the safety state machine, and the check for unstable damping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.checks.cycle_checks import not_finite
from robot_dynamics_ros.control.configuration.settings import SafetySettings
from robot_dynamics_ros.control.hold import DampingCheck
from robot_dynamics_ros.control.safety import Cause, Fault, Mode, Safety
from robot_dynamics_ros.control.thresholds import RECOVERY_TIME

LIMIT = Fault(Cause.POSITION_LIMIT, "too far", "joint1", 2.0)
STALE = Fault(Cause.STATE_STALE, "too old", value=0.3)
NAN = Fault(Cause.STATE_INVALID, "nan", "joint2")


def step(
    safety: Safety, fault: Fault | None, time: float, steady: float, blind: bool = False
) -> None:
    safety.step([] if fault is None else [fault], time, steady, blind)


def machine(on_fault: str = "hold", reset: str = "manual") -> Safety:
    return Safety(SafetySettings(on_fault=on_fault, fault_reset=reset))


@pytest.mark.parametrize(
    ("on_fault", "after"), [("hold", Mode.HOLD), ("zero", Mode.ZERO)]
)
def test_a_failed_check_leads_to_on_fault(on_fault: str, after: Mode) -> None:
    safety = machine(on_fault)
    step(safety, None, 0.0, 10.0)
    assert (
        safety.mode is Mode.ACTIVE and safety.transitions == [] and safety.fault is None
    )
    step(safety, LIMIT, 1.0, 11.0)
    assert safety.mode is after
    (transition,) = safety.transitions
    assert (transition.time, transition.before, transition.after) == (
        1.0,
        Mode.ACTIVE,
        after,
    )
    assert transition.fault is LIMIT and safety.fault is LIMIT
    assert safety.holds == (on_fault == "hold")
    assert safety.fault_count == 1


A = Mode.ACTIVE
H = Mode.HOLD
Z = Mode.ZERO
F = Mode.FAULT
BACK = Fault(Cause.CLOCK_JUMPED_BACK, "back")
#: Fault at a time (s) of the controller, or a pair of controller and steady time, and the mode afterwards.
HISTORIES = {
    "manual: a fault waits until a check fails again": [
        (LIMIT, 0.0, H), (None, 0.1, H), (None, 0.4, F), (None, 8.0, F), (NAN, 9.0, H),
    ],
    "auto: nothing happens while every check passes": [(None, 0.0, A), (None, 1.0, A)],
    "auto: over after exactly RECOVERY_TIME": [
        (LIMIT, 0.0, H), (None, 0.0, H), (None, np.nextafter(RECOVERY_TIME, 0.0), H), (None, RECOVERY_TIME, A),
    ],
    "auto: a failure between begins the time anew": [
        (LIMIT, 1.0, H), (None, 1.15, H), (LIMIT, 1.26, H), (None, 1.3, H), (None, 1.29 + RECOVERY_TIME, H),
        (None, 1.31 + RECOVERY_TIME, A),
    ],
    "auto: a clock that goes back restarts the time": [
        (BACK, 100.0, H), (None, 100.1, H), (None, 0.0, H), (None, 0.9 * RECOVERY_TIME, H),
        (None, 1.1 * RECOVERY_TIME, A),
    ],
    "manual: without states the hold time is by the steady clock; a state restarts it": [
        (STALE, (1.0, 10.0), H), (STALE, (1.0, 10.49), H), (STALE, (1.0, 10.5), Z), (None, (3.0, 12.0), H),
        (STALE, (3.0, 12.1), H),
    ],
    "manual: valid states among invalid ones keep the hold for ever": [
        (NAN if second % 2 else LIMIT, float(second), H) for second in range(10)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", HISTORIES)
def test_modes_after_each_check(name: str) -> None:
    safety = machine(reset=name.partition(":")[0])
    for fault, times, mode in HISTORIES[name]:
        time, steady = times if isinstance(times, tuple) else (times, times)
        step(safety, fault, time, steady, blind=fault in (STALE, NAN))
        assert safety.mode is mode, times
        assert safety.holds == (mode in (H, F))


def test_the_first_fault_of_each_cause_is_reported() -> None:
    """Until the next activation; a new cause gives a transition."""
    safety = machine(reset="auto")
    further = Fault(Cause.POSITION_LIMIT, "still too far", "joint1", 2.1)
    step(safety, LIMIT, 1.0, 1.0)
    step(safety, further, 1.1, 1.1)
    assert safety.fault is LIMIT and len(safety.transitions) == 1
    step(safety, STALE, 1.1, 1.15)
    assert [(t.after, t.fault) for t in safety.transitions] == [
        (Mode.HOLD, LIMIT),
        (Mode.HOLD, STALE),
    ]
    step(safety, LIMIT, 1.15, 1.15)
    for time in (1.2, 1.5):
        step(safety, None, time, time)
    step(safety, further, 2.0, 2.0)
    assert safety.mode is Mode.HOLD and safety.fault is further


def test_zero_is_forced_if_holding_is_impossible() -> None:
    safety = machine()
    step(safety, LIMIT, 1.0, 1.0)
    for time in (1.1, 1.4):
        step(safety, None, time, time)
    assert safety.mode is Mode.FAULT and safety.holds
    safety.force_zero(NAN, 1.5)
    assert safety.mode is Mode.ZERO and not safety.holds and safety.fault is NAN
    assert (safety.transitions[-1].time, safety.transitions[-1].after) == (
        1.5,
        Mode.ZERO,
    )
    step(safety, None, 1.6, 1.6)
    assert safety.mode is Mode.HOLD, "every check has to pass for a while, once more"
    step(safety, None, 1.61 + RECOVERY_TIME, 2.0)
    assert safety.mode is Mode.FAULT
    safety.tune(SafetySettings(fault_reset="auto"))
    step(safety, None, 2.1, 2.1)
    assert safety.mode is Mode.ACTIVE


@pytest.mark.parametrize(
    "bounce", [0.001, 0.028, 0.1]
)  # s; the first is shorter than a cycle
def test_a_stop_that_bounces_is_not_cleared(bounce: float) -> None:
    """A program that clears in each cycle succeeds 0.2 s after the last release, also if the clock goes back."""
    safety = machine()
    for changes in range(1, 8):
        safety.emergency_stop("button", changes % 2 == 1)
        for cycle in range(max(round(bounce / 0.004), changes % 2)):
            time = changes * bounce + 0.004 * cycle
            step(safety, None, time, time)
            with pytest.raises(RobotDynamicsError):
                safety.clear([], time)
    safety.emergency_stop("button", False)
    for time in (9.0, 5.0, 4.99 + RECOVERY_TIME):
        step(safety, None, time, 10.0)
        with pytest.raises(RobotDynamicsError, match="Cure: call ~/clear_fault again"):
            safety.clear([], time)
    safety.clear([], 5.0 + RECOVERY_TIME)
    assert safety.mode is Mode.ACTIVE and not safety.sources


_ALLOWED = {
    ("active", "hold"), ("active", "zero"), ("hold", "hold"), ("hold", "zero"), ("zero", "hold"), ("zero", "zero"),
    ("hold", "fault"), ("zero", "fault"), ("fault", "hold"), ("fault", "zero"), ("hold", "active"), ("zero", "active"),
}  # fmt: skip


@given(
    st.sampled_from(["hold", "zero"]),
    st.sampled_from(["manual", "auto"]),
    st.lists(
        st.tuples(st.sampled_from([None, LIMIT, STALE, NAN]), st.floats(0.0, 0.4)),
        max_size=60,
    ),
)
def test_any_history(
    on_fault: str, reset: str, history: list[tuple[Fault | None, float]]
) -> None:
    """Only the defined transitions; never active with a fault; back to active only by auto reset."""
    safety = machine(on_fault, reset)
    time = 0.0
    modes = [safety.mode]
    for fault, dt in history:
        time += dt
        step(safety, fault, time, time, blind=fault in (STALE, NAN))
        assert not (fault is not None and safety.mode in (Mode.ACTIVE, Mode.FAULT))
        modes.append(safety.mode)
    steps = [(t.before.value, t.after.value) for t in safety.transitions]
    assert set(steps) <= _ALLOWED
    assert all(a[1] == b[0] for a, b in zip(steps, steps[1:], strict=False))
    if reset == "manual":
        assert not any(after == "active" for _, after in steps)
    else:
        assert Mode.FAULT not in modes
    if on_fault == "zero":
        assert Mode.HOLD not in modes


@pytest.mark.parametrize(
    ("states", "unstable"),
    [
        ([1.0, -0.8, 0.8], True),
        ([1.0, 0.5, -0.3, -0.8, 0.1, 0.7], True),
        ([1.0, -0.8, 0.5, 0.3, 0.1], False),
        ([1.0, -0.6, 0.35, -0.31], False),  # each swing is smaller
        ([1.0, -0.6, 0.5, -0.5], True),
        ([0.2, -0.25, 0.25, -0.25, 0.25], False),  # slow
        ([1.0, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9], False),  # in one direction
    ],
)
def test_damping_is_unstable_if_a_joint_swings(
    states: list[float], unstable: bool
) -> None:
    check = DampingCheck(np.array([2.0, 2.0]))
    time = 0.0
    for velocity in states:
        assert check.frequency == 1.0
        time += 0.05
        check.update(np.array([0.0, velocity]), time)
    assert check.frequency == pytest.approx(1.0 / 3.0 if unstable else 1.0)
    check.begin(np.zeros(2))
    assert check.frequency == 1.0


def test_feedback_ends_while_a_joint_runs_away() -> None:
    """At 1.5 times the limit; not for a joint that is as fast as at the fault. Then it is softer."""
    for begin in (1.0, -3.0):
        check = DampingCheck(np.array([2.0, np.inf]))
        check.begin(np.array([begin, 0.0]))
        allowed = 1.5 * max(2.0, abs(begin))
        for time, velocity, frequency in (
            (0.0, allowed, 1.0),
            (0.1, allowed + 0.1, 1.0),
            (0.13, allowed + 0.1, 0.0),
            (0.2, 2.1, 0.0),
            (0.3, 1.9, 1.0 / 3.0),
        ):
            check.update(np.array([velocity, 50.0]), time)
            assert check.frequency == pytest.approx(frequency)


def test_the_first_number_that_is_not_finite_is_named() -> None:
    names = ("a", "b", "c")
    assert not_finite(names, np.array([1.0, -2.0, 1e308])) is None
    for numbers, joint, value in (
        ([1.0, -np.inf, np.nan], "b", -np.inf),
        ([np.inf, 0.0, 0.0], "a", np.inf),
    ):
        fault = not_finite(names, np.array(numbers))
        assert fault is not None and (fault.cause, fault.joint, fault.value) == (
            Cause.TORQUE_NOT_FINITE,
            joint,
            value,
        )

"""Check of the update rate by the controller's time."""

import pytest

from robot_dynamics_ros.control.safety import Cause, CycleRate


def test_a_fault_ends_after_a_good_second() -> None:
    rate = CycleRate(100.0)
    assert any(rate.cycle(0.1 * k, 0.5) for k in range(20))
    end = [rate.cycle(2.0 + 0.01 * k, 0.5) for k in range(250)]
    assert end[0] is not None and end[-1] is None


def test_a_slow_rate_is_checked_over_some_cycles() -> None:
    rate = CycleRate(0.5)
    assert all(rate.cycle(2.0 * k, 0.9) is None for k in range(20))
    assert any(rate.cycle(40.0 + 4.0 * k, 0.9) for k in range(20))


@pytest.mark.parametrize(("hertz", "counts"), [(4.0, (0, 0, 0, 1, 1)), (0.0, (0, 0, 0, 0, 0))])
def test_late_is_more_than_half_a_period(hertz: float, counts: tuple[int, ...]) -> None:
    """Cycles without an update rate are never late."""
    rate = CycleRate(hertz)
    for time, late in zip((0.0, 0.25, 0.625, 1.125, 1.25), counts, strict=True):
        assert (rate.cycle(time, 0.0), rate.late) == (None, late)


def test_the_share_of_cycles_is_compared_with_the_least_ratio() -> None:
    """At 4 Hz after 1.25 s, five periods, or with the next cycle; every second cycle is a ratio of one half."""
    rate = CycleRate(4.0)
    faults = [rate.cycle(0.5 * k, 0.6) for k in range(10)]
    assert faults[:3] == [None] * 3
    assert [(fault.cause, fault.value) for fault in faults[3:]] == [(Cause.CYCLE_RATE, 0.5)] * 7, "until the next check"
    rate = CycleRate(4.0)
    assert [rate.cycle(0.5 * k, 0.5) for k in range(13)] == [None] * 13
    rate = CycleRate(4.0)
    assert [rate.cycle(time, 0.5) is None for time in (0.0, 0.5, 1.25)] == [True, True, False]

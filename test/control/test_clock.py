"""Rate of the cycles by the controller's time."""

import pytest

from robot_dynamics_ros.control.clock import CycleRate


def ratio(rate: CycleRate, time: float) -> float:
    """Return the ratio after a cycle at this time."""
    rate.cycle(time)
    return rate.ratio


def test_a_low_rate_ends_after_a_good_second() -> None:
    rate = CycleRate(100.0)
    assert any(ratio(rate, 0.1 * k) < 0.5 for k in range(20))
    end = [ratio(rate, 2.0 + 0.01 * k) for k in range(250)]
    assert end[0] < 0.5 <= end[-1]


def test_a_slow_rate_is_measured_over_some_cycles() -> None:
    rate = CycleRate(0.5)
    assert all(ratio(rate, 2.0 * k) >= 0.9 for k in range(20))
    assert any(ratio(rate, 40.0 + 4.0 * k) < 0.9 for k in range(20))


@pytest.mark.parametrize(
    ("hertz", "counts"), [(4.0, (0, 0, 0, 1, 1)), (0.0, (0, 0, 0, 0, 0))]
)
def test_late_is_more_than_half_a_period(hertz: float, counts: tuple[int, ...]) -> None:
    """Cycles without an update rate are never late."""
    rate = CycleRate(hertz)
    for time, late in zip((0.0, 0.25, 0.625, 1.125, 1.25), counts, strict=True):
        rate.cycle(time)
        assert rate.late == late


def test_the_ratio_is_that_of_the_last_complete_interval() -> None:
    """At 4 Hz after 1.25 s, five periods, or with the next cycle; every second cycle is a ratio of one half."""
    rate = CycleRate(4.0)
    assert [ratio(rate, 0.5 * k) for k in range(10)] == [1.0] * 3 + [0.5] * 7
    rate = CycleRate(4.0)
    assert [ratio(rate, time) < 0.5 for time in (0.0, 0.5, 1.25)] == [
        False,
        False,
        True,
    ]

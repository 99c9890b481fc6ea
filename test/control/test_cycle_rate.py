"""Whether a controller keeps its rate, by its own time."""

from robot_dynamics_ros.control.cycle_rate import CycleRate
from robot_dynamics_ros.control.faults import Cause


def test_it_is_over_after_a_good_second() -> None:
    rate = CycleRate(100.0)
    assert any(rate.cycle(0.1 * k, 0.5) for k in range(20))
    end = [rate.cycle(2.0 + 0.01 * k, 0.5) for k in range(250)]
    assert end[0] is not None and end[-1] is None


def test_cycles_for_each_state_have_no_rate() -> None:
    rate = CycleRate(0.0)
    assert all(rate.cycle(10.0 * k, 1.0) is None for k in range(10))
    assert rate.late == 0


def test_a_slow_rate_is_watched_over_some_cycles() -> None:
    rate = CycleRate(0.5)
    assert all(rate.cycle(2.0 * k, 0.9) is None for k in range(20))
    assert any(rate.cycle(40.0 + 4.0 * k, 0.9) for k in range(20))


def test_late_is_more_than_half_a_period() -> None:
    rate = CycleRate(4.0)
    for time, late in ((0.0, 0), (0.25, 0), (0.625, 0), (1.125, 1), (1.25, 1)):
        rate.cycle(time, 0.0)
        assert rate.late == late


def test_the_share_is_that_of_the_cycles_since_the_last_look() -> None:
    """At 4 Hz looked at after 1.25 s, five periods, or with the next cycle: every second one is half of them."""
    rate = CycleRate(4.0)
    faults = [rate.cycle(0.5 * k, 0.6) for k in range(10)]
    assert faults[:3] == [None] * 3
    found = [(fault.cause, fault.value) for fault in faults[3:] if fault is not None]
    assert found == [(Cause.CYCLE_RATE, 0.5)] * 7, "it stays until the next look"


def test_as_much_as_is_asked_for_is_enough() -> None:
    rate = CycleRate(4.0)
    assert [rate.cycle(0.5 * k, 0.5) for k in range(13)] == [None] * 13
    rate = CycleRate(4.0)
    assert [rate.cycle(time, 0.5) is None for time in (0.0, 0.5, 1.25)] == [True, True, False]

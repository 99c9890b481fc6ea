"""Sessions against an independent plant: commands are within bounds, and each fault has its cause, no other."""

import pytest

from tools.safety_times import CASES, RATE, Case, cycles_of, quiet
from tools.session_fuzz import fuzz


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_random_sessions_command_within_limits(first: int) -> None:
    assert [
        outcome for outcome in fuzz(range(first, first + 25)) if outcome.failure
    ] == []


def test_feedback_by_efforts_for_drives_of_a_light_joint_is_stable() -> None:
    """Its damping by the inertia, 2e-4 kg m^2, exceeds the rate of the commands while the drives are distrusted."""
    (outcome,) = fuzz([1665])
    assert not outcome.failure


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.cause}: {case.about}")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_each_cause_is_detected(case: Case) -> None:
    for rate in (0.0, RATE):
        if rate in case.rates:
            cycles, mode, cause = cycles_of(case, rate)
            assert cycles is not None and cause == case.cause and mode != "active"
            assert cycles <= 1500


@pytest.mark.parametrize("part", range(4))
def test_ordinary_operation_is_no_fault(part: int) -> None:
    assert quiet(part, 6000)[1] == []

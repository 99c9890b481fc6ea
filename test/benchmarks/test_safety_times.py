"""Each cause of a fault is seen, and nothing else is."""

import pytest

from benchmarks.safety_times import CASES, RATE, Case, cycles_of, quiet


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.cause}: {case.about}")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_cause_is_seen(case: Case) -> None:
    for rate in (0.0, RATE):
        if rate in case.rates:
            cycles, mode, cause = cycles_of(case, rate)
            assert cycles is not None and cause == case.cause and mode != "active"
            assert cycles <= 1500


@pytest.mark.parametrize("part", range(4))
def test_ordinary_operation_is_no_fault(part: int) -> None:
    assert quiet(part, 6000)[1] == []

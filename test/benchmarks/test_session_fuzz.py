"""Whole sessions with random messages, settings and clocks: no command is out of bounds."""

from benchmarks.session_fuzz import fuzz


def test_sessions() -> None:
    assert [outcome for outcome in fuzz(range(200)) if outcome.failure] == []

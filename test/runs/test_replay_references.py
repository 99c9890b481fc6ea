"""Replays of stored recordings give the efforts of an earlier version: bit for bit on its machine, else to 1e-9 Nm."""

import pytest

from tools.replay_references import RECORDINGS, difference


@pytest.mark.parametrize(
    ("name", "which"),
    [(name, which) for name, r in RECORDINGS.items() for which in r.settings],
)
def test_a_replay_gives_the_stored_efforts(name: str, which: str) -> None:
    assert difference(name, which) == ""

"""Tracking of the Panda's demo motion by drives with a loop of their own, over a network with delays and losses."""

import pytest

from tools.drive_study import JITTER, LOSSES, STEP, by_drives, by_effort


@pytest.mark.parametrize("seed", [1, 2])
def test_drives_track_ten_times_better_than_efforts_over_a_network(seed: int) -> None:
    """At 100 Hz with 10 ms jitter and 5 % losses; effort commands have nearly the largest gains that run at all."""
    network = {"jitter": JITTER, "losses": LOSSES}
    efforts = by_effort(30.0, 100.0, seed, **network)
    drives = by_drives(100.0, seed, **network)
    assert not efforts.faults
    assert by_effort(34.0, 100.0, seed, **network).faults
    assert not drives.faults
    assert drives.rms < 0.1 * efforts.rms
    fast = by_drives(1000.0, seed)
    assert not fast.faults
    assert drives.rms < 3.0 * fast.rms


def test_drives_with_the_same_gains_track_as_efforts_do() -> None:
    """At 500 Hz without losses, with gains that are torques: no inertia couples the errors of the joints."""
    efforts = by_effort(10.0, 500.0, 1, "pd_feedforward")
    drives = by_drives(500.0, 1, [10.0], [1.0], "pd_feedforward", STEP)
    assert drives.rms < 1.1 * efforts.rms
    assert by_drives(500.0, 1).rms < 1.1 * by_effort(30.0, 500.0, 1).rms

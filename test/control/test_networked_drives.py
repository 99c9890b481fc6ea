"""Tracking of the Panda's demo motion by drives with a loop of their own, over a network with delays and losses."""

import numpy as np
import pytest

from tools.drive_study import JITTER, LOSSES, STEP, by_drives, by_effort, killed


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


@pytest.mark.parametrize("at", [1.2, 4.0, 5.1, 6.3])
def test_drives_that_hold_stop_the_arm_when_commands_end(at: float) -> None:
    """Joints that are slower than half the fastest one are not compared: the faster ones move them by their inertia."""
    found = killed(at, "hold")
    speed = np.abs(found.velocity)
    fast = speed > 0.5 * speed.max()
    assert (speed[fast] > 0.05).all()
    assert (found.beyond <= found.allowed)[fast].all()
    assert found.rests


def test_drives_that_do_not_hold_let_the_arm_fall() -> None:
    """So that the test above says something about the hold: here the motion is far beyond its bound."""
    for reaction in ("damp", "zero"):
        assert killed(5.1, reaction).beyond.max() > 0.5

"""Faults of measured states, of their stamps and of clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.control.thresholds import LARGEST_MAGNITUDE
from robot_dynamics_ros.dynamics.kernels.types import Array

STAMP_REPEATS = Fault(
    Cause.STAMP_REPEATS,
    "joint_states: different states with the same header.stamp, so that velocities and time steps are unknown. Cure: "
    "set the stamp of each state in the driver, or leave it 0 (unstamped_states: arrival)",
)
VELOCITY_MISSING = Fault(
    Cause.STATE_INVALID,
    "joint_states: no velocities any more. Cure: check the driver, and check for a second publisher of joint_states",
)


def out_of_bounds(names: Sequence[str], state: Array) -> Fault:
    """Return the fault of the first number of a ``state`` (2, n), position and velocity, that is not plausible."""
    row, j = (int(k) for k in np.argwhere(~(np.abs(state) <= LARGEST_MAGNITUDE))[0])
    quantity = ("position", "velocity")[row]
    value = float(state[row, j])
    defect = "is implausible" if math.isfinite(value) else "is not finite"
    text = f'joint_states: {quantity} of joint "{names[j]}" {defect}: {value:g}. Cure: check its driver'
    return Fault(Cause.STATE_INVALID, text, names[j], value)


def contradiction(name: str, moved: float, implied: float, velocity: float) -> Fault:
    """Return the fault of a joint that ``moved`` by another distance than its measured velocity ``implied`` (rad or m).

    ``velocity`` (rad/s or m/s), the measured one, is the value of the fault.
    """
    text = (
        f'joint_states: joint "{name}" moved by {moved:.3g}, its velocity implies {implied:.3g}. Cure: check sign, '
        "unit and delay of the velocity in its driver, or leave it out; or raise position_step_limit"
    )
    return Fault(Cause.STATE_IMPLAUSIBLE, text, name, velocity)


def implausible(
    name: str, before: float, position: float, velocity: float, seconds: float
) -> Fault:
    """Return the fault of a ``position`` that differs too much from the last trusted one, ``before`` (rad or m).

    ``velocity`` (rad/s or m/s) is the measured one, and ``seconds`` (s) the time between both positions.
    """
    text = (
        f'joint_states: joint "{name}" moves from {before:.6g} to {position:.6g} in {seconds:.3g} s with a velocity '
        f"of {velocity:.6g}. Cure: check its encoder and for a second publisher of joint_states, raise "
        "position_step_limit, or call ~/clear_fault at rest if the position was reset"
    )
    return Fault(Cause.STATE_IMPLAUSIBLE, text, name, position)


def stale(age: float, timeout: float, lags: bool, absent: str) -> Fault:
    """Return the fault of a state of this ``age`` (s), above the ``timeout`` (s).

    ``lags`` is True if it is old by its stamp, ``absent`` the reason why no state arrives, "" if it is unknown.
    """
    reason = (
        absent
        or "Cure: check their publisher, and the load of this process (realtime_priority)"
    )
    if lags:
        reason = "Their stamps lag. Cure: check network and load, or set use_sim_time for a simulation"
    text = (
        f"joint_states are {age:.3f} s old, over state_timeout {timeout:g} s. {reason}"
    )
    return Fault(Cause.STATE_STALE, text, value=age)


def lag(seconds: float, largest: float) -> Fault:
    """Return the fault of states that lag by ``seconds``, above the ``largest`` lag for the gains."""
    return Fault(
        Cause.STATE_STALE,
        f"joint_states lag by {seconds:.3f} s behind the smallest delay seen, over half the delay margin of the gains, "
        f"{largest:.3f} s. Cure: check the load of driver and network and the clocks of their machines, or use a lower "
        "natural frequency",
        value=seconds,
    )


def late(seconds: float, timeout: float) -> Fault:
    """Return the fault of states that were delivered late.

    Their stamps advanced by ``seconds`` (s) at once, more than the ``timeout`` (s).
    """
    text = (
        f"joint_states were delivered late: their stamps advanced by {seconds:.3f} s at once, over state_timeout "
        f"{timeout:g} s. Cure: check the network and the load of the machines"
    )
    return Fault(Cause.STATE_STALE, text, value=seconds)


def clock_jump(seconds: float) -> Fault:
    """Return the fault of a time that jumped back by ``seconds``."""
    return Fault(
        Cause.CLOCK_JUMPED_BACK,
        f"time jumped back by {seconds:.6g} s: the trajectory is dropped. Cure: after the reset of a simulation or for "
        "a bag played in a loop, call ~/clear_fault or set fault_reset to auto; otherwise check for a second publisher "
        "of joint_states",
        value=seconds,
    )


def clock_jump_ahead(seconds: float) -> Fault:
    """Return the fault of a time that jumped ahead of the steady clock by ``seconds``."""
    return Fault(
        Cause.CLOCK_JUMPED_AHEAD,
        f"time jumped ahead by {seconds:.6g} s, over state_timeout: the trajectory is dropped. "
        "Cure: check the source of the time; for a simulation much faster than real time set state_timeout to .inf",
        value=seconds,
    )

"""Checks that the loops of a robot are closed in its initial state.

A loop of the dynamics file holds a point of link a at a point of link b. Positions are in rad or m, velocities in rad/s
or m/s. Loops are numbered from 0, in the order of the dynamics file.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.loops import (
    close_loops,
    loop_constraints,
    loop_forces,
)
from robot_dynamics_ros.simulation.step.loops import MAX_GAP, RANK_TOLERANCE

_ROUNDING = 1e-9  # m/s


def loop_gaps(model: RobotModel, position: Array) -> Array:
    """Return the distance (loops,) between the two points of each loop at ``position`` (n,), m.

    A robot without loops: an empty array.
    """
    if not model.loops:
        return np.zeros(0)
    error = loop_constraints(model, position, np.zeros(model.n)).error
    return np.asarray(np.linalg.norm(loop_forces(error), axis=1))


def require_closed(model: RobotModel, position: Array, velocity: Array) -> None:
    """Raise RobotDynamicsError if a loop is open by more than 1e-5 m at ``position`` or opens at ``velocity``.

    Both have shape (n,). The message names the loop and, if it can be computed, a closed position nearby.
    """
    gaps = loop_gaps(model, position)
    if np.max(gaps, initial=0.0) > MAX_GAP:
        widest = int(np.argmax(gaps))
        raise RobotDynamicsError(
            f"{loop_name(model, widest)} is open by {gaps[widest]:.3g} m at the initial positions {position.tolist()}. "
            f"Cure: {_nearest(model, position)}"
        )
    if model.loops and velocity.any():
        jacobian = loop_constraints(model, position, velocity).jacobian
        rates = jacobian @ velocity
        sizes = np.abs(jacobian) @ np.abs(velocity)
        worst = int(np.argmax(np.abs(rates)))
        if abs(rates[worst]) > RANK_TOLERANCE * sizes.max() + _ROUNDING:
            raise RobotDynamicsError(
                f"{loop_name(model, worst // 3)} opens by {abs(rates[worst]):.3g} m/s at the initial velocities "
                f"{velocity.tolist()}. Cure: compute the velocities of the other joints from those of the driven "
                "joints with driven_motion of robot_dynamics_ros.textbooks.constraints"
            )


def loop_name(model: RobotModel, loop: int) -> str:
    """Return the name, with both links, that messages use for the loop with index ``loop``."""
    return f'the loop between "{model.loops[loop].link_a}" and "{model.loops[loop].link_b}"'


def _nearest(model: RobotModel, position: Array) -> str:
    """Return the text after "Cure:", with closed positions near ``position`` if there are any within the limits."""
    how = "close_loops of robot_dynamics_ros.dynamics.model.loops"
    try:
        closed = close_loops(model, position)
    except RobotDynamicsError:
        return f"give initial positions that close it; {how} computes them from a nearby guess"
    if ((closed < model.position_lower) | (closed > model.position_upper)).any():
        return f"give initial positions within the joint limits that close it; {how} computes them from a guess"
    return f"start from {closed.tolist()}, the result of {how}, or from other positions that close it"

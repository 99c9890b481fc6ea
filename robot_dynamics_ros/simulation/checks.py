"""Checks of a plant's arguments and of its initial state, and messages for failed steps.

A loop of the dynamics file holds a point of link a at a point of link b. Loops are numbered from 0, in the order of the
dynamics file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.arguments import joint_vectors
from robot_dynamics_ros.dynamics.model.loops import (
    close_loops,
    loop_constraints,
    loop_forces,
)
from robot_dynamics_ros.simulation.step.arrays import LOOP_OPEN, NOT_FINITE, TOO_STIFF
from robot_dynamics_ros.simulation.step.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.thresholds import (
    LARGEST_GAP,
    LOOP_RANK_TOLERANCE,
    LOOP_RATE_ROUNDING,
)


def check_integrator(integrator: str) -> None:
    """Raise RobotDynamicsError unless ``integrator`` is "rk4" or "semi_implicit"."""
    if integrator not in INTEGRATORS:
        raise RobotDynamicsError(
            f'no integrator "{integrator}". Cure: use one of {", ".join(INTEGRATORS)}'
        )


def check_step_size(step_size: float) -> None:
    """Raise RobotDynamicsError unless the step size (s) is positive and finite."""
    if not (math.isfinite(step_size) and step_size > 0.0):
        raise RobotDynamicsError(
            f"step_size is {step_size!r} s. Cure: give a positive number such as 0.001"
        )


def check_count(count: int) -> None:
    """Raise RobotDynamicsError if ``count`` is less than 1."""
    if count < 1:
        raise RobotDynamicsError(f"count is {count}. Cure: give at least 1")


def finite(
    model: RobotModel, name: str, value: ArrayLike, plants: tuple[int, ...] = ()
) -> Array:
    """Return ``value`` as an array of finite numbers (n,) or (*plants, n).

    ``name`` is the name of the argument in messages. ``plants`` is () for one plant, (N,) for a batch. Raises
    RobotDynamicsError, naming plant and joint, for a wrong shape or a number that is not finite.
    """
    array = joint_vectors(name, value, model.joint_names, single=not plants)
    if array.shape not in ((model.n,), (*plants, model.n)):
        raise RobotDynamicsError(
            f"{name} has shape {array.shape}. Cure: give {(*plants, model.n)}, or {(model.n,)} for all plants"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        plant = f"plant {bad[0, 0]}: " if array.ndim > 1 else ""
        joint = model.joint_names[bad[0, -1]]
        number = float(array[tuple(bad[0])])
        raise RobotDynamicsError(
            f'{name}: {plant}joint "{joint}": {number} is not finite. Cure: give a finite number'
        )
    return array


def finite_wrenches(model: RobotModel, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Return the external wrenches on the kernels' bodies, (bodies, 6), from wrenches (6,) by link name.

    A wrench is force (N), then moment (Nm). The argument's are at the origin and in the axes of the link's frame, the
    result's at the origin and in the axes of the frame of the body to which the link is fixed. Raises
    RobotDynamicsError, naming the link, for an unknown link or a wrench that is not six finite numbers.
    """
    packed = model.body_wrenches(wrenches)
    for link, value in wrenches.items():
        if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise RobotDynamicsError(
                f'external_wrenches: link "{link}": {value!r} is not finite. Cure: give six finite numbers'
            )
    return packed


def initial_state(
    model: RobotModel,
    positions: ArrayLike | None,
    velocities: ArrayLike | None,
    plants: tuple[int, ...] = (),
) -> tuple[Array, Array]:
    """Return initial positions and velocities (*plants, n), as new arrays.

    The arguments have shape (n,) or (*plants, n), in rad or m, and rad/s or m/s. None stands for position 0 or the
    position limit nearest to it, and for velocity 0. ``plants`` is () for one plant, (N,) for a batch. Raises
    RobotDynamicsError, naming plant and joint, for a wrong shape or a number that is not finite.
    """
    shape = (*plants, model.n)
    if positions is None:
        positions = model.limit_rows.within(np.zeros(model.n))
    if velocities is None:
        velocities = np.zeros(model.n)
    position = np.broadcast_to(
        finite(model, "initial_positions", positions, plants), shape
    )
    velocity = np.broadcast_to(
        finite(model, "initial_velocities", velocities, plants), shape
    )
    return position.copy(), velocity.copy()


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

    Both have shape (n,), in rad or m, and rad/s or m/s. The message names the loop and, if it can be computed, a closed
    position nearby.
    """
    gaps = loop_gaps(model, position)
    if np.max(gaps, initial=0.0) > LARGEST_GAP:
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
        if abs(rates[worst]) > LOOP_RANK_TOLERANCE * sizes.max() + LOOP_RATE_ROUNDING:
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


def failure(
    model: RobotModel,
    status: int,
    joint: int,
    time: float,
    step_size: float,
    position: Array,
) -> str:
    """Return the error message, with a cure, for a step of ``step_size`` (s) that failed at simulated ``time`` (s).

    ``status`` is the constant NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF or LOOP_OPEN of arrays. ``joint`` is the
    index of the failing loop for LOOP_OPEN, else that of the coordinate. ``position`` (n,) is that before the step.
    """
    if status == LOOP_OPEN:
        return (
            f"t = {time:.6g} s: {loop_name(model, joint)} cannot be closed after a step of {step_size} s, because it "
            "moves too fast. Cure: use a smaller step_size or smaller torques"
        )
    where = f't = {time:.6g} s: joint "{model.joint_names[joint]}"'
    if status == TOO_STIFF:
        return (
            f"{where}: its viscous or sigmoid friction is too stiff for rk4 with a step_size of {step_size} s; the "
            'integration would be unstable. Cure: use a smaller step_size, or the integrator "semi_implicit"'
        )
    if status == NOT_FINITE:
        return (
            f"{where}: its motion becomes infinite in this step. Cure: use a smaller step_size than "
            f"{step_size} s or smaller torques; check masses and friction"
        )
    return (
        f"{where}: the mass matrix is not positive definite at position {position.tolist()}. "
        "Cure: give the links that it moves mass and inertia"
    )

"""Batch of simulated robots, stepped in parallel on all cores.

A plant is a robot model with its state: positions, velocities and friction modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.arguments import over_rows
from robot_dynamics_ros.simulation import checks
from robot_dynamics_ros.simulation.arm import initial_modes, kind_for, make_arm
from robot_dynamics_ros.simulation.plant import BasePlant
from robot_dynamics_ros.simulation.step import arrays
from robot_dynamics_ros.simulation.step.arrays import (
    OK,
    Batch,
    State,
    StepInput,
    arms_of,
    make_buffers,
)
from robot_dynamics_ros.simulation.step.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.step.trees import make_block
from robot_dynamics_ros.simulation.thresholds import LANES


def models_of(
    models: RobotModel | Sequence[RobotModel], count: int | None
) -> list[RobotModel]:
    """Return a list with one model per plant: ``models`` if it is a sequence, else ``count`` times that model.

    ``count`` may be None for a sequence. Raises RobotDynamicsError if it is missing for one model or differs from the
    number of models.
    """
    each = [models] * (count or 0) if isinstance(models, RobotModel) else list(models)
    if not each or count not in (None, len(each)):
        given = "one model" if isinstance(models, RobotModel) else f"{len(each)} models"
        raise RobotDynamicsError(
            f"{given}, count {count}. Cure: give one model and a count, or one model per plant"
        )
    return each


class PlantBatch(BasePlant):
    """Batch of N independent plants with the friction, limits and loops of ``Plant``; arrays have a leading axis N.

    The properties of the base class have the shape (N, n), such as ``position``, ``velocity``, ``effort`` and
    ``stuck``. ``time`` is common to all plants. With customised models and "semi_implicit", unconstrained motions are
    computed by SIMD instructions.

    Parameters
    ----------
    models
        One model for all ``count`` plants, or N models that differ in inertias and friction only (``scaled``,
        ``with_payload``).
    count
        Number N of plants; required with one model.
    integrator
        "rk4": fourth order. "semi_implicit": first order, faster, stable with any viscous or sigmoid friction.
    step_size
        Integration step (s).
    initial_positions, initial_velocities
        Shape (n,) for all plants or (N, n), rad or m, rad/s or m/s. None: position 0 or the position limit nearest to
        it, velocity 0.
    velocity_limits
        True to limit the joint velocities to those of the URDF.

    Raises
    ------
    RobotModelError
        If a joint moves no mass.
    RobotDynamicsError
        For an unknown integrator, a step size that is not positive, a wrong ``count``, initial states of a wrong shape
        or not finite, open loops, and models that differ in more than inertias and friction.
    """

    def __init__(
        self,
        models: RobotModel | Sequence[RobotModel],
        count: int | None = None,
        integrator: str = "rk4",
        step_size: float = 0.001,
        initial_positions: ArrayLike | None = None,
        initial_velocities: ArrayLike | None = None,
        velocity_limits: bool = False,
    ) -> None:
        each = models_of(models, count)
        first = each[0]
        self._count = len(each)
        super().__init__(first, integrator, step_size)
        for i, model in enumerate(each):
            model.require_mass()
            if not first.differs_in_parameters_only(model):
                raise RobotDynamicsError(
                    f"models[{i}] differs from models[0] in more than inertias and friction. "
                    "Cure: create them by scaled and with_payload from one model"
                )
        self._arm = make_arm(first, velocity_limits)
        loops = self._arm.numbers[len(first.kernels.parameters) :]
        self._numbers = np.array(
            [np.append(model.kernels.parameters, loops) for model in each]
        )
        self._friction = np.array([model.friction_parameters for model in each])
        self._no_wrenches = first.body_wrenches(None)
        self._advance = partial(kind_for(first).advance, self._arm)
        self._integrator = INTEGRATORS[integrator]
        self._start = checks.initial_state(
            first, initial_positions, initial_velocities, (self._count,)
        )
        for q, v in {
            (q.tobytes(), v.tobytes()): (q, v)
            for q, v in zip(*self._start, strict=True)
        }.values():
            checks.require_closed(first, q, v)
        self.reset()

    @property
    def count(self) -> int:
        """Number N of plants."""
        return self._count

    def reset(self) -> None:
        """Restore time 0 and the initial states of all plants."""
        position, velocity = (array.copy() for array in self._start)
        modes: IntArray = np.array(
            [
                initial_modes(self._arm.joints._replace(friction=f), v)
                for f, v in zip(self._friction, velocity, strict=True)
            ]
        )
        impulse = np.zeros((self.count, self._model.n + 3 * len(self._model.loops)))
        self._state = State(position, velocity, modes, impulse, np.zeros_like(velocity))
        self._effort = np.zeros(position.shape)
        self._steps = 0

    def follow(self, tau: Array, reports: Array) -> None:
        """Take the steps of ``reports`` (S, N, columns), from ``new_reports``, under ``tau`` (S, N, n), and fill them.

        Raises RobotDynamicsError as ``step`` does; the reports of the failed steps and those after them stay empty.
        """
        for torque, report in zip(tau, reports, strict=True):
            count = int(report[0, arrays.COUNT])
            if count > 0:
                self.step(torque, count)
            state = self._state
            values = (
                state.position,
                state.velocity,
                self._effort,
                state.impulse,
                state.modes,
            )
            np.concatenate(values, axis=-1, out=report[:, arrays.SAMPLE :])
            report[:, arrays.STEPS] = count

    def step(self, tau: ArrayLike, count: int = 1) -> None:
        """Take ``count`` steps under motor torques ``tau`` (N, n), or (n,) for all plants, Nm or N.

        The torques are constant, and are clamped to the effort limits.

        Raises
        ------
        RobotDynamicsError
            If ``tau`` has a wrong shape or is not finite, or ``count`` is less than 1; the states are then unchanged.
            Also if the motion of a plant becomes infinite, its mass matrix is singular or a loop cannot be closed. Such
            a plant keeps the state after its last successful step; the others take all their steps, and ``time``
            advances by all of them. The message names the first failed plant.
        """
        checks.check_count(count)
        limits = self._model.effort_limits
        shape = self._state.position.shape
        given = checks.finite(self._model, "tau", tau, shape[:1])
        effort = np.broadcast_to(np.clip(given, -limits, limits), shape).copy()
        batch = Batch(self._numbers, self._friction, self._state)
        outcomes = np.zeros((shape[0], 3), np.int64)

        def take(rows: slice) -> None:
            part = interpreted(arms_of)(batch, rows.start, rows.stop)
            given = StepInput(
                self._integrator, self._step_size, effort[rows], self._no_wrenches
            )
            block = make_block(self._state.modes.shape[1], self._model.n)
            self._advance(
                given, count, part, outcomes[rows], make_buffers(self._arm), block
            )

        over_rows(take, shape[0], LANES)
        self._effort = effort
        start = self.time
        self._steps += count
        for i in np.flatnonzero(outcomes[:, 0] != OK)[:1].tolist():
            status, joint, steps = outcomes[i].tolist()
            time = start + steps * self._step_size
            text = checks.failure(
                self._model,
                status,
                joint,
                time,
                self._step_size,
                self._state.position[i],
            )
            raise RobotDynamicsError(f"plant {i}: {text}")

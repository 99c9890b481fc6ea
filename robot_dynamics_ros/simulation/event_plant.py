"""A reference simulation: the same robot as a Plant's, followed from event to event at tight tolerance."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.checks import check_count, check_step_size, finite, finite_wrenches, initial_state
from robot_dynamics_ros.simulation.event_friction import EventFriction, Flags
from robot_dynamics_ros.simulation.event_motion import EventMotion, State

_MOST_EVENTS, _SHORT = 100, 1e-4  # so many events in so short a time (s) have no end
_AT_ONCE = 1e-9  # a joint that starts and stops within this time (s) did not start


class EventPlant:
    """A reference simulation, integrated at a tolerance of 1e-12: slow, for checking a Plant.

    It has the interface of Plant, and is what a Plant comes to as its step shrinks. Torques are constant over each
    call of ``step``, which takes some milliseconds. An impact at a position limit is inelastic and instantaneous: no
    friction acts in it, so that joints which friction held may be torn loose.

    Parameters
    ----------
    model
        The robot, without couplings and loops. RobotModelError if it has some, or some joint moves no mass.
    step_size
        What ``step`` counts in (s); it has no bearing on the accuracy.
    initial_positions
        Shape (n,), rad or m; None: 0, or the limit nearest to it.
    initial_velocities
        Shape (n,), rad/s or m/s; None: at rest.

    Raises
    ------
    RobotDynamicsError
        For a step size that is not positive, or an initial state that is not n finite numbers.
    """

    def __init__(
        self,
        model: RobotModel,
        step_size: float = 0.001,
        initial_positions: ArrayLike | None = None,
        initial_velocities: ArrayLike | None = None,
    ) -> None:
        packed = model.packed
        if packed.coupled:
            raise RobotModelError(
                f'robot "{model.name}": some of its joints follow others (mimic or couplings), which the event method '
                "does not know. Cure: use a Plant, or lock them"
            )
        if model.loops:
            raise RobotModelError(
                f'robot "{model.name}": it has loops, which the event method does not know. Cure: use a Plant'
            )
        model.require_mass()
        check_step_size(step_size)
        self._model = model
        self._step_size = float(step_size)
        rows = [packed.moving_joints.index(name) for name in packed.joint_names]
        self._friction = EventFriction(packed.friction[rows])
        self._start: State = initial_state(model, initial_positions, initial_velocities)
        self.reset()

    @property
    def model(self) -> RobotModel:
        """The robot."""
        return self._model

    @property
    def step_size(self) -> float:
        """What ``step`` counts in, s."""
        return self._step_size

    @property
    def time(self) -> float:
        """Simulated time since the start or the last reset, s: steps taken times step size."""
        return self._steps * self._step_size

    @property
    def position(self) -> Array:
        """Joint positions (n,), rad or m."""
        return self._state[0].copy()

    @property
    def velocity(self) -> Array:
        """Joint velocities (n,), rad/s or m/s; exactly 0 for joints that stick."""
        return self._state[1].copy()

    @property
    def effort(self) -> Array:
        """Torque (n,) of the motors in the last step, Nm or N: as asked for, within the effort limits."""
        return self._effort.copy()

    @property
    def stuck(self) -> Flags:
        """Which joints (n,) friction holds at rest; a joint pressed against its limit is not among them."""
        flags: Flags = self._stuck.copy()
        return flags

    def reset(self) -> None:
        """Go back to time 0 and the initial state."""
        self._state = self._start
        self._stuck = self._friction.dry & (self._start[1] == 0.0)
        self._effort = np.zeros(self._model.n)
        self._steps = 0

    def step(self, tau: ArrayLike, count: int = 1, external_wrenches: Mapping[str, ArrayLike] | None = None) -> None:
        """Go on by ``count`` steps under motor torque ``tau`` (n,), Nm or N, clamped to the effort limits.

        ``external_wrenches`` maps a link to the force and moment (6,) that act on it, at its frame's
        origin, in its axes.

        Raises
        ------
        RobotDynamicsError
            For arguments of the wrong shape or not finite, naming the joint or link; for a motion too fast or
            too stiff to follow, a singular mass matrix, and events that come ever faster, naming the joint. The
            state stays as it was.
        """
        check_count(count)
        limits = self._model.effort_limits
        effort = np.clip(finite(self._model, "tau", tau), -limits, limits)
        finite_wrenches(self._model, external_wrenches or {})
        motion = EventMotion(self._model, self._friction, effort, external_wrenches)
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused where it counts
                self._state, self._stuck = self._run(motion, count * self._step_size)
        except RobotDynamicsError as problem:
            raise RobotDynamicsError(f"in the {count} steps from t = {self.time:.6g} s: {problem}") from problem
        self._effort = effort
        self._steps += count

    def _run(self, motion: EventMotion, duration: float) -> tuple[State, Flags]:
        """State at the end, and which joints (n,) friction then holds."""
        model, state = self._model, self._state
        elapsed, returned = 0.0, np.zeros(model.n, np.bool_)
        times: deque[float] = deque(maxlen=_MOST_EVENTS)
        while True:
            velocity, phase = motion.decide(state, returned)
            if elapsed >= duration:
                state = state[0], velocity
                break
            time, state, blame = motion.follow((state[0], velocity), phase, duration - elapsed)
            elapsed += time
            if not blame.any():
                break
            returned = blame & phase.started & (time < _AT_ONCE)
            times.append(elapsed)
            if len(times) == _MOST_EVENTS and elapsed - times[0] < _SHORT:
                joint = model.joint_names[int(np.argmax(blame))]
                raise RobotDynamicsError(
                    f'joint "{joint}" starts, stops or meets its limit ever faster: {_MOST_EVENTS} times in '
                    f"{elapsed - times[0]:.1g} s. Cure: use a Plant, whose steps go past it"
                )
        q, v = state
        first = self._state[0]
        q = np.clip(q, np.minimum(first, model.position_lower), np.maximum(first, model.position_upper))
        _, force = motion.evaluate((q, v), phase)
        forward, backward = self._friction.at_rest(q)
        # Against a limit at rest, friction holds what it can; the limit takes the rest.
        pressed = ((q <= model.position_lower) & (force >= backward)) | (
            (q >= model.position_upper) & (force <= -forward)
        )
        stuck: Flags = ~phase.moving & self._friction.dry & ~pressed
        return (q, v), stuck

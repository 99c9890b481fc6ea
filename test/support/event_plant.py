"""Friction and limits for the event method: what acts between two events, and who moves after one.

It shares nothing with stick_slip.py and the friction kernels, so that each can tell whether the other is right.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    RIPPLE_AMPLITUDE,
    RIPPLE_PER_TURN,
    RIPPLE_PHASE,
    SIGMOID_AMPLITUDE,
    SIGMOID_SHIFT,
    SIGMOID_SLOPE,
    STATIC,
    STRIBECK_VELOCITY,
    VISCOUS,
)
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.checks import check_count, check_step_size, finite, finite_wrenches, initial_state

Flags = NDArray[np.bool_]

# Relative rounding of a force that still counts as inside its bounds.
_ROUNDING = 1e-13
_MOST_PIVOTS = 10_000


class EventFriction:
    """The friction of n joints from their table (n, FRICTION_SIZE): the laws that kernels/friction.py names."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self._levels = table[:, COULOMB], table[:, COULOMB_NEGATIVE]
        self._has_stribeck: Flags = table[:, STRIBECK_VELOCITY] > 0.0
        self._stribeck = np.where(self._has_stribeck, table[:, STRIBECK_VELOCITY], 1.0)
        self.dry: Flags = table[:, [COULOMB, COULOMB_NEGATIVE, STATIC, RIPPLE_AMPLITUDE]].max(axis=1) > 0.0

    def smooth(self, v: Array) -> Array:
        """The torque (n,) that viscous and sigmoid friction take; 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2."""
        slope, shift = self._table[:, SIGMOID_SLOPE], self._table[:, SIGMOID_SHIFT]
        rise = 0.5 * (np.tanh(0.5 * slope * (v + shift)) - np.tanh(0.5 * slope * shift))
        total: Array = self._table[:, VISCOUS] * v + self._table[:, SIGMOID_AMPLITUDE] * rise
        return total

    def at_rest(self, q: Array) -> tuple[Array, Array]:
        """The most (n,) that friction can take from a joint at rest, against forward and backward motion."""
        still = np.ones_like(q)
        return self._bound(self._levels[0], still, q), self._bound(self._levels[1], still, q)

    def starting(self, q: Array) -> tuple[Array, Array]:
        """What it takes just after the start: less than at rest where the static level has no Stribeck velocity."""
        fade = self._has_stribeck.astype(np.float64)
        return self._bound(self._levels[0], fade, q), self._bound(self._levels[1], fade, q)

    def sliding(self, q: Array, v: Array, direction: Array) -> Array:
        """The torque (n,) that dry friction takes from joints that slide in these directions (n,); 0: none."""
        fade = np.where(self._has_stribeck, np.exp(-((v / self._stribeck) ** 2)), 0.0)
        total: Array = direction * self._bound(np.where(direction > 0.0, *self._levels), fade, q)
        return total

    def _bound(self, level: Array, fade: Array, q: Array) -> Array:
        t = self._table
        ripple = t[:, RIPPLE_AMPLITUDE] * np.sin(t[:, RIPPLE_PER_TURN] * q + t[:, RIPPLE_PHASE])
        size: Array = np.maximum(level + fade * np.maximum(t[:, STATIC] - level, 0.0) + ripple, 0.0)
        return size


def move(matrix: Array, load: Array, moving: Flags) -> tuple[Array, Array]:
    """Acceleration (n,) where only the ``moving`` joints (n,) move, and the force (n,) that holds the others."""
    acceleration = np.zeros_like(load)
    acceleration[moving] = np.linalg.solve(matrix[moving][:, moving], load[moving])
    return acceleration, np.where(moving, 0.0, matrix @ acceleration - load)


def settle(matrix: Array, load: Array, rest: Flags, lowest: Array, highest: Array) -> tuple[Array, Flags]:
    """Return the acceleration (n,), exactly 0 for joints that stay at rest, and which joints (n,) move.

    The acceleration a minimises 1/2 a^T M a - a^T load + sum of grip+_j max(a_j, 0) + grip-_j max(-a_j, 0) over
    the joints at rest: M a = load + force with lowest = -grip+ <= force <= highest = grip-, the force at its
    lowest where a_j > 0 and at its highest where a_j < 0. A position limit makes one bound infinite. The
    solution is the only one.

    Murty's least-index principal pivoting with two bounds (Judice and Pires 1994): guess who moves and which
    way, solve, let the first joint that cannot do so do otherwise, repeat. It ends for every positive
    definite matrix.

    Parameters
    ----------
    matrix
        M (n, n), positive definite.
    load
        Shape (n,), Nm or N; the friction of sliding joints is in it.
    rest
        Shape (n,): joints at rest; the others are free to move.
    lowest, highest
        Bounds (n,) of the forces on the joints at rest.

    Raises
    ------
    RobotDynamicsError
        Where it finds no end because of rounding.
    """
    holds, forward, backward, free = 0, 1, -1, 2
    guess = np.where(rest, holds, free)
    for _ in range(_MOST_PIVOTS):
        bound = np.select([guess == forward, guess == backward], [lowest, highest], 0.0)
        acceleration, force = move(matrix, load + bound, guess != holds)
        size = _ROUNDING * (np.abs(matrix) @ np.abs(acceleration) + np.abs(load + bound))
        cannot = np.where(
            guess == holds,
            np.maximum(force - highest, lowest - force) > size,
            (guess != free) & (guess * acceleration * np.diagonal(matrix) < -size),
        )
        if not cannot.any():
            return acceleration, guess != holds
        first = int(np.argmax(cannot))
        if guess[first] != holds:
            guess[first] = holds
        else:
            guess[first] = backward if force[first] > highest[first] else forward
    raise RobotDynamicsError(
        "it cannot be told which joints stick: the mass matrix is close to singular. "
        "Cure: check the masses and inertias of the links"
    )


_RELATIVE, _ABSOLUTE = 1e-12, 1e-13  # tolerances of the integration
# A joint that slides stops, or meets its limit, this far past zero (rad/s, rad), so that it may start from zero.
_PAST = 1e-14
# A joint at rest gives way this far past its bounds, relative to the torques on it.
_YIELD = 1e-11
# A joint that comes to rest this close to a limit (rad) is at it: two joints that throw each other off their limits
# by ever smaller jumps come to rest.
_TOUCH = 1e-12
_MOST_EVALUATIONS = 300_000  # of the acceleration of one Motion

State = tuple[Array, Array]
"""Positions and velocities (n,)."""


class Phase(NamedTuple):
    """What holds up to the next event."""

    moving: Flags  # (n,)
    started: Flags  # (n,) those of them that were at rest before
    direction: Array  # (n,) 1 or -1 for joints that stop when their velocity changes sign, else 0
    lowest: Array  # (n,) bounds of the force on a joint at rest
    highest: Array


class EventMotion:
    """The robot under one torque."""

    def __init__(
        self, model: RobotModel, friction: EventFriction, tau: Array, wrenches: Mapping[str, ArrayLike] | None
    ) -> None:
        self._model = model
        self._friction = friction
        self._tau = tau
        self._wrenches = wrenches or None
        self._still = np.zeros(model.n)
        self._lower, self._upper = model.position_lower, model.position_upper
        self._evaluations = 0

    def _bias(self, q: Array, v: Array) -> Array:
        return self._model.inverse_dynamics(q, v, self._still, self._wrenches)

    def evaluate(self, state: State, phase: Phase) -> tuple[Array, Array]:
        """Acceleration, and the force on joints at rest, each (n,)."""
        self._evaluations += 1
        q, v = state
        load = self._tau - self._bias(q, v) - self._friction.smooth(v) - self._friction.sliding(q, v, phase.direction)
        bad = ~np.isfinite(load)
        if self._evaluations > _MOST_EVALUATIONS or bad.any():
            raise self._lost(int(np.argmax(bad)) if bad.any() else int(np.argmax(np.abs(v))))
        return move(self._model.mass_matrix(q), load, phase.moving)

    def _lost(self, joint: int) -> RobotDynamicsError:
        return RobotDynamicsError(
            f'joint "{self._model.joint_names[joint]}": its motion is too fast or too stiff to be followed. '
            "Cure: use a Plant, or smaller torques; check the masses and the friction"
        )

    def decide(self, state: State, returned: Flags) -> tuple[Array, Phase]:
        """Say who moves from here and which way, and the velocity (n,): after an impact it is another.

        ``returned`` (n,): joints that had just started and came to rest again at once. Those whose force is
        outside its bounds by rounding only stay at rest.
        """
        q, v = state
        friction, matrix = self._friction, self._model.mass_matrix(q)
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            self._model.forward_dynamics(q, v, self._tau)  # names the joint
            raise self._lost(int(np.argmin(np.diagonal(matrix)))) from None
        at_lower, at_upper = q <= self._lower, q >= self._upper
        if np.any((at_lower & (v < 0.0)) | (at_upper & (v > 0.0))):
            v = _impact(matrix, v, at_lower, at_upper)
        rest = (v == 0.0) & (friction.dry | at_lower | at_upper)
        direction = np.where(friction.dry | at_lower | at_upper, np.sign(v), 0.0)
        bias = self._bias(q, v)
        load = self._tau - bias - friction.smooth(v) - friction.sliding(q, v, direction)

        bounds, starting = friction.at_rest(q), friction.starting(q)
        lowest, highest = np.where(at_upper, -np.inf, -bounds[0]), np.where(at_lower, np.inf, bounds[1])
        low, high = lowest, highest
        while True:  # a joint that starts may have less friction at once, so that others start, or it does not
            acceleration, moving = settle(matrix, load, rest, low, high)
            lower_still = np.where(rest & (acceleration > 0.0), -starting[0], low)
            higher_still = np.where(rest & (acceleration < 0.0), starting[1], high)
            if np.array_equal(low, lower_still) and np.array_equal(high, higher_still):
                break
            low, high = lower_still, higher_still

        own = np.diagonal(matrix)
        size = np.abs(self._tau) + np.abs(bias) + np.abs(matrix) @ np.abs(acceleration) + bounds[0] + bounds[1]
        slack = _YIELD * (size + 0.1 * own)
        started = rest & moving & (np.abs(acceleration) * own > np.where(returned, 1e5, 0.5) * slack)
        direction[started] = np.sign(acceleration[started])
        phase = Phase(~rest | started, started, direction, lowest, highest)
        _, force = self.evaluate((q, v), phase)
        return v, phase._replace(lowest=np.minimum(lowest, force) - slack, highest=np.maximum(highest, force) + slack)

    def follow(self, state: State, phase: Phase, duration: float) -> tuple[float, State, Flags]:
        """Time up to the next event, at most ``duration``, the state then, and the joints (n,) to blame."""
        n = self._model.n
        none: Flags = np.zeros(n, np.bool_)
        if not phase.moving.any():
            return duration, state, none

        def rates(_: float, y: Array) -> Array:
            return np.concatenate([y[n:], self.evaluate((y[:n], y[n:]), phase)[0]])

        def speeds(y: Array) -> Array:
            return np.where(phase.direction != 0.0, phase.direction * y[n:], np.inf)

        def clearances(y: Array) -> Array:
            below = np.where(phase.moving & (phase.direction <= 0.0), y[:n] - self._lower, np.inf)
            above = np.where(phase.moving & (phase.direction >= 0.0), self._upper - y[:n], np.inf)
            return np.minimum(below, above)

        def margins(y: Array) -> Array:
            force = self.evaluate((y[:n], y[n:]), phase)[1]
            return np.where(phase.moving, np.inf, np.minimum(force - phase.lowest, phase.highest - force))

        start = np.concatenate(state)
        kinds = [kind for kind in (speeds, clearances, margins) if np.isfinite(kind(start)).any()]
        events = [_event(kind, 0.0 if kind is margins else _PAST) for kind in kinds]
        found = solve_ivp(rates, (0.0, duration), start, "DOP853", events=events, rtol=_RELATIVE, atol=_ABSOLUTE)
        if found.status < 0:
            raise self._lost(int(np.argmax(np.abs(self.evaluate(state, phase)[0]))))
        time, end = float(found.t[-1]), found.y[:, -1]
        q, v, blame = end[:n].copy(), end[n:].copy(), none
        nearer = np.where(q - self._lower < self._upper - q, self._lower, self._upper)
        for kind, times in zip(kinds, found.t_events or (), strict=False):
            if len(times) > 0:
                values = kind(end)
                these = values <= max(values.min(), 0.0)
                blame = blame | these
                if kind is speeds:
                    v[these] = 0.0
                    these = these & (np.abs(q - nearer) <= _TOUCH)
                if kind is not margins:
                    q[these] = nearer[these]
        return time, (q, v), blame


def _event(values: Callable[[Array], Array], past: float) -> Callable[[float, Array], float]:
    def least(_: float, y: Array) -> float:
        return float(values(y).min()) + past

    least.terminal, least.direction = True, -1.0  # type: ignore[attr-defined]
    return least


def _impact(matrix: Array, v: Array, at_lower: Flags, at_upper: Flags) -> Array:
    """Velocity (n,) after an inelastic impact at the limits that joints are at.

    v+ minimises 1/2 (v+ - v)^T M (v+ - v) over v+_j >= 0 at lower and v+_j <= 0 at upper limits (Moreau 1988). Friction
    torques have no time to act: a joint that stuck is torn loose.
    """
    nothing = np.zeros_like(v)
    lowest, highest = np.where(at_upper, -np.inf, nothing), np.where(at_lower, np.inf, nothing)
    after, _ = settle(matrix, matrix @ v, at_lower | at_upper, lowest, highest)
    change = np.abs(after - v)
    # Rounding shakes no joint loose.
    return np.where((v == 0.0) & (change <= 1e-13 * change.max()), 0.0, after)


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
        if set(packed.moving_joints) != set(packed.joint_names):
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

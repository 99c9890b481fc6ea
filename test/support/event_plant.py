"""Event-driven simulation: a reference for friction problem and friction kernels, with which it shares no code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from robot_dynamics_ros.dynamics.kernels import friction
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.checks import initial_state

Flags = NDArray[np.bool_]

# Relative rounding of a force that still counts as inside its bounds.
_ROUNDING = 1e-13
_MOST_PIVOTS = 10_000


class EventFriction:
    """Friction of n joints from their table (n, FRICTION_SIZE), by the laws in kernels/friction.py."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self._levels = table[:, friction.COULOMB], table[:, friction.COULOMB_NEGATIVE]
        self._has_stribeck: Flags = table[:, friction.STRIBECK_VELOCITY] > 0.0
        self._stribeck = np.where(
            self._has_stribeck, table[:, friction.STRIBECK_VELOCITY], 1.0
        )
        kinds = [
            friction.COULOMB,
            friction.COULOMB_NEGATIVE,
            friction.STATIC,
            friction.RIPPLE_AMPLITUDE,
        ]
        self.dry: Flags = table[:, kinds].max(axis=1) > 0.0

    def smooth(self, v: Array) -> Array:
        """Return viscous and sigmoid friction torque (n,); 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2."""
        slope = self._table[:, friction.SIGMOID_SLOPE]
        shift = self._table[:, friction.SIGMOID_SHIFT]
        rise = 0.5 * (np.tanh(0.5 * slope * (v + shift)) - np.tanh(0.5 * slope * shift))
        total: Array = (
            self._table[:, friction.VISCOUS] * v
            + self._table[:, friction.SIGMOID_AMPLITUDE] * rise
        )
        return total

    def at_rest(self, q: Array) -> tuple[Array, Array]:
        """Return the friction bounds (n,) of joints at rest, against forward and backward motion."""
        still = np.ones_like(q)
        return self._bound(self._levels[0], still, q), self._bound(
            self._levels[1], still, q
        )

    def starting(self, q: Array) -> tuple[Array, Array]:
        """Return the friction torque after break-away: below the static level without a Stribeck velocity."""
        fade = self._has_stribeck.astype(np.float64)
        return self._bound(self._levels[0], fade, q), self._bound(
            self._levels[1], fade, q
        )

    def sliding(self, q: Array, v: Array, direction: Array) -> Array:
        """Return the dry friction torque (n,) of joints that slip in these directions (n,); 0: none."""
        fade = np.where(self._has_stribeck, np.exp(-((v / self._stribeck) ** 2)), 0.0)
        total: Array = direction * self._bound(
            np.where(direction > 0.0, *self._levels), fade, q
        )
        return total

    def _bound(self, level: Array, fade: Array, q: Array) -> Array:
        t = self._table
        ripple = t[:, friction.RIPPLE_AMPLITUDE] * np.sin(
            t[:, friction.RIPPLE_PER_TURN] * q + t[:, friction.RIPPLE_PHASE]
        )
        size: Array = np.maximum(
            level + fade * np.maximum(t[:, friction.STATIC] - level, 0.0) + ripple, 0.0
        )
        return size


def move(matrix: Array, load: Array, moving: Flags) -> tuple[Array, Array]:
    """Return the acceleration (n,) if only ``moving`` joints (n,) move, and the constraint force (n,) on the others."""
    acceleration = np.zeros_like(load)
    acceleration[moving] = np.linalg.solve(matrix[moving][:, moving], load[moving])
    return acceleration, np.where(moving, 0.0, matrix @ acceleration - load)


def solve_modes(
    matrix: Array, load: Array, rest: Flags, lowest: Array, highest: Array
) -> tuple[Array, Flags]:
    """Return the acceleration (n,), exactly 0 for joints that stay at rest, and a mask (n,) of moving joints.

    It minimises 1/2 a^T M a - a^T load + sum of f+_j max(a_j, 0) + f-_j max(-a_j, 0) over the joints at rest:
    M a = load + force, the force at lowest = -f+ if a_j > 0 and at highest = f- if a_j < 0. A position
    limit makes one bound infinite. The load includes the friction of slipping joints.

    Murty's least-index principal pivoting with two bounds (Judice and Pires 1994): assume modes,
    solve, change the mode of the first joint that violates its own, repeat. It ends for positive definite matrices.
    """
    holds = 0
    forward = 1
    backward = -1
    free = 2
    guess = np.where(rest, holds, free)
    for _ in range(_MOST_PIVOTS):
        bound = np.select([guess == forward, guess == backward], [lowest, highest], 0.0)
        acceleration, force = move(matrix, load + bound, guess != holds)
        size = _ROUNDING * (
            np.abs(matrix) @ np.abs(acceleration) + np.abs(load + bound)
        )
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
    raise RuntimeError("the mass matrix is close to singular")


# Tolerances of the integration.
_RELATIVE = 1e-12
_ABSOLUTE = 1e-13
# Tolerance (rad/s, rad) past zero at which a slipping joint stops or meets its limit, so that it can start at zero.
_PAST = 1e-14
# Tolerance of the friction bounds at break-away, relative to the torques on the joint.
_YIELD = 1e-11
# A joint that comes to rest this close to a limit (rad) is at it: two joints that throw each other off their limits
# by ever smaller jumps come to rest.
_TOUCH = 1e-12

State = tuple[Array, Array]
"""Positions and velocities (n,)."""


class Phase(NamedTuple):
    """State of all joints until the next event."""

    moving: Flags  # (n,)
    started: Flags  # (n,) those of them that were at rest before
    # (n,) 1 or -1 for joints that stop when their velocity changes sign, else 0
    direction: Array
    lowest: Array  # (n,) bounds of the force on a joint at rest
    highest: Array


class EventMotion:
    """Motion of the robot under one torque."""

    def __init__(
        self,
        model: RobotModel,
        friction: EventFriction,
        tau: Array,
        wrenches: Mapping[str, ArrayLike] | None,
    ) -> None:
        self._model = model
        self._friction = friction
        self._tau = tau
        self._wrenches = wrenches or None
        self._still = np.zeros(model.n)
        self._lower = model.position_lower
        self._upper = model.position_upper

    def _bias(self, q: Array, v: Array) -> Array:
        return self._model.inverse_dynamics(q, v, self._still, self._wrenches)

    def evaluate(self, state: State, phase: Phase) -> tuple[Array, Array]:
        """Return the acceleration, and the force on joints at rest, each (n,)."""
        q, v = state
        load = (
            self._tau
            - self._bias(q, v)
            - self._friction.smooth(v)
            - self._friction.sliding(q, v, phase.direction)
        )
        return move(self._model.mass_matrix(q), load, phase.moving)

    def decide(self, state: State, returned: Flags) -> tuple[Array, Phase]:
        """Return the phase from here, and the velocity (n,) after an impact; ``returned``: joints that just stopped."""
        q, v = state
        friction = self._friction
        matrix = self._model.mass_matrix(q)
        at_lower = q <= self._lower
        at_upper = q >= self._upper
        if np.any((at_lower & (v < 0.0)) | (at_upper & (v > 0.0))):
            v = _impact(matrix, v, at_lower, at_upper)
        rest = (v == 0.0) & (friction.dry | at_lower | at_upper)
        direction = np.where(friction.dry | at_lower | at_upper, np.sign(v), 0.0)
        bias = self._bias(q, v)
        load = self._tau - bias - friction.smooth(v) - friction.sliding(q, v, direction)

        bounds = friction.at_rest(q)
        starting = friction.starting(q)
        lowest = np.where(at_upper, -np.inf, -bounds[0])
        highest = np.where(at_lower, np.inf, bounds[1])
        low = lowest
        high = highest
        # a joint that starts may have less friction at once, so that others start, or it does not
        while True:
            acceleration, moving = solve_modes(matrix, load, rest, low, high)
            lower_still = np.where(rest & (acceleration > 0.0), -starting[0], low)
            higher_still = np.where(rest & (acceleration < 0.0), starting[1], high)
            if np.array_equal(low, lower_still) and np.array_equal(high, higher_still):
                break
            low = lower_still
            high = higher_still

        own = np.diagonal(matrix)
        size = (
            np.abs(self._tau)
            + np.abs(bias)
            + np.abs(matrix) @ np.abs(acceleration)
            + bounds[0]
            + bounds[1]
        )
        slack = _YIELD * (size + 0.1 * own)
        started = (
            rest
            & moving
            & (np.abs(acceleration) * own > np.where(returned, 1e5, 0.5) * slack)
        )
        direction[started] = np.sign(acceleration[started])
        phase = Phase(~rest | started, started, direction, lowest, highest)
        _, force = self.evaluate((q, v), phase)
        return v, phase._replace(
            lowest=np.minimum(lowest, force) - slack,
            highest=np.maximum(highest, force) + slack,
        )

    def follow(
        self, state: State, phase: Phase, duration: float
    ) -> tuple[float, State, Flags]:
        """Return the time to the next event, at most ``duration``, the state then, and the joints (n,) causing it."""
        n = self._model.n
        none: Flags = np.zeros(n, np.bool_)
        if not phase.moving.any():
            return duration, state, none

        def rates(_: float, y: Array) -> Array:
            return np.concatenate([y[n:], self.evaluate((y[:n], y[n:]), phase)[0]])

        def speeds(y: Array) -> Array:
            return np.where(phase.direction != 0.0, phase.direction * y[n:], np.inf)

        def clearances(y: Array) -> Array:
            below = np.where(
                phase.moving & (phase.direction <= 0.0), y[:n] - self._lower, np.inf
            )
            above = np.where(
                phase.moving & (phase.direction >= 0.0), self._upper - y[:n], np.inf
            )
            return np.minimum(below, above)

        def margins(y: Array) -> Array:
            force = self.evaluate((y[:n], y[n:]), phase)[1]
            return np.where(
                phase.moving,
                np.inf,
                np.minimum(force - phase.lowest, phase.highest - force),
            )

        start = np.concatenate(state)
        kinds = [
            kind
            for kind in (speeds, clearances, margins)
            if np.isfinite(kind(start)).any()
        ]
        events = [_event(kind, 0.0 if kind is margins else _PAST) for kind in kinds]
        found = solve_ivp(
            rates,
            (0.0, duration),
            start,
            "DOP853",
            events=events,
            rtol=_RELATIVE,
            atol=_ABSOLUTE,
        )
        assert found.status >= 0, found.message
        time = float(found.t[-1])
        end = found.y[:, -1]
        q = end[:n].copy()
        v = end[n:].copy()
        blame = none
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


def _event(
    values: Callable[[Array], Array], past: float
) -> Callable[[float, Array], float]:
    def least(_: float, y: Array) -> float:
        return float(values(y).min()) + past

    least.terminal = True  # type: ignore[attr-defined]
    least.direction = -1.0  # type: ignore[attr-defined]
    return least


def _impact(matrix: Array, v: Array, at_lower: Flags, at_upper: Flags) -> Array:
    """Return the velocity (n,) after an inelastic impact at position limits; friction has no time to act.

    v+ minimises 1/2 (v+ - v)^T M (v+ - v) over v+_j >= 0 at lower and v+_j <= 0 at upper limits (Moreau 1988).
    """
    nothing = np.zeros_like(v)
    lowest = np.where(at_upper, -np.inf, nothing)
    highest = np.where(at_lower, np.inf, nothing)
    after, _ = solve_modes(matrix, matrix @ v, at_lower | at_upper, lowest, highest)
    change = np.abs(after - v)
    # Rounding must not break a joint away.
    return np.where((v == 0.0) & (change <= 1e-13 * change.max()), 0.0, after)


_AT_ONCE = 1e-9  # a joint that starts and stops within this time (s) did not start


class EventPlant:
    """A reference simulation, integrated at a tolerance of 1e-12: what a Plant comes to as its step shrinks.

    For robots without couplings and loops, with what tests use of Plant's interface. An impact at a position limit is
    inelastic and instantaneous: no friction acts in it, so that joints which friction held may be torn loose.
    """

    def __init__(
        self,
        model: RobotModel,
        step_size: float = 0.001,
        initial_positions: ArrayLike | None = None,
        initial_velocities: ArrayLike | None = None,
    ) -> None:
        assert set(model.moving_joints) == set(model.joint_names) and not model.loops
        self._model = model
        self._step_size = step_size
        self._steps = 0
        rows = [model.moving_joints.index(name) for name in model.joint_names]
        self._friction = EventFriction(model.friction_parameters[rows])
        self.position, self.velocity = initial_state(
            model, initial_positions, initial_velocities
        )
        self.stuck: Flags = self._friction.dry & (self.velocity == 0.0)

    @property
    def time(self) -> float:
        return self._steps * self._step_size

    def step(
        self,
        tau: ArrayLike,
        count: int = 1,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Advance ``count`` steps with this motor torque (n,), clamped to the effort limits."""
        limits = self._model.effort_limits
        effort = np.clip(np.asarray(tau, dtype=float), -limits, limits)
        motion = EventMotion(self._model, self._friction, effort, external_wrenches)
        (self.position, self.velocity), self.stuck = self._run(
            motion, count * self._step_size
        )
        self._steps += count

    def _run(self, motion: EventMotion, duration: float) -> tuple[State, Flags]:
        """Return the state at the end, and a mask (n,) of the joints that friction holds."""
        model = self._model
        first = self.position
        state = first, self.velocity
        elapsed = 0.0
        returned = np.zeros(model.n, np.bool_)
        while True:
            velocity, phase = motion.decide(state, returned)
            if elapsed >= duration:
                state = state[0], velocity
                break
            time, state, blame = motion.follow(
                (state[0], velocity), phase, duration - elapsed
            )
            elapsed += time
            if not blame.any():
                break
            returned = blame & phase.started & (time < _AT_ONCE)
        q, v = state
        q = np.clip(
            q,
            np.minimum(first, model.position_lower),
            np.maximum(first, model.position_upper),
        )
        _, force = motion.evaluate((q, v), phase)
        forward, backward = self._friction.at_rest(q)
        # Against a limit at rest, friction holds what it can; the limit takes the rest.
        pressed = ((q <= model.position_lower) & (force >= backward)) | (
            (q >= model.position_upper) & (force <= -forward)
        )
        stuck: Flags = ~phase.moving & self._friction.dry & ~pressed
        return (q, v), stuck

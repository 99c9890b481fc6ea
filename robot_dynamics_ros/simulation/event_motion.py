"""Motion of a robot with friction from one event to the next.

While no joint starts, stops or meets a position limit the motion is smooth:

    M_ss a_s = (tau - h - smooth friction - direction grip)_s,     a_r = 0,

s the joints that slide, r those at rest. scipy's solve_ivp (DOP853) integrates it up to the next event: the
velocity of a sliding joint comes to 0; the force (M a - tau + h)_r that keeps a joint at rest leaves what
friction and a limit can give; a joint meets its limit. Then event_friction.settle says who moves from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.event_friction import EventFriction, Flags, move, settle

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

        grips, starting = friction.at_rest(q), friction.starting(q)
        lowest, highest = np.where(at_upper, -np.inf, -grips[0]), np.where(at_lower, np.inf, grips[1])
        low, high = lowest, highest
        while True:  # a joint that starts may have less friction at once, so that others start, or it does not
            acceleration, moving = settle(matrix, load, rest, low, high)
            lower_still = np.where(rest & (acceleration > 0.0), -starting[0], low)
            higher_still = np.where(rest & (acceleration < 0.0), starting[1], high)
            if np.array_equal(low, lower_still) and np.array_equal(high, higher_still):
                break
            low, high = lower_still, higher_still

        own = np.diagonal(matrix)
        size = np.abs(self._tau) + np.abs(bias) + np.abs(matrix) @ np.abs(acceleration) + grips[0] + grips[1]
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

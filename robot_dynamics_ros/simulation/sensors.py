"""Sensors and delays between the plant and its controller: noise, encoder steps, delayed commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import real_numbers


class EffortDelay:
    """A delay line for torques: one that is given before a step acts from ``steps`` steps later on.

    It holds until the next one acts. With 0 steps it acts at once.

    Parameters
    ----------
    steps
        How many steps of the plant a command takes on its way.
    effort
        Torque (..., n), Nm or N, that acts until the first command does.

    Raises
    ------
    RobotDynamicsError
        For a number of steps that is negative or not whole.
    """

    def __init__(self, steps: int, effort: ArrayLike) -> None:
        if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0:
            raise RobotDynamicsError(f"effort delay of {steps!r} steps. Cure: give a whole number, at least 0")
        self._steps = int(steps)
        self._acting: Array = np.array(effort, dtype=np.float64)
        self._now = 0
        self._coming: deque[tuple[int, Array]] = deque()

    def give(self, tau: ArrayLike) -> None:
        """Send a torque (..., n) on its way; of several given before the same step, the last one counts."""
        due = self._now + self._steps
        if self._coming and self._coming[-1][0] == due:
            self._coming.pop()
        self._coming.append((due, np.array(tau, dtype=np.float64)))

    def pieces(self, count: int) -> Iterator[tuple[Array, int]]:
        """The next ``count`` steps, cut where the acting torque changes: each torque (..., n) and how many steps.

        A piece counts as done when it has been handed out.
        """
        end = self._now + count
        while self._now < end:
            while self._coming and self._coming[0][0] <= self._now:
                self._acting = self._coming.popleft()[1]
            until = min(end, self._coming[0][0]) if self._coming else end
            steps, self._now = until - self._now, until
            yield self._acting, steps


# Normal deviates that are drawn at once for each plant; the numbers do not depend on it.
_AHEAD = 32


@dataclass(frozen=True)
class Sensors:
    """How joint positions and velocities are measured. As it is by default, nothing changes, not a bit.

    The noise is white and normal: independent from reading to reading and from joint to joint. Encoders round the
    position, noise included, to the nearest multiple of their step: alone, an error of variance step^2 / 12.

    Attributes
    ----------
    position_noise, velocity_noise
        Standard deviations (rad or m, rad/s or m/s), at least 0; one for all joints, or n.
    position_resolution
        The encoder's step (rad or m), 0 for none; one for all joints, or n.
    seed
        Of the noise, a whole number, at least 0.

    Raises
    ------
    RobotDynamicsError
        For numbers that are negative or not finite, and a seed that is no such number.
    """

    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    position_resolution: ArrayLike = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self)[:3]:
            given = getattr(self, field.name)
            array = real_numbers(given)
            if array is None or array.ndim > 1 or not (np.isfinite(array) & (array >= 0.0)).all():
                raise RobotDynamicsError(
                    f"{field.name}: {given!r}. Cure: give a finite number, at least 0, or one for each joint"
                )
            # Plain numbers, so that sensors can be compared and do not change behind anybody's back.
            object.__setattr__(self, field.name, array.item() if array.ndim == 0 else tuple(array.tolist()))
        if not isinstance(self.seed, int | np.integer) or isinstance(self.seed, bool) or self.seed < 0:
            raise RobotDynamicsError(f"seed: {self.seed!r}. Cure: give a whole number, at least 0")

    def start(self, n: int, plants: range | None = None) -> Measurement:
        """Begin to measure a robot of ``n`` joints: plant 0, whose noise is that of any simulation of one plant.

        Of many plants at once, ``plants`` are the numbers; the noise of each has its own stream of the seed, whatever
        the others do. RobotDynamicsError for settings that have another number of joints.
        """
        return Measurement(self, n, plants)


class Measurement:
    """Readings of the sensors of one robot, or of many, one after the other; made by ``Sensors.start``.

    Attributes
    ----------
    exact_position, exact_velocity
        Whether a reading is the very number that is measured.
    """

    def __init__(self, sensors: Sensors, n: int, plants: range | None) -> None:
        self._resolution = _for_each("position_resolution", sensors.position_resolution, n)
        shape = (n,) if plants is None else (len(plants), n)
        numbers = range(1) if plants is None else plants
        self._position_noise, self._velocity_noise = (
            _Noise(_for_each(name, getattr(sensors, name), n), shape, sensors.seed, numbers, kind)
            for kind, name in enumerate(("position_noise", "velocity_noise"))
        )
        self.exact_position = not np.any(sensors.position_noise) and not np.any(sensors.position_resolution)
        self.exact_velocity = not np.any(sensors.velocity_noise)

    def read(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Measure positions (n,) and velocities (n,) once, (plants, n) of many plants; the arguments stay as they are.

        A sensor without noise and steps gives its very argument.
        """
        q = self._position_noise.added_to(q)
        if self._resolution.any():
            step = np.where(self._resolution > 0.0, self._resolution, 1.0)
            q = np.where(self._resolution > 0.0, np.rint(q / step) * step, q)
        return q, self._velocity_noise.added_to(v)


class _Noise:
    """Normal deviates of each plant from a stream of its own: NumPy's SeedSequence with a key to it."""

    def __init__(self, deviation: Array, shape: tuple[int, ...], seed: int, plants: range, kind: int) -> None:
        self._deviation = deviation
        self._shape = shape
        self._streams: list[np.random.Generator] = []
        if deviation.any():
            self._streams = [
                # A key, because further words of the seed could be mistaken for those of a longer one.
                np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(seed), spawn_key=(plant, kind))))
                for plant in plants
            ]
            self._drawn: Array = np.empty((len(plants), _AHEAD, shape[-1]))
            self._next = _AHEAD

    def added_to(self, values: Array) -> Array:
        if not self._streams:
            return values
        if self._next == _AHEAD:
            for stream, drawn in zip(self._streams, self._drawn, strict=True):
                stream.standard_normal(out=drawn)
            self._next = 0
        deviates = self._drawn[:, self._next].reshape(self._shape)
        self._next += 1
        return values + self._deviation * deviates


def _for_each(name: str, value: ArrayLike, n: int) -> Array:
    array: Array = np.array(value)
    if array.shape not in ((), (n,)):
        raise RobotDynamicsError(f"{name}: {array.size} numbers. Cure: give one, or {n}: one for each joint")
    return array

"""Sensor noise, encoder resolution and effort delay between plant and controller.

In shapes, n is the number of joints, N the number of plants of a batch, and ... is () for one plant and (N,) for a
batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation.thresholds import RANDOM_BLOCK


class EffortDelay:
    """Delay line for commands. One acts ``steps`` plant steps after ``give`` and is held until the next one acts.

    Commands are arrays of one shape: torques (..., n), Nm or N, or whatever else the caller gives.

    Only ``pieces`` advances the time of the delay line.

    Parameters
    ----------
    steps
        Delay in plant steps, at least 0.
    effort
        Command that acts before the first one from ``give``.

    Raises
    ------
    RobotDynamicsError
        If ``steps`` is negative or not an integer.
    """

    def __init__(self, steps: int, effort: ArrayLike) -> None:
        if (
            not isinstance(steps, int | np.integer)
            or isinstance(steps, bool)
            or steps < 0
        ):
            raise RobotDynamicsError(
                f"effort delay of {steps!r} steps. Cure: give a whole number, at least 0"
            )
        self._steps = int(steps)
        self._acting: Array = np.array(effort, dtype=np.float64)
        self._now = 0
        self._pending: deque[tuple[int, Array]] = deque()

    def give(self, tau: ArrayLike) -> None:
        """Add a command at the present step; it replaces one given since time last advanced."""
        due = self._now + self._steps
        if self._pending and self._pending[-1][0] == due:
            self._pending.pop()
        self._pending.append((due, np.array(tau, dtype=np.float64)))

    def pieces(self, count: int) -> Iterator[tuple[Array, int]]:
        """Yield the commands of the next ``count`` steps, each with the number of steps for which it acts.

        The time of the delay line advances by these steps when the pair is yielded. The commands are not copied.
        """
        end = self._now + count
        while self._now < end:
            while self._pending and self._pending[0][0] <= self._now:
                self._acting = self._pending.popleft()[1]
            until = min(end, self._pending[0][0]) if self._pending else end
            steps = until - self._now
            self._now = until
            yield self._acting, steps


@dataclass(frozen=True)
class Sensors:
    """Sensor model of joint positions and velocities; the default is exact.

    The noise is Gaussian and white, independent between readings and joints. The encoder rounds the position with its
    noise to the nearest multiple of its resolution; the variance of the rounding error is resolution^2 / 12.

    Attributes
    ----------
    position_noise, velocity_noise
        Standard deviations (rad or m, rad/s or m/s), at least 0; one number for all joints, or n numbers.
    position_resolution
        Encoder resolution (rad or m), 0 for none; one number for all joints, or n numbers.
    seed
        Seed of the noise, an integer, at least 0.

    Raises
    ------
    RobotDynamicsError
        For negative or non-finite numbers and an invalid seed, naming the field.
    """

    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    position_resolution: ArrayLike = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self)[:3]:
            given = getattr(self, field.name)
            array = real_numbers(given)
            if (
                array is None
                or array.ndim > 1
                or not (np.isfinite(array) & (array >= 0.0)).all()
            ):
                raise RobotDynamicsError(
                    f"{field.name}: {given!r}. Cure: give a finite number, at least 0, or one for each joint"
                )
            # Immutable and comparable.
            object.__setattr__(
                self,
                field.name,
                array.item() if array.ndim == 0 else tuple(array.tolist()),
            )
        if (
            not isinstance(self.seed, int | np.integer)
            or isinstance(self.seed, bool)
            or self.seed < 0
        ):
            raise RobotDynamicsError(
                f"seed: {self.seed!r}. Cure: give a whole number, at least 0"
            )

    def start(self, n: int, plants: range | None = None) -> Measurement:
        """Return a new sequence of readings of a robot with ``n`` joints, or of a batch; the noise starts afresh.

        ``plants`` are the indices of a batch's plants, of which the noise streams are used; None: a single robot, with
        readings (n,) and the stream of index 0. The noise of each plant is an independent random stream that depends on
        seed and index only.

        Raises RobotDynamicsError if a field has neither 1 nor ``n`` numbers.
        """
        return Measurement(self, n, plants)


class Measurement:
    """Sequence of sensor readings of a robot or a batch; create it by ``Sensors.start``.

    Parameters
    ----------
    sensors
        Sensor model.
    n
        Number of joints.
    plants
        Indices of the plants of a batch, which select their noise; None: a single robot.

    Attributes
    ----------
    exact_position, exact_velocity
        True if readings have neither noise nor rounding.
    """

    def __init__(self, sensors: Sensors, n: int, plants: range | None) -> None:
        self._resolution = _for_each(
            "position_resolution", sensors.position_resolution, n
        )
        shape = (n,) if plants is None else (len(plants), n)
        numbers = range(1) if plants is None else plants
        self._position_noise, self._velocity_noise = (
            _Noise(
                _for_each(name, getattr(sensors, name), n),
                shape,
                sensors.seed,
                numbers,
                kind,
            )
            for kind, name in enumerate(("position_noise", "velocity_noise"))
        )
        self.exact_position = not np.any(sensors.position_noise) and not np.any(
            sensors.position_resolution
        )
        self.exact_velocity = not np.any(sensors.velocity_noise)

    def read(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return measured positions and velocities at the true ``q`` and ``v``, all (n,), or (N, n) of a batch.

        Units are rad or m, and rad/s or m/s. Each call draws new noise. The arguments are not changed; an exact sensor
        returns the argument itself.
        """
        q = self.rounded(self._position_noise.added_to(q))
        return q, self._velocity_noise.added_to(v)

    def rounded(self, q: Array) -> Array:
        """Return the positions ``q``, shaped as in ``read``, rounded to the resolution of the encoders, without noise.

        The argument is not changed; exact encoders return it itself.
        """
        if not self._resolution.any():
            return q
        step = np.where(self._resolution > 0.0, self._resolution, 1.0)
        return np.where(self._resolution > 0.0, np.rint(q / step) * step, q)


class _Noise:
    """Gaussian noise with one random stream per plant, by the ``spawn_key`` of NumPy's SeedSequence."""

    def __init__(
        self,
        deviation: Array,
        shape: tuple[int, ...],
        seed: int,
        plants: range,
        kind: int,
    ) -> None:
        self._deviation = deviation
        self._shape = shape
        self._streams: list[np.random.Generator] = []
        if deviation.any():
            self._streams = [
                # Appending to the seed instead of spawn_key could collide with a longer seed.
                np.random.Generator(
                    np.random.PCG64(
                        np.random.SeedSequence(int(seed), spawn_key=(plant, kind))
                    )
                )
                for plant in plants
            ]
            self._drawn: Array = np.empty((len(plants), RANDOM_BLOCK, shape[-1]))
            self._next = RANDOM_BLOCK

    def added_to(self, values: Array) -> Array:
        if not self._streams:
            return values
        if self._next == RANDOM_BLOCK:
            for stream, drawn in zip(self._streams, self._drawn, strict=True):
                stream.standard_normal(out=drawn)
            self._next = 0
        deviates = self._drawn[:, self._next].reshape(self._shape)
        self._next += 1
        return values + self._deviation * deviates


def _for_each(name: str, value: ArrayLike, n: int) -> Array:
    array: Array = np.array(value)
    if array.shape not in ((), (n,)):
        raise RobotDynamicsError(
            f"{name}: {array.size} numbers. Cure: give 1 number for all joints, or {n}"
        )
    return array

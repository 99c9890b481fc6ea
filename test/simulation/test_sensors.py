"""Sensor noise, encoder resolution and effort delay."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.simulation.sensors import EffortDelay, Sensors
from support.arms import Array


def _readings(
    sensors: Sensors, count: int, n: int = 3, plants: range | None = None
) -> tuple[Array, Array]:
    measurement = sensors.start(n, plants)
    zero = np.zeros((n,) if plants is None else (len(plants), n))
    q, v = zip(*(measurement.read(zero, zero) for _ in range(count)), strict=True)
    return np.array(q), np.array(v)


def test_exact_sensors_change_nothing() -> None:
    q = np.array([-0.0, 1e-300, 3.0])
    v = np.array([0.1, -0.0, np.pi])
    measured = Sensors().start(3).read(q, v)
    assert measured[0] is q and measured[1] is v


def _stream(seed: int, plant: int, kind: int, size: float) -> Array:
    """Return numbers of PCG64 with SeedSequence(seed, spawn_key=(plant, 0: position or 1: velocity))."""
    stream = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(plant, kind)))
    )
    return np.asarray(size * stream.standard_normal((100, 3)))


@pytest.mark.parametrize("sizes", [(2.0, 3.0), (2.0, 0.0), (0.0, 3.0)])
def test_noise_of_each_plant_and_sensor_is_a_numpy_stream_of_its_own(
    sizes: tuple[float, float],
) -> None:
    sensors = pickle.loads(pickle.dumps(Sensors(*sizes, seed=5)))
    for plants in (range(4, 6), range(6)):
        readings = _readings(sensors, 100, plants=plants)
        for kind, size in enumerate(sizes):
            expected = [_stream(5, plant, kind, size) for plant in plants]
            assert np.array_equal(np.moveaxis(readings[kind], 1, 0), expected)
    assert np.array_equal(_readings(sensors, 100)[0], _stream(5, 0, 0, sizes[0]))


def test_encoder_rounds_to_its_step() -> None:
    step = 0.01
    measurement = Sensors(position_resolution=[step, 0.0]).start(2)
    angles = np.linspace(-3.0, 4.0, 1_007)
    readings = np.array(
        [measurement.read(np.array([x, x]), np.zeros(2))[0] for x in angles]
    )
    assert np.array_equal(readings[:, 1], angles), "no step, no change"
    counts = readings[:, 0] / step
    assert np.abs(counts - np.rint(counts)).max() < 1e-9
    assert np.abs(readings[:, 0] - angles).max() <= step / 2 * (1 + 1e-9)
    noisy, _ = _readings(Sensors(0.02, seed=3), 50)
    rounded, _ = _readings(Sensors(0.02, position_resolution=0.05, seed=3), 50)
    assert np.abs(rounded - noisy).max() <= 0.025 * (1 + 1e-9)
    assert set(np.rint(rounded / 0.05).ravel()) >= {-1.0, 0.0, 1.0}
    assert np.abs(rounded / 0.05 - np.rint(rounded / 0.05)).max() < 1e-9


def test_sensors_are_plain_values() -> None:
    noise = np.array([0.1, 0.2])
    sensors = Sensors(noise)
    noise[:] = 9.0
    assert sensors == Sensors([0.1, 0.2]) and hash(sensors) == hash(Sensors((0.1, 0.2)))


@pytest.mark.parametrize(
    "keywords",
    [
        {"position_noise": -0.1},
        {"velocity_noise": [0.1, np.nan]},
        {"position_resolution": np.inf},
        {"position_noise": "much"},
        {"position_noise": [[0.1]]},
        {"position_noise": [0.1, 0.1]},
        {"velocity_noise": [0.1, 0.1]},
        {"position_resolution": [0.1, 0.1]},
        {"seed": -1},
        {"seed": 0.5},
        {"seed": True},
    ],
)
def test_impossible_sensors_are_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(RobotDynamicsError, match=next(iter(keywords))):
        Sensors(**keywords).start(3)


# --- Effort delay

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=12)


def _acting(steps: int, events: Sequence[tuple[int, int]]) -> list[float]:
    """Return the torque in each step; each of ``gives`` is commands and the number of steps after them."""
    delay_line = EffortDelay(steps, [0.0])
    acting: list[float] = []
    value = 0.0
    for gives, count in events:
        for _ in range(gives):
            value += 1.0
            delay_line.give([value])
        for tau, length in delay_line.pieces(count):
            assert length > 0
            acting += [float(tau[0])] * length
    return acting


@given(steps=st.integers(0, 10), events=EVENTS)
def test_a_command_acts_a_fixed_number_of_steps_later(
    steps: int, events: list[tuple[int, int]]
) -> None:
    """In step s the torque is u(s - d), the last command before step s - d."""
    given_before = []
    value = 0.0
    for gives, count in events:
        value += gives
        given_before += [value] * count
    expected = [
        given_before[s - steps] if s >= steps else 0.0 for s in range(len(given_before))
    ]
    assert _acting(steps, events) == expected


def test_arrays_are_copied() -> None:
    start = np.array([[7.0, 8.0]])
    tau = np.array([[1.0, 2.0]])
    delay_line = EffortDelay(1, start)
    delay_line.give(tau)
    start[:] = 0.0
    tau[:] = 0.0
    assert [(t.tolist(), k) for t, k in delay_line.pieces(3)] == [
        ([[7.0, 8.0]], 1),
        ([[1.0, 2.0]], 2),
    ]


@pytest.mark.parametrize("steps", [-1, 1.5, True, None])
def test_delay_must_be_a_number_of_steps(steps: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="effort delay"):
        EffortDelay(steps, [0.0])

"""What sensors make of a motion."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.simulation.sensors import Sensors

Array = NDArray[np.float64]


def _readings(sensors: Sensors, count: int, n: int = 3, plants: range | None = None) -> tuple[Array, Array]:
    """`count` readings of zero, one after the other."""
    measurement = sensors.start(n, plants)
    zero = np.zeros((n,) if plants is None else (len(plants), n))
    q, v = zip(*(measurement.read(zero, zero) for _ in range(count)), strict=True)
    return np.array(q), np.array(v)


def test_exact_sensors_change_nothing() -> None:
    q, v = np.array([-0.0, 1e-300, 3.0]), np.array([0.1, -0.0, np.pi])
    measured = Sensors().start(3).read(q, v)
    assert measured[0] is q
    assert measured[1] is v


def test_noise_is_white_and_normal() -> None:
    """Mean 0 +- 5 s/sqrt(N), variance s^2 (1 +- 5 sqrt(2/N)), fourth moment 3 s^4 (1 +- 5 sqrt(32/3/N)).

    No correlation (beyond 5/sqrt(N)) between joints, position and velocity, and one reading and the next.
    """
    count = 20_000
    sizes = np.array([0.1, 2.0, 30.0, 0.4, 5.0, 60.0])
    q, v = _readings(Sensors(sizes[:3], sizes[3:], seed=11), count)
    noise = np.hstack([q, v]) / sizes
    assert np.abs(noise.mean(axis=0)).max() < 5.0 / np.sqrt(count)
    assert np.abs((noise**2).mean(axis=0) - 1.0).max() < 5.0 * np.sqrt(2.0 / count)
    assert np.abs((noise**4).mean(axis=0) / 3.0 - 1.0).max() < 5.0 * np.sqrt(32.0 / 3.0 / count)
    several = np.hstack([noise[1:], noise[:-1]])
    correlation = several.T @ several / len(several) - np.eye(12)
    correlation[np.diag_indices(12)] = 0.0
    assert np.abs(correlation).max() < 5.0 / np.sqrt(count)


def test_noise_is_that_of_numpys_streams() -> None:
    """PCG64 of SeedSequence(seed, spawn_key=(plant, 0 for position or 1 for velocity)), one joint after the other."""
    q, v = _readings(Sensors(2.0, 3.0, seed=5), 100, plants=range(4, 6))
    for row, plant in enumerate((4, 5)):
        for kind, (size, found) in enumerate(((2.0, q), (3.0, v))):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(plant, kind))))
            assert np.array_equal(found[:, row], size * stream.standard_normal((100, 3)))


def test_the_same_seed_gives_the_same_numbers() -> None:
    sensors = Sensors(0.1, 0.2, 0.001, seed=4)
    assert np.array_equal(_readings(sensors, 70), _readings(pickle.loads(pickle.dumps(sensors)), 70))
    assert not np.array_equal(_readings(sensors, 70), _readings(Sensors(0.1, 0.2, 0.001, seed=5), 70))


def test_each_plant_has_its_own_stream_whatever_the_others_do() -> None:
    sensors = Sensors(0.1, 0.2, seed=4)
    whole = _readings(sensors, 70, plants=range(6))
    for part in (range(0, 2), range(2, 5), range(5, 6)):
        q, v = _readings(sensors, 70, plants=part)
        assert np.array_equal(q, whole[0][:, part])
        assert np.array_equal(v, whole[1][:, part])
    assert np.array_equal(_readings(sensors, 70)[0], whole[0][:, 0]), "a single robot is plant 0"
    assert len(np.unique(whole)) == np.size(whole)


def test_noise_of_one_sensor_does_not_change_that_of_the_other() -> None:
    both = _readings(Sensors(0.1, 0.2, seed=1), 40)
    assert np.array_equal(_readings(Sensors(0.1, seed=1), 40)[0], both[0])
    assert np.array_equal(_readings(Sensors(velocity_noise=0.2, seed=1), 40)[1], both[1])


def test_plants_are_not_mistaken_for_longer_seeds() -> None:
    """Seed words [5, 7] are 5 + 7 * 2^32: were a plant's number just a further word, the two would be the same."""
    seven = _readings(Sensors(1.0, seed=5), 10, plants=range(7, 8))[0][:, 0]
    assert not np.array_equal(seven, _readings(Sensors(1.0, seed=5 + 7 * 2**32), 10)[0])


def test_encoder_rounds_to_its_step() -> None:
    """Error at most step/2, and of variance step^2/12 along a smooth motion (+- 2 % for 10,000 readings)."""
    step = 0.01
    measurement = Sensors(position_resolution=[step, 0.0]).start(2)
    angles = np.linspace(-3.0, 4.0, 10_007)
    readings = np.array([measurement.read(np.array([x, x]), np.zeros(2))[0] for x in angles])
    assert np.array_equal(readings[:, 1], angles), "no step, no change"
    counts = readings[:, 0] / step
    assert np.abs(counts - np.rint(counts)).max() < 1e-9
    error = readings[:, 0] - angles
    assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
    assert abs(error.var() / (step**2 / 12) - 1.0) < 0.02


def test_encoder_rounds_the_noise_too() -> None:
    noisy, _ = _readings(Sensors(0.02, seed=3), 50)
    rounded, _ = _readings(Sensors(0.02, position_resolution=0.05, seed=3), 50)
    assert np.abs(rounded - noisy).max() <= 0.025 * (1 + 1e-9)
    assert set(np.rint(rounded / 0.05).ravel()) >= {-1.0, 0.0, 1.0}
    assert np.abs(rounded / 0.05 - np.rint(rounded / 0.05)).max() < 1e-9


def test_sensors_are_plain_values() -> None:
    noise = np.array([0.1, 0.2])
    sensors = Sensors(noise)
    noise[:] = 9.0
    assert sensors == Sensors([0.1, 0.2])
    assert hash(sensors) == hash(Sensors((0.1, 0.2)))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"position_noise": -0.1}, r"position_noise: -0.1\. Cure: give a finite number, at least 0"),
        ({"velocity_noise": [0.1, np.nan]}, r"velocity_noise: \[0.1, nan\]"),
        ({"position_resolution": np.inf}, "position_resolution: inf"),
        ({"position_noise": "much"}, "position_noise: 'much'"),
        ({"position_noise": [[0.1]]}, "position_noise"),
        ({"seed": -1}, r"seed: -1\. Cure: give a whole number"),
        ({"seed": 0.5}, "seed: 0.5"),
        ({"seed": None}, "seed: None"),
    ],
)
def test_impossible_sensors_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(RobotDynamicsError, match=message):
        Sensors(**keywords)


@pytest.mark.parametrize("name", ["position_noise", "velocity_noise", "position_resolution"])
def test_another_number_of_joints_is_refused(name: str) -> None:
    sensors = Sensors(**{name: [0.1, 0.1]})
    with pytest.raises(RobotDynamicsError, match=f"{name}: 2 numbers. Cure: give one, or 3"):
        sensors.start(3)

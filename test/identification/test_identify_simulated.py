"""Identification against a known truth: recordings with noise on position, velocity and effort."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from noisy_recordings import Truth, fourier, with_friction
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.identification.estimate import identify
from robot_dynamics_ros.identification.least_squares import BaseEstimate, Factors, estimate_base
from robot_dynamics_ros.identification.motion import Smoothing, recorded_motion
from robot_dynamics_ros.identification.samples import Samples
from robot_dynamics_ros.identification.unknowns import Unknowns
from robot_dynamics_ros.simulation import simulate

Array = NDArray[np.float64]
Path_ = Callable[[str], Path]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

NORMAL_95 = 1.959964  # two-sided


def estimates(truth: Truth, noise: float, seeds: range) -> tuple[Unknowns, list[BaseEstimate]]:
    unknowns = Unknowns.of(truth.model)
    found = []
    for seed in seeds:
        samples = Samples.of(unknowns, [recorded_motion(truth.recorded(seed, noise), Smoothing())])
        found.append(estimate_base(unknowns, samples, Factors.of(unknowns, samples)))
    return unknowns, found


def covered(unknowns: Unknowns, found: list[BaseEstimate]) -> Array:
    """Whether (seeds, parameters) estimate +- 1.96 standard deviations holds the true value."""
    true = unknowns.base.combination @ unknowns.own
    return np.array([np.abs(e.values - true) <= NORMAL_95 * e.deviations for e in found])


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "seconds", "noise", "seeds"),
    [
        ("planar_2r", 20.0, 0.02, 100),
        ("scara", 20.0, 0.02, 30),
        ("panda", 40.0, 0.02, 4),
        pytest.param("planar_2r", 20.0, 0.01, 100, marks=SLOW),
        pytest.param("planar_2r", 20.0, 0.05, 100, marks=SLOW),
        pytest.param("scara", 20.0, 0.01, 100, marks=SLOW),
        pytest.param("scara", 20.0, 0.05, 100, marks=SLOW),
        pytest.param("puma560", 40.0, 0.02, 100, marks=SLOW),
        pytest.param("panda", 40.0, 0.01, 100, marks=SLOW),
        pytest.param("panda", 40.0, 0.05, 100, marks=SLOW),
    ],
)
def test_95_percent_intervals_hold_the_truth(
    name: str, seconds: float, noise: float, seeds: int, urdf_path: Path_, tmp_path: Path
) -> None:
    """Over all seeds and base parameters in 90 to 99 % of the cases; over 100 seeds each parameter in 80 % or more."""
    truth = fourier(with_friction(urdf_path(name), tmp_path), seconds, rate=200.0, seed=1)
    hits = covered(*estimates(truth, noise, range(seeds)))
    print(f"{name}, {noise:.0%} noise: {hits.mean():.1%} of {hits.size}, least {hits.mean(axis=0).min():.0%}")
    assert 0.90 <= hits.mean() <= 0.99
    if seeds >= 100:
        assert hits.mean(axis=0).min() >= 0.8


@pytest.mark.parametrize("name", ["planar_2r", "scara", "panda"])
def test_friction_comes_within_two_percent(name: str, urdf_path: Path_, tmp_path: Path) -> None:
    """Every coefficient, least squares and what the dynamics file gets, at 1 % noise over a minute and a half."""
    model = with_friction(urdf_path(name), tmp_path)
    truth = fourier(model, seconds=90.0, rate=250.0, seed=1)
    result = identify(model, [recorded_motion(truth.recorded(7, 0.01), Smoothing())])
    unknowns = result.unknowns
    places = range(unknowns.new_rotors.stop, len(unknowns.names))
    assert len(places) >= 3 * model.n - 1
    least = dict(zip(result.estimate.base.independent.tolist(), result.estimate.values.tolist(), strict=True))
    for k in places:
        assert least[k] == pytest.approx(unknowns.own[k], rel=0.02), unknowns.names[k]
        assert result.values[k] == pytest.approx(unknowns.own[k], rel=0.02), unknowns.names[k]


@pytest.mark.slow
def test_friction_of_joints_that_stick(urdf_path: Path_, tmp_path: Path) -> None:
    """Our own plant, whose joints really stick, under computed torque without friction: within 2 % too.

    A torque holds from one sample to the next, so that their mean is the torque at the sample between them.
    """
    model = with_friction(urdf_path("scara"), tmp_path)
    wish = fourier(model, 30.0, 1000.0, seed=1)

    def controller(t: float, q: Array, qd: Array) -> Array:
        k = round(1000.0 * t)
        return model.inverse_dynamics(q, qd, wish.qdd[k] + 36.0 * (wish.q[k] - q) + 12.0 * (wish.qd[k] - qd))

    run = simulate(model, controller, 30.0, initial_positions=wish.q[0], initial_velocities=wish.qd[0])
    assert (run.velocity[:, 2] == 0.0).mean() > 0.2  # it does stick
    between = 0.5 * (run.effort[1:] + run.effort[:-1])
    time, q, qd = run.time[1:-1], run.position[1:-1], run.velocity[1:-1]
    truth = Truth(model, time, q, qd, np.zeros_like(qd), between)  # acceleration is not recorded
    result = identify(model, [recorded_motion(truth.recorded(5, 0.01), Smoothing())])
    places = slice(result.unknowns.new_rotors.stop, None)
    np.testing.assert_allclose(result.values[places], result.unknowns.own[places], rtol=0.02)


def test_a_wrong_prior_is_put_right(urdf_path: Path_, tmp_path: Path) -> None:
    """A Panda whose links weigh 1.3 times what the model says and that has friction, which the model has not.

    On a motion that was not recorded the identified torque is within 2 % of the truth's RMS on every joint, and all
    base parameters are those of the truth within 5 % of the prior's error, or six standard deviations.
    """
    actual = with_friction(urdf_path("panda"), tmp_path).scaled(mass=1.3)
    truth = fourier(actual, seconds=60.0, rate=200.0, seed=1)
    prior = RobotModel.from_urdf_file(urdf_path("panda"))
    result = identify(prior, [recorded_motion(truth.recorded(3, 0.01), Smoothing())])
    other = fourier(actual, seconds=10.0, rate=50.0, seed=2)
    unknowns = result.unknowns
    torque = unknowns.columns(other.q, other.qd, other.qdd) @ result.values
    error = np.sqrt(((torque - other.tau) ** 2).mean(axis=0) / (other.tau**2).mean(axis=0))
    assert error.max() < 0.02
    true = Unknowns.of(actual)
    assert true.names == unknowns.names
    base = unknowns.base.combination
    off = np.abs(base @ (result.values - true.own))
    assert np.all(off <= np.maximum(0.05 * np.abs(base @ (unknowns.own - true.own)), 6.0 * result.estimate.deviations))


def test_two_recordings_know_more_than_one(urdf_path: Path_, tmp_path: Path) -> None:
    """Twice the noise-free information: standard deviations fall by about sqrt(2)."""
    model = with_friction(urdf_path("planar_2r"), tmp_path)
    motions = [recorded_motion(fourier(model, 20.0, 200.0, seed).recorded(seed, 0.02), Smoothing()) for seed in (1, 1)]
    one, two = identify(model, motions[:1]), identify(model, motions)
    ratio = np.median(one.estimate.deviations / two.estimate.deviations)
    assert ratio == pytest.approx(np.sqrt(2.0), rel=0.15)
    assert two.samples == 2 * one.samples

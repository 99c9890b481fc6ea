"""Identification against known parameters: recordings with noise in position, velocity and effort."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from scipy import signal

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.estimate import identify
from robot_dynamics_ros.analysis.identification.friction_shapes import LOAD
from robot_dynamics_ros.analysis.identification.identified_file import (
    dynamics_document,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    BaseEstimate,
    Factors,
    Samples,
    estimate_base,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    SIGMOID_SLOPE,
    STRIBECK_VELOCITY,
)
from robot_dynamics_ros.recordings.bags import JointSeries
from robot_dynamics_ros.simulation import simulate
from support.noisy_recordings import Truth, fourier, with_friction

Array = NDArray[np.float64]
Path_ = Callable[[str], Path]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

NORMAL_95 = 1.959964  # two-sided


def unchanged(series: JointSeries) -> JointSeries:
    return series


def delayed_effort(series: JointSeries) -> JointSeries:
    """Delay the effort by one sample of 5 ms."""
    return replace(
        series, effort=np.concatenate([series.effort[:1], series.effort[:-1]])
    )


def filtered_velocity(series: JointSeries) -> JointSeries:
    """Filter the velocity by a first-order low-pass with a time constant of 10 ms, as drivers do."""
    share = 0.005 / 0.015
    start = (1.0 - share) * series.velocity[:1]
    velocity, _ = signal.lfilter(
        [share], [1.0, share - 1.0], series.velocity, axis=0, zi=start
    )
    return replace(series, velocity=velocity)


def stribeck(truth: Truth) -> Truth:
    """Add friction to each joint that falls from 0.6 Nm with a Stribeck velocity of 4 % of its highest speed."""
    velocity = 0.04 * np.abs(truth.qd).max(axis=0)
    return replace(
        truth,
        tau=truth.tau + 0.6 * np.exp(-((truth.qd / velocity) ** 2)) * np.sign(truth.qd),
    )


def sublinear(truth: Truth) -> Truth:
    """Replace viscous friction of 1 Nm s/rad by friction in proportion to |qd|^0.7."""
    return replace(
        truth, tau=truth.tau + np.sign(truth.qd) * np.abs(truth.qd) ** 0.7 - truth.qd
    )


def true_values(
    truth: Truth, parameterization: Parameterization
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the true base parameters, and True for friction: the best viscous and Coulomb friction at the samples."""
    values = parameterization.base.combination @ parameterization.own
    own = parameterization.base.independent >= parameterization.new_rotors.stop
    friction = replace(
        truth,
        tau=truth.tau - truth.model.inverse_dynamics(truth.q, truth.qd, truth.qdd),
    )
    samples = Samples.of(
        parameterization, [recorded_motion(friction.recorded(0, 0.0), Smoothing())]
    )
    _, columns, torque = next(samples.columns(parameterization))
    rows = columns[:, :, parameterization.base.independent[own]].reshape(-1, own.sum())
    values[own] = np.linalg.lstsq(rows, torque.ravel(), rcond=None)[0]
    return values, own


def estimated(
    motion: RecordedMotion, parameterization: Parameterization
) -> BaseEstimate:
    samples = Samples.of(parameterization, [motion])
    return estimate_base(
        parameterization, samples, Factors.of(parameterization, samples)
    )


def coverage(
    truth: Truth,
    noise: float,
    seeds: int,
    driver: Callable[[JointSeries], JointSeries] = unchanged,
) -> tuple[Array, Array]:
    """Return True (seeds, parameters) if a 95 % interval contains the true value, and if those of both halves agree."""
    parameterization = Parameterization.of(truth.model)
    true, _ = true_values(truth, parameterization)
    hits = []
    halves = []
    for seed in range(seeds):
        motion = recorded_motion(driver(truth.recorded(seed, noise)), Smoothing())
        middle = len(motion.time) // 2
        parts = (motion, motion.part(slice(middle)), motion.part(slice(middle, None)))
        whole, one, other = (estimated(part, parameterization) for part in parts)
        hits.append(np.abs(whole.values - true) <= NORMAL_95 * whole.deviations)
        halves.append(
            np.abs(one.values - other.values)
            <= NORMAL_95 * np.hypot(one.deviations, other.deviations)
        )
    return np.array(hits), np.array(halves)


@pytest.mark.parametrize(
    ("name", "seconds", "noise", "seeds"),
    [
        ("planar_2r", 20.0, 0.02, 100),
        ("scara", 20.0, 0.02, 30),
        ("panda", 40.0, 0.02, 4),
        pytest.param("scara", 20.0, 0.05, 100, marks=pytest.mark.slow),
        pytest.param("puma560", 40.0, 0.02, 100, marks=pytest.mark.slow),
        pytest.param("panda", 40.0, 0.01, 100, marks=pytest.mark.slow),
    ],
)
def test_95_percent_intervals_contain_true_values(
    name: str,
    seconds: float,
    noise: float,
    seeds: int,
    urdf_path: Path_,
    tmp_path: Path,
) -> None:
    """In 90 to 99 % of all seeds and base parameters; each parameter in 80 % or more of 100 seeds."""
    truth = fourier(
        with_friction(urdf_path(name), tmp_path, uneven=False),
        seconds,
        rate=200.0,
        seed=1,
    )
    hits, _ = coverage(truth, noise, seeds)
    assert 0.90 <= hits.mean() <= 0.99
    if seeds >= 100:
        assert hits.mean(axis=0).min() >= 0.8


@pytest.mark.parametrize(
    ("robot", "driver"),
    [
        (None, delayed_effort),
        (None, filtered_velocity),
        (stribeck, unchanged),
        (sublinear, unchanged),
    ],
    ids=["late effort", "filtered velocity", "stribeck", "sublinear viscous"],
)
@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("scara", 10),
        *(
            pytest.param(name, 30, marks=pytest.mark.slow)
            for name in ("scara", "panda")
        ),
    ],
)
def test_intervals_contain_true_values_despite_neglected_effects(
    name: str,
    seeds: int,
    robot: Callable[[Truth], Truth] | None,
    driver: Callable[[JointSeries], JointSeries],
    urdf_path: Path_,
    tmp_path: Path,
) -> None:
    truth = fourier(
        with_friction(urdf_path(name), tmp_path, uneven=False), 40.0, rate=200.0, seed=1
    )
    hits, halves = coverage(
        truth if robot is None else robot(truth), 0.02, seeds, driver
    )
    assert hits.mean() >= 0.90 and halves.mean() >= 0.90


@pytest.mark.parametrize(
    "name",
    [
        "planar_2r",
        "scara",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("puma560", "ur5e")),
    ],
)
def test_standard_deviations_have_the_size_of_the_scatter_despite_nonlinear_friction(
    name: str, urdf_path: Path_, tmp_path: Path
) -> None:
    """Over 20 recordings of different motions, whose best friction differs: the medians of friction and inertias."""
    model = with_friction(urdf_path(name), tmp_path, uneven=False)
    parameterization = Parameterization.of(model)
    errors = []
    deviations = []
    for seed in range(20):
        truth = stribeck(fourier(model, 40.0, rate=200.0, seed=seed + 1))
        true, own = true_values(truth, parameterization)
        estimate = estimated(
            recorded_motion(truth.recorded(seed, 0.02), Smoothing()), parameterization
        )
        errors.append(estimate.values - true)
        deviations.append(estimate.deviations)
    ratios = np.sqrt(np.mean(np.square(deviations), axis=0)) / np.std(
        errors, axis=0, ddof=1
    )
    assert 0.7 < np.median(ratios[own]) < 2.0 and 0.7 < np.median(ratios[~own]) < 2.0


def test_rotor_indistinguishable_from_link_inertia(
    urdf_path: Path_, tmp_path: Path
) -> None:
    """1.2 kg m^2 at joint 2, as of a harmonic drive: far more than the possible inertia of a link of that mass."""
    name = "shoulder_lift_joint"
    prior = RobotModel.from_urdf_file(urdf_path("ur5e"))
    truth = with_friction(urdf_path("ur5e"), tmp_path, rotor=(name, 1.2), uneven=False)
    motion = recorded_motion(
        fourier(truth, 40.0, 200.0, seed=1).recorded(1, 0.02), Smoothing()
    )
    known = motion.part(slice(0, 5000))
    tested = motion.part(slice(5000, None))
    result = identify(prior, [known])
    file = tmp_path / "identified.yaml"
    write_dynamics_file(file, dynamics_document(result, {}), [])
    identified = RobotModel.from_urdf_file(urdf_path("ur5e"), dynamics=file)
    assert result.values[
        result.parameterization.names.index(f"{name}.rotor_inertia")
    ] == pytest.approx(1.2, abs=0.1)
    assert result.loss < 0.05
    floor = analyse_torque(truth, tested).rms
    assert (analyse_torque(identified, tested).rms <= 1.05 * floor).all()
    assert hints(identified, analyse_torque(identified, tested)) == []


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("scara", 3.0),
        ("ur5e", 1.5),
        *(
            pytest.param(name, share, marks=pytest.mark.slow)
            for name in ("scara", "planar_2r", "ur5e", "panda")
            for share in (0.0, 0.5, 1.0, 1.5, 3.0)
        ),
    ],
)
def test_offsets_of_the_effort(
    name: str, share: float, urdf_path: Path_, tmp_path: Path
) -> None:
    """Of ``share`` times the Coulomb level, with another sign in each recording: held-out error near the noise.

    The weight of the third link of the SCARA has the effect of an offset. It becomes an offset where no mass has it.
    """
    truth = with_friction(urdf_path(name), tmp_path, uneven=False)
    levels = truth.friction_parameters[:, COULOMB]
    signs = np.random.default_rng(1).choice([-1.0, 1.0], truth.n)

    def recorded(seed: int, sign: float) -> RecordedMotion:
        series = fourier(truth, 30.0, 200.0, seed).recorded(seed, 0.02)
        effort = series.effort + sign * share * levels * signs
        return recorded_motion(replace(series, effort=effort), Smoothing())

    motions = [recorded(1, 1.0), recorded(2, -1.0)]
    result = identify(RobotModel.from_urdf_file(urdf_path(name)), motions)
    file = tmp_path / "identified.yaml"
    write_dynamics_file(file, dynamics_document(result, {}), [])
    identified = RobotModel.from_urdf_file(urdf_path(name), dynamics=file)
    tested = recorded(3, 1.0)
    true_offsets = share * levels * signs
    floor, error = (
        analyse_torque(model, replace(tested, tau=tested.tau - offsets)).rms
        for model, offsets in (
            (truth, true_offsets),
            (identified, result.effort_offsets[0]),
        )
    )
    assert (error <= 1.15 * floor).all()
    known = ~np.isin(truth.joint_names, result.undetermined_offsets)
    for offsets, sign in zip(result.effort_offsets, (1.0, -1.0), strict=True):
        error = np.abs(offsets - sign * true_offsets)
        assert (error < 0.3 * levels)[known].all()


@pytest.mark.parametrize("falls", [False, True])
def test_stribeck_friction_is_identified_only_if_the_robot_has_it(
    falls: bool, urdf_path: Path_, tmp_path: Path
) -> None:
    prior = RobotModel.from_urdf_file(urdf_path("scara"))
    joints = {}
    for name, limit in zip(
        prior.joint_names, np.minimum(prior.velocity_limits, 2.5).tolist(), strict=True
    ):
        joints[name] = {"viscous": 0.5, "coulomb": 0.6, "coulomb_negative": 0.8}
        if falls:
            joints[name] |= {"static": 1.6, "stribeck_velocity": 0.12 * limit}
    file = tmp_path / "truth.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf_path("scara"), dynamics=file)
    motion = recorded_motion(
        fourier(truth, 40.0, 200.0, seed=1).recorded(1, 0.02), Smoothing()
    )
    errors = {}
    for friction in ("auto", "viscous_coulomb"):
        result = identify(prior, [motion], friction)
        write_dynamics_file(
            tmp_path / f"{friction}.yaml", dynamics_document(result, {}), []
        )
        identified = RobotModel.from_urdf_file(
            urdf_path("scara"), dynamics=tmp_path / f"{friction}.yaml"
        )
        falling = [
            shape.row[STRIBECK_VELOCITY] > 0.0
            for shape in result.parameterization.shapes
        ]
        assert any(falling) == (falls and friction == "auto")
        errors[friction] = analyse_torque(identified, motion).rms
    before = errors["viscous_coulomb"]
    after = errors["auto"]
    assert (after <= before).all() and (after < 0.9 * before).any() == falls


def test_terms_of_friction_are_added(urdf_path: Path_, tmp_path: Path) -> None:
    """Coulomb friction, a sigmoid and dependence on the load in each joint, tested on another motion."""
    terms = {
        "viscous": 0.5,
        "coulomb": 0.6,
        "load_coefficient": 0.1,
        "sigmoid": {"amplitude": 4.0, "slope": 5.0, "shift": 0.0},
    }
    file = tmp_path / "truth.yaml"
    joints = {name: terms for name in ("joint1", "joint2")}
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    fitted, tested = (
        recorded_motion(
            fourier(truth, 40.0, 200.0, seed).recorded(seed, 0.01), Smoothing()
        )
        for seed in (1, 2)
    )
    result = identify(RobotModel.from_urdf_file(urdf_path("planar_2r")), [fitted])
    for shape in result.parameterization.shapes:
        assert shape.used[LOAD] and shape.row[SIGMOID_SLOPE] > 0.0
    write_dynamics_file(tmp_path / "auto.yaml", dynamics_document(result, {}), [])
    identified = RobotModel.from_urdf_file(
        urdf_path("planar_2r"), dynamics=tmp_path / "auto.yaml"
    )
    floor = analyse_torque(truth, tested).rms
    assert (analyse_torque(identified, tested).rms <= 1.1 * floor).all()


@pytest.mark.parametrize("power", ["quadratic", "cubic"])
def test_friction_by_powers_of_the_speed_is_identified(
    power: str, urdf_path: Path_, tmp_path: Path
) -> None:
    joints = {
        name: {"viscous": 0.5, "coulomb": 0.6, power: 0.8}
        for name in ("joint1", "joint2")
    }
    file = tmp_path / "truth.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    motion = recorded_motion(
        fourier(truth, 40.0, 200.0, seed=1).recorded(1, 0.02), Smoothing()
    )
    result = identify(RobotModel.from_urdf_file(urdf_path("planar_2r")), [motion])
    for joint in ("joint1", "joint2"):
        k = result.estimate.base.names.index(f"{joint}.{power}")
        assert result.estimate.values[k] == pytest.approx(
            0.8, abs=3.0 * result.estimate.deviations[k]
        )


@pytest.mark.parametrize("name", ["scara", "panda"])
def test_friction_is_accurate_to_two_percent(
    name: str, urdf_path: Path_, tmp_path: Path
) -> None:
    """Every coefficient, by least squares and in the dynamics file, with 1 % noise over 90 s."""
    model = with_friction(urdf_path(name), tmp_path, uneven=False)
    truth = fourier(model, seconds=90.0, rate=250.0, seed=1)
    result = identify(model, [recorded_motion(truth.recorded(7, 0.01), Smoothing())])
    parameterization = result.parameterization
    places = range(parameterization.new_rotors.stop, len(parameterization.names))
    assert len(places) >= 2 * model.n
    least = dict(
        zip(
            result.estimate.base.independent.tolist(),
            result.estimate.values.tolist(),
            strict=True,
        )
    )
    for k in places:
        assert least[k] == pytest.approx(parameterization.own[k], rel=0.02), (
            parameterization.names[k]
        )
        assert result.values[k] == pytest.approx(parameterization.own[k], rel=0.02), (
            parameterization.names[k]
        )


@pytest.mark.slow
def test_friction_of_sticking_joints(urdf_path: Path_, tmp_path: Path) -> None:
    """The simulated plant with stiction, under computed torque without friction compensation."""
    model = with_friction(urdf_path("scara"), tmp_path, uneven=False)
    desired = fourier(model, 30.0, 1000.0, seed=1)

    def controller(t: float, q: Array, qd: Array) -> Array:
        k = round(1000.0 * t)
        return model.inverse_dynamics(
            q,
            qd,
            desired.qdd[k] + 36.0 * (desired.q[k] - q) + 12.0 * (desired.qd[k] - qd),
        )

    run = simulate(
        model,
        controller,
        30.0,
        initial_positions=desired.q[0],
        initial_velocities=desired.qd[0],
    )
    assert (run.velocity[:, 2] == 0.0).mean() > 0.2
    # each effort is held from one sample to the next
    between = 0.5 * (run.effort[1:] + run.effort[:-1])
    time = run.time[1:-1]
    q = run.position[1:-1]
    qd = run.velocity[1:-1]
    # acceleration is not recorded
    truth = Truth(model, time, q, qd, np.zeros_like(qd), between)
    result = identify(model, [recorded_motion(truth.recorded(5, 0.01), Smoothing())])
    places = slice(result.parameterization.new_rotors.stop, None)
    np.testing.assert_allclose(
        result.values[places], result.parameterization.own[places], rtol=0.02
    )

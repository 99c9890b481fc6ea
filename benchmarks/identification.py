"""Benchmark of identification: ten minutes of a Panda at 500 Hz, beside plain least squares with the same columns.

``python -m benchmarks.identification`` prints processor seconds and ratios. Both begin with the recording in memory,
filter it, build the same columns at the same samples, and fit them. Plain least squares weights the joints once and
has neither standard deviations nor physical consistency. Processor time is measured, so that other loads matter less.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import yaml

from benchmarks.robots import Floats, shipped
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification import identify
from robot_dynamics_ros.analysis.identification.least_squares import Samples
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.recordings.bags import JointSeries

SECONDS = 600.0
RATE = 500.0
NOISE = 0.02  # relative to the RMS effort
REQUIRED = 2.2
ROUNDS = 3


def truth(folder: Path) -> RobotModel:
    """Return the shipped Panda with viscous and Coulomb friction."""
    names = shipped("panda").joint_names
    joints = {name: {"viscous": 0.5, "coulomb": 0.6} for name in names}
    file = folder / "truth.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    return RobotModel.from_urdf_file(robot_urdf("panda"), dynamics=file)


def record(robot: RobotModel, seconds: float) -> JointSeries:
    """Return a recording of three sines of each joint, within its limits, with noise."""
    rng = np.random.default_rng(1)
    time_ = np.arange(0.0, seconds, 1.0 / RATE)
    rates = rng.uniform(0.3, 3.0, (3, robot.n))
    phases = rng.uniform(0.0, 2.0 * np.pi, (3, robot.n))
    angles = time_[:, None, None] * rates + phases
    middle = 0.5 * (robot.position_lower + robot.position_upper)
    size = 0.15 * (robot.position_upper - robot.position_lower)
    q = middle + (size * np.sin(angles)).sum(axis=1)
    qd = (size * rates * np.cos(angles)).sum(axis=1)
    qdd = -(size * rates**2 * np.sin(angles)).sum(axis=1)
    tau = robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(q, qd)
    tau += NOISE * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
    stamps = 10**18 + np.round(1e9 * time_).astype(np.int64)
    return JointSeries(robot.joint_names, stamps, stamps, q, qd, tau)


def plain(prior: RobotModel, motion: RecordedMotion) -> Floats:
    """Return the weighted least-squares estimate of the base parameters by NumPy."""
    parameterization = Parameterization.of(prior)
    samples = Samples.of(parameterization, [motion])
    columns = parameterization.columns(
        samples.q, samples.qd, samples.qdd, samples.friction
    )
    rows = columns[:, :, parameterization.base.independent][samples.used]
    effort = samples.tau[samples.used]
    x = np.linalg.lstsq(rows, effort, rcond=None)[0]
    errors = np.zeros_like(samples.tau)
    errors[samples.used] = effort - rows @ x
    noise = np.sqrt((errors**2).sum(axis=0) / samples.used.sum(axis=0))
    weights = 1.0 / np.broadcast_to(noise, errors.shape)[samples.used]
    fit = np.linalg.lstsq(rows * weights[:, None], effort * weights, rcond=None)
    return np.asarray(fit[0])


def main() -> None:
    """Print seconds and ratios; SystemExit if a ratio misses its requirement."""
    warnings.simplefilter("ignore")
    prior = shipped("panda")
    with tempfile.TemporaryDirectory() as folder:
        series = record(truth(Path(folder)), SECONDS)

    def seconds(fit: Callable[[RecordedMotion], object]) -> float:
        before = time.process_time()
        fit(recorded_motion(series, Smoothing()))
        return time.process_time() - before

    fits: dict[str, Callable[[RecordedMotion], object]] = {
        "plain": lambda motion: plain(prior, motion),
        "viscous_coulomb": lambda motion: identify(prior, [motion], "viscous_coulomb"),
        "auto": lambda motion: identify(prior, [motion]),
    }
    times = {
        name: [seconds(fit) for _ in range(ROUNDS + 1)][1:]
        for name, fit in fits.items()
    }
    medians = {name: float(np.median(values)) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:16}{value:7.2f} s{value / medians['plain']:7.2f}")
    if max(medians.values()) > REQUIRED * medians["plain"]:
        raise SystemExit(f"The required ratio is {REQUIRED}")


if __name__ == "__main__":
    main()

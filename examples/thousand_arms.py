"""Robustness of a gain: a thousand arms that differ from the model, each with the same controller.

Masses deviate by up to 30 %, sensors are noisy, and torques are delayed by 2 ms. Computed torque with four natural
frequencies: the remaining error after a motion decreases with the gain, until the delay makes the arms oscillate. Plots
the distribution of the errors: ``python examples/thousand_arms.py [thousand_arms.png]``. Needs matplotlib.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Sensors, simulate_batch

Array = NDArray[np.float64]

MODEL = RobotModel.shipped("planar_2r", dynamics="planar_2r_tsai")
FREQUENCIES = (10.0, 30.0, 100.0, 300.0)  # rad/s
START = np.array([0.2, 0.4])  # rad
GOAL = np.array([1.0, -0.4])  # rad
REACH = 0.8  # s
DURATION = 1.2  # s
SENSORS = Sensors(position_noise=1e-5, velocity_noise=1e-3, seed=1)


def errors(omega: float, masses: Array) -> Array:
    """Return the largest joint error (arms,), rad, in the last 0.1 s, of arms with link masses ``masses`` (arms,)."""

    # q and qd are (arms, 2), and so is the torque
    def computed_torque(t: float, q: Array, qd: Array) -> Array:
        s = min(t / REACH, 1.0)
        q_d = START + (10 * s**3 - 15 * s**4 + 6 * s**5) * (GOAL - START)
        qd_d = (30 * s**2 - 60 * s**3 + 30 * s**4) / REACH * (GOAL - START)
        qdd_d = (60 * s - 180 * s**2 + 120 * s**3) / REACH**2 * (GOAL - START)
        return MODEL.inverse_dynamics(
            q, qd, qdd_d + omega**2 * (q_d - q) + 2.0 * omega * (qd_d - qd)
        )

    run = simulate_batch(
        [MODEL.scaled(mass=mass) for mass in masses],
        computed_torque,
        DURATION,
        step_size=0.002,
        initial_positions=START,
        sensors=SENSORS,
        effort_delay=0.002,
    )
    return np.abs(run.position[:, -50:] - GOAL).max(axis=(1, 2))


def main() -> None:
    """Print median and largest error of each gain, and plot all errors."""
    path = sys.argv[1] if len(sys.argv) > 1 else "thousand_arms.png"
    masses = np.random.default_rng(0).uniform(0.7, 1.3, 1000)
    figure = Figure(figsize=(8, 4), layout="constrained")
    axis = figure.add_subplot(
        xlabel="largest joint error at the end (rad)",
        ylabel="number of arms",
        xscale="log",
        title=f"{len(masses)} arms with masses up to 30 % off, noise and a delay of 2 ms",
    )
    for omega in FREQUENCIES:
        found = errors(omega, masses)
        print(
            f"{omega:5.0f} rad/s: error {np.median(found):.1e} rad (median), {found.max():.1e} rad (worst of 1000)"
        )
        axis.hist(
            found,
            np.geomspace(1e-5, 0.1, 64).tolist(),
            label=f"{omega:g} rad/s",
            alpha=0.7,
        )
    axis.legend(title="natural frequency")
    figure.savefig(path, dpi=110)
    print(f"The plot of the distributions is in {path}.")


if __name__ == "__main__":
    main()

"""Draw friction that depends on the load of a gear, for docs/dynamics_file.md: `make pictures`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels.types import Array

OUTPUT = Path(__file__).resolve().parent / "images" / "gear_friction.png"
JOINT = 1  # joint2 of the Puma
LOADS = (0.0, 30.0, 60.0)  # Nm
SPEEDS = np.linspace(-1.0, 1.0, 400)


def main() -> None:
    """Draw and save."""
    model = RobotModel.shipped("puma560", dynamics="puma560_geared")
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.4, 3.2), dpi=100, sharey=True, layout="constrained"
    )
    for load, colour in zip(LOADS, ("#8fb8de", "#00798c", "#d1495b"), strict=True):
        left.plot(
            SPEEDS,
            _friction(model, SPEEDS, np.full(len(SPEEDS), load)),
            color=colour,
            label=f"load {load:g} Nm",
        )
    loads = np.linspace(-80.0, 80.0, 200)
    for speed, colour in ((0.5, "#00798c"), (-0.5, "#d1495b")):
        right.plot(
            loads,
            _friction(model, np.full(len(loads), speed), loads),
            color=colour,
            label=f"{speed:+g} rad/s",
        )
    left.set(
        xlabel="velocity of joint2, rad/s",
        ylabel="friction, Nm",
        xticks=(-1.0, -0.5, 0.0, 0.5, 1.0),
    )
    right.set(xlabel="load of the gear, Nm")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(OUTPUT)


def _friction(model: RobotModel, speeds: Array, loads: Array) -> Array:
    """Return the friction torque (m,) of the joint at speeds (m,) under loads (m,)."""
    unit = np.eye(model.n)[JOINT]
    zeros = np.zeros((len(speeds), model.n))
    return model.friction_torque(
        zeros, np.outer(speeds, unit), load=np.outer(loads, unit)
    )[:, JOINT]


if __name__ == "__main__":
    main()

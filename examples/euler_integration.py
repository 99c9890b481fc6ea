"""Euler's method of Craig (6.117) beside the Runge-Kutta method of fourth order, for his arm of section 6.7.

The arm falls for half a second under a constant torque. The error of the last position is of first order in the step
for Euler's method and of fourth order for Runge-Kutta. Needs matplotlib:
``python examples/euler_integration.py [euler_integration.png]``.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.textbooks.variational import euler_integration

Array = NDArray[np.float64]

START = np.array([0.4, 0.9]), np.array([1.0, -2.0])  # rad, rad/s
TORQUE = np.array([20.0, 5.0])  # Nm
DURATION = 0.5  # s
COUNTS = [2**k for k in range(4, 11)]  # steps
EXACT = 2**14  # steps of the reference


def euler(arm: RobotModel, count: int) -> Array:
    """Return the last position by Euler's method."""
    return euler_integration(
        arm, *START, lambda t, q, qd: TORQUE, DURATION / count, count
    )[0][-1]


def runge_kutta(arm: RobotModel, count: int) -> Array:
    """Return the last position of the simulated arm, which has neither friction nor limits on its way."""
    plant = Plant(arm, "rk4", DURATION / count, *START)
    plant.step(TORQUE, count)
    return plant.position


def errors() -> tuple[Array, Array]:
    """Return the largest error of the last position, rad, for COUNTS steps: of Euler's method, of Runge-Kutta."""
    arm = RobotModel.shipped("craig_2r")
    exact = runge_kutta(arm, EXACT)
    first, fourth = (
        [np.abs(method(arm, n) - exact).max() for n in COUNTS]
        for method in (euler, runge_kutta)
    )
    return np.array(first), np.array(fourth)


def draw(first: Array, fourth: Array, path: str) -> None:
    """Plot the errors over the step."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    steps = DURATION / np.array(COUNTS)
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.loglog(steps, first, "o-", label="Euler, Craig (6.117)")
    axes.loglog(steps, fourth, "s-", label="Runge-Kutta of fourth order")
    axes.set(
        xlabel="step (s)",
        ylabel="error after 0.5 s (rad)",
        title="Two links with point masses (Craig 6.7)",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Integrate, plot, and print the orders."""
    path = sys.argv[1] if len(sys.argv) > 1 else "euler_integration.png"
    first, fourth = errors()
    draw(first, fourth, path)
    for name, error in (("Euler", first), ("Runge-Kutta", fourth)):
        print(
            f"{name}: {error[0]:.2e} rad with {COUNTS[0]} steps, {error[-1]:.2e} rad with {COUNTS[-1]} steps."
        )
    print(
        f"Half the step divides the errors by {first[-2] / first[-1]:.2f} and {fourth[0] / fourth[1]:.1f}."
    )
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()

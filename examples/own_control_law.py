"""Your own control law on the simulated arm: adaptive control with an unknown payload, compared with PD control.

The simulated Panda has a payload of 1.5 kg that the controllers do not know. The law of Slotine and Li estimates the
mass during the motion. A controller is any function of time, measured positions and velocities. Plots the tracking
errors and the mass: ``python examples/own_control_law.py [own_control_law.png]``. Needs matplotlib.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel, simulate

Array = NDArray[np.float64]

BARE = RobotModel.shipped("panda", dynamics="panda_coulomb")
ONE_KG = BARE.with_payload("panda_link8", 1.0, [0.0, 0.0, 0.05], [0.0] * 6)
CARRIED = 1.5  # kg
ACTUAL = BARE.with_payload("panda_link8", CARRIED, [0.0, 0.0, 0.05], [0.0] * 6)
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
SWING = np.array([0.5, 0.3, 0.4, 0.3, 0.5, 0.4, 0.6])  # rad
PERIOD = 0.002  # s, of control
L = 10.0  # 1/s
K = 20.0 * BARE.mass_matrix(START).diagonal()  # Nms/rad
LEARNING = 1.0  # kg/Nm/rad


def desired(t: float) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration of a swing that starts at rest."""
    w = 2.0
    return (
        START + SWING * (1.0 - np.cos(w * t)),
        SWING * w * np.sin(w * t),
        SWING * w**2 * np.cos(w * t),
    )


def pd_gravity(t: float, q: Array, qd: Array) -> Array:
    """Return the torque of PD control with gravity and friction of the arm without payload."""
    q_d, qd_d, _ = desired(t)
    return (
        BARE.gravity_torque(q)
        + BARE.friction_torque(q, qd_d, 0.02)
        + K * L * (q_d - q)
        + K * (qd_d - qd)
    )


class Adaptive:
    """tau = M a + C v + g + F(v) + K s, s = v - qd, v = qd_d + L e, a = dv/dt; the mass grows as s^T (its torque).

    Slotine and Li 1987, "On the adaptive control of robot manipulators", for one parameter, which enters linearly.
    """

    def __init__(self) -> None:
        self.mass = [0.0]

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque for one period and update the estimated mass (kg)."""
        q_d, qd_d, qdd_d = desired(t)
        v = qd_d + L * (q_d - q)
        a = qdd_d + L * (qd_d - qd)
        bare, loaded = (
            arm.mass_matrix(q) @ a
            + arm.coriolis_matrix(q, qd) @ v
            + arm.gravity_torque(q)
            for arm in (BARE, ONE_KG)
        )
        s = v - qd
        of_one_kg = loaded - bare
        self.mass.append(self.mass[-1] + LEARNING * PERIOD * float(of_one_kg @ s))
        return (
            bare + self.mass[-1] * of_one_kg + BARE.friction_torque(q, v, 0.02) + K * s
        )


def main() -> None:
    """Simulate both laws; print and plot their errors and the estimated mass."""
    path = sys.argv[1] if len(sys.argv) > 1 else "own_control_law.png"
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    adaptive = Adaptive()
    for name, law in (("PD with gravity", pd_gravity), ("adaptive", adaptive)):
        run = simulate(ACTUAL, law, 4.0, control_period=PERIOD, initial_positions=START)
        error = np.abs(np.array([desired(t)[0] for t in run.time]) - run.position).max(
            axis=1
        )
        above.plot(run.time, 1e3 * error, label=name)
        print(
            f"{name:16} error at most {1e3 * error[-500:].max():6.1f} mrad in the last second"
        )
    below.plot(run.time, adaptive.mass, color="C1", label="estimate")
    below.axhline(CARRIED, color="black", linestyle="dotted", label="carried")
    print(
        f"It found {adaptive.mass[-1]:.3f} kg; the arm carries {CARRIED} kg. The plots are in {path}."
    )
    above.set(
        ylabel="largest error of all joints (mrad)",
        title="Panda with an unknown payload",
    )
    below.set(xlabel="time (s)", ylabel="mass of the payload (kg)")
    for axis in (above, below):
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()

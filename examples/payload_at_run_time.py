"""Payload change at run time, and its detection by the momentum observer.

The simulated Panda holds its position. At 1 s a payload of 1.2 kg is attached, which only the plant knows: the arm
sinks a little, and the observer estimates the torque of the unknown weight on each joint. At 2 s the controller gets
the payload, as from a message on ``~/payload``: the arm returns, and the external torque vanishes. A model with a
payload needs no compilation. Plots: ``python examples/payload_at_run_time.py [payload_at_run_time.png]``. Needs
matplotlib.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.control.estimation.external_torque import MomentumObserver
from robot_dynamics_ros.simulation import Plant

Array = NDArray[np.float64]

EMPTY = RobotModel.from_urdf_file(robot_urdf("panda"))
LOADED = EMPTY.with_payload(
    "panda_link8", 1.2, [0.0, 0.0, 0.05], [0.002, 0.0, 0.0, 0.002, 0.0, 0.002]
)
HOLD = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
PERIOD = 0.002  # s
TAKEN = 500  # periods
REPORTED = 1000  # periods
END = 1500  # periods


def run() -> tuple[Array, Array, Array]:
    """Return position errors, observed and true external torques, each (periods, n)."""
    plant = Plant(EMPTY, initial_positions=HOLD)
    controller = EMPTY
    observer = MomentumObserver(gain=20.0)
    effort = EMPTY.gravity_torque(HOLD)
    errors = []
    observed = []
    true = []
    for k in range(END):
        if k == TAKEN:
            plant.change_model(LOADED)
        if k == REPORTED:
            controller = LOADED
        q = plant.position
        qd = plant.velocity
        errors.append(HOLD - q)
        observed.append(observer.update(controller, plant.time, q, qd, effort))
        true.append(controller.gravity_torque(q) - plant.model.gravity_torque(q))
        effort = controller.inverse_dynamics(q, qd, 200.0 * (HOLD - q) - 30.0 * qd)
        plant.step(effort, count=round(PERIOD / plant.step_size))
    return np.array(errors), np.array(observed), np.array(true)


def main() -> None:
    """Simulate, print the torques just before the controller gets the payload, and plot everything."""
    path = sys.argv[1] if len(sys.argv) > 1 else "payload_at_run_time.png"
    errors, observed, true = run()
    for name, seen, there in zip(
        EMPTY.joint_names, observed[REPORTED - 1], true[REPORTED - 1], strict=True
    ):
        print(f"{name}: observed {seen:7.3f} Nm, the unknown weight is {there:7.3f} Nm")
    sunk, back = 1e3 * np.abs(errors[[REPORTED - 1, -1]]).max(axis=1)
    print(f"The arm sinks by {sunk:.1f} mrad, and is {back:.2f} mrad off at the end.")
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    time = PERIOD * np.arange(END)
    above.plot(time, observed, label=EMPTY.joint_names)
    above.set_prop_cycle(None)
    above.plot(time, true, linestyle="dotted")
    above.set(
        ylabel="external torque (Nm)",
        title="External torque, observed and true (dotted)",
    )
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    below.plot(time, 1e3 * errors)
    below.set(xlabel="time (s)", ylabel="error (mrad)", title="Position error")
    for axis in (above, below):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(f"The plots of both over time are in {path}.")


if __name__ == "__main__":
    main()

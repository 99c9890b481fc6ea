"""Identification of friction and masses from a recording, in Python; ``robot_dynamics identify`` does this from a bag.

A simulated SCARA has friction, and links that are 25 % heavier than in its URDF. It follows a motion of all joints and
is measured with noise. The dynamics file is identified from the recording: ``python examples/identification.py
[found.dynamics.yaml]``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification import dynamics_document, identify
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.recordings.bags import JointSeries
from robot_dynamics_ros.simulation import Sensors, simulate

Array = NDArray[np.float64]

FRICTION = {
    "joint1": {"viscous": 2.0, "coulomb": 1.5},
    "joint2": {"viscous": 1.0, "coulomb": 0.8},
    "joint3": {"viscous": 10.0, "coulomb": 5.0},
}
MODEL = RobotModel.from_urdf_file(robot_urdf("scara"))
MIDDLE = np.array([0.0, 0.3, 0.125])
REACH = np.array([0.8, 0.8, 0.09])


def robot() -> RobotModel:
    """Return the actual robot: the URDF with friction and more mass."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.dynamics.yaml"
        path.write_text(yaml.safe_dump({"joints": FRICTION}))
        return RobotModel.from_urdf_file(robot_urdf("scara"), dynamics=path).scaled(
            mass=1.25
        )


def recording(actual: RobotModel, seconds: float = 20.0) -> JointSeries:
    """Return positions, velocities and torques of a motion under PD control, with noise, one sample per ms."""
    w = np.array([2.3, 3.1, 2.7])  # rad/s

    def controller(t: float, q: Array, qd: Array) -> Array:
        q_d = MIDDLE + REACH * (0.7 * np.sin(w * t) + 0.3 * np.sin(2.6 * w * t))
        qd_d = REACH * w * (0.7 * np.cos(w * t) + 0.78 * np.cos(2.6 * w * t))
        return MODEL.inverse_dynamics(q, qd, 400.0 * (q_d - q) + 40.0 * (qd_d - qd))

    sensors = Sensors(position_noise=1e-5, velocity_noise=1e-3, seed=1)
    run = simulate(
        actual, controller, seconds, initial_positions=MIDDLE, sensors=sensors
    )
    stamps = np.rint(1e9 * run.time[1:-1]).astype(np.int64)
    # A torque holds from one sample to the next: that at a sample is the mean of the two.
    effort = 0.5 * (run.effort[1:] + run.effort[:-1])
    effort += (
        0.01
        * effort.std(axis=0)
        * np.random.default_rng(1).standard_normal(effort.shape)
    )
    q = run.measured_position[1:-1]
    qd = run.measured_velocity[1:-1]
    return JointSeries(actual.joint_names, stamps, stamps, q, qd, effort)


def main() -> None:
    """Record, identify, compare friction and masses with the true ones, and write the dynamics file."""
    path = sys.argv[1] if len(sys.argv) > 1 else "found.dynamics.yaml"
    actual = robot()
    found = identify(MODEL, [recorded_motion(recording(actual), Smoothing())])
    document = dynamics_document(found, {})
    for joint, friction in FRICTION.items():
        for name, value in friction.items():
            print(
                f"{joint} {name:8} found {document['joints'][joint][name]:7.3f}, true {value:7.3f}"
            )
    q, qd, qdd = np.random.default_rng(2).uniform(-0.5, 0.5, (3, 100, 3)) + MIDDLE
    Path(path).write_text(yaml.safe_dump(document))
    identified = RobotModel.from_urdf_file(robot_urdf("scara"), dynamics=path)
    true = actual.inverse_dynamics(q, qd, qdd)
    for name, model in (("URDF", MODEL), ("identified", identified)):
        error = np.sqrt(
            ((model.inverse_dynamics(q, qd, qdd) - true) ** 2).mean() / (true**2).mean()
        )
        print(
            f"torque of the {name} model at other motions: {100 * error:.1f} % off (RMS, without friction)"
        )
    print(f"The dynamics file is {path}.")


if __name__ == "__main__":
    main()

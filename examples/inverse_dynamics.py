"""Inverse dynamics from a URDF: joint torques of a motion, and their parts.

``python examples/inverse_dynamics.py [robot.urdf]`` uses your robot, by default the Panda of this package.
"""

import sys

import numpy as np

from robot_dynamics_ros import RobotModel


def main() -> None:
    """Print the torque of each joint for one state of motion, and its parts."""
    model = (
        RobotModel.from_urdf_file(sys.argv[1])
        if len(sys.argv) > 1
        else RobotModel.shipped("panda")
    )
    q = np.clip(np.full(model.n, 0.3), model.position_lower, model.position_upper)
    qd = np.full(model.n, 0.5)
    qdd = np.full(model.n, 1.0)
    tau = model.inverse_dynamics(q, qd, qdd)
    gravity = model.gravity_torque(q)
    inertia = model.mass_matrix(q) @ qdd
    print(
        f"{'joint':20}{'torque':>10}{'inertia':>10}{'velocity':>10}{'gravity':>10}   Nm or N"
    )
    for name, *row in zip(
        model.joint_names, tau, inertia, tau - inertia - gravity, gravity, strict=True
    ):
        print(f"{name:20}" + "".join(f"{value:10.4f}" for value in row))
    error = np.abs(model.forward_dynamics(q, qd, tau) - qdd).max()
    print(f"Forward dynamics gives the accelerations back within {error:.1e}.")


if __name__ == "__main__":
    main()

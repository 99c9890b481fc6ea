"""Resolved-rate motion of a planar three-link arm: the MATLAB exercise at the end of Craig's chapter 5.

The end effector has a constant velocity for five seconds. Every 0.1 s the joint rates follow from the Jacobian, the
joint angles from Euler's rule, and the torques from the force that the end effector applies. The five plots are in one
figure: ``python examples/resolved_rate.py [resolved_rate.png]``. Needs matplotlib.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.textbooks.cartesian_dynamics import (
    resolved_rate_motion,
    smallest_singular_value,
)
from robot_dynamics_ros.textbooks.propagation import joint_torques

Array = NDArray[np.float64]

LENGTHS = (4.0, 3.0, 2.0)  # m
START = np.deg2rad([10.0, 20.0, 30.0])
VELOCITY = np.array([0.2, -0.3, -0.2])  # m/s, m/s, rad/s
FORCE = np.array([1.0, 2.0, 3.0])  # N, N, Nm
STEP = 0.1
STEPS = 50
END_EFFECTOR = "hand"
PLANE = [0, 1, 5]  # x, y and rotation about z of the six components


@dataclass(frozen=True, eq=False)
class Motion:
    """Values of the plots, a row for each time."""

    time: Array
    rates: Array
    angles: Array
    end_effector: Array
    determinant: Array
    singular_value: Array
    torques: Array


def three_link_arm() -> RobotModel:
    """Return the planar 3R arm; its masses are irrelevant here."""
    names = ["base", "link1", "link2", "link3", END_EFFECTOR]
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><origin xyz="1 0 0"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name in names
    )
    joints = "".join(
        f'<joint name="joint{k + 1}" type="{"fixed" if name == END_EFFECTOR else "continuous"}">'
        f'<parent link="{names[k]}"/><child link="{name}"/><origin xyz="{(0.0, *LENGTHS)[k]} 0 0"/><axis xyz="0 0 1"/>'
        '<limit effort="1000" velocity="10"/></joint>'
        for k, name in enumerate(names[1:])
    )
    return RobotModel.from_urdf(f'<robot name="three_link_arm">{links}{joints}</robot>')


def run() -> Motion:
    """Return the result of the exercise."""
    arm = three_link_arm()

    def jacobian(q: Array) -> Array:
        return arm.jacobian(q, END_EFFECTOR)[PLANE]

    angles, rates = resolved_rate_motion(
        jacobian, VELOCITY, START, step=STEP, steps=STEPS
    )
    positions = []
    torques = []
    for q in angles:
        pose = arm.link_pose(q, END_EFFECTOR)
        positions.append([*pose[:2, 3], q.sum()])
        # The force is given in the base frame, the propagation needs it in the tool frame.
        in_tool_frame = pose[:3, :3].T @ [FORCE[0], FORCE[1], 0.0]
        torques.append(
            joint_torques(arm, q, [*in_tool_frame, 0.0, 0.0, FORCE[2]], END_EFFECTOR)
        )
    jacobians = [jacobian(q) for q in angles]
    return Motion(
        np.array([STEP * k for k in range(STEPS + 1)]),
        rates,
        angles,
        np.array(positions),
        np.array([float(np.linalg.det(j)) for j in jacobians]),
        np.array([smallest_singular_value(j) for j in jacobians]),
        np.array(torques),
    )


def draw(motion: Motion, path: str) -> None:
    """Plot the five figures into one file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        5, 1, figsize=(8, 12), sharex=True, layout="constrained"
    )
    joints = ["joint 1", "joint 2", "joint 3"]
    for axis, values, names, label in (
        (axes[0], motion.rates, joints, "joint rate (rad/s)"),
        (axes[1], np.rad2deg(motion.angles), joints, "joint angle (deg)"),
        (axes[2], motion.end_effector, ["x", "y", "rotation"], "end effector (m, rad)"),
        (
            axes[3],
            motion.determinant[:, None],
            [r"$\det J = L_1 L_2 \sin\theta_2$"],
            "determinant (m$^2$)",
        ),
        (axes[4], motion.torques, joints, "torque (Nm)"),
    ):
        for values_of_one, name in zip(values.T, names, strict=True):
            axis.plot(motion.time, values_of_one, label=name)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes[3].axhline(0.0, color="black", linewidth=1.0)
    axes[0].set_title(
        "Resolved-rate motion of a planar three-link arm (Craig, chapter 5)"
    )
    axes[-1].set_xlabel("time (s)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run, plot, and print the distance from singularities."""
    path = sys.argv[1] if len(sys.argv) > 1 else "resolved_rate.png"
    motion = run()
    draw(motion, path)
    travelled = motion.end_effector[-1] - motion.end_effector[0]
    print(
        f"The end effector moved {np.round(travelled, 3)} (m, m, rad); {STEP * STEPS * VELOCITY} were asked for."
    )
    print(
        f"The determinant of J goes from {motion.determinant[0]:.3g} over {motion.determinant.max():.3g} to "
        f"{motion.determinant[-1]:.3g} m^2. At 0 the arm would be stretched out: it is nearest to that at "
        f"both ends, and its smallest singular value stays above {motion.singular_value.min():.2g}."
    )
    print(f"The five plots are in {path}.")


if __name__ == "__main__":
    main()

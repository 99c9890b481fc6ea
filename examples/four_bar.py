"""Closed loop: crank torque of a four-bar linkage at constant speed, and the reaction force at its ground pin.

The URDF is a tree: crank, coupler and rocker in series. An entry of ``loops`` in the dynamics file connects the end of
the rocker to the ground; the Lagrange multipliers are the constraint forces. Over a whole turn the motor does no work.
Plots torque and force: ``python examples/four_bar.py [four_bar.png]``. Needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.model.loops import (
    close_loops,
    loop_constraints,
    loop_forces,
)
from robot_dynamics_ros.textbooks.constraints import (
    constrained_inverse_dynamics,
    driven_motion,
    loops_of,
)

Array = NDArray[np.float64]

LENGTHS = {"crank": 0.15, "coupler": 0.5, "rocker": 0.4}  # m, slender rods of 2 kg/m
LOOP = "loops: [{link_a: base, point_a: [0.45, 0, 0], link_b: rocker, point_b: [0.4, 0, 0]}]"
SPEED = 6.0  # rad/s
TURN = np.linspace(0.0, 2.0 * np.pi, 361)


def four_bar() -> RobotModel:
    """Return the mechanism in the vertical plane; all joint axes are parallel to y."""
    links = ['<link name="base"/>']
    joints = []
    parent = "base"
    at = 0.0
    for name, a in LENGTHS.items():
        i = 2.0 * a**3 / 12.0
        links.append(
            f'<link name="{name}"><inertial><mass value="{2 * a}"/><origin xyz="{a / 2} 0 0"/>'
            f'<inertia ixx="0" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial></link>'
        )
        joints.append(
            f'<joint name="{name}_joint" type="continuous"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{at} 0 0"/><axis xyz="0 -1 0"/><limit effort="100" velocity="100"/></joint>'
        )
        parent = name
        at = a
    with TemporaryDirectory() as folder:
        dynamics = Path(folder) / "four_bar.dynamics.yaml"
        dynamics.write_text(LOOP)
        return RobotModel.from_urdf(
            f'<robot name="four_bar">{"".join(links + joints)}</robot>',
            dynamics=dynamics,
        )


def turn() -> tuple[Array, Array]:
    """Return the motor torque (361,), Nm, and the force of the ground on the rocker (361, 3), N, over one turn."""
    model = four_bar()
    crank = ["crank_joint"]
    q = np.array([0.0, 1.0, -2.0])
    torques = []
    forces = []
    for angle in TURN:
        # from where the others were
        q = close_loops(model, [angle, *q[1:]], held=crank)
        qd, qdd = driven_motion(model, loops_of(model), q, crank, [SPEED], [0.0])
        tau, multipliers = constrained_inverse_dynamics(
            model, q, qd, qdd, loop_constraints(model, q, qd), crank
        )
        torques.append(tau[0])
        forces.append(loop_forces(multipliers)[0])
    return np.array(torques), np.array(forces)


def main() -> None:
    """Simulate one turn, print the work and the largest values, and plot both."""
    path = sys.argv[1] if len(sys.argv) > 1 else "four_bar.png"
    torque, force = turn()
    work = float(torque[:-1].mean()) * TURN[-1]
    print(
        f"torque between {torque.min():.3f} and {torque.max():.3f} Nm, work of a turn {work:.1e} J"
    )
    print(
        f"force on the ground pin at most {np.linalg.norm(force, axis=1).max():.2f} N"
    )
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(np.rad2deg(TURN), torque)
    above.set(
        ylabel="torque of the crank (Nm)",
        title=f"Four-bar linkage, crank at {SPEED:g} rad/s",
    )
    below.plot(np.rad2deg(TURN), force[:, [0, 2]], label=["x", "z"])
    below.set(
        xlabel="crank angle (deg)",
        ylabel="force on the rocker's end (N)",
        xlim=(0, 360),
        xticks=range(0, 361, 45),
    )
    below.legend()
    for axis in (above, below):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(f"The plots of both over the turn are in {path}.")


if __name__ == "__main__":
    main()

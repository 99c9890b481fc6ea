"""An arm whose gripper has a controller of its own."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.dynamics.model import RobotModel
from support.ros import LATCHED, Graph, Log

ARM = ["joint1", "joint2", "joint3", "joint4"]
GOAL = [0.4, -0.5, 0.6, 0.3]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "send_trajectory.py"
NODE = "computed_torque_node"
# shared memory interrupts nodes for 0.33 s when the sender starts
UDP = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}


def write_urdf(path: Path, fingers: bool = True) -> Path:
    """Write a 4R arm; on its last link two prismatic fingers of 0.4 kg, the second mimics the first."""
    links = ['<link name="base"/>']
    joints = []

    def add(
        name: str,
        parent: str,
        kind: str,
        axis: str,
        xyz: str,
        mass: float,
        mimic: str = "",
    ) -> None:
        links.append(
            f'<link name="{name}"><inertial><origin xyz="0 0 0.1"/><mass value="{mass}"/><inertia ixx="{mass / 50}" '
            f'iyy="{mass / 50}" izz="{mass / 200}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        number = len(joints) + 1
        joints.append(
            f'<joint name="{f"joint{number}" if kind == "revolute" else name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>{mimic}'
            '<limit lower="-2.5" upper="2.5" velocity="4" effort="150"/></joint>'
        )

    parents = ["base", "link1", "link2", "link3"]
    for k, (parent, axis) in enumerate(
        zip(parents, ("0 0 1", "0 1 0", "0 1 0", "0 0 1"), strict=True), start=1
    ):
        add(f"link{k}", parent, "revolute", axis, "0 0 0.25", 3.0 / k)
    if fingers:
        add("finger_left", "link4", "prismatic", "0 1 0", "0 0 0.2", 0.4)
        mimic = '<mimic joint="finger_left" multiplier="-1"/>'
        add("finger_right", "link4", "prismatic", "0 1 0", "0 0 0.2", 0.4, mimic)
    path.write_text(
        f'<robot name="gripping">{"".join(links + joints)}</robot>', encoding="utf-8"
    )
    return path


def test_the_gripper_moves_while_the_arm_tracks(tmp_path: Path) -> None:
    """The controller locks the fingers where they were at first; their motion is neither a fault nor a large error."""
    urdf = write_urdf(tmp_path / "gripping.urdf")
    common = {
        "urdf": str(urdf),
        "joints": ARM,
        "state_timeout": math.inf,
        "following_error_limit": [0.02],
    }
    with Graph(tmp_path) as graph:
        configuration = graph.collect(String, f"{NODE}/configuration", LATCHED)
        # In lockstep with the plant, a busy machine causes no following error.
        controller = graph.start(NODE, {**common, "update_rate": 0.0}, **UDP)
        log = Log(controller.log, begin=0)
        gripper = graph.publisher(JointState, "joint_states")
        graph.await_log(log, "waiting for /joint_states")

        def opens(position: float) -> None:
            gripper.publish(
                JointState(
                    name=["finger_left", "finger_right"], position=[position, -position]
                )
            )

        graph.wait(
            lambda: gripper.get_subscription_count() > 0, "the controller to listen"
        )
        for _ in range(20):
            opens(0.03)
            graph.spin_for(0.02)
        graph.start(
            "simulation_node",
            {
                **common,
                "publish_rate": 100.0,
                "real_time_factor": 0.5,
                "lockstep": True,
            },
            **UDP,
        )
        graph.await_log(log, "locked: finger_left at 0.03")
        states = graph.collect(JointState, "joint_states")
        words = [f"{name}={position}" for name, position in zip(ARM, GOAL, strict=True)]
        example = [sys.executable, str(EXAMPLE), *words]
        sender = subprocess.Popen(
            example, env=graph.environment, stdout=subprocess.PIPE, text=True
        )

        def ended() -> bool:
            opens(0.03 + 0.03 * math.sin(0.05 * len(states)))
            return sender.poll() is not None

        graph.wait(ended, "the end of the motion")
        assert sender.stdout is not None and "has ended" in sender.stdout.read()

        def arrived() -> bool:
            return list(states[-1].name) == ARM and bool(
                abs(np.array(states[-1].position) - GOAL).max() < 5e-3
            )

        graph.wait(arrived, "the states of the end")
        assert not log.errors, log.text()
        assert json.loads(configuration[-1].data)["parameters"]["locked"] == {
            "finger_left": 0.03
        }


def test_commands_lock_what_is_not_controlled(tmp_path: Path, capsys: Any) -> None:
    """A simulation of the arm's joints alone equals that of an arm whose fingers are fixed to its last link."""
    urdf = write_urdf(tmp_path / "gripping.urdf")
    bag = tmp_path / "bag"
    words = ["--joints", *ARM, "--locked", "finger_left=0.01"]
    assert (
        main(
            [
                "simulate",
                str(urdf),
                "--law",
                "computed_torque",
                "--duration",
                "1",
                "-o",
                str(bag),
                *words,
            ]
        )
        == 0
    )
    output = capsys.readouterr()
    assert (
        "finger_left" in output.err
        and "joint4" in output.out
        and "finger" not in output.out
    )
    assert main(["replay", str(bag), "-o", str(tmp_path / "again")]) == 0
    assert main(["compare", str(bag), str(tmp_path / "again"), "--common"]) == 0
    whole = RobotModel.from_urdf_file(urdf)
    part = RobotModel.from_urdf_file(urdf, joints=ARM, locked={"finger_left": 0.01})
    assert RobotModel.from_urdf_file(urdf, joints=ARM).locked == {"finger_left": 0.0}
    q = np.array([0.3, -0.5, 0.7, 0.2])
    assert part.locked == {"finger_left": 0.01} and whole.n == 5
    np.testing.assert_allclose(
        part.mass_matrix(q),
        whole.mass_matrix([*q, 0.01])[:4, :4],
        rtol=1e-12,
        atol=1e-14,
    )

"""Task-space targets: plant and controller as processes, targets from an ordinary ROS node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped
from std_srvs.srv import Trigger

from support.robot import collect_statuses, reliable_states
from support.ros import PLANAR, TSAI, Graph, Log
from support.simulation import Simulation

NODE = "computed_torque_node"
PARAMETERS = {
    **PLANAR,
    **reliable_states(),
    "law": "task_space_computed_torque",
    "task_space": {"components": "x z", "max_linear_velocity": 0.4},
}


def end_effector_position(plant: Simulation) -> Any:
    """Return x and z of the tip, Tsai (9.114) ff.; the arm is in a vertical plane."""
    angles = np.cumsum(plant.states[-1].position)
    return np.array([np.cos(angles), np.sin(angles)]) @ [TSAI.a1, TSAI.a2]


def target(x: float, z: float, frame: str = "") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x = x
    message.pose.position.z = z
    return message


def test_the_end_effector_follows_its_targets(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        controller = graph.start(NODE, PARAMETERS)
        simulated = {
            "initial_positions": [-0.6, 0.9],
            "lockstep": True,
            "real_time_factor": 0.0,
        }
        plant = Simulation(graph, PLANAR | simulated)
        plant.await_start()
        topics = {
            "target_pose": PoseStamped,
            "target_twist": TwistStamped,
            "target_acceleration": AccelStamped,
        }
        publishers = {
            name: graph.publisher(kind, f"{NODE}/{name}")
            for name, kind in topics.items()
        }

        statuses = collect_statuses(graph, f"{NODE}: controller")

        def send_until(message: PoseStamped, text: str) -> None:
            """Again and again: what comes before the first state is refused, and one refusal a second is logged."""
            log = Log(controller.log)
            graph.repeat(
                lambda: publishers["target_pose"].publish(message),
                lambda: text in log.text(),
                text,
            )

        graph.wait(
            lambda: all(each.get_subscription_count() for each in publishers.values()),
            "the node to listen",
        )
        send_until(target(0.6, 0.4), "the end effector follows ~/target_pose")
        graph.wait(
            lambda: np.abs(end_effector_position(plant) - [0.6, 0.4]).max() < 1e-3,
            "the end effector to arrive",
        )
        send_until(target(0.5, 0.5, "tip"), '~/target_pose refused: frame_id "tip"')

        # With the stamp of a state and a velocity the target goes on for a tenth of a second.
        plant.pause()
        graph.wait(
            lambda: all(state == plant.states[-1] for state in plant.states[-5:]),
            "time to stand still",
        )
        twist = TwistStamped()
        pose = target(0.6, 0.4)
        twist.header.stamp = pose.header.stamp = plant.states[-1].header.stamp
        twist.twist.linear.z = -0.2
        publishers["target_twist"].publish(twist)
        publishers["target_acceleration"].publish(AccelStamped(header=twist.header))
        graph.spin_for(0.1)
        publishers["target_pose"].publish(pose)
        graph.spin_for(0.1)
        plant.pause(False)
        graph.wait(
            lambda: (
                np.abs(end_effector_position(plant) - [0.6, 0.38]).max() < 1e-3
                and np.abs(plant.states[-1].velocity).max() < 1e-3
            ),
            "the end effector to follow its velocity and come to rest",
        )

        assert 0.0 <= statuses[-1].number("end effector position error") < 0.5

        assert graph.call(Trigger, f"{NODE}/cancel", Trigger.Request()).success
        graph.spin_for(0.1)
        assert np.abs(end_effector_position(plant) - [0.6, 0.38]).max() < 5e-3
        graph.set_parameters(NODE, {"law": "computed_torque"})
        send_until(target(0.6, 0.4), "~/target_pose refused: the law computed_torque")
        assert np.abs(end_effector_position(plant) - [0.6, 0.38]).max() < 5e-3
        assert "Traceback" not in controller.log.read_text(encoding="utf-8")

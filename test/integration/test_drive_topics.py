"""Commands of drives with a loop of their own, over DDS: topics, and a run in lockstep with its replay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings.bags import read_joint_states
from robot_dynamics_ros.recordings.bags.comparison import compare_bags
from robot_dynamics_ros.ros.conversions import nanoseconds, stamp, trajectory_message
from support.arms import Array
from support.robot import move
from support.ros import PLANAR, Driver, Graph, Log, recorded_counts
from support.simulation import Simulation

CONTROLLER = "computed_torque_node"
COMMANDS = f"/{CONTROLLER}/command_states"
TRAJECTORY = f"/{CONTROLLER}/joint_trajectory"
FIELDS = DriveCommand._fields
Q = np.array([-0.6, 0.9])
GOAL = (0.5, -0.4)
PERIOD = 2_000_000  # ns
DRIVES: dict[str, dict[str, Any]] = {
    "impedance": {"command_interfaces": list(FIELDS)},
    "position": {
        "command_interfaces": ["position"],
        "stiffness": [400.0],
        "damping": [20.0],
    },
}


def stamp_and_table(message: Float64MultiArray) -> tuple[int, Array]:
    assert [(part.label, part.size, part.stride) for part in message.layout.dim] == [
        ("interface", 5, 10),
        ("joint", 2, 2),
    ]
    seconds, nanosec = message.data[:2]
    begin = message.layout.data_offset
    table = np.array(message.data[begin:]).reshape(5, 2)
    return round(seconds) * 1_000_000_000 + round(nanosec), table


@pytest.mark.parametrize("drives", DRIVES.values(), ids=DRIVES)
def test_topics_of_a_cycle_have_the_same_numbers(
    drives: dict[str, Any], tmp_path: Path
) -> None:
    """Each interface has the row of its name in the table, which makes the effort of ~/command_states."""
    interfaces = drives["command_interfaces"]
    with Graph(tmp_path) as graph:
        node = graph.start(CONTROLLER, PLANAR | drives)
        driver = Driver(graph)
        apart = {
            name: graph.collect(Float64MultiArray, f"{name}_commands")
            for name in interfaces
        }
        tables = graph.collect(Float64MultiArray, "drive_commands")

        def answers() -> list[Any]:
            """Return the states of the last state's stamp, and the table if all parts of it are there."""
            if not driver.answers or not tables:
                return []
            at, table = stamp_and_table(tables[-1])
            answer = driver.answers[-1]
            complete = at == driver.now == nanoseconds(answer.header.stamp) and all(
                apart[name]
                and apart[name][-1].data.tolist() == table[FIELDS.index(name)].tolist()
                for name in interfaces
            )
            return [answer, DriveCommand(*table)] if complete else []

        for q in (Q, Q + [2e-3, -1e-3]):
            graph.repeat(
                lambda q=q: driver.send(driver.message(q, (0.01, 0.0))),
                answers,
                "a command",
            )
        answer, command = answers()
        torque = command.torque(q, np.array([0.01, 0.0]))
        np.testing.assert_allclose(torque, answer.effort, rtol=1e-9)
        assert (command.stiffness > 0.0).all() and (command.position != q).any()
        published = graph.client.get_publisher_names_and_types_by_node(CONTROLLER, "/")
        commands = {name for name, _ in published if name.endswith("_commands")}
        assert commands == {"/drive_commands"} | {
            f"/{name}_commands" for name in interfaces
        }
        graph.publisher(Float64MultiArray, "drive_commands")
        graph.await_log(Log(node.log, 0), "/drive_commands must have one publisher")


def test_a_run_in_lockstep_is_replayed(tmp_path: Path) -> None:
    """Bit for bit: an arm with noise follows a trajectory with the drives of the plant."""
    bag = tmp_path / "bag"
    states = "/joint_states"
    topics = [states, COMMANDS, "/drive_commands"]
    parameters = {
        **PLANAR,
        **DRIVES["impedance"],
        "lockstep": True,
        "publish_clock": True,
        "start_paused": True,
        "real_time_factor": 0.0,
        "initial_positions": Q.tolist(),
        "position_noise": [1e-5],
        "velocity_noise": [1e-3],
        # nothing is lost, however slow the recorder is
        "qos_overrides": {
            states: {"subscription": {"reliability": "reliable", "depth": 1000}},
            COMMANDS: {"publisher": {"depth": 1000}},
            "/drive_commands": {"publisher": {"depth": 1000}},
        },
    }
    with Graph(tmp_path) as graph:
        node = graph.start(CONTROLLER, parameters)
        graph.start(
            "recorder_node", {"output": str(bag), "topics": [*topics, TRAJECTORY]}
        )
        plant = Simulation(graph, parameters, listens=False)
        trajectories = graph.publisher(JointTrajectory, TRAJECTORY)
        graph.wait(
            lambda: trajectories.get_subscription_count() == 2,
            "controller and recorder to listen",
        )
        graph.wait(
            lambda: all(recorded_counts(bag)[topic] for topic in topics),
            "the recorder to have the first state and its command",
        )
        message = trajectory_message(move(GOAL, 1.0))
        message.header.stamp = stamp(250 * PERIOD)
        trajectories.publish(message)
        graph.await_log(Log(node.log, 0), "following a trajectory")
        plant.pause(False)
        graph.wait(
            lambda: plant.statuses[-1].number("commands") > 900, "the end of the motion"
        )
        plant.pause()
    assert main(["replay", str(bag), "-o", str(tmp_path / "replayed")]) == 0
    comparison = compare_bags(bag, tmp_path / "replayed", topics[1:], common=True)
    assert comparison.matches, str(comparison)
    assert min(topic.count for topic in comparison.topics) > 900
    series = read_joint_states(bag, [states])[states]
    np.testing.assert_allclose(series.position[-1], GOAL, rtol=0, atol=5e-3)

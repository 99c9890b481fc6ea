"""Launch files run for real: their nodes communicate and shut down. Skipped without launch_ros."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.ros.conversions import nanoseconds, trajectory_message
from robot_dynamics_ros.runs.generators import point_to_point
from support.launch_files import HAS_LAUNCH, ROOT
from support.ros import PATIENCE, Graph

pytestmark = pytest.mark.skipif(
    not HAS_LAUNCH, reason="launch_ros comes with a ROS 2 installation only"
)

#: What `ros2 launch` does with a file.
RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
file, *arguments = sys.argv[1:]
pairs = [argument.split(":=", 1) for argument in arguments]
service = LaunchService()
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=pairs)])
)
sys.exit(service.run())
"""


class Launch:
    """Launch file in a process group of its own, as in a terminal; on exit no process is left."""

    def __init__(self, graph: Graph, name: str, **arguments: str) -> None:
        self.log = graph.folder / f"{name}_{len(list(graph.folder.glob('*.log')))}.log"
        self._graph = graph
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        given = [f"{argument}:={value}" for argument, value in arguments.items()]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    RUN,
                    str(ROOT / "launch" / f"{name}.launch.py"),
                    *given,
                ],
                cwd=graph.folder,
                env=graph.environment
                | {"ROS_LOG_DIR": str(graph.folder), "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> "Launch":
        return self

    def __exit__(self, *error: Any) -> None:
        if self.process.poll() is None:
            self.interrupt()

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> int:
        """Spin the client until all processes have ended; return the exit code."""
        self._graph.wait(
            lambda: self.process.poll() is not None,
            f"the end of the launch\n{self.text}",
        )
        with pytest.raises(ProcessLookupError):
            os.killpg(self.process.pid, 0)
        return self.process.wait()

    def interrupt(self) -> int:
        """Send SIGINT to all processes, as Ctrl-C does; return the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.wait()


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path) as graph:
        yield graph


def stamps(messages: list[JointState]) -> set[int]:
    return {nanoseconds(message.header.stamp) for message in messages}


def assert_ended_well(launch: Launch) -> None:
    assert "process has died" not in launch.text and "Traceback" not in launch.text, (
        launch.text
    )


def test_computed_torque_in_a_namespace(graph: Graph, tmp_path: Path) -> None:
    """Each state has its command, the bag has all, and the final command is that of on_fault."""
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": {"on_fault": "zero"}}}),
        encoding="utf-8",
    )
    states = graph.collect(JointState, "/lab/arm/joint_states")
    answers = graph.collect(JointState, "/lab/arm/computed_torque_node/command_states")
    commands = graph.collect(Float64MultiArray, "/lab/arm/effort_commands")
    arguments = {
        "robot": "planar_2r",
        "rate": "100",
        "namespace": "lab/arm",
        "params_file": str(settings),
    }
    with Launch(
        graph, "computed_torque", **arguments, record="bag", rviz="false"
    ) as launch:
        graph.wait(
            lambda: "following a trajectory" in launch.text,
            f"the trajectory\n{launch.text}",
        )
        begin = len(answers)
        graph.wait(lambda: len(answers) > begin + 200, "answers")
        asked = stamps(states[-150:-50])
        assert any(any(command.data) for command in commands[-10:])
        assert launch.interrupt() == 0
    assert_ended_well(launch)
    assert len(asked - stamps(answers)) <= 5
    assert list(commands[-1].data) == [0.0, 0.0]
    with BagReader(tmp_path / "bag") as reader:
        assert reader.count(["/lab/arm/computed_torque_node/joint_trajectory"]) == 1
        assert (
            reader.count(["/lab/arm/effort_commands"])
            > 100
            < reader.count(["/lab/arm/joint_states"])
        )


def test_two_arms_are_separate_and_end_together(graph: Graph) -> None:
    joints = {"left": 2, "right": 3}
    states = {
        side: graph.collect(JointState, f"/{side}/joint_states") for side in joints
    }
    answers = {
        side: graph.collect(JointState, f"/{side}/computed_torque_node/command_states")
        for side in joints
    }
    with Launch(
        graph, "two_arms", left="planar_2r", right="scara", rate="100"
    ) as launch:
        graph.wait(
            lambda: launch.text.count("following a trajectory") == 2,
            f"two trajectories\n{launch.text}",
        )
        begin = {side: len(answers[side]) for side in joints}
        graph.wait(
            lambda: all(len(answers[side]) > begin[side] + 50 for side in joints),
            "answers",
        )
        plant = re.findall(
            r"\[simulation_node-1\]: process started with pid \[(\d+)\]", launch.text
        )[0]
        os.kill(int(plant), signal.SIGKILL)
        launch.wait()
    assert re.search(
        r"\[simulation_node-1\]: process has died \[pid \d+, exit code -9", launch.text
    )
    assert "[computed_torque_node-2]: process has finished cleanly" in launch.text
    for side, n in joints.items():
        assert {len(state.name) for state in states[side]} == {n}
        assert {tuple(answer.name) for answer in answers[side]} == {
            tuple(states[side][0].name)
        }


def test_simulation_and_controller_alone(graph: Graph) -> None:
    """With other names, /clock, the robot from the topic, and a trajectory from the client."""
    names = {
        "joint_states": "/robot/states",
        "effort_commands": "/robot/efforts",
        "use_sim_time": "true",
    }
    answers = graph.collect(JointState, "/computed_torque_node/command_states")
    commands = graph.collect(Float64MultiArray, "/robot/efforts")
    graph.describe(robot_urdf("scara").read_text(encoding="utf-8"))
    with (
        Launch(graph, "simulation", robot="scara", rate="100", **names) as plant,
        Launch(
            graph, "controller", joint_trajectory="/robot/goal", **names
        ) as controller,
    ):
        graph.wait(lambda: len(answers) > 50 and len(commands) > 50, "answers")
        assert dict(graph.client.get_topic_names_and_types())["/robot/goal"] == [
            "trajectory_msgs/msg/JointTrajectory"
        ]
        publisher = graph.publisher(JointTrajectory, "/robot/goal")
        graph.wait(lambda: publisher.get_subscription_count() == 1, "the controller")
        goal = point_to_point(
            answers[-1].name,
            answers[-1].position,
            np.add(answers[-1].position, 0.05),
            1.0,
            20.0,
        )
        publisher.publish(trajectory_message(goal))
        graph.wait(
            lambda: "following a trajectory" in controller.text,
            f"the trajectory\n{controller.text}",
        )
        assert controller.interrupt() == 0
        assert plant.interrupt() == 0
    assert max(stamps(answers)) < PATIENCE * 1e9, "simulated time begins at 0"
    assert_ended_well(plant)
    assert_ended_well(controller)


def test_replay_ends_with_its_bag(graph: Graph, tmp_path: Path) -> None:
    answers = graph.collect(JointState, "/computed_torque_node/command_states")
    with Launch(
        graph, "computed_torque", robot="planar_2r", rate="100", record="bag"
    ) as launch:
        graph.wait(lambda: len(answers) > 100, f"answers\n{launch.text}")
        launch.interrupt()
    with Launch(
        graph, "replay", bag="bag", robot="planar_2r", output="again"
    ) as launch:
        assert launch.wait() == 0, launch.text
    assert_ended_well(launch)
    with (
        BagReader(tmp_path / "bag") as played,
        BagReader(tmp_path / "again") as recorded,
    ):
        assert played.count(["/joint_states"]) == recorded.count(["/joint_states"])
        assert recorded.count(["/computed_torque_node/command_states"]) > 0

"""What ros2_control's controllers get, taken by stand-ins that do as their sources say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from integration.robot import NODE
from integration.ros import Driver, Graph
from rclpy.qos import QoSPresetProfiles
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.resources import robot_dynamics_file, robot_urdf

CONFIG = Path(__file__).resolve().parents[2] / "config"
FORWARD, TRAJECTORY = CONFIG / "ros2_control_forward_effort.yaml", CONFIG / "ros2_control_joint_trajectory.yaml"
COMMANDS, TRAJECTORIES = "/forward_effort_controller/commands", "/arm_controller/joint_trajectory"
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
#: The simulated arm has no driver that adds gravity.
BARE = {"robot_compensates_gravity": "false", "ramp_time": "0.0", "effort_limit_scale": "[1.0]"}


def _own(file: Path, node: str) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))[node]["ros__parameters"])


class ForwardCommandController:
    """ros2_controllers 6.9.0, forward_controllers_base.cpp: what its callback drops and its update refuses."""

    def __init__(self, graph: Graph) -> None:
        self.joints = _own(FORWARD, "forward_effort_controller")["joints"]
        self.interfaces: dict[str, float] = {}
        self.errors: list[str] = []
        graph.client.create_subscription(
            Float64MultiArray, COMMANDS, self._take, QoSPresetProfiles.SYSTEM_DEFAULT.value
        )

    def _take(self, command: Float64MultiArray) -> None:
        if not np.isfinite(command.data).all():
            self.errors.append("Non-finite value received. Dropping message")
        elif len(command.data) != len(self.joints):
            self.errors.append("command size does not match number of interfaces")
        else:
            self.interfaces = {f"{joint}/effort": x for joint, x in zip(self.joints, command.data, strict=True)}


class JointTrajectoryController:
    """ros2_controllers 6.9.0, joint_trajectory_controller.cpp, validate_trajectory_msg, with effort as interface."""

    def __init__(self, graph: Graph) -> None:
        self.joints = _own(TRAJECTORY, "arm_controller")["joints"]
        self.taken: list[JointTrajectory] = []
        graph.client.create_subscription(
            JointTrajectory, TRAJECTORIES, self._take, QoSPresetProfiles.SYSTEM_DEFAULT.value
        )

    def _take(self, trajectory: JointTrajectory) -> None:
        k = len(trajectory.joint_names)
        assert k == len(self.joints) and set(trajectory.joint_names) == set(self.joints)
        assert trajectory.points and np.abs(trajectory.points[-1].velocities).max() < np.finfo(np.float32).eps
        times = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in trajectory.points]
        assert (np.diff(times) > 0.0).all()
        for point in trajectory.points:
            assert len(point.positions) == k
            assert {len(point.velocities), len(point.accelerations)} <= {0, k}
            assert len(point.effort) == k
        self.taken.append(trajectory)


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf("panda"), dynamics=robot_dynamics_file("panda"))


@pytest.fixture(scope="module")
def wired(tmp_path_factory: pytest.TempPathFactory, model: RobotModel) -> Iterator[Any]:
    with Graph(tmp_path_factory.mktemp("ros2_control")) as graph:
        forward, trajectory = ForwardCommandController(graph), JointTrajectoryController(graph)
        parameters = {
            "robot_description": robot_urdf("panda").read_text(encoding="utf-8"),
            "dynamics_file": str(robot_dynamics_file("panda")),
            "state_timeout": float("inf"),
        }
        # For a node by its name, as the file has it: ROS would let that win over all nodes' otherwise.
        bare = [word for name, value in BARE.items() for word in ("-p", f"{NODE}:{name}:={value}")]
        remapped = ("-r", f"effort_commands:={COMMANDS}", "-r", f"~/joint_trajectory_with_effort:={TRAJECTORIES}")
        graph.start(NODE, parameters, "--params-file", str(FORWARD), *bare, *remapped)
        # The broadcaster sends joints in an order of its own, and a gripper's with them.
        order = ("panda_finger_joint1", *sorted(model.joint_names, reverse=True))
        driver = Driver(graph, joints=order)
        q = {"panda_finger_joint1": 0.04, **dict(zip(model.joint_names, READY, strict=True))}
        state = [q[name] for name in order]

        def drive(until: Any, what: str) -> None:
            def come() -> bool:
                driver.send(driver.message(state, np.zeros(8), 0.01))
                graph.settle(0.005)
                return bool(until())

            graph.wait(come, what)

        yield driver, forward, trajectory, drive


def test_each_effort_gets_to_its_joint(wired: Any, model: RobotModel) -> None:
    _, forward, _, drive = wired
    drive(lambda: forward.interfaces or forward.errors, "a command")
    assert forward.errors == []
    gravity = dict(zip(model.joint_names, model.gravity_torque(READY), strict=True))
    assert len({round(x, 3) for x in gravity.values()}) >= 5, "an exchange of joints would show"
    assert forward.interfaces == pytest.approx({f"{name}/effort": x for name, x in gravity.items()}, abs=1e-6)


def test_the_trajectory_comes_with_effort(wired: Any, model: RobotModel) -> None:
    driver, _, trajectory, drive = wired
    drive(lambda: driver.answers, "an answer")
    names, there = model.joint_names[::-1], READY[::-1] + 0.1
    still = np.zeros((1, 7))
    driver.graph.wait(lambda: driver.graph.client.count_publishers(TRAJECTORIES) > 0, "the topic")
    driver.follow(TrajectoryPoints(names, np.array([1.0]), there[None], still, still))
    drive(lambda: trajectory.taken, "the trajectory")
    (message,) = trajectory.taken
    assert tuple(message.joint_names) == names and list(message.points[-1].positions) == pytest.approx(list(there))
    np.testing.assert_allclose(message.points[-1].effort, model.gravity_torque(READY + 0.1)[::-1], atol=1e-9)

"""View node: shows the robot in a browser, live from joint_states and the controller's command_states."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from robot_dynamics_ros.analysis.thresholds import SCENE_PERIOD
from robot_dynamics_ros.analysis.view.scene_state import LiveArm
from robot_dynamics_ros.analysis.view.viewer import live_view, open_page
from robot_dynamics_ros.base.background import run_in_background
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import Sample
from robot_dynamics_ros.base.parameters import DYNAMICS_FILE, JOINTS, LOCKED, URDF
from robot_dynamics_ros.base.parameters.kinds import Flag, Parameter, Text, WholeNumber
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run
from robot_dynamics_ros.runs.recorded_setup import model_keywords

JOINT_STATES = Text(
    "joint_states", "joint_states", "Topic of joint states", when="start"
)
COMMAND_STATES = Text(
    "command_states",
    "computed_torque_node/command_states",
    "Topic of desired positions and efforts",
    when="start",
)
HOST = Text("host", "127.0.0.1", "Address of the web server", when="start")
PORT = WholeNumber(
    "port",
    8080,
    "Port of the web server; if it is in use, the next free one",
    1,
    65535,
    when="start",
)

BROWSER = Flag(
    "browser",
    False,
    "Open the page in the user's browser, if there is one",
    when="start",
)

ALL: tuple[Parameter[Any], ...] = (
    URDF,
    DYNAMICS_FILE,
    JOINTS,
    LOCKED,
    NodeSettings.parameters()["gravity"],
    JOINT_STATES,
    COMMAND_STATES,
    HOST,
    PORT,
    BROWSER,
)


class ViewNode(NodeProgram):
    """Node that serves a web page with the newest state of the arm, until it is interrupted.

    The page is updated 25 times a second. The arm is grey if its state is older than a second.
    """

    def __init__(self, **options: Any) -> None:
        """Load the robot of the parameter ``urdf`` and start the web server, whose address is logged.

        ``options`` are keyword arguments of ``rclpy.node.Node``. Raises RobotDynamicsError for invalid files and
        parameters, and as ``live_view``.
        """
        super().__init__("view", ALL, **options)
        path = Path(URDF.read(self.values))
        dynamics = DYNAMICS_FILE.read(self.values) or None
        model = RobotModel.from_urdf_file(
            path, dynamics=dynamics, **model_keywords(self.values)
        )
        # in the background, so that signals interrupt it
        run_in_background(model.warm_up).result()
        self._arm = LiveArm()
        address = HOST.read(self.values), PORT.read(self.values)
        self._viewer, self._update = live_view(
            model, path.read_bytes(), path.parent, self._arm, address
        )
        states = JOINT_STATES.read(self.values)
        commands = COMMAND_STATES.read(self.values)
        self._states, self._commands = (
            JointStateReader(model.joint_names, topic) for topic in (states, commands)
        )
        self.create_subscription(
            JointState, states, self._receive_state, qos_profile_sensor_data, raw=True
        )
        self.create_subscription(
            JointState,
            commands,
            self._receive_command,
            qos_profile_sensor_data,
            raw=True,
        )
        self.create_steady_timer(SCENE_PERIOD, self._show)
        for note in self._viewer.notes:
            self.get_logger().warning(note)
        self.get_logger().info(
            f"{self._viewer.url} shows {self.resolve_topic_name(states)}; press Ctrl-C to stop"
        )
        if BROWSER.read(self.values):
            open_page(self._viewer.url)

    def _show(self) -> None:
        self._update(SCENE_PERIOD)

    def _receive_state(self, data: bytes) -> None:
        if sample := self._read(self._states, data):
            now = time.monotonic()
            self._arm.state(
                sample.stamp * 1e-9 or now, now, sample.q, sample.qd, sample.effort
            )

    def _receive_command(self, data: bytes) -> None:
        if sample := self._read(self._commands, data):
            self._arm.command(time.monotonic(), sample.q, sample.effort)

    def _read(self, reader: JointStateReader, data: bytes) -> Sample | None:
        try:
            return reader.read(data)
        except RobotDynamicsError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return None

    def close(self) -> None:
        """Stop the web server."""
        self._viewer.close()


main = partial(run, ViewNode, ALL)

if __name__ == "__main__":
    main()

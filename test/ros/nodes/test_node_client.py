"""Command ``robot_dynamics node``, against a controller in another thread, over DDS."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from threading import Thread

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.commands import node
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.ros.nodes import node_client
from robot_dynamics_ros.ros.nodes.computed_torque_node import ComputedTorqueNode
from robot_dynamics_ros.ros.nodes.node_client import NodeClient
from support.ros import URDF

#: Words of the command line, exit code, and a part of what is printed.
LINES = [
    ("get law", 0, "computed_torque"),
    ("set laww pd", 1, "no parameter laww"),
    ("set law", 1, "set a name and a value"),
    ("set law {pd:1}", 1, "{pd:1} is no value"),
    ("set law 'pd", 1, "'pd is no value"),
    ("set gains.kp []", 0, ""),
    ("set gains.natural_frequency [4.0]", 0, ""),
    ("get gains.natural_frequency", 0, "[4.0]"),
    ("set law pdd", 1, "mean pd?"),
    ("clear_fault", 1, "no service clear_fault within 0.5 s; nodes seen: /"),
    ("activate", 1, "refused activate: unconfigured. Cure: "),
    ("configure", 0, "configure: done"),
    ("emergency_stop", 0, "engaged for the next activation"),
    ("clear_fault", 1, "Cure: activate it"),
    ("diagnostics", 0, "left/computed_torque_node: controller: inactive"),
]


@pytest.fixture
def controller(context: rclpy.Context) -> Iterator[str]:
    """Yield the name of an unconfigured controller of the planar arm."""
    values = {"robot_description": URDF, "autostart": False}
    made = ComputedTorqueNode(
        context=context,
        namespace="left",
        parameter_overrides=[
            Parameter(name, value=value) for name, value in values.items()
        ],
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(made)
    thread = Thread(target=executor.spin)
    thread.start()
    yield made.get_fully_qualified_name()
    executor.shutdown()
    thread.join()
    made.destroy_node()


def test_requests_of_a_running_node(
    controller: str,
    context: rclpy.Context,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One connection, as each discovery takes up to three seconds."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(context.get_domain_id()))
    with closing(NodeClient(controller)) as client:
        monkeypatch.setattr(node_client, "NodeClient", lambda name: client)
        monkeypatch.setattr(node, "closing", nullcontext)
        for line, code, printed in LINES:
            patience = 0.5 if "no service" in printed else 60.0
            monkeypatch.setattr(node_client, "CLIENT_DISCOVERY_TIMEOUT", patience)
            assert main(["node", *line.split()]) == code, line
            output = capsys.readouterr()
            assert printed in output.out + output.err
        client.name = "/a b"
        with pytest.raises(RobotDynamicsError, match='"/a b" is not the name of'):
            client.trigger("clear_fault")

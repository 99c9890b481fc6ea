"""ROS names of this package: executables, parameters, topics, services and actions."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics_ros.base.parameters.kinds import Parameter
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.simulation import parameters as simulation
from support.node_interfaces import topics

ROOT = Path(__file__).resolve().parents[3]

#: What rclpy itself declares.
OF_EVERY_NODE = {"use_sim_time"}
PARAMETERS: dict[str, dict[str, Parameter[Any]]] = {
    node: {parameter.name: parameter for parameter in declared}
    for node, declared in (
        ("computed_torque_node", controller.ALL),
        ("simulation_node", simulation.ALL),
        ("trajectory_node", trajectory.ALL),
    )
}
_KINDS = {
    "publisher": "out",
    "lifecycle_publisher": "out",
    "subscription": "in",
    "service": "service",
}


class Interface(NamedTuple):
    """A topic, service or action of a node, with the name of its type without package."""

    node: str
    kind: str
    name: str
    type: str


@cache
def interfaces() -> frozenset[Interface]:
    """Those of the three nodes, from their sources."""
    own = "computed_torque_node"
    found = {
        Interface(
            own, "action", f"{own}/follow_joint_trajectory", "FollowJointTrajectory"
        )
    }
    for node in PARAMETERS:
        for kind, direction in _KINDS.items():
            found |= {
                Interface(node, direction, name, of.rpartition(".")[2])
                for name, of in topics(node, kind).items()
            }
    return frozenset(found)


def executables() -> set[str]:
    return set(
        re.findall(
            r'f"(\w+) = \{PACKAGE\}', (ROOT / "setup.py").read_text(encoding="utf-8")
        )
    )

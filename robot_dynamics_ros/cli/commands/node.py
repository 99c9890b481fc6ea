"""robot_dynamics node: services, parameters, lifecycle and status of a running node, without the command ros2.

``run_node`` takes the parsed arguments that ``add_node`` declares.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import closing

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.processes import require_ros

_SERVICES = ("clear_fault", "emergency_stop", "cancel", "reset")
_TRANSITIONS = ("configure", "activate", "deactivate", "cleanup", "shutdown")
_ACTIONS = ("diagnostics", "get", "set", *_SERVICES, *_TRANSITIONS)


def add_node(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Show the status of one running node of this package, get or set a parameter, call a service (reset: of "
        "simulation_node), or change its lifecycle state."
    )
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=_ACTIONS,
        help=", ".join(_ACTIONS),
    )
    parser.add_argument(
        "words",
        metavar="PARAMETER",
        nargs="*",
        help="get: name; set: name and value, as gains.natural_frequency [10.0]",
    )
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="name with namespace (default: computed_torque_node, for reset simulation_node)",
    )


def run_node(arguments: Namespace) -> None:
    """Carry out the action of ``arguments`` and print the answer.

    Raises RobotDynamicsError if ROS 2 is not installed, the words do not fit the action, and as NodeClient does.
    """
    action = arguments.action
    words = arguments.words
    if len(words) != {"get": 1, "set": 2}.get(action, 0):
        raise RobotDynamicsError(
            f"{action} with {len(words)} words. Cure: give get a name, set a name and a value, others nothing"
        )
    require_ros()
    from robot_dynamics_ros.ros.nodes.node_client import NodeClient

    default = "simulation_node" if action == "reset" else "computed_torque_node"
    with closing(NodeClient(arguments.node or default)) as client:
        if action == "diagnostics":
            status = client.status()
            print(f"{status.name}: {status.message}")
            for pair in status.values:
                print(f"  {pair.key}: {pair.value}")
        elif action == "get":
            print(client.parameter(*words))
        elif action in _SERVICES:
            print(client.trigger(action))
        elif action == "set":
            client.set_parameter(*words)
            print(f"{words[0]} is set")
        else:
            client.change_state(action)
            print(f"{action}: done")

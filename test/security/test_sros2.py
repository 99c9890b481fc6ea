"""The shipped SROS 2 policies permit exactly the nodes' communication over DDS; they are not enforced here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.recordings.messages.drive_commands import command_topics

#: What an attribute of a list allows, as the graph names it.
KINDS = {
    "publish": "publisher",
    "subscribe": "subscriber",
    "reply": "service",
    "request": "client",
    "execute": "action server",
    "call": "action client",
}


def read_policies(file: Path) -> dict[str, dict[str, set[str]]]:
    """Return the permitted full names of each node by kind (SROS 2 policies, schema 0.2.0), root namespace only."""
    found: dict[str, dict[str, set[str]]] = {}
    for element in ElementTree.parse(file).getroot().iterfind("enclaves/enclave"):
        (profile,) = element.iterfind("profiles/profile")
        node = profile.attrib["node"]
        assert element.attrib["path"] == f"/{node}" and profile.attrib["ns"] == "/"
        found[node] = {kind: set() for kind in KINDS.values()}
        for group in profile:
            ((kind, rule),) = group.attrib.items()
            assert rule == "ALLOW", group.attrib
            names = [str(item.text) for item in group]
            assert len(set(names)) == len(names), names
            full = {
                f"/{node}{name[1:]}" if name[0] == "~" else f"/{name.removeprefix('/')}"
                for name in names
            }
            found[node][KINDS[kind]] |= full
    return found


ENCLAVES = read_policies(
    Path(__file__).resolve().parents[2] / "config" / "sros2_policies.xml"
)
#: What the nodes have only where control_msgs is installed.
CONTROL_MSGS = {
    "publisher": {"/computed_torque_node/controller_state"},
    "action server": {"/computed_torque_node/follow_joint_trajectory"},
    "action client": {"/computed_torque_node/follow_joint_trajectory"},
}


@pytest.fixture(scope="module")
def graph(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, dict[str, set[str]]]]:
    """Return the names of each node in the graph, with all that parameters can add: kind -> names."""
    pytest.importorskip("rclpy")
    from support.ros import PLANAR, Graph

    with Graph(tmp_path_factory.mktemp("graph")) as nodes:
        urdf = {"robot_description": PLANAR["robot_description"]}
        drives = {"command_interfaces": list(DriveCommand._fields)}
        nodes.start("simulation_node", {**urdf, **drives, "publish_clock": True})
        nodes.start("simulation_node", urdf, "-r", "__node:=effort_plant")
        nodes.start("computed_torque_node", {**PLANAR, **drives, "use_sim_time": True})
        to_controller = "joint_trajectory:=computed_torque_node/joint_trajectory"
        nodes.start(
            "trajectory_node",
            {"listeners": ["nobody"], "use_sim_time": True},
            "-r",
            to_controller,
        )
        nodes.wait(
            lambda: set(ENCLAVES) <= set(nodes.client.get_node_names()), "the nodes"
        )
        found: dict[str, dict[str, set[str]]] = {}

        def same_as_before() -> bool:
            """Return True if discovery is complete."""
            before = dict(found)
            nodes.spin_for(1.0)
            found.update({node: _interfaces(nodes.client, node) for node in ENCLAVES})
            efforts = _interfaces(nodes.client, "effort_plant")
            found["simulation_node"]["subscriber"] |= efforts["subscriber"]
            plant, controller = (
                found[node]["publisher"]
                for node in ("simulation_node", "computed_torque_node")
            )
            return (
                found == before
                and "/joint_states" in plant
                and "/effort_commands" in found["simulation_node"]["subscriber"]
                and "/effort_commands" in controller
                and all(
                    "/clock" in found[node]["subscriber"]
                    for node in ("computed_torque_node", "trajectory_node")
                )
            )

        nodes.wait(same_as_before, "the nodes to be connected")
        yield found


def _interfaces(client: Any, node: str) -> dict[str, set[str]]:
    from rclpy import action

    listed = {
        "publisher": client.get_publisher_names_and_types_by_node(node, "/"),
        "subscriber": client.get_subscriber_names_and_types_by_node(node, "/"),
        "service": client.get_service_names_and_types_by_node(node, "/"),
        "client": client.get_client_names_and_types_by_node(node, "/"),
        "action server": action.get_action_server_names_and_types_by_node(
            client, node, "/"
        ),
        "action client": action.get_action_client_names_and_types_by_node(
            client, node, "/"
        ),
    }
    return {
        kind: {name for name, _ in names if "/_action/" not in name}
        for kind, names in listed.items()
    }


@pytest.mark.parametrize("node", ENCLAVES)
def test_policies_match_the_interfaces_of_the_nodes(
    node: str, graph: dict[str, dict[str, set[str]]]
) -> None:
    for kind, allowed in ENCLAVES[node].items():
        assert (
            graph[node][kind] | (CONTROL_MSGS.get(kind, set()) & allowed) == allowed
        ), kind


def test_only_the_controller_may_command() -> None:
    """Publishers of these topics can move the arm."""
    commands = [f"/{topic}" for topic in command_topics(DriveCommand._fields)]
    for topic in (*commands, "/computed_torque_node/command_states"):
        assert [
            node for node, allowed in ENCLAVES.items() if topic in allowed["publisher"]
        ] == ["computed_torque_node"]

"""The shipped SROS 2 policies allow exactly what the nodes use over DDS.

Not enforced here: the middleware of the wheels is built without security.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

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
    """Full names of what each node may have, by kind (SROS 2 policies, schema 0.2.0); the root namespace only."""
    found: dict[str, dict[str, set[str]]] = {}
    for element in ElementTree.parse(file).getroot().iterfind("enclaves/enclave"):
        (profile,) = element.iterfind("profiles/profile")
        node = profile.attrib["node"]
        assert element.attrib["path"] == f"/{node}" and profile.attrib["ns"] == "/"
        allowed = found[node] = dict[str, set[str]]()
        for group in profile:
            ((kind, rule),) = group.attrib.items()
            assert rule == "ALLOW", group.attrib
            names = [_full_name(str(item.text), node) for item in group]
            assert len(set(names)) == len(names), names
            allowed.setdefault(KINDS[kind], set()).update(names)
    return found


def _full_name(name: str, node: str) -> str:
    if name.startswith("~"):
        return f"/{node}{name[1:]}"
    return name if name.startswith("/") else f"/{name}"


ENCLAVES = read_policies(Path(__file__).resolve().parents[2] / "config" / "sros2_policies.xml")
#: What the nodes have only where control_msgs is installed.
CONTROL_MSGS = {
    "publisher": {"/computed_torque_node/controller_state"},
    "action server": {"/computed_torque_node/follow_joint_trajectory"},
    "action client": {"/computed_torque_node/follow_joint_trajectory"},
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, set[str]]]]:
    """What each node has by the graph, with all that a parameter can add: kind -> names."""
    pytest.importorskip("rclpy")
    from support.ros import PLANAR, Graph

    with Graph(tmp_path_factory.mktemp("graph")) as nodes:
        urdf = {"robot_description": PLANAR["robot_description"]}
        nodes.start("simulation_node", {**urdf, "publish_clock": True})
        nodes.start("computed_torque_node", {**PLANAR, "use_sim_time": True})
        to_controller = "joint_trajectory:=computed_torque_node/joint_trajectory"
        nodes.start("trajectory_node", {"listeners": ["nobody"], "use_sim_time": True}, "-r", to_controller)
        nodes.wait(lambda: set(ENCLAVES) <= set(nodes.client.get_node_names()), "the nodes")
        found: dict[str, dict[str, set[str]]] = {}

        def same_as_before() -> bool:
            """Discovery comes to rest."""
            before = dict(found)
            nodes.settle(1.0)
            found.update({node: _interfaces(nodes.client, node) for node in ENCLAVES})
            plant, controller = (found[node]["publisher"] for node in ("simulation_node", "computed_torque_node"))
            return found == before and "/joint_states" in plant and "/effort_commands" in controller

        nodes.wait(same_as_before, "the nodes to be connected")
        yield found


def _interfaces(client: Any, node: str) -> dict[str, set[str]]:
    found = {}
    for kind in ("publisher", "subscriber", "service", "client"):
        listed = getattr(client, f"get_{kind}_names_and_types_by_node")(node, "/")
        found[kind] = {name for name, _ in listed if "/_action/" not in name}
    for kind in ("server", "client"):
        from rclpy import action

        listed = getattr(action, f"get_action_{kind}_names_and_types_by_node")(client, node, "/")
        found[f"action {kind}"] = {name for name, _ in listed}
    return found


@pytest.mark.parametrize("node", ENCLAVES)
@pytest.mark.parametrize("kind", KINDS.values())
def test_policies_allow_what_the_nodes_have_and_no_more(
    node: str, kind: str, graph: dict[str, dict[str, set[str]]]
) -> None:
    allowed = set(ENCLAVES[node].get(kind, ()))
    optional = CONTROL_MSGS.get(kind, set()) & allowed
    assert graph[node][kind] | optional == allowed


def test_only_the_controller_may_command() -> None:
    """Whoever may write these moves the arm."""
    for topic in ("/effort_commands", "/computed_torque_node/command_states"):
        assert [node for node, allowed in ENCLAVES.items() if topic in allowed["publisher"]] == ["computed_torque_node"]

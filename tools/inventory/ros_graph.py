"""Topics with QoS, services, parameters, statuses and exit codes of the nodes, which run as processes over DDS."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy import action
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from robot_dynamics_ros.base.background import SUCCESS
from robot_dynamics_ros.cli.processes import NodeProcess
from support.ros import LATCHED, URDF, Graph, Log
from tools.inventory.observed import ROOT, run

CONTROLLER = "computed_torque_node"
PLANT = "simulation_node"
MOTION = "trajectory_node"
ROBOT = {"robot_description": URDF}
SLOW_PLANT = {**ROBOT, "publish_rate": 50.0}  # leaves time for the other processes
TO_CONTROLLER = ("-r", f"joint_trajectory:={CONTROLLER}/joint_trajectory")
#: Parameters that add interfaces, by the namespace in which nodes run and the name of the node.
SETUPS: dict[str, dict[str, dict[str, Any]]] = {
    "unconfigured": {CONTROLLER: {}, PLANT: {}, MOTION: {}},
    "plain": {CONTROLLER: ROBOT, PLANT: SLOW_PLANT, MOTION: {"listeners": ["nobody"]}},
    "full": {
        CONTROLLER: {
            **ROBOT,
            "observer.gain": 10.0,
            "emergency_stop_topics": ["/cell/emergency_stop"],
            "use_sim_time": True,
        },
        PLANT: {**SLOW_PLANT, "publish_clock": True},
    },
    # Here a busy machine causes no fault.
    "lockstep": {
        CONTROLLER: {
            **ROBOT,
            "state_timeout": float("inf"),
            "qos_overrides": {
                "/lockstep/joint_states": {"subscription": {"reliability": "reliable"}}
            },
        },
        PLANT: {**SLOW_PLANT, "lockstep": True},
    },
    "locked_joint": {CONTROLLER: {**ROBOT, "joints": ["joint1"]}},
}
ACTIVE = ("plain", "full", "lockstep")
#: Commands that become nodes, by the names of these, and a text that they log when they are ready.
COMMANDS = {
    "recorder": (
        "record -o recorded /plain/joint_states /plain/computed_torque_node/command_states",
        "recording",
    ),
    "player": ("play played --wait-for nobody", "waiting for nobody"),
    "view": ("view planar_2r --live --no-browser --namespace plain", "press Ctrl-C"),
}
#: Nodes that end by themselves, in the namespace lockstep, and their parameters.
ENDING: dict[str, tuple[str, dict[str, Any]]] = {
    "motion completed": (
        MOTION,
        {"trajectory": {"kind": "point_to_point", "center": [0.1], "move_time": 0.5}},
    ),
    "motion refused": (MOTION, {"joints": ["joint1"]}),
}
STANDARD_TOPICS = {"rosout", "parameter_events"}
FOR_EVER = 1e9  # s; infinite times of QoS are longer
# equal observations, a second apart, after which discovery is complete; DDS repeats messages every 3 s
QUIET = 8


def interfaces() -> Iterator[str]:
    """Yield the facts of all nodes, which run in one ROS domain of their own."""
    run("simulate planar_2r --duration 1 -o played")
    with Graph(Path.cwd()) as graph:
        statuses = graph.collect(DiagnosticArray, "/diagnostics")
        configurations = graph.collect(
            String, f"/plain/{CONTROLLER}/configuration", LATCHED
        )
        _start(graph)
        yield from _connections(graph)
        for node in SETUPS["unconfigured"]:
            yield from _parameters(graph, f"/unconfigured/{node}")
            yield from (
                fact
                for fact in _parameters(graph, f"/plain/{node}")
                if "qos_overrides" in fact
            )
        for node in COMMANDS:
            yield from _parameters(graph, f"/{node}")
        graph.wait(lambda: configurations, "the configuration")
        yield from (
            f"{CONTROLLER}: ~/configuration has {key}"
            for key in json.loads(configurations[-1].data)
        )
        yield from _statuses(statuses)
        yield from _ends(graph)
    for process in graph.processes.members:
        code = process.process.returncode
        yield f"{process.name}: exit code {0 if code in SUCCESS else code} after Ctrl-C"


def _start(graph: Graph) -> None:
    """Start all nodes, and wait until they are ready."""
    for namespace, nodes in SETUPS.items():
        for node, parameters in nodes.items():
            graph.start(node, parameters, "-r", f"__ns:=/{namespace}", *TO_CONTROLLER)
    for name, (line, ready) in COMMANDS.items():
        command = [sys.executable, "-m", "robot_dynamics_ros", *line.split()]
        process = graph.processes.add(
            NodeProcess(name, graph.folder / f"{name}.log", command, graph.environment)
        )
        log = Log(process.log, begin=0)
        graph.wait(lambda log=log, text=ready: text in log.text(), f"{name} to begin")
    for namespace in ACTIVE:
        node = f"/{namespace}/{CONTROLLER}"
        graph.wait(lambda node=node: _is_active(graph, node), f"{node} to be active")


def _ends(graph: Graph) -> Iterator[str]:
    """Yield the exit codes of nodes that end by themselves."""
    for title, (node, parameters) in ENDING.items():
        process = graph.start(node, parameters, "-r", "__ns:=/lockstep", *TO_CONTROLLER)
        graph.wait(
            lambda process=process: process.process.poll() is not None, f"{node} to end"
        )
        # the group takes exit code 1 for a failure
        graph.processes.members.remove(process)
        yield f"{node}: exit code {process.process.returncode}, {title}"


def _is_active(graph: Graph, node: str) -> bool:
    state = graph.call(GetState, f"{node}/get_state", GetState.Request()).current_state
    return int(state.id) == State.PRIMARY_STATE_ACTIVE


def _connections(graph: Graph) -> set[str]:
    """Return the interfaces of all nodes when they no longer change."""
    found = _observed(graph)
    equal = 0
    while equal < QUIET:
        graph.spin_for(1.0)
        before = found
        found = _observed(graph)
        equal = equal + 1 if found == before else 0
    return found


def _observed(graph: Graph) -> set[str]:
    """Return the present interfaces, each with the setups in which nodes have it; those of every node are left out."""
    services = graph.client.get_service_names_and_types_by_node(
        graph.client.get_name(), "/"
    )
    standard = STANDARD_TOPICS | {_last(name) for name, _ in services}
    found: dict[str, set[str]] = {}
    for setup, node, verb, name, kind in (
        *_topics(graph.client),
        *_services(graph.client),
    ):
        if _last(name) not in standard:
            own = name.removeprefix(f"/{setup}") if setup else name
            found.setdefault(f"{node} {verb} {own}: {kind}", set()).add(setup)
    return {
        f"{fact} ({', '.join(sorted(setups))})".removesuffix(" ()")
        for fact, setups in found.items()
    }


def _is_ours(setup: str, node: str) -> bool:
    """Return False for a node of another program in this domain."""
    return node in SETUPS.get(setup, COMMANDS)


def _topics(client: Node) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield setup, node, verb, topic, and type with QoS."""
    for topic, _ in client.get_topic_names_and_types():
        listed = {
            "publishes": client.get_publishers_info_by_topic(topic),
            "subscribes to": client.get_subscriptions_info_by_topic(topic),
        }
        for verb, ends in listed.items():
            for end in ends:
                setup = end.node_namespace.strip("/")
                kind = f"{end.topic_type}, {_qos(end.qos_profile)}"
                if _is_ours(setup, end.node_name):
                    yield setup, end.node_name, verb, topic, kind


def _services(client: Node) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield setup, node, verb, name and types of services and actions."""
    for node, namespace in client.get_node_names_and_namespaces():
        setup = namespace.strip("/")
        if not _is_ours(setup, node):
            continue
        listed = {
            "serves": client.get_service_names_and_types_by_node(node, namespace),
            "calls": client.get_client_names_and_types_by_node(node, namespace),
            "executes": action.get_action_server_names_and_types_by_node(
                client, node, namespace
            ),
            "requests": action.get_action_client_names_and_types_by_node(
                client, node, namespace
            ),
        }
        for verb, names in listed.items():
            yield from (
                (setup, node, verb, name, ", ".join(kinds)) for name, kinds in names
            )


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _qos(profile: QoSProfile) -> str:
    """Return reliability and durability, and times that are not infinite; DDS does not transfer the depth."""
    words = [profile.reliability.name.lower(), profile.durability.name.lower()]
    times = {
        "deadline": profile.deadline,
        "lifespan": profile.lifespan,
        "liveliness lease": profile.liveliness_lease_duration,
    }
    seconds = {name: time.nanoseconds * 1e-9 for name, time in times.items()}
    return ", ".join(
        [
            *words,
            *(
                f"{name} {time:g} s"
                for name, time in seconds.items()
                if time < FOR_EVER
            ),
        ]
    )


def _parameters(graph: Graph, node: str) -> Iterator[str]:
    """Yield each parameter with type, value, range, description and constraints; those of every node are left out."""
    standard = graph.client.list_parameters([], 0).names
    listed = graph.call(
        ListParameters, f"{node}/list_parameters", ListParameters.Request()
    ).result.names
    names = sorted(set(listed) - set(standard))
    described = graph.call(
        DescribeParameters,
        f"{node}/describe_parameters",
        DescribeParameters.Request(names=names),
    )
    values = graph.call(
        GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names)
    ).values
    for name, about, value in zip(names, described.descriptors, values, strict=True):
        ranges = [
            f"{r.from_value:g} to {r.to_value:g}"
            for r in (*about.floating_point_range, *about.integer_range)
        ]
        parts = [
            _value(value),
            *ranges,
            "read-only" * about.read_only,
            about.description,
            about.additional_constraints,
        ]
        name = name.replace(f"/{node.split('/')[1]}/", "/")
        yield f"{_last(node)}: parameter {name}: {'; '.join(part for part in parts if part)}"


def _value(value: ParameterValue) -> str:
    """Return type and value of a parameter."""
    plain = parameter_value_to_python(value)
    kind = Parameter.Type(value.type).name.lower()
    shown = list(plain) if kind.endswith("array") else plain
    return f"{kind} {shown!r}".replace(str(ROOT), "ROOT")


def _statuses(messages: list[DiagnosticArray]) -> Iterator[str]:
    for status in (status for message in messages for status in message.status):
        name = _last(status.name)
        yield from (f"/diagnostics: {name}: {pair.key}" for pair in status.values)

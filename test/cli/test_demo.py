"""What the demo accepts and sets, and how it finds out that a run went wrong."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from robot_dynamics_ros.cli import demo
from robot_dynamics_ros.cli.processes import NodeProcess, ProcessGroup, private_graph
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.nodes import trajectory_node
from robot_dynamics_ros.resources import robot_dynamics_file, robot_names, robot_urdf
from robot_dynamics_ros.simulation import parameters as simulation
from support.commands import parse


@pytest.mark.parametrize("law", ["gravity_compensation", "task_space_computed_torque", "pid"])
def test_laws_that_follow_no_trajectory_are_refused(law: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("demo", "--law", "pd", law)
    assert law in capsys.readouterr().err


@pytest.mark.parametrize("robot", robot_names())
def test_settings_are_parameters_that_the_nodes_take(robot: str) -> None:
    """As they come back from the file that the nodes read."""
    settings: dict[str, Any] = demo._settings(
        parse("demo", "--robot", robot, "--duration", "7"), robot_urdf(robot), robot_dynamics_file(robot)
    )
    written = yaml.safe_dump(settings)
    assert "&id" not in written, "rcl reads no aliases"
    known = {p.name: p for table in (controller, simulation, trajectory_node) for p in table.ALL}
    read = yaml.safe_load(written)
    flat = {name: value for name, value in read.items() if not isinstance(value, dict)}
    for group in ("gains", "trajectory"):
        flat |= {f"{group}.{name}": value for name, value in read[group].items()}
    for name, value in flat.items():
        known[name].check(value)
    assert flat["trajectory.total_time"] == 7.0


def test_errors_of_a_node_are_found(tmp_path: Path) -> None:
    """One that has no robot yet, and one whose robot is none."""
    nodes = []
    with private_graph() as graph, ProcessGroup() as group:
        for name, given in (("none", []), ("bad", ["-p", "robot_description:=<robot"])):
            nodes.append(group.add(NodeProcess("computed_torque_node", tmp_path / name, graph, given)))
        deadline = time.monotonic() + 60.0
        while not (nodes[1].errors() and "waiting" in nodes[0].tail()):
            assert time.monotonic() < deadline, [node.tail() for node in nodes]
            time.sleep(0.05)
    assert nodes[0].errors() == []
    (error,) = nodes[1].errors()
    assert error.startswith("[ERROR]") and "not configured" in error

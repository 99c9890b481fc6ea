"""Clients that send a trajectory end with the controller's report if the controller does not follow it."""

import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.ros.nodes import node_client
from support.documents.markdown_blocks import ROOT, blocks
from support.ros import PLANAR, Graph, Log

EXAMPLE = ROOT / "examples" / "send_trajectory.py"
PAGE = ROOT / "docs" / "nodes_with_pip.md"
NODE = "computed_torque_node"


def send(
    graph: Graph, *arguments: str, client: Path = EXAMPLE
) -> subprocess.CompletedProcess[str]:
    """Run the example or another client to its end, at most one minute."""
    command = [sys.executable, str(client), *arguments]
    return subprocess.run(
        command,
        env=graph.environment,
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )


def test_clients_end_if_the_controller_does_not_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name the cure of a fault, and the reason of a refusal; after ~/clear_fault they succeed."""
    (block,) = (block for block in blocks(PAGE) if block.file)
    client = tmp_path / block.file
    client.write_text(block.text, encoding="utf-8")
    with Graph(tmp_path) as graph:
        for name, value in graph.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(node_client, "CLIENT_DISCOVERY_TIMEOUT", 60.0)
        log = Log(graph.start(NODE, PLANAR).log, begin=0)
        graph.start("simulation_node", {**PLANAR, "publish_rate": 100.0})
        graph.await_log(log, "active: law")
        refused = send(graph, "joint1=100")
        assert (
            refused.returncode == 1
            and "has refused the trajectory: joint 'joint1'" in refused.stderr
        )
        assert main(["node", "emergency_stop"]) == 0
        stopped = send(graph, "joint1=0.1")
        assert stopped.returncode == 1 and "sent" not in stopped.stdout
        assert (
            "emergency stop" in stopped.stderr
            and "call ~/clear_fault" in stopped.stderr
        )
        assert main(["node", "clear_fault"]) == 0
        moved = send(graph, "joint1=0.1")
        assert moved.returncode == 0 and "has ended" in moved.stdout, moved.stderr
        own = send(graph, client=client)
        assert own.returncode == 0 and "has ended" in own.stdout, own.stderr

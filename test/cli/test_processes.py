"""Private ROS domains of different programs are distinct, and node processes are ended."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from robot_dynamics_ros.cli.processes import (
    NodeProcess,
    node_command,
    private_domain,
    private_graph,
)

_ASK = """
from robot_dynamics_ros.cli.processes import private_domain
with private_domain() as domain:
    print(domain)
"""


def test_domains_differ() -> None:
    with private_domain() as one, private_domain() as two:
        other = subprocess.run(
            [sys.executable, "-c", _ASK], capture_output=True, text=True, check=True
        )
        assert len({one, two, int(other.stdout)}) == 3
        assert all(1 <= domain <= 101 for domain in (one, two))


def test_a_domain_is_released() -> None:
    with private_domain() as one:
        pass
    with private_graph() as graph:
        assert int(graph["ROS_DOMAIN_ID"]) <= one


def test_an_early_signal_is_sent_again(tmp_path: Path) -> None:
    """Background jobs ignore SIGINT until the node has installed its handler."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with private_graph() as environment:
            node = NodeProcess(
                "trajectory_node",
                tmp_path / "log",
                node_command("trajectory_node", {}),
                environment,
            )
            node.stop()
            node.join(time.monotonic() + 60.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert node.process.returncode == 0, node.tail()

"""The example that sends a trajectory ends with the controller's report if the controller does not follow it."""

import subprocess
import sys
from pathlib import Path

from std_srvs.srv import Trigger

from support.ros import PLANAR, Graph, Log

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "send_trajectory.py"
NODE = "computed_torque_node"


def send(graph: Graph, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the example to its end, at most one minute."""
    command = [sys.executable, str(EXAMPLE), *arguments]
    return subprocess.run(
        command,
        env=graph.environment,
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )


def test_it_ends_if_the_controller_does_not_follow(tmp_path: Path) -> None:
    """It names the cure of a fault, and the mode if the trajectory is refused; after ~/clear_fault it succeeds."""
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, PLANAR).log, begin=0)
        graph.start("simulation_node", {**PLANAR, "publish_rate": 100.0})
        graph.await_log(log, "active: law")
        refused = send(graph, "joint1=100")
        assert (
            refused.returncode == 1
            and "no motion for 5 s" in refused.stderr
            and "active" in refused.stderr
        )
        graph.call(Trigger, f"{NODE}/emergency_stop", Trigger.Request())
        stopped = send(graph, "joint1=0.1")
        assert stopped.returncode == 1 and "sent" not in stopped.stdout
        assert (
            "emergency stop" in stopped.stderr
            and "call ~/clear_fault" in stopped.stderr
        )
        assert graph.call(Trigger, f"{NODE}/clear_fault", Trigger.Request()).success
        moved = send(graph, "joint1=0.1")
        assert moved.returncode == 0 and "has ended" in moved.stdout, moved.stderr

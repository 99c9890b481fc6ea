"""The node of the tutorial on control laws, run with the simulated arm over DDS."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from support.documents.markdown_blocks import ROOT, blocks
from support.ros import PLANAR, Graph, gravity

PAGE = ROOT / "docs" / "tutorials" / "your_own_law.md"
START = [0.4, 0.7]


@pytest.mark.slow
def test_tutorial_node_compensates_gravity(tmp_path: Path) -> None:
    (script,) = [block for block in blocks(PAGE) if block.file == "floating_arm.py"]
    (tmp_path / script.file).write_text(script.text, encoding="utf-8")
    with Graph(tmp_path) as graph:
        states: list[JointState] = graph.collect(JointState, "/joint_states")
        graph.start("simulation_node", PLANAR | {"initial_positions": START})
        node = subprocess.Popen(
            [sys.executable, script.file, str(ROOT / "urdf" / "planar_2r.urdf")],
            cwd=tmp_path,
            env=graph.environment | {"PYTHONPATH": str(ROOT)},
        )
        try:
            graph.wait(
                lambda: states and np.abs(states[-1].effort).max() > 1.0,
                "the node to command",
            )
            first = len(states)
            graph.wait(lambda: len(states) > first + 1000, "two seconds")
        finally:
            node.send_signal(signal.SIGINT)
            code = node.wait(timeout=30.0)
    assert code == 0
    np.testing.assert_allclose(states[first + 1000].position, START, atol=0.01)
    np.testing.assert_allclose(states[first + 1000].effort, gravity(START), atol=0.2)

"""A live run, recorded over DDS and replayed without: the same commands, bit for bit."""

from __future__ import annotations

import json
import math
from pathlib import Path

from integration.robot import move
from integration.ros import PLANAR, Driver, Graph, Log
from integration.simulation import Simulation
from lifecycle_msgs.msg import Transition
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.bags import BagReader, assert_bags_match
from robot_dynamics_ros.bags.replay import COMMANDS
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.nodes.messages import stamp, trajectory_message

CONTROLLER = "computed_torque_node"
CONTROLLED = {
    **PLANAR,
    "autostart": False,
    "update_rate": 0.0,
    "velocity_filter_cutoff": 30.0,
    "gains": {"ki": [20.0]},
    "qos_overrides": {"/joint_states": {"subscription": {"reliability": "reliable", "depth": 1000}}},
}
PLANT = {
    **PLANAR,
    "initial_positions": [-0.6, 0.9],
    "publish_rate": 250.0,
    "position_noise": [1e-4],
    "velocity_noise": [1e-2],
    "seed": 3,
}
TOPICS = ("/joint_states", f"/{CONTROLLER}/joint_trajectory", COMMANDS)


def test_replay_equals_the_live_node(tmp_path: Path) -> None:
    """Noise, a filter and an integral make each command depend on all that came before."""
    bag = tmp_path / "live" / "bag"
    with Graph(tmp_path) as graph:
        graph.start(CONTROLLER, CONTROLLED)
        plant = Simulation(graph, PLANT)
        plant.await_start()
        assert graph.transition(f"/{CONTROLLER}", Transition.TRANSITION_CONFIGURE)
        trajectories = graph.publisher(JointTrajectory, TOPICS[1])
        recorder = graph.start("recorder_node", {"output": str(bag), "topics": list(TOPICS)})
        graph.wait(lambda: _counts(recorder.log).get(TOPICS[0], 0) > 100, "the recorder")
        graph.wait(
            lambda: all(_recorded(graph, topic) for topic in TOPICS) and trajectories.get_subscription_count() > 1,
            "the recorder to listen",
        )
        graph.settle(0.5)
        assert graph.transition(f"/{CONTROLLER}", Transition.TRANSITION_ACTIVATE)
        graph.wait(lambda: _counts(recorder.log).get(COMMANDS, 0) > 50, "commands")
        for goal, later in (((0.5, -0.4), 0.3), ((-0.2, 0.3), 1.1)):
            message = trajectory_message(move(goal, 1.2))
            message.header.stamp = stamp(plant.now + round(later * 1e9))
            trajectories.publish(message)
        end = plant.now + 2_500_000_000
        graph.wait(lambda: plant.now > end, "the end of the motion")
    with BagReader(bag) as reader:
        assert reader.count([COMMANDS]) > 600 and reader.count([TOPICS[1]]) == 2

    for name in ("first", "second"):
        assert main(["replay", str(bag), "-o", str(tmp_path / name / "bag")]) == 0
    assert_bags_match(bag, tmp_path / "first" / "bag", topics=[COMMANDS])
    for file in (tmp_path / "first" / "bag").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / "bag" / file.name).read_bytes()
    # Both trajectories have moved it.
    with BagReader(tmp_path / "first" / "bag") as reader:
        assert len({message.data for message in reader.messages([COMMANDS])}) > 600


def test_the_black_box_of_a_fault_is_replayed(tmp_path: Path) -> None:
    """From rest, through a motion, into a fault and the hold after it: each command, bit for bit."""
    boxes = tmp_path / "boxes"
    with Graph(tmp_path) as graph:
        node = graph.start(CONTROLLER, {**PLANAR, "black_box_directory": str(boxes), "activation_check": False})
        driver, log = Driver(graph), Log(node.log)
        driver.ask((-0.6, 0.9))
        driver.follow(move((0.5, -0.4), 0.5))
        graph.await_log(log, "following")
        for k in range(20):
            driver.ask((-0.6 + 0.01 * k, 0.9))
        driver.send(driver.message((math.nan, 0.9)))
        driver.ask((-0.4, 0.9), (0.1, 0.0))
        graph.await_log(log, "black box")
        assert not log.lines("ERROR")[1:], log.text()
    (bag,) = boxes.iterdir()
    assert str(bag) in log.text()
    assert main(["replay", str(bag), "-o", str(tmp_path / "replayed")]) == 0
    assert_bags_match(bag, tmp_path / "replayed", topics=[COMMANDS])
    with BagReader(tmp_path / "replayed") as reader:
        assert reader.count([COMMANDS]) > 20 and reader.count(["/diagnostics"]) == 1
    assert main(["report", str(bag), "-o", str(tmp_path / "report.html")]) == 0
    assert "state_invalid" in (tmp_path / "report.html").read_text(encoding="utf-8")


def _counts(log: Path) -> dict[str, int]:
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return dict(json.loads(lines[-1])) if lines else {}


def _recorded(graph: Graph, topic: str) -> bool:
    return any(info.node_name == "recorder" for info in graph.client.get_subscriptions_info_by_topic(topic))

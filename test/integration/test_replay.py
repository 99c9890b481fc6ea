"""A run that is recorded over DDS and replayed offline gives the same commands, bit for bit."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from geometry_msgs.msg import Inertia, InertiaStamped
from std_msgs.msg import Bool, Float64, Header, String

from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings.bags import BagReader, assert_bags_match
from robot_dynamics_ros.runs.replay import COMMANDS
from support.robot import Robot, move
from support.ros import LATCHED as QOS_LATCHED
from support.ros import PLANAR, Driver, Graph, Log, recorded_counts

CONTROLLER = "computed_torque_node"
CONTROLLED = {
    **PLANAR,
    "autostart": False,
    "emergency_stop_topics": ["/cell/panel"],
    "velocity_filter_cutoff": 30.0,
    "gains": {"ki": [20.0]},
    # Nothing is lost, however late somebody listens.
    "qos_overrides": {
        "/joint_states": {"subscription": {"reliability": "reliable", "depth": 1000}},
        COMMANDS: {"publisher": {"depth": 1000}},
    },
}
LATCHED = f"/{CONTROLLER}/configuration"
BRAKES = f"/{CONTROLLER}/brakes_engaged"
TOPICS = ("/joint_states", f"/{CONTROLLER}/joint_trajectory", COMMANDS)
CYCLES = 750


def test_replay_equals_the_live_node(tmp_path: Path) -> None:
    """With noise, a filter and an integral each command depends on all inputs before, also those before the bag."""
    bag = tmp_path / "live" / "bag"
    rng = np.random.default_rng(3)
    with Graph(tmp_path) as graph:
        node = graph.start(CONTROLLER, CONTROLLED)
        robot = Robot(graph, node)
        log = Log(node.log)
        graph.configure(CONTROLLER)
        configuration = graph.collect(String, LATCHED, QOS_LATCHED)
        inertia = Inertia(m=0.05, ixx=1e-4, iyy=1e-4, izz=1e-4)
        for topic, message in (
            ("payload", InertiaStamped(header=Header(frame_id="tip"), inertia=inertia)),
            ("speed_scaling_factor", Float64(data=0.95)),
        ):
            publisher = graph.publisher(type(message), f"/{CONTROLLER}/{topic}")
            graph.wait(
                lambda publisher=publisher: publisher.get_subscription_count() > 0,
                "the controller to listen",
            )
            publisher.publish(message)
        graph.wait(
            lambda: (
                configuration
                and '"mass": 0.05' in configuration[-1].data
                and '"speed_scaling_factor": 0.95' in configuration[-1].data
            ),
            "the configuration to have both",
        )
        graph.start("recorder_node", {"output": str(bag), "topics": list(TOPICS)})
        graph.wait(
            lambda: all(_recorded(graph, topic) for topic in TOPICS),
            "the recorder to listen",
        )
        assert robot.activate()
        graph.publisher(Bool, "/cell/panel", QOS_LATCHED).publish(Bool(data=False))
        brakes = graph.publisher(Bool, BRAKES, QOS_LATCHED)
        brakes.publish(Bool(data=False))
        for topic in (LATCHED, BRAKES, "/cell/panel"):
            graph.wait(
                lambda topic=topic: recorded_counts(bag).get(topic, 0) > 0,
                f"the recorder to have {topic}",
            )
        graph.spin_for(0.5)
        q = np.array([-0.6, 0.9])
        qd = np.zeros(2)
        for k in range(CYCLES):
            if k == 50:
                # So much later that it does not matter whether controller or recorder has them first.
                for goal, later in (
                    ((0.5, -0.4), 500_000_000),
                    ((-0.2, 0.3), 1_300_000_000),
                ):
                    robot.takes_a_trajectory(move(goal, 1.2), robot.now + later)
            if k in (680, 715):
                brakes.publish(Bool(data=k == 680))
                graph.await_log(
                    log, "brakes engaged" if k == 680 else "brakes released"
                )
                graph.wait(
                    lambda k=k: recorded_counts(bag)[BRAKES] == 2 + (k == 715),
                    "the recorder to have it",
                )
            answer = robot.exchange(
                q + rng.normal(0.0, 1e-4, 2), qd + rng.normal(0.0, 1e-2, 2), dt=0.004
            )
            q = np.array(answer.position)
            qd = np.array(answer.velocity)
        graph.wait(
            lambda: recorded_counts(bag).get(COMMANDS, 0) == CYCLES,
            "the recorder to have all commands",
        )
        assert abs(q - [-0.2, 0.3]).max() < 0.1, "both trajectories have moved it"
    with BagReader(bag) as reader:
        assert reader.count([TOPICS[0]]) == CYCLES and reader.count([TOPICS[1]]) == 2

    for name in ("first", "second"):
        assert main(["replay", str(bag), "-o", str(tmp_path / name / "bag")]) == 0
    assert_bags_match(bag, tmp_path / "first" / "bag", topics=[COMMANDS])
    for file in (tmp_path / "first" / "bag").iterdir():
        assert (
            file.read_bytes() == (tmp_path / "second" / "bag" / file.name).read_bytes()
        )


def test_the_black_box_of_a_fault_is_replayed(tmp_path: Path) -> None:
    """Each command of motion and fault is the same, bit for bit; afterwards the watchdog commands by steady time."""
    boxes = tmp_path / "boxes"
    with Graph(tmp_path) as graph:
        node = graph.start(
            CONTROLLER,
            {**PLANAR, "black_box_directory": str(boxes), "activation_check": False},
        )
        driver = Driver(graph)
        log = Log(node.log)
        driver.ask((-0.6, 0.9))
        driver.follow(move((0.5, -0.4), 100.0))
        graph.await_log(log, "following")
        for k in range(20):
            driver.ask((-0.6 + 0.001 * k, 0.9), (0.1, 0.0))
        # not before its stamp, which rate limits notice after an invalid state
        graph.spin_for(0.02)
        driver.send(driver.message((math.nan, 0.9)))
        graph.await_log(log, "black box")
        assert all("position of joint" in line for line in log.lines("ERROR")), (
            log.text()
        )
    (bag,) = boxes.iterdir()
    assert str(bag) in log.text()
    assert main(["replay", str(bag), "-o", str(tmp_path / "replayed")]) == 0
    assert_bags_match(bag, tmp_path / "replayed", common=True)
    with BagReader(tmp_path / "replayed") as reader:
        assert reader.count([COMMANDS]) == 22 and reader.count(["/diagnostics"]) == 1
    assert main(["report", str(bag), "-o", str(tmp_path / "report.html")]) == 0
    assert "state_invalid" in (tmp_path / "report.html").read_text(encoding="utf-8")


def _recorded(graph: Graph, topic: str) -> bool:
    return any(
        info.node_name == "recorder"
        for info in graph.client.get_subscriptions_info_by_topic(topic)
    )

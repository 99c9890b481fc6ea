"""A bag that is played over DDS and recorded again is the same bag."""

import signal
import time
from pathlib import Path

import numpy as np
from std_msgs.msg import String

from robot_dynamics_ros.recordings.bags import BagReader, Message
from support.bag_recordings import (
    FLOAT,
    JOINT_STATE,
    START,
    TEXT,
    insert,
    joint_state,
    open_database,
    text,
)
from support.ros import BEST_EFFORT, LATCHED, RELIABLE, Graph, recorded_counts

GRIPPER = "nowhere_msgs/msg/Grip"
RATE = 4.0


def _bag(file: Path, messages: list[Message]) -> Path:
    """Write a database as a recorder does; robot_description was latched."""
    database = open_database(
        file, {message.topic: message.kind for message in messages}, "DELETE"
    )
    qos = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"
    database.execute(
        "UPDATE topics SET offered_qos_profiles = ? WHERE type = ?", (qos, TEXT)
    )
    insert(database, messages)
    database.close()
    return file


def test_played_bag_is_recorded_unchanged(tmp_path: Path) -> None:
    """Bytes, order and timing are the same; a second player is interrupted between distant messages."""
    states = [
        Message(
            "/joint_states",
            JOINT_STATE,
            START + 5_000_000 * k,
            joint_state(START + k, position=[k, np.nan]),
        )
        for k in range(400)
    ]
    other = [
        Message("/robot_description", TEXT, START + 1, text("<robot   />")),
        Message("/grip", GRIPPER, START + 2, bytes(12)),
        Message("/speed", FLOAT, START + 1_000_000_001, b"\x00\x01\x00\x00" + bytes(8)),
    ]
    written = sorted(states + other, key=lambda message: message.received)
    bag = _bag(tmp_path / "bag.db3", written)
    played = [message for message in written if message.kind != GRIPPER]
    topics = list({message.topic: None for message in played})
    hours = [
        Message("/hours", FLOAT, START + 3_600_000_000_000 * k, bytes(12))
        for k in range(2)
    ]
    with Graph(tmp_path) as graph:
        slow = graph.start(
            "player_node",
            {"input": str(_bag(tmp_path / "hours.db3", hours))},
            "-r",
            "__node:=slow",
        )
        recorder = graph.start(
            "recorder_node",
            {"output": str(tmp_path / "new"), "topics": topics},
        )
        player = graph.start(
            "player_node", {"input": str(bag), "rate": RATE, "listeners": ["recorder"]}
        )
        graph.wait(
            lambda: "playing 402 messages" in player.log.read_text(),
            "the player to begin",
        )
        descriptions = graph.collect(String, "/robot_description", LATCHED)
        graph.wait(lambda: descriptions, "the latched topic")
        graph.wait(lambda: player.process.poll() is not None, "the player to end")
        player.check()
        reported = player.log.read_text()
        assert GRIPPER in reported and "played 402 messages" in reported
        graph.wait(
            lambda: "playing 2 messages on /hours" in slow.log.read_text(),
            "the other player to begin",
        )
        slow.stop()
        recorder.process.send_signal(signal.SIGTERM)
        for process in (recorder, slow):
            graph.wait(
                lambda process=process: process.process.poll() is not None,
                "the others to end",
            )
        recorder.check()
        assert "400  /joint_states" in recorder.tail()
    with BagReader(tmp_path / "new") as reader:
        new = list(reader.messages())
        assert reader.latched == {"/robot_description"}
    for topic in topics:
        assert [m.data for m in new if m.topic == topic] == [
            m.data for m in played if m.topic == topic
        ]
    arrival = [m.received for m in new if m.topic == "/joint_states"]
    due = states[-1].received - states[0].received
    assert arrival[-1] - arrival[0] > 0.5 * due / RATE, "not all at once"


def test_order_of_arrival_is_kept(tmp_path: Path) -> None:
    """Alternating topics keep their order without simulated time; best-effort topics are recorded, too."""
    topics = ["/b", "/a", "/c"]
    bag = tmp_path / "bag"
    with Graph(tmp_path) as graph:
        publishers = [graph.publisher(String, topic, RELIABLE) for topic in topics]
        best_effort = graph.publisher(String, "/best_effort", BEST_EFFORT)
        values = {
            "output": str(bag),
            "topics": sorted([*topics, "/best_effort"]),
            "use_sim_time": True,
        }
        graph.start("recorder_node", values)
        for publisher in (*publishers, best_effort):
            graph.wait(publisher.get_subscription_count, "the recorder")
        # what comes while it begins has no order
        for topic, publisher in zip(topics, publishers, strict=True):
            publisher.publish(String())
            graph.wait(lambda topic=topic: recorded_counts(bag)[topic], "the recorder")
        begin = time.time_ns()
        for k in range(300):
            publishers[k % 3].publish(String(data=str(k)))
            time.sleep(0.001)
        end = time.time_ns()
        graph.wait(lambda: recorded_counts(bag)["/c"] == 101, "the messages")
        graph.repeat(
            lambda: best_effort.publish(String()),
            lambda: recorded_counts(bag)["/best_effort"],
            "another",
        )
    with BagReader(bag) as reader:
        messages = list(reader.messages(topics))[3:]
    assert [message.topic for message in messages] == topics * 100
    arrival = np.array([message.received for message in messages])
    # A busy machine delays some; one that tells when messages are fetched has them in groups.
    assert (
        begin <= arrival[0]
        and (np.diff(arrival) >= 0).all()
        and arrival[-1] < end + 10**10
    )
    assert len(set(arrival)) == 300

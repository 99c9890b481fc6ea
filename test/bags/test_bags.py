"""Bags written and read back, and what is said of those that cannot be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros.bags import BagWriter, read_joint_states
from robot_dynamics_ros.errors import BagError

TYPES = get_typestore(Stores.LATEST)
KIND = "sensor_msgs/msg/JointState"
START = 1_700_000_000_123_456_789  # floats would lose its last digits


def message(stamp: int, names: Any = ("a", "b"), position: Any = (), velocity: Any = (), effort: Any = ()) -> bytes:
    time = TYPES.types["builtin_interfaces/msg/Time"](*divmod(stamp, 1_000_000_000))
    header = TYPES.types["std_msgs/msg/Header"](time, "")
    fields = (np.array(x, dtype=float) for x in (position, velocity, effort))
    return bytes(TYPES.serialize_cdr(TYPES.types[KIND](header, list(names), *fields), KIND))


def write(path: Path, *messages: bytes, topic: str = "/joint_states") -> Path:
    with BagWriter(path, {topic: KIND}) as writer:
        for k, raw in enumerate(messages):
            writer.write(topic, START + k, raw)
    return path


def test_round_trip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 20, 2))
    stamps = START + 2_000_000 * np.arange(20)
    with BagWriter(tmp_path / "bag", {"/x": KIND, "/y": KIND}) as writer:
        for k in range(20):
            writer.write("/x", int(stamps[k]) + 7, message(int(stamps[k]), ("a", "b"), q[k], qd[k], tau[k]))
        writer.write("/y", START, message(START, ("c",), [1.0]))
    read = read_joint_states(tmp_path / "bag", ["/y", "/x"])
    assert list(read) == ["/y", "/x"]
    x, y = read["/x"], read["/y"]
    assert (x.joint_names, y.joint_names) == (("a", "b"), ("c",))
    np.testing.assert_array_equal(x.stamps, stamps)
    np.testing.assert_array_equal(x.received, stamps + 7)
    for got, expected in ((x.position, q), (x.velocity, qd), (x.effort, tau)):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(y.position, [[1.0]])
    assert np.isnan(y.velocity).all() and y.velocity.shape == (1, 1)


def test_messages_are_kept_byte_for_byte(tmp_path: Path) -> None:
    raw = [message(START + k, position=[k, -k]) for k in range(5)]
    with AnyReader([write(tmp_path / "bag", *raw)]) as reader:
        assert [bytes(data) for _, _, data in reader.messages()] == raw


def test_the_time_is_that_of_the_message_and_the_order_that_of_arrival(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", message(START + 500, position=[1, 1]), message(START, position=[2, 2]))
    series = read_joint_states(bag, ["/joint_states"])["/joint_states"]
    np.testing.assert_array_equal(series.stamps, [START + 500, START])
    np.testing.assert_array_equal(series.position[:, 0], [1, 2])


def test_a_folder_that_exists_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    with pytest.raises(BagError, match=r"bag: cannot make the bag.*Cure"):
        BagWriter(tmp_path / "bag", {"/joint_states": KIND})
    (tmp_path / "file").write_text("")
    with pytest.raises(BagError, match=r"file/bag: cannot make the bag"):
        BagWriter(tmp_path / "file" / "bag", {"/joint_states": KIND})


def test_no_bag(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"nowhere: cannot read the bag.*Cure"):
        read_joint_states(tmp_path / "nowhere", ["/joint_states"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BagError, match=r"empty: cannot read the bag"):
        read_joint_states(tmp_path / "empty", ["/joint_states"])


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.95])
def test_a_damaged_bag(part: float, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", *(message(START + k, position=[k, k]) for k in range(200)))
    (data,) = bag.glob("*.mcap")
    data.write_bytes(data.read_bytes()[: int(part * data.stat().st_size)])
    with pytest.raises(BagError, match=r"bag: cannot read the bag"):
        read_joint_states(bag, ["/joint_states"])


def test_a_topic_that_is_not_there(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", message(START, position=[1, 2]))
    with pytest.raises(BagError, match=r"bag: no messages on /gripper.*Cure"):
        read_joint_states(bag, ["/joint_states", "/gripper"])
    with pytest.raises(BagError, match=r"no messages on /joint_states"):
        read_joint_states(write(tmp_path / "silent"), ["/joint_states"])


def test_a_topic_of_another_type(tmp_path: Path) -> None:
    kind = "std_msgs/msg/Float64"
    with BagWriter(tmp_path / "bag", {"/x": kind}) as writer:
        writer.write("/x", START, bytes(TYPES.serialize_cdr(TYPES.types[kind](1.0), kind)))
    with pytest.raises(BagError, match=r"bag: /x holds std_msgs/msg/Float64.*Cure"):
        read_joint_states(tmp_path / "bag", ["/x"])


def test_joint_names_that_change(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", message(START, position=[1, 2]), message(START, ("b", "a"), [1, 2]))
    with pytest.raises(BagError, match=r"/joint_states: the joint names change.*Cure"):
        read_joint_states(bag, ["/joint_states"])


def test_numbers_that_do_not_fit_the_names(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", message(START, position=[1, 2]), message(START, position=[1, 2, 3]))
    with pytest.raises(BagError, match=r"/joint_states: 3 numbers in position for 2 names"):
        read_joint_states(bag, ["/joint_states"])


def test_an_unknown_type_is_named_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"/gripper: message type gripper_msgs/msg/Grip is unknown"):
        BagWriter(tmp_path / "bag", {"/joint_states": KIND, "/gripper": "gripper_msgs/msg/Grip"})
    assert not (tmp_path / "bag").exists()

"""Joint motion out of bags, and what is left out of it; rosbags serializes the messages."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bags.recordings import FLOAT, JOINT_STATE, START, TEXT, joint_state, record, text
from rosbags.rosbag2 import StoragePlugin

from robot_dynamics_ros.bags import (
    BagWriter,
    JointSeries,
    Message,
    read_description,
    read_joint_names,
    read_joint_states,
)
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.messages.joint_state import JointStateWriter

TOPIC = "/joint_states"

pytestmark = pytest.mark.filterwarnings("error")


def bag(folder: Path, *data: bytes, topic: str = TOPIC, kind: str = JOINT_STATE) -> Path:
    """A bag of messages that arrived a nanosecond apart."""
    return record(folder / "bag", [Message(topic, kind, START + k, raw) for k, raw in enumerate(data)])


def read(path: Path, **options: Any) -> JointSeries:
    return read_joint_states(path, [TOPIC], **options)[TOPIC]


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_what_was_written(plugin: StoragePlugin, tmp_path: Path) -> None:
    """Two topics at once; more messages than are read in one go."""
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 2500, 2))
    stamps = START + 2_000_000 * np.arange(2500)
    written = [
        Message("/x", JOINT_STATE, int(t) + 7, joint_state(int(t), ("a", "b"), *fields))
        for t, *fields in zip(stamps, q, qd, tau, strict=True)
    ]
    written.append(Message("/y", JOINT_STATE, START, joint_state(START, ("c",), [1.0])))
    series = read_joint_states(record(tmp_path / "bag", written, plugin), ["/y", "/x"])
    assert list(series) == ["/y", "/x"]
    x, y = series["/x"], series["/y"]
    assert (x.joint_names, y.joint_names) == (("a", "b"), ("c",))
    np.testing.assert_array_equal(x.stamps, stamps)
    np.testing.assert_array_equal(x.received, stamps + 7)
    for got, expected in ((x.position, q), (x.velocity, qd), (x.effort, tau)):
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(y.position, [[1.0]])


def test_empty_fields_are_nan_and_nan_stays(tmp_path: Path) -> None:
    """Each of the eight shapes a message may have; two of them are of the same length."""
    shapes = [[k & 1, k & 2, k & 4] for k in range(8)]
    fields = [
        [[10.0 * k + j, np.nan] if there else [] for j, there in enumerate(shape)] for k, shape in enumerate(shapes)
    ]
    series = read(bag(tmp_path, *(joint_state(START, ("a", "b"), *three) for three in fields)))
    for j, table in enumerate((series.position, series.velocity, series.effort)):
        expected = [[10.0 * k + j if shape[j] else np.nan, np.nan] for k, shape in enumerate(shapes)]
        np.testing.assert_array_equal(table, expected)


def test_time_is_that_of_the_message_and_order_that_of_arrival(tmp_path: Path) -> None:
    """Stamps that go backwards stay as they are."""
    series = read(bag(tmp_path, *(joint_state(START + t, position=[t, t]) for t in (500, 0, 0, -(10**9)))))
    np.testing.assert_array_equal(series.stamps - START, [500, 0, 0, -(10**9)])
    np.testing.assert_array_equal(series.received - START, [0, 1, 2, 3])
    np.testing.assert_array_equal(series.position[:, 0], [500, 0, 0, -(10**9)])


def test_an_order_of_joints_that_changes(tmp_path: Path) -> None:
    """Columns go by name, also where another joint comes in between; nothing is said, as nothing is lost."""
    series = read(
        bag(
            tmp_path,
            joint_state(START, ("a", "b"), [1, 2], [10, 20], [100, 200]),
            joint_state(START, ("b", "a"), [3, 4], [30, 40], [300, 400]),
            joint_state(START, ("b", "x", "a"), [5, 0, 6], [50, 0, 60], [500, 0, 600]),
            joint_state(START, ("a", "b"), [7, 8], [70, 80], [700, 800]),
        )
    )
    expected = np.array([[1, 2], [4, 3], [6, 5], [7, 8]])
    for factor, table in ((1, series.position), (10, series.velocity), (100, series.effort)):
        np.testing.assert_array_equal(table, factor * expected)


def test_a_gripper_on_the_same_topic(tmp_path: Path) -> None:
    messages = [joint_state(START + k, *(((("f",), [k])) if k % 2 else (("a", "b"), [k, -k]))) for k in range(2000)]
    series = read(bag(tmp_path, *messages))
    np.testing.assert_array_equal(series.stamps - START, np.arange(0, 2000, 2))
    np.testing.assert_array_equal(series.position, np.outer(np.arange(0, 2000, 2), [1, -1]))
    gripper = read(tmp_path / "bag", joint_names=["f"])
    np.testing.assert_array_equal(gripper.position[:, 0], np.arange(1, 2000, 2))


def test_joints_by_name(tmp_path: Path) -> None:
    path = bag(tmp_path, joint_state(START, ("a", "b", "c"), [1, 2, 3]))
    np.testing.assert_array_equal(read(path, joint_names=["c", "a"]).position, [[3, 1]])
    with pytest.raises(BagError, match=r"/joint_states: no message names x, y; there are a, b, c\. Cure"):
        read(path, joint_names=["x", "y"])


def test_messages_that_lack_a_joint_are_counted(tmp_path: Path) -> None:
    messages = [
        joint_state(START, ("a", "b"), [1, 2]),
        joint_state(START, ("a",), [3]),
        joint_state(START, ("a",), [4]),
    ]
    with pytest.warns(BagWarning, match=r"/joint_states: 2 messages lack b: left out; 1 are used\. Cure") as said:
        series = read(bag(tmp_path, *messages))
    assert len(said) == 1
    np.testing.assert_array_equal(series.position, [[1, 2]])


def test_bytes_that_are_no_whole_joint_state_are_counted(tmp_path: Path) -> None:
    """Every beginning of a message, and other bytes; what follows the numbers is padding."""
    whole = joint_state(START, ("a", "b"), [1, 2], [3, 4], [5, 6])
    bad = [whole[:k] for k in range(1, len(whole))] + [b"\xff" * 100, b"\x00\x01\x00\x00" + b"\xff" * 100]
    with pytest.warns(BagWarning, match=rf"{len(bad)} messages are no whole JointState: left out; 2 are used"):
        series = read(bag(tmp_path, *bad, whole, whole + bytes(4)))
    np.testing.assert_array_equal(series.effort, [[5, 6], [5, 6]])


def test_numbers_that_do_not_fit_the_names_are_counted(tmp_path: Path) -> None:
    messages = [
        joint_state(START, position=[1, 2]),
        joint_state(START, position=[1, 2, 3]),
        joint_state(START, ("a", "a")),
    ]
    said = r"1 messages have not a number in position for each name; 1 messages name a joint twice: left out"
    with pytest.warns(BagWarning, match=said):
        assert len(read(bag(tmp_path, *messages)).stamps) == 1
    with pytest.raises(BagError, match=r"no message can be used: 1 messages have not a number in position.*Cure"):
        (tmp_path / "other").mkdir()
        read(bag(tmp_path / "other", messages[1]))


def test_either_byte_order(tmp_path: Path) -> None:
    little = joint_state(START, ("a", "b"), [1, 2], [3, 4], [5, 6])
    kind = JOINT_STATE
    from bags.recordings import TYPES

    big = bytes(TYPES.serialize_cdr(TYPES.deserialize_cdr(little, kind), kind, little_endian=False))
    series = read(bag(tmp_path, little, big, little))
    np.testing.assert_array_equal(series.stamps, [START] * 3)
    np.testing.assert_array_equal(series.velocity, [[3, 4]] * 3)


def test_a_frame_that_is_never_the_same(tmp_path: Path) -> None:
    """Every message has another layout; none is lost, and they stay in order."""
    from bags.recordings import TYPES

    messages = []
    for k in range(300):
        message = TYPES.deserialize_cdr(joint_state(START + k, ("a", "b"), [k, -k]), JOINT_STATE)
        message.header.frame_id = f"frame{k}"
        messages.append(bytes(TYPES.serialize_cdr(message, JOINT_STATE)))
    series = read(bag(tmp_path, *messages))
    np.testing.assert_array_equal(series.position, np.outer(np.arange(300), [1, -1]))
    np.testing.assert_array_equal(series.stamps - START, np.arange(300))


@pytest.mark.parametrize(
    ("rename", "names"),
    [
        ({"fer_": "panda_"}, ("panda_joint1", "panda_joint2")),
        ({"fer_joint1": "one", "fer_": "panda_"}, ("one", "panda_joint2")),
        ({"fer_": "x_", "fer_joint": "j"}, ("j1", "j2")),
        ({"": "left_"}, ("left_fer_joint1", "left_fer_joint2")),
        ({"joint": "j"}, ("fer_joint1", "fer_joint2")),
    ],
)
def test_renaming(rename: dict[str, str], names: tuple[str, ...], tmp_path: Path) -> None:
    path = bag(tmp_path, joint_state(START, ("fer_joint1", "fer_joint2"), [1, 2]))
    assert read(path, rename=rename).joint_names == names
    np.testing.assert_array_equal(read(path, rename=rename, joint_names=names[::-1]).position, [[2, 1]])


def test_columns_in_another_order(tmp_path: Path) -> None:
    series = read(bag(tmp_path, joint_state(START, ("a", "b", "c"), [1, 2, 3], [4, 5, 6], [7, 8, 9])))
    other = series.in_order(["c", "a"])
    assert other.joint_names == ("c", "a")
    for got, expected in ((other.position, [3, 1]), (other.velocity, [6, 4]), (other.effort, [9, 7])):
        np.testing.assert_array_equal(got, [expected])
    with pytest.raises(BagError, match=r"no joint x, only a, b, c\. Cure"):
        series.in_order(["a", "x"])


def test_a_topic_that_cannot_be_read(tmp_path: Path) -> None:
    written = [Message(TOPIC, JOINT_STATE, START, joint_state(START)), Message("/f", FLOAT, START, bytes(12))]
    written.append(Message("/hand/joint_states", JOINT_STATE, START, joint_state(START)))
    path = record(tmp_path / "bag", written)
    with pytest.raises(BagError, match=r"bag: no topic /x\. Cure: name one of /joint_states, /hand/joint_states"):
        read_joint_states(path, [TOPIC, "/x"])
    with pytest.raises(BagError, match=r"bag: /f holds std_msgs/msg/Float64\. Cure: name one of /joint_states"):
        read_joint_states(path, ["/f"])
    with pytest.raises(BagError, match=r"no topic /x\. Cure: record a topic of type sensor_msgs/msg/JointState"):
        read_joint_states(record(tmp_path / "other", written[1:2]), ["/x"])
    with pytest.raises(BagError, match=r"nowhere: there is no such file or folder"):
        read_joint_states(tmp_path / "nowhere", [TOPIC])


def test_without_messages(tmp_path: Path) -> None:
    from robot_dynamics_ros.bags import BagWriter

    with BagWriter(tmp_path / "silent", {TOPIC: JOINT_STATE}):
        pass
    with pytest.raises(BagError, match=r"silent: /joint_states: no messages that name a joint\. Cure"):
        read(tmp_path / "silent")
    with pytest.raises(BagError, match=r"no messages that name a joint"):
        read(bag(tmp_path, joint_state(START, ())))


def test_description(tmp_path: Path) -> None:
    urdf = "<robot name='Gelenkärm'/>"
    written = [Message(TOPIC, JOINT_STATE, START, joint_state(START))]
    assert read_description(record(tmp_path / "without", written)) is None
    for k, data in enumerate((b"\x00\x01\x00\x00\xff", text(""), text(urdf), text("later"))):
        written.append(Message("/arm/robot_description", TEXT, START + k, data))
    written.insert(0, Message("/my_robot_description", TEXT, START, text("<other/>")))
    assert read_description(record(tmp_path / "bag", written)) == urdf


def test_memory(tmp_path: Path) -> None:
    """Rows are numbers, not objects: 2 x 8 bytes for time and 3 x 7 x 8 for a row, twice where an array has grown."""
    names = [f"joint{k}" for k in range(7)]
    data = joint_state(START, names, range(7), range(7), range(7))
    path = bag(tmp_path, *[data] * 50_000)
    tracemalloc.start()
    try:
        series = read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert series.position.shape == (50_000, 7)
    chunks = 20_000_000
    assert peak < 3 * 50_000 * (2 * 8 + 3 * 7 * 8) + chunks


@pytest.mark.parametrize("rename", [{}, {"a": "panda_"}])
def test_names_alone(rename: dict[str, str], tmp_path: Path) -> None:
    """The same as those of the whole series, however it begins."""
    first = JointStateWriter(("a1", "a2")).write(5, np.zeros(2), np.zeros(2), np.zeros(2))
    with BagWriter(tmp_path / "bag", {"/x": "sensor_msgs/msg/JointState"}) as writer:
        for k, data in enumerate((b"\0\1\0\0", first, first)):
            writer.write("/x", k, data)
    names = read_joint_names(tmp_path / "bag", "/x", rename)
    with pytest.warns(BagWarning, match="no whole JointState"):
        assert names == read_joint_states(tmp_path / "bag", ["/x"], rename)["/x"].joint_names
    assert names == tuple(rename.get("a", "a") + end for end in "12")

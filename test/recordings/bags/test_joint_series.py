"""Joint motion from bags, and messages that are left out; rosbags serializes the messages."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin

from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import (
    BagWriter,
    JointSeries,
    Message,
    read_description,
    read_joint_states,
)
from support.bag_recordings import (
    FLOAT,
    JOINT_STATE,
    START,
    TEXT,
    joint_state,
    record,
    text,
)

TOPIC = "/joint_states"

pytestmark = pytest.mark.filterwarnings("error")


def bag(folder: Path, *data: bytes) -> Path:
    """Record joint states that arrive a nanosecond apart."""
    return record(
        folder / "bag",
        [Message(TOPIC, JOINT_STATE, START + k, raw) for k, raw in enumerate(data)],
    )


def read(path: Path, **options: Any) -> JointSeries:
    return read_joint_states(path, [TOPIC], **options)[TOPIC]


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_series_are_read_as_written(plugin: StoragePlugin, tmp_path: Path) -> None:
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
    x = series["/x"]
    y = series["/y"]
    assert (x.joint_names, y.joint_names) == (("a", "b"), ("c",))
    np.testing.assert_array_equal(x.stamps, stamps)
    np.testing.assert_array_equal(x.received, stamps + 7)
    for got, expected in ((x.position, q), (x.velocity, qd), (x.effort, tau)):
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(y.position, [[1.0]])


def test_empty_fields_are_nan(tmp_path: Path) -> None:
    """All combinations of empty fields; some of the messages have the same length."""
    shapes = [[k & 1, k & 2, k & 4] for k in range(8)]
    fields = [
        [[10.0 * k + j, np.nan] if shape[j] else [] for j in range(3)]
        for k, shape in enumerate(shapes)
    ]
    series = read(
        bag(tmp_path, *(joint_state(START, ("a", "b"), *three) for three in fields))
    )
    for j, table in enumerate((series.position, series.velocity, series.effort)):
        expected = [
            [10.0 * k + j if shape[j] else np.nan, np.nan]
            for k, shape in enumerate(shapes)
        ]
        np.testing.assert_array_equal(table, expected)


def test_times_are_stamps_in_order_of_arrival(tmp_path: Path) -> None:
    series = read(
        bag(
            tmp_path,
            *(joint_state(START + t, position=[t, t]) for t in (500, 0, 0, -(10**9))),
        )
    )
    np.testing.assert_array_equal(series.stamps - START, [500, 0, 0, -(10**9)])
    np.testing.assert_array_equal(series.received - START, [0, 1, 2, 3])
    np.testing.assert_array_equal(series.position[:, 0], [500, 0, 0, -(10**9)])


def test_messages_may_differ_in_joint_order(tmp_path: Path) -> None:
    rows = (
        (("a", "b"), [1, 2]),
        (("b", "a"), [3, 4]),
        (("b", "x", "a"), [5, 0, 6]),
        (("a", "b"), [7, 8]),
    )
    messages = [
        joint_state(START, names, *(np.array(row) * f for f in (1, 10, 100)))
        for names, row in rows
    ]
    series = read(bag(tmp_path, *messages), joint_names=["a", "b"])
    expected = np.array([[1, 2], [4, 3], [6, 5], [7, 8]])
    for factor, table in (
        (1, series.position),
        (10, series.velocity),
        (100, series.effort),
    ):
        np.testing.assert_array_equal(table, factor * expected)


def test_joints_are_chosen_by_name(tmp_path: Path) -> None:
    arm = {k: joint_state(START + k, ("a", "b"), [k, -k]) for k in range(0, 2000, 2)}
    gripper = {k: joint_state(START + k, ("f",), [k]) for k in range(1, 2000, 2)}
    path = bag(tmp_path, *((arm | gripper)[k] for k in range(2000)))
    for names, first, factors in (
        (["a", "b"], 0, [1, -1]),
        (["b", "a"], 0, [-1, 1]),
        (["f"], 1, [1]),
    ):
        series = read(path, joint_names=names)
        np.testing.assert_array_equal(series.stamps - START, np.arange(first, 2000, 2))
        np.testing.assert_array_equal(
            series.position, np.outer(np.arange(first, 2000, 2), factors)
        )
    with pytest.raises(BagError, match=r"/joint_states: .*\bx, y\b.*\ba, b, f\b"):
        read(path, joint_names=["x", "y"])


MS = 1_000_000


def ramps(names: tuple[str, ...], *times: int) -> list[Message]:
    """Return states at these times (ms) with positions that increase steadily, by 1, 2, ... rad/s for a, b, ..."""
    rates = np.array([ord(name) - ord("a") + 1.0 for name in names])
    return [
        Message(
            TOPIC,
            JOINT_STATE,
            START + 3 * MS + t * MS,
            joint_state(START + t * MS, names, 1e-3 * t * rates, rates, rates),
        )
        for t in times
    ]


@pytest.mark.parametrize(
    ("other", "missing", "warned"),
    [
        (range(0, 400, 4), [], 0),
        (range(1, 401, 4), [], 1),
        (range(-2, 400, 20), [], 1),
        ([*range(2, 100, 4), *range(202, 398, 4)], range(100, 204, 4), 1),
        ([*range(0, 100, 4), *range(104, 400, 4)], [], 1),
    ],
    ids=["same times", "between", "seldom", "gap", "one lost"],
)
def test_joints_in_several_messages_are_merged(
    other: Any, missing: Any, warned: int, tmp_path: Path
) -> None:
    """The rows are the messages with most values; the other joint is interpolated, not across a gap or beyond it."""
    messages = [*ramps(("a", "c"), *range(0, 400, 4)), *ramps(("b",), *other)]
    path = record(tmp_path / "bag", sorted(messages, key=lambda one: one.received))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        series = read(path).in_order(["a", "b", "c"])
    assert [f"{TOPIC}: b " in str(one.message) for one in caught] == [True] * warned
    times = np.arange(0, 400, 4)
    np.testing.assert_array_equal(series.stamps - START, times * MS)
    expected = 1e-3 * np.outer(times, [1.0, 2.0, 3.0])
    outside = (times < min(other)) | (times > max(other))
    expected[outside | np.isin(times, missing), 1] = np.nan
    np.testing.assert_allclose(series.position, expected, rtol=0, atol=1e-12)
    assert (np.isnan(series.effort) == np.isnan(expected)).all()


def test_positions_modulo_two_pi_are_interpolated_continuously(tmp_path: Path) -> None:
    turning = [
        joint_state(START + t * MS, ("b",), [(0.1 * t + np.pi) % (2 * np.pi) - np.pi])
        for t in range(1, 100, 2)
    ]
    others = [joint_state(START + t * MS, ("a", "c"), [0, 0]) for t in range(2, 98, 2)]
    with pytest.warns(BagWarning):
        series = read(bag(tmp_path, *turning, *others), joint_names=["a", "b", "c"])
    assert np.ptp(np.diff(series.position[:, 1])) < 1e-9


@pytest.mark.parametrize("clock", ["of the recorder", "of the stamps"])
def test_a_clock_that_was_set_back_loses_and_mixes_nothing(
    clock: str, tmp_path: Path
) -> None:
    """By a quarter of the recording; a second motion after a restart of the stamps stays behind the first."""
    messages = ramps(("a", "b"), *range(0, 800, 2))
    path = tmp_path / "bag"
    if clock == "of the stamps":
        again = ramps(("a", "b"), *range(601, 1001, 2))
        later = [one._replace(received=one.received + 800 * MS) for one in again]
        expected = read(record(path, [*messages, *later])).stamps
        assert (np.diff(expected) < 0).sum() == 1
        return
    back = [
        one._replace(received=one.received - 200 * MS * (k > 200))
        for k, one in enumerate(messages)
    ]
    with pytest.warns(BagWarning, match="set back"):
        series = read(record(path, back))
    np.testing.assert_array_equal(series.stamps - START, np.arange(0, 800, 2) * MS)
    assert (np.diff(series.position, axis=0) > 0).all()


WHOLE = joint_state(START, ("a", "b"), [1, 2], [3, 4], [5, 6])
TRUNCATED = [WHOLE[:k] for k in range(1, len(WHOLE))]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([joint_state(START, ("a",), [3])] * 2, r"2 .*\bb\b"),
        (
            [*TRUNCATED, b"\xff" * 100, b"\0\1\0\0" + b"\xff" * 100],
            f"{len(TRUNCATED) + 2} .*JointState",
        ),
        ([joint_state(START, position=[1, 2, 3])], "1 .*position"),
        ([joint_state(START, ("a", "a"))], "1 "),
    ],
    ids=[
        "missing joint",
        "truncated",
        "excess values",
        "duplicate joint",
    ],
)
def test_unusable_messages_are_counted(
    bad: list[bytes], reason: str, tmp_path: Path
) -> None:
    with pytest.warns(
        BagWarning, match=rf"/joint_states: {reason}.*\b2 .*Cure: "
    ) as reported:
        # with trailing padding
        series = read(bag(tmp_path, WHOLE, *bad, WHOLE + bytes(4)))
    assert len(reported) == 1
    np.testing.assert_array_equal(series.effort, [[5, 6], [5, 6]])
    (tmp_path / "alone").mkdir()
    with pytest.raises(BagError, match=rf"/joint_states: .*{reason}"):
        read(bag(tmp_path / "alone", *bad), joint_names=["a", "b"])


def test_either_byte_order(tmp_path: Path) -> None:
    big = joint_state(START, ("a", "b"), [1, 2], [3, 4], [5, 6], little_endian=False)
    series = read(bag(tmp_path, WHOLE, big, WHOLE))
    np.testing.assert_array_equal(series.stamps, [START] * 3)
    np.testing.assert_array_equal(series.velocity, [[3, 4]] * 3)


def test_messages_may_differ_in_frame_id(tmp_path: Path) -> None:
    series = read(
        bag(
            tmp_path,
            *(
                joint_state(START + k, position=[k, -k], frame="f" * k)
                for k in range(300)
            ),
        )
    )
    np.testing.assert_array_equal(series.position, np.outer(np.arange(300), [1, -1]))
    np.testing.assert_array_equal(series.stamps - START, np.arange(300))


@pytest.mark.parametrize(
    ("rename", "names"),
    [
        ({"fer_joint1": "one", "fer_": "panda_"}, ("one", "panda_joint2")),
        ({"fer_": "x_", "fer_joint": "j"}, ("j1", "j2")),
        ({"": "left_"}, ("left_fer_joint1", "left_fer_joint2")),
        ({"joint": "j"}, ("fer_joint1", "fer_joint2")),
    ],
)
def test_joints_are_renamed_by_name_or_prefix(
    rename: dict[str, str], names: tuple[str, ...], tmp_path: Path
) -> None:
    path = bag(
        tmp_path, b"\0\1\0\0", joint_state(START, ("fer_joint1", "fer_joint2"), [1, 2])
    )
    for chosen, order in ((None, 1), (names[::-1], -1)):
        with pytest.warns(BagWarning):
            series = read(path, rename=rename, joint_names=chosen)
        assert (series.joint_names, series.position.tolist()) == (
            names[::order],
            [[1, 2][::order]],
        )


def test_series_in_another_joint_order(tmp_path: Path) -> None:
    series = read(
        bag(
            tmp_path,
            joint_state(START, ("a", "b", "c"), [1, 2, 3], [4, 5, 6], [7, 8, 9]),
        )
    )
    other = series.in_order(["c", "a"])
    assert other.joint_names == ("c", "a")
    for got, expected in (
        (other.position, [3, 1]),
        (other.velocity, [6, 4]),
        (other.effort, [9, 7]),
    ):
        np.testing.assert_array_equal(got, [expected])
    with pytest.raises(BagError, match=r"\bx\b.*\ba, b, c\b"):
        series.in_order(["a", "x"])


def test_errors_name_bag_and_topic(tmp_path: Path) -> None:
    written = [
        Message(TOPIC, JOINT_STATE, START, joint_state(START)),
        Message("/f", FLOAT, START, bytes(12)),
    ]
    path = record(tmp_path / "bag", written)
    with pytest.raises(BagError, match=rf"{path}: .* /x\b.*{TOPIC}"):
        read_joint_states(path, [TOPIC, "/x"])
    with pytest.raises(BagError, match=rf"{path}: /f .*Float64.*{TOPIC}"):
        read_joint_states(path, ["/f"])
    with pytest.raises(BagError, match=rf"/x\b.*{JOINT_STATE}"):
        read_joint_states(record(tmp_path / "other", written[1:]), ["/x"])
    with BagWriter(tmp_path / "silent", {TOPIC: JOINT_STATE}):
        pass
    nameless = record(
        tmp_path / "nameless",
        [Message(TOPIC, JOINT_STATE, START, joint_state(START, ()))],
    )
    for empty in (tmp_path / "silent", nameless):
        with pytest.raises(BagError, match=f"{empty}: {TOPIC}: "):
            read(empty)


def test_description(tmp_path: Path) -> None:
    urdf = "<robot name='Gelenkärm'/>"
    written = [Message(TOPIC, JOINT_STATE, START, joint_state(START))]
    assert read_description(record(tmp_path / "without", written)) is None
    for k, data in enumerate(
        (b"\x00\x01\x00\x00\xff", text(""), text(urdf), text("later"))
    ):
        written.append(Message("/arm/robot_description", TEXT, START + k, data))
    written.insert(0, Message("/my_robot_description", TEXT, START, text("<other/>")))
    assert read_description(record(tmp_path / "bag", written)) == urdf

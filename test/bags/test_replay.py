"""A recording through the controller, without ROS; test/integration/test_replay.py compares it with the live node."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rosbags.typesys import Stores, get_typestore

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import BagReader, BagWriter
from robot_dynamics_ros.bags.replay import COMMANDS, DIAGNOSTICS, Replay, replay
from robot_dynamics_ros.control.controller import CHANGE_TIME
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.messages.hand_target import TARGETS
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.parameters import controller
from robot_dynamics_ros.parameters.controller_settings import read_settings
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.resources import find_resource, robot_urdf

Array = NDArray[np.float64]
Recorded = tuple[str, int, bytes]

TYPES: Any = get_typestore(Stores.LATEST)
JOINTS = ("joint1", "joint2")
TSAI = tsai_planar_2r.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
STATES, TRAJECTORIES = "/joint_states", "/computed_torque_node/joint_trajectory"
KINDS = {
    STATES: "sensor_msgs/msg/JointState",
    TRAJECTORIES: "trajectory_msgs/msg/JointTrajectory",
    "/computed_torque_node/speed_scaling_factor": "std_msgs/msg/Float64",
    "/computed_torque_node/payload": "geometry_msgs/msg/InertiaStamped",
    COMMANDS: "sensor_msgs/msg/JointState",
}
BEGIN, PERIOD, DELAY = 1_700_000_000_123_456_789, 2_000_000, 300_000  # ns
NAN = math.nan


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(
        robot_urdf("planar_2r"), dynamics=find_resource("config", "planar_2r_tsai.dynamics.yaml")
    )


def settings(**values: Any) -> ControllerSettings:
    present = read_parameter_file(None, "/computed_torque_node", controller.ALL)
    return read_settings(lambda name: values.get(name.replace(".", "__"), present(name)))


def stamp(k: int) -> int:
    return BEGIN + k * PERIOD


def motion(k: int) -> tuple[Array, Array]:
    t = 1e-9 * k * PERIOD
    return np.array([0.3 * math.sin(t), 0.5 * math.cos(2 * t)]), np.array([0.3 * math.cos(t), -math.sin(2 * t)])


def state(k: int, names: tuple[str, ...] = JOINTS, at: int | None = None) -> Recorded:
    q, qd = (values[: len(names)] for values in motion(k))
    return STATES, stamp(k) + DELAY, JointStateWriter(names).write(stamp(k) if at is None else at, q, qd, np.zeros(0))


def states(count: int) -> list[Recorded]:
    return [state(k) for k in range(count)]


def trajectory(goal: tuple[float, float], seconds: float, start: int, received: int) -> Recorded:
    types = TYPES.types
    time = types["builtin_interfaces/msg/Duration"](*divmod(round(seconds * 1e9), 1_000_000_000))
    rows = np.array(goal), np.zeros(2), np.zeros(2), np.zeros(0)
    point = types["trajectory_msgs/msg/JointTrajectoryPoint"](*rows, time)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](*divmod(start, 1_000_000_000)), "")
    message = types[KINDS[TRAJECTORIES]](header, list(JOINTS), [point])
    return TRAJECTORIES, received, bytes(TYPES.serialize_cdr(message, KINDS[TRAJECTORIES]))


def record(folder: Path, messages: Iterable[Recorded], kinds: dict[str, str] | None = None) -> Path:
    found = sorted(messages, key=lambda message: message[1])
    kinds = KINDS | (kinds or {})
    with BagWriter(folder, {topic: kinds[topic] for topic in dict.fromkeys(m[0] for m in found)}) as writer:
        for topic, received, data in found:
            writer.write(topic, received, data)
    return folder


def commands(bag: Path) -> list[tuple[int, bytes]]:
    with BagReader(bag) as reader:
        return [(message.received, message.data) for message in reader.messages([COMMANDS])]


def unnumbered(bag: Path) -> list[bytes]:
    """The commands without their numbers, which count from the first one of a recording."""
    return [data[:16] + data[26:] for _, data in commands(bag)]


def decoded(bag: Path) -> Iterator[Any]:
    for _, data in commands(bag):
        yield TYPES.deserialize_cdr(data, KINDS[COMMANDS])


def run(tmp_path: Path, messages: list[Recorded], model: RobotModel, name: str = "bag", **values: Any) -> Replay:
    return replay(record(tmp_path / name, messages), tmp_path / f"{name}_out" / "bag", model, settings(**values))


# What it computes


def test_commands_are_those_of_the_closed_form(tmp_path: Path, model: RobotModel) -> None:
    """Holding q0 by computed torque: tau = M (Kp (q0 - q) - Kd qd) + V + G, Tsai (9.73)-(9.74); Kp 100, Kd 20."""
    result = run(tmp_path, states(200), model)
    assert (result.states, result.commands, result.transitions) == (200, 200, ())
    held = motion(0)[0]
    for k, command in enumerate(decoded(tmp_path / "bag_out" / "bag")):
        q, qd = motion(k)
        expected = tsai_planar_2r.torque(TSAI, q, qd, 100.0 * (held - q) - 20.0 * qd)
        np.testing.assert_allclose(command.effort, expected, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(command.position, held)
        assert command.header.stamp.sec * 1_000_000_000 + command.header.stamp.nanosec == stamp(k)
        assert list(command.name) == list(JOINTS)
    assert [received for received, _ in commands(tmp_path / "bag_out" / "bag")] == [
        stamp(k) + DELAY for k in range(200)
    ]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, model: RobotModel) -> None:
    bag = record(tmp_path / "bag", [*states(300), trajectory((0.8, -0.4), 0.5, stamp(100), stamp(50))])
    for name in "ab":
        replay(bag, tmp_path / name / "out", model, settings())
    files = [sorted((tmp_path / name / "out").iterdir()) for name in "ab"]
    assert [file.name for file in files[0]] == [file.name for file in files[1]] != []
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_commands_do_not_depend_on_the_first_message(tmp_path: Path, model: RobotModel) -> None:
    """A trajectory that starts from a streamed set point makes the past forgotten; then every bit is the same.

    Floats would round times since different first messages differently.
    """
    recording = [
        trajectory((0.1, 0.2), 0.0, stamp(100), stamp(99) + 1),
        trajectory((0.8, -0.4), 1.5, stamp(120), stamp(110)),
    ]
    for first in (0, 77):
        run(tmp_path, [*states(400)[first:], *recording], model, f"{first}", trajectory_limits="off")
    whole, late = (unnumbered(tmp_path / name / "bag")[-290:] for name in ("0_out", "77_out"))
    assert whole == late


def test_names_of_joints_and_topics_may_differ(tmp_path: Path, model: RobotModel) -> None:
    move = trajectory((0.8, -0.4), 0.5, stamp(100), stamp(50))
    run(tmp_path, [*states(300), move], model)
    renamed = [("/arm/states", at, data.replace(b"joint", b"fer__")) for _, at, data in states(300)]
    bag = record(tmp_path / "other", [*renamed, move], {"/arm/states": KINDS[STATES]})
    out = tmp_path / "other_out" / "bag"
    replay(bag, out, model, settings(), topics={"joint_states": "arm/states"}, rename={"fer__": "joint"})
    assert commands(out) == commands(tmp_path / "bag_out" / "bag")


def test_speed_and_payload_of_the_recording(tmp_path: Path, model: RobotModel) -> None:
    """Half the speed: half of the way after the time; a payload of m kg at link2's origin adds m g r(q) at rest."""
    types = TYPES.types
    vector = types["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0)
    inertia = types["geometry_msgs/msg/Inertia"](2.0, vector, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "link2")
    kind = KINDS["/computed_torque_node/payload"]
    carry = bytes(TYPES.serialize_cdr(types[kind](header, inertia), kind))
    slow = bytes(TYPES.serialize_cdr(types["std_msgs/msg/Float64"](0.5), "std_msgs/msg/Float64"))
    bag = [
        *states(100),
        ("/computed_torque_node/payload", stamp(50), carry),
        ("/computed_torque_node/speed_scaling_factor", stamp(60), slow),
        ("/computed_torque_node/speed_scaling_factor", stamp(70), b"\0\1\0\0"),  # no number
    ]
    run(tmp_path, bag, model, law="gravity_compensation")
    for k, command in enumerate(decoded(tmp_path / "bag_out" / "bag")):
        q, _ = motion(k)
        loaded = model.with_payload("link2", 2.0, [0.0, 0.0, 0.0], np.diag([1e-3] * 3)) if k >= 50 else model
        if not 50 <= k <= 51 + round(1e9 * CHANGE_TIME / PERIOD):
            np.testing.assert_allclose(command.effort, loaded.gravity_torque(q), rtol=0, atol=1e-12)


def test_a_rate_ticks_by_the_time_of_the_recording(tmp_path: Path, model: RobotModel) -> None:
    result = run(tmp_path, states(501), model, update_rate=100.0)
    assert result.commands == 100  # a second of states is there; the first period begins with the first of them
    times = [received for received, _ in commands(tmp_path / "bag_out" / "bag")]
    assert set(np.diff(times)) == {10_000_000}


def test_commands_that_a_limit_cuts_are_counted(
    tmp_path: Path, model: RobotModel, caplog: pytest.LogCaptureFixture
) -> None:
    """Gravity alone needs more than a hundredth of the limits of 100 and 50 Nm; it is said once, and counted."""
    result = run(tmp_path, states(200), model, law="gravity_compensation", effort_limit_scale=[0.01])
    gravity = np.array([tsai_planar_2r.gravity(TSAI, motion(k)[0]) for k in range(200)])
    expected = dict(zip(JOINTS, (np.abs(gravity) > 0.01 * model.effort_limits).sum(axis=0), strict=True))
    assert result.saturated == {joint: count for joint, count in expected.items() if count} != {}
    assert sum("effort limit" in text for text in caplog.messages) == 1


# Targets of the hand

TASK_SPACE = {
    "law": "task_space_computed_torque",
    "task_space__components": "x z",
    "task_space__max_linear_velocity": math.inf,
    "task_space__natural_frequency": [1.0],  # no joint is to go too fast
}
TARGET_KINDS = {f"/computed_torque_node/{name}": kind for name, kind in TARGETS.items()}


def target(name: str, numbers: Array, at: int, received: int, frame: str = "base_link") -> Recorded:
    """A pose (position, quaternion), a twist or an acceleration, in CDR written out."""
    sec, nanosec = divmod(at, 1_000_000_000)
    text = frame.encode() + b"\0"
    body = struct.pack("<iII", sec, nanosec, len(text)) + text
    data = b"\0\1\0\0" + body + bytes(-len(body) % 8) + np.asarray(numbers, dtype="<f8").tobytes()
    return f"/computed_torque_node/{name}", received, data


def targets(delay: int) -> list[Recorded]:
    """Each tenth of a second a new one with twist and acceleration, ``delay`` (ns) before its time."""
    found = []
    for k in range(50, 250, 50):
        at, x = stamp(k), 0.6 + 0.001 * k
        for name, numbers in (
            ("target_pose", [x, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]),
            ("target_twist", [0.1, 9.0, -0.2, 0.0, 9.0, 0.0]),
            ("target_acceleration", [0.5, 0.0, 0.3, 0.0, 0.0, 9.0]),
        ):
            found.append(target(name, np.array(numbers), at, at - delay))
    return found


def test_targets_of_the_recording(tmp_path: Path, model: RobotModel) -> None:
    """qdd = J^-1 (xdd + Kd (xd_d - J qd) + Kp (x_d - x) - dJ/dt qd), Tsai (9.73)-(9.74); when they came is all one."""
    folders = {
        delay: record(tmp_path / f"{delay}", [*states(300), *targets(delay)], TARGET_KINDS) for delay in (1, 70_000_000)
    }
    for folder in folders.values():
        replay(folder, folder / "out", model, settings(**TASK_SPACE))
    first, second = (commands(folder / "out") for folder in folders.values())
    assert len(first) == 300 and first == second
    for k, command in enumerate(decoded(folders[1] / "out")):
        q, qd = motion(k)
        x, j = model.link_pose(q, "tip")[[0, 2], 3], model.jacobian(q, "tip")[[0, 2]]
        goal, velocity, acceleration = model.link_pose(motion(0)[0], "tip")[[0, 2], 3], np.zeros(2), np.zeros(2)
        if k >= 50:
            begin = min(k // 50 * 50, 200)
            t = min(1e-9 * PERIOD * (k - begin), 0.1)
            goal = np.array([0.6 + 0.001 * begin + 0.1 * t + 0.25 * t**2, 0.2 - 0.2 * t + 0.15 * t**2])
            if k < 250:  # else the velocity is over
                velocity, acceleration = np.array([0.1 + 0.5 * t, -0.2 + 0.3 * t]), np.array([0.5, 0.3])
        xdd = acceleration + 2.0 * (velocity - j @ qd) + goal - x
        qdd = np.linalg.solve(j, xdd - model.jacobian_dot_qd(q, qd, "tip")[[0, 2]])
        if k != 250 and np.linalg.svd(j)[1][-1] > 0.06:  # not damped, nor just at the end of the velocity
            np.testing.assert_allclose(command.effort, tsai_planar_2r.torque(TSAI, q, qd, qdd), rtol=0, atol=1e-6)


def test_a_target_of_now_counts_from_the_next_tick(tmp_path: Path, model: RobotModel) -> None:
    """With a rate, by the clock at which it came."""
    near = np.append(model.link_pose(motion(0)[0], "tip")[:3, 3] + 0.05, [0.0, 0.0, 0.0, 1.0])
    given = TASK_SPACE | {"update_rate": 100.0}
    for name, extra in (("held", []), ("led", [target("target_pose", near, 0, stamp(101))])):
        bag = record(tmp_path / name, [*states(300), *extra], TARGET_KINDS)
        replay(bag, tmp_path / name / "out", model, settings(**given))
    held, led = (commands(tmp_path / name / "out") for name in ("held", "led"))
    same = [one == other for one, other in zip(held, led, strict=True)]
    first = same.index(False)
    assert not any(same[first:]) and led[first - 1][0] < stamp(101) <= led[first][0]


def test_targets_that_are_none(tmp_path: Path, model: RobotModel, caplog: pytest.LogCaptureFixture) -> None:
    """Refused by name and reason; the hand goes on holding."""
    good = np.array([0.6, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])
    bad = [
        target("target_pose", good, 0, stamp(-5)),
        target("target_pose", good, 0, stamp(20), "tip"),
        target("target_pose", 2 * good, 0, stamp(40)),
        target("target_twist", np.full(6, 1e200), 0, stamp(60)),
        target("target_acceleration", np.full(6, NAN), 0, stamp(80)),
    ]
    held = [*states(120)]
    for name, messages in (("held", held), ("bad", [*held, *bad])):
        replay(record(tmp_path / name, messages, TARGET_KINDS), tmp_path / name / "out", model, settings(**TASK_SPACE))
    assert commands(tmp_path / "held" / "out") == commands(tmp_path / "bad" / "out")
    for text in ("not known yet", 'frame_id "tip"', "quaternion", "twist [1e+200", "acceleration [nan"):
        assert any(text in said for said in caplog.messages), text


# What goes wrong in recordings


def faults(bag: Path) -> list[dict[str, str]]:
    with BagReader(bag) as reader:
        messages = [TYPES.deserialize_cdr(m.data, m.kind) for m in reader.messages([DIAGNOSTICS])]
    return [{pair.key: pair.value for pair in message.status[0].values} for message in messages]


def test_a_gap_is_stale_and_time_that_goes_back_a_fault(tmp_path: Path, model: RobotModel) -> None:
    gap = [state(k) for k in (*range(100), *range(400, 600))]
    result = run(tmp_path, gap, model, "gap", stale_hold_time=0.1)
    assert [change.after.value for change in result.transitions] == ["hold", "zero", "hold", "fault"]
    said = faults(tmp_path / "gap_out" / "bag")
    assert [change["mode"] for change in said] == ["hold", "zero", "hold", "fault"]
    assert said[0]["cause"] == "state_stale" and float(said[0]["value"]) == pytest.approx(0.1, abs=0.021)
    # All commands after it hold the arm, none is dropped.
    assert len(commands(tmp_path / "gap_out" / "bag")) == 300

    back = [state(k, at=stamp(k if k < 100 else k - 50)) for k in range(200)]
    result = run(tmp_path, back, model, "back")
    assert "0.098 s" in result.transitions[0].fault.message
    assert faults(tmp_path / "back_out" / "bag")[0]["cause"] == "clock_jumped_back"
    assert result.commands == 200


@pytest.mark.parametrize("joint", ["joint2", None], ids=["not a number", "cut short"])
def test_a_bad_state_is_a_fault_and_not_an_end(joint: str | None, tmp_path: Path, model: RobotModel) -> None:
    broken = states(300)
    bad = JointStateWriter(JOINTS).write(stamp(100), np.array([0.1, NAN]), np.zeros(2), np.zeros(0))
    broken[100] = (STATES, stamp(100) + DELAY, bad if joint else bad[:-9])
    result = run(tmp_path, broken, model)
    assert [change.after.value for change in result.transitions] == ["hold", "fault"]
    assert faults(tmp_path / "bag_out" / "bag")[0]["cause"] == "state_invalid"
    assert faults(tmp_path / "bag_out" / "bag")[0]["joint"] == (joint or "")
    assert all(np.isfinite(command.effort).all() for command in decoded(tmp_path / "bag_out" / "bag"))
    assert result.commands == 300


def test_a_trajectory_that_cannot_be_followed_is_named(
    tmp_path: Path, model: RobotModel, caplog: pytest.LogCaptureFixture
) -> None:
    late = trajectory((0.8, -0.4), 0.01, stamp(10), stamp(100))
    cut = (TRAJECTORIES, stamp(120), late[2][:-5])
    assert run(tmp_path, [*states(200), late, cut], model).commands == 200
    assert [text[:10] for text in caplog.messages if "trajectory refused" in text] == ["at 0.200 s", "at 0.240 s"]


TEXT = "std_msgs/msg/String"
A, B, CAMERA = "/a/joint_states", "/b/joint_states", "/camera/target_pose"


@pytest.mark.parametrize(
    ("messages", "kinds", "topics", "culprit"),
    [
        ([], {}, {}, "no topic joint_states"),
        ([(TRAJECTORIES, stamp(0), b"")], {}, {}, "no topic joint_states"),
        ([state(0, ("other",))], {}, {}, "joint1, joint2"),
        ([state(0, ("joint1",))], {}, {}, "joints joint2"),
        ([(STATES, BEGIN, b"\0\1\0\0\0\0\0\0")], {STATES: TEXT}, {}, f"{STATES} holds {TEXT}"),
        ([(A, *state(0)[1:]), (B, *state(0)[1:])], {A: KINDS[STATES], B: KINDS[STATES]}, {}, f"{A}, {B}"),
        ([state(0)], {}, {"joint_states": "/else"}, f"/else.*{STATES}"),
        ([state(0)], {}, {"states": STATES}, "no input states"),
    ],
)
def test_what_cannot_be_replayed_is_named(
    messages: list[Recorded],
    kinds: dict[str, str],
    topics: dict[str, str],
    culprit: str,
    tmp_path: Path,
    model: RobotModel,
) -> None:
    bag = record(tmp_path / "bag", messages, kinds)
    with pytest.raises(BagError, match=culprit):
        replay(bag, tmp_path / "out", model, settings(), topics=topics)


def test_other_topics_and_the_recording_itself_are_left_alone(tmp_path: Path, model: RobotModel) -> None:
    """A topic that has the name of a target by chance does not matter to a law of joints."""
    bag = record(tmp_path / "bag", [*states(50), (CAMERA, stamp(3), b"\0\1\0\0")], {CAMERA: TEXT})
    before = {file: file.read_bytes() for file in bag.iterdir()}
    assert replay(bag, tmp_path / "out", model, settings()).commands == 50
    with pytest.raises(BagError, match=f"{bag}"):
        replay(bag, bag, model, settings())
    assert {file: file.read_bytes() for file in bag.iterdir()} == before


def test_efforts_that_contradict_the_model_end_it(tmp_path: Path, model: RobotModel) -> None:
    """Measured efforts of the wrong sign at rest: the live node does not activate either."""
    q = np.array([0.3, 0.4])
    wrong = JointStateWriter(JOINTS).write(stamp(0), q, np.zeros(2), -tsai_planar_2r.gravity(TSAI, q))
    bag = record(tmp_path / "bag", [(STATES, stamp(0), wrong)])
    with pytest.raises(RobotDynamicsError, match="sign"):
        replay(bag, tmp_path / "out", model, settings())
    assert replay(bag, tmp_path / "out2", model, settings(), activation_check=False).commands == 1


def commanded(k: int, q: Array, qd: Array) -> Recorded:
    """The answer of a live controller to a state."""
    return COMMANDS, stamp(k) + 2 * DELAY, JointStateWriter(JOINTS).write(stamp(k), q, qd, np.zeros(2))


def test_it_begins_with_the_first_state_that_was_answered(tmp_path: Path, model: RobotModel) -> None:
    """The live controller came later than the recorder: what it held is where the arm was then."""
    recording = states(300)
    begun, _ = motion(120)
    result = run(tmp_path, [*recording, *(commanded(k, begun, np.zeros(2)) for k in range(120, 290))], model)
    assert result.states == result.commands == 170
    assert all((command.position == begun).all() for command in decoded(tmp_path / "bag_out" / "bag"))


def test_a_recorder_that_came_later_knows_what_is_held(tmp_path: Path, model: RobotModel) -> None:
    """The first live command tells where the arm was to stay; gains of pd are those of that place."""
    recording = states(300)
    run(tmp_path, recording, model, "whole", law="pd")
    live = [(COMMANDS, at + DELAY, data) for at, data in commands(tmp_path / "whole_out" / "bag")]
    result = run(tmp_path, [*recording[120:], *live[130:290]], model, "late", law="pd")
    assert result.states == 160
    assert unnumbered(tmp_path / "late_out" / "bag") == unnumbered(tmp_path / "whole_out" / "bag")[130:290]


def test_a_recording_that_begins_in_a_motion(
    tmp_path: Path, model: RobotModel, caplog: pytest.LogCaptureFixture
) -> None:
    live = [commanded(k, *motion(k)) for k in (0, 99)]
    assert run(tmp_path, [*states(100), *live], model).commands == 100
    assert any("in the middle of a motion" in text for text in caplog.messages)


def test_an_emergency_stop_is_an_input(tmp_path: Path, model: RobotModel) -> None:
    """Engaged between two states, unreadable later, then released: it holds from the next state on to the end."""
    topic = COMMANDS.replace("command_states", "emergency_stop")
    stops = [(topic, stamp(k), b"\0\1\0\0" + data) for k, data in ((50, b"\1"), (80, b""), (99, b"\0"))]
    bag = record(tmp_path / "bag", [*states(150), *stops], {topic: "std_msgs/msg/Bool"})
    result = replay(bag, tmp_path / "out" / "bag", model, settings(fault_reset="auto"))
    (stopped,) = result.transitions
    assert (stopped.fault.cause, stopped.after) == (Cause.EMERGENCY_STOP, Mode.HOLD)
    assert stopped.time == pytest.approx(50e-9 * PERIOD)

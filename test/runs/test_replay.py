"""Replay of a recording without ROS; test/integration/test_replay.py compares it with the live node."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.resources import find_resource, robot_urdf
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    read_settings,
)
from robot_dynamics_ros.control.safety import Cause, Mode
from robot_dynamics_ros.control.thresholds import CHANGE_TIME
from robot_dynamics_ros.recordings.bags import BagReader, BagWriter
from robot_dynamics_ros.recordings.bags.comparison import missed_trajectory
from robot_dynamics_ros.recordings.bags.storage import text_message
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.runs.configuration import Configuration, read_configuration
from robot_dynamics_ros.runs.inputs import TARGETS
from robot_dynamics_ros.runs.replay import COMMANDS, DIAGNOSTICS, Replay, replay
from support.bag_recordings import (
    FLOAT,
    JOINT_STATE,
    TEXT,
    TYPES,
    header,
    make,
    serialized,
)

Array = NDArray[np.float64]
Recorded = tuple[str, int, bytes]
Run = Callable[..., "Outcome"]

JOINTS = ("joint1", "joint2")
TSAI = tsai_planar_2r.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
NODE = "/computed_torque_node"
STATES = "/joint_states"
TRAJECTORIES = f"{NODE}/joint_trajectory"
PAYLOAD = f"{NODE}/payload"
RENAMED = "/arm/states"
A = "/a/joint_states"
B = "/b/joint_states"
CAMERA = "/camera/target_pose"
WRONG = "/wrong/joint_states"
SPEED = f"{NODE}/speed_scaling_factor"
STOP = f"{NODE}/emergency_stop"
PANEL = "/cell/emergency_stop"
BRAKES = f"{NODE}/brakes_engaged"
CONFIGURATION = f"{NODE}/configuration"
KINDS = {
    STATES: JOINT_STATE,
    COMMANDS: JOINT_STATE,
    DIAGNOSTICS: "diagnostic_msgs/msg/DiagnosticArray",
    TRAJECTORIES: "trajectory_msgs/msg/JointTrajectory",
    PAYLOAD: "geometry_msgs/msg/InertiaStamped",
    SPEED: FLOAT,
    **dict.fromkeys((STOP, PANEL, BRAKES), "std_msgs/msg/Bool"),
    **dict.fromkeys((RENAMED, A, B), JOINT_STATE),
    **dict.fromkeys((CAMERA, WRONG, CONFIGURATION), TEXT),
    **{f"{NODE}/{name}": kind for name, kind in TARGETS.items()},
}
EMPTY = b"\0\1\0\0"  # only the header of CDR
BEGIN = 1_700_000_000_123_456_789  # ns
PERIOD = 2_000_000  # ns
CHANGE_CYCLES = round(1e9 * CHANGE_TIME / PERIOD)
DELAY = 300_000  # ns
INERTIA = (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)


@dataclass
class Outcome:
    """Summary of a replay, and the bag that it wrote."""

    result: Replay
    bag: Path

    @property
    def commands(self) -> list[tuple[int, bytes]]:
        with BagReader(self.bag) as reader:
            return [
                (message.received, message.data)
                for message in reader.messages([COMMANDS])
            ]

    @property
    def decoded(self) -> list[Any]:
        return [TYPES.deserialize_cdr(data, JOINT_STATE) for _, data in self.commands]

    @property
    def unnumbered(self) -> list[bytes]:
        """The commands without their numbers, which count from the first one of a recording."""
        return [data[:16] + data[26:] for _, data in self.commands]

    @property
    def reports(self) -> list[bytes]:
        with BagReader(self.bag) as reader:
            return [message.data for message in reader.messages([DIAGNOSTICS])]

    @property
    def faults(self) -> list[dict[str, str]]:
        messages = [
            TYPES.deserialize_cdr(data, KINDS[DIAGNOSTICS]) for data in self.reports
        ]
        return [
            {pair.key: pair.value for pair in message.status[0].values}
            for message in messages
        ]


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(
        robot_urdf("planar_2r"),
        dynamics=find_resource("config", "planar_2r_tsai.dynamics.yaml"),
    )


@pytest.fixture
def run(tmp_path: Path, model: RobotModel) -> Run:
    """Return run(messages, options of replay, **parameters), which records the messages and replays them."""

    def run(
        messages: list[Recorded], options: dict[str, Any] | None = None, **values: Any
    ) -> Outcome:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        bag = record(folder / "bag", messages)
        output = folder / "out" / "bag"
        return Outcome(
            replay(bag, output, model, settings(**values), **(options or {})), output
        )

    return run


def settings(**values: Any) -> ControllerSettings:
    present = read_parameter_file(None, NODE, controller.ALL)
    return read_settings(
        lambda name: values.get(name.replace(".", "__"), present(name))
    )


def record(folder: Path, messages: Iterable[Recorded]) -> Path:
    ordered = sorted(messages, key=lambda message: message[1])
    with BagWriter(
        folder, {topic: KINDS[topic] for topic in dict.fromkeys(m[0] for m in ordered)}
    ) as writer:
        for topic, received, data in ordered:
            writer.write(topic, received, data)
    return folder


def stamp(k: int) -> int:
    return BEGIN + k * PERIOD


def motion(k: int) -> tuple[Array, Array]:
    t = 1e-9 * k * PERIOD
    return np.array([0.3 * math.sin(t), 0.5 * math.cos(2 * t)]), np.array(
        [0.3 * math.cos(t), -math.sin(2 * t)]
    )


def state(k: int, names: tuple[str, ...] = JOINTS, at: int | None = None) -> Recorded:
    q, qd = (values[: len(names)] for values in motion(k))
    return (
        STATES,
        stamp(k) + DELAY,
        JointStateWriter(names).write(
            stamp(k) if at is None else at, q, qd, np.zeros(0)
        ),
    )


def states(count: int) -> list[Recorded]:
    return [state(k) for k in range(count)]


def trajectory(
    goal: tuple[float, float], seconds: float, start: int, received: int
) -> Recorded:
    time = make(
        "builtin_interfaces/msg/Duration", *divmod(round(seconds * 1e9), 1_000_000_000)
    )
    rows = np.array(goal), np.zeros(2), np.zeros(2), np.zeros(0)
    point = make("trajectory_msgs/msg/JointTrajectoryPoint", *rows, time)
    return (
        TRAJECTORIES,
        received,
        serialized(KINDS[TRAJECTORIES], header(start), list(JOINTS), [point]),
    )


def commanded(k: int, q: Array, qd: Array) -> Recorded:
    return (
        COMMANDS,
        stamp(k) + 2 * DELAY,
        JointStateWriter(JOINTS).write(stamp(k), q, qd, np.zeros(2)),
    )


MOVE = trajectory((0.8, -0.4), 0.5, stamp(100), stamp(50))


def test_commands_are_those_of_the_closed_form(run: Run) -> None:
    """Holding q0 by computed torque: tau = M (Kp (q0 - q) - Kd qd) + V + G, Tsai (9.73)-(9.74); Kp 100, Kd 20."""
    outcome = run(states(200), torque_rate_limit=[])
    assert (
        outcome.result.states,
        outcome.result.commands,
        outcome.result.transitions,
    ) == (200, 200, ())
    held = motion(0)[0]
    for k, command in enumerate(outcome.decoded):
        q, qd = motion(k)
        expected = tsai_planar_2r.torque(TSAI, q, qd, 100.0 * (held - q) - 20.0 * qd)
        np.testing.assert_allclose(command.effort, expected, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(command.position, held)
        assert (
            command.header.stamp.sec * 1_000_000_000 + command.header.stamp.nanosec
            == stamp(k)
        )
        assert list(command.name) == list(JOINTS)
    assert [received for received, _ in outcome.commands] == [
        stamp(k) + DELAY for k in range(200)
    ]


def test_commands_do_not_depend_on_the_first_message(run: Run) -> None:
    """After a trajectory from a streamed set point every bit is the same."""
    recording = [
        trajectory((0.1, 0.2), 0.0, stamp(100), stamp(99) + 1),
        trajectory((0.8, -0.4), 1.5, stamp(120), stamp(110)),
    ]
    whole, late = (
        run([*states(400)[first:], *recording], trajectory_limits="off")
        for first in (0, 77)
    )
    assert whole.unnumbered[-290:] == late.unnumbered[-290:]


def test_names_of_joints_and_topics_may_differ(run: Run) -> None:
    renamed = [
        (RENAMED, at, data.replace(b"joint", b"fer__")) for _, at, data in states(300)
    ]
    other = run(
        [*renamed, MOVE],
        {"topics": {"joint_states": "arm/states"}, "rename": {"fer__": "joint"}},
    )
    assert other.commands == run([*states(300), MOVE]).commands


def test_payload_of_the_recording(run: Run, model: RobotModel) -> None:
    """A payload of m kg at link2's origin adds m g r(q) at rest; a speed that cannot be read changes nothing."""
    inertia = make(
        "geometry_msgs/msg/Inertia",
        2.0,
        make("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0),
        *INERTIA,
    )
    outcome = run(
        [
            *states(100),
            (
                PAYLOAD,
                stamp(50),
                serialized(KINDS[PAYLOAD], header(0, "link2"), inertia),
            ),
            (SPEED, stamp(60), serialized(FLOAT, 0.5)),
            (SPEED, stamp(70), EMPTY),
        ],
        law="gravity_compensation",
    )
    loaded = model.with_payload("link2", 2.0, [0.0, 0.0, 0.0], INERTIA)
    for k, command in enumerate(outcome.decoded):
        expected = (loaded if k >= 50 else model).gravity_torque(motion(k)[0])
        if not 50 <= k <= 51 + CHANGE_CYCLES:
            np.testing.assert_allclose(command.effort, expected, rtol=0, atol=1e-12)


def test_update_rate_counts_by_the_time_of_the_recording(run: Run) -> None:
    outcome = run(states(501), update_rate=100.0)
    # one second of states; the first period begins with the first of them
    assert outcome.result.commands == 100
    assert set(np.diff([received for received, _ in outcome.commands])) == {10_000_000}


def test_commands_that_a_limit_cuts_are_counted(
    run: Run, model: RobotModel, caplog: pytest.LogCaptureFixture
) -> None:
    """Gravity torque exceeds its limits of the start; logged once, and counted."""
    gravity = np.array([tsai_planar_2r.gravity(TSAI, motion(k)[0]) for k in range(200)])
    scale = np.abs(gravity[0]) / model.effort_limits * 1.000001
    result = run(
        states(200), law="gravity_compensation", effort_limit_scale=scale.tolist()
    ).result
    expected = dict(
        zip(
            JOINTS,
            (np.abs(gravity) > scale * model.effort_limits).sum(axis=0),
            strict=True,
        )
    )
    assert (
        result.saturated
        == {joint: count for joint, count in expected.items() if count}
        != {}
    )
    assert sum("effort limit" in text for text in caplog.messages) == 1


# Task-space targets

TASK_SPACE = {
    "law": "task_space_computed_torque",
    "task_space__components": "x z",
    "task_space__max_linear_velocity": math.inf,
    "task_space__natural_frequency": [1.0],  # keeps joint velocities low
}
POSE = np.array([0.6, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])


def target(
    name: str, numbers: Any, at: int, received: int, frame: str = "base_link"
) -> Recorded:
    """Return a pose (position, quaternion), a twist or an acceleration in CDR."""
    text = frame.encode() + b"\0"
    body = struct.pack("<iII", *divmod(at, 1_000_000_000), len(text)) + text
    data = (
        EMPTY
        + body
        + bytes(-len(body) % 8)
        + np.asarray(numbers, dtype="<f8").tobytes()
    )
    return f"{NODE}/{name}", received, data


def targets(delay: int) -> list[Recorded]:
    """Return pose, twist and acceleration every tenth of a second, received ``delay`` (ns) before their stamps."""
    messages = []
    for k in range(50, 250, 50):
        for name, numbers in (
            ("target_pose", [0.6 + 0.001 * k, *POSE[1:]]),
            ("target_twist", [0.1, 9.0, -0.2, 0.0, 9.0, 0.0]),
            ("target_acceleration", [0.5, 0.0, 0.3, 0.0, 0.0, 9.0]),
        ):
            messages.append(target(name, numbers, stamp(k), stamp(k) - delay))
    return messages


def test_targets_of_the_recording(run: Run, model: RobotModel) -> None:
    """qdd = J^-1 (xdd + Kd (xd_d - J qd) + Kp (x_d - x) - dJ/dt qd), Tsai (9.73)-(9.74), for any time of arrival."""
    late, early = (
        run([*states(300), *targets(delay)], **TASK_SPACE) for delay in (1, 70_000_000)
    )
    assert len(late.commands) == 300 and late.commands == early.commands
    for k, command in enumerate(late.decoded):
        q, qd = motion(k)
        x = model.link_pose(q, "tip")[[0, 2], 3]
        j = model.jacobian(q, "tip")[[0, 2]]
        goal = model.link_pose(motion(0)[0], "tip")[[0, 2], 3]
        velocity = np.zeros(2)
        acceleration = np.zeros(2)
        if k >= 50:
            begin = min(k // 50 * 50, 200)
            t = min(1e-9 * PERIOD * (k - begin), 0.1)
            goal = np.array(
                [
                    0.6 + 0.001 * begin + 0.1 * t + 0.25 * t**2,
                    0.2 - 0.2 * t + 0.15 * t**2,
                ]
            )
            if k < 250:  # the target's velocity then ends
                velocity = np.array([0.1 + 0.5 * t, -0.2 + 0.3 * t])
                acceleration = np.array([0.5, 0.3])
        xdd = acceleration + 2.0 * (velocity - j @ qd) + goal - x
        qdd = np.linalg.solve(j, xdd - model.jacobian_dot_qd(q, qd, "tip")[[0, 2]])
        # undamped, and not at the end of the velocity
        if k != 250 and np.linalg.svd(j)[1][-1] > 0.06:
            np.testing.assert_allclose(
                command.effort,
                tsai_planar_2r.torque(TSAI, q, qd, qdd),
                rtol=0,
                atol=1e-6,
            )


def test_an_unstamped_target_is_used_from_the_next_timer_cycle(
    run: Run, model: RobotModel
) -> None:
    near = [*(model.link_pose(motion(0)[0], "tip")[:3, 3] + 0.05), *POSE[3:]]
    extras: list[list[Recorded]] = [[], [target("target_pose", near, 0, stamp(101))]]
    held, moved = (
        run([*states(300), *extra], **TASK_SPACE, update_rate=100.0).commands
        for extra in extras
    )
    same = [one == other for one, other in zip(held, moved, strict=True)]
    first = same.index(False)
    assert not any(same[first:]) and moved[first - 1][0] < stamp(101) <= moved[first][0]


def test_gaps_and_stamps_that_jump_back_are_faults(run: Run) -> None:
    gap = run([state(k) for k in (*range(100), *range(400, 600))], stale_hold_time=0.1)
    modes = ["hold", "zero", "hold", "fault"]
    assert [change.after.value for change in gap.result.transitions] == modes
    assert [change["mode"] for change in gap.faults] == modes
    assert gap.faults[0]["cause"] == "state_stale"
    assert float(gap.faults[0]["value"]) == pytest.approx(0.1, abs=0.021)
    assert len(gap.commands) == 300, "each state after the gap is answered"

    back = run([state(k, at=stamp(k if k < 100 else k - 60)) for k in range(200)])
    assert float(back.faults[0]["value"]) == pytest.approx(0.118)
    assert (
        back.faults[0]["cause"] == "clock_jumped_back" and back.result.commands == 200
    )


def delayed(messages: list[Recorded], begin: int, end: int) -> list[Recorded]:
    """Return the messages as received by a recorder that does not run from ``begin`` to ``end`` (ns)."""
    return [
        (topic, end if begin <= at < end else at, data) for topic, at, data in messages
    ]


@pytest.mark.parametrize("answered", [True, False])
def test_delays_of_the_recorder_are_no_faults(answered: bool, run: Run) -> None:
    """It stops for 0.14 and 0.12 s during a motion; then the driver pauses, which is a fault."""
    live = run([*states(300), MOVE], torque_rate_limit=[100.0])
    recording = [
        *states(300),
        MOVE,
        *((COMMANDS, at + DELAY, data) for at, data in live.commands if answered),
    ]
    late = delayed(delayed(recording, stamp(110), stamp(180)), stamp(200), stamp(260))
    replayed = run([*late, state(400)], torque_rate_limit=[100.0])
    assert replayed.unnumbered[:300] == live.unnumbered
    assert [change["cause"] for change in replayed.faults] == ["state_stale"]


def test_a_delay_that_the_controller_has_reported_is_a_fault(run: Run) -> None:
    """The black box of a controller whose states came late, with its own times and /diagnostics."""
    report = run([state(k) for k in (*range(100), *range(200, 300))]).reports[0]
    late = delayed(
        [*states(300), *(commanded(k, *motion(0)) for k in range(300))],
        stamp(100),
        stamp(160),
    )
    assert run(late).result.transitions == ()
    (fault, _) = run([*late, (DIAGNOSTICS, stamp(155), report)]).faults
    assert fault["cause"] == "state_stale" and float(fault["value"]) == pytest.approx(
        0.1, abs=0.021
    )


def test_messages_received_before_the_first_clock(run: Run) -> None:
    """With simulated time a recorder receives them at 0."""
    recording = [*states(200), MOVE]
    whole = run(recording, torque_rate_limit=[])
    early = run(
        [(topic, at if at > stamp(20) else 0, data) for topic, at, data in recording],
        torque_rate_limit=[],
    )
    assert early.result.transitions == () and early.unnumbered == whole.unnumbered
    times = [received for received, _ in early.commands]
    assert times == sorted(times) and times[0] == stamp(20) + DELAY


@pytest.mark.parametrize("joint", ["joint2", ""], ids=["NaN", "truncated"])
def test_an_invalid_state_is_a_fault_and_the_replay_continues(
    joint: str, run: Run
) -> None:
    broken = states(300)
    bad = JointStateWriter(JOINTS).write(
        stamp(100), np.array([0.1, np.nan]), np.zeros(2), np.zeros(0)
    )
    broken[100] = (STATES, stamp(100) + DELAY, bad if joint else bad[:-9])
    outcome = run(broken)
    assert [change.after.value for change in outcome.result.transitions] == [
        "hold",
        "fault",
    ]
    assert (outcome.faults[0]["cause"], outcome.faults[0]["joint"]) == (
        "state_invalid",
        joint,
    )
    assert all(np.isfinite(command.effort).all() for command in outcome.decoded)
    assert outcome.result.commands == 300


def test_invalid_trajectories_are_logged_with_their_time(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    late = trajectory((0.8, -0.4), 0.01, stamp(10), stamp(100))
    truncated = (TRAJECTORIES, stamp(120), late[2][:-5])
    assert run([*states(200), late, truncated]).result.commands == 200
    times = [
        record.message[:10] for record in caplog.records if record.levelname == "ERROR"
    ]
    assert times == ["at 0.200 s", "at 0.240 s"]


@pytest.mark.parametrize(
    ("messages", "topics", "culprit"),
    [
        ([], {}, r"\bjoint_states\b"),
        ([(TRAJECTORIES, stamp(0), b"")], {}, r"\bjoint_states\b"),
        ([state(0, ("other",))], {}, "joint1, joint2"),
        ([state(0, ("joint1",))], {}, r"\bjoint2\b"),
        ([(WRONG, BEGIN, EMPTY + bytes(4))], {}, f"{WRONG} .*{TEXT}"),
        ([(A, *state(0)[1:]), (B, *state(0)[1:])], {}, f"{A}, {B}"),
        ([state(0)], {"joint_states": "/else"}, f"/else.*{STATES}"),
        ([state(0)], {"states": STATES}, r"\bstates\b"),
    ],
)
def test_errors_name_bag_and_culprit(
    messages: list[Recorded], topics: dict[str, str], culprit: str, run: Run
) -> None:
    with pytest.raises(BagError, match=f"bag: .*{culprit}"):
        run(messages, {"topics": topics})


def test_unrelated_topics_and_the_recording_do_not_change(
    tmp_path: Path, model: RobotModel
) -> None:
    """Joint-space control laws ignore a topic that happens to have the name of a target."""
    bag = record(tmp_path / "bag", [*states(50), (CAMERA, stamp(3), EMPTY)])
    before = {file: file.read_bytes() for file in bag.iterdir()}
    assert replay(bag, tmp_path / "out", model, settings()).commands == 50
    with pytest.raises(BagError, match=f"{bag}"):
        replay(bag, bag, model, settings())
    assert {file: file.read_bytes() for file in bag.iterdir()} == before


def test_efforts_that_contradict_the_model_prevent_activation(
    run: Run, tmp_path: Path
) -> None:
    """Measured efforts have the wrong sign at rest."""
    q = np.array([0.3, 0.4])
    wrong = (
        STATES,
        stamp(0),
        JointStateWriter(JOINTS).write(
            stamp(0), q, np.zeros(2), -tsai_planar_2r.gravity(TSAI, q)
        ),
    )
    with pytest.raises(RobotDynamicsError, match="joint1"):
        run([wrong])
    assert not [*tmp_path.rglob("out/bag")], "a refused replay leaves no bag"
    assert run([wrong], {"activation_check": False}).result.commands == 1


def test_a_replay_has_the_states_that_recorded_commands_answer(run: Run) -> None:
    """The controller started after the recorder, and stopped before; without an answer all states are replayed."""
    begin, _ = motion(120)
    commands = [commanded(k, begin, np.zeros(2)) for k in range(120, 290)]
    outcome = run([*states(300), *commands])
    assert outcome.result.states == outcome.result.commands == 170
    assert all((command.position == begin).all() for command in outcome.decoded)
    assert run([*states(120), *commands]).result.commands == 120


def test_a_replay_holds_the_position_of_the_first_recorded_command(run: Run) -> None:
    """The recorder started after the controller; the gains of pd depend on the held position."""
    values = {"law": "pd", "torque_rate_limit": []}
    whole = run(states(300), **values)
    live = [(COMMANDS, at + DELAY, data) for at, data in whole.commands]
    late = run([*states(300)[120:], *live[130:290]], **values)
    assert late.result.states == 160 and late.unnumbered == whole.unnumbered[130:290]


@pytest.mark.parametrize("recorded", [[], [MOVE]])
def test_a_motion_without_a_recorded_trajectory_is_reported(
    recorded: list[Recorded], run: Run
) -> None:
    live = [commanded(k, *motion(k)) for k in range(90)]
    outcome = run([*states(100), *live, *recorded])
    with (
        BagReader(outcome.bag.parents[1] / "bag") as bag,
        BagReader(outcome.bag) as replayed,
    ):
        assert bool(missed_trajectory(bag, replayed, COMMANDS)) is not bool(recorded)
        assert not missed_trajectory(replayed, bag, COMMANDS)


LOADED = make(
    "geometry_msgs/msg/Inertia",
    2.0,
    make("geometry_msgs/msg/Vector3", 0.1, 0.0, 0.0),
    *INERTIA,
)
LASTING = {
    "payload": None,
    "speed_scaling_factor": 1.0,
    "brakes_engaged": False,
    "emergency_stops": {},
}


@pytest.mark.parametrize(
    ("topic", "data", "lasting"),
    [
        (
            PAYLOAD,
            serialized(KINDS[PAYLOAD], header(0, "link2"), LOADED),
            {
                "payload": {
                    "link": "link2",
                    "mass": 2.0,
                    "com": [0.1, 0.0, 0.0],
                    "inertia": list(INERTIA),
                }
            },
        ),
        (SPEED, serialized(FLOAT, 0.3), {"speed_scaling_factor": 0.3}),
        (BRAKES, EMPTY + b"\1", {"brakes_engaged": True}),
        (STOP, EMPTY + b"\1", {"emergency_stops": {"~/emergency_stop": True}}),
    ],
)
def test_inputs_before_the_recording_are_part_of_its_configuration(
    topic: str, data: bytes, lasting: dict[str, Any], run: Run
) -> None:
    """The commands are those after the message itself; the configuration of the replay has the input again."""
    recorded = Configuration("1", "", "", {}, LASTING | lasting)
    written = {"configuration": Configuration("1", "", "", {})}
    as_message, as_configuration = (
        run([*states(250), MOVE, before], written)
        for before in (
            (topic, BEGIN, data),
            (CONFIGURATION, BEGIN, text_message(recorded.text())),
        )
    )
    assert as_configuration.commands == as_message.commands
    assert as_configuration.commands != run([*states(250), MOVE]).commands
    for outcome in (as_message, as_configuration):
        found = read_configuration(outcome.bag, COMMANDS)
        assert found is not None and found[1].lasting == recorded.lasting


@pytest.mark.parametrize(
    "lasting",
    [{"payload": 1}, LASTING | {"payload": [1]}, LASTING | {"emergency_stops": 3}],
)
def test_invalid_inputs_of_a_configuration_are_named(
    lasting: dict[str, Any], run: Run
) -> None:
    text = text_message(Configuration("1", "", "", {}, lasting).text())
    with pytest.raises(BagError, match=f"{CONFIGURATION}: lasting"):
        run([*states(2), (CONFIGURATION, BEGIN, text)])


def test_further_emergency_stops_are_inputs(run: Run) -> None:
    """By their names in the configuration of the recording, also if one ends as ~/emergency_stop does."""
    configuration = Configuration(
        "1", "", "", {"emergency_stop_topics": [PANEL, "/absent"]}
    )
    stops = [(STOP, stamp(10), EMPTY + b"\0"), (PANEL, stamp(50), EMPTY + b"\1")]
    (stopped,) = run(
        [*states(150), *stops], {"configuration": configuration}
    ).result.transitions
    assert PANEL in stopped.fault.message and stopped.time == pytest.approx(
        50e-9 * PERIOD
    )


def test_an_emergency_stop_is_an_input(run: Run) -> None:
    """Engaged between two states, unreadable later, then released: the arm holds from the next state to the end."""
    stops = [
        (STOP, stamp(k), EMPTY + data)
        for k, data in ((50, b"\1"), (80, b""), (99, b"\0"))
    ]
    (stopped,) = run([*states(150), *stops], fault_reset="auto").result.transitions
    assert (stopped.fault.cause, stopped.after) == (Cause.EMERGENCY_STOP, Mode.HOLD)
    assert stopped.time == pytest.approx(50e-9 * PERIOD)


def test_brakes_are_an_input(run: Run) -> None:
    """Gravity torque after a ramp, without the trajectory; then the position at which they were released is held."""
    brakes = [
        (BRAKES, stamp(k), EMPTY + data) for k, data in ((50, b"\1"), (200, b"\0"))
    ]
    outcome = run([*states(300), *brakes, MOVE])
    assert not outcome.result.transitions
    for k in range(60 + CHANGE_CYCLES, 200):
        gravity = tsai_planar_2r.gravity(TSAI, motion(k)[0])
        np.testing.assert_allclose(
            outcome.decoded[k].effort, gravity, rtol=0, atol=1e-10
        )
    for k in (202, 299):
        np.testing.assert_allclose(
            outcome.decoded[k].position, motion(200)[0], rtol=0, atol=0.005
        )

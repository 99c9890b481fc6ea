"""robot_dynamics simulate: the bag equals that of the nodes, and its replay gives the same commands, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.report import read_recording
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.recordings.bags import (
    BagReader,
    BagWriter,
    read_description,
    read_joint_states,
)
from robot_dynamics_ros.recordings.messages.cdr import EffortWriter
from support import coupled_arms
from support.commands import run

ROOT = Path(__file__).resolve().parents[2]
STATES = "/joint_states"
COMMANDS = "/computed_torque_node/command_states"
DRIVE_COMMANDS = "/drive_commands"


def messages(bag: Path, topic: str) -> list[bytes]:
    with BagReader(bag) as reader:
        return [message.data for message in reader.messages([topic])]


def config(tmp_path: Path, **parameters: Any) -> Path:
    """Return the robot's parameter file with changed values."""
    own = yaml.safe_load(
        (ROOT / "config" / "planar_2r.yaml").read_text(encoding="utf-8")
    )["/**"]["ros__parameters"]
    path = tmp_path / "parameters.yaml"
    path.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": own | parameters}}), encoding="utf-8"
    )
    return path


def trajectory(tmp_path: Path, *points: tuple[int, list[float]]) -> Path:
    """Write a file with points (s, positions)."""
    message = {
        "joint_names": ["joint2", "joint1"],
        "points": [
            {"positions": q, "time_from_start": {"sec": t, "nanosec": 0}}
            for t, q in points
        ],
    }
    path = tmp_path / "trajectory.yaml"
    path.write_text(yaml.safe_dump(message), encoding="utf-8")
    return path


def test_the_bag_is_that_of_the_nodes(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    load_robot: Callable[..., RobotModel],
) -> None:
    bag = tmp_path / "bag"
    run("simulate", "planar_2r", "--duration", 4, "-o", bag)
    out = " ".join(capsys.readouterr().out.split())
    assert "planar_2r: 500 Hz, 4 s of motion" in out and "cycles 2001" in out
    assert (
        "2501 joint_states, 2501 commands, 0 changes of mode" in out
        and f"bag: {bag}" in out
    )
    series = read_joint_states(bag, [STATES, COMMANDS])
    states = series[STATES]
    commands = series[COMMANDS]
    np.testing.assert_array_equal(states.stamps, commands.stamps)
    assert set(np.diff(states.stamps)) == {2_000_000}
    # What is commanded acts until the next state; what the controller says of it is what it publishes.
    np.testing.assert_array_equal(states.effort[1:], commands.effort[:-1])
    writer = EffortWriter(2)
    assert messages(bag, "/effort_commands") == [
        writer.write(effort) for effort in commands.effort
    ]
    # The plant obeys the model: the torque along its motion is the one that drove it, between two states.
    model = load_robot("planar_2r")
    middle = (
        (states.velocity[1:] + states.velocity[:-1]) / 2,
        np.diff(states.velocity, axis=0) / 0.002,
    )
    between = (states.position[1:] + states.position[:-1]) / 2
    np.testing.assert_allclose(
        model.inverse_dynamics(between, *middle), states.effort[1:], atol=2e-3
    )
    assert np.abs(commands.position - states.position)[:1500].max() < 1e-2
    assert read_description(bag) == (ROOT / "urdf" / "planar_2r.urdf").read_text(
        encoding="utf-8"
    )


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize(
    ("parameters", "plant"),
    [
        ({}, []),
        (
            {"position_noise": 1e-4, "velocity_noise": 1e-2, "effort_delay": 0.001},
            ["--friction-scale", "1"],
        ),
        ({"update_rate": 350.0}, ["--mass-scale", "1.3"]),
        (
            {
                "law": "pd",
                "fault_reset": "auto",
                "position_limit_margin": 0.0,
                "effort_limit_scale": 0.4,
            },
            [],
        ),
        (
            {"position_noise": 1e-4, "velocity_noise": 1e-2},
            ["--command-interfaces", *DriveCommand._fields],
        ),
        (
            {"stiffness": [400.0], "damping": [20.0]},
            ["--command-interfaces", "position"],
        ),
    ],
    ids=["exact", "noise", "update_rate", "faults", "impedance", "position"],
)
def test_a_replay_gives_the_same_commands(
    parameters: dict[str, Any],
    plant: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The replay uses the configuration in the bag; a second simulation gives the same bytes."""
    file = config(tmp_path, **parameters)
    friction = tmp_path / "friction.yaml"
    friction.write_text("joints: {joint1: {coulomb: 0.5}}", encoding="utf-8")
    first = tmp_path / "one"
    second = tmp_path / "another"
    again = tmp_path / "replayed"
    for bag in (first, second):
        run(
            "simulate",
            "planar_2r",
            "--config",
            file,
            "--dynamics",
            friction,
            *plant,
            "--duration",
            4,
            "-o",
            bag,
        )
    for file_name in ("bag.mcap", "metadata.yaml"):
        assert (first / file_name).read_bytes() == (second / file_name).read_bytes()
    for given in (file, friction):
        given.unlink()
    run("replay", first, "-o", again)
    assert len(messages(first, COMMANDS)) > 1000
    assert messages(again, COMMANDS) == messages(first, COMMANDS)
    if "--command-interfaces" in plant:
        assert len(messages(first, DRIVE_COMMANDS)) == len(messages(first, COMMANDS))
        assert messages(again, DRIVE_COMMANDS) == messages(first, DRIVE_COMMANDS)
        with BagReader(first) as reader:
            assert "/effort_commands" not in reader.topics
    assert run("compare", first, again, "--common") == 0
    capsys.readouterr()


def test_a_trajectory_that_the_recorder_missed_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = tmp_path / "bag"
    run("simulate", "planar_2r", "--duration", 0.5, "-o", bag)
    with BagReader(bag) as whole:
        kinds = {
            topic: kind
            for topic, kind in whole.topics.items()
            if not topic.endswith("joint_trajectory")
        }
        with BagWriter(tmp_path / "missed", kinds) as writer:
            for message in whole.messages(kinds):
                writer.write(message.topic, message.received, message.data)
    for recording, missed in ((bag, False), (tmp_path / "missed", True)):
        replayed = tmp_path / f"{recording.name}_replayed"
        capsys.readouterr()
        run("replay", recording, "-o", replayed)
        assert ("the recorder missed it" in capsys.readouterr().err) is missed
        assert run("compare", recording, replayed, "--common") == missed
        assert ("the recorder missed it" in capsys.readouterr().out) is missed


def test_a_trajectory_from_a_file(tmp_path: Path) -> None:
    """The arm starts at the first point, waits there, and follows the trajectory to its end."""
    bag = tmp_path / "bag"
    file = trajectory(tmp_path, (0, [0.4, -0.5]), (1, [0.4, -0.5]), (2, [0.6, -0.2]))
    run(
        "simulate",
        "planar_2r",
        "--trajectory",
        file,
        "--law",
        "pd_plus",
        "--rate",
        250,
        "-o",
        bag,
    )
    series = read_joint_states(bag, [STATES, COMMANDS])
    states = series[STATES].in_order(("joint1", "joint2"))
    np.testing.assert_array_equal(states.position[0], [-0.5, 0.4])
    np.testing.assert_allclose(states.position[-1], [-0.2, 0.6], atol=1e-3)
    assert states.stamps[-1] - states.stamps[0] >= 3_000_000_000


@pytest.mark.parametrize(
    ("plant", "believed"),
    [(["--mass-scale", 1.2], {}), ([], {"gravity": [0.0, 0.0, -9.81 / 1.2]})],
)
def test_a_plant_that_differs(
    plant: list[object], believed: dict[str, Any], tmp_path: Path
) -> None:
    """With a load that is 20 % heavier than modelled the error is that of gravity divided by the gain."""
    file = trajectory(tmp_path, (0, [0.0, 0.0]), (3, [0.0, 0.0]), (4, [0.001, 0.0]))
    gains = config(
        tmp_path, gains={"kp": [400.0, 400.0], "kd": [40.0, 40.0]}, **believed
    )
    bag = tmp_path / "bag"
    line = [
        "simulate",
        "planar_2r",
        "--config",
        gains,
        "--trajectory",
        file,
        "--law",
        "pd_gravity",
        "-o",
        bag,
    ]
    run(*line, *plant)
    states, commands = read_joint_states(bag, [STATES, COMMANDS]).values()
    assert states.joint_names == commands.joint_names == ("joint1", "joint2")
    row = np.searchsorted(states.stamps, states.stamps[0] + 3_000_000_000)
    error = commands.position[row] - states.position[row]
    weight = np.array([4 * 0.25 + 3 * (0.5 + 0.2), 3 * 0.2]) * 9.81
    np.testing.assert_allclose(
        error, 0.2 * weight / 400 / (1.0 if plant else 1.2), rtol=0.02
    )


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_dynamics_of_the_plant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The controller compensates friction that the plant does not have, which causes an error."""
    rms = []
    for plant in ([], ["--plant-dynamics", "none"]):
        run(
            "simulate",
            "planar_2r",
            "--dynamics",
            ROOT / "config" / "planar_2r_craig.dynamics.yaml",
            *plant,
        )
        out = capsys.readouterr().out
        assert "bag:" not in out
        rms.append(float(out.split("error, RMS of all joints")[1].split()[1]))
    assert rms[0] < 0.5 * rms[1]


def test_friction_that_grows_with_the_load_is_compensated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its steps at reversals are not limited."""
    rms = []
    unlimited = tmp_path / "unlimited.yaml"
    values = {"/**": {"ros__parameters": {"torque_rate_limit": []}}}
    unlimited.write_text(yaml.safe_dump(values), encoding="utf-8")
    for believed in ("puma560", "puma560_geared"):
        run(
            "simulate",
            "puma560",
            "--dynamics",
            believed,
            "--plant-dynamics",
            "puma560_geared",
            "--config",
            unlimited,
            "--duration",
            5,
        )
        rms.append(
            float(
                capsys.readouterr().out.split("error, RMS of all joints")[1].split()[1]
            )
        )
    assert rms[1] < 0.2 * rms[0]


def test_faults_have_the_same_times_in_log_and_reports(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seconds after the first answered state: of the bag, of its replay, and in the log of both runs."""
    limits = config(tmp_path, following_error_limit=[0.002], following_error_time=0.0)
    with pytest.raises(RobotDynamicsError, match='at .* s: joint "joint2"'):
        run(
            "simulate",
            "planar_2r",
            "--law",
            "pd_gravity",
            "--config",
            limits,
            "--duration",
            4,
            "-o",
            tmp_path / "bag",
        )
    run("replay", tmp_path / "bag", "-o", tmp_path / "out")
    logged = [
        float(text.split()[1]) for text in caplog.messages if "active -> hold" in text
    ]
    recorded = []
    for bag, topic in (("bag", STATES), ("out", COMMANDS)):
        recording = read_recording(tmp_path / bag, topic)
        events = [
            event for event in recording.diagnostics.events if event.before == "active"
        ]
        assert len(events) == 1
        recorded += recording.at_arrival(
            np.array([event.received for event in events])
        ).tolist()
        with BagReader(tmp_path / bag) as reader:
            first = next(iter(reader.messages([topic]))).received
        assert recorded[-1] == pytest.approx(
            (events[0].received - first) * 1e-9, abs=1e-9
        )
    np.testing.assert_allclose(logged, recorded, atol=5.1e-4)


def test_several_laws_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each law has a bag, all have one table and picture; nothing is overwritten unasked."""
    folder = tmp_path / "compared"
    line = [
        "simulate",
        "planar_2r",
        "--law",
        "pd",
        "pd_plus",
        "--duration",
        1,
        "-o",
        folder,
    ]
    run(*line)
    out = capsys.readouterr().out
    assert "pd_plus tracks" in out and out.count("1001 joint_states") == 2
    assert {path.name for path in folder.rglob("*.*")} == {
        "bag.mcap",
        "metadata.yaml",
        "tracking.png",
    }
    with pytest.raises(RobotDynamicsError, match="compared: it exists"):
        run(*line)
    assert run(*line, "--overwrite") == 0


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("robot", robot_names())
def test_a_short_motion_stays_within_the_limits(robot: str, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    run("simulate", robot, "--duration", 1, "--law", "computed_torque", "-o", bag)
    model = RobotModel.from_urdf_file(robot_urdf(robot))
    for series in read_joint_states(bag, [STATES, COMMANDS]).values():
        assert (np.abs(series.velocity).max(axis=0) <= model.velocity_limits).all()
    assert np.ptp(series.position, axis=0).min() > 1e-3, "every joint moves"


def test_a_mimic_gripper_stays_within_the_limits_of_both_joints(tmp_path: Path) -> None:
    """j2 = -2 j1, within +-0.3 rad and 0.5 rad/s; j1 alone would have 2 rad and 5 rad/s."""
    urdf = tmp_path / "gripper.urdf"
    bag = tmp_path / "bag"
    arm = coupled_arms.tree([(-2, 2, 5), (-0.3, 0.3, 0.5)])
    urdf.write_text(
        arm.with_joint("j2", extra='<mimic joint="j1" multiplier="-2"/>').urdf,
        encoding="utf-8",
    )
    run("simulate", urdf, "--duration", 2, "--law", "computed_torque", "-o", bag)
    series = read_joint_states(bag, [STATES])[STATES]
    assert (
        np.abs(2.0 * series.position).max() <= 0.3
        and np.abs(2.0 * series.velocity).max() <= 0.5
    )
    assert np.ptp(series.position) > 0.02


@pytest.mark.parametrize("dynamics", ["none", "stiff"])
def test_a_urdf_alone_is_enough(
    dynamics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a default motion; viscous friction that rk4 cannot integrate selects the other integrator."""
    friction = "none"
    if dynamics == "stiff":
        friction = str(tmp_path / "friction.yaml")
        Path(friction).write_text(
            "joints: {joint2: {viscous: 1.0e4}}", encoding="utf-8"
        )
    arm = tmp_path / "arm.urdf"
    text = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
    arm.write_text(text.replace('effort="30"', 'effort="1e5"'), encoding="utf-8")
    run(
        "simulate",
        arm,
        "--law",
        "computed_torque",
        "--duration",
        2,
        "--dynamics",
        friction,
    )
    assert (
        float(capsys.readouterr().out.split("error, RMS of all joints")[1].split()[1])
        < 5.0
    )

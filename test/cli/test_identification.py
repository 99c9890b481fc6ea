"""robot_dynamics excite, torque and identify: exciting trajectory, analysis of recorded torques, and dynamics file."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from csv import DictReader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.estimate import identify
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.recordings.bags import BagWriter, read_joint_states
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.runs.trajectory_parameters import ALL, JOINTS, trajectory_from
from support.commands import run
from support.model_files import assert_same_dynamics
from support.noisy_recordings import exciting_motion, fourier, with_friction

KIND = "sensor_msgs/msg/JointState"
ROOT = Path(__file__).resolve().parents[2]
SCARA = ROOT / "urdf" / "scara.urdf"


# --- excite


def test_what_it_writes_is_what_the_node_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "excitation.yaml"
    line = ("excite", "--robot", "planar_2r", "--restarts", 1, "-o", file)
    run(*line, "--duration", 6, "--cycles", 2, "--acceleration", 8)
    values = read_parameter_file(file, "/any/trajectory_node", ALL)
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    assert JOINTS.read(values) == model.joint_names
    farthest = model.position_lower * 0.9
    points = trajectory_from(values, model.joint_names, farthest.tolist())
    assert points.velocities is not None and points.accelerations is not None
    # From anywhere within the limits, all the way: a tenth of each stays free.
    assert (points.positions >= 0.9 * model.position_lower - 1e-9).all()
    assert (points.positions <= 0.9 * model.position_upper + 1e-9).all()
    assert (np.abs(points.velocities) <= 0.9 * model.velocity_limits).all()
    assert (np.abs(points.accelerations) <= 8.0).all()
    move_time = values("trajectory.move_time")
    assert isinstance(move_time, float) and points.times[-1] == pytest.approx(
        move_time + 12.0
    )
    out = capsys.readouterr().out
    found = re.search(
        r"(\S+) for the first random motion, (\S+) for the best found", out
    )
    assert found is not None and float(found[2]) < float(found[1])
    largest = np.abs(points.velocities[points.times > move_time, 1]).max()
    row = next(line for line in out.splitlines() if line.startswith("joint2"))
    assert float(row.split()[7]) == pytest.approx(largest, abs=0.05)


def test_some_joints_move_and_the_others_are_locked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "excitation.yaml"
    run(
        "excite",
        "--robot",
        "planar_2r",
        "--joints",
        "joint2",
        "--duration",
        4,
        "--restarts",
        1,
        "-o",
        file,
    )
    assert JOINTS.read(read_parameter_file(file, "/trajectory_node", ALL)) == (
        "joint2",
    )
    assert "joint1 at 0" in capsys.readouterr().err


def write_bag(
    path: Path,
    names: Sequence[str],
    stamps: Any,
    *fields: Any,
    topic: str = "/joint_states",
) -> Path:
    writer = JointStateWriter(names)
    with BagWriter(path, {topic: KIND}) as bag:
        for stamp, *row in zip(stamps.tolist(), *fields, strict=True):
            bag.write(topic, stamp, writer.write(stamp, *row))
    return path


# --- torque


@pytest.fixture
def bag(tmp_path: Path, load_robot: Callable[..., RobotModel]) -> Path:
    """Return a bag of 20 s of a Panda with a payload of 1.2 kg, at 50 Hz."""
    truth = load_robot("panda", "panda").with_payload(
        "panda_link7", 1.2, [0.0, 0.0, 0.1], [0.0] * 6
    )
    motion = exciting_motion(truth, seed=3, noise=0.02, samples=1000)
    names = [name.replace("panda_", "fer_") for name in truth.joint_names]
    stamps = 10**18 + np.round(motion.time * 1e9).astype(np.int64)
    return write_bag(tmp_path / "bag", names, stamps, motion.q, motion.qd, motion.tau)


def test_table_and_hints(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = tmp_path / "torque.csv"
    run(
        "torque",
        bag,
        "--robot",
        "panda",
        "--rename",
        "fer_=panda_",
        "--cutoff",
        8,
        "-o",
        csv,
    )
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "from 1000 messages" in out and "Butterworth filter of order 4 at 8 Hz" in out
    )
    assert "hint: the robot carries a payload that the model lacks: 1.2" in out
    names = csv.read_text(encoding="utf-8").splitlines()[0].split(",")
    table = np.loadtxt(csv, delimiter=",", skiprows=1)
    column = {name: table[:, k] for k, name in enumerate(names)}
    assert len(names) == 1 + 9 * 7 and table.shape[1] == len(names)
    parts = sum(
        column[f"panda_joint2.{part}"]
        for part in ("inertia", "velocity", "gravity", "friction", "residual")
    )
    np.testing.assert_allclose(parts, column["panda_joint2.measured"], atol=1e-6)
    measured = np.sqrt(np.mean(column["panda_joint2.measured"] ** 2))
    (shown,) = re.findall(r"panda_joint2 Nm (\S+) ", out)
    assert float(shown) == pytest.approx(measured, rel=0.05), (
        "it is without reversals that fall on a sample"
    )


def test_the_example_finds_the_missing_gripper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The model has a hand of 0.73 kg; the command that it prints gives the same result."""
    run("torque", "--example")
    command, _, result = capsys.readouterr().out.partition("\n")[2].partition("\n")
    hint = " ".join(result.split())
    found = re.search(
        r"(\S+) \+- (\S+) kg on panda_link7, .* at \[(\S+) \S+ \S+ (\S+) \S+ \S+ (\S+) .*\]",
        hint,
    )
    assert found is not None
    mass, half, *center = (float(number) for number in found.groups())
    assert abs(mass - 0.73) <= half < 0.5
    np.testing.assert_allclose(center, [-0.007, 0.007, 0.137], atol=0.02)
    run(*shlex.split(command)[1:])
    assert capsys.readouterr().out.strip() == result.strip()


def test_effort_in_other_units_is_read(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One gain for a joint, one for all others."""
    csv = tmp_path / "torque.csv"
    gains = ("--drive-gains", "panda_joint2=-2", "0.5")
    columns = []
    for more in ((), gains):
        run(
            "torque",
            bag,
            "--robot",
            "panda",
            "--rename",
            "fer_=panda_",
            "-o",
            csv,
            "--overwrite",
            *more,
        )
        names = csv.read_text(encoding="utf-8").splitlines()[0].split(",")
        table = np.loadtxt(csv, delimiter=",", skiprows=1)
        columns.append(
            table[:, [names.index(f"panda_joint{k}.measured") for k in (1, 2, 3)]]
        )
    np.testing.assert_allclose(columns[1], columns[0] * [0.5, -2.0, 0.5], atol=1e-6)


def test_effort_of_a_command_topic_is_commanded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = 0.02 * np.arange(500)
    q, qd = (np.column_stack([values, values]) for values in (np.sin(t), np.cos(t)))
    stamps = 10**18 + 20_000_000 * np.arange(500)
    bag = write_bag(
        tmp_path / "bag",
        ("joint1", "joint2"),
        stamps,
        q,
        qd,
        q,
        topic="/node/command_states",
    )
    run("torque", bag, "--robot", "planar_2r")
    assert "RMS of commanded inertia" in " ".join(capsys.readouterr().out.split())


def test_torque_as_json(
    bag: Path, capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    """The numbers are those of analyse_torque."""
    run("torque", bag, "--robot", "panda", "--rename", "fer_=panda_", "--json")
    facts = json.loads(capsys.readouterr().out)
    model = load_robot("panda", "panda")
    series = read_joint_states(bag, ["/joint_states"], rename={"fer_": "panda_"})[
        "/joint_states"
    ]
    analysis = analyse_torque(
        model, recorded_motion(series.in_order(model.joint_names), Smoothing())
    )
    assert (facts["bag"], facts["topic"], facts["effort"]) == (
        str(bag),
        "/joint_states",
        "measured",
    )
    assert (facts["messages"], facts["samples"]) == (1000, len(analysis.motion.time))
    assert facts["cutoff"] == analysis.motion.smoothing.cutoff
    columns = {
        "joint": model.joint_names,
        "measured": analysis.size(analysis.motion.tau),
        "gravity": analysis.size(analysis.gravity),
        "error": analysis.rms,
        "bias": analysis.bias,
        "explained": analysis.explained,
        "used": analysis.used.sum(axis=0),
    }
    for key, values in columns.items():
        assert [row[key] for row in facts["joints"]] == list(values)
    assert "payload that the model lacks: 1.2" in facts["hints"][0]


def test_joints_without_motion_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = 0.02 * np.arange(500)
    q, qd = (
        np.column_stack(values) for values in ((t, 0.0 * t), (1.0 + 0.0 * t, 0.0 * t))
    )
    bag = write_bag(
        tmp_path / "bag",
        ("joint1", "joint2"),
        10**18 + 20_000_000 * np.arange(500),
        q,
        qd,
        np.sin(q + t[:, np.newaxis]),
    )
    run("torque", bag, "--robot", "planar_2r")
    reported = capsys.readouterr().out
    assert (
        "note: joint1 moves in one direction only" in reported
        and "note: joint2 does not move" in reported
    )
    run("torque", bag, "--robot", "planar_2r", "--dynamics", "none", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert [note.split()[0] for note in facts["notes"]] == ["joint1", "joint2"]


def test_what_is_not_finite_is_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A constant effort has no variance that a model can explain."""
    t = 0.02 * np.arange(500)
    q, qd = (np.column_stack([values, values]) for values in (np.sin(t), np.cos(t)))
    stamps = 10**18 + 20_000_000 * np.arange(500)
    bag = write_bag(
        tmp_path / "bag", ("joint1", "joint2"), stamps, q, qd, np.ones_like(q)
    )
    run("torque", bag, "--robot", "planar_2r", "--json")
    assert [
        row["explained"] for row in json.loads(capsys.readouterr().out)["joints"]
    ] == [None, None]


# --- identify


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_bags_become_a_dynamics_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From two bags of a SCARA, friction that the model lacks is identified within 3 %."""
    actual = with_friction(SCARA, tmp_path, uneven=False)
    names = [f"left_{name}" for name in actual.joint_names]
    bags = []
    for k in (1, 2):
        series = fourier(actual, 30.0, 100.0, k).recorded(k, 0.01)
        fields = (series.position, series.velocity, series.effort)
        bags.append(write_bag(tmp_path / f"bag{k}", names, series.stamps, *fields))
    before = {path: path.read_bytes() for bag in bags for path in bag.iterdir()}
    output = tmp_path / "new.yaml"
    files = ("--urdf", tmp_path / "new.urdf", "--mjcf", tmp_path / "new.xml")
    run(
        "identify",
        *bags,
        "--rename",
        "left_=",
        "--robot",
        SCARA,
        "--dynamics",
        "none",
        "-o",
        output,
        *files,
    )
    reported = capsys.readouterr().out
    assert (
        reported.startswith("held out: the last 33 % of each bag")
        and "smaller in " in reported
    )
    assert all(path.read_bytes() == content for path, content in before.items())
    assert (
        "# std. dev.: viscous" in output.read_text()
        and "link1.izz + 0.16 link2.mass" in output.read_text()
    )
    assert output.read_text().startswith(
        "# Made by robot_dynamics identify.\n# identified from the first 67 % of"
    )
    run(*shlex.split(reported.rpartition("next: robot_dynamics ")[2]))
    assert "hints: none" in capsys.readouterr().out
    found = RobotModel.from_urdf_file(SCARA, dynamics=output)
    other = fourier(actual, 10.0, 50.0, 5)
    torque = found.inverse_dynamics(
        other.q, other.qd, other.qdd
    ) + found.friction_torque(other.q, other.qd)
    error = np.sqrt(
        ((torque - other.tau) ** 2).mean(axis=0) / (other.tau**2).mean(axis=0)
    )
    assert error.max() < 0.01
    np.testing.assert_allclose(
        found.friction_parameters[:, :3], actual.friction_parameters[:, :3], rtol=0.03
    )
    assert_same_dynamics(found, files[1], files[3])
    assert "the URDF lacks rotor inertia" in " ".join(reported.split())
    with pytest.raises(RobotDynamicsError, match="new.urdf: it exists already"):
        run(
            "identify",
            *bags,
            "--robot",
            SCARA,
            "-o",
            tmp_path / "other.yaml",
            "--urdf",
            files[1],
        )
    with pytest.raises(RobotDynamicsError, match="same file"):
        run(
            "identify",
            *bags,
            "--robot",
            SCARA,
            "-o",
            tmp_path / "o",
            "--urdf",
            tmp_path / "o",
        )


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_another_bag_tests_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the first bag is used. A rotor of a light joint, lost in the noise, is undetermined."""
    actual = with_friction(SCARA, tmp_path, uneven=False)
    bags = []
    for k in (4, 2):
        series = fourier(actual, 20.0, 100.0, k).recorded(k, 0.1)
        fields = (series.position, series.velocity, series.effort)
        bags.append(
            write_bag(tmp_path / f"bag{k}", actual.joint_names, series.stamps, *fields)
        )
    line = ("identify", bags[0], "--robot", SCARA, "-o", tmp_path / "new.yaml")
    run(*line, "--test", bags[1])
    reported = capsys.readouterr().out
    file = (tmp_path / "new.yaml").read_text()
    assert f"# identified from {bags[0]}" in file and f"held out: {bags[1]}" in reported
    rows = [
        row.split()[1:]
        for row in file.splitlines()
        if row.endswith(".rotor_inertia") and " + " not in row
    ]
    undetermined = [row[-1] for row in rows if row[0] == "undetermined"]
    assert undetermined == ["joint2.rotor_inertia", "joint3.rotor_inertia"]
    assert all(float(row[-2]) > 0.0 for row in rows) and "warning" not in reported
    with pytest.raises(SystemExit):
        run(*line, "--test", bags[1], "--holdout", 0.2)


def test_the_hint_to_keep_friction_is_followed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prior is the simulated robot itself, which no identification predicts better."""
    run("simulate", "panda", "-o", tmp_path / "bag")
    for number, options in enumerate(([], ["--friction", "keep"])):
        capsys.readouterr()
        run(
            "identify",
            tmp_path / "bag",
            "--robot",
            "panda",
            "-o",
            tmp_path / f"{number}.yaml",
            *options,
        )
        out = " ".join(capsys.readouterr().out.split())
        assert out.count("record a longer motion") == 1
        assert out.count("give --friction keep") == (not options)


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_identify_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers are those of ``identify`` and of the file."""
    series = fourier(
        with_friction(SCARA, tmp_path, uneven=False), 20.0, 100.0, 1
    ).recorded(1, 0.01)
    fields = (series.position, series.velocity, series.effort)
    bag = write_bag(tmp_path / "bag", series.joint_names, series.stamps, *fields)
    line = ("identify", bag, "--robot", SCARA, "-o", tmp_path / "new.yaml", "--json")
    run(*line, "--holdout", 0, "--friction", "viscous_coulomb")
    facts = json.loads(capsys.readouterr().out)
    prior = RobotModel.from_urdf_file(SCARA)
    found = identify(prior, [recorded_motion(series, Smoothing())], "viscous_coulomb")
    assert (
        facts["dynamics_file"] == str(tmp_path / "new.yaml")
        and facts["held_out"] is None
    )
    assert facts["samples"] == found.samples
    for key, values in (
        ("name", found.estimate.base.names),
        ("estimate", found.estimate.values),
        ("deviation", found.estimate.deviations),
        ("in_file", found.base_values),
    ):
        assert [row[key] for row in facts["base_parameters"]] == list(values)
    run(
        "report",
        bag,
        "--robot",
        SCARA,
        "--dynamics",
        tmp_path / "new.yaml",
        "-o",
        tmp_path / "report.html",
    )
    cells = re.findall(
        r">([^<]+)</td><td>(\S+) \+- (\S+)</td><td>(\S+)</td>",
        (tmp_path / "report.html").read_text(),
    )
    shown = {name: list(map(float, numbers)) for name, *numbers in cells}
    determined = [row for row in facts["base_parameters"] if not row["undetermined"]]
    assert len(shown) == len(determined)
    for row in determined:
        value, half, in_file = shown[row["name"]]
        assert half == pytest.approx(
            2.0 * row["deviation"], rel=0.2, abs=1.1e-3 * abs(row["estimate"])
        )
        assert value == pytest.approx(
            row["estimate"], abs=0.51 * half
        ) and in_file == pytest.approx(row["in_file"], rel=1e-3)
    capsys.readouterr()
    written = load_yaml((tmp_path / "new.yaml").read_text(encoding="utf-8"))["joints"]
    for row in facts["joints"]:
        assert row["viscous"]["value"] == written[row["joint"]]["viscous"]
        k = found.estimate.base.names.index(f"{row['joint']}.viscous")
        assert row["viscous"]["deviation"] == found.estimate.deviations[k]
    run(*line, "--overwrite")
    held_out = json.loads(capsys.readouterr().out)["held_out"]
    assert [row["joint"] for row in held_out["joints"]] == list(prior.joint_names)
    assert all(
        row["error_now"] < 0.1 * row["error_before"] for row in held_out["joints"][:2]
    )


def test_a_payload_that_the_robot_lacks_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recorded Panda has no hand."""
    bag = ROOT / "recordings" / "panda_exciting_trajectory.mcap"
    line = ("identify", bag, "--rename", "fer_=panda_", "--robot", "panda")
    for dynamics, reported in (("panda_hand", True), ("panda", False)):
        output, urdf, mjcf = (
            tmp_path / f"{dynamics}.{suffix}" for suffix in ("yaml", "urdf", "xml")
        )
        run(
            *(*line, "--dynamics", dynamics, "--friction", "viscous_coulomb"),
            *("-o", output, "--urdf", urdf, "--mjcf", mjcf),
        )
        assert (
            "warning: the data contradict the payload" in capsys.readouterr().out
        ) == reported
        assert_same_dynamics(
            RobotModel.from_urdf_file(robot_urdf("panda"), dynamics=output), urdf, mjcf
        )


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_offsets_are_reported_and_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice the Coulomb level, with forms of friction for two joints; the CSV table has the numbers of --json."""
    actual = with_friction(SCARA, tmp_path, uneven=False)
    series = fourier(actual, 30.0, 100.0, 1).recorded(1, 0.01)
    effort = series.effort + [1.2, 0.0, 0.0]
    bag = write_bag(
        tmp_path / "bag",
        actual.joint_names,
        series.stamps,
        series.position,
        series.velocity,
        effort,
    )
    files = ("-o", tmp_path / "new.yaml", "--table", tmp_path / "table.csv")
    line = ("identify", bag, "--robot", SCARA, *files, "--overwrite", "--friction")
    run(*line, "viscous_coulomb", "joint2=cubic,quadratic,directions", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert facts["effort_offsets"][0]["joint1"] == pytest.approx(1.2, abs=0.05)
    assert set(facts["friction_terms"]) == {"joint2.quadratic", "joint2.cubic"}
    joints = load_yaml((tmp_path / "new.yaml").read_text(encoding="utf-8"))["joints"]
    assert joints["joint1"]["coulomb"] == joints["joint1"]["coulomb_negative"]
    assert joints["joint2"]["coulomb"] != joints["joint2"]["coulomb_negative"]
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        table = {
            (row["item"], row["quantity"]): row["value"] for row in DictReader(file)
        }
    assert float(table["joint1", "effort_offset_1"]) == pytest.approx(1.2, abs=0.05)
    entry = facts["held_out"]["joints"][0]
    assert float(table["joint1", "error_now"]) == entry["error_now"]
    assert 0.99 < entry["r2"] < 1.0 and entry["error_now"] < 0.05 * entry["measured"]
    assert float(table["all", "condition"]) == facts["condition"]
    assert table["joint1.viscous", "latex"] == "F_v_{1}"
    run(*line, "viscous_coulomb")
    reported = " ".join(capsys.readouterr().out.split())
    assert f"effort offset in {bag}" in reported and "joint1 1.2" in reported
    assert "offset undetermined: joint3" in reported
    for friction, culprit in (
        (["joint1=oil"], "oil"),
        (["joint9=load"], "joint9"),
        (["keep", "joint1=load"], "joint1"),
    ):
        with pytest.raises((SystemExit, RobotDynamicsError)) as caught:
            run(*line, *friction)
        assert culprit in f"{caught.value}{capsys.readouterr().err}"


# --- payload


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_payload_and_gains_from_two_bags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first bag of an arm with friction that the model lacks is empty, the second has 1.2 kg; unit: half Nm."""
    actual = with_friction(SCARA, tmp_path, uneven=False)
    known = (1.2, [0.1, 0.05, 0.0], [0.003, 0.0, 0.0, 0.003, 0.0, 0.003])
    bags = []
    for k, model in enumerate((actual, actual.with_payload("link3", *known))):
        series = fourier(model, 20.0, 100.0, 1).recorded(k, 0.01)
        fields = (series.position, series.velocity, 2.0 * series.effort)
        bags.append(
            write_bag(tmp_path / f"bag{k}", model.joint_names, series.stamps, *fields)
        )
    line = ("payload", *bags, "--robot", SCARA, "--dynamics", "none", "--link", "link3")
    run(*line, "--drive-gains", 0.5)
    reported = capsys.readouterr().out
    assert "com.z  undetermined" in reported
    message = load_yaml(
        shlex.split(reported[reported.index("ros2 topic pub") :].replace("\\\n", ""))[
            -1
        ]
    )
    assert message["header"]["frame_id"] == "link3" and set(message["inertia"]) == {
        "m",
        "com",
    }
    assert message["inertia"]["m"] == pytest.approx(1.2, rel=0.03)
    run(*line, "--drive-gains", 0.5, "--json")
    payload = json.loads(capsys.readouterr().out)["payload"]
    assert abs(payload["com.x"]["value"] - 0.1) < payload["com.x"]["half_width"] < 0.01
    assert payload["com.z"]["half_width"] is None
    run(*line, "--known", 1.2, 0.1, 0.05, 0.0, "--json")
    gains = json.loads(capsys.readouterr().out)["drive_gains"]
    assert [row["value"] for row in gains.values()] == pytest.approx(
        [0.5] * 3, rel=0.03
    )

"""robot_dynamics demo: arguments, settings, tracking errors, and detection of failed runs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from matplotlib.image import imread

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.cli import live
from robot_dynamics_ros.cli.commands.law_comparison import print_comparison
from robot_dynamics_ros.cli.experiment import prepare
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.cli.tracking import (
    Tracking,
    plot_tracking,
    read_tracking,
    tracking_table,
)
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.runs.replay import COMMANDS
from robot_dynamics_ros.runs.simulation import STATES
from robot_dynamics_ros.runs.trajectory_file import (
    read_trajectory_file,
    write_trajectory_file,
)
from robot_dynamics_ros.simulation import parameters as simulation
from support.commands import parse

KIND = "sensor_msgs/msg/JointState"
PERIOD = 10_000_000
START = 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    "law", ["gravity_compensation", "task_space_computed_torque", "pid"]
)
def test_laws_that_follow_no_trajectory_are_refused(
    law: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse("demo", "--law", "pd", law)
    assert law in capsys.readouterr().err


def test_the_demo_compares_laws_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second demo replaces the bags of the first, keeps other files beside them, and gives the same digits."""
    monkeypatch.chdir(tmp_path)
    line = [
        "demo",
        "--robot",
        "planar_2r",
        "--law",
        "pd",
        "computed_torque",
        "--duration",
        "2",
    ]
    assert main(line) == 0
    folder = Path("demo_output/planar_2r")
    first = capsys.readouterr().out
    bag = (folder / "pd/bag/bag.mcap").read_bytes()
    assert imread(folder / "tracking.png").shape[1] > 1000
    pd, computed = (
        read_tracking(folder / law / "bag", law, 2.0)
        for law in ("pd", "computed_torque")
    )
    assert (computed.rms < 0.01 * pd.rms).all() and pd.late == pd.lost == 0
    (folder / "pd/notes.txt").write_text("mine", encoding="utf-8")
    # Simulated time: a busy machine prints the same table.
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)
    ]
    try:
        assert main(line) == 0
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert table_of(capsys.readouterr().out) == table_of(first)
    assert (folder / "pd/bag/bag.mcap").read_bytes() == bag and (
        folder / "pd/notes.txt"
    ).exists()
    (folder / "pd/bag/notes.txt").write_text("mine", encoding="utf-8")
    assert main(line) == 1, "the bag's folder has a file that the demo has not made"
    assert "pd/bag" in capsys.readouterr().err


def table_of(text: str) -> str:
    return text[text.index("tracking error") : text.index(" joint_states")].rpartition(
        "\n"
    )[0]


@pytest.mark.parametrize("robot", robot_names())
def test_settings_are_parameters_that_the_nodes_take(
    robot: str, tmp_path: Path
) -> None:
    """The settings are read back from the file of the nodes, the trajectory from its own."""
    experiment = prepare(
        parse("demo", "--robot", robot, "--duration", "7"),
        {"velocity_limit_margin": [np.inf]},
    )
    write_trajectory_file(experiment.points, tmp_path / "trajectory.yaml")
    points = read_trajectory_file(tmp_path / "trajectory.yaml")
    np.testing.assert_array_equal(points.accelerations, experiment.points.accelerations)
    np.testing.assert_allclose(points.times, experiment.points.times, rtol=0, atol=1e-9)
    written = yaml.safe_dump(
        live.node_parameters(experiment, "pd", tmp_path / "trajectory.yaml")
    )
    assert "&id" not in written, "rcl reads no aliases"
    known = {
        p.name: p for table in (controller, simulation, trajectory) for p in table.ALL
    }
    read = yaml.safe_load(written)
    flat = {name: value for name, value in read.items() if not isinstance(value, dict)}
    flat |= {f"trajectory.{name}": value for name, value in read["trajectory"].items()}
    for name, value in flat.items():
        known[name].check(value)
    assert flat["velocity_limit_margin"] == [np.inf] and flat["law"] == "pd"


# --- Tracking errors, from bags and numbers made by hand


def run(
    law: str, error: Any, names: tuple[str, ...] = ("a", "b"), effort: float = 1.0
) -> Tracking:
    error = np.asarray(error, dtype=float)
    time = np.arange(len(error)) * 0.01
    return Tracking(
        law, names, time, error + 1.0, np.ones_like(error), np.full_like(error, effort)
    )


def test_root_mean_square_and_largest() -> None:
    found = run("pd", [[0.003, 0.0], [-0.004, 0.0]])
    np.testing.assert_allclose(found.rms, [np.sqrt(12.5e-6), 0.0], rtol=1e-9)
    np.testing.assert_allclose(found.worst, [0.004, 0.0], rtol=1e-9)
    assert found.unmoved == ["a"], "only its desired position changes"


def test_table_has_a_column_for_each_law() -> None:
    runs = [
        run("pd", [[0.003, 0.02], [-0.003, 0.02]], effort=-12.0),
        run("computed_torque", np.zeros((2, 2))),
    ]
    lines = tracking_table(runs, ["mrad", "mm"]).splitlines()
    cells = [line.split() for line in lines]
    assert len({len(line) for line in lines}) == 1, "columns stand under each other"
    assert cells[0][-2:] == ["pd", "computed_torque"]
    assert cells[1] == ["a", "mrad", "3.000", "/", "3.000", "0.000", "/", "0.000"]
    assert cells[2] == ["b", "mm", "20.000", "/", "20.000", "0.000", "/", "0.000"]
    assert [row[-3:] for row in cells[4:]] == [
        ["mrad", "3.000", "0.000"],
        ["mm", "20.000", "0.000"],
        ["Nm", "12.00", "1.00"],
        ["Nm", "12.0", "1.0"],
        ["N", "12.00", "1.00"],
        ["N", "12.0", "1.0"],
        ["cycles", "2", "2"],
    ], "no sum of mrad and mm, or of Nm and N"


def test_laws_are_compared_in_each_unit(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(
        [run("pd", [[0.006, 0.02]]), run("pd_gravity", [[0.003, 0.002]])],
        ["mrad", "mm"],
    )
    assert (
        "pd_gravity tracks revolute joints 2.0 times and prismatic joints 10.0 times better"
        in capsys.readouterr().out
    )


def test_the_folder_has_the_name_of_the_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """rover_arm.urdf.xacro is written to a folder without suffix."""
    monkeypatch.chdir(tmp_path)
    Path("rover_arm.urdf.xacro").write_bytes(robot_urdf("planar_2r").read_bytes())
    assert (
        main(
            [
                "demo",
                "--robot",
                "rover_arm.urdf.xacro",
                "--law",
                "pd",
                "--duration",
                "0.5",
            ]
        )
        == 0
    )
    assert [path.name for path in Path("demo_output").iterdir()] == ["rover_arm"]


def record(
    path: Path, cycles: int = 30, moves_at: int = 10, lost: Any = (), shift: int = 0
) -> Path:
    """Record a run: desired k, actual k - 0.5 on joint a from cycle ``moves_at``; commands in another joint order."""
    states = JointStateWriter(["a", "b"])
    commands = JointStateWriter(["b", "a"])
    rest = np.zeros(2)
    with BagWriter(path, {STATES: KIND, COMMANDS: KIND}) as bag:
        for k in range(cycles):
            at = START + k * PERIOD
            moved = max(0, k - moves_at + 1)
            bag.write(
                STATES,
                at,
                states.write(
                    at, np.array([moved - 0.5 * (moved > 0), 5.0]), rest, rest + 3.0
                ),
            )
            if k not in lost:
                command = commands.write(
                    at + shift, np.array([5.0, moved]), rest, rest + 3.0
                )
                bag.write(COMMANDS, at + PERIOD // 10, command)
    return path


def test_a_run_begins_where_the_desired_position_moves(tmp_path: Path) -> None:
    found = read_tracking(record(tmp_path / "bag"), "pd", 0.15)
    assert (found.law, found.joint_names) == ("pd", ("a", "b"))
    np.testing.assert_allclose(found.time, np.arange(16) * 0.01, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.desired[:, 0], np.arange(1, 17))
    np.testing.assert_array_equal(found.error, np.tile([0.5, 0.0], (16, 1)))
    np.testing.assert_array_equal(found.effort, 3.0)


def test_states_without_a_command_are_omitted(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag", lost=(3, 12, 13, 28))
    found = read_tracking(bag, "pd", 0.15)
    assert (len(found.time), found.lost, found.late) == (14, 2, 0)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"moves_at": 100}, "never changes"),
        ({"cycles": 20}, r"0\.1 s of 0\.1 s of motion"),
        ({"shift": 1}, "no command has the stamp"),
    ],
)
def test_incomplete_runs_are_errors(
    made: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BagError, match=f"bag: .*{reason}"):
        read_tracking(record(tmp_path / "bag", **made), "pd", 0.149)


def test_picture_shows_zero_error_on_its_logarithmic_scale(tmp_path: Path) -> None:
    error = np.outer(np.sin(np.linspace(0, 6, 200)), [0.01, 0.0])
    plot_tracking(
        [run("pd", error), run("pd_gravity", error / 10)],
        "arm",
        ["mrad", "mm"],
        tmp_path / "plot.png",
    )
    image = imread(tmp_path / "plot.png")
    assert image.shape[1] > 1000 and image.shape[0] > 300
    assert 0.01 < (image[:, :, :3].min(axis=2) < 0.9).mean() < 0.6

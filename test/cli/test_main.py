"""Help, completion and errors of commands, and the treatment of existing files."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.cli import processes
from robot_dynamics_ros.cli.main import COMMANDS, GROUPS, main
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from support import arms
from support.commands import parse
from support.documents.shell_checks import FOR_EVER
from support.held_poses import held_poses, write_held_poses

ROOT = Path(__file__).resolve().parents[2]

#: Words of the command line, and what its error names.
ERRORS = [
    ("excite", "--robot"),
    ("excite --robot planar_2r --joints joint9", "joint9"),
    ("excite --robot planar_2r --cycles 0", "--cycles"),
    ("excite --robot planar_2r --margin 2", "margin 2"),
    (
        "excite --robot planar_2r --restarts 1 -o /no/such/folder.yaml",
        "/no/such/folder.yaml",
    ),
    ("identify bag -o no/new.yaml", "no/new.yaml"),
    ("identify bag -o new.yaml --holdout=-0.1", "--holdout"),
    ("identify bag -o new.yaml --holdout 0.95", "--holdout"),
    ("inspect nosuch", "nosuch"),
    ("inspect elbo.yaml", "mean elbow.yaml?"),
    ("inspect pandda", "mean panda?"),
    ("inspect planar_2r --equations cartesian", "--end-effector"),
    ("inspect planar_2r --equations --symbols lc9=1", "lc9"),
    ("inspect planar_2r --equations --symbols lc2=l1/2", "lc2 is 0.2"),
    ("inspect planar_2r --equations --symbols lc1=sin(l1)", '"sin(l1)"'),
    ("inspect planar_2r --trace 1", "--trace has 1"),
    ("inspect planar_2r --trace --end-effector tool", "tool"),
    ("inspect panda --joints nosuch", "nosuch"),
    ("inspect panda --joints panda_join2", "mean panda_joint2?"),
    ("inspect panda --locked nosuch=1", "nosuch"),
    ("inspect panda --locked panda_joint1=nan", "panda_joint1"),
    ("inspect panda --xacro-arg a:=1", "--xacro-arg"),
    ("inspect scara --state 0.1", "--state"),
    ("inspect scara --state 0 nan 0", "not finite"),
    ("inspect scara --dynamics /no/such.yaml", "/no/such.yaml"),
    ("inspect panda --dynamics panda_culomb", "mean panda_coulomb?"),
    ("inspect planar_2r --dynamics typo.dynamics.yaml", "mean viscous?"),
    ("inspect planar_2r --dynamics lnk2.dynamics.yaml", "mean link2?"),
    ("payload a b --link tool --known 1.2", "--known with 1 "),
    ("payload a b --link tool --known 1 0 0 0 --drive-gains 2", "--drive-gains"),
    ("simulate nosuch", "nosuch"),
    ("simulate scara --duration 0", "--duration"),
    ("simulate scara --duration 1e9", "--duration"),
    ("simulate fallen.urdf --law pd", '"joint1"'),
    ("simulate scara --rate 1e9", "publish_rate"),
    ("simulate scara --rate 0.5", "state_timeout"),
    ("simulate scara --mass-scale -1", "mass_scale"),
    ("simulate scara --friction-scale 1 2", "friction_scale"),
    ("simulate scara --config /no/such.yaml", "/no/such.yaml"),
    ("simulate scara --trajectory /no/such.yaml", "/no/such.yaml"),
    ("simulate scara --plant-dynamics /no/such.yaml", "/no/such.yaml"),
    ("simulate planar_2r --plant-dynamics planar_2r_craigs", "mean planar_2r_craig?"),
    ("simulate planar_2r --config floating.yaml", "gravity_compensation"),
    ("simulate planar_2r --config law.yaml", "mean pd_plus?"),
    ("simulate planar_2r --trajectory elbow.yaml", "'elbow'"),
    ("view planar_2r --host 192.0.2.1", "192.0.2.1"),
    ("view planar_2r --host nowhere.invalid", "nowhere.invalid"),
    ("view planar_2r nothing --live", "only one of them"),
    ("view planar_2r nothing", "nothing"),
]


@pytest.mark.parametrize(("line", "culprit"), ERRORS, ids=[line for line, _ in ERRORS])
def test_errors_name_the_culprit(
    line: str,
    culprit: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if line.startswith("view"):
        pytest.importorskip("viser")
        pytest.importorskip("trimesh")
    monkeypatch.chdir(tmp_path)
    arm = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
    Path("fallen.urdf").write_text(
        arm.replace('velocity="6"', 'velocity="0.1"'), encoding="utf-8"
    )
    Path("typo.dynamics.yaml").write_text(
        "joints: {joint1: {viscos: 1.0}}", encoding="utf-8"
    )
    Path("lnk2.dynamics.yaml").write_text(
        "payload: {link: lnk2, mass: 1.0, com: [0, 0, 0], inertia: [0, 0, 0, 0, 0, 0]}",
        encoding="utf-8",
    )
    Path("law.yaml").write_text(
        "/**: {ros__parameters: {law: pd_pluss}}", encoding="utf-8"
    )
    Path("floating.yaml").write_text(
        "/**: {ros__parameters: {law: gravity_compensation}}", encoding="utf-8"
    )
    points = "[{positions: [1.0], time_from_start: {sec: 1, nanosec: 0}}]"
    Path("elbow.yaml").write_text(
        f"joint_names: [elbow]\npoints: {points}", encoding="utf-8"
    )
    assert main(line.split()) == 1
    (reported,) = [
        part
        for part in capsys.readouterr().err.splitlines()
        if part.startswith("robot_dynamics: ")
    ]
    assert culprit in reported


@pytest.mark.parametrize("line", ["demo --live", "play bag", "view planar_2r --live"])
def test_commands_that_start_nodes_report_that_ros_is_missing(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    assert main(line.split()) == 1
    assert "rclpy" in capsys.readouterr().err


# --- The command itself


def test_nodes_report_that_ros_is_missing() -> None:
    code = (
        "import sys; sys.modules['rclpy'] = None; "
        "from robot_dynamics_ros.cli import executables; executables.simulation_node()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600.0
    )
    assert result.returncode == 1
    assert "rclpy" in result.stderr and "Cure: " in result.stderr
    assert "Traceback" not in result.stderr


def test_alone_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    places = [
        shown.index("demo --view"),
        *(shown.index(f"\n{heading}:\n") for heading in GROUPS),
    ]
    assert places == sorted(places)
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize(
    ("line", "similar"),
    [
        ("inspekt panda", "inspect"),
        ("simulate panda --law pd_pluss", "pd_plus"),
        ("demo --law pd_plus pd_gravty", "pd_gravity"),
        ("identify bag -o new.yaml --friction viscous_coulom", "viscous_coulomb"),
        ("replay bag -o new --topic joint_state=/states", "joint_states"),
    ],
)
def test_misspelt_words_are_answered_by_the_similar_one(
    line: str, similar: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert f"mean {similar}?" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "culprit", "lists"),
    [
        ("simulate --law pd scara", "'scara'", True),
        ("compare a --topics t b", "required", True),
        ("view scara --rename a=b bag", "'bag'", True),
        ("play bag --topics", "--topics", True),
        ("compare a b c", "c", False),
        ("inspect scara --port x", "--port", False),
    ],
)
def test_usage_errors_have_a_cure(
    line: str, culprit: str, lists: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options with several values take the positional arguments that follow them."""
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    error = capsys.readouterr().err.rpartition("error: ")[2]
    assert (
        culprit in error
        and "Cure: " in error
        and ("before options with several values" in error) == lists
    )


def test_a_warning_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``torque`` opens the truncated recording several times, and loads the robot in between."""
    rng = np.random.default_rng(0)
    urdf = tmp_path / "arm.urdf"
    arm = arms.random_arm(rng, [0], ["continuous"])
    urdf.write_text(arm.urdf.replace('effort="1000"', ""), encoding="utf-8")
    states = JointStateWriter(arm.movable)
    with BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE}) as bag:
        for k in range(20_000):
            bag.write(
                "/joint_states",
                k * 10**7,
                states.write(k * 10**7, *(rng.standard_normal((3, 1)))),
            )
    (whole,) = (tmp_path / "bag").glob("*.mcap")
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        main(["torque", str(cut), "--robot", str(urdf)])
    lines = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("warning: ")
    ]
    assert (
        len(lines) == len(set(lines))
        and sum("truncated" in line for line in lines) == 1
    )
    assert sum("no effort" in line for line in lines) == 1


def test_the_examples_of_the_help_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("path.yaml").write_text(
        "points: [[0, 0.4, 0.2, 0.4, 1, 0, 0, 0], [2, 0.4, -0.2, 0.3, 1, 0, 0, 0]]"
    )
    Path("arm.csv").write_text("1, 2")
    Path("arm.csv.yaml").write_text(
        "joints: [joint1]\nrate: 100\nposition: {columns: 1, unit: rad}"
    )
    for command, (_, _, example) in COMMANDS.items():
        if command == "payload":
            shutil.copytree("my_bag", "tool_bag")
        if command == "sag":
            model = RobotModel.shipped("panda")
            poses = (
                np.random.default_rng(0).uniform(-0.5, 0.5, (5, 7)) - 0.6 * np.eye(7)[3]
            )
            recording = held_poses(model, 500.0, 0.1, poses)
            write_held_poses(Path("poses_bag"), *recording)
        if command in (*FOR_EVER, "demo"):
            parse(command, *example.split())
        else:
            assert main([command, *example.split()]) == 0, command


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("robot_dynamics insp", {"inspect"}),
        ("robot_dynamics inspect --lo", {"--locked"}),
        ("robot_dynamics inspect planar", {"planar_2r"}),
        ("robot_dynamics torque bag --robot own", {"own.urdf"}),
        ("robot_dynamics simulate panda --law pd_p", {"pd_plus"}),
        ("robot_dynamics torque bag --dynamics panda_c", {"panda_coulomb"}),
        ("robot_dynamics simulate panda --plant-dynamics fric", {"friction.yaml"}),
    ],
)
def test_shells_complete_commands_options_robots_and_files(
    line: str, completed: set[str], tmp_path: Path
) -> None:
    """The protocol of argcomplete: the shell asks by variables, and reads the words from file descriptor 8."""
    pytest.importorskip("argcomplete")
    for name in ("own.urdf", "friction.yaml", "friction.txt"):
        (tmp_path / name).touch()
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = f"{sys.executable} -m robot_dynamics_ros 8>&1 9>&2 1>/dev/null"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **asked}
    run = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {word.strip() for word in run.stdout.splitlines()} == completed, run.stderr


# --- Files that are there already

WRITING = {
    "compare": ["bag", "bag", "--junit"],
    "demo": ["--output"],
    "excite": ["--robot", "planar_2r", "-o"],
    "export": ["planar_2r", "-o"],
    "from-dh": ["craig_rp", "-o"],
    "identify": ["bag", "--robot", "planar_2r", "-o"],
    "import": ["arm.csv", "-o"],
    "record": ["/x", "-o"],
    "replay": ["bag", "--robot", "planar_2r", "-o"],
    "report": ["bag", "--robot", "planar_2r", "-o"],
    "sag": ["bag", "--robot", "planar_2r", "-o"],
    "simulate": ["planar_2r", "-o"],
    "to-joints": ["planar_2r", "path.yaml", "-o"],
    "torque": ["bag", "--robot", "planar_2r", "-o"],
}


@pytest.mark.parametrize("command", WRITING)
def test_nothing_is_overwritten_unasked_and_no_input_ever(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with BagWriter("bag", {}):
        pass
    Path("notes").mkdir()
    Path("link.mcap").symlink_to("bag/bag.mcap")
    Path("hard.mcap").hardlink_to("bag/bag.mcap")
    Path("nowhere").symlink_to("not_there")
    before = {file: file.read_bytes() for file in Path("bag").iterdir()}
    line = WRITING[command]
    inputs = ["bag", "bag/bag.mcap", "link.mcap", "hard.mcap"] if "bag" in line else []
    overwrite = [] if command in ("demo", "record") else ["--overwrite"]
    for output, more in [
        ("bag", []),
        ("nowhere", []),
        ("notes", overwrite),
        *((name, overwrite) for name in inputs),
    ]:
        assert main([command, *line, output, *more]) == (
            2 if command == "compare" else 1
        )
        assert capsys.readouterr().err.startswith(f"robot_dynamics: {output}: ")
    assert {
        file: file.read_bytes() for file in Path("bag").iterdir()
    } == before and Path("notes").is_dir()


def test_a_bag_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    line = ["simulate", "scara", "--duration", "4", "-o", str(tmp_path / "kept")]
    assert main(line) == 0
    before = (tmp_path / "kept" / "bag.mcap").read_bytes()
    replayed = [
        "replay",
        str(tmp_path / "other"),
        "-o",
        str(tmp_path / "kept"),
        "--overwrite",
    ]
    assert main([*line[:-1], str(tmp_path / "other")]) == 0
    assert main([*replayed, "--topic", "joint_states=/nothing"]) == 1
    assert (tmp_path / "kept" / "bag.mcap").read_bytes() == before
    assert main(replayed) == 0
    assert (tmp_path / "kept" / "bag.mcap").read_bytes() != before
    assert {file.name for file in tmp_path.iterdir()} == {"kept", "other"}

"""Commands compare and report: arguments, printed differences, exit codes, and the page."""

import argparse
import json
import re
import shutil
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import BagError, BagWarning, RobotDynamicsError
from robot_dynamics_ros.base.resources import find_resource, robot_urdf
from robot_dynamics_ros.cli.command_line import read_series
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings.bags import (
    BagReader,
    BagWriter,
    compare_bags,
    read_joint_states,
)
from robot_dynamics_ros.recordings.messages.cdr import LITTLE_ENDIAN
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from support.bag_recordings import FLOAT, JOINT_STATE, TEXT, text
from support.commands import parse, run
from support.report_recordings import ARM, COMMANDS, STATES, record

# --- compare


def write(path: Path, *numbers: float, topic: str = "/x") -> str:
    with BagWriter(path, {topic: FLOAT}) as writer:
        for k, number in enumerate(numbers):
            writer.write(topic, k, LITTLE_ENDIAN + struct.pack("<d", number))
    return str(path)


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a", 1.0, 2.0)
    b = write(tmp_path / "b", 1.0, 2.25)
    assert run("compare", a, a) == 0
    assert run("compare", a, b) == 1
    assert run("compare", a, b, "--atol", "0.25") == 0
    assert run("compare", a, b, "--rtol", "0.12", "--topics", "/x") == 0
    capsys.readouterr()
    assert run("compare", a, str(tmp_path / "c")) == 2
    reported = capsys.readouterr()
    assert str(tmp_path / "c") in reported.err and not reported.out
    assert run("compare", a, write(tmp_path / "y", 1.0, topic="/y")) == 2


def test_a_misspelt_topic_is_answered_by_the_similar_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write(tmp_path / "a", 1.0, topic="/efforts")
    assert run("compare", bag, bag, "--topics", "effort") == 2
    assert "mean /efforts?" in capsys.readouterr().err
    states = record(tmp_path / "states")
    with pytest.raises(RobotDynamicsError, match=rf"mean {STATES}\?"):
        run(
            "torque",
            states,
            "--topic",
            STATES.removesuffix("s"),
            "--robot",
            "planar_2r",
        )


def test_names_cannot_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "/x\x1b[2J\x9b2J\x07"
    a = write(tmp_path / "a", 1.0, topic=name)
    b = write(tmp_path / "b", 2.0, topic=name)
    assert (
        main(["compare", a, b]),
        main(["compare", a, write(tmp_path / "c", 1.0)]),
    ) == (1, 2)
    reported = capsys.readouterr()
    for printed in (reported.out, reported.err):
        assert r"/x\x1b[2J\x9b2J\x07" in printed and not set(printed) & set(
            "\x1b\x9b\x07"
        )


@pytest.mark.parametrize(
    "topics", [["--topics=/x", "--topics=/y"], ["--topics", "/x", "/y", "--"]]
)
def test_topics_before_the_bags(topics: list[str]) -> None:
    parsed = parse(
        "compare", "--rename=c=d", "--rename", "e=f", "g=h", *topics, "a", "b"
    )
    assert (parsed.a, parsed.b, parsed.topics) == (Path("a"), Path("b"), ["/x", "/y"])
    assert parsed.rename == [("c", "d"), ("e", "f"), ("g", "h")]


@pytest.mark.parametrize(
    "line",
    [("compare", "--topics", "/x", "a", "b"), ("report", "--rename", "c=d", "bag")],
)
def test_missing_bags_are_an_error_with_a_cure(
    line: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(*line)
    assert "Cure: " in capsys.readouterr().err


def test_compare_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a", 1.0, 2.0, np.inf)
    b = write(tmp_path / "b", 1.0, 2.25, 3.0)
    assert run("compare", a, b, "--json") == 1
    facts = json.loads(capsys.readouterr().out)
    comparison = compare_bags(a, b)
    (topic,) = facts["topics"]
    expected = comparison.topics[0].fields[0]
    assert (facts["a"], facts["matches"], topic["topic"], topic["count"]) == (
        a,
        False,
        "/x",
        3,
    )
    (field,) = topic["fields"]
    assert (field["name"], field["beyond"], field["matches"]) == (
        expected.name,
        2,
        False,
    )
    assert (field["largest"], field["a"], field["b"]) == (None, None, 3.0), "not finite"
    assert field["first_at"]["b"] == 1
    assert run("compare", a, a, "--json") == 0
    assert json.loads(capsys.readouterr().out)["matches"] is True
    assert run("compare", a, tmp_path / "none", "--json") == 2
    assert not capsys.readouterr().out


def test_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a", 1.0, 2.0)
    b = write(tmp_path / "b", 1.0, 2.25)
    out = tmp_path / "out.xml"
    for line, code, kinds in (
        ((a, a), 0, []),
        ((a, b), 1, ["failure"]),
        ((a, "nothing"), 2, ["error"]),
    ):
        assert run("compare", *line, "--junit", out, "--overwrite") == code
        (case,) = ElementTree.parse(out).getroot().iter("testcase")
        assert [problem.tag for problem in case] == kinds
    assert run("compare", a, a, "--junit", tmp_path / "missing" / "out.xml") == 2
    assert "missing" in capsys.readouterr().err


# --- report


def page_of(*line: str) -> str:
    """Return the page that the command writes."""
    pytest.importorskip("plotly")
    arguments = parse("report", *line)
    arguments.run(arguments)
    return Path(arguments.output).read_text(encoding="utf-8").partition("<main>")[2]


def record_with_description(folder: Path, description: str) -> None:
    with (
        BagReader(record(folder / "plain")) as plain,
        BagWriter(folder / "bag", {**plain.topics, "/robot_description": TEXT}) as bag,
    ):
        bag.write("/robot_description", 1, text(description))
        for message in plain.messages():
            bag.write(message.topic, message.received, message.data)


def test_robot_of_the_bag_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_with_description(tmp_path, ARM)
    monkeypatch.chdir(tmp_path)
    page = page_of("bag")
    assert (
        (tmp_path / "report.html").exists()
        and "effort limit ±8 Nm" in page
        and "No statement on the torque" not in page
    )


def test_robot_of_a_file_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    bag = record(tmp_path / "bag", names=("old_a", "b"))
    line = (str(bag), "--overwrite", "-o", str(tmp_path / "out.html"))
    page = page_of(
        *line,
        "--robot",
        str(tmp_path / "arm.urdf"),
        "--rename",
        "old_=",
        "--topic",
        STATES,
    )
    assert "effort limit ±8 Nm" in page and "old_a" not in page
    path, first, *_ = capsys.readouterr().out.splitlines()
    assert "out.html: " in path and first == "  Tracks well"
    assert "Without a robot model" in page_of(*line) and "old_a" in page_of(*line)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a robot, and a bag of its controller, which has locked the second joint at 1.2 rad."""
    folder = tmp_path_factory.mktemp("locked")
    robot = shutil.copy(robot_urdf("planar_2r"), folder / "arm.urdf")
    joints = ("--joints", "joint1", "--locked", "joint2=1.2")
    run("simulate", robot, *joints, "--duration", 2, "-o", folder / "bag")
    return robot, folder / "bag"


@pytest.mark.parametrize("command", ["torque", "report", "identify", "view"])
@pytest.mark.parametrize(("given", "position"), [((), "1.2"), (("joint2=0.5",), "0.5")])
def test_joints_are_locked_as_in_the_recorded_controller(
    command: str,
    given: tuple[str, ...],
    position: str,
    locked: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    robot, bag = locked
    files = {"report": ["-o", tmp_path / "page"], "identify": ["-o", tmp_path / "yaml"]}
    before = [bag]
    if command == "view":
        viewer = pytest.importorskip("robot_dynamics_ros.analysis.view.viewer")
        monkeypatch.setattr(viewer.Viewer, "serve", lambda *_, **__: None)
        before = [robot, bag]
    options = ["--joints", "joint1", "--locked", *given] if given else []
    run(command, *before, *files.get(command, []), *options)
    assert f"locked: joint2 at {position}\n" in capsys.readouterr().err


def test_torque_with_locked_joints(
    locked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is that of the controller; joints that are not recorded cannot be chosen."""
    for robot in ([], ["--robot", locked[0]]):
        run("torque", locked[1], *robot, "--json")
        result = json.loads(capsys.readouterr().out)
        assert result["hints"] == [] and result["joints"][0]["explained"] > 0.999
    with pytest.raises(BagError, match="joint2"):
        run("torque", locked[1], "--joints", "joint1", "joint2")


def test_omitted_joints_are_locked_where_they_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    bag = record(tmp_path / "bag")
    first = read_joint_states(bag, [STATES], joint_names=["b"])[STATES].position[0, 0]
    run(
        "torque",
        bag,
        "--robot",
        tmp_path / "arm.urdf",
        "--topic",
        STATES,
        "--joints",
        "a",
    )
    assert f"locked: b at {first:g}\n" in capsys.readouterr().err


def test_a_locked_joint_that_moves_is_named(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    bag = record(tmp_path / "bag")
    line = ("--robot", tmp_path / "arm.urdf", "--topic", STATES)
    moves = "b is locked at .*, but recorded from"
    with pytest.raises(RobotDynamicsError, match=moves):
        run("identify", bag, *line, "--locked", "b=90", "-o", tmp_path / "found.yaml")
    with pytest.warns(BagWarning, match=moves):
        run("torque", bag, *line, "--joints", "a")


def test_robot_that_cannot_be_used(tmp_path: Path) -> None:
    """A robot of the command line is an error; an unusable one in the bag is only reported."""
    record_with_description(
        tmp_path, ARM.replace('name="a"', 'name="c"').replace('name="b"', 'name="d"')
    )
    line = (str(tmp_path / "bag"), "--overwrite", "-o", str(tmp_path / "out.html"))
    assert "the robot&#x27;s joints are c, d" in page_of(*line)
    with pytest.raises(RobotDynamicsError, match="joints are panda_joint1.* OLD=NEW"):
        page_of(*line, "--robot", "panda")
    (tmp_path / "arm.urdf").write_text(ARM)
    bag = record(tmp_path / "renamed", names=("left_a", "left_b", "other"))
    with pytest.raises(RobotDynamicsError, match="--rename left_=, "):
        page_of(str(bag), *line[1:], "--robot", str(tmp_path / "arm.urdf"))


def test_torque_of_the_installed_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measured RMS and worst joint are those of the command torque; the finding comes first."""
    bag = str(find_resource("recordings", "panda_exciting_trajectory.mcap"))
    robot = ("--robot", "panda")
    page = page_of(
        bag, *robot, "--rename", "fer_=panda_", "-o", str(tmp_path / "out.html")
    )
    assert "criterion in 4 of 7 joints" in capsys.readouterr().out.splitlines()[1]
    run("torque", bag, *robot, "--rename", "fer_=panda_")
    table = [
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("panda_joint")
    ]
    cells = [
        re.findall("<td[^>]*>([^<]*)</td>", row)
        for row in page.split("<tr>")
        if ">Nm</td>" in row
    ]
    shown = np.array([[row[2], row[6]] for row in cells], dtype=float)
    np.testing.assert_allclose(
        shown,
        np.array([[row[2], row[7]] for row in table], dtype=float),
        rtol=1e-3,
        atol=1e-3,
    )
    options = (
        "--rename",
        "fer_=panda_",
        "--cutoff",
        "4",
        "--drive-gains",
        "1.1",
        "--effort-delay",
        "0.01",
    )
    out = ("-o", str(tmp_path / "out.html"), "--overwrite")
    other = page_of(bag, *robot, *options, *out, "--compare-dynamics", "panda_hand")
    capsys.readouterr()
    run("torque", bag, *robot, *options, "--dynamics", "panda_hand", "--json")
    rows = [
        re.findall("<td[^>]*>([^<]*)</td>", row)
        for row in other.split("<tr>")
        if ">Nm</td>" in row
    ]
    errors = [row["error"] for row in json.loads(capsys.readouterr().out)["joints"]]
    np.testing.assert_allclose([float(row[-1]) for row in rows], errors, rtol=1e-3)
    worst = max(cells, key=lambda row: float(row[6]) / float(row[7]))
    assert f"Worst is {worst[0]}: " in page


def test_joint_states_are_read_from_the_topic_that_is_named(tmp_path: Path) -> None:
    """The default of two topics is the one named joint_states."""
    bag = record(tmp_path / "bag", cycles=20)
    output = str(tmp_path / "out.html")
    assert f"the stamps on {STATES}, " in page_of(str(bag), "-o", output)
    page = page_of(str(bag), "-o", output, "--overwrite", "--topic", COMMANDS)
    assert f"the stamps on {COMMANDS}, " in page and JOINT_STATE in page


@pytest.mark.parametrize("other", ["/controller/command_states", "/filtered"])
def test_only_a_choice_between_measurements_is_noted(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = JointStateWriter(["joint1", "joint2"])
    with BagWriter(
        tmp_path / "bag", dict.fromkeys(["/joint_states", other], JOINT_STATE)
    ) as writer:
        for k in range(3):
            data = states.write(k, np.zeros(2), np.zeros(2), np.zeros(2))
            writer.write("/joint_states", k, data)
            writer.write(other, k, data)
    arguments = argparse.Namespace(topic=None, rename=[])
    assert len(read_series(tmp_path / "bag", arguments).stamps) == 3
    assert (other in capsys.readouterr().err) == (other == "/filtered")

"""Robots that are xacro files, or names of the package robot_descriptions."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.cli.named_robots import named_robot
from robot_dynamics_ros.dynamics.model.robot_source import RobotSource
from support.commands import parse, run

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  {more}
  <xacro:macro name="bob" params="mass"><link name="bob"><inertial><origin xyz="${{1 / 2}} 0 0"/>
    <mass value="${{mass}}"/><inertia ixx="0" iyy="0" izz="0"/></inertial></link></xacro:macro>
  <link name="base"/> <xacro:bob mass="$(arg mass)"/>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="1"/></joint>
</robot>"""
COMMAND = Path(sys.executable).parent / "xacro"


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """Write a pendulum whose mass is a xacro argument."""
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM.format(more=""), encoding="utf-8")
    return path


def read(path: Path, *arguments: str) -> RobotSource:
    return named_robot(parse("inspect", path, *arguments))


def weight(source: RobotSource) -> float:
    model: RobotModel = source.model()
    return float(abs(model.gravity_torque([0.0])[0]))


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("way", ["module", "command"])
def test_is_expanded_with_its_arguments(
    way: str, arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(
        "xacro", reason="pip install xacro, as requirements/test.txt has it"
    )
    if way == "command":
        if not COMMAND.exists():
            pytest.skip(f"{COMMAND} is not there")
        monkeypatch.setitem(sys.modules, "xacro", None)
        monkeypatch.setenv("PATH", f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}")
    assert weight(read(arm)) == pytest.approx(9.81)
    assert weight(read(arm, "--xacro-arg", "mass:=3")) == pytest.approx(1.5 * 9.81)
    arm.write_text(ARM.format(more="<a b='${nosuch}'/>"), encoding="utf-8")
    with pytest.raises(RobotDynamicsError, match="arm.urdf.xacro: .*nosuch"):
        read(arm)
    arm.write_text(
        ARM.format(
            more='<xacro:include filename="$(find nosuch_description)/a.xacro"/>'
        ),
        encoding="utf-8",
    )
    with pytest.raises(RobotDynamicsError, match="arm.urdf.xacro: xacro: "):
        read(arm)


def test_every_command_takes_it(
    arm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """xacro files are accepted as ROBOT and as --robot."""
    pytest.importorskip("xacro")
    run("inspect", arm, "--xacro-arg", "mass:=3")
    run(
        "excite",
        "--robot",
        arm,
        "--xacro-arg",
        "mass:=3",
        "-o",
        tmp_path / "excitation.yaml",
    )
    assert "3 kg move" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("inspect", arm, "--xacro-arg", "mass=3")
    assert "mass=3" in capsys.readouterr().err


def test_without_xacro_its_installation_is_the_cure(
    arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RobotDynamicsError, match="arm.urdf.xacro: .*xacro"):
        read(arm)


def test_errors_of_the_urdf_name_the_file(arm: Path) -> None:
    pytest.importorskip("xacro")
    arm.write_text(ARM.format(more='<link name="alone"/>'), encoding="utf-8")
    with pytest.raises(
        RobotDynamicsError, match=r"arm.urdf.xacro: links .*alone.* have no parent"
    ):
        read(arm).model()


# --- robot_descriptions


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache of robot_descriptions, in which it already has the repository of Romeo, and forbid downloads."""
    pytest.importorskip(
        "robot_descriptions",
        reason="pip install robot_descriptions, as requirements/test.txt has it",
    )
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "none")
    urdf = (
        tmp_path
        / "romeo_robot"
        / "romeo_description"
        / "urdf"
        / "romeo_generated_urdf"
        / "romeo.urdf"
    )
    urdf.parent.mkdir(parents=True)
    shutil.copy(robot_urdf("planar_2r"), urdf)
    author = ("-c", "user.name=test", "-c", "user.email=test@invalid")
    for words in (
        ("init", "-q"),
        ("add", "."),
        (*author, "commit", "-qm", "Romeo"),
        ("tag", "0.1.5"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path / "romeo_robot", check=True)
    return urdf


def test_a_name_of_robot_descriptions_is_a_robot(
    described: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("inspect", "romeo_description", "--json")
    assert json.loads(capsys.readouterr().out)["source"] == str(described)


def test_errors_of_robot_descriptions(described: Path) -> None:
    with pytest.raises(RobotDynamicsError, match=r"reachy_description: .*https"):
        read(Path("reachy_description"))
    with pytest.raises(
        RobotDynamicsError,
        match=r"ur10e_mj_description: .*no URDF.*mean ur10e_description",
    ):
        read(Path("ur10e_mj_description"))


def test_shipped_robots_and_files_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    assert read(Path("panda")).name == str(robot_urdf("panda"))
    monkeypatch.chdir(tmp_path)
    shutil.copy(robot_urdf("panda"), "romeo_description")
    assert read(Path("romeo_description")).name == "romeo_description"
    with pytest.raises(RobotDynamicsError, match=r"pip install robot_descriptions"):
        read(Path("ur10e_description"))


@pytest.mark.filterwarnings("error::robot_dynamics_ros.RobotModelWarning")
def test_published_values_of_shipped_robots_are_no_warnings() -> None:
    for name in robot_names():
        assert read(Path(name)).model().n > 1

"""robot_dynamics from-dh, and textbook arms by name."""

from pathlib import Path

import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.cli.named_robots import named_robot
from support.commands import parse, run
from support.comparing import assert_close


def test_the_files_are_the_arm(tmp_path: Path) -> None:
    urdf = tmp_path / "geared.urdf"
    run("from-dh", "tsai_geared_2r", "--set", "n13=50", "m2=2+1", "-o", urdf)
    model = RobotModel.from_urdf_file(urdf, dynamics=tmp_path / "geared.dynamics.yaml")
    assert_close(
        model.mass_matrix([0, 1]),
        RobotModel.shipped("tsai_geared_2r", n13=50).mass_matrix([0, 1]),
        1e-15,
    )


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    table = tmp_path / "arm.yaml"
    urdf = tmp_path / "arm.urdf"
    beside = tmp_path / "arm.dynamics.yaml"
    table.write_text("rows: [[0, 0, 1, 0]]\ndynamics: {gravity: [0, 0, 0]}")
    beside.write_text("mine")
    for output in (urdf, table):
        with pytest.raises(RobotDynamicsError, match="Cure: "):
            run("from-dh", table, "-o", output)
    with pytest.raises(RobotDynamicsError, match="overlaps"):
        run("from-dh", table, "-o", table, "--overwrite")
    assert not urdf.exists() and beside.read_text() == "mine"
    run("from-dh", table, "-o", urdf, "--overwrite")
    assert urdf.exists() and "gravity" in beside.read_text()


def test_arms_by_name_with_parameters() -> None:
    source = named_robot(
        parse("inspect", "spong_remote_elbow", "--xacro-arg", "l1:=1/2", "m2:=7")
    )
    expected = RobotModel.shipped("spong_remote_elbow", l1=0.5, m2=7.0)
    assert_close(
        source.model().mass_matrix([0.1, 0.5]), expected.mass_matrix([0.1, 0.5]), 1e-15
    )
    assert source.joint_names() == ("p1", "p2")
    with pytest.raises(RobotDynamicsError, match="l3"):
        named_robot(parse("inspect", "spong_remote_elbow", "--xacro-arg", "l3:=1"))
    with pytest.raises(RobotDynamicsError, match="did you mean craig"):
        named_robot(parse("inspect", "craig_r2"))

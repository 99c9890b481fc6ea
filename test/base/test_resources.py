"""Search of installed files in the source tree; test/integration/test_install.py tests installations."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base import resources
from robot_dynamics_ros.base.errors import RobotDynamicsError

ROOT = Path(__file__).resolve().parents[2]


def test_files_of_the_source_tree_are_found() -> None:
    assert resources.share_directory() == ROOT
    assert set(resources.robot_names()) >= {
        "panda",
        "ur5e",
        "puma560",
        "scara",
        "planar_2r",
    }
    for name in resources.robot_names():
        assert resources.robot_urdf(name) == ROOT / "urdf" / f"{name}.urdf"
    assert resources.dynamics_file("", "panda") == str(
        ROOT / "config" / "panda.dynamics.yaml"
    )
    for kind in ("urdf", "textbook_arms", "config", "launch", "recordings"):
        for path in (ROOT / kind).glob("*.*"):
            assert resources.find_resource(kind, path.name) == path


@pytest.mark.parametrize(
    "name", ["pandaa.urdf", "panda", "", "../urdf/panda.urdf", "*"]
)
def test_missing_name_is_refused(name: str) -> None:
    with pytest.raises(RobotDynamicsError) as error:
        resources.find_resource("urdf", name)
    assert repr(name) in str(error.value)


def test_an_unknown_robot_or_kind_is_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="'pandaa'"):
        resources.robot_urdf("pandaa")
    with pytest.raises(RobotDynamicsError, match="'meshes'"):
        resources.find_resource("meshes", "panda.stl")


def test_missing_files_are_reported(tmp_path: Path) -> None:
    lonely = tmp_path / "robot_dynamics_ros"
    shutil.copytree(Path(resources.__file__).parent, lonely / "base")
    (lonely / "__init__.py").touch()
    # A package.xml of something else beside the modules is not ours.
    (tmp_path / "package.xml").write_text(
        "<package><name>other</name></package>", encoding="utf-8"
    )
    code = "from robot_dynamics_ros.base.resources import robot_names; robot_names()"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "RobotDynamicsError" in run.stderr and str(lonely) in run.stderr


def test_robots_by_name() -> None:
    for name in resources.robot_names():
        model = RobotModel.shipped(name)
        file = resources.dynamics_file(None, name)
        loaded = RobotModel.from_urdf_file(resources.robot_urdf(name), dynamics=file)
        assert (model.inertial_parameters == loaded.inertial_parameters).all()
        assert (model.friction_parameters == loaded.friction_parameters).all()
    panda = RobotModel.shipped("panda")
    coulomb = RobotModel.shipped("panda", dynamics="panda_coulomb")
    assert (panda.friction_parameters != coulomb.friction_parameters).any()
    assert resources.dynamics_file("panda_coulomb", "panda") == str(
        ROOT / "config" / "panda_coulomb.dynamics.yaml"
    )
    assert resources.dynamics_file("none", "panda") is None
    with_gripper = RobotModel.shipped("panda", dynamics="panda_hand")
    assert (with_gripper.friction_parameters == panda.friction_parameters).all()
    with pytest.raises(RobotDynamicsError, match=r"pandaa: .*mean panda\?"):
        RobotModel.shipped("panda", dynamics="pandaa")
    with pytest.raises(RobotDynamicsError, match=r"craig: .*mean planar_2r_craig\?"):
        resources.dynamics_file("craig", "planar_2r")


def test_the_error_of_an_unknown_robot_lists_all_robots_and_textbook_arms() -> None:
    with pytest.raises(RobotDynamicsError) as error:
        RobotModel.shipped("craig_r")
    text = str(error.value)
    known = (*resources.robot_names(), *resources.textbook_arm_names())
    assert all(name in text for name in known) and text.endswith("mean craig_rp?")


def test_dynamics_files_by_path(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("gravity: [0, 0, -1.62]", encoding="utf-8")
    assert resources.dynamics_file(own, "panda") == str(own)
    for unknown in (tmp_path / "onw.yaml", tmp_path / "own"):
        with pytest.raises(RobotDynamicsError, match=f"mean {own}"):
            resources.dynamics_file(unknown)
    for impossible in ("a" * 5000, f"{'a' * 5000}/b"):
        with pytest.raises(RobotDynamicsError, match="no such dynamics file"):
            resources.dynamics_file(impossible)

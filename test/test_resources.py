"""Finding the files that come with the package; test/integration/test_install.py does it once installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros import resources
from robot_dynamics_ros.errors import RobotDynamicsError

ROOT = Path(__file__).resolve().parent.parent
ROBOTS = {"panda", "ur5e", "puma560", "scara", "planar_2r"}


def test_source_tree() -> None:
    assert resources.share_directory() == ROOT


def test_robots() -> None:
    assert set(resources.robot_names()) >= ROBOTS
    for name in resources.robot_names():
        assert resources.robot_urdf(name) == ROOT / "urdf" / f"{name}.urdf"


def test_dynamics_file_of_a_robot() -> None:
    assert resources.robot_dynamics_file("panda") == ROOT / "config" / "panda.dynamics.yaml"


def test_every_file_is_found_by_its_name() -> None:
    for kind in ("urdf", "config", "launch"):
        for path in (ROOT / kind).glob("*.*"):
            assert resources.find_resource(kind, path.name) == path


@pytest.mark.parametrize("name", ["pandaa.urdf", "panda", "", "../urdf/panda.urdf", "../package.xml", "*"])
def test_a_name_that_is_not_there_is_named_beside_those_that_are(name: str) -> None:
    with pytest.raises(RobotDynamicsError) as error:
        resources.find_resource("urdf", name)
    assert repr(name) in str(error.value)
    assert "panda.urdf" in str(error.value)


@pytest.mark.parametrize("find", [resources.robot_urdf, resources.robot_dynamics_file])
def test_unknown_robot(find: object) -> None:
    assert callable(find)
    with pytest.raises(RobotDynamicsError, match="'pandaa'.*panda, "):
        find("pandaa")


def test_unknown_kind() -> None:
    with pytest.raises(RobotDynamicsError, match="'meshes'.*urdf, config, launch"):
        resources.find_resource("meshes", "panda.stl")


def test_modules_without_their_files_say_so(tmp_path: Path) -> None:
    lonely = tmp_path / "robot_dynamics_ros"
    lonely.mkdir()
    (lonely / "__init__.py").touch()
    # A package.xml of something else beside the modules is not ours.
    (tmp_path / "package.xml").write_text("<package><name>other</name></package>", encoding="utf-8")
    for module in (resources.__file__, sys.modules[RobotDynamicsError.__module__].__file__):
        assert module is not None
        shutil.copy(module, lonely)
    run = subprocess.run(
        [sys.executable, "-c", "from robot_dynamics_ros.resources import robot_names; robot_names()"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "RobotDynamicsError: the files of robot_dynamics_ros are missing" in run.stderr
    assert f"no share/robot_dynamics_ros/package.xml above {lonely}" in run.stderr
    assert "install the package again" in run.stderr

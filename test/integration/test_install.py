"""Installation of the package with pip and with colcon: it finds its files and its commands."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "robot_dynamics_ros"
COMMANDS = {
    "computed_torque_node",
    "simulation_node",
    "trajectory_node",
    "robot_dynamics",
}

# Would bring in another copy of the package, or make setuptools warn.
UNWANTED = {"PYTHONPATH", "AMENT_PREFIX_PATH", "PYTHONDONTWRITEBYTECODE"}

# Prints where the package was imported from and every file of its own that it finds.
FIND = """
import json, robot_dynamics_ros
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import *
share = share_directory()
files = [str(find_resource(kind, path.name).relative_to(share))
         for kind in ("urdf", "config", "launch", "rviz", "recordings") for path in (share / kind).glob("*.*")]
model = RobotModel.from_urdf_file(robot_urdf("panda"), dynamics=dynamics_file(None, "panda"))
print(json.dumps([robot_dynamics_ros.__file__, str(share), sorted(files), model.n]))
"""

# What `ros2 run` does to find a package's executables.
EXECUTABLES = """
import json, os
from ament_index_python.packages import get_package_prefix
folder = os.path.join(get_package_prefix("robot_dynamics_ros"), "lib", "robot_dynamics_ros")
paths = [os.path.join(folder, name) for name in os.listdir(folder)]
print(json.dumps([path for path in paths if os.access(path, os.X_OK)]))
"""


def _run(command: list[str], cwd: Path, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    run = subprocess.run(
        command, cwd=cwd, env=env | environment, capture_output=True, text=True
    )
    assert run.returncode == 0, (
        f"{command} ended with {run.returncode}:\n{run.stdout}\n{run.stderr}"
    )
    return run.stdout


def _pip(cwd: Path, *arguments: str) -> None:
    """Run pip without network; its dependencies must be installed."""
    _run(
        [
            sys.executable,
            "-m",
            "pip",
            "-q",
            *arguments,
            "--no-index",
            "--no-deps",
            "--disable-pip-version-check",
        ],
        cwd,
    )


def _assert_finds_everything(output: str, inside: Path, share: Path) -> None:
    module, found, files, joints = json.loads(output.splitlines()[-1])
    expected = [
        f"{kind}/{path.name}"
        for kind in ("urdf", "config", "launch", "rviz", "recordings")
        for path in (ROOT / kind).glob("*.*")
    ]
    assert Path(module).resolve().is_relative_to(inside.resolve())
    assert Path(found) == share.resolve()
    assert files == sorted(expected) != []
    assert joints == 7


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source tree, in which builds may leave files."""
    made = shutil.ignore_patterns(
        ".*", "build", "install", "log", "demo_output", "__pycache__", "*.egg-info"
    )
    return Path(
        shutil.copytree(ROOT, tmp_path_factory.mktemp("src") / PACKAGE, ignore=made)
    )


def test_source_distribution_holds_every_file(source: Path, tmp_path: Path) -> None:
    """It includes tests, docs and examples. If this fails, correct MANIFEST.in."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("no checkout")
    _run([sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path)], source)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        held = {name.partition("/")[2] for name in tar.getnames()}
    expected = {
        name
        for name in listed.stdout.splitlines()
        if not name.startswith(".") and (ROOT / name).exists()
    }
    assert expected - held == set()
    assert {name for name in held if "__pycache__" in name} == set()


def test_pip(source: Path, tmp_path: Path) -> None:
    """Install to a virtual environment and to a prefix, the layout of --user, which pip refuses in the former."""
    _pip(tmp_path, "wheel", "--no-build-isolation", "-w", str(tmp_path), str(source))
    (wheel,) = tmp_path.glob("*.whl")
    environment = tmp_path / "venv"
    prefix = tmp_path / "prefix"
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], tmp_path)
    _pip(
        tmp_path, "--python", str(environment / "bin" / "python"), "install", str(wheel)
    )
    (site,) = environment.glob("lib/python3.*/site-packages")
    # A folder named in a .pth file does not get its own .pth files read: an editable install stays unseen.
    (site / "peers.pth").write_text(
        "\n".join(path for path in sys.path if path.endswith("-packages"))
    )
    output = _run([str(environment / "bin" / "python"), "-c", FIND], environment)
    _assert_finds_everything(output, environment, environment / "share" / PACKAGE)
    assert {path.name for path in (environment / "bin").iterdir()} >= COMMANDS
    assert "usage: robot_dynamics" in _run(
        [str(environment / "bin" / "robot_dynamics"), "--help"], environment
    )

    _pip(tmp_path, "install", "--ignore-installed", "--prefix", str(prefix), str(wheel))
    (site,) = prefix.rglob(PACKAGE + "-*.dist-info")
    output = _run([sys.executable, "-c", FIND], tmp_path, PYTHONPATH=str(site.parent))
    _assert_finds_everything(output, prefix, prefix / "share" / PACKAGE)


@pytest.mark.parametrize(
    "option",
    [
        "--symlink-install",
        pytest.param("", marks=pytest.mark.slow),
        pytest.param("--merge-install", marks=pytest.mark.slow),
    ],
)
def test_colcon(option: str, source: Path, tmp_path: Path) -> None:
    prefix = (
        tmp_path / "install"
        if option == "--merge-install"
        else tmp_path / "install" / PACKAGE
    )
    build = ["colcon", "build", "--base-paths", str(source), *option.split()]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ros = {"AMENT_PREFIX_PATH": sys.prefix, "PATH": path}
    log = _run(build, tmp_path, COLCON_HOME=str(tmp_path), **ros)
    assert "1 package finished" in log and "stderr" not in log, log

    def sourced(command: str) -> str:
        return _run(
            ["bash", "-c", f"source install/setup.bash && {command}"], tmp_path, **ros
        )

    inside = source if option == "--symlink-install" else prefix
    share = source if option == "--symlink-install" else prefix / "share" / PACKAGE
    _assert_finds_everything(sourced(f"python -c '{FIND}'"), inside, share)

    # ROS tools look in the share directory themselves, so the files are there in each case.
    assert (
        prefix / "share" / PACKAGE / "launch" / "computed_torque.launch.py"
    ).is_file()
    executables = [
        Path(path) for path in json.loads(sourced(f"python -c '{EXECUTABLES}'"))
    ]
    assert {path.name for path in executables} == COMMANDS
    assert {path.parent for path in executables} == {prefix / "lib" / PACKAGE}
    assert "usage: robot_dynamics" in sourced(
        f"{prefix / 'lib' / PACKAGE / 'robot_dynamics'} --help"
    )

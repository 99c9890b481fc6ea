"""package.xml, setup.py and the sources agree, and every command starts."""

import ast
import importlib
import json
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from catkin_pkg.package import Package, parse_package

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "robot_dynamics_ros"

# Imported name: (rosdep key, distribution on PyPI). rosdep/python.yaml of ros/rosdistro has the keys; what has none
# here is an optional extra.
# A module that is not listed is a ROS package: its key is its own name, PyPI has it as ros-<name>.
KEYS: dict[str, tuple[str | None, str | None]] = {
    "argcomplete": ("python3-argcomplete", "argcomplete"),
    # backports.zstd, compression.zstd and lz4 come with rosbags
    "backports": ("python3-rosbags-pip", "rosbags"),
    "compression": ("python3-rosbags-pip", "rosbags"),
    # optional when it runs; ROS distributions alone have it
    "control_msgs": ("control_msgs", None),
    "launch": ("launch", None),
    "launch_ros": ("launch_ros", None),
    "lz4": ("python3-rosbags-pip", "rosbags"),
    "matplotlib": ("python3-matplotlib", "matplotlib"),
    # `robot_dynamics identify` compares its files with both, where they are installed
    "mujoco": (None, None),
    "numba": ("python3-numba", "numba"),
    "numpy": ("python3-numpy", "numpy"),
    "pinocchio": (None, None),
    "plotly": (None, "plotly"),  # no rosdep key: `robot_dynamics report` names pip
    # where it is installed: `robot_dynamics` names pip
    "robot_descriptions": (None, "robot_descriptions"),
    "rosbags": ("python3-rosbags-pip", "rosbags"),
    "scipy": ("python3-scipy", "scipy"),
    # `robot_dynamics inspect --equations` alone, which names pip
    "sympy": (None, "sympy"),
    "tqdm": ("python3-tqdm", "tqdm"),
    "trimesh": (None, "trimesh"),
    "urdf_parser_py": ("urdfdom_py", "urdf-parser-py"),
    "viser": (None, "viser"),  # no rosdep key: `robot_dynamics view` names pip
    # an extra of pip; package.xml names it for the launch files
    "xacro": (None, "xacro"),
    "yaml": ("python3-yaml", "PyYAML"),
}
# The parts that only run where ROS or a plotter is installed as well.
WITH_EXTRAS = {"cli", "ros", "report", "view"}

SETUP = """
import json, setuptools
from distutils.core import run_setup
d = run_setup("setup.py", stop_after="init")
print(json.dumps({
    "name": d.get_name(), "version": d.get_version(), "maintainer": [d.get_maintainer(), d.get_maintainer_email()],
    "urls": d.metadata.project_urls, "license": d.get_license(), "packages": d.packages, "data_files": d.data_files,
    "entry_points": d.entry_points,
    "install_requires": list(d.install_requires),
    "extras_require": {extra: list(names) for extra, names in d.extras_require.items()},
}))
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def manifest() -> Package:
    """Return package.xml, read by the parser of colcon, rosdep and bloom; its warnings count as errors."""
    warnings: list[str] = []
    package = parse_package(str(ROOT / "package.xml"), warnings=warnings)
    assert warnings == []
    return package


@pytest.fixture(scope="module")
def setup() -> dict[str, Any]:
    """Return the arguments that setup.py passes to setuptools."""
    run = python(SETUP)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout.splitlines()[-1]))


def _name(requirement: str) -> str:
    return re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0].lower()


def _imports(*files: Path) -> set[str]:
    names = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                "import_module"
            ):
                (name,) = node.args
                if isinstance(name, ast.Constant):
                    names.add(str(name.value).split(".")[0])
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {PACKAGE}


SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))


def _key(module: str) -> str | None:
    return KEYS[module][0] if module in KEYS else module


def _distribution(module: str) -> str | None:
    return KEYS[module][1] if module in KEYS else "ros-" + module.replace("_", "-")


def test_package_xml_and_setup_agree(manifest: Package, setup: dict[str, Any]) -> None:
    person = manifest.maintainers[0]
    assert manifest.get_build_type() == "ament_python"
    assert setup["name"] == manifest.name == PACKAGE
    assert (
        setup["version"]
        == manifest.version
        == importlib.import_module(PACKAGE).__version__
    )
    assert setup["license"] == manifest.licenses[0]
    assert setup["maintainer"] == [person.name, person.email]
    assert setup["urls"] == {url.type: url.url for url in manifest.urls}


def test_setup_names_the_versions_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit, match=r"3\.10 to 3\.13"):
        runpy.run_path(str(ROOT / "setup.py"))
    ast.parse((ROOT / "setup.py").read_text(), feature_version=(3, 6))


def test_dir_lists_the_public_names() -> None:
    package = importlib.import_module(PACKAGE)
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, name) for name in dir(package))


def test_every_module_and_resource_is_installed(setup: dict[str, Any]) -> None:
    assert {".".join(path.parent.relative_to(ROOT).parts) for path in SOURCES} == set(
        setup["packages"]
    )
    for kind in ("urdf", "textbook_arms", "config", "launch", "rviz", "recordings"):
        installed = dict(setup["data_files"])[f"share/{PACKAGE}/{kind}"]
        present = [
            f"{kind}/{path.name}"
            for path in (ROOT / kind).iterdir()
            if path.name != "__pycache__"
        ]
        assert sorted(installed) == sorted(present) != []


def test_every_import_is_a_dependency_in_package_xml(manifest: Package) -> None:
    imported = _imports(*SOURCES, *(ROOT / "launch").glob("*.py"))
    declared = {depend.name for depend in manifest.exec_depends}
    assert {_key(module) for module in imported} - {None} <= declared


def test_every_import_is_a_dependency_in_setup(setup: dict[str, Any]) -> None:
    library = [
        path
        for path in SOURCES
        if WITH_EXTRAS.isdisjoint(path.relative_to(ROOT / PACKAGE).parts)
    ]
    needed = {
        str(_distribution(module)).lower()
        for module in _imports(*library)
        if _key(module) is not None
    }
    required = {_name(requirement) for requirement in setup["install_requires"]}
    assert needed <= required
    everywhere = {
        str(name).lower()
        for name in {_distribution(module) for module in _imports(*SOURCES)} - {None}
    }
    extras = [
        setup["extras_require"][part]
        for part in ("ros", "demo", "equations", "xacro", "robots")
    ]
    assert everywhere <= required | {_name(name) for extra in extras for name in extra}


def test_the_command_starts_without_extras(setup: dict[str, Any]) -> None:
    """The dependencies of `pip install` are sufficient for --help and for commands that need no extra."""
    required = {_name(requirement) for requirement in setup["install_requires"]}
    extras = {
        module
        for module in _imports(*SOURCES)
        if str(_distribution(module)).lower() not in required
    }
    assert {"rclpy", "matplotlib", "plotly"} <= extras
    load = f"from {PACKAGE}.cli import main; [*map(main.command_parser, main.COMMANDS)]"
    run = python(
        f"import sys; sys.modules.update(dict.fromkeys({sorted(extras)})); {load}"
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_ends_every_command_in_order(
    number: signal.Signals, setup: dict[str, Any]
) -> None:
    for script in setup["entry_points"]["console_scripts"]:
        name, module, function = re.split(" = |:", script)
        run = python(f"""
import importlib, os, sys
class Interrupting:
    def find_spec(name, path, target=None):
        if name in ("numpy", "rclpy"):
            os.kill(os.getpid(), {number:d})
sys.meta_path.insert(0, Interrupting)
sys.argv = ["{name}", "inspect", "panda"]  # robot_dynamics loads the module of its subcommand only
importlib.import_module("{module}").{function}()
""")
        assert (run.returncode, run.stderr) == (
            130 if name == "robot_dynamics" else 0,
            "",
        ), script

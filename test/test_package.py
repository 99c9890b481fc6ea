"""package.xml, setup.py, the changelog and the locks agree, and have the form that their readers accept."""

import ast
import importlib
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from catkin_pkg.changelog import Changelog, populate_changelog_from_rst
from catkin_pkg.package import Package, parse_package
from catkin_pkg.package_version import update_versions

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "robot_dynamics_ros"

# Imported name: (rosdep key, distribution on PyPI). rosdep/python.yaml of ros/rosdistro has the keys; what has none
# here is an optional extra.
# A module that is not listed is a ROS package: its key is its own name, PyPI has it as ros-<name>.
KEYS: dict[str, tuple[str | None, str | None]] = {
    "backports": ("python3-rosbags-pip", "rosbags"),  # backports.zstd, compression.zstd and lz4 come with rosbags
    "compression": ("python3-rosbags-pip", "rosbags"),
    "control_msgs": ("control_msgs", None),  # optional when it runs; ROS distributions alone have it
    "launch": ("launch", None),
    "launch_ros": ("launch_ros", None),
    "lz4": ("python3-rosbags-pip", "rosbags"),
    "matplotlib": ("python3-matplotlib", "matplotlib"),
    "numba": ("python3-numba", "numba"),
    "numpy": ("python3-numpy", "numpy"),
    "plotly": (None, "plotly"),  # no rosdep key: `robot_dynamics report` names pip
    "rosbags": ("python3-rosbags-pip", "rosbags"),
    "scipy": ("python3-scipy", "scipy"),
    "sympy": (None, "sympy"),  # `robot_dynamics inspect --equations` alone, which names pip
    "tqdm": ("python3-tqdm", "tqdm"),
    "trimesh": (None, "yourdfpy"),  # comes with it
    "urdf_parser_py": ("urdfdom_py", "urdf-parser-py"),
    "viser": (None, "viser"),  # no rosdep key: `robot_dynamics view` names pip
    "xacro": (None, "xacro"),  # where it is installed: `robot_dynamics` names pip and apt
    "yaml": ("python3-yaml", "PyYAML"),
    "yourdfpy": (None, "yourdfpy"),
}
# The parts that only run where ROS or a plotter is installed as well.
WITH_EXTRAS = {"cli", "nodes", "report", "view"}
# Those of launch files import launch and launch_ros.
WITH_LAUNCH = {"launching"}

SETUP = """
import json, setuptools
from distutils.core import run_setup
d = run_setup("setup.py", stop_after="init")
print(json.dumps({
    "name": d.get_name(), "version": d.get_version(), "description": d.get_description(),
    "maintainer": [d.get_maintainer(), d.get_maintainer_email()], "license": d.get_license(),
    "packages": d.packages, "data_files": d.data_files, "entry_points": d.entry_points,
    "install_requires": list(d.install_requires),
    "extras_require": {extra: list(names) for extra, names in d.extras_require.items()},
}))
"""


@pytest.fixture(scope="module")
def manifest() -> Package:
    """package.xml, read by the parser that colcon, rosdep and bloom use; its warnings count as errors."""
    warnings: list[str] = []
    package = parse_package(str(ROOT / "package.xml"), warnings=warnings)
    assert warnings == []
    return package


@pytest.fixture(scope="module")
def setup() -> dict[str, Any]:
    """What setup.py hands to setuptools."""
    run = subprocess.run([sys.executable, "-c", SETUP], cwd=ROOT, capture_output=True, text=True)
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
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                (name,) = node.args
                if isinstance(name, ast.Constant):
                    names.add(str(name.value).split(".")[0])
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {PACKAGE}


def _sources() -> list[Path]:
    return sorted((ROOT / PACKAGE).rglob("*.py"))


def _key(module: str) -> str | None:
    return KEYS[module][0] if module in KEYS else module


def _distribution(module: str) -> str | None:
    return KEYS[module][1] if module in KEYS else "ros-" + module.replace("_", "-")


def test_package_xml_is_valid(manifest: Package) -> None:
    assert manifest.package_format == 3
    assert manifest.get_build_type() == "ament_python"
    assert (ROOT / manifest.licenses[0].file).is_file()


def test_package_xml_and_setup_agree(manifest: Package, setup: dict[str, Any]) -> None:
    person = manifest.maintainers[0]
    assert setup["name"] == manifest.name == PACKAGE
    assert setup["version"] == manifest.version
    assert setup["license"] == manifest.licenses[0]
    assert setup["maintainer"] == [person.name, person.email]


def test_version_of_the_module(manifest: Package) -> None:
    assert importlib.import_module(PACKAGE).__version__ == manifest.version


def test_a_release_raises_the_version_everywhere(manifest: Package, tmp_path: Path) -> None:
    """As catkin_prepare_release does it, which knows package.xml and setup.py."""
    for name in ("package.xml", "setup.py"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    update_versions({str(tmp_path): manifest}, "4.5.6")
    assert 'version="4.5.6",' in (tmp_path / "setup.py").read_text(encoding="utf-8")
    code = f"import {PACKAGE}; print({PACKAGE}.__version__)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout.strip() == "4.5.6", run.stderr


def test_the_command_starts_without_extras(setup: dict[str, Any]) -> None:
    """What `pip install` brings by itself is enough for --help and for every command that needs no extra."""
    required = {_name(requirement) for requirement in setup["install_requires"]}
    extras = {module for module in _imports(*_sources()) if str(_distribution(module)).lower() not in required}
    assert {"rclpy", "matplotlib", "plotly"} <= extras
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(extras)})); import {PACKAGE}.cli.main"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.filterwarnings("ignore:nodes.Node.traverse:DeprecationWarning")
def test_changelog_is_in_the_form_that_releases_need(manifest: Package) -> None:
    text = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    assert f"\nChangelog for package {PACKAGE}\n" in text
    # A release replaces this heading; only then does the parser take the section for a version.
    text = text.replace("Forthcoming\n-----------\n", f"{manifest.version} (2000-01-01)\n------------------\n")
    changelog = populate_changelog_from_rst(Changelog(PACKAGE), text)
    newest, _, changes = next(changelog.foreach_version())
    assert newest == manifest.version
    assert len(changes) > 0


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "RELEASING.md", "examples/README.md"])
def test_files_that_developers_are_sent_to_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w./-]+\.(?:py|md|toml|txt|in|xml|rst|cfg|ipynb))`", text))
    places = (ROOT, ROOT / PACKAGE, (ROOT / document).parent)
    assert {name for name in files if not any((place / name).is_file() for place in places)} == set()
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z][a-z-]+)", text, flags=re.MULTILINE)) <= targets


def test_every_module_is_installed(setup: dict[str, Any]) -> None:
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in _sources()}
    assert folders == set(setup["packages"]), "a folder of modules without an __init__.py is not installed"


@pytest.mark.parametrize("kind", ["urdf", "config", "launch", "rviz"])
def test_every_resource_is_installed(kind: str, setup: dict[str, Any]) -> None:
    installed = dict(setup["data_files"])[f"share/{PACKAGE}/{kind}"]
    present = [f"{kind}/{path.name}" for path in (ROOT / kind).iterdir() if path.name != "__pycache__"]
    assert sorted(installed) == sorted(present) != []


def test_every_command_can_be_loaded(setup: dict[str, Any]) -> None:
    scripts = setup["entry_points"]["console_scripts"]
    for script in scripts:
        module, function = script.split("=")[1].strip().split(":")
        assert callable(getattr(importlib.import_module(module), function)), script
    assert {script.split("=")[0].strip() for script in scripts} == {
        "computed_torque_node",
        "simulation_node",
        "trajectory_node",
        "robot_dynamics",
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_ends_every_command_in_order(number: signal.Signals, setup: dict[str, Any]) -> None:
    for script in setup["entry_points"]["console_scripts"]:
        name, module, function = re.split(" = |:", script)
        code = f"""
import importlib, os, sys
class Interrupting:
    def find_spec(name, path, target=None):
        if name in ("numpy", "rclpy"):
            os.kill(os.getpid(), {number:d})
sys.meta_path.insert(0, Interrupting)
importlib.import_module("{module}").{function}()
"""
        result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (130 if name == "robot_dynamics" else 0, ""), script


def test_every_import_is_a_dependency_in_package_xml(manifest: Package) -> None:
    imported = _imports(*_sources(), *(ROOT / "launch").glob("*.py"))
    declared = {depend.name for depend in manifest.exec_depends}
    assert {_key(module) for module in imported} - {None} <= declared


def test_every_import_is_a_dependency_in_setup(setup: dict[str, Any]) -> None:
    extras = WITH_EXTRAS | WITH_LAUNCH
    library = [path for path in _sources() if path.relative_to(ROOT / PACKAGE).parts[0] not in extras]
    needed = {str(_distribution(module)).lower() for module in _imports(*library) if _key(module) is not None}
    assert needed <= {_name(requirement) for requirement in setup["install_requires"]}

    everywhere = {_distribution(module) for module in _imports(*_sources())} - {None}
    extra = [
        name for part in ("demo", "report", "equations", "view", "xacro") for name in setup["extras_require"][part]
    ]
    assert {str(name).lower() for name in everywhere} <= {_name(name) for name in setup["install_requires"] + extra}


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("run", ["demo", "report", "equations"]), ("test", ["test", "lint"]), ("humble", []), ("jazzy", [])],
)
def test_locks_hold_what_setup_asks_for(lock: str, extras: list[str], setup: dict[str, Any]) -> None:
    required = setup["install_requires"] + [name for extra in extras for name in setup["extras_require"][extra]]
    assert {_name(requirement) for requirement in required} <= {_name(pin) for pin in _pins(lock)}


def test_lower_bounds_of_the_compiled_libraries_are_tested(setup: dict[str, Any]) -> None:
    lowest = {pin.replace("==", ">=") for pin in _pins("humble")}
    assert {"numpy", "scipy", "numba"} <= {_name(bound) for bound in lowest.intersection(setup["install_requires"])}


def test_package_xml_asks_for_no_pip_package_but_rosbags(manifest: Package) -> None:
    """pip refuses to install beside the packages of a Debian or Ubuntu, unless its user allows it (PEP 668)."""
    depends = manifest.exec_depends + manifest.test_depends
    assert {depend.name for depend in depends if depend.name.endswith("-pip")} == {"python3-rosbags-pip"}


def test_numba_is_asked_for_where_apt_has_it(manifest: Package) -> None:
    (numba,) = (depend for depend in manifest.exec_depends if depend.name == "python3-numba")
    distributions = ("humble", "jazzy", "kilted", "lyrical", "rolling")
    asked = [name for name in distributions if numba.evaluate_condition({"ROS_DISTRO": name})]
    assert asked == ["humble", "lyrical", "rolling"]


def test_tests_run_with_the_versions_of_the_demo() -> None:
    # Without markers: what the demo needs on some Pythons alone, the tests may need on all.
    build, run, test = ({pin.partition(" ;")[0] for pin in _pins(lock)} for lock in ("build", "run", "test"))
    assert build <= run <= test


def _pins(lock: str) -> set[str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^(\S.*?==.*?) \\\n    --hash=sha256:", text, flags=re.MULTILINE)
    requirements = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(pins) == len(requirements), "a requirement without version or hash, or an option such as an index"
    return set(pins)

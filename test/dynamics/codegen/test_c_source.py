"""Exported C code: it compiles without warnings, agrees with the general kernels, and notices a wrong result."""

import ctypes
import importlib
import inspect
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import files
from pathlib import Path
from sysconfig import get_path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.codegen import c_source
from robot_dynamics_ros.dynamics.kernels import friction
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from support import arms
from support.mechanisms import four_bar
from support.robots_with_drives import Robot, load, robots

COMPILER = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
PUBLIC = sorted(
    Path(str(x.locate()))
    for x in files("example-robot-data") or []
    if x.suffix == ".urdf"
)
STRICT = (
    "-Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wshadow -Werror".split()
)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def run(folder: Path, *command: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, and return its outcome and output."""
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def self_test(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile the exported files of a folder and run their self-test."""
    sources = [next(folder.glob(pattern)) for pattern in ("*_dynamics.c", "*_test.c")]
    options = ["-std=c99", "-O1", *STRICT, *flags, "-o", "self_test"]
    done = run(folder, COMPILER, *options, *sources, "-lm")
    assert done.returncode == 0, done.stderr
    return run(folder, folder / "self_test")


def panda() -> RobotModel:
    """Return a robot with a sigmoid friction and a payload."""
    return RobotModel.shipped("panda").with_payload(
        "panda_link8", 1.0, [0.0, 0.1, 0.2], 0.01 * np.eye(3)
    )


def geared() -> RobotModel:
    """Return an arm whose coupled joints have rotors, and friction with all terms; its names are no C identifiers."""
    kinds = ("revolute", "prismatic", "revolute")
    names = [f"{k}-*/?" for k in range(4)]
    links = tuple(
        arms.Link(name, 1.0, (0.1, 0, 0.1), 0.02 * np.eye(3)) for name in names
    )
    joints = tuple(
        arms.Joint(
            f"j{k}*/?", kind, names[k], names[k + 1], (0, 0, 0.2), axis=(0, 1, k)
        )
        for k, kind in enumerate(kinds)
    )
    friction = {
        **{"viscous": 0.3, "quadratic": 0.04, "cubic": 0.02},
        "coulomb": 0.5,
        "coulomb_negative": 0.7,
        "static": 0.9,
        "stribeck_velocity": 0.2,
        "ripple": {"amplitude": 0.1, "per_turn": 5.0, "phase": 0.3},
        "sigmoid": {"amplitude": 0.4, "slope": 3.0, "shift": 0.1},
    }
    motor = {"load_coefficient": 0.1, "rotor_inertia": 1e-3, "gear_ratio": 50.0}
    rows = {x.name: friction | (motor if k < 2 else {}) for k, x in enumerate(joints)}
    couplings = {"j2*/?": {"j0*/?": -0.5, "j1*/?": 0.7, "offset": 0.1}}
    return load(arms.Arm(links, joints), {"joints": rows, "couplings": couplings})


def tree() -> RobotModel:
    """Return a random tree whose payload is on the third of several end links."""
    kinds = [
        "revolute",
        "prismatic",
        "revolute",
        "revolute",
        "fixed",
        "revolute",
        "prismatic",
        "revolute",
    ]
    return load(
        arms.random_arm(np.random.default_rng(3), [0, 1, 1, 2, 3, 0, 6, 5], kinds), {}
    )


@pytest.mark.parametrize("make", [panda, geared, tree])
def test_exported_functions_agree_with_the_kernels(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    make().export_c(tmp_path)
    done = self_test(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "0 failures" in done.stdout


def _arguments(term: friction.Term) -> tuple[str, ...]:
    return tuple(inspect.signature(interpreted(term.kernel)).parameters)


@pytest.mark.parametrize("term", friction.TERMS, ids=lambda term: term.kernel.__name__)
def test_each_friction_term_is_the_same_in_c(
    term: friction.Term, tmp_path: Path
) -> None:
    geared().export_c(tmp_path)
    names = ", ".join(name for name in _arguments(term) if name != "joint")
    call = f"arm_{term.kernel.__name__}((const arm_joint *)joint, {names})"
    (tmp_path / "term.c").write_text(
        '#include "arm_dynamics.c"\n'
        "double term(const double *joint, double level, double position, double rate, int driving);\n"
        "double term(const double *joint, double level, double position, double rate, int driving)\n"
        f"{{ (void)level, (void)position, (void)rate, (void)driving; return {call}; }}\n"
    )
    command = [COMPILER, "-std=c99", "-O1", "-shared", "-fPIC", "-o", "term.so"]
    subprocess.run([*command, "term.c", "-lm"], cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "term.so")).term
    function.restype = ctypes.c_double
    rng = np.random.default_rng(0)
    for _ in range(100):
        row = rng.uniform(0.0, 2.0, friction.FRICTION_SIZE) * rng.integers(
            0, 2, friction.FRICTION_SIZE
        )
        level, position, rate = rng.uniform(-1.0, 1.0, 3).tolist()
        driving = bool(rng.integers(0, 2))
        values = {
            "joint": row,
            "level": abs(level),
            "position": position,
            "rate": rate,
            "driving": driving,
        }
        expected = term.kernel(*(values[name] for name in _arguments(term)))
        if term.kind == "smooth":
            expected = expected[0]
        pointer = row.ctypes.data_as(ctypes.c_void_p)
        numbers = map(ctypes.c_double, (abs(level), position, rate))
        assert function(pointer, *numbers, driving) == pytest.approx(
            expected, rel=1e-14, abs=1e-15
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_public_robots(path: Path, tmp_path: Path) -> None:
    try:
        model = RobotModel.from_urdf_file(path)
    except RobotModelError:
        pytest.skip("it does not load")
    if model.n > 40:
        pytest.skip("more than 40 joints")
    model.export_c(tmp_path)
    done = self_test(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@given(robots(friction=True))
@settings(max_examples=50, deadline=None)
def test_random_trees(robot: Robot) -> None:
    with tempfile.TemporaryDirectory() as folder:
        robot.model().export_c(folder)
        done = self_test(Path(folder))
        assert done.returncode == 0, done.stdout


def test_long_functions_are_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_source, "LARGEST_C_FUNCTION", 50)
    tree().export_c(tmp_path)
    assert "arm_mass_matrix_1(" in (tmp_path / "arm_dynamics.c").read_text()
    done = self_test(tmp_path)
    assert done.returncode == 0, done.stdout


def test_self_test_notices_a_wrong_number(tmp_path: Path) -> None:
    geared().export_c(tmp_path)
    source = tmp_path / "arm_dynamics.c"
    text = source.read_text()
    # Stribeck velocity, amplitude and number per turn of the ripple
    assert "0.2, 0.1, 5.0" in text
    source.write_text(text.replace("0.2, 0.1, 5.0", "0.2, 0.1, 5.0000001"))
    done = self_test(tmp_path)
    assert done.returncode == 1 and "friction_torque" in done.stdout


def test_statuses_of_forward_dynamics(tmp_path: Path) -> None:
    """A massless wrist fails without a payload, at the wrist's coordinate, and moves with one."""
    links = (
        arms.Link("base"),
        arms.Link("a", 1.0, (0.1, 0, 0), 0.1 * np.eye(3)),
        arms.Link("b"),
    )
    joints = (
        arms.Joint("j1", "revolute", "base", "a"),
        arms.Joint("j2", "revolute", "a", "b", (1, 0, 0)),
    )
    load(arms.Arm(links, joints), {}).export_c(tmp_path)
    text = (tmp_path / "arm_dynamics.c").read_text()
    assert "return ARM_SINGULAR + 1;" in text and "return ARM_OK;" in text
    assert self_test(tmp_path).returncode == 0


@pytest.mark.skipif(
    not Path(get_path("include"), "Python.h").exists(),
    reason="Python's headers are not installed",
)
def test_python_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results for one state and many, with defaults and with other gravity and payload, also through ``use``."""
    model = geared()
    link = model.end_links[0]
    count = 5
    model.export_c(tmp_path / "c")
    install = "-m pip install --no-build-isolation --no-deps --target".split()
    done = run(tmp_path, sys.executable, *install, tmp_path, tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("arm_dynamics")
    payload = 2.0, [0.1, 0.2, 0.3], 0.1 * np.eye(3)
    loaded = model.with_payload(link, *payload).with_gravity([1.0, 2.0, -9.0])
    context = (
        loaded.gravity,
        module.make_payload(2.0, [0.1, 0.2, 0.3], [0.1, 0, 0, 0.1, 0, 0.1]),
    )
    q, qd, qdd = np.random.default_rng(0).uniform(-2.0, 2.0, (3, count, model.n))
    load = model.gear_load(q, qd, qdd)
    assert np.allclose(
        module.inverse_dynamics(q, qd[0], qdd),
        model.inverse_dynamics(q, qd[0], qdd),
        rtol=1e-12,
    )
    assert np.array_equal(
        module.gravity_torque(q, None, None), module.gravity_torque(q)
    )
    assert np.allclose(
        module.friction_torque(q, qd, load),
        model.friction_torque(q, qd, load=load),
        rtol=1e-12,
    )
    infinite = q.copy()
    infinite[1, 0] = np.inf
    masked = np.ma.array(q[0], mask=np.arange(model.n) == 0)
    vectors = {
        "inverse_dynamics": 3,
        "forward_dynamics": 3,
        "mass_matrix": 1,
        "gravity_torque": 1,
    }
    for name, number in vectors.items():
        function = getattr(model.use(module), name)
        more = (qd, qdd)[: number - 1]
        not_finite = np.isnan(function(infinite, *more))
        assert not_finite[1].all() and not not_finite[[0, 2]].any()
        assert np.isnan(function(infinite[1], *(x[1] for x in more))).all()
        with pytest.raises(RobotDynamicsError, match="not an array"):
            function(masked, *(x[0] for x in more))
    for used, expected, arguments in (
        (model.use(module), model, ()),
        (
            model.use(module).with_payload(link, *payload).with_gravity(loaded.gravity),
            loaded,
            context,
        ),
        (pickle.loads(pickle.dumps(loaded.use(module))), loaded, context),
    ):
        for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
            for name, number in vectors.items():
                own = states[:number]
                last = arguments[name == "mass_matrix" :]
                right = getattr(expected, name)(*own)
                assert np.allclose(getattr(used, name)(*own), right, rtol=1e-10)
                assert np.allclose(
                    getattr(module, name)(*own, *last), right, rtol=1e-10
                )
    assert np.allclose(
        model.use(module).scaled(2.0).mass_matrix(q),
        model.scaled(2.0).mass_matrix(q),
        rtol=1e-12,
    )
    for other in (
        panda(),
        model.scaled(1.1),
        model.with_payload("0-*/?", 1.0, [0, 0, 0], np.zeros((3, 3))),
    ):
        with pytest.raises(RobotDynamicsError, match="arm_dynamics.*Cure"):
            other.use(module)
    bound = module.bind(module.gravity_torque, lambda q: q, *context)
    assert np.array_equal(bound(q[0]), module.gravity_torque(q[0], *context))
    for refused in (q, q[0, 1:], q[0].tolist()):
        assert bound(refused) is refused
    with pytest.raises(TypeError, match="bind"):
        module.bind(len, bound)
    with pytest.raises(ValueError, match="argument 2"):
        module.inverse_dynamics(q, qd[:, :1], qdd)
    with pytest.raises(TypeError):
        module.inverse_dynamics(q, qd)
    with pytest.raises(ArithmeticError, match="finite"):
        module.forward_dynamics(q, qd, np.where(qdd == qdd[1, 1], np.nan, qdd))


def test_names_of_functions_differ(tmp_path: Path) -> None:
    """Links whose names would give two functions the same one."""
    names = ("base", "a", "dot_qd_a", "a-", "1")
    links = tuple(arms.Link(name, 1.0, (0.1, 0, 0), 0.1 * np.eye(3)) for name in names)
    joints = tuple(
        arms.Joint(f"j{k}", "revolute", "base", name)
        for k, name in enumerate(names[1:])
    )
    load(arms.Arm(links, joints), {}).export_c(tmp_path)
    assert self_test(tmp_path).returncode == 0


def test_unknown_links_and_loops_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match="panda_hand2.*Cure"):
        panda().export_c(tmp_path, ["panda_hand2"])
    with pytest.raises(RobotDynamicsError, match="closed loops.*Cure"):
        four_bar().export_c(tmp_path)


IN_C = """
#include "left/left_dynamics.c"
#include "right/right_dynamics.c"
#include "left/left_dynamics.h"

int main(void)
{
    static const int sizes[] = {LEFT_N, LEFT_N, LEFT_N, 3, 10};
    double x[5][10] = {{0.0}}, qdd[RIGHT_N] = {7.0};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < sizes[i]; j++) {
            x[i][j] = j % 2 ? (double)NAN : -HUGE_VAL;
            if (left_forward_dynamics(x[0], x[1], x[2], x[3], x[4], qdd) != LEFT_NOT_FINITE)
                return 1;
            x[i][j] = 0.0;
        }
    }
    x[1][0] = 1e200; /* the centrifugal acceleration overflows */
    if (left_forward_dynamics(x[0], x[1], x[2], left_gravity, left_payload, qdd) != LEFT_NOT_FINITE)
        return 2;
    return !(qdd[0] == 7.0 && LEFT_VERSION_NUMBER >= 100);
}
"""
IN_CPP = """
#include "left/left_dynamics.hpp"
#include "right/right_dynamics.hpp"
#include "left/left_dynamics.c"
#include "right/right_dynamics.c"

static_assert(left_dynamics::gravity[2] == -9.81 && right_dynamics::no_payload[0] == 0.0);

int main()
{
    const std::array<double, left_dynamics::n> q{0.1, 0.2};
    std::array<double, left_dynamics::n> qdd;
    const auto hold = right_dynamics::gravity_torque(q);
    const int status = right_dynamics::forward_dynamics(q, {}, hold, qdd);
    return !(status == RIGHT_OK && std::abs(qdd[0]) < 1e-9 && hold[0] != left_dynamics::gravity_torque(q)[0]);
}
"""


@pytest.mark.parametrize(
    ("compiler", "standard", "text"),
    [("gcc", "c99", IN_C), ("g++", "c++17", IN_CPP)],
    ids=["C", "C++"],
)
def test_two_robots_in_one_translation_unit(
    compiler: str, standard: str, text: str, tmp_path: Path
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    geared().export_c(tmp_path / "left", name="left")
    geared().scaled(2.0).export_c(tmp_path / "right", name="right")
    source = tmp_path / ("main.cpp" if compiler == "g++" else "main.c")
    source.write_text(text)
    compiled = run(
        tmp_path, compiler, f"-std={standard}", *STRICT, source, "-o", "main", "-lm"
    )
    assert compiled.returncode == 0, compiled.stderr
    assert run(tmp_path, tmp_path / "main").returncode == 0


def test_two_robots_of_one_prefix_are_refused(tmp_path: Path) -> None:
    for folder, model in (("a", geared()), ("b", tree())):
        assert model.export_c(tmp_path / folder) == "arm"
    text = '#include "a/arm_dynamics.h"\n#include "{}/arm_dynamics.h"\nint main(void) {{ return 0; }}\n'
    for second, refused in (("a", False), ("b", True)):
        (tmp_path / "main.c").write_text(text.format(second))
        done = run(tmp_path, COMPILER, "-fsyntax-only", "main.c")
        assert (done.returncode != 0 and "--name" in done.stderr) == refused


PARENT = """
cmake_minimum_required(VERSION 3.10)
project(parent LANGUAGES C)
add_subdirectory(c)
if(TARGET arm_example OR TARGET arm_test)
  message(FATAL_ERROR "example and test belong to the folder alone")
endif()
"""
USER = """
cmake_minimum_required(VERSION 3.10)
project(user LANGUAGES NONE)
find_package(arm_dynamics 0.1 REQUIRED)
find_package(arm_dynamics 7.0 QUIET)
if(arm_dynamics_FOUND)
  message(FATAL_ERROR "another version was accepted")
endif()
"""


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
def test_cmake_projects(tmp_path: Path) -> None:
    """A parent project, which contracts operations by default, and a user of the installed library.

    gcc 12 also fuses operations of this robot when it vectorizes them.
    """
    RobotModel.shipped("scara").export_c(tmp_path / "c", name="arm")
    (tmp_path / "CMakeLists.txt").write_text(PARENT)
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "CMakeLists.txt").write_text(USER)
    fused = "-mfma" if platform.machine() == "x86_64" else ""
    flags = f"-DCMAKE_C_FLAGS=-O2 -ffp-contract=fast -save-temps=obj {fused}"
    for line in (
        ["-S", ".", "-B", "build", flags],
        ["--build", "build"],
        ["--install", "build", "--prefix", "installed"],
        ["-S", "user", "-B", "user", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"],
    ):
        done = run(tmp_path, "cmake", *line)
        assert done.returncode == 0, done.stdout + done.stderr
    (assembly,) = (tmp_path / "build").rglob("arm_dynamics*.s")
    assert not re.search(r"\bv?fn?m(add|sub|la|ls)", assembly.read_text())


@pytest.mark.parametrize("name", [250 * "r", "left-arm", "1st", ""])
def test_prefixes_that_cannot_be_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match="Cure.*--name"):
        tree().export_c(tmp_path / "c", name=name)
    assert not (tmp_path / "c").exists()


def test_existing_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(FileExistsError):
        tree().export_c(tmp_path, [])
    assert (tmp_path / "README.md").read_text() == "mine"
    tree().export_c(tmp_path, [], overwrite=True)
    for file in tmp_path.iterdir():
        assert "SPDX-License-Identifier: Apache-2.0" in file.read_text()

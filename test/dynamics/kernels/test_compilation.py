"""Kernels with and without numba, and the cache of their compiled code. Each case is a separate process."""

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FIXED_MODE_MOTION,
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels import compilation
from support.python_process import ROOT, run_python

#: Compilation takes a minute, and many on a busy machine.
pytestmark = pytest.mark.timeout(1800)
compiled_only = pytest.mark.skipif(
    not compilation.COMPILED, reason="kernels are not compiled"
)

PACKAGE = ROOT / "robot_dynamics_ros"
PANDA = ROOT / "urdf" / "panda.urdf"
TORQUE = f"""
from robot_dynamics_ros import RobotModel
model = RobotModel.from_urdf_file({str(PANDA)!r})
q = [0.1, -0.4, 0.2, -1.9, 0.3, 1.7, 0.6]
print(*map(float.hex, model.inverse_dynamics(q, [0.5] * 7, [1.0] * 7).tolist()))
"""

LOGISTIC = "from robot_dynamics_ros.dynamics.kernels.friction import logistic; print(logistic(0.0))"


def test_the_same_source_runs_without_numba() -> None:
    model = RobotModel.from_urdf_file(PANDA)
    compiled = model.inverse_dynamics(
        [0.1, -0.4, 0.2, -1.9, 0.3, 1.7, 0.6], [0.5] * 7, [1.0] * 7
    )
    missing = run_python("-c", "import sys; sys.modules['numba'] = None" + TORQUE)
    switched_off = run_python("-c", TORQUE, NUMBA_DISABLE_JIT="1")
    for result in (missing, switched_off):
        torques = [float.fromhex(word) for word in result.stdout.split()]
        np.testing.assert_allclose(torques, compiled, rtol=1e-13, atol=1e-13)
        assert result.stderr.count("RuntimeWarning") == 1


def test_an_edit_in_any_file_with_kernels_leads_to_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "robot_dynamics_ros"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compilation, "_PACKAGE", package)
    monkeypatch.setattr(
        compilation, "_source_hash", compilation._source_hash.__wrapped__
    )
    folders = [compilation._folder(), compilation._folder()]
    decorator = re.compile(
        r"^ *@(kernel|inlined|allocating_kernel|batch_kernel)\b", re.MULTILINE
    )
    frozen = re.compile(r"^from robot_dynamics_ros\.(\w+)\.thresholds ", re.MULTILINE)
    files = set()
    for file in package.rglob("*.py"):
        if decorator.search(source := file.read_text(encoding="utf-8")):
            tables = frozen.findall(source)
            files |= {file, *(package / name / "thresholds.py" for name in tables)}
    assert {"newton_euler.py", "source.py", "friction_problem.py"} <= {
        file.name for file in files
    }
    for file in files:
        file.write_bytes(file.read_bytes() + b"\nADDED = 1\n")
        folders.append(compilation._folder())
    assert len(set(folders)) == 1 + len(files)


def test_generated_code_uses_only_hashed_code() -> None:
    """Generated files are named by their source: modules of this package that they import must be part of the hash."""
    panda = RobotModel.from_urdf_file(PANDA).kernels
    hashed = compilation._kernel_sources()
    for algorithm in (INVERSE_DYNAMICS, FORWARD_DYNAMICS, FIXED_MODE_MOTION):
        program = trace_algorithm(algorithm, panda.topology, panda.parameters)
        assert program is not None
        for source in (function_source(program), batch_source(program)):
            for module in re.findall(
                r"^ *(?:from|import) +(\S+)", source, re.MULTILINE
            ):
                path = ROOT / f"{module.replace('.', '/')}.py"
                assert module in {"math", "numpy"} or path in hashed


@compiled_only
def test_kernels_without_reference_counts_return_no_arrays() -> None:
    """The annotations, which mypy checks, contain no arrays: a caller would free memory that is not counted."""
    modules = [
        import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
        for file in compilation._kernel_sources()
    ]
    compiled = {
        value
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "nopython_signatures")
    }
    uncounted = [
        kernel.py_func
        for kernel in compiled
        if kernel.targetoptions.get("_nrt") is False
    ]
    assert len(uncounted) > 50
    for function in uncounted:
        assert _parts(get_type_hints(function)["return"]) <= {
            type(None),
            bool,
            int,
            float,
        }, function.__name__


def _parts(kind: Any) -> set[Any]:
    """Return the types in a type."""
    return {part for inner in get_args(kind) for part in _parts(inner)} or {kind}


def test_importing_the_package_loads_no_slow_module() -> None:
    """RobotModel loads the slow imports; ROS and plotting are not loaded even then."""
    code = """
import sys
def heavy():
    names = {name.split(".")[0] for name in {*sys.modules} - before}
    return sorted(names & {"numba", "scipy", "matplotlib", "rclpy", "urdf_parser_py"})
before = {*sys.modules}
import robot_dynamics_ros
print(heavy(), "RobotModel" in dir(robot_dynamics_ros))
from robot_dynamics_ros import *
from robot_dynamics_ros.dynamics.model import RobotModel as the_same
print(RobotModel is the_same, {"matplotlib", "rclpy"} & {*heavy()})
"""
    assert run_python("-c", code).stdout.splitlines() == ["[] True", "True set()"]


@compiled_only
def test_only_a_cold_start_announces_compilation(tmp_path: Path) -> None:
    """The second start loads the kernels, also from a cache that is read-only, as in an image."""
    code = f"""
import numpy as np
from robot_dynamics_ros import RobotModel
model = RobotModel.from_urdf_file({str(ROOT / "urdf" / "planar_2r.urdf")!r})
for kind in (model, model.customised()):
    kind.gravity_torque(np.zeros(2))
"""
    cold, warm = (
        run_python("-c", code, NUMBA_CACHE_DIR=str(tmp_path)).stderr for _ in range(2)
    )
    assert cold.count("gravity_torque") == 1, cold
    assert warm == ""
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    as_user = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # takes from root, for the next program, the right to write everywhere
os.execv(sys.executable, [sys.executable, "-c", {code!r}])
"""
    assert run_python("-c", as_user, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""


@compiled_only
def test_several_threads_may_compile_the_same_kernel_at_once(tmp_path: Path) -> None:
    """Each with a model of its own, as threads that simulate do."""
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from robot_dynamics_ros import RobotModel
urdf = {str(ROOT / "urdf" / "planar_2r.urdf")!r}
start = Barrier(6)
def friction(model):
    start.wait()
    return model.friction_torque([0.0, 0.0], [0.0, 0.0], 0.01).tolist()
models = [RobotModel.from_urdf_file(urdf) for _ in range(6)]
print(*ThreadPoolExecutor(6).map(friction, models), sep="; ")
"""
    result = run_python("-c", code, NUMBA_CACHE_DIR=str(tmp_path))
    assert result.stdout.strip() == "; ".join(6 * ["[0.0, 0.0]"])


@compiled_only
def test_damaged_files_are_replaced_after_one_warning(tmp_path: Path) -> None:
    def warnings() -> int:
        result = run_python("-c", LOGISTIC, NUMBA_CACHE_DIR=str(tmp_path))
        assert result.stdout.split() == ["0.5"]
        return result.stderr.count("RuntimeWarning")

    assert warnings() == 0
    for suffix, kept in (("nbi", 0), ("nbi", 50), ("nbc", 0), ("nbc", 5000)):
        files = [*tmp_path.rglob(f"*.{suffix}")]
        for file in files:
            file.write_bytes(file.read_bytes()[:kept])
        assert files and warnings() == 1
    assert warnings() == 0


@compiled_only
def test_a_full_disk_keeps_nothing_after_one_warning(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    result = run_python("-c", full + LOGISTIC, NUMBA_CACHE_DIR=str(tmp_path))
    assert result.stdout.split() == ["0.5"]
    assert result.stderr.count("RuntimeWarning") == 1, result.stderr

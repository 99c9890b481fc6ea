"""Kernels with and without numba, and where their compiled form is kept. Each case is a process of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from robot_dynamics_ros import RobotModel

ROOT = Path(__file__).resolve().parents[2]
PANDA = ROOT / "urdf" / "panda.urdf"
TORQUE = f"""
from robot_dynamics_ros import RobotModel
model = RobotModel.from_urdf_file({str(PANDA)!r})
q = [0.1, -0.4, 0.2, -1.9, 0.3, 1.7, 0.6]
print(*map(float.hex, model.inverse_dynamics(q, [0.5] * 7, [1.0] * 7).tolist()))
"""


def run(code: str, package_parent: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=package_parent,
        env={**os.environ, "PYTHONPATH": str(package_parent), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def torques(result: subprocess.CompletedProcess[str]) -> np.ndarray:
    return np.array([float.fromhex(word) for word in result.stdout.split()])


def test_the_same_source_runs_without_numba() -> None:
    model = RobotModel.from_urdf_file(PANDA)
    compiled = model.inverse_dynamics([0.1, -0.4, 0.2, -1.9, 0.3, 1.7, 0.6], [0.5] * 7, [1.0] * 7)
    missing = run("import sys; sys.modules['numba'] = None" + TORQUE)
    switched_off = run(TORQUE, NUMBA_DISABLE_JIT="1")
    for result in (missing, switched_off):
        np.testing.assert_allclose(torques(result), compiled, rtol=1e-13, atol=1e-13)
        assert result.stderr.count("kernels run as plain Python") == 1


def test_where_nothing_is_writable_it_warns_once_and_works() -> None:
    code = "from robot_dynamics_ros.kernels.friction import logistic; print(logistic(0.0))"
    result = run(code, NUMBA_CACHE_DIR="/proc/nowhere")
    assert result.stdout.split() == ["0.5"]
    assert result.stderr.count("Cure: point NUMBA_CACHE_DIR to a writable folder") == 1


def test_an_edit_in_any_kernel_file_leads_to_another_cache(tmp_path: Path) -> None:
    code = "from robot_dynamics_ros.kernels.compilation import cache_directory; print(cache_directory())"
    package = tmp_path / "robot_dynamics_ros"
    shutil.copytree(ROOT / "robot_dynamics_ros", package, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [run(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).stdout]
    assert folders == [run(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).stdout]
    for file in ("kernels/vectors.py", "simulation/stick_slip.py"):
        with (package / file).open("a", encoding="utf-8") as source:
            source.write("\nADDED = 1\n")
        folders.append(run(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).stdout)
    assert len(set(folders)) == 3
    assert all(folder.startswith(str(tmp_path / "cache")) for folder in folders)


def test_the_first_run_is_announced_until_it_has_finished(tmp_path: Path) -> None:
    code = """
from robot_dynamics_ros.kernels.compilation import mark_compiled, must_compile
print(must_compile("model"), must_compile("plant"))
mark_compiled("model")
print(must_compile("model"), must_compile("plant"))
"""
    result = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert result.stdout.split() == ["True", "True", "False", "True"]

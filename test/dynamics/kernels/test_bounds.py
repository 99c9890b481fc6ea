"""Compiled kernels with bounds checks, in separate processes and with a separate cache."""

import subprocess
from pathlib import Path

import pytest

from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from support.python_process import ROOT, run_python

pytestmark = pytest.mark.skipif(not COMPILED, reason="Python checks every index itself")

#: All tests that run kernels, including those of simulation and codegen, except for tests of compilation.
CHECKED = [
    "test/codegen",
    "test/kernels",
    "test/model",
    "test/simulation",
    "test/test_public_robots.py",
]
IGNORED = [
    "--ignore=test/dynamics/kernels/test_bounds.py",
    "--ignore=test/dynamics/kernels/test_compilation.py",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checked")


def run(
    arguments: list[str], cache: Path, check: str = "1"
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; bounds are checked unless `check` is "0"."""
    checking = {
        "NUMBA_BOUNDSCHECK": check,
        "NUMBA_CACHE_DIR": str(cache),
        "HYPOTHESIS_PROFILE": "fast",
    }
    return run_python(*arguments, check=False, **checking)


@pytest.mark.slow
def test_reading_and_writing_outside_raise(cache: Path) -> None:
    """A kernel with too few rows to read, and to write, raises an error: the checks of the next test are active."""
    code = f"""
import numpy as np
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels.entries import NO_WRENCHES, inverse_dynamics_batch
robot = RobotModel.from_urdf_file({str(ROOT / "urdf" / "planar_2r.urdf")!r}).kernels
two, one = np.zeros((2, 2)), np.zeros((1, 2))
for rates, torques in ((two, two), (one, two), (two, one)):
    try:
        inverse_dynamics_batch(robot.topology.copy(), robot.parameters.copy(), NO_WRENCHES, two, rates, two, torques)
        print("done")
    except IndexError:
        print("refused")
"""
    done = run(["-c", code], cache)
    assert done.stdout.split() == ["done", "refused", "refused"], done.stderr


def test_checked_code_has_a_cache_of_its_own(cache: Path) -> None:
    """Otherwise a checked run would load code compiled without checks, and the reverse."""
    code = "from robot_dynamics_ros.dynamics.kernels.compilation import cache_directory; print(cache_directory())"
    checked, plain = (
        Path(run(["-c", code], cache, check).stdout.strip()) for check in "10"
    )
    assert checked != plain
    assert checked.parent == plain.parent == cache / "robot_dynamics_ros"


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_no_test_of_the_kernels_reads_outside(cache: Path) -> None:
    done = run(
        ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *IGNORED, *CHECKED],
        cache,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]

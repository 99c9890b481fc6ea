"""The compiled kernels with every index checked, in processes and with a cache of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.kernels.compilation import COMPILED

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not COMPILED, reason="Python checks every index itself")

#: Every public method under every kind of argument; then trees of every shape.
CHECKED = ["test/model/test_arguments.py", "test/test_public_robots.py", "test/kernels/test_rotors.py"]
CHECKED_SLOWLY = ["test/codegen", "test/kernels", "test/model", "test/simulation"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checked")


def run(arguments: list[str], cache: Path, check: str = "1") -> subprocess.CompletedProcess[str]:
    """Python with these arguments; bounds are checked unless `check` is "0"."""
    checking = {"NUMBA_BOUNDSCHECK": check, "NUMBA_CACHE_DIR": str(cache), "HYPOTHESIS_PROFILE": "fast"}
    environment = {**os.environ, **checking, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def pytest_checked(tests: list[str], cache: Path, *options: str) -> None:
    done = run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, *tests], cache)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_reading_and_writing_outside_raise(cache: Path, tmp_path: Path) -> None:
    """In a small kernel, and in a real one given too few rows: so the runs below would notice."""
    (tmp_path / "small.py").write_text(
        """
from robot_dynamics_ros.kernels.compilation import inlined, kernel

@inlined
def inner(x, i):
    return x[i]

@kernel
def read(x, i):
    return inner(x, i)

@kernel
def write(x, i):
    x[i] = 1.0
"""
    )
    code = f"""
import sys
import numpy as np
sys.path.insert(0, {str(tmp_path)!r})
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels.entries import gravity_torque, inverse_dynamics_batch
from small import read, write
packed = RobotModel.from_urdf_file({str(ROOT / "urdf" / "planar_2r.urdf")!r}).packed
robot = packed.structure, packed.numbers
def raises(function, *arguments):
    try:
        function(*arguments)
    except IndexError:
        return True
    return False
two, one = np.zeros((2, 2)), np.zeros((1, 2))
print(
    raises(read, np.zeros(3), 2),
    raises(inverse_dynamics_batch, *robot, two, two, two, two),
    raises(read, np.zeros(3), 3),
    raises(write, np.zeros(3), 3),
    raises(inverse_dynamics_batch, *robot, two, one, two, two),
    raises(inverse_dynamics_batch, *robot, two, two, two, one),
)
"""
    done = run(["-c", code], cache)
    assert done.stdout.split() == ["False"] * 2 + ["True"] * 4, done.stderr


def test_checked_code_has_a_cache_of_its_own(cache: Path) -> None:
    """Else a checked run would load what was compiled without checks, and the reverse."""
    code = "from robot_dynamics_ros.kernels.compilation import cache_directory; print(cache_directory())"
    checked, plain = (Path(run(["-c", code], cache, check).stdout.strip()) for check in "10")
    assert checked != plain
    assert checked.parent == plain.parent == cache / "robot_dynamics_ros"


@pytest.mark.slow
def test_nothing_is_read_outside(cache: Path) -> None:
    pytest_checked(CHECKED, cache)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_test_of_the_kernels_reads_outside(cache: Path) -> None:
    """All that run kernels, the simulation's and generated ones too, but for those about compiling."""
    pytest_checked(
        CHECKED_SLOWLY, cache, "--ignore=test/kernels/test_bounds.py", "--ignore=test/kernels/test_compilation.py"
    )

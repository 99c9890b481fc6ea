"""Customised kernels: compilation, cache on disk and calls."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.dynamics.codegen.customised import (
    customised_kernel,
)
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    Algorithm,
)
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from robot_dynamics_ros.dynamics.kernels.entries import (
    OK,
    SINGULAR,
    WRONG_SHAPE,
    GeneralKernels,
)
from robot_dynamics_ros.dynamics.kernels.layout import MASS
from robot_dynamics_ros.dynamics.model.model_data import views
from robot_dynamics_ros.dynamics.thresholds import BATCH_BLOCK
from support.comparing import assert_close
from support.generated import ALGORITHMS, general, kernels_of, random_vectors, result

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def robot(load_robot: Any) -> GeneralKernels:
    """Kernels of a robot with three joints, one of them prismatic."""
    model = kernels_of(load_robot("scara", "scara"))
    return model


def kernels(algorithm: Algorithm, robot: GeneralKernels) -> tuple[Any, Any]:
    single = customised_kernel(algorithm, robot.topology, robot.parameters)
    batch = customised_kernel(algorithm, robot.topology, robot.parameters, batch=True)
    assert single is not None and batch is not None
    return single, batch


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda x: x.name)
def test_one_state_has_the_general_kernels_bits_and_many_agree(
    algorithm: Algorithm, robot: GeneralKernels
) -> None:
    single, batch = kernels(algorithm, robot)
    vectors = random_vectors(algorithm, 11, 150, 3)
    many = result(algorithm, 3, 150)
    assert batch(robot.parameters, *vectors, many) == OK
    for k in range(150):
        state = [vector[k] for vector in vectors]
        out = result(algorithm, 3)
        assert single(robot.parameters, *state, out) == OK
        np.testing.assert_array_equal(out, general(algorithm, robot, *state)[1])
        assert_close(many[k], out, 1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda x: x.name)
def test_bits_of_a_state_do_not_depend_on_its_index(
    algorithm: Algorithm, robot: GeneralKernels
) -> None:
    _, batch = kernels(algorithm, robot)
    count = 3 * BATCH_BLOCK + 5
    vectors = random_vectors(algorithm, 12, count, 3)
    expected = result(algorithm, 3, count)
    assert batch(robot.parameters, *vectors, expected) == OK
    for start, stop in ((0, 1), (7, 7 + BATCH_BLOCK), (BATCH_BLOCK - 1, count), (5, 5)):
        out = result(algorithm, 3, stop - start)
        assert (
            batch(robot.parameters, *(vector[start:stop] for vector in vectors), out)
            == OK
        )
        np.testing.assert_array_equal(out, expected[start:stop])
    out = result(algorithm, 3, count)
    parts = [slice(start, start + 50) for start in range(0, count, 50)]
    with ThreadPoolExecutor(4) as pool:
        assert set(
            pool.map(
                lambda p: batch(robot.parameters, *(v[p] for v in vectors), out[p]),
                parts,
            )
        ) == {OK}
    np.testing.assert_array_equal(out, expected)


def test_statuses(robot: GeneralKernels) -> None:
    single, batch = kernels(FORWARD_DYNAMICS, robot)
    vectors = random_vectors(FORWARD_DYNAMICS, 13, 90, 3)
    state = [vector[0] for vector in vectors]
    assert single(robot.parameters, *state, np.empty(4)) == WRONG_SHAPE
    assert single(robot.parameters[:-1], *state, np.empty(3)) == WRONG_SHAPE
    parameters = robot.parameters.copy()
    views(robot.topology, parameters).bodies[2, MASS:] = 0.0
    assert single(parameters, *state, np.empty(3)) == SINGULAR + 2
    assert batch(parameters, *vectors, np.empty((90, 3))) == SINGULAR + 2


def test_robots_that_differ_in_their_bodies_only_share_a_kernel(
    load_robot: Any,
) -> None:
    model = load_robot("scara", "scara")
    link = model.link_names[-1]
    loaded = model.with_payload(
        link, 1.0, [0.0, 0.0, 0.1], [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]
    )
    assert kernels(INVERSE_DYNAMICS, model.kernels) == kernels(
        INVERSE_DYNAMICS, loaded.kernels
    )
    tilted = load_robot("scara", "scara", gravity=[0.0, 5.0, -8.0])
    assert (
        kernels(INVERSE_DYNAMICS, model.kernels)[0]
        != kernels(INVERSE_DYNAMICS, tilted.kernels)[0]
    )


SCRIPT = f"""
import numpy as np
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.codegen.customised import customised_kernel
from robot_dynamics_ros.dynamics.codegen.tracing import INVERSE_DYNAMICS
robot = RobotModel.from_urdf_file({str(ROOT / "urdf" / "planar_2r.urdf")!r}).kernels
tau = np.empty((1, 2))
for batch, shape in ((False, 2), (True, (1, 2))):
    vectors = [np.full(shape, x) for x in (0.3, 0.5, -1.0)]
    kernel = customised_kernel(INVERSE_DYNAMICS, robot.topology, robot.parameters, batch=batch)
    kernel(robot.parameters.copy(), *vectors, tau.reshape(shape))
    print(*map(float.hex, tau.ravel().tolist()))
"""


def start(**environment: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    return out, err


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="kernels are not compiled")
def test_concurrent_processes_share_the_cache(tmp_path: Path) -> None:
    def kept() -> dict[Path, int]:
        return {
            file: file.stat().st_mtime_ns
            for file in tmp_path.rglob("inverse_dynamics*.*")
            if file.is_file()
        }

    processes = [start(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    outputs = {finished(process)[0] for process in processes}
    assert len(outputs) == 1
    sources = [file for file in kept() if file.suffix == ".py"]
    assert len(sources) == 2
    assert all(file.stat().st_mode & 0o044 for file in sources), (
        "other users can read the cache"
    )
    # may compile again if two processes wrote at once
    finished(start(NUMBA_CACHE_DIR=str(tmp_path)))
    before = kept()
    assert any(file.suffix == ".nbc" for file in before)
    assert {finished(start(NUMBA_CACHE_DIR=str(tmp_path)))[0]} == outputs
    assert kept() == before
    sources[0].write_text("broken")
    assert {finished(start(NUMBA_CACHE_DIR=str(tmp_path)))[0]} == outputs


def test_kernels_work_without_cache_or_compiler() -> None:
    unwritable, warned = finished(start(NUMBA_CACHE_DIR="/proc/nowhere"))
    if COMPILED:
        assert warned.count("RuntimeWarning") == 1 and "NUMBA_CACHE_DIR" in warned
    plain, _ = finished(start(NUMBA_DISABLE_JIT="1"))
    values = [[float.fromhex(x) for x in text.split()] for text in (unwritable, plain)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-14)

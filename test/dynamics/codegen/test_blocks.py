"""Generated batched functions, run as plain Python to avoid compilation; sine and cosine against long doubles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from robot_dynamics_ros.dynamics.codegen.source import FARTHEST, sines_and_cosines
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
)
from robot_dynamics_ros.dynamics.kernels.entries import OK
from robot_dynamics_ros.dynamics.kernels.layout import MASS
from robot_dynamics_ros.dynamics.model.model_data import views
from robot_dynamics_ros.dynamics.thresholds import BATCH_BLOCK
from support.comparing import assert_close
from support.generated import (
    ALGORITHMS,
    general,
    kernels_of,
    plain,
    random_vectors,
    result,
)
from support.robots_with_drives import Robot, robots, size


@given(robot=robots())
@settings(max_examples=8)
def test_batches_of_any_robot_agree_with_its_general_kernels(robot: Robot) -> None:
    model = robot.model()
    own = kernels_of(model)
    for algorithm in (INVERSE_DYNAMICS, MASS_MATRIX):
        vectors = random_vectors(algorithm, robot.seed, 3, model.n)
        out = result(algorithm, model.n, 3)
        assert plain(algorithm, own, batch=True)(own.parameters, *vectors, out) == OK
        for k in range(3):
            state = [vector[k] for vector in vectors]
            _, expected = general(algorithm, own, *state)
            scale = size(model, *state) if algorithm == INVERSE_DYNAMICS else 0.0
            assert_close(out[k], expected, 1e-13, scale)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda x: x.name)
@pytest.mark.parametrize("count", [0, 1, BATCH_BLOCK + 3])
def test_every_state_of_a_batch_of_any_size(
    algorithm: Algorithm, count: int, load_robot: Any
) -> None:
    model = load_robot("scara")  # a prismatic joint among revolute ones
    robot = kernels_of(model)
    n = model.n
    vectors = random_vectors(algorithm, 7, count, n)
    out = result(algorithm, n, count)
    assert plain(algorithm, robot, batch=True)(robot.parameters, *vectors, out) == OK
    for k in range(count):
        assert_close(
            out[k],
            general(algorithm, robot, *(vector[k] for vector in vectors))[1],
            1e-12,
        )


def test_a_state_that_is_not_finite_affects_no_other_state(load_robot: Any) -> None:
    robot = kernels_of(load_robot("ur5e"))
    function = plain(INVERSE_DYNAMICS, robot, batch=True)
    vectors = random_vectors(INVERSE_DYNAMICS, 4, 8, 6)
    tau = result(INVERSE_DYNAMICS, 6, 8)
    # large angles are valid
    vectors[0][:, 1] = [0.1, -2e5, 1e9, 1e22, 1e300, 3.0, -1e9, 0.0]
    vectors[0][1, 3] = np.nan
    vectors[1][3, 0] = np.inf
    vectors[2][5, 2] = -np.inf
    vectors[0][7, 1] = np.inf
    with np.errstate(invalid="ignore"):
        assert function(robot.parameters, *vectors, tau) == OK
    for k in range(8):
        if k % 2:
            assert np.isnan(tau[k]).all()
        else:
            assert_close(
                tau[k],
                general(INVERSE_DYNAMICS, robot, *(vector[k] for vector in vectors))[1],
                1e-12,
            )


def test_the_first_state_with_a_bad_mass_matrix_is_named(load_robot: Any) -> None:
    """Negative inertia of a link makes the mass matrix indefinite for some states only."""
    robot = kernels_of(load_robot("ur5e"))
    parameters = robot.parameters.copy()
    views(robot.topology, parameters).bodies[3, MASS:] *= -2.0
    spoiled = robot.with_parameters(parameters)
    vectors = random_vectors(FORWARD_DYNAMICS, 9, 90, 6)
    statuses = [
        general(FORWARD_DYNAMICS, spoiled, *(vector[k] for vector in vectors))[0]
        for k in range(90)
    ]
    good, bad = (
        [k for k in range(90) if (statuses[k] == OK) is fine] for fine in (True, False)
    )
    assert good and len({statuses[k] for k in bad}) > 1
    function = plain(FORWARD_DYNAMICS, robot, batch=True)
    for k in bad[:5]:
        order = [*good, k, *bad]  # the first singular state is in a later block
        out = result(FORWARD_DYNAMICS, 6, len(order))
        with np.errstate(invalid="ignore"):
            status = function(parameters, *(vector[order] for vector in vectors), out)
        assert status == statuses[k] + len(good) * 6


def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    b = np.concatenate([x, np.full(2 * len(x), 7.0)])
    sines_and_cosines(b, 0, len(x), 2 * len(x), len(x))
    return b[len(x) : 2 * len(x)], b[2 * len(x) :]


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is not longer than double"
)
@pytest.mark.parametrize("reach", [1e-9, 0.1, 1.0, 4.0, 100.0, FARTHEST, 3 * FARTHEST])
def test_error_is_a_few_units_in_the_last_place(reach: float) -> None:
    x = np.random.default_rng(0).uniform(-reach, reach, 4000)
    # sine or cosine is nearly zero
    x[::4] = np.round(x[::4] / (np.pi / 2)) * (np.pi / 2)
    for got, function in zip(evaluate(x), (np.sin, np.cos), strict=True):
        exact = function(x.astype(np.longdouble))
        units = np.abs(got - exact) / np.spacing(np.abs(exact).astype(float))
        assert units.max() < 2.5


def test_the_same_angle_has_the_same_bits_anywhere() -> None:
    angles = np.random.default_rng(1).uniform(-10, 10, 37)
    expected = np.array(evaluate(angles))
    for shift in range(8):
        got = np.array(evaluate(np.concatenate([np.linspace(-3, 3, shift), angles])))
        np.testing.assert_array_equal(got[:, shift:], expected)

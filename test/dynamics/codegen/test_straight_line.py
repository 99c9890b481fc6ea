"""Generated single-state functions, run as plain Python to avoid compilation, against the general kernels."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    Algorithm,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR, WRONG_SHAPE
from robot_dynamics_ros.dynamics.kernels.layout import MASS
from robot_dynamics_ros.dynamics.model.model_data import views
from support import arms
from support.generated import (
    ALGORITHMS,
    general,
    kernels_of,
    plain,
    random_vectors,
    result,
)
from support.robots_with_drives import Robot, load, robots


@settings(max_examples=10)  # each example is traced again
@given(robot=robots())
def test_any_robot_gives_the_bits_of_the_general_kernels(robot: Robot) -> None:
    model = robot.model()
    own = kernels_of(model)
    for algorithm in ALGORITHMS:
        vectors = random_vectors(algorithm, robot.seed, model.n)
        status, expected = general(algorithm, own, *vectors)
        out = result(algorithm, model.n)
        assert plain(algorithm, own)(own.parameters, *vectors, out) == status
        np.testing.assert_array_equal(out, expected, err_msg=algorithm.name)
        # the result may overwrite an argument
        if status == OK and algorithm in (INVERSE_DYNAMICS, FORWARD_DYNAMICS):
            assert plain(algorithm, own)(own.parameters, *vectors, vectors[2]) == OK
            np.testing.assert_array_equal(vectors[2], expected, err_msg=algorithm.name)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda x: x.name)
def test_wrong_shapes_are_refused_and_nothing_is_written(
    algorithm: Algorithm, load_robot: Any
) -> None:
    """Each axis of each argument is changed; callers of batches check these before."""
    robot = kernels_of(load_robot("planar_2r"))
    function = plain(algorithm, robot)
    right = [
        robot.parameters,
        *random_vectors(algorithm, 0, 2),
        result(algorithm, 2),
    ]
    for place, array in enumerate(right):
        for axis, length in enumerate(array.shape):
            for size in {0, 1, length - 1, length + 1, 3 * length} - {length}:
                wrong = [*right]
                wrong[place] = np.full(
                    [*array.shape[:axis], size, *array.shape[axis + 1 :]], np.nan
                )
                assert function(*wrong) == WRONG_SHAPE
                assert np.isnan(wrong[-1]).all()
    assert function(*right) == OK


def test_a_singular_mass_matrix_has_the_status_of_the_general_kernel(
    load_robot: Any,
) -> None:
    robot = kernels_of(load_robot("ur5e"))
    function = plain(FORWARD_DYNAMICS, robot)
    vectors = random_vectors(FORWARD_DYNAMICS, 1, 6)
    statuses = set()
    for body, factor in product(range(6), (0.0, -50.0)):
        parameters = robot.parameters.copy()
        views(robot.topology, parameters).bodies[body, MASS:] *= factor
        expected, _ = general(
            FORWARD_DYNAMICS, robot.with_parameters(parameters), *vectors
        )
        out = result(FORWARD_DYNAMICS, 6)
        assert function(parameters, *vectors, out) == expected
        assert np.isnan(out).all() == (expected != OK)
        statuses.add(expected)
    assert OK in statuses and SINGULAR + 5 in statuses and len(statuses) > 3


def test_a_coordinate_that_only_spins_a_rotor_leaves_forward_dynamics_to_the_general_kernel() -> (
    None
):
    """The coordinate's pivot does not depend on the bodies, so that it has no guard and no status."""
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "revolute"])
    first, second = arm.movable
    rotor = {
        "carrier": arm.links[1].name,
        "axis": [0, 0, 1],
        "inertia": 0.01,
        "ratio": {"spin": 20.0},
    }
    rows = {first: {"p1": 1.0}, second: {"p2": 1.0}}
    robot = kernels_of(
        load(
            arm,
            {"coordinates": ["p1", "p2", "spin"], "couplings": rows, "rotors": [rotor]},
        )
    )
    assert trace_algorithm(FORWARD_DYNAMICS, robot.topology, robot.parameters) is None
    vectors = random_vectors(INVERSE_DYNAMICS, 0, 3)
    out = result(INVERSE_DYNAMICS, 3)
    assert plain(INVERSE_DYNAMICS, robot)(robot.parameters, *vectors, out) == OK
    np.testing.assert_array_equal(out, general(INVERSE_DYNAMICS, robot, *vectors)[1])

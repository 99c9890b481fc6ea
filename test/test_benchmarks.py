"""Operation counts of the functions against the books; agreement of the libraries that are timed."""

from collections import Counter

import numpy as np
import pytest

from benchmarks import dynamics, peers
from benchmarks.counting import Counted
from benchmarks.formulation_counts import (
    COUNTED,
    SIZES,
    TIMED,
    polynomial,
    run_counted,
    state,
)
from benchmarks.formulations import all_counts
from benchmarks.operation_counts import (
    ALGORITHMS,
    CRAIG_PLANAR_ARM,
    LARGEST,
    PRINTED,
    ROBOTS,
    Count,
    customised_count,
    folded_count,
    general_count,
    printed,
)
from benchmarks.robots import random_chain, random_states, shipped
from benchmarks.tables import CUSTOMISED, MUJOCO, PINOCCHIO
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.codegen.tracing import (
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
    interpreted,
)
from robot_dynamics_ros.dynamics.kernels.placement import cross, rotate, rotate_back
from support import arms


@pytest.fixture(scope="module")
def counts() -> dict[str, list[Count]]:
    return all_counts()


@pytest.mark.parametrize("name", COUNTED)
def test_counted_numbers_give_the_torque(name: str) -> None:
    """Counted numbers give the same torque as plain numbers, and as the other formulations."""
    tree = random_chain(4)
    motion = state(4)
    form, _ = COUNTED[name]
    torque = np.array(run_counted(form, 4, Counter()), dtype=float)
    np.testing.assert_allclose(torque, form(tree, *motion), rtol=1e-12)
    for other in TIMED.values():
        np.testing.assert_allclose(torque, other(tree, *motion), rtol=1e-9)


@pytest.mark.parametrize("name", COUNTED)
def test_growth_of_table_3(name: str, counts: dict[str, list[Count]]) -> None:
    """Milicevic: the power of n is 4 for Lagrange-Euler, 3 for d'Alembert, 1 for Newton-Euler."""
    for ours, expected in zip(
        zip(*counts[name], strict=True), PRINTED[COUNTED[name][1]], strict=True
    ):
        ours_polynomial = polynomial(list(ours))
        assert len(ours_polynomial) == len(expected)
        assert 0.7 < ours_polynomial[0] / expected[0] < 1.8
        for n, value in zip(SIZES[1:], ours[1:], strict=True):
            assert (
                sum(c * n**power for power, c in enumerate(reversed(ours_polynomial)))
                == value
            )


def test_order_of_table_3(counts: dict[str, list[Count]]) -> None:
    """From three joints on: Newton-Euler in link frames, in the base frame, d'Alembert, Lagrange-Euler."""
    euler, dalembert, base, links = (np.array(counts[name])[2:] for name in COUNTED)
    assert (
        np.all(links < base)
        and np.all(base < dalembert)
        and np.all(5 * dalembert < euler)
    )


def test_counts_by_hand() -> None:
    """A cross product has 6 and 3, a matrix times a vector 9 and 6; negation is free, and values are right."""
    tally: Counter[str] = Counter()

    def numbers(*values: float) -> list[Counted]:
        return [Counted(value, tally) for value in values]

    assert interpreted(cross)(numbers(1, 2, 3), numbers(4, 5, 6)) == (-3.0, 6.0, -3.0)
    assert tally == {"*": 6, "-": 3}
    for product in (rotate, rotate_back):
        tally.clear()
        interpreted(product)(numbers(*range(9)), numbers(1, 2, 3))
        assert tally == {"*": 9, "+": 6}


@pytest.mark.parametrize(
    ("algorithm", "degree"), list(zip(ALGORITHMS, (1, 1, 2, 3), strict=True))
)
def test_growth_of_the_general_counts(algorithm: Algorithm, degree: int) -> None:
    """Newton-Euler is linear in the number of joints, the mass matrix quadratic, its factorisation cubic."""
    operations = np.array([general_count(algorithm, n) for n in range(1, LARGEST + 1)])
    assert np.all(np.diff(operations, degree + 1, axis=0) == 0)
    assert np.all(np.diff(operations, degree, axis=0) > 0)


def test_newton_euler_needs_as_many_operations_as_published() -> None:
    """At most a fifth above Milicevic's Table 3, and far below the other forms, from two joints on."""
    for n in range(2, LARGEST + 1):
        ours = np.array(general_count(INVERSE_DYNAMICS, n))
        assert np.all(
            ours < 1.2 * np.array(printed("Milicevic Table 3, Newton-Euler", n))
        )
        assert np.all(ours < printed("Milicevic Table 3, d'Alembert", n))


def test_counts_in_print() -> None:
    """Craig 6.13: for six joints Newton-Euler is about 100 times as efficient as the first Lagrangian method."""
    assert printed("Craig 6.13, Lagrangian", 6) == (66394, 51456)
    assert printed("Craig 6.13, Newton-Euler", 6) == (657, 544)


@pytest.mark.parametrize("name", ROBOTS)
def test_customised_kernels_take_less(name: str) -> None:
    """Craig 6.13: customised equations need fewer operations than the best general method."""
    model = shipped(name, ROBOTS[name])
    for algorithm in (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX):
        ours = customised_count(algorithm, model)
        assert np.all(np.array(folded_count(algorithm, model)) <= ours)
        assert np.all(np.array(ours) < general_count(algorithm, model.n))
    assert np.all(
        np.array(customised_count(INVERSE_DYNAMICS, model))
        < printed("Craig 6.13, Newton-Euler", model.n)
    )


def test_planar_arm_takes_no_more_than_the_closed_form() -> None:
    model = shipped("planar_2r", ROBOTS["planar_2r"])
    assert np.all(np.array(folded_count(INVERSE_DYNAMICS, model)) <= CRAIG_PLANAR_ARM)


# --- Speeds are compared of libraries that give the same results

# Siblings that Pinocchio sorts the other way round, joints that it keeps as cosine and sine, and one that is locked.
KINDS = ["continuous", "prismatic", "revolute", "revolute", "continuous"]
TREE = arms.random_arm(np.random.default_rng(0), [0, 1, 2, 0, 4], KINDS)


@pytest.fixture(scope="module")
def tree(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[RobotModel, dict[str, peers.Calls]]:
    path = tmp_path_factory.mktemp("tree") / "tree.urdf"
    path.write_text(TREE.urdf, encoding="utf-8")
    model = RobotModel.from_urdf_file(path, locked={TREE.movable[2]: 0.0})
    names = model.joint_names
    return model, {
        CUSTOMISED: peers.ours(model),
        **peers.pinocchio(path, names),
        MUJOCO: peers.mujoco_calls(path, names),
    }


@pytest.mark.parametrize("algorithm", peers.ALGORITHMS)
def test_libraries_agree_joint_by_joint(
    algorithm: str, tree: tuple[RobotModel, dict[str, peers.Calls]]
) -> None:
    """Joints match by name, locked joints do not move, and every result is in our order."""
    model, libraries = tree
    dynamics.check_agreement(
        "tree", libraries, algorithm, random_states(model.n, dynamics.CHECKED, seed=1)
    )
    offered = [name for name, calls in libraries.items() if algorithm in calls]
    assert offered[:2] == [CUSTOMISED, PINOCCHIO]
    assert (MUJOCO in offered) == (
        algorithm in ("inverse_dynamics", "mass_matrix", "forward_dynamics")
    )

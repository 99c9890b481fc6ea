from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.counting import Counted
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
    load,
    printed,
    report,
)
from robot_dynamics_ros.codegen.interpretation import interpreted
from robot_dynamics_ros.codegen.tracing import GRAVITY_TORQUE, INVERSE_DYNAMICS, MASS_MATRIX, Algorithm
from robot_dynamics_ros.kernels.vectors import cross, rotate, rotate_back

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_counts_by_hand() -> None:
    """A cross product takes 6 and 3, a matrix times a vector 9 and 6; signs are free, and values stay right."""
    tally: Counter[str] = Counter()

    def numbers(*values: float) -> list[Counted]:
        return [Counted(value, tally) for value in values]

    assert interpreted(cross)(*numbers(1, 2, 3, 4, 5, 6)) == (-3.0, 6.0, -3.0)
    assert tally == {"*": 6, "-": 3}
    for product in (rotate, rotate_back):
        tally.clear()
        interpreted(product)(numbers(*range(9)), *numbers(1, 2, 3))
        assert tally == {"*": 9, "+": 6}
    tally.clear()
    (x,) = numbers(4.0)
    assert (2.0 - -x, 2.0 * x, 1.0 / x, x / 2, x.sqrt(), x.sin(), x.cos()) == pytest.approx(
        (6.0, 8.0, 0.25, 2.0, 2.0, np.sin(4.0), np.cos(4.0))
    )
    assert tally == {"-": 1, "*": 1, "/": 2, "sqrt": 1, "sin": 1, "cos": 1}


@pytest.mark.parametrize(("algorithm", "degree"), list(zip(ALGORITHMS, (1, 1, 2, 3), strict=True)))
def test_growth_of_the_general_counts(algorithm: Algorithm, degree: int) -> None:
    """Newton-Euler is linear in the number of joints, the mass matrix quadratic, its factorisation cubic."""
    counts = np.array([general_count(algorithm, n) for n in range(1, LARGEST + 1)])
    assert np.all(np.diff(counts, degree + 1, axis=0) == 0)
    assert np.all(np.diff(counts, degree, axis=0) > 0)


def test_newton_euler_takes_what_the_books_take() -> None:
    """Not more than a fifth above Milicevic's Table 3, and far below the other forms, from two joints on."""
    for n in range(2, LARGEST + 1):
        ours = np.array(general_count(INVERSE_DYNAMICS, n))
        assert np.all(ours < 1.2 * np.array(printed("Milicevic Table 3, Newton-Euler", n)))
        assert np.all(ours < printed("Milicevic Table 3, d'Alembert", n))


def test_printed_counts() -> None:
    """Craig 6.13 works his formula out for two links; counts are whole numbers; at one joint the sums of the
    coefficients of Milicevic's Table 3."""
    assert printed("Craig 6.13, Newton-Euler", 2) == Count(153, 120)
    assert printed("Milicevic Table 3, Lagrange-Euler", 1) == Count((128 + 512 + 739 + 160) // 3, 390)
    assert printed("Milicevic Table 3, d'Alembert", 1) == Count(213, 139)
    for polynomials in PRINTED.values():
        for polynomial in polynomials:
            for n in range(1, LARGEST + 1):
                value = sum(c * n**k for k, c in enumerate(reversed(polynomial)))
                assert value == int(value) > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_customised_kernels_take_less(name: str) -> None:
    """Craig 6.13: customised equations beat the best general scheme."""
    model = load(name)
    for algorithm in (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX):
        ours = customised_count(algorithm, model)
        assert np.all(np.array(folded_count(algorithm, model)) <= ours)
        assert np.all(np.array(ours) < general_count(algorithm, model.n))
    assert np.all(np.array(customised_count(INVERSE_DYNAMICS, model)) < printed("Craig 6.13, Newton-Euler", model.n))


def test_planar_arm_takes_no_more_than_the_closed_form() -> None:
    assert np.all(np.array(folded_count(INVERSE_DYNAMICS, load("planar_2r"))) <= CRAIG_PLANAR_ARM)


def test_document_has_these_counts() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert report().strip() in text, "Cure: make counts BENCH_ARGS='--write docs/benchmarks.md'"

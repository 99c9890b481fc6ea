from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks.document import replace_part
from benchmarks.formulation_counts import (
    COUNTED,
    SIZES,
    TIMED,
    chain,
    exponent,
    formula,
    polynomial,
    run_counted,
    state,
)
from benchmarks.formulations import all_counts, count_report, draw, seconds, time_report
from benchmarks.operation_counts import PRINTED, Count


@pytest.fixture(scope="module")
def counts() -> dict[str, list[Count]]:
    return all_counts()


@pytest.mark.parametrize("name", COUNTED)
def test_counted_numbers_give_the_torque(name: str) -> None:
    """What counts is the form itself: it gives what it gives with plain numbers, and what the other forms give."""
    tree, motion = chain(4), state(4)
    form, _ = COUNTED[name]
    torque = np.array(run_counted(form, 4, Counter()), dtype=float)
    np.testing.assert_allclose(torque, form(tree, *motion), rtol=1e-12)
    for other in TIMED.values():
        np.testing.assert_allclose(torque, other(tree, *motion), rtol=1e-9)


@pytest.mark.parametrize("name", COUNTED)
def test_growth_of_table_3(name: str, counts: dict[str, list[Count]]) -> None:
    """The power of n is the printed one: 4 for Lagrange-Euler, 3 for d'Alembert, 1 for Newton-Euler."""
    for ours, printed in zip(zip(*counts[name], strict=True), PRINTED[COUNTED[name][1]], strict=True):
        ours_polynomial = polynomial(list(ours))
        assert len(ours_polynomial) == len(printed)
        assert 0.7 < ours_polynomial[0] / printed[0] < 1.8
        for n, value in zip(SIZES[1:], ours[1:], strict=True):
            assert sum(c * n**power for power, c in enumerate(reversed(ours_polynomial))) == value


def test_order_of_table_3(counts: dict[str, list[Count]]) -> None:
    """From three joints on: Newton-Euler in link frames, in the base frame, d'Alembert, Lagrange-Euler."""
    euler, dalembert, base, links = (np.array(counts[name])[2:] for name in COUNTED)
    assert np.all(links < base) and np.all(base < dalembert) and np.all(5 * dalembert < euler)


def test_polynomials() -> None:
    cubic = [2 * n**3 - n for n in SIZES]
    assert polynomial(cubic) == (2, 0, -1, 0)
    assert formula(polynomial(cubic)) == "2 n^3 - n"
    assert formula((Fraction(128, 3), 0, -1, -4)) == "128/3 n^3 - n - 4"
    assert exponent([5e-6 * n**3 for n in SIZES]) == pytest.approx(3.0)


def test_document(tmp_path: Path, counts: dict[str, list[Count]]) -> None:
    """A measured time is a time; tables and picture go where the document asks for them."""
    assert 1e-6 < seconds(TIMED["Newton-Euler, link frames"], 1) < 1.0
    times = {name: [1e-4 * n for n in SIZES] for name in TIMED}
    document, image = tmp_path / "theory.md", tmp_path / "formulations.png"
    document.write_text("<!-- begin: make formulations -->\n<!-- end: make formulations -->\n")
    replace_part(document, "make formulations", count_report(counts) + time_report(counts, times))
    assert "32 n^4" in document.read_text() and "n^1.0" in document.read_text()
    draw(counts, times, image)
    assert 10_000 < image.stat().st_size < 150_000


def test_the_document_has_these_counts(counts: dict[str, list[Count]]) -> None:
    document = Path(__file__).parents[2] / "docs" / "theory.md"
    assert count_report(counts).strip() in document.read_text(encoding="utf-8")

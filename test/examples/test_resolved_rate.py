"""The example of resolved-rate motion against the closed forms of the planar three-link arm."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from oracles import craig_jacobians
from support.comparing import assert_close
from support.example_scripts import load_example


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("resolved_rate")


def test_the_exercise(example: ModuleType) -> None:
    """The book's numbers, its Jacobian and determinant by hand, Euler's rule, and J^T F at each step."""
    motion = example.run()
    assert (example.LENGTHS, tuple(example.START)) == (craig_jacobians.HAND_LENGTHS, tuple(craig_jacobians.HAND_START))
    assert_close(motion.time, np.linspace(0.0, 5.0, 51), 1e-14)
    q = craig_jacobians.HAND_START
    for k in range(51):
        j = craig_jacobians.hand_jacobian(q)
        assert_close(motion.angles[k], q, 1e-12)
        assert_close(motion.rates[k], np.linalg.solve(j, craig_jacobians.HAND_VELOCITY), 1e-12)
        assert_close(motion.torques[k], j.T @ craig_jacobians.HAND_FORCE, 1e-12)
        assert motion.determinant[k] == pytest.approx(craig_jacobians.hand_determinant(q), rel=1e-12)
        q = q + 0.1 * motion.rates[k]
    assert_close(motion.hand[-1] - motion.hand[0], 5.0 * craig_jacobians.HAND_VELOCITY, 0.03)


def test_it_draws(example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["resolved_rate.py", str(picture)])
    example.main()
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 30_000

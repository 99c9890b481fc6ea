"""One look at each tool: what is planted is found."""

import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from tools.chaos.figures import is_safe
from tools.chaos.record import Joints
from tools.coverage_table import by_folder, judged, shortfalls
from tools.mutation.forks import TIMED_OUT, Job, forked
from tools.mutation.mutants import Mutants
from tools.numerics.errors import EPS, units
from tools.numerics.oracle import MP


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a + b", ["a + b -> a - b in: x = a + b"]),
        ("x = a < b", ["a < b -> a <= b in: x = a < b", "a < b -> a >= b in: x = a < b"]),
        ("if a:\n    pass", ["if a: -> if True:", "if a: -> if False:"]),
        ("x = a + a, a + a", ["a + a -> a - a in: x = (a + a, a + a)", "a + a -> a - a in: x = (a + a, a + a) #2"]),
        ('"""Words."""\nraise ValueError(1 + 1)', []),
    ],
)
def test_mutants_of_a_file(source: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(source)
    found = Mutants(tmp_path / "some.py", "some.py")
    assert [mutant.text for mutant in found.all] == expected
    assert found.compiled(None) == compile(source, str(found.path), "exec", dont_inherit=True)
    assert all(found.compiled(mutant) != found.compiled(None) for mutant in found.all)


def test_forks_that_loop_for_ever_are_ended() -> None:
    def endless() -> int:
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        while True:
            pass

    ends = {end.name: end.code for end in forked([Job("three", lambda: 3, 1.0), Job("endless", endless, 1.0)], 2)}
    assert ends == {"three": 3, "endless": TIMED_OUT}


def test_chaos_knows_a_safe_torque(load_robot: Callable[..., RobotModel]) -> None:
    """It carries the arm, or damps it, or is none."""
    model = load_robot("panda", "panda")
    q, qd = np.array([[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]]), np.full((1, 7), 0.1)
    states = Joints(np.zeros(1), np.zeros(1), q, qd, np.zeros((1, 7)))
    carries = model.gravity_torque(q[0])
    damps = carries - 20.0 * model.mass_matrix(q[0]) @ qd[0]
    assert all(is_safe(model, states, slice(0, 1), effort) for effort in (carries, damps, np.zeros(7)))
    for effort in (carries + 1e-3, damps * 1.01, np.full(7, np.nan)):
        assert not is_safe(model, states, slice(0, 1), effort)


def test_numerics_counts_last_places() -> None:
    one = np.array([MP.mpf(1)])
    assert units([1.0 + 3 * EPS], one, [1.0]) == pytest.approx(3.0)
    assert units([np.nan], one, [1.0]) == np.inf


@pytest.mark.parametrize(("lines", "branches", "short"), [(95, 90, 0), (94, 90, 1), (95, 89, 1)])
def test_coverage_has_bars_for_lines_and_branches(lines: int, branches: int, short: int) -> None:
    """The command line does not count."""
    some = {"num_statements": 100, "covered_lines": lines, "num_branches": 100, "covered_branches": branches}
    none = {"num_statements": 100, "covered_lines": 0, "num_branches": 100, "covered_branches": 0}
    report = {
        "files": {"robot_dynamics_ros/model/a.py": {"summary": some}, "robot_dynamics_ros/cli/b.py": {"summary": none}}
    }
    assert len(shortfalls(judged(by_folder(report)))) == short

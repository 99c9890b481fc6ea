"""The benchmark's own parts, without timing anything."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import Arm, Joint, Link

from benchmarks import dynamics
from benchmarks.document import replace_part
from benchmarks.dynamics import check_agreement
from benchmarks.peers import ALGORITHMS, BATCH, SINGLE, Calls, mujoco_calls, ours, pinocchio
from benchmarks.robots import ROBOTS, Robot, random_states, urdf_file
from benchmarks.tables import CUSTOMISED, GENERAL, MUJOCO, PINOCCHIO, WORLD, missed, ratio_table, time_table
from benchmarks.timing import Timed, interleaved
from robot_dynamics_ros import RobotModel

INERTIA = np.diag([0.3, 0.4, 0.5])
# Siblings that Pinocchio sorts the other way round, a joint that it keeps as cosine and sine, and one that is locked.
TREE = Arm(
    (Link("base"), *(Link(f"link{i}", 1.0 + i, (0.1, 0.2 * i, 0.3), INERTIA) for i in range(5))),
    (
        Joint("z", "continuous", "base", "link0", (0.1, 0, 0), (0.3, 0, 0), (0, 1, 0)),
        Joint("y", "prismatic", "link0", "link1", (0, 0.2, 0), (0, 0.4, 0), (1, 0, 0)),
        Joint("finger", "revolute", "link1", "link2", (0.1, 0, 0.1)),
        Joint("x", "revolute", "base", "link3", (0, 0, 0.3), (0.5, 0.2, 0), (0, 0, 1)),
        Joint("w", "continuous", "link3", "link4", (0, 0.4, 0), (0, 0.2, 0.1), (0, -1, 0)),
    ),
)


@pytest.fixture
def tree(tmp_path: Path) -> tuple[RobotModel, dict[str, Calls]]:
    path = tmp_path / "tree.urdf"
    path.write_text(TREE.urdf, encoding="utf-8")
    model = RobotModel.from_urdf_file(path, locked={"finger": 0.0})
    names = model.joint_names
    return model, {CUSTOMISED: ours(model), **pinocchio(path, names), MUJOCO: mujoco_calls(path, names)}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_libraries_have_the_same_robot(algorithm: str, tree: tuple[RobotModel, dict[str, Calls]]) -> None:
    """Joints match by name, locked ones stand still, and every result is in our order."""
    model, libraries = tree
    check_agreement("tree", libraries, algorithm, random_states(model.n, dynamics.CHECKED, seed=1))
    offered = [name for name, calls in libraries.items() if algorithm in calls]
    assert offered[:2] == [CUSTOMISED, PINOCCHIO]
    assert (MUJOCO in offered) == (algorithm in ("inverse_dynamics", "mass_matrix", "forward_dynamics"))


@pytest.mark.parametrize("wrong", [1e-6, np.nan])
@pytest.mark.parametrize("algorithm", ["mass_matrix", "inverse_dynamics_derivatives", "forward_dynamics" + BATCH])
def test_refuses_a_library_that_disagrees(
    wrong: float, algorithm: str, tree: tuple[RobotModel, dict[str, Calls]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One number, off by a millionth of the largest: nothing is timed, whatever else agrees."""
    model, libraries = tree
    right = libraries[PINOCCHIO][algorithm]

    def value(result: Any) -> Any:
        numbers = right.value(result)
        numbers.flat[-1] += wrong * np.max(np.abs(numbers))
        return numbers

    libraries[PINOCCHIO][algorithm] = right._replace(value=value)
    monkeypatch.setattr(dynamics, "load", lambda robot: (model.n, libraries))
    monkeypatch.setattr(dynamics, "measure", lambda *_: pytest.fail("something was timed"))
    monkeypatch.setattr(dynamics, "STATES", dynamics.CHECKED)
    with pytest.raises(SystemExit, match=rf"ur10: {algorithm}: Pinocchio differs .* Cure: "):
        dynamics.run(["ur10"])


def test_accepts_what_is_within_the_tolerance(tree: tuple[RobotModel, dict[str, Calls]]) -> None:
    model, libraries = tree
    right = libraries[MUJOCO]["mass_matrix"]
    libraries[MUJOCO]["mass_matrix"] = right._replace(value=lambda result: right.value(result) * (1.0 + 5e-9))
    check_agreement("tree", libraries, "mass_matrix", random_states(model.n, dynamics.CHECKED, seed=2))


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_are_there(name: str) -> None:
    text = urdf_file(ROBOTS[name]).read_text(encoding="utf-8")
    assert all(f'<joint name="{joint}"' in text for joint in ROBOTS[name].locked)


def test_robot_that_is_not_there() -> None:
    with pytest.raises(SystemExit, match=r"nobody\.urdf: not there.*Cure: pip install example-robot-data"):
        urdf_file(Robot("Nobody", "nobody.urdf"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--robots", "r2d2"], "choose from"),
        (["--robots", "panda", "--write", "benchmarks.md"], "leave out --robots"),
        (["--write"], "expected one argument"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dynamics, "run", lambda names: pytest.fail("it ran"))
    with pytest.raises(SystemExit):
        dynamics.main(arguments)
    assert message in capsys.readouterr().err


def test_document_without_a_place_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamics, "run", lambda names: pytest.fail("it ran"))
    path = tmp_path / "benchmarks.md"
    with pytest.raises(SystemExit, match="Cure: a Markdown file with"):
        dynamics.main(["--write", str(path)])
    path.write_text("# Nothing here\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="Cure: a Markdown file with"):
        dynamics.main(["--write", str(path)])


def test_part_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_text("a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n<!-- begin: y --><!-- end: y -->", encoding="utf-8")
    for _ in range(2):
        replace_part(path, "x", "new\n")
    assert path.read_text(encoding="utf-8") == (
        "a\n<!-- begin: x -->\n\nnew\n\n<!-- end: x -->\nb\n<!-- begin: y --><!-- end: y -->"
    )


def test_libraries_take_turns() -> None:
    """A warming turn, then in every round each library once, forth and back, through all states."""
    log: list[tuple[str, int]] = []

    def library(name: str) -> Callable[[int], None]:
        return lambda state: log.append((name, state))

    timed = {name: Timed(library(name), [(k,) for k in range(4)]) for name in "ab"}
    times = interleaved(timed, rounds=3, block=2)
    turns = [list(turn) for _, turn in itertools.groupby(log, key=lambda entry: entry[0])]
    assert [name for name, _ in log[::2]] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert [state for name, state in log if name == "a"][2:] == [0, 1, 2, 3, 0, 1]
    assert sum(map(len, turns)) == len(log) == 16
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}
    log.clear()
    interleaved(timed, rounds=1, block=1, settle=True)
    assert len(log) == 8


def test_tables() -> None:
    """Ratios of times for single calls, of speeds for batches; the wrong side of the target is marked."""
    one = np.full(3, 2e-6)
    times = {"ur10": {name: {CUSTOMISED: 0.7 * one, GENERAL: one, PINOCCHIO: one} for name in ALGORITHMS}}
    times["ur10"]["inverse_dynamics" + BATCH][CUSTOMISED] = 0.1 * one
    times["ur10"]["mass_matrix"][WORLD] = 1e-6 * np.array([1.0, 2.5, 9.0])
    assert list(times["ur10"]) == [*SINGLE, "inverse_dynamics" + BATCH, "forward_dynamics" + BATCH]
    lines = ratio_table(times, CUSTOMISED).splitlines()
    ratios = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in lines[2:]}
    assert ratios["inverse_dynamics"] == "**0.70** (0.70 to 0.70)"
    assert ratios["forward_dynamics"] == "**0.70** ✗ (0.70 to 0.70)"
    assert ratios["inverse_dynamics" + BATCH] == "**10.0×** (10.0 to 10.0)"
    assert ratios["forward_dynamics" + BATCH] == "**1.43×** ✗ (1.43 to 1.43)"
    assert missed(times) == (
        "Missed (✗): forward_dynamics on UR10 (0.70, must be 0.65); "
        "forward_dynamics, 100,000 states on UR10 (1.43×, must be 3×)."
    )
    assert ("run it again" in dynamics.report(times, busy=1.0)) != ("run it again" in dynamics.report(times, busy=1.9))
    row = next(line for line in time_table(times).splitlines() if "mass_matrix" in line)
    assert [cell.strip() for cell in row.split("|")[3:-1]] == ["1.4", "2", "2", "2.5", "–"]

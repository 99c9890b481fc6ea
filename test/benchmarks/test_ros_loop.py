"""The loop's own parts, and a short run of the whole; without judging any time."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ros_loop
from benchmarks.ros_loop import AMPLITUDE, READY, SWING, Swing
from benchmarks.ros_plant import BEHIND, PATIENCE, PERIOD_NS, RoundTrips, Turn
from benchmarks.ros_table import CONTROLLER, ECHO, LEAN, Measured, loop_table, missed
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.nodes.messages import nanoseconds, trajectory_points

ROOT = Path(__file__).resolve().parents[2]
NAMES = tuple(f"panda_joint{i}" for i in range(1, 8))


@pytest.mark.slow
def test_whole_loop() -> None:
    """Every node answers, the controller follows its trajectory all the while, and the table has every number."""
    command = [sys.executable, "-m", "benchmarks.ros_loop", "--seconds", "2"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert outcome.returncode == 0, outcome.stderr
    rows = {row[1]: row[2:-1] for row in _cells(outcome.stdout)}
    for title in ("controller", "bare echo", "bare echo of effort_commands only"):
        median, high, longest = (float(cell) for cell in rows[title][:3])
        assert 0.0 < median <= high <= longest
        assert all(re.fullmatch(r"\d+(\.\d+)?%", cell) for cell in rows[title][3:])
    assert re.fullmatch(r"\*\*\d+\.\d\d\*\* \(\d+\.\d\d to \d+\.\d\d\)", rows["controller to bare echo"][0])
    cycles = re.search(r"^(\d+) cycles", outcome.stdout, re.MULTILINE)
    assert cycles is not None and 1000 < int(cycles[1]) <= 2010


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.startswith("|")]


class Cycles:
    """Ticks at 1 ms, each sends where it may; answers come when the test says so."""

    def __init__(self) -> None:
        self.trips = RoundTrips()
        self.now = 0

    def tick(self, *answers: float) -> bool:
        """One cycle with answers so many ms after its tick; whether a state was sent in it."""
        sent = self.trips.tick()
        if sent:
            self.trips.send(self.now)
        for answer in answers:
            self.trips.answer(self.now + round(answer * PERIOD_NS))
        self.now += PERIOD_NS
        return sent

    def result(self) -> Turn:
        return self.trips.result()


def test_round_trips() -> None:
    """The second answer comes after the third state was sent: it is the second's, late, and the third's follows."""
    cycles = Cycles()
    cycles.tick(0.3)
    cycles.tick()
    cycles.tick(0.1, 0.4)
    cycles.tick(0.2, 0.3)  # one too many: nothing asked for it
    turn = cycles.result()
    assert turn.trips == pytest.approx([0.3e-3, 1.1e-3, 0.4e-3, 0.2e-3])
    assert (turn.cycles, turn.unanswered) == (4, 1)
    assert not cycles.trips.outstanding


def test_lost_answer() -> None:
    """It pushes each answer onto the state before, until the plant waits; then all is as it was."""
    cycles = Cycles()
    cycles.tick()
    assert all(cycles.tick(0.25) for _ in range(BEHIND))
    assert not any(cycles.tick() for _ in range(PATIENCE))
    assert cycles.trips.outstanding
    assert cycles.tick(0.5)
    turn = cycles.result()
    assert turn.trips == pytest.approx([1.25e-3] * BEHIND + [0.5e-3])
    assert turn.cycles == 1 + BEHIND + PATIENCE + 1
    assert turn.unanswered == BEHIND + PATIENCE + 1
    assert not cycles.trips.outstanding


def test_answers_that_come_in_the_end() -> None:
    """Nobody answers for a while: nothing is lost, and nothing is sent until all answers are there."""
    cycles = Cycles()
    assert all(cycles.tick() for _ in range(1 + BEHIND))
    assert not cycles.tick()
    assert not cycles.tick(*([0.5] * (1 + BEHIND)))
    assert cycles.tick(0.2)
    turn = cycles.result()
    assert turn.trips[0] == pytest.approx((BEHIND + 2.5) * 1e-3)
    assert turn.trips[-1] == pytest.approx(0.2e-3)
    assert (turn.cycles, turn.unanswered) == (BEHIND + 4, BEHIND + 3)


def test_counting_starts_anew() -> None:
    """What was sent before belongs to the cycles before; its answer finds it all the same."""
    cycles = Cycles()
    cycles.tick(0.3)
    cycles.tick()
    cycles.trips.start_counting()
    cycles.tick(0.1, 0.2)
    turn = cycles.result()
    assert turn.trips == pytest.approx([1.1e-3, 0.2e-3])
    assert turn.cycles == 1
    cycles.tick()
    cycles.trips.give_up()
    assert cycles.result().unanswered == 2


def test_swing_is_the_trajectory() -> None:
    """What the controller is checked against is what it was sent, and within the Panda's limits."""
    start = 1_700_000_000_000_000_000
    swing = Swing(NAMES, start, 25.0)
    points = trajectory_points(swing.message)
    assert nanoseconds(swing.message.header.stamp) == start
    assert points.times[-1] == 3 * SWING
    trajectory = Trajectory.from_points(points, NAMES, 0.0, (np.array(READY), None, None))
    sampled = np.empty((4, 7))
    for seconds in (0.0, 0.7, SWING / 2, 13.3, 3 * SWING):
        trajectory.sample_rows(seconds, sampled)
        assert swing.position(start + round(seconds * 1e9)) == pytest.approx(sampled[0], abs=1e-5)
    assert swing.position(start + round(SWING / 2 * 1e9)) == pytest.approx(np.array(READY) + 2 * AMPLITUDE)


def _runs(controller: float, last: float, unanswered: int = 0) -> dict[str, list[Measured]]:
    """Two turns of 100 cycles each: echoes take 200 us, the controller so many, and so many in its last cycles."""

    def turns(usual: float, slowest: float, late: int) -> list[Measured]:
        trips = 1e-6 * np.array([usual] * 95 + [slowest] * 5)
        return [Measured(Turn(trips, 100, late), share, 0.2) for share in (0.3, 0.4)]

    return {CONTROLLER: turns(controller, last, unanswered), ECHO: turns(200, 400, 0), LEAN: turns(160, 400, 0)}


def test_table() -> None:
    rows = {row[1]: row[2:-1] for row in _cells(loop_table(_runs(240, 500, unanswered=1)))}
    assert rows["controller"] == ["240", "500", "500", "1.00%", "35%", "20%"]
    assert rows["bare echo"][:4] == ["200", "400", "400", "0.00%"]
    assert rows["controller to bare echo"][:2] == ["**1.20** (1.20 to 1.20)", "**1.25**"]
    assert rows["controller to bare echo of effort_commands only"][0] == "**1.50** (1.50 to 1.50)"


def test_what_is_missed() -> None:
    assert missed(_runs(249, 599)) == "The controller is within all that it must keep to."
    assert missed(_runs(260, 620, unanswered=1)) == (
        "Missed: median 1.30 times the bare echo's, must be 1.25; 99th percentile 1.55 times the bare echo's, must be "
        "1.5; 1.00% of the cycles unanswered, must be 0.5%."
    )


def test_report_says_when_others_were_busy() -> None:
    runs = _runs(240, 500)
    assert "200 cycles of 1 ms" in ros_loop.report(runs, others=0.1)
    assert "run it again" in ros_loop.report(runs, others=1.2)
    assert "run it again" not in ros_loop.report(runs, others=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seconds", "0"], "at least 1"),
        (["--seconds", "5", "--write", "benchmarks.md"], "leave out --seconds"),
        (["--write", "nowhere.md"], "Cure: a Markdown file with"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ros_loop, "run", lambda seconds: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as problem:
        ros_loop.main(arguments)
    assert message in capsys.readouterr().err + str(problem.value)

"""The benchmark of trajectories: what it compares before it times, and what it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from benchmarks import trajectories
from benchmarks.trajectories import GIVEN, PART, STEPS, TOGETHER, Controller, load, message, report, steps, table


@pytest.fixture(scope="module")
def controller() -> Controller:
    return load()


@pytest.mark.parametrize("last", GIVEN)
@pytest.mark.parametrize("count", [1, 7])
def test_messages(count: int, last: str, controller: Controller) -> None:
    """As many points as asked for, the fields up to the one named, and a controller that takes them in."""
    made = message(controller, count, last)
    assert len(made.points) == count
    present = [bool(len(getattr(made.points[-1], field))) for field in (*GIVEN, "effort")]
    assert present == [True, GIVEN.index(last) >= 1, GIVEN.index(last) >= 2, False]
    filled = deserialize_message(controller.take_in(bytes(serialize_message(made))), JointTrajectory)
    goal = controller.start + 0.2
    np.testing.assert_allclose(filled.points[-1].positions, goal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(filled.points[-1].effort, controller.model.gravity_torque(goal), rtol=0, atol=1e-9)


def test_every_step_runs(controller: Controller) -> None:
    timed = steps(controller, 3, "velocities")
    assert list(timed) == list(STEPS)
    for function, calls in timed.values():
        for arguments in calls:
            function(*arguments)


@pytest.mark.parametrize("wrong", ["read", "write"])
def test_nothing_is_timed_where_the_bytes_say_something_else(
    wrong: str, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = trajectories.read_trajectory, trajectories.with_points

    def misread(data: bytes) -> Any:
        stamp, points = read(data)
        points.velocities[1, 2] = np.nextafter(points.velocities[1, 2], 9.0)
        return stamp, points

    if wrong == "read":
        monkeypatch.setattr(trajectories, "read_trajectory", misread)
    else:
        monkeypatch.setattr(
            trajectories, "with_points", lambda data, points: write(data, replace(points, effort=points.effort + 1e-9))
        )
    with pytest.raises(SystemExit, match="3 points up to velocities: .* nothing is timed. Cure: "):
        steps(controller, 3, "velocities")


def test_table_and_report() -> None:
    times = {(count, last): dict.fromkeys(STEPS, np.full(3, 1e-6 * count)) for count in (200, 10_000) for last in GIVEN}
    times[200, "velocities"] = {**times[200, "velocities"], TOGETHER: 1e-3 * np.array([0.1, 0.5, 9.0])}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(times).splitlines()]
    assert rows[0] == ["points", "given up to", *STEPS]
    assert rows[3] == ["200", "velocities", *["0.2"] * 6, "**0.5**"]
    assert rows[7] == ["10,000", "accelerations", *["10"] * 6, "**10**"]
    text = report(times)
    assert "200 points take up to 0.5 ms: 25 % of a cycle at 500 Hz." in text
    assert table(times) in text and trajectories.COMMAND in text


def test_run_and_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(trajectories, "POINTS", (1, trajectories.CYCLE_POINTS))
    monkeypatch.setattr(trajectories, "ROUNDS", 1)
    monkeypatch.setattr(trajectories, "BLOCK", 1)
    path = tmp_path / "document.md"
    path.write_text(f"before\n<!-- begin: {PART} --><!-- end: {PART} -->\nafter\n", encoding="utf-8")
    trajectories.main(["--write", str(path)])
    printed = capsys.readouterr().out
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n")
    assert printed.strip() in text and "| 200 " in text


def test_document_without_a_place_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectories, "run", lambda: pytest.fail("it ran"))
    with pytest.raises(SystemExit, match="Cure: a Markdown file with"):
        trajectories.main(["--write", str(tmp_path / "nowhere.md")])

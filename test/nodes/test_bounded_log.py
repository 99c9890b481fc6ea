"""A log that is written to very often."""

from robot_dynamics_ros.nodes.bounded_log import BoundedLog


class Recorder:
    """A logger, and the clock (s) of the log above it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.log = BoundedLog(self, lambda: self.now)

    def info(self, message: str) -> None:
        self.lines.append(f"info: {message}")

    def warning(self, message: str) -> None:
        self.lines.append(f"warning: {message}")

    def error(self, message: str) -> None:
        self.lines.append(f"error: {message}")


def test_a_flood_of_lines_is_cut_and_counted() -> None:
    """A hundred a second, each place in the code by itself; a place is known by its line, not by what it says."""
    said = Recorder()
    for k in range(1000):
        said.log.error(f"refused: {k}")
    said.log.error("another place")
    assert said.lines == [*(f"error: refused: {k}" for k in range(100)), "error: another place"]
    for now in (1.0, 1.5):
        said.now = now
        for k in range(60):
            said.log.warning(f"late {k}")
    assert len(said.lines) == 101 + 100
    said.now = 2.0
    said.lines.clear()
    for _ in range(2):
        said.now += 1.0
        for _ in range(110):
            said.log.info("again")
    assert said.lines == ["info: again"] * 100 + ["info: again (and 10 more like it before)"] + ["info: again"] * 99


def test_a_line_may_be_wanted_more_rarely() -> None:
    said = Recorder()
    for k in range(50):
        said.now = 0.1 * k
        said.log.warning(f"slow {k}", throttle_duration_sec=2.0)
    assert said.lines == [
        "warning: slow 0",
        "warning: slow 20 (and 19 more like it before)",
        "warning: slow 40 (and 19 more like it before)",
    ]

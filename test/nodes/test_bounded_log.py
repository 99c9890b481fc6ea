"""A log that is written to very often."""

from robot_dynamics_ros.nodes.node_program import BoundedLog


class Recorder:
    """A logger, and the clock (s) of the log above it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.info = self.warning = self.error = self.lines.append
        self.log = BoundedLog(self, lambda: self.now)


def test_a_flood_of_lines_is_cut_and_counted() -> None:
    """A hundred a second, each place in the code by itself; a place is known by its line, not by its text."""
    recorder = Recorder()
    for k in range(1000):
        recorder.log.error(f"refused: {k}")
    recorder.log.error("another place")
    assert recorder.lines == [*(f"refused: {k}" for k in range(100)), "another place"]
    for now in (1.0, 1.5):
        recorder.now = now
        for k in range(60):
            recorder.log.warning(f"late {k}")
    assert len(recorder.lines) == 101 + 100
    recorder.now = 2.0
    recorder.lines.clear()
    for _ in range(2):
        recorder.now += 1.0
        for _ in range(110):
            recorder.log.info("again")
    assert recorder.lines == ["again"] * 100 + ["again (and 10 more like it before)"] + ["again"] * 99


def test_a_line_may_have_a_longer_period() -> None:
    recorder = Recorder()
    for k in range(50):
        recorder.now = 0.1 * k
        recorder.log.warning(f"slow {k}", throttle_duration_sec=2.0)
    more = "(and 19 more like it before)"
    assert recorder.lines == ["slow 0", f"slow 20 {more}", f"slow 40 {more}"]

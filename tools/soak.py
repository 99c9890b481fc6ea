"""Long runs of plant and controller to detect drift of memory, file descriptors, speed and latency.

``python -m tools.soak`` runs 3.6 million cycles of 1 ms in lockstep (one hour of simulated time, a quarter of an hour
on an idle machine), then ten minutes at 1 kHz in real time. ``--write docs/reliability.md`` updates the tables there.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.recordings.messages.joint_state import stamp_of
from tools.chaos.rig import CONTROLLER, PLANT, Rig

COMMAND = "python -m tools.soak"
PART = "make soak"
CYCLES = 3_600_000
SECONDS = 600.0
RATE = 1000.0  # cycles a second, simulated and in real time
PARTS = 10  # parts of the run; the first one is a warm-up and is not compared
# simulated s of a swing, after which the arm is back at its initial position
SWINGING = 41.0
DRIFT = 5.0  # MB, maximum growth of memory
QUIET = 0.5  # load average before the run

_LOCKSTEP = {
    "publish_rate": RATE,
    "lockstep": True,
    "publish_clock": True,
    "real_time_factor": 0.0,
}
_ANSWERS = {
    "state_timeout": math.inf,
    "qos_overrides": {"/joint_states": {"subscription": {"reliability": "reliable"}}},
}
_CLOCK = {"publish_rate": RATE, "command_timeout": math.inf}


class Sample(NamedTuple):
    """Measurement: steady time (s), number of cycles, and memory (MB) and file descriptors of each process."""

    at: float
    cycles: int
    memory: tuple[float, ...]
    descriptors: tuple[int, ...]


class Soak:
    """Plant and controller, sampled once a second, while the arm swings."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.samples: list[Sample] = []
        self.faults = 0
        self._cycles = 0
        self._simulated = 0.0
        self._swung = -math.inf
        rig.node.create_subscription(
            DiagnosticArray, "/diagnostics", self._receive, QoSProfile(depth=100)
        )
        for name in (PLANT, CONTROLLER):
            rig.restart(name)
        rig.wait(lambda: self._cycles > 0, "commands of the controller")

    def _receive(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name.endswith(": controller") and "cycles" in values:
                self._cycles = int(values["cycles"])
                self.faults = int(values["faults"])
            elif "simulated time" in values:
                self._simulated = float(values["simulated time"])

    def run(self, done: Callable[[Sample], float], title: str) -> None:
        """Sample until ``done`` returns 1, the completed share of the run."""
        with tqdm(
            total=1.0,
            desc=title,
            leave=False,
            bar_format="{desc} {percentage:3.0f} % {elapsed}",
        ) as bar:
            while True:
                if self._simulated - self._swung > SWINGING:
                    self._swung = self._simulated
                    self._rig.swing(self._rig.ready)
                self._rig.watch(1.0)
                self.samples.append(self._sample())
                share = done(self.samples[-1])
                bar.update(min(share, 1.0) - bar.n)
                if share >= 1.0:
                    return

    def parts(self) -> tuple[Sequence[Sample], Sequence[Sample]]:
        """Return the second and the last of PARTS; RobotDynamicsError if the run is too short."""
        size = len(self.samples) // PARTS
        if size < 2:
            raise RobotDynamicsError(
                f"{len(self.samples)} samples are too few. Cure: let it run for {2 * PARTS} s at least"
            )
        return self.samples[size : 2 * size], self.samples[
            (PARTS - 1) * size : PARTS * size
        ]

    def _sample(self) -> Sample:
        processes = [self._rig.processes[name] for name in (PLANT, CONTROLLER)]
        for process in processes:
            process.check()
        memory = tuple(process.memory() for process in processes)
        return Sample(
            time.monotonic(),
            self._cycles,
            memory,
            tuple(process.descriptors() for process in processes),
        )


class Answers:
    """Time from each state to its command, measured by a third process."""

    def __init__(self, rig: Rig) -> None:
        self.times = array("d")
        self.waits = array("d")
        self.states = 0
        self._sent: dict[int, float] = {}
        deep = QoSProfile(depth=2000)
        commands = "computed_torque_node/command_states"
        rig.node.create_subscription(
            JointState, "joint_states", self._state, deep, raw=True
        )
        rig.node.create_subscription(
            JointState, commands, self._command, deep, raw=True
        )

    def _state(self, data: Any) -> None:
        at = stamp_of(data)
        assert at is not None
        self.states += 1
        self._sent[at] = time.monotonic()
        if len(self._sent) > 5000:  # states without a command
            self._sent.pop(next(iter(self._sent)))

    def _command(self, data: Any) -> None:
        sent = self._sent.pop(stamp_of(data) or 0, None)
        if sent is not None:
            self.times.append(sent)
            self.waits.append(time.monotonic() - sent)


def lockstep(cycles: int) -> str:
    """Run ``cycles`` cycles of 1 ms as fast as possible and return the result as Markdown."""
    with (
        TemporaryDirectory() as folder,
        Rig(Path(folder), controller=_ANSWERS, plant=_LOCKSTEP) as rig,
    ):
        soak = Soak(rig)
        soak.run(lambda sample: sample.cycles / cycles, "lockstep")
    first, last = soak.parts()
    speeds = [
        (part[-1].cycles - part[0].cycles) / (part[-1].at - part[0].at)
        for part in (first, last)
    ]
    done = soak.samples[-1].cycles
    return (
        f"{done:,} cycles of 1 ms in lockstep: {done / RATE / 60.0:.1f} minutes of simulated time in "
        f"{(soak.samples[-1].at - soak.samples[0].at) / 60.0:.1f} minutes; faults: {soak.faults}. "
        + drift(
            first,
            last,
            [["cycles per second", *(f"{speed:.0f}" for speed in speeds), ""]],
        )
    )


def by_the_clock(seconds: float) -> str:
    """Run at 1 kHz in real time for ``seconds`` and return the result as Markdown."""
    with TemporaryDirectory() as folder, Rig(Path(folder), plant=_CLOCK) as rig:
        soak = Soak(rig)
        answers = Answers(rig)
        begin = time.monotonic()
        soak.run(lambda sample: (sample.at - begin) / seconds, "1 kHz")
    first, last = soak.parts()
    times = np.array(answers.times)
    waits = np.array(answers.waits)
    parts = [
        1e6 * waits[(times >= part[0].at) & (times <= part[-1].at)]
        for part in (first, last)
    ]
    rows = []
    for percentile in (50.0, 99.0, 99.9):
        cells = [
            f"{np.percentile(part, percentile) if part.size else math.nan:.0f}"
            for part in parts
        ]
        rows.append([f"time from state to command, {percentile:g} %, us", *cells, ""])
    return (
        f"{seconds / 60.0:.1f} minutes at 1 kHz in real time: {answers.states:,} states, "
        f"{len(waits) / max(answers.states, 1):.2%} of them with a command; faults: {soak.faults}. "
        + drift(first, last, rows)
    )


def drift(
    first: Sequence[Sample], last: Sequence[Sample], others: list[list[str]]
) -> str:
    """Return a sentence and a table on memory, file descriptors and ``others`` in two parts of a run."""
    rows = [["", "second tenth", "last tenth", "growth"]]
    grown = False
    for k, name in enumerate((PLANT, CONTROLLER)):
        before, after = (
            float(np.mean([sample.memory[k] for sample in part]))
            for part in (first, last)
        )
        low, high = (
            max(sample.descriptors[k] for sample in part) for part in (first, last)
        )
        rows.append(
            [
                f"memory of the {name}, MB",
                f"{before:.1f}",
                f"{after:.1f}",
                f"{after - before:+.2f}",
            ]
        )
        if high > low:
            rows.append(
                [
                    f"file descriptors of the {name}",
                    str(low),
                    str(high),
                    f"{high - low:+d}",
                ]
            )
        grown |= after - before >= DRIFT or high > low
    verdict = (
        "**Growth beyond the limits** of"
        if grown
        else "Growth within the limits: memory less than"
    )
    return f"{verdict} {DRIFT:g} MB, file descriptors 0.\n\n{markdown_table([*rows, *others])}"


def main() -> None:
    """Run from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--cycles",
        type=int,
        default=CYCLES,
        help="in lockstep (default: %(default)s; 0: none)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="in real time (default: %(default)g; 0: none)",
    )
    options = parser.parse_args()

    def report() -> str:
        head = f"Machine: {machine(('numpy',))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`."
        parts = [lockstep(options.cycles)] if options.cycles else []
        parts += [by_the_clock(options.seconds)] if options.seconds else []
        return "\n\n".join([head, *parts])

    complete = options.cycles >= CYCLES and options.seconds >= SECONDS
    print_report(options, report, PART, complete=complete, quiet=QUIET)


if __name__ == "__main__":
    main()

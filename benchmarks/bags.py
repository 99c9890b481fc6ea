"""Benchmark of recordings: time of replay and comparison, and peak memory for a million messages.

``python -m benchmarks.bags`` prints the table of docs/benchmarks.md; ``--write FILE`` updates it. Before the timing,
two replays must give the same bytes, and the comparison must detect one altered sample.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.robots import Floats, shipped, shipped_parameters
from benchmarks.timing import Timed, available_cores, bound_to, interleaved
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.configuration.settings import read_settings
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.comparison import compare_bags
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.runs.replay import replay

COMMAND = "python -m benchmarks.bags"
PART = "make bench-bags"
ROBOT = "panda"
DYNAMICS = "panda_coulomb"

STATES = 100_000
MANY = 1_000_000
ROUNDS = 5
TOPIC = "/joint_states"
READY = np.array(shipped_parameters(ROBOT)["initial_positions"])
PERIOD = 2_000_000  # ns
ALONE = "rosbags reads and writes"
REPLAY = "replay, computed_torque"
COMPARE = "compare"

# Each command prints its peak memory at the end; ru_maxrss is in kilobytes.
_CHILD = """\
import resource, sys
from robot_dynamics_ros.cli.main import main
code = main(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def record(bag: Path, count: int, altered: int = -1) -> Path:
    """Record joint states of a swinging Panda at 500 Hz (position, velocity, effort); one sample may be altered."""
    robot = shipped(ROBOT, DYNAMICS)
    writer = JointStateWriter(robot.joint_names)
    phases = np.arange(robot.n)
    begin = 1_790_000_000_000_000_000
    with BagWriter(bag, {TOPIC: JOINT_STATE}) as out:
        for k in range(count):
            at = begin + k * PERIOD
            angle = 0.5e-9 * k * PERIOD + phases
            q = READY + 0.2 * np.sin(angle)
            qd = 0.1 * np.cos(angle)
            effort = np.sin(3.0 * angle)
            effort[3] += 1e-12 * (k == altered)
            out.write(TOPIC, at + 200_000, writer.write(at, q, qd, effort))
    return bag


def read_and_write(bag: Path, folder: Path) -> None:
    """Copy a bag with rosbags alone, the minimum work of any program that reads one bag and writes another."""
    kept = folder / "rosbags"
    shutil.rmtree(kept, ignore_errors=True)
    types = get_typestore(Stores.LATEST)
    with (
        Reader(bag) as reader,
        Writer(kept, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        connection = writer.add_connection(TOPIC, JOINT_STATE, typestore=types)
        for _, received, data in reader.messages():
            writer.write(connection, received, data)


def run_replay(bag: Path, folder: Path, robot: RobotModel) -> bytes:
    """Replay once and return the bytes of the written bag."""
    kept = folder / "replay"
    shutil.rmtree(kept, ignore_errors=True)
    settings = read_settings(
        read_parameter_file(None, "/computed_torque_node", controller.ALL)
    )  # of the node
    done = replay(bag, kept, robot, settings, activation_check=False)
    assert done.commands == STATES
    return (kept / "bag.mcap").read_bytes()


def run(folder: Path) -> dict[str, Floats]:
    """Check the results, then time all operations in turn on one core; return seconds for all messages (rounds,)."""
    robot = shipped(ROBOT, DYNAMICS)
    bag = record(folder / "bag", STATES)
    other = record(folder / "other", STATES, altered=STATES // 3)
    if run_replay(bag, folder, robot) != run_replay(bag, folder, robot):
        raise SystemExit("Two replays differ; nothing is timed. Cure: find the cause")
    found = compare_bags(bag, other)
    if found.matches or "panda_joint4 effort" not in str(found):
        raise SystemExit(
            "The altered sample is not detected; nothing is timed. Cure: find the cause"
        )
    timed = {
        ALONE: Timed(read_and_write, [(bag, folder)]),
        REPLAY: Timed(run_replay, [(bag, folder, robot)]),
        COMPARE: Timed(compare_bags, [(bag, other)]),
    }
    with bound_to(available_cores(1)):
        return interleaved(timed, ROUNDS, 1)


def memory(folder: Path) -> dict[str, float]:
    """Return the peak memory (MB) of each command on a bag of a million messages, including the interpreter."""
    bag = record(folder / "million", MANY)
    robot = ["--robot", ROBOT, "--dynamics", DYNAMICS]
    commands = {
        "replay": ["replay", str(bag), *robot, "-o", str(folder / "million_replay")],
        "compare": ["compare", str(bag), str(bag)],
        "torque": ["torque", str(bag), *robot],
        "report": ["report", str(bag), *robot, "-o", str(folder / "report.html")],
        "identify": [
            "identify",
            str(bag),
            *robot,
            "-o",
            str(folder / "identified.yaml"),
        ],
    }
    peaks = {}
    for name, arguments in tqdm(
        commands.items(), desc="a million messages", leave=False
    ):
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{name} of a million messages failed:\n{done.stderr}")
        peaks[name] = float(done.stdout.rsplit("peak", 1)[1]) * 1024 / 1e6
    return peaks


def report() -> str:
    """Return the results as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        times = run(Path(folder))
        peaks = memory(Path(folder))
    floor = float(np.median(times[ALONE]))
    rows = [["", "messages a second", "time for 100,000", f"ratio to {ALONE}"]]
    for name, seconds in times.items():
        median = float(np.median(seconds))
        rows.append(
            [
                name,
                f"{STATES / median:,.0f}",
                f"{median:.2f} s",
                f"{median / floor:.2f}",
            ]
        )
    million = [
        ["command", "peak memory"],
        *([name, f"{peak:.0f} MB"] for name, peak in peaks.items()),
    ]
    return f"""\
Machine: {machine(("numba", "numpy", "rosbags"))}. Command: `{COMMAND}`.

{STATES:,} joint states of the shipped Panda in an MCAP bag; medians of {ROUNDS} rounds in which the rows take turns, on
one core. `compare` reads two such bags, of which one differs in one sample by 1e-12 Nm, and names it.

{markdown_table(rows)}

A bag of a million joint states ({MANY * PERIOD * 1e-9 / 60:.0f} minutes at 500 Hz):

{markdown_table(million)}
"""


if __name__ == "__main__":
    print_report(report_parser(COMMAND, __doc__).parse_args(), report, PART)

"""Faults of a recorder, and the content of its bag afterwards."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from robot_dynamics_ros.base.errors import BagWarning
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.messages.joint_state import stamp_of
from tools.chaos.breaking import LASTS, lasting
from tools.chaos.rig import NODES, RATE, RECORDER, Rig

RECORDS = 5.0  # s of recording before the fault
JOINT_STATES = "/joint_states"
RECORDED = [JOINT_STATES, "/effort_commands", "/computed_torque_node/command_states"]
DISK = "16m"  # size of the recorder's disk in bytes

_MOUNT = f'mount -t tmpfs -o size={DISK} none "$0" && exec "$@"'
_SMALL_DISK = ("unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT)


class Kept(NamedTuple):
    """Content of a bag.

    Attributes
    ----------
    counts
        Number of messages of each topic.
    states
        For each published state, from the first one in the bag on: time of reception (s), True if it is in the bag.
    """

    counts: Counter[str]
    states: Sequence[tuple[float, bool]]

    def lost(self, since: float, until: float) -> tuple[int, int]:
        """Return the numbers of lost and of all states in this time."""
        found = [there for at, there in self.states if since <= at <= until]
        return found.count(False), len(found)

    def losses(self, rig: Rig) -> str:
        """Return the losses during the fault and before it as text."""
        begin = rig.marks["begin"]
        end = rig.marks["end"]
        lost, sent = self.lost(begin, end)
        return f"{lost} of {sent} states sent meanwhile are lost, {self.lost(0.0, begin)[0]} of the earlier ones"

    def last_losses(self, until: float) -> str:
        """Return the losses up to a time as text."""
        lost, sent = self.lost(0.0, until)
        return f"the last {lost} of {sent} states are lost ({lost / RATE:.2f} s)"


def start_recorder(
    rig: Rig, topics: Sequence[str] = RECORDED, disk: Path | None = None
) -> Path:
    """Start a recorder and wait until it has recorded for some seconds and the arm follows; return the bag.

    ``disk`` is a folder on which a small disk is mounted that only the recorder sees.
    """
    bag = (disk or rig.folder) / "bag"
    around = () if disk is None else (*_SMALL_DISK, str(disk))
    parameters = {"output": str(bag), "topics": list(topics)}
    recorder = rig.start(RECORDER, NODES + "recorder_node", parameters, around=around)
    rig.wait(
        lambda: "recording /" in recorder.log.read_text(),
        "the recorder",
    )
    rig.await_following("the start of the recorder")
    rig.watch(RECORDS)
    return bag


def stop_recorder(rig: Rig) -> None:
    """Stop the recorder with SIGINT."""
    rig.signal(RECORDER, signal.SIGINT)
    rig.wait(
        lambda: rig.processes[RECORDER].process.poll() is not None,
        "the recorder to end",
    )


def kill_recorder(rig: Rig) -> str:
    """Kill the recorder with SIGKILL and read its bag."""
    bag = start_recorder(rig)
    with lasting(rig):
        rig.signal(RECORDER, signal.SIGKILL)
    return kept(rig, bag).last_losses(rig.marks["begin"])


def pause_recorder(rig: Rig) -> str:
    """Stop the recorder with SIGSTOP, continue it, and end it with SIGINT."""
    bag = start_recorder(rig)
    with lasting(rig):
        rig.signal(RECORDER, signal.SIGSTOP)
    rig.signal(RECORDER, signal.SIGCONT)
    rig.watch(LASTS)
    stop_recorder(rig)
    found = kept(rig, bag)
    end = rig.marks["end"]
    after, _ = found.lost(end, end + LASTS - 0.5)
    return f"{found.losses(rig)}, {after} of the later ones"


def fill_disk(rig: Rig) -> str:
    """Fill the recorder's disk; if no disk can be mounted, limit the size of its files."""
    disk = rig.folder / "disk"
    disk.mkdir()
    if not has_small_disks(disk):
        bag = start_recorder(rig)
        limit = sum(file.stat().st_size for file in bag.iterdir()) + 10_000
        full = rig.mark("begin")
        resource.prlimit(
            rig.processes[RECORDER].process.pid, resource.RLIMIT_FSIZE, (limit, limit)
        )
        return f"RLIMIT_FSIZE; {_give_up(rig, bag, full)}"
    start_recorder(rig, disk=disk)
    # By /proc of the recorder: its disk is not visible here and disappears with it unless a file is open.
    inside = os.open(
        f"/proc/{rig.processes[RECORDER].process.pid}/root{disk}",
        os.O_RDONLY | os.O_DIRECTORY,
    )
    try:
        seen = Path(f"/proc/self/fd/{inside}")
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={seen / 'other'}", "bs=64k"],
            capture_output=True,
            pass_fds=[inside],
        )
        return f"a tmpfs; {_give_up(rig, seen / 'bag', rig.mark('begin'))}"
    finally:
        os.close(inside)


def _give_up(rig: Rig, bag: Path, full: float) -> str:
    """Wait for the recorder to end; return its message and the content of the bag."""
    recorder = rig.processes[RECORDER]
    rig.wait(lambda: recorder.process.poll() is not None, "the recorder to end", 30.0)
    rig.mark("end")
    reported = recorder.tail().splitlines()[-1].replace(f"{rig.folder}/", "")
    return f"{kept(rig, bag).last_losses(full)}; its error: {reported}"


def has_small_disks(folder: Path) -> bool:
    """Return True if a disk can be mounted for one process (user namespaces)."""
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(
            [*_SMALL_DISK, str(folder), "true"], capture_output=True, check=False
        ).returncode
        == 0
    )


def kept(rig: Rig, bag: Path) -> Kept:
    """Compare the content of a bag with the published states."""
    counts: Counter[str] = Counter()
    stamps = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BagWarning)
        with BagReader(bag) as reader:
            for message in reader.messages():
                counts[message.topic] += 1
                if message.topic == JOINT_STATES:
                    stamps.add(stamp_of(message.data))
    sent = [(at, stamp_of(data) in stamps) for at, data in rig.states]
    first = next(k for k, (_, there) in enumerate(sent) if there)
    return Kept(counts, sent[first:])

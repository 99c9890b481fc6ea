"""ROS nodes as child processes: started, watched and ended together."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType

from robot_dynamics_ros.errors import RobotDynamicsError

_AGAIN = 1.0  # s; behind a shell's & SIGINT is ignored until a node looks out for it: an early one is lost
_PATIENCE = 10.0
_DOMAINS = 101  # Linux has ports for so many without changes to its settings
_HUMBLE = os.environ.get("ROS_DISTRO") == "humble"


@contextmanager
def private_domain() -> Iterator[int]:
    """A ROS domain that no other program of this machine has taken here: each is a file that its owner locks."""
    for domain in range(1, _DOMAINS + 1):
        try:
            lock = os.open(
                Path(gettempdir()) / f"robot_dynamics_ros_domain_{domain}",
                os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
            )
        except OSError:
            continue  # another user's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        try:
            yield domain
        finally:
            os.close(lock)
        return
    raise RobotDynamicsError(f"all ROS domains from 1 to {_DOMAINS} are in use. Cure: end other demos and tests")


@contextmanager
def private_graph() -> Iterator[dict[str, str]]:
    """Environment in which nodes see this machine only, in a domain of their own."""
    # Later distributions warn of Humble's variable.
    here_only = ("ROS_LOCALHOST_ONLY", "1") if _HUMBLE else ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with private_domain() as domain:
        yield {**os.environ, "ROS_DOMAIN_ID": str(domain), **dict([here_only])}


class NodeProcess:
    """One node of this package as a process; its output goes to ``<log>``."""

    def __init__(
        self,
        node: str,
        log: Path,
        environment: Mapping[str, str],
        ros_arguments: Sequence[str],
        *,
        pipe: bool = False,
    ) -> None:
        self.name = node
        self.log = log
        self._log_file = log.open("w", encoding="utf-8")
        # A session of its own: Ctrl-C at the terminal reaches the parent only, which ends the children in order.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "robot_dynamics_ros.executables", node, "--ros-args", *ros_arguments],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe else self._log_file,
            stderr=self._log_file,
            start_new_session=True,
            text=True,
        )

    def check(self) -> None:
        """Raise RobotDynamicsError with the end of its log if the process has failed."""
        code = self.process.poll()
        if code:
            raise RobotDynamicsError(
                f"{self.name} ended with exit code {code}. Its last words ({self.log}):\n{self.tail()}"
            )

    def errors(self) -> list[str]:
        """Return the errors that the node has logged until now."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line for line in lines if line.startswith(("[ERROR]", "[FATAL]"))]

    def tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:])

    def stop(self) -> None:
        """Ask the process to end as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def join(self, deadline: float) -> None:
        """Wait for the end of a process that was told to ``stop``; kill it at ``deadline`` (time.monotonic)."""
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.process.wait(timeout=min(_AGAIN, max(0.0, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.stop()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log_file.close()


class ProcessGroup:
    """Context manager: whatever happens inside, at its end no process of it is left."""

    def __init__(self) -> None:
        self.members: list[NodeProcess] = []

    def add(self, process: NodeProcess) -> NodeProcess:
        """Take a process in."""
        self.members.append(process)
        return process

    def check(self) -> None:
        """Raise RobotDynamicsError if a member has failed."""
        for member in self.members:
            member.check()

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A second Ctrl-C would leave processes behind; the wait is bounded.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            # The last one started ends first: the recorder before the controller before the plant.
            for member in reversed(self.members):
                member.stop()
            deadline = time.monotonic() + _PATIENCE
            for member in self.members:
                member.join(deadline)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if kind is None:
            self.check()

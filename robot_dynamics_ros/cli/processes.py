"""ROS nodes of this package as processes: in place of this one, or as children that are watched and ended together."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import NoReturn

from robot_dynamics_ros.errors import RobotDynamicsError

_RESEND_PERIOD = 1.0  # s; a node that a shell started with & ignores SIGINT until it has installed its handler
_STOP_TIMEOUT = 10.0  # s
_DOMAINS = 101  # Linux has ports for so many without changes to its settings
_HUMBLE = os.environ.get("ROS_DISTRO") == "humble"


def require_ros() -> None:
    """Raise RobotDynamicsError if ROS 2 is not installed."""
    if find_spec("rclpy") is None:
        raise RobotDynamicsError(
            "this command needs ROS 2, but there is no rclpy. Cure: source a ROS 2 installation, "
            "or pip install 'robot_dynamics_ros[ros]'"
        )


def node_command(node: str, parameters: Mapping[str, object], *ros_arguments: str) -> list[str]:
    """Return the command line of a node; values are written as JSON, which is YAML too."""
    assignments = [part for name, value in parameters.items() for part in ("-p", f"{name}:={json.dumps(value)}")]
    module = "robot_dynamics_ros.executables"
    return [sys.executable, "-m", module, node, "--ros-args", *assignments, *ros_arguments]


def become_node(node: str, parameters: Mapping[str, object]) -> NoReturn:
    """Replace this process by a node, which receives every signal from then on.

    Raises RobotDynamicsError if ROS 2 is not installed.
    """
    require_ros()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, node_command(node, parameters))


@contextmanager
def private_domain() -> Iterator[int]:
    """Reserve a ROS domain that no other program of this machine has reserved: each is a file that its owner locks."""
    for domain in range(1, _DOMAINS + 1):
        path = Path(gettempdir()) / f"robot_dynamics_ros_domain_{domain}"
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # another user's
        with os.fdopen(lock):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    raise RobotDynamicsError(f"all ROS domains from 1 to {_DOMAINS} are in use. Cure: end other demos and tests")


@contextmanager
def private_graph() -> Iterator[dict[str, str]]:
    """Yield an environment in which nodes see this machine only, in a domain of their own."""
    # Later distributions warn of Humble's variable.
    variable, value = ("ROS_LOCALHOST_ONLY", "1") if _HUMBLE else ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with private_domain() as domain:
        yield {**os.environ, "ROS_DOMAIN_ID": str(domain), variable: value}


class NodeProcess:
    """One node of this package as a child process; its output goes to ``log``, with ``pipe`` only its errors do."""

    def __init__(
        self, node: str, log: Path, environment: Mapping[str, str], ros_arguments: Sequence[str], *, pipe: bool = False
    ) -> None:
        self._start(node, log, node_command(node, {}, *ros_arguments), environment, pipe)

    def _start(
        self, name: str, log: Path, command: Sequence[str], environment: Mapping[str, str] | None, pipe: bool = False
    ) -> None:
        self.name, self.log = name, log
        with log.open("w", encoding="utf-8") as file:
            # A session of its own: Ctrl-C at the terminal reaches the parent only, which ends the children in order.
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe else file,
                stderr=file,
                start_new_session=True,
                text=True,
            )

    def check(self) -> None:
        """Raise RobotDynamicsError with the end of its log if the process has failed."""
        code = self.process.poll()
        if code:
            raise RobotDynamicsError(f"{self.name} ended with exit code {code}. End of {self.log}:\n{self.tail()}")

    def _lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()

    def errors(self) -> list[str]:
        """Return the errors that the node has logged so far."""
        return [line for line in self._lines() if line.startswith(("[ERROR]", "[FATAL]"))]

    def tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self._lines()[-8:])

    def stop(self) -> None:
        """Ask the process to end as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def join(self, deadline: float) -> None:
        """Wait for the end of a process that was asked to ``stop``; kill it at ``deadline`` (time.monotonic)."""
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.process.wait(timeout=min(_RESEND_PERIOD, max(0.0, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                self.stop()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class ProcessGroup:
    """Context manager of nodes that all end with it, also after an exception."""

    def __init__(self) -> None:
        self.members: list[NodeProcess] = []

    def add(self, process: NodeProcess) -> NodeProcess:
        """Add a process and return it."""
        self.members.append(process)
        return process

    def check(self) -> None:
        """Raise RobotDynamicsError if a member has failed."""
        for member in self.members:
            member.check()

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A second Ctrl-C would leave processes behind; the wait is bounded.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            # In reverse order: the recorder ends before the controller, and that before the plant.
            for member in reversed(self.members):
                member.stop()
            deadline = time.monotonic() + _STOP_TIMEOUT
            for member in self.members:
                member.join(deadline)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if kind is None:
            self.check()

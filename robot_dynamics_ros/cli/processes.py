"""Processes of this package's nodes, which replace the present process or run as its children.

``node`` is the name of an executable of this package, such as computed_torque_node; ``parameters`` are ROS parameters
by name.
"""

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

from robot_dynamics_ros.base.background import SUCCESS
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import NODE_PROGRAM
from robot_dynamics_ros.cli.thresholds import SIGNAL_PERIOD, STOP_TIMEOUT

_DOMAINS = 101  # domain IDs that are safe with the default ephemeral ports of Linux
_HUMBLE = os.environ.get("ROS_DISTRO") == "humble"


def require_ros() -> None:
    """Raise RobotDynamicsError if the Python package rclpy of ROS 2 is not installed."""
    if find_spec("rclpy") is None:
        raise RobotDynamicsError(
            "this command needs ROS 2, but rclpy is not installed. Cure: source a ROS 2 installation, "
            "or, in the folder of this package, pip install '.[ros]'"
        )


def node_command(
    node: str, parameters: Mapping[str, object], *ros_arguments: str
) -> list[str]:
    """Return program and arguments that start a node with ``parameters``, followed by ``ros_arguments``.

    The values must be representable in JSON, in which they are passed. ``ros_arguments`` are words after --ros-args,
    such as "-r", "a:=b".
    """
    assignments = [
        part
        for name, value in parameters.items()
        for part in ("-p", f"{name}:={json.dumps(value)}")
    ]
    return [
        sys.executable,
        NODE_PROGRAM,
        node,
        "--ros-args",
        *assignments,
        *ros_arguments,
    ]


def become_node(node: str, parameters: Mapping[str, object]) -> NoReturn:
    """Replace this process by a node, which then receives all signals; this does not return.

    Raises RobotDynamicsError if ROS 2 is not installed.
    """
    require_ros()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, node_command(node, parameters))


@contextmanager
def private_domain() -> Iterator[int]:
    """Yield a ROS domain ID, 1 to 101, that no other process of this machine has reserved by this function.

    A locked file reserves it until the context ends. Raises RobotDynamicsError if all are reserved.
    """
    for domain in range(1, _DOMAINS + 1):
        path = Path(gettempdir()) / f"robot_dynamics_ros_domain_{domain}"
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # the file belongs to another user
        with os.fdopen(lock):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    raise RobotDynamicsError(
        f"all ROS domains from 1 to {_DOMAINS} are in use. Cure: stop other demos and tests"
    )


@contextmanager
def private_graph() -> Iterator[dict[str, str]]:
    """Yield a copy of the environment with which nodes discover only each other, on this machine.

    It has a ROS domain ID that is reserved until the context ends. Raises RobotDynamicsError if none is free.
    """
    # Later distributions warn about Humble's variable.
    variable, value = (
        ("ROS_LOCALHOST_ONLY", "1")
        if _HUMBLE
        else ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    )
    with private_domain() as domain:
        yield {**os.environ, "ROS_DOMAIN_ID": str(domain), variable: value}


class NodeProcess:
    """Child process of a ROS node, which starts on construction in its own session.

    ``name`` is for messages, ``command`` the program with its arguments, such as ``node_command`` returns. Output and
    errors go to the file ``log``, which is replaced.
    ``environment`` are all its environment variables, None for the present ones. ``process`` is its subprocess.Popen.
    Call ``stop`` and then ``join`` to end it. Raises OSError if the log cannot be written or the program not
    started.
    """

    def __init__(
        self,
        name: str,
        log: Path,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("w", encoding="utf-8") as file:
            # A session of its own: Ctrl-C in the terminal reaches only the parent, which stops the children in order.
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                text=True,
            )

    def check(self) -> None:
        """Raise RobotDynamicsError, with the end of the log, if the process has failed; ``SUCCESS`` is no failure."""
        code = self.process.poll()
        if code is not None and code not in SUCCESS:
            raise RobotDynamicsError(
                f"{self.name} ended with exit code {code}. End of {self.log}:\n{self.tail()}"
            )

    def tail(self) -> str:
        """Return the last eight lines of the log, joined by newlines."""
        return "\n".join(
            self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        )

    def stop(self) -> None:
        """Send SIGINT, as Ctrl-C does, and return at once; no effect on a process that has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def join(self, deadline: float) -> None:
        """Wait for the process to end, with SIGINT once a second.

        It is killed at ``deadline``, a time (s) of time.monotonic(). Call ``stop`` first.
        """
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.process.wait(
                    timeout=min(SIGNAL_PERIOD, max(0.0, deadline - time.monotonic()))
                )
            except subprocess.TimeoutExpired:
                self.stop()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class ProcessGroup:
    """Context manager that stops all its node processes on exit, also after an exception.

    They receive SIGINT, the last added first, and are killed after 10 s. Without an exception, RobotDynamicsError is
    then raised if one has failed. ``members`` are the processes, in the order of ``add``.
    """

    def __init__(self) -> None:
        self.members: list[NodeProcess] = []

    def add(self, process: NodeProcess) -> NodeProcess:
        """Add a started process, which the group then stops, and return it."""
        self.members.append(process)
        return process

    def check(self) -> None:
        """Raise RobotDynamicsError if a process has failed."""
        for member in self.members:
            member.check()

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A second Ctrl-C would leave processes running; the wait is bounded.
        before = {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            # Reverse order: first the recorder, then the controller, last the plant.
            for member in reversed(self.members):
                member.stop()
            deadline = time.monotonic() + STOP_TIMEOUT
            for member in self.members:
                member.join(deadline)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if kind is None:
            self.check()

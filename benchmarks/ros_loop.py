"""Benchmark of the round trip from joint_states to effort_commands, for the controller and a bare rclpy echo node.

``python -m benchmarks.ros_loop`` prints the table of docs/benchmarks.md; ``--write docs/benchmarks.md`` updates it. The
plant is this process; each node is a process of its own. All processes run all the time and take turns of one second,
so that other loads on the machine affect all of them equally.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier
from tqdm import tqdm
from trajectory_msgs.msg import JointTrajectory

from benchmarks.document import machine, print_report, report_parser
from benchmarks.robots import shipped, shipped_parameters, swing
from benchmarks.ros_plant import PlantEcho
from benchmarks.ros_processes import MeasuredProcess, busy_seconds
from benchmarks.ros_table import CONTROLLER, ECHO, LEAN, Measured, loop_table, missed
from benchmarks.timing import available_cores
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.cli.processes import ProcessGroup, private_graph
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.ros.conversions import nanoseconds, stamp, trajectory_message
from robot_dynamics_ros.ros.nodes.node_program import make_executor

COMMAND = "python -m benchmarks.ros_loop"
PART = "make bench-ros"
SECONDS = 20  # s, measured for each node in total
TURN = 1.0  # s, in one turn
SETTLING_TIME = 0.1  # s, unmeasured beginning of each turn
START_UP = 180.0  # s; the first run compiles kernels
QUIET = 0.5  # load average before the run
QUIET_CORES = 0.3  # cores busy with other programs during the run
NOT_QUIET = (
    ": these affect the 99th percentiles and the unanswered cycles. Cure: run it again"
)

READY = np.array(shipped_parameters("panda")["initial_positions"])
AMPLITUDE = 0.05  # rad
SWING = 10.0  # s
FOLLOWS = 1e-3  # rad


class Swing:
    """Slow motion of all joints from the ready pose by 2 AMPLITUDE and back in SWING seconds."""

    def __init__(self, names: tuple[str, ...], start: int, seconds: float) -> None:
        """Begin at ``start`` (ns); the motion lasts at least ``seconds`` (s) and ends at rest."""
        self._start = start
        times = np.linspace(
            0.0, periods := SWING * math.ceil(seconds / SWING), round(2 * periods) + 1
        )
        self.message = trajectory_message(swing(names, READY, AMPLITUDE, SWING, times))
        self.message.header.stamp = stamp(start)

    def position(self, at: int) -> Array:
        """Return the desired position (n,), rad, at a time (ns)."""
        seconds = 1e-9 * max(0, at - self._start)
        return READY + AMPLITUDE * (1.0 - math.cos(2.0 * math.pi / SWING * seconds))


class Loop:
    """Plant and the nodes that respond to it."""

    def __init__(self, node: Node, group: ProcessGroup, folder: Path) -> None:
        """Start the nodes; their parameters and logs are written to ``folder``."""
        model = shipped("panda", "none")
        controller: Mapping[str, object] = {
            "robot_description": robot_urdf("panda").read_text(encoding="utf-8"),
            "law": "computed_torque",
            "update_rate": 0.0,
            "state_timeout": 1.0,  # between its turns it receives ten states per second
            "position_step_limit": [math.inf],  # the plant stays where it is
        }
        nodes: Mapping[str, tuple[str, Mapping[str, object]]] = {
            CONTROLLER: (
                "robot_dynamics_ros.ros.nodes.computed_torque_node",
                controller,
            ),
            ECHO: ("benchmarks.ros_echo", {"efforts_only": False}),
            LEAN: ("benchmarks.ros_echo", {"efforts_only": True}),
        }
        self.kinds = tuple(nodes)
        private = [
            f"~/{topic}:={topic}" for topic in ("command_states", "joint_trajectory")
        ]
        self._nodes = {
            kind: MeasuredProcess(
                module,
                folder,
                None,
                parameters,
                (f"__ns:=/{kind}", *private),
                name=kind,
            )
            for kind, (module, parameters) in nodes.items()
        }
        for process in self._nodes.values():
            group.add(process)
        self._group = group
        executor = make_executor()
        executor.add_node(node)
        self._names = model.joint_names
        # Gravity torque, because the controller compares the measured effort with its model.
        effort = model.gravity_torque(READY)
        self._plant = PlantEcho(
            node, executor, self.kinds, model.joint_names, READY, effort
        )
        topic = f"/{CONTROLLER}/joint_trajectory"
        self._trajectories = node.create_publisher(
            JointTrajectory, topic, QoSProfile(depth=1)
        )

    def start(self, seconds: float) -> None:
        """Wait until all nodes respond and the controller follows a trajectory of at least ``seconds``."""
        self._wait(
            lambda: self._plant.received == set(self.kinds), "all nodes to respond"
        )
        self._wait(
            lambda: self._trajectories.get_subscription_count() > 0,
            "the controller to subscribe",
        )
        self._swing = Swing(self._names, time.time_ns(), seconds)
        self._trajectories.publish(self._swing.message)
        self._wait(
            lambda: self._follows(2.0 * FOLLOWS),
            "the controller to follow its trajectory",
        )

    def _wait(self, true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_UP
        while not true():
            self._plant.spin(0.1)
            self._group.check()
            if time.monotonic() > deadline:
                raise RobotDynamicsError(
                    f"waited {START_UP:g} s for {what}. {self._logs()}"
                )

    def _follows(self, least: float = 0.0) -> bool:
        """Return True if the desired position is that of the trajectory, ``least`` (rad) or more from READY."""
        command = self._plant.commands[CONTROLLER]
        required = self._swing.position(nanoseconds(command.header.stamp))
        moved = np.abs(required - READY).max() >= least
        return bool(moved and np.abs(required - command.position).max() < FOLLOWS)

    def turn(self, kind: str) -> Measured:
        """Measure one node for TURN seconds."""
        self._plant.begin(kind)
        self._plant.spin(SETTLING_TIME)
        self._plant.start_counting()
        begin = time.monotonic()
        own = time.process_time()
        node = self._nodes[kind].busy_seconds()
        self._plant.spin(TURN)
        seconds = time.monotonic() - begin
        shares = (
            (self._nodes[kind].busy_seconds() - node) / seconds,
            (time.process_time() - own) / seconds,
        )
        turn = self._plant.end()
        self._group.check()
        if len(turn.trips) == 0:
            raise RobotDynamicsError(
                f"{kind} does not respond any more. {self._logs()}"
            )
        return Measured(turn, *shares)

    def check(self) -> None:
        """Raise RobotDynamicsError if a command was not computed by the law for the trajectory."""
        if not self._follows():
            raise RobotDynamicsError(
                f"the controller left its trajectory. {self._logs()}"
            )

    def busy_seconds(self) -> float:
        """Return the processor time (s) of the plant and all nodes so far."""
        return time.process_time() + sum(
            node.busy_seconds() for node in self._nodes.values()
        )

    def _logs(self) -> str:
        return "End of the nodes' logs:\n" + "\n".join(
            f"{kind}: {node.tail()}" for kind, node in self._nodes.items()
        )


@contextmanager
def started(seconds: float) -> Iterator[Loop]:
    """Yield all processes in a ROS graph of their own, with a trajectory of ``seconds``."""
    with (
        private_graph() as environment,
        TemporaryDirectory() as folder,
        ProcessGroup() as group,
    ):
        os.environ.update(environment)
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            loop = Loop(rclpy.create_node("plant_echo"), group, Path(folder))
            loop.start(seconds)
            gc.collect()
            gc.freeze()
            gc.disable()
            yield loop
        finally:
            gc.enable()
            rclpy.try_shutdown()


def run(seconds: int) -> tuple[dict[str, list[Measured]], float]:
    """Measure each node for ``seconds``, in alternating order; return also the number of cores busy otherwise."""
    rounds = max(1, round(seconds / TURN))
    with (
        started(3.0 * rounds * (TURN + 2.0 * SETTLING_TIME)) as loop,
        tqdm(total=rounds, leave=False) as bar,
    ):
        measured: dict[str, list[Measured]] = {kind: [] for kind in loop.kinds}
        begin = time.monotonic()
        total = busy_seconds()
        own = loop.busy_seconds()
        for k in range(rounds):
            for kind in loop.kinds[:: -1 if k % 2 else 1]:
                measured[kind].append(loop.turn(kind))
            loop.check()
            bar.update()
        others = (busy_seconds() - total - loop.busy_seconds() + own) / (
            time.monotonic() - begin
        )
    return measured, max(0.0, others)


def report(measured: Mapping[str, list[Measured]], others: float) -> str:
    """Return the results of ``run`` as Markdown."""
    cycles = sum(one.turn.cycles for one in measured[CONTROLLER])
    return f"""\
Machine: {machine(("numpy",))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`.

{cycles} cycles of 1 ms for each node in turns of {TURN:g} s; meanwhile other programs and the system's own work took
{others:.2f} cores{"" if others < QUIET_CORES else NOT_QUIET}.

{missed(measured)}

{loop_table(measured)}
"""


def main() -> None:
    """Run the benchmark from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--seconds",
        type=int,
        default=SECONDS,
        help="for each node (default: %(default)s)",
    )
    options = parser.parse_args()
    if options.seconds < 1:
        parser.error("--seconds must be at least 1")
    available_cores(2)
    complete = options.seconds >= SECONDS
    print_report(
        options,
        lambda: report(*run(options.seconds)),
        PART,
        complete=complete,
        quiet=QUIET,
    )


if __name__ == "__main__":
    main()

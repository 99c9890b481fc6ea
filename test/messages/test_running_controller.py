"""What joint_states that cannot be used do to a controller that answers them: without ROS, with time by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.reference import point_to_point
from robot_dynamics_ros.control.safety import RECOVERY_TIME, Mode
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.control.trajectory_effort import joined, trajectory_effort
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.nodes.messages import trajectory_message
from support.comparing import assert_close

NAMES = ("joint1", "joint2")
Q, QD, NONE = np.array([0.3, -0.8]), np.array([0.2, -0.1]), np.empty(0)
SECOND, STEP = 1_000_000_000, 2_000_000  # ns
BEGIN = 1_700_000_000 * SECOND

JUNK = {
    "noise": lambda write: b"\x00\x01\x00\x00" + bytes(range(200, 255)),
    "cut": lambda write: write(BEGIN + 50 * SECOND, Q, QD, NONE)[:90],
    "nan": lambda write: write(BEGIN + 3600 * SECOND, Q * np.nan, QD, NONE),
    "nan, stamp 0": lambda write: write(0, Q, QD * np.inf, NONE),
    "too many": lambda write: serialize_message(JointState(name=NAMES, position=[0.0, 0.0, 0.0])),
}


class World:
    """Clocks, outputs, report and log of a controller, and the messages for it."""

    trajectory_is_wanted = False

    def __init__(self, model: RobotModel, safety: SafetySettings) -> None:
        self.time = 100.0
        self.commands: list[tuple[Command, int | None]] = []
        self.filled: list[TrajectoryPoints] = []
        self.waits = 0
        self.running = RunningController(model, ControllerSettings(safety=safety), self, self, self, self)
        self.write = JointStateWriter(NAMES).write
        self.stamp = BEGIN

    def good(self, q: Any = Q, qd: Any = QD) -> Command:
        """A state comes, a period after the one before; what answers it."""
        self.stamp += STEP
        self.time += STEP / SECOND
        before = len(self.commands)
        self.running.receive_state(self.write(self.stamp, q, qd, NONE))
        ((command, answered),) = self.commands[before:]
        assert answered == self.stamp
        return command

    def bad(self, kind: str, times: int = 1) -> list[Command]:
        before = len(self.commands)
        for _ in range(times):
            self.running.receive_state(JUNK[kind](self.write))
        return [command for command, _ in self.commands[before:]]

    def watch(self, seconds: float) -> None:
        end = self.time + seconds
        while self.time < end:
            self.time += 0.02
            self.running.watch()

    def steady(self) -> float:
        return self.time

    def now(self) -> int:
        return self.stamp

    def command(self, command: Command, answered: int) -> None:
        self.commands.append((command._replace(effort=command.effort.copy()), answered))

    def repeat(self) -> None:
        raise AssertionError("no stamp comes twice")

    def unasked(self, command: Command) -> None:
        self.commands.append((command._replace(effort=command.effort.copy()), None))

    def trajectory(self, data: bytes) -> None:
        self.filled.append(read_trajectory(data)[1])

    def transitions(self, controller: Controller, stamp: int) -> None:
        controller.take_transitions()

    def waiting(self, controller: Controller) -> None:
        self.waits += 1

    def info(self, message: str, **_: float) -> None: ...

    warning = error = info


@pytest.fixture
def make(load_robot: Callable[..., RobotModel]) -> Callable[..., World]:
    model = load_robot("planar_2r", "planar_2r_tsai")
    return lambda **safety: World(model, SafetySettings(position_step_limit=(np.inf,), **safety))


def braked(world: World, held: Command, q: Any = Q, qd: Any = QD) -> bool:
    """True if the effort beyond gravity's takes energy from the motion."""
    return bool((held.effort - world.running.controller.model.gravity_torque(q)) @ np.asarray(qd) < 0.0)


@pytest.mark.parametrize("kind", JUNK)
def test_one_bad_state_ends_the_laws_work_at_once(kind: str, make: Callable[..., World]) -> None:
    world = make()
    controller = world.running.controller
    world.good()
    (answer,) = world.bad(kind)
    assert answer.mode is Mode.HOLD and controller.fault is not None
    assert controller.fault.cause is Cause.STATE_INVALID
    assert_close(answer.effort, controller.model.gravity_torque(Q), 1e-9)
    held = world.good(Q + 0.1)
    assert held.mode is Mode.HOLD
    assert braked(world, held, Q + 0.1)


def test_among_many_bad_states_the_arm_is_held_by_the_good_ones(make: Callable[..., World]) -> None:
    """No clock that jumps, no blindness, no cycle for each: the arm is damped for as long as it lasts."""
    world = make(fault_reset="auto", stale_hold_time=0.1)
    controller = world.running.controller
    world.good()
    for k in range(1000):
        for kind in JUNK:
            answers = world.bad(kind, 3)
            assert len(answers) <= 1, "none for a stamp that is old, or comes again"
            assert answers or kind != "nan", "its stamp is new"
        held = world.good(Q + 0.001 * k)
        assert held.mode is Mode.HOLD
        assert braked(world, held, Q + 0.001 * k)
    assert controller.fault is not None and controller.fault.cause is Cause.STATE_INVALID
    assert controller.fault_count == 1
    for _ in range(round((RECOVERY_TIME + 0.01) * SECOND / STEP)):
        last = world.good()
    assert last.mode is Mode.ACTIVE


def test_bad_states_alone_make_it_let_go(make: Callable[..., World]) -> None:
    """As without states: the watch does it, by the steady clock."""
    world = make(stale_hold_time=0.5)
    world.good()
    for _ in range(20):
        world.bad("nan", 10)
        world.watch(0.02)
    assert world.commands[-1][0].mode is Mode.HOLD
    assert_close(world.commands[-1][0].effort, world.running.controller.model.gravity_torque(Q), 1e-9)
    for _ in range(10):
        world.bad("cut", 10)
        world.watch(0.02)
    assert world.commands[-1][0].mode is Mode.ZERO and not world.commands[-1][0].effort.any()
    assert world.good().mode is Mode.HOLD


def test_before_the_first_good_state_nothing_is_commanded(make: Callable[..., World]) -> None:
    world = make()
    for kind in JUNK:
        assert world.bad(kind) == []
    assert world.waits == len(JUNK)
    assert world.good().mode is Mode.HOLD
    assert world.running.controller.time == 0.0, "time counts from the first state that could be used"


def test_a_process_that_stood_still_has_been_without_states(make: Callable[..., World]) -> None:
    """As after SIGSTOP and SIGCONT: states may come before the timer that looks after their age."""
    world = make()
    controller = world.running.controller
    world.good()
    world.time += 2.0
    world.stamp += 2 * SECOND
    world.running.receive_state(world.write(world.stamp, Q, QD, NONE))
    assert [(command.mode, answered) for command, answered in world.commands[1:]] == [
        (Mode.HOLD, None),
        (Mode.HOLD, world.stamp),
    ]
    assert controller.fault is not None and controller.fault.cause is Cause.STATE_STALE
    assert controller.dropped_trajectories > 0


def test_effort_of_a_long_trajectory_takes_several_cycles(make: Callable[..., World]) -> None:
    world = make()
    world.good()
    world.trajectory_is_wanted = True
    for count, cycles in ((20, 2), (1000, 17)):
        points = point_to_point(NAMES, Q, Q + 0.3, 0.05 * count, 20.0)
        trajectory = world.running.follow(bytes(serialize_message(trajectory_message(points))))
        taken = 0
        while not world.filled:
            world.good()
            taken += 1
        assert taken == cycles
        whole = joined(list(trajectory_effort(world.running.controller.model, trajectory, NAMES, 0.02, 0.01)))
        assert_close(world.filled.pop().effort, whole.effort, 0.0)

"""One run: the controller in lockstep with the plant, its messages, drives and requests changed by the hooks of a kind.

The controller is called as the node calls it: serialized messages by ``InputReader``, the watchdog, ``clear_fault``.
Time advances by ``STEP``; a state is measured every ``period`` steps. With ``update_rate`` a timer calls ``tick``.
A hook is a function of the run:

- SENSE ``(run, message)`` returns the messages that arrive instead of a measured state;
- COMMAND ``(run, command)`` returns the rows of a `DriveCommand` (5, n) that reach the drives instead;
- DRIVE ``(run, effort)`` returns the effort that the drives make instead;
- PLANT ``(run)`` changes the plant, or returns a push (n,);
- REQUEST ``(run)`` sends requests.

They are called from the onset on, each with its parameters; ``run.since`` is the time (s) since the onset.

A command that is an effort only has gains of 0. Drives with a loop of their own measure the true state, but for faults
of an ``encoder``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.interface import Output
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.runs.inputs import InputReader
from support.independent_plant import (
    EPOCH,
    SECOND,
    STORE,
    TYPES,
    header,
    joint_state,
    quick_joint_state,
    target_pose,
    trajectory,
)
from tools.fault_battery.arms import ARMS, Arm, Floats, load
from tools.fault_battery.parameter_sets import SETS, settings_of
from tools.fault_battery.plant import CoupledPlant, Plant

STEP = 0.001  # s
PERIODS = (1, 2, 4, 5, 8)  # steps
TASK_SPEED = 0.8
"""Speed (rad/s) of joints that is wished in task space, in both directions."""

AFTER = 2.5  # s from the onset to the end
BASIS = "basis"
"""Mode of an effort in the record that is no command, but with which the next command is compared."""

_WATCH = 0.02  # s
_WRONG = 0.02  # rad, of a measured position
_CATCH = 0.3  # s
_IDEAL_FREQUENCY = 10.0  # rad/s
_POINTS = 24  # of a quintic
_END_STOP = 1e5  # Nm/rad or N/m


class Hook(Enum):
    """Place at which a function of a kind acts."""

    SENSE = "sense"
    COMMAND = "command"
    DRIVE = "drive"
    PLANT = "plant"
    REQUEST = "request"


class Fault(NamedTuple):
    """Function of a hook with its parameters."""

    hook: Hook
    function: Callable[..., Any]
    parameters: dict[str, Any] = {}


class Kind(NamedTuple):
    """One kind of fault.

    ``lost`` is True if other commands cannot correct a faulty drive, ``from_start`` if the fault exists before the
    activation, ``task`` for the task-space law. ``after`` (s) is the time from the onset to the end. ``values`` are
    parameters of the controller in addition to those of the set, ``true_causes`` those of faults in a healthy kind that
    are true. The kind is run on each of ``arms`` with each of ``sets``. With ``end_stop`` the drawn joint has a stiff
    stop at its position limit, which is near the start then, in the direction of ``Run.sign``. With ``encoder`` the
    hooks SENSE change what a drive with a loop of its own measures, too.
    """

    family: str
    name: str
    faults: tuple[Fault, ...]
    lost: bool = False
    from_start: bool = False
    task: bool = False
    after: float = AFTER
    values: dict[str, Any] = {}
    true_causes: tuple[str, ...] = ()
    arms: tuple[str, ...] = ARMS
    sets: tuple[str, ...] = SETS
    end_stop: bool = False
    encoder: bool = False

    @property
    def twin(self) -> str:
        """Name of the run that decides whether the kind can be answered: "true", "ideal", or "" for none."""
        hooks = {fault.hook for fault in self.faults}
        if Hook.SENSE in hooks:
            return "true"
        return "ideal" if hooks - {Hook.REQUEST} else ""


class Case(NamedTuple):
    """One run of a kind."""

    kind: Kind
    arm: str
    parameters: str
    seed: int


@dataclass
class Message:
    """Measured state on its way: time of arrival (s), stamp (ns), names and fields."""

    at: float
    stamp: int
    names: tuple[str, ...]
    q: Floats
    qd: Floats
    effort: Floats

    def copy(self, **changes: Any) -> Message:
        """Return a copy whose arrays can be changed."""
        arrays = {key: getattr(self, key).copy() for key in ("q", "qd", "effort")}
        return replace(self, **{**arrays, **changes})


@dataclass
class Record:
    """Data for the judge. Rows of lists are steps; those of ``wish`` are positions of the intended path.

    ``places`` and ``wished_places`` are those of the last body (3,), m, in task space, and empty otherwise. ``slowest``
    and ``fastest`` are the wished velocities (n,). ``released`` is True in the mode ``zero`` with measured positions
    that are wrong or missing, from ``stale_hold_time`` after the first fault until they have been true for ``_CATCH``
    and the mode is another one: the arm is left to its brakes, as documented.
    """

    onset: float = math.inf
    times: list[float] = field(default_factory=list)
    q: list[Floats] = field(default_factory=list)
    qd: list[Floats] = field(default_factory=list)
    commands: list[tuple[float, str, Floats]] = field(default_factory=list)
    faults: list[tuple[float, str]] = field(default_factory=list)
    wish: list[Floats] = field(default_factory=list)
    slowest: Floats = field(default_factory=lambda: np.zeros(0))
    fastest: Floats = field(default_factory=lambda: np.zeros(0))
    places: list[Floats] = field(default_factory=list)
    wished_places: list[Floats] = field(default_factory=list)
    released: list[bool] = field(default_factory=list)
    largest_gap: float = 0.0
    refused: str = ""


def _effort_only(effort: Floats) -> Floats:
    """Return the rows (5, n) of a command of ``effort`` (n,) without gains."""
    command = np.zeros((5, len(effort)))
    command[4] = effort
    return command


class Run:
    """State of one run; hooks use its methods and ``memory``.

    ``twin`` is "" for the run itself, "true" without SENSE hooks, "ideal" with the ideal controller from the onset on.
    """

    def __init__(self, case: Case, twin: str = "") -> None:
        kind = case.kind
        self.case = case
        self.twin = twin
        self.arm: Arm = load(case.arm)
        self.n = len(self.arm.start)
        self.unit = np.where(self.arm.prismatic, 0.3, 1.0)  # m instead of rad
        self.names = tuple(self.arm.model.joint_names)
        # The draws of a scenario precede all others, so that twins have the same.
        draw = np.random.default_rng([case.seed, 1])
        self.random = np.random.default_rng([case.seed, 2])
        self.period = int(draw.choice(PERIODS))
        self.moving = bool(draw.integers(2))
        self.joint = int(draw.integers(self.n))
        self.other = int((self.joint + 1 + draw.integers(self.n - 1)) % self.n)
        self.sign = 1.0 if draw.integers(2) else -1.0
        if kind.end_stop:
            self.arm = load(case.arm, (self.joint, self.sign))
        self.echo = ("command", "measured", "none")[int(draw.integers(3))]
        self.noise = (
            10.0 ** draw.uniform(-6.0, -4.3),
            10.0 ** draw.uniform(-4.0, -2.7),
        )
        self.settings = settings_of(self.arm, case.parameters, kind.task, kind.values)
        self.speed = (
            0.35 if case.parameters == "first_motion" else 0.9
        ) * draw.uniform(0.6, 1.0)
        self.goal = self._goal(draw)
        self.plant = self._plant()
        self.record = Record(slowest=np.zeros(self.n), fastest=np.zeros(self.n))
        self.record.wish.append(self.arm.start.copy())
        if kind.task:
            self.record.wished_places.append(self.plant.place(self.arm.start))
            self.record.slowest[:] = -TASK_SPEED
            self.record.fastest[:] = TASK_SPEED
        self.memory: dict[Any, Any] = {}
        self._drive_memory: dict[Any, Any] = {}
        self.time = 0.0
        self.steps = 0
        self.effort = np.zeros(self.n)  # command in force
        self.command = np.zeros((5, self.n))  # command in force, of the drives
        self.driven = np.zeros(self.n)  # effort of the drives
        self.obeyed = True  # the node's commands drive the arm
        self.driver: Callable[[Run], Floats] | None = None  # another controller
        self.commanded = False
        self.has_sent = False
        self.mode = "active"
        self.notes: list[str] = []
        self._queue: list[tuple[float, int, Message]] = []
        self._count = 0
        self._next_watch = _WATCH
        rate = self.settings.update_rate
        self._cycle = 1.0 / rate if rate > 0.0 else math.inf
        self._next_cycle = self._cycle
        self._last_arrival = 0.0
        self._wrong_position = False
        self._free_until = -math.inf
        self.begin = 0.4 + float(np.max(self.settings.ramp_time))
        leg = self.duration(self.goal - self.arm.start)
        self.onset = self.begin + (
            draw.uniform(0.25, 0.7) * leg if self.moving else 0.2
        )
        self.sending = self.begin if self.moving else self.begin + 0.5
        self.active_onset = 0.0 if kind.from_start else self.onset
        self.record.onset = self.active_onset
        self.end = self.onset + kind.after
        self.faults = {
            hook: [f for f in kind.faults if f.hook is hook] for hook in Hook
        }
        if twin == "true":
            self.faults[Hook.SENSE] = []
        self.session = ControllerSession(self.arm.model, self.settings)
        self.reader = InputReader(self.session)

    def _plant(self) -> Plant:
        arm = self.arm
        dissipation = (arm.friction, arm.viscous)
        if arm.coupling is not None:
            return CoupledPlant(arm.coupling, arm.urdf, arm.start, *dissipation, arm.rotor)  # fmt: skip
        plant = Plant(arm.urdf, arm.start, *dissipation, arm.rotor)
        if self.case.kind.end_stop:
            row = np.zeros(self.n)
            row[self.joint] = -self.sign
            limit = arm.upper if self.sign > 0.0 else arm.lower
            offset = -self.sign * float(limit[self.joint])
            plant.wall = (row, offset, _END_STOP, 0.02 * _END_STOP)
        return plant

    def _goal(self, draw: np.random.Generator) -> Floats:
        arm = self.arm
        size = draw.uniform(0.25, 0.7, self.n) * self.unit
        size *= self.speed / 0.9
        sign = np.where(draw.integers(2, size=self.n), 1.0, -1.0)
        sign = np.where(arm.start + sign * size > arm.upper - 0.15, -1.0, sign)
        sign = np.where(arm.start + sign * size < arm.lower + 0.15, 1.0, sign)
        room = np.where(sign > 0.0, arm.upper - arm.start, arm.start - arm.lower) - 0.1
        return np.array(arm.start + sign * np.minimum(size, np.maximum(room, 0.0)))

    # Time

    @property
    def since(self) -> float:
        """Time (s) since the onset."""
        return self.time - self.active_onset

    @property
    def ros(self) -> int:
        """Time of the ROS clock (ns)."""
        return EPOCH + round(self.time * SECOND)

    @property
    def now(self) -> Now:
        """Both times, for the session."""
        return Now(100.0 + self.time, lambda: self.ros)

    def once(self, key: str, at: float = 0.0) -> bool:
        """Return True at the first call with ``key`` when ``at`` (s) since the onset has passed."""
        if self.since < at - 1e-9 or ("once", key) in self.memory:
            return False
        self.memory["once", key] = True
        return True

    def every(self, key: str, seconds: float) -> bool:
        """Return True once every ``seconds``."""
        due = self.memory.get(("every", key), -math.inf)
        if self.time < due - 1e-9:
            return False
        self.memory["every", key] = self.time + seconds
        return True

    def execute(self) -> Record:
        """Run to the end and return the record."""
        try:
            self._take(self.session.activate(compare_effort=True))
            while self.time < self.end:
                self._step()
        except RobotDynamicsError as error:
            self.record.refused = str(error)
            self._write()
        return self.record

    def _step(self) -> None:
        begun = self.time >= self.active_onset - 1e-9
        if self.commanded or self.driver:
            self._move(begun)
        self.steps += 1
        self.time = self.steps * STEP
        if self.time >= self.sending and not self.has_sent:
            self.has_sent = True
            if self.case.kind.task:
                self.aim(self.tool_goal())
            else:
                self.move_there_and_back()
        for fault in self.faults[Hook.REQUEST] if begun else ():
            fault.function(self, **fault.parameters)
        if self.steps % self.period == 0:
            self._measure(begun)
        while self._queue and self._queue[0][0] <= self.time + 1e-9:
            self._arrive(heapq.heappop(self._queue)[2])
        if self.time >= self._next_cycle - 1e-9:
            self._next_cycle += self._cycle
            self._take(self.session.tick(self.now))
        if self.time >= self._next_watch - 1e-9:
            output = self.session.watch(self.now)
            self._next_watch = self.time + max(self.session.watch_period, STEP)
            self._take(output)
        self._write()

    def _write(self) -> None:
        record = self.record
        record.times.append(self.time)
        record.q.append(self.plant.q.copy())
        record.qd.append(self.plant.qd.copy())
        record.released.append(self._is_released())
        if self.case.kind.task:
            record.places.append(self.plant.place(self.plant.q))

    def _is_released(self) -> bool:
        gap = self.time - self._last_arrival
        safety = self.settings.safety
        missing = self._wrong_position or gap > safety.state_timeout
        given_up = self.mode == "zero" and bool(self.record.faults)
        if (
            given_up
            and missing
            and self.time >= self.record.faults[0][0] + safety.stale_hold_time
        ):
            self._free_until = self.time + _CATCH
        was_released = bool(self.record.released) and self.record.released[-1]
        released = self.time < self._free_until or (was_released and given_up)
        if not released and was_released:
            self.record.wish.append(self.plant.q.copy())  # where it is caught
            self.record.wished_places += self.record.places[-1:]
        return released

    def _move(self, begun: bool) -> None:
        push = np.zeros(self.n)
        for fault in self.faults[Hook.PLANT] if begun else ():
            given = fault.function(self, **fault.parameters)
            if given is not None:
                push = push + given
        ideal = begun and self.twin == "ideal"
        driven = self._ideal() if ideal else self._drive_effort(begun)
        if begun and (self.case.kind.lost or not ideal):
            for fault in self.faults[Hook.DRIVE]:
                driven = fault.function(self, driven.copy(), **fault.parameters)
        self.driven = np.clip(driven, -self.arm.effort, self.arm.effort)
        self.plant.step(self.driven, STEP, push)

    def _drive_effort(self, begun: bool) -> Floats:
        """Return the effort that the drives make of the command in force and of what they measure."""
        command = self.command
        if self.driver is not None and not self.obeyed:
            command = _effort_only(self.driver(self))
        for fault in self.faults[Hook.COMMAND] if begun else ():
            command = fault.function(self, command.copy(), **fault.parameters)
        q = self.plant.q
        qd = self.plant.qd
        if begun and self.case.kind.encoder and command[2:4].any():
            m = Message(self.time, self.ros, self.names, q, qd, np.empty(0))
            # The faults keep what they need for the messages apart from that for the drives.
            self.memory, self._drive_memory = self._drive_memory, self.memory
            for fault in self.faults[Hook.SENSE]:
                (m,) = fault.function(self, m, **fault.parameters)
            self.memory, self._drive_memory = self._drive_memory, self.memory
            q = m.q
            qd = m.qd
        return DriveCommand(*command).torque(q, qd)

    def _ideal(self) -> Floats:
        """Return the effort of a controller that knows state and plant, and stops the arm at the onset."""
        plant = self.plant
        held = self.memory.setdefault("held", plant.q.copy())
        feedback = (
            _IDEAL_FREQUENCY**2 * (held - plant.q) - 2.0 * _IDEAL_FREQUENCY * plant.qd
        )
        return np.array(plant.bias() + plant.mass_matrix() @ feedback)

    # States

    def measure(self) -> Message:
        """Return the measured state with the noise of a real sensor."""
        plant = self.plant
        random = self.random
        resolution = self.noise[0]
        q = (
            np.round(
                (plant.q + 0.3 * resolution * random.standard_normal(self.n))
                / resolution
            )
            * resolution
        )
        qd = plant.qd + self.noise[1] * random.standard_normal(self.n)
        effort = np.empty(0)
        if self.echo == "command":
            given = self.command[4] if self.obeyed else self.driven
            effort = given.copy() if self.commanded else plant.gravity()
        elif self.echo == "measured":
            held = self.driven if self.commanded else plant.gravity()
            effort = held + 0.005 * self.arm.effort * random.standard_normal(self.n)
        return Message(self.time, self.ros, self.names, q, qd, effort)

    def _measure(self, begun: bool) -> None:
        messages = [self.measure()]
        for fault in self.faults[Hook.SENSE] if begun else ():
            given = [fault.function(self, m, **fault.parameters) for m in messages]
            messages = [
                m
                for part in given
                for m in (part if isinstance(part, list) else [part])
            ]
        for message in messages:
            self.send(message)

    def send(self, message: Message) -> None:
        """Let ``message`` arrive at its time."""
        self._count += 1
        heapq.heappush(self._queue, (message.at, self._count, message))

    def _arrive(self, m: Message) -> None:
        self.record.largest_gap = max(
            self.record.largest_gap, self.time - self._last_arrival
        )
        self._last_arrival = self.time
        same = len(m.q) == self.n and m.names == self.names
        self._wrong_position = not (
            same and bool((np.abs(m.q - self.plant.q) < _WRONG * self.unit).all())
        )
        fields = (np.asarray(field, dtype=float) for field in (m.q, m.qd, m.effort))
        write = quick_joint_state if len(m.names) == self.n else joint_state
        self.receive("joint_states", write(m.stamp, m.names, *fields))

    # Outputs

    def receive(self, topic: str, data: bytes) -> Output:
        """Pass a serialized message to the controller, and process its output."""
        output = self.reader.receive(topic, data, self.now)
        self._take(output)
        return output

    def _take(self, output: Output) -> None:
        if output.command is not None:
            effort = np.array(output.command.effort, dtype=float)
            self.mode = output.command.mode.value
            if self.obeyed and self.twin != "ideal":
                self.record.commands.append((self.time, self.mode, effort))
            self.effort = effort
            drive = output.command.drive
            self.command = _effort_only(effort) if drive is None else np.array(drive)
            self.commanded = True
        for transition in output.transitions:
            if transition.after.value != "active":
                self.record.faults.append((self.time, transition.fault.cause.value))
        self.notes += [note.text for note in output.notes]

    # Requests

    def duration(self, distance: Floats) -> float:
        """Return the duration (s) of a quintic whose largest speed is that of the run."""
        speed = np.minimum(self.speed * self.unit, 0.6 * self.arm.velocity)
        return max(float((1.875 * np.abs(distance) / speed).max()), 0.5)

    def quintic(self, start: Floats, goal: Floats) -> tuple[Floats, ...]:
        """Return times (m,), positions, velocities and accelerations (m, n) of a quintic at rest at both ends."""
        length = self.duration(goal - start)
        s = np.linspace(0.0, 1.0, _POINTS + 1)[1:, None]
        d = goal - start
        q = start + d * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
        qd = d * (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4) / length
        qdd = d * (60.0 * s - 180.0 * s**2 + 120.0 * s**3) / length**2
        return length * s[:, 0], q, qd, qdd

    def move_there_and_back(self) -> None:
        """Send the motion from the start to the goal and back, and wish it.

        It has two points at rest, between which the controller's quintic is that of ``quintic``.
        """
        times, q, qd, _ = self.quintic(self.arm.start, self.goal)
        self.wish(q, qd)
        self.wish(q[::-1], -qd)
        ends = np.array([self.goal, self.arm.start])
        none = np.zeros_like(ends)
        leg = float(times[-1])
        self.follow([leg, 2.0 * leg], ends, velocities=none, accelerations=none)

    def wish(self, q: Floats, qd: Floats) -> None:
        """Add rows (m, n) of positions and velocities to what is wished."""
        dense = np.linspace(0.0, len(q) - 1.0, 4 * len(q))
        index = np.arange(len(q))
        self.record.wish += list(
            np.transpose([np.interp(dense, index, c) for c in np.transpose(q)])
        )
        self.record.slowest = np.minimum(self.record.slowest, qd.min(axis=0))
        self.record.fastest = np.maximum(self.record.fastest, qd.max(axis=0))

    def follow(self, times: Any, q: Any, stamp: int = 0, **fields: Any) -> Output:
        """Send a trajectory."""
        return self.receive(
            "joint_trajectory", trajectory(self.names, times, q, stamp, **fields)
        )

    def tool_goal(self, distance: float = 0.12) -> Floats:
        """Return a position (3,) of the last body, ``distance`` (m) from the start towards the base and up."""
        place = self.plant.place(self.arm.start)
        sideways = 0.3 if self.n >= 6 else 0.0
        direction = np.array([-0.6 * np.sign(place[0] or 1.0), sideways, 0.5])
        return np.array(place + distance * direction)

    def aim(self, position: Floats, stamp: int = 0) -> None:
        """Send a target pose, which is what is wished."""
        wished = self.record.wished_places
        wished += list(np.linspace(wished[-1], position, 20))
        self.receive("target_pose", target_pose(stamp, position, (0.0, 0.0, 0.0, 1.0)))

    def feed_forward(self, topic: str, stamp: int, vector: Sequence[float]) -> None:
        """Send a target twist or acceleration of six numbers."""
        part, kind = {
            "target_twist": ("twist", "Twist"),
            "target_acceleration": ("accel", "Accel"),
        }[topic]
        vectors = [
            TYPES["geometry_msgs/msg/Vector3"](*map(float, v))
            for v in (vector[:3], vector[3:])
        ]
        stamped = f"geometry_msgs/msg/{kind}Stamped"
        value = TYPES[f"geometry_msgs/msg/{kind}"](*vectors)
        message = TYPES[stamped](**{"header": header(stamp), part: value})
        self.receive(topic, bytes(STORE.serialize_cdr(message, stamped)))

    def payload(self, mass: float, com: Sequence[float], inertia: float) -> None:
        """Send the payload of the last link."""
        name = "geometry_msgs/msg/InertiaStamped"
        body = TYPES["geometry_msgs/msg/Inertia"](
            mass, TYPES["geometry_msgs/msg/Vector3"](*com), inertia, 0.0, 0.0, inertia, 0.0, inertia
        )  # fmt: skip
        message = TYPES[name](header(0, self.arm.tool), body)
        self.receive("payload", bytes(STORE.serialize_cdr(message, name)))

    def boolean(self, topic: str, value: bool) -> None:
        """Send a std_msgs/Bool."""
        message = TYPES["std_msgs/msg/Bool"](value)
        self.receive(topic, bytes(STORE.serialize_cdr(message, "std_msgs/msg/Bool")))

    def clear(self) -> bool:
        """Call ``clear_fault``; return False if it is refused."""
        try:
            self._take(self.session.clear_fault(self.now))
        except RobotDynamicsError:
            return False
        return True

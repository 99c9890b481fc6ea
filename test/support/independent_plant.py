"""Plant and client of the controller that share no code with it: dynamics by Pinocchio, messages by rosbags.

A ``Session`` runs a ``ControllerSession`` in lockstep. It has both clocks, so that a test can stop them or let them
jump, and it can change each message before it is received.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.interface import Command, Output
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.runs.inputs import InputReader
from support.arms import Array

SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * 1_000_000_000
WATCH_PERIOD = 0.02
START = {
    "panda": (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    "ur5e": (0.0, -1.2, 1.4, -1.8, -1.57, 0.0),
    "planar_2r": (0.3, -0.8),
}
_URDF = Path(__file__).resolve().parents[2] / "urdf"
STORE: Any = get_typestore(Stores.ROS2_HUMBLE)
TYPES = STORE.types


@cache
def load(robot: str, continuous: bool = False) -> tuple[str, RobotModel]:
    """Return a shipped URDF and its model; with ``continuous`` all joints are continuous."""
    text = (_URDF / f"{robot}.urdf").read_text(encoding="utf-8")
    model = RobotModel.from_urdf(
        text.replace('type="revolute"', 'type="continuous"') if continuous else text
    )
    return text, model


def make_settings(**values: Any) -> ControllerSettings:
    """Return settings from fields of ControllerSettings and SafetySettings."""
    names = {field.name for field in dataclasses.fields(SafetySettings)} & values.keys()
    safety = SafetySettings(**{name: values.pop(name) for name in names})
    return ControllerSettings(safety=safety, **values)


def header(stamp: int, frame: str = "") -> Any:
    """Return a std_msgs/Header."""
    sec, nanosec = divmod(stamp, SECOND)
    return TYPES["std_msgs/msg/Header"](
        TYPES["builtin_interfaces/msg/Time"](sec, nanosec), frame
    )


def trajectory(
    names: Sequence[str],
    times: ArrayLike,
    positions: ArrayLike,
    stamp: int = 0,
    **fields: Any,
) -> bytes:
    """Return a JointTrajectory; ``fields`` are velocities or accelerations, one row for each time."""
    none = np.empty(0)
    rows = np.atleast_2d(np.asarray(positions, dtype=float))
    parts = [
        fields.get(name, [none] * len(rows))
        for name in ("velocities", "accelerations", "effort")
    ]
    points = [
        TYPES["trajectory_msgs/msg/JointTrajectoryPoint"](
            row, *(np.asarray(part[i], dtype=float) for part in parts), TYPES["builtin_interfaces/msg/Duration"](
                *divmod(round(float(at) * SECOND), SECOND))
        )
        for i, (at, row) in enumerate(zip(np.atleast_1d(times), rows, strict=True))
    ]  # fmt: skip
    message = TYPES["trajectory_msgs/msg/JointTrajectory"](
        header(stamp), list(names), points
    )
    return bytes(STORE.serialize_cdr(message, "trajectory_msgs/msg/JointTrajectory"))


def target_pose(stamp: int, position: ArrayLike, quaternion: ArrayLike) -> bytes:
    """Return a PoseStamped."""
    pose = TYPES["geometry_msgs/msg/Pose"](
        TYPES["geometry_msgs/msg/Point"](*np.asarray(position, dtype=float).tolist()),
        TYPES["geometry_msgs/msg/Quaternion"](
            *np.asarray(quaternion, dtype=float).tolist()
        ),
    )
    message = TYPES["geometry_msgs/msg/PoseStamped"](header(stamp), pose)
    return bytes(STORE.serialize_cdr(message, "geometry_msgs/msg/PoseStamped"))


def joint_state(
    stamp: int, names: Sequence[str], q: Array, qd: Array, effort: Array
) -> bytes:
    """Return a JointState; fields may be empty or too long."""
    message = TYPES["sensor_msgs/msg/JointState"](
        header(stamp), list(names), q, qd, effort
    )
    return bytes(STORE.serialize_cdr(message, "sensor_msgs/msg/JointState"))


@cache
def _template(
    names: tuple[str, ...], counts: tuple[int, int, int]
) -> tuple[bytes, tuple[int, ...]]:
    marks = [np.full(count, 1e300 + 1e285 * k) for k, count in enumerate(counts)]
    data = joint_state(0, names, *marks)
    return data, tuple(data.index(mark.tobytes()) for mark in marks)


def quick_joint_state(stamp: int, names: tuple[str, ...], *fields: Array) -> bytes:
    """Return the bytes of ``joint_state``, ten times faster, with numbers at the offsets of rosbags."""
    message, places = _template(names, (len(fields[0]), len(fields[1]), len(fields[2])))
    data = bytearray(message)
    struct.pack_into("<iI", data, 4, *divmod(stamp, SECOND))
    for at, field in zip(places, fields, strict=True):
        data[at : at + 8 * len(field)] = field.tobytes()
    return bytes(data)


class Plant:
    """Arm simulated by Pinocchio's ABA, with an unmodelled payload (kg), mass errors, and friction."""

    def __init__(
        self, urdf: str, q: ArrayLike, payload: float = 0.0, mass_error: float = 0.0,
        viscous: float = 0.0, coulomb: float = 0.0, braked: bool = False,
    ) -> None:  # fmt: skip
        self.model = pin.buildModelFromXML(urdf)
        self.tool = self.model.nframes - 1
        if payload:
            at = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
            self.model.appendBodyToJoint(
                self.model.njoints - 1,
                pin.Inertia(payload, np.zeros(3), np.zeros((3, 3))),
                at,
            )
        for i in range(1, self.model.njoints):
            body = self.model.inertias[i]
            self.model.inertias[i] = pin.Inertia(
                body.mass * (1.0 + mass_error),
                body.lever,
                body.inertia * (1.0 + mass_error),
            )
        self.data = self.model.createData()
        self.q = np.array(q, dtype=float)
        self.qd = np.zeros(self.model.nv)
        self.viscous = viscous
        self.coulomb = coulomb
        self.braked = braked
        self.drive = np.ones(self.model.nv)  # effort given per effort commanded
        self.limits = np.array(self.model.effortLimit)
        self.made = np.zeros(self.model.nv)  # effort of the drives in the last step

    def step(
        self, effort: Array, dt: float, command: DriveCommand | None = None
    ) -> None:
        """Advance one semi-implicit step; friction, smoothed within 1 mrad/s, is implicit damping.

        Instead of ``effort`` the drives make that of a ``command``. Below their limits their gains are implicit, too.
        """
        made = effort
        implicit = np.zeros(len(effort))  # kg m^2
        if command is not None:
            torque = command.torque(self.q + dt * self.qd, self.qd)
            made = np.clip(torque, -self.limits, self.limits)
            gains = dt * command.damping + dt * dt * command.stiffness
            implicit = np.where(made == torque, gains, 0.0)
        self.made = made
        if self.braked:
            self.qd[:] = 0.0
            return
        effort = self.drive * made
        armature = np.maximum(self.drive, 0.0) * implicit
        if self.viscous or self.coulomb:
            damping = self.viscous + self.coulomb / (np.abs(self.qd) + 1e-3)
            armature = armature + dt * damping
            effort = effort - damping * self.qd
        self.model.armature = armature
        before = self.qd
        self.qd = before + dt * pin.aba(self.model, self.data, self.q, before, effort)
        self.q = self.q + dt * self.qd
        self.made = made - implicit * (self.qd - before) / dt

    def gravity(self) -> Array:
        """Return the gravity torque of arm and payload."""
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, self.q))

    def end_effector_position(self) -> Array:
        """Return the position of the last link."""
        pin.forwardKinematics(self.model, self.data, self.q)
        return np.array(
            pin.updateFramePlacement(self.model, self.data, self.tool).translation
        )


class Given(NamedTuple):
    """Command: steady time (s), effort, mode, and cause: answer, unasked, exit, or repeat of the one before."""

    at: float
    effort: Array
    mode: str
    kind: str


class Session:
    """Controller with a plant, and both clocks."""

    def __init__(
        self, robot: str = "panda", settings: ControllerSettings | None = None, *, rate: float = 500.0,
        continuous: bool = False, q: ArrayLike | None = None, noise: tuple[float, float] = (0.0, 0.0),
        wraps: bool = False, reports_effort: bool = False, effort_factor: float = 1.0, seed: int = 0,
        use_sim_time: bool = False, **plant: Any,
    ) -> None:  # fmt: skip
        urdf, self.model = load(robot, continuous)
        self.names = tuple(self.model.joint_names)
        self.plant = Plant(urdf, START[robot] if q is None else q, **plant)
        assert list(self.plant.model.names)[1:] == list(self.names)
        self.settings = settings or ControllerSettings()
        self.period = 1.0 / rate
        self.time = 100.0
        self.ros = EPOCH
        self.noise = noise
        self.wraps = wraps
        self.reports_effort = reports_effort
        self.effort_factor = effort_factor
        self.random = np.random.default_rng(seed)
        self.effort = np.zeros(self.model.n)  # in force
        self.drive: DriveCommand | None = None  # in force
        self.commands: list[Given] = []
        self.lines: list[str] = []
        self.causes: list[str] = []
        self.memory: dict[str, Any] = {}  # of a test
        self._last: Command | None = None
        self._logged: dict[str, float] = {}
        self.next_watch = self.time + WATCH_PERIOD
        self._next_tick = self.ros
        self.session = ControllerSession(self.model, self.settings, use_sim_time)
        self._reader = InputReader(self.session)
        # checked by the first state
        self.take(self.session.activate(compare_effort=True))

    @property
    def controller(self) -> Controller:
        assert self.session.controller is not None
        return self.session.controller

    def pass_time(self, seconds: float | None = None, clock: float = 1.0) -> None:
        """Advance plant and time, /clock at ``clock`` times the steady rate; timers fire, states are not sent."""
        seconds = self.period if seconds is None else seconds
        while seconds > 1e-12:
            dt = min(seconds, self.period)
            if self.commands:  # until then something else holds the arm
                self.plant.step(self.effort, dt, self.drive)
            self.time += dt
            self.ros += round(dt * clock * SECOND)
            seconds -= dt
            if self.time >= self.next_watch:  # never after the exit
                output = self.session.watch(self.now)
                self.next_watch += self.session.watch_period
                self.take(output)

    def tick(self) -> None:
        """Fire the timer of the update rate, once if several periods have passed, as rclpy's timers do."""
        if self.settings.update_rate == 0.0:
            return
        period = round(SECOND / self.settings.update_rate)
        self._next_tick = min(self._next_tick, self.ros + period)
        if self.ros >= self._next_tick:
            self._next_tick += period * (1 + (self.ros - self._next_tick) // period)
            self.take(self.session.tick(self.now))

    def state(
        self,
        stamp: int | None = None,
        q: Any = None,
        qd: Any = None,
        effort: Any = None,
    ) -> None:
        """Deliver a message with the measured state of the plant, except for the given fields."""
        n = len(self.names)
        if q is None:
            q = self.plant.q + self.noise[0] * self.random.standard_normal(n)
            q = np.arctan2(np.sin(q), np.cos(q)) if self.wraps else q
        if qd is None:
            qd = self.plant.qd + self.noise[1] * self.random.standard_normal(n)
        if effort is None:
            held = self.effort if self.drive is None else self.drive.effort
            if self.plant.braked or not self.commands:
                held = self.plant.gravity()
            effort = self.effort_factor * held if self.reports_effort else np.empty(0)
        fields = (np.asarray(field, dtype=float) for field in (q, qd, effort))
        self.receive(
            "joint_states",
            quick_joint_state(
                self.ros if stamp is None else stamp, self.names, *fields
            ),
        )

    def cycle(self, clock: float = 1.0, **state: Any) -> None:
        """Run one period: the plant advances, a state is received, the timer fires."""
        self.pass_time(clock=clock)
        self.state(**state)
        self.tick()

    def run(self, seconds: float, **state: Any) -> Session:
        """Run cycles for ``seconds``."""
        for _ in range(round(seconds / self.period)):
            self.cycle(**state)
        return self

    def go(
        self, positions: ArrayLike, times: ArrayLike, stamp: int = 0, **fields: Any
    ) -> bool:
        """Send a trajectory; return True if it is followed."""
        data = trajectory(self.names, times, positions, stamp, **fields)
        return self.receive("joint_trajectory", data).followed is not None

    def aim(self, position: ArrayLike, quaternion: ArrayLike) -> None:
        """Send a target pose of the end effector."""
        self.receive("target_pose", target_pose(0, position, quaternion))

    def exit(self, states: bool = True, timeout: float = 1.0) -> None:
        """Shut down as the node does on SIGINT: stop within a timeout, then publish a final command."""
        controller = self.controller
        begun = self.time
        self.session.safety.begin_stop()
        while not controller.stopped and self.time - begun < timeout:
            self.cycle() if states else self.pass_time()
        mode = controller.mode
        last = self.session.deactivate(self.now).command
        if last is not None:
            self.drive = last.drive
            self._give(last.effort, mode, "exit")
        self.next_watch = np.inf

    def largest_step(self, rates: ArrayLike) -> float:
        """Return the largest change between commands, relative to ``rates`` (Nm/s) for the time plus a period."""
        decided = [given for given in self.commands if given.kind != "repeat"]
        effort = np.array([given.effort for given in decided])
        at = np.array([given.at for given in decided])
        allowed = (np.diff(at) + self.period)[:, None] * np.asarray(rates, dtype=float)
        return float((np.abs(np.diff(effort, axis=0)) / allowed).max(initial=0.0))

    # What the controller is given

    @property
    def now(self) -> Now:
        return Now(self.time, lambda: self.ros)

    def receive(self, topic: str, data: bytes) -> Output:
        output = self._reader.receive(topic, data, self.now)
        self.take(output)
        return output

    def take(self, output: Output) -> None:
        """Process an output of the controller."""
        if output.command is not None:
            kind = (
                "unasked"
                if output.answered is None
                else "repeat"
                if output.command is self._last
                else "answer"
            )
            self._last = output.command
            self.drive = output.command.drive
            self._give(output.command.effort, output.command.mode, kind)
        for transition in output.transitions:
            cause = transition.fault.cause.value
            if transition.after.value != "active" and (
                transition.before.value == "active" or cause != self.causes[-1]
            ):
                self.causes.append(cause)
        for note in output.notes:
            if self.time - self._logged.get(note.kind, -np.inf) >= note.period:
                self._logged[note.kind] = self.time
                self.lines.append(note.text)

    def _give(self, effort: Array, mode: str, kind: str) -> None:
        self.effort = effort.copy()
        self.commands.append(
            Given(self.time, self.effort, str(getattr(mode, "value", mode)), kind)
        )

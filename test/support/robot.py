"""Driver of a robot that also reads its controller's status on /diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from numpy.typing import ArrayLike
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from oracles import tsai_planar_2r
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.ros.conversions import nanoseconds
from support.ros import (
    JOINTS,
    PATIENCE,
    PLANAR,
    RELIABLE,
    TSAI,
    Array,
    Driver,
    Graph,
    Log,
    gravity,
)

NODE = "computed_torque_node"
OK = 0
WARN = 1
ERROR = 2

#: What a test may change while the node runs, as it is set in ``begin``.
USUAL = {
    "fault_reset": "manual",
    "on_fault": "hold",
    "state_timeout": float("inf"),
    "stale_hold_time": 0.5,
    "minimum_rate_ratio": 0.0,
    "position_step_limit": [float("inf")],  # tests put the arm anywhere
    "activation_max_velocity": float("inf"),
    "saturation_timeout": 1.0,
    "torque_rate_limit": [],
    "observer.collision_threshold": [],
    "observer.gain": 0.0,
}

#: computed_torque with the natural frequency 10 rad/s and the damping ratio 1 that are set by default.
KP = 100.0
KD = 20.0


#: Viscous and Coulomb friction of ``rough_arm``, Craig (6.110)-(6.111).
FRICTION = {
    "joint1": {"viscous": 0.8, "coulomb": 1.5},
    "joint2": {"viscous": 0.3, "coulomb": 0.6},
}


def rough_arm(folder: Path) -> dict[str, Any]:
    """Return parameters of the planar arm with friction; its dynamics file is written to ``folder``."""
    document = yaml.safe_load(Path(PLANAR["dynamics_file"]).read_text(encoding="utf-8"))
    path = folder / "rough.dynamics.yaml"
    path.write_text(yaml.safe_dump({**document, "joints": FRICTION}), encoding="utf-8")
    return {**PLANAR, "dynamics_file": str(path)}


def friction(qd: Array) -> Array:
    """Return the friction torque of ``rough_arm``, smoothed below 0.01 rad/s, the controller's default."""
    viscous, coulomb = (
        [FRICTION[name][part] for name in JOINTS] for part in ("viscous", "coulomb")
    )
    sliding = np.copysign(np.maximum(np.abs(qd), 0.01), qd)
    torque = np.multiply(viscous, sliding) + np.multiply(coulomb, np.sign(sliding))
    return np.asarray(torque * np.minimum(np.abs(qd) / 0.01, 1.0))


def reliable_states(namespace: str = "") -> dict[str, Any]:
    """Return parameters for reliable communication of driver and controller: each state has its command."""
    return {
        "qos_overrides": {
            f"{namespace}/joint_states": {"subscription": {"reliability": "reliable"}}
        }
    }


def holds(effort: ArrayLike, q: ArrayLike, qd: ArrayLike = (0.0, 0.0)) -> bool:
    """True if an effort is g(q), Tsai (9.117)-(9.118), at rest, and takes energy from a motion."""
    beyond = np.asarray(effort) - gravity(q)
    return bool(
        beyond @ np.asarray(qd) < 0.0 if np.any(qd) else near(effort, gravity(q))
    )


def following(q: ArrayLike, qd: ArrayLike, held: ArrayLike) -> Array:
    """Return the effort of computed_torque with the desired position ``held``, Tsai (9.73)-(9.74)."""
    required = KP * np.subtract(held, q) - KD * np.asarray(qd)
    return tsai_planar_2r.torque(
        TSAI, np.asarray(q, dtype=float), np.asarray(qd, dtype=float), required
    )


def holding(q: ArrayLike, qd: ArrayLike, held: ArrayLike) -> Array:
    """Return the effort in ``hold``: a spring to ``held`` of at most a quarter of the effort limits, and a damper."""
    inertia = tsai_planar_2r.mass_matrix(TSAI, np.asarray(q, dtype=float))
    spring = np.clip(inertia @ (KP * np.subtract(held, q)), (-20.0, -7.5), (20.0, 7.5))
    return np.asarray(gravity(q) + spring - inertia @ (KD * np.asarray(qd)))


def comes_to_rest_at(place: ArrayLike, q: ArrayLike, qd: ArrayLike) -> bool:
    """Return True if an arm with this velocity stops there with constant deceleration within 0.1 s."""
    way = np.subtract(place, q)
    speed = np.asarray(qd)
    return bool(
        (way * speed >= 0.0).all()
        and (np.abs(way) <= np.abs(speed) * 0.1 / 2 + 1e-9).all()
    )


def near(effort: ArrayLike, expected: ArrayLike) -> bool:
    """Return True if an effort equals the closed form; stamps are dates, so that time has a resolution of 1e-7 s."""
    return bool(np.allclose(effort, expected, rtol=0, atol=1e-6))


def move(goal: tuple[float, float], seconds: float) -> TrajectoryPoints:
    """Return a trajectory of one point at rest."""
    still = np.zeros((1, 2))
    return TrajectoryPoints(
        ("joint1", "joint2"), np.array([seconds]), np.array([goal]), still, still
    )


class Status(NamedTuple):
    """Status of /diagnostics; ``at`` is its stamp in s."""

    at: float
    level: int
    message: str
    values: dict[str, str]

    @property
    def change(self) -> tuple[str, str]:
        """Return the previous mode (empty without a transition) and the mode."""
        return self.values.get("previous mode", ""), self.values["mode"]

    def number(self, key: str) -> float:
        return float(self.values[key])


def collect_statuses(graph: Graph, name: str) -> list[Status]:
    """Return a list to which each status of one thing in /diagnostics is added."""
    statuses: list[Status] = []

    def receive(message: DiagnosticArray) -> None:
        at = nanoseconds(message.header.stamp) * 1e-9
        for status in message.status:
            if status.name == name:
                values = {pair.key: pair.value for pair in status.values}
                statuses.append(
                    Status(
                        at,
                        int.from_bytes(status.level, "little"),
                        status.message,
                        values,
                    )
                )

    graph.client.create_subscription(DiagnosticArray, "/diagnostics", receive, RELIABLE)
    return statuses


class Robot(Driver):
    """Driver of a planar arm with a controller of its own, with simulated time if it has a clock."""

    def __init__(
        self,
        graph: Graph,
        process: NodeProcess,
        namespace: str = "",
        clock: bool = False,
    ) -> None:
        super().__init__(graph, namespace)
        self.node = f"{namespace}/{NODE}"
        self.process = process
        self.active = True
        self.edit: Callable[[JointState], object] = lambda state: None
        self.statuses = collect_statuses(graph, f"{self.node.lstrip('/')}: controller")
        self._clock = (
            graph.publisher(Clock, "/clock", QoSProfile(depth=1)) if clock else None
        )
        self.now = 1_000_000_000 if clock else time.time_ns()

    def log_from_now(self) -> Log:
        return Log(self.process.log)

    # Status

    @property
    def changes(self) -> list[Status]:
        """Return the transitions."""
        return [status for status in self.statuses if status.change[0]]

    @property
    def mode(self) -> str:
        return self.statuses[-1].values["mode"] if self.statuses else ""

    def await_mode(self, mode: str) -> Status:
        """Wait for a mode without sending states; return the status of the transition."""
        self.graph.wait(lambda: self.mode == mode, f"{self.node} to be in {mode}")
        return self._beginning(mode)

    def _beginning(self, mode: str) -> Status:
        """Return the transition to a mode, or the last status if it was not received."""
        return next(
            (status for status in reversed(self.changes) if status.change[1] == mode),
            self.statuses[-1],
        )

    def assert_finite(self) -> None:
        super().assert_finite()
        for answer in self.answers:
            assert np.isfinite([*answer.position, *answer.velocity]).all(), answer

    # States

    def message(
        self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0), dt: float = 0.02
    ) -> JointState:
        """Return the state ``dt`` seconds after the previous one, modified by ``edit``."""
        state = super().message(q, qd, dt)
        self.edit(state)
        return state

    def send(self, state: JointState) -> None:
        """Publish the clock, if any, and a state with its stamp."""
        if self._clock is not None:
            self._clock.publish(Clock(clock=state.header.stamp))
        super().send(state)

    def exchange(
        self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0), dt: float = 0.02
    ) -> JointState:
        """Publish this state once and return the command for it, for a simulation in lockstep."""
        self.send(self.message(q, qd, dt))
        self.graph.wait(self._answered, "the answer")
        return self.answers[-1]

    def drive(
        self,
        until: Callable[[], Any],
        what: str,
        q: ArrayLike,
        qd: ArrayLike = (0.0, 0.0),
    ) -> None:
        """Publish this state repeatedly, with stamps 20 ms apart."""
        self.play(until, what, lambda: self.message(q, qd))

    def play(
        self, until: Callable[[], Any], what: str, make: Callable[[], JointState]
    ) -> None:
        """Publish states, each after a command for the previous one or a timeout."""
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline, (
                f"waited {PATIENCE:g} s for {what}\n{self.graph.logs()}"
            )
            self.send(make())
            self.graph.spin_for(0.002)
            again = time.monotonic() + (0.2 if self._clock is None else 0.005)
            self.graph.wait(
                lambda again=again: self._is_answered() or time.monotonic() > again,
                "an answer",
            )

    def _is_answered(self) -> bool:
        return (
            bool(self.answers)
            and nanoseconds(self.answers[-1].header.stamp) == self.now
        )

    def drive_to(self, mode: str, q: ArrayLike, qd: ArrayLike = (0.0, 0.0)) -> Status:
        """Publish this state until the controller is in a mode; return the status of the transition."""
        self.drive(lambda: self.mode == mode, f"{self.node} to be in {mode}", q, qd)
        return self._beginning(mode)

    def answer_to(
        self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0), dt: float = 0.02
    ) -> JointState:
        """Publish this state until a command is received: once, unless messages are lost or a clock triggers cycles."""
        count = len(self.answers)
        first = self.now + round(dt * 1e9)

        def come() -> bool:
            latest = (
                self.answers[-1] if len(self.answers) > count and self.efforts else None
            )
            return (
                latest is not None
                and first <= nanoseconds(latest.header.stamp) <= self.now
            )

        period = 1.0 if self._clock is None else 0.05
        self.graph.repeat(
            lambda: self.send(self.message(q, qd, dt)), come, "an answer", period
        )
        return self.answers[-1]

    def later_answer_to(self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0)) -> JointState:
        """Return the command for this state after the transition to another law, which takes 0.2 s or longer."""
        stamps = self.now + 600_000_000
        clock = time.monotonic() + 0.6
        self.drive(
            lambda: self.now > stamps and time.monotonic() > clock,
            "the law to take over",
            q,
            qd,
        )
        return self.answer_to(q, qd)

    # Trajectories and transitions

    def refuses_a_trajectory(self, culprit: str) -> None:
        """Check that a trajectory is refused for this reason and has no effect."""
        log = self.log_from_now()
        self.graph.send_until_logged(
            lambda: self.follow(move((1.5, -1.5), 1.0)), log, "trajectory refused"
        )
        assert any(culprit in error for error in log.errors), log.errors

    def takes_a_trajectory(self, points: TrajectoryPoints, start: int = 0) -> None:
        log = self.log_from_now()
        self.graph.send_until_logged(
            lambda: self.follow(points, start), log, "following a trajectory"
        )

    def begin(self, q: ArrayLike, parameters: dict[str, Any] | None = None) -> None:
        """Reset the controller with these parameters and the usual others, so that it holds ``q``."""
        if self.active:
            self.deactivate()
        self.graph.set_parameters(self.node, {**USUAL, **(parameters or {})})
        self.assert_finite()
        for messages in (self.efforts, self.answers):
            messages.clear()
        assert self.activate(), self.graph.logs()
        self.answer_to(q)
        self.statuses.clear()

    def set(self, name: str, value: Any) -> None:
        self.graph.set_parameters(self.node, {name: value})

    def activate(self) -> bool:
        """Return True if the controller can be activated."""
        self.active = self.graph.transition(self.node, Transition.TRANSITION_ACTIVATE)
        return self.active

    def deactivate(self) -> None:
        assert self.graph.transition(self.node, Transition.TRANSITION_DEACTIVATE), (
            self.graph.logs()
        )
        self.active = False


@contextmanager
def one_robot(folder: Path) -> Iterator[Robot]:
    """Yield a graph with a robot and a controller with a command for each state; all efforts must be finite."""
    with Graph(folder) as graph:
        robot = Robot(graph, graph.start(NODE, PLANAR | reliable_states()))
        robot.answer_to((0.0, 0.0))
        yield robot

"""Wrong or unlucky requests: functions of the hook REQUEST."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from tools.fault_battery.arms import Floats
from tools.fault_battery.run import BASIS, STEP, Run

# Gains per Nm of the effort limit, as in config/ros2_control_joint_trajectory.yaml.
_STIFFNESS = 7.0  # Nm/rad
_DAMPING = 0.35  # Nms/rad
_REST = 0.02  # rad/s
_AGAIN = 0.4  # s


def target(
    run: Run, distance: float = 0.03, quantity: str = "", size: float = 0.0, period: float = np.inf
) -> None:  # fmt: skip
    """Send a pose at a ``distance`` (m), once or every ``period`` (s).

    ``quantity`` is "twist" or "acceleration" for one that is wrong, of ``size`` (m/s or m/s^2).
    """
    if run.since > 0.05 and run.every("target", period):
        stamp = run.ros
        run.aim(run.tool_goal(distance), stamp)
        if quantity:
            run.feed_forward(
                f"target_{quantity}", stamp, [run.sign * size, 0.0, size, 0.0, 0.0, 0.0]
            )


def payload(run: Run, mass: float, com: float = 0.0, inertia: float = 0.0) -> None:
    """Send a payload that is not there."""
    if run.once("payload", 0.05):
        run.payload(mass, (0.0, 0.0, com), inertia)


def point_effort(run: Run, share: float) -> None:
    """Send the motion with the effort of points at a share of the limits, in the wrong unit for large ones."""
    if run.once("effort", 0.05):
        times, q, qd, qdd = run.quintic(run.plant.q.copy(), run.goal)
        run.wish(q, qd)
        effort = np.full(q.shape, run.sign * share) * run.arm.effort
        run.follow(times, q, velocities=qd, accelerations=qdd, effort=effort)


def set_points(run: Run, size: float, period: float) -> None:
    """Stream set points that jump by ``size`` (rad) to and fro, as of a noisy program."""
    if run.every("set_points", period):
        base = run.memory.setdefault("base", run.plant.q.copy())
        odd = run.memory["odd"] = not run.memory.get("odd", False)
        q = base + (run.sign * size * run.unit if odd else 0.0)
        run.wish(np.array([base, q]), np.zeros((2, run.n)))
        run.follow([period], [q])


def elsewhere(run: Run, distance: float) -> None:
    """Send a trajectory whose first point, at time 0, is ``distance`` (rad) away."""
    if run.once("elsewhere", 0.05):
        start = run.plant.q + run.sign * distance * run.unit
        times, q, qd, qdd = run.quintic(start, run.goal)
        run.wish(np.vstack((run.plant.q, start, q)), np.vstack((0.0 * qd[:2], qd)))
        zero = np.zeros((1, run.n))
        run.follow(
            np.concatenate(([0.0], times)), np.vstack((start, q)), velocities=np.vstack((zero, qd)),
            accelerations=np.vstack((zero, qdd)),
        )  # fmt: skip


def beyond(run: Run, distance: float) -> None:
    """Send a trajectory that ends ``distance`` (rad) beyond the position limit at the end stop."""
    if run.once("beyond", 0.05):
        goal = run.plant.q.copy()
        limit = run.arm.upper if run.sign > 0.0 else run.arm.lower
        way = run.sign * distance * run.unit[run.joint]
        goal[run.joint] = limit[run.joint] + way
        times, q, qd, _ = run.quintic(run.plant.q.copy(), goal)
        run.wish(q, qd)
        run.follow(times[-1:], [goal])


def first_motion(run: Run, distance: float = 0.1, seconds: float = 4.0) -> None:
    """Send the first motion of docs/real_arm.md instead of that of the run: one joint by ``distance`` (rad)."""
    run.has_sent = True
    if run.once("first motion", run.begin):
        goal = run.arm.start.copy()
        towards = np.sign((run.goal - goal)[run.joint])
        goal[run.joint] += towards * distance * run.unit[run.joint]
        run.wish(np.array([run.arm.start, goal]), np.zeros((2, run.n)))
        run.follow([seconds], [goal])


def bouncing_stop(run: Run, bounce: float, period: float) -> None:
    """Engage an emergency stop whose contact bounces every ``bounce`` (s), beside a program that clears faults."""
    if run.every("bounce", bounce):
        engaged = run.memory["engaged"] = not run.memory.get("engaged", False)
        run.boolean("emergency_stop", engaged)
    clearing(run, period)


def clearing(run: Run, period: float) -> None:
    """Call ~/clear_fault every ``period`` (s), and send the motion again while the arm rests, as programs do."""
    if run.every("clear", period):
        run.clear()
    rests = np.abs(run.plant.qd).max() < _REST
    if rests and run.mode == "active" and run.every("again", _AGAIN):
        times, q, qd, _ = run.quintic(run.plant.q.copy(), run.goal)
        run.wish(q, qd)
        run.follow(times[-1:], [run.goal])


def stop(run: Run, seconds: float) -> None:
    """Engage an emergency stop for ``seconds``, then release it and clear."""
    if run.once("stop"):
        run.boolean("emergency_stop", True)
    if run.once("release", seconds):
        run.boolean("emergency_stop", False)
    if run.once("clear", seconds + 0.01):
        run.clear()


def tune(run: Run, period: float = 0.0, **values: Any) -> None:
    """Change settings once, or to and fro in each ``period`` (s)."""
    due = run.every("tune", period) if period else run.once("tune")
    if due:
        odd = run.memory["tuned"] = not run.memory.get("tuned", False)
        changed = dataclasses.replace(run.settings, **values) if odd else run.settings
        try:
            run.session.tune(changed)
        except RobotDynamicsError as error:
            run.notes.append(str(error))


def restart(run: Run, seconds: float) -> None:
    """Deactivate the node without a stop, and activate it after ``seconds``; brakes hold the arm meanwhile."""
    if run.once("deactivate"):
        run.session.deactivate(run.now)
        run.plant.brakes = True
    if run.once("activate", seconds):
        run.commanded = False
        run.plant.brakes = False
        run.session.activate(compare_effort=True, now=run.now)


# Another controller drives the arm


def _track(run: Run, path: Callable[[float], Floats], added: Floats) -> Floats:
    """Return the effort of joint_trajectory_controller: ``added`` and its feedback of position and velocity."""
    q = path(run.time)
    qd = (path(run.time + STEP) - q) / STEP
    p = _STIFFNESS * run.arm.effort
    d = _DAMPING * run.arm.effort
    return np.array(added + p * (q - run.plant.q) + d * (qd - run.plant.qd))


def _other(run: Run) -> Floats:
    return _track(run, partial(_way, run), run.plant.gravity())


def _way(run: Run, time: float) -> Floats:
    """Return the desired position of the other controller, a quintic of 1 s."""
    here, there = run.memory["here"], run.memory["there"]
    s = min(max(time - run.memory["left"], 0.0), 1.0)
    return np.array(here + (there - here) * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5))


def _take_over(run: Run, distance: float) -> None:
    """Let another controller move the arm by ``distance`` (rad), while the node's commands have no effect."""
    way = np.sign(run.goal - run.arm.start) * distance * run.unit
    here = run.plant.q.copy()
    run.memory |= {"here": here, "there": here + way, "left": run.time}
    run.has_sent = True
    rows = here + np.linspace(0.0, 1.0, 20)[:, None] * way
    run.wish(rows, 1.9 * np.outer(np.linspace(0.0, 1.0, 20), way))
    run.driver = _other
    run.obeyed = False


def switched(
    run: Run, distance: float, fault: bool = False, clears: bool = False
) -> None:
    """Let another controller move the arm by ``distance`` (rad) for 1.2 s, then switch back to the node.

    The node is active meanwhile, or in a fault, which may be cleared just before the switch.
    """
    if run.once("begin"):
        _take_over(run, distance)
        if fault:
            run.boolean("emergency_stop", True)
            run.boolean("emergency_stop", False)
    if clears and run.once("clear", 1.15):
        run.clear()
    if run.once("back", 1.2):
        run.obeyed = True
        run.driver = None
        # A step at the switch is relative to the effort before it.
        run.record.commands.append((run.time, BASIS, run.driven.copy()))
        run.record.commands.append((run.time, run.mode, run.effort.copy()))


def forwarded(run: Run, distance: float, clears: bool = False) -> None:
    """Let joint_trajectory_controller move the arm by ``distance`` (rad); then the node forwards a trajectory to it.

    The law is feedforward. The controller adds the effort of the points to its feedback, and begins at its own desired
    position. The points are those that the node would publish with effort.
    """
    if run.once("begin"):
        _take_over(run, distance)
    if clears and run.once("clear", 1.15):
        run.clear()
    mode = BASIS if run.since < 1.19 else run.mode
    run.record.commands.append((run.time, mode, run.driven.copy()))
    if run.once("forward", 1.2):
        length, q, qd, _ = run.quintic(run.plant.q.copy(), run.goal)
        run.wish(q, qd)
        output = run.follow(length[-1:], [run.goal])
        if output.followed is not None:
            parts = trajectory_effort(
                run.session.arm.model, output.followed.trajectory, run.names, 0.02
            )
            points = next(part for part in parts if part is not None)
            run.memory |= {
                "points": points,
                "from": run.time,
                "held": run.memory["there"],
            }
            run.driver = _forwarded


def _forwarded(run: Run) -> Floats:
    points = run.memory["points"]
    times = np.concatenate(([0.0], points.times))
    rows = np.vstack((run.memory["held"], points.positions))
    efforts = np.vstack((run.plant.gravity(), points.effort))

    def path(time: float) -> Floats:
        return _interpolated(time - run.memory["from"], times, rows)

    return _track(
        run, path, _interpolated(run.time - run.memory["from"], times, efforts)
    )


def _interpolated(at: float, times: Floats, rows: Floats) -> Floats:
    return np.array([np.interp(at, times, column) for column in rows.T])

"""Status of a controller, for /diagnostics and the log.

``steady`` (s) is the time by a clock that never stops or jumps, with any origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.interface import ERROR, OK, WARN, Note
from robot_dynamics_ros.control.safety import Cause, Mode, Transition


class Status(NamedTuple):
    """Level (OK 0, WARN 1 or ERROR 2), message and values by name, as in diagnostic_msgs/DiagnosticStatus."""

    level: int
    message: str
    values: dict[str, object]


class StatusReport:
    """Reporter of a controller's status, with the cycle rate and clamped cycles since the last ``report``."""

    def __init__(self, steady: float) -> None:
        """Start the first interval of rates at ``steady`` (s), the time of the steady clock."""
        self._cycles = 0
        self._clamped = 0
        self._since = steady

    def report(self, controller: Controller, steady: float) -> None:
        """Start a new interval of rates at ``steady`` (s); to be called after a ``status`` was published."""
        self._cycles = controller.cycles
        self._clamped = controller.clamped_cycles
        self._since = steady

    def status(
        self,
        controller: Controller,
        steady: float,
        stamp_age: float,
        transition: Transition | None,
    ) -> Status:
        """Return the status at ``steady`` (s), with mode and fault of the ``transition`` unless it is None.

        ``stamp_age`` (s) is the age of the last state by its stamp and the ROS clock.
        """
        safety = controller.safety
        plan = controller.plan
        clock = controller.clock
        estimator = controller.estimator
        mode, fault = (
            (safety.mode, safety.fault)
            if transition is None
            else (transition.after, transition.fault)
        )
        if mode is Mode.ACTIVE and transition is None:
            fault = None
        error = 0.0
        limit = float(controller.tuning.following_error.min())
        if (
            controller.tuning.law.follows
            and controller.command is not None
            and estimator.estimate.known
        ):
            error = float(
                np.abs(controller.command.desired.q - estimator.estimate.state[0]).max()
            )
        level = OK
        message = mode.value
        if mode is not Mode.ACTIVE:
            level = ERROR
            message = mode.value if fault is None else f"{mode.value}: {fault.message}"
        elif controller.cycles == 0:
            level = WARN
            message = f"waiting: {estimator.trouble}"
        elif controller.arm.brakes_engaged:
            message = "active, brakes engaged"
        elif controller.clamped_cycles > self._clamped:
            level = WARN
            message = "active, at the effort limit"
        elif error > 0.5 * limit:
            level = WARN
            message = "active, near following_error_limit"
        elif estimator.age(steady) > 0.5 * estimator.state_timeout:
            level = WARN
            message = "active, joint_states near state_timeout"
        values: dict[str, object] = {
            "law": controller.settings.law,
            "mode": mode.value,
            "previous mode": "" if transition is None else transition.before.value,
            "cause": "" if fault is None else fault.cause.value,
            "joint": "" if fault is None else fault.joint,
            "value": "" if fault is None else fault.value,
            "faults": safety.fault_count,
            "cycles": controller.cycles,
            "rate": (controller.cycles - self._cycles)
            / max(steady - self._since, 1e-3),
            "late cycles": clock.rate.late,
            "clamped cycles": controller.clamped_cycles,
            "rate limited cycles": controller.slowed_cycles,
            "state age": estimator.age(steady) if estimator.estimate.known else "",
            "stamp age": stamp_age if estimator.estimate.known else "",
            "following error": error,
            "speed scaling": plan.speed,
            "trajectories": controller.trajectories,
            "dropped trajectories": plan.drops,
            "refused trajectories": controller.refusals,
            "refusal": controller.refusal,
            "following": plan.busy,
        }
        if (task_torque := controller.law.task_torque) is not None:
            values |= {
                "end effector position error": float(
                    np.linalg.norm(task_torque.error[:3])
                ),
                "end effector rotation error": float(
                    np.linalg.norm(task_torque.error[3:])
                ),
                "smallest singular value": task_torque.smallest_singular_value,
                "damped directions": task_torque.damped,
            }
        return Status(level, message, values)


def in_words(transition: Transition, cure: str) -> Note:
    """Return the log message of a transition.

    ``cure`` is the instruction to clear a fault; a transition to FAULT, where all checks pass again, ends with it.
    """
    text = f"{transition.before.value} -> {transition.after.value}"
    if transition.after is Mode.ACTIVE:
        return Note(OK, f"{text}: the fault is cleared, the arm holds its position")
    if transition.after is Mode.FAULT:
        return Note(WARN, f"{text}: all checks pass again. Cure: {cure}")
    if transition.before is Mode.ZERO and transition.after is Mode.HOLD:
        return Note(WARN, f"{text}: feedback has returned, the arm is held")
    level = OK if transition.fault.cause is Cause.DEACTIVATED else ERROR
    return Note(level, f"{text}: {transition.fault.message}")


def diagnostics_message(
    class_of: Callable[[str], Any], at: int, name: str, robot: str, status: Status
) -> Any:
    """Return a status as diagnostic_msgs/DiagnosticArray with the stamp ``at`` (ns); its values become text.

    ``class_of`` returns the class of a message type such as ``std_msgs/msg/Header``, of rclpy or rosbags. ``name`` is
    "<node name>: <component>" and ``robot`` the robot's name, as hardware_id, as REP 107 and diagnostic_updater do.
    """
    seconds, nanoseconds = divmod(at, 1_000_000_000)
    time = class_of("builtin_interfaces/msg/Time")(sec=seconds, nanosec=nanoseconds)
    kind = class_of("diagnostic_msgs/msg/DiagnosticStatus")
    pair = class_of("diagnostic_msgs/msg/KeyValue")
    content = kind(
        level=(kind.OK, kind.WARN, kind.ERROR)[status.level],
        name=name,
        message=status.message,
        hardware_id=robot,
        values=[
            pair(key=key, value=plain(value)) for key, value in status.values.items()
        ],
    )
    header = class_of("std_msgs/msg/Header")(stamp=time, frame_id="")
    return class_of("diagnostic_msgs/msg/DiagnosticArray")(
        header=header, status=[content]
    )


def plain(value: object) -> str:
    """Format a value as text: numbers with 6 digits, true or false, lists separated by commas."""
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).lower() if isinstance(value, bool) else str(value)

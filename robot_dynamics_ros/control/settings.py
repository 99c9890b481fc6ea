"""What a user sets on a controller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics_ros.control.laws import LAWS, Gains, Law, per_joint, per_joint_limit
from robot_dynamics_ros.control.task_space.law import COMPONENTS
from robot_dynamics_ros.control.task_space.settings import HandTuning, TaskSpaceSettings, hand_gains, rows_of
from robot_dynamics_ros.control.trajectory.plan import TrajectoryRules
from robot_dynamics_ros.control.trajectory.trajectory import JointLimits
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True)
class SafetySettings:
    """When a check fails, and what then.

    Attributes
    ----------
    on_fault
        "hold": carry the arm's weight and damp its motion; "zero": no torque.
    fault_reset
        "manual": wait to be cleared; "auto": go on as soon as every check passes for 0.2 s.
    state_timeout
        Age (s) of the measured state beyond which it is stale; inf: never.
    stale_hold_time
        How long (s) to hold without a usable state; then no torque.
    position_limit_margin, velocity_limit_margin
        How far (rad or m, and a second) beyond its limits a joint may be; inf: not checked.
    minimum_rate_ratio
        With an update rate: the share of a second's cycles that must be made; 0: not checked.
    collision_threshold
        External torque (Nm or N) that counts as a collision; empty: not checked.
    unstamped_states
        "arrival": a state with stamp 0 counts from its arrival; "refuse": it cannot be used.
    position_step_limit
        Largest change of position (rad or m) between two states beyond that of the velocity; inf: not checked.
    following_error_limit, following_error_time
        Distance (rad or m) from the desired position that is a fault after so many seconds; empty: not checked.
    saturation_timeout
        Time (s) at an effort limit that is a fault; inf: not checked.
    hold_effort_margin
        Largest effort (Nm or N) that holding the position adds to gravity's; empty: a quarter of the effort limits.
    activation_max_velocity
        Speed (rad/s or m/s) above which the controller does not start; inf: not checked.
    emergency_stop_effect
        "stop": decelerate, then hold; "zero": no torque, at once.
    """

    on_fault: str = "hold"
    fault_reset: str = "manual"
    state_timeout: float = 0.1
    stale_hold_time: float = 0.5
    position_limit_margin: Sequence[float] = (0.05,)
    velocity_limit_margin: Sequence[float] = (0.2,)
    minimum_rate_ratio: float = 0.5
    collision_threshold: Sequence[float] = ()
    unstamped_states: str = "arrival"
    position_step_limit: Sequence[float] = (0.05,)
    following_error_limit: Sequence[float] = ()
    following_error_time: float = 0.1
    saturation_timeout: float = 1.0
    hold_effort_margin: Sequence[float] = ()
    activation_max_velocity: float = 0.1
    emergency_stop_effect: str = "stop"


@dataclass(frozen=True)
class ControllerSettings:
    """What a user sets; sequences hold one number for each joint, or one for all.

    Attributes
    ----------
    law
        One of ``laws.LAWS``.
    natural_frequency, damping_ratio
        rad/s, and 1 for critical damping: the gains follow from them where ``kp`` and ``kd`` are empty.
    kp, kd, ki
        The gains themselves: 1/s^2, 1/s, 1/s^3 for ``computed_torque`` and the posture under
        ``task_space_computed_torque``, Nm/rad and Nms/rad for other laws.
    friction_compensation
        Whether the laws that can add the model's friction along the desired motion.
    friction_smoothing_velocity
        Desired speed (rad/s or m/s) below which friction compensation fades out.
    robot_compensates_gravity
        Whether the robot's driver adds the torque of gravity by itself: then it is left out everywhere.
    update_rate
        Cycles a second that a timer asks for; 0: a cycle for each measured state.
    trajectories
        Which trajectories are taken, and how they are joined.
    trajectory_effort_period
        Longest time (s) between the points of a trajectory that is passed on with effort.
    decelerate_on_cancel, max_deceleration_on_cancel
        Whether a cancelled motion slows down by at most so much (rad/s^2 or m/s^2), or stops at once.
    velocity_filter_cutoff
        Hz; 0: measured velocities are taken as they are.
    effort_limit_scale
        The share (up to 1) of the robot's effort limits that may be used.
    torque_rate_limit
        Largest change of the command (Nm/s or N/s); empty: none.
    ramp_time
        Seconds from the effort that the motors report at the start, else the gravity torque, to the law's.
    observer_gain
        Bandwidth (1/s) of the external torque's observer; 0: none.
    task_space
        How the hand moves under ``task_space_computed_torque``.
    safety
        Checks and what follows from them.
    """

    law: str = "computed_torque"
    natural_frequency: Sequence[float] = (10.0,)
    damping_ratio: Sequence[float] = (1.0,)
    kp: Sequence[float] = ()
    kd: Sequence[float] = ()
    ki: Sequence[float] = ()
    friction_compensation: bool = True
    friction_smoothing_velocity: float = 0.01
    robot_compensates_gravity: bool = False
    update_rate: float = 0.0
    trajectories: TrajectoryRules = field(default_factory=TrajectoryRules)
    trajectory_effort_period: float = 0.02
    decelerate_on_cancel: bool = True
    max_deceleration_on_cancel: Sequence[float] = (2.0,)
    velocity_filter_cutoff: float = 0.0
    effort_limit_scale: Sequence[float] = (1.0,)
    torque_rate_limit: Sequence[float] = ()
    ramp_time: float = 0.0
    observer_gain: float = 0.0
    task_space: TaskSpaceSettings = field(default_factory=TaskSpaceSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)


def check_sampling(setting: str, kp: Array, kd: Array, period: float, names: Sequence[str], of: str = "joint") -> None:
    """Raise RobotDynamicsError where cycles of ``period`` (s) cannot carry gains (n,), 1/s^2 and 1/s.

    The error obeys e'' = u, computed torque making up for the rest, with u = -kp e - kd e' of the state one period ago,
    held for a period: z^3 - 2 z^2 + (1 + a + b) z + b - a = 0 with a = kd T, b = kp T^2 / 2. It is stable by Jury's
    criterion if (a - b)^2 + 3 b < a: up to 0.43 / T rad/s with critical damping. Zero-order hold of the double
    integrator, and the criterion: Astrom and Wittenmark, Computer-Controlled Systems (3rd ed.), chapters 2 and 3.

    The integral gain is left out: its own bound ki < kp kd keeps it to frequencies below sqrt(kp), where sampling adds
    little lag.
    """
    a, b = kd * period, 0.5 * kp * period**2
    for j in np.flatnonzero(~((a - b) ** 2 + 3.0 * b < a) & (a + b > 0.0)).tolist():
        omega = math.sqrt(max(float(kp[j]), 1e-12))
        zeta = float(kd[j]) / (2.0 * omega)
        bounds = np.roots([-2.0 * zeta, 4.0 * zeta**2 + 1.5, -2.0 * zeta, 0.25])  # the same for 1 / (omega T)
        most = 1.0 / (period * max(bounds.real[np.abs(bounds.imag) < 1e-9 * np.abs(bounds)], default=math.inf))
        raise RobotDynamicsError(
            f'{setting}: natural frequency {omega:.6g} rad/s with damping ratio {zeta:.3g} for {of} "{names[j]}" makes '
            f"the error grow at {1.0 / period:.6g} Hz, which carries less than {most:.3g} rad/s. Cure: give less, "
            "damping near 1, or a higher rate"
        )


class UserGains:
    """Gains as a user gives them. They are checked before any state is known; torques need the arm's inertia.

    ``natural_frequency`` (rad/s), ``damping_ratio``, ``kp``, ``kd`` and ``ki`` hold one number for each joint, or
    one for all. Where ``kp`` and ``kd`` are empty, the error is to swing as e'' + 2 zeta omega e' + omega^2 e = 0.
    An empty ``ki`` is zero.

    Raises RobotDynamicsError naming the gain, the joint and the cure: for numbers that are negative, not finite or
    of a wrong count, for one of kp and kd without the other, for an integral gain where ``law`` does not integrate,
    and for one of at least kp kd, with which the error would not die out: s^3 + Kd s^2 + Kp s + Ki, Routh-Hurwitz
    (Lewis, Dawson, Abdallah, Robot Manipulator Control, 4.4).
    """

    def __init__(
        self,
        law: Law,
        joint_names: Sequence[str],
        natural_frequency: Sequence[float],
        damping_ratio: Sequence[float],
        kp: Sequence[float],
        kd: Sequence[float],
        ki: Sequence[float],
    ) -> None:
        omega = per_joint("gains.natural_frequency", natural_frequency, joint_names)
        zeta = per_joint("gains.damping_ratio", damping_ratio, joint_names)
        if (len(kp) == 0) != (len(kd) == 0):
            raise RobotDynamicsError(
                "gains: kp and kd go together. Cure: give both in one request (set_parameters_atomically), or neither"
            )
        given = len(kp) > 0
        self._per_inertia = not (given or law.gains_are_accelerations)
        with np.errstate(over="ignore", invalid="ignore"):  # looked at below
            self._kp = per_joint("gains.kp", kp, joint_names) if given else omega**2
            self._kd = per_joint("gains.kd", kd, joint_names) if given else 2.0 * zeta * omega
            most = self._kp * self._kd
        self._ki = per_joint("gains.ki", ki, joint_names) if len(ki) > 0 else np.zeros(len(joint_names))
        for j, joint in enumerate(joint_names):
            if not np.isfinite(self._kp[j] + self._kd[j]):
                raise RobotDynamicsError(
                    f"gains.natural_frequency: {omega[j]:g} rad/s with gains.damping_ratio {zeta[j]:g} for joint "
                    f'"{joint}" is too large for a number. Cure: give less'
                )
            if self._ki[j] > 0.0 and not law.integrates:
                raise RobotDynamicsError(
                    f'gains.ki: {self._ki[j]:g} for joint "{joint}", but this law does not integrate the error. '
                    "Cure: give 0, or set the law computed_torque"
                )
            if self._ki[j] > 0.0 and self._ki[j] >= most[j]:
                raise RobotDynamicsError(
                    f'gains.ki: {self._ki[j]:g} for joint "{joint}" makes the error grow. '
                    f"Cure: give less than kp kd = {self._kp[j]:g} x {self._kd[j]:g} = {most[j]:g}"
                )

    def at(self, inertia: Array) -> Gains:
        """Return the gains for an arm with ``inertia`` (n,), kg m^2 or kg: the diagonal of M where it starts.

        It counts only where gains are torques that follow from natural frequency and damping ratio: each joint alone
        then swings as the error of `computed_torque` does.
        """
        if self._per_inertia:
            return Gains(inertia * self._kp, inertia * self._kd, self._ki)
        return Gains(self._kp, self._kd, self._ki)


class Tuning:
    """What one robot's controller takes from its settings. It never changes.

    Attributes
    ----------
    settings
        What it was made from.
    law
        The control law.
    adds_friction
        Whether friction along the desired motion is added to what the law says.
    hand
        What the law in task space takes; None for the others.
    effort_limits, effort_rates, deceleration, collision_threshold, position_margin, velocity_margin, following_error,
    position_step, hold_margin
        One number for each joint (n,), infinite where there is no limit.
    trajectory_limits
        What trajectories must keep to; joints whose measured state is not checked have no limits.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        names = model.joint_names
        safety = settings.safety
        if settings.law not in LAWS:
            raise RobotDynamicsError(f"law: {settings.law!r} is unknown. Cure: use one of {', '.join(LAWS)}")
        self.settings, self._names = settings, names
        self.law = LAWS[settings.law]
        self._gains = UserGains(
            self.law,
            names,
            settings.natural_frequency,
            settings.damping_ratio,
            settings.kp,
            settings.kd,
            settings.ki,
        )
        for name, text, choices in (
            ("on_fault", safety.on_fault, ("hold", "zero")),
            ("fault_reset", safety.fault_reset, ("manual", "auto")),
            ("unstamped_states", safety.unstamped_states, ("arrival", "refuse")),
            ("emergency_stop_effect", safety.emergency_stop_effect, ("stop", "zero")),
            ("trajectory_limits", settings.trajectories.trajectory_limits, ("refuse", "clamp", "off")),
        ):
            if text not in choices:
                raise RobotDynamicsError(f"{name}: {text!r} is unknown. Cure: use {' or '.join(choices)}")
        for name, value, most in (
            ("friction_smoothing_velocity", settings.friction_smoothing_velocity, np.finfo(float).max),
            ("velocity_filter_cutoff", settings.velocity_filter_cutoff, np.finfo(float).max),
            ("trajectory_effort_period", settings.trajectory_effort_period, np.finfo(float).max),
            ("ramp_time", settings.ramp_time, np.finfo(float).max),
            ("observer.gain", settings.observer_gain, np.finfo(float).max),
            ("state_timeout", safety.state_timeout, np.inf),
            ("stale_hold_time", safety.stale_hold_time, np.inf),
            ("minimum_rate_ratio", safety.minimum_rate_ratio, 1.0),
            ("following_error_time", safety.following_error_time, np.inf),
            ("saturation_timeout", safety.saturation_timeout, np.inf),
            ("activation_max_velocity", safety.activation_max_velocity, np.inf),
            ("task_space.max_linear_velocity", settings.task_space.max_linear_velocity, np.inf),
            ("task_space.max_angular_velocity", settings.task_space.max_angular_velocity, np.inf),
            ("task_space.target_timeout", settings.task_space.target_timeout, np.finfo(float).max),
        ):
            if not 0.0 <= value <= most:
                raise RobotDynamicsError(f"{name}: {value}. Cure: give at least 0, at most {most:g}")
        if settings.observer_gain == 0.0 and len(safety.collision_threshold) > 0:
            raise RobotDynamicsError(
                "observer.collision_threshold: nothing observes collisions. Cure: give observer.gain, as 25.0"
            )
        rows_of(settings.task_space.components)  # what is wrong whatever the law is
        hand_gains(settings.task_space.natural_frequency, settings.task_space.damping_ratio)
        self.hand: HandTuning | None = None
        if self.law.task_space:
            self.hand = HandTuning(model, settings.task_space, self._gains.at(np.ones(model.n)))
        self.adds_friction = bool(
            self.law.compensates_friction and settings.friction_compensation and model.packed.friction.any()
        )
        share = per_joint("effort_limit_scale", settings.effort_limit_scale, names, most=1.0)
        if (share == 0.0).any():
            raise RobotDynamicsError("effort_limit_scale: 0 leaves no effort. Cure: give more than 0, at most 1")
        self.effort_limits = model.effort_limits * share
        self.effort_rates = per_joint_limit("torque_rate_limit", settings.torque_rate_limit, names)
        self.deceleration = per_joint_limit(
            "constraints.max_deceleration_on_cancel", settings.max_deceleration_on_cancel, names
        )
        self.collision_threshold = per_joint_limit("observer.collision_threshold", safety.collision_threshold, names)
        self.position_margin = per_joint("position_limit_margin", safety.position_limit_margin, names, most=np.inf)
        self.following_error = per_joint_limit("following_error_limit", safety.following_error_limit, names)
        self.position_step = per_joint("position_step_limit", safety.position_step_limit, names, most=np.inf)
        self.hold_margin = 0.25 * model.effort_limits
        if len(safety.hold_effort_margin) > 0:
            self.hold_margin = per_joint("hold_effort_margin", safety.hold_effort_margin, names, most=np.inf)
        self.velocity_margin = per_joint("velocity_limit_margin", safety.velocity_limit_margin, names, most=np.inf)
        rules = settings.trajectories
        off = rules.trajectory_limits == "off"
        free, fast = (off | np.isinf(margin) for margin in (self.position_margin, self.velocity_margin))
        self.trajectory_limits = JointLimits(
            np.where(free, -np.inf, model.soft_lower),
            np.where(free, np.inf, model.soft_upper),
            np.where(fast, np.inf, model.velocity_limits),
            per_joint("set_point_step_limit", rules.set_point_step_limit, names, most=np.inf),
            model.continuous,
            rules.trajectory_limits == "clamp",
        )
        self.check_sampling()

    def check_sampling(self, measured: float = 0.0, inertia: Array | None = None) -> None:
        """Raise RobotDynamicsError for gains that the rate, else a ``measured`` period (s), cannot carry.

        Gains that are torques are not checked where ``inertia``, as for ``gains``, is None.
        """
        period = 1.0 / self.settings.update_rate if self.settings.update_rate > 0.0 else measured
        known = np.ones(len(self.effort_limits)) if inertia is None else np.maximum(inertia, 1e-12)
        gains, unit = self.gains(known), 1.0 if self.law.gains_are_accelerations else known
        if period > 0.0 and (inertia is not None or self.law.gains_are_accelerations):
            check_sampling("gains", gains.kp / unit, gains.kd / unit, period, self._names)
        if period > 0.0 and self.hand is not None:
            check_sampling("task_space", self.hand.gains.kp, self.hand.gains.kd, period, COMPONENTS, "component")

    def gains(self, inertia: Array) -> Gains:
        """Return the gains for an arm with the diagonal ``inertia`` (n,) of M where it started."""
        return self._gains.at(inertia)

    def check_change(self, new: Tuning) -> None:
        """Raise RobotDynamicsError where gains given as numbers would silently change their unit."""
        before, after = self.settings, new.settings
        if (
            self.law.gains_are_accelerations != new.law.gains_are_accelerations
            and len(after.kp) > 0
            and (list(before.kp), list(before.kd)) == (list(after.kp), list(after.kd))
        ):
            raise RobotDynamicsError(
                f"law: gains.kp and gains.kd are accelerations for one of {before.law} and {after.law} and torques for "
                "the other. Cure: set law, gains.kp and gains.kd in one request (set_parameters_atomically)"
            )

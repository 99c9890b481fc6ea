"""Settings as numbers for each joint of a robot, checked."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.hand_tuning import HandTuning, hand_gains, rows_of
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.per_joint import per_joint, per_joint_limit
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.task_space import COMPONENTS
from robot_dynamics_ros.control.trajectory import JointLimits
from robot_dynamics_ros.control.user_gains import UserGains, check_sampling
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


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

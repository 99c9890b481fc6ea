"""From the controller node's parameters to what its controller takes."""

from __future__ import annotations

from robot_dynamics_ros.control import parameters as p
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.control.task_space.settings import TaskSpaceSettings
from robot_dynamics_ros.control.trajectory.plan import TrajectoryRules
from robot_dynamics_ros.parameters.kinds import Values


def read_settings(values: Values) -> ControllerSettings:
    """Return the settings; RobotDynamicsError names the parameter, its value and the cure."""
    return ControllerSettings(
        law=p.LAW.read(values),
        natural_frequency=p.NATURAL_FREQUENCY.read(values),
        damping_ratio=p.DAMPING_RATIO.read(values),
        kp=p.KP.read(values),
        kd=p.KD.read(values),
        ki=p.KI.read(values),
        friction_compensation=p.FRICTION_COMPENSATION.read(values),
        friction_smoothing_velocity=p.FRICTION_SMOOTHING_VELOCITY.read(values),
        robot_compensates_gravity=p.ROBOT_COMPENSATES_GRAVITY.read(values),
        update_rate=p.UPDATE_RATE.read(values),
        trajectories=TrajectoryRules(
            allow_partial_joints_goal=p.ALLOW_PARTIAL_JOINTS_GOAL.read(values),
            interpolate_from_desired_state=p.INTERPOLATE_FROM_DESIRED_STATE.read(values),
            positions_upsampling=p.POSITIONS_UPSAMPLING.read(values),
            allow_nonzero_velocity_at_trajectory_end=p.ALLOW_NONZERO_VELOCITY_AT_END.read(values),
            trajectory_limits=p.TRAJECTORY_LIMITS.read(values),
            set_point_step_limit=p.SET_POINT_STEP_LIMIT.read(values),
        ),
        trajectory_effort_period=p.TRAJECTORY_EFFORT_PERIOD.read(values),
        decelerate_on_cancel=p.DECELERATE_ON_CANCEL.read(values),
        max_deceleration_on_cancel=p.MAX_DECELERATION_ON_CANCEL.read(values),
        velocity_filter_cutoff=p.VELOCITY_FILTER_CUTOFF.read(values),
        effort_limit_scale=p.EFFORT_LIMIT_SCALE.read(values),
        torque_rate_limit=p.TORQUE_RATE_LIMIT.read(values),
        ramp_time=p.RAMP_TIME.read(values),
        observer_gain=p.OBSERVER_GAIN.read(values),
        task_space=TaskSpaceSettings(
            link=p.TASK_SPACE_LINK.read(values),
            components=tuple(p.TASK_SPACE_COMPONENTS.read(values).split()),
            natural_frequency=p.TASK_SPACE_NATURAL_FREQUENCY.read(values),
            damping_ratio=p.TASK_SPACE_DAMPING_RATIO.read(values),
            max_linear_velocity=p.TASK_SPACE_MAX_LINEAR_VELOCITY.read(values),
            max_angular_velocity=p.TASK_SPACE_MAX_ANGULAR_VELOCITY.read(values),
            target_timeout=p.TASK_SPACE_TARGET_TIMEOUT.read(values),
        ),
        safety=SafetySettings(
            on_fault=p.ON_FAULT.read(values),
            fault_reset=p.FAULT_RESET.read(values),
            state_timeout=p.STATE_TIMEOUT.read(values),
            stale_hold_time=p.STALE_HOLD_TIME.read(values),
            position_limit_margin=p.POSITION_LIMIT_MARGIN.read(values),
            velocity_limit_margin=p.VELOCITY_LIMIT_MARGIN.read(values),
            minimum_rate_ratio=p.MINIMUM_RATE_RATIO.read(values),
            collision_threshold=p.COLLISION_THRESHOLD.read(values),
            unstamped_states=p.UNSTAMPED_STATES.read(values),
            position_step_limit=p.POSITION_STEP_LIMIT.read(values),
            following_error_limit=p.FOLLOWING_ERROR_LIMIT.read(values),
            following_error_time=p.FOLLOWING_ERROR_TIME.read(values),
            saturation_timeout=p.SATURATION_TIMEOUT.read(values),
            hold_effort_margin=p.HOLD_EFFORT_MARGIN.read(values),
            activation_max_velocity=p.ACTIVATION_MAX_VELOCITY.read(values),
            emergency_stop_effect=p.EMERGENCY_STOP_EFFECT.read(values),
        ),
    )

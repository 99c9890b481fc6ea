"""What holds where a user sets nothing: docs/parameters.md."""

from dataclasses import asdict

from robot_dynamics_ros.control.goal_tolerances import Constraints
from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings


def test_defaults_of_the_controller() -> None:
    found = asdict(ControllerSettings())
    assert found.pop("safety") == asdict(SafetySettings())
    assert found.pop("task_space") == asdict(TaskSpaceSettings())
    assert found.pop("trajectories") == asdict(TrajectoryRules())
    assert found == {
        "law": "computed_torque", "natural_frequency": (10.0,), "damping_ratio": (1.0,), "kp": (), "kd": (), "ki": (),
        "friction_compensation": True, "friction_smoothing_velocity": 0.01, "robot_compensates_gravity": False,
        "update_rate": 0.0, "trajectory_effort_period": 0.02, "decelerate_on_cancel": True,
        "max_deceleration_on_cancel": (2.0,), "velocity_filter_cutoff": 0.0, "effort_limit_scale": (1.0,),
        "torque_rate_limit": (), "ramp_time": 0.0, "observer_gain": 0.0,
    }  # fmt: skip


def test_defaults_of_safety() -> None:
    assert asdict(SafetySettings()) == {
        "on_fault": "hold", "fault_reset": "manual", "state_timeout": 0.1, "stale_hold_time": 0.5,
        "position_limit_margin": (0.05,), "velocity_limit_margin": (0.2,), "minimum_rate_ratio": 0.5,
        "collision_threshold": (), "unstamped_states": "arrival", "position_step_limit": (0.05,),
        "following_error_limit": (), "following_error_time": 0.1, "saturation_timeout": 1.0,
        "hold_effort_margin": (), "activation_max_velocity": 0.1, "emergency_stop_effect": "stop",
    }  # fmt: skip


def test_defaults_of_the_hand() -> None:
    assert asdict(TaskSpaceSettings()) == {
        "link": "", "components": ("x", "y", "z", "rx", "ry", "rz"), "natural_frequency": (10.0,),
        "damping_ratio": (1.0,), "max_linear_velocity": 0.25, "max_angular_velocity": 1.0, "target_timeout": 0.1,
    }  # fmt: skip


def test_defaults_of_trajectories_and_goals() -> None:
    """joint_trajectory_controller's, but for limits and the spline through positions: no feedforward without it."""
    assert asdict(TrajectoryRules()) == {
        "allow_partial_joints_goal": False, "interpolate_from_desired_state": True, "positions_upsampling": True,
        "allow_nonzero_velocity_at_trajectory_end": False, "trajectory_limits": "refuse",
        "set_point_step_limit": (0.2,),
    }  # fmt: skip
    assert asdict(Constraints()) == {
        "stopped_velocity_tolerance": 0.01, "goal_time": 0.0, "path_tolerance": (), "goal_tolerance": (),
    }  # fmt: skip

"""Settings as arrays for the joints of a robot: bounds and derived values."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.end_effector.task_space import TaskGains
from robot_dynamics_ros.control.laws import LAWS
from support.comparing import assert_close
from support.controlled_arm import ARM, MODEL

LARGEST = float(np.finfo(float).max)
TASK_SPACE_LAW = "task_space_computed_torque"


def nested(**changes: Any) -> ControllerSettings:
    """Return settings; those of safety and task space go to their groups."""
    groups: dict[str, Any] = {
        "safety": SafetySettings(),
        "task_space": TaskSpaceSettings(),
    }
    own = set(ControllerSettings.__dataclass_fields__)
    for name in set(changes) - own:
        group = "safety" if hasattr(groups["safety"], name) else "task_space"
        groups[group] = replace(groups[group], **{name: changes[name]})
    return ControllerSettings(
        **{name: changes[name] for name in own & set(changes)}, **groups
    )


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        (
            ("friction_smoothing_velocity", "velocity_filter_cutoff", "ramp_time"),
            (0.0, LARGEST),
            (-0.5, math.inf),
        ),
        (
            ("observer_gain", "target_timeout", "stale_hold_time"),
            (0.0, LARGEST),
            (-0.5, math.inf),
        ),
        (("trajectory_effort_period",), (0.5, LARGEST), (-0.5, 0.0, math.inf)),
        (
            ("state_timeout", "max_linear_velocity", "max_angular_velocity"),
            (0.5, math.inf),
            (-0.5, 0.0),
        ),
        (("minimum_rate_ratio",), (0.0, 1.0), (-0.5, 2.0)),
        (("update_rate",), (0.0, 1000.0), (-0.5, math.inf)),
    ],
)
def test_numbers_are_bounded_as_parameters(
    fields: tuple[str, ...], good: tuple[float, ...], bad: tuple[float, ...]
) -> None:
    for field in fields:
        for value in good:
            Tuning(MODEL, nested(**{field: value}))
        for value in (*bad, math.nan):
            with pytest.raises(
                RobotDynamicsError,
                match=f"{field.replace('observer_', 'observer.')}: {value}",
            ):
                Tuning(MODEL, nested(**{field: value}))


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"law": "telepathy"}, "telepathy"),
        ({"on_fault": "panic"}, "panic"),
        ({"fault_reset": "never"}, "never"),
        ({"kp": [100.0], "kd": [20.0], "ki": [2000.0]}, '2000 for joint "joint1"'),
        ({"effort_limit_scale": [1.0, 0.0]}, "effort_limit_scale: 0.0 .number 2"),
        ({"effort_limit_scale": [1.5]}, "effort_limit_scale: 1.5"),
        ({"torque_rate_limit": [1.0, -1.0]}, "torque_rate_limit: -1.0 .number 2"),
        ({"position_limit_margin": [math.nan]}, "position_limit_margin: nan"),
        ({"collision_threshold": [5.0]}, "observer.gain"),
        ({"law": TASK_SPACE_LAW, "components": "x y rz"}, "3 components for 2 joints"),
        (
            {"law": TASK_SPACE_LAW, "components": "x y", "kp": [0.0], "kd": [0.0]},
            '"joint1"',
        ),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        Tuning(MODEL, nested(**changes))


def test_numbers_for_each_joint() -> None:
    tuning = Tuning(
        MODEL,
        nested(
            effort_limit_scale=[0.5, 1.0], torque_rate_limit=[100.0, 0.0], max_deceleration_on_cancel=[2.0, 3.0],
            observer_gain=20.0, collision_threshold=[7.0, 8.0], position_limit_margin=[0.1, math.inf],
            velocity_limit_margin=np.zeros(1),
        ),
    )  # fmt: skip
    assert tuning.effort_limits.tolist() == [500.0, 500.0]
    assert tuning.effort_rates.tolist() == [100.0, math.inf]
    assert tuning.deceleration.tolist() == [2.0, 3.0]
    assert tuning.collision_threshold.tolist() == [7.0, 8.0]
    assert tuning.position_margin.tolist() == [0.1, math.inf]
    assert tuning.velocity_margin.tolist() == [0.0, 0.0]
    assert tuning.end_effector is None


def test_friction_is_added() -> None:
    """If the law supports it, the user enables it and the model has friction."""
    rough = RobotModel.from_urdf(
        ARM.with_joint("joint1", extra='<dynamics damping="0.5"/>').urdf
    )
    dynamic = {
        "feedforward",
        "computed_torque",
        "pd_feedforward",
        "pd_plus",
        TASK_SPACE_LAW,
    }
    for law in LAWS:
        task_space = {"components": "x y"}
        assert Tuning(rough, nested(law=law, **task_space)).adds_friction is (
            law in dynamic
        )
        assert (
            Tuning(
                rough, nested(law=law, friction_compensation=False, **task_space)
            ).adds_friction
            is False
        )
        assert Tuning(MODEL, nested(law=law, **task_space)).adds_friction is False


def test_explicit_gains_do_not_change_their_unit_silently() -> None:
    one = Tuning(MODEL, nested(kp=[0.5], kd=[2.0]))
    with pytest.raises(RobotDynamicsError, match="gains.kp"):
        one.check_change(Tuning(MODEL, nested(law="pd", kp=[0.5], kd=[2.0])))
    for law, gains in (
        ("pd", (0.5, 3.0)),
        ("pd", (0.7, 2.0)),
        ("feedforward", (0.5, 2.0)),
    ):
        one.check_change(Tuning(MODEL, nested(law=law, kp=gains[:1], kd=gains[1:])))
    one.check_change(Tuning(MODEL, nested(law="pd")))
    Tuning(MODEL, nested()).check_change(Tuning(MODEL, nested(law="pd")))


def test_settings_of_the_task_space() -> None:
    speeds = {"max_linear_velocity": 0.3, "max_angular_velocity": 0.7}
    tuning = Tuning(
        MODEL,
        nested(law=TASK_SPACE_LAW, components="y x", kp=[5.0], kd=[1.0], **speeds),
    )
    end_effector = tuning.end_effector
    assert end_effector is not None and (end_effector.link, end_effector.rows) == (
        MODEL.end_links[0],
        (0, 1),
    )
    gains = end_effector.gains
    assert_close(gains.kp, np.full(6, 100.0), 1e-15)
    assert_close(gains.kd, np.full(6, 20.0), 1e-15)
    assert (gains.linear_velocity, gains.angular_velocity) == (0.3, 0.7)
    assert_close(gains.posture_kp, [5.0, 5.0], 0.0)
    assert_close(gains.posture_kd, [1.0, 1.0], 0.0)


def test_gains_of_the_task_space() -> None:
    """They are omega^2 and 2 zeta omega, also below 1, and neither infinite nor zero."""

    def gains(frequency: float, ratio: float) -> TaskGains:
        task_space = TaskSpaceSettings(
            components="x y", natural_frequency=[frequency], damping_ratio=[ratio]
        )
        end_effector = Tuning(
            MODEL, ControllerSettings(law=TASK_SPACE_LAW, task_space=task_space)
        ).end_effector
        assert end_effector is not None
        return end_effector.gains

    assert_close(gains(0.5, 0.25).kp, np.full(6, 0.25), 1e-15)
    assert_close(gains(0.5, 0.25).kd, np.full(6, 0.25), 1e-15)
    for frequency, ratio in ((1e200, 1.0), (1e10, 1e300), (1e-200, 1.0)):
        with pytest.raises(
            RobotDynamicsError, match='task_space.natural_frequency: .* for "x"'
        ):
            gains(frequency, ratio)
    for frequency, ratio in ((0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(RobotDynamicsError, match="task_space.* 0.0 is not allowed"):
            gains(frequency, ratio)


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, [5000.0, 2500.0]),
        ({"natural_frequency": [20.0, 4.0]}, [10000.0, 1000.0]),
        ({"law": "pd_gravity", "kp": [50.0], "kd": [1.0]}, [2500.0, 2500.0]),
        ({"law": "gravity_compensation", "kp": [0.0], "kd": [0.0]}, [2500.0, 1250.0]),
        ({"law": TASK_SPACE_LAW, "components": "x y", "natural_frequency": [2.0]}, [5000.0, 2500.0]),
        ({"torque_rate_limit": [0.0, 100.0]}, [5000.0, 2500.0]),
        ({"torque_rate_limit": []}, [math.inf, math.inf]),
    ],
)  # fmt: skip
def test_steps_change_by_half_the_limit_in_a_response_time(
    changes: dict[str, Any], rates: list[float]
) -> None:
    """For limits of 1000 and 500 Nm, inertias of 2 and 0.5 kg m^2, and 10 rad/s where no frequency is given."""
    tuning = Tuning(MODEL, nested(**changes))
    np.testing.assert_allclose(tuning.step_rates(np.array([2.0, 0.5])), rates)


@pytest.mark.parametrize(
    ("law", "gain"), [("computed_torque", 100.0), ("pd_gravity", 200.0)]
)
def test_a_torque_rate_limit_that_delays_the_feedback_is_reported(
    law: str, gain: float
) -> None:
    """Kp M v at a quarter of the velocity limit 5 rad/s, for an inertia of 2 kg m^2."""
    inertia = np.array([2.0, 0.01])
    for factor, warnings in ((0.99, 1), (1.01, 0)):
        rate = [factor * 200.0 * 0.25 * MODEL.velocity_limits[0], 1e6]
        tuning = Tuning(
            MODEL, nested(law=law, kp=[gain], kd=[1.0], torque_rate_limit=rate)
        )
        assert len(tuning.rate_warnings(inertia)) == warnings

"""Settings as numbers for the joints of a robot: what may stand there, and what follows from it."""

import math
from dataclasses import replace
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.hand_tuning import HandTuning, hand_gains, rows_of
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.control.tuning import Tuning

LARGEST = float(np.finfo(float).max)
HAND = "task_space_computed_torque"


def build(extra: str = "") -> RobotModel:
    limit = '<limit effort="{0}" velocity="{1}" lower="-2" upper="2"/>'
    arm = arms.tsai_planar_2r(tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81))
    for joint, numbers in (("joint1", (40, 3)), ("joint2", (10, 5))):
        arm = arm.with_joint(joint, limit=limit.format(*numbers), extra=extra)
    return RobotModel.from_urdf(arm.urdf)


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return build()


def nested(**changes: Any) -> ControllerSettings:
    """Settings; those of safety and of the hand go to their groups."""
    groups: dict[str, Any] = {"safety": SafetySettings(), "task_space": TaskSpaceSettings()}
    own = set(ControllerSettings.__dataclass_fields__)
    for name in set(changes) - own:
        group = "safety" if hasattr(groups["safety"], name) else "task_space"
        groups[group] = replace(groups[group], **{name: changes[name]})
    return ControllerSettings(**{name: changes[name] for name in own & set(changes)}, **groups)


SETTINGS = [
    ("friction_smoothing_velocity", "friction_smoothing_velocity", LARGEST),
    ("velocity_filter_cutoff", "velocity_filter_cutoff", LARGEST),
    ("trajectory_effort_period", "trajectory_effort_period", LARGEST),
    ("ramp_time", "ramp_time", LARGEST),
    ("observer_gain", "observer.gain", LARGEST),
    ("state_timeout", "state_timeout", math.inf),
    ("stale_hold_time", "stale_hold_time", math.inf),
    ("minimum_rate_ratio", "minimum_rate_ratio", 1.0),
    ("max_linear_velocity", "task_space.max_linear_velocity", math.inf),
    ("max_angular_velocity", "task_space.max_angular_velocity", math.inf),
    ("target_timeout", "task_space.target_timeout", LARGEST),
]


@pytest.mark.parametrize(("field", "name", "most"), SETTINGS)
def test_numbers_from_0_to_the_largest(field: str, name: str, most: float, model: RobotModel) -> None:
    for value in (0.0, 0.5, most):
        Tuning(model, nested(**{field: value}))
    for value in (-0.5, math.nan, *([] if most == math.inf else [min(2.0 * most, math.inf)])):
        with pytest.raises(RobotDynamicsError, match=f"^{name}: .*Cure: give at least 0"):
            Tuning(model, nested(**{field: value}))


def test_a_number_for_each_joint(model: RobotModel) -> None:
    tuning = Tuning(
        model,
        nested(
            effort_limit_scale=[0.5, 1.0], torque_rate_limit=[100.0], max_deceleration_on_cancel=[2.0, 3.0],
            observer_gain=20.0, collision_threshold=[7.0, 8.0], position_limit_margin=[0.1, math.inf],
            velocity_limit_margin=[0.0],
        ),
    )  # fmt: skip
    assert tuning.effort_limits.tolist() == [20.0, 10.0]
    assert tuning.effort_rates.tolist() == [100.0, 100.0]
    assert tuning.deceleration.tolist() == [2.0, 3.0]
    assert tuning.collision_threshold.tolist() == [7.0, 8.0]
    assert tuning.position_margin.tolist() == [0.1, math.inf]
    assert tuning.velocity_margin.tolist() == [0.0, 0.0]
    assert tuning.hand is None
    with pytest.raises(RobotDynamicsError, match="effort_limit_scale: 0 leaves no effort"):
        Tuning(model, nested(effort_limit_scale=[1.0, 0.0]))


def test_where_friction_is_added(model: RobotModel) -> None:
    """Where the law can, the user wants it and the model has some."""
    rough = build('<dynamics damping="0.5"/>')
    for law in LAWS:
        expected = LAWS[law].compensates_friction
        hand = {"components": ("x", "y")}
        assert Tuning(rough, nested(law=law, **hand)).adds_friction is expected
        assert Tuning(rough, nested(law=law, friction_compensation=False, **hand)).adds_friction is False
        assert Tuning(model, nested(law=law, **hand)).adds_friction is False


def test_gains_given_as_numbers_do_not_change_their_unit_unseen(model: RobotModel) -> None:
    one = Tuning(model, nested(kp=[0.5], kd=[2.0]))
    with pytest.raises(RobotDynamicsError, match="law: gains.kp and gains.kd are accelerations.*one request"):
        one.check_change(Tuning(model, nested(law="pd", kp=[0.5], kd=[2.0])))
    one.check_change(Tuning(model, nested(law="pd", kp=[0.5], kd=[3.0])))
    one.check_change(Tuning(model, nested(law="pd", kp=[0.7], kd=[2.0])))
    one.check_change(Tuning(model, nested(law="feedforward", kp=[0.5], kd=[2.0])))
    one.check_change(Tuning(model, nested(law="pd")))
    Tuning(model, nested()).check_change(Tuning(model, nested(law="pd")))


# The hand


def test_gains_of_the_hand() -> None:
    """omega^2 and 2 zeta omega, below 1 too; what is no number any more is refused."""
    kp, kd = hand_gains([0.5], [0.25])
    assert_close(kp, np.full(6, 0.25), 1e-15)
    assert_close(kd, np.full(6, 0.25), 1e-15)
    for frequency, ratio in ((1e200, 1.0), (1e10, 1e300), (1e-200, 1.0), (0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(RobotDynamicsError, match="for component x. Cure"):
            hand_gains([frequency], [ratio])


def test_components_in_any_order() -> None:
    assert rows_of(("rz", "x", "z")) == (0, 2, 5)


def test_what_the_hand_takes(model: RobotModel) -> None:
    speeds = {"max_linear_velocity": 0.3, "max_angular_velocity": 0.7}
    tuning = Tuning(model, nested(law=HAND, components=("y", "x"), kp=[5.0], kd=[1.0], **speeds))
    hand = tuning.hand
    assert hand is not None and (hand.link, hand.rows) == (model.packed.tips[0], (0, 1))
    gains = hand.gains
    assert_close(gains.kp, np.full(6, 100.0), 1e-15)
    assert_close(gains.kd, np.full(6, 20.0), 1e-15)
    assert (gains.linear_velocity, gains.angular_velocity) == (0.3, 0.7)
    assert_close(gains.posture_kp, [5.0, 5.0], 0.0)
    assert_close(gains.posture_kd, [1.0, 1.0], 0.0)
    with pytest.raises(RobotDynamicsError, match="3 of them for 2 joints"):
        Tuning(model, nested(law=HAND, components=("x", "y", "rz")))
    with pytest.raises(RobotDynamicsError, match='nothing damps joint "joint1"'):
        HandTuning(
            model, TaskSpaceSettings(components=("x", "y")), Tuning(model, nested(kp=[0.0], kd=[0.0])).gains(np.ones(2))
        )


def test_what_is_wrong_with_the_hand_is_said_under_any_law(model: RobotModel) -> None:
    for changes in ({"components": ("x", "yaw")}, {"natural_frequency": [0.0]}, {"damping_ratio": [0.0]}):
        with pytest.raises(RobotDynamicsError, match="task_space"):
            Tuning(model, ControllerSettings(task_space=TaskSpaceSettings(**changes)))


@pytest.mark.filterwarnings("ignore:URDF")
def test_a_hand_without_mass_cannot_be_moved() -> None:
    light = RobotModel.from_urdf(arms.planar_2r(1, 1, arms.Link("", 1.0), arms.Link("")).urdf)
    with pytest.raises(RobotDynamicsError, match="no mass"):
        Tuning(light, nested(law=HAND, components=("x", "y")))

"""The controller as an object: when it commands what, without ROS and clocks."""

from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Command, Controller, ControllerSettings
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
ARM = arms.tsai_planar_2r(P)
NAMES = ("joint1", "joint2")
Q = np.array([0.3, -0.8])
REST = np.zeros(2)


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(ARM.urdf, gravity=[0.0, -P.g, 0.0])


def move(*goals: tuple[float, float], seconds: float = 1.0, effort: Any = None) -> TrajectoryPoints:
    """Goals a while apart, each at rest."""
    m = len(goals)
    times = seconds * np.arange(1, m + 1)
    return TrajectoryPoints(NAMES, times, np.array(goals), np.zeros((m, 2)), np.zeros((m, 2)), effort)


def command(controller: Controller, time: float, q: Any = Q, qd: Any = REST) -> Command:
    found = controller.update(time, np.array(q, dtype=float), np.array(qd, dtype=float))
    assert found is not None
    return found


@pytest.mark.parametrize("law", ["computed_torque", "pd_gravity"])
def test_it_holds_where_it_finds_the_arm(law: str, model: RobotModel) -> None:
    """Gravity alone, Tsai (9.117)-(9.118); later the arm is pulled back to the same place."""
    controller = Controller(model, ControllerSettings(law=law))
    first = command(controller, 0.0)
    assert_close(first.desired.q, Q, 0.0)
    assert_close(first.effort, tsai.gravity(P, Q), 1e-12)
    pushed = command(controller, 0.1, Q + 0.1)
    assert_close(pushed.desired.q, Q, 0.0)
    assert np.abs(pushed.effort - tsai.gravity(P, Q + 0.1)).min() > 0.1


def test_it_does_not_keep_the_callers_array(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings())
    q = Q.copy()
    controller.update(0.0, q, REST)
    q += 1.0
    assert_close(command(controller, 0.1).desired.q, Q, 0.0)


def test_it_follows_and_then_holds_the_end(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings())
    command(controller, 10.0)
    controller.follow(move((0.5, 0.1)), None, 10.0)
    assert_close(command(controller, 10.0).desired.q, Q, 1e-15)
    assert_close(command(controller, 10.5).desired.q, (Q + [0.5, 0.1]) / 2, 1e-12)  # minimum jerk is symmetric
    for time in (11.0, 11.5, 100.0):
        end = command(controller, time, [0.5, 0.1])
        assert_close(end.desired.q, [0.5, 0.1], 1e-12)
        assert_close(end.effort, tsai.gravity(P, np.array([0.5, 0.1])), 1e-9)


def test_the_effort_of_points_is_added(model: RobotModel) -> None:
    settings = ControllerSettings()
    controllers = Controller(model, settings), Controller(model, settings)
    extra = np.array([[3.0, -2.0], [3.0, -2.0]])
    for controller, effort in zip(controllers, (None, extra), strict=True):
        command(controller, 0.0)
        controller.follow(move((0.5, 0.1), (0.2, 0.3), effort=effort), None, 0.0)
    plain, added = (command(controller, 1.5).effort for controller in controllers)
    assert_close(added - plain, [3.0, -2.0], 1e-12)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_a_new_trajectory_takes_over_without_a_jump(law: str, model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings(law=law))
    command(controller, 0.0)
    controller.follow(move((1.0, 0.5)), None, 0.0)
    before = command(controller, 0.4).desired
    assert np.abs(before.qd).min() > 0.1
    controller.follow(move((-0.5, -1.0), seconds=2.0), None, 0.4)
    after = command(controller, 0.4).desired
    assert_close(after.q, before.q, 1e-12)
    assert_close(after.qd, before.qd, 1e-12)
    soon = command(controller, 0.4 + 1e-6).desired
    assert_close(soon.q, before.q + 1e-6 * before.qd, 1e-10)
    assert_close(soon.qd, before.qd, 1e-4)
    assert_close(command(controller, 3.0).desired.q, [-0.5, -1.0], 1e-12)


def test_a_refused_trajectory_changes_nothing(model: RobotModel) -> None:
    controller, twin = (Controller(model, ControllerSettings()) for _ in range(2))
    for each in (controller, twin):
        command(each, 0.0)
        each.follow(move((1.0, 0.5)), None, 0.0)
        command(each, 0.2)
    for points, start in (
        (move((np.nan, 0.0)), None),
        (TrajectoryPoints(("joint1", "elbow"), np.array([1.0]), np.zeros((1, 2))), None),
        (move((0.0, 0.0)), -5.0),
    ):
        with pytest.raises(TrajectoryError):
            controller.follow(points, start, 0.2)
    for time in (0.2, 0.5, 2.0):
        np.testing.assert_array_equal(command(controller, time).effort, command(twin, time).effort)


def test_some_joints_only_where_that_is_allowed(model: RobotModel) -> None:
    points = TrajectoryPoints(("joint2",), np.array([1.0]), np.array([[0.7]]))
    strict = Controller(model, ControllerSettings())
    command(strict, 0.0)
    with pytest.raises(TrajectoryError, match="allow_partial_joints_goal"):
        strict.follow(points, None, 0.0)
    lenient = Controller(model, ControllerSettings(allow_partial_joints_goal=True))
    command(lenient, 0.0)
    lenient.follow(points, None, 0.0)
    assert_close(command(lenient, 2.0).desired.q, [Q[0], 0.7], 1e-12)


def test_time_that_goes_back_drops_the_trajectory(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings())
    command(controller, 5.0)
    controller.follow(move((1.0, 0.5)), None, 5.0)
    command(controller, 5.5)
    held = command(controller, 1.0, [0.1, 0.2])
    assert_close(held.desired.q, [0.1, 0.2], 0.0)
    assert_close(held.desired.qd, REST, 0.0)
    assert_close(command(controller, 7.0).desired.q, [0.1, 0.2], 0.0)


def test_before_the_first_state_there_is_no_start(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings())
    with pytest.raises(TrajectoryError, match="joint_states"):
        controller.follow(move((1.0, 0.5)), None, 0.0)
    assert controller.update(0.0, None, None) is None


def test_feedforward_starts_at_its_first_point(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings(law="feedforward"))
    assert controller.update(0.0, None, None) is None
    controller.follow(move((1.0, 0.5), (0.2, 0.3)), None, 0.0)
    for time in (0.0, 0.5, 1.0):
        found = controller.update(time, None, None)
        assert found is not None
        assert_close(found.desired.q, [1.0, 0.5], 1e-12)
        assert_close(found.effort, tsai.gravity(P, np.array([1.0, 0.5])), 1e-12)


# Limits


def test_effort_is_cut_to_the_limits_and_the_joints_are_named() -> None:
    limited = ARM.with_joint("joint2", limit='<limit lower="-9" upper="9" effort="5" velocity="9"/>')
    model = RobotModel.from_urdf(limited.urdf, gravity=[0.0, -P.g, 0.0])
    controller = Controller(model, ControllerSettings(law="pd", kp=[100.0], kd=[0.0]))
    calm = command(controller, 0.0)
    assert calm.saturated == ()
    pulled = command(controller, 0.1, Q + [1.0, 1.0])
    assert pulled.saturated == ("joint2",)
    assert_close(pulled.effort, [-100.0, -5.0], 1e-12)


def test_no_torque_that_is_not_finite(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings())
    command(controller, 0.0)
    with pytest.raises(RobotDynamicsError, match='joint "joint1".*torque'):
        controller.update(0.1, Q, np.array([1e200, 1e200]))
    assert np.isfinite(command(controller, 0.2).effort).all()


# Gains


@pytest.mark.parametrize("law", ["pd", "pd_gravity"])
def test_torque_laws_get_gains_of_the_arm_where_it_started(law: str, model: RobotModel) -> None:
    """omega^2 diag M(q_start) and 2 zeta omega diag M(q_start), M from Tsai (9.114), and they stay."""
    controller = Controller(model, ControllerSettings(law=law, natural_frequency=[8.0, 12.0], damping_ratio=[0.7]))
    command(controller, 0.0)
    inertia = np.diag(tsai.mass_matrix(P, Q))
    omega, q, qd = np.array([8.0, 12.0]), Q + [0.5, 1.0], np.array([0.3, -0.2])
    expected = inertia * (omega**2 * (Q - q) - 2 * 0.7 * omega * qd)
    if law == "pd_gravity":
        expected += tsai.gravity(P, q)
    assert_close(command(controller, 0.1, q, qd).effort, expected, 1e-12)


def test_computed_torque_gets_accelerations(model: RobotModel) -> None:
    """Tsai (9.73)-(9.74) at omega^2 e - 2 zeta omega qd."""
    controller = Controller(model, ControllerSettings(natural_frequency=[8.0], damping_ratio=[0.7]))
    command(controller, 0.0)
    q, qd = Q + [0.5, 1.0], np.array([0.3, -0.2])
    expected = tsai.torque(P, q, qd, 64.0 * (Q - q) - 2 * 0.7 * 8.0 * qd)
    assert_close(command(controller, 0.1, q, qd).effort, expected, 1e-12)


def test_given_gains_are_taken(model: RobotModel) -> None:
    controller = Controller(model, ControllerSettings(law="pd", kp=[50.0, 20.0], kd=[3.0]))
    command(controller, 0.0)
    found = command(controller, 0.1, Q + 0.1, [0.2, 0.4]).effort
    assert_close(found, [-5.0 - 0.6, -2.0 - 1.2], 1e-12)


# Friction


@pytest.mark.parametrize("on", [True, False])
def test_friction_is_made_up_for_where_the_law_does(on: bool) -> None:
    """Craig (6.112) at the desired velocity; half-way along a minimum-jerk motion that is 15/8 of the mean."""
    extra = '<dynamics damping="0.5" friction="2"/>'
    arm = ARM.with_joint("joint1", extra=extra).with_joint("joint2", extra=extra)
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, -P.g, 0.0])
    controller = Controller(model, ControllerSettings(friction_compensation=on))
    command(controller, 0.0)
    controller.follow(move((Q[0] + 0.4, Q[1] - 0.8)), None, 0.0)
    qd = 15 / 8 * np.array([0.4, -0.8])
    q = Q + [0.2, -0.4]
    friction = np.array([2.0, -2.0]) + 0.5 * qd
    expected = tsai.torque(P, q, qd, REST) + (friction if on else 0.0)
    assert_close(command(controller, 0.5, q, qd).effort, expected, 1e-9)


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"law": "telepathy"}, "law: 'telepathy'.*computed_torque"),
        ({"natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency: 3 numbers.*joint1, joint2"),
        ({"natural_frequency": []}, "gains.natural_frequency: 0 numbers"),
        ({"natural_frequency": [1.0, -2.0]}, 'gains.natural_frequency: -2.0 for joint "joint2"'),
        ({"damping_ratio": [np.nan]}, 'gains.damping_ratio: nan for joint "joint1"'),
        ({"kp": [1.0]}, "kp and kd go together"),
        ({"kd": [1.0]}, "kp and kd go together"),
        ({"kp": [1.0, 2.0, 3.0], "kd": [1.0]}, "gains.kp: 3 numbers"),
        ({"kp": [1.0], "kd": [np.inf]}, 'gains.kd: inf for joint "joint1"'),
        ({"friction_smoothing_velocity": -1.0}, "friction_smoothing_velocity: -1.0"),
        ({"friction_smoothing_velocity": np.nan}, "friction_smoothing_velocity: nan"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str, model: RobotModel) -> None:
    with pytest.raises(RobotDynamicsError, match=message):
        Controller(model, ControllerSettings(**settings))

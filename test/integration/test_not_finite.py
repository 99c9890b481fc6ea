"""NaN, infinity and huge numbers in each input: a fault or a refusal, and nothing but finite torques."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from integration.robot import ERROR, NODE, WARN, Robot, following, move, near
from integration.ros import JOINTS, TSAI, gravity
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import trajectory_message

Q = (-0.6, 0.9)
NAN, INF = math.nan, math.inf


BAD_STATES = [
    (field, joint, value)
    for field, joint, value in itertools.product(("position", "velocity"), (0, 1), (NAN, INF, -INF, 1e200))
]


def test_states_that_are_not_finite(robot: Robot) -> None:
    """Each at once a fault that names joint and value; the arm is held where it was last seen well."""
    robot.begin(Q, {"fault_reset": "auto"})
    for field, joint, value in BAD_STATES:
        seen, before = len(robot.changes), len(robot.efforts)
        last = (Q[0] + 0.01 * joint, Q[1])
        robot.answer_to(last, (0.1, 0.2))

        def spoil(state: JointState, field: str = field, joint: int = joint, value: float = value) -> None:
            getattr(state, field)[joint] = value

        robot.edit = spoil
        answer = robot.answer_to((0.5, 0.5), (1.0, 1.0))
        assert near(answer.effort, gravity(last)), (field, joint, value)
        assert tuple(answer.position) == last and before < len(robot.efforts)
        robot.edit = lambda state: None
        robot.drive(lambda seen=seen: len(robot.changes) >= seen + 2, "it is over", Q)
        hold, active = robot.changes[seen:]
        assert (hold.change, hold.level) == (("active", "hold"), ERROR)
        assert (hold.values["cause"], hold.values["joint"]) == ("state_invalid", JOINTS[joint])
        np.testing.assert_equal(hold.number("value"), value)
        assert active.change == ("hold", "active")


def test_states_that_stay_not_finite(robot: Robot) -> None:
    robot.begin(Q, {"stale_hold_time": 0.3})
    robot.edit = lambda state: state.position.__setitem__(1, NAN)
    robot.drive_to("zero", Q)
    answer = robot.answer_to(Q)
    assert tuple(answer.effort) == (0.0, 0.0)
    refused = robot.clear_fault()
    assert not refused.success and "joint2" in refused.message


def test_a_first_state_that_is_not_finite(robot: Robot) -> None:
    """Nothing is commanded before there is a good one; /diagnostics says what it waits for."""
    robot.deactivate()
    robot.graph.settle(0.1)
    robot.efforts.clear()
    robot.edit = lambda state: state.velocity.__setitem__(0, INF)
    assert robot.activate()
    robot.drive(lambda: "velocity" in robot.statuses[-1].message, "a word on it", Q)
    assert robot.statuses[-1].level == WARN and "joint1" in robot.statuses[-1].message
    assert robot.efforts == []
    robot.edit = lambda state: None
    assert near(robot.answer_to(Q).effort, gravity(Q))


def test_no_states_and_those_of_others(robot: Robot) -> None:
    """Log and /diagnostics say why nothing is commanded, without a cycle that could."""
    robot.deactivate()
    log = robot.log_from_now()
    assert robot.activate()
    robot.graph.await_log(log, "nothing is commanded yet: no joint_states")
    robot.edit = lambda state: setattr(state, "name", ["finger1", "finger2"])
    robot.drive(lambda: "joint1, joint2" in robot.statuses[-1].message, "the joints that are missing", Q)
    assert robot.statuses[-1].level == WARN
    robot.edit = lambda state: None
    assert near(robot.answer_to(Q).effort, gravity(Q))


def test_efforts_that_are_not_finite(robot: Robot) -> None:
    """Nobody reads them once it is active."""
    robot.begin(Q)
    robot.edit = lambda state: setattr(state, "effort", [NAN, INF])
    assert near(robot.answer_to(Q, (0.2, 0.1)).effort, following(Q, (0.2, 0.1), Q))
    assert robot.changes == []


def _bad_trajectories() -> Iterator[tuple[str, JointTrajectory]]:
    table = np.zeros((2, 2))
    for field, value in itertools.product(("positions", "velocities", "accelerations", "effort"), (NAN, INF, -INF)):
        good = TrajectoryPoints(JOINTS, np.array([1.0, 2.0]), table + 0.2, table, table, table)
        message = trajectory_message(good)
        getattr(message.points[1 if field == "effort" else 0], field)[1] = value
        yield field, message


def test_trajectories_that_are_not_finite(robot: Robot) -> None:
    robot.begin(Q)
    for field, message in _bad_trajectories():
        log = robot.log_from_now()
        robot.send_trajectory(message)
        robot.graph.await_log(log, "trajectory refused")
        (error,) = log.errors
        assert "joint2" in error and ("nan" in error or "inf" in error), (field, error)
        answer = robot.answer_to(Q)
        assert tuple(answer.position) == Q and near(answer.effort, gravity(Q))


def test_speed_factors_that_are_none(robot: Robot) -> None:
    robot.begin(Q)
    factors = robot.graph.publisher(Float64, f"{NODE}/speed_scaling_factor")
    robot.graph.wait(factors.get_subscription_count, "the controller to listen")
    log = robot.log_from_now()
    for value in (NAN, INF, -INF, -0.1, 1.5):
        factors.publish(Float64(data=value))
    robot.graph.await_log(log, "~/speed_scaling_factor refused")
    robot.graph.settle(0.2)
    robot.takes_a_trajectory(move((0.4, -0.1), 1.0))
    robot.answer_to(Q, dt=1e-9)
    assert tuple(robot.answer_to(Q, dt=2.0).position) == (0.4, -0.1), "at full speed"


def _payload(**changes: Any) -> InertiaStamped:
    """1.2 kg at the tip."""
    message = InertiaStamped()
    message.header.frame_id = changes.pop("link", "tip")
    message.inertia.m = changes.pop("m", 1.2)
    message.inertia.com.x = changes.pop("x", 0.0)
    for name, value in changes.items():
        setattr(message.inertia, name, value)
    return message


BAD_PAYLOADS: list[dict[str, Any]] = [
    {"m": NAN},
    {"m": INF},
    {"m": -1.0},
    {"x": NAN},
    {"x": INF},
    {"ixx": NAN},
    {"iyz": -INF},
    {"link": "hand"},
]


def test_payloads_that_are_none(robot: Robot) -> None:
    """And one that is: its weight at the tip."""
    robot.begin(Q)
    payloads = robot.graph.publisher(InertiaStamped, f"{NODE}/payload")
    robot.graph.wait(payloads.get_subscription_count, "the controller to listen")
    for changes in BAD_PAYLOADS:
        log = robot.log_from_now()
        payloads.publish(_payload(**changes))
        robot.graph.await_log(log, "~/payload refused")
        assert near(robot.answer_to(Q).effort, gravity(Q)), changes
    log = robot.log_from_now()
    payloads.publish(_payload())
    robot.graph.await_log(log, "payload of 1.2 kg on tip")
    lever = np.array([TSAI.a1 * math.cos(Q[0]) + TSAI.a2 * math.cos(sum(Q)), TSAI.a2 * math.cos(sum(Q))])
    assert near(robot.later_answer_to(Q).effort, gravity(Q) + 1.2 * TSAI.g * lever)
    payloads.publish(_payload(m=0.0))
    robot.drive(lambda: near(robot.answers[-1].effort, gravity(Q)), "the payload to be put down", Q)


def test_parameters_that_are_none(robot: Robot) -> None:
    qd = (0.2, -0.1)
    robot.begin(Q)
    robot.later_answer_to(Q, qd)  # the payload of the test before has faded
    for name, value in {
        "gains.natural_frequency": [10.0, NAN],
        "gains.kp": [INF],
        "gains.damping_ratio": [-INF],
        "state_timeout": NAN,
        "stale_hold_time": INF,
        "torque_rate_limit": [NAN],
        "effort_limit_scale": [INF],
        "ramp_time": NAN,
        "velocity_filter_cutoff": INF,
        "position_limit_margin": [NAN],
        "velocity_limit_margin": [NAN, 0.1],
        "friction_smoothing_velocity": NAN,
        "observer.gain": NAN,
        "observer.collision_threshold": [NAN],
        "constraints.max_deceleration_on_cancel": [INF],
        "minimum_rate_ratio": NAN,
        "task_space.natural_frequency": [NAN],
        "task_space.damping_ratio": [INF],
        "task_space.max_linear_velocity": NAN,
        "task_space.max_angular_velocity": -INF,
        "task_space.target_timeout": INF,
    }.items():
        reason = robot.graph.try_parameters(NODE, {name: value})[name]
        assert name in reason, (name, reason)
        assert near(robot.answer_to(Q, qd).effort, following(Q, qd, Q)), name
    assert robot.changes == []

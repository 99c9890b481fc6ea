"""Default motion of a robot: within position, velocity and effort limits, those of coupled joints included."""

import numpy as np
import pytest
from hypothesis import example, given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.runs.default_motion import (
    default_motion,
    default_start,
    scaled_to_limits,
)
from support.coupled_arms import coupled_arms, differential, joint_motion

LINK = (
    '<link name="l{0}"><inertial><mass value="2"/><origin xyz="0.3 0 0"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="j{0}" type="{1}"><parent link="l{2}"/><child link="l{0}"/><origin xyz="{3} 0 0"/>'
    '<axis xyz="0 1 0"/>{4}</joint>'
)


def arm(*limits: str) -> RobotModel:
    """Return a chain of horizontal links, with the content of each joint; a joint without limits is continuous."""
    kinds = ("continuous", "revolute")
    joints = [
        JOINT.format(k + 1, kinds[text != ""], k, 0.6 * (k > 0), text)
        for k, text in enumerate(limits)
    ]
    links = ['<link name="l0"/>', *(LINK.format(k + 1) for k in range(len(limits)))]
    return RobotModel.from_urdf(
        f'<robot name="arm" version="1.2">{"".join(links + joints)}</robot>'
    )


def limit(
    lower: float,
    upper: float,
    effort: float = 100.0,
    velocity: float = 2.0,
    more: str = "",
) -> str:
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}" {more}/>'


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize(
    ("limits", "room"),
    [
        ([limit(-3, 3), limit(-3, 3)], 0.5),
        ([limit(0.5, 0.7), limit(-2, -1.9)], 0.03),
        ([limit(-3, 3, effort=12.0), limit(-3, 3)], 0.1),
        ([limit(-3, 3, velocity=0.05), limit(-3, 3, velocity=0.05)], 0.01),
        (
            [limit(-3, 3), limit(-0.1, 0.1) + '<mimic joint="j1" multiplier="-2"/>'],
            0.03,
        ),
        ([""], 0.5),
        (
            [limit(-3, 3), limit(-3, 3, more='acceleration="0.2" deceleration="0.1"')],
            0.03,
        ),
        (
            [
                limit(-3, 3, more='jerk="0.4"'),
                limit(-3, 3) + '<mimic joint="j1" multiplier="-2"/>',
            ],
            0.03,
        ),
    ],
    ids=["wide", "narrow", "weak", "slow", "coupled", "continuous", "gentle", "smooth"],
)
def test_it_keeps_all_limits(limits: list[str], room: float) -> None:
    assert moved(arm(*limits)) > room


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@given(coupled_arms())
@example(differential())
def test_it_keeps_the_limits_of_coupled_joints(model: RobotModel) -> None:
    assert moved(model) > 0.01


def moved(model: RobotModel) -> float:
    """Return the distance that the default motion covers, after a check of all its limits."""
    start = default_start(model)
    values = {p.name: p.default for p in trajectory.ALL} | default_motion(model, start)
    made = trajectory.trajectory_from(values.get, model.joint_names, start.tolist())
    points, _ = scaled_to_limits(model, made, start)
    q = points.positions
    qd = points.velocities
    qdd = points.accelerations
    assert qd is not None and qdd is not None
    np.testing.assert_array_equal(q[0], start)
    jerk = np.diff(qdd, axis=0) / np.diff(points.times)[:, None]
    for rate, most in ((qdd, model.acceleration_limits), (jerk, model.jerk_limits)):
        assert (np.abs(rate) <= most).all()
    rates, above, below = joint_motion(model, q, qd)
    assert min(above.min(), below.min()) > -1e-9
    assert (np.abs(rates) <= model.moving_joint_limits[:, 2]).all()
    assert (np.abs(model.inverse_dynamics(q, qd, qdd)) <= model.effort_limits).all()
    return float(np.ptp(q, axis=0).max())


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_what_leaves_no_room_is_named() -> None:
    with pytest.raises(RobotDynamicsError, match="arm: the position limits"):
        default_motion(arm(limit(0, 0)), np.zeros(1))
    weak = arm(limit(-0.1, 0.1, effort=1.0))
    made = trajectory.trajectory_from(
        (
            {p.name: p.default for p in trajectory.ALL}
            | default_motion(weak, np.zeros(1))
        ).get,
        ["j1"],
        [0.0],
    )
    with pytest.raises(RobotDynamicsError, match='joint "j1": gravity'):
        scaled_to_limits(weak, made, default_start(weak))

"""Versions of URDF: quaternions of 1.1, and limits of acceleration and jerk of 1.2, as in urdfdom 6."""

import warnings

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel, RobotModelError
from support.comparing import assert_close

QUARTER = "0.7071067811865476 0 0 0.7071067811865476"  # about x
INF = float("inf")


def arm(
    joint: str = "",
    inertial: str = "",
    limit: str = "",
    version: str | None = "1.2",
    visual: str = "",
) -> str:
    """Return a one-joint arm with the attributes of two origins and of its limit."""
    head = "" if version is None else f' version="{version}"'
    return f"""<robot name="r"{head}><link name="base"/><link name="forearm">
      <inertial><origin xyz="0.5 0.2 0.1" {inertial}/><mass value="2"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>{visual}</link>
      <joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/><origin {joint}/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2" {limit}/></joint></robot>"""


def load(text: str) -> tuple[RobotModel, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return RobotModel.from_urdf(text), [str(warning.message) for warning in caught]


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(
        lambda q: np.linalg.norm(q) > 0.1
    )
)
def test_quaternions_are_those_of_pinocchio(values: list[float]) -> None:
    """In the origins of joint and inertial; Pinocchio reads URDF by urdfdom."""
    unit = (np.array(values) / np.linalg.norm(values)).tolist()
    text = arm(*2 * [f'quat_xyzw="{" ".join(map(repr, unit))}"'])
    model, messages = load(text)
    peer = pinocchio.buildModelFromXML(text)
    q, qd, qdd = np.array([[0.3], [0.7], [-1.1]])
    assert messages == []
    assert_close(
        model.inverse_dynamics(q, qd, qdd),
        pinocchio.rnea(peer, peer.createData(), q, qd, qdd),
        1e-12,
    )


@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_quaternion_and_angles_are_the_same_arm(version: str) -> None:
    """Dropping the quaternion gave no torque instead of the arm's weight."""
    by_angles, _ = load(arm('rpy="1.5707963267948966 0 0"', version=version))
    by_quaternion, messages = load(arm(f'quat_xyzw="{QUARTER}"', version=version))
    assert messages == [] and by_angles.gravity_torque([0.0])[0] > 9.0
    assert_close(
        by_quaternion.gravity_torque([0.0]), by_angles.gravity_torque([0.0]), 1e-14
    )


@pytest.mark.parametrize("version", [None, "1", "1.0", "1.1"])
def test_content_of_later_versions_is_ignored_with_one_warning(
    version: str | None,
) -> None:
    """As in urdfdom; rpy next to an ignored quaternion is used."""
    capsule = '<visual><geometry><capsule radius="1" length="1"/></geometry></visual>'
    later = {"limit": 'acceleration="3" jerk="5"'}
    if version != "1.1":
        later |= {
            "joint": f'rpy="1.5707963267948966 0 0" quat_xyzw="{QUARTER}"',
            "visual": capsule,
        }
    model, (message,) = load(arm(**later, version=version))
    plain, _ = load(arm(later.get("joint", "").split("quat")[0], version=version))
    assert model.acceleration_limits == [INF]
    assert_close(model.gravity_torque([0.0]), plain.gravity_torque([0.0]), 0.0)
    names = ["acceleration", "jerk", "elbow"] + ["quat_xyzw", "capsule", "forearm"] * (
        version != "1.1"
    )
    assert all(name in message for name in names)


def test_extended_limits() -> None:
    model, messages = load(arm(limit='acceleration="3" deceleration="4" jerk="5"'))
    assert messages == []
    assert [
        *model.acceleration_limits,
        *model.deceleration_limits,
        *model.jerk_limits,
    ] == [3.0, 4.0, 5.0]
    model, _ = load(arm(version="1.0"))
    assert [
        *model.acceleration_limits,
        *model.deceleration_limits,
        *model.jerk_limits,
    ] == [INF] * 3
    model, (message,) = load(arm(limit='acceleration="0"'))
    assert model.acceleration_limits == [INF] and "elbow" in message


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        *(
            (arm(version=version), "1.0, 1.1, 1.2")
            for version in ("1.3", "2.0", "1.0.0", "", "latest")
        ),
        (arm(limit='jerk="-1"'), "elbow.*jerk"),
        (arm(limit='acceleration="nan"'), "elbow.*acceleration.*nan"),
        *(
            (arm(**{place: origin}), culprit)
            for origin, culprit in (
                (f'rpy="0 0 0" quat_xyzw="{QUARTER}"', "both"),
                ('quat_xyzw="0.7 0 0 0.7"', "length 0.98"),
                ('quat_xyzw="0 0 0 0"', "length 0"),
                ('quat_xyzw="1 0 0"', "3 numbers"),
            )
            for place in ("joint", "inertial")
        ),
        (
            arm(visual='<visual><origin quat_xyzw="1 1 0 0"/></visual>'),
            "forearm.*quat_xyzw",
        ),
        (
            arm(visual='<collision><origin quat_xyzw="1 1 0 0"/></collision>'),
            "forearm.*quat_xyzw",
        ),
    ],
)
def test_what_is_refused(text: str, culprit: str) -> None:
    with pytest.raises(RobotModelError, match=culprit):
        RobotModel.from_urdf(text)

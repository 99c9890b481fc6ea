"""URDF and MJCF of a model: the dynamics of Pinocchio and MuJoCo, and what the files cannot contain."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.model_files import (
    differences,
    lost_properties,
    mjcf_text,
    urdf_text,
)
from robot_dynamics_ros.base.resources import robot_urdf
from support.model_files import assert_same_dynamics

INERTIAL = (
    '<inertial><origin xyz="0.1 {0} 0.05" rpy="0.3 0 1"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.04"/></inertial>'
)
JOINT = (
    '<joint name="{1}{0}" type="{2}"><parent link="{3}"/><child link="link{0}"/><origin xyz="0.1 0.2 0.3" '
    'rpy="0.4 -0.5 0.{0}"/><axis xyz="{4}"/><limit lower="-2" upper="2" effort="9" velocity="3"/></joint>'
)
# Behind the first joint a fixed link, behind that a locked joint, and a branch.
ROWS = (
    (1, "joint", "revolute", "world", "1 2 0"),
    (2, "mount", "fixed", "link1", "1 0 0"),
    (3, "lock", "revolute", "link2", "0 1 1"),
    (4, "joint", "prismatic", "link3", "0 1 0"),
    (5, "joint", "revolute", "link1", "0 0 -1"),
    (6, "tool", "fixed", "link5", "1 0 0"),
)
URDF = "".join(
    ['<robot name="tree"><link name="world"/>']
    + [
        f'<link name="link{k}"><visual/>{INERTIAL.format(0.1 * k)}</link>'
        for k in range(1, 7)
    ]
    + [JOINT.format(*row) for row in ROWS]
    + ["</robot>"]
).replace("<visual/>", '<visual><geometry><sphere radius="0.1"/></geometry></visual>')
DYNAMICS = """
gravity: [1.0, 2.0, -9.0]
joints:
  joint1: {viscous: 0.5, coulomb: 0.6, coulomb_negative: 0.8, rotor_inertia: 0.001, gear_ratio: 50, rotor_carrier: none}
  joint5: {viscous: 0.1, sigmoid: {amplitude: 0.4, slope: 20, shift: 0.0}, static: 0.3, quadratic: 0.2}
payload: {link: link6, mass: 1.5, com: [0.1, 0.0, 0.2], inertia: [0.01, 0, 0, 0.01, 0, 0.01]}
"""


@pytest.fixture
def tree(tmp_path: Path) -> RobotModel:
    file = tmp_path / "tree.dynamics.yaml"
    file.write_text(DYNAMICS, encoding="utf-8")
    return RobotModel.from_urdf(URDF, dynamics=file, locked={"lock3": 0.7})


def test_fixed_links_locked_joints_and_payload(
    tree: RobotModel, tmp_path: Path
) -> None:
    urdf = tmp_path / "tree.urdf"
    mjcf = tmp_path / "tree.xml"
    urdf.write_text(urdf_text(URDF, tree), encoding="utf-8")
    mjcf.write_text(mjcf_text(URDF, tree), encoding="utf-8")
    assert_same_dynamics(tree, urdf, mjcf)
    text = urdf.read_text(encoding="utf-8")
    assert text.count("<inertial>") == 3 and text.count("<visual>") == 6
    plant = mujoco.MjModel.from_xml_path(str(mjcf))
    joints = [plant.joint(name) for name in ("joint1", "joint4", "joint5")]
    np.testing.assert_allclose([joint.damping[0] for joint in joints], [0.5, 0.0, 0.1])
    np.testing.assert_allclose(
        [joint.frictionloss[0] for joint in joints], [0.7, 0.0, 0.2]
    )
    np.testing.assert_allclose([joint.armature[0] for joint in joints], [2.5, 0.0, 0.0])
    dynamics = {
        joint.get("name"): joint.find("dynamics")
        for joint in ElementTree.fromstring(text).iter("joint")
    }
    assert [float(dynamics["joint1"].get(key)) for key in ("damping", "friction")] == [
        0.5,
        0.7,
    ]
    assert dynamics["lock3"] is None


def test_differences_are_reported() -> None:
    """Documents of masses that are larger by 1 %."""
    model = RobotModel.shipped("puma560", dynamics="none")
    heavier = model.scaled(mass=1.01)
    urdf = robot_urdf("puma560").read_bytes()
    for scaled, expected in ((model, 0.0), (heavier, 0.01)):
        found = differences(model, urdf_text(urdf, scaled), None) | differences(
            model, None, mjcf_text(urdf, scaled)
        )
        assert list(found) == ["URDF and armature in Pinocchio", "MJCF in MuJoCo"]
        np.testing.assert_allclose(list(found.values()), expected, atol=2e-3)
        np.testing.assert_allclose(list(found.values())[0], expected, atol=1e-12)


def test_what_the_files_lack(tree: RobotModel) -> None:
    lost = lost_properties(tree)
    for text, name in (
        ("direction of Coulomb", "joint1"),
        ("static", "joint5"),
        ("sigmoid", "joint5"),
        ("quadratic", "joint5"),
        ("rotor inertia", "joint1 2.5"),
        ("gravity", "[1.0, 2.0, -9.0]"),
        ("locked", "lock3"),
        ("payload", "link6"),
    ):
        assert any(text in line and line.endswith(f": {name}") for line in lost), text
    assert len(lost) == 8

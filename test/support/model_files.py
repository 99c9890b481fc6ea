"""Files of a model for other programs, loaded by Pinocchio and MuJoCo."""

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

from robot_dynamics_ros import RobotModel


def assert_same_dynamics(model: RobotModel, urdf: Path, mjcf: Path) -> None:
    """Assert that both files have the model's dynamics; the URDF with the armature of the MJCF.

    Rotors are on no moving link, and joints are revolute or prismatic.
    """
    peer = pin.buildModelFromUrdf(str(urdf))
    plant = mujoco.MjModel.from_xml_path(str(mjcf))
    own = [peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names]
    joints = [plant.joint(name).dofadr[0] for name in model.joint_names]
    assert plant.nv == model.n
    peer.gravity.linear = model.gravity
    armature = np.zeros(peer.nv)
    rest = np.zeros(peer.nv)
    for name, position in model.locked.items():
        rest[peer.joints[peer.getJointId(name)].idx_v] = position
    armature[own] = plant.dof_armature[joints]
    peer.armature = armature
    state = peer.createData()
    data = mujoco.MjData(plant)
    for q, qd, qdd in np.random.default_rng(1).uniform(-1.0, 1.0, (10, 3, model.n)):
        expected = model.inverse_dynamics(q, qd, qdd)
        full = np.zeros((3, peer.nv))
        full[0] = rest
        full[:, own] = q, qd, qdd
        np.testing.assert_allclose(
            pin.rnea(peer, state, *full)[own], expected, rtol=1e-9, atol=1e-9
        )
        data.qpos[joints] = q
        data.qvel[joints] = qd
        mujoco.mj_forward(plant, data)
        inertial = np.empty(model.n)
        mujoco.mj_mulM(plant, data, inertial, qdd[np.argsort(joints)])
        np.testing.assert_allclose(
            inertial[joints] + data.qfrc_bias[joints], expected, rtol=1e-9, atol=1e-9
        )

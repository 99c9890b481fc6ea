"""Newton-Euler in link frames: Craig (6.45)-(6.53), Tsai (9.49)-(9.70), Milicevic Table 2."""

from __future__ import annotations

import arms
import numpy as np
import robots_with_drives as drives
from hypothesis import given
from oracles import craig_rp, tsai_planar_2r, tsai_scara

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.formulations.newton_euler_links import joint_reactions, newton_euler_links


def test_planar_arm() -> None:
    """Tsai example 9.7.1: torques and forces."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 3.0, 2.0)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0.0, -p.g, 0.0])
    for q, qd, qdd in zip(*arms.states(1, 2, 5), strict=True):
        f, n = joint_reactions(model, q, qd, qdd)
        np.testing.assert_allclose(f, tsai_planar_2r.joint_forces(p, q, qd, qdd), atol=1e-12)
        tau = tsai_planar_2r.torque(p, q, qd, qdd)
        np.testing.assert_allclose(n[:, 2], tau, atol=1e-12)
        np.testing.assert_allclose(newton_euler_links(model, q, qd, qdd), tau, atol=1e-12)


def test_sliding_joints() -> None:
    """Tsai (9.146)-(9.148), Craig example 6.5."""
    scara, rp = (
        tsai_scara.Parameters(0.5, 0.4, 3.0, 2.0, 1.0),
        craig_rp.Parameters(*np.linspace(0.4, 2.0, len(craig_rp.Parameters.__dataclass_fields__)).tolist()),
    )
    for book, p, text, down in (
        (tsai_scara, scara, arms.tsai_scara(scara).urdf, [0.0, 0.0, -scara.g]),
        (craig_rp, rp, arms.craig_rp(rp).urdf, [0.0, -rp.g, 0.0]),
    ):
        model = RobotModel.from_urdf(text, gravity=down)
        for q, qd, qdd in zip(*arms.states(1, model.n, 5), strict=True):
            expected = book.torque(p, q, qd, qdd)
            np.testing.assert_allclose(newton_euler_links(model, q, qd, qdd), expected, rtol=1e-12, atol=1e-11)


@given(robot=drives.robots(rotors=False))
def test_reactions_hold_each_link(robot: drives.Robot) -> None:
    """At rest the first joints carry the weight of all that hangs on them, at its centre of mass."""
    model = robot.model()
    tree = LinkTree.of(model)
    q, rest = drives.state(robot, model.n)[0], np.zeros(model.n)
    f, n = joint_reactions(tree, q, rest, rest)
    rotations, origins = tree.base_placements(q)
    for i in range(len(tree.links)):
        carried = [k for k in range(len(tree.links)) if i in tree.path(k)]
        weights = [-tree.links[k].mass * tree.gravity for k in carried]
        arms_to = [origins[k] + rotations[k] @ tree.links[k].com - origins[i] for k in carried]
        moment = sum((np.cross(r, w) for r, w in zip(arms_to, weights, strict=True)), np.zeros(3))
        scale = 1.0 + float(np.abs(weights).sum()) * (1.0 + float(np.abs(arms_to).max()))
        np.testing.assert_allclose(rotations[i] @ f[i], sum(weights), rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(rotations[i] @ n[i], moment, rtol=0, atol=1e-12 * scale)


@given(arm=arms.trees())
def test_the_axis_drives_the_joint(arm: arms.Arm) -> None:
    """(9.69): without rotors the axial part of the reaction is the joint's torque or force."""
    model = RobotModel.from_urdf(arm.urdf)
    tree = LinkTree.of(model)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    f, n = joint_reactions(tree, q, qd, qdd)
    axial = [(f if link.prismatic else n)[i, 2] for i, link in enumerate(tree.links)]
    in_order = dict(zip([link.joint for link in tree.links], axial, strict=True))
    tau = newton_euler_links(tree, q, qd, qdd)
    np.testing.assert_allclose(
        [in_order[name] for name in model.joint_names], tau, rtol=0, atol=1e-12 * (1.0 + np.abs(tau).max())
    )

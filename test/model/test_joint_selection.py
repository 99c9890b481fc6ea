"""`joints` and `locked`: which joints are controlled, in which order; the rest act as fixed joints.

`test_couplings.py` has what is refused.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.pinocchio_peer import Peer

ARM = arms.random_arm(
    np.random.default_rng(12),
    [0, 1, 2, 2, 4],
    ["revolute", "prismatic", "continuous", "revolute", "revolute"],
)


@given(arm=arms.trees(), data=st.data())
def test_locked_joints_act_as_fixed_and_the_others_have_the_order_given(arm: arms.Arm, data: st.DataObject) -> None:
    """Against pinocchio.buildReducedModel."""
    names = arm.movable
    keep = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    rng = np.random.default_rng(arm.seed + 2)
    locked = {name: float(rng.uniform(-2, 2)) for name in names if name not in keep}
    gravity = [1.0, 2.0, -9.0]
    model = RobotModel.from_urdf(arm.urdf, joints=keep, locked=locked, gravity=gravity)
    assert list(model.joint_names) == keep
    assert sorted(RobotModel.from_urdf(arm.urdf, locked=locked).joint_names) == sorted(keep)
    peer = Peer(arm.urdf, names, gravity).locked(locked, keep)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    tau, m = peer.rnea(q, qd, qdd), peer.crba(q)
    assert_close(model.inverse_dynamics(q, qd, qdd), tau, 1e-10, float(np.abs(m).max() * 50))
    assert_close(model.mass_matrix(q), m, 1e-11)


def test_wrench_on_a_link_behind_a_locked_joint() -> None:
    """The wrench stays in the link's own frame: the torque is the whole arm's at rest in the same pose."""
    locked = {ARM.movable[1]: 0.4, ARM.movable[4]: -1.0}
    keep = [name for name in ARM.movable if name not in locked]
    full = RobotModel.from_urdf(ARM.urdf)
    model = RobotModel.from_urdf(ARM.urdf, joints=keep, locked=locked)
    q = dict(zip(keep, (0.3, -0.8, 1.1), strict=True)) | locked
    wrench = {ARM.links[5].name: [1.0, -2.0, 3.0, 0.4, 0.5, -0.6], ARM.links[2].name: [4.0, 5.0, 6.0, 1.0, 1.0, 1.0]}
    whole = full.inverse_dynamics([q[name] for name in full.joint_names], np.zeros(5), np.zeros(5), wrench)
    expected = [whole[list(full.joint_names).index(name)] for name in keep]
    got = model.inverse_dynamics([q[name] for name in keep], np.zeros(3), np.zeros(3), wrench)
    assert_close(got, expected, 1e-12)


def test_limits_follow_the_order() -> None:
    arm = ARM
    for k, name in enumerate(ARM.movable):
        arm = arm.with_joint(
            name, limit=f'<limit lower="-{k + 1}" upper="{k + 2}" effort="{k + 3}" velocity="{k + 4}"/>'
        )
    order = [ARM.movable[3], ARM.movable[0]]
    locked = {name: 0.0 for name in ARM.movable if name not in order}
    model = RobotModel.from_urdf(arm.urdf, joints=order, locked=locked)
    assert_close(model.position_lower, [-4, -1], 0.0)
    assert_close(model.position_upper, [5, 2], 0.0)
    assert_close(model.effort_limits, [6, 3], 0.0)
    assert_close(model.velocity_limits, [7, 4], 0.0)


def test_repr_names_what_was_chosen() -> None:
    first, *others = ARM.movable
    chosen = RobotModel.from_urdf(ARM.urdf, joints=others, locked={first: 0.25}, gravity=[0, 0, -1.62])
    text = repr(chosen.with_payload(ARM.links[3].name, 1.5, [0, 0, 0], [0] * 6).customised())
    for part in (*others, f"{first} at 0.25", "-1.62", f"1.5 kg on '{ARM.links[3].name}'", "customised"):
        assert part in text
    plain = repr(RobotModel.from_urdf(ARM.urdf))
    assert not any(word in plain for word in ("payload", "locked", "customised"))


def test_prismatic_joints() -> None:
    """By the URDF: the second and no other; a locked one does not move."""
    assert RobotModel.from_urdf(ARM.urdf).prismatic_joints == {ARM.movable[1]}
    assert not RobotModel.from_urdf(ARM.urdf, locked={ARM.movable[1]: 0.1}).prismatic_joints


def test_continuous_joints_keep_their_mark_unless_another_follows() -> None:
    model = RobotModel.from_urdf(ARM.urdf, joints=ARM.movable[::-1])
    model = model.with_payload(model.link_names[1], 1.0, [0.0] * 3, np.eye(3))
    assert model.without_gravity().continuous.tolist() == [False, False, True, False, False]
    follows = ARM.with_joint(ARM.movable[3], extra=f'<mimic joint="{ARM.movable[2]}"/>')
    assert not RobotModel.from_urdf(follows.urdf).continuous.any()

"""`joints` and `locked`: which joints are controlled, in which order; the rest act as fixed joints."""

from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotModel, RobotModelError

ARM = arms.random_arm(
    np.random.default_rng(12),
    [0, 1, 2, 2, 4],
    ["revolute", "prismatic", "continuous", "revolute", "revolute"],
)


@given(arm=arms.trees(), data=st.data())
def test_order_permutes_every_vector(arm: arms.Arm, data: st.DataObject) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    order = data.draw(st.permutations(list(model.joint_names)))
    permuted = RobotModel.from_urdf(arm.urdf, joints=order)
    assert list(permuted.joint_names) == order
    index = [list(model.joint_names).index(name) for name in order]
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    tau, m = model.inverse_dynamics(q, qd, qdd), model.mass_matrix(q)
    scale = float(np.abs(tau).max())
    assert_close(permuted.inverse_dynamics(q[index], qd[index], qdd[index]), tau[index], 1e-12, scale)
    assert_close(permuted.mass_matrix(q[index]), m[np.ix_(index, index)], 1e-12)
    assert_close(permuted.forward_dynamics(q[index], qd[index], tau[index]), qdd[index], 1e-9)
    assert_close(permuted.gravity_torque(q[index]), model.gravity_torque(q)[index], 1e-12, scale)


@given(arm=arms.trees(), data=st.data())
def test_locked_joints_act_as_fixed(arm: arms.Arm, data: st.DataObject) -> None:
    """Against pinocchio.buildReducedModel."""
    names = arm.movable
    keep = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    rng = np.random.default_rng(arm.seed + 2)
    locked = {name: float(rng.uniform(-2, 2)) for name in names if name not in keep}
    gravity = [1.0, 2.0, -9.0]
    model = RobotModel.from_urdf(arm.urdf, joints=keep, locked=locked, gravity=gravity)
    assert list(model.joint_names) == keep
    peer = Peer(arm.urdf, names, gravity).locked(locked, keep)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    expected = peer.rnea(q, qd, qdd)
    assert_close(model.inverse_dynamics(q, qd, qdd), expected, 1e-10, float(np.abs(peer.crba(q)).max() * 50))
    assert_close(model.mass_matrix(q), peer.crba(q), 1e-11)


def test_wrench_on_a_link_behind_a_locked_joint() -> None:
    """The wrench stays in the link's own frame.

    The torque equals that of the whole arm at rest in the same pose.
    """
    locked = {ARM.movable[1]: 0.4, ARM.movable[4]: -1.0}
    keep = [name for name in ARM.movable if name not in locked]
    full = RobotModel.from_urdf(ARM.urdf)
    model = RobotModel.from_urdf(ARM.urdf, joints=keep, locked=locked)
    q = dict(zip(keep, (0.3, -0.8, 1.1), strict=True)) | locked
    wrench = {
        ARM.links[5].name: [1.0, -2.0, 3.0, 0.4, 0.5, -0.6],
        ARM.links[2].name: [4.0, 5.0, 6.0, 1.0, 1.0, 1.0],
    }
    whole = full.inverse_dynamics(
        [q[name] for name in full.joint_names], np.zeros(5), np.zeros(5), external_wrenches=wrench
    )
    expected = [whole[list(full.joint_names).index(name)] for name in keep]
    got = model.inverse_dynamics([q[name] for name in keep], np.zeros(3), np.zeros(3), external_wrenches=wrench)
    assert_close(got, expected, 1e-12)


def test_subset_without_locked_positions_is_refused() -> None:
    with pytest.raises(RobotModelError, match=ARM.movable[4]):
        RobotModel.from_urdf(ARM.urdf, joints=ARM.movable[:4])


def test_locked_alone_leaves_the_rest() -> None:
    model = RobotModel.from_urdf(ARM.urdf, locked={ARM.movable[0]: 0.0})
    assert sorted(model.joint_names) == sorted(ARM.movable[1:])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RobotModelError, match="(?s)(?=.*shoulder)(?=.*joint)"):
        RobotModel.from_urdf(ARM.urdf, joints=[*ARM.movable, "shoulder"])
    with pytest.raises(RobotModelError, match="shoulder"):
        RobotModel.from_urdf(ARM.urdf, locked={"shoulder": 0.0})


def test_contradictions_are_refused() -> None:
    first = ARM.movable[0]
    with pytest.raises(RobotModelError, match=first):
        RobotModel.from_urdf(ARM.urdf, joints=[*ARM.movable, first])
    with pytest.raises(RobotModelError, match=first):
        RobotModel.from_urdf(ARM.urdf, joints=ARM.movable, locked={first: 0.0})


@pytest.mark.parametrize("position", [float("nan"), float("inf"), "bent", None])
def test_locked_positions_are_finite_numbers(position: object) -> None:
    with pytest.raises(RobotModelError, match=ARM.movable[0]):
        RobotModel.from_urdf(ARM.urdf, locked={ARM.movable[0]: position})  # type: ignore[dict-item]


def test_everything_locked_is_refused() -> None:
    with pytest.raises(RobotModelError, match="joint"):
        RobotModel.from_urdf(ARM.urdf, locked=dict.fromkeys(ARM.movable, 0.0))


def test_limits_follow_the_order() -> None:
    arm = ARM
    for k, name in enumerate(ARM.movable):
        arm = arm.with_joint(
            name, limit=f'<limit lower="-{k + 1}" upper="{k + 2}" effort="{k + 3}" velocity="{k + 4}"/>'
        )
    order = [ARM.movable[3], ARM.movable[0]]
    model = RobotModel.from_urdf(
        arm.urdf, joints=order, locked={name: 0.0 for name in ARM.movable if name not in order}
    )
    assert_close(model.position_lower, [-4, -1], 0.0)
    assert_close(model.position_upper, [5, 2], 0.0)
    assert_close(model.effort_limits, [6, 3], 0.0)
    assert_close(model.velocity_limits, [7, 4], 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"locked": ["joint"]}, "locked: .* gives no positions"),
        ({"locked": {ARM.movable[0]: 10**400}}, f'locked: joint "{ARM.movable[0]}": .* is not finite'),
        ({"joints": 5}, "joints: 5 is no list"),
        ({"joints": np.array("a")}, "is no list"),
        ({"joints": ARM.movable[0]}, "is no list"),
        ({"joints": set(ARM.movable)}, "is no list"),
        ({"joints": [[name] for name in ARM.movable]}, f"joints: .*{ARM.movable[0]}"),
        ({"dynamics": 5}, "5 is no path of a dynamics file"),
        ({"dynamics": "arm\0.yaml"}, r"arm\0.yaml: cannot read the dynamics file"),
    ],
)
def test_arguments_of_another_kind(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RobotModelError, match=message):
        RobotModel.from_urdf(ARM.urdf, **arguments)


def test_repr_names_what_was_chosen() -> None:
    first, *others = ARM.movable
    chosen = RobotModel.from_urdf(ARM.urdf, joints=others, locked={first: 0.25}, gravity=[0, 0, -1.62])
    text = repr(chosen.with_payload(ARM.links[3].name, 1.5, [0, 0, 0], [0] * 6).customised())
    for part in (*others, f"{first} at 0.25", "-1.62", f"1.5 kg on '{ARM.links[3].name}'", "customised"):
        assert part in text
    plain = repr(RobotModel.from_urdf(ARM.urdf))
    assert not any(word in plain for word in ("payload", "locked", "customised"))


def test_joints_that_slide() -> None:
    """By the URDF: the second and no other; a locked one does not move."""
    model = RobotModel.from_urdf(ARM.urdf)
    assert model.prismatic_joints == {ARM.movable[1]}
    others = [name for name in ARM.movable if name != ARM.movable[1]]
    assert not RobotModel.from_urdf(ARM.urdf, joints=others, locked={ARM.movable[1]: 0.1}).prismatic_joints


def test_continuous_joints_keep_their_mark_unless_another_follows() -> None:
    order = ARM.movable[::-1]
    model = RobotModel.from_urdf(ARM.urdf, joints=order)
    model = model.with_payload(model.link_names[1], 1.0, [0.0] * 3, np.eye(3))
    assert model.without_gravity().continuous.tolist() == [False, False, True, False, False]
    follows = ARM.with_joint(ARM.movable[3], extra=f'<mimic joint="{ARM.movable[2]}"/>')
    assert not RobotModel.from_urdf(follows.urdf).continuous.any()

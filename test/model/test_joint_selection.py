"""`joints` and `locked`; `test_couplings.py` has what is refused, test/kernels/test_couplings.py their dynamics."""

import numpy as np

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close

KINDS = ["revolute", "prismatic", "continuous", "revolute", "revolute"]
ARM = arms.random_arm(np.random.default_rng(12), [0, 1, 2, 2, 4], KINDS)


def test_limits_follow_the_order() -> None:
    arm = ARM
    for k, name in enumerate(ARM.movable):
        limit = f'<limit lower="-{k + 1}" upper="{k + 2}" effort="{k + 3}" velocity="{k + 4}"/>'
        arm = arm.with_joint(name, limit=limit)
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

"""Arms whose coupled joints have limits: a follower, a differential, and random ones for hypothesis."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from support import arms
from support.robots_with_drives import load

Array = arms.Array


Limits = list[tuple[float, float, float]]


def tree(limits: Limits) -> arms.Arm:
    """Return a vertical chain of joints j1, j2 and so on, with lower, upper and velocity limits."""
    links = tuple(
        arms.Link(f"l{k}", 1.0, (0.1, 0, 0.1), 0.02 * np.eye(3))
        for k in range(1, len(limits) + 1)
    )
    text = '<limit lower="{}" upper="{}" velocity="{}" effort="50"/>'
    joints = tuple(
        arms.Joint(
            f"j{k}",
            "revolute",
            f"l{k - 1}",
            f"l{k}",
            (0, 0, 0.2),
            limit=text.format(*limit),
        )
        for k, limit in enumerate(limits, 1)
    )
    return arms.Arm((arms.Link("l0"), *links), joints)


def chain(limits: Limits, dynamics: dict[str, Any]) -> RobotModel:
    """Return the arm of ``tree`` with couplings."""
    return load(tree(limits), dynamics)


def follower() -> RobotModel:
    """Return an arm with j2 = -2 j1, within +-1 rad and 3 rad/s; j1 alone would reach 2 rad and 5 rad/s."""
    return chain([(-2, 2, 5), (-1, 1, 3)], {"couplings": {"j2": {"j1": -2.0}}})


def differential() -> RobotModel:
    """Return a wrist of two motors: j1 = (a + b) / 2 within +-0.5 rad, j2 = (a - b) / 2 + 0.1 within +-1 rad."""
    rows = {"j1": {"a": 0.5, "b": 0.5}, "j2": {"a": 0.5, "b": -0.5, "offset": 0.1}}
    return chain(
        [(-0.5, 0.5, 2), (-1, 1, 3)], {"coordinates": ["a", "b"], "couplings": rows}
    )


@st.composite
def coupled_arms(draw: st.DrawFn) -> RobotModel:
    """Return an arm of four joints, two of which depend on the others, with limits around 0."""
    factor = st.floats(0.2, 3.0).flatmap(lambda x: st.sampled_from([x, -x]))
    rows = {
        name: dict(
            zip(
                draw(st.permutations(["j1", "j2"])),
                draw(st.lists(factor, min_size=1, max_size=2)),
                strict=False,
            )
        )
        | {"offset": draw(st.floats(-0.3, 0.3))}
        for name in ("j3", "j4")
    }
    size = st.floats(0.4, 2.0)
    return chain(
        [(-draw(size), draw(size), draw(size)) for _ in range(4)], {"couplings": rows}
    )


def joint_motion(model: RobotModel, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """Return rates, and positions above the lower and below the upper limits, of all moving joints (..., joints)."""
    matrix = model.coupling_matrix[: len(model.moving_joints)]
    limits = model.moving_joint_limits
    positions = q @ matrix.T
    return qd @ matrix.T, positions - limits[:, 0], limits[:, 1] - positions

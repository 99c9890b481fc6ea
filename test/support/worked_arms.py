"""URDFs of the worked examples, built from the parameters of an oracle."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from oracles import (
    lavalle_two_link,
    spong_cartesian,
    spong_elbow,
    spong_five_bar,
    tsai_planar_3r,
    tsai_pointer,
    tsai_spatial_3r,
)
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotModelWarning
from support import arms
from support.arms import Arm, Array, Joint, Link

IN_PLANE = (0.0, -1.0, 0.0)
DOWN = (0.0, 0.0, -1.0)
UP_TURN = (np.pi / 2, 0.0, 0.0)  # z becomes horizontal, y upwards


def load(arm: Arm, gravity: Sequence[float], **keywords: Any) -> RobotModel:
    """Return the model; massless links are intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        return RobotModel.from_urdf(arm.urdf, gravity=gravity, **keywords)


def chain(*parts: tuple[Joint, Link]) -> Arm:
    """Return links in series from "base"; joints and links have default values."""
    links = [Link("base")]
    joints = []
    for k, (joint, link) in enumerate(parts, start=1):
        links.append(Link(f"link{k}", link.mass, link.com, link.inertia))
        joints.append(
            Joint(
                f"joint{k}",
                joint.type,
                links[-2].name,
                links[-1].name,
                joint.xyz,
                joint.rpy,
                joint.axis,
            )
        )
    return Arm(tuple(links), tuple(joints))


def turning(
    xyz: Sequence[float] = (0, 0, 0), rpy: Sequence[float] = (0, 0, 0)
) -> Joint:
    return Joint("", "revolute", "", "", xyz=xyz, rpy=rpy)


def sliding(axis: Sequence[float]) -> Joint:
    return Joint("", "prismatic", "", "", axis=axis)


def about_z(izz: float) -> Array:
    """Return the inertia of a planar link; only izz matters."""
    return np.diag([0.6, 0.7, 1.0]) * izz


def pointer(p: tsai_pointer.Parameters) -> Arm:
    rod = Link("", p.m, (p.length / 2, 0, 0), arms.thin_rod(p.m, p.length))
    return chain((turning(), Link("")), (turning(rpy=UP_TURN), rod))


def planar_3r(p: tsai_planar_3r.Parameters) -> Arm:
    rods = [
        (a, Link("", m, (a / 2, 0, 0), arms.thin_rod(m, a)))
        for a, m in ((p.a1, p.m1), (p.a2, p.m2), (p.a3, p.m3))
    ]
    starts = (0.0, p.a1, p.a2)
    return chain(
        *((turning((x, 0, 0)), rod) for x, (_, rod) in zip(starts, rods, strict=True))
    )


def spatial_3r(p: tsai_spatial_3r.Parameters) -> Arm:
    point = Link("", p.m, (p.a3, 0, 0))
    return chain(
        (turning(), Link("")),
        (turning(rpy=UP_TURN), Link("")),
        (turning((p.a2, 0, 0)), point),
    )


def cartesian(p: spong_cartesian.Parameters) -> Arm:
    return chain(
        (sliding((0, 0, 1)), Link("", p.m1, (0.1, 0, 0))),
        (sliding((0, 1, 0)), Link("", p.m2, (0, 0, 0.2))),
    )


def elbow(p: spong_elbow.Parameters) -> Arm:
    first = Link("", p.m1, (p.lc1, 0, 0), about_z(p.i1))
    return chain(
        (turning(), first),
        (turning((p.l1, 0, 0)), Link("", p.m2, (p.lc2, 0, 0), about_z(p.i2))),
    )


def lavalle(p: lavalle_two_link.Parameters) -> Arm:
    return elbow(spong_elbow.Parameters(p.d1, p.l1, p.l2, p.m1, p.m2, p.i1, p.i2))


def five_bar(p: spong_five_bar.Parameters) -> Arm:
    """Return links 1 and 2 at the base, 3 at the end of 2, 4 at the end of 1; the loop closes at tip3 and tip4."""
    masses = {
        1: (p.m1, p.lc1, p.i1),
        2: (p.m2, p.lc2, p.i2),
        3: (p.m3, p.lc3, p.i3),
        4: (p.m4, p.lc4, p.i4),
    }
    bars = [
        Link(f"link{k}", m, (lc, 0, 0), about_z(izz))
        for k, (m, lc, izz) in masses.items()
    ]
    return Arm(
        (Link("base"), *bars, Link("tip3"), Link("tip4")),
        (
            Joint("joint1", "continuous", "base", "link1"),
            Joint("joint2", "continuous", "base", "link2"),
            Joint("joint3", "continuous", "link2", "link3", (p.l2, 0, 0)),
            Joint("joint4", "continuous", "link1", "link4", (p.l1, 0, 0)),
            Joint("tip3_joint", "fixed", "link3", "tip3", (p.l1, 0, 0)),
            Joint("tip4_joint", "fixed", "link4", "tip4", (-p.l2, 0, 0)),
        ),
    )

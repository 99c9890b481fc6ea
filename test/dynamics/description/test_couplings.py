"""q_tree = G q + c: independent coordinates, dependent joints, and the argument ``joints``."""

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels.layout import AFTER, FIRST
from robot_dynamics_ros.dynamics.model.model_data import ModelData
from support import arms
from support.arms import model_data
from support.comparing import assert_close

CHAIN = arms.random_arm(np.random.default_rng(4), [0, 1, 2, 3], ["revolute"] * 4)
A, B, C, D = CHAIN.movable


def mimic(arm: arms.Arm, name: str, source: str, attributes: str = "") -> arms.Arm:
    """Return the arm with a mimic joint."""
    return arm.with_joint(name, extra=f'<mimic joint="{source}" {attributes}/>')


def matrix(model: ModelData) -> arms.Array:
    """Return G (bodies, n) from the model arrays."""
    robot = model.robot
    g = np.zeros((len(model.moving_joints), len(model.joint_names)))
    for row, (first, after) in enumerate(robot.tree[: len(g), [FIRST, AFTER]]):
        np.add.at(g[row], robot.coordinates[first:after], robot.factors[first:after])
    return g


# --- What is independent, and G


def test_mimics_in_a_chain() -> None:
    """A mimic joint can precede the joint it follows; b = -2 d + 0.1, a = 3 b + 1 = -6 d + 1.3."""
    model = model_data(
        mimic(
            mimic(CHAIN, A, B, 'multiplier="3" offset="1"'),
            B,
            D,
            'multiplier="-2" offset="0.1"',
        )
    )
    assert model.joint_names == (C, D)
    assert_close(matrix(model), [[0, -6], [0, -2], [1, 0], [0, 1]], 1e-15)
    # Kernels do not know the offsets, so limits of position are less them.
    assert_close(
        model_data(CHAIN).limits.joints - model.limits.joints,
        np.outer([1.3, 0.1, 0, 0], [1, 1, 0]),
        1e-13,
    )


def test_file_overrides_the_mimic() -> None:
    model = model_data(
        mimic(CHAIN, C, A, 'multiplier="5"'), {"couplings": {C: {B: 0.5, D: 2.0}}}
    )
    assert model.joint_names == (A, B, D)
    assert np.array_equal(matrix(model), [[1, 0, 0], [0, 1, 0], [0, 0.5, 2], [0, 0, 1]])


def test_remotely_driven_elbow() -> None:
    """Spong section 9.4: p1 and p2 are absolute angles of the links, so that joint 2 rotates by p2 - p1."""
    model = model_data(
        CHAIN,
        {
            "coordinates": ["p1", "p2"],
            "couplings": {A: {"p1": 1.0}, B: {"p1": -1.0, "p2": 1.0}},
        },
    )
    assert model.joint_names == (C, D, "p1", "p2")
    assert np.array_equal(
        matrix(model), [[0, 0, 1, 0], [0, 0, -1, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    )
    assert np.isfinite(model.limits.effort).all()
    assert (
        np.isfinite(model.limits.rows.limits).tolist()
        == [[True, True, True, False, True]] * 5
    )  # p1 as A; B


def test_mimic_is_pinocchios() -> None:
    """Compared with Pinocchio's mimic joints, one with the default multiplier and offset."""
    arm = mimic(mimic(CHAIN, C, A, 'multiplier="-0.7" offset="0.3"'), D, B)
    model = RobotModel.from_urdf(arm.urdf)
    peer = pin.buildModelFromXML(arm.urdf, mimic=True)
    assert peer.nv == 2 and [peer.names[i] for i in peer.mimicking_joints] == [C, D]
    q, qd, qdd = (x[0] for x in arms.states(3, 2, 1))
    assert_close(
        model.inverse_dynamics(q, qd, qdd),
        pin.rnea(peer, peer.createData(), q, qd, qdd),
        1e-12,
        100.0,
    )
    upper = np.triu(pin.crba(peer, peer.createData(), q))
    assert_close(model.mass_matrix(q), upper + np.triu(upper, 1).T, 1e-12)


# --- Locked and constant


def test_mimic_of_a_locked_joint_is_locked() -> None:
    """b = 2 a + 0.1 with a locked at 0.4 equals both locked, at 0.4 and 0.9. A locked b does not follow a."""
    arm = mimic(CHAIN, B, A, 'multiplier="2" offset="0.1"')
    assert_same(
        model_data(arm, joints=[D, C], locked={A: 0.4}),
        model_data(CHAIN, joints=[D, C], locked={A: 0.4, B: 0.9}),
    )
    assert_same(model_data(arm, locked={B: 0.3}), model_data(CHAIN, locked={B: 0.3}))


@pytest.mark.parametrize("row", [{"offset": 0.7}, {B: 0.0, "offset": 0.7}])
def test_row_without_factors_is_a_locked_joint(row: dict[str, float]) -> None:
    assert_same(
        model_data(CHAIN, {"couplings": {A: row}}), model_data(CHAIN, locked={A: 0.7})
    )


def test_factors_that_cancel_are_dropped() -> None:
    """b = a - a is locked."""
    content = {
        "coordinates": ["p"],
        "couplings": {A: {"p": 1.0}, B: {"p": -1.0, A: 1.0}},
    }
    assert model_data(CHAIN, content).moving_joints == (A, C, D)


def assert_same(model: ModelData, expected: ModelData) -> None:
    assert (
        model.joint_names == expected.joint_names
        and model.moving_joints == expected.moving_joints
    )
    assert np.array_equal(model.topology, expected.topology)
    assert_close(model.parameters, expected.parameters, 1e-14)


# --- Errors

BASE = {"coordinates": ["p"], "couplings": {A: {"p": 1.0}}}
TOOL = arms.replace(
    CHAIN, joints=(*CHAIN.joints[:3], arms.replace(CHAIN.joints[3], type="fixed"))
)
FREE = {"carrier": "none", "inertia": 1.0}
CYCLE = {"couplings": {D: {C: 1.0}, B: {C: 1.0, A: 1.0}, C: {B: 2.0}}}
HUGE_RATIO = {"couplings": {A: {B: 1e200}}, "rotors": [{**FREE, "ratio": {A: -1e200}}]}
FLYWHEEL = {"coordinates": ["p"], "rotors": [{**FREE, "ratio": {"p": 1.0}}]}

#: Arm, dynamics file, keywords, and what the message names.
BAD: dict[str, tuple[arms.Arm, dict[str, Any], dict[str, Any], str]] = {
    "unknown_joint": (CHAIN, {"couplings": {"thumb": {A: 1.0}}}, {}, "arm.yaml.*thumb"),
    "joint_dynamics_of_a_fixed_joint": (
        TOOL,
        {"joints": {D: {"viscous": 1.0}}},
        {},
        f"arm.yaml.*{D}",
    ),
    "row_of_a_coordinate": (
        CHAIN,
        {**BASE, "couplings": {"p": {A: 1.0}}},
        {},
        'arm.yaml.*"p"',
    ),
    "unknown_source": (
        CHAIN,
        {"couplings": {B: {"thumb": 1.0}}},
        {},
        f"arm.yaml.*{B}.*thumb",
    ),
    "fixed_source": (TOOL, {"couplings": {B: {D: 1.0}}}, {}, f"arm.yaml.*{B}.*{D}"),
    "rotor_of_an_unknown_joint": (
        CHAIN,
        {"rotors": [{**FREE, "ratio": {"thumb": 1.0}}]},
        {},
        r"rotors\[0\].*thumb",
    ),
    "itself": (CHAIN, {"couplings": {B: {B: 2.0}}}, {}, f"arm.yaml.*{B}.*cycle"),
    "cycle": (CHAIN, CYCLE, {}, f"arm.yaml(?=.*{B})(?=.*{C})(?!.*{D}.*cycle).*cycle"),
    "cycle_with_a_mimic": (
        mimic(CHAIN, B, A),
        {"couplings": {A: {B: 1.0}}},
        {},
        f"(?=.*{A})(?=.*{B}).*cycle",
    ),
    "coordinate_named_as_a_joint": (CHAIN, {"coordinates": [A]}, {}, f"arm.yaml.*{A}"),
    "idle_coordinate": (
        CHAIN,
        {**BASE, "coordinates": ["p", "spare"]},
        {},
        "arm.yaml.*spare",
    ),
    "coordinate_of_factor_zero": (
        CHAIN,
        {**BASE, "couplings": {A: {"p": 0.0}}},
        {},
        'arm.yaml.*"p"',
    ),
    "coordinate_of_locked_joints": (CHAIN, BASE, {"locked": {A: 0.0}}, 'arm.yaml.*"p"'),
    "too_large": (
        CHAIN,
        {"couplings": {A: {B: 1e200}, B: {C: 1e200}}},
        {},
        f"arm.urdf.*{A}",
    ),
    "too_large_ratio": (CHAIN, HUGE_RATIO, {}, r"arm.yaml.*rotors\[0\]"),
    "follower_in_joints": (
        mimic(CHAIN, B, A),
        {},
        {"joints": [A, B, C, D]},
        f"joints.*{B}.*{A}",
    ),
    "still_in_joints": (
        CHAIN,
        {"couplings": {B: {}}},
        {"joints": CHAIN.movable},
        f"joints.*{B}",
    ),
    "unknown_in_joints": (CHAIN, {}, {"joints": [*CHAIN.movable, "x"]}, 'joints.*"x"'),
    "twice_in_joints": (CHAIN, {}, {"joints": [*CHAIN.movable, A]}, f"joints.*{A}"),
    "locked_and_in_joints": (
        mimic(CHAIN, B, A),
        {},
        {"joints": [A, B, C, D], "locked": {B: 1.0}},
        B,
    ),
    "joints_of_lists": (
        CHAIN,
        {},
        {"joints": [[name] for name in CHAIN.movable]},
        f"joints.*{A}",
    ),
    "joints_a_number": (CHAIN, {}, {"joints": 5}, "joints: 5"),
    "joints_an_array_without_axes": (CHAIN, {}, {"joints": np.array("a")}, "joints"),
    "joints_one_name": (CHAIN, {}, {"joints": A}, f"joints: '{A}'"),
    "joints_a_set": (CHAIN, {}, {"joints": set(CHAIN.movable)}, "joints"),
    "locked_a_list": (CHAIN, {}, {"locked": [A]}, f"locked: .*{A}"),
    "unknown_in_locked": (CHAIN, BASE, {"locked": {"x": 0.0}}, 'locked.*"x"'),
    "locked_at_nan": (CHAIN, BASE, {"locked": {"p": np.nan}}, 'locked.*"p".*nan'),
    "locked_at_a_word": (CHAIN, {}, {"locked": {A: "bent"}}, f"locked.*{A}.*bent"),
    "locked_at_a_huge_integer": (CHAIN, {}, {"locked": {A: 10**400}}, f"locked.*{A}"),
    "nothing_moves": (
        CHAIN,
        {"couplings": {A: {}, B: {A: 1.0}, C: {}, D: {}}},
        {},
        "arm.urdf",
    ),
    "only_a_rotor_moves": (
        CHAIN,
        FLYWHEEL,
        {"locked": dict.fromkeys(CHAIN.movable, 0.0)},
        "arm.urdf",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_impossible_couplings_are_refused(name: str) -> None:
    arm, content, keywords, culprit = BAD[name]
    with pytest.raises(RobotModelError, match=culprit):
        model_data(arm, content, **keywords)


def test_long_chains_do_not_recurse() -> None:
    """A chain of 1500 joints, each following the next."""
    n = 1500
    follow = [f'<mimic joint="j{k + 1}"/>' for k in range(n - 1)] + [""]
    arm = arms.Arm(
        tuple(arms.Link(f"l{k}") for k in range(n + 1)),
        tuple(
            arms.Joint(f"j{k}", "continuous", "l0", f"l{k + 1}", extra=follow[k])
            for k in range(n)
        ),
    )
    with pytest.warns(UserWarning):
        model = model_data(arm)
    assert model.joint_names == (f"j{n - 1}",)
    assert np.array_equal(matrix(model), np.ones((n, 1)))


# --- What is chosen

KINDS = ["revolute", "prismatic", "continuous", "revolute", "revolute"]
TREE = arms.random_arm(np.random.default_rng(12), [0, 1, 2, 2, 4], KINDS)


def test_limits_follow_the_order() -> None:
    arm = TREE
    for k, name in enumerate(TREE.movable):
        limit = f'<limit lower="-{k + 1}" upper="{k + 2}" effort="{k + 3}" velocity="{k + 4}"/>'
        arm = arm.with_joint(name, limit=limit)
    order = [TREE.movable[3], TREE.movable[0]]
    locked = {name: 0.0 for name in TREE.movable if name not in order}
    model = RobotModel.from_urdf(arm.urdf, joints=order, locked=locked)
    assert_close(model.position_lower, [-4, -1], 0.0)
    assert_close(model.position_upper, [5, 2], 0.0)
    assert_close(model.effort_limits, [6, 3], 0.0)
    assert_close(model.velocity_limits, [7, 4], 0.0)


def test_a_named_coordinate_has_the_effort_of_its_joints() -> None:
    """The largest G^T tau of efforts within the limits, which corners attain; a joint without a limit has none."""
    arm = TREE
    limits = np.array([3.0, 4.0, 5.0, 6.0, 7.0])
    for name, effort in zip(arm.movable, limits, strict=True):
        limit = f'<limit lower="-1" upper="1" effort="{effort}" velocity="2"/>'
        arm = arm.with_joint(name, limit=limit)
    a, b, c, *_ = arm.movable
    rows = {a: {"p1": 2.0}, b: {"p1": -0.5, "p2": 3.0}, c: {a: -1.0, "p2": 1.0}}
    file = {"coordinates": ["p1", "p2"], "couplings": rows}
    model = model_data(arm, file)
    table = dict(zip(arm.movable, limits, strict=True))
    ordered = np.array([table[name] for name in model.moving_joints])
    corners = np.array(np.meshgrid(*[(-1.0, 1.0)] * 5)).reshape(5, -1).T * ordered
    assert_close(model.limits.effort, (corners @ matrix(model)).max(axis=0), 1e-12)
    free = arm.with_joint(b, limit='<limit lower="-1" upper="1" velocity="2"/>')
    found = model_data(free, file)
    unlimited = [name in ("p1", "p2") for name in found.joint_names]
    assert np.isinf(found.limits.effort).tolist() == unlimited


def test_repr_names_the_choices() -> None:
    first, *others = TREE.movable
    chosen = RobotModel.from_urdf(
        TREE.urdf, joints=others, locked={first: 0.25}, gravity=[0, 0, -1.62]
    )
    text = repr(
        chosen.with_payload(TREE.links[3].name, 1.5, [0, 0, 0], [0] * 6).customised()
    )
    for part in (
        *others,
        f"{first} at 0.25",
        "-1.62",
        f"1.5 kg on '{TREE.links[3].name}'",
        "customised",
    ):
        assert part in text
    plain = repr(RobotModel.from_urdf(TREE.urdf))
    assert not any(word in plain for word in ("payload", "locked", "customised"))


def test_prismatic_joints() -> None:
    """Only the second joint of the URDF is prismatic; a locked one does not move."""
    assert RobotModel.from_urdf(TREE.urdf).prismatic_joints == {TREE.movable[1]}
    assert not RobotModel.from_urdf(
        TREE.urdf, locked={TREE.movable[1]: 0.1}
    ).prismatic_joints


def test_joints_are_continuous_unless_another_follows() -> None:
    model = RobotModel.from_urdf(TREE.urdf, joints=TREE.movable[::-1])
    model = model.with_payload(model.link_names[1], 1.0, [0.0] * 3, np.eye(3))
    assert model.without_gravity().continuous.tolist() == [
        False,
        False,
        True,
        False,
        False,
    ]
    follows = TREE.with_joint(
        TREE.movable[3], extra=f'<mimic joint="{TREE.movable[2]}"/>'
    )
    assert not RobotModel.from_urdf(follows.urdf).continuous.any()

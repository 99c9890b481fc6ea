"""Craig's chapters 5 and 6, METR4202 and ME5118 at the end effector: oracles against derivations and our model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracles import (
    craig_cartesian_2r,
    craig_jacobians,
    craig_planar_2r,
    craig_rp,
    lagrange,
    me5118_cartesian,
    metr4202,
    metr4202_statics,
    tsai_planar_2r,
)
from oracles.lagrange import Array
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks import propagation
from robot_dynamics_ros.textbooks.cartesian_dynamics import (
    Task,
    cartesian_dynamics,
    configuration_space_form,
    joint_rates,
    require_regular,
    smallest_singular_value,
)
from robot_dynamics_ros.textbooks.propagation import force_transform, inverse_pose
from support import arms
from support.comparing import assert_close
from support.worked_arms import chain

L1 = 0.7
L2 = 0.4
# Alpha, a, d and theta of the PUMA 560
PUMA = [
    [0, 0, 0, 0],
    [-np.pi / 2, 0, 0, 0],
    [0, 0.4318, 0.1254, 0],
    [-np.pi / 2, 0.0203, 0.4318, 0],
    [np.pi / 2, 0, 0, 0],
    [-np.pi / 2, 0, 0, 0],
]
STATES = list(zip(*arms.states(8, 2, 4)[:2], strict=True))


def _two_links(l1: float = L1, l2: float = L2) -> RobotModel:
    rod = arms.Link("", 1.0, (0.2, 0, 0), arms.thin_rod(1.0, 0.4))
    return RobotModel.from_urdf(arms.planar_2r(l1, l2, rod, rod).urdf)


def test_example_5_2() -> None:
    """E of (5.42) against dR/dt R^T, (5.39), with R = Rz Ry Rz by a complex step."""

    def turned(angles: Any) -> Any:
        (ca, cb, cc) = np.cos(angles)
        (sa, sb, sc) = np.sin(angles)
        first = np.array([[ca, -sa, 0], [sa, ca, 0], [0, 0, 1]])
        middle = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
        return first @ middle @ np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])

    angles = np.array([-2.0, 0.4, 2.5])
    rates = np.array([0.7, -1.3, 0.4])
    spin = (turned(angles + 1e-30j * rates).imag / 1e-30) @ turned(angles).T
    w = craig_jacobians.zyz_rates_to_angular_velocity(*angles[:2]) @ rates
    assert_close([spin[2, 1], spin[0, 2], spin[1, 0]], w, 1e-14)


def test_exercise_5_16_is_example_5_2() -> None:
    """A wrist with the axes z, y, z has the matrix E as its angular Jacobian."""
    joints = [
        arms.Joint("", "continuous", "", "", axis=axis)
        for axis in ((0, 0, 1), (0, 1, 0), (0, 0, 1))
    ]
    model = RobotModel.from_urdf(
        chain(
            *((joint, arms.Link("", 1.0, inertia=np.eye(3))) for joint in joints)
        ).urdf
    )
    e = craig_jacobians.zyz_rates_to_angular_velocity(0.3, 1.1)
    assert_close(model.jacobian([0.3, 1.1, -0.6], "link3")[3:], e, 1e-14)


@pytest.mark.parametrize(("q", "qd"), STATES)
def test_example_5_3(q: Array, qd: Array) -> None:
    """(5.50)-(5.57), (5.66), (5.67)."""
    model = _two_links()
    w, v = propagation.link_velocities(LinkTree.of(model), q, qd)
    expected_w, expected_v = craig_jacobians.link_velocities(L1, L2, q, qd)
    assert_close(w, expected_w[:2], 1e-14)
    assert_close(v, expected_v[:2], 1e-14)
    tip = propagation.frame_velocity(model, q, qd, "tool")
    assert_close(tip, [*expected_v[2], *expected_w[2]], 1e-14)
    assert_close(
        (model.jacobian(q, "tool") @ qd)[:3],
        craig_jacobians.end_velocity(L1, L2, q, qd),
        1e-14,
    )
    in_tip = craig_jacobians.jacobian_in_end_frame(L1, L2, q)
    in_base = craig_jacobians.jacobian_in_base_axes(L1, L2, q)
    assert_close(propagation.velocity_jacobian(model, q, "tool")[:2], in_tip, 1e-14)
    assert_close(model.jacobian(q, "tool")[:2], in_base, 1e-14)
    # Example 5.4 (5.73): the same determinant in all axes.
    for j in (in_tip, in_base):
        assert np.linalg.det(j) == pytest.approx(
            craig_jacobians.determinant(L1, L2, q), abs=1e-14
        )


def test_axes_of_a_jacobian() -> None:
    """Frame 0, the upright base and the end effector: (5.67), (5.66), and y0 along z of the base."""
    model = RobotModel.shipped("craig_2r", l1=L1, l2=L2)
    q = np.array([q for q, _ in STATES])
    in_0 = np.array([craig_jacobians.jacobian_in_base_axes(L1, L2, x) for x in q])
    in_tip = [craig_jacobians.jacobian_in_end_frame(L1, L2, x) for x in q]
    assert_close(model.jacobian(q, "link3", axes="link0")[:, :2], in_0, 1e-14)
    assert_close(model.jacobian(q, "link3", axes="link3")[:, :2], in_tip, 1e-14)
    assert_close(
        model.jacobian(q, "link3", axes="link0")[:, 3:],
        [[[0, 0], [0, 0], [1, 1]]] * len(q),
        1e-14,
    )
    for in_base in (
        model.jacobian(q, "link3"),
        model.jacobian(q, "link3", axes="base_link"),
    ):
        assert_close(in_base[:, [0, 2]], in_0, 1e-14)
    with pytest.raises(RobotDynamicsError, match="link4"):
        model.jacobian(q, "link3", axes="link4")


def test_example_5_4() -> None:
    """Stretched or folded the arm cannot move along itself."""
    for fold in (0.0, np.pi):
        j = craig_jacobians.jacobian_in_base_axes(L1, L2, np.array([0.4, fold]))
        assert smallest_singular_value(j) < 1e-15
        assert_close(np.array([np.cos(0.4), np.sin(0.4)]) @ j, np.zeros(2), 1e-15)
    q = np.array([0.4, 1.1])
    j = craig_jacobians.jacobian_in_base_axes(L1, L2, q)
    # of both singular values
    product = smallest_singular_value(j) * np.linalg.norm(j, 2)
    assert product == pytest.approx(craig_jacobians.determinant(L1, L2, q), rel=1e-14)


def test_example_5_5() -> None:
    """(5.74), (5.75): rates for 1 m/s along X0, which grow as 1 / sin(q2)."""
    model = _two_links()
    largest = []
    for bend in (1.0, 0.1, 0.01, 0.001):
        q = np.array([0.4, bend])
        j = craig_jacobians.jacobian_in_base_axes(L1, L2, q)
        rates = joint_rates(model.jacobian(q, "tool")[:2], [1.0, 0.0], q)
        assert_close(craig_jacobians.inverse_jacobian(L1, L2, q) @ j, np.eye(2), 1e-11)
        assert_close(rates, craig_jacobians.rates_along_x(L1, L2, q), 1e-10)
        largest.append(np.abs(rates).max())
    assert (
        largest[0] < 5.0
        and largest[2] / largest[1] == pytest.approx(10.0, rel=0.1)
        and largest[3] > 1000.0
    )


def test_example_5_6(load_robot: Callable[..., RobotModel]) -> None:
    """The PUMA's wrist, axes 4 and 6 in line; and its elbow, where the wrist's centre meets the line of axes 2, 3.

    Exercise 5.14: that is not exactly at -90 degrees, since a3 is not zero.
    """
    model = load_robot("puma560")
    regular = np.array([0.2, 0.6, -0.9, 0.4, 0.9, -0.3])
    j = model.jacobian(regular, "tool0")
    assert smallest_singular_value(j) == pytest.approx(
        1.0 / np.linalg.norm(np.linalg.inv(j), 2), rel=1e-10
    )
    assert smallest_singular_value(j) > 0.05
    require_regular(j, regular)
    wrist = regular * [1, 1, 1, 1, 0, 1]
    assert smallest_singular_value(model.jacobian(wrist, "tool0")) < 1e-10
    tree = LinkTree.of(model)
    rotations, origins = tree.base_placements(regular)
    axis = rotations[1][:, 2]
    upper = origins[2] - origins[1]
    fore = origins[4] - origins[2]
    upper = upper - axis * (axis @ upper)
    fore = fore - axis * (axis @ fore)
    bend = np.arctan2(axis @ np.cross(fore, upper), fore @ upper)
    turn = float(np.sign(axis @ rotations[2][:, 2]))
    elbow = regular + np.array([0, 0, turn * bend, 0, 0, 0])
    assert smallest_singular_value(model.jacobian(elbow, "tool0")) < 1e-10
    off = np.rad2deg(elbow[2]) % 90.0
    assert 0.5 < min(off, 90.0 - off) < 5.0


def test_the_elbow_of_example_5_6_is_near_minus_90_degrees() -> None:
    """Craig's table of the PUMA 560 is singular for tan theta_3 = -d4 / a3, at the largest reach.

    The wrist's centre is at (a2 + a3 c3 - d4 s3, a3 s3 + d4 c3) in frame {2}: stretched at -87.3 degrees.
    """
    _, a2, _, _ = PUMA[2]
    _, a3, d4, _ = PUMA[3]
    model = RobotModel.from_dh(PUMA, "craig")
    elbow = np.arctan2(-d4, a3)
    assert np.rad2deg(elbow) == pytest.approx(-87.308, abs=1e-3)
    singular, regular = (
        smallest_singular_value(
            model.jacobian([0.2, 0.6, elbow + turn, 0.4, 0.9, -0.3], "link6")
        )
        for turn in (0.0, 0.2)
    )
    assert singular < 1e-12 < 1e-2 < regular
    turns = elbow + np.linspace(-np.pi, np.pi, 101)
    centre = [a2 + a3 * np.cos(turns) - d4 * np.sin(turns)]
    centre.append(a3 * np.sin(turns) + d4 * np.cos(turns))
    assert np.argmax(np.hypot(*centre)) == 50


@pytest.mark.parametrize("q", [q for q, _ in STATES])
def test_example_5_7(q: Array) -> None:
    """Below (5.90), (5.96); exercises 5.10 and 5.13 turn it round and into the base's axes."""
    model = _two_links()
    force = np.array([3.0, -2.0])
    expected = craig_jacobians.static_torques(L1, L2, q, force)
    assert_close(
        propagation.joint_torques(model, q, [*force, 0, 0, 0, 0], "tool"),
        expected,
        1e-13,
    )
    assert_close(
        craig_jacobians.jacobian_in_end_frame(L1, L2, q).T @ force, expected, 1e-13
    )
    c = np.cos(q.sum())
    s = np.sin(q.sum())
    s1 = np.sin(q[0])
    assert_close(
        propagation.joint_torques(model, q, [10 * c, -10 * s, 0, 0, 0, 0], "tool"),
        [-10 * (L1 * s1 + L2 * s), -10 * L2 * s],
        1e-13,
    )


def test_exercises_5_2_5_3_and_5_12() -> None:
    """Arm of exercise 3.3: J in frame {4} at the tip; singular if stretched, and with the tip on axis 1."""
    rows = [[0, 0, 0, 0], [np.pi / 2, 0.5, 0, 0], [0, 0.7, 0, 0], [0, 0.4, 0, 0]]
    model = RobotModel.from_dh(rows, "craig", "RRRF")
    q = np.array([0.3, 0.7, -0.4])
    c2, c3, c23 = np.cos([q[1], q[2], q[1] + q[2]])
    expected = [
        [0, 0.7 * np.sin(q[2]), 0],
        [0, 0.7 * c3 + 0.4, 0.4],
        [-0.5 - 0.7 * c2 - 0.4 * c23, 0, 0],
    ]
    for form in (propagation.velocity_jacobian, propagation.force_jacobian):
        assert_close(form(model, q, "link4")[:3], expected, 1e-14)
    least = np.linalg.eigvalsh(np.dot(expected, np.transpose(expected)))[0]
    assert smallest_singular_value(expected) == pytest.approx(np.sqrt(least), rel=1e-12)
    above = np.arccos(-0.5 / 0.7)
    for turns in ([0.3, 0.7, 0.0], [0.3, above, np.pi / 2 - above]):
        j = propagation.velocity_jacobian(model, turns, "link4")[:3]
        assert smallest_singular_value(j) < 1e-14


def test_exercise_5_5() -> None:
    """The PUMA 560 in frame {6}, as by the kernels; the axes of the wrist by hand."""
    model = RobotModel.from_dh(PUMA, "craig")
    q = np.array([0.2, 0.6, -0.9, 0.4, 0.9, -0.3])
    j = propagation.velocity_jacobian(model, q, "link6")
    assert_close(j, model.jacobian(q, "link6", axes="link6"), 1e-14)
    s6 = np.sin(-0.3)
    c6 = np.cos(-0.3)
    assert_close(j[3:, 4:].T, [[-s6, -c6, 0], [0, 0, 1]], 1e-14)
    assert_close(j[:3, 3:], np.zeros((3, 3)), 1e-14)


def test_exercise_5_15() -> None:
    """The RPR arm of example 3.4, with d2 + l2 = 1, in frame {0}."""
    rows = [[0, 0, 0, 0], [np.pi / 2, 0, 0, 0], [0, 0, 0.4, 0]]
    rpr = RobotModel.from_dh(rows, "craig", "RPR")
    c = np.cos(0.3)
    s = np.sin(0.3)
    expected = [[c, s, 0], [s, -c, 0], [0, 0, 0]]
    assert_close(rpr.jacobian([0.3, 0.6, 1.1], "link3")[:3], expected, 1e-15)


def test_example_5_8() -> None:
    """A force sensor in the wrist reads what acts at the tool: with T = ^S_T T, F_T = T_f(T^-1) F_S."""
    tool_in_sensor = np.eye(4)
    tool_in_sensor[:3, :3] = arms.rotation(np.random.default_rng(0))
    tool_in_sensor[:3, 3] = [0.02, 0.0, 0.2]
    r = tool_in_sensor[:3, :3]
    p = tool_in_sensor[:3, 3]
    read = np.array([5.0, -2.0, 1.0, 0.3, 0.2, -0.1])
    expected = np.concatenate(
        [r.T @ read[:3], r.T @ (read[3:] - np.cross(p, read[:3]))]
    )
    assert_close(force_transform(inverse_pose(tool_in_sensor)) @ read, expected, 1e-14)


def _rr(seed: int) -> tuple[craig_planar_2r.Parameters, RobotModel]:
    p = craig_planar_2r.Parameters(*np.random.default_rng(seed).uniform(0.3, 3.0, 4))
    return p, RobotModel.from_urdf(arms.craig_planar_2r(p).urdf, gravity=[0, -p.g, 0])


def _check_form(
    book: Any, p: Any, model: RobotModel, task: Task, q: Array, qd: Array
) -> None:
    form = cartesian_dynamics(model, q, qd, task)
    b, c = configuration_space_form(model, q, task)
    expected_b, expected_c = book.coriolis_and_centrifugal(p, q)
    scale = 1.0 / smallest_singular_value(form.jacobian) ** 2
    assert_close(form.mass, book.mass_matrix(p, q), 1e-11, scale)
    assert_close(
        form.velocity_terms, book.velocity_terms(p, q, qd), 1e-11, 100.0 * scale
    )
    assert_close(form.gravity, book.gravity(p, q), 1e-11, 100.0 * scale)
    assert_close(b, expected_b, 1e-11, scale)
    assert_close(c, expected_c, 1e-11, scale)


@pytest.mark.parametrize(("q", "qd"), STATES)
def test_examples_6_6_and_6_7(q: Array, qd: Array) -> None:
    """(6.100)-(6.109), ME5118 pp. 39-41."""
    p, model = _rr(4)
    _check_form(
        craig_cartesian_2r, p, model, Task("tool", (0, 1), own_axes=True), q, qd
    )
    b, c = craig_cartesian_2r.coriolis_and_centrifugal(p, q)
    expected = me5118_cartesian.rr_torque_of_velocity(p, q, qd)
    assert_close(
        b @ [qd[0] * qd[1]] + c @ qd**2, expected, 1e-12, 100.0 / np.sin(q[1]) ** 2
    )
    j = craig_jacobians.jacobian_in_end_frame
    h = 1e-6
    rate = (j(p.l1, p.l2, q + h * qd) - j(p.l1, p.l2, q - h * qd)) / (2 * h)
    assert_close(craig_cartesian_2r.jacobian_rate(p, q, qd), rate, 1e-8)


def test_example_6_6_at_the_singularity() -> None:
    """The mass along the second link grows without bound as the arm stretches; that across it stays m2."""
    p, model = _rr(4)
    task = Task("tool", (0, 1), own_axes=True)
    masses = [
        cartesian_dynamics(model, [0.3, bend], np.zeros(2), task).mass
        for bend in (0.1, 0.01)
    ]
    assert masses[1][0, 0] / masses[0][0, 0] == pytest.approx(100.0, rel=0.05)
    assert masses[1][1, 1] == pytest.approx(p.m2, rel=1e-9)


@pytest.mark.parametrize(("q", "qd"), STATES)
def test_me5118_rp(q: Array, qd: Array) -> None:
    """The rules of p. 37 on the arm of pp. 33-35."""
    p = craig_rp.Parameters(*np.random.default_rng(5).uniform(0.3, 3.0, 5))
    model = RobotModel.from_urdf(arms.craig_rp(p).urdf, gravity=[0, -p.g, 0])
    _check_form(me5118_cartesian, p, model, Task("link2", (0, 1), own_axes=True), q, qd)
    assert_close(
        propagation.velocity_jacobian(model, q, "link2")[:2],
        me5118_cartesian.jacobian(p, q),
        1e-14,
    )


def test_metr4202_q1_and_q2() -> None:
    q = metr4202_statics.POSITION
    j = metr4202_statics.jacobian(q)
    assert_close(metr4202.inverse_jacobian(q) @ j, np.eye(2), 1e-14)
    assert_close(j @ metr4202.RATES, metr4202.PRINTED_VELOCITY, 1e-4, 10.0)
    assert_close(j, metr4202_statics.PRINTED_JACOBIAN, 5e-4)
    tau = metr4202_statics.torque(q, metr4202_statics.FORCE)
    assert tau[0] == pytest.approx(metr4202_statics.PRINTED_TAU_1, abs=0.05)
    assert tau[1] == pytest.approx(-0.5512 * 30 - 2.9489 * 20, abs=2e-3)
    model = _two_links(*metr4202_statics.LENGTHS)
    assert_close(model.jacobian(q, "tool")[:2], j, 1e-14)
    assert_close(
        joint_rates(model.jacobian(q, "tool")[:2], j @ metr4202.RATES, q),
        metr4202.RATES,
        1e-13,
    )


@pytest.mark.parametrize("seed", range(2))
def test_metr4202_q3(seed: int) -> None:
    """From its energies, as Tsai's planar arm, and by the model."""
    rng = np.random.default_rng(seed)
    p = metr4202.Parameters(*rng.uniform(0.3, 3.0, 4))
    q, qd, qdd = rng.uniform(-3, 3, (3, 2))
    tau = metr4202.torque(p, q, qd, qdd)
    expected = lagrange.torque(
        lambda x, v: metr4202.kinetic_energy(p, x, v),
        lambda x: metr4202.potential_energy(p, x),
        q,
        qd,
        qdd,
    )
    assert_close(tau, expected, 1e-13, 1e2)
    rods = tsai_planar_2r.Parameters(p.l1, p.l2, p.m1, p.m2, p.g)
    assert_close(tau, tsai_planar_2r.torque(rods, q, qd, qdd), 1e-13, 1e2)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(rods).urdf, gravity=[0, -p.g, 0])
    assert_close(model.inverse_dynamics(q, qd, qdd), tau, 1e-12, 1e2)

"""Energies and momentum of the links, and reasons why dynamic coefficients are zero: Milicevic below (2.15)."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given
from numpy.typing import ArrayLike

from oracles import (
    craig_planar_2r,
    craig_rp,
    spong_cartesian,
    tsai_exercises,
    tsai_pointer,
)
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.textbooks.equation_properties import christoffel_symbols
from robot_dynamics_ros.textbooks.lagrange import (
    arm_angular_momentum,
    lagrangian_by_traces,
    link_energies,
    link_jacobians,
    named_coefficients,
    pose_derivatives,
)
from support import arms, robots_with_drives
from support.comparing import assert_close
from support.pinocchio_peer import Peer
from support.worked_arms import (
    DOWN,
    IN_PLANE,
    cartesian,
    chain,
    load,
    pointer,
    sliding,
    turning,
)


@given(robot=robots_with_drives.robots())
def test_lagrangian_of_any_robot(robot: robots_with_drives.Robot) -> None:
    """Milicevic (2.3), with couplings, rotors and payload, is K - P of the kernels."""
    model = robot.model()
    assume(len(model.moving_joints) <= 8)
    q, qd, _ = robots_with_drives.state(robot, model.n)
    kinetic = model.kinetic_energy(q, qd)
    potential = model.potential_energy(q)
    assert_close(
        lagrangian_by_traces(model, q, qd),
        kinetic - potential,
        1e-10,
        abs(kinetic) + abs(potential) + 1.0,
    )


@pytest.mark.parametrize("name", ["tsai_2r", "spong_elbow"])
def test_link_jacobians_of_planar_arms(name: str) -> None:
    """Tsai (9.110)-(9.113), Spong (9.75)-(9.79): lengths 0.5 and 0.4; y0 is along z of the base."""
    model = RobotModel.shipped(name)
    across = np.array([[-np.sin(0.3), np.cos(0.3)], [-np.sin(1.2), np.cos(1.2)]])
    J_v, J_w = link_jacobians(model, [0.3, 0.9])
    end = 0.5 * across[0]
    middle = 0.2 * across[1]
    assert_close(J_v[0, ::2].T, [0.25 * across[0], [0, 0]], 1e-15)
    assert_close(J_v[1, ::2].T, [end + middle, middle], 1e-15)
    assert_close(J_w[:, 1], [[-1, 0], [-1, -1]], 1e-15)


def test_link_jacobians_of_the_cartesian_arm() -> None:
    """Spong (9.65)-(9.68): the slides move along z and y."""
    arm = load(cartesian(spong_cartesian.Parameters(2.0, 3.0)), DOWN)
    J_v, J_w = link_jacobians(arm, [0.3, 0.9])
    assert_close(J_v[0], [[0, 0], [0, 0], [1, 0]], 1e-15)
    assert_close(J_v[1], [[0, 0], [0, 1], [1, 0]], 1e-15)
    assert not J_w.any()


def test_derivatives_of_poses() -> None:
    """U_ij and U_ijk below Milicevic (2.3), by hand: an elbow, and a slide along x of a link that turns."""
    q = np.array([0.3, 0.9])
    (c1, c12), (s1, s12) = np.cos([q[0], q.sum()]), np.sin([q[0], q.sum()])
    zero = [0.0, 0.0, 0.0, 0.0]
    p = craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    U, UU = pose_derivatives(load(arms.craig_planar_2r(p), IN_PLANE), q)
    for found, c, s, x, y in (
        (U[1, 0], -s12, c12, -0.5 * s1, 0.5 * c1),
        (U[1, 1], -s12, c12, 0, 0),
        (UU[1, 0, 0], -c12, -s12, -0.5 * c1, -0.5 * s1),
        (UU[1, 1, 0], -c12, -s12, 0, 0),
        (UU[1, 1, 1], -c12, -s12, 0, 0),
    ):
        assert_close(found, [[c, -s, 0, x], [s, c, 0, y], zero, zero], 1e-15)
    assert (0, 1) not in U
    slide = chain((turning(), arms.Link("")), (sliding((1, 0, 0)), arms.Link("", 1.0)))
    U, UU = pose_derivatives(load(slide, IN_PLANE), q)
    for found, z, place in (
        (U[1, 0], [-s1, c1], [-0.9 * s1, 0.9 * c1]),
        (U[1, 1], [0, 0], [c1, s1]),
        (UU[1, 0, 0], [-c1, -s1], [-0.9 * c1, -0.9 * s1]),
        (UU[1, 0, 1], [0, 0], [-s1, c1]),
        (UU[1, 1, 1], [0, 0], [0, 0]),
    ):
        assert_close(found[:2, 2:], np.transpose([z, place]), 1e-15)


def test_energies_of_craigs_links() -> None:
    """Craig (6.69), (6.73): two point masses; those of any tree add up to the energies of the kernels."""
    p = craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    q = np.array([0.4, 0.9])
    qd = np.array([1.0, -2.0])
    first = craig_planar_2r.Parameters(0.5, 0.4, 4.0, 0.0)
    k, u = link_energies(load(arms.craig_planar_2r(p), np.array(IN_PLANE) * p.g), q, qd)
    for values, energy in (
        (k, craig_planar_2r.kinetic_energy),
        (u, craig_planar_2r.potential_energy),
    ):
        state = (q, qd) if energy is craig_planar_2r.kinetic_energy else (q,)
        both = energy(p, *state).real
        one = energy(first, *state).real
        assert_close(values, [one, both - one], 1e-14)


@given(arm=arms.trees(6))
def test_energies_and_momentum_of_trees(arm: arms.Arm) -> None:
    """Energies add up to those of the kernels; Pinocchio's centroidal momentum, moved to a point."""
    model = RobotModel.from_urdf(arm.urdf)
    q, qd = (x[0] for x in arms.states(arm.seed, model.n, 1)[:2])
    k, u = link_energies(model, q, qd)
    assert_close(
        [k.sum(), u.sum()],
        [model.kinetic_energy(q, qd), model.potential_energy(q)],
        1e-10,
    )
    peer = Peer(arm.urdf, model.joint_names)
    point = np.array([0.3, -0.2, 0.5])
    h = pin.computeCentroidalMomentum(peer.model, peer.data, peer.q(q), peer.v(qd))
    about = h.angular + np.cross(peer.data.com[0] - point, h.linear)
    assert_close(arm_angular_momentum(model, q, qd, point), about, 1e-10)


def test_momentum_of_the_pointer() -> None:
    """Tsai exercise 5."""
    p = tsai_pointer.Parameters(0.8, 1.2)
    q = np.array([0.4, 0.7])
    qd = np.array([1.3, -0.6])
    expected = tsai_exercises.pointer_angular_momentum(p.m, p.length, q, qd)
    assert_close(arm_angular_momentum(load(pointer(p), DOWN), q, qd), expected, 1e-14)


def test_spin_of_rotors() -> None:
    """(M qd)_1 is the momentum about the axis of joint 1, also with a rotor on link 1 that drives joint 2."""
    arm = chain(
        (turning(), arms.Link("", 1.0, (0.2, 0, 0))),
        (turning((0.5, 0, 0)), arms.Link("", 2.0, (0.3, 0, 0))),
    )
    drive = {
        "joints": {
            "joint2": {
                "rotor_inertia": 0.01,
                "gear_ratio": 50.0,
                "rotor_carrier": "parent",
            }
        }
    }
    model = robots_with_drives.load(arm, drive)
    q = np.array([0.3, 1.1])
    qd = np.array([0.7, -2.0])
    total = arm_angular_momentum(model, q, qd)[2]
    assert total == pytest.approx((model.mass_matrix(q) @ qd)[0], rel=1e-13)
    assert abs(total - arm_angular_momentum(load(arm, DOWN), q, qd)[2]) > 0.5


def reasons_of(model: RobotModel, q: ArrayLike) -> dict[str, str]:
    """Return the reasons of the coefficients that are zero, and compare the others with M, G and Spong (9.58)."""
    named = named_coefficients(model, q)
    symbols = christoffel_symbols(model, q)
    m = model.mass_matrix(q)
    g = model.gravity_torque(q)
    for i in range(model.n):
        assert np.isclose(named[f"c{i + 1}"][0], g[i], atol=1e-12)
        assert np.allclose(
            [named[f"D{i + 1}{k + 1}"][0] for k in range(i, model.n)],
            m[i, i:],
            atol=1e-12,
        )
        for k, x in itertools.combinations_with_replacement(range(model.n), 2):
            value, _ = named[f"h{i + 1}{k + 1}{x + 1}"]
            assert np.isclose(value, symbols[k, x, i], atol=1e-12)
    return {name: reason for name, (_, reason) in named.items() if reason}


def test_two_links() -> None:
    """Only h_112, h_122 and h_211 exist (Craig 6.61); they are zero where the arm is stretched, as sin q2 is."""
    model = load(
        arms.craig_planar_2r(craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)), IN_PLANE
    )
    always = {"h111", "h212", "h222"}
    bent, stretched = (reasons_of(model, [0.3, q2]) for q2 in (0.9, 0.0))
    assert set(bent) == always and all(
        "nonexistent" in reason for reason in bent.values()
    )
    assert set(stretched) == always | {"h112", "h122", "h211"}
    assert stretched["h112"] == stretched["h211"] == "only at this position"


def test_design_and_gravity() -> None:
    """Craig's RP arm, (6.89): M12 is zero by design. Across gravity, a joint carries no weight."""
    p = craig_rp.Parameters(1.0, 2.0, 3.0, 0.5, 0.25)
    reasons = reasons_of(load(arms.craig_rp(p), DOWN), [0.3, 0.5])
    assert (
        "design" in reasons["D12"]
        and "design" in reasons["h122"]
        and "nonexistent" in reasons["h222"]
    )
    assert "gravity" in reasons["c1"] and "gravity" in reasons["c2"]
    assert not {"D11", "D22", "h112", "h211"} & set(reasons)


def test_branches() -> None:
    """Two carriages on the base have no link in common."""
    branch = chain(
        (sliding((1, 0, 0)), arms.Link("", 1.0)),
        (sliding((1, 0, 0)), arms.Link("", 2.0)),
    )
    reasons = reasons_of(
        load(branch.with_joint("joint2", parent="base"), DOWN), np.zeros(2)
    )
    assert "no link" in reasons["D12"]

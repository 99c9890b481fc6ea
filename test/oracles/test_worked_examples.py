"""The books' worked examples and exercises: each closed form follows from its energies, and RobotModel gives the same.

Robots are URDFs of their own or textbook arms. Where a print is wrong, its oracle says how and uses the derived form.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from oracles import (
    craig_inertia,
    craig_planar_2r,
    craig_rp,
    lagrange,
    lavalle_free_bodies,
    lavalle_two_link,
    me5118_rr_rp,
    spong_cartesian,
    spong_elbow,
    spong_five_bar,
    spong_remotely_driven_elbow,
    spong_single_link,
    tsai_exercises,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_planar_3r,
    tsai_pointer,
    tsai_scara,
    tsai_spatial_3r,
)
from oracles.lagrange import Array
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.textbooks.lagrange import generalized_forces
from robot_dynamics_ros.textbooks.newton_euler_equations import newton_euler_links
from support import arms
from support.comparing import assert_close
from support.worked_arms import (
    DOWN,
    IN_PLANE,
    about_z,
    cartesian,
    chain,
    elbow,
    lavalle,
    load,
    planar_3r,
    pointer,
    sliding,
    spatial_3r,
    turning,
)

TOLERANCE = 1e-12
EXAMPLES = [
    pytest.param(tsai_pointer, pointer, DOWN, id="tsai_pointer"),
    pytest.param(tsai_planar_3r, planar_3r, DOWN, id="tsai_planar_3r"),
    pytest.param(tsai_spatial_3r, spatial_3r, DOWN, id="tsai_spatial_3r"),
    pytest.param(spong_cartesian, cartesian, DOWN, id="spong_cartesian"),
    pytest.param(spong_elbow, elbow, IN_PLANE, id="spong_elbow"),
    pytest.param(lavalle_two_link, lavalle, IN_PLANE, id="lavalle_two_link"),
]
#: With those of test_textbook.py and test_couplings.py, all whose closed forms follow from energies.
BOOKS = [
    *(case.values[0] for case in EXAMPLES),
    craig_planar_2r,
    craig_rp,
    spong_five_bar,
    spong_remotely_driven_elbow,
    spong_single_link,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_scara,
]


def parameters(book: ModuleType, seed: int) -> Any:
    values = np.random.default_rng(seed).uniform(
        0.2, 3.0, len(book.Parameters.__dataclass_fields__)
    )
    return book.Parameters(*values.tolist())


def torque(
    book: ModuleType, p: Any, q: Array, qd: Array, qdd: Array
) -> tuple[Array, float]:
    """M qdd + V + G and the size of its terms, by which rounding is measured."""
    m = book.mass_matrix(p, q)
    v = book.velocity_terms(p, q, qd)
    g = book.gravity(p, q)
    return m @ qdd + v + g, float(
        np.max(np.abs(m) @ np.abs(qdd) + np.abs(v) + np.abs(g))
    )


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.__name__.split(".")[-1])
@pytest.mark.parametrize("seed", range(3))
def test_the_closed_form_follows_from_the_energies(book: ModuleType, seed: int) -> None:
    """The forms are printed as torques or by terms; test_textbook.py has those with both."""
    p = parameters(book, seed)
    q, qd, qdd = (
        x[0] for x in arms.states(seed, len(book.mass_matrix(p, np.zeros(3))), 1)
    )
    expected = lagrange.torque(
        lambda x, v: book.kinetic_energy(p, x, v),
        lambda x: book.potential_energy(p, x),
        q,
        qd,
        qdd,
    )
    if hasattr(book, "torque"):
        assert_close(book.torque(p, q, qd, qdd), expected, TOLERANCE, 100.0)
    else:
        got, scale = torque(book, p, q, qd, qdd)
        assert_close(got, expected, TOLERANCE, scale)


@pytest.mark.parametrize(("book", "build", "direction"), EXAMPLES)
def test_the_model_gives_the_closed_form(
    book: ModuleType, build: Callable[[Any], arms.Arm], direction: Sequence[float]
) -> None:
    for seed in range(3):
        p = parameters(book, seed)
        model = load(build(p), np.array(direction) * p.g)
        for q, qd, qdd in zip(*arms.states(seed, model.n, 10), strict=True):
            check_closed_form(book, p, model, q, qd, qdd)


def check_closed_form(
    book: ModuleType, p: Any, model: RobotModel, q: Array, qd: Array, qdd: Array
) -> None:
    expected, scale = torque(book, p, q, qd, qdd)
    assert_close(model.mass_matrix(q), book.mass_matrix(p, q), TOLERANCE)
    assert_close(model.gravity_torque(q), book.gravity(p, q), TOLERANCE, scale)
    bias = book.velocity_terms(p, q, qd) + book.gravity(p, q)
    assert_close(model.bias_torque(q, qd), bias, TOLERANCE, scale)
    assert_close(model.inverse_dynamics(q, qd, qdd), expected, TOLERANCE, scale)
    for form in (newton_euler_links, generalized_forces):
        assert_close(form(model, q, qd, qdd), expected, TOLERANCE, scale)
    assert model.kinetic_energy(q, qd) == pytest.approx(
        float(np.real(book.kinetic_energy(p, q, qd))), rel=1e-12
    )
    rise = np.real(book.potential_energy(p, q) - book.potential_energy(p, 0.0 * q))
    assert_close(
        model.potential_energy(q) - model.potential_energy(0.0 * q),
        rise,
        TOLERANCE,
        scale,
    )
    if hasattr(book, "coriolis_matrix"):
        assert_close(
            model.coriolis_matrix(q, qd),
            book.coriolis_matrix(p, q, qd),
            TOLERANCE,
            scale,
        )


def test_spong_single_link_behind_a_gear() -> None:
    """Spong (9.6)-(9.10); the damping is that of both shafts, of which the print reflects the motor's but once."""
    p = spong_single_link.Parameters(40.0, 2e-4, 0.9, 3.0, 0.4, 1e-3, 0.2)
    values = {key: x for key, x in asdict(p).items() if key != "g"}
    model = RobotModel.shipped("spong_single_link", **values)
    for q, qd, qdd in zip(*arms.states(1, 1, 10), strict=True):
        expected, scale = torque(spong_single_link, p, q, qd, qdd)
        assert_close(model.inverse_dynamics(q, qd, qdd), expected, TOLERANCE, scale)
        friction = model.friction_torque(q, qd)
        assert_close(friction, spong_single_link.damping(p, qd), TOLERANCE)
        assert friction @ qd == pytest.approx(
            p.b_m * (p.r * qd[0]) ** 2 + p.b_l * qd[0] ** 2, rel=1e-12
        )
    assert spong_single_link.potential_energy(p, np.zeros(1)) == 0.0


def test_spong_elbow_is_linear_in_five_parameters() -> None:
    """Spong example 9.3: Y Theta is the torque; the print of (9.124), (9.129), (9.131) and (9.132) is corrected."""
    p = parameters(spong_elbow, 4)
    model = load(elbow(p), np.array(IN_PLANE) * p.g)
    theta = spong_elbow.parameters(p)
    for q, qd, qdd in zip(*arms.states(4, 2, 10), strict=True):
        y = spong_elbow.regressor(p, q, qd, qdd)
        scale = float((np.abs(y) @ theta).max())
        assert_close(model.inverse_dynamics(q, qd, qdd), y @ theta, TOLERANCE, scale)


def test_lavalle_particle_and_planar_body() -> None:
    """LaValle (13.135) and (13.139)."""
    p = lavalle_free_bodies.Parameters(1.7, 0.3)
    x, y, z = (sliding(axis) for axis in np.eye(3))
    particle = load(
        chain((x, arms.Link("")), (y, arms.Link("")), (z, arms.Link("", p.m))),
        (0, 0, -p.g),
    )
    body = load(
        chain(
            (x, arms.Link("")),
            (y, arms.Link("")),
            (turning(), arms.Link("", p.m, (0, 0, 0), about_z(p.i))),
        ),
        (0, 0, 0),
    )
    for q, qd, qdd in zip(*arms.states(2, 3, 10), strict=True):
        expected = lavalle_free_bodies.particle_torque(p, qdd)
        energies = [
            particle.kinetic_energy(q, qd),
            particle.potential_energy(q) - particle.potential_energy(0.0 * q),
            body.kinetic_energy(q, qd),
        ]
        by_hand = [
            0.5 * p.m * qd @ qd,
            p.m * p.g * q[2],
            0.5 * p.m * qd[:2] @ qd[:2] + 0.5 * p.i * qd[2] ** 2,
        ]
        assert_close(np.array(energies), by_hand, TOLERANCE)
        assert_close(
            particle.forward_dynamics(q, qd, np.zeros(3)), [0.0, 0.0, -p.g], TOLERANCE
        )
        for form in (RobotModel.inverse_dynamics, generalized_forces):
            assert_close(form(particle, q, qd, qdd), expected, TOLERANCE)
            assert_close(
                form(body, q, qd, qdd),
                lavalle_free_bodies.body_torque(p, qdd),
                TOLERANCE,
            )


def test_craig_box() -> None:
    """Craig (6.24) from (6.28), Tsai (9.12) and exercise 2, Spong example 9.2.

    The integrals (6.17) decide about the signs in Craig (6.25) and Tsai (9.9), which the prints have wrong.
    """
    m = 2.3
    edges = np.array([0.4, 0.7, 1.1])
    corner = craig_inertia.about_corner(m, *edges)
    centre = craig_inertia.about_centre(m, *edges)
    assert_close(craig_inertia.integrated(m, np.zeros(3), edges), corner, TOLERANCE)
    assert_close(craig_inertia.integrated(m, -edges / 2, edges), centre, TOLERANCE)
    assert_close(tsai_exercises.bar_about_corner(m, *edges), corner, TOLERANCE)
    # RobotModel has first moment and inertia about the link's origin.
    numbers = load(
        chain((turning(), arms.Link("", m, edges / 2, centre))), (0, 0, 0)
    ).inertial_parameters
    assert_close(
        numbers[1:10], [*m * edges / 2, *corner[np.triu_indices(3)]], TOLERANCE
    )


def test_tsai_bar_in_turned_axes() -> None:
    """Exercise 3: a URDF inertial whose own axes are turned back by phi, in the link's axes."""
    box = (2.3, 0.4, 0.7, 1.1)
    phi = 0.6
    bar = arms.Link("", box[0], (0, 0, 0), craig_inertia.about_centre(*box))
    turned = chain((turning(), bar)).urdf.replace(
        "<inertial><origin", f'<inertial><origin rpy="0 0 {-phi}"'
    )
    expected = tsai_exercises.bar_in_turned_axes(*box, phi)[np.triu_indices(3)]
    assert_close(
        RobotModel.from_urdf(turned).inertial_parameters[4:10], expected, TOLERANCE
    )


def test_tsai_pointer_inertia_and_angular_momentum() -> None:
    """Exercises 4 and 5: h about O, of which M qd is the part along the axes, and whose rate the base's moment is."""
    p = parameters(tsai_pointer, 3)
    model = load(pointer(p), (0, 0, 0))
    for q, qd, qdd in zip(*arms.states(3, 2, 10), strict=True):
        axes = np.array([[0.0, 0.0, 1.0], [np.sin(q[0]), -np.cos(q[0]), 0.0]])
        h = tsai_exercises.pointer_angular_momentum(p.m, p.length, q, qd)
        assert_close(
            tsai_exercises.pointer_inertia(p.m, p.length, q) @ (qd @ axes), h, TOLERANCE
        )
        assert_close(model.mass_matrix(q) @ qd, axes @ h, TOLERANCE)
        step = 1e-40j  # a complex step: the derivative without cancellation
        rate = (
            tsai_exercises.pointer_angular_momentum(
                p.m, p.length, q + step * qd, qd + step * qdd
            ).imag
            / 1e-40
        )
        turn = np.array(
            [
                [np.cos(q[0]), -np.sin(q[0]), 0.0],
                [np.sin(q[0]), np.cos(q[0]), 0.0],
                [0.0, 0.0, 1.0],
            ]
        )
        scale = float(p.m * p.length**2 * (np.abs(qdd).sum() + qd @ qd))
        assert_close(
            turn @ model.joint_reactions(q, qd, qdd)[0, 3:], rate, TOLERANCE, scale
        )


def test_me5118_forces_and_moments_between_links() -> None:
    """ME5118 pp. 23-25, Craig (6.54)-(6.57)."""
    p = parameters(craig_planar_2r, 5)
    model = load(arms.craig_planar_2r(p), np.array(IN_PLANE) * p.g)
    for q, qd, qdd in zip(*arms.states(5, 2, 10), strict=True):
        scale = float(
            np.abs(craig_planar_2r.torque(p, q, np.abs(qd), np.abs(qdd))).max() + 100.0
        )
        forces = me5118_rr_rp.link_forces(p, q, qd, qdd)
        moments = me5118_rr_rp.link_moments(p, q, qd, qdd)
        assert_close(
            [n[2] for n in moments],
            craig_planar_2r.torque(p, q, qd, qdd),
            TOLERANCE,
            scale,
        )
        for got, force, moment in zip(
            model.joint_reactions(q, qd, qdd), forces, moments, strict=True
        ):
            assert_close(got, [*force, *moment], TOLERANCE, scale)


def test_me5118_energies_of_the_rp_arm() -> None:
    """ME5118 pp. 33-34, Craig (6.79)-(6.84): the model's potential energy has another constant."""
    p = parameters(craig_rp, 7)
    model = load(arms.craig_rp(p), np.array(IN_PLANE) * p.g)
    d2_max = 1.4
    lowest = [-np.pi / 2, d2_max]
    for q, qd, _ in zip(*arms.states(7, 2, 10), strict=True):
        k, u = me5118_rr_rp.rp_energies(p, d2_max, q, qd)
        assert_close(model.kinetic_energy(q, qd), k, TOLERANCE)
        assert_close(
            model.potential_energy(q) - model.potential_energy(lowest),
            u,
            TOLERANCE,
            abs(u) + 100.0,
        )

"""The closed forms prove one another.

M, V, G against the printed torques, and these against Lagrange's equations.
"""

import types
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import (
    craig_planar_2r,
    craig_rp,
    lagrange,
    metr4202_statics,
    spong_five_bar,
    spong_remotely_driven_elbow,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_scara,
)

Array = NDArray[np.float64]
BOOKS = [
    craig_planar_2r,
    craig_rp,
    spong_five_bar,
    spong_remotely_driven_elbow,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_scara,
]


def _case(book: types.ModuleType, seed: int) -> tuple[Any, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    p = book.Parameters(*rng.uniform(0.2, 3.0, len(book.Parameters.__dataclass_fields__)))
    n = len(book.mass_matrix(p, np.zeros(3)))
    return p, rng.uniform(-3, 3, n), rng.uniform(-4, 4, n), rng.uniform(-9, 9, n)


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.__name__.split(".")[-1])
@pytest.mark.parametrize("seed", range(5))
def test_closed_form_follows_from_the_energies(book: types.ModuleType, seed: int) -> None:
    p, q, qd, qdd = _case(book, seed)
    expected = lagrange.torque(
        lambda x, v: book.kinetic_energy(p, x, v), lambda x: book.potential_energy(p, x), q, qd, qdd
    )
    scale = 1.0 + np.abs(book.mass_matrix(p, q)).max() * np.abs(qdd).max()
    np.testing.assert_allclose(book.torque(p, q, qd, qdd), expected, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.__name__.split(".")[-1])
def test_torque_is_the_sum_of_its_terms(book: types.ModuleType) -> None:
    p, q, qd, qdd = _case(book, 7)
    velocity = getattr(book, "velocity_terms", None) or book.velocity_coupling
    gravity = book.gravity(p, q) if hasattr(book, "gravity") else 0.0
    parts = book.mass_matrix(p, q) @ qdd + velocity(p, q, qd) + gravity
    np.testing.assert_allclose(book.torque(p, q, qd, qdd), parts, rtol=1e-13)


def test_craig_configuration_space_form() -> None:
    p, q, qd, _ = _case(craig_planar_2r, 3)
    b, c = craig_planar_2r.coriolis_and_centrifugal(p, q)
    np.testing.assert_allclose(
        b @ [qd[0] * qd[1]] + c @ qd**2, craig_planar_2r.velocity_terms(p, q, qd), rtol=1e-14, atol=1e-14
    )


def test_tsai_joint_forces_are_the_rate_of_momentum() -> None:
    """The force on the whole arm is the sum of m (a_c - g).

    With a_c by a second difference of the positions of the centres.
    """
    p, q, qd, qdd = _case(tsai_planar_2r, 11)

    def centres(t: float) -> tuple[Array, Array]:
        x = q + qd * t + qdd * t * t / 2
        e1 = np.array([np.cos(x[0]), np.sin(x[0])])
        e2 = np.array([np.cos(x[0] + x[1]), np.sin(x[0] + x[1])])
        return p.a1 / 2 * e1, p.a1 * e1 + p.a2 / 2 * e2

    h = 1e-4
    rate = [(a - 2 * b + c) / h**2 for a, b, c in zip(centres(h), centres(0), centres(-h), strict=True)]
    weight = np.array([0.0, p.g])
    f2 = p.m2 * (rate[1] + weight)
    f1 = p.m1 * (rate[0] + weight) + f2
    for force, angle, got in zip(
        (f1, f2), (q[0], q[0] + q[1]), tsai_planar_2r.joint_forces(p, q, qd, qdd), strict=True
    ):
        to_link = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        np.testing.assert_allclose(got[:2], to_link @ force, atol=1e-4 * np.abs(f1).max())


def test_metr4202_numbers() -> None:
    q = metr4202_statics.POSITION
    np.testing.assert_allclose(metr4202_statics.jacobian(q), metr4202_statics.PRINTED_JACOBIAN, atol=5e-4)
    tau = metr4202_statics.torque(q, metr4202_statics.FORCE)
    assert tau[0] == pytest.approx(metr4202_statics.PRINTED_TAU_1, abs=0.05)
    assert tau[1] == pytest.approx(-0.5512 * 30 - 2.9489 * 20, abs=2e-3)

"""Control laws against closed forms of textbook arms, and their closed-loop properties."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from oracles import craig_planar_2r, craig_rp, tsai_planar_2r, tsai_scara
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.laws import LAWS, Gains, Motion
from support import arms
from support.comparing import assert_close

IN_PLANE = [0.0, -9.81, 0.0]
DOWN = [0.0, 0.0, -9.81]


class Book:
    """Textbook arm: its closed forms, and its model."""

    def __init__(
        self,
        forms: ModuleType,
        build: Callable[[Any], arms.Arm],
        gravity: list[float],
        *parameters: float,
    ):
        self._forms = forms
        self._parameters = forms.Parameters(*parameters)
        self.model = RobotModel.from_urdf(build(self._parameters).urdf, gravity=gravity)

    def velocity_terms(self, q: Any, qd: Any) -> Any:
        """Return C(q, qd) qd."""
        forms = self._forms
        return (getattr(forms, "velocity_terms", None) or forms.velocity_coupling)(
            self._parameters, q, qd
        )

    def coriolis(self, q: Any, a: Any, b: Any) -> Any:
        """Return C(q, a) b with C by Christoffel symbols: the symmetric bilinear form of C(q, a) a."""
        return (self.velocity_terms(q, a + b) - self.velocity_terms(q, a - b)) / 4

    def mass_matrix(self, q: Any) -> Any:
        return self._forms.mass_matrix(self._parameters, q)

    def gravity(self, q: Any) -> Any:
        return self._forms.gravity(self._parameters, q)

    def torque(self, q: Any, qd: Any, qdd: Any) -> Any:
        return self._forms.torque(self._parameters, q, qd, qdd)


BOOKS = {
    "tsai_planar_2r": (
        tsai_planar_2r,
        arms.tsai_planar_2r,
        IN_PLANE,
        0.5,
        0.4,
        4.0,
        3.0,
    ),
    "craig_planar_2r": (
        craig_planar_2r,
        arms.craig_planar_2r,
        IN_PLANE,
        0.5,
        0.4,
        4.0,
        3.0,
    ),
    "craig_rp": (craig_rp, arms.craig_rp, IN_PLANE, 0.3, 4.0, 3.0, 0.2, 0.1),
    "tsai_scara": (tsai_scara, arms.tsai_scara, DOWN, 0.5, 0.4, 4.0, 3.0, 1.2),
}


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> Book:
    return Book(*BOOKS[request.param])


@pytest.fixture(scope="module")
def panda(load_robot: Any) -> RobotModel:
    model: RobotModel = load_robot("panda")
    return model


def gains(n: int, ki: float = 0.0) -> Gains:
    return Gains(np.linspace(90.0, 40.0, n), np.linspace(18.0, 11.0, n), np.full(n, ki))


class Case(NamedTuple):
    """Arguments of a law."""

    desired: Motion
    q: Any
    qd: Any
    integral: Any


def cases(n: int) -> list[Case]:
    desired = arms.states(1, n, 10)
    measured = arms.states(2, n, 10)
    rows = zip(
        *desired,
        *measured[:2],
        np.random.default_rng(3).normal(size=(10, n)),
        strict=True,
    )
    return [Case(Motion(*row[:3]), *row[3:]) for row in rows]


def _pd(g: Gains, d: Motion, q: Any, qd: Any) -> Any:
    return g.kp * (d.q - q) + g.kd * (d.qd - qd)


# Formulas of the table in docs/laws.md, with the terms of the textbooks.
CLOSED_FORMS: dict[str, Callable[[Book, Gains, Motion, Any, Any, Any], Any]] = {
    "feedforward": lambda book, g, d, q, qd, z: book.torque(d.q, d.qd, d.qdd),
    "computed_torque": lambda book, g, d, q, qd, z: book.torque(
        q, qd, d.qdd + _pd(g, d, q, qd) + g.ki * z
    ),
    "pd_feedforward": lambda book, g, d, q, qd, z: (
        book.torque(d.q, d.qd, d.qdd) + _pd(g, d, q, qd)
    ),
    "pd_plus": lambda book, g, d, q, qd, z: (
        book.mass_matrix(q) @ d.qdd
        + book.coriolis(q, qd, d.qd)
        + book.gravity(q)
        + _pd(g, d, q, qd)
    ),
    "pd_gravity": lambda book, g, d, q, qd, z: book.gravity(q) + _pd(g, d, q, qd),
    "pd": lambda book, g, d, q, qd, z: _pd(g, d, q, qd),
    "gravity_compensation": lambda book, g, d, q, qd, z: book.gravity(q),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_form(name: str, book: Book) -> None:
    g = gains(book.model.n, ki=30.0)
    for case in cases(book.model.n):
        before = [
            x.copy()
            for x in (case.desired.q, case.desired.qd, case.desired.qdd, *case[1:])
        ]
        torque = LAWS[name].torque(book.model, g, *case)
        assert_close(torque, CLOSED_FORMS[name](book, g, *case), 1e-12, scale=1e3)
        after = [case.desired.q, case.desired.qd, case.desired.qdd, *case[1:]]
        assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
        assert not any(np.shares_memory(torque, x) for x in after)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_laws_use_the_inputs_of_their_properties(name: str, panda: RobotModel) -> None:
    """Inputs that a Law does not declare have no effect; NaN in the others appears in the torque."""
    law = LAWS[name]
    g = gains(7, ki=30.0)
    case = cases(7)[0]
    unknown = np.full(7, np.nan)
    torque = law.torque(panda, g, *case)
    for needed, without in (
        (law.needs_state, case._replace(q=unknown, qd=unknown)),
        (law.follows, case._replace(desired=Motion(unknown, unknown, unknown))),
        (law.integrates, case._replace(integral=unknown)),
    ):
        effort = law.torque(panda, g, *without)
        assert np.isnan(effort).all() if needed else np.array_equal(effort, torque)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_laws_that_compensate_gravity_always_do(name: str, panda: RobotModel) -> None:
    """Hold relies on it: torque at rest beyond g(q) is taken as a load."""
    law = LAWS[name]
    floating = panda.without_gravity()
    rng = np.random.default_rng(5)
    gains = Gains(*np.full((3, 7), 10.0))
    always = True
    for speed in np.geomspace(1e-3, 10.0, 9):
        q = rng.uniform(-1.0, 1.0, 7)
        qd = speed * rng.choice([-1.0, 1.0], 7)
        zero = np.zeros(7)
        desired = Motion(q, qd, zero)
        part = law.torque(panda, gains, desired, q, qd, zero) - law.torque(
            floating, gains, desired, q, qd, zero
        )
        always &= np.allclose(part, panda.gravity_torque(q), rtol=0.0, atol=1e-9)
    assert always == law.compensates_gravity


@pytest.mark.parametrize("ki", [0.0, 300.0])
def test_computed_torque_linearises_the_error_of_a_panda(
    ki: float, panda: RobotModel
) -> None:
    """e'' + Kd e' + Kp e + Ki int e = 0, with the acceleration from forward dynamics."""
    g = gains(7, ki)
    for desired, q, qd, integral in cases(7):
        tau = LAWS["computed_torque"].torque(panda, g, desired, q, qd, integral)
        error = (
            desired.qdd
            - panda.forward_dynamics(q, qd, tau)
            + _pd(g, desired, q, qd)
            + ki * integral
        )
        assert_close(error, np.zeros(7), 1e-9, scale=1e3)


def test_pd_plus_dissipates_energy_by_damping_only(book: Book) -> None:
    """d/dt (1/2 e'^T M e' + 1/2 e^T Kp e) = -e'^T Kd e' (Paden and Panja), with the book's M and dM/dt."""
    g = gains(book.model.n)
    n = book.model.n
    step = 1e-6
    for desired, q, qd, _ in cases(n):
        tau = LAWS["pd_plus"].torque(book.model, g, desired, q, qd, np.zeros(n))
        m = book.mass_matrix(q)
        qdd = np.linalg.solve(m, tau - book.velocity_terms(q, qd) - book.gravity(q))
        m_dot = (book.mass_matrix(q + step * qd) - book.mass_matrix(q - step * qd)) / (
            2 * step
        )
        e = desired.q - q
        e_dot = desired.qd - qd
        e_dot_dot = desired.qdd - qdd
        rate = e_dot @ m @ e_dot_dot + e_dot @ m_dot @ e_dot / 2 + e @ (g.kp * e_dot)
        assert_close(rate, -e_dot @ (g.kd * e_dot), 1e-7, scale=1e3)

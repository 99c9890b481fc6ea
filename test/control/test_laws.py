"""Each control law against its closed form on the textbook arms, and what closed loops must do."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import craig_planar_2r, craig_rp, tsai_planar_2r, tsai_scara

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.laws import JOINT_LAWS, LAWS, Motion
from robot_dynamics_ros.simulation import Plant

IN_PLANE, DOWN = [0.0, -9.81, 0.0], [0.0, 0.0, -9.81]


class Book(NamedTuple):
    """An arm of a textbook: its closed forms, and our model of it."""

    forms: ModuleType
    parameters: Any
    model: RobotModel

    def velocity_terms(self, q: Any, qd: Any) -> Any:
        """C(q, qd) qd."""
        return (getattr(self.forms, "velocity_terms", None) or self.forms.velocity_coupling)(self.parameters, q, qd)

    def coriolis(self, q: Any, a: Any, b: Any) -> Any:
        """C(q, a) b with C by Christoffel symbols: the symmetric bilinear form of C(q, a) a."""
        return (self.velocity_terms(q, a + b) - self.velocity_terms(q, a - b)) / 4

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: getattr(self.forms, name)(self.parameters, *arguments)


def _book(forms: ModuleType, build: Callable[[Any], arms.Arm], gravity: list[float], *lengths_and_masses: float) -> Any:
    p = forms.Parameters(*lengths_and_masses)
    return pytest.param(
        lambda: Book(forms, p, RobotModel.from_urdf(build(p).urdf, gravity=gravity)),
        id=forms.__name__.rpartition(".")[2],
    )


BOOKS = [
    _book(tsai_planar_2r, arms.tsai_planar_2r, IN_PLANE, 0.5, 0.4, 4.0, 3.0),
    _book(craig_planar_2r, arms.craig_planar_2r, IN_PLANE, 0.5, 0.4, 4.0, 3.0),
    _book(craig_rp, arms.craig_rp, IN_PLANE, 0.3, 4.0, 3.0, 0.2, 0.1),
    _book(tsai_scara, arms.tsai_scara, DOWN, 0.5, 0.4, 4.0, 3.0, 1.2),
]


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> Book:
    arm: Book = request.param()
    return arm


@pytest.fixture(scope="module")
def panda(load_robot: Any) -> RobotModel:
    model: RobotModel = load_robot("panda")
    return model


def gains(n: int, ki: float = 0.0) -> Gains:
    return Gains(np.linspace(90.0, 40.0, n), np.linspace(18.0, 11.0, n), np.full(n, ki))


class Case(NamedTuple):
    """What a law is given."""

    desired: Motion
    q: Any
    qd: Any
    integral: Any


def cases(n: int, count: int = 10) -> list[Case]:
    wanted, measured = arms.states(1, n, count), arms.states(2, n, count)
    integrals = np.random.default_rng(3).normal(size=(count, n))
    rows = zip(*wanted, *measured[:2], integrals, strict=True)
    return [Case(Motion(*row[:3]), *row[3:]) for row in rows]


def _pd(g: Gains, d: Motion, q: Any, qd: Any) -> Any:
    return g.kp * (d.q - q) + g.kd * (d.qd - qd)


# The formulas of the table in the design, with the terms of the books.
CLOSED_FORMS: dict[str, Callable[[Book, Gains, Motion, Any, Any, Any], Any]] = {
    "feedforward": lambda book, g, d, q, qd, z: book.torque(d.q, d.qd, d.qdd),
    "computed_torque": lambda book, g, d, q, qd, z: book.torque(q, qd, d.qdd + _pd(g, d, q, qd) + g.ki * z),
    "pd_feedforward": lambda book, g, d, q, qd, z: book.torque(d.q, d.qd, d.qdd) + _pd(g, d, q, qd),
    "pd_plus": lambda book, g, d, q, qd, z: (
        book.mass_matrix(q) @ d.qdd + book.coriolis(q, qd, d.qd) + book.gravity(q) + _pd(g, d, q, qd)
    ),
    "pd_gravity": lambda book, g, d, q, qd, z: book.gravity(q) + _pd(g, d, q, qd),
    "pd": lambda book, g, d, q, qd, z: _pd(g, d, q, qd),
    "gravity_compensation": lambda book, g, d, q, qd, z: book.gravity(q),
}


def test_every_law_has_a_closed_form_here() -> None:
    assert set(JOINT_LAWS) == set(CLOSED_FORMS)


def test_what_each_law_needs() -> None:
    """State, accelerations as gains, friction, joints that follow, integral, task space: docs/control.md."""
    fields = ("needs_state", "gains_are_accelerations", "compensates_friction", "follows", "integrates", "task_space")
    said = {}
    for name, law in LAWS.items():
        letters = zip("safrit", fields, strict=True)
        said[name] = "".join(letter if getattr(law, field) else "." for letter, field in letters)
    assert said == {
        "feedforward": ".afr..",
        "computed_torque": "safri.",
        "pd_feedforward": "s.fr..",
        "pd_plus": "s.fr..",
        "pd_gravity": "s..r..",
        "pd": "s..r..",
        "gravity_compensation": "sa....",
        "task_space_computed_torque": "saf..t",
    }


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_form(name: str, book: Book) -> None:
    g = gains(book.model.n, ki=30.0)
    for case in cases(book.model.n):
        before = [x.copy() for x in (case.desired.q, case.desired.qd, case.desired.qdd, *case[1:])]
        torque = JOINT_LAWS[name].torque(book.model, g, *case)
        assert_close(torque, CLOSED_FORMS[name](book, g, *case), 1e-12, scale=1e3)
        after = [case.desired.q, case.desired.qd, case.desired.qdd, *case[1:]]
        assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
        assert not any(np.shares_memory(torque, x) for x in after)


@pytest.mark.parametrize("name", JOINT_LAWS)
def test_what_a_law_does_not_need_does_not_enter(name: str, panda: RobotModel) -> None:
    """As Law says; it asks for what does."""
    law, g, case, unknown = JOINT_LAWS[name], gains(7, ki=30.0), cases(7)[0], np.full(7, np.nan)
    torque = law.torque(panda, g, *case)
    for needed, without in (
        (law.needs_state, case._replace(q=unknown, qd=unknown)),
        (law.follows, case._replace(desired=Motion(unknown, unknown, unknown))),
        (law.integrates, case._replace(integral=unknown)),
    ):
        found = law.torque(panda, g, *without)
        assert np.isnan(found).all() if needed else np.array_equal(found, torque)


@pytest.mark.parametrize("name", JOINT_LAWS)
def test_a_robot_that_carries_its_own_weight(name: str, panda: RobotModel) -> None:
    """Without gravity the same torque less g, at the position at which the law takes it."""
    for case in cases(7):
        torque = JOINT_LAWS[name].torque(panda, gains(7), *case)
        without = JOINT_LAWS[name].torque(panda.without_gravity(), gains(7), *case)
        at = case.desired.q if "feedforward" in name else case.q
        weight = np.zeros(7) if name == "pd" else panda.gravity_torque(at)
        assert_close(torque - without, weight, 1e-12, scale=1e3)


def test_no_law_waits_for_a_compiler_once_the_model_is_warm(load_robot: Any) -> None:
    model = load_robot("panda")
    model.warm_up()
    ready = set(vars(model.kernels))
    for law in JOINT_LAWS.values():
        law.torque(model, gains(7), *cases(7)[0])
    assert set(vars(model.kernels)) == ready


# Closed loops


def test_computed_torque_makes_the_error_linear(book: Book) -> None:
    """e'' + Kd e' + Kp e = 0, with the acceleration from the book's M and not from our model."""
    g, n = gains(book.model.n), book.model.n
    for desired, q, qd, _ in cases(n):
        tau = JOINT_LAWS["computed_torque"].torque(book.model, g, desired, q, qd, np.zeros(n))
        qdd = np.linalg.solve(book.mass_matrix(q), tau - book.velocity_terms(q, qd) - book.gravity(q))
        assert_close(desired.qdd - qdd + _pd(g, desired, q, qd), np.zeros(n), 1e-10, scale=100.0)


@pytest.mark.parametrize("ki", [0.0, 300.0])
def test_computed_torque_makes_the_error_of_a_panda_linear(ki: float, panda: RobotModel) -> None:
    """e'' + Kd e' + Kp e + Ki int e = 0, with the acceleration from forward dynamics."""
    g = gains(7, ki)
    for desired, q, qd, integral in cases(7):
        tau = JOINT_LAWS["computed_torque"].torque(panda, g, desired, q, qd, integral)
        error = desired.qdd - panda.forward_dynamics(q, qd, tau) + _pd(g, desired, q, qd) + ki * integral
        assert_close(error, np.zeros(7), 1e-9, scale=1e3)


def test_an_integral_holds_an_unknown_load() -> None:
    """The error of a load that the model does not know dies out with Ki, and stays at load / (M Kp) without."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=IN_PLANE)
    start, dt, load = np.array([0.3, -0.8]), 0.002, np.array([0.8, -0.6])
    hold = Motion(start, np.zeros(2), np.zeros(2))
    left = {}
    for ki in (0.0, 400.0):
        g, integral = Gains(np.full(2, 100.0), np.full(2, 20.0), np.full(2, ki)), np.zeros(2)
        plant = Plant(model, initial_positions=start)
        for _ in range(2000):
            q = plant.position
            plant.step(JOINT_LAWS["computed_torque"].torque(model, g, hold, q, plant.velocity, integral) - load, 2)
            integral += (start - q) * dt
        left[ki] = start - plant.position
    stays = np.linalg.solve(tsai_planar_2r.mass_matrix(p, start - left[0.0]) * 100.0, load)
    assert_close(left[0.0], stays, 1e-6)
    assert np.abs(left[0.0]).max() > 0.03
    assert np.abs(left[400.0]).max() < 1e-4, left


def test_pd_plus_loses_energy_to_damping_alone(book: Book) -> None:
    """d/dt (1/2 e'^T M e' + 1/2 e^T Kp e) = -e'^T Kd e' (Paden and Panja), with the book's M and dM/dt."""
    g, n, step = gains(book.model.n), book.model.n, 1e-6
    for desired, q, qd, _ in cases(n):
        tau = JOINT_LAWS["pd_plus"].torque(book.model, g, desired, q, qd, np.zeros(n))
        m = book.mass_matrix(q)
        qdd = np.linalg.solve(m, tau - book.velocity_terms(q, qd) - book.gravity(q))
        m_dot = (book.mass_matrix(q + step * qd) - book.mass_matrix(q - step * qd)) / (2 * step)
        e, e_dot, e_dot_dot = desired.q - q, desired.qd - qd, desired.qdd - qdd
        rate = e_dot @ m @ e_dot_dot + e_dot @ m_dot @ e_dot / 2 + e @ (g.kp * e_dot)
        assert_close(rate, -e_dot @ (g.kd * e_dot), 1e-7, scale=1e3)


@pytest.mark.parametrize("name", ["pd_gravity", "pd_plus", "computed_torque", "pd_feedforward", "pd"])
def test_regulation(name: str, panda: RobotModel) -> None:
    """Every law with feedback comes to rest; where its gravity is right, at the goal, else g / Kp short of it."""
    goal = np.array([0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6])
    law, desired, start = JOINT_LAWS[name], Motion(goal, np.zeros(7), np.zeros(7)), goal + 0.2
    size = np.ones(7) if law.gains_are_accelerations else panda.mass_matrix(goal).diagonal() + 0.05
    g = Gains(150.0 * size, 25.0 * size, np.zeros(7))
    plant = Plant(panda, step_size=0.002, initial_positions=start)
    for _ in range(1500):
        plant.step(law.torque(panda, g, desired, plant.position, plant.velocity, np.zeros(7)))
    error = goal - plant.position
    expected = panda.gravity_torque(plant.position) / g.kp if name == "pd" else np.zeros(7)
    assert_close(error, expected, 1e-5)
    assert (np.abs(error).max() > 0.01) == (name == "pd")


# Identities


def test_at_rest_pd_plus_is_pd_gravity(book: Book) -> None:
    n, g = book.model.n, gains(book.model.n)
    for case in cases(n):
        rest = replace(case.desired, qd=np.zeros(n), qdd=np.zeros(n))
        found, expected = (JOINT_LAWS[law].torque(book.model, g, rest, *case[1:]) for law in ("pd_plus", "pd_gravity"))
        assert_close(found, expected, 1e-13, scale=1e3)


def test_on_the_desired_motion_all_that_know_the_model_agree(panda: RobotModel) -> None:
    for case in cases(7):
        on_it = case._replace(q=case.desired.q, qd=case.desired.qd, integral=np.zeros(7))
        expected = panda.inverse_dynamics(case.desired.q, case.desired.qd, case.desired.qdd)
        for name in ("feedforward", "computed_torque", "pd_feedforward", "pd_plus"):
            assert_close(JOINT_LAWS[name].torque(panda, gains(7), *on_it), expected, 1e-12, scale=1e3)
        for name in ("pd_gravity", "gravity_compensation"):
            assert_close(
                JOINT_LAWS[name].torque(panda, gains(7), *on_it), panda.gravity_torque(case.desired.q), 1e-12, scale=1e3
            )

"""Rounding errors within the bounds of docs/numerics.md, and bits that do not depend on the machine's state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModelError
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from tools.numerics import oracle as oracle
from tools.numerics.__main__ import singular_table
from tools.numerics.arms import ARMS, MOTIONS, load, same_axis
from tools.numerics.bits import CONDITIONS, Condition, difference, from_process, results
from tools.numerics.errors import EPS, QUANTITIES, Measured, measure, motions
from tools.numerics.oracle import MP

pytestmark = pytest.mark.filterwarnings(
    "ignore::robot_dynamics_ros.base.errors.RobotModelWarning"
)

BOUND = 8.0
"""Bound of docs/numerics.md, in eps times the size of the terms; about 4.5 is measured."""

MANY_LINKS = "30 equal links"
PLAIN_PYTHON = "kernels as plain Python"


@pytest.mark.parametrize(
    ("arm", "kind"),
    [
        ("Panda", "ordinary"),
        ("Puma 560", "all denormal"),
        ("SCARA", "quarter turns"),
        ("light end, 1e6 : 1", "rates to 1e6 rad/s"),
        ("km boom, cm wrist", "angles to 1e6 rad"),
        ("links of 1e-310 kg", "rates to 1e6 rad/s"),
    ],
)
def test_errors_are_within_the_bound(arm: str, kind: str) -> None:
    errors = measure(Measured(load(arm)), kind, 1)
    assert set(errors) == set(QUANTITIES)
    assert {name: x.max() for name, x in errors.items() if not x.max() < BOUND} == {}


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("kind", MOTIONS)
def test_errors_are_within_the_bound_for_all_motions(arm: str, kind: str) -> None:
    errors = measure(Measured(load(arm)), kind, 1 if arm == MANY_LINKS else 3)
    assert {name: x.max() for name, x in errors.items() if not x.max() < BOUND} == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOTIONS)
def test_errors_of_customised_batches_are_within_the_bound(kind: str) -> None:
    """With their own sine and cosine, also beyond the angles that these reduce."""
    errors = measure(Measured(load("SCARA").customised(), many=True), kind, 3)
    assert {name: x.max() for name, x in errors.items() if not x.max() < BOUND} == {}


@pytest.mark.parametrize("arm", ["cm base, km boom", "two joints on one axis"])
def test_error_of_forward_dynamics_grows_with_the_scaled_condition(arm: str) -> None:
    measured = Measured(load(arm))
    plain = measured.plain_errors(motions("ordinary", measured.model.n, 1)[0])
    assert plain.acceleration < BOUND * EPS * plain.scaled_condition
    assert plain.torque < 1e-14


def test_mass_ratios_cause_no_error() -> None:
    """The error depends on the scaled condition number of M only, not on that of M, 1e6 and more."""
    measured = Measured(load("light end, 1e6 : 1"))
    plain = measured.plain_errors(motions("ordinary", 7, 1)[0])
    assert (
        plain.condition > 1e5
        and plain.scaled_condition < 100.0
        and plain.acceleration < 1e-14
    )


def test_only_matrices_singular_up_to_rounding_are_refused() -> None:
    q, qd, tau = motions("ordinary", 2, 1)[0]
    with pytest.raises(RobotModelError, match='joint "first"'):
        same_axis(1e-17).forward_dynamics(q, qd, tau)
    assert np.isfinite(same_axis(1e-14).forward_dynamics(q, qd, tau)).all()


def test_the_oracle_agrees_with_a_book(load_robot: Callable[..., Any]) -> None:
    """Tsai (9.73)-(9.74) and (9.114), to the digits of the book's formulas in doubles."""
    model = load_robot("planar_2r", "planar_2r_tsai")
    robot = oracle.exact_robot(model)
    p = tsai_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    for motion in motions("ordinary", 2, 5):
        expected = tsai_planar_2r.torque(p, *motion)
        np.testing.assert_allclose(
            oracle.torque(robot, *motion).astype(float),
            expected,
            rtol=1e-12,
            atol=1e-12,
        )
        matrix = oracle.mass_matrix(robot, motion[0]).astype(float)
        np.testing.assert_allclose(
            matrix, tsai_planar_2r.mass_matrix(p, motion[0]), rtol=1e-13
        )


def test_precision_of_the_oracle() -> None:
    """The two computations of the torque agree to 40 digits, the work of gravity and its potential to 25."""
    model = load("Puma 560")
    robot = oracle.exact_robot(model)
    motion = motions("ordinary", model.n, 1)[0]
    parameters = []
    for body, link in zip(robot.bodies, model.moving_links, strict=True):
        axes = oracle.next_rotation(model.link_frames[link].rotation)
        c = body.com
        at_origin = body.inertia + body.mass * (
            c @ c * oracle.exact(np.eye(3)) - np.outer(c, c)
        )
        inertia = (axes.T @ at_origin @ axes)[np.triu_indices(3)]
        parameters += [body.mass, *(axes.T @ (body.mass * c)), *inertia]
    parameters += [rotor.inertia for rotor in robot.rotors]
    tau = oracle.torque(robot, *motion)
    assert max(
        abs(oracle.regressor(model, robot, *motion) @ np.array(parameters) - tau)
    ) < 1e-40 * max(abs(tau))

    q = oracle.exact(motion[0])
    step = MP.mpf(10) ** -14
    held = oracle.torque(robot, motion[0], np.zeros(6), np.zeros(6))
    for unit, torque in zip(step * oracle.exact(np.eye(6)), held, strict=True):
        rise = oracle.potential_energy(robot, q + unit) - oracle.potential_energy(
            robot, q - unit
        )
        assert abs(rise / (2 * step) - torque) < 1e-25 * max(abs(held))


def test_plain_python_agrees() -> None:
    result = difference(results(100), from_process(CONDITIONS[PLAIN_PYTHON], 100))
    assert result.of > 10_000 and result.eps * EPS < 1e-13


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("name", [name for name in CONDITIONS if name != PLAIN_PYTHON])
def test_results_of_processes_are_bitwise_equal(name: str) -> None:
    assert (
        difference(from_process(Condition()), from_process(CONDITIONS[name])).numbers
        == 0
    )


@pytest.mark.slow
def test_only_the_worst_condition_number_is_refused() -> None:
    lines = singular_table().splitlines()
    assert "refused" in lines[-1] and "refused" not in lines[-2]

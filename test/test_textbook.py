"""Textbook examples with RobotModel: closed forms from test/oracles at random parameters and states."""

from collections.abc import Callable
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from oracles import (
    craig_planar_2r,
    craig_rp,
    metr4202_statics,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_scara,
)
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks import shared_terms
from support import arms
from support.comparing import assert_close

TOLERANCE = 1e-12
IN_PLANE = [0.0, -1.0, 0.0]
DOWN = [0.0, 0.0, -1.0]
CASES = [
    pytest.param(tsai_planar_2r, arms.tsai_planar_2r, IN_PLANE, id="tsai_planar_2r"),
    pytest.param(tsai_scara, arms.tsai_scara, DOWN, id="tsai_scara"),
    pytest.param(craig_planar_2r, arms.craig_planar_2r, IN_PLANE, id="craig_planar_2r"),
    pytest.param(craig_rp, arms.craig_rp, IN_PLANE, id="craig_rp"),
]


def _parameters(book: ModuleType, rng: np.random.Generator) -> Any:
    values = rng.uniform(0.2, 3.0, len(book.Parameters.__dataclass_fields__)).tolist()
    return book.Parameters(*values)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("book", "build", "direction"), CASES)
def test_closed_forms(
    book: ModuleType,
    build: Callable[[Any], arms.Arm],
    direction: list[float],
    seed: int,
) -> None:
    p = _parameters(book, np.random.default_rng(seed))
    model = RobotModel.from_urdf(build(p).urdf, gravity=np.array(direction) * p.g)
    velocity_terms = getattr(book, "velocity_terms", None) or book.velocity_coupling
    for q, qd, qdd in zip(*arms.states(seed, model.n, 25), strict=True):
        m = book.mass_matrix(p, q)
        v = velocity_terms(p, q, qd)
        g = book.gravity(p, q)
        # The bound for rounding is the size of the summed terms.
        scale = float(np.max(np.abs(m) @ np.abs(qdd) + np.abs(v) + np.abs(g)))
        assert_close(model.mass_matrix(q), m, TOLERANCE)
        assert_close(model.gravity_torque(q), g, TOLERANCE, scale)
        assert_close(model.bias_torque(q, qd), v + g, TOLERANCE, scale)
        assert_close(
            model.inverse_dynamics(q, qd, qdd),
            book.torque(p, q, qd, qdd),
            TOLERANCE,
            scale,
        )
        assert model.kinetic_energy(q, qd) == pytest.approx(
            float(np.real(book.kinetic_energy(p, q, qd))), rel=1e-12
        )


@pytest.mark.parametrize("seed", range(4))
def test_geared_arm(seed: int) -> None:
    """Tsai (9.149)-(9.171): rotors that spin across their carriers' rotation act by their reflected inertia only."""
    p = _parameters(tsai_geared_2r, np.random.default_rng(seed))
    model = RobotModel.shipped(
        "tsai_geared_2r", **{key: x for key, x in asdict(p).items() if key != "g"}
    )
    circuits = {"3": ("1", -p.n13), "4": ("5", -p.n54), "5": ("2", -p.n25)}
    ratios = tsai_geared_2r.rotor_ratios(p)
    assert_close(shared_terms.rotor_ratios(circuits, ["1", "2"]), ratios, TOLERANCE)
    assert_close(LinkTree.of(model).rotor_couplings, ratios, TOLERANCE)
    weight = model.with_gravity([0.0, 0.0, -p.g])
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        m = tsai_geared_2r.mass_matrix(p, q)
        scale = float(np.max(np.abs(m) @ np.abs(qdd)))
        reflected = ratios.T @ np.diag([p.i3z, p.i4z, p.i5z]) @ ratios
        assert_close(shared_terms.rotor_inertia(model, q)[0], reflected, TOLERANCE)
        assert_close(model.mass_matrix(q), m, TOLERANCE)
        potential = tsai_geared_2r.potential_energy(p, q).real
        assert weight.potential_energy(q) == pytest.approx(potential, rel=1e-12)
        assert_close(
            model.inverse_dynamics(q, qd, qdd),
            tsai_geared_2r.torque(p, q, qd, qdd),
            TOLERANCE,
            scale,
        )


@pytest.mark.parametrize(
    "circuits", [{"3": ("7", -2.0)}, {"3": ("4", 2.0), "4": ("3", 2.0)}]
)
def test_gears_without_a_joint(circuits: dict[str, tuple[str, float]]) -> None:
    with pytest.raises(RobotDynamicsError, match='"3".*Cure: '):
        shared_terms.rotor_ratios(circuits, ["1", "2"])


def test_force_at_the_tool() -> None:
    """METR4202 tutorial 4, Q.2b: a force on the tool adds J^T F at the joints; the arm balances it."""
    l1, l2 = metr4202_statics.LENGTHS
    text = arms.planar_2r(
        l1, l2, arms.Link("", 1.0, (1, 0, 0)), arms.Link("", 1.0, (1, 0, 0))
    ).urdf
    model = RobotModel.from_urdf(text, gravity=[0, 0, 0])
    q = metr4202_statics.POSITION
    rest = np.zeros(2)
    c = np.cos(q.sum())
    s = np.sin(q.sum())
    in_tool = np.array([[c, s], [-s, c]]) @ metr4202_statics.FORCE
    tau = model.inverse_dynamics(
        q, rest, rest, external_wrenches={"tool": [*in_tool, 0, 0, 0, 0]}
    )
    assert_close(tau, -metr4202_statics.torque(q, metr4202_statics.FORCE), 1e-12)
    assert tau[0] == pytest.approx(-metr4202_statics.PRINTED_TAU_1, abs=0.05)

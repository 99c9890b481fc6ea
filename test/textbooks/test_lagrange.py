"""Reasons why dynamic coefficients are zero: Milicevic below (2.15)."""

import numpy as np
from numpy.typing import ArrayLike

from oracles import craig_planar_2r, craig_rp
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.textbooks.lagrange import named_coefficients
from support import arms
from support.worked_arms import DOWN, IN_PLANE, chain, load, sliding


def reasons_of(model: RobotModel, q: ArrayLike) -> dict[str, str]:
    """Return the reasons of the coefficients that are zero, and compare the others with M and G."""
    named = named_coefficients(model, q)
    m, g = model.mass_matrix(q), model.gravity_torque(q)
    for i in range(model.n):
        assert np.isclose(named[f"c{i + 1}"][0], g[i], atol=1e-12)
        assert np.allclose([named[f"D{i + 1}{k + 1}"][0] for k in range(i, model.n)], m[i, i:], atol=1e-12)
    return {name: reason for name, (_, reason) in named.items() if reason}


def test_two_links() -> None:
    """Only h_112, h_122 and h_211 exist (Craig 6.61); they are zero where the arm is stretched, as sin q2 is."""
    model = load(arms.craig_planar_2r(craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)), IN_PLANE)
    always = {"h111", "h212", "h222"}
    bent, stretched = (reasons_of(model, [0.3, q2]) for q2 in (0.9, 0.0))
    assert set(bent) == always and all("nonexistent" in reason for reason in bent.values())
    assert set(stretched) == always | {"h112", "h122", "h211"}
    assert stretched["h112"] == stretched["h211"] == "only at this position"


def test_design_and_gravity() -> None:
    """Craig's RP arm, (6.89): M12 is zero by design. Across gravity, a joint carries no weight."""
    p = craig_rp.Parameters(1.0, 2.0, 3.0, 0.5, 0.25)
    reasons = reasons_of(load(arms.craig_rp(p), DOWN), [0.3, 0.5])
    assert "design" in reasons["D12"] and "design" in reasons["h122"] and "nonexistent" in reasons["h222"]
    assert "gravity" in reasons["c1"] and "gravity" in reasons["c2"]
    assert not {"D11", "D22", "h112", "h211"} & set(reasons)


def test_branches() -> None:
    """Two carriages on the base have no link in common."""
    branch = chain((sliding((1, 0, 0)), arms.Link("", 1.0)), (sliding((1, 0, 0)), arms.Link("", 2.0)))
    reasons = reasons_of(load(branch.with_joint("joint2", parent="base"), DOWN), np.zeros(2))
    assert "no link" in reasons["D12"]

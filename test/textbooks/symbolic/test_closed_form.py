"""Formulas as text and as SymPy: equal to the books for their arms, to the kernels for other robots."""

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from oracles import (
    craig_planar_2r,
    craig_rp,
    spong_cartesian,
    tsai_planar_2r,
    tsai_scara,
    tsai_spatial_3r,
)
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.errors import RobotModelWarning
from robot_dynamics_ros.textbooks.symbolic.closed_form import ClosedForm, closed_form
from support import arms
from support.arms import Array
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots
from support.robots_with_drives import load as load_with
from support.worked_arms import cartesian, chain, load, sliding, spatial_3r, turning

sympy = pytest.importorskip("sympy")

IN_PLANE = (0.0, -10.0, 0.0)
DOWN = (0.0, 0.0, -10.0)


def values(form: ClosedForm, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """Return M, V and G as numbers."""
    arm = form.arm
    terms = [form.mass_matrix, form.velocity_terms, form.gravity]
    m, v, g = sympy.lambdify([arm.q, arm.qd, list(arm.values)], terms)(
        q, qd, list(arm.values.values())
    )
    return m, v[:, 0], g[:, 0]


def assert_the_kernels_agree(
    model: RobotModel,
    seed: int,
    tolerance: float = 1e-10,
    parameters: Mapping[str, str] | None = None,
) -> None:
    form = closed_form(model, parameters)
    for q, qd, _ in zip(*arms.states(seed, model.n, 3), strict=True):
        m, v, g = values(form, q, qd)
        scale = float(np.abs(m).max() * (1.0 + qd @ qd) + np.abs(g).max())
        assert_close(m, model.mass_matrix(q), tolerance, scale)
        assert_close(g, model.gravity_torque(q), tolerance, scale)
        assert_close(v + g, model.bias_torque(q, qd), tolerance, scale)


# a1 = 1 m, a2 = 0.5 m, m1 = 2 kg, m2 = 3 kg, g = 10 m/s^2.
PLANAR = craig_planar_2r.Parameters(1.0, 0.5, 2.0, 3.0)
CASES: dict[str, tuple[arms.Arm, Sequence[float], str]] = {
    # Craig (6.60)-(6.62): m2 l1 l2 = 1.5, m2 l2^2 = 0.75, (m1 + m2) l1^2 = 5.
    "craig_planar_2r": (
        arms.craig_planar_2r(PLANAR),
        IN_PLANE,
        """M11 = 5.75 + 3 c2; M12 = M21 = 0.75 + 1.5 c2; M22 = 0.75
        V1 = -3 s2 q1' q2' - 1.5 s2 q2'^2; V2 = 1.5 s2 q1'^2
        G1 = 50 c1 + 15 c12; G2 = 15 c12""",
    ),
    # Tsai (9.114)-(9.118), and with them (9.119)-(9.120): m1 / 3 + m2 + m2 a2^2 / 3 = 2/3 + 3 + 1/4.
    "tsai_planar_2r": (
        arms.tsai_planar_2r(tsai_planar_2r.Parameters(1.0, 0.5, 2.0, 3.0)),
        IN_PLANE,
        """M11 = 3.917 + 1.5 c2; M12 = M21 = 0.25 + 0.75 c2; M22 = 0.25
        V1 = -1.5 s2 q1' q2' - 0.75 s2 q2'^2; V2 = 0.75 s2 q1'^2
        G1 = 40 c1 + 7.5 c12; G2 = 7.5 c12""",
    ),
    # Tsai (9.139)-(9.145) with m3 = 4 kg: (m2 + 2 m3) a1 a2 = 5.5, (m2 / 3 + m3) a2^2 = 1.25.
    "tsai_scara": (
        arms.tsai_scara(tsai_scara.Parameters(1.0, 0.5, 2.0, 3.0, 4.0)),
        DOWN,
        """M11 = 8.917 + 5.5 c2; M12 = M21 = 1.25 + 2.75 c2; M13 = M31 = 0; M22 = 1.25; M23 = M32 = 0; M33 = 4
        V1 = -5.5 s2 q1' q2' - 2.75 s2 q2'^2; V2 = 2.75 s2 q1'^2; V3 = 0
        G1 = 0; G2 = 0; G3 = -40""",
    ),
    # Craig example 6.5, ME5118 p. 35: m1 l1^2 + Izz1 + Izz2 = 2 + 0.5 + 0.25, m2 = 3.
    "craig_rp": (
        arms.craig_rp(craig_rp.Parameters(1.0, 2.0, 3.0, 0.5, 0.25)),
        IN_PLANE,
        """M11 = 2.75 + 3 d2^2; M12 = M21 = 0; M22 = 3
        V1 = 6 d2 q1' d2'; V2 = -3 d2 q1'^2
        G1 = 20 c1 + 30 c1 d2; G2 = 30 s1""",
    ),
    # Spong (9.70)-(9.72).
    "spong_cartesian": (
        cartesian(spong_cartesian.Parameters(2.0, 3.0)),
        DOWN,
        "M11 = 5; M12 = M21 = 0; M22 = 3; V1 = 0; V2 = 0; G1 = 50; G2 = 0",
    ),
    # Tsai, chapter 9, exercise 9: products stay products. m a2^2 = 3, m a3^2 = 0.75, m a2 a3 = 1.5.
    "tsai_spatial_3r": (
        spatial_3r(tsai_spatial_3r.Parameters(1.0, 0.5, 3.0)),
        DOWN,
        """M11 = 3 c2^2 + 3 c2 c23 + 0.75 c23^2; M12 = M21 = 0; M13 = M31 = 0
        M22 = 3.75 + 3 c3; M23 = M32 = 0.75 + 1.5 c3; M33 = 0.75
        V1 = -3 sin(2 q2 + q3) q1' q2' - 6 c2 s2 q1' q2' - 1.5 c23 s23 q1' q2' - 3 c2 s23 q1' q3' - 1.5 c23 s23 q1' q3'
        V2 = 1.5 sin(2 q2 + q3) q1'^2 + 3 c2 s2 q1'^2 + 0.75 c23 s23 q1'^2 - 3 s3 q2' q3' - 1.5 s3 q3'^2
        V3 = 1.5 c2 s23 q1'^2 + 0.75 c23 s23 q1'^2 + 1.5 s3 q2'^2
        G1 = 0; G2 = 30 c2 + 15 c23; G3 = 15 c23""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_books(name: str) -> None:
    arm, gravity, text = CASES[name]
    model = load(arm, gravity)
    assert list(closed_form(model).lines()) == [
        line.strip() for line in text.replace(";", "\n").splitlines()
    ]
    assert_the_kernels_agree(model, 1, 1e-12)


@settings(max_examples=6)
@given(robot=robots(largest=2))
def test_couplings_rotors_and_payload(robot: Robot) -> None:
    assert_the_kernels_agree(robot.model(), robot.seed)
    assert_the_kernels_agree(robot.model(), robot.seed, parameters={})


def test_many_joints_and_no_sympy(
    load_robot: Callable[..., RobotModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    slides = chain(
        *[(sliding(axis), arms.Link("", 1.0)) for axis in np.eye(3)[[0, 1, 2, 0, 1]]]
    )
    with pytest.warns(RobotModelWarning, match="5 joints"):
        assert_the_kernels_agree(load(slides, DOWN), 1)
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(RobotDynamicsError, match="sympy"):
        closed_form(load_robot("planar_2r"))


def test_text_omits_terms_below_its_digits() -> None:
    """A centre of mass that is off by a nanometre is in the formula, but not in its text."""
    p = craig_planar_2r.Parameters(1.0, 0.5, 2.0, 3.0)
    form = closed_form(
        load(arms.craig_planar_2r(p).with_link("link2", com=(0.5, 1e-9, 0.0)), IN_PLANE)
    )
    lines = list(form.lines())
    assert "M11 = 5.75 + 3 c2" in lines and "G2 = 15 c12" in lines
    assert "s2" in next(
        line for line in form.lines(digits=10) if line.startswith("M11")
    )
    assert values(form, np.array([0.0, np.pi / 2]), np.zeros(2))[0][0, 0] != 5.75


def test_angles_that_follow_by_a_part_of_a_coordinate() -> None:
    """A pendulum of 2 kg at 1 m that rotates by half the coordinate has half the torque."""
    arm = chain((turning(), arms.Link("", 2.0, (1.0, 0.0, 0.0))))
    model = load_with(
        arm,
        {"coordinates": ["p"], "couplings": {"joint1": {"p": 0.5}}},
        gravity=IN_PLANE,
    )
    assert list(closed_form(model).lines()) == [
        "M1 = 0.5",
        "V1 = 0",
        "G1 = 10 cos(0.5 q1)",
    ]

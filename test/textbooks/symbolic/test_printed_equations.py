"""Equations as the books print them, with the books' symbols: M, V, G, coefficients, energies, Jacobians."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from oracles import (
    craig_planar_2r,
    craig_rp,
    lavalle_two_link,
    spong_cartesian,
    spong_elbow,
    spong_five_bar,
    tsai_geared_2r,
    tsai_planar_2r,
    tsai_planar_3r,
    tsai_pointer,
    tsai_scara,
    tsai_spatial_3r,
)
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.textbooks.cartesian_dynamics import Task, cartesian_dynamics
from robot_dynamics_ros.textbooks.newton_euler_equations import newton_euler_trace
from robot_dynamics_ros.textbooks.symbolic.closed_form import closed_form
from robot_dynamics_ros.textbooks.symbolic.derived_terms import (
    KINDS,
    determinant,
    equation_terms,
    inverse_jacobian,
    jacobian,
    regular_rows,
)
from robot_dynamics_ros.textbooks.symbolic.formula_text import formula_lines
from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import SymbolicArm, symbolic_arm
from support import arms, robots_with_drives
from support.mechanisms import FIVE_BAR_COUPLINGS
from support.worked_arms import (
    DOWN,
    IN_PLANE,
    UP_TURN,
    cartesian,
    chain,
    elbow,
    five_bar,
    lavalle,
    load,
    planar_3r,
    pointer,
    spatial_3r,
    turning,
)

sympy = pytest.importorskip("sympy")

# parameters in the books' order
NUMBERS = (0.7, 0.45, 1.9, 1.3, 2.3, 0.31, 0.17, 0.23, 0.11, 0.13, 4.0, 3.0, 5.0, 0.6)
G = 9.81
IN_PLANE_G = np.array(IN_PLANE) * G
DOWN_G = np.array(DOWN) * G


def numbers(book: Any) -> Any:
    return book.Parameters(
        *NUMBERS[: sum(name != "g" for name in book.Parameters.__dataclass_fields__)]
    )


def with_gears() -> RobotModel:
    """Return Tsai's geared arm with rotors 3 on the base, and 4 and 5 on link 1: (9.149)-(9.171)."""
    p = asdict(numbers(tsai_geared_2r)) | {"d1": 0.0, "d2": 0.0}
    p.pop("g")
    return RobotModel.shipped("tsai_geared_2r", **p)


def coupled(arm: arms.Arm, content: dict[str, Any]) -> RobotModel:
    return robots_with_drives.load(arm, content, gravity=IN_PLANE_G)


REMOTE = {
    "coordinates": ["p1", "p2"],
    "couplings": {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}},
}
RODS = {"lc1": "l1/2", "lc2": "l2/2", "Izz1": "m1*l1^2/12", "Izz2": "m2*l2^2/12"}
ROD = "m{0}*(2*lc{0})^2/12"
ELBOW = {
    "M": "m1*lc1^2 + m2*(l1^2 + lc2^2 + 2*l1*lc2*c2) + Izz1 + Izz2; m2*(lc2^2 + l1*lc2*c2) + Izz2; m2*lc2^2 + Izz2",
    "V": "-m2*l1*lc2*s2*q2'*(2*q1' + q2'); m2*l1*lc2*s2*q1'^2",
    "G": "(m1*lc1 + m2*l1)*g*c1 + m2*lc2*g*c12; m2*lc2*g*c12",
}
H = "m2*l1*lc2*s2"

# Model, replaced symbols, end effector, and the printed elements: the upper triangle of M, and V and G.
CASES: dict[
    str, tuple[RobotModel, Mapping[str, str], str | None, Mapping[str, str]]
] = {
    # Craig (6.58), (6.60)-(6.62); (6.67), (6.68)
    "craig_6.7": (
        load(arms.craig_planar_2r(numbers(craig_planar_2r)), IN_PLANE_G),
        {"lc1": "l1", "lc2": "l2"},
        "tool",
        {
            "M": "l2^2*m2 + 2*l1*l2*m2*c2 + l1^2*(m1 + m2); l2^2*m2 + l1*l2*m2*c2; l2^2*m2",
            "V": "-m2*l1*l2*s2*q2'^2 - 2*m2*l1*l2*s2*q1'*q2'; m2*l1*l2*s2*q1'^2",
            "G": "m2*l2*g*c12 + (m1 + m2)*l1*g*c1; m2*l2*g*c12",
            "B": "-2*m2*l1*l2*s2; 0",
            "C": "0; -m2*l1*l2*s2; m2*l1*l2*s2; 0",
            # (5.66), (5.67), (5.73)
            "J": "l1*s2; 0; l1*c2 + l2; l2; 0; 0; 0; 0; 0; 0; 1; 1",
            "Jb": "-l1*s1 - l2*s12; -l2*s12; l1*c1 + l2*c12; l2*c12; 0; 0; 0; 0; 0; 0; 1; 1",
            "detJ": "l1*l2*s2",
            "Ji": "1/(l1*s2); 0; -(l1*c2 + l2)/(l1*l2*s2); 1/l2",  # (6.101)
            # (6.103), (6.108), (6.109)
            "Mx": "m2 + m1/s2^2; 0; m2",
            "Vx": "-(m2*l1*c2 + m2*l2)*q1'^2 - m2*l2*q2'^2 - (2*m2*l2 + m2*l1*c2 + m1*l1*c2/s2^2)*q1'*q2';"
            "m2*l1*s2*q1'^2 + l1*m2*s2*q1'*q2'",
            "Gx": "m1*g*c1/s2 + m2*g*s12; m2*g*c12",
            "Bx": "-m1*l1^2*c2/s2 - m2*l1*l2*s2; m2*l1*l2*s2",
            "Cx": "0; -m2*l1*l2*s2; m2*l1*l2*s2; 0",
        },
    ),
    # Craig (6.79)-(6.89), without the arbitrary constants of P; z of link 2 is along its joint
    "craig_6.9": (
        load(arms.craig_rp(numbers(craig_rp)), IN_PLANE_G),
        {},
        None,
        {
            "M": "m1*lc1^2 + Izz1 + Iyy2 + m2*d2^2; 0; m2",
            "V": "2*m2*d2*q1'*d2'; -m2*d2*q1'^2",
            "G": "(m1*lc1 + m2*d2)*g*c1; m2*g*s1",
            "K": "1/2*(m1*lc1^2 + Izz1 + Iyy2 + m2*d2^2)*q1'^2 + 1/2*m2*d2'^2",
            "P": "g*(m1*lc1 + m2*d2)*s1",
            "p": "(m1*lc1^2 + Izz1 + Iyy2 + m2*d2^2)*q1'; m2*d2'",
            "dL": "-g*(m1*lc1 + m2*d2)*c1; m2*d2*q1'^2 - g*m2*s1",
        },
    ),
    # Tsai (9.114)-(9.120)
    "tsai_9.8.1": (
        load(arms.tsai_planar_2r(numbers(tsai_planar_2r)), IN_PLANE_G),
        RODS,
        "tool",
        {
            "M": "(m1/3 + m2)*l1^2 + m2*l1*l2*c2 + m2*l2^2/3; m2*l1*l2*c2/2 + m2*l2^2/3; m2*l2^2/3",
            "V": "-m2*l1*l2*s2*(q1'*q2' + q2'^2/2); m2*l1*l2*s2*q1'^2/2",
            "G": "g*((m1/2 + m2)*l1*c1 + m2*l2*c12/2); m2*g*l2*c12/2",
        },
    ),
    # Tsai (9.139)-(9.145)
    "tsai_9.8.2": (
        load(arms.tsai_scara(numbers(tsai_scara)), DOWN_G),
        RODS,
        None,
        {
            "M": "(m1/3 + m2 + m3)*l1^2 + (m2 + 2*m3)*l1*l2*c2 + (m2/3 + m3)*l2^2;"
            "(m2/2 + m3)*l1*l2*c2 + (m2/3 + m3)*l2^2; 0; (m2/3 + m3)*l2^2; 0; m3",
            "V": "-(m2 + 2*m3)*l1*l2*s2*(q1'*q2' + q2'^2/2); (m2/2 + m3)*l1*l2*s2*q1'^2; 0",
            "G": "0; 0; -m3*g",
        },
    ),
    # Tsai (9.164)-(9.171): kappa_1 = k3 + k4 + N13^2 I3 + m2 a1^2
    "tsai_9.9": (
        with_gears(),
        {},
        None,
        {
            "M": "Izz1 + m1*lc1^2 + Izz2 + m2*lc2^2 + N1^2*Ir1 + m2*l1^2 + 2*m2*l1*lc2*c2;"
            "Izz2 + m2*lc2^2 + m2*l1*lc2*c2; Izz2 + m2*lc2^2 + N2^2*Ir2 + N3^2*Ir3",
            "V": "-m2*l1*lc2*s2*q2'*(2*q1' + q2'); m2*l1*lc2*s2*q1'^2",
            "G": "0; 0",
            "dL": "0; -m2*l1*lc2*s2*q1'*(q1' + q2')",
            "p": "(Izz1 + m1*lc1^2 + Izz2 + m2*lc2^2 + N1^2*Ir1 + m2*l1^2 + 2*m2*l1*lc2*c2)*q1'"
            "+ (Izz2 + m2*lc2^2 + m2*l1*lc2*c2)*q2';"
            "(Izz2 + m2*lc2^2 + N2^2*Ir2 + N3^2*Ir3)*q2' + (Izz2 + m2*lc2^2 + m2*l1*lc2*c2)*q1'",
            "pd": "(Izz1 + m1*lc1^2 + Izz2 + m2*lc2^2 + N1^2*Ir1 + m2*l1^2 + 2*m2*l1*lc2*c2)*q1''"
            "+ (Izz2 + m2*lc2^2 + m2*l1*lc2*c2)*q2'' - m2*l1*lc2*s2*q2'*(2*q1' + q2');"
            "(Izz2 + m2*lc2^2 + m2*l1*lc2*c2)*q1'' + (Izz2 + m2*lc2^2 + N2^2*Ir2 + N3^2*Ir3)*q2''"
            "- m2*l1*lc2*s2*q1'*q2'",
        },
    ),
    "tsai_exercises_7_and_10": (
        load(pointer(numbers(tsai_pointer)), DOWN_G),
        {"Iyy2": ROD.format(2), "Izz2": ROD.format(2)},
        None,
        {
            "M": "m2*(2*lc2)^2/3*c2^2; 0; m2*(2*lc2)^2/3",
            "V": "-2*m2*(2*lc2)^2/3*s2*c2*q1'*q2'; m2*(2*lc2)^2/3*s2*c2*q1'^2",
            "G": "0; m2*g*lc2*c2",
        },
    ),
    "tsai_exercise_8": (
        load(planar_3r(numbers(tsai_planar_3r)), DOWN_G),
        RODS | {"Izz3": ROD.format(3)},
        None,
        {
            "M": "(m1/3 + m2 + m3)*l1^2 + (m2/3 + m3)*l2^2 + 4/3*m3*lc3^2"
            "+ (m2 + 2*m3)*l1*l2*c2 + 2*m3*l2*lc3*c3 + 2*m3*l1*lc3*c23;"
            "(m2/3 + m3)*l2^2 + 4/3*m3*lc3^2 + (m2/2 + m3)*l1*l2*c2 + 2*m3*l2*lc3*c3 + m3*l1*lc3*c23;"
            "4/3*m3*lc3^2 + m3*l2*lc3*c3 + m3*l1*lc3*c23;"
            "(m2/3 + m3)*l2^2 + 4/3*m3*lc3^2 + 2*m3*l2*lc3*c3; 4/3*m3*lc3^2 + m3*l2*lc3*c3; 4/3*m3*lc3^2",
            "G": "0; 0; 0",
        },
    ),
    "tsai_exercises_9_and_12": (
        load(spatial_3r(numbers(tsai_spatial_3r)), DOWN_G),
        {},
        None,
        {
            "M": "m3*(l2*c2 + lc3*c23)^2; 0; 0; m3*(l2^2 + lc3^2 + 2*l2*lc3*c3); m3*(lc3^2 + l2*lc3*c3); m3*lc3^2",
            "V": "-2*m3*(l2*c2 + lc3*c23)*q1'*((l2*s2 + lc3*s23)*q2' + lc3*s23*q3');"
            "m3*(l2*c2 + lc3*c23)*(l2*s2 + lc3*s23)*q1'^2 - m3*l2*lc3*s3*q3'*(2*q2' + q3');"
            "m3*(l2*c2 + lc3*c23)*lc3*s23*q1'^2 + m3*l2*lc3*s3*q2'^2",
            "G": "0; m3*g*(l2*c2 + lc3*c23); m3*g*lc3*c23",
        },
    ),
    # Spong (9.70)-(9.72)
    "spong_cartesian": (
        load(cartesian(numbers(spong_cartesian)), DOWN_G),
        {},
        None,
        {"M": "m1 + m2; 0; m2", "V": "0; 0", "G": "g*(m1 + m2); 0"},
    ),
    # Spong (9.82)-(9.87), with c_112 = -h as h_211 here
    "spong_elbow": (
        load(elbow(numbers(spong_elbow)), IN_PLANE_G),
        {},
        None,
        {
            **ELBOW,
            "h1": f"0; -{H}; -{H}",
            "h2": f"{H}; 0; 0",
            # LaValle (13.141): dM11/dq2, dM12/dq2 in row 1; dM21/dq2 - 1/2 dM12/dq2, and -1/2 dM11/dq2 in row 2
            "hl1": f"0; -2*{H}; 0; -{H}",
            "hl2": f"{H}; -{H}/2; {H}/2; 0",
            "P": "m1*g*lc1*s1 + m2*g*(l1*s1 + lc2*s12)",
        },
    ),
    # Spong (9.92)-(9.95)
    "spong_remote_elbow": (
        coupled(elbow(numbers(spong_elbow)), REMOTE),
        {},
        None,
        {
            "M": "m1*lc1^2 + m2*l1^2 + Izz1; m2*l1*lc2*cos(q2 - q1); m2*lc2^2 + Izz2",
            "V": "-m2*l1*lc2*sin(q2 - q1)*q2'^2; m2*l1*lc2*sin(q2 - q1)*q1'^2",
            "G": "(m1*lc1 + m2*l1)*g*c1; m2*lc2*g*c2",
        },
    ),
    # Tsai, exercise 9: the point mass at Q, with the names of the DH table
    "tsai_exercise_9": (
        RobotModel.from_dh(
            [[0.0, 0.3, 0.0, np.pi / 2], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.4, 0.0]],
            links=[None, None, (2.0, [0.0, 0.0, 0.0], [0.0] * 6)],
        ),
        {"m3": "m", "l2": "a2", "lc3": "a3"},
        None,
        {
            "M": "m*(a2*c2 + a3*c23)^2; 0; 0; m*(a2^2 + a3^2 + 2*a2*a3*c3); m*(a3^2 + a2*a3*c3); m*a3^2",
            "G": "0; m*g*(a2*c2 + a3*c23); m*g*a3*c23",
        },
    ),
    # Spong (9.104)-(9.108): links 1, 2, 3, 4 are links 1, 3, 4, 2 of the tree, and his l2 is l3
    "spong_five_bar": (
        coupled(five_bar(numbers(spong_five_bar)), {"couplings": FIVE_BAR_COUPLINGS}),
        {},
        None,
        {
            "M": "m1*lc1^2 + m4*lc4^2 + m2*l1^2 + Izz1 + Izz4; (m4*l3*lc4 - m2*l1*lc2)*cos(q2 - q1);"
            "m3*lc3^2 + m4*l3^2 + m2*lc2^2 + Izz3 + Izz2",
            "G": "g*c1*(m1*lc1 + m4*lc4 + m2*l1); g*c2*(m3*lc3 + m4*l3 - m2*lc2)",
        },
    ),
    # LaValle (13.156)-(13.161), corrected; d1 is l1 and l1 is lc1 here
    "lavalle_13.13": (
        load(lavalle(numbers(lavalle_two_link)), IN_PLANE_G),
        {},
        None,
        ELBOW,
    ),
}


def printed(arm: SymbolicArm, text: str) -> list[Any]:
    """Return printed elements as SymPy formulas: s12 is sin(q1 + q2), q1' a rate."""
    names = {
        str(x).replace("'", "_"): x for x in (*arm.q, *arm.qd, *arm.qdd, *arm.values)
    }
    text = text.replace("^", "**").replace("'", "_")
    for name, function, digits in re.findall(r"\b(([cs])([1-9]+))\b", text):
        angle = sum(arm.q[int(k) - 1] for k in digits)
        names[name] = sympy.cos(angle) if function == "c" else sympy.sin(angle)
    return [sympy.sympify(element, locals=names) for element in text.split(";")]


def elements(term: Any) -> Sequence[Any]:
    """Return the upper triangle of a symmetric matrix, else all elements by row."""
    if not hasattr(term, "shape"):
        return [term]
    rows, columns = term.shape
    symmetric = 1 < rows == columns and term.is_symmetric()
    return [
        term[i, j] for i in range(rows) for j in range(i if symmetric else 0, columns)
    ]


def assert_printed(arm: SymbolicArm, term: Any, text: str) -> None:
    found = elements(term)
    wanted = printed(arm, text)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert sympy.simplify((a - b).rewrite(sympy.exp).expand()) == 0, (a, b)


@pytest.mark.parametrize("name", CASES)
def test_the_printed_equations(name: str) -> None:
    model, parameters, link, expected = CASES[name]
    form = closed_form(model, parameters, link)
    terms = equation_terms(form, KINDS if "Mx" in expected else KINDS[:-2])
    for term, text in expected.items():
        assert_printed(form.arm, terms[term], text)
    for term in {"p", "pd", "dL"} & expected.keys():
        assert terms[term].shape == (len(form.arm.q), 1)


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"m1": "m", "m2": "m"}, "m2"),
        ({"l1": "q2"}, "q2"),
        ({"l1": "a^x"}, "polynomial"),
    ],
)
def test_wrong_replacements_are_refused(
    parameters: dict[str, str], culprit: str
) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        symbolic_arm(CASES["craig_6.7"][0], parameters)


def test_the_trace_of_craigs_arm() -> None:
    """Craig (6.54)-(6.57)."""
    model, parameters, link, _ = CASES["craig_6.7"]
    arm = symbolic_arm(model, parameters, link)
    trace = newton_euler_trace(arm.tree, *arm.motion)
    x2 = "l1*q1''*s2 - l1*q1'^2*c2 + g*s12 - l2*(q1' + q2')^2"
    y2 = "l1*q1''*c2 + l1*q1'^2*s2 + g*c12 + l2*(q1'' + q2'')"
    dv_c2 = f"{x2}; {y2}; 0"
    n2 = "m2*l1*l2*c2*q1'' + m2*l1*l2*s2*q1'^2 + m2*l2*g*c12 + m2*l2^2*(q1'' + q2'')"
    for step, i, text in (
        ("w", 1, "0; 0; q1' + q2'"),
        ("dw", 1, "0; 0; q1'' + q2''"),
        ("dv", 0, "g*s1; g*c1; 0"),
        ("dv_c", 0, "-l1*q1'^2 + g*s1; l1*q1'' + g*c1; 0"),
        ("F", 0, "-m1*l1*q1'^2 + m1*g*s1; m1*l1*q1'' + m1*g*c1; 0"),
        ("N", 0, "0; 0; 0"),
        (
            "dv",
            1,
            "l1*q1''*s2 - l1*q1'^2*c2 + g*s12; l1*q1''*c2 + l1*q1'^2*s2 + g*c12; 0",
        ),
        ("dv_c", 1, dv_c2),
        ("f", 1, f"m2*({x2}); m2*({y2}); 0"),
        ("n", 1, f"0; 0; {n2}"),
        (
            "f",
            0,
            f"m2*(c2*({x2}) - s2*({y2})) - m1*l1*q1'^2 + m1*g*s1;m2*(s2*({x2}) + c2*({y2})) + m1*l1*q1'' + m1*g*c1;0",
        ),
        (
            "n",
            0,
            f"0; 0; {n2} + m1*l1^2*q1'' + m1*l1*g*c1 + l1*m2*(s2*({x2}) + c2*({y2}))",
        ),
    ):
        assert_printed(arm, arm.formulas(getattr(trace, step)[i]), text)


def test_jacobians_of_exercises() -> None:
    """Craig, exercises 5.18 and 5.19: det = -d2."""
    joints = (turning(), turning((0.7, 0, 0), UP_TURN), turning((0.4, 0, 0)))
    arm = symbolic_arm(
        load(chain(*((joint, arms.Link("")) for joint in joints)), DOWN_G), {}, "link3"
    )
    rows = "-(l1 + l2*c2)*s1; -l2*c1*s2; 0; (l1 + l2*c2)*c1; -l2*s1*s2; 0; 0; l2*c2; 0"
    assert_printed(arm, jacobian(arm, own_axes=False)[:3, :], rows)
    slide = arms.Joint("", "prismatic", "", "", xyz=(0.7, 0, 0), axis=(0, 1, 0))
    rp = symbolic_arm(
        load(chain((turning(), arms.Link("")), (slide, arms.Link(""))), DOWN_G),
        {},
        "link2",
    )
    j = jacobian(rp, own_axes=False)
    assert_printed(rp, j[:2, :], "-l1*s1 - d2*c1; -s1; l1*c1 - d2*s1; c1")
    assert regular_rows(j)[:2] == [0, 1]
    assert_printed(rp, determinant(j[:2, :]), "-d2")


def test_inverse_jacobian_in_base_axes() -> None:
    """Craig (5.74)."""
    model, parameters, link, _ = CASES["craig_6.7"]
    arm = symbolic_arm(model, parameters, link)
    rows = "l2*c12; l2*s12; -l1*c1 - l2*c12; -l1*s1 - l2*s12"
    expected = ";".join(f"({row})/(l1*l2*s2)" for row in rows.split(";"))
    assert_printed(
        arm, inverse_jacobian(jacobian(arm, own_axes=False)[:2, :]), expected
    )


def test_cartesian_terms_as_python() -> None:
    """ME5118 pp. 36-41: the RP arm, at random states."""
    model = load(arms.craig_rp(numbers(craig_rp)), IN_PLANE_G)
    form = closed_form(model, {}, "link2")
    terms = equation_terms(form, ["M", "V", "G", "jacobian", "cartesian"])
    space: dict[str, Any] = {}
    exec("\n".join(formula_lines(terms, form.arm.q, "python")), space)
    task = Task("link2", tuple(regular_rows(terms["J"])), own_axes=True)
    for q, qd, _ in zip(*arms.states(5, 2, 3), strict=True):
        given = {"q1": q[0], "d2": q[1], "q1_dot": qd[0], "d2_dot": qd[1]}
        given |= {str(symbol): x for symbol, x in form.arm.values.items()}
        expected = cartesian_dynamics(model, q, qd, task)
        for name, matrix in {
            "M": model.mass_matrix(q),
            "G": model.gravity_torque(q),
            "Jb": model.jacobian(q, "link2"),
            "Mx": expected.mass,
            "Vx": expected.velocity_terms,
            "Gx": expected.gravity,
        }.items():
            function = space[name]
            found = function(*(given[x] for x in function.__code__.co_varnames))
            np.testing.assert_allclose(
                np.reshape(found, matrix.shape), matrix, rtol=1e-9, atol=1e-9
            )

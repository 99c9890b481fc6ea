"""Formulas that follow from the closed-form equations: coefficients, energies, Jacobians and Cartesian dynamics.

``form`` is a closed form, ``arm`` a robot in symbols. Vectors are SymPy matrices (n, 1), and units are SI.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.textbooks.propagation import link_velocities
from robot_dynamics_ros.textbooks.symbolic.closed_form import ClosedForm
from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import SymbolicArm, sympy_module

KINDS = (
    "M",
    "V",
    "G",
    "B",
    "C",
    "h",
    "hl",
    "energies",
    "lagrangian",
    "jacobian",
    "cartesian",
)
"""Groups of formulas of ``equation_terms``."""


def equation_terms(form: ClosedForm, kinds: Sequence[str]) -> dict[str, Any]:
    """Return the formulas of some of ``KINDS`` by name.

    - M, V, G: the closed form. B, C: ``velocity_coefficients``. h: ``christoffel_symbols``, by h1, h2 and so on. hl:
      ``lavalle_coefficients``, by hl1, hl2 and so on
    - energies: K and P. lagrangian: L = K - P, with p, pd and dL from ``lagrangian_derivatives``
    - jacobian: J in the axes of the end effector, Jb in those of the base, and detJ and the inverse Ji of the
      ``regular_rows`` of J
    - cartesian: Mx, Vx and Gx from ``cartesian_terms`` for these rows, and their Bx and Cx, Craig (6.105)

    Raises RobotDynamicsError for cartesian, if J has no such rows.
    """
    arm = form.arm
    terms = {"M": form.mass_matrix, "V": form.velocity_terms, "G": form.gravity}
    terms = {name: term for name, term in terms.items() if name in kinds}
    if {"B", "C"} & set(kinds):
        terms |= dict(
            zip("BC", velocity_coefficients(form.velocity_terms, arm.qd), strict=True)
        )
    for kind, coefficients in (
        ("h", christoffel_symbols),
        ("hl", lavalle_coefficients),
    ):
        if kind in kinds:
            terms |= {
                f"{kind}{i}": matrix
                for i, matrix in enumerate(coefficients(form), start=1)
            }
    if {"energies", "lagrangian"} & set(kinds):
        terms |= {"K": kinetic_energy(form), "P": potential_energy(arm)}
    if "lagrangian" in kinds:
        terms["L"] = terms["K"] - terms["P"]
        terms |= dict(zip(("p", "pd", "dL"), lagrangian_derivatives(form), strict=True))
    if {"jacobian", "cartesian"} & set(kinds):
        j = jacobian(arm)
        regular = j.extract(regular_rows(j), list(range(j.cols)))
    if "jacobian" in kinds:
        terms |= {"J": j, "Jb": jacobian(arm, own_axes=False)}
        terms |= (
            {"detJ": determinant(regular), "Ji": inverse_jacobian(regular)}
            if regular.rows
            else {}
        )
    if "cartesian" in kinds:
        terms |= dict(
            zip(("Mx", "Vx", "Gx"), cartesian_terms(form, regular), strict=True)
        )
        torque = (regular.T * terms["Vx"]).applyfunc(lambda entry: entry.expand())
        terms |= {
            name: _short(term)
            for name, term in zip(
                ("Bx", "Cx"), velocity_coefficients(torque, arm.qd), strict=True
            )
        }
    return terms


def christoffel_symbols(form: ClosedForm) -> list[Any]:
    """Return the matrices (n, n) of h_ikm at [i][k, m], Milicevic (2.14): c_kmi of Spong (9.58)."""
    return [(h + h.T) / 2 for h in lavalle_coefficients(form)]


def lavalle_coefficients(form: ClosedForm) -> list[Any]:
    """Return the matrices (n, n) of h_ijk at [i][j, k], LaValle (13.141), which are not symmetric in j and k."""
    q = form.arm.q
    m = form.mass_matrix
    return [m.row(i).jacobian(q) - m.diff(x) / 2 for i, x in enumerate(q)]


def velocity_coefficients(velocity_terms: Any, qd: Sequence[Any]) -> tuple[Any, Any]:
    """Return B (m, n (n - 1) / 2) and C (m, n) of velocity terms (m, 1), Craig (6.63), (6.105)."""
    sympy = sympy_module()
    pairs = list(itertools.combinations(qd, 2))
    b = sympy.Matrix(
        len(velocity_terms), len(pairs), lambda i, j: velocity_terms[i].diff(*pairs[j])
    )
    c = sympy.Matrix(
        len(velocity_terms), len(qd), lambda i, j: velocity_terms[i].diff(qd[j], 2) / 2
    )
    return b, c


def kinetic_energy(form: ClosedForm) -> Any:
    """Return K = qd^T M qd / 2, J: Craig (6.71), Tsai (9.87)."""
    rates = sympy_module().Matrix(form.arm.qd)
    return (rates.T * form.mass_matrix * rates)[0].expand() / 2


def potential_energy(arm: SymbolicArm) -> Any:
    """Return P, J, zero with all masses at the base's origin: Craig (6.73), (6.74), Tsai (9.89)."""
    rotations, origins = arm.tree.base_placements(arm.motion[0])
    places = zip(arm.tree.links, rotations, origins, strict=True)
    energies = [
        -link.mass * (arm.tree.gravity @ (p + r @ link.com)) for link, r, p in places
    ]
    return arm.formulas([sum(energies)])[0]


def lagrangian_derivatives(form: ClosedForm) -> tuple[Any, Any, Any]:
    """Return dL/dqd, its time derivative, and dL/dq, (n, 1) each: Craig (6.77), Tsai (9.76); L = K - P."""
    sympy = sympy_module()
    arm = form.arm
    rates = sympy.Matrix(arm.qd)
    accelerations = sympy.Matrix(arm.qdd)
    momentum = form.mass_matrix * rates
    change = momentum.jacobian(arm.q) * rates + form.mass_matrix * accelerations
    # G = dP/dq
    slope = sympy.Matrix([kinetic_energy(form)]).jacobian(arm.q).T - form.gravity
    expanded = [
        term.applyfunc(lambda entry: entry.expand())
        for term in (momentum, change, slope)
    ]
    return expanded[0], expanded[1], expanded[2]


def jacobian(arm: SymbolicArm, own_axes: bool = True) -> Any:
    """Return the Jacobian (6, n) of the last link's frame, linear rows first: Craig (5.64)-(5.67).

    It is in the axes of this frame, or with ``own_axes`` False in those of the base.
    """
    q, _, _ = arm.motion
    rotation = np.eye(3) if own_axes else arm.tree.base_placements(q)[0][-1]
    velocities = [link_velocities(arm.tree, q, unit) for unit in np.eye(len(q))]
    return arm.formulas(
        np.column_stack(
            [np.append(rotation @ v[-1], rotation @ w[-1]) for w, v in velocities]
        )
    )


def regular_rows(jacobian: Any) -> list[int]:
    """Return the first n rows of a Jacobian (6, n) whose determinant is not zero everywhere, or an empty list."""
    n = jacobian.cols
    for rows in itertools.combinations(
        [i for i in range(6) if any(jacobian.row(i))], n
    ):
        if determinant(jacobian.extract(list(rows), list(range(n)))) != 0:
            return list(rows)
    return []


def determinant(matrix: Any) -> Any:
    """Return a determinant (n, n) as a short formula: Craig (5.73), (5.74)."""
    return _short(matrix.det(method="berkowitz"))


def inverse_jacobian(jacobian: Any) -> Any:
    """Return the inverse of a Jacobian (n, n): Craig (5.74), (6.101)."""
    return _short(jacobian.adjugate() / determinant(jacobian))


def cartesian_terms(form: ClosedForm, jacobian: Any) -> tuple[Any, Any, Any]:
    """Return Mx (n, n), Vx and Gx (n, 1) of Craig (6.99), Tsai (9.178), for a Jacobian (n, n).

    Raises RobotDynamicsError if it does not have n rows.
    """
    if jacobian.rows != jacobian.cols:
        raise RobotDynamicsError(
            f"the end effector's motion does not determine the {jacobian.cols} joints. "
            "Cure: choose another link, or select joints"
        )
    rates = sympy_module().Matrix(form.arm.qd)
    inverse = inverse_jacobian(jacobian)
    change = (jacobian * rates).jacobian(form.arm.q) * rates  # dJ/dt qd
    velocity = inverse.T * (form.velocity_terms - form.mass_matrix * inverse * change)
    return (
        _short(inverse.T * form.mass_matrix * inverse),
        _short(velocity),
        _short(inverse.T * form.gravity),
    )


def _short(formula: Any) -> Any:
    """Return a formula or matrix with rational functions of sines and cosines, simplified by SymPy."""
    sympy = sympy_module()
    simple = (
        formula.applyfunc(sympy.simplify)
        if formula.is_Matrix
        else sympy.simplify(formula)
    )
    return simple.replace(sympy.tan, lambda angle: sympy.sin(angle) / sympy.cos(angle))

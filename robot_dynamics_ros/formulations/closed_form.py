"""The closed-form equations of a small robot as formulas: M, V and G of Craig (6.59), Tsai (9.103).

Built as Tsai's section 9.8 does it: link Jacobians, (9.86) for M, (9.101) for V, (9.102) for G. On the way sines and
cosines are complex exponentials, whose products expand to sums that are unique: no simplification is left to luck.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.readable_formulas import formula, largest_number, readable
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

MOST_JOINTS = 4
"""Robots with more joints have formulas of pages."""

_NOTHING = 1e-15  # of numbers in m, kg and their products


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """M(q) qdd + V(q, qd) + G(q) = tau as formulas of SymPy, in SI units.

    Attributes
    ----------
    joint_names
        The n independent joints, in the order of every vector.
    q, qd
        Their positions q1, q2 (or d2 where it slides) and rates, as symbols.
    mass_matrix, velocity_terms, gravity
        M (n, n), V (n,) and G (n,), as matrices of SymPy.
    """

    joint_names: tuple[str, ...]
    q: tuple[Any, ...]
    qd: tuple[Any, ...]
    mass_matrix: Any
    velocity_terms: Any
    gravity: Any

    def lines(self, digits: int = 4) -> Iterator[str]:
        """Yield the equations as text, a line each, like ``M11 = 2.5 + 1.2 c2``.

        Numbers have ``digits`` digits; terms are left out that are under a hundredth of the last one, measured by the
        largest term of M, V or G.
        """
        n = len(self.q)
        entries = [
            (f"M{i + 1}{j + 1}" + (f" = M{j + 1}{i + 1}" if j > i else ""), self.mass_matrix, (i, j))
            for i in range(n)
            for j in range(i, n)
        ]
        entries += [(f"V{i + 1}", self.velocity_terms, (i, 0)) for i in range(n)]
        entries += [(f"G{i + 1}", self.gravity, (i, 0)) for i in range(n)]
        for name, matrix, place in entries:
            least = largest_number(matrix) * 10.0 ** -(digits + 2)
            yield f"{name} = {formula(matrix[place], self.q, digits, least)}"


def closed_form(model: RobotModel) -> ClosedForm:
    """Return the closed-form equations of a robot with up to four joints; couplings and rotors are included.

    Friction is no part of it, as in ``model.inverse_dynamics``. Numbers are those of the model, not rounded; what
    cancels up to rounding is left out. Raises RobotDynamicsError for more joints, and where SymPy is missing.
    """
    sympy = _sympy()
    n = model.n
    if n > MOST_JOINTS:
        raise RobotDynamicsError(
            f'robot "{model.name}" has {n} joints: its formulas would fill pages. Cure: lock all but {MOST_JOINTS} or '
            "fewer: RobotModel.from_urdf_file(..., joints=[...], locked={...})"
        )
    tree = LinkTree.of(model)
    q, qd = _symbols(sympy, tree, "{}{}"), _symbols(sympy, tree, "{}{}'")
    m, g = _mass_matrix_and_gravity(sympy, tree, q)
    v = [_velocity_term(m, q, qd, i) for i in range(n)]
    return ClosedForm(
        model.joint_names,
        q,
        qd,
        readable(sympy, m, q, qd),
        readable(sympy, sympy.Matrix(v), q, qd),
        readable(sympy, g, q, qd),
    )


def _mass_matrix_and_gravity(sympy: ModuleType, tree: LinkTree, q: tuple[Any, ...]) -> tuple[Any, Any]:
    """M by Tsai (9.86), in the links' own frames, where inertia tensors are constant; G by Tsai (9.102)."""
    n = len(q)
    m, weight = sympy.zeros(n, n), sympy.zeros(n, 1)
    base = (sympy.zeros(3, n), sympy.zeros(3, n), _matrix(sympy, tree.gravity[:, np.newaxis]))
    frames: list[tuple[Any, Any, Any]] = []
    for i, link in enumerate(tree.links):
        j_v, j_w, g = base if link.parent == BASE else frames[link.parent]
        rate = _matrix(sympy, tree.couplings[i : i + 1])
        position = (rate * sympy.Matrix(q))[0, 0]
        turn, z = _matrix(sympy, link.rotation), sympy.Matrix([0, 0, 1])
        origin = _matrix(sympy, link.position[:, np.newaxis])
        if link.prismatic:
            origin += turn * z * position
        else:
            turn = turn * _turn(sympy, position)
        # Craig (5.45), (5.47) and, where the joint slides, (5.48): a column for each coordinate's rate.
        j_v = _expanded(turn.T * (j_v + _crossed(sympy, j_w, origin)))
        j_w = _expanded(turn.T * j_w)
        if link.prismatic:
            j_v += z * rate
        else:
            j_w += z * rate
        g = _expanded(turn.T * g)
        frames.append((j_v, j_w, g))
        if link.mass > 0.0 or np.any(np.abs(link.inertia) > _NOTHING):
            j_c = _expanded(j_v + _crossed(sympy, j_w, _matrix(sympy, link.com[:, np.newaxis])))
            m += link.mass * j_c.T * j_c + j_w.T * _matrix(sympy, link.inertia) * j_w
            weight -= link.mass * j_c.T * g
    for rotor, ratios in zip(tree.rotors, tree.rotor_couplings, strict=True):
        spin = _matrix(sympy, ratios[:, np.newaxis])
        carried = base[1] if rotor.carrier == BASE else frames[rotor.carrier][1]
        turned = carried.T * _matrix(sympy, rotor.axis[:, np.newaxis])
        # Tsai (9.157): what the spin adds to the carrier, which includes the rotor at rest.
        m += rotor.inertia * (spin * turned.T + turned * spin.T + spin * spin.T)
    return _expanded(m), _expanded(weight)


def _velocity_term(m: Any, q: tuple[Any, ...], qd: tuple[Any, ...], i: int) -> Any:
    """V_i by Tsai (9.101)."""
    n = range(len(q))
    return sum((m[i, j].diff(q[k]) - m[j, k].diff(q[i]) / 2) * qd[j] * qd[k] for j in n for k in n)


def _turn(sympy: ModuleType, angle: Any) -> Any:
    """Rotation about z, Craig (2.77), with c = (e^ia + e^-ia) / 2."""
    ahead, back = sympy.exp(sympy.I * angle), sympy.exp(-sympy.I * angle)
    c, s = (ahead + back) / 2, (back - ahead) * sympy.I / 2
    return sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _crossed(sympy: ModuleType, columns: Any, vector: Any) -> Any:
    """Each column times the vector, as a vector product."""
    x, y, z = vector
    return sympy.Matrix([[0, z, -y], [-z, 0, x], [y, -x, 0]]) * columns


def _expanded(matrix: Any) -> Any:
    return matrix.applyfunc(lambda entry: entry.expand(power_base=False, power_exp=False))


def _matrix(sympy: ModuleType, numbers: Array) -> Any:
    """The same numbers; whole ones as such, so that angles keep whole multiples."""

    def exact(x: float) -> Any:
        return sympy.Integer(round(x)) if abs(x - round(x)) < _NOTHING else sympy.Float(x)

    return sympy.Matrix([[exact(float(x)) for x in row] for row in numbers])


def _symbols(sympy: ModuleType, tree: LinkTree, pattern: str) -> tuple[Any, ...]:
    """A symbol for each coordinate: d where all that it moves slides, else q."""
    turns = np.array([not link.prismatic for link in tree.links])
    symbols = []
    for k, rates in enumerate(tree.couplings.T, start=1):
        slides = bool(rates.any()) and not rates[turns].any()
        symbols.append(sympy.Symbol(pattern.format("d" if slides else "q", k), real=True))
    return tuple(symbols)


def _sympy() -> ModuleType:
    try:
        return importlib.import_module("sympy")
    except ImportError:
        raise RobotDynamicsError("formulas need SymPy. Cure: pip install sympy") from None

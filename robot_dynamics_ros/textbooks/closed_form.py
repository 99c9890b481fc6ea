"""Closed-form equations of motion of a small robot as SymPy formulas, in the notation of the textbooks.

Sines and cosines are represented as complex exponentials during the derivation. The resulting sums are then converted
to short real formulas.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree

_ROUNDING = 1e-12  # relative to the largest term of an entry
_NOISE = 1e-14  # relative to the largest term of all entries
_EQUAL = 1e-9
_NEGLIGIBLE = 1e-15  # in m, kg and their products

# A term: cosine or sine, the multiples of the angles q, and the factors other than its number.
_Key = tuple[str, tuple[Any, ...], Any]
_Waves = dict[_Key, float]


MOST_JOINTS = 4
"""Largest number of joints. Formulas of larger robots are too long to be read."""


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Equations of motion M(q) qdd + V(q, qd) + G(q) = tau as SymPy formulas, in SI units.

    Attributes
    ----------
    joint_names
        The n independent joints, in the order of every vector.
    q
        Positions as symbols: q1, q2 and so on, d2 for a prismatic joint.
    qd
        Rates as symbols: q1', d2' and so on.
    mass_matrix, velocity_terms, gravity
        M (n, n), V (n, 1) and G (n, 1) as SymPy matrices, Tsai (9.86), (9.101), (9.102).
    """

    joint_names: tuple[str, ...]
    q: tuple[Any, ...]
    qd: tuple[Any, ...]
    mass_matrix: Any
    velocity_terms: Any
    gravity: Any

    def lines(self, digits: int = 4) -> Iterator[str]:
        """Yield the equations as text, such as ``M11 = 2.5 + 1.2 c2``, where c2 is cos(q2) and s12 is sin(q1 + q2).

        Numbers have ``digits`` significant digits. Terms below a hundredth of the last digit of the largest term of M,
        V or G are omitted. Each text is one element of M, V or G, in this order; equal elements of M share one, such as
        ``M12 = M21 = ...``.
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
            largest = max((abs(number) for entry in matrix for number, _ in _terms(entry)), default=0.0)
            yield f"{name} = {_formula(matrix[place], self.q, digits, largest * 10.0 ** -(digits + 2))}"


def closed_form(model: RobotModel) -> ClosedForm:
    """Return the closed-form equations of motion of a robot, including couplings and rotors, without friction.

    They are Tsai (9.86), (9.101) and (9.102). Numbers are those of the model, without rounding. Terms that cancel up to
    rounding are omitted.

    Parameters
    ----------
    model
        Robot with up to four joints.

    Raises
    ------
    RobotDynamicsError
        For more joints, and if SymPy is not installed.
    """
    try:
        sympy = importlib.import_module("sympy")
    except ImportError:
        raise RobotDynamicsError("SymPy is not installed, which formulas need. Cure: pip install sympy") from None
    n = model.n
    if n > MOST_JOINTS:
        raise RobotDynamicsError(
            f'robot "{model.name}" has {n} joints: formulas are limited to {MOST_JOINTS}. '
            f"Cure: lock all but {MOST_JOINTS}: RobotModel.from_urdf_file(..., joints=[...], locked={{...}})"
        )
    tree = LinkTree.of(model)
    q, qd = _symbols(sympy, tree, "{}{}"), _symbols(sympy, tree, "{}{}'")
    m, g = _mass_matrix_and_gravity(sympy, tree, q)
    # Tsai (9.101)
    v = [
        sum((m[i, j].diff(q[k]) - m[j, k].diff(q[i]) / 2) * qd[j] * qd[k] for j in range(n) for k in range(n))
        for i in range(n)
    ]
    return ClosedForm(model.joint_names, q, qd, *(_readable(sympy, term, q, qd) for term in (m, sympy.Matrix(v), g)))


def _mass_matrix_and_gravity(sympy: ModuleType, tree: LinkTree, q: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return M, Tsai (9.86), and G, Tsai (9.102), computed in link frames, in which inertia tensors are constant."""
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
        # Craig (5.45), (5.47) and, for prismatic joints, (5.48): a column for each coordinate's rate.
        j_v = _expanded(turn.T * (j_v + _crossed(sympy, j_w, origin)))
        j_w = _expanded(turn.T * j_w)
        if link.prismatic:
            j_v += z * rate
        else:
            j_w += z * rate
        g = _expanded(turn.T * g)
        frames.append((j_v, j_w, g))
        if link.mass > 0.0 or np.any(np.abs(link.inertia) > _NEGLIGIBLE):
            j_c = _expanded(j_v + _crossed(sympy, j_w, _matrix(sympy, link.com[:, np.newaxis])))
            m += link.mass * j_c.T * j_c + j_w.T * _matrix(sympy, link.inertia) * j_w
            weight -= link.mass * j_c.T * g
    for rotor, ratios in zip(tree.rotors, tree.rotor_couplings, strict=True):
        spin = _matrix(sympy, ratios[:, np.newaxis])
        carried = base[1] if rotor.carrier == BASE else frames[rotor.carrier][1]
        turned = carried.T * _matrix(sympy, rotor.axis[:, np.newaxis])
        # Tsai (9.157): terms of the spin. The carrier includes the rotor at rest.
        m += rotor.inertia * (spin * turned.T + turned * spin.T + spin * spin.T)
    return _expanded(m), _expanded(weight)


def _turn(sympy: ModuleType, angle: Any) -> Any:
    """Return the rotation about z, Craig (2.77), with c = (e^ia + e^-ia) / 2."""
    ahead, back = sympy.exp(sympy.I * angle), sympy.exp(-sympy.I * angle)
    c, s = (ahead + back) / 2, (back - ahead) * sympy.I / 2
    return sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _crossed(sympy: ModuleType, columns: Any, vector: Any) -> Any:
    """Return the cross product of each column with the vector."""
    x, y, z = vector
    return sympy.Matrix([[0, z, -y], [-z, 0, x], [y, -x, 0]]) * columns


def _expanded(matrix: Any) -> Any:
    return matrix.applyfunc(lambda entry: entry.expand(power_base=False, power_exp=False))


def _matrix(sympy: ModuleType, numbers: Array) -> Any:
    """Return a SymPy matrix, with integers for whole numbers, so that angles have whole multiples."""

    def exact(x: float) -> Any:
        return sympy.Integer(round(x)) if abs(x - round(x)) < _NEGLIGIBLE else sympy.Float(x)

    return sympy.Matrix([[exact(float(x)) for x in row] for row in numbers])


def _symbols(sympy: ModuleType, tree: LinkTree, pattern: str) -> tuple[Any, ...]:
    """Return a symbol for each coordinate: d if it moves only prismatic joints, else q."""
    turns = np.array([not link.prismatic for link in tree.links])
    symbols = []
    for k, rates in enumerate(tree.couplings.T, start=1):
        slides = bool(rates.any()) and not rates[turns].any()
        symbols.append(sympy.Symbol(pattern.format("d" if slides else "q", k), real=True))
    return tuple(symbols)


def _readable(sympy: ModuleType, matrix: Any, q: Sequence[Any], qd: Sequence[Any]) -> Any:
    """Return a matrix of sums of products of numbers, ``q``, ``qd`` and exp(I k . q), with real sines and cosines.

    Pairs of terms become products if that is shorter: c(2 q2 + q3) + c3 is 2 c2 c23, and 1 - c(2 q2) is 2 s2^2. Terms
    that are rounding errors are omitted.
    """
    entries = [_waves(sympy, entry, q, qd) for entry in matrix]
    noise = _NOISE * max((abs(value) for waves in entries for value in waves.values()), default=0.0)
    return sympy.Matrix(*matrix.shape, [_entry(sympy, waves, noise, q) for waves in entries])


def _formula(expression: Any, q: Sequence[Any], digits: int, least: float) -> str:
    """Write an entry as text: c12 for cos(q1 + q2), 0 if no term is above ``least``."""
    terms = []
    for number, rest in _terms(expression):
        if abs(number) > least:
            powers = (factor.as_base_exp() for factor in rest.as_ordered_factors() if factor != 1)
            parts = [_part(base, exponent, q) for base, exponent in powers]
            terms.append((number, sorted(parts, key=_place)))
    terms.sort(key=_order)
    return _sum(terms, digits) if terms else "0"


def _terms(expression: Any) -> list[tuple[float, Any]]:
    """Return each term as a number and its factors."""
    pairs = (term.as_coeff_Mul() for term in expression.as_ordered_terms())
    return [(float(number), rest) for number, rest in pairs if number != 0]


def _entry(sympy: ModuleType, waves: _Waves, noise: float, q: Sequence[Any]) -> Any:
    least = max(noise, _ROUNDING * max(map(abs, waves.values()), default=0.0))
    waves = {key: value for key, value in waves.items() if abs(value) > least}
    terms = []
    for key in list(waves):
        square = _square(sympy, waves, key, q)
        if square is not None:
            terms.append(square)
    while waves:
        key, value = next(iter(waves.items()))
        del waves[key]
        partner = _partner(waves, key, value)
        if partner is None:
            terms.append(value * key[2] * _wave(sympy, key[0], key[1], q))
        else:
            same_sign = waves.pop(partner) * value > 0.0
            terms.append(2.0 * value * key[2] * _product(sympy, key, partner, same_sign, q))
    return sympy.Add(*(term for term in terms if abs(float(term.as_coeff_Mul()[0])) > least))


def _sum(terms: Sequence[tuple[float, list[str]]], digits: int) -> str:
    """Write numbers times factors as a sum; a factor 1 is omitted."""
    text = ""
    for number, parts in terms:
        size = f"{abs(number):.{digits}g}"
        sign = ("-" if number < 0.0 else "") if not text else (" - " if number < 0.0 else " + ")
        text += sign + " ".join(parts if parts and size == "1" else [size, *parts])
    return text


def _waves(sympy: ModuleType, expression: Any, q: Sequence[Any], qd: Sequence[Any]) -> _Waves:
    """Return real terms: c e^ix + conj(c) e^-ix = 2 Re(c) cos x - 2 Im(c) sin x, from the terms with positive x."""
    waves: _Waves = {}
    for term in sympy.Add.make_args(sympy.expand(expression, power_base=False, power_exp=False)):
        rest, exponential = term.as_independent(sympy.exp)
        number, factors = rest.as_independent(*q, *qd)
        # A term can have several exponentials.
        exponents = (factor.args[0] for factor in sympy.Mul.make_args(exponential) if factor.func == sympy.exp)
        angle = sympy.expand(sum(exponents, sympy.Integer(0)) / sympy.I)
        multiples = tuple(_multiple(sympy, angle.coeff(symbol)) for symbol in q)
        first = next((k for k in multiples if k != 0), 0)
        if first < 0:
            continue
        c = complex(number)
        for kind, value in (("cos", c.real), ("sin", -c.imag)) if first else (("cos", c.real),):
            key = (kind, multiples, factors)
            waves[key] = waves.get(key, 0.0) + (2.0 * value if first else value)
    return waves


def _multiple(sympy: ModuleType, k: Any) -> Any:
    """Return a multiple of an angle without rounding error, so that equal multiples compare equal."""
    return sympy.Integer(round(k)) if abs(k - round(k)) < _EQUAL else sympy.Float(round(float(k), 13))


def _square(sympy: ModuleType, waves: _Waves, key: _Key, q: Sequence[Any]) -> Any:
    """Combine cos 2x and part of the constant to a square, or split sin 2x; None for other terms."""
    kind, multiples, factors = key
    if not any(multiples) or not all(k.is_integer and k % 2 == 0 for k in multiples):
        return None
    half = tuple(k / 2 for k in multiples)
    value = waves[key]
    c, s = _wave(sympy, "cos", half, q), _wave(sympy, "sin", half, q)
    if kind == "sin":
        del waves[key]
        return 2.0 * value * factors * s * c
    constant = ("cos", (sympy.Integer(0),) * len(q), factors)
    there = waves.get(constant, 0.0)
    if abs(there) < (1.0 - _EQUAL) * abs(value):
        return None
    del waves[key]
    # b cos 2x = 2 b cos^2 x - b = b - 2 b sin^2 x, whichever makes the constant smaller.
    if value * there > 0.0:
        waves[constant] = there - value
        return 2.0 * value * factors * c**2
    waves[constant] = there + value
    return -2.0 * value * factors * s**2


def _partner(waves: _Waves, key: _Key, value: float) -> _Key | None:
    """Return a term of the same size whose sum with this one is a product with integer multiples, or None."""
    kind, multiples, factors = key
    for other, size in waves.items():
        if other[0] == kind and other[2] == factors and abs(abs(size) - abs(value)) <= _EQUAL * abs(value):
            sums = [a + b for a, b in zip(multiples, other[1], strict=True)]
            if all(k.is_integer and k % 2 == 0 for k in sums):
                return other
    return None


def _product(sympy: ModuleType, key: _Key, other: _Key, same_sign: bool, q: Sequence[Any]) -> Any:
    """Return half of cos x + cos y, cos x - cos y, sin x + sin y or sin x - sin y as a product."""
    plus = tuple((a + b) / 2 for a, b in zip(key[1], other[1], strict=True))
    minus = tuple((a - b) / 2 for a, b in zip(key[1], other[1], strict=True))
    kind = key[0] if same_sign else "sin" if key[0] == "cos" else "cos"
    product = _wave(sympy, kind, plus, q) * _wave(sympy, "cos" if same_sign else "sin", minus, q)
    return -product if key[0] == "cos" and not same_sign else product


def _wave(sympy: ModuleType, kind: str, multiples: Sequence[Any], q: Sequence[Any]) -> Any:
    angle = sum((k * symbol for k, symbol in zip(multiples, q, strict=True)), sympy.Integer(0))
    return getattr(sympy, kind)(angle)


def _order(term: tuple[float, list[str]]) -> tuple[Any, ...]:
    """Return the sort key of a term: its rates, then the number of its factors."""
    powers = [part.partition("^") for part in term[1]]
    factors = [name for name, _, exponent in powers for _ in range(int(exponent or 1))]
    return [part for part in term[1] if "'" in part], len(factors), factors


def _place(part: str) -> tuple[Any, ...]:
    """Return the sort key of a factor: sines and cosines, then positions, then rates by their numbers."""
    rate = "'" in part
    return part[0] not in "cs", rate, part[1:] if rate else part


def _part(base: Any, exponent: Any, q: Sequence[Any]) -> str:
    """Write one factor as text: c12, s2, c2^2, d3, q1' and their powers."""
    text = str(base)
    if base.func.__name__ in ("cos", "sin"):
        multiples = [base.args[0].coeff(symbol) for symbol in q]
        if all(k in (0, 1) for k in multiples):
            text = base.func.__name__[0] + "".join(str(k) for k, m in enumerate(multiples, start=1) if m)
        else:
            angle = [(float(m), [str(symbol)]) for m, symbol in zip(multiples, q, strict=True) if m]
            text = f"{base.func.__name__}({_sum(angle, 4)})"
    return text if exponent == 1 else f"{text}^{exponent}"

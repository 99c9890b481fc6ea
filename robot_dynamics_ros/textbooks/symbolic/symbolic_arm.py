"""Robots in symbols: link trees with which the NumPy textbook functions give formulas instead of numbers."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    RobotModelWarning,
    require_known,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import Link, LinkTree
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.shared_terms import with_end_effector
from robot_dynamics_ros.textbooks.symbolic.readable import readable
from robot_dynamics_ros.textbooks.symbolic.trigonometric_sum import TrigonometricSum

MOST_JOINTS = 4
"""Largest number of joints without a warning. Formulas of larger robots are too long to be read."""

_AXES = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
_NAME = re.compile(r"[A-Za-z]\w*")
_FORMULA = re.compile(r"(?:\d+(?:\.\d*)?|[A-Za-z]\w*|[-+*/^() ])+")


@dataclass(frozen=True, eq=False)
class SymbolicLink(Link):
    """Link whose joint position is a formula, with its cosine and sine as trigonometric sums."""

    cosine: Any
    sine: Any

    def placed(self, q: Any) -> tuple[Any, Any]:
        """Return axes (3, 3) and origin (3,) as ``Link`` does, in arrays of trigonometric sums."""
        if self.prismatic:
            return super().placed(q)
        c = self.cosine
        s = self.sine
        return self.rotation @ np.array(
            [[c, -s, 0], [s, c, 0], [0, 0, 1]]
        ), self.position


class SymbolicArm(NamedTuple):
    """Robot in symbols.

    Attributes
    ----------
    joint_names
        The n independent joints, in the order of every vector.
    q, qd, qdd
        Positions as SymPy symbols: q1, q2 and so on, d2 for a prismatic joint; rates q1', d2'; accelerations q1''.
    values
        Numbers, in SI units, of the parameters that are symbols: m1, l1, lc1, Izz1 and so on.
    tree, motion
        Link tree, and (q, qd, qdd) as arrays (n,): the arguments of the textbook functions, which then return arrays
        of trigonometric sums.
    """

    joint_names: tuple[str, ...]
    q: tuple[Any, ...]
    qd: tuple[Any, ...]
    qdd: tuple[Any, ...]
    values: Mapping[Any, float]
    tree: LinkTree
    motion: tuple[Array, Array, Array]

    def formulas(self, sums: Any) -> Any:
        """Return an array of trigonometric sums, with up to two axes, as a SymPy matrix of short formulas."""
        symbols = (*self.q, *self.qd, *self.qdd, *self.values)
        return readable(
            sympy_module(), sums, self.q, symbols, fractions=bool(self.values)
        )


def sympy_module() -> ModuleType:
    """Return SymPy. Raises RobotDynamicsError if it is not installed."""
    try:
        return importlib.import_module("sympy")
    except ImportError:
        raise RobotDynamicsError(
            "SymPy is not installed, which formulas need. Cure: pip install sympy"
        ) from None


def symbolic_arm(
    model: RobotModel,
    parameters: Mapping[str, str] | None = None,
    link: str | None = None,
) -> SymbolicArm:
    """Return a robot in symbols.

    Link i has the mass mi, the inertia Ixxi, Ixyi and so on about its centre of mass, and the centre of mass at lci
    along an axis of its frame, or at (lcxi, lcyi, lczi). The next joint is at li, or (lxi, lyi, lzi); l0 is on the
    base. Of several next joints, that of link j is at li_j. Gravity is g, or (gx, gy, gz). Rotor i has the inertia Iri
    and the ratio Ni, or Ni_j to coordinate j if it has several. All symbols are positive, with the sign in the formula.
    Zeros have no symbol.

    Parameters
    ----------
    model
        The robot. More than four joints cause a RobotModelWarning about the size of the formulas.
    parameters
        None for numbers instead of parameters. Else, by name, polynomials of the other symbols (numbers, + - * / ^
        and brackets) that replace symbols, such as {"lc1": "l1/2"}, or new names for them, such as {"l1": "a1"}.
    link
        Link that becomes the last link of the tree, fixed to the moving link that carries it; None: none.

    Raises
    ------
    RobotDynamicsError
        For an unknown link or symbol, for a formula that is no polynomial of symbols, or whose value is not that of the
        symbol that it replaces, and if SymPy is not installed.
    """
    sympy = sympy_module()
    if model.n > MOST_JOINTS:
        warnings.warn(
            f'robot "{model.name}" has {model.n} joints: formulas of more than {MOST_JOINTS} joints fill pages and can '
            "take minutes. Cure: select fewer joints, with --joints or RobotModel.from_urdf_file(..., joints=[...])",
            RobotModelWarning,
            stacklevel=3,
        )
    tree = LinkTree.of(model) if link is None else with_end_effector(model, link)
    q, qd, qdd = (_coordinates(sympy, tree, primes) for primes in ("", "'", "''"))
    values: dict[Any, float] = {}
    formulas: dict[Any, Any] = {}
    if parameters is not None:
        tree, values = _named(sympy, tree)
        formulas = _replacements(sympy, parameters, values, {str(name) for name in q})
        values = {
            symbol: value for symbol, value in values.items() if symbol not in formulas
        }
    powers = (*q, *qd, *qdd, *values)
    length = model.n + len(powers)

    def number(entry: Any) -> Any:
        if not isinstance(entry, sympy.Basic):
            return entry
        terms = sympy.Poly(entry.subs(formulas), *powers).terms()
        return TrigonometricSum(
            {(0,) * model.n + p: complex(c) for p, c in terms}, length
        )

    symbolic = _symbolic_tree(tree, number, length)
    motion = np.frompyfunc(number, 1, 1)(np.array([q, qd, qdd]))
    return SymbolicArm(
        model.joint_names,
        q,
        qd,
        qdd,
        values,
        symbolic,
        (motion[0], motion[1], motion[2]),
    )


def _symbolic_tree(
    tree: LinkTree, number: Callable[[Any], Any], length: int
) -> LinkTree:
    """Return the tree with ``number`` of each entry, a trigonometric sum of this length or a float."""
    sums = np.frompyfunc(number, 1, 1)
    links = []
    for link, row in zip(tree.links, tree.couplings, strict=True):
        rest = [0] * (length - len(row))
        turn, back = (
            TrigonometricSum({(*multiples, *rest): 1.0}, length)
            for multiples in (row, -row)
        )
        rotation = np.where(
            abs(link.rotation - link.rotation.round()) < thresholds.WHOLE_NUMBER,
            link.rotation.round(),
            link.rotation,
        )
        own = (
            sums(link.position),
            number(link.mass),
            sums(link.com),
            sums(link.inertia),
        )
        cosine = 0.5 * (turn + back)
        sine = 0.5j * (back - turn)
        links.append(
            SymbolicLink(
                link.joint, link.parent, link.prismatic, rotation, *own, cosine, sine
            )
        )
    rotors = tuple(
        replace(rotor, inertia=number(rotor.inertia)) for rotor in tree.rotors
    )
    return LinkTree(
        tuple(links),
        rotors,
        tree.couplings,
        sums(tree.rotor_couplings),
        sums(tree.gravity),
    )


def _named(sympy: ModuleType, tree: LinkTree) -> tuple[LinkTree, dict[Any, float]]:
    """Return the tree with symbols instead of parameters other than zero, and their values, which are positive."""
    values: dict[Any, float] = {}

    def named(
        pattern: str, numbers: Sequence[float] | Array, axes: Sequence[str] = "xyz"
    ) -> Any:
        present = sum(abs(x) > thresholds.ABSENT_PARAMETER for x in numbers)
        entries: list[Any] = []
        for axis, x in zip(axes, numbers, strict=False):
            entries.append(0)
            if abs(x) > thresholds.ABSENT_PARAMETER:
                symbol = sympy.Symbol(
                    pattern.format("" if present == 1 else axis), real=True
                )
                values[symbol] = abs(float(x))
                entries[-1] = symbol if x > 0.0 else -symbol
        return np.array(entries, dtype=object)

    parents = [link.parent for link in tree.links]
    links = []
    for k, link in enumerate(tree.links, start=1):
        mass = named(f"m{k}", [link.mass])[0]
        com = named(f"lc{{}}{k}", link.com)
        inertia = np.array(
            [
                named(f"I{''.join(sorted(ij))}{k}", [x])[0]
                for ij, x in zip(_AXES, link.inertia.flat, strict=True)
            ]
        )
        siblings = f"_{k}" if parents.count(link.parent) > 1 else ""
        position = named(f"l{{}}{link.parent + 1}{siblings}", link.position)
        links.append(
            replace(
                link,
                mass=mass,
                com=com,
                inertia=inertia.reshape(3, 3),
                position=position,
            )
        )
    rotors = [
        replace(rotor, inertia=named(f"Ir{k}", [rotor.inertia])[0])
        for k, rotor in enumerate(tree.rotors, start=1)
    ]
    columns = [f"_{k}" for k in range(1, tree.couplings.shape[1] + 1)]
    ratios = [
        named(f"N{k}{{}}", row, columns)
        for k, row in enumerate(tree.rotor_couplings, start=1)
    ]
    couplings = np.array(ratios, dtype=object).reshape(tree.rotor_couplings.shape)
    gravity = named("g{}", tree.gravity)
    return LinkTree(
        tuple(links), tuple(rotors), tree.couplings, couplings, gravity
    ), values


def _replacements(
    sympy: ModuleType,
    parameters: Mapping[str, str],
    values: dict[Any, float],
    taken: Collection[str],
) -> dict[Any, Any]:
    """Return formulas by the symbols that they replace. Raises RobotDynamicsError as ``symbolic_arm``.

    Symbols with new names are added to ``values``. ``taken`` are the names of the coordinates.
    """
    symbols = {str(symbol): symbol for symbol in values}
    usable = {
        name: symbol for name, symbol in symbols.items() if name not in parameters
    }
    formulas = {}
    for name, text in parameters.items():
        require_known(name, symbols, f'no parameter "{name}"')
        if _NAME.fullmatch(text) and text not in {*symbols, *taken}:
            usable.setdefault(text, sympy.Symbol(text, real=True))
            values.setdefault(usable[text], values[symbols[name]])
        unknown = set(re.findall(r"[A-Za-z]\w*", text)) - set(usable)
        try:
            # Only numbers, operators and these symbols are left to evaluate.
            if unknown or not _FORMULA.fullmatch(text):
                raise ValueError
            formula = sympy.sympify(
                text.replace("^", "**"), locals=usable, rational=True
            )
            value = float(formula.subs(values))
            sympy.Poly(formula, *usable.values())
        except (ValueError, TypeError, sympy.SympifyError, sympy.PolynomialError):
            raise RobotDynamicsError(
                f'{name}: "{text}" is not a polynomial of symbols. Cure: use numbers, + - * / ^ and {", ".join(usable)}'
            ) from None
        if abs(value - values[symbols[name]]) > thresholds.EQUAL_VALUES * abs(value):
            raise RobotDynamicsError(
                f"{name} is {values[symbols[name]]:g}, but {text} is {value:g}. Cure: correct the formula or the robot"
            )
        formulas[symbols[name]] = formula
    return formulas


def _coordinates(sympy: ModuleType, tree: LinkTree, primes: str) -> tuple[Any, ...]:
    """Return a symbol for each coordinate: d if it moves only prismatic joints, else q."""
    turns = np.array([not link.prismatic for link in tree.links])
    symbols = []
    for k, rates in enumerate(tree.couplings.T, start=1):
        slides = bool(rates.any()) and not rates[turns].any()
        symbols.append(sympy.Symbol(f"{'d' if slides else 'q'}{k}{primes}", real=True))
    return tuple(symbols)

"""Operation counts of the textbook forms of the dynamics, for serial chains of revolute joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from benchmarks.counting import Counted
from benchmarks.operation_counts import Count, Polynomial
from benchmarks.robots import random_chain
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.link_tree import Link, LinkTree
from robot_dynamics_ros.textbooks.generalized_dalembert import joint_terms
from robot_dynamics_ros.textbooks.lagrange import generalized_forces, joint_coefficients
from robot_dynamics_ros.textbooks.newton_euler_equations import (
    newton_euler_base,
    newton_euler_links,
)

SIZES = tuple(range(1, 9))
FITTED = SIZES[3:]  # sizes of the fit of the growth


def lagrange_euler(tree: LinkTree, q: Any, qd: Any, qdd: Any) -> Any:
    """Return the torque by Milicevic (2.5)."""
    D, h, c = joint_coefficients(tree, q)
    return D @ qdd + h @ qd @ qd + c


def dalembert(tree: LinkTree, q: Any, qd: Any, qdd: Any) -> Any:
    """Return the torque by Milicevic (4.1)."""
    D_rot, D_tran, h_rot, h_tran, c = joint_terms(tree, q, qd)
    return (D_rot + D_tran) @ qdd + h_tran + h_rot + c


Form = Callable[[LinkTree, Any, Any, Any], Any]
COUNTED: dict[str, tuple[Form, str]] = {
    "Lagrange-Euler": (lagrange_euler, "Milicevic Table 3, Lagrange-Euler"),
    "generalized d'Alembert": (dalembert, "Milicevic Table 3, d'Alembert"),
    "Newton-Euler, base frame": (newton_euler_base, "Milicevic Table 3, Newton-Euler"),
    "Newton-Euler, link frames": (
        newton_euler_links,
        "Milicevic Table 3, Newton-Euler",
    ),
}
"""Forms, and the name of the printed count of each."""

TIMED: dict[str, Form] = {
    "Lagrange-Euler": lagrange_euler,
    "link Jacobians": generalized_forces,
    **{name: form for name, (form, _) in COUNTED.items() if name != "Lagrange-Euler"},
}


class _Number(Counted):
    """Counted number that also multiplies arrays elementwise."""

    __slots__ = ()

    def _done(self, operation: str, result: float) -> _Number:
        return _Number(super()._done(operation, result), self.tally)

    def __mul__(self, other: Any) -> Any:
        return (
            NotImplemented if isinstance(other, np.ndarray) else super().__mul__(other)
        )


class _Straight:
    """Couplings of independent joints, an identity matrix whose products are not counted."""

    __array_ufunc__ = None  # so that NumPy calls the products of this class

    def __init__(self, n: int) -> None:
        self.shape = (n, n)

    def __matmul__(self, other: Any) -> Any:
        return other

    __rmatmul__ = __matmul__


class CountedTree(LinkTree):
    """Link tree whose numbers count operations."""

    def base_placements(self, q: Any) -> tuple[Any, Any]:
        """Return the placements as LinkTree does, in arrays of objects."""
        rotations = []
        origins = []
        for i, (link, position) in enumerate(
            zip(self.links, self.joint_positions(q), strict=True)
        ):
            rotation, origin = link.placed(float(position))
            if i > 0:
                origin = origins[-1] + rotations[-1] @ origin
                rotation = rotations[-1] @ rotation
            rotations.append(rotation)
            origins.append(origin)
        return np.array(rotations), np.array(origins)


def state(n: int) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations, each (n,)."""
    q, qd, qdd = np.random.default_rng(n).normal(size=(3, n))
    return q, qd, qdd


def count(form: Form, n: int) -> Count:
    """Return multiplications and additions of a form for ``n`` revolute joints, without sines and cosines."""
    tally: Counter[str] = Counter()
    run_counted(form, n, tally)
    return Count(tally["*"], tally["+"] + tally["-"])


def run_counted(form: Form, n: int, tally: Counter[str]) -> Any:
    """Return the torque (n,) of a form for ``random_chain(n)`` in ``state(n)``; operations are counted in ``tally``."""
    counted = np.frompyfunc(lambda number: _Number(number, tally), 1, 1)
    tree = random_chain(n)
    links = []
    for link in tree.links:
        numbers = (
            counted(x)
            for x in (link.rotation, link.position, link.mass, link.com, link.inertia)
        )
        links.append(Link(link.joint, link.parent, link.prismatic, *numbers))
    straight: Any = _Straight(n)
    counting = CountedTree(
        tuple(links), (), straight, tree.rotor_couplings, counted(tree.gravity)
    )
    return form(counting, *map(counted, state(n)))


def polynomial(values: list[int]) -> tuple[Fraction, ...]:
    """Return the polynomial of lowest degree in n through the counts for SIZES from 2 on, highest power first.

    The count of one joint deviates from some polynomials, because products of two constants are not counted.
    """
    n = sympy.Symbol("n")
    found = sympy.Poly(
        sympy.interpolate(list(zip(SIZES[1:], values[1:], strict=True)), n), n
    )
    return tuple(Fraction(c.p, c.q) for c in found.all_coeffs())


def formula(coefficients: Polynomial) -> str:
    """Return a polynomial as text, such as 128/3 n^4 - 4."""
    text = ""
    for power, c in zip(
        range(len(coefficients) - 1, -1, -1), coefficients, strict=True
    ):
        if c != 0:
            factor = "" if abs(c) == 1 and power > 0 else f"{abs(c)} "
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += (
                sign
                + (
                    factor + ("" if power == 0 else "n" if power == 1 else f"n^{power}")
                ).strip()
            )
    return text


def exponent(values: list[float]) -> float:
    """Return the exponent of n with which the values for SIZES grow over FITTED."""
    return float(np.polyfit(np.log(FITTED), np.log(values[-len(FITTED) :]), 1)[0])

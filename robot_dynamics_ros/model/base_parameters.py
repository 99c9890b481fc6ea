"""Base parameters: the combinations of parameters that the torque depends on, found numerically.

M. Gautier, "Numerical calculation of the base inertial parameters of robots", ICRA 1990: the rank of the regressor at
random states by a QR factorisation with column pivoting; then W = W_b [1 K] P, so that W x = W_b (x_b + K x_d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.types import Array

Places = NDArray[np.intp]

_RANK = 1e-9  # of the largest pivot, of columns of unit length
_NOTHING = 1e-12  # of the longest column: such columns are rounding
_ROUNDING = 1e-10  # of a coefficient

# Of ten for a body: those that textbooks keep come first (Khalil's rules for axes along z), mass last.
_READABLE = ("izz", "ixx", "ixy", "ixz", "iyz", "mcx", "mcy", "iyy", "mcz", "mass")


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The r base parameters of p parameters: base = combination x.

    Attributes
    ----------
    independent
        (r,): the columns of the regressor that make the base regressor.
    combination
        (r, p): 1 for the parameter of that column, K for the dependent ones.
    names
        (r,): each as a sum, like "link2.ixx - link2.iyy + 0.1 link3.mcx".
    without_effect
        Places of the parameters that no torque depends on.
    """

    independent: Places
    combination: Array
    names: tuple[str, ...]
    without_effect: Places

    @classmethod
    def of(cls, columns: Array, names: Sequence[str], tolerance: float = _RANK) -> BaseParameters:
        """Return the base parameters of a regressor (rows, p), or of its triangular factor.

        A column is dependent where what is left of it beside the others is below ``tolerance`` of its length.
        """
        if len(columns) > columns.shape[1]:
            columns = np.asarray(np.linalg.qr(columns, mode="r"))  # says the same in fewer rows
        lengths = np.linalg.norm(columns, axis=0)
        seen = np.flatnonzero(lengths > _NOTHING * lengths.max(initial=0.0))
        unit = columns[:, seen] / lengths[seen]
        # SciPy before 1.14 factorises no empty matrix.
        triangle, pivots = scipy.linalg.qr(unit, mode="r", pivoting=True) if unit.size else (unit, seen)
        diagonal = np.abs(np.diag(triangle))
        rank = int(np.count_nonzero(diagonal > tolerance * diagonal.max(initial=0.0)))
        chosen = _readable(unit, [names[k] for k in seen.tolist()], rank, tolerance)
        if chosen is None:
            chosen = np.sort(pivots[:rank])
        independent = seen[chosen]
        dependent = np.setdiff1d(seen, independent)
        combination = np.zeros((rank, len(names)))
        combination[np.arange(rank), independent] = 1.0
        solution = np.linalg.lstsq(columns[:, independent], columns[:, dependent], rcond=None)[0]
        # In units of the columns' lengths, so that what is rounding in a sum of large columns is dropped.
        share = np.abs(solution) * lengths[independent, np.newaxis] / lengths[dependent]
        combination[:, dependent] = np.where(share > _ROUNDING, solution, 0.0)
        sums = tuple(_sum(row, names, first) for row, first in zip(combination, independent, strict=True))
        return cls(independent, combination, sums, np.setdiff1d(np.arange(len(names)), seen))


def _readable(unit: Array, names: Sequence[str], rank: int, tolerance: float) -> Places | None:
    """Choose independent columns one by one, the usual ones first; None where that misses the rank."""

    def place(k: int) -> tuple[int, int]:
        kind = names[k].rsplit(".", 1)[-1]
        return _READABLE.index(kind) if kind in _READABLE else len(_READABLE), k

    basis = np.empty((rank, len(unit)))
    found: list[int] = []
    # Friction is no part of any body's inertia, so that it may be taken first or last; rotors are grouped.
    for k in sorted(range(len(names)), key=place):
        column = unit[:, k].copy()
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            column -= (basis[: len(found)] @ column) @ basis[: len(found)]
        length = np.linalg.norm(column)
        if length > tolerance:
            if len(found) == rank:
                return None
            basis[len(found)] = column / length
            found.append(k)
    return np.sort(np.array(found, dtype=np.intp)) if len(found) == rank else None


def _sum(row: Array, names: Sequence[str], first: int) -> str:
    """Write a row of the combination as a sum, the independent parameter first."""
    terms = [names[first]]
    for k in np.flatnonzero(row).tolist():
        if k != first:
            size = abs(row[k])
            factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.4g} "
            terms.append(f"{'-' if row[k] < 0.0 else '+'} {factor}{names[k]}")
    return " ".join(terms)

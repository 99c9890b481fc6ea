"""Least squares that are judged by what they predict of samples that they were not fitted to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.types import Array

_BLOCKS = 24
_FOLDS = 4
_SINGULAR = 1e-7  # of the greatest eigenvalue, of columns of unit length


class FoldedFits:
    """Fits of a residual (m, n) by columns (m, n, p), each joint with a weight.

    The samples are 24 blocks in a row; each fourth of the blocks is predicted by the fit to the others. The normal
    equations of each joint and part are made once, so that other weights cost little.
    """

    def __init__(self, columns: Array, residual: Array) -> None:
        fold = np.arange(len(residual)) * _BLOCKS // len(residual) % _FOLDS
        self._residual = residual
        self._owns = [fold == k for k in range(_FOLDS)]
        self._parts = [np.ascontiguousarray(columns[own].transpose(1, 0, 2)) for own in self._owns]  # (n, m, p)
        turned = [part.transpose(0, 2, 1) for part in self._parts]
        self._grams = np.array([turn @ part for turn, part in zip(turned, self._parts, strict=True)])
        self._moments = np.array(
            [(turn @ residual[own].T[:, :, np.newaxis])[..., 0] for turn, own in zip(turned, self._owns, strict=True)]
        )

    def predicted_error(self, weights: Array) -> Array:
        """Return what is left of the residual (m, n), each sample predicted by the other parts."""
        error = self._residual.copy()
        for own, part, values in zip(self._owns, self._parts, self._left_out(weights), strict=True):
            error[own] -= (part @ values).T
        return error

    def values(self, weights: Array) -> tuple[Array, Array]:
        """Return the numbers (p,) fitted to all samples, and their standard errors; infinite where they are open.

        By the jackknife (Efron 1982): neighbouring samples err together, so that counting them would flatter.
        """
        grams, moments = self._weighted(weights)
        values, loose = _solve(grams.sum(axis=0), moments.sum(axis=0))
        others = self._left_out(weights)
        errors = np.sqrt((_FOLDS - 1) / _FOLDS * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
        return values, np.where(loose, np.inf, errors)

    def _left_out(self, weights: Array) -> Array:
        """Return for each part the numbers (parts, p) fitted to the others."""
        grams, moments = self._weighted(weights)
        rest = zip(grams.sum(axis=0) - grams, moments.sum(axis=0) - moments, strict=True)
        return np.array([_solve(gram, moment)[0] for gram, moment in rest])

    def _weighted(self, weights: Array) -> tuple[Array, Array]:
        squares = weights**2
        return np.einsum("knpq,n->kpq", self._grams, squares), np.einsum("knp,n->kp", self._moments, squares)


def _solve(gram: Array, moment: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Solve normal equations, shortest where they are singular; also say which numbers are then left open (p,)."""
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = eigenvalues > _SINGULAR * eigenvalues[-1]
    inverse = vectors[:, kept] / eigenvalues[kept]
    loose: NDArray[np.bool_] = (vectors[:, ~kept] ** 2).sum(axis=1) > 1e-4
    return inverse @ (vectors[:, kept].T @ (moment / scale)) / scale, loose

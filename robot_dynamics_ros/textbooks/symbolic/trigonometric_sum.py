"""Sums of sines, cosines and products of symbols as numbers, with which the NumPy textbook functions compute."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import Any

import numpy as np

Exponents = tuple[float, ...]


class TrigonometricSum:
    """Sum of terms c exp(i k . q) x^p with complex c, angles q, multiples k and powers p of symbols x.

    Sums, differences and products with each other and with numbers are expanded at once, so that equal terms cancel and
    sin^2 + cos^2 is 1. In arrays of objects they replace floats.

    Attributes
    ----------
    terms
        The numbers c by their exponents, k followed by p: a tuple of the same length for all sums.
    length
        This length.
    """

    __slots__ = ("length", "terms")

    def __init__(self, terms: Mapping[Exponents, complex], length: int) -> None:
        self.terms = terms
        self.length = length

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # elementwise by NumPy
        terms = dict(self.terms)
        for exponents, c in self._terms_of(other).items():
            c += terms.pop(exponents, 0.0)
            if c != 0.0:
                terms[exponents] = c
        return TrigonometricSum(terms, self.length)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        terms: dict[Exponents, complex] = {}
        factors = self._terms_of(other)
        for one, c in self.terms.items():
            for two, d in factors.items():
                exponents = tuple(map(add, one, two))
                terms[exponents] = terms.get(exponents, 0.0) + c * d
        return TrigonometricSum(
            {exponents: c for exponents, c in terms.items() if c != 0.0}, self.length
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> TrigonometricSum:
        return TrigonometricSum(
            {exponents: -c for exponents, c in self.terms.items()}, self.length
        )

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _terms_of(self, number: Any) -> Mapping[Exponents, complex]:
        if isinstance(number, TrigonometricSum):
            return number.terms
        return {(0,) * self.length: complex(number)} if number else {}

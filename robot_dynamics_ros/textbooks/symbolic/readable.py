"""Short formulas from trigonometric sums: products and squares of sines and cosines where they are shorter."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.symbolic.trigonometric_sum import (
    Exponents,
    TrigonometricSum,
)

# A term: cosine or sine, the multiples of the angles q, and the powers of the symbols.
_Key = tuple[str, Exponents, Exponents]
_Waves = dict[_Key, float]


def readable(
    sympy: ModuleType,
    sums: Any,
    q: Sequence[Any],
    symbols: Sequence[Any],
    *,
    fractions: bool,
) -> Any:
    """Return an array of trigonometric sums and numbers, of up to two axes, as a SymPy matrix with real terms.

    Pairs of terms become products if that is shorter: c(2 q2 + q3) + c3 is 2 c2 c23, and 1 - c(2 q2) is 2 s2^2. Terms
    that are rounding errors are omitted.

    Parameters
    ----------
    sympy, sums
        The module SymPy, and the array.
    q, symbols
        Symbols of the exponents: the angles, and the factors of the terms.
    fractions
        True to write numbers such as 0.5 as 1/2.
    """
    array = np.asarray(sums)
    entries = [_waves(entry, len(q)) for entry in array.ravel()]
    noise = thresholds.TERM_NOISE * max(
        (abs(value) for waves in entries for value in waves.values()), default=0.0
    )
    formulas = [_entry(sympy, waves, noise, q, symbols) for waves in entries]
    if fractions:
        formulas = [
            formula.xreplace(
                {x: _fraction(sympy, x) for x in formula.atoms(sympy.Float)}
            )
            for formula in formulas
        ]
    rows, columns = array.shape if array.ndim == 2 else (array.size, 1)
    return sympy.Matrix(rows, columns, formulas)


def _waves(entry: Any, angles: int) -> _Waves:
    """Return real terms: c e^ix + conj(c) e^-ix = 2 Re(c) cos x - 2 Im(c) sin x, from the terms with positive x."""
    if not isinstance(entry, TrigonometricSum):
        return {("cos", (0.0,) * angles, ()): float(entry)} if entry else {}
    waves: _Waves = {}
    for exponents, c in entry.terms.items():
        multiples = tuple(map(_multiple, exponents[:angles]))
        first = next((k for k in multiples if k != 0.0), 0.0)
        if first < 0.0:
            continue
        for kind, value in (
            (("cos", c.real), ("sin", -c.imag)) if first else (("cos", c.real),)
        ):
            key = (kind, multiples, exponents[angles:])
            waves[key] = waves.get(key, 0.0) + (2.0 * value if first else value)
    return waves


def _multiple(k: float) -> float:
    """Return a multiple of an angle without rounding error, so that equal multiples compare equal."""
    return (
        float(round(k)) if abs(k - round(k)) < thresholds.EQUAL_TERMS else round(k, 13)
    )


def _fraction(sympy: ModuleType, number: Any) -> Any:
    """Return a number as a fraction if its denominator is small, else unchanged."""
    fraction = Fraction(float(number)).limit_denominator(thresholds.LARGEST_DENOMINATOR)
    close = abs(fraction - Fraction(float(number))) <= thresholds.ROUNDING * abs(
        fraction
    )
    return sympy.Rational(fraction.numerator, fraction.denominator) if close else number


def _entry(
    sympy: ModuleType,
    waves: _Waves,
    noise: float,
    q: Sequence[Any],
    symbols: Sequence[Any],
) -> Any:
    def times(powers: Exponents) -> Any:
        return sympy.Mul(
            *(symbol ** int(p) for symbol, p in zip(symbols, powers, strict=False) if p)
        )

    least = max(noise, thresholds.ROUNDING * max(map(abs, waves.values()), default=0.0))
    waves = {key: value for key, value in waves.items() if abs(value) > least}
    terms = []
    for key in list(waves):
        square = _square(sympy, waves, key, q)
        if square is not None:
            terms.append(square * times(key[2]))
    while waves:
        key, value = next(iter(waves.items()))
        del waves[key]
        partner = _partner(waves, key, value)
        if partner is None:
            terms.append(value * times(key[2]) * _wave(sympy, key[0], key[1], q))
        else:
            same_sign = waves.pop(partner) * value > 0.0
            terms.append(
                2.0
                * value
                * times(key[2])
                * _product(sympy, key, partner, same_sign, q)
            )
    return sympy.Add(
        *(term for term in terms if abs(float(term.as_coeff_Mul()[0])) > least)
    )


def _square(sympy: ModuleType, waves: _Waves, key: _Key, q: Sequence[Any]) -> Any:
    """Combine cos 2x and part of the constant to a square, or split sin 2x; None for other terms."""
    kind, multiples, powers = key
    if not any(multiples) or not all(k.is_integer() and k % 2 == 0 for k in multiples):
        return None
    half = tuple(k / 2 for k in multiples)
    value = waves[key]
    c = _wave(sympy, "cos", half, q)
    s = _wave(sympy, "sin", half, q)
    if kind == "sin":
        del waves[key]
        return 2.0 * value * s * c
    constant = ("cos", (0.0,) * len(q), powers)
    there = waves.get(constant, 0.0)
    if abs(there) < (1.0 - thresholds.EQUAL_TERMS) * abs(value):
        return None
    del waves[key]
    # b cos 2x = 2 b cos^2 x - b = b - 2 b sin^2 x, whichever makes the constant smaller.
    if value * there > 0.0:
        waves[constant] = there - value
        return 2.0 * value * c**2
    waves[constant] = there + value
    return -2.0 * value * s**2


def _partner(waves: _Waves, key: _Key, value: float) -> _Key | None:
    """Return a term of the same size whose sum with this one is a product with integer multiples, or None."""
    kind, multiples, powers = key
    for other, size in waves.items():
        if (
            other[0] == kind
            and other[2] == powers
            and abs(abs(size) - abs(value)) <= thresholds.EQUAL_TERMS * abs(value)
        ):
            sums = [a + b for a, b in zip(multiples, other[1], strict=True)]
            if all(k.is_integer() and k % 2 == 0 for k in sums):
                return other
    return None


def _product(
    sympy: ModuleType, key: _Key, other: _Key, same_sign: bool, q: Sequence[Any]
) -> Any:
    """Return half of cos x + cos y, cos x - cos y, sin x + sin y or sin x - sin y as a product."""
    plus = tuple((a + b) / 2 for a, b in zip(key[1], other[1], strict=True))
    minus = tuple((a - b) / 2 for a, b in zip(key[1], other[1], strict=True))
    kind = key[0] if same_sign else "sin" if key[0] == "cos" else "cos"
    product = _wave(sympy, kind, plus, q) * _wave(
        sympy, "cos" if same_sign else "sin", minus, q
    )
    return -product if key[0] == "cos" and not same_sign else product


def _wave(
    sympy: ModuleType, kind: str, multiples: Sequence[Any], q: Sequence[Any]
) -> Any:
    exact = (
        sympy.Integer(int(k)) if k.is_integer() else sympy.Float(k) for k in multiples
    )
    return getattr(sympy, kind)(
        sum((k * symbol for k, symbol in zip(exact, q, strict=True)), sympy.Integer(0))
    )

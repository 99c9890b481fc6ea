"""Sums of complex exponentials as short formulas of sines and cosines, and as text, in the form of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

_ROUNDING = 1e-12  # of the largest term of an entry
_NOISE = 1e-14  # of the largest term of all
_EQUAL = 1e-9

# What a term is: cosine or sine, the multiples of the angles q in it, and what multiplies it beside a number.
_Key = tuple[str, tuple[Any, ...], Any]
_Waves = dict[_Key, float]


def readable(sympy: ModuleType, matrix: Any, q: Sequence[Any], qd: Sequence[Any]) -> Any:
    """Return sums of products of numbers, ``q``, ``qd`` and exp(I k . q) with real sines and cosines.

    Pairs become products where that is shorter: c(2 q2 + q3) + c3 is 2 c2 c23, and 1 - c(2 q2) is 2 s2^2. Terms that
    are no more than rounding are left out.
    """
    entries = [_waves(sympy, entry, q, qd) for entry in matrix]
    noise = _NOISE * max((abs(value) for waves in entries for value in waves.values()), default=0.0)
    return sympy.Matrix(*matrix.shape, [_entry(sympy, waves, noise, q) for waves in entries])


def formula(expression: Any, q: Sequence[Any], digits: int, least: float = 0.0) -> str:
    """Write an entry of what ``readable`` returns: c12 for cos(q1 + q2), products without a sign, 0 for no terms.

    Numbers have some digits; terms whose number is below ``least`` are left out.
    """
    terms = []
    for number, rest in _terms(expression):
        if abs(number) > least:
            powers = (factor.as_base_exp() for factor in rest.as_ordered_factors() if factor != 1)
            parts = [_part(base, exponent, q) for base, exponent in powers]
            terms.append((number, sorted(parts, key=_place)))
    terms.sort(key=_order)
    return _sum(terms, digits) if terms else "0"


def largest_number(matrix: Any) -> float:
    """Return the largest absolute number in front of a term of ``readable``, 0 where there is none."""
    return max((abs(number) for entry in matrix for number, _ in _terms(entry)), default=0.0)


def _terms(expression: Any) -> list[tuple[float, Any]]:
    """Return the numbers and what they multiply."""
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
    """Write numbers times factors as a sum; a number 1 is not written."""
    text = ""
    for number, parts in terms:
        size = f"{abs(number):.{digits}g}"
        sign = ("-" if number < 0.0 else "") if not text else (" - " if number < 0.0 else " + ")
        text += sign + " ".join(parts if parts and size == "1" else [size, *parts])
    return text


def _waves(sympy: ModuleType, expression: Any, q: Sequence[Any], qd: Sequence[Any]) -> _Waves:
    """Collect c e^ix + conj(c) e^-ix = 2 Re(c) cos x - 2 Im(c) sin x: the terms with the positive x are enough."""
    waves: _Waves = {}
    for term in sympy.Add.make_args(sympy.expand(expression, power_base=False, power_exp=False)):
        rest, exponential = term.as_independent(sympy.exp)
        number, factors = rest.as_independent(*q, *qd)
        # Exponentials of different angles stand side by side.
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
    """The same number without its rounding, that angles with the same multiples be the same."""
    return sympy.Integer(round(k)) if abs(k - round(k)) < _EQUAL else sympy.Float(round(float(k), 13))


def _square(sympy: ModuleType, waves: _Waves, key: _Key, q: Sequence[Any]) -> Any:
    """Take cos 2x with as much of the constant as makes it a square, and sin 2x; None where the term is no such."""
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
    """Find a term of the same size whose sum with this one is a product of whole angles."""
    kind, multiples, factors = key
    for other, size in waves.items():
        if other[0] == kind and other[2] == factors and abs(abs(size) - abs(value)) <= _EQUAL * abs(value):
            sums = [a + b for a, b in zip(multiples, other[1], strict=True)]
            if all(k.is_integer and k % 2 == 0 for k in sums):
                return other
    return None


def _product(sympy: ModuleType, key: _Key, other: _Key, same_sign: bool, q: Sequence[Any]) -> Any:
    """Half of cos x + cos y, cos x - cos y, sin x + sin y or sin x - sin y, as a product."""
    plus = tuple((a + b) / 2 for a, b in zip(key[1], other[1], strict=True))
    minus = tuple((a - b) / 2 for a, b in zip(key[1], other[1], strict=True))
    if key[0] == "cos":
        if same_sign:
            return _wave(sympy, "cos", plus, q) * _wave(sympy, "cos", minus, q)
        return -_wave(sympy, "sin", plus, q) * _wave(sympy, "sin", minus, q)
    if same_sign:
        return _wave(sympy, "sin", plus, q) * _wave(sympy, "cos", minus, q)
    return _wave(sympy, "cos", plus, q) * _wave(sympy, "sin", minus, q)


def _wave(sympy: ModuleType, kind: str, multiples: Sequence[Any], q: Sequence[Any]) -> Any:
    angle = sum((k * symbol for k, symbol in zip(multiples, q, strict=True)), sympy.Integer(0))
    return sympy.cos(angle) if kind == "cos" else sympy.sin(angle)


def _order(term: tuple[float, list[str]]) -> tuple[Any, ...]:
    """By the rates in it, then by the number of factors."""
    powers = [part.partition("^") for part in term[1]]
    factors = [name for name, _, exponent in powers for _ in range(int(exponent or 1))]
    return [part for part in term[1] if "'" in part], len(factors), factors


def _place(part: str) -> tuple[Any, ...]:
    """Sines and cosines first, then positions, then rates by their numbers."""
    rate = "'" in part
    return part[0] not in "cs", rate, part[1:] if rate else part


def _part(base: Any, exponent: Any, q: Sequence[Any]) -> str:
    """Write one factor: c12, s2, c2^2, d3, q1' and their powers."""
    text = str(base)
    if base.func.__name__ in ("cos", "sin"):
        multiples = [base.args[0].coeff(symbol) for symbol in q]
        if all(k in (0, 1) for k in multiples):
            text = base.func.__name__[0] + "".join(str(k) for k, m in enumerate(multiples, start=1) if m)
        else:
            angle = [(float(m), [str(symbol)]) for m, symbol in zip(multiples, q, strict=True) if m]
            text = f"{base.func.__name__}({_sum(angle, 4)})"
    return text if exponent == 1 else f"{text}^{exponent}"

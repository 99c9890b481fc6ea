"""Formulas as text in the notation of the textbooks, as LaTeX and as Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import sympy_module

LANGUAGES = ("text", "latex", "python")
"""Languages of ``formula_lines``."""

# letter, index letters, number, primes
_SYMBOL = re.compile(r"([A-Za-z])([a-z]*)([\d_]*)('*)")
_POWER = re.compile(r"^(.*?)(?:\^(-?\d+))?$")
_PARAMETERS = "mINlg"  # first letters, in the order of the factors


def formula_lines(
    terms: Mapping[str, Any], q: Sequence[Any], language: str = "text", digits: int = 4
) -> Iterator[str]:
    """Yield scalars and matrices as equations in one of ``LANGUAGES``.

    - text: an equation for each element, such as ``M11 = 2.5 + 1.2 c2``, where c2 is cos(q2) and s12 is sin(q1 + q2).
      A single column has one index. Elements that are equal by symmetry share an equation, such as ``M12 = M21 =
      ...``. Numbers have ``digits`` significant
      digits. Terms below a hundredth of the last digit of the largest term of the matrix are omitted.
    - latex: an equation for each scalar or matrix.
    - python: a function for each, whose arguments are the symbols that occur in it; q1_dot is the rate of q1.

    ``terms`` has the SymPy formulas by name, ``q`` are the symbols of the angles.
    """
    if language == "python":
        yield "from math import cos, sin"
    for name, formula in terms.items():
        if language == "latex":
            yield _latex(name, formula)
        elif language == "python":
            yield _python(name, formula)
        elif formula.is_Matrix:
            yield from _elements(name, formula, q, digits)
        else:
            yield f"{name} = {formula_text(formula, q, digits)}"


def vector_line(name: str, vector: Any, q: Sequence[Any]) -> str:
    """Return a vector of SymPy expressions as an equation in one line, such as ``w1 = (0, 0, q1')``.

    ``q`` are the symbols of the positions, in the order of the joints; numbers have four significant digits.
    """
    return f"{name} = ({', '.join(formula_text(entry, q) for entry in vector)})"


def formula_text(
    expression: Any, q: Sequence[Any], digits: int = 4, least: float = 0.0
) -> str:
    """Return an expression as text, without terms whose numbers are at most ``least``.

    ``q`` are the symbols of the angles. Numbers have ``digits`` significant digits.
    """
    terms = []
    for number, rest in _terms(expression):
        if abs(float(number)) > least:
            powers = (
                factor.as_base_exp()
                for factor in rest.as_ordered_factors()
                if factor != 1
            )
            parts = [_part(base, exponent, q, digits) for base, exponent in powers]
            terms.append((number, sorted(parts, key=_place)))
    terms.sort(key=_order)
    return _sum(terms, digits) if terms else "0"


def _elements(name: str, matrix: Any, q: Sequence[Any], digits: int) -> Iterator[str]:
    rows, columns = matrix.shape
    symmetric = 1 < rows == columns and matrix.is_symmetric()
    largest = max(
        (abs(float(number)) for entry in matrix for number, _ in _terms(entry)),
        default=0.0,
    )
    least = largest * 10.0 ** -(digits + 2)
    for i in range(rows):
        for j in range(i if symmetric else 0, columns):
            label = f"{name}{i + 1}{'' if columns == 1 else j + 1}"
            also = f" = {name}{j + 1}{i + 1}" if symmetric and j > i else ""
            yield f"{label}{also} = {formula_text(matrix[i, j], q, digits, least)}"


def _latex(name: str, formula: Any) -> str:
    names = {symbol: _latex_symbol(str(symbol)) for symbol in formula.free_symbols}
    return (
        f"{_latex_symbol(name)} = {sympy_module().latex(formula, symbol_names=names)}"
    )


def _latex_symbol(name: str) -> str:
    """Return the LaTeX of a symbol, such as l_{c1} for lc1."""
    found = _SYMBOL.fullmatch(name)
    if found is None:
        return name
    letter, index, number, primes = found.groups()
    accent = {"": "{}", "'": "\\dot{{{}}}", "''": "\\ddot{{{}}}"}[primes].format(letter)
    subscript = index + number.replace("_", ",")
    return f"{accent}_{{{subscript}}}" if subscript else accent


def _python(name: str, formula: Any) -> str:
    sympy = sympy_module()
    dotted = {
        symbol: str(symbol).replace("''", "_ddot").replace("'", "_dot")
        for symbol in formula.free_symbols
    }
    renamed = formula.xreplace(
        {symbol: sympy.Symbol(text) for symbol, text in dotted.items()}
    )
    rows = renamed.tolist() if formula.is_Matrix else [[renamed]]
    code = [
        [sympy.pycode(entry, fully_qualified_modules=False) for entry in row]
        for row in rows
    ]
    body = "\n".join(f"        [{', '.join(row)}]," for row in code)
    result = f"[\n{body}\n    ]" if formula.is_Matrix else code[0][0]
    return f"\n\ndef {name}({', '.join(sorted(dotted.values()))}):\n    return {result}"


def _terms(expression: Any) -> list[tuple[Any, Any]]:
    """Return each term as a number and its factors."""
    pairs = (term.as_coeff_Mul() for term in expression.as_ordered_terms())
    return [(number, rest) for number, rest in pairs if number != 0]


def _sum(terms: Sequence[tuple[Any, list[str]]], digits: int) -> str:
    """Return the sum of numbers times factors as a sum as text; a factor 1 is omitted."""
    text = ""
    for number, parts in terms:
        size = (
            str(abs(number))
            if getattr(number, "is_Rational", False)
            else f"{abs(float(number)):.{digits}g}"
        )
        sign = (
            ("-" if number < 0 else "")
            if not text
            else (" - " if number < 0 else " + ")
        )
        text += sign + " ".join(parts if parts and size == "1" else [size, *parts])
    return text


def _order(term: tuple[Any, list[str]]) -> tuple[Any, ...]:
    """Return the sort key of a term: its rates, then the number of its factors."""
    powers = [_POWER.findall(part)[0] for part in term[1]]
    factors = [
        name for name, exponent in powers for _ in range(abs(int(exponent or 1)))
    ]
    return [part for part in term[1] if "'" in part], len(factors), factors


def _place(part: str) -> tuple[Any, ...]:
    """Return the sort key of a factor: parameters, sines and cosines, positions, rates by their numbers, sums."""
    rate = "'" in part
    place = _PARAMETERS.find(part[0])
    return (
        place < 0,
        place,
        part[0] == "(",
        part[0] not in "cs",
        rate,
        part[1:] if rate else part,
    )


def _part(base: Any, exponent: Any, q: Sequence[Any], digits: int) -> str:
    """Return one factor as text: c12, s2, c2^2, d3, q1', their powers, and sums in brackets."""
    text = str(base)
    if base.func.__name__ in ("cos", "sin"):
        multiples = [base.args[0].coeff(symbol) for symbol in q]
        if all(k in (0, 1) for k in multiples):
            text = base.func.__name__[0] + "".join(
                str(k) for k, m in enumerate(multiples, start=1) if m
            )
        else:
            angle = [
                (m, [str(symbol)]) for m, symbol in zip(multiples, q, strict=True) if m
            ]
            text = f"{base.func.__name__}({_sum(angle, 4)})"
    elif base.is_Add:
        text = f"({formula_text(base, q, digits)})"
    return text if exponent == 1 else f"{text}^{exponent}"

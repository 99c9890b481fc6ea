"""Compiled kernels as plain Python, so that they run on other numbers than floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any


class _Mathematics:
    """Stands in for ``math``: asks the number itself for its sine, cosine and root where it knows them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(math, name)

    @staticmethod
    def sin(x: Any) -> Any:
        return x.sin() if hasattr(x, "sin") else math.sin(x)

    @staticmethod
    def cos(x: Any) -> Any:
        return x.cos() if hasattr(x, "cos") else math.cos(x)

    @staticmethod
    def sqrt(x: Any) -> Any:
        return x.sqrt() if hasattr(x, "sqrt") else math.sqrt(x)


_MATHEMATICS = _Mathematics()


@cache
def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The plain-Python twin of a kernel, whose calls go to the twins of the other kernels.

    It takes arrays of dtype object filled with any numbers that have the operators ``+ - * / >`` and the methods
    ``sin``, ``cos`` and ``sqrt``. It works alike where numba is missing or switched off.
    """
    function = getattr(kernel, "py_func", kernel)
    names = function.__globals__
    used = {name: _twin(names[name]) for name in function.__code__.co_names if name in names}
    defaults = tuple(_twin(value) for value in function.__defaults__ or ())
    twin = FunctionType(function.__code__, {**names, **used}, function.__name__, defaults, function.__closure__)
    twin.__doc__ = function.__doc__
    return twin


def _twin(value: Any) -> Any:
    if value is math:
        return _MATHEMATICS
    return interpreted(value) if hasattr(value, "py_func") or isinstance(value, FunctionType) else value

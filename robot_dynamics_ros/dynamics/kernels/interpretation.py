"""Kernels as plain Python functions, on floats and on other number types."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any


class _Mathematics:
    """Replacement of ``math`` that calls a number's own ``sin``, ``cos`` or ``sqrt`` if it has these methods."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(math, name)
        if name not in ("sin", "cos", "sqrt"):
            return function
        return lambda x: getattr(x, name)() if hasattr(x, name) else function(x)


_MATHEMATICS = _Mathematics()


@cache
def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel, compiled or not, as a plain Python function that also calls other kernels as such functions.

    It accepts arrays of dtype object whose elements have the operators ``+ - * / >`` and the methods ``sin``, ``cos``
    and ``sqrt``. The result is the same if numba is missing or disabled.
    """
    function = getattr(kernel, "py_func", kernel)
    names = function.__globals__
    used = {
        name: _twin(names[name]) for name in function.__code__.co_names if name in names
    }
    defaults = tuple(_twin(value) for value in function.__defaults__ or ())
    twin = FunctionType(
        function.__code__,
        {**names, **used},
        function.__name__,
        defaults,
        function.__closure__,
    )
    twin.__doc__ = function.__doc__
    return twin


def _twin(value: Any) -> Any:
    if value is math:
        return _MATHEMATICS
    return (
        interpreted(value)
        if hasattr(value, "py_func") or isinstance(value, FunctionType)
        else value
    )

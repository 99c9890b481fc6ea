"""Pytest plugin that breaks a function: `BROKEN=module:name=zero python -m pytest -p tools.broken_function TEST`.

The function is replaced before tests are imported, so that tests and callers get the broken one. ``check_index`` runs
this for the functions that docs/theory.md names.
"""

import copy
import dataclasses
import functools
import inspect
import json
import operator
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings


def transposed(value: Any) -> Any:
    """Return an array or sympy matrix with its last two axes exchanged; other values are returned unchanged."""
    if isinstance(value, np.ndarray):
        return np.swapaxes(value, -1, -2) if value.ndim > 1 else value
    return getattr(value, "T", value)


def squared(value: Any) -> Any:
    """Return the squares of the elements."""
    multiply = functools.partial(operator.mul, value)
    return getattr(value, "multiply_elementwise", multiply)(value)


# Changes of a result. The first two also swap True and False.
MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "zero": lambda value: value * 0,
    "double": lambda value: value * 2,
    "negate": operator.neg,
    "transpose": transposed,
    "square": squared,
}
# Node ids of the tests in which a result differs from the true one; "" outside of tests.
_AFFECTED: set[str] = set()
# Groups of tests of which one failure is enough
_OPEN: list[list[str]] = json.loads(os.environ.get("BROKEN_GROUPS", "[]"))

# A few examples, the same at each run, and none stored. test/conftest.py loads the profile of HYPOTHESIS_PROFILE.
_FIXED = settings(
    max_examples=10,
    deadline=None,
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
)
_CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "broken",
    _FIXED,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=_CHECKS,
)


def is_named(node: str, test: str) -> bool:
    """Return True if a node id belongs to a named test, or is its file."""
    return (
        node == test
        or node.startswith((f"{test}[", f"{test}::"))
        or test.startswith(f"{node}::")
    )


def differs(changed: Any, value: Any) -> bool:
    """Return True if two numbers, arrays or expressions differ by more than rounding errors."""
    try:
        return np.shape(changed) != np.shape(value) or not np.allclose(
            changed, value, rtol=1e-6, atol=1e-9, equal_nan=True
        )
    except TypeError:  # text or expressions
        return bool(np.any(changed != value))


def mutated(value: Any, how: str) -> Any:
    """Return a result with the structure of ``value`` and changed numbers; record the test if they differ."""
    if isinstance(value, dict):
        return {key: mutated(item, how) for key, item in value.items()}
    if isinstance(value, Iterator):
        return iter([mutated(item, how) for item in value])
    if isinstance(value, tuple | list):
        items = [mutated(item, how) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value):
        copied = copy.copy(value)
        for field in dataclasses.fields(value):
            item = mutated(getattr(value, field.name), how)
            object.__setattr__(copied, field.name, item)
        return copied
    if isinstance(value, bool | np.bool_):
        changed: Any = value != (how in ("zero", "double"))
    else:
        try:
            changed = MUTATIONS[how](value)
        except TypeError:  # neither numbers nor text
            return value
    if differs(changed, value):
        _AFFECTED.add(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0])
    return changed


def broken(function: Callable[..., Any], how: str) -> Callable[..., Any]:
    """Return a function with a changed result, or with changed arrays where it returns None and writes into arguments.

    A kernel runs as plain Python and gets copies of its arguments, so that it writes nothing to the caller's arrays.
    """
    interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"
    silent = inspect.signature(function).return_annotation in (None, "None")

    @functools.wraps(function)
    def result(*arguments: Any, **keywords: Any) -> Any:
        passed = copy.deepcopy(arguments) if interpreted else arguments
        if not silent:
            return mutated(function(*passed, **keywords), how)
        if interpreted:
            function(*passed, **keywords)
            write(passed, arguments, how)
        return None

    return result


def write(results: Any, targets: Any, how: str) -> None:
    """Write the changed contents of the arrays in which ``results`` differs from ``targets``."""
    for result, target in zip(results, targets, strict=True):
        if isinstance(target, tuple):
            write(result, target, how)
        elif isinstance(target, np.ndarray) and not np.array_equal(
            result, target, equal_nan=True
        ):
            target[...] = mutated(result, how)


def replace(module: str, name: str, how: str) -> None:
    """Replace a function, method or property by a broken one, also in modules that have imported it by name."""
    *owners, attribute = name.split(".")
    owner = functools.reduce(getattr, owners, import_module(module))
    original = inspect.getattr_static(owner, attribute)
    # of a property its function
    changed: Any = broken(getattr(original, "fget", original), how)
    setattr(
        owner,
        attribute,
        property(changed) if isinstance(original, property) else changed,
    )
    for other in list(sys.modules.values()):
        for key, value in list(vars(other).items()):
            if value is original:
                setattr(other, key, changed)


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave out a test if one test of each of its groups has failed."""
    left = any(is_named(item.nodeid, test) for group in _OPEN for test in group)
    return None if left or "BROKEN_GROUPS" not in os.environ else True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Close the groups of a test that has failed."""
    if report.failed:
        _OPEN[:] = [
            group
            for group in _OPEN
            if not any(is_named(report.nodeid, test) for test in group)
        ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tests that got a changed result."""
    for node in sorted(_AFFECTED):
        terminalreporter.write_line(f"AFFECTED {node}")


if os.environ.get("BROKEN"):
    target, how = os.environ["BROKEN"].split("=")
    module, name = target.split(":")
    replace(module, name, how)

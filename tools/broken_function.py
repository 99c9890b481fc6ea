"""Pytest plugin that breaks a function: `BROKEN=module:name=zero python -m pytest -p tools.broken_function TEST`.

The function is replaced before tests are imported, so that tests and callers get the broken one. ``check_index`` runs
this for the functions that docs/theory.md names.
"""

import copy
import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings

FACTORS = {"zero": 0, "double": 2}

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


def scaled(value: Any, factor: int) -> Any:
    """Return a result with the structure of ``value`` and its numbers times ``factor``; True and False are swapped."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, dict):
        return {key: scaled(item, factor) for key, item in value.items()}
    if isinstance(value, Iterator):
        return iter([scaled(item, factor) for item in value])
    if isinstance(value, tuple | list):
        items = [scaled(item, factor) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value):
        changed = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(
                changed, field.name, scaled(getattr(value, field.name), factor)
            )
        return changed
    try:
        return value * factor
    except TypeError:  # neither numbers nor text
        return value


def broken(function: Callable[..., Any], factor: int) -> Callable[..., Any]:
    """Return a function whose result is that of ``function`` times ``factor``, or that does nothing if it returns None.

    A kernel runs as plain Python and gets copies of its arguments, so that it writes nothing to the caller's arrays.
    """
    passed = copy.deepcopy if os.environ.get("NUMBA_DISABLE_JIT") == "1" else tuple
    silent = inspect.signature(function).return_annotation in (None, "None")

    @functools.wraps(function)
    def result(*arguments: Any, **keywords: Any) -> Any:
        return (
            None if silent else scaled(function(*passed(arguments), **keywords), factor)
        )

    return result


def replace(module: str, name: str, factor: int) -> None:
    """Replace a function, method or property by a broken one, also in modules that have imported it by name."""
    *owners, attribute = name.split(".")
    owner = functools.reduce(getattr, owners, import_module(module))
    original = inspect.getattr_static(owner, attribute)
    # of a property its function
    changed: Any = broken(getattr(original, "fget", original), factor)
    setattr(
        owner,
        attribute,
        property(changed) if isinstance(original, property) else changed,
    )
    for other in list(sys.modules.values()):
        for key, value in list(vars(other).items()):
            if value is original:
                setattr(other, key, changed)


if os.environ.get("BROKEN"):
    target, how = os.environ["BROKEN"].split("=")
    module, name = target.split(":")
    replace(module, name, FACTORS[how])

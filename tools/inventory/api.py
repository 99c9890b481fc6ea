"""The Python API of docs/api.md: names, signatures, members and bases, without the modules that define them."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import robot_dynamics_ros
from tools.inventory.observed import ROOT

_DIRECTIVE = re.compile(r"\.\. auto(\w+):: (\S+)\n((?:   :.*\n)*)")


def api() -> Iterator[str]:
    """Yield the names that the package exports, and the content of the page."""
    for name in robot_dynamics_ros.__all__:
        yield f"robot_dynamics_ros exports {name}"
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for kind, path, options in _DIRECTIVE.findall(text):
        yield from _documented(kind, path, options)


def _documented(kind: str, path: str, options: str) -> Iterator[str]:
    if kind == "module":
        module = import_module(path)
        for name, value in vars(module).items():
            if not name.startswith("_") and _is_own(module, name, value):
                yield from _object(name, value, ":members:")
        return
    module_name, _, name = path.rpartition(".")
    yield from _object(name, getattr(import_module(module_name), name), options)


def _is_own(module: ModuleType, name: str, value: Any) -> bool:
    """Return True for a function or class that the module defines, and for a constant."""
    return getattr(value, "__module__", None) == module.__name__ or name.isupper()


def _object(name: str, value: Any, options: str) -> Iterator[str]:
    if not callable(value):
        yield name
    elif not inspect.isclass(value):
        yield f"{name}{_signature(value)}"
    elif issubclass(value, enum.Enum):
        yield from (f"{name}.{member.name} = {member.value!r}" for member in value)
    elif issubclass(value, BaseException):
        yield f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
    else:
        yield f"{name}{_signature(value)}"
        yield from _members(name, value, options)


def _members(name: str, owner: type, options: str) -> Iterator[str]:
    if ":members:" not in options:
        return
    members = dir(owner) if ":inherited-members:" in options else vars(owner)
    for member in members:
        value = inspect.getattr_static(owner, member)
        if member.startswith("_"):
            continue
        function = getattr(value, "__func__", value)  # of a class method
        yield f"{name}.{member}{_signature(function) if inspect.isfunction(function) else ''}"


def _signature(function: Callable[..., Any]) -> str:
    """Return names and defaults of the public parameters; the text of annotations depends on the version of Python."""
    signature = inspect.signature(function)
    public = [
        parameter
        for parameter in signature.parameters.values()
        if not parameter.name.startswith("_")
    ]
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in public]
    return str(
        signature.replace(parameters=parameters, return_annotation=signature.empty)
    )

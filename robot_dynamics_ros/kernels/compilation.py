"""How kernels are compiled: by numba where it is there, cached on disk, or run as plain Python."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

numba: Any
try:
    numba = import_module("numba")
except ImportError:  # an optional accelerator: the same source runs without it
    numba = None

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent
_KERNEL_FOLDERS = ("codegen", "kernels", "simulation")
_FLAGS: dict[str, Any] = {"error_model": "numpy"}

COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT
"""Whether kernels run as machine code."""

if not COMPILED:
    warnings.warn(
        "numba is missing or switched off (NUMBA_DISABLE_JIT): the dynamics kernels run as plain Python, "
        "some hundred times slower. Cure: pip install numba",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _source_hash() -> str:
    # numba's own cache does not see an edit in another file that a cached function calls.
    # Place and versions are in it so that the marks of ``mark_compiled`` hold.
    conditions = (_PACKAGE, sys.version, numba.__version__, sorted(_FLAGS.items()), numba.config.BOUNDSCHECK)
    digest = hashlib.sha256(repr(conditions).encode())
    for folder in _KERNEL_FOLDERS:
        for source in sorted((_PACKAGE / folder).glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_directory() -> Path | None:
    """Folder of the compiled kernels of this very source, or None where nothing is writable.

    It lies in NUMBA_CACHE_DIR where that is set, else in XDG_CACHE_HOME, else in ~/.cache.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        base = Path(os.environ["NUMBA_CACHE_DIR"])
    elif os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    else:
        base = Path("~/.cache").expanduser()
    folder = base / "robot_dynamics_ros" / _source_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError) as problem:
        warnings.warn(
            f"compiled kernels cannot be kept in {folder} ({problem}): every start compiles them anew. "
            "Cure: point NUMBA_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def must_compile(kernels: str) -> bool:
    """Whether no earlier run of this very source has compiled these kernels to the end."""
    if not COMPILED:
        return False
    folder = cache_directory()
    return folder is None or not (folder / f"{kernels}.compiled").exists()


def mark_compiled(kernels: str) -> None:
    """Remember that these kernels have been compiled to the end: ``model`` or ``plant``."""
    folder = cache_directory() if COMPILED else None
    if folder is not None:
        (folder / f"{kernels}.compiled").touch()


def _compiled(function: Function, **flags: Any) -> Function:
    if not COMPILED:
        return function
    folder = cache_directory()
    if folder is None:
        return numba.njit(**_FLAGS, **flags)(function)  # type: ignore[no-any-return]
    # numba reads the folder once, while it decorates; other users of numba keep their own.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        return numba.njit(cache=True, **_FLAGS, **flags)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def kernel(function: Function) -> Function:
    """Compile a scalar-loop function with numba (no fastmath), keeping the result on disk."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile as a part of each caller: for what is called so often that handing over arrays would count."""
    return _compiled(function, inline="always")


def batch_kernel(function: Function) -> Function:
    """Compile a loop over many states, which lets other threads run meanwhile."""
    return _compiled(function, nogil=True)


def _refuse(*arguments: Any, **keywords: Any) -> None:
    raise TypeError("other types than the kernel was compiled for")


@cache
def only_for(function: Function, signature: str) -> Function:
    """Compile a kernel for one signature; arguments of any other type then raise TypeError.

    So Python may hand over what a caller gave without looking at it first.
    """
    if COMPILED:
        dispatcher: Any = function
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        # numba would look for conversions first and word a message then, 0.1 ms for what happens with each list.
        dispatcher._search_new_conversions = _refuse
        dispatcher._explain_matching_error = _refuse
        return function
    kinds = [(np.dtype(name), axes.count(",") + 1) for name, axes in re.findall(r"(\w+)\[(.*?)\]", signature)]

    def checked(*arguments: Any) -> Any:
        for argument, kind in zip(arguments, kinds, strict=False):
            if type(argument) is not np.ndarray or (argument.dtype, argument.ndim) != kind or not argument.flags.carray:
                raise TypeError("other types than the kernel was compiled for")
        return function(*arguments)

    return cast(Function, checked)

"""How kernels are compiled: by numba where it is there, cached on disk, or run as plain Python."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

numba: Any
try:
    numba = import_module("numba")
except ImportError:  # an optional accelerator: the same source runs without it
    numba = None

_LOG = logging.getLogger(__name__)

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
        base.mkdir(parents=True, exist_ok=True)
        _make_own(folder.parent)
        _make_own(folder)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError) as problem:
        warnings.warn(
            f"compiled kernels cannot be kept in {folder} ({problem}): every start compiles them anew. "
            "Cure: point NUMBA_CACHE_DIR to a writable folder of your own",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _make_own(folder: Path) -> None:
    """Make a folder that nobody else writes to; OSError where it is another user's. numba runs what it finds there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "geteuid"):
        found = folder.stat()
        if found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another user, who could put programs there")
        if found.st_mode & 0o022:
            folder.chmod(found.st_mode & 0o755)


def must_compile(kernels: str) -> bool:
    """Whether no earlier run of this very source has compiled these kernels to the end."""
    if not COMPILED:
        return False
    folder = cache_directory()
    return folder is None or not (folder / f"{kernels}.compiled").exists()


def mark_compiled(kernels: str) -> None:
    """Remember that these kernels have been compiled to the end, as ``model`` or ``plant``."""
    folder = cache_directory() if COMPILED else None
    if folder is not None:
        (folder / f"{kernels}.compiled").touch()


@contextmanager
def _kept_on_disk() -> Iterator[dict[str, Any]]:
    """Options for what is decorated meanwhile; numba reads the folder only then, other users of it keep their own."""
    folder = cache_directory()
    before = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
    try:
        yield {**_FLAGS, "cache": folder is not None}
    finally:
        numba.config.CACHE_DIR = before


def _compiled(function: Function, **flags: Any) -> Function:
    if not COMPILED:
        return function
    with _kept_on_disk() as options:
        return numba.njit(**options, **flags)(function)  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """Compile a scalar-loop function with numba (no fastmath), keeping the result on disk.

    It can neither make nor return arrays: so numba need not count references, which would cost as much as the numbers.
    """
    return _compiled(function, _nrt=False)


def allocating_kernel(function: Function) -> Function:
    """Compile a function that makes or returns arrays."""
    return _compiled(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile as a part of each caller: for what is called so often that handing over arrays would count."""
    return _compiled(function, inline="always")


def batch_kernel(function: Function) -> Function:
    """Compile a loop over many states, which lets other threads run meanwhile."""
    return _compiled(function, nogil=True)


def compiled_callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function that C code calls, keeping the result on disk; its ``address`` lives as long as it does."""
    with _announced(function), _kept_on_disk() as options:
        return numba.cfunc(signature, **options)(function)


def compile_for(generated: Any, signature: str) -> None:
    """Compile a generated kernel, or load it from the disk, before its first call."""
    if COMPILED:
        with _announced(generated.py_func):
            generated.compile(signature)


@contextmanager
def _announced(function: Callable[..., Any]) -> Iterator[None]:
    """Say that a function of a generated file is being compiled, where no earlier run has done it."""
    source = Path(function.__code__.co_filename)
    done = source.with_suffix(".compiled")
    known = done.exists()
    if not known:
        name = function.__name__.removesuffix("_call")
        _LOG.warning("compiling %s for the first time: seconds, for a robot of many joints up to a minute", name)
    yield
    if not known and source.exists():
        done.touch()


def load_source(source: str, name: str) -> dict[str, Any]:
    """Names that generated source defines: from a file, because numba keeps nothing on disk of other functions."""
    folder = cache_directory() if COMPILED else None
    names: dict[str, Any] = {}
    if folder is None:
        exec(compile(source, f"<{name}>", "exec"), names)
        return names
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = folder / f"{name}_{digest}.py"
    _write_once(path, source.encode())
    spec = util.spec_from_file_location(f"robot_dynamics_ros_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba looks there when it loads what it has kept
    spec.loader.exec_module(module)
    return vars(module)


def _write_once(path: Path, content: bytes) -> None:
    """Write a whole file or none, though other processes do the same; its time of change is numba's key."""
    if path.exists() and path.read_bytes() == content:
        return
    temporary = path.with_suffix(f".{uuid4().hex}")
    temporary.write_bytes(content)
    temporary.replace(path)

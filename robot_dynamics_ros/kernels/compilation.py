"""How kernels are compiled: by numba where it is there, cached on disk, or run as plain Python."""

from __future__ import annotations

import atexit
import hashlib
import logging
import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, singledispatch
from importlib import import_module, util
from importlib.abc import InspectLoader
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from robot_dynamics_ros.errors import RobotDynamicsError

numba: Any
try:
    numba = import_module("numba")
except ImportError:  # an optional accelerator: the same source runs without it
    numba = None

_LOG = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")

_PACKAGE = Path(__file__).resolve().parent.parent
_NAME = "robot_dynamics_ros"
_KERNEL_FOLDERS = ("codegen", "kernels", "simulation")
_FLAGS: dict[str, Any] = {"error_model": "numpy"}
_CANNOT_BE_KEPT = "compiled kernels cannot be kept ({}): every start compiles them anew. Cure: {}"
_PAUSE = 60.0  # s without compiling, after which it is announced again

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
    # The versions, because what one of them has compiled is of no use to another.
    conditions = (_PACKAGE, sys.version, numba.__version__, sorted(_FLAGS.items()), numba.config.BOUNDSCHECK)
    digest = hashlib.sha256(repr(conditions).encode())
    for folder in _KERNEL_FOLDERS:
        for source in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(str(source.relative_to(_PACKAGE)).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _folder() -> Path:
    """Return the folder of the compiled kernels of this source: in NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / _NAME / _source_hash()


@cache
def cache_directory() -> Path | None:
    """Return a writable folder with the compiled kernels of this source, or None where nothing can be kept.

    Where the kernels can be read but not written it is a temporary one with links to them.
    """
    try:
        folder = _folder()
        try:
            folder.parent.parent.mkdir(parents=True, exist_ok=True)
            _make_own(folder.parent)
            _make_own(folder)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            if not all(map(_is_safe, (folder.parent, folder, *folder.rglob("*")))):
                raise
            return _linked(folder)
    except (OSError, RuntimeError) as problem:
        _warn_once(_CANNOT_BE_KEPT.format(problem, "point NUMBA_CACHE_DIR to a writable folder of your own"))
        return None


def _is_safe(path: Path) -> bool:
    """Return True if nobody else but root can write there."""
    status = path.stat()
    return hasattr(os, "geteuid") and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def _linked(folder: Path) -> Path:
    """Return a temporary folder with links to the files of another: numba reads no folder that it cannot write to."""
    links = Path(tempfile.mkdtemp(prefix=f"{_NAME}_"))
    atexit.register(shutil.rmtree, links, ignore_errors=True)
    for path in folder.rglob("*"):
        link = links / path.relative_to(folder)
        if path.is_dir():
            link.mkdir()
        else:
            link.symlink_to(path)
    return links


def is_kept() -> bool:
    """Return True if what is compiled now is loaded by later starts."""
    folder = cache_directory()
    return folder is not None and folder.parent.name == _NAME


def clear_cache() -> Path:
    """Remove the compiled kernels of this source and of earlier ones; return the folder that held them."""
    folder = _folder().parent
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        raise RobotDynamicsError(f"{folder}: {problem.strerror}. Cure: remove it as its owner") from problem
    return folder


def _make_own(folder: Path) -> None:
    """Make a folder that nobody else writes to; OSError where it is another user's. numba runs what it finds there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "geteuid"):
        found = folder.stat()
        if found.st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another user, who could put programs there")
        if found.st_mode & 0o022:
            folder.chmod(found.st_mode & 0o755)


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
        kept = partial(_made, function, **options, **flags)
        dispatcher = _attempt(function, kept, partial(_made, function, cache=False, **_FLAGS, **flags))
    compiling = dispatcher.compile

    def compile_despite_errors(types: Any) -> Any:
        again = partial(compiling, types)
        return _attempt(function, again, again)

    dispatcher.compile = compile_despite_errors
    return dispatcher  # type: ignore[no-any-return]


def _made(function: Callable[..., Any], **options: Any) -> Any:
    try:
        dispatcher = numba.njit(function, **options)
    except RuntimeError as problem:  # it found no folder
        raise OSError(str(problem)) from problem
    # Elsewhere, as in __pycache__, edits of other files would go unnoticed.
    if options["cache"] and cache_directory() not in Path(dispatcher.stats.cache_path).parents:
        raise OSError("no folder can be made in the cache folder")
    return dispatcher


def _attempt(function: Callable[..., Any], *ways: Callable[[], Result]) -> Result:
    """Compile or load in the first way in which the cache causes no error: numba does not expect any.

    A dispatcher that could not write what it has compiled does not compile it again.
    """
    for way in ways[:-1]:
        try:
            return way()
        except (numba.core.errors.NumbaError, RuntimeError, RobotDynamicsError):  # not of the cache
            raise
        except Exception as problem:
            folder = cache_directory()
            if folder is None:
                raise
            if isinstance(problem, OSError):
                _warn_once(_CANNOT_BE_KEPT.format(f"{folder} cannot be written to", "make room there"))
            else:
                _warn_once(f"compiled kernels in {folder} were damaged: they are compiled anew")
            for file in folder.rglob(f"*.{function.__qualname__}-*.nb?"):
                file.unlink(missing_ok=True)
    return ways[-1]()


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def kernel(function: Function) -> Function:
    """Compile a scalar-loop function with numba (no fastmath), keeping the result on disk.

    It can neither make nor return arrays: so numba need not count references, which would cost as much as the numbers.
    """
    return _compiled(function, _nrt=False)


def joined_kernel(function: Function) -> Function:
    """Compile as ``kernel``, and let LLVM join it to its callers: handing over a robot's arrays takes 20 ns a call.

    Unlike ``inlined`` ones it is compiled by numba once.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def allocating_kernel(function: Function) -> Function:
    """Compile a function that makes or returns arrays."""
    return _compiled(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile as a part of each caller: for what is called so often that handing over arrays would count."""
    return _compiled(function, inline="always")


def part(function: Function) -> Function:
    """Compile as a part of each kernel that calls it; nothing is kept on disk of it alone."""
    return numba.extending.register_jitable(**_FLAGS)(function) if COMPILED else function


def by_class(function: Callable[..., Any]) -> Any:
    """``functools.singledispatch`` for kernels: which function runs depends on the class of the first argument.

    That is a NamedTuple. Numba chooses the function as it compiles the caller, of which it becomes a part.
    """
    functions: Any = singledispatch(function)

    def choose(first: Any, *others: Any) -> Any:
        return functions.dispatch(first.instance_class)

    if COMPILED:
        numba.extending.overload(functions, inline="always", jit_options=_FLAGS, strict=False)(choose)
    return functions


def batch_kernel(function: Function) -> Function:
    """Compile a loop over many states, which lets other threads run meanwhile."""
    return _compiled(function, nogil=True, _nrt=True)


def threaded_kernel(function: Function) -> Function:
    """Compile as ``kernel``, and let other threads run meanwhile."""
    return _compiled(function, _nrt=False, nogil=True)


def compiled_callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function that C code calls, keeping the result on disk; its ``address`` lives as long as it does."""
    with _kept_on_disk() as options:
        kept = partial(numba.cfunc(signature, **options), function)
        callback = _attempt(function, kept, kept, partial(numba.cfunc(signature, **_FLAGS), function))
    if not callback.cache_hits:
        _report(function)
    return callback


def compile_for(generated: Any, signature: str) -> None:
    """Compile a generated kernel, or load it from the disk, before its first call."""
    if COMPILED:
        generated.compile(signature)


_reports: list[Callable[[str], None]] = []


@contextmanager
def compilations_reported(report: Callable[[str], None]) -> Iterator[None]:
    """Call ``report`` with the name of each kernel that is compiled meanwhile, rather than loaded; log nothing."""
    _reports.append(report)
    try:
        yield
    finally:
        _reports.remove(report)


def _report(function: Callable[..., Any]) -> None:
    for report in _reports:
        report(function.__name__)


def _is_ours(function: Callable[..., Any]) -> bool:
    return str(function.__module__).startswith(_NAME)


def announcement(kernel: str) -> str:
    """Return what users should know when this kernel is compiled, and others after it."""
    later = f"later starts load them from {cache_directory()}" if is_kept() else "they cannot be kept for later starts"
    return f"compiling the dynamics kernels ({kernel}, ...): up to a minute; {later}"


if COMPILED:

    class _Listener(numba.core.event.Listener):  # type: ignore[misc]
        """Logs the first of several compilations."""

        _under_way = 0
        _end = -math.inf

        def on_start(self, event: Any) -> None:
            if _is_ours(function := event.data["dispatcher"].py_func):
                if not (_reports or self._under_way) and time.monotonic() - self._end > _PAUSE:
                    _LOG.warning(announcement(function.__name__))
                self._under_way += 1
                _report(function)

        def on_end(self, event: Any) -> None:
            if _is_ours(event.data["dispatcher"].py_func):
                self._under_way -= 1
                self._end = time.monotonic()

    numba.core.event.register("numba:compile", _Listener())


class _Text(InspectLoader):
    """Loads a module whose source stands in no file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


@cache  # what a module defines exists once
def load_source(source: str, name: str) -> dict[str, Any]:
    """Names that generated source defines: from a file, because numba keeps nothing on disk of other functions."""
    stem = f"{name}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    path = _source_file(stem, source) if COMPILED else None
    spec = util.spec_from_file_location(f"{_NAME}_{stem}", path, loader=None if path else _Text(source))
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba looks there when it loads what it has kept
    spec.loader.exec_module(module)
    return vars(module)


def _source_file(stem: str, source: str) -> Path | None:
    """Return a file of the cache with this source, or None where it cannot be written.

    It is whole although other processes write it at the same time; its time of change is numba's key.
    """
    folder = cache_directory()
    if folder is None:
        return None
    # Where a link leads to: numba names what it has kept after the folder of the source.
    path = (folder / f"{stem}.py").resolve()
    if path.exists() and path.read_bytes() == source.encode():
        return path
    temporary = path.with_suffix(f".{uuid4().hex}")
    try:
        temporary.write_bytes(source.encode())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        _warn_once(_CANNOT_BE_KEPT.format(f"{folder} cannot be written to", "make room there"))
        return None
    return path

"""Compilation of the kernels with numba, with a cache on disk; without numba they run as plain Python.

Most functions here are decorators: they return the compiled function, or the given one if COMPILED is False. COMPILED
is True if numba is installed and not disabled. A kernel is a function of this package that is compiled by a decorator.
Compilation happens at the first call for each set of argument types.
"""

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
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.thresholds import COMPILATION_PAUSE

numba: Any
try:
    numba = import_module("numba")
except ImportError:  # optional: the kernels also run as plain Python
    numba = None

_LOG = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parents[2]
_NAME = "robot_dynamics_ros"
_KERNEL_SOURCES = (
    "control/cycle_kernels.py",
    "control/thresholds.py",
    "dynamics/codegen/*.py",
    "dynamics/kernels/*.py",
    "dynamics/thresholds.py",
    "simulation/step/*.py",
    "simulation/thresholds.py",
)
_FLAGS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_CANNOT_BE_CACHED = (
    "compiled kernels cannot be cached ({}): every start compiles them again. Cure: {}"
)
# A second thread would compile after the first one has disabled it.
_ONE_THREAD = Lock()

COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT
"""True if kernels run as machine code."""

NO_MACHINE_CODE: tuple[type[Exception], ...] = (AttributeError, TypeError)
"""Errors of a call of a kernel from ``compile_only_for`` with other arguments than arrays of the right types."""
if COMPILED:
    NO_MACHINE_CODE += (numba.core.errors.NumbaError,)

if not COMPILED:
    warnings.warn(
        "numba is missing or disabled (NUMBA_DISABLE_JIT): the dynamics kernels run as plain Python, "
        "about a hundred times slower. Cure: pip install numba",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _source_hash() -> str:
    # numba's cache does not notice an edit of another file with a function that a cached one calls.
    # Code compiled by one version of Python or numba is useless to another.
    """Return a hash of everything that compiled kernels depend on."""
    conditions = (
        _PACKAGE,
        sys.version,
        numba.__version__,
        sorted(_FLAGS.items()),
        numba.config.BOUNDSCHECK,
    )
    digest = hashlib.sha256(repr(conditions).encode())
    for source in _kernel_sources():
        digest.update(
            str(source.relative_to(_PACKAGE)).encode() + b"\0" + source.read_bytes()
        )
    return digest.hexdigest()[:16]


def _kernel_sources() -> list[Path]:
    """Return the files with kernels, their generator, and the numbers that they freeze."""
    return [
        source
        for pattern in _KERNEL_SOURCES
        for source in sorted(_PACKAGE.glob(pattern))
    ]


def _folder() -> Path:
    """Return the cache folder for this source: in NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache."""
    base = (
        os.environ.get("NUMBA_CACHE_DIR")
        or os.environ.get("XDG_CACHE_HOME")
        or Path("~/.cache").expanduser()
    )
    return Path(base) / _NAME / _source_hash()


@cache
def cache_directory() -> Path | None:
    """Return a writable folder with the compiled kernels of this source, or None if it cannot be used; needs numba.

    It is a subfolder of NUMBA_CACHE_DIR if that is set, else of XDG_CACHE_HOME, else of ~/.cache. If the cache can be
    read but not written, the folder is a temporary one with links to the cached files. A RuntimeWarning is issued
    before None is returned.
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
            return _folder_of_links(folder)
    except (OSError, RuntimeError) as error:
        _warn_once(
            _CANNOT_BE_CACHED.format(
                error, "set NUMBA_CACHE_DIR to a writable folder of your own"
            )
        )
        return None


def _is_safe(path: Path) -> bool:
    """Return True if only the current user and root can write to the path."""
    status = path.stat()
    return (
        hasattr(os, "geteuid")
        and status.st_uid in (0, os.geteuid())
        and not status.st_mode & 0o022
    )


def _folder_of_links(folder: Path) -> Path:
    """Return a temporary folder with links to all files of ``folder``, since numba reads no read-only folder."""
    links = Path(tempfile.mkdtemp(prefix=f"{_NAME}_"))
    atexit.register(shutil.rmtree, links, ignore_errors=True)
    for path in folder.rglob("*"):
        link = links / path.relative_to(folder)
        if path.is_dir():
            link.mkdir()
        else:
            link.symlink_to(path)
    return links


def is_cached() -> bool:
    """Return True if later processes can load the kernels that this process compiles.

    False if nothing is compiled, and if there is no cache folder or only a temporary one.
    """
    folder = cache_directory() if COMPILED else None
    return folder is not None and folder.parent.name == _NAME


def will_be_stored(function: Any) -> bool:
    """Return True if the result of a decorator of this module can be cached, but is not, for any types of arguments."""
    return is_cached() and not any(_folder().rglob(f"*.{function.__name__}-*.nbi"))


def clear_cache() -> Path:
    """Remove the compiled kernels of all versions of this source and return the removed folder.

    Raises RobotDynamicsError if the folder does not exist or cannot be removed.
    """
    folder = _folder().parent
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise RobotDynamicsError(
            f"{folder}: {error.strerror}. Cure: remove it as its owner"
        ) from error
    return folder


def _make_own(folder: Path) -> None:
    """Create a folder that only the current user can write to, since numba executes what it contains.

    Raises PermissionError if the folder belongs to another user.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "geteuid"):
        status = folder.stat()
        if status.st_uid != os.geteuid():
            raise PermissionError(
                f"{folder} belongs to another user, who could place code in it"
            )
        if status.st_mode & 0o022:
            folder.chmod(status.st_mode & 0o755)


def _compiled(function: Function, **flags: Any) -> Function:
    if not COMPILED:
        return function
    dispatcher = _dispatcher(function, flags | _FLAGS)
    compile_first = dispatcher.compile

    def compile_or_start_over(types: Any) -> Any:
        """Compile again, without the cached files, if numba's cache cannot be read or written."""
        try:
            return compile_first(types)
        except (numba.core.errors.NumbaError, RuntimeError, RobotDynamicsError):
            raise  # not an error of the cache
        except Exception as error:
            folder = cache_directory()
            if folder is None:
                raise
            if isinstance(error, OSError):
                warn_unwritable(folder)
            else:
                _warn_once(
                    f"compiled kernels in {folder} were damaged: they are compiled again"
                )
            for file in folder.rglob(f"*.{function.__qualname__}-*.nb?"):
                file.unlink(missing_ok=True)
            return compile_first(types)

    dispatcher.compile = compile_or_start_over
    return dispatcher  # type: ignore[no-any-return]


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a function, with its cache in the cache folder if that is possible."""
    folder = cache_directory()
    if folder is not None:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            dispatcher = numba.njit(function, cache=True, **options)
            # In another folder, such as __pycache__, edits of other files would not be noticed.
            if folder in Path(dispatcher.stats.cache_path).parents:
                return dispatcher
        except RuntimeError:  # numba has no folder for its cache
            pass
        finally:
            numba.config.CACHE_DIR = before
        warn_unwritable(folder)
    return numba.njit(function, **options)


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def warn_unwritable(folder: Path) -> None:
    """Issue a RuntimeWarning, once, that compiled kernels cannot be written to ``folder``."""
    _warn_once(
        _CANNOT_BE_CACHED.format(
            f"{folder} cannot be written to", "free disk space there"
        )
    )


def kernel(function: Function) -> Function:
    """Compile a function of scalars and arrays with numba (no fastmath) and cache the result on disk.

    The function can neither create nor return arrays. Therefore numba omits reference counting, which takes as long as
    the arithmetic. Compilation happens at the first call for each set of argument types.
    """
    return _compiled(function, _nrt=False)


def forceinlined_kernel(function: Function) -> Function:
    """Compile, and cache on disk, a function that LLVM inlines into its callers.

    It can neither create nor return arrays.

    This saves the 20 ns that a call needs to pass a robot's arrays. Unlike a function from ``inlined``, it is compiled
    by numba only once.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def allocating_kernel(function: Function) -> Function:
    """Compile, and cache on disk, a function that may create and return arrays."""
    return _compiled(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile a function by numba's inlining into each caller, for small functions that are called very often.

    The result can also be called from Python.
    """
    return _compiled(function, inline="always")


def batch_kernel(function: Function) -> Function:
    """Compile, and cache on disk, a function that loops over many states and may create arrays.

    Calls release the GIL.
    """
    return _compiled(function, nogil=True, _nrt=True)


def threaded_kernel(function: Function) -> Function:
    """Compile, and cache on disk, a function that neither creates nor returns arrays; calls release the GIL."""
    return _compiled(function, _nrt=False, nogil=True)


def compile_for(generated: Any, signature: str) -> None:
    """Compile a generated kernel before its first call, or load it from the cache; without numba do nothing.

    ``generated`` is the result of a decorator of this module, ``signature`` a numba signature such as
    "int64(float64[::1])".
    """
    if COMPILED:
        generated.compile(signature)


def compile_only_for(function: Any, signature: str) -> None:
    """Compile a kernel as ``compile_for`` does, once; calls with other types of arguments raise NO_MACHINE_CODE.

    Several threads may call it at once.
    """
    with _ONE_THREAD:
        _compile_once(function, signature)


@cache
def _compile_once(function: Any, signature: str) -> None:
    compile_for(function, signature)
    if COMPILED:
        function.disable_compile()


_reports: list[Callable[[str], None]] = []


@contextmanager
def compilations_reported(report: Callable[[str], None]) -> Iterator[None]:
    """Return a context manager in which ``report`` is called with the name of each kernel that is compiled.

    The announcement of compilations is then not logged. Kernels that are loaded from the cache are not reported.
    """
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
    """Return the log message for the first compilation of a process; ``kernel`` is the name of the kernel.

    It has the expected duration and the cache folder.
    """
    later = (
        f"later starts load them from {cache_directory()}"
        if is_cached()
        else "they cannot be cached"
    )
    return f"compiling the dynamics kernels ({kernel}, ...), once: up to a minute of a free processor; {later}"


if COMPILED:

    class _Listener(numba.core.event.Listener):  # type: ignore[misc]
        """Listener of numba's compile events that logs the first of several compilations."""

        _under_way = 0
        _end = -math.inf

        def on_start(self, event: Any) -> None:
            if _is_ours(function := event.data["dispatcher"].py_func):
                if (
                    not (_reports or self._under_way)
                    and time.monotonic() - self._end > COMPILATION_PAUSE
                ):
                    _LOG.warning(announcement(function.__name__))
                self._under_way += 1
                _report(function)

        def on_end(self, event: Any) -> None:
            if _is_ours(event.data["dispatcher"].py_func):
                self._under_way -= 1
                self._end = time.monotonic()

    numba.core.event.register("numba:compile", _Listener())

"""Loading of generated source code as modules, so that numba can cache their functions on disk."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib import util
from importlib.abc import InspectLoader
from pathlib import Path
from typing import Any
from uuid import uuid4

from robot_dynamics_ros.dynamics.kernels.compilation import (
    COMPILED,
    cache_directory,
    warn_unwritable,
)

_PREFIX = "robot_dynamics_ros"


@cache  # so that each class of a module exists once
def load_source(
    source: str, name: str, **functions: Callable[..., Any]
) -> dict[str, Any]:
    """Return the namespace (objects by name) of a module with the given ``source``.

    Equal arguments give the same objects. The source is written to a file of the cache, since numba caches only
    functions that are defined in files. ``name`` is the beginning of the module's and the file's name. ``functions``
    of other loaded modules are global names of the module; each set of functions has a module and a file of its own.
    """
    key = source + "".join(function.__module__ for function in functions.values())
    stem = f"{name}_{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    path = _source_file(stem, source) if COMPILED else None
    spec = util.spec_from_file_location(
        f"{_PREFIX}_{stem}", path, loader=None if path else _Text(source)
    )
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # needed by numba when it loads cached code
    vars(module).update(functions)
    spec.loader.exec_module(module)
    return vars(module)


def _source_file(stem: str, source: str) -> Path | None:
    """Return a file of the cache with this source, or None if it cannot be written.

    The file is replaced atomically, since other processes may write it at the same time. An existing file stays
    unchanged: numba's cache depends on its modification time.
    """
    folder = cache_directory()
    if folder is None:
        return None
    # The target of a link: numba names its cached files after the folder of the source.
    path = (folder / f"{stem}.py").resolve()
    if path.exists() and path.read_bytes() == source.encode():
        return path
    temporary = path.with_suffix(f".{uuid4().hex}")
    try:
        temporary.write_bytes(source.encode())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        warn_unwritable(folder)
        return None
    return path


class _Text(InspectLoader):
    """Loader of a module from source text instead of a file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source

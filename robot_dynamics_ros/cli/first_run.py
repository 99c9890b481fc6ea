"""What a person should know who runs a command for the first time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics_ros.kernels.compilation import cache_directory, mark_compiled, must_compile


@contextmanager
def compilation_announced(command: str) -> Iterator[None]:
    """Say that a subcommand's kernels are compiled meanwhile, unless it has come to its end before."""
    announce_compilation(command)
    yield
    mark_compiled(command)


def announce_compilation(kernels: str) -> None:
    """Say that these kernels will be compiled, as ``mark_compiled`` names them, unless that has been done."""
    if must_compile(kernels):
        print(
            "first run: compiling the dynamics kernels, ten seconds to half a minute; "
            f"kept in {cache_directory() or 'no folder, as none can be written to'}",
            file=sys.stderr,
            flush=True,
        )

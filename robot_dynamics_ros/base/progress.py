"""Progress bars on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

BAR: dict[str, Any] = {"delay": 1.0, "leave": False, "disable": None}
"""Options of every progress bar: on stderr, only on a terminal, shown after one second, removed at the end."""


def progress(
    items: Iterable[T], description: str, total: int | None = None
) -> Iterator[T]:
    """Yield ``items`` while a progress bar with ``description`` is shown on stderr, if that is a terminal.

    ``total`` is the number of items; without it, and if ``items`` has no length, the bar shows only their count.
    """
    yield from tqdm(
        items, description, total, unit_scale=True, mininterval=0.2, unit="", **BAR
    )

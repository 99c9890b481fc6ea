"""A bar for whatever a person waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

BAR: dict[str, Any] = {"delay": 1.0, "leave": False, "disable": None}
"""How every bar looks: on stderr, only on a terminal, only after a second, and it goes when it is full."""


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Pass ``items`` on, with a bar; ``total`` is how many they are, where they do not say."""
    yield from tqdm(items, description, total, unit_scale=True, mininterval=0.2, unit="", **BAR)

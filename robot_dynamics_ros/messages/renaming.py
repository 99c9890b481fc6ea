"""Joints that are called otherwise in messages than here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Renaming = Callable[[str], str]
"""From a joint's name in a message to its name here."""


def unchanged(name: str) -> str:
    """Return the name as it is."""
    return name


def renaming(names: Mapping[str, str]) -> Renaming:
    """Return a renaming by whole names or, where none fits, by the longest beginning of the name.

    ``{"fer_": "panda_"}`` makes panda_joint1 of fer_joint1.
    """
    if not names:
        return unchanged
    longest_first = sorted(names, key=len, reverse=True)

    def renamed(name: str) -> str:
        if name in names:
            return names[name]
        old = next((old for old in longest_first if name.startswith(old)), "")
        return names.get(old, "") + name[len(old) :]

    return renamed

"""Content of files, and its checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotModelError


def read_bytes(path: str | Path, kind: str) -> bytes:
    """Return the content of a file.

    ``kind`` is the noun for the file in messages, such as "URDF". Raises RobotModelError if it cannot be read, or if
    ``path`` is neither a str nor a Path.
    """
    if not isinstance(path, str | Path):
        raise RobotModelError(
            f"{path!r} is not the path of a {kind}. Cure: pass a str or a Path"
        )
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", error)
        raise RobotModelError(
            f"{path}: cannot read the {kind}: {reason}. Cure: check the path"
        ) from None


def checksum(text: str | bytes) -> str:
    """Return the SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(
        text.encode(errors="surrogatepass") if isinstance(text, str) else text
    ).hexdigest()

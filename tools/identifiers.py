"""Reject identifiers that contain a banned word: `python -m tools.identifiers` lists them and exits with 1."""

from __future__ import annotations

import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("robot_dynamics_ros", "test", "tools", "benchmarks", "examples", "launch")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def banned_words() -> dict[str, str]:
    """Return the standard term for each banned word, from banned_identifiers.txt: a word and its term a line."""
    lines = (ROOT / "tools" / "banned_identifiers.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {word: term for word, term in pairs}


def offences(path: Path, banned: dict[str, str]) -> list[str]:
    """Return a line for each banned word in an identifier of a file."""
    found = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.NAME:
                for word in {part.lower() for part in _WORD.findall(token.string)} & banned.keys():
                    place = f"{path.relative_to(ROOT)}:{token.start[0]}"
                    found.append(f'{place}: {token.string}: "{word}" is banned. Cure: {banned[word]}')
    return found


def main() -> int:
    """Print the offences of all folders; return 1 if there are any."""
    banned = banned_words()
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    lines = [line for path in files for line in offences(path, banned)]
    print(*lines, sep="\n", end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())

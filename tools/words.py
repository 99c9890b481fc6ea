"""Words that the project does not use, in code and pages: `python -m tools.words`, a part of `make lint`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = (
    "robot_dynamics_ros",
    "test",
    "tools",
    "benchmarks",
    "examples",
    "launch",
    "docs",
)
_NAME = re.compile(r"\s*(?:async def|def|class)\s+(\w+)|(\w+)(?:: .*)? = ")
_QUESTION = re.compile(r'\s*r?"""(What|Whether|Where|How|Who|Which)\b')


def banned(scopes: set[str]) -> dict[re.Pattern[str], str]:
    """Return the standard terms of these scopes by patterns of the words that they replace."""
    lines = (
        (ROOT / "tools" / "banned_words.txt").read_text(encoding="utf-8").splitlines()
    )
    entries = [line.split(maxsplit=1) for line in lines if not line.startswith("#")]
    pairs = [text.split(" -> ") for scope, text in entries if scope in scopes]
    return {
        re.compile(rf"\b(?:{word})\b".replace(" ", r"[\s#\"]+")): term
        for word, term in pairs
    }


def split(text: str) -> str:
    """Return text in lower case with identifiers split into words: ``HandLaw`` and ``hand_law`` are "hand law"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text).lower()


def offences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and message for each banned word of a page, of a module, or in a name that is defined."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md" or ROOT / _FOLDERS[0] in path.parents:
        for pattern, term in (PAGE if path.suffix == ".md" else CODE).items():
            for match in pattern.finditer(split(text)):
                yield (
                    split(text).count("\n", 0, match.start()) + 1,
                    f"{match.group()!r}. Cure: {term}",
                )
    for number, line in enumerate(text.splitlines() if path.suffix == ".py" else (), 1):
        if _QUESTION.match(line):
            yield number, f"{line.strip()} Cure: begin with a verb or a noun"
        match = _NAME.match(line)
        if match and (match[1] or ROOT / "test" not in path.parents):
            name = match[1] or match[2]
            cures = [
                term
                for pattern, term in NAMES.items()
                if pattern.search(f"{name} {split(name)}")
            ]
            yield from ((number, f"{name}. Cure: {term}") for term in cures)


PAGE = banned({"all"})
CODE = banned({"all", "code"})
NAMES = banned({"all", "code", "name"})

if __name__ == "__main__":
    code = [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py")]
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *code]
    files = sorted(
        path for path in files if ROOT / "docs" / "_build" not in path.parents
    )
    found = [
        f"{path.relative_to(ROOT)}:{line}: {message}"
        for path in files
        for line, message in offences(path)
    ]
    sys.exit("\n".join(found) or 0)

"""Fenced code blocks of a Markdown page."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<language>\S*)")
_FILE = re.compile(r"^ *<!-- file: (?P<name>\S+) -->")


class Block(NamedTuple):
    """Code block, the line of its first fence, the file name in the comment before it, and its output; "" for none.

    The output is the text block directly below.
    """

    page: Path
    line: int
    language: str
    text: str
    file: str
    output: str = ""

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return README and all pages of docs."""
    docs = [
        path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts
    ]
    return [ROOT / "README.md", *sorted(docs)]


def blocks(page: Path) -> list[Block]:
    """Return all blocks of a page, except Sphinx directives, which `make docs` checks."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    start = 0
    fence = ""
    indent = 0
    language = ""
    end = 0
    for number, line in enumerate(lines, start=1):
        match = _FENCE.match(line)
        if fence:
            if match and match["fence"].startswith(fence) and not match["language"]:
                text = "".join(
                    f"{body[indent:]}\n" for body in lines[start : number - 1]
                )
                if (
                    found
                    and language == "text"
                    and not "".join(lines[end : start - 1]).strip()
                ):
                    found[-1] = found[-1]._replace(output=text)
                elif not language.startswith("{"):
                    found.append(
                        Block(page, start, language, text, _file_before(lines, start))
                    )
                fence = ""
                end = number
        elif match:
            start = number
            fence = match["fence"]
            indent = len(match["indent"])
            language = match["language"]
    assert not fence, f"{page}:{start}: this block has no end"
    return found


def _file_before(lines: list[str], start: int) -> str:
    match = _FILE.match(lines[start - 2]) if start >= 2 else None
    return match["name"] if match else ""

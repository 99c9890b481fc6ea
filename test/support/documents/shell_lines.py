"""Parser of shell blocks, as far as the pages need it: words, quotes, comments, && and here-documents."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

_HERE = re.compile(r"<<\s*(['\"]?)(\w+)\1")
_ASSIGNED = re.compile(r"^\w+=")
# what is installed there lies in the source folder, too
_SHARE = "$(ros2 pkg prefix --share robot_dynamics_ros)/"
_JOINED = ("&&", ";", "|", "&")


class Command(NamedTuple):
    """Words of a command, the file it writes to (with >> in front to append), and its input."""

    words: list[str]
    output: str = ""
    given: str = ""


def commands(text: str) -> Iterator[Command]:
    """Yield the commands of a block, one after the other."""
    lines = iter(text.replace(_SHARE, "").splitlines())
    for line in lines:
        while not _is_whole(line):
            line = (line[:-1] + " " if line.endswith("\\") else line + "\n") + next(
                lines
            )
        given = ""
        if here := _HERE.search(line):
            line = line[: here.start()] + line[here.end() :]
            given = "".join(f"{body}\n" for body in iter(lambda: next(lines), here[2]))
        yield from _commands(line, given)


def _is_whole(line: str) -> bool:
    """Return True if a line ends neither in a backslash nor within quotes."""
    try:
        list(_tokens(line))
    except ValueError:
        return False
    return not line.endswith("\\")


def _tokens(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return iter(lexer)


def _commands(line: str, given: str) -> Iterator[Command]:
    words: list[str] = []
    output = ""
    tokens = _tokens(line)
    for token in tokens:
        if token in _JOINED:
            yield from _command(words, output, given)
            words = []
            output = ""
        elif token in (">", ">>"):
            output = (">>" if token == ">>" else "") + next(tokens)
        else:
            words.append(token)
    yield from _command(words, output, given)


def _command(words: list[str], output: str, given: str) -> Iterator[Command]:
    while words and _ASSIGNED.match(words[0]):
        words = words[1:]
    if words:
        yield Command(words, output, given)

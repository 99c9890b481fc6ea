"""Runs of `robot_dynamics`, and what a user sees of them: exit code, printed text, and the content of files."""

from __future__ import annotations

import io
import re
import runpy
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from xml.etree import ElementTree

import yaml

from robot_dynamics_ros.recordings.bags import BagReader

ROOT = Path(__file__).resolve().parents[2]
# Not a part of a name, nor a power.
_NUMBER = re.compile(r"(?<![\w.^])[-+]?\d[\d.]*(e[-+]?\d+)?(?![\w.]*[a-zA-Z_])")
_HEADING = re.compile(r"<(?:h\d|th|summary|figcaption)\b[^>]*>([^<]+)")
# of C and C++
_DECLARATION = re.compile(r"^(?:extern|inline|int|void) [^;{]*", re.MULTILINE)
_CACHE = "compiling the dynamics kernels"  # a line on stderr of the first start


class Run(NamedTuple):
    """Result of a command."""

    code: int
    out: str
    err: str


def run(line: str) -> Run:
    """Run `robot_dynamics` with the words of ``line`` in this process, in the working directory."""
    out = io.StringIO()
    err = io.StringIO()
    code = 0
    argv = patch.object(sys, "argv", ["robot_dynamics", *shlex.split(line)])
    with argv, redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            runpy.run_module("robot_dynamics_ros", run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    return Run(code, out.getvalue(), err.getvalue())


def lines(text: str) -> Iterator[str]:
    """Yield the lines and paragraphs of a printed text with # for each number, because these differ between machines.

    Lines that continue a paragraph, whose breaks depend on numbers, are joined to it.
    """
    text = text.replace(str(Path.cwd()), ".").replace(str(ROOT), "ROOT")
    whole = re.sub(r"(?<=\S)\n  +(?=\S)", " ", text)
    for line in whole.splitlines():
        if re.search(r"\w", line) and not line.startswith(_CACHE):
            yield " ".join(_NUMBER.sub("#", line).split())


def keys(value: Any) -> Iterator[str]:
    """Yield the paths of keys in nested tables and lists, each with the types of its values."""
    found: dict[str, set[str]] = {}
    for path, kind in _leaves(value, ""):
        found.setdefault(path, set()).add(kind)
    for path, kinds in found.items():
        yield f"{path}: {' or '.join(sorted(kinds))}"


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path, _kind(value)


def _kind(value: Any) -> str:
    names = {
        dict: "table",
        list: "empty list",
        str: "text",
        bool: "boolean",
        int: "number",
        float: "number",
    }
    return names.get(type(value), "null")


def content(path: Path) -> Iterator[str]:
    """Yield the structure of a file: keys, columns, elements, headings, declarations or topics."""
    if path.suffix == ".mcap":
        with BagReader(path) as bag:
            yield from (
                f"{topic}: {kind}{', latched' * (topic in bag.latched)}"
                for topic, kind in bag.topics.items()
            )
    elif path.suffix in _READERS and path.name != "metadata.yaml":  # that is rosbag2's
        yield from _READERS[path.suffix](path.read_text(encoding="utf-8"))


def _columns(text: str) -> list[str]:
    return text.partition("\n")[0].split(",")


def _elements(text: str) -> Iterator[str]:
    return _branches(ElementTree.fromstring(text), "")


def _branches(element: ElementTree.Element, path: str) -> Iterator[str]:
    path = f"{path}/{element.tag}"
    yield f"{path} {' '.join(sorted(element.attrib))}".rstrip()
    for child in element:
        yield from _branches(child, path)


def _matches(pattern: re.Pattern[str], text: str) -> list[str]:
    return [" ".join(match.split()) for match in pattern.findall(text)]


_READERS: dict[str, Callable[[str], Iterable[str]]] = {
    ".yaml": lambda text: keys(yaml.safe_load(text)),
    ".csv": _columns,
    ".xml": _elements,
    ".urdf": _elements,
    ".h": partial(_matches, _DECLARATION),
    ".hpp": partial(_matches, _DECLARATION),
    ".html": partial(_matches, _HEADING),
}

"""Words: docstrings that begin as contracts do, and no word of banned_words.txt. Former names that stay are exempt."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = sorted(path for path in (ROOT / "robot_dynamics_ros").rglob("*.py"))
TESTS = sorted((ROOT / "test").rglob("*.py"))
_OTHERS = ("tools", "benchmarks", "examples", "launch", "docs")
_BUILT = ROOT / "docs" / "_build"
OTHERS = [path for folder in _OTHERS for path in sorted((ROOT / folder).rglob("*.py")) if _BUILT not in path.parents]
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md")) if _BUILT not in path.parents)]
_QUESTION = re.compile(r"(What|Whether|Where|How|Who|Which)\b.*")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(_read(path))))


@cache
def _banned(*scopes: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return one pattern for all that these scopes ban, and the term to use by the pattern of each."""
    entries = (
        line.split(maxsplit=1) for line in _read(ROOT / "test" / "banned_words.txt").splitlines() if line[0] != "#"
    )
    pairs = (rest.split(" -> ") for scope, rest in entries if scope in scopes)
    terms = {phrase.replace(" ", r"[\s#\"]+"): term for phrase, term in pairs}
    return re.compile(rf"\b(?:{'|'.join(terms)})\b"), terms


def _words(text: str) -> str:
    """Return text in lower case with identifiers split into words: ``HandLaw`` and ``hand_law`` are "hand law"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text).lower()


def _offences(text: str, *scopes: str) -> Iterator[tuple[int, str]]:
    """Yield line and complaint for each banned word."""
    pattern, terms = _banned(*scopes)
    for match in pattern.finditer(text):
        cure = next(term for phrase, term in terms.items() if re.fullmatch(phrase, match.group()))
        yield text.count("\n", 0, match.start()) + 1, f"{match.group()!r}. Cure: {cure}"


def _reject(found: Iterable[tuple[Path, int, str]]) -> None:
    lines = sorted({f"{path.relative_to(ROOT)}:{line}: {complaint}" for path, line, complaint in found})
    assert not lines, "\n" + "\n".join(lines)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    _reject(
        (path, statement.lineno, match.group())
        for path in (*PACKAGE, *TESTS, *OTHERS)
        for node in _nodes(path)
        if isinstance(node, _DOCUMENTED)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if (match := _QUESTION.match(str(statement.value.value).lstrip()))
    )


def test_package_and_pages_have_no_banned_word() -> None:
    texts = [*((path, ("all", "code")) for path in PACKAGE), *((path, ("all",)) for path in PAGES)]
    _reject((path, *offence) for path, scopes in texts for offence in _offences(_words(_read(path)), *scopes))


def _names(path: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield a file's name and its identifiers; of a test, the names of classes and functions only."""
    yield path, 1, path.stem
    kinds = _DOCUMENTED if path in TESTS else ast.AST
    for node in _nodes(path):
        for name in (getattr(node, field, None) for field in ("name", "id", "attr", "arg")):
            line = getattr(node, "lineno", 1)
            if isinstance(name, str) and isinstance(node, kinds):
                yield path, line, name


def test_names_have_no_banned_word() -> None:
    _reject(
        (path, line, f"{name}: {complaint}")
        for file in (*PACKAGE, *TESTS, *OTHERS)
        for path, line, name in _names(file)
        for _, complaint in _offences(f"{name} {_words(name)}", "all", "code", "name")
    )

"""Mutants: one small change of a Python file at a time, in its syntax tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

_ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_LOGGERS = ("_LOG", "logging")
#: Code that no test can or should check: types, messages, and compiler options.
_LEFT_OUT = {"annotation", "returns", "decorator_list", "exc", "cause", "bases"}


class Mutant(NamedTuple):
    """One change of one file."""

    file: str
    line: int
    column: int
    operator: str
    lines: range  # of its statement; of a compound one, those before its body
    function: str  # name of the enclosing function or class; "" outside
    text: str  # description without line numbers
    change: Change

    @property
    def name(self) -> str:
        """Position and kind of the change."""
        return f"{self.file}:{self.line}:{self.column} {self.operator}"

    @property
    def key(self) -> str:
        """Description without line numbers."""
        return f"{self.file} {self.function or '(module)'}: {self.text}"


class Change(NamedTuple):
    """Node of a tree and the position at which it can be replaced."""

    parent: ast.AST
    field: str
    index: int | None  # in a list
    old: ast.AST
    new: ast.AST

    def put(self, node: ast.AST) -> None:
        """Put ``node`` at the position."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


class Mutants:
    """All mutants of one file."""

    def __init__(self, path: Path, file: str) -> None:
        self.path, self.file = path, file
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        seen: Counter[str] = Counter()
        self.all: list[Mutant] = []
        for mutant in self._walk(self.tree, "", self.tree):
            seen[mutant.key] += 1
            if seen[mutant.key] > 1:
                mutant = mutant._replace(text=f"{mutant.text} #{seen[mutant.key]}")
            self.all.append(mutant)

    def compiled(self, mutant: Mutant | None) -> CodeType:
        """Return the code of the file with this change only."""
        if mutant is not None:
            mutant.change.put(mutant.change.new)
        try:
            return compile(self.tree, str(self.path), "exec", dont_inherit=True)
        finally:
            if mutant is not None:
                mutant.change.put(mutant.change.old)

    def _walk(self, node: ast.AST, scope: str, statement: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            scope = f"{scope}.{node.name}" if scope else node.name
        for change in _children(node):
            child = change.old
            if _is_left_out(child):
                continue
            within = child if isinstance(child, ast.stmt) else statement
            for operator, new in _replacements(child):
                if not hasattr(new, "lineno"):
                    ast.copy_location(new, child)
                    ast.fix_missing_locations(new)
                text = f"{_short(child)} -> {_short(new)}"
                if within is not child:
                    text = f"{text} in: {_short(within)}"
                line, column = child.lineno, child.col_offset  # type: ignore[attr-defined]
                change = change._replace(new=new)
                yield Mutant(self.file, line, column, operator, _lines(within), scope, text, change)
            yield from self._walk(child, scope, within)


def _lines(statement: ast.AST) -> range:
    body = getattr(statement, "body", None)
    first, last = statement.lineno, statement.end_lineno  # type: ignore[attr-defined]
    return range(first, max(first + 1, body[0].lineno if body else last + 1))


def _short(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def _children(node: ast.AST) -> Iterator[Change]:
    for field, value in ast.iter_fields(node):
        if field in _LEFT_OUT:
            continue
        if isinstance(value, ast.AST):
            yield Change(node, field, None, value, value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield Change(node, field, index, item, item)


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Expr):
        value = node.value
        if isinstance(value, ast.Constant):  # a docstring
            return True
        if isinstance(value, ast.Call) and ast.unparse(value.func).startswith(_LOGGERS):
            return True
    return isinstance(node, ast.JoinedStr | ast.Assert)


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield names of operators and replacements of a node."""
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            if not any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (left, right)):
                yield "arithmetic", ast.BinOp(left, _ARITHMETIC[type(operator)](), right)
        case ast.UnaryOp(ast.USub(), operand):
            yield "minus dropped", operand
        case ast.UnaryOp(ast.Not(), operand):
            yield "not dropped", operand
        case ast.Compare(left, operators, others):
            for k, old in enumerate(operators):
                for new in _COMPARISONS[type(old)]:
                    yield new.__name__, ast.Compare(left, [*operators[:k], new(), *operators[k + 1 :]], others)
        case ast.BoolOp(operator, values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield "constant", ast.Constant(2.0 * value or 1.0)
        case ast.If(_, body, orelse):
            yield "condition True", ast.If(ast.Constant(True), body, orelse)
            yield "condition False", ast.If(ast.Constant(False), body, orelse)
        case ast.IfExp(_, body, orelse):
            yield "condition True", body
            yield "condition False", orelse
        case ast.While(_, body, orelse):
            yield "condition False", ast.While(ast.Constant(False), body, orelse)
        case ast.Break():
            yield "break/continue", ast.Continue()
        case ast.Continue():
            yield "break/continue", ast.Break()
        case ast.AugAssign(target, operator, value):
            if type(operator) in _ARITHMETIC:
                yield "augmented", ast.AugAssign(target, _ARITHMETIC[type(operator)](), value)
            yield "statement dropped", ast.Pass()
        case ast.Expr(ast.Call()):
            yield "statement dropped", ast.Pass()

"""Print public signatures and docstrings drawn at random, without code, for a reader to judge: reader_tasks.md.

python -m tools.docstring_sample SEED [PACKAGE] [COUNT]
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(node: ast.Module | ast.ClassDef, name: str, context: str = "") -> Iterator[tuple[str, ast.stmt, str]]:
    """Yield name, node and docstrings of module and class of each documented public class and function."""
    context += f'{name}: """{ast.get_docstring(node)}"""\n'
    for child in node.body:
        if isinstance(child, (ast.ClassDef, *_FUNCTIONS)) and not child.name.startswith("_"):
            if ast.get_docstring(child):
                yield f"{name}.{child.name}", child, context
            if isinstance(child, ast.ClassDef):
                yield from definitions(child, f"{name}.{child.name}", context)


def shown(name: str, node: ast.stmt, context: str) -> str:
    """Return the context, the signature, or the fields and methods of a class as help() does, and the docstring."""
    if isinstance(node, ast.ClassDef):
        members = [f"    {ast.unparse(field)}" for field in node.body if isinstance(field, ast.AnnAssign)]
        for member in node.body:
            if isinstance(member, _FUNCTIONS) and (member.name == "__init__" or not member.name.startswith("_")):
                members.append(
                    f'    {_signature(member.name, member)}\n        """{ast.get_docstring(member) or ""}"""'
                )
        head = "\n".join([f"class {name}", *members])
    else:
        assert isinstance(node, _FUNCTIONS)
        head = _signature(name, node)
    return f'{context}\n{head}\n"""{ast.get_docstring(node)}"""\n'


def _signature(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"def {name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else 'None'}"


def main(seed: str, package: str = "robot_dynamics_ros", count: str = "40") -> None:
    """Draw ``count`` definitions of all modules of ``package``; the same seed draws the same ones."""
    root = Path(package)
    entries = [
        entry
        for path in sorted(root.rglob("*.py"))
        for entry in definitions(
            ast.parse(path.read_text(encoding="utf-8")), ".".join(path.relative_to(root.parent).with_suffix("").parts)
        )
    ]
    for number, entry in enumerate(random.Random(seed).sample(entries, int(count)), 1):
        print(f"## {number}\n{shown(*entry)}")


if __name__ == "__main__":
    main(*sys.argv[1:])

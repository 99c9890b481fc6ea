"""Equations between dollar signs: Markdown alone, as on GitHub, leaves their text unchanged, and so does MyST."""

from pathlib import Path

import pytest

from support.documents.markdown_blocks import pages

markdown = pytest.importorskip("markdown_it")
plugin = pytest.importorskip("mdit_py_plugins.dollarmath")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_markdown_does_not_change_equations(page: Path) -> None:
    """An underscore after a brace would start emphasis, and a backslash before punctuation would vanish."""
    source = page.read_text(encoding="utf-8")
    parser = markdown.MarkdownIt().enable("table")
    plain = "".join(text(token) for token in parser.parse(source))
    parser.use(plugin.dollarmath_plugin)
    tokens = [
        child
        for token in parser.parse(source)
        for child in (token, *(token.children or ()))
    ]
    for token in tokens:
        if token.type.startswith("math_"):
            assert f"{token.markup}{token.content}{token.markup}" in plain


def text(token: object) -> str:
    """Return the text that Markdown shows of an inline token."""
    children = getattr(token, "children", None) or ()
    return "".join(
        "\n" if child.type == "softbreak" else child.content
        for child in children
        if child.type != "code_inline"
    )

"""Links between README, CONTRIBUTING and the pages of docs resolve in a checkout, with their anchors."""

import re
from pathlib import Path

import pytest

from support.documents.markdown_blocks import ROOT, pages

_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that Git hosts give to the headings of a page."""
    headings = re.findall(
        r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *pages()], ids=lambda page: page.name
)
def test_links_resolve(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    names = {
        str(page.relative_to(ROOT / "docs").with_suffix("")) for page in pages()[1:]
    }
    assert names - {"index"} <= set(index)

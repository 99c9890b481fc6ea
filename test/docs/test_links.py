"""Links between README, CONTRIBUTING and the pages of docs resolve; `make docs` checks their anchors."""

import re
from pathlib import Path

import pytest

from support.documents.markdown_blocks import ROOT, pages

_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *pages()], ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    names = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in pages()[1:]}
    assert names - {"index"} <= set(index)

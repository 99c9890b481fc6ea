"""The documentation builds without warnings, as with `make docs`, and without network."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.documents.markdown_blocks import ROOT, pages


@pytest.mark.slow
def test_pages_build_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    options = ("--builder", "html", "--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(tmp_path / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in pages()[1:]:
        html = tmp_path / "html" / page.relative_to(ROOT / "docs").with_suffix(".html")
        for address in ("<script src", '<link rel="stylesheet" type="text/css" href'):
            assert f'{address}="http' not in html.read_text(encoding="utf-8"), html

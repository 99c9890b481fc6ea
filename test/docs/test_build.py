"""The pages build without a warning, as `make docs` builds them, and ask nothing of the network."""

import subprocess
import sys
from pathlib import Path

import pytest
from docs.markdown_blocks import ROOT, pages

OPTIONS = ("--builder", "html", "--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")


def test_make_builds_them_with_these_options() -> None:
    assert f"-m sphinx {' '.join(OPTIONS)} docs docs/_build/html" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.slow
def test_pages_build_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", *OPTIONS, str(ROOT / "docs"), str(tmp_path / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in pages()[1:]:
        html = tmp_path / "html" / page.relative_to(ROOT / "docs").with_suffix(".html")
        for address in ("<script src", '<link rel="stylesheet" type="text/css" href'):
            assert f'{address}="http' not in html.read_text(encoding="utf-8"), html

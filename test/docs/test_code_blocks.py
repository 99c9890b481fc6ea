"""Code blocks of README and docs: valid in their language, names exist, and they run with the printed output."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest

from robot_dynamics_ros.control.laws import LAWS
from support.documents.block_checks import check_block
from support.documents.markdown_blocks import ROOT, Block, blocks, pages
from support.documents.shell_lines import commands
from support.documents.workspace import Workspace

ALL = [block for page in pages() for block in blocks(page)]
#: Pages that take longer than a few seconds, to run or to compile.
SLOW = {
    "docs/identify.md",
    "docs/dynamics_file.md",
    "docs/quick_start.md",
    "docs/tutorials/testing_from_a_bag.md",
}

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def _pages() -> list[object]:
    return [
        pytest.param(page, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for page in pages()
        for name in [str(page.relative_to(ROOT))]
    ]


@pytest.mark.parametrize("block", ALL, ids=[block.where for block in ALL])
def test_block_is_valid_in_its_language(block: Block, tmp_path: Path) -> None:
    check_block(block, tmp_path)


@pytest.mark.parametrize(
    "page", [*pages(), ROOT / "examples" / "README.md"], ids=lambda page: page.name
)
def test_install_commands_are_those_of_the_installation_page(page: Path) -> None:
    given = {
        words
        for block in blocks(ROOT / "docs" / "installation.md")
        for words in _install_commands(block)
    }
    assert {
        words for block in blocks(page) for words in _install_commands(block)
    } <= given


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if "record:=" in page.read_text(encoding="utf-8")],
    ids=lambda page: page.name,
)
def test_trajectories_wait_for_controller_and_recorder(page: Path) -> None:
    """``ros2 topic pub`` sends as soon as one subscriber is found."""
    for block in blocks(page):
        if block.language == "sh":
            for command in commands(block.text):
                line = " ".join(command.words)
                if "topic pub" in line and "/joint_trajectory " in line:
                    assert " -w 2 " in line, block.where


def _install_commands(block: Block) -> set[str]:
    """Return the commands of a shell block that create environments or install this package."""
    lines = block.text.splitlines() if block.language in ("sh", "console") else []
    return {
        line.partition("  #")[0].strip()
        for line in lines
        if re.search(r"-m venv|pip install .*\.\[|rosdep", line)
    }


@pytest.mark.parametrize("page", _pages())
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with patch.dict(LAWS):  # a page adds one
        workspace = Workspace(tmp_path, page)
        for block in blocks(page):
            workspace.go_through(block)

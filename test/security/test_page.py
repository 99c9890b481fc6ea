"""docs/security.md names tests and files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_its_tests_exist() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "test").rglob("test_*.py")}
    named = re.findall(r"`((?:[\w/]+/)?test_\w+(?:\.py)?)`", PAGE)
    assert len(named) > 10
    for name in named:
        if name.endswith(".py"):
            assert any(str(path).endswith(f"/{name}") for path in sources), name
        else:
            assert any(f"def {name}(" in source for source in sources.values()), name


def test_its_limits_are_those_of_the_code() -> None:
    from robot_dynamics_ros.bags.storage import LARGEST, Room
    from robot_dynamics_ros.messages.cdr import MOST_NAMES
    from robot_dynamics_ros.messages.joint_trajectory import MOST_POSITIONS

    assert f"at most {LARGEST / 1e6:.0f} MB, chunks that overlap in time to {Room().left / 1e6:.0f} MB" in PAGE
    assert f"{MOST_NAMES:,} names, {MOST_POSITIONS:,} positions" in PAGE


def test_the_locks_have_hashes() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text(encoding="utf-8")
        pinned = re.findall(r"^[\w.\[\]-]+==\S+.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        assert pinned and all("--hash=sha256:" in entry for entry in pinned), lock
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "LOCKED := --require-hashes --no-deps" in makefile and "-r requirements/run.txt" in makefile

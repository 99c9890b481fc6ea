"""Compiled kernels are programs: they are kept where nobody else can put any."""

import os
import stat
from pathlib import Path

import pytest

from robot_dynamics_ros.kernels.compilation import COMPILED, cache_directory

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def directory(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Where kernels are kept with this NUMBA_CACHE_DIR."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base))
    return cache_directory.__wrapped__()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_only_the_owner_may_write(umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(umask)
    try:
        folder = directory(tmp_path / "cache", monkeypatch)
    finally:
        os.umask(before)
    assert folder is not None and mode(folder) == mode(folder.parent) == 0o700


def test_a_folder_that_others_may_write_to_is_shut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = directory(tmp_path, monkeypatch)
    assert folder is not None
    for path in (folder, folder.parent):
        path.chmod(0o777)
    assert directory(tmp_path, monkeypatch) == folder
    assert mode(folder) == mode(folder.parent) == 0o755


@pytest.mark.parametrize("whose", ["folder", "parent"])
def test_another_users_folder_is_not_used(whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody may have made it in /tmp, its name being known."""
    folder = directory(tmp_path, monkeypatch)
    assert folder is not None
    theirs = folder if whose == "folder" else folder.parent
    if os.geteuid() == 0:
        os.chown(theirs, 12345, 12345)
    else:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.warns(RuntimeWarning, match=r"belongs to another user.* Cure: point NUMBA_CACHE_DIR"):
        assert directory(tmp_path, monkeypatch) is None


def test_a_folder_that_cannot_be_written_to_is_used_if_nobody_else_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**options: object) -> None:
        raise OSError

    folder = directory(tmp_path, monkeypatch)
    assert folder is not None
    kept = folder / "kernel.nbc"
    kept.touch(mode=0o600)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    links = directory(tmp_path, monkeypatch)
    assert links is not None and (links / kept.name).resolve() == kept.resolve()
    kept.chmod(0o622)
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert directory(tmp_path, monkeypatch) is None

"""Compiled kernels are programs: they are stored where no other user can write."""

import os
import stat
from pathlib import Path

import pytest

from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED, cache_directory

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def directory(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Return the folder of kernels with this NUMBA_CACHE_DIR."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base))
    return cache_directory.__wrapped__()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    before = os.umask(0)
    try:
        found = directory(tmp_path / "cache", monkeypatch)
    finally:
        os.umask(before)
    assert found is not None
    return found


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)}


def test_only_the_owner_may_write(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permissions of others are removed from an existing folder, too."""
    assert modes(folder) == {0o700}
    for path in (folder, folder.parent):
        path.chmod(0o777)
    assert directory(tmp_path / "cache", monkeypatch) == folder and modes(folder) == {
        0o755
    }


@pytest.mark.parametrize("parent", [False, True])
def test_foreign_folder_is_not_used(
    parent: bool, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may have created it in /tmp, because its name is known."""
    if os.geteuid() == 0:
        os.chown(folder.parent if parent else folder, 12345, 12345)
    else:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert directory(tmp_path / "cache", monkeypatch) is None


def test_read_only_folder_is_used_if_nobody_can_write(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**options: object) -> None:
        raise OSError

    kept = folder / "kernel.nbc"
    kept.touch(mode=0o600)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    links = directory(tmp_path / "cache", monkeypatch)
    assert links is not None and (links / kept.name).resolve() == kept.resolve()
    kept.chmod(0o622)
    with pytest.warns(RuntimeWarning, match="cannot be cached"):
        assert directory(tmp_path / "cache", monkeypatch) is None

"""Pages without a browser: what they say while messages come, and while they do not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from report.recordings import ARM

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.view import modes
from robot_dynamics_ros.view.live import LiveArm

pytest.importorskip("viser")
pytest.importorskip("yourdfpy")


def test_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from robot_dynamics_ros.view.viewer import Viewer

    said: list[Any] = []
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(modes, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(Viewer, "status", lambda viewer, text: said.append(text))
    monkeypatch.setattr(Viewer, "stale", lambda viewer, stale: said.append(stale))
    arm = LiveArm()
    viewer, update = modes.live_view(RobotModel.from_urdf(ARM), ARM, tmp_path, arm, ("127.0.0.1", 18380))
    try:
        update(0.04)
        assert said == ["waiting for joint states", True]
        arm.state(1.0, clock.now, np.array([0.1, 0.2]), None, np.array([4.0, 5.0]))
        update(0.04)
        assert said[2:] == [False, "live"]
        clock.now += 3.2
        update(0.04)
        assert said[4:] == [True, "no joint states for 3 s"]
    finally:
        viewer.close()

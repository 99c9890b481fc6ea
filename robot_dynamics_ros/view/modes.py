"""What is shown: a pose that sliders set, a recording, or what comes in: a page, and what keeps it up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.controls import PlaybackControls, PoseControls, start_pose
from robot_dynamics_ros.view.live import SILENCE, LiveArm
from robot_dynamics_ros.view.moment import Moment
from robot_dynamics_ros.view.recording import MotionRecording
from robot_dynamics_ros.view.viewer import Update, Viewer

_FRAMED = 20  # poses of a recording by which the point of view is chosen


def pose_view(
    model: RobotModel, description: str | bytes, folder: Path, address: tuple[str, int]
) -> tuple[Viewer, Update]:
    """Serve an arm with a slider for each joint, its gravity torque and centre of mass; arguments as of ``Viewer``."""
    viewer = Viewer(model, description, folder, address=address, poses=[start_pose(model)])
    controls = PoseControls(viewer.server.gui, model)
    viewer.finish_panel(viewer.notes)

    def update(seconds: float) -> None:
        moment = controls.moment()
        if moment is not None:
            viewer.show(moment, "gravity torque")

    update(0.0)
    return viewer, update


def recording_view(
    model: RobotModel,
    description: str | bytes,
    folder: Path,
    recording: MotionRecording,
    address: tuple[str, int],
    notes: Sequence[str] = (),
) -> tuple[Viewer, Update]:
    """Serve a recording, which plays at once; arguments as of ``Viewer``, ``notes`` are shown below."""
    times = np.linspace(0.0, recording.duration, _FRAMED)
    torques = None if recording.torque is None else recording.torque.rows
    tracks = [track for track in (recording.q, recording.desired) if track is not None]
    poses = [track.at(time) for track in tracks for time in times.tolist()]
    viewer = Viewer(model, description, folder, address=address, poses=poses, torques=torques)
    controls = PlaybackControls(viewer.server.gui, model, recording)
    viewer.notes += notes
    viewer.finish_panel(viewer.notes)

    def update(seconds: float) -> None:
        found = controls.moment(seconds)
        if found is not None:
            moment, asked = found
            viewer.show(moment, recording.torque_kind, at_once=asked)

    update(0.0)
    return viewer, update


def live_view(
    model: RobotModel, description: str | bytes, folder: Path, arm: LiveArm, address: tuple[str, int]
) -> tuple[Viewer, Update]:
    """Serve what ``arm`` knows; where it has been silent for a second, it is grey and that is said."""
    viewer = Viewer(model, description, folder, address=address, poses=[start_pose(model)])
    viewer.status("waiting for joint states")
    viewer.finish_panel(viewer.notes)
    rest = start_pose(model)
    still = np.zeros(model.n)
    viewer.show(Moment(rest, still, still, np.full(model.n, np.nan)), "torque")
    viewer.stale(True)

    def update(seconds: float) -> None:
        now = time.monotonic()
        found = arm.moment(now)
        if found is None:
            return
        age = arm.age(now)
        viewer.stale(age > SILENCE)
        viewer.status(f"no joint states for {age:.0f} s" if age > SILENCE else "live")
        if age <= SILENCE:
            viewer.show(*found, at_once=False)

    return viewer, update

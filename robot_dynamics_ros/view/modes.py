"""What a person moves: a slider for each joint, or the time of a recording."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Moment, position_range
from robot_dynamics_ros.view.panel import short_names
from robot_dynamics_ros.view.recording import SILENCE, Clock, LiveArm, MotionRecording
from robot_dynamics_ros.view.viewer import Update, Viewer

if TYPE_CHECKING:
    from viser import GuiApi


_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_DIGITS = 3  # of the sliders' rad or m
_FOLLOW = 0.2  # s after which the slider follows the time


class PoseControls:
    """A slider for each joint, over its range; the arm stands still there, held against gravity."""

    def __init__(self, gui: GuiApi, model: RobotModel) -> None:
        self._model = model
        self._changed = threading.Event()
        self._changed.set()
        lower, upper = (np.round(limit, _DIGITS) for limit in position_range(model))
        self._start = np.clip(np.round(start_pose(model), _DIGITS), lower, upper)
        with gui.add_folder("Joints"):
            self._sliders = [
                gui.add_slider(name, float(low), float(high), 0.1**_DIGITS, float(q))
                for name, low, high, q in zip(short_names(model.joint_names), lower, upper, self._start, strict=True)
            ]
            button = gui.add_button("back to the start")
        for slider in self._sliders:
            slider.on_update(lambda _: self._changed.set())
        button.on_click(lambda _: self._reset())

    def _reset(self) -> None:
        for slider, q in zip(self._sliders, self._start, strict=True):
            slider.value = float(q)  # type: ignore[misc]  # mypy overlooks its setter
        self._changed.set()

    def moment(self) -> Moment | None:
        """Return the pose that the sliders say; None where it is the same as last time."""
        if not self._changed.is_set():
            return None
        self._changed.clear()
        q = np.array([slider.value for slider in self._sliders])
        rest = np.zeros(self._model.n)
        return Moment(q, rest, rest, self._model.gravity_torque(q))


class PlaybackControls:
    """Play, speed and time of a recording."""

    def __init__(self, gui: GuiApi, model: RobotModel, recording: MotionRecording) -> None:
        self._model, self._recording = model, recording
        self._clock = Clock(recording.duration, playing=True)
        self._moved = threading.Event()
        self._moved.set()
        self._since = 0.0
        with gui.add_folder("Recording"):
            end = max(recording.duration, 1e-3)
            self._slider = gui.add_slider("time, s", 0.0, end, min(0.01, end), 0.0)
            play = gui.add_checkbox("play", True)
            speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
        self._slider.on_update(lambda event: self._seek(event.client_id))
        play.on_update(lambda event: self._play(event.target.value))
        speed.on_update(lambda event: setattr(self._clock, "speed", float(event.target.value)))

    def _play(self, playing: bool) -> None:
        self._clock.playing = playing
        self._moved.set()

    def _seek(self, client: int | None) -> None:
        if client is not None:  # a person, not the time that goes on
            self._clock.time = self._slider.value
            self._moved.set()

    def moment(self, seconds: float) -> tuple[Moment, bool] | None:
        """Return the recording's moment after ``seconds`` of real time, and whether a person has just asked for it.

        None where it is the same as last time.
        """
        moved = self._moved.is_set()
        self._moved.clear()
        if not self._clock.advance(seconds) and not moved:
            return None
        self._since += seconds
        if self._since > _FOLLOW and not moved:
            self._slider.value = self._clock.time  # type: ignore[misc]
            self._since = 0.0
        return self._recording.moment(self._model, self._clock.time), moved


def start_pose(model: RobotModel) -> Array:
    """Return the middle of each joint's range (n,)."""
    lower, upper = position_range(model)
    middle: Array = 0.5 * (lower + upper)
    return middle


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

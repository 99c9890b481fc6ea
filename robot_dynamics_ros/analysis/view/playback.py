"""Playback of recordings in the view, several of them side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.analysis.thresholds import CAMERA_RECORDED_POSES, SLIDER_PERIOD
from robot_dynamics_ros.analysis.view.scene_state import Clock, JointTracks, read_motion
from robot_dynamics_ros.analysis.view.viewer import Update, Viewer
from robot_dynamics_ros.dynamics.model import RobotModel

if TYPE_CHECKING:
    from viser import GuiEvent

_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


def bag_labels(bags: Sequence[Path]) -> list[str]:
    """Return a label for each bag: its path component at the last level at which all components differ.

    The labels of pd/bag and gravity/bag are pd and gravity. If no level has different components for all bags, the
    labels are the whole paths. No bags give an empty list.
    """
    parts = [bag.resolve().parts[::-1] for bag in bags]
    names = zip(*parts, strict=False)
    return list(
        next((level for level in names if len(set(level)) == len(bags)), map(str, bags))
    )


def show_bags(
    model: RobotModel,
    urdf: Path,
    bags: Sequence[tuple[str, Path]],
    address: tuple[str, int] = ("127.0.0.1", 8080),
    topic: str = "/joint_states",
    *,
    browser: bool = False,
) -> None:
    """Serve bags side by side with one time slider; print the URL, and block until Ctrl-C.

    ``bags`` has label and path of each, in the order from left to right. Each bag must contain the joints of ``model``
    on ``topic`` (sensor_msgs/JointState). ``urdf`` is the path of the model's URDF, near which meshes are searched.
    ``address`` is host and port; if the port is in use, the next free one is taken. With ``browser`` the page is opened
    in the user's browser.

    Raises BagError for a bag that cannot be read or lacks joints, RobotDynamicsError if the extra ``view`` is not
    installed or the address not available, and KeyboardInterrupt at Ctrl-C.
    """
    recordings = [(label, read_motion(bag, topic, model)) for label, bag in bags]
    viewer, update = bag_view(
        model, urdf.read_bytes(), urdf.parent, recordings, address
    )
    viewer.serve(update, browser=browser)


def bag_view(
    model: RobotModel,
    description: str | bytes,
    folder: Path,
    recordings: Sequence[tuple[str, tuple[JointTracks, Sequence[str]]]],
    address: tuple[str, int],
) -> tuple[Viewer, Update]:
    """Start a web server with recordings of one robot; return its Viewer and the function to call for playback.

    The returned function advances playback by its argument, the elapsed real time (s), and displays the state;
    ``Viewer.serve`` calls it. ``recordings`` has for each robot, from left to right, a label and the result of
    ``read_motion``: the motion and notes to display. ``description`` is the URDF, ``folder`` the folder in which its
    meshes are searched, ``address`` host and first port to try.

    Several recordings are aligned at the time at which the desired position of each first changes. Raises
    RobotDynamicsError if viser or trimesh is not installed, or the address is not available.
    """
    motions = [motion for _, (motion, _) in recordings]
    begin = min(motion.start for motion in motions)
    shifts = [motion.start - begin for motion in motions]
    duration = max(
        motion.duration - shift for motion, shift in zip(motions, shifts, strict=True)
    )
    tracks = [
        track
        for motion in motions
        for track in (motion.q, motion.desired)
        if track is not None
    ]
    poses = [
        track.at(time)
        for track in tracks
        for time in np.linspace(0.0, track.time[-1], CAMERA_RECORDED_POSES).tolist()
    ]
    torques = [motion.torque.rows for motion in motions if motion.torque is not None]
    viewer = Viewer(
        model,
        description,
        folder,
        address=address,
        poses=poses,
        torques=np.concatenate(torques) if torques else None,
        controls="Playback",
        labels=[label for label, _ in recordings] if len(recordings) > 1 else [""],
        notes=[
            f"{label}: {note}" for label, (_, notes) in recordings for note in notes
        ],
    )
    clock = Clock(duration, playing=True)
    moved = threading.Event()
    follow = _add_controls(viewer, clock, moved)

    def update(seconds: float) -> None:
        at_once = moved.is_set()
        moved.clear()
        advanced = clock.advance(seconds)
        if advanced or at_once:
            follow(seconds if advanced else 0.0)
            times = [clock.time + shift for shift in shifts]
            states = [
                motion.scene_state(model, time)
                for motion, time in zip(motions, times, strict=True)
            ]
            viewer.show(states, at_once=at_once or not clock.playing)

    moved.set()
    update(0.0)
    return viewer, update


def _add_controls(viewer: Viewer, clock: Clock, moved: threading.Event) -> Update:
    """Add time, play and pause, speed and repeat; they set the clock, and ``moved``.

    Return a function that sets the time slider and the button after the clock has advanced by the given time (s).
    """
    from viser import Icon

    gui = viewer.server.gui
    end = max(clock.duration, 1e-3)
    with viewer.controls:
        slider = gui.add_slider("time, s", 0.0, end, min(0.01, end), 0.0)
        button = gui.add_button("pause", icon=Icon.PLAYER_PAUSE)
        speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
        repeat = gui.add_checkbox("repeat", clock.repeat)

    def seek(event: GuiEvent[Any]) -> None:
        if event.client_id is not None:  # moved by the user, not by the clock
            clock.time = slider.value
            moved.set()

    def press(_: object) -> None:
        if clock.playing:
            clock.playing = False
            slider.value = clock.time  # type: ignore[misc]  # mypy does not see the setter
        else:
            clock.play()
        moved.set()

    def set_speed(event: GuiEvent[Any]) -> None:
        clock.speed = float(event.target.value)

    def set_repeat(event: GuiEvent[Any]) -> None:
        clock.repeat = event.target.value

    slider.on_update(seek)
    button.on_click(press)
    speed.on_update(set_speed)
    repeat.on_update(set_repeat)
    since = 0.0

    def follow(seconds: float) -> None:
        nonlocal since
        since += seconds
        if since > SLIDER_PERIOD or (seconds and not clock.playing):
            slider.value = clock.time  # type: ignore[misc]
            since = 0.0
        label = "pause" if clock.playing else "play"
        if button.label != label:
            button.label = label
            button.icon = Icon.PLAYER_PAUSE if clock.playing else Icon.PLAYER_PLAY

    return follow

"""Web server of the view: scene, table of joints and controls, for a pose, a recording, or live."""

from __future__ import annotations

import errno
import io
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.geometry import colour_of_share, require_viewer, robot_shapes
from robot_dynamics_ros.view.motion import SILENCE, Clock, LiveArm, MotionRecording, SceneState
from robot_dynamics_ros.view.scene import (
    FIELD_OF_VIEW,
    LAYERS,
    Scene,
    corners,
    fixed,
    position_range,
    reach_of,
    short_names,
    torque_scale,
    torque_shares,
    torque_texts,
    viewpoint,
)

if TYPE_CHECKING:
    from viser import FrameHandle, GuiEvent, ViserServer

Update = Callable[[float], None]
"""Function that displays the state after the given time (s) has passed."""

PERIOD = 0.04  # s between two updates
_TABLE_PERIOD = 0.1
_PORTS = 100  # number of ports that are tried

_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_DIGITS = 3  # decimals of the sliders, in rad or m
_FOLLOW = 0.2  # s, update period of the time slider
_FRAMED = 20  # poses of a recording that the camera must show

_CELL = "padding:2px 6px 2px 0;text-align:right;white-space:nowrap"
_BAR = 56  # px


class Viewer:
    """Web page at ``url`` with an arm and a table of its joints."""

    def __init__(
        self,
        model: RobotModel,
        description: str | bytes,
        folder: Path,
        *,
        address: tuple[str, int],
        poses: Iterable[Array],
        torques: Array | None = None,
    ) -> None:
        """Start the server.

        ``description`` is the URDF, ``folder`` the folder in which its meshes are searched, ``address`` host and port.
        ``poses`` are positions (n,) that the camera must show; ``torques`` (..., n) are those that will be displayed,
        if known in advance.

        Raises RobotDynamicsError if viser or yourdfpy is not installed, or the address is not available.
        """
        require_viewer()
        self.model = model
        reach = reach_of(model)
        self._scale, limited = torque_scale(model, torques)
        self._limited: list[bool] = limited.tolist()
        shapes, self.notes = robot_shapes(model, description, folder, reach)
        self.server = _serve(*address, model.name)
        points = corners(model, shapes, poses, reach)
        position, look_at = viewpoint(points)
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = tuple(position), tuple(look_at), float(FIELD_OF_VIEW)
        self.scene = Scene(self.server, model, shapes, reach, ground=float(points[:, 2].min()))
        self._table = self.server.gui.add_html("")
        self._table_at = 0.0
        self._status = self.server.gui.add_html("", visible=False)

    @property
    def url(self) -> str:
        """URL of the page."""
        return f"http://{self.server.get_host()}:{self.server.get_port()}"

    def finish_panel(self) -> None:
        """Add the checkboxes of the layers and the notes below the controls."""
        gui = self.server.gui
        with gui.add_folder("Show", expand_by_default=False):
            for name, (label, shown) in LAYERS.items():
                gui.add_checkbox(label, shown).on_update(partial(_switch, self.scene.layers[name]))
        if self.notes:
            gui.add_html(_lines(self.notes))

    def show(self, state: SceneState, torque_kind: str, at_once: bool = True) -> None:
        """Display a state. The table is updated at most ten times a second unless ``at_once``, to be readable."""
        shares = torque_shares(state.torque, self._scale)
        self.scene.show(state, shares)
        now = time.monotonic()
        if at_once or now - self._table_at > _TABLE_PERIOD:
            self._table.content = table(self.model, state, shares, self._limited, torque_kind)
            self._table_at = now

    def status(self, text: str) -> None:
        """Display a line of text below the table."""
        self._status.content, self._status.visible = _lines([text]), True

    def run(self, update: Update) -> None:
        """Call ``update`` with the elapsed time (s) 25 times a second, until an exception is raised."""
        last = time.monotonic()
        while True:
            time.sleep(PERIOD)
            now = time.monotonic()
            update(now - last)
            last = now

    def close(self) -> None:
        """Stop the server; open pages show that the connection is lost."""
        with redirect_stdout(io.StringIO()):
            self.server.stop()


def _switch(layer: FrameHandle, event: GuiEvent[Any]) -> None:
    layer.visible = event.target.value


def _free_port(host: str, port: int) -> int:
    """Return the first free port from ``port`` on. viser itself would wait forever for an address in use."""
    for candidate in range(port, min(port + _PORTS, 65536)):
        try:
            with socket.create_server((host, candidate)):
                return candidate
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise RobotDynamicsError(
                    f"{host}:{candidate}: {error.strerror}. Cure: give --host 127.0.0.1, or another address of this "
                    "machine, and --port above 1023"
                ) from None
    raise RobotDynamicsError(f"{host}: the {_PORTS} ports from {port} on are in use. Cure: give another --port")


def _serve(host: str, port: int, label: str) -> ViserServer:
    """Return a server on this address, with viser's sharing over the internet disabled."""
    import viser

    class LocalServer(viser.ViserServer):
        def request_share_url(self, verbose: bool = True) -> str | None:
            """Do nothing: the page must not be available on the internet."""
            return None

    port = _free_port(host, port)
    with redirect_stdout(io.StringIO()):  # viser prints a banner
        server = LocalServer(host=host, port=port, label=label, verbose=False)
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    return server


def table(model: RobotModel, state: SceneState, shares: Array, limited: Sequence[bool], torque_kind: str) -> str:
    """Return an HTML table of position, error and torque of each joint, with a bar for its share (n,) of the limit.

    ``limited`` (n,) is True for shares of the effort limit; the others are shares of the largest torque.
    ``torque_kind`` is the heading of the torque.
    """
    error = None if state.desired is None else 1e3 * (state.desired - state.q)
    texts = torque_texts(model, state.torque)
    rows = []
    for j, name in enumerate(short_names(model.joint_names)):
        metres = model.joint_names[j] in model.prismatic_joints
        cells = [escape(name), f"{fixed(state.q[j], 3)} {'m' if metres else 'rad'}"]
        if error is not None:
            cells.append(f"{fixed(error[j], 2)} {'mm' if metres else 'mrad'}")
        columns = "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in [*cells, texts[j]])
        rows.append(f"<tr>{columns}<td>{_bar(float(shares[j]), limited[j])}</td></tr>")
    heads = ["joint", "position", *(["error"] if error is not None else []), escape(torque_kind)]
    share = "of limit" if all(limited) else "of limit*"
    head = "".join(f"<th style='{_CELL};font-weight:600'>{text}</th>" for text in [*heads, share])
    foot = (
        "" if all(limited) else "<div style='color:#868e96'>* no effort limit: percentage of the largest torque</div>"
    )
    return (
        "<div style='padding:0 0.9em 0.6em;font-size:11.5px;font-variant-numeric:tabular-nums;overflow-x:auto'>"
        f"<table style='border-collapse:collapse'><tr style='color:#868e96'>{head}</tr>{''.join(rows)}</table>"
        f"{foot}</div>"
    )


def _bar(share: float, limited: bool) -> str:
    width = round(_BAR * min(abs(share), 1.0))
    colour = "#{:02x}{:02x}{:02x}".format(*colour_of_share(share))
    text = f"{100 * abs(share):.0f} %" + ("" if limited else "*")
    return (
        "<div style='display:flex;align-items:center;gap:5px'>"
        f"<div style='width:{_BAR}px;height:8px;border-radius:4px;background:#8883'>"
        f"<div style='width:{width}px;height:8px;border-radius:4px;background:{colour}'></div>"
        f"</div><span style='white-space:nowrap'>{text}</span></div>"
    )


def _lines(texts: Sequence[str]) -> str:
    return "".join(
        f"<div style='padding:0 0.9em 0.5em;font-size:12px;color:#868e96'>{escape(text)}</div>" for text in texts
    )


def pose_view(
    model: RobotModel, description: str | bytes, folder: Path, address: tuple[str, int]
) -> tuple[Viewer, Update]:
    """Serve an arm with a slider for each joint, gravity torque and centre of mass; arguments are those of Viewer."""
    lower, upper = position_range(model)
    middle = 0.5 * (lower + upper)
    viewer = Viewer(model, description, folder, address=address, poses=[middle])
    lower, upper, middle = (np.round(q, _DIGITS) for q in (lower, upper, middle))
    start = np.clip(middle, lower, upper)
    changed = threading.Event()
    gui = viewer.server.gui
    with gui.add_folder("Joints"):
        sliders = [
            gui.add_slider(name, float(low), float(high), 0.1**_DIGITS, float(q))
            for name, low, high, q in zip(short_names(model.joint_names), lower, upper, start, strict=True)
        ]
        button = gui.add_button("back to the start")

    def reset(_: object) -> None:
        for slider, q in zip(sliders, start, strict=True):
            slider.value = float(q)  # type: ignore[misc]  # mypy does not see the setter
        changed.set()

    for slider in sliders:
        slider.on_update(lambda _: changed.set())
    button.on_click(reset)
    viewer.finish_panel()

    def update(seconds: float) -> None:
        if changed.is_set():
            changed.clear()
            q = np.array([slider.value for slider in sliders])
            rest = np.zeros(model.n)
            viewer.show(SceneState(q, rest, rest, model.gravity_torque(q)), "gravity torque")

    changed.set()
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
    """Serve a recording and start playback; ``notes`` are displayed, other arguments are those of Viewer."""
    times = np.linspace(0.0, recording.duration, _FRAMED)
    torques = None if recording.torque is None else recording.torque.rows
    tracks = [track for track in (recording.q, recording.desired) if track is not None]
    poses = [track.at(time) for track in tracks for time in times.tolist()]
    viewer = Viewer(model, description, folder, address=address, poses=poses, torques=torques)
    clock = Clock(recording.duration, playing=True)
    moved = threading.Event()
    gui = viewer.server.gui
    with gui.add_folder("Recording"):
        end = max(recording.duration, 1e-3)
        slider = gui.add_slider("time, s", 0.0, end, min(0.01, end), 0.0)
        play = gui.add_checkbox("play", True)
        speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")

    def seek(event: GuiEvent[Any]) -> None:
        if event.client_id is not None:  # moved by the user, not by the clock
            clock.time = slider.value
            moved.set()

    def set_playing(event: GuiEvent[Any]) -> None:
        clock.playing = event.target.value
        moved.set()

    def set_speed(event: GuiEvent[Any]) -> None:
        clock.speed = float(event.target.value)

    slider.on_update(seek)
    play.on_update(set_playing)
    speed.on_update(set_speed)
    viewer.notes += notes
    viewer.finish_panel()
    followed = 0.0

    def update(seconds: float) -> None:
        nonlocal followed
        at_once = moved.is_set()
        moved.clear()
        if not clock.advance(seconds) and not at_once:
            return
        followed += seconds
        if followed > _FOLLOW and not at_once:
            slider.value = clock.time  # type: ignore[misc]
            followed = 0.0
        viewer.show(recording.scene_state(model, clock.time), recording.torque_kind, at_once=at_once)

    moved.set()
    update(0.0)
    return viewer, update


def live_view(
    model: RobotModel, description: str | bytes, folder: Path, arm: LiveArm, address: tuple[str, int]
) -> tuple[Viewer, Update]:
    """Serve the last state of ``arm``; it turns grey after a second without joint states."""
    middle: Array = 0.5 * np.add(*position_range(model))
    viewer = Viewer(model, description, folder, address=address, poses=[middle])
    viewer.status("waiting for joint states")
    viewer.finish_panel()
    rest = np.zeros(model.n)
    viewer.show(SceneState(middle, rest, rest, np.full(model.n, np.nan)), "torque")
    viewer.scene.stale(True)

    def update(seconds: float) -> None:
        now = time.monotonic()
        state = arm.scene_state(now)
        if state is None:
            return
        age = arm.age(now)
        viewer.scene.stale(age > SILENCE)
        viewer.status(f"no joint states for {age:.0f} s" if age > SILENCE else "live")
        if age <= SILENCE:
            viewer.show(*state, at_once=False)

    return viewer, update

"""Web server of the view: scenes, panel and controls, for a pose or live.

``Update`` is a function of the real time (s) since its last call that displays the present state. ``address`` is the
host, and the first port to try: if it is in use, the next free one of 100 is taken.
"""

from __future__ import annotations

import errno
import io
import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.analysis.thresholds import (
    PORTS_TRIED,
    SCENE_PERIOD,
    STALE_TIME,
    TABLE_PERIOD,
)
from robot_dynamics_ros.analysis.view.camera import (
    FIELD_OF_VIEW,
    GRID_CELL,
    corners,
    side_by_side,
    viewpoint,
)
from robot_dynamics_ros.analysis.view.geometry import (
    Shape,
    require_viewer,
    robot_shapes,
)
from robot_dynamics_ros.analysis.view.panel import WIDTH, legend, lines, table
from robot_dynamics_ros.analysis.view.scene import (
    LAYERS,
    Scene,
    position_range,
    reach_of,
    short_names,
    torque_scale,
    torque_shares,
)
from robot_dynamics_ros.analysis.view.scene_state import LiveArm, SceneState
from robot_dynamics_ros.base.errors import RobotDynamicsError, note
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

if TYPE_CHECKING:
    from viser import GuiEvent, ViserServer

Update = Callable[[float], None]
"""Function that displays the state after the given time (s) has passed."""


_DIGITS = 3  # decimals of the sliders, in rad or m


class Viewer:
    """Web page at ``url`` with one or several equal robots, and tables of their joints.

    The server runs in background threads from construction until ``close``.

    ``description`` is the URDF of ``model``, ``folder`` the folder in which its meshes are searched, ``address`` host
    and first port to try. ``poses`` are joint positions (n,), rad or m, that the camera must show. ``torques`` (...,
    n), Nm or N, are those that will be displayed, if known in advance; they scale the arrows of joints without effort
    limit. ``position`` describes the displayed position. ``controls`` is the title of the folder of the panel to which
    a caller adds sliders and buttons of ``server``, viser's server; it is hidden if the title is empty. ``labels`` has
    a text for each robot, from left to right, and ``notes`` are displayed.

    Raises RobotDynamicsError if viser or trimesh is not installed, or the address is not available.
    """

    def __init__(
        self,
        model: RobotModel,
        description: str | bytes,
        folder: Path,
        *,
        address: tuple[str, int],
        poses: Iterable[Array],
        torques: Array | None = None,
        position: str = "measured position",
        controls: str = "",
        labels: Sequence[str] = ("",),
        notes: Sequence[str] = (),
    ) -> None:
        """Start the server. The class describes the arguments."""
        require_viewer()
        self.model = model
        self._position = position
        self._reach = reach_of(model)
        self._scale, limited = torque_scale(model, torques)
        self._limited: list[bool] = limited.tolist()
        shapes, self.notes = robot_shapes(model, description, folder, self._reach)
        self.notes += notes
        self.server = _serve(*address, model.name)
        self.scenes = self._add_scenes(shapes, poses, labels)
        gui = self.server.gui
        self._status = gui.add_html("", visible=False)
        with gui.add_folder("Legend"):  # above the sliders, of which there may be many
            self._legend = gui.add_html("")
        self.controls = gui.add_folder(controls, visible=bool(controls))
        self._tables = []
        for label in labels:
            with gui.add_folder(label or "State"):
                self._tables.append(gui.add_html(""))
        self._table_at = 0.0
        with gui.add_folder("Show", expand_by_default=False):
            switches = {
                name: gui.add_checkbox(label, shown)
                for name, (label, shown) in LAYERS.items()
            }
        for name, switch in switches.items():
            switch.on_update(partial(self._switch, name))
        self._desired = switches["ghost"]
        if self.notes:
            gui.add_html(lines(self.notes))
        self._states: Sequence[SceneState] = ()

    def _add_scenes(
        self, shapes: Sequence[Shape], poses: Iterable[Array], labels: Sequence[str]
    ) -> list[Scene]:
        """Add the robots, their labels, the ground and the camera."""
        server = self.server
        reach = self._reach
        points = corners(self.model, shapes, poses, reach)
        above = np.array([0.0, 0.0, points[:, 2].max() + 0.05 * reach])
        points = np.concatenate([points, [above]]) if any(labels) else points
        offsets = side_by_side(points, len(labels))
        position, look_at = viewpoint((points + offsets[:, None]).reshape(-1, 3))
        camera = server.initial_camera
        camera.position = tuple(position)
        camera.look_at = tuple(look_at)
        camera.fov = float(FIELD_OF_VIEW)
        middle = 0.5 * offsets[-1] + [0.0, 0.0, points[:, 2].min()]
        size = 4.0 * reach + float(np.linalg.norm(offsets[-1]))
        server.scene.add_grid(
            "/ground",
            size,
            size,
            cell_size=GRID_CELL,
            cell_color=(228, 230, 233),
            section_size=5.0 * GRID_CELL,
            section_color=(196, 200, 206),
            fade_distance=3.0 * size,
            shadow_opacity=0.2,
            position=middle,
        )
        scenes = []
        for k, (label, offset) in enumerate(zip(labels, offsets, strict=True)):
            scenes.append(
                Scene(server, self.model, shapes, reach, f"/robot{k}", offset)
            )
            if label:
                server.scene.add_label(
                    f"/robot{k}/label",
                    label,
                    position=above,
                    anchor="bottom-center",
                    font_screen_scale=1.4,
                )
        return scenes

    @property
    def url(self) -> str:
        """URL of the page, with the host given and the port in use."""
        return f"http://{self.server.get_host()}:{self.server.get_port()}"

    def _switch(self, layer: str, event: GuiEvent[Any]) -> None:
        for scene in self.scenes:
            scene.layers[layer].visible = event.target.value
        self._explain()

    def _explain(self) -> None:
        """Update the legend, and offer desired positions if there are any."""
        shown = {
            name for name, layer in self.scenes[0].layers.items() if layer.visible
        } | {"ground"}
        self._desired.visible = any(state.desired is not None for state in self._states)
        if not self._desired.visible:
            shown.discard("ghost")
        kinds = " or ".join(dict.fromkeys(state.torque_kind for state in self._states))
        self._legend.content = legend(
            self.model, self._reach, shown, self._position, kinds, self._limited
        )

    def show(self, states: Sequence[SceneState], at_once: bool = True) -> None:
        """Display a state of each robot, in the order of the labels.

        Tables and legend are updated at most ten times a second unless ``at_once`` is True.
        """
        shares = [torque_shares(state.torque, self._scale) for state in states]
        for scene, state, share in zip(self.scenes, states, shares, strict=True):
            scene.show(state, share)
        self._states = states
        now = time.monotonic()
        if at_once or now - self._table_at > TABLE_PERIOD:
            for text, state, share in zip(self._tables, states, shares, strict=True):
                text.content = table(self.model, state, share, self._limited)
            self._explain()
            self._table_at = now

    def stale(self, stale: bool) -> None:
        """Show the robots in grey if ``stale``, else in their own colours."""
        for scene in self.scenes:
            scene.stale(stale)

    def status(self, text: str) -> None:
        """Display a line of text at the top of the panel; it replaces the previous one."""
        self._status.content = lines([text])
        self._status.visible = True

    def serve(self, update: Update, *, browser: bool = False) -> None:
        """Print notes on stderr and the URL on stdout, then ``run`` with ``update``; it returns only by an exception.

        With ``browser`` the page is opened in the user's browser, if there is one. The server is stopped after an
        exception, such as KeyboardInterrupt, which is raised again.
        """
        for text in self.notes:
            note(text)
        print(f"{self.url}  (Ctrl-C ends it)", flush=True)
        if browser:
            open_page(self.url)
        try:
            self.run(update)
        finally:
            self.close()

    def run(self, update: Update) -> None:
        """Call ``update`` 25 times a second with the real time (s) since its last call, until an exception occurs."""
        last = time.monotonic()
        while True:
            time.sleep(SCENE_PERIOD)
            now = time.monotonic()
            update(now - last)
            last = now

    def close(self) -> None:
        """Stop the server; open pages show that the connection is lost."""
        with redirect_stdout(io.StringIO()):
            self.server.stop()


def open_page(url: str) -> None:
    """Open ``url`` in the user's browser, in a background thread.

    Do nothing if none of the environment variables DISPLAY, WAYLAND_DISPLAY and BROWSER is set, since webbrowser would
    use the terminal.
    """
    if any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        # it may wait for the browser
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _free_port(host: str, port: int) -> int:
    """Return the first free port from ``port`` on; with a note on stderr if another one than ``port``.

    viser itself would wait forever for an address in use.
    """
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        try:
            with socket.create_server((host, candidate)):
                if candidate != port:
                    note(f"port {port} is in use")
                return candidate
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise RobotDynamicsError(
                    f"{host}:{candidate}: {error.strerror}. Cure: give --host 127.0.0.1, or another address of this "
                    "machine, and --port above 1023"
                ) from None
    raise RobotDynamicsError(
        f"{host}: the {PORTS_TRIED} ports from {port} on are in use. Cure: give another --port"
    )


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
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)
    return server


def pose_view(
    model: RobotModel, description: str | bytes, folder: Path, address: tuple[str, int]
) -> tuple[Viewer, Update]:
    """Start a web server with an arm whose pose is set by a slider for each joint; return its Viewer and its Update.

    Gravity torque and centre of mass are displayed for the pose. Pass the Update to ``Viewer.serve``, since it displays
    the sliders' positions. ``description`` is the URDF of ``model``, ``folder`` the folder in which its meshes are
    searched, ``address`` the host and the first port to try. Raises RobotDynamicsError if viser or trimesh is not
    installed, or no port is available.
    """
    lower, upper = position_range(model)
    middle = 0.5 * (lower + upper)
    units = sorted(
        {"m" if name in model.prismatic_joints else "rad" for name in model.joint_names}
    )
    viewer = Viewer(
        model,
        description,
        folder,
        address=address,
        poses=[middle],
        position="positions of the sliders",
        controls=f"Joints, in {' and '.join(units)}",
    )
    lower, upper, middle = (np.round(q, _DIGITS) for q in (lower, upper, middle))
    start = np.clip(middle, lower, upper)
    changed = threading.Event()
    gui = viewer.server.gui
    with viewer.controls:
        sliders = [
            gui.add_slider(name, float(low), float(high), 0.1**_DIGITS, float(q))
            for name, low, high, q in zip(
                short_names(model.joint_names), lower, upper, start, strict=True
            )
        ]
        button = gui.add_button("back to the start")

    def reset(_: object) -> None:
        for slider, q in zip(sliders, start, strict=True):
            slider.value = float(q)  # type: ignore[misc]  # mypy does not see the setter
        changed.set()

    for slider in sliders:
        slider.on_update(lambda _: changed.set())
    button.on_click(reset)

    def update(seconds: float) -> None:
        if changed.is_set():
            changed.clear()
            q = np.array([slider.value for slider in sliders])
            rest = np.zeros(model.n)
            viewer.show(
                [
                    SceneState(
                        q, rest, rest, model.gravity_torque(q), torque_kind="gravity"
                    )
                ]
            )

    changed.set()
    update(0.0)
    return viewer, update


def live_view(
    model: RobotModel,
    description: str | bytes,
    folder: Path,
    arm: LiveArm,
    address: tuple[str, int],
) -> tuple[Viewer, Update]:
    """Start a web server that displays the last state of ``arm``; return its Viewer and its Update.

    Pass the Update to ``Viewer.serve``. It reads ``arm`` with time.monotonic() as the present time, so that other calls
    of ``arm`` must use this clock. The arm is grey before the first joint states, and a second after the last ones.
    ``description`` is the URDF of ``model``, ``folder`` the folder in which its meshes are searched. Raises
    RobotDynamicsError if viser or trimesh is not installed, or the address is not available.
    """
    middle: Array = 0.5 * np.add(*position_range(model))
    viewer = Viewer(model, description, folder, address=address, poses=[middle])
    viewer.status("waiting for joint states")
    rest = np.zeros(model.n)
    viewer.show(
        [
            SceneState(
                middle,
                rest,
                rest,
                np.full(model.n, np.nan),
                torque_kind="measured effort",
            )
        ]
    )
    viewer.stale(True)

    def update(seconds: float) -> None:
        now = time.monotonic()
        state = arm.scene_state(now)
        if state is None:
            return
        age = arm.age(now)
        viewer.stale(age > STALE_TIME)
        viewer.status(
            f"no joint states for {age:.0f} s" if age > STALE_TIME else "live"
        )
        if age <= STALE_TIME:
            viewer.show([state], at_once=False)

    return viewer, update

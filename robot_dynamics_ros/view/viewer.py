"""The server that browsers look at: the picture, the panel beside it, and the loop that keeps them up to date."""

from __future__ import annotations

import errno
import io
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Moment, draw, reach_of, torque_scale
from robot_dynamics_ros.view.panel import lines, table
from robot_dynamics_ros.view.scene import FIELD_OF_VIEW, LAYERS, Stage, corners, viewpoint
from robot_dynamics_ros.view.shapes import require_viewer, robot_shapes

if TYPE_CHECKING:
    from viser import GuiCheckboxHandle, GuiEvent, ViserServer

Update = Callable[[float], None]
"""Shows what there is to see after so many seconds have passed."""

PERIOD = 0.04  # s between two pictures
_TABLE_PERIOD = 0.1
_PORTS = 100  # that are tried


class Viewer:
    """A page at ``url`` that shows an arm and its joints' numbers."""

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
        """Serve the page.

        ``description`` is the URDF's text, ``folder`` where its meshes are looked for, ``address`` host and port to
        serve on; ``poses`` are positions (n,) that must be in the picture, ``torques`` (..., n) those that will be
        shown, where they are known.

        Raises RobotDynamicsError where viser or yourdfpy are missing, or the address cannot be had.
        """
        require_viewer()
        self.model = model
        self._reach = reach_of(model)
        self._scale, self._limited = torque_scale(model, torques)
        shapes, self.notes = robot_shapes(model, description, folder, self._reach)
        self.server = _serve(*address, model.name)
        points = corners(model, shapes, poses, self._reach)
        position, look_at = viewpoint(points)
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = tuple(position), tuple(look_at), float(FIELD_OF_VIEW)
        self._stage = Stage(self.server, model, shapes, self._reach, ground=float(points[:, 2].min()))
        self._table = self.server.gui.add_html("")
        self._table_at = 0.0
        self._status = self.server.gui.add_html("", visible=False)
        self._stale = False

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        return f"http://{self.server.get_host()}:{self.server.get_port()}"

    def finish_panel(self, notes: Sequence[str]) -> None:
        """Add what stands below the controls: what to show, and notes."""
        with self.server.gui.add_folder("Show", expand_by_default=False):
            for name, (label, shown) in LAYERS.items():
                box = self.server.gui.add_checkbox(label, shown)
                box.on_update(partial(self._show_layer, name))
        if notes:
            self.server.gui.add_html(lines(notes))

    def _show_layer(self, name: str, event: GuiEvent[GuiCheckboxHandle]) -> None:
        self._stage.show_layer(name, event.target.value)

    def show(self, moment: Moment, torque_kind: str, at_once: bool = True) -> None:
        """Show a moment. The table follows ten times a second at most, unless ``at_once``, to be readable."""
        drawing = draw(self.model, moment, self._scale, self._reach)
        self._stage.show(moment, drawing)
        now = time.monotonic()
        if at_once or now - self._table_at > _TABLE_PERIOD:
            self._table.content = table(self.model, moment, drawing, self._limited.tolist(), torque_kind)
            self._table_at = now

    def status(self, text: str) -> None:
        """Show a line below the table."""
        content = lines([text])
        if content != self._status.content:
            self._status.content, self._status.visible = content, True

    def stale(self, stale: bool) -> None:
        """Show whether what is seen is of the past: the arm is grey."""
        if stale != self._stale:
            self._stage.stale(stale)
            self._stale = stale

    def run(self, update: Update) -> None:
        """Call ``update`` with the seconds that have passed, 25 times a second, until something is raised."""
        last = time.monotonic()
        while True:
            time.sleep(PERIOD)
            now = time.monotonic()
            update(now - last)
            last = now

    def close(self) -> None:
        """End the server; open pages say that they have lost it."""
        with redirect_stdout(io.StringIO()):
            self.server.stop()


def _free_port(host: str, port: int) -> int:
    """Return the first port from this one on that can be served on; viser would wait for ever for an address."""
    for candidate in range(port, min(port + _PORTS, 65536)):
        try:
            with socket.create_server((host, candidate)):
                return candidate
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise RobotDynamicsError(
                    f"{host}:{candidate}: {problem.strerror}. Cure: --host 127.0.0.1, or another address of this "
                    "machine; --port above 1023"
                ) from None
    raise RobotDynamicsError(f"{host}: the {_PORTS} ports from {port} on are taken. Cure: another --port")


def _serve(host: str, port: int, label: str) -> ViserServer:
    """Return a server that speaks on this address alone: viser's way to share a page over the internet is closed."""
    import viser

    class LocalServer(viser.ViserServer):
        def request_share_url(self, verbose: bool = True) -> str | None:
            """Refuse: what a robot does is shown to whoever may reach this address, and to nobody else."""
            return None

    port = _free_port(host, port)
    with redirect_stdout(io.StringIO()):  # it draws a box around its address
        server = LocalServer(host=host, port=port, label=label, verbose=False)
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    return server

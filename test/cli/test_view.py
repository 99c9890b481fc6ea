"""robot_dynamics view: the page or the node for each command line."""

import queue
import socket
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view.playback import show_bags
from robot_dynamics_ros.base.errors import RobotDynamicsError
from support.commands import run
from support.report_recordings import ARM, record


@pytest.fixture(autouse=True)
def _viser() -> None:
    pytest.importorskip("viser")
    pytest.importorskip("trimesh")


@pytest.fixture
def urdf(tmp_path: Path) -> str:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return str(path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the pages that are served; each is shown once, then interrupted."""
    from robot_dynamics_ros.analysis.view.viewer import Viewer

    pages: list[Any] = []
    show = Viewer.show

    def remember(viewer: Viewer, states: Any, **keywords: Any) -> None:
        pages.append(SimpleNamespace(viewer=viewer, states=states, state=states[0]))
        show(viewer, states, **keywords)

    def run_once(viewer: Viewer, update: Any) -> None:
        update(0.04)
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "show", remember)
    monkeypatch.setattr(Viewer, "run", run_once)
    return pages


def test_pose_in_the_middle_of_the_range(
    urdf: str, served: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the middle of the range the gravity torque of the first joint is (2 0.2 + 1 0) 9.81."""
    with pytest.raises(KeyboardInterrupt):
        run("view", urdf, "--port", "18080")
    (page,) = served
    assert page.state.q.tolist() == [0.0, 0.0] and page.state.torque == pytest.approx(
        [-3.924, 0.0]
    )
    assert (
        page.viewer.server.get_host() == "127.0.0.1"
        and not page.viewer.scenes[0]._ghost.visible
    )
    assert f"{page.viewer.url}  (Ctrl-C ends it)" in capsys.readouterr().out


def test_a_port_in_use_is_named(
    urdf: str, served: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(KeyboardInterrupt):
            run("view", urdf, "--port", str(port))
    assert f"port {port}" in capsys.readouterr().err
    assert served[0].viewer.server.get_port() > port


@pytest.mark.parametrize(
    ("words", "display"), [([], ":0"), (["--no-browser"], ":0"), ([], "")]
)
def test_page_is_opened_in_the_browser(
    words: list[str],
    display: str,
    urdf: str,
    served: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(webbrowser, "open", opened.put)
    for name, value in {
        "DISPLAY": display,
        "WAYLAND_DISPLAY": "",
        "BROWSER": "",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(KeyboardInterrupt):
        run("view", urdf, *words)
    if display and not words:
        assert opened.get(timeout=60.0) == served[0].viewer.url
    assert opened.empty()


def test_recording_is_played(urdf: str, served: list[Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(
            "view",
            urdf,
            str(record(tmp_path / "bag", names=("old_a", "b"))),
            "--rename",
            "old_=",
        )
    first, second = served
    assert (
        first.state.torque_kind == "measured effort"
        and first.state.q == pytest.approx([-0.003, 0.0])
    )
    assert second.state.desired == pytest.approx([np.sin(0.2)] * 2), "0.04 s later"
    scene = second.viewer.scenes[0]
    x = np.sin(0.2)
    assert scene._ghost.visible
    assert scene._ghost_links[-1].position == pytest.approx(
        [x * np.cos(x), 0.0, -x * np.sin(x)]
    )


def test_recordings_are_side_by_side(
    urdf: str, served: list[Any], tmp_path: Path
) -> None:
    """The second bag has no desired positions, and is shorter: it stays at its end."""
    bags = (
        record(tmp_path / "pd" / "bag"),
        record(tmp_path / "other" / "bag", cycles=3, commands=False),
    )
    with pytest.raises(KeyboardInterrupt):
        run("view", urdf, *bags)
    page = served[-1]
    assert page.viewer.notes == [
        "other: the bag has no topic command_states: there is no desired arm"
    ]
    assert [scene._ghost.visible for scene in page.viewer.scenes] == [True, False]
    assert page.states[0].q == pytest.approx([np.sin(0.25) + 0.004, np.sin(0.25)])
    assert page.states[1].q == pytest.approx([np.sin(0.1) - 0.003, np.sin(0.1)])
    with pytest.raises(KeyboardInterrupt):
        show_bags(
            RobotModel.from_urdf(ARM),
            Path(urdf),
            [("left", bags[0]), ("right", bags[1])],
        )
    assert served[-1].viewer.notes[0].startswith("right: ")
    with pytest.raises(RobotDynamicsError, match="pd.bag.*other"):
        run("view", urdf, bags[1], record(tmp_path / "pd_bag", names=("a", "c")))


def test_a_taken_port_is_passed_over(
    urdf: str, served: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The next free port is used; an invalid port is an error."""
    with socket.create_server(("127.0.0.1", 18090)), pytest.raises(KeyboardInterrupt):
        run("view", urdf, "--port", "18090")
    assert served[0].viewer.url == "http://127.0.0.1:18091"
    with pytest.raises(SystemExit):
        run("view", urdf, "--port", "99999")
    assert "99999 is no port" in capsys.readouterr().err


def test_bag_of_another_robot_is_refused(urdf: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match="a, b.*c, d"):
        run("view", urdf, str(record(tmp_path / "bag", cycles=3, names=("c", "d"))))

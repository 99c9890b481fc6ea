"""robot_dynamics view: what the command line says becomes a page, or a node."""

import argparse
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros.cli import view
from robot_dynamics_ros.errors import RobotDynamicsError
from support.report_recordings import ARM, record


@pytest.fixture(autouse=True)
def _viser() -> None:
    pytest.importorskip("viser")
    pytest.importorskip("yourdfpy")


@pytest.fixture
def urdf(tmp_path: Path) -> str:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return str(path)


def run(*line: str) -> None:
    parser = argparse.ArgumentParser()
    view.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["view", *line])
    arguments.run(arguments)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Pages that were served: each is shown once, then interrupted."""
    from robot_dynamics_ros.view.viewer import Viewer

    pages: list[Any] = []
    show = Viewer.show

    def remember(viewer: Viewer, moment: Any, torque_kind: str, **keywords: Any) -> None:
        pages.append(SimpleNamespace(viewer=viewer, moment=moment, kind=torque_kind))
        show(viewer, moment, torque_kind, **keywords)

    def run_once(viewer: Viewer, update: Any) -> None:
        update(0.04)
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "show", remember)
    monkeypatch.setattr(Viewer, "run", run_once)
    return pages


def test_pose_in_the_middle_of_the_range(urdf: str, served: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The middle of the range, where gravity pulls (2 0.2 + 1 0) 9.81 on the first joint."""
    with pytest.raises(KeyboardInterrupt):
        run(urdf, "--port", "18080")
    (page,) = served
    assert page.moment.q.tolist() == [0.0, 0.0] and page.moment.torque == pytest.approx([-3.924, 0.0])
    assert page.viewer.server.get_host() == "127.0.0.1"
    assert f"{page.viewer.url}  (Ctrl-C ends it)" in capsys.readouterr().out


def test_gravity_may_be_given(urdf: str, served: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(urdf, "--gravity", "-10", "0", "0")
    assert served[0].moment.torque == pytest.approx([0.0, 10.0])


def test_recording_is_played(urdf: str, served: list[Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(urdf, str(record(tmp_path / "bag", names=("old_a", "b"))), "--rename", "old_=")
    first, second = served
    assert first.kind == "measured effort" and first.moment.q == pytest.approx([-0.003, 0.0])
    assert second.moment.desired == pytest.approx([np.sin(0.2)] * 2), "0.04 s later"


def test_a_taken_port_is_passed_over(urdf: str, served: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The next one where one is taken; none that cannot be."""
    with socket.create_server(("127.0.0.1", 18090)), pytest.raises(KeyboardInterrupt):
        run(urdf, "--port", "18090")
    assert served[0].viewer.url == "http://127.0.0.1:18091"
    with pytest.raises(SystemExit):
        run(urdf, "--port", "99999")
    assert "99999 is no port" in capsys.readouterr().err


def test_bag_of_another_robot_is_refused(urdf: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match="a, b.*c, d"):
        run(urdf, str(record(tmp_path / "bag", cycles=3, names=("c", "d"))))


def test_live_becomes_the_view_node(urdf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rclpy")
    from robot_dynamics_ros.nodes import view_node

    calls: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda path, arguments: calls.append(arguments))
    run(urdf, "--live", "--namespace", "left", "--dynamics", "none", "--gravity", "0", "0", "-1.6")
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "robot_dynamics_ros.executables", "view_node"]
    given = dict(part.split(":=", 1) for part in command[6::2])
    known = {parameter.name: parameter for parameter in view_node.ALL}
    assert {name: known[name].check(yaml.safe_load(value)) for name, value in given.items()} == {
        "urdf": urdf,
        "dynamics_file": "",
        "gravity": (0.0, 0.0, -1.6),
        "joint_states": "/left/joint_states",
        "command_states": "/left/computed_torque_node/command_states",
        "host": "127.0.0.1",
        "port": 8080,
    }

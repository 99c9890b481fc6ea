"""Commands play, record and view --live: the node that each becomes, and its parameters."""

import sys
from typing import Any

import pytest
import yaml

from robot_dynamics_ros.base.resources import NODE_PROGRAM, robot_urdf
from robot_dynamics_ros.ros.nodes import player_node, recorder_node, view_node
from support.commands import run

NODES = {
    "player_node": player_node,
    "recorder_node": recorder_node,
    "view_node": view_node,
}


def started(monkeypatch: pytest.MonkeyPatch, *line: str) -> tuple[str, dict[str, Any]]:
    """Return the node that a command line becomes, and its parameters as the node reads them."""
    calls: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(
        "os.execv", lambda path, arguments: calls.append((path, arguments))
    )
    run(*line)
    ((path, command),) = calls
    assert path == command[0] == sys.executable and command[1] == NODE_PROGRAM
    node = command[2]
    assert command[3] == "--ros-args" and set(command[4::2]) == {"-p"}
    given = dict(part.split(":=", 1) for part in command[5::2])
    known = {parameter.name: parameter for parameter in NODES[node].ALL}
    return node, {
        name: known[name].check(yaml.safe_load(value)) for name, value in given.items()
    }


def test_play(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started(monkeypatch, "play", "my bag") == (
        "player_node",
        {"input": "my bag", "rate": 1.0},
    )
    topics = ["--topics", "/a", "/b"]
    listeners = ["--wait-for", "yes"]
    expected = {
        "input": "123",
        "rate": 2.5,
        "topics": ("/a", "/b"),
        "listeners": ("yes",),
    }
    for line in (
        ["123", "--rate", "2.5", *topics, *listeners],
        [*topics, *listeners, "--rate", "2.5", "123"],
    ):
        assert started(monkeypatch, "play", *line) == ("player_node", expected)
    for line in ([], listeners):
        with pytest.raises(SystemExit):
            run("play", *line)


def test_record(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"output": 'a "new" bag: 1', "topics": ("/a", "/b")}
    assert started(monkeypatch, "record", "-o", 'a "new" bag: 1', "/a", "/b") == (
        "recorder_node",
        expected,
    )


def test_live_view(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("viser")
    pytest.importorskip("trimesh")
    urdf = str(robot_urdf("scara"))
    line = (
        "view",
        urdf,
        "--live",
        "--namespace",
        "left",
        "--dynamics",
        "none",
        "--gravity",
        "0",
        "0",
        "-1.6",
    )
    assert started(monkeypatch, *line) == (
        "view_node",
        {
            "urdf": urdf,
            "dynamics_file": "",
            "gravity": (0.0, 0.0, -1.6),
            "joint_states": "/left/joint_states",
            "command_states": "/left/computed_torque_node/command_states",
            "host": "127.0.0.1",
            "port": 8080,
            "browser": True,
        },
    )

"""robot_dynamics compare: what it prints, and its exit codes."""

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.messages.cdr import LITTLE_ENDIAN
from support.commands import run

KIND = "std_msgs/msg/Float64"


def record(path: Path, *numbers: float, topic: str = "/x") -> str:
    with BagWriter(path, {topic: KIND}) as writer:
        for k, number in enumerate(numbers):
            writer.write(topic, k, LITTLE_ENDIAN + struct.pack("<d", number))
    return str(path)


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = record(tmp_path / "a", 1.0, 2.0), record(tmp_path / "b", 1.0, 2.25)
    assert run("compare", a, a) == 0
    assert run("compare", a, b) == 1
    assert run("compare", a, b, "--atol", "0.25") == 0
    assert run("compare", a, b, "--rtol", "0.12", "--topics", "/x") == 0
    capsys.readouterr()
    assert run("compare", a, str(tmp_path / "c")) == 2
    said = capsys.readouterr()
    assert str(tmp_path / "c") in said.err and not said.out
    assert run("compare", a, record(tmp_path / "y", 1.0, topic="/y")) == 2


def test_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = record(tmp_path / "a", 1.0, 2.0), record(tmp_path / "b", 1.0, 2.25)
    out = tmp_path / "out.xml"
    for line, code, kinds in (((a, a), 0, []), ((a, b), 1, ["failure"]), ((a, "nothing"), 2, ["error"])):
        assert run("compare", *line, "--junit", out, "--overwrite") == code
        (case,) = ElementTree.parse(out).getroot().iter("testcase")
        assert [problem.tag for problem in case] == kinds
    assert run("compare", a, a, "--junit", tmp_path / "missing" / "out.xml") == 2
    assert "missing" in capsys.readouterr().err

"""What robot_dynamics inspect finds out: gravity against the limits, over the range, parts of robots, JSON."""

import argparse
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from arms import Arm, Joint, Link

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.cli import inspect

KEYS = {
    "robot",
    "source",
    "dynamics_file",
    "gravity",
    "mass",
    "joints",
    "locked",
    "bodies",
    "friction",
    "joints_without_friction",
    "rotors",
    "couplings",
    "loops",
    "parameters",
    "pose",
    "range",
    "notes",
    "equations",
}


def found(capsys: pytest.CaptureFixture[str], *line: object) -> dict[str, Any]:
    """What --json prints, and nothing beside it on stdout."""
    parser = argparse.ArgumentParser()
    inspect.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["inspect", "--json", *map(str, line)])
    arguments.run(arguments)
    out = capsys.readouterr().out
    assert not {"NaN", "Infinity"} & set(out.replace(",", " ").split())
    facts: dict[str, Any] = json.loads(out)
    assert facts.keys() == KEYS
    return facts


def pendulum(tmp_path: Path, effort: float) -> Path:
    """2 kg at 0.5 m, which hangs to the side at zero, on a base of 3 kg: 9.81 Nm."""
    limit = f'<limit lower="-3" upper="3" effort="{effort}" velocity="0"/>'
    arm = Arm(
        (Link("base", 3.0), Link("bob", 2.0, (0.5, 0, 0))),
        (Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), limit=limit),),
    )
    path = tmp_path / "pendulum.urdf"
    path.write_text(arm.urdf, encoding="utf-8")
    return path


def test_keys_and_numbers(capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]) -> None:
    facts = found(capsys, "planar_2r", "--state", "0.2", "0.3", "--equations")
    model = load_robot("planar_2r")
    assert facts["mass"] == {"total": 7.0, "moving": 7.0}
    assert facts["joints"][1] == {
        "name": "joint2",
        "kind": "revolute",
        "lower": -math.pi,
        "upper": math.pi,
        "velocity": 6.0,
        "effort": 30.0,
    }
    pose = facts["pose"]
    np.testing.assert_array_equal(pose["mass_matrix"], model.mass_matrix([0.2, 0.3]))
    np.testing.assert_array_equal(pose["gravity"], model.gravity_torque([0.2, 0.3]))
    np.testing.assert_allclose(pose["gravity_percent"], 100 * np.abs(pose["gravity"]) / [80, 30])
    assert pose["condition"] == pytest.approx(np.linalg.cond(model.mass_matrix([0.2, 0.3])))
    assert facts["bodies"][0]["com"] == [0.25, 0.0, 0.0]
    assert facts["joints_without_friction"] == ["joint1", "joint2"]
    assert facts["parameters"] == {"inertial": 20, "effective": 7, "base": 6}
    assert facts["equations"]["symbols"] == {"q1": "joint1", "q2": "joint2"}
    assert any(line.startswith("M11 = ") for line in facts["equations"]["lines"])


def test_every_key_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that stand for names of joints and links aside."""

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value))
        names = value.keys() if isinstance(value, dict) else set()
        return set(names).union(*(keys(value[name]) for name in names if name not in {"locked", "symbols"}))

    page = (Path(__file__).resolve().parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page.split("| key | value |")[1]))
    assert keys(found(capsys, "scara", "--equations")) <= documented


def test_the_worst_over_the_range(capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]) -> None:
    """Stretched out to the side: gravity of both links at joint 1; M is worst conditioned where the arm is straight."""
    sampled = found(capsys, "planar_2r")["range"]
    model = load_robot("planar_2r")
    assert (sampled["samples"], sampled["seed"]) == (2000, 0)
    first, second = sampled["gravity"]
    assert abs(first["torque"]) == pytest.approx(9.81 * (4 * 0.25 + 3 * (0.5 + 0.2)), rel=1e-3)
    assert abs(second["torque"]) == pytest.approx(9.81 * 3 * 0.2, rel=1e-3)
    assert first["percent"] == pytest.approx(100 * abs(first["torque"]) / 80)
    assert model.gravity_torque(first["position"])[0] == pytest.approx(first["torque"])
    condition = sampled["condition"]
    elbows = np.linspace(-np.pi, np.pi, 4001)
    everywhere = np.linalg.cond(model.mass_matrix(np.column_stack([0 * elbows, elbows])))
    assert condition["maximum"] == pytest.approx(everywhere.max(), rel=0.01)
    assert condition["minimum"] == pytest.approx(everywhere.min(), rel=0.01)
    assert condition["median"] == pytest.approx(np.median(everywhere), rel=0.05)
    assert np.linalg.cond(model.mass_matrix(condition["position"])) == pytest.approx(condition["maximum"])


def test_a_joint_that_cannot_carry_its_own_weight(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    side = found(capsys, pendulum(tmp_path, 8.0), "--gravity", 0, 0, -10)
    assert side["mass"] == {"total": 5.0, "moving": 2.0}
    assert side["joints"][0]["velocity"] is None
    assert side["pose"]["gravity_percent"] == pytest.approx([125.0])
    (note,) = [note for note in side["notes"] if "weight" in note["message"]]
    assert note["message"].startswith("hinge (125 %): gravity takes more than the effort limit at this state")
    assert "effort limit" in note["cure"]
    hanging = found(capsys, pendulum(tmp_path, 8.0), "--gravity", 0, 0, -10, "--state", math.pi / 2)
    (note,) = [note for note in hanging["notes"] if "weight" in note["message"]]
    assert note["message"].startswith("hinge (125 %): gravity takes more than the effort limit somewhere in the range")
    strong = found(capsys, pendulum(tmp_path, 12.0), "--gravity", 0, 0, -10, "--state", 3.1)
    texts = [note["message"] for note in strong["notes"]]
    assert not any("weight" in text for text in texts)
    assert any("outside the position limits" in text for text in texts)
    assert all(note["cure"] for note in strong["notes"])


def test_no_limit_and_no_mass_are_null(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arm = Arm(
        (Link("base"), Link("rod", 1.0, (0.2, 0, 0), arms.thin_rod(1.0, 0.4)), Link("tip")),
        (
            Joint("turn", "continuous", "base", "rod", limit=""),
            Joint("slide", "prismatic", "rod", "tip", limit='<limit lower="0" upper="0.1" effort="5" velocity="1"/>'),
        ),
    )
    path = tmp_path / "arm.urdf"
    path.write_text(arm.urdf, encoding="utf-8")
    facts = found(capsys, path)
    assert facts["joints"][0] == {
        "name": "turn",
        "kind": "continuous",
        "lower": None,
        "upper": None,
        "velocity": None,
        "effort": None,
    }
    assert (facts["range"]["lower"], facts["range"]["upper"]) == ([-math.pi, 0.0], [math.pi, 0.1])
    assert facts["pose"]["gravity_percent"] == [None, 0.0]
    assert facts["pose"]["condition"] is None and facts["range"]["condition"]["maximum"] is None
    cured = {note["message"]: note["cure"] for note in facts["notes"]}
    assert cured["turn: no effort or velocity limit (absent or 0): none is applied"] == "give it in <limit>"
    assert all(cured.values())
    assert not any(text.startswith("URDF") for text in cured)


def test_parts_of_a_robot(capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]) -> None:
    """The other joints are locked, at 0 or where it says, so that formulas of a large robot's parts can be had."""
    line = ("panda", "--joints", "panda_joint2", "panda_joint4", "--locked", "panda_joint6=1.5", "--equations")
    facts = found(capsys, *line)
    assert facts["locked"] == {
        "panda_joint1": 0.0,
        "panda_joint3": 0.0,
        "panda_joint5": 0.0,
        "panda_joint6": 1.5,
        "panda_joint7": 0.0,
    }
    full = load_robot("panda", "panda")
    at = [0.0, 0.0, 0.0, -0.0698, 0.0, 1.5, 0.0]
    np.testing.assert_allclose(facts["pose"]["gravity"], full.gravity_torque(at)[[1, 3]], atol=1e-12)
    assert [entry["joint"] for entry in facts["friction"]] == ["panda_joint2", "panda_joint4"]
    assert facts["equations"]["symbols"] == {"q1": "panda_joint2", "q2": "panda_joint4"}
    assert facts["mass"]["total"] == found(capsys, "panda")["mass"]["total"]
    alone = found(capsys, "scara", "--locked", "joint3=0.1")
    assert [joint["name"] for joint in alone["joints"]] == ["joint1", "joint2"]

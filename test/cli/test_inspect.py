"""robot_dynamics inspect: tables and JSON agree with the model, and notes report missing data."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from support import arms
from support.arms import Arm, Joint, Link
from support.commands import run


def printed(capsys: pytest.CaptureFixture[str], *line: object) -> str:
    """Return the printed text with single spaces."""
    run("inspect", *line)
    return "\n".join(
        " ".join(row.split()) for row in capsys.readouterr().out.splitlines()
    )


def json_of(capsys: pytest.CaptureFixture[str], *line: object) -> dict[str, Any]:
    """Return the object that --json prints, the only output on stdout."""
    run("inspect", "--json", *line)
    out = capsys.readouterr().out
    assert not {"NaN", "Infinity"} & set(out.replace(",", " ").split())
    facts: dict[str, Any] = json.loads(out)
    return facts


def urdf_of(folder: Path, arm: Arm) -> Path:
    path = folder / "arm.urdf"
    path.write_text(arm.urdf, encoding="utf-8")
    return path


# --- Tables


def test_a_shipped_robot(
    capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    text = printed(capsys, "panda")
    model = load_robot("panda", "panda")
    assert "panda: 7 joints, 16.06 kg move of 16.06 kg, gravity 0 0 -9.81 m/s^2" in text
    # Gaz et al.: a sigmoid and nothing else
    assert "friction of sigmoid" in text and "panda_joint2 0.8722" in text
    assert "43 base parameters" in text  # as Gaz et al. say
    q = np.array([0, 0, 0, -0.0698, 0, 0, 0])
    assert f"condition number of M: {np.linalg.cond(model.mass_matrix(q)):.4g}" in text
    torque = model.gravity_torque(q)[1]
    assert f"panda_joint2 0 {torque:.4g} {100 * abs(torque) / 87:.1f} % " in text
    assert "notes: none" in text and "M11" not in text
    assert "next: robot_dynamics view panda\n" in text


def test_equations_and_a_state(
    capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    text = printed(capsys, "scara", "--equations", "--state", "0.3", "-1", "0.1")
    m = load_robot("scara", "scara").mass_matrix([0.3, -1.0, 0.1])
    assert f"joint2 -1 0 0.0 % {m[1, 0]:.4g} {m[1, 1]:.4g} 0" in text
    assert "q1 = joint1 (rad), q2 = joint2 (rad), d3 = joint3 (m)" in text
    assert "M11 = 1.58 + 0.96 c2\nM12 = M21 = 0.3 + 0.48 c2\nM13 = M31 = 0\n" in text


def test_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """The last force and moment are those of the end effector; in formulas lc1 is replaced."""
    state = (0.4, 0.9, 1, -2, 0.5, 1.5)
    end = ("--end-effector", "tip", "--force", 1, 2, 3, 4, 5, 6)
    trace = json_of(capsys, "planar_2r", "--trace", *state, *end)["trace"]
    assert [link["link"] for link in trace["links"]] == ["link1", "link2", "tip"]
    assert trace["links"][2]["f"] == [1, 2, 3] and trace["links"][2]["n"] == [4, 5, 6]
    assert trace["tau"]["joint1"] == trace["links"][0]["n"][2]
    text = printed(capsys, "planar_2r", "--trace", *state)
    assert (
        "dv 3.82019 9.03561 0" in text
        and "g -3.82019 -9.03561 0" in text
        and "zero: h111 h212 h222: nonexistent" in text
    )
    formulas = json_of(capsys, "planar_2r", "--trace", "--symbols", "lc1=l1/2")["trace"]
    assert "dv_c1 = (g s1 - 1/2 l1 q1'^2, g c1 + 1/2 l1 q1'', 0)" in formulas["lines"]
    assert formulas["parameters"]["l1"] == 0.5 and "lc1" not in formulas["parameters"]


def test_kinds_and_languages_of_equations(capsys: pytest.CaptureFixture[str]) -> None:
    line = (
        "planar_2r",
        "--symbols",
        "--equations",
        "C",
        "hl",
        "jacobian",
        "--end-effector",
        "tip",
    )
    text = printed(capsys, *line)
    assert (
        "C12 = -m2 l1 lc2 s2" in text
        and "hl112 = -2 m2 l1 lc2 s2" in text
        and "detJ = l1 l2 s2" in text
        and "links 1 link1, 2 link2, SI units:" in text
    )
    assert "J_{b} = \\left[" in printed(capsys, *line, "--language", "latex")
    assert "def detJ(l1, l2, q2):\nreturn l1*l2*sin(q2)" in printed(
        capsys, *line, "--language", "python"
    )


def test_actuators_couplings_and_missing_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Spong's remotely driven elbow (9.89) with a motor on link 1, and a link of unknown mass."""
    arm = arms.planar_2r(
        0.4, 0.0, Link("", 2.0, (0.2, 0, 0), arms.thin_rod(2.0, 0.4)), Link("")
    )
    for joint in arm.movable:
        arm = arm.with_joint(
            joint, limit='<limit lower="-1" upper="1" effort="0" velocity="0"/>'
        )
    dynamics = {
        "coordinates": ["p1", "p2"],
        "couplings": {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}},
        "rotors": [
            {
                "carrier": "link1",
                "axis": [0, 0, 1],
                "inertia": 1e-4,
                "ratio": {"p2": 50.0},
            }
        ],
        "joints": {"joint1": {"viscous": 0.4, "coulomb": 0.3, "coulomb_negative": 0.2}},
        "gravity": [0.0, 0.0, 0.0],
    }
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump(dynamics), encoding="utf-8")
    text = printed(capsys, urdf_of(tmp_path, arm), "--dynamics", file, "--equations")
    assert "p1 coordinate -1 1 - -" in text and "p2 coordinate - - - -" in text
    assert "link1 joint1 2 0.2 0 0 0 0 0 0.02667 0 0.02667" in text
    assert "joint1 0.4 0.3 0.2" in text
    assert "rotors[0] link1 0.0001 0.25 50 p2" in text
    assert "coupling: joint2 moves at -1 p1 +1 p2" in text
    for note in (
        "joint1, joint2: no effort limit",
        "gravity is zero",
        "joint2: no friction",
    ):
        assert note in text.replace("\n", " ")
    # M22 is the rotor's alone, M12 its coupling to the turn of link 1: Tsai (9.157).
    assert "M11 = 0.1067\nM12 = M21 = 0.005\nM22 = 0.25\n" in text


# --- JSON


def test_keys_and_numbers(
    capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    facts = json_of(capsys, "planar_2r", "--state", "0.2", "0.3", "--equations")
    model = load_robot("planar_2r")
    assert facts["mass"] == {"total": 7.0, "moving": 7.0}
    limits = {"lower": -math.pi, "upper": math.pi, "velocity": 6.0, "effort": 30.0}
    assert facts["joints"][1] == {"name": "joint2", "kind": "revolute", **limits}
    pose = facts["pose"]
    np.testing.assert_array_equal(pose["mass_matrix"], model.mass_matrix([0.2, 0.3]))
    np.testing.assert_array_equal(pose["gravity"], model.gravity_torque([0.2, 0.3]))
    np.testing.assert_allclose(
        pose["gravity_percent"], 100 * np.abs(pose["gravity"]) / [80, 30]
    )
    assert pose["condition"] == pytest.approx(
        np.linalg.cond(model.mass_matrix([0.2, 0.3]))
    )
    assert facts["bodies"][0]["com"] == [0.25, 0.0, 0.0]
    assert facts["joints_without_friction"] == ["joint1", "joint2"]
    assert facts["parameters"] == {"inertial": 20, "effective": 7, "base": 6}
    assert facts["equations"]["symbols"] == {"q1": "joint1", "q2": "joint2"}
    assert any(line.startswith("M11 = ") for line in facts["equations"]["lines"])


def test_extremes_over_the_range(
    capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    """Gravity at joint 1 is largest with the arm stretched out; M is worst conditioned if it is straight."""
    sampled = json_of(capsys, "planar_2r")["range"]
    model = load_robot("planar_2r")
    for joint, expected, limit in zip(
        sampled["gravity"], (4 * 0.25 + 3 * (0.5 + 0.2), 3 * 0.2), (80, 30), strict=True
    ):
        assert abs(joint["torque"]) == pytest.approx(9.81 * expected, rel=1e-3)
        assert joint["percent"] == pytest.approx(100 * abs(joint["torque"]) / limit)
    first = sampled["gravity"][0]
    assert model.gravity_torque(first["position"])[0] == pytest.approx(first["torque"])
    condition = sampled["condition"]
    elbows = np.linspace(-np.pi, np.pi, 4001)
    everywhere = np.linalg.cond(
        model.mass_matrix(np.column_stack([0 * elbows, elbows]))
    )
    assert condition["maximum"] == pytest.approx(everywhere.max(), rel=0.01)
    assert condition["minimum"] == pytest.approx(everywhere.min(), rel=0.01)
    assert condition["median"] == pytest.approx(np.median(everywhere), rel=0.05)
    assert np.linalg.cond(model.mass_matrix(condition["position"])) == pytest.approx(
        condition["maximum"]
    )


@pytest.mark.parametrize(
    ("effort", "state", "note"),
    [
        (8.0, 0.0, r"hinge \(125 %\).*at this state"),
        (8.0, math.pi / 2, r"hinge \(125 %\).*in the range"),
        (12.0, 3.1, "position limits"),
    ],
)
def test_gravity_above_the_effort_limit_gives_a_note(
    effort: float,
    state: float,
    note: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """2 kg at 0.5 m, horizontal at zero, on a base of 3 kg: 10 Nm."""
    limit = f'<limit lower="-3" upper="3" effort="{effort}" velocity="0"/>'
    hinge = Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), limit=limit)
    arm = Arm((Link("base", 3.0), Link("bob", 2.0, (0.5, 0, 0))), (hinge,))
    facts = json_of(
        capsys, urdf_of(tmp_path, arm), "--gravity", 0, 0, -10, "--state", state
    )
    assert facts["mass"] == {"total": 5.0, "moving": 2.0}
    assert facts["joints"][0]["velocity"] is None
    assert facts["pose"]["gravity_percent"] == pytest.approx(
        [1000.0 / effort * abs(math.cos(state))], abs=1e-9
    )
    messages = [entry["message"] for entry in facts["notes"]]
    assert len([message for message in messages if re.search(note, message)]) == 1
    assert any("gravity torque exceeds" in message for message in messages) == (
        effort < 10.0
    )
    assert all(
        entry["cure"] or "Cure: " in entry["message"] for entry in facts["notes"]
    )


def test_no_limit_and_no_mass_are_null(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    limit = '<limit lower="0" upper="0.1" effort="5" velocity="1"/>'
    joints = (
        Joint("turn", "continuous", "base", "rod", limit=""),
        Joint("slide", "prismatic", "rod", "tip", limit=limit),
    )
    arm = Arm(
        (
            Link("base"),
            Link("rod", 1.0, (0.2, 0, 0), arms.thin_rod(1.0, 0.4)),
            Link("tip"),
        ),
        joints,
    )
    facts = json_of(capsys, urdf_of(tmp_path, arm))
    nothing = dict.fromkeys(("lower", "upper", "velocity", "effort"))
    assert facts["joints"][0] == {"name": "turn", "kind": "continuous", **nothing}
    assert (facts["range"]["lower"], facts["range"]["upper"]) == (
        [-math.pi, 0.0],
        [math.pi, 0.1],
    )
    assert facts["pose"]["gravity_percent"] == [None, 0.0]
    assert (
        facts["pose"]["condition"] is None
        and facts["range"]["condition"]["maximum"] is None
    )
    assert any(
        note["message"].startswith("turn: no effort limit") for note in facts["notes"]
    )


def test_limits_of_urdf_1_2_are_listed_if_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    limit = '<limit lower="-1" upper="1" effort="5" velocity="1" {}/>'
    joints = (
        Joint(
            "first",
            "revolute",
            "base",
            "rod",
            limit=limit.format('acceleration="3" jerk="40"'),
        ),
        Joint("second", "revolute", "rod", "tip", limit=limit.format("")),
    )
    links = (
        Link("base"),
        Link("rod", 1.0, (0.2, 0, 0), arms.thin_rod(1.0, 0.4)),
        Link("tip", 1.0, (0.2, 0, 0)),
    )
    path = urdf_of(tmp_path, Arm(links, joints))
    path.write_text(path.read_text().replace("<robot", '<robot version="1.2"'))
    first, second = json_of(capsys, path)["joints"]
    assert (first["acceleration"], first["jerk"]) == (
        3.0,
        40.0,
    ) and "acceleration" not in second
    text = printed(capsys, path)
    assert (
        "velocity effort acceleration jerk" in text
        and "second revolute -1 1 1 5 - -" in text
    )


def test_parts_of_a_robot(
    capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]
) -> None:
    """Other joints are locked at 0 or a given position, so that parts of a large robot have formulas."""
    line = (
        "panda",
        "--joints",
        "panda_joint2",
        "panda_joint4",
        "--locked",
        "panda_joint6=1.5",
        "--equations",
    )
    facts = json_of(capsys, *line)
    assert facts["locked"] == {
        f"panda_joint{k}": 1.5 * (k == 6) for k in (1, 3, 5, 6, 7)
    }
    at = [0.0, 0.0, 0.0, -0.0698, 0.0, 1.5, 0.0]
    expected = load_robot("panda", "panda").gravity_torque(at)[[1, 3]]
    np.testing.assert_allclose(facts["pose"]["gravity"], expected, atol=1e-12)
    assert [entry["joint"] for entry in facts["friction"]] == [
        "panda_joint2",
        "panda_joint4",
    ]
    assert facts["equations"]["symbols"] == {"q1": "panda_joint2", "q2": "panda_joint4"}
    assert facts["mass"]["total"] == json_of(capsys, "panda")["mass"]["total"]
    alone = json_of(capsys, "scara", "--locked", "joint3=0.1")
    assert [joint["name"] for joint in alone["joints"]] == ["joint1", "joint2"]

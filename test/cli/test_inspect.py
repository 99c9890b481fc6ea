"""robot_dynamics inspect: what it prints is what the model says, and what the model lacks."""

import argparse
from collections.abc import Callable
from pathlib import Path

import arms
import numpy as np
import pytest
import yaml
from arms import Arm, Joint, Link

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.cli import inspect


def shown(capsys: pytest.CaptureFixture[str], *line: object) -> str:
    """What the command prints, with single blanks."""
    parser = argparse.ArgumentParser()
    inspect.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["inspect", *map(str, line)])
    arguments.run(arguments)
    return "\n".join(" ".join(row.split()) for row in capsys.readouterr().out.splitlines())


def test_a_shipped_robot(capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]) -> None:
    text = shown(capsys, "panda")
    model = load_robot("panda", "panda")
    assert "panda: 7 joints, 16.06 kg move of 16.06 kg, gravity 0 0 -9.81 m/s^2" in text
    assert "panda_joint4 revolute -3.072 -0.0698 2.175 87" in text
    assert "panda_link1 panda_joint1 4.971 0.003875 0.002081 -0.04762 0.7034" in text
    assert "panda_joint2 0 0 0 0 0 0.8722" in text  # Gaz et al.: a sigmoid and nothing else
    assert "depends on 43 base parameters" in text  # as Gaz et al. say
    q = np.array([0, 0, 0, -0.0698, 0, 0, 0])
    assert f"condition number of M: {np.linalg.cond(model.mass_matrix(q)):.4g}" in text
    torque = model.gravity_torque(q)[1]
    assert f"panda_joint2 0 {torque:.4g} {100 * abs(torque) / 87:.1f} % " in text
    assert "notes: none" in text and "M11" not in text
    assert "note: no joint has friction. Cure: find it" in shown(capsys, "panda", "--dynamics", "none")


def test_equations_and_a_state(capsys: pytest.CaptureFixture[str], load_robot: Callable[..., RobotModel]) -> None:
    text = shown(capsys, "scara", "--equations", "--state", "0.3", "-1", "0.1")
    model = load_robot("scara", "scara")
    m = model.mass_matrix([0.3, -1.0, 0.1])
    assert f"joint2 -1 0 0.0 % {m[1, 0]:.4g} {m[1, 1]:.4g} 0" in text
    assert f"joint3 0.1 {model.gravity_torque(np.zeros(3))[2]:.4g} 20 % 0 0 2" in text
    assert "q1 = joint1 (rad), q2 = joint2 (rad), d3 = joint3 (m)" in text
    assert "M11 = 1.58 + 0.96 c2\nM12 = M21 = 0.3 + 0.48 c2\nM13 = M31 = 0\n" in text
    assert "V1 = -0.96 s2 q1' q2' - 0.48 s2 q2'^2\nV2 = 0.48 s2 q1'^2\n" in text


def test_drives_couplings_and_oddities(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Spong's remotely driven elbow (9.89) with a motor on link 1, and a link that no mass is known of."""
    loose = '<limit effort="0" velocity="0"/>'
    arm = Arm(
        (Link("base"), Link("link1", 2.0, (0.2, 0, 0), arms.thin_rod(2.0, 0.4)), Link("link2")),
        (
            Joint("joint1", "continuous", "base", "link1", limit=loose),
            Joint("joint2", "continuous", "link1", "link2", xyz=(0.4, 0, 0), limit=loose),
        ),
    )
    dynamics = {
        "coordinates": ["p1", "p2"],
        "couplings": {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}},
        "rotors": [{"carrier": "link1", "axis": [0, 0, 1], "inertia": 1e-4, "ratio": {"p2": 50.0}}],
        "joints": {"joint1": {"viscous": 0.4, "coulomb": 0.3, "coulomb_negative": 0.2}},
        "gravity": [0.0, 0.0, 0.0],
    }
    urdf, file = tmp_path / "arm.urdf", tmp_path / "arm.yaml"
    urdf.write_text(arm.urdf, encoding="utf-8")
    file.write_text(yaml.safe_dump(dynamics), encoding="utf-8")
    text = shown(capsys, urdf, "--dynamics", file, "--equations")
    assert "p1 coordinate - - - -" in text
    assert "link1 joint1 2 0.2 0 0 0 0 0 0.02667 0 0.02667" in text
    assert "joint1 0.4 0.3 0.2 0 0 0" in text
    assert "rotors[0] link1 0.0001 0.25 50 p2" in text
    assert "coupling: joint2 moves at -1 p1 +1 p2" in text
    assert "joint1, joint2: no effort or velocity limit" in text.replace("\n", " ")
    assert "note: gravity is zero. Cure: unless" in text
    assert "note: joint2: no friction. Cure: find it from a recording by robot_dynamics identify" in text
    # M22 is the rotor's alone, M12 its coupling to the turn of link 1: Tsai (9.157).
    assert "M11 = 0.1067\nM12 = M21 = 0.005\nM22 = 0.25\n" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["nosuch"], "nosuch: No such file.* Cure: give a URDF or xacro file, or one of .*panda"),
        (
            ["panda", "--equations"],
            "7 joints of panda.*Cure: --joints with up to 4 of panda_joint1 .* --locked NAME=VALUE",
        ),
        (["panda", "--joints", "nosuch"], "no joint nosuch moves. Cure: --joints panda_joint1 "),
        (["panda", "--locked", "nosuch=1"], 'locked: .*no movable joint "nosuch". Cure: use one of panda_joint1'),
        (["panda", "--locked", "panda_joint1=nan"], "panda_joint1.*not finite"),
        (["panda", "--xacro-arg", "a:=1"], "panda: it is no .xacro file. Cure: leave --xacro-arg out"),
        (["scara", "--state", "0.1"], "--state"),
        (["scara", "--state", "0", "nan", "0"], "not finite. Cure: give 3"),
        (["scara", "--dynamics", "/no/such.yaml"], "/no/such.yaml"),
    ],
)
def test_errors_name_the_cure(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RobotDynamicsError, match=message):
        shown(capsys, *line)

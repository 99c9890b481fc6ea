"""robot_dynamics sag: the table, mistakes, and a corrected dynamics file."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from support.commands import run
from support.held_poses import held_poses, write_held_poses

MODEL = RobotModel.shipped("planar_2r")
TILTED = MODEL.with_gravity((9.81 * np.sin(0.3), 0.0, -9.81 * np.cos(0.3)))


def record(path: Path, arm: RobotModel, efforts: bool = True) -> Path:
    """Write poses of a two-link arm that P control of 300 and 80 Nm/rad holds."""
    poses = np.random.default_rng(3).uniform(-1.2, 1.2, (10, 2))
    series, command = held_poses(
        arm, np.array([300.0, 80.0]), np.array([1.0, 0.3]), poses
    )
    if not efforts:
        series = replace(series, effort=np.full_like(series.effort, np.nan))
    return write_held_poses(path, series, command)


def sag(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    run("sag", *words, "--topic", "/joint_states", "--robot", "planar_2r")
    return capsys.readouterr().out


def test_a_corrected_dynamics_file_explains_the_sag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = MODEL.with_payload("link2", 1.5, (0.3, 0.0, 0.0), np.zeros(6))
    bag = record(tmp_path / "bag", payload)
    file = tmp_path / "corrected.yaml"
    out = sag(capsys, bag, "-o", file)
    assert "a payload that the model lacks" in out
    corrected = RobotModel.from_urdf_file(
        Path("urdf/planar_2r.urdf").resolve(), dynamics=file
    )
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (20, 2))
    np.testing.assert_allclose(
        corrected.gravity_torque(q), payload.gravity_torque(q), atol=0.05
    )
    out = sag(capsys, bag, "--dynamics", file)
    assert "no mistake is seen" in out and "stiffness: [300, 80]" in out
    with pytest.raises(RobotDynamicsError, match="not written"):
        run(
            "sag",
            bag,
            "--topic",
            "/joint_states",
            "--robot",
            "planar_2r",
            "--dynamics",
            file,
            "-o",
            tmp_path / "new.yaml",
        )


def test_a_known_weight_gives_the_stiffness_without_efforts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The arm is 1.25 times as heavy as its model: position errors alone do not show it."""
    heavy = MODEL.scaled(1.25)
    bare = record(tmp_path / "bare", heavy, efforts=False)
    weighted = record(
        tmp_path / "weighted",
        heavy.with_payload("link2", 2.0, (0.4, 0.0, 0.0), np.zeros(6)),
        efforts=False,
    )
    alone = sag(capsys, bare)
    assert "no mistake" in alone and "next: hang a weight" in alone
    assert "stiffness: [240, 64]" in alone  # for the model's masses
    known = ("--link", "link2", "--known", 2.0, 0.4, 0.0, 0.0)
    out = sag(capsys, bare, weighted, *known)
    found = re.search(r"mass of all links is (\S+) \+- (\S+) times", out)
    assert found is not None and abs(float(found[1]) - 1.25) <= float(found[2])
    stiffness = json.loads(out.partition("stiffness: ")[2])
    np.testing.assert_allclose(stiffness, [300.0, 80.0], rtol=0.01)


@pytest.mark.parametrize(
    "words", [["--link", "link2"], ["--known", "1", "0", "0", "0"]]
)
def test_a_weight_needs_its_recording(words: list[str]) -> None:
    with pytest.raises(RobotDynamicsError, match="an added weight needs"):
        run("sag", "bag", *words)

"""robot_dynamics import: the bag serves the other commands as the recording does that it was made from."""

import json
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros.recordings.bags import read_joint_states
from robot_dynamics_ros.recordings.bags.joint_series import JointSeries
from support.commands import run
from support.comparing import assert_close
from support.panda_recording import RECORDING


def _read(bag: Path, topic: str = "/joint_states") -> JointSeries:
    return read_joint_states(bag, [topic])[topic]


def _export(folder: Path, unit: str) -> tuple[Path, JointSeries]:
    """Write the recording of a Panda with positions in degrees, which the description declares as ``unit``."""
    series = _read(RECORDING)
    data = folder / "panda.npz"
    q = np.degrees(series.position)
    np.savez(data, t=series.stamps, q=q, qd=series.velocity, tau=series.effort)
    data.with_name("panda.npz.yaml").write_text(
        f"joints: [{', '.join(series.joint_names)}]\ntime: {{columns: t, unit: ns}}\n"
        f"position: {{columns: q, unit: {unit}}}\ncommanded_position: {{columns: q, unit: deg}}\n"
        "velocity: {columns: qd, unit: rad/s}\neffort: {columns: tau, unit: Nm}\n"
    )
    return data, series


def test_the_bag_is_the_recording(tmp_path: Path) -> None:
    data, series = _export(tmp_path, "deg")
    bag = tmp_path / "bag"
    run("import", data, "-o", bag)
    imported = _read(bag)
    assert_close(imported.position, series.position, 1e-12)
    assert (imported.velocity == series.velocity).all()
    assert (imported.effort == series.effort).all()
    assert abs(imported.stamps - series.stamps).max() < 1000
    assert_close(_read(bag, "/command_states").position, series.position, 1e-12)


def test_the_next_command_names_a_wrong_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = _export(tmp_path, "rad")
    run("import", data, "-o", tmp_path / "bag")
    capsys.readouterr()
    panda = ("--robot", "panda", "--rename", "fer_=panda_")
    run("torque", tmp_path / "bag", "--topic", "/joint_states", *panda, "--json")
    (hint,) = json.loads(capsys.readouterr().out)["hints"]
    assert "panda_joint1" in hint and "degrees" in hint

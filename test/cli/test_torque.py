"""robot_dynamics torque on bags of a simulated arm: its table, its hints, its errors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from support.commands import run
from support.noisy_recordings import exciting_motion

KIND = "sensor_msgs/msg/JointState"


@pytest.fixture
def bag(tmp_path: Path, load_robot: Callable[..., RobotModel]) -> Path:
    """20 s of a Panda that carries 1.2 kg, at 50 Hz."""
    truth = load_robot("panda", "panda").with_payload("panda_link7", 1.2, [0.0, 0.0, 0.1], [0.0] * 6)
    motion = exciting_motion(truth, seed=3, noise=0.02, samples=1000)
    writer = JointStateWriter([name.replace("panda_", "fer_") for name in truth.joint_names])
    with BagWriter(tmp_path / "bag", {"/joint_states": KIND}) as out:
        for time, q, qd, tau in zip(motion.time, motion.q, motion.qd, motion.tau, strict=True):
            stamp = 10**18 + round(time * 1e9)
            out.write("/joint_states", stamp, writer.write(stamp, q, qd, tau))
    return tmp_path / "bag"


def test_table_and_hints(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv = tmp_path / "torque.csv"
    run("torque", bag, "--robot", "panda", "--rename", "fer_=panda_", "-o", csv)
    out = " ".join(capsys.readouterr().out.split())
    assert "from 1000 messages" in out and "Butterworth filter of order 4 at 8.325 Hz" in out
    assert "hint: the robot carries what the model does not know: 1.2" in out
    names = csv.read_text(encoding="utf-8").splitlines()[0].split(",")
    table = np.loadtxt(csv, delimiter=",", skiprows=1)
    column = {name: table[:, k] for k, name in enumerate(names)}
    assert len(names) == 1 + 6 * 7 and table.shape[1] == len(names)
    parts = sum(column[f"panda_joint2.{part}"] for part in ("inertia", "velocity", "gravity", "friction", "residual"))
    np.testing.assert_allclose(parts, column["panda_joint2.measured"], atol=1e-6)
    measured = np.sqrt(np.mean(column["panda_joint2.measured"] ** 2))
    assert f"panda_joint2 Nm {measured:.3f} " in out


def test_a_fitting_model_gets_no_hints(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dynamics = tmp_path / "loaded.yaml"
    dynamics.write_text("payload: {link: panda_link7, mass: 1.2, com: [0, 0, 0.1], inertia: [0, 0, 0, 0, 0, 0]}\n")
    shipped = Path(__file__).resolve().parents[2] / "config" / "panda.dynamics.yaml"
    dynamics.write_text(shipped.read_text(encoding="utf-8") + dynamics.read_text(), encoding="utf-8")
    run("torque", bag, "--robot", "panda", "--rename", "fer_=panda_", "--dynamics", dynamics, "--cutoff", 3)
    out = capsys.readouterr().out
    assert "at 3 Hz" in out and "hints: none" in out

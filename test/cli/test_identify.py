"""The command robot_dynamics identify, from a bag to a dynamics file."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from support.commands import run
from support.noisy_recordings import Truth, fourier, with_friction

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
ROOT = Path(__file__).resolve().parents[2]
SCARA = ROOT / "urdf" / "scara.urdf"


def write_bag(path: Path, truth: Truth, seed: int, prefix: str = "") -> Path:
    """Write a recording with 1 % noise on effort; ``prefix`` before the names of the joints."""
    series = truth.recorded(seed, 0.01)
    writer = JointStateWriter([prefix + name for name in series.joint_names])
    with BagWriter(path, {"/joint_states": "sensor_msgs/msg/JointState"}) as bag:
        for k, stamp in enumerate(series.stamps.tolist()):
            bag.write(
                "/joint_states", stamp, writer.write(stamp, series.position[k], series.velocity[k], series.effort[k])
            )
    return path


def test_bags_become_a_dynamics_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two bags of a SCARA with friction, which the model does not have: the file has it, within 3 %."""
    actual = with_friction(SCARA, tmp_path)
    bags = [write_bag(tmp_path / f"bag{k}", fourier(actual, 30.0, 100.0, k), k, "left_") for k in (1, 2)]
    before = {path: path.read_bytes() for bag in bags for path in bag.iterdir()}
    output = tmp_path / "new.yaml"
    run("identify", *bags, "--rename", "left_=", "--robot", SCARA, "--dynamics", "none", "-o", output)
    told = capsys.readouterr().out
    assert "identified from the first 67 % of" in told and "condition number" in told
    assert "link1.izz + 0.16 link2.mass" in told and "held out: the last 33 % of each bag" in told
    assert all(path.read_bytes() == content for path, content in before.items())
    assert output.read_text().startswith("# Made by robot_dynamics identify.\n# identified from the first 67 % of")
    found = RobotModel.from_urdf_file(SCARA, dynamics=output)
    other = fourier(actual, 10.0, 50.0, 5)
    torque = found.inverse_dynamics(other.q, other.qd, other.qdd) + found.friction_torque(other.q, other.qd)
    error = np.sqrt(((torque - other.tau) ** 2).mean(axis=0) / (other.tau**2).mean(axis=0))
    assert error.max() < 0.01
    np.testing.assert_allclose(found.packed.friction[:, :3], actual.packed.friction[:, :3], rtol=0.03)

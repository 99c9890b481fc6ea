"""A real Panda's exciting trajectory, where it was downloaded, against an independent computation.

The recording: 24 s of joint_states of a Franka arm without hand, from github.com/unisa-acg/inverse-dynamics-solver.
Figures of another implementation on the same recording: Pinocchio's inverse dynamics and the friction of Gaz et al.
2019, acceleration from the velocity's differences and a mean of five, against the effort as measured.
"""

import dataclasses
import os
import re
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import JointSeries, read_joint_states
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.identification.motion import Smoothing, recorded_motion
from robot_dynamics_ros.identification.torque_analysis import analyse_torque, root_mean_square

ROOT = Path(__file__).resolve().parents[2]
NAMES = tuple(f"panda_joint{i}" for i in range(1, 8))
HAND = ("panda_hand", "panda_leftfinger", "panda_rightfinger")
EXPECTED = [0.607, 0.417, 0.476, 0.689, 0.190, 0.217, 0.080]
MEASURED = [0.926, 18.0, 12.5, 14.6, 0.78, 0.92, 0.27]


def _recording() -> Path | None:
    beside = ROOT.parent / "shared" / "data" / "panda_recording" / "panda_exciting_trajectory.db3"
    path = Path(os.environ.get("ROBOT_DYNAMICS_PANDA_RECORDING", beside))
    return path if path.exists() else None


def _urdf() -> Path | None:
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in listed if str(f).endswith("panda_description/urdf/panda.urdf")), None)


pytestmark = [
    pytest.mark.skipif(_recording() is None, reason="the recording is not here (ROBOT_DYNAMICS_PANDA_RECORDING)"),
    pytest.mark.skipif(_urdf() is None, reason="pip install example-robot-data"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
]


@pytest.fixture(scope="module")
def series() -> JointSeries:
    path = _recording()
    assert path is not None
    (found,) = read_joint_states(path, ["/joint_states"], rename={"fer_": "panda_"}).values()
    return found.in_order(NAMES)


def panda(tmp_path: Path, hand: bool) -> RobotModel:
    """The public URDF with the friction of Gaz et al.; without the hand its links weigh nothing."""
    dynamics = yaml.safe_load((ROOT / "config" / "panda.dynamics.yaml").read_text(encoding="utf-8"))
    if not hand:
        dynamics["links"] = {link: {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6} for link in HAND}
    file = tmp_path / "panda.dynamics.yaml"
    file.write_text(yaml.safe_dump(dynamics), encoding="utf-8")
    urdf = _urdf()
    assert urdf is not None
    return RobotModel.from_urdf_file(urdf, dynamics=file, locked={"panda_finger_joint1": 0.0})


def test_the_default_filter_reaches_the_known_errors(series: JointSeries, tmp_path: Path) -> None:
    """And without noise in the effort it is far below them."""
    analysis = analyse_torque(panda(tmp_path, hand=False), recorded_motion(series, Smoothing()))
    np.testing.assert_allclose(root_mean_square(series.effort), MEASURED, rtol=0.02)
    assert (analysis.rms < EXPECTED).all()
    assert (analysis.explained > [0.7, 0.99, 0.99, 0.98, 0.9, 0.9, 0.9]).all()


def test_the_same_against_the_effort_as_measured(series: JointSeries, tmp_path: Path) -> None:
    """Motion smoothed, effort not: what the other implementation did; within 3 % of its figures."""
    motion = recorded_motion(series, Smoothing())
    stamps = (series.stamps - series.stamps[0]) * 1e-9
    effort = np.column_stack([np.interp(motion.time, stamps, column) for column in series.effort.T])
    analysis = analyse_torque(panda(tmp_path, hand=False), dataclasses.replace(motion, tau=effort))
    np.testing.assert_allclose(analysis.rms, EXPECTED, rtol=0.03)


def test_a_hand_that_is_not_mounted_is_called_out(series: JointSeries, tmp_path: Path) -> None:
    """The model's hand and fingers weigh 0.76 kg, some 0.14 m beyond the origin of link 7."""
    model = panda(tmp_path, hand=True)
    analysis = analyse_torque(model, recorded_motion(series, Smoothing()))
    assert (analysis.rms[1:4] > 1.5).all()
    payload = hints(model, analysis)[0]
    assert payload.startswith("the model carries what the robot does not")
    found = re.search(r"([\d.]+) kg on panda_link7, .* at \[(\S+), (\S+), (\S+)\] m", payload)
    assert found is not None
    mass, x, y, z = (float(number) for number in found.groups())
    assert mass == pytest.approx(0.7, abs=0.1)
    np.testing.assert_allclose([x, y, z], [0.0, 0.0, 0.14], atol=0.03)


def test_without_the_hand_no_payload_is_called_out(series: JointSeries, tmp_path: Path) -> None:
    model = panda(tmp_path, hand=False)
    assert not any(
        "carries" in hint for hint in hints(model, analyse_torque(model, recorded_motion(series, Smoothing())))
    )

"""A real Panda's recording: what is identified on two thirds explains the last third better than published numbers."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.identification.dynamics_output import dynamics_document, write_dynamics_file
from robot_dynamics_ros.identification.estimate import identify
from robot_dynamics_ros.identification.motion import Smoothing, recorded_motion
from robot_dynamics_ros.identification.torque_analysis import analyse_torque

PANDA = "panda_description/urdf/panda"
ROOT = Path(__file__).resolve().parents[2]
RECORDING = Path(
    os.environ.get(
        "ROBOT_DYNAMICS_PANDA_RECORDING",
        ROOT.parent / "shared" / "data" / "panda_recording" / "panda_exciting_trajectory.db3",
    )
)
FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
NOTHING = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}

pytestmark = [
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.BagWarning"),
    pytest.mark.skipif(PANDA not in PUBLIC, reason="needs the example-robot-data package"),
    pytest.mark.skipif(
        not RECORDING.exists(), reason="needs the recording; ROBOT_DYNAMICS_PANDA_RECORDING says where it is"
    ),
]


@pytest.mark.parametrize("cutoff", [None, 4.0])
def test_last_third_is_explained_better(
    cutoff: float | None, dynamics_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """RMS error in at least six of seven joints, against the URDF without its hand and with the friction of Gaz et al.

    The arm of the recording has no hand. Both models are asked for the same torque: that of the smoothed motion. All
    that is chosen, the prior's weight among it, is chosen on the first two thirds.
    """
    prior = yaml.safe_load(dynamics_path("panda").read_text(encoding="utf-8"))
    prior["links"] = dict.fromkeys(("panda_hand", "panda_leftfinger", "panda_rightfinger"), NOTHING)
    published, identified = tmp_path / "published.yaml", tmp_path / "identified.yaml"
    published.write_text(yaml.safe_dump(prior), encoding="utf-8")
    model = RobotModel.from_urdf_file(PUBLIC[PANDA], dynamics=published, locked=FINGERS)
    topic = "/joint_states"
    series = read_joint_states(RECORDING, [topic], rename={"fer_": "panda_"})[topic].in_order(model.joint_names)
    motion = recorded_motion(series, Smoothing(cutoff))
    end = round(2 / 3 * len(motion.time))
    result = identify(model, [motion.part(slice(end))])
    write_dynamics_file(identified, dynamics_document(result, prior), [])
    found = RobotModel.from_urdf_file(PUBLIC[PANDA], dynamics=identified, locked=FINGERS)
    before, after = (analyse_torque(m, motion.part(slice(end, None))).rms for m in (model, found))
    print(f"cutoff {cutoff}: before {np.round(before, 3)}, now {np.round(after, 3)}")
    assert np.count_nonzero(after < before) >= 6
    assert np.linalg.norm(after) < 0.7 * np.linalg.norm(before)

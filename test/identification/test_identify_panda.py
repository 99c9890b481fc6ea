"""A real Panda's recording: what is identified on two thirds explains the last third better than published numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics_ros.identification.dynamics_output import dynamics_document, write_dynamics_file
from robot_dynamics_ros.identification.estimate import identify
from robot_dynamics_ros.identification.motion import Smoothing, recorded_motion
from robot_dynamics_ros.identification.torque_analysis import analyse_torque
from support.panda_recording import NEEDED, WITHOUT_HAND, public_panda, recorded

pytestmark = NEEDED


@pytest.mark.parametrize("cutoff", [None, 4.0])
def test_last_third_is_explained_better(
    cutoff: float | None, dynamics_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """RMS error in at least six of seven joints, against the URDF without its hand and with the friction of Gaz et al.

    The arm of the recording has no hand. Both models are asked for the same torque: that of the smoothed motion. All
    that is chosen, the prior's weight among it, is chosen on the first two thirds.
    """
    prior = yaml.safe_load(dynamics_path("panda").read_text(encoding="utf-8"))
    prior["links"] = WITHOUT_HAND
    published, identified = tmp_path / "published.yaml", tmp_path / "identified.yaml"
    published.write_text(yaml.safe_dump(prior), encoding="utf-8")
    model = public_panda(published)
    motion = recorded_motion(recorded(model), Smoothing(cutoff))
    end = round(2 / 3 * len(motion.time))
    result = identify(model, [motion.part(slice(end))])
    write_dynamics_file(identified, dynamics_document(result, prior), [])
    found = public_panda(identified)
    before, after = (analyse_torque(m, motion.part(slice(end, None))).rms for m in (model, found))
    assert np.count_nonzero(after < before) >= 6
    assert np.linalg.norm(after) < 0.7 * np.linalg.norm(before)

"""What the benchmarks of speed compare: three libraries that give the same results, or nothing is timed."""

import numpy as np
import pytest

from benchmarks import dynamics
from benchmarks.dynamics import check_agreement
from benchmarks.peers import ALGORITHMS, Calls, mujoco_calls, ours, pinocchio
from benchmarks.robots import random_states
from benchmarks.tables import CUSTOMISED, MUJOCO, PINOCCHIO
from robot_dynamics_ros import RobotModel
from support import arms

# Siblings that Pinocchio sorts the other way round, joints that it keeps as cosine and sine, and one that is locked.
KINDS = ["continuous", "prismatic", "revolute", "revolute", "continuous"]
TREE = arms.random_arm(np.random.default_rng(0), [0, 1, 2, 0, 4], KINDS)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[RobotModel, dict[str, Calls]]:
    path = tmp_path_factory.mktemp("tree") / "tree.urdf"
    path.write_text(TREE.urdf, encoding="utf-8")
    model = RobotModel.from_urdf_file(path, locked={TREE.movable[2]: 0.0})
    names = model.joint_names
    return model, {CUSTOMISED: ours(model), **pinocchio(path, names), MUJOCO: mujoco_calls(path, names)}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_libraries_agree_joint_by_joint(algorithm: str, tree: tuple[RobotModel, dict[str, Calls]]) -> None:
    """Joints match by name, locked ones stand still, and every result is in our order."""
    model, libraries = tree
    check_agreement("tree", libraries, algorithm, random_states(model.n, dynamics.CHECKED, seed=1))
    offered = [name for name, calls in libraries.items() if algorithm in calls]
    assert offered[:2] == [CUSTOMISED, PINOCCHIO]
    assert (MUJOCO in offered) == (algorithm in ("inverse_dynamics", "mass_matrix", "forward_dynamics"))


def test_nothing_is_timed_where_a_library_disagrees(tree: tuple[RobotModel, dict[str, Calls]]) -> None:
    model, libraries = tree
    right = libraries[PINOCCHIO]["mass_matrix"]
    wrong = {"mass_matrix": right._replace(value=lambda result: right.value(result) * (1.0 + 1e-6))}
    with pytest.raises(SystemExit, match="Pinocchio"):
        states = random_states(model.n, dynamics.CHECKED, seed=2)
        check_agreement("tree", {**libraries, PINOCCHIO: wrong}, "mass_matrix", states)

"""Minimal parameters against Spong's Theta for the planar elbow, and the torque that they must give."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from oracles import spong_elbow
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.minimal_parameters import minimal_parameters
from support import arms
from support.comparing import assert_close
from support.worked_arms import elbow, load

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

P = spong_elbow.Parameters(0.7, 0.25, 0.3, 1.5, 2.5, 0.08, 0.11)


def test_planar_elbow_has_spongs_parameters() -> None:
    """Each Theta is a sum of ours. Beside mcy1 and mcy2, zero here, ours are four: Theta_2 = l1 Theta_5."""
    found = minimal_parameters(load(elbow(P), [0, -P.g, 0]))
    values = dict(zip(found.names, found.theta.tolist(), strict=True))
    izz1, izz2 = values.pop("link1.izz + 0.49 link2.mass"), values.pop("link2.izz")
    mcx1, mcx2 = values.pop("link1.mcx + 0.7 link2.mass"), values.pop("link2.mcx")
    assert_close(np.array([izz1 + izz2, P.l1 * mcx2, izz2, mcx1, mcx2]), spong_elbow.parameters(P), 1e-13)
    assert values.keys() == {"link1.mcy", "link2.mcy"}
    assert_close(list(values.values()), [0.0, 0.0], 1e-15)


def test_without_gravity_three_are_left() -> None:
    """Spong, the remark below (9.133): Theta_1 to Theta_3, beside mcy2, which is zero."""
    found = minimal_parameters(load(elbow(P), [0, 0, 0]))
    assert set(found.names) == {"link1.izz + 0.49 link2.mass", "link2.mcx", "link2.mcy", "link2.izz"}
    assert {"link1.mcx", "link1.mcy", "link1.mass", "link2.ixx", "link2.mcz"} <= set(found.without_effect)


@pytest.mark.parametrize(("robot", "count"), [("panda", 43), ("puma560", 36), ("scara", 5)])
def test_they_give_the_torque(robot: str, count: int, load_robot: Callable[..., RobotModel]) -> None:
    """Spong (9.121) at states that the search has not seen; counts as published (Gaz et al., Mayeda et al.)."""
    rigid = load_robot(robot)
    link = rigid.link_names[-1]
    driven = load_robot(robot, robot).with_payload(link, 1.2, [0.01, 0.02, 0.1], np.eye(3) * 0.01)
    q, qd, qdd = arms.states(4, rigid.n, 20)
    assert len(minimal_parameters(rigid).names) == count
    for model in (rigid, driven):
        found = minimal_parameters(model)
        y = found.regressor(q, qd, qdd)
        assert_close(y @ found.theta, model.inverse_dynamics(q, qd, qdd), 1e-10)
        columns = y.reshape(-1, len(found.names))
        assert np.linalg.matrix_rank(columns / np.linalg.norm(columns, axis=0)) == len(found.names)
    assert any("rotor.inertia" in name for name in found.names) == (robot == "puma560")


@given(arm=arms.trees(4))
def test_trees(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    found = minimal_parameters(model)
    q, qd, qdd = arms.states(arm.seed, model.n, 5)
    assert_close(found.regressor(q, qd, qdd) @ found.theta, model.inverse_dynamics(q, qd, qdd), 1e-9, 100.0)

"""Couplings: order and locked coordinates, Spong's remotely driven elbow and five-bar linkage.

test_pinocchio.py tests any robot with its projected tree. The textbook's examples are Spong (9.89)-(9.108).
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import spong_five_bar, spong_remotely_driven_elbow
from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.mechanisms import FIVE_BAR_COUPLINGS
from support.robots_with_drives import Robot, load, robots, size, state
from support.worked_arms import elbow, five_bar


@given(robot=robots(), data=st.data())
def test_order_and_locked_coordinates(robot: Robot, data: st.DataObject) -> None:
    """Locked joints have no rate, the other joints have the requested order: compared with Pinocchio's tree."""
    names = data.draw(st.permutations(robot.model().joint_names))
    keep = names[: data.draw(st.integers(1, len(names)))]
    rng = np.random.default_rng(robot.seed)
    locked = {name: float(rng.uniform(-2, 2)) for name in names[len(keep) :]}
    model = robot.model(joints=keep, locked=locked)
    tree = robot.pinocchio(keep, locked)
    assert list(model.joint_names) == list(keep)
    assert {*robot.model(locked=locked).joint_names} == {*keep}
    q, qd, qdd = state(robot, model.n)
    rows = tree.rnea(q, qd, qdd)
    tau = tree.g.T @ rows
    scale = float(np.max(np.abs(tree.g).T @ np.abs(rows))) + size(model, q, qd, qdd)
    assert_close(model.inverse_dynamics(q, qd, qdd), tau, 1e-12, scale)
    assert_close(model.mass_matrix(q), tree.mass_matrix(q), 1e-12)
    gain = float(np.abs(np.linalg.inv(model.mass_matrix(q))).sum(axis=1).max())
    assert_close(
        model.forward_dynamics(q, qd, tau), qdd, 1e-12 * max(1.0, gain * scale)
    )
    link = robot.bare.links[-1].name
    position = tree.position(q)
    reach = 1.0 + float(np.abs(position).sum())
    assert_close(model.link_pose(q, link), tree.peer.pose(position, link), 1e-13, reach)
    assert_close(model.jacobian(q, link), tree.jacobian(q, link), 1e-13, 10.0 * reach)


@pytest.mark.parametrize("seed", range(2))
def test_remotely_driven_elbow(seed: int) -> None:
    """The elbow rotates by p2 - p1, the absolute angles of the links: Spong (9.89)-(9.95)."""
    rng = np.random.default_rng(seed)
    p = spong_remotely_driven_elbow.Parameters(*rng.uniform(0.2, 3.0, 8).tolist())
    couplings = {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}}
    content = {
        "coordinates": ["p1", "p2"],
        "couplings": couplings,
        "gravity": [0.0, -p.g, 0.0],
    }
    model = load(elbow(p), content)
    assert model.joint_names == ("p1", "p2")
    assert model.coupling_matrix[:2].tolist() == [[1.0, 0.0], [-1.0, 1.0]]
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        _agrees(model, spong_remotely_driven_elbow, p, q, qd, qdd)
        expected = spong_remotely_driven_elbow.coriolis_matrix(p, q, qd)
        assert_close(model.coriolis_matrix(q, qd), expected, 1e-12, 100.0)


@pytest.mark.parametrize("seed", range(2))
def test_five_bar_linkage(seed: int) -> None:
    """The parallelogram's joints 3 and 4 rotate by q1 - q2 and q2 - q1 - pi: Spong (9.96)-(9.108)."""
    rng = np.random.default_rng(seed)
    p = spong_five_bar.Parameters(*rng.uniform(0.2, 3.0, 15).tolist())
    if seed % 2:
        p = spong_five_bar.balanced(p)
    model = load(
        five_bar(p), {"couplings": FIVE_BAR_COUPLINGS, "gravity": [0.0, -p.g, 0.0]}
    )
    assert model.joint_names == ("joint1", "joint2")
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        _agrees(model, spong_five_bar, p, q, qd, qdd)
        # The loop stays closed.
        assert_close(
            model.link_pose(q, "tip3")[:3, 3],
            model.link_pose(q, "tip4")[:3, 3],
            1e-14,
            10.0,
        )
        if seed % 2:
            assert_close(model.coriolis_matrix(q, qd), np.zeros((2, 2)), 1e-12, 100.0)
            assert_close(model.mass_matrix(q)[0, 1], 0.0, 1e-12, 10.0)


@pytest.mark.parametrize("ratio", [50.0, -50.0])
@pytest.mark.parametrize(
    "carrier", [{"rotor_carrier": "parent"}, {}, {"rotor_carrier": "none"}]
)
def test_parallel_axes_couple_by_tsai_9_157(
    carrier: dict[str, str], ratio: float
) -> None:
    """K_hat = I r^2 qd2^2 / 2 + I r qd1 qd2 adds I r^2 to m22 and, for a rotor on the parent (default), I r to m12."""
    inertia = 3e-4
    q = np.array([0.4, -0.9])
    first = arms.Link("", 2.0, (0.2, 0, 0), np.eye(3) * 0.02)
    arm = arms.planar_2r(
        0.5, 0.4, first, arms.Link("", 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
    )
    rotor = {"rotor_inertia": inertia, "gear_ratio": ratio, **carrier}
    added = load(arm, {"joints": {"joint2": rotor}}).mass_matrix(
        q
    ) - RobotModel.from_urdf(arm.urdf).mass_matrix(q)
    coupling = 0.0 if "none" in carrier.values() else inertia * ratio
    assert_close(added, [[0.0, coupling], [coupling, inertia * ratio**2]], 1e-14)


def _agrees(
    model: RobotModel, book: Any, p: Any, q: arms.Array, qd: arms.Array, qdd: arms.Array
) -> None:
    m = book.mass_matrix(p, q)
    velocity = book.velocity_terms(p, q, qd)
    gravity = book.gravity(p, q)
    scale = (
        float(np.max(np.abs(m) @ np.abs(qdd) + np.abs(velocity) + np.abs(gravity)))
        + 100.0
    )
    assert_close(model.mass_matrix(q), m, 1e-13, 10.0)
    assert_close(model.gravity_torque(q), gravity, 1e-13, scale)
    assert_close(model.bias_torque(q, qd), velocity + gravity, 1e-13, scale)
    assert_close(
        model.inverse_dynamics(q, qd, qdd), book.torque(p, q, qd, qdd), 1e-13, scale
    )
    assert model.kinetic_energy(q, qd) == pytest.approx(
        book.kinetic_energy(p, q, qd), rel=1e-12
    )
    rise = model.potential_energy(q) - model.potential_energy([0.0, 0.0])
    expected = book.potential_energy(p, q) - book.potential_energy(p, np.zeros(2))
    assert rise == pytest.approx(expected, abs=1e-13 * scale)

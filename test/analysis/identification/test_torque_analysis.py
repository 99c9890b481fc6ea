"""Terms of the torque against closed forms, and statistics of the residual against their definitions."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from oracles import craig_planar_2r
from robot_dynamics_ros import BagError, RobotModel
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from support import arms
from support.noisy_recordings import exciting_motion

P = craig_planar_2r.Parameters(0.5, 0.4, 2.0, 1.5)


def planar_2r() -> RobotModel:
    return RobotModel.from_urdf(arms.craig_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])


def test_terms_by_closed_form() -> None:
    """Craig (6.60)-(6.62): M qdd, V(q, qd) and G(q), sample by sample."""
    model = planar_2r()
    motion = exciting_motion(model, seed=1, samples=60)
    analysis = analyse_torque(model, motion)
    for k in range(len(motion.time)):
        q = motion.q[k]
        qd = motion.qd[k]
        qdd = motion.qdd[k]
        for actual, expected in (
            (analysis.inertia, craig_planar_2r.mass_matrix(P, q) @ qdd),
            (analysis.velocity, craig_planar_2r.velocity_terms(P, q, qd)),
            (analysis.gravity, craig_planar_2r.gravity(P, q)),
            (analysis.friction, np.zeros(2)),
        ):
            np.testing.assert_allclose(actual[k], expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_friction_term_is_that_of_the_dynamics_file(
    load_robot: Callable[..., RobotModel],
) -> None:
    """Viscous b qd and Coulomb c sign(qd), Craig (6.111), of the shipped file; other terms are unchanged."""
    model = load_robot("puma560", "puma560")
    motion = exciting_motion(model, seed=2, samples=50, noise=0.0)
    analysis = analyse_torque(model, motion)
    np.testing.assert_allclose(analysis.model, motion.tau, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        analysis.friction,
        motion.tau - model.inverse_dynamics(motion.q, motion.qd, motion.qdd),
    )
    assert (np.abs(analysis.friction).max(axis=0) > 0.1).all()


def test_statistics_of_residual() -> None:
    """tau = model + 2 + 3 sin gives RMS^2 = 4 + 9 / 2."""
    model = planar_2r()
    motion = exciting_motion(model, seed=3, noise=0.0, samples=800)
    wave = np.sin(2 * np.pi * np.arange(800) / 100)[:, np.newaxis]
    analysis = analyse_torque(
        model, dataclasses.replace(motion, tau=motion.tau + 2.0 + 3.0 * wave)
    )
    analysis = dataclasses.replace(
        analysis, determined=np.ones_like(analysis.determined)
    )
    np.testing.assert_allclose(analysis.bias, 2.0, rtol=1e-9)
    np.testing.assert_allclose(analysis.rms, np.sqrt(4.0 + 4.5), rtol=1e-9)
    np.testing.assert_allclose(
        analysis.explained, 1.0 - 4.5 / analysis.motion.tau.var(axis=0), rtol=1e-9
    )
    constant = dataclasses.replace(
        motion, tau=np.broadcast_to([1.0, 2.0], motion.tau.shape)
    )
    rounded = dataclasses.replace(constant, tau=constant.tau * (1.0 + 1e-15 * wave))
    for unvaried in (constant, rounded):
        assert analyse_torque(model, unvaried).explained_in_words == ["-", "-"], (
            "no variance to explain"
        )
    wrong = analyse_torque(model, dataclasses.replace(motion, tau=-motion.tau))
    assert wrong.explained_in_words == ["not explained"] * 2


@pytest.mark.filterwarnings("error")
def test_statistics_leave_out_rest_unless_the_joint_never_moves() -> None:
    """Joint 1 rests in the first half, where its effort is wrong; joint 2 never moves, and its effort is wrong by 3."""
    model = planar_2r()
    t = 0.01 * np.arange(800)
    q, qd, qdd = (
        np.column_stack([(t > 4.0) * f, 0.0 * t])
        for f in (
            np.sin(t - 4.0) ** 2,
            np.sin(2.0 * (t - 4.0)),
            2.0 * np.cos(2.0 * (t - 4.0)),
        )
    )
    tau = model.inverse_dynamics(q, qd, qdd) + np.column_stack(
        [7.0 * (t <= 4.0), 3.0 + 0.0 * t]
    )
    analysis = analyse_torque(
        model, RecordedMotion(model.joint_names, t, q, qd, qdd, tau)
    )
    assert (
        not analysis.determined[t <= 4.0].any()
        and analysis.determined[t > 4.1, 0].all()
    )
    np.testing.assert_allclose(analysis.rms, [0.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(analysis.bias, [0.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(analysis.explained, 1.0)


def test_other_joints_are_refused() -> None:
    model = planar_2r()
    motion = exciting_motion(model, seed=5, samples=50)
    other = dataclasses.replace(motion, joint_names=motion.joint_names[::-1])
    with pytest.raises(BagError, match="joint2, joint1"):
        analyse_torque(model, other)

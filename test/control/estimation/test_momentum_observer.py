"""Momentum observer: external wrenches on the simulated arm, and closed forms of its lag."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.estimation.external_torque import MomentumObserver
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation import Plant
from support.comparing import assert_close
from support.controlled_arm import FREE_ARM, MODEL, REST, P, Q

GAIN = 25.0  # 1/s
PUSH_AT = 0.4  # s
AT_500_HZ = [2] * 450  # plant steps of 1 ms from state to state
UNEVEN = [1, 4, 2, 2, 7, 1, 1, 5, 3] * 35
Plan = Callable[[float], tuple[Array, Array, Array]]

LINK = "panda_link8"
PUSH = np.array([12.0, -9.0, 14.0, 0.5, 1.0, -1.5])  # N and Nm in root axes
START = np.array([0.0, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
VELOCITY = np.array([0.3, 0.2, -0.3, 0.25, 0.4, -0.3, 0.5])


def sliding(t: float) -> tuple[Array, Array, Array]:
    """Return a motion at constant joint velocities, for which Coulomb friction is known."""
    return START + VELOCITY * t, VELOCITY, np.zeros(7)


def swinging(t: float) -> tuple[Array, Array, Array]:
    """Return an oscillation, with accelerations."""
    w = 5.0
    s = math.sin(w * t)
    c = math.cos(w * t)
    return START + VELOCITY * s / w, VELOCITY * c, -VELOCITY * w * s


def _follow(
    model: RobotModel, plan: Plan, intervals: Sequence[int]
) -> tuple[Array, Array, Array]:
    """Return times (k,), estimates and true torques J^T wrench (k, n); the wrench is constant in the link's axes."""
    q_d, qd_d, _ = plan(0.0)
    plant = Plant(model, initial_positions=q_d, initial_velocities=qd_d)
    observer = MomentumObserver(GAIN)
    effort = np.zeros(model.n)
    times = []
    estimates = []
    truths = []
    for count in intervals:
        t = plant.time
        q = plant.position
        qd = plant.velocity
        push = PUSH if t >= PUSH_AT - 1e-9 else np.zeros(6)
        times.append(t)
        estimates.append(observer.update(model, t, q, qd, effort))
        truths.append(model.jacobian(q, LINK).T @ push)
        q_d, qd_d, qdd_d = plan(t)
        effort = model.inverse_dynamics(
            q, qd, qdd_d + 40.0 * (qd_d - qd) + 400.0 * (q_d - q)
        )
        effort += model.friction_torque(q, qd)
        to_link = model.link_pose(q, LINK)[:3, :3].T
        wrench = np.concatenate([to_link @ push[:3], to_link @ push[3:]])
        plant.step(effort, count, external_wrenches={LINK: wrench})
        np.testing.assert_array_equal(plant.effort, effort)  # not limited
    return np.array(times), np.array(estimates), np.array(truths)


def _lagged(times: Array, truths: Array) -> Array:
    """Return r of r' = K (truth - r) from the push on, for a truth that is linear between samples."""
    lagged = np.zeros_like(truths)
    for k in range(1, len(times)):
        if times[k - 1] >= PUSH_AT - 1e-9:
            dt = times[k] - times[k - 1]
            behind = (truths[k] - truths[k - 1]) / dt / GAIN
            transient = lagged[k - 1] - (truths[k - 1] - behind)
            lagged[k] = truths[k] - behind + transient * math.exp(-GAIN * dt)
    return lagged


@pytest.mark.parametrize(
    ("dynamics", "plan", "intervals", "tolerance"),
    [
        # with Coulomb friction in plant and model
        ("panda_coulomb", sliding, AT_500_HZ, 0.01),
        (None, swinging, AT_500_HZ, 0.005),
        (None, swinging, UNEVEN, 0.01),
    ],
    ids=["sliding", "500 Hz", "uneven"],
)
def test_the_estimate_of_a_push_has_a_first_order_lag(
    dynamics: str | None,
    plan: Plan,
    intervals: list[int],
    tolerance: float,
    load_robot: Callable[..., RobotModel],
) -> None:
    """During the whole motion after the push; before it the estimate is about 0."""
    times, estimates, truths = _follow(load_robot("panda", dynamics), plan, intervals)
    size = np.abs(truths).max()
    assert np.abs(estimates - _lagged(times, truths)).max() < tolerance * size
    assert np.abs(estimates[times < PUSH_AT]).max() < 0.002 * size


@pytest.mark.parametrize(
    ("smoothing", "fraction"), [((), 0.4), ((0.02,), 0.2), ((0.0,), 1.0)]
)
def test_friction_is_reduced_below_the_smoothing_velocity(
    smoothing: tuple[float, ...], fraction: float
) -> None:
    """Joint 1 of a planar arm without gravity moves at 0.004 rad/s: the estimate is from u and the reduced F."""
    arm = FREE_ARM.with_joint("joint1", extra='<dynamics friction="2"/>')
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, 0.0, 0.0])
    observer = MomentumObserver(20.0, *smoothing)  # by default 0.01 rad/s
    creep = np.array([0.004, 0.0])
    effort = np.array([2.0, 0.0])
    got = [
        observer.update(model, 0.01 * k, Q + 0.01 * k * creep, creep, effort)
        for k in range(200)
    ][-1]
    assert_close(got, [2.0 * fraction - 2.0, 0.0], 1e-3)


def _samples(count: int) -> list[tuple[float, Array, Array, Array]]:
    """Return random times, positions, velocities and efforts, for which all terms matter."""
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.001, 0.02, count))
    return [(float(t), *rng.uniform(-2.0, 2.0, (3, 2))) for t in times]


def test_a_time_that_goes_back_resets_the_observer() -> None:
    samples = _samples(6)
    fresh, used, jumped = (MomentumObserver(30.0) for _ in range(3))
    expected = [fresh.update(MODEL, *sample) for sample in samples]
    np.testing.assert_array_equal(expected[0], 0.0)
    for sample in samples[3:]:
        used.update(MODEL, *sample)
        jumped.update(MODEL, *sample)
    used.reset()
    for sample, estimate in zip(samples, expected, strict=True):
        np.testing.assert_array_equal(used.update(MODEL, *sample), estimate)
        np.testing.assert_array_equal(jumped.update(MODEL, *sample), estimate)


def test_a_repeated_stamp_changes_nothing() -> None:
    first, second, third = _samples(3)
    plain = MomentumObserver(30.0)
    repeated = MomentumObserver(30.0)
    expected = [plain.update(MODEL, *sample) for sample in (first, second, third)]
    for sample, estimate in zip((first, second, third), expected, strict=True):
        repeated.update(MODEL, *sample)[:] = 1e9  # copies for the caller
        np.testing.assert_array_equal(
            repeated.update(MODEL, sample[0], *third[1:]), estimate
        )


def test_a_change_of_model_is_continuous() -> None:
    """After a change of payload the interval is evaluated with the new model only."""
    first, second, third = _samples(3)
    loaded = MODEL.with_payload("tool", 4.0, [0.1, 0.0, 0.0], np.zeros((3, 3)))
    observer = MomentumObserver(30.0)
    after = MomentumObserver(30.0)
    observer.update(MODEL, *first)
    before = observer.update(MODEL, *second)
    after.update(loaded, *second)
    kept = math.exp(-30.0 * (third[0] - second[0]))
    assert_close(
        observer.update(loaded, *third),
        kept * before + after.update(loaded, *third),
        1e-12,
    )


def test_an_estimate_that_is_not_finite_resets_the_observer() -> None:
    first, second, third = _samples(3)
    plain = MomentumObserver(30.0)
    disturbed = MomentumObserver(30.0)
    disturbed.update(MODEL, *first)
    bad = np.array([0.0, math.nan])
    assert not disturbed.update(MODEL, *second[:3], bad).any()
    plain.update(MODEL, *second)
    np.testing.assert_array_equal(
        disturbed.update(MODEL, *third), plain.update(MODEL, *third)
    )


@pytest.mark.parametrize("bad", [0.0, -0.1, math.nan, math.inf])
def test_bad_arguments_are_refused(bad: float) -> None:
    with pytest.raises(RobotDynamicsError, match="observer gain"):
        MomentumObserver(bad)
    if bad != 0.0:
        observer = MomentumObserver(10.0, bad)
        observer.update(MODEL, 0.0, Q, REST, REST)
        with pytest.raises(RobotDynamicsError, match="smoothing_velocity"):
            observer.update(MODEL, 0.1, Q, REST, REST)


@pytest.mark.parametrize("gain", [0.5, 2.0])
def test_any_positive_gain_is_stable(gain: float) -> None:
    """- u (1 - exp(- K t)) for an arm at rest under a constant effort."""
    observer = MomentumObserver(gain)
    effort = np.array([3.0, -2.0])
    for t in (0.0, 0.5):
        estimate = observer.update(MODEL, t, Q, REST, tsai.gravity(P, Q) + effort)
    assert_close(estimate, -effort * (1.0 - np.exp(-gain * 0.5)), 1e-12)

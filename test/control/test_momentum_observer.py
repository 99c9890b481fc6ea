"""The momentum observer against pushes on the simulated arm and closed forms of its lag."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.momentum_observer import Array, MomentumObserver
from robot_dynamics_ros.simulation import Plant

GAIN = 25.0  # 1/s
PUSH_AT = 0.4  # s
AT_500_HZ = [2] * 450  # plant steps of 1 ms from state to state
UNEVEN = [1, 4, 2, 2, 7, 1, 1, 5, 3] * 35
P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)

Plan = Callable[[float], tuple[Array, Array, Array]]


@dataclass
class Scene:
    """A robot, the link that is pushed, with what force and moment in root axes, and how it moves."""

    model: RobotModel
    link: str
    push: Array
    start: Array
    velocity: Array

    def sliding(self, t: float) -> tuple[Array, Array, Array]:
        """Every joint at constant velocity: none comes to rest, so that Coulomb friction is known."""
        return self.start + self.velocity * t, self.velocity, np.zeros(self.model.n)

    def swinging(self, t: float) -> tuple[Array, Array, Array]:
        """Back and forth, with accelerations."""
        w = 5.0
        s, c = math.sin(w * t), math.cos(w * t)
        return self.start + self.velocity * s / w, self.velocity * c, -self.velocity * w * s


def _scene(name: str, model: RobotModel) -> Scene:
    if name == "panda":
        start = np.array([0.0, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
        velocity = np.array([0.3, 0.2, -0.3, 0.25, 0.4, -0.3, 0.5])
        return Scene(model, "panda_link8", np.array([12.0, -9.0, 14.0, 0.5, 1.0, -1.5]), start, velocity)
    push = np.array([8.0, 0.0, 12.0, 0.0, -1.0, 0.0])
    return Scene(model, "tip", push, np.array([0.4, 0.8]), np.array([0.5, -0.9]))


def _follow(scene: Scene, plan: Plan, intervals: Sequence[int], pushed: bool) -> tuple[Array, Array, Array]:
    """Times (k), estimates and true external torques (k, n) while computed torque follows a plan.

    The truth is J^T wrench; the wrench is held in the link's axes between two states.
    """
    model = scene.model
    q_d, qd_d, _ = plan(0.0)
    plant = Plant(model, initial_positions=q_d, initial_velocities=qd_d)
    observer = MomentumObserver(GAIN)
    effort = np.zeros(model.n)
    times, estimates, truths = [], [], []
    for count in intervals:
        t, q, qd = plant.time, plant.position, plant.velocity
        push = scene.push if pushed and t >= PUSH_AT - 1e-9 else np.zeros(6)
        times.append(t)
        estimates.append(observer.update(model, t, q, qd, effort))
        truths.append(model.jacobian(q, scene.link).T @ push)
        q_d, qd_d, qdd_d = plan(t)
        effort = model.inverse_dynamics(q, qd, qdd_d + 40.0 * (qd_d - qd) + 400.0 * (q_d - q))
        effort += model.friction_torque(q, qd)
        to_link = model.link_pose(q, scene.link)[:3, :3].T
        wrench = np.concatenate([to_link @ push[:3], to_link @ push[3:]])
        plant.step(effort, count, external_wrenches={scene.link: wrench})
        np.testing.assert_array_equal(plant.effort, effort)  # no limit cut it
    return np.array(times), np.array(estimates), np.array(truths)


def _lagged(times: Array, truths: Array) -> Array:
    """r' = K (truth - r) from the push on, solved for a truth that runs straight from sample to sample."""
    lagged = np.zeros_like(truths)
    for k in range(1, len(times)):
        if times[k - 1] >= PUSH_AT - 1e-9:
            dt = times[k] - times[k - 1]
            behind = (truths[k] - truths[k - 1]) / dt / GAIN
            transient = lagged[k - 1] - (truths[k - 1] - behind)
            lagged[k] = truths[k] - behind + transient * math.exp(-GAIN * dt)
    return lagged


@pytest.mark.parametrize(("name", "dynamics"), [("panda", "panda_coulomb"), ("planar_2r", None)])
def test_a_push_on_the_moving_arm_is_found_within_5_percent(
    name: str, dynamics: str | None, load_robot: Callable[..., RobotModel]
) -> None:
    """From 5 / K on, at 500 Hz; Panda with Coulomb friction in plant and model. Before the push it is quiet."""
    scene = _scene(name, load_robot(name, dynamics))
    times, estimates, truths = _follow(scene, scene.sliding, AT_500_HZ, pushed=True)
    settled = times >= PUSH_AT + 5.0 / GAIN
    size = np.linalg.norm(truths[settled], axis=1)
    error = np.linalg.norm(estimates - truths, axis=1)
    assert size.min() > 2.0
    assert (error[settled] / size).max() < 0.05
    assert error[times < PUSH_AT].max() < 0.002 * size.min()


@pytest.mark.parametrize(("intervals", "tolerance"), [(AT_500_HZ, 0.005), (UNEVEN, 0.01)], ids=["500 Hz", "uneven"])
@pytest.mark.parametrize("name", ["panda", "planar_2r"])
def test_it_follows_the_true_torque_with_a_first_order_lag(
    name: str, intervals: list[int], tolerance: float, load_robot: Callable[..., RobotModel]
) -> None:
    """On the whole course after the push, while the arm accelerates; without a push it stays near 0."""
    scene = _scene(name, load_robot(name))
    times, estimates, truths = _follow(scene, scene.swinging, intervals, pushed=True)
    size = np.abs(truths).max()
    assert np.abs(estimates - _lagged(times, truths)).max() < tolerance * size
    _, quiet, _ = _follow(scene, scene.swinging, intervals, pushed=False)
    assert np.abs(quiet).max() < 0.002 * size


@pytest.mark.parametrize("intervals", [[2] * 100, UNEVEN[:100]], ids=["500 Hz", "uneven"])
def test_step_response_of_a_falling_arm(intervals: list[int], load_robot: Callable[..., RobotModel]) -> None:
    """(1 - exp(-K t)) M: a moment on the planar arm's last link is the same torque in every pose."""
    model = load_robot("planar_2r")
    plant = Plant(model, initial_positions=[0.3, -0.5])
    gain, effort, moment = np.array([15.0, 40.0]), np.array([20.0, 3.0]), 5.0
    observer = MomentumObserver(gain)
    for count in intervals:
        expected = moment * (1.0 - np.exp(-gain * plant.time))
        estimate = observer.update(model, plant.time, plant.position, plant.velocity, effort)
        assert_close(estimate, expected, 2e-3, scale=moment)
        plant.step(effort, count, external_wrenches={"tip": [0.0, 0.0, 0.0, 0.0, 0.0, moment]})
    assert np.abs(plant.velocity).max() > 1.0  # else velocity terms were not put to the test


def test_the_error_is_of_second_order_in_the_interval(load_robot: Callable[..., RobotModel]) -> None:
    """An arm that falls freely feels no external torque: half the interval, a quarter of the error."""
    model = load_robot("planar_2r")
    worst = []
    for count in (8, 16):
        plant = Plant(model, step_size=5e-4, initial_positions=[0.3, -0.5], initial_velocities=[1.0, -2.0])
        observer = MomentumObserver(50.0)
        estimates = []
        while plant.time < 0.4:
            estimates.append(observer.update(model, plant.time, plant.position, plant.velocity, np.zeros(2)))
            plant.step(np.zeros(2), count)
        worst.append(np.abs(estimates).max())
    assert 3.3 < worst[1] / worst[0] < 4.7


# At rest


@pytest.fixture
def model() -> RobotModel:
    return RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])


Q, REST = np.array([0.4, -0.9]), np.zeros(2)


def _settled(model: RobotModel, effort: Array) -> Array:
    observer = MomentumObserver(20.0)
    return [observer.update(model, 0.01 * k, Q, REST, effort) for k in range(200)][-1]


def test_a_payload_that_the_model_does_not_know_shows_as_external_torque(model: RobotModel) -> None:
    """Its weight pulls joint by joint with - m g times the lever: 1.5 kg at the tip, held by the motors."""
    c1, c12 = np.cos(Q[0]), np.cos(Q[0] + Q[1])
    weight = 1.5 * P.g * np.array([P.a1 * c1 + P.a2 * c12, P.a2 * c12])
    assert_close(_settled(model, tsai.gravity(P, Q) + weight), -weight, 1e-12)
    loaded = model.with_payload("tool", 1.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    assert_close(_settled(loaded, tsai.gravity(P, Q) + weight), np.zeros(2), 1e-12, scale=10.0)


def test_a_model_without_gravity_for_a_robot_that_compensates_it(model: RobotModel) -> None:
    weightless = RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, 0.0, 0.0])
    assert_close(_settled(weightless, np.zeros(2)), np.zeros(2), 1e-14)
    assert_close(_settled(weightless, np.array([2.0, -1.0])), [-2.0, 1.0], 1e-12)


def test_at_rest_the_estimate_takes_in_what_friction_holds() -> None:
    """Stiction is not known: 1 Nm too much that moves nothing shows as - 1 Nm."""
    extra = '<dynamics damping="0.5" friction="2"/>'
    arm = arms.tsai_planar_2r(P).with_joint("joint1", extra=extra)
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, -P.g, 0.0])
    assert_close(_settled(model, tsai.gravity(P, Q) + [1.0, 0.0]), [-1.0, 0.0], 1e-12)


@pytest.mark.parametrize(("smoothing", "fraction"), [((), 0.4), ((0.02,), 0.2), ((0.0,), 1.0)])
def test_friction_fades_in_below_the_smoothing_velocity(smoothing: tuple[float, ...], fraction: float) -> None:
    """Joint 1 creeps at 0.004 rad/s, a plane arm without gravity: u - F is all that acts, with F known in part."""
    arm = arms.tsai_planar_2r(P).with_joint("joint1", extra='<dynamics friction="2"/>')
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, 0.0, 0.0])
    observer = MomentumObserver(20.0, *smoothing)  # by default 0.01 rad/s
    creep, effort = np.array([0.004, 0.0]), np.array([2.0, 0.0])
    got = [observer.update(model, 0.01 * k, Q + 0.01 * k * creep, creep, effort) for k in range(200)][-1]
    assert_close(got, [2.0 * fraction - 2.0, 0.0], 1e-3)


# What it remembers


def _samples(model: RobotModel, count: int) -> list[tuple[float, Array, Array, Array]]:
    """Times, positions, velocities and efforts that belong to no motion at all: every term counts."""
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.001, 0.02, count))
    return [(float(t), *rng.uniform(-2.0, 2.0, (3, model.n))) for t in times]


def test_reset_and_a_time_that_goes_back_start_anew(model: RobotModel) -> None:
    samples = _samples(model, 6)
    fresh, used, jumped = (MomentumObserver(30.0) for _ in range(3))
    expected = [fresh.update(model, *sample) for sample in samples]
    np.testing.assert_array_equal(expected[0], 0.0)
    for sample in samples[3:]:
        used.update(model, *sample)
        jumped.update(model, *sample)
    used.reset()
    for sample, estimate in zip(samples, expected, strict=True):
        np.testing.assert_array_equal(used.update(model, *sample), estimate)
        np.testing.assert_array_equal(jumped.update(model, *sample), estimate)


def test_a_repeated_stamp_changes_nothing(model: RobotModel) -> None:
    first, second, third = _samples(model, 3)
    plain, repeated = MomentumObserver(30.0), MomentumObserver(30.0)
    expected = [plain.update(model, *sample) for sample in (first, second, third)]
    for sample, estimate in zip((first, second, third), expected, strict=True):
        repeated.update(model, *sample)[:] = 1e9  # the caller's own
        np.testing.assert_array_equal(repeated.update(model, sample[0], *third[1:]), estimate)


def test_another_model_takes_over_without_a_jump(model: RobotModel) -> None:
    """A payload set while the arm moves: the last interval is looked at with the new model alone."""
    first, second, third = _samples(model, 3)
    loaded = model.with_payload("tool", 4.0, [0.1, 0.0, 0.0], np.zeros((3, 3)))
    observer, after = MomentumObserver(30.0), MomentumObserver(30.0)
    observer.update(model, *first)
    before = observer.update(model, *second)
    after.update(loaded, *second)
    kept = math.exp(-30.0 * (third[0] - second[0]))
    assert_close(observer.update(loaded, *third), kept * before + after.update(loaded, *third), 1e-12)


def test_what_is_not_finite_is_refused_and_forgotten(model: RobotModel) -> None:
    first, second, third = _samples(model, 3)
    plain, disturbed = MomentumObserver(30.0), MomentumObserver(30.0)
    bad = np.array([0.0, math.nan])
    with pytest.raises(RobotDynamicsError, match='joint "joint1": .* nan.*Cure'):
        disturbed.update(model, first[0], first[1], bad, first[3])
    for sample in (first, second, third):
        np.testing.assert_array_equal(disturbed.update(model, *sample), plain.update(model, *sample))
        with pytest.raises(RobotDynamicsError, match='joint "joint2": .* nan.*Cure'):
            disturbed.update(model, sample[0] + 1e-4, sample[1], sample[2], bad)


@pytest.mark.parametrize("gain", [0.5, np.array([0.5]), np.array([0.5, 2.0])])
def test_any_positive_gain_will_do(gain: Any, model: RobotModel) -> None:
    """One number, or one for each joint: - u (1 - exp(- K t)) of an arm that rests under a constant effort."""
    observer, effort = MomentumObserver(gain), np.array([3.0, -2.0])
    for t in (0.0, 0.5):
        found = observer.update(model, t, Q, REST, tsai.gravity(P, Q) + effort)
    assert_close(found, -effort * (1.0 - np.exp(-gain * 0.5)), 1e-12)


@pytest.mark.parametrize("gain", [0.0, -1.0, math.nan, math.inf, np.array([10.0, 0.0]), np.ones((2, 2))])
def test_bad_gain(gain: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="observer gain.*Cure"):
        MomentumObserver(gain)


def test_gain_of_another_length_than_the_model(model: RobotModel) -> None:
    with pytest.raises(RobotDynamicsError, match="3 numbers.*one for each of joint1, joint2"):
        MomentumObserver(np.ones(3)).update(model, 0.0, Q, REST, REST)


@pytest.mark.parametrize("velocity", [-0.1, math.nan, math.inf])
def test_bad_smoothing_velocity(velocity: float) -> None:
    with pytest.raises(RobotDynamicsError, match="friction_smoothing_velocity.*Cure"):
        MomentumObserver(10.0, velocity)

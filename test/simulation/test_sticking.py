"""Coulomb friction and limits: closed forms, conditions of each step, and the event method as reference."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant
from support import plants
from support.arms import Array
from support.event_plant import EventPlant

STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)
LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'
PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
any_method = pytest.mark.parametrize("method", plants.METHODS)


@any_method
@pytest.mark.parametrize("sign", [1, -1])
def test_no_drift_in_a_minute_just_below_breakaway(
    method: str, sign: int, load_robot: Callable[..., Any]
) -> None:
    """All joints of the Panda at 0.999 of their Coulomb torque beyond gravity: exactly the same position after 60 s."""
    model = load_robot("panda", "panda_coulomb")
    plant = plants.start(model, method, initial_positions=PANDA)
    tau = model.gravity_torque(PANDA) + 0.999 * model.friction_torque(
        PANDA, sign * np.ones(7)
    )
    for _ in range(60):
        plant.step(tau, 1000)
        assert plant.stuck.all()
    assert plant.time == 60.0 and np.array_equal(plant.position, PANDA)
    assert not plant.velocity.any()


@any_method
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "friction",
    [
        {},
        {"static": 0.8},
        {"static": 0.8, "stribeck_velocity": 0.05},
        {"ripple": {"amplitude": 0.2, "per_turn": 3, "phase": 0.4}},
    ],
)
def test_torque_ramp_breaks_away_at_the_static_level(
    method: str, sign: int, friction: dict[str, Any]
) -> None:
    """In the step at the time tau_static / rate, or tau_c / rate without static friction; tau_c depends on q."""
    rate = 1.234
    step = 0.001
    q = 0.3
    level = friction.get("static", 0.5 if sign > 0 else 0.6)
    if "ripple" in friction:
        level += 0.2 * math.sin(3 * q + 0.4)
    plant = plants.start(
        plants.turning(0.05, coulomb=0.5, coulomb_negative=0.6, **friction),
        method,
        step,
        initial_positions=[q],
    )
    while plant.velocity[0] == 0.0:
        assert plant.position[0] == q and plant.stuck[0]
        before = plant.time
        plant.step([sign * rate * (before + step)])
        assert plant.time < 1.0
    assert before < level / rate < plant.time and sign * (plant.position[0] - q) > 0.0
    assert not plant.stuck[0]


@any_method
def test_friction_drops_to_the_coulomb_torque_while_slipping(method: str) -> None:
    """Without Stribeck velocity q = (tau - tau_c) t^2 / (2 I); the first step still has static friction."""
    duration = 0.5
    inertia = 0.05
    expected = (0.81 - 0.5) * duration**2 / (2 * inertia)
    for step in (0.1,) if method == "event" else (1e-3, 1e-4):
        plant = plants.start(
            plants.turning(inertia, coulomb=0.5, static=0.8), method, step
        )
        plant.step([0.81], round(duration / step))
        error = 1e-11 if method == "event" else 2 * 0.3 / inertia * duration * step
        assert plant.position[0] == pytest.approx(expected, rel=0, abs=error)


def test_stuck_joint_equals_a_fixed_joint(urdf_path: Callable[[str], Path]) -> None:
    """Joint 2 swings while joint 1 is stuck, up to rounding as with a fixed joint 1."""
    model = plants.with_friction(
        urdf_path("planar_2r").read_text(), {"joint1": {"coulomb": 1000.0}}
    )
    locked = RobotModel.from_urdf_file(urdf_path("planar_2r"), locked={"joint1": 0.4})
    plant = Plant(model, initial_positions=[0.4, -0.3])
    peer = Plant(locked, initial_positions=[-0.3])
    for _ in range(20):
        plant.step([0.0, 1.0], 50)
        peer.step([1.0], 50)
        assert plant.position[0] == 0.4
        assert plant.position[1] == pytest.approx(peer.position[0], abs=1e-12)


@any_method
@pytest.mark.parametrize(
    ("v0", "level", "viscous"), [(1.37, 0.42, 0.0), (-2.3, 0.9, 0.0), (1.7, 0.42, 0.8)]
)
def test_slipping_joint_stops_by_the_closed_form(
    method: str, v0: float, level: float, viscous: float
) -> None:
    """I v' = -b v - tau_c, tau_c by direction: stop after T = (I/b) ln(1 + b v0/tau_c) at (I v0 - tau_c T) / b.

    Without b: after I v0 / tau_c at I v0^2 / (2 tau_c). In the step of this time; rk4 within tau_c / I dt^2 of the
    position, semi_implicit, q+ = q + dt v+, within v0 dt, and with b within two steps.
    """
    inertia = 0.31
    speed = abs(v0)
    time = inertia * speed / level
    angle = inertia * v0**2 / (2 * level)
    if viscous:
        time = inertia / viscous * math.log1p(viscous * speed / level)
        angle = (inertia * speed - level * time) / viscous
    model = plants.turning(inertia, coulomb=0.42, coulomb_negative=0.9, viscous=viscous)
    for step in (0.02,) if method == "event" else (0.01, 0.001, 0.0001):
        plant = plants.start(model, method, step, initial_velocities=[v0])
        while plant.velocity[0] != 0.0:
            before = plant.time
            plant.step([0.0])
            assert plant.time < 10.0
        slack = 2 * step if method == "semi_implicit" and viscous else 0.0
        assert before - slack < time < plant.time + slack
        error = {
            "rk4": level / inertia * step**2,
            "semi_implicit": speed * step,
            "event": 1e-11,
        }[method]
        stop = plant.position[0]
        assert stop == pytest.approx(math.copysign(angle, v0), rel=0, abs=error)
        assert plant.stuck[0]
        plant.step([0.0], 1000)
        assert plant.position[0] == stop


@any_method
@pytest.mark.parametrize("step", [1e-3, 1e-4, 1e-5])
def test_reversing_joint_is_stopped_by_static_friction(
    method: str, step: float
) -> None:
    """Against 5 Nm it stops after I v0^2 / (2 (tau_c + 5)): tau_c = 2 Nm would not hold it, static friction does."""
    plant = plants.start(
        plants.turning(0.3, coulomb=2.0, static=8.0),
        method,
        step,
        initial_velocities=[0.5],
    )
    plant.step([-5.0], round(0.1 / step))
    assert plant.stuck[0] and plant.velocity[0] == 0.0
    assert plant.position[0] == pytest.approx(
        0.3 * 0.5**2 / (2 * 7.0), abs=0.5 * step + 1e-12
    )


def _mass(coulomb: float = 0.0, limit: str = LIMIT) -> RobotModel:
    return plants.slider(1.3, coulomb, (0, 0, -9.81), limit).model


@any_method
@pytest.mark.parametrize("coulomb", [0.0, 0.5])
@pytest.mark.parametrize(("force", "limit"), [(7.0, 0.5), (-7.0, -0.4)])
def test_mass_driven_into_a_limit_stops_and_returns(
    method: str, coulomb: float, force: float, limit: float
) -> None:
    """Pressed against the limit, not stuck; stuck with less force than friction; then q = limit + a t^2 / 2."""
    step = 0.001
    plant = plants.start(_mass(coulomb), method, step)
    for _ in range(20):
        plant.step([force], 50)
        assert -0.4 <= plant.position[0] <= 0.5
    assert (plant.position[0], plant.velocity[0], plant.stuck[0]) == (limit, 0.0, False)
    plant.step([0.0], 1000)
    assert (plant.position[0], plant.stuck[0]) == (limit, coulomb > 0.0)
    plant.step([-force / 7.0], 500)
    acceleration = -math.copysign(1.0 - coulomb, force) / 1.3
    error = 1e-11 if method == "event" else abs(acceleration) * 0.5 * step
    assert plant.position[0] == pytest.approx(
        limit + acceleration * 0.5**2 / 2, rel=0, abs=error
    )


@any_method
def test_joint_beyond_its_limit_is_not_pushed_and_may_return(method: str) -> None:
    plant = plants.start(
        _mass(), method, initial_positions=[0.7], initial_velocities=[2.0]
    )
    for force in (0.0, 5.0):
        plant.step([force], 100)
        assert (plant.position[0], plant.velocity[0]) == (0.7, 0.0)
    plant.step([-1.0], 100)
    assert 0.5 < plant.position[0] < 0.7 and plant.velocity[0] < 0.0
    place = plant.position[0]
    plant.step([100.0], 100)
    assert 0.5 < plant.position[0] <= place, (
        "beyond the limit it does not turn outwards again"
    )
    plant.step([-5.0], 2000)
    assert plant.position[0] == -0.4


@any_method
@pytest.mark.filterwarnings("ignore")
def test_joint_between_equal_limits_never_moves(method: str) -> None:
    plant = plants.start(
        _mass(limit='<limit lower="0" upper="0" effort="100" velocity="10"/>'), method
    )
    for force in (5.0, -50.0):
        plant.step([force], 100)
        assert plant.position[0] == 0.0


def _path(
    model: RobotModel, method: str, step: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Return positions and stuck joints every 0.05 s for 2 s, under sines that move the joints alternately."""
    plant = plants.start(model, method, step, initial_positions=[0.4, -0.7])
    positions = []
    stuck = []
    for k in range(40):
        wave = np.array([3.3 * np.sin(0.25 * k), 1.7 * np.sin(0.365 * k + 1)])
        plant.step(model.gravity_torque(plant.position) + wave, round(0.05 / step))
        positions.append(plant.position)
        stuck.append(plant.stuck)
    return np.array(positions), np.array(stuck)


@pytest.mark.parametrize(
    ("factors", "first", "second"),
    [
        ((0.1, 2.0), {}, {"coulomb_negative": 0.8}),
        (
            (20.0, 30.0),
            {"static": 3.0, "stribeck_velocity": 0.1},
            {"static": 1.5, "stribeck_velocity": 0.1},
        ),
    ],
    ids=["coulomb", "stribeck"],
)
def test_arm_with_friction_agrees_with_the_event_method_to_first_order(
    factors: tuple[float, float], first: dict[str, float], second: dict[str, float]
) -> None:
    """The largest position error over 2 s of stick-slip is below a factor (rad/s) times the step (first order)."""
    coulomb = {"coulomb": 2.0, "viscous": 0.4}, {"coulomb": 1.0, "viscous": 0.2}
    model = plants.planar({"joint1": coulomb[0] | first, "joint2": coulomb[1] | second})
    reference, stuck = _path(model, "event", 0.05)
    assert (stuck[1:] != stuck[:-1]).sum(axis=0).min() >= 4, (
        "each joint starts and stops"
    )
    assert np.ptp(reference, axis=0).min() > 0.05
    for integrator, factor in zip(plants.INTEGRATORS, factors, strict=True):
        errors = [
            np.abs(_path(model, integrator, step)[0] - reference).max()
            for step in STEPS
        ]
        assert np.polyfit(np.log(STEPS), np.log(errors), 1)[0] > 0.8
        assert np.all(np.array(errors) < factor * np.array(STEPS))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_random_robots_agree_with_the_event_method(seed: int) -> None:
    """With limits and all friction models, to 1e-3 rad after 0.2 s; no positive work: lambda_j v+_j <= 0."""
    rng = np.random.default_rng(seed)
    model = plants.random_robot(rng, 4)
    q = np.clip(
        rng.uniform(-0.5, 0.5, model.n), model.position_lower, model.position_upper
    )
    v = rng.choice([0.0, 1.0]) * rng.uniform(-1.0, 1.0, model.n)
    torques = [
        model.gravity_torque(q) + rng.choice([2.0, 8.0]) * rng.standard_normal(model.n)
        for _ in range(4)
    ]
    ends = []
    for method, step in (("event", 0.05), ("rk4", 2e-5), ("semi_implicit", 2e-5)):
        plant = plants.start(
            model, method, step, initial_positions=q, initial_velocities=v
        )
        for tau in torques:
            plant.step(tau, round(0.05 / step))
            assert np.all(
                (model.position_lower <= plant.position)
                & (plant.position <= model.position_upper)
            )
            assert not isinstance(plant, Plant) or np.all(
                plant.impulse * plant.velocity <= 0.0
            )
        ends.append(plant.position)
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-3


def test_semi_implicit_step_satisfies_the_optimality_conditions() -> None:
    """A (v+ - v) - dt (tau - h - b v) = lambda, A = M + dt b: -dt tau_c sign v+ slipping, within dt tau_c stuck."""
    dt = 0.001
    coulomb = np.array([6.0, 0.9])
    viscous = np.array([0.5, 0.3])
    friction = {
        "joint1": {"coulomb": 6.0, "viscous": 0.5},
        "joint2": {"coulomb": 0.9, "viscous": 0.3},
    }
    model = plants.planar(friction)
    plant = Plant(model, "semi_implicit", dt, initial_positions=[0.4, -0.9])
    one_sticks = 0
    for k in range(1000):
        q = plant.position
        v = plant.velocity
        tau = model.gravity_torque(q) + [
            5.5 * np.sin(0.011 * k),
            3.0 * np.sin(0.023 * k),
        ]
        plant.step(tau)
        after = plant.velocity
        a = model.mass_matrix(q) + dt * np.diag(viscous)
        impulse = a @ (after - v) - dt * (tau - model.bias_torque(q, v) - viscous * v)
        sticks = after == 0.0
        excess = np.maximum(np.abs(impulse) - dt * coulomb, 0.0)
        error = np.where(sticks, excess, impulse + dt * coulomb * np.sign(after))
        assert np.abs(error).max() < 1e-9 * dt * coulomb.min()
        assert np.abs(plant.impulse - impulse).max() < 1e-9 * dt * coulomb.min()
        assert np.abs(plant.position - q - dt * after).max() < 1e-15
        assert np.array_equal(plant.stuck, sticks)
        one_sticks += sticks.tolist() == [True, False]
    assert one_sticks > 300


# --- Validation of the event method


def test_motion_does_not_depend_on_the_steps() -> None:
    friction = {
        "joint1": {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1},
        "joint2": {"coulomb": 1.0},
    }
    model = plants.planar(friction, limit2=LIMIT)
    ends = []
    for step, count, calls in ((0.1, 1, 6), (0.01, 10, 6), (0.01, 1, 60)):
        plant = EventPlant(model, step, initial_positions=[0.3, -0.2])
        for _ in range(calls):
            plant.step([8.0, 3.0], count)
        ends.append(np.concatenate([plant.position, plant.velocity]))
        assert plant.time == pytest.approx(0.6)
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-9


def test_impact_breaks_a_stuck_neighbour_away() -> None:
    """Joint 2 hits its limit while joint 1 is stuck: v+ = v - M^-1 e2 v2 / (M^-1)_22."""
    coulomb = 8.0
    speed = 3.0
    model = plants.planar(
        {"joint1": {"coulomb": coulomb}}, gravity=(0, 0, 0), limit2=LIMIT
    )
    inverse = np.linalg.inv(model.mass_matrix([0.0, 0.5]))
    v1 = -inverse[0, 1] / inverse[1, 1] * speed
    assert v1 > 0.5
    stop = model.mass_matrix([0.0, 0.5])[0, 0] * v1**2 / (2 * coulomb)
    start = {"initial_positions": [0.0, 0.4], "initial_velocities": [0.0, speed]}
    # Joint 1 sticks: the centrifugal torque, m2 l1 lc2 sin q2 v2^2, is at most 1.3 Nm.
    plant = EventPlant(model, 0.01, **start)
    plant.step([0.0, 0.0], 3)
    assert plant.stuck.tolist() == [True, False]
    plant.step([0.0, 0.0], 50)
    assert plant.position == pytest.approx([stop, 0.5], rel=1e-9)
    assert not plant.velocity.any()
    for step in (1e-3, 1e-4):
        peer = plants.start(model, "rk4", step, **start)
        peer.step([0.0, 0.0], round(0.5 / step))
        assert abs(peer.position[0] - stop) < 2.0 * v1 * step


def test_ever_smaller_jumps_come_to_rest() -> None:
    """Joints 1 and 2, pressed against lower and upper limit, push each other off."""
    limit = '<limit lower="-0.5" upper="0.5" effort="100" velocity="10"/>'
    model = plants.planar({}, gravity=(0, 0, 0), limit1=limit, limit2=limit)
    plant = EventPlant(
        model, 0.5, initial_positions=[-0.5, 0.5], initial_velocities=[0.3, 0.0]
    )
    plant.step([-5.0, 2.0], 6)
    assert plant.position.tolist() == [-0.5, 0.5] and not plant.velocity.any()

"""The reference simulation against closed forms, by itself, and what it refuses."""

import math
from collections.abc import Callable
from typing import Any

import arms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation import plants

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.simulation import event_motion
from robot_dynamics_ros.simulation.event_friction import Friction, settle
from robot_dynamics_ros.simulation.event_plant import EventPlant

LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'
PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]


def _state(plant: EventPlant) -> tuple[Any, ...]:
    return plant.time, plant.position.tolist(), plant.velocity.tolist(), plant.stuck.tolist(), plant.effort.tolist()


# --- Who moves


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 9))
def test_settled_acceleration_satisfies_the_optimality_conditions(seed: int, n: int) -> None:
    """M a = load + force, force in its bounds, at the lowest where a > 0 and at the highest where a < 0."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, n)) * 10 ** rng.uniform(-1.5, 0.0, n)
    matrix, load = half @ half.T + 1e-3 * np.eye(n), rng.standard_normal(n)
    rest = rng.random(n) < 0.7
    lowest = -rng.choice([0.0, 0.3, 1.0, np.inf], n) * rng.uniform(0.5, 1.0, n)
    highest = rng.choice([0.0, 0.3, 1.0, np.inf], n) * rng.uniform(0.5, 1.0, n)
    a, moves = settle(matrix, load, rest, lowest, highest)
    force = matrix @ a - load
    size = np.abs(matrix) @ np.abs(a) + np.abs(load)
    assert np.array_equal(moves, ~rest | (a != 0.0))
    least = np.where(rest, np.where(a < 0.0, highest, lowest), 0.0)
    most = np.where(rest, np.where(a > 0.0, lowest, highest), 0.0)
    assert np.all(np.maximum(force - most, least - force) <= 1e-9 * size)


def test_friction_is_that_of_the_model() -> None:
    """Sliding friction of every kind, smooth and dry, as RobotModel.friction_torque has it from the kernels."""
    rng = np.random.default_rng(5)
    model = plants.random_robot(rng)
    assert (model.packed.friction.max(axis=0) > 0.0).all(), "some joint has each kind"
    rows = [model.packed.moving_joints.index(name) for name in model.joint_names]
    friction = Friction(model.packed.friction[rows])
    for _ in range(50):
        q, v = rng.uniform(-3, 3, model.n), rng.uniform(-1, 1, model.n)
        mine = friction.smooth(v) + friction.sliding(q, v, np.sign(v))
        assert mine == pytest.approx(model.friction_torque(q, v), rel=1e-12, abs=1e-14)


# --- Motion


@pytest.mark.parametrize(("mu", "static"), [(0.5, 0.0), (0.9, 0.0), (0.5, 0.75)])
def test_mass_thrown_up_a_slope(mu: float, static: float) -> None:
    """Slope of 35 degrees, tan = 0.70: up to v0^2 / (2 g (sin + mu cos)); then it stays where the level is over tan.

    Else it slides back with g (sin - mu cos).
    """
    mass, g, v0, slope = 1.5, 9.81, 2.0, math.radians(35)
    normal = mass * g * math.cos(slope)
    gravity = (-g * math.sin(slope), 0, -g * math.cos(slope))
    block = arms.Arm(
        (arms.Link("base"), arms.Link("block", mass)),
        (arms.Joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), limit=plants.WIDE),),
    )
    friction = {"coulomb": mu * normal, "static": max(mu, static) * normal}
    model = plants.with_friction(block.urdf, {"slide": friction}, gravity=gravity)
    plant = EventPlant(model, 0.1, initial_velocities=[v0])
    plant.step([0.0], 10)
    up, down = g * (math.sin(slope) + mu * math.cos(slope)), g * (math.sin(slope) - mu * math.cos(slope))
    top, left = v0**2 / (2 * up), 1.0 - v0 / up
    if max(mu, static) > math.tan(slope):
        assert plant.position[0] == pytest.approx(top, rel=1e-12)
        assert plant.velocity[0] == 0.0
        assert plant.stuck[0]
    else:
        assert plant.position[0] == pytest.approx(top - down * left**2 / 2, rel=1e-11)
        assert plant.velocity[0] == pytest.approx(-down * left, rel=1e-11)


def test_pendulum_swings_out_by_its_energy() -> None:
    """Between turning points a, b: m g l (cos b - cos a) = tau_c (|a| + |b|), until friction holds; to 1e-11."""
    mass, length, coulomb, turn = 2.0, 0.5, 0.6, 1.2
    plant = EventPlant(plants.pendulum(mass, length, coulomb).model, 1.0, initial_positions=[turn])
    weight = mass * 9.81 * length
    while weight * math.sin(abs(turn)) > coulomb:
        low, high = 0.0, abs(turn)
        for _ in range(60):
            middle = (low + high) / 2
            rest = weight * (math.cos(middle) - math.cos(turn)) - coulomb * (abs(turn) + middle)
            low, high = (middle, high) if rest > 0.0 else (low, middle)
        turn = -math.copysign(low, turn)
    plant.step([0.0], 20)
    assert plant.stuck[0]
    assert plant.position[0] == pytest.approx(turn, rel=0, abs=1e-11)


def test_motion_does_not_depend_on_how_it_is_cut_into_steps() -> None:
    friction = {"joint1": {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1}, "joint2": {"coulomb": 1.0}}
    model = plants.planar(friction, limit2=LIMIT)
    ends = []
    for step, count, calls in ((0.1, 1, 6), (0.01, 10, 6), (0.01, 1, 60)):
        plant = EventPlant(model, step, initial_positions=[0.3, -0.2])
        for _ in range(calls):
            plant.step([8.0, 3.0], count)
        ends.append(np.concatenate([plant.position, plant.velocity]))
        assert plant.time == pytest.approx(0.6)
    assert np.abs(ends[0] - ends[1]).max() < 1e-9
    assert np.abs(ends[0] - ends[2]).max() < 1e-9


def test_external_wrench_moves_the_arm() -> None:
    """A force of m g along -x on a block for 1 s: v = -g; half of it does not move it where friction is m g."""
    model = plants.slider(2.0, 0.0, (0, 0, -9.81)).model
    plant = EventPlant(model)
    plant.step([0.0], 1000, {"block": [-2.0 * 9.81, 0, 0, 0, 0, 0]})
    assert plant.velocity[0] == pytest.approx(-9.81, rel=1e-12)
    assert plant.position[0] == pytest.approx(-9.81 / 2, rel=1e-12)
    held = EventPlant(plants.slider(2.0, 2.0 * 9.81, (0, 0, -9.81)).model)
    held.step([0.0], 1000, {"block": [-9.81, 0, 0, 0, 0, 0]})
    assert held.position[0] == 0.0


# --- Limits


@pytest.mark.parametrize("coulomb", [0.0, 0.5])
@pytest.mark.parametrize(("force", "limit"), [(7.0, 0.5), (-7.0, -0.4)])
def test_mass_driven_into_a_limit_stops_and_leaves_it_again(coulomb: float, force: float, limit: float) -> None:
    """It lies there, pressed and not stuck; with less force than friction it is stuck; then q = limit + a t^2 / 2."""
    plant = EventPlant(plants.slider(1.3, coulomb, (0, 0, -9.81), limit=LIMIT).model, 0.1)
    plant.step([force], 10)
    assert plant.position[0] == limit
    assert plant.velocity[0] == 0.0
    assert not plant.stuck[0]
    plant.step([0.0], 10)
    assert plant.position[0] == limit
    assert plant.stuck[0] == (coulomb > 0.0)
    plant.step([-force / 7.0], 5)
    acceleration = -math.copysign(1.0 - coulomb, force) / 1.3
    assert plant.position[0] == pytest.approx(limit + acceleration * 0.5**2 / 2, rel=1e-11)


def test_joint_beyond_its_limit_is_not_pushed_but_may_come_back() -> None:
    model = plants.slider(1.3, 0.0, (0, 0, -9.81), LIMIT).model
    plant = EventPlant(model, 0.1, initial_positions=[0.7], initial_velocities=[2.0])
    plant.step([5.0])
    assert plant.position[0] == 0.7
    assert plant.velocity[0] == 0.0
    plant.step([-1.0])
    assert 0.5 < plant.position[0] < 0.7
    assert plant.velocity[0] < 0.0
    plant.step([100.0])
    assert 0.5 < plant.position[0] < 0.7, "beyond the limit it does not turn outwards again"
    plant.step([-5.0], 20)
    assert plant.position[0] == -0.4


def test_impact_tears_a_stuck_neighbour_loose() -> None:
    """Joint 2 flies into its limit while friction holds joint 1: v+ = v - M^-1 e2 v2 / (M^-1)_22.

    From there the arm turns as one body, joint 2 pressed on its limit, and stops after M_11 v1^2 / (2 tau_c). A
    plant comes to the same place, to first order.
    """
    coulomb, speed = 8.0, 3.0
    model = plants.planar({"joint1": {"coulomb": coulomb}}, gravity=(0, 0, 0), limit2=LIMIT)
    inverse = np.linalg.inv(model.mass_matrix([0.0, 0.5]))
    v1 = -inverse[0, 1] / inverse[1, 1] * speed
    assert v1 > 0.5
    stop = model.mass_matrix([0.0, 0.5])[0, 0] * v1**2 / (2 * coulomb)
    start = {"initial_positions": [0.0, 0.4], "initial_velocities": [0.0, speed]}
    # Joint 1 holds: the centrifugal force on it, m2 l1 lc2 sin q2 v2^2, is at most 1.3 Nm.
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


def _thrown() -> EventPlant:
    """Joints 1 and 2, pressed towards their lower and upper limit, throw each other off by ever smaller jumps."""
    limit = '<limit lower="-0.5" upper="0.5" effort="100" velocity="10"/>'
    model = plants.planar({}, gravity=(0, 0, 0), limit1=limit, limit2=limit)
    return EventPlant(model, 0.5, initial_positions=[-0.5, 0.5], initial_velocities=[0.3, 0.0])


PRESS = [-5.0, 2.0]


def test_ever_smaller_jumps_come_to_rest() -> None:
    plant = _thrown()
    plant.step(PRESS, 6)
    assert plant.position.tolist() == [-0.5, 0.5]
    assert not plant.velocity.any()


def test_events_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jumps above, if their end were not seen; the state stays."""
    monkeypatch.setattr(event_motion, "_TOUCH", -1.0)
    plant = _thrown()
    before = _state(plant)
    with pytest.raises(RobotDynamicsError, match='"joint[12]" starts, stops.*ever faster.*Cure: use a Plant'):
        plant.step(PRESS, 6)
    assert _state(plant) == before


# --- As an object


def test_reset_goes_back_to_the_start(load_robot: Callable[..., Any]) -> None:
    plant = EventPlant(load_robot("panda", "panda_coulomb"), initial_positions=PANDA)
    start = _state(plant)
    assert start == (0.0, PANDA, [0.0] * 7, [True] * 7, [0.0] * 7)
    runs = []
    for _ in range(2):
        plant.step(np.ones(7), 20)
        runs.append(_state(plant))
        plant.reset()
        assert _state(plant) == start
    assert runs[0] == runs[1] != start


def test_torque_is_clamped_to_the_effort_limits(load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda", "panda_coulomb")
    plant = EventPlant(model, initial_positions=PANDA)
    tau = np.array([1e3, -1e3, 1.0, 0.0, 1e3, -1e3, 2.0])
    plant.step(tau)
    assert np.array_equal(plant.effort, np.clip(tau, -model.effort_limits, model.effort_limits))
    assert np.abs(plant.velocity).max() < 50.0


def test_starts_at_zero_or_at_the_nearest_limit(load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda")
    plant = EventPlant(model)
    assert np.array_equal(plant.position, np.clip(0.0, model.position_lower, model.position_upper))
    assert not plant.stuck.any()
    assert plant.model is model
    assert plant.step_size == 0.001


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, np.nan],), "tau.*joint2.*nan"),
        (([0.0],), r"tau.*\(1,\)"),
        (([0.0, 0.0], 0), "count is 0"),
        (([0.0, 0.0], 1, {"link2": [np.nan] * 6}), "link2.*not finite"),
        (([0.0, 0.0], 1, {"nothing": np.zeros(6)}), "nothing"),
    ],
)
def test_bad_arguments_are_refused_and_the_state_kept(arguments: Any, words: str) -> None:
    plant = EventPlant(plants.planar({}))
    plant.step([1.0, 0.0])
    before = _state(plant)
    with pytest.raises(RobotDynamicsError, match=f"(?s){words}"):
        plant.step(*arguments)
    assert _state(plant) == before


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"step_size": 0.0}, "step_size"),
        ({"initial_positions": [0.0]}, r"initial_positions.*\(1,\)"),
        ({"initial_velocities": [0.0, np.inf]}, "initial_velocities.*joint2.*inf"),
    ],
)
def test_bad_settings_are_refused(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(RobotDynamicsError, match=words):
        EventPlant(plants.planar({}), **keywords)


def test_coupled_joints_are_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(3), [0, 1], ["revolute", "prismatic"])
    first, second = arm.movable
    arm = arm.with_joint(second, extra=f'<mimic joint="{first}" multiplier="0.5"/>')
    with pytest.raises(RobotModelError, match="event method.*Cure: use a Plant, or lock them"):
        EventPlant(RobotModel.from_urdf(arm.urdf))


@pytest.mark.filterwarnings("ignore")
def test_singular_mass_matrix_is_refused() -> None:
    """Two sliders along the same line, the first without mass of its own, move but one mass."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("rail"), arms.Link("block", 1.0)),
        (
            arms.Joint("first", "prismatic", "base", "rail", axis=(1, 0, 0)),
            arms.Joint("second", "prismatic", "rail", "block", axis=(1, 0, 0)),
        ),
    )
    plant = EventPlant(RobotModel.from_urdf(arm.urdf))
    with pytest.raises(RobotDynamicsError, match="(?s)in the 1 steps from t = 0 s.*positive definite"):
        plant.step([1.0, -1.0])
    assert plant.time == 0.0


def test_motion_that_is_too_stiff_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time constant of a microsecond: millions of evaluations a second."""
    monkeypatch.setattr(event_motion, "_MOST_EVALUATIONS", 2000)
    plant = EventPlant(plants.turning(0.01, viscous=1e4), initial_velocities=[1.0])
    with pytest.raises(RobotDynamicsError, match='"turn".*too stiff'):
        plant.step([0.0], 1000)
    assert plant.velocity[0] == 1.0
    with pytest.raises(RobotDynamicsError, match="joint1.*cannot be followed|joint1.*too fast"):
        EventPlant(plants.planar({}), initial_velocities=[1e200, 0.0]).step([0.0, 0.0])

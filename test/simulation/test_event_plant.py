"""The event method: friction, joints at rest that move, impacts, and motion that it cannot follow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.kernels import layout
from support import arms, event_plant, plants
from support.event_plant import EventFriction, EventPlant, settle

LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'
PRESS = [-5.0, 2.0]
Array = NDArray[np.float64]


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
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-9


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


def test_ever_smaller_jumps_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """If their end were not seen, they would be refused."""
    plant = _thrown()
    plant.step(PRESS, 6)
    assert plant.position.tolist() == [-0.5, 0.5] and not plant.velocity.any()
    monkeypatch.setattr(event_plant, "_TOUCH", -1.0)
    plant = _thrown()
    with pytest.raises(RobotDynamicsError, match='"joint[12]".*ever faster'):
        plant.step(PRESS, 6)
    assert (plant.time, *plant.position, *plant.velocity) == (0.0, -0.5, 0.5, 0.3, 0.0), "the state stays"


def test_motion_that_is_too_stiff_or_too_fast_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time constant of a microsecond: millions of evaluations a second; and speeds whose squares are infinite."""
    monkeypatch.setattr(event_plant, "_MOST_EVALUATIONS", 2000)
    plant = EventPlant(plants.turning(0.01, viscous=1e4), initial_velocities=[1.0])
    with pytest.raises(RobotDynamicsError, match='in the 1000 steps from t = 0 s.*"turn".*too stiff'):
        plant.step([0.0], 1000)
    assert plant.velocity[0] == 1.0
    with pytest.raises(RobotDynamicsError, match="joint1.*cannot be followed|joint1.*too fast"):
        EventPlant(plants.planar({}), initial_velocities=[1e200, 0.0]).step([0.0, 0.0])


def test_coupled_joints_are_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(3), [0, 1], ["revolute", "prismatic"])
    first, second = arm.movable
    arm = arm.with_joint(second, extra=f'<mimic joint="{first}" multiplier="0.5"/>')
    with pytest.raises(RobotModelError, match="mimic"):
        EventPlant(RobotModel.from_urdf(arm.urdf))


def _table(*joints: dict[int, float]) -> Array:
    table = np.zeros((len(joints), layout.FRICTION_SIZE))
    for row, values in zip(table, joints, strict=True):
        row[list(values)] = list(values.values())
    return table


PLAIN = {layout.COULOMB: 3.0, layout.COULOMB_NEGATIVE: 2.0}
STATIC = {**PLAIN, layout.STATIC: 5.0}
STRIBECK = {**STATIC, layout.STRIBECK_VELOCITY: 0.1}
RIPPLE = {**PLAIN, layout.RIPPLE_AMPLITUDE: 2.5, layout.RIPPLE_PER_TURN: 12.0, layout.RIPPLE_PHASE: 0.5}
LOW_STATIC = {**PLAIN, layout.STATIC: 2.5}


def test_dry_friction_by_hand() -> None:
    """At rest the static level, where it is above the Coulomb level; sliding, what Stribeck's curve leaves of it.

    A ripple never pushes: at q = 0.35 it would take more than the backward level.
    """
    friction = EventFriction(_table(PLAIN, STATIC, STRIBECK, RIPPLE, LOW_STATIC, RIPPLE))
    q = np.array([0.3, 0.3, 0.3, 0.2, 0.3, 0.35])
    wave, trough = (2.5 * math.sin(12.0 * x + 0.5) for x in (0.2, 0.35))
    assert trough < -2.4
    assert friction.at_rest(q)[0] == pytest.approx([3.0, 5.0, 5.0, 3.0 + wave, 3.0, 3.0 + trough])
    assert friction.at_rest(q)[1] == pytest.approx([2.0, 5.0, 5.0, 2.0 + wave, 2.5, 0.0])
    assert friction.starting(q)[0] == pytest.approx([3.0, 3.0, 5.0, 3.0 + wave, 3.0, 3.0 + trough])
    assert friction.starting(q)[1] == pytest.approx([2.0, 2.0, 5.0, 2.0 + wave, 2.0, 0.0])
    for speed in (0.05, 0.1, 0.2):
        fall = math.exp(-((speed / 0.1) ** 2))
        forward = friction.sliding(q, np.full(6, speed), np.ones(6))
        assert forward == pytest.approx([3.0, 3.0, 3.0 + 2.0 * fall, 3.0 + wave, 3.0, 3.0 + trough])
        backward = friction.sliding(q, np.full(6, -speed), -np.ones(6))
        assert backward == pytest.approx([-2.0, -2.0, -2.0 - 3.0 * fall, -2.0 - wave, -2.0, 0.0])
    assert not friction.sliding(q, np.zeros(6), np.zeros(6)).any()


@pytest.mark.parametrize(
    "kind", [layout.COULOMB, layout.COULOMB_NEGATIVE, layout.STATIC, layout.RIPPLE_AMPLITUDE, layout.VISCOUS]
)
def test_only_dry_friction_holds_a_joint(kind: int) -> None:
    assert EventFriction(_table({kind: 0.5}, {})).dry.tolist() == [kind != layout.VISCOUS, False]


def test_friction_is_that_of_the_model() -> None:
    """Sliding friction of every kind, smooth and dry, as RobotModel.friction_torque has it from the kernels."""
    rng = np.random.default_rng(5)
    model = plants.random_robot(rng)
    assert (model.packed.friction.max(axis=0) > 0.0).all(), "some joint has each kind"
    rows = [model.packed.moving_joints.index(name) for name in model.joint_names]
    friction = EventFriction(model.packed.friction[rows])
    for _ in range(50):
        q, v = rng.uniform(-3, 3, model.n), rng.uniform(-1, 1, model.n)
        mine = friction.smooth(v) + friction.sliding(q, v, np.sign(v))
        assert mine == pytest.approx(model.friction_torque(q, v), rel=1e-12, abs=1e-14)


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


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_load_at_the_very_bound_moves_nothing_and_one_above_does(sign: float, unit: float) -> None:
    """Rounding of the load is no reason to start, in any unit."""
    bounds = np.array([-0.3 * unit]), np.array([0.3 * unit])
    mass, rest = np.array([[1e-3]]), np.array([True])
    for load, moved in ((0.1 + 0.2, False), (0.3 * (1 + 1e-15), False), (0.3 * (1 + 1e-11), True)):
        a, moves = settle(mass, np.array([sign * unit * load]), rest, *bounds)
        assert moves[0] == moved == (a[0] != 0.0)
        assert a[0] * sign == pytest.approx(unit * (load - 0.3) / 1e-3 if moved else 0.0, abs=1e-12 * unit)


def test_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try lets one joint go: three need four tries."""
    problem = np.eye(3), np.ones(3), np.ones(3, bool), np.full(3, -0.5), np.full(3, 0.5)
    monkeypatch.setattr(event_plant, "_MOST_PIVOTS", 4)
    assert settle(*problem)[0].tolist() == [0.5, 0.5, 0.5]
    monkeypatch.setattr(event_plant, "_MOST_PIVOTS", 3)
    with pytest.raises(RobotDynamicsError, match="which joints stick"):
        settle(*problem)


def test_joints_without_load_stay_at_rest() -> None:
    acceleration, moves = settle(np.eye(2), np.zeros(2), np.ones(2, bool), np.zeros(2), np.zeros(2))
    assert not acceleration.any() and not moves.any()

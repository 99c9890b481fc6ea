"""Friction of the event method, and who of the joints at rest moves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.simulation import event_friction
from robot_dynamics_ros.simulation.event_friction import Friction, settle
from support import plants

Array = NDArray[np.float64]


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
    """At rest the static level, where it is above the Coulomb level; sliding, what Stribeck's curve leaves of it."""
    friction = Friction(_table(PLAIN, STATIC, STRIBECK, RIPPLE, LOW_STATIC))
    q = np.array([0.3, 0.3, 0.3, 0.2, 0.3])
    wave = 2.5 * math.sin(12.0 * 0.2 + 0.5)
    assert friction.at_rest(q)[0] == pytest.approx([3.0, 5.0, 5.0, 3.0 + wave, 3.0])
    assert friction.at_rest(q)[1] == pytest.approx([2.0, 5.0, 5.0, 2.0 + wave, 2.5])
    assert friction.starting(q)[0] == pytest.approx([3.0, 3.0, 5.0, 3.0 + wave, 3.0])
    assert friction.starting(q)[1] == pytest.approx([2.0, 2.0, 5.0, 2.0 + wave, 2.0])
    for speed in (0.05, 0.1, 0.2):
        fall = math.exp(-((speed / 0.1) ** 2))
        forward = friction.sliding(q, np.full(5, speed), np.ones(5))
        assert forward == pytest.approx([3.0, 3.0, 3.0 + 2.0 * fall, 3.0 + wave, 3.0])
        backward = friction.sliding(q, np.full(5, -speed), -np.ones(5))
        assert backward == pytest.approx([-2.0, -2.0, -2.0 - 3.0 * fall, -2.0 - wave, -2.0])
    assert not friction.sliding(q, np.zeros(5), np.zeros(5)).any()


def test_a_ripple_never_pushes() -> None:
    friction = Friction(_table(RIPPLE))
    for q in np.linspace(-1.0, 1.0, 40):
        expected = max(0.0, 2.0 + 2.5 * math.sin(12.0 * q + 0.5))
        assert friction.at_rest(np.array([q]))[1][0] == pytest.approx(expected, abs=1e-12)
        assert friction.sliding(np.array([q]), -np.ones(1), -np.ones(1))[0] == pytest.approx(-expected, abs=1e-12)


@pytest.mark.parametrize(
    "kind", [layout.COULOMB, layout.COULOMB_NEGATIVE, layout.STATIC, layout.RIPPLE_AMPLITUDE, layout.VISCOUS]
)
def test_only_dry_friction_holds_a_joint(kind: int) -> None:
    assert Friction(_table({kind: 0.5}, {})).dry.tolist() == [kind != layout.VISCOUS, False]


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
    monkeypatch.setattr(event_friction, "_MOST_PIVOTS", 4)
    assert settle(*problem)[0].tolist() == [0.5, 0.5, 0.5]
    monkeypatch.setattr(event_friction, "_MOST_PIVOTS", 3)
    with pytest.raises(RobotDynamicsError, match="which joints stick"):
        settle(*problem)

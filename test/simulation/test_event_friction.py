"""Friction of the event method by hand, and who moves against trying all cases."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.simulation import event_friction
from robot_dynamics_ros.simulation.event_friction import Friction, move, settle

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


def test_smooth_friction_by_hand() -> None:
    """2 v, and the sigmoid of Gaz et al. 2019, 3 / (1 + exp(-4 (v + 0.2))), less its value at rest."""
    sigmoid = {layout.SIGMOID_AMPLITUDE: 3.0, layout.SIGMOID_SLOPE: 4.0, layout.SIGMOID_SHIFT: 0.2}
    friction = Friction(_table({layout.VISCOUS: 2.0}, sigmoid, {layout.VISCOUS: 2.0, **sigmoid}, PLAIN))
    for v in (-1.3, -0.2, 0.0, 0.7):
        rise = 3.0 / (1.0 + math.exp(-4.0 * (v + 0.2))) - 3.0 / (1.0 + math.exp(-4.0 * 0.2))
        assert friction.smooth(np.full(4, v)) == pytest.approx([2.0 * v, rise, 2.0 * v + rise, 0.0], abs=1e-14)


def _problem(seed: int) -> tuple[Array, Array, NDArray[np.bool_], Array, Array]:
    """Matrix, load, who rests, bounds: loads from nothing to far above the bounds, some bounds 0, some infinite."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    half = rng.standard_normal((n, n))
    load = rng.choice([0.1, 1.0, 5.0], n) * rng.standard_normal(n)
    lowest = -rng.choice([0.0, 0.3, 1.0, np.inf], n)
    highest = rng.choice([0.0, 0.5, 2.0, np.inf], n)
    return half @ half.T + 0.1 * np.eye(n), load, rng.random(n) < 0.8, lowest, highest


@pytest.mark.parametrize("seed", range(40))
def test_who_moves_is_the_best_of_all_cases(seed: int) -> None:
    """Of all who move, and which way, the one with the least 1/2 a^T M a - a^T load + friction; by definition."""
    matrix, load, rest, lowest, highest = _problem(seed)
    best, least = np.zeros(len(load)), np.inf
    for signs in itertools.product(*([0, 1, -1] if resting else [2] for resting in rest)):
        way = np.array(signs)
        force = np.select([way == 1, way == -1], [lowest, highest], 0.0)
        if not np.isfinite(force).all():
            continue
        a, free = np.zeros(len(load)), way != 0
        a[free] = np.linalg.solve(matrix[np.ix_(free, free)], (load + force)[free])
        if np.any(rest & (a * way < 0.0)):
            continue
        value = a @ matrix @ a / 2 - a @ (load + force)
        if value < least:
            best, least = a, value
    a, moves = settle(matrix, load, rest, lowest, highest)
    assert a == pytest.approx(best, rel=1e-10, abs=1e-12)
    assert np.array_equal(moves, ~rest | (best != 0.0))


def test_the_force_that_holds_is_that_of_statics() -> None:
    """Two of three joints held: M a - load on those, 0 on the one that moves."""
    matrix, load = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]]), np.array([1.0, 2.0, -6.0])
    acceleration, force = move(matrix, load, np.array([False, True, False]))
    assert acceleration.tolist() == [0.0, 2.0, 0.0]
    assert force == pytest.approx([0.5 * 2.0 - 1.0, 0.0, 0.2 * 2.0 + 6.0], rel=1e-15)
    assert force[1] == 0.0


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


def test_without_load_nothing_starts() -> None:
    a, moves = settle(np.eye(2), np.zeros(2), np.ones(2, bool), np.zeros(2), np.zeros(2))
    assert not a.any()
    assert not moves.any()


def test_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try lets one joint go: three need four tries."""
    problem = np.eye(3), np.ones(3), np.ones(3, bool), np.full(3, -0.5), np.full(3, 0.5)
    monkeypatch.setattr(event_friction, "_MOST_PIVOTS", 4)
    assert settle(*problem)[0].tolist() == [0.5, 0.5, 0.5]
    monkeypatch.setattr(event_friction, "_MOST_PIVOTS", 3)
    with pytest.raises(RobotDynamicsError, match="which joints stick.*Cure: check the masses"):
        settle(*problem)

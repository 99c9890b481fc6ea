"""Plants with coupled joints (mimic fingers, remotely driven elbows, parallelogram five-bars), and their friction
problem along combinations of coordinates.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant, PlantBatch
from robot_dynamics_ros.simulation.step import friction_problem, row
from support import arms, coupled_arms, mechanisms, plants, robots_with_drives
from support.friction_problems import Problem, random_rows

ROOM = '<limit lower="-3" upper="3" effort="1000" velocity="100"/>'


def _gripper(leader: str, follower: str, other: str = ROOM) -> RobotModel:
    """Return a gripper with two prismatic fingers along x and y; the second mimics the first by -0.5."""
    follower += '<mimic joint="first" multiplier="-0.5" offset="0.1"/>'
    first = arms.Joint(
        "first", "prismatic", "base", "left", axis=(1, 0, 0), limit=ROOM, extra=leader
    )
    second = arms.Joint(
        "second",
        "prismatic",
        "base",
        "right",
        axis=(0, 1, 0),
        limit=other,
        extra=follower,
    )
    links = (arms.Link("base"), arms.Link("left", 0.3), arms.Link("right", 0.4))
    return RobotModel.from_urdf(arms.Arm(links, (first, second)).urdf)


def _friction(damping: float, level: float) -> str:
    return f'<dynamics damping="{damping!r}" friction="{level!r}"/>'


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
def test_friction_of_a_mimic_finger_acts_on_the_coordinate(integrator: str) -> None:
    """By virtual work it adds |factor| times its Coulomb torque and factor^2 times its viscous friction."""
    both = Plant(_gripper(_friction(1.0, 2.0), _friction(4.0, 1.0)), integrator)
    one = Plant(_gripper(_friction(1.0 + 4.0 / 4, 2.0 + 1.0 / 2), ""), integrator)
    for force in (2.4999, 2.5001, 6.0, 0.0, -9.0, 0.0):
        both.step([force], 200)
        one.step([force], 200)
        assert both.position == pytest.approx(one.position, abs=1e-14)
        assert both.velocity == pytest.approx(one.velocity, abs=1e-14)
        assert both.stuck[0] == one.stuck[0] and (both.position[0] == 0.0) == (
            force == 2.4999
        )
    assert both.stuck[0]


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
def test_limit_of_a_mimic_finger_stops_the_coordinate(integrator: str) -> None:
    """Second = 0.1 - first / 2 with limits -0.2 and 0.3: first is limited to -0.4 and 0.6."""
    narrow = '<limit lower="-0.2" upper="0.3" effort="1000" velocity="100"/>'
    plant = Plant(_gripper("", "", other=narrow), integrator)
    plant.step([5.0], 2000)
    assert plant.position[0] == pytest.approx(0.6, abs=1e-15)
    plant.step([-5.0], 3000)
    assert plant.position[0] == pytest.approx(-0.4, abs=1e-15)
    assert plant.velocity[0] == 0.0


def _planar(
    coupled: bool, friction: dict[str, dict[str, float]], limit: str = ROOM
) -> RobotModel:
    """Return the planar elbow arm, driven at its joints, or remotely by p1 and p2: q2 = p2 - p1, Spong (9.89)."""
    joint1 = arms.Joint(
        "joint1", "revolute", "base", "upper", axis=(0, -1, 0), limit=ROOM
    )
    joint2 = arms.Joint(
        "joint2", "revolute", "upper", "fore", (0.6, 0, 0), axis=(0, -1, 0), limit=limit
    )
    links = (
        arms.Link("base"),
        arms.Link("upper", 1.1, (0.3, 0, 0)),
        arms.Link("fore", 0.7, (0.25, 0, 0)),
    )
    content: dict[str, Any] = {"joints": friction}
    if coupled:
        content["coordinates"] = ["p1", "p2"]
        content["couplings"] = {
            "joint1": {"p1": 1.0},
            "joint2": {"p1": -1.0, "p2": 1.0},
        }
    return robots_with_drives.load(arms.Arm(links, (joint1, joint2)), content)


@pytest.mark.parametrize(
    ("integrator", "limit", "tolerance"),
    [
        ("rk4", ROOM, 1e-10),
        ("semi_implicit", ROOM, 1e-10),
        (
            "semi_implicit",
            '<limit lower="-0.5" upper="0.4" effort="1000" velocity="100"/>',
            1e-8,
        ),
    ],
)
def test_remotely_driven_elbow_moves_as_one_driven_at_its_joints(
    integrator: str, limit: str, tolerance: float
) -> None:
    """The same arm in other coordinates, tau_p = G^T tau_q, with friction and limits of the joints."""
    friction = {
        "joint1": {"viscous": 2.0, "coulomb": 2.0},
        "joint2": {"viscous": 1.0, "coulomb": 1.0},
    }
    g = np.array([[1.0, 0.0], [-1.0, 1.0]])
    start = np.array([-1.2, 0.2])
    remote = Plant(
        _planar(True, friction, limit),
        integrator,
        initial_positions=np.linalg.solve(g, start),
    )
    direct = Plant(_planar(False, friction, limit), integrator, initial_positions=start)
    stuck = np.zeros(2, dtype=bool)
    for k in range(300):
        tau = np.array([4.0 * np.sin(0.05 * k), 2.0 * np.cos(0.11 * k)])
        remote.step(g.T @ tau, 10)
        direct.step(tau, 10)
        stuck |= direct.stuck
        assert g @ remote.position == pytest.approx(direct.position, abs=tolerance)
        assert g @ remote.velocity == pytest.approx(
            direct.velocity, abs=100 * tolerance
        )
    assert stuck.all() and np.abs(direct.position - start).max() > 0.2


FIVE_BAR = {
    f"joint{k}": {"coulomb": c} for k, c in ((1, 0.9), (2, 0.7), (3, 0.4), (4, 0.3))
}
# Proportional joints share a constraint row, here joints 3 and 4.
LINES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
LEVELS = np.array([0.9, 0.7, 0.7])


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
def test_five_bar_at_rest_does_not_drift(integrator: str) -> None:
    """More rows stick than there are coordinates; the load is 0.999 of their total friction bound."""
    model = mechanisms.five_bar(False, FIVE_BAR)
    start = np.array([0.4, 1.3])
    for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 0.3]):
        # Largest load, by a ratio test over all directions of motion: friction work against the work of the load.
        ways = [np.array(w) for w in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])]
        ways += [-w for w in ways]
        most = min(
            LEVELS @ np.abs(LINES @ w) / (w @ direction)
            for w in ways
            if w @ direction > 1e-9
        )
        for factor in (0.999, 1.001):
            plant = Plant(model, integrator, initial_positions=start)
            plant.step(
                model.gravity_torque(start) + factor * most * np.array(direction),
                5000 if factor < 1.0 else 50,
            )
            assert np.array_equal(plant.position, start) == (factor < 1.0)
            assert plant.stuck.all() == (factor < 1.0) and plant.residual < 1e-9


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31 - 1), integrator=st.sampled_from(plants.INTEGRATORS))
def test_five_bar_in_motion_satisfies_the_optimality_conditions(
    seed: int, integrator: str
) -> None:
    """The friction impulse is E^T lambda, lambda_k = -bound sign(z_k), or within the bound for z_k = 0."""
    rng = np.random.default_rng(seed)
    start: dict[str, Any] = {
        "initial_positions": [0.4, 1.3],
        "initial_velocities": rng.normal(size=2),
    }
    plant = Plant(mechanisms.five_bar(False, FIVE_BAR), integrator, **start)
    for _ in range(60):
        plant.step(plant.model.gravity_torque(plant.position) + rng.normal(0.0, 3.0, 2))
        z = LINES @ plant.velocity
        still = np.abs(z) < 1e-12
        low = np.where(still, -LEVELS, -LEVELS * np.sign(z))
        high = np.where(still, LEVELS, -LEVELS * np.sign(z))
        answer = lsq_linear(
            LINES.T,
            plant.impulse / plant.step_size,
            (low - 1e-11, high + 1e-11),
            tol=1e-14,
        )
        assert (
            np.abs(answer.fun).max() < 1e-9 and plant.impulse @ plant.velocity <= 1e-15
        )
        assert plant.residual < 1e-9


@given(robot=robots_with_drives.robots(friction=True, payload=False))
@settings(max_examples=20)
def test_any_coupled_robot_loses_energy_to_friction(
    robot: robots_with_drives.Robot,
) -> None:
    """Without torque the total energy never increases by more than the integration error."""
    model = robot.model()
    rng = np.random.default_rng(robot.seed)
    plant = Plant(model, "rk4", 1e-4, initial_positions=rng.uniform(-0.5, 0.5, model.n))
    energy = mechanisms.energy(plant)
    for _ in range(20):
        plant.step(np.zeros(model.n), 5)
        assert plant.impulse @ plant.velocity <= 1e-12 * (
            1.0 + np.abs(plant.impulse) @ np.abs(plant.velocity)
        )
        after = mechanisms.energy(plant)
        assert after <= energy + 1e-6 * (1.0 + abs(energy))
        energy = after
        assert plant.residual < 1e-8 * (1.0 + np.abs(plant.velocity).max())


def test_stuck_joints_of_a_batch() -> None:
    """With more rows than coordinates, and some of the plants moving."""
    model = mechanisms.five_bar(False, FIVE_BAR)
    start = np.array([0.4, 1.3])
    rates = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    many = PlantBatch(model, 4, initial_positions=start, initial_velocities=rates)
    each = [
        Plant(model, initial_positions=start, initial_velocities=rate).stuck
        for rate in rates
    ]
    assert np.array_equal(many.stuck, each) and np.array_equal(many.stuck, rates == 0.0)


# --- The friction problem


def _sum_of_two(
    free: float,
    lower: float = -4.0,
    upper: float = 5.0,
    bounds: tuple[float, float] = (1, 3),
) -> Problem:
    """Return a problem with A = 1 and one row z = v1 + v2 of unconstrained velocity ``free``: z = free + 2 lambda."""
    rest = (np.array([x], dtype=float) for x in (*bounds, lower, upper))
    return Problem(np.eye(2), np.array([free - 10.0, 10.0]), *rest, np.ones((1, 2)))


def _one_coordinate(
    free: float, factors: list[float], bound: float, lower: float, upper: float
) -> Problem:
    """Return a problem with A = 1 and rows that are multiples of one coordinate, with equal friction and limits."""
    rest = (np.full(len(factors), x) for x in (bound, bound, lower, upper))
    return Problem(np.eye(1), np.array([free]), *rest, np.array(factors)[:, np.newaxis])


@given(
    seed=st.integers(0, 2**31 - 1),
    n=st.integers(1, 5),
    extra=st.integers(-2, 4),
    whole=st.booleans(),
)
def test_solution_satisfies_the_optimality_conditions(
    seed: int, n: int, extra: int, whole: bool
) -> None:
    rng = np.random.default_rng(seed)
    count = max(1, n + extra)
    p = random_rows(rng, n, count, whole=whole)
    v, impulse, error, _ = p.solved(rng.integers(0, 5, count))
    assert p.violation(v) < 1e-8 and error < 1e-8 * (1.0 + np.abs(p.free).max())
    assert impulse @ (p.directions @ v) <= 1e-12


def test_dependent_rows() -> None:
    """At degenerate points an active-set method could cycle."""
    worst = 0.0
    for seed in range(2_000):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 4))
        count = n + int(rng.integers(0, 5))
        p = random_rows(rng, n, count, whole=True)
        worst = np.maximum(worst, p.solved(rng.integers(0, 5, count))[2])  # keeps NaN
    assert worst < 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_solution_is_the_best_of_all_combinations_of_modes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    count = int(rng.integers(1, 4))
    p = random_rows(rng, n, count, whole=True)
    modes = rng.integers(0, 5, count)
    v, impulse, error, _ = p.solved(modes)
    assert np.abs(v - p.brute_force()).max() < 1e-8 and error < 1e-9
    z = p.directions @ v
    room = 1e-9
    ends = {row.AT_LOWER: p.lower, row.STUCK: np.zeros(count), row.AT_UPPER: p.upper}
    for k, mode in enumerate(modes):
        if mode in ends:
            assert z[k] == pytest.approx(ends[mode][k], abs=room)
        elif p.forward[k] + p.backward[k] > 0.0:
            assert z[k] > -room if mode == row.FORWARD else z[k] < room
            assert impulse[k] == (
                -p.forward[k] if mode == row.FORWARD else p.backward[k]
            )
    again, same, _, solves = p.solved(modes)
    assert solves == 1, "the solution's own pattern leads there at once"
    assert again == pytest.approx(v, abs=1e-12)
    assert same == pytest.approx(impulse, abs=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
@pytest.mark.parametrize("seed", range(30))
def test_descent_takes_as_many_solves_as_the_reference(seed: int, unit: float) -> None:
    """From modes other than those of the solution, the number of solves is that of the reference implementation."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    count = int(rng.integers(2, n + 1))
    p = random_rows(rng, n, count, whole=False)
    expected, solution_modes, solution = p.textbook()
    loose = p.forward + p.backward == 0.0
    for start in (solution_modes, (solution_modes + 1 + rng.integers(0, 4, count)) % 5):
        modes = start.copy()
        v, _, _, solves = p.scaled(unit).solved(modes)
        assert v == pytest.approx(unit * solution, abs=1e-9 * unit)
        assert np.all(
            (modes == solution_modes) | (loose & (np.abs(modes - row.STUCK) == 1))
        )
        assert solves in ((1,) if start is solution_modes else (1, 1 + expected))
    assert solves == 1 + expected or loose.any(), (
        "only frictionless rows slip in two modes"
    )


@pytest.mark.parametrize("seed", range(10))
def test_residual_is_that_of_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    count = int(rng.integers(1, 5))
    p = random_rows(rng, n, count, whole=False)
    v = rng.standard_normal(n)
    carried = rng.standard_normal(n)
    for scale in (0.0, 0.01, 1.0):
        rows = p.table()
        rows[:, row.VELOCITY] = p.directions @ v
        rows[:, row.IMPULSE] = scale * rng.standard_normal(count)
        # Unconstrained velocity from which these impulses lead to this velocity, up to a random part.
        pull = p.directions.T @ rows[:, row.IMPULSE] + rng.choice(
            [0.0, 1.0]
        ) * rng.standard_normal(n)
        p.free = v - np.linalg.solve(p.a, pull)
        problem = p.of_kernel(rows, np.zeros(count, int), carried)
        residual = friction_problem.residual(problem, v)
        assert residual == pytest.approx(
            p.residual(v, rows[:, row.IMPULSE]), rel=1e-10, abs=1e-12
        )


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("bounds", [(1, 3), (0, 0)])
def test_row_at_its_limit_is_held_by_it(
    start: int, bounds: tuple[float, float]
) -> None:
    """For any load, also without friction; motion in the other direction is free."""
    cases = [
        (-50.0, 0.0, np.inf, 0.0),
        (50.0, 0.0, np.inf, 50.0 - 2.0 * bounds[0]),
        (50.0, -np.inf, 0.0, 0.0),
        (-50.0, -np.inf, 0.0, -50.0 + 2.0 * bounds[1]),
        (7.0, 0.0, 0.0, 0.0),
    ]
    for free, lower, upper, velocity in cases:
        v = _sum_of_two(free, lower, upper, bounds).solved(np.array([start]))[0]
        assert v.sum() == pytest.approx(velocity, abs=1e-13)


@pytest.mark.parametrize("start", range(5))
def test_indefinite_matrix_gives_nan(start: int) -> None:
    for diagonal in ([-1.0, 1.0], [1.0, -1.0]):
        p = replace(_sum_of_two(4.0), a=np.diag(diagonal))
        v = p.solved(np.array([start]))[0]
        assert np.isnan(v).all()


@pytest.mark.parametrize("unit", [1.0, 1e-12])
@pytest.mark.parametrize("factors", [[1.0, 2.0], [2.0, 1.0], [1.0, -2.0]])
def test_contradicting_rows_are_not_a_solution(
    factors: list[float], unit: float
) -> None:
    """v <= 1 and 2 v <= 1, both at their limits: only the second one is possible; in any unit."""
    p = _one_coordinate(9.0 * unit, factors, 0.0, -unit, unit)
    for start in ([4, 4], [4, 0], [0, 4], [2, 2], [4, 2], [2, 4], [3, 3]):
        v, _, error, _ = p.solved(np.array(start))
        assert v[0] == pytest.approx(0.5 * unit, rel=1e-15)
        assert error < 1e-14 * unit


@pytest.mark.parametrize(
    ("load", "lower", "upper", "start"),
    [
        (1.5, -np.inf, np.inf, 1),
        (1.5, -1.0, 0.5, 1),
        (1.5, 0.0, 0.5, 4),
        (-1.5, -1.0, 0.0, 0),
        (-1.5, -np.inf, 0.0, 1),
    ],
)
def test_two_frictions_on_one_coordinate_add_up(
    load: float, lower: float, upper: float, start: int
) -> None:
    """Each has a friction bound of 1. From rest one row is dependent; in a slipping mode it is the solution."""
    p = _one_coordinate(load, [1.0, 1.0], 1.0, lower, upper)
    v, impulse, error, solves = p.solved(np.array([start, start]))
    assert (v[0], impulse.sum(), error, solves) == (0.0, -load, 0.0, 3) and np.abs(
        impulse
    ).max() <= 1.0


@pytest.mark.parametrize(
    ("free", "bound", "start", "velocity", "solves", "end"),
    [
        (6.0, 1.0, row.STUCK, 5.0, 3, row.FORWARD),
        (-5.0, 1.0, row.STUCK, -4.0, 3, row.BACKWARD),
        (5.0, 0.0, row.AT_UPPER, 5.0, 1, row.AT_UPPER),
        (-4.0, 0.0, row.AT_LOWER, -4.0, 1, row.AT_LOWER),
    ],
)
def test_row_that_just_reaches_its_limit(
    free: float, bound: float, start: int, velocity: float, solves: int, end: int
) -> None:
    modes = np.array([start])
    v, _, error, count = _one_coordinate(free, [1.0], bound, -4.0, 5.0).solved(modes)
    assert (v[0], error, count, modes[0]) == (velocity, 0.0, solves, end)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_row_that_is_pulled_back_from_its_limit_stops(sign: float) -> None:
    """The first joint breaks away and reaches its limit; the light second joint pulls it back beyond its friction."""
    a = np.array([[1.0, 0.27], [0.27, 0.09]])
    room = np.array([0.1, np.inf])
    free = sign * np.linalg.solve(a, np.array([3.0, 2.5]))
    p = Problem(a, free, np.ones(2), np.ones(2), -room, room, np.eye(2))
    expected, _, solution = p.textbook()
    v, _, _, solves = p.solved(np.array([row.STUCK, row.STUCK]))
    assert v == pytest.approx(solution, rel=1e-12)
    assert solves == 1 + expected == 9 and sign * v[0] < 0.0 < sign * v[1]


def test_the_default_start_is_within_the_limits_of_all_joints() -> None:
    """j1 = (a + b) / 2 is at least 0.2 rad, so that a = b = 0 is no position."""
    couplings = {"j1": {"a": 0.5, "b": 0.5}, "j2": {"a": 0.5, "b": -0.5}}
    model = coupled_arms.chain(
        [(0.2, 0.5, 2), (-1, 1, 3)], {"coordinates": ["a", "b"], "couplings": couplings}
    )
    np.testing.assert_allclose(Plant(model).position, [0.2, 0.2])

"""Plants whose joints follow others: grippers with mimic fingers, remotely driven elbows, parallelogram five-bars."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant, PlantBatch
from support import arms, mechanisms, robots_with_drives

INTEGRATORS = ("rk4", "semi_implicit")
ROOM = '<limit lower="-3" upper="3" effort="1000" velocity="100"/>'


def _gripper(leader: str, follower: str, other: str = ROOM) -> RobotModel:
    """Two fingers on one base that slide along x and y; the second follows the first by -0.5."""
    follower += '<mimic joint="first" multiplier="-0.5" offset="0.1"/>'
    first = arms.Joint("first", "prismatic", "base", "left", axis=(1, 0, 0), limit=ROOM, extra=leader)
    second = arms.Joint("second", "prismatic", "base", "right", axis=(0, 1, 0), limit=other, extra=follower)
    links = (arms.Link("base"), arms.Link("left", 0.3), arms.Link("right", 0.4))
    return RobotModel.from_urdf(arms.Arm(links, (first, second)).urdf)


def _friction(damping: float, level: float) -> str:
    return f'<dynamics damping="{damping!r}" friction="{level!r}"/>'


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_friction_of_a_finger_that_follows_acts_on_the_leader(integrator: str) -> None:
    """By virtual work it adds |factor| times its Coulomb level and factor^2 times its viscous friction."""
    both = Plant(_gripper(_friction(1.0, 2.0), _friction(4.0, 1.0)), integrator)
    one = Plant(_gripper(_friction(1.0 + 4.0 / 4, 2.0 + 1.0 / 2), ""), integrator)
    for force in (2.4999, 2.5001, 6.0, 0.0, -9.0, 0.0):
        both.step([force], 200)
        one.step([force], 200)
        assert both.position == pytest.approx(one.position, abs=1e-14)
        assert both.velocity == pytest.approx(one.velocity, abs=1e-14)
        assert both.stuck[0] == one.stuck[0] and (both.position[0] == 0.0) == (force == 2.4999)
    assert both.stuck[0]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_limit_of_a_finger_that_follows_stops_the_leader(integrator: str) -> None:
    """Second = 0.1 - first / 2 within -0.2 and 0.3: first stays between -0.4 and 0.6."""
    narrow = '<limit lower="-0.2" upper="0.3" effort="1000" velocity="100"/>'
    plant = Plant(_gripper("", "", other=narrow), integrator)
    plant.step([5.0], 2000)
    assert plant.position[0] == pytest.approx(0.6, abs=1e-15)
    plant.step([-5.0], 3000)
    assert plant.position[0] == pytest.approx(-0.4, abs=1e-15)
    assert plant.velocity[0] == 0.0


def _planar(coupled: bool, friction: dict[str, dict[str, float]], limit: str = ROOM) -> RobotModel:
    """The planar elbow, driven at its joints, or from the base by p1 and p2: q2 = p2 - p1, Spong (9.89)."""
    joint1 = arms.Joint("joint1", "revolute", "base", "upper", axis=(0, -1, 0), limit=ROOM)
    joint2 = arms.Joint("joint2", "revolute", "upper", "fore", (0.6, 0, 0), axis=(0, -1, 0), limit=limit)
    links = (arms.Link("base"), arms.Link("upper", 1.1, (0.3, 0, 0)), arms.Link("fore", 0.7, (0.25, 0, 0)))
    content: dict[str, Any] = {"joints": friction}
    if coupled:
        content["coordinates"] = ["p1", "p2"]
        content["couplings"] = {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}}
    return robots_with_drives.load(arms.Arm(links, (joint1, joint2)), content)


@pytest.mark.parametrize(
    ("integrator", "limit", "tolerance"),
    [
        ("rk4", ROOM, 1e-10),
        ("semi_implicit", ROOM, 1e-10),
        ("semi_implicit", '<limit lower="-0.5" upper="0.4" effort="1000" velocity="100"/>', 1e-8),
    ],
)
def test_remotely_driven_elbow_moves_as_one_driven_at_its_joints(integrator: str, limit: str, tolerance: float) -> None:
    """The same arm in other coordinates, tau_p = G^T tau_q: friction and limits act on the joints in both."""
    friction = {"joint1": {"viscous": 2.0, "coulomb": 2.0}, "joint2": {"viscous": 1.0, "coulomb": 1.0}}
    g = np.array([[1.0, 0.0], [-1.0, 1.0]])
    start = np.array([-1.2, 0.2])
    remote = Plant(_planar(True, friction, limit), integrator, initial_positions=np.linalg.solve(g, start))
    direct = Plant(_planar(False, friction, limit), integrator, initial_positions=start)
    stuck = np.zeros(2, dtype=bool)
    for k in range(300):
        tau = np.array([4.0 * np.sin(0.05 * k), 2.0 * np.cos(0.11 * k)])
        remote.step(g.T @ tau, 10)
        direct.step(tau, 10)
        stuck |= direct.stuck
        assert g @ remote.position == pytest.approx(direct.position, abs=tolerance)
        assert g @ remote.velocity == pytest.approx(direct.velocity, abs=100 * tolerance)
    assert stuck.all() and np.abs(direct.position - start).max() > 0.2


FIVE_BAR = {f"joint{k}": {"coulomb": c} for k, c in ((1, 0.9), (2, 0.7), (3, 0.4), (4, 0.3))}
# Joints that slide together are one line: joints 3 and 4 are.
LINES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
LEVELS = np.array([0.9, 0.7, 0.7])


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_five_bar_at_rest_does_not_drift(integrator: str) -> None:
    """More lines stick than there are coordinates; the load is at 0.999 of what all of them can hold."""
    model = mechanisms.five_bar(False, FIVE_BAR)
    start = np.array([0.4, 1.3])
    for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 0.3]):
        # The most of this load, by the ratio test of all ways to move: |z_k| of each way against the load's work.
        ways = [np.array(w) for w in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])]
        ways += [-w for w in ways]
        most = min(LEVELS @ np.abs(LINES @ w) / (w @ direction) for w in ways if w @ direction > 1e-9)
        for factor in (0.999, 1.001):
            plant = Plant(model, integrator, initial_positions=start)
            plant.step(model.gravity_torque(start) + factor * most * np.array(direction), 5000 if factor < 1.0 else 50)
            assert np.array_equal(plant.position, start) == (factor < 1.0)
            assert plant.stuck.all() == (factor < 1.0) and plant.residual < 1e-9


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31 - 1), integrator=st.sampled_from(INTEGRATORS))
def test_five_bar_in_motion_satisfies_the_optimality_conditions(seed: int, integrator: str) -> None:
    """Friction's impulse is E^T lambda, lambda_k = -level sign(z_k), or within the level where z_k = 0."""
    rng = np.random.default_rng(seed)
    start: dict[str, Any] = {"initial_positions": [0.4, 1.3], "initial_velocities": rng.normal(size=2)}
    plant = Plant(mechanisms.five_bar(False, FIVE_BAR), integrator, **start)
    for _ in range(60):
        plant.step(plant.model.gravity_torque(plant.position) + rng.normal(0.0, 3.0, 2))
        z = LINES @ plant.velocity
        still = np.abs(z) < 1e-12
        low, high = np.where(still, -LEVELS, -LEVELS * np.sign(z)), np.where(still, LEVELS, -LEVELS * np.sign(z))
        answer = lsq_linear(LINES.T, plant.impulse / plant.step_size, (low - 1e-11, high + 1e-11), tol=1e-14)
        assert np.abs(answer.fun).max() < 1e-9 and plant.impulse @ plant.velocity <= 1e-15
        assert plant.residual < 1e-9


@given(robot=robots_with_drives.robots(friction=True, payload=False))
@settings(max_examples=20)
def test_any_coupled_robot_loses_energy_to_friction(robot: robots_with_drives.Robot) -> None:
    """Without torque the sum of kinetic and potential energy never rises by more than the integrator's error."""
    model = robot.model()
    rng = np.random.default_rng(robot.seed)
    plant = Plant(model, "rk4", 1e-4, initial_positions=rng.uniform(-0.5, 0.5, model.n))
    energy = mechanisms.energy(plant)
    for _ in range(20):
        plant.step(np.zeros(model.n), 5)
        assert plant.impulse @ plant.velocity <= 1e-12 * (1.0 + np.abs(plant.impulse) @ np.abs(plant.velocity))
        after = mechanisms.energy(plant)
        assert after <= energy + 1e-6 * (1.0 + abs(energy))
        energy = after
        assert plant.residual < 1e-8 * (1.0 + np.abs(plant.velocity).max())


def test_many_plants_stick_as_one() -> None:
    """With more lines than coordinates, some of the plants moving."""
    model, start = mechanisms.five_bar(False, FIVE_BAR), np.array([0.4, 1.3])
    rates = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    many = PlantBatch(model, 4, initial_positions=start, initial_velocities=rates)
    each = [Plant(model, initial_positions=start, initial_velocities=rate).stuck for rate in rates]
    assert np.array_equal(many.stuck, each) and np.array_equal(many.stuck, rates == 0.0)

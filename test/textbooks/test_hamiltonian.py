"""Hamilton's equations against Newton-Euler, and the midpoint rule: symplectic, reversible, without drift."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.integrate import simpson, solve_ivp

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.textbooks import hamiltonian
from robot_dynamics_ros.textbooks.lagrange import inertia_matrix_derivatives
from support import arms, robots_with_drives
from support.comparing import assert_close

Array = np.ndarray
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


@given(robot=robots_with_drives.robots())
def test_any_robot(robot: robots_with_drives.Robot) -> None:
    """H is the energy, qd is recovered, and pd = M qdd + dM/dt qd for the kernels' torque of any motion."""
    model = robot.model()
    assume(len(model.moving_joints) <= 5 and not model._data.massless_joints)
    q, qd, qdd = robots_with_drives.state(robot, model.n)
    p = hamiltonian.momenta(model, q, qd)
    tau = model.inverse_dynamics(q, qd, qdd)
    energy = model.kinetic_energy(q, qd) + model.potential_energy(q)
    assert hamiltonian.hamiltonian(model, q, p) == pytest.approx(
        energy, rel=1e-10, abs=1e-9
    )
    rate, force = hamiltonian.hamilton_equations(model, q, p, tau)
    # Solving for qd loses what the matrix is badly conditioned by.
    lost = 1e-10 + 1e-15 * float(np.linalg.cond(model.mass_matrix(q)))
    assert_close(rate, qd, lost)
    derivatives = inertia_matrix_derivatives(model, q)
    scale = float(np.abs(derivatives).max() * np.abs(qd).max() ** 2)
    assert_close(
        force,
        model.mass_matrix(q) @ qdd + np.einsum("abi,i,b->a", derivatives, qd, qd),
        lost,
        scale,
    )
    # Without torque -dH/dq, Hamilton's second equation.
    by_definition = 0.5 * np.einsum(
        "a,abi,b->i", qd, derivatives, qd
    ) - model.gravity_torque(q)
    assert_close(
        hamiltonian.hamilton_equations(model, q, p)[1], by_definition, lost, scale
    )


def energies(model: RobotModel, q: Array, p: Array) -> Array:
    rates = np.linalg.solve(model.mass_matrix(q), p[..., np.newaxis])[..., 0]
    return np.asarray(model.kinetic_energy(q, rates) + model.potential_energy(q))


def test_energy_does_not_drift(load_robot: Callable[..., RobotModel]) -> None:
    """One minute in steps of 0.02 s from rest, the planar arm horizontal: the error of the midpoint rule is bounded."""
    model = load_robot("planar_2r")
    start = np.zeros(2)
    energy = energies(
        model, *hamiltonian.implicit_midpoint(model, start, start, 0.02, 3000)
    )
    error = (energy - energy[0])[1:].reshape(4, -1)
    assert abs(error[-1].mean() - error[0].mean()) < 0.5
    assert np.abs(error[-1]).max() < 1.3 * np.abs(error[0]).max()


def test_a_step_is_symplectic_and_reversible(
    load_robot: Callable[..., RobotModel],
) -> None:
    """A^T J A = J for the derivative A of a step; with reversed momenta the motion is reversed."""
    model = load_robot("scara")
    q, qd, _ = (x[0] for x in arms.states(3, 3, 1, speed=1.0))
    start = np.concatenate([q, hamiltonian.momenta(model, q, qd)])
    step = 0.02

    def stepped(z: Array) -> Array:
        return np.concatenate(
            [x[-1] for x in hamiltonian.implicit_midpoint(model, z[:3], z[3:], step, 1)]
        )

    def column(unit: Array) -> Array:
        return np.asarray(robots_with_drives.slope(lambda h: stepped(start + h * unit)))

    a = np.column_stack([column(unit) for unit in np.eye(6)])
    j = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    assert np.abs(a - np.eye(6)).max() > 0.01
    assert_close(a.T @ j @ a, j, 1e-9)
    there_q, there_p = hamiltonian.implicit_midpoint(model, q, start[3:], step, 200)
    back_q, back_p = hamiltonian.implicit_midpoint(
        model, there_q[-1], -there_p[-1], step, 200
    )
    assert_close(np.concatenate([back_q[-1], -back_p[-1]]), start, 1e-9)


def test_work_of_a_force(load_robot: Callable[..., RobotModel]) -> None:
    """Damping dissipates the energy: dH/dt = qd . tau."""
    model = load_robot("scara")
    q = np.array([0.2, 0.5, 0.05])
    p = np.array([1.0, -0.4, 0.3])
    damping = np.array([0.5, 0.1, 1.0])

    def force(t: float, at: Array, rate: Array) -> Array:
        return np.asarray(
            model.gravity_torque(at) - damping * rate + [np.sin(4.0 * t), 0.0, 0.0]
        )

    positions, impulses = hamiltonian.implicit_midpoint(model, q, p, 1e-3, 500, force)
    rates = np.linalg.solve(model.mass_matrix(positions), impulses[..., np.newaxis])[
        ..., 0
    ]
    power = [
        force(1e-3 * k, at, rate) @ rate
        for k, (at, rate) in enumerate(zip(positions, rates, strict=True))
    ]
    work = 1e-3 * (sum(power) - 0.5 * (power[0] + power[-1]))
    energy = energies(model, positions, impulses)
    assert abs(energy[-1] - energy[0]) > 0.1
    assert energy[-1] - energy[0] == pytest.approx(work, rel=1e-4)


def test_invalid_steps_are_refused(load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot("planar_2r")
    with pytest.raises(RobotDynamicsError, match="10 s"):
        hamiltonian.implicit_midpoint(model, [0, 0], [5, 0], 10.0, 3)
    with pytest.raises(RobotDynamicsError, match="-0.1"):
        hamiltonian.implicit_midpoint(model, [0, 0], [0, 0], -0.1, 3)
    arm = arms.random_arm(np.random.default_rng(1), [0, 1], ["revolute", "revolute"])
    bare = RobotModel.from_urdf(arm.with_link(arm.links[2].name, mass=None).urdf)
    with pytest.raises(RobotModelError, match=arm.joints[1].name):
        hamiltonian.velocities(bare, [0, 0], [0, 0])


def test_the_action_is_stationary(load_robot: Callable[..., RobotModel]) -> None:
    """LaValle (13.127): no variation that vanishes at both ends changes the action of a free motion at first order."""
    model = load_robot("scara")
    n = model.n
    times = np.linspace(0.0, 0.4, 401)

    def rate(_: float, y: Array) -> Array:
        return np.concatenate(
            [y[n:], model.forward_dynamics(y[:n], y[n:], np.zeros(n))]
        )

    rng = np.random.default_rng(5)
    run = solve_ivp(
        rate,
        (0.0, 0.4),
        rng.uniform(-1.0, 1.0, 2 * n),
        t_eval=times,
        rtol=1e-10,
        atol=1e-11,
    )
    q = run.y[:n].T.copy()
    qd = run.y[n:].T.copy()
    bump = np.sin(np.pi * times / 0.4)[:, None] * rng.uniform(-1.0, 1.0, n)
    # at its top the bump is the amplitude
    slope = np.pi / 0.4 * np.cos(np.pi * times / 0.4)[:, None] * bump[200]

    def change(motion: Array, rates: Array) -> float:
        actions = []
        for part in (-1e-3, 1e-3):
            varied = motion + part * bump
            lagrangian = model.kinetic_energy(
                varied, rates + part * slope
            ) - model.potential_energy(varied)
            actions.append(float(simpson(lagrangian, x=times)))
        return (actions[1] - actions[0]) / 2e-3

    # The straight line between the same ends is no motion of the robot.
    straight = np.linspace(q[0], q[-1], len(times))
    steady = np.broadcast_to((q[-1] - q[0]) / 0.4, qd.shape)
    assert abs(change(q, qd)) < 1e-5 * abs(change(straight, steady))

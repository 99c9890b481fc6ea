"""Action, Euler-Lagrange equation, phase form and Euler's method: LaValle's examples, Craig's arm, and the kernels."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.integrate import simpson, solve_ivp

from oracles import craig_planar_2r, lavalle_two_link
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.textbooks import variational
from robot_dynamics_ros.textbooks.constraints import (
    constrained_forward_dynamics,
    loops_of,
)
from support import arms, robots_with_drives
from support.comparing import assert_close
from support.mechanisms import assembled, four_bar
from support.worked_arms import IN_PLANE, lavalle, load

Array = np.ndarray
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def length(x: Array, xd: Array, t: float) -> float:
    """LaValle (13.115)."""
    return float(np.sqrt(1.0 + xd[0] ** 2))


def cubic(x: Array, xd: Array, t: float) -> float:
    """LaValle (13.119)."""
    return float(x[0] ** 3 + xd[0] ** 2)


def test_shortest_path() -> None:
    """LaValle example 13.9: the arc lengths of a line and of a parabola; only the line is an extremal."""
    assert variational.action(
        length, lambda t: ([t], [1.0]), 0.0, 1.0
    ) == pytest.approx(np.sqrt(2.0), abs=1e-14)
    parabola = variational.action(length, lambda t: ([t * t], [2.0 * t]), 0.0, 1.0)
    assert parabola == pytest.approx(
        np.sqrt(5.0) / 2.0 + np.arcsinh(2.0) / 4.0, abs=1e-14
    )
    assert parabola == pytest.approx(1.478943, abs=5e-7)
    assert_close(variational.euler_lagrange(length, [0.3], [1.0], [0.0]), [0.0], 1e-9)
    assert_close(
        variational.euler_lagrange(length, [0.09], [0.6], [2.0]),
        [2.0 / 1.36**1.5],
        1e-9,
    )


def test_simple_variational_problem() -> None:
    """LaValle example 13.10, (13.119)-(13.123), and its first integral."""

    def rates(t: float, z: Array) -> Array:
        return np.append(
            z[1], variational.extremal_acceleration(cubic, z[:1], z[1:], t)
        )

    x, xd = solve_ivp(rates, (0.0, 0.5), [1.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    assert_close([x, xd, xd**2 - x**3], [1.199993, 0.853210, -1.0], 1e-6)
    assert_close(
        variational.euler_lagrange(cubic, [0.7], [-0.4], [1.1]),
        [2 * 1.1 - 3 * 0.7**2],
        1e-9,
    )
    assert_close(
        variational.extremal_acceleration(cubic, [0.7], [-0.4], u=[0.5]),
        [(0.5 + 3 * 0.7**2) / 2],
        1e-9,
    )


def test_an_extremal_may_be_a_saddle() -> None:
    """L = xd^2 - x^2 on [0, 4] at x = 0: sin(pi t / 4) decreases the action, sin(pi t / 2) increases it."""

    def oscillator(x: Array, xd: Array, t: float) -> float:
        return float(xd[0] ** 2 - x[0] ** 2)

    assert_close(
        variational.euler_lagrange(oscillator, [0.0], [0.0], [0.0]), [0.0], 1e-12
    )
    for w in (np.pi / 4, np.pi / 2):
        value = variational.action(
            oscillator, lambda t, w=w: ([np.sin(w * t)], [w * np.cos(w * t)]), 0.0, 4.0
        )
        assert value == pytest.approx(2.0 * (w**2 - 1.0), abs=1e-12)


@pytest.mark.parametrize(
    ("h", "g", "guess", "x", "multipliers"),
    [
        # grad h = (1, 1) = -lambda (2 x, 2 y) on the unit circle
        (
            lambda x: x[0] + x[1],
            lambda x: x @ x - 1,
            [-0.5, -0.9],
            [-np.sqrt(0.5), -np.sqrt(0.5)],
            [np.sqrt(0.5)],
        ),
        # the box of largest volume in x y + y z + z x = 3: y z = -lambda (y + z), a saddle of h + lambda g
        (
            lambda x: x[0] * x[1] * x[2],
            lambda x: x[0] * x[1] + x[1] * x[2] + x[2] * x[0] - 3,
            [0.8, 1.1, 1.3],
            [1, 1, 1],
            [-0.5],
        ),
        # the point of a line closest to the origin: 2 x = -(lambda_1 + lambda_2, lambda_1 - lambda_2, lambda_1)
        (
            lambda x: x @ x,
            lambda x: [x.sum() - 1, x[0] - x[1] - 1],
            [3, 0, 0],
            [5 / 6, -1 / 6, 1 / 3],
            [-2 / 3, -1],
        ),
    ],
)
def test_lagrange_multipliers(
    h: Callable[[Array], float],
    g: Callable[[Array], Array],
    guess: list[float],
    x: list[float],
    multipliers: list[float],
) -> None:
    """LaValle (13.162)-(13.164)."""
    found = variational.constrained_extremum(h, g, guess)
    assert_close(np.concatenate(found), [*x, *multipliers], 1e-8)


def test_an_extremum_that_cannot_be() -> None:
    with pytest.raises(RobotDynamicsError, match="Cure: "):
        variational.constrained_extremum(lambda x: x[0], lambda x: x @ x + 1, [1, 1])


def test_time_and_rates_may_be_mixed_in_the_lagrangian() -> None:
    """L = e^t xd^2 / 2 + x xd: d/dt (e^t xd + x) - xd = e^t (xdd + xd)."""
    got = variational.euler_lagrange(
        lambda x, xd, t: np.exp(t) * xd[0] ** 2 / 2 + x[0] * xd[0],
        [2.0],
        [0.3],
        [0.7],
        0.4,
    )
    assert_close(got, [np.exp(0.4)], 1e-9)
    with pytest.raises(RobotDynamicsError, match="singular"):
        variational.extremal_acceleration(lambda x, xd, t: x[0] * xd[0], [2.0], [0.3])


@pytest.mark.parametrize("far", [0.0, 100.0, 1000.0])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_scale_of_the_lagrangian_and_distance_from_the_origin(
    far: float, scale: float
) -> None:
    """L = c (xd^2 / 2 + cos(x) sin(t)): c (xdd + sin(x) sin(t)); L = c (cos(x) xd + sin(x)) has no xdd."""

    def pendulum(x: Array, xd: Array, t: float) -> float:
        return float(scale * (xd[0] ** 2 / 2 + np.cos(x[0]) * np.sin(t)))

    torque = scale * (0.7 + np.sin(far + 0.3) * np.sin(far + 0.4))
    assert_close(
        variational.euler_lagrange(pendulum, [far + 0.3], [0.5], [0.7], far + 0.4),
        [torque],
        1e-8,
        scale,
    )
    acceleration = variational.extremal_acceleration(
        pendulum, [far + 0.3], [0.5], far + 0.4, u=[torque]
    )
    assert_close(acceleration, [0.7], 1e-8)
    with pytest.raises(RobotDynamicsError, match="singular"):
        variational.extremal_acceleration(
            lambda x, xd, t: scale * (np.cos(x[0]) * xd[0] + np.sin(x[0])), [far], [0.5]
        )


@given(robot=robots_with_drives.robots())
def test_any_robot(robot: robots_with_drives.Robot) -> None:
    """LaValle (13.136), (13.130): the kernels' torques follow from L = K - V alone."""
    model = robot.model()
    assume(model.n <= 4)
    q, qd, qdd = robots_with_drives.state(robot, model.n)
    lagrangian = variational.lagrangian_of(model)
    scale = float(
        np.abs(model.mass_matrix(q)).max()
        * (1.0 + np.abs(qdd).max() + np.abs(qd).max() ** 2)
    )
    energy = abs(model.kinetic_energy(q, qd)) + abs(model.potential_energy(q)) + 1.0
    got = variational.euler_lagrange(lagrangian, q, qd, qdd)
    assert_close(got, model.inverse_dynamics(q, qd, qdd), 1e-7, scale + energy)


def test_phase_form_of_lavalles_arm() -> None:
    """LaValle (13.148), (13.161) corrected; also for a batch, and by the Euler-Lagrange equation with inputs."""
    model = load(
        lavalle(lavalle_two_link.Parameters(0.5, 0.25, 0.2, 3.0, 2.0, 0.06, 0.03)),
        [0.0, -9.81, 0.0],
    )
    x = np.array([0.3, 1.1, 1.0, -2.0])
    u = np.array([5.0, 1.0])
    expected = [1.0, -2.0, -18.359597, 34.908468]
    assert_close(variational.phase_transition(model, x, u), expected, 1e-6)
    assert_close(
        variational.phase_transition(model, [x, x], [u, u]), [expected, expected], 1e-6
    )
    qdd = variational.extremal_acceleration(
        variational.lagrangian_of(model), x[:2], x[2:], u=u
    )
    assert_close(qdd, expected[2:], 1e-6)
    with pytest.raises(RobotDynamicsError, match=r"x has shape \(3,\)"):
        variational.phase_transition(model, x[:3], u)


def test_phase_form_of_a_closed_chain() -> None:
    """LaValle below (13.180): the loops of a model are constraints without being asked for."""
    model = four_bar()
    q, qd = assembled(model, speed=3.0)
    u = np.array([0.5, 0.0, 0.0])
    expected = constrained_forward_dynamics(model, q, qd, u, loops_of(model)(q, qd)).qdd
    assert_close(
        variational.phase_transition(model, np.append(q, qd), u),
        np.append(qd, expected),
        1e-12,
    )
    assert np.abs(expected - model.forward_dynamics(q, qd, u)).max() > 0.1


def test_action_of_a_robot(load_robot: Callable[..., RobotModel]) -> None:
    """LaValle (13.127): for a short time the true motion of a falling arm has the least action of its neighbours."""
    model = load_robot("planar_2r")
    lagrangian = variational.lagrangian_of(model)
    motion = solve_ivp(
        lambda t, x: variational.phase_transition(model, x, np.zeros(2)),
        (0.0, 0.2),
        [0.3, 1.1, 1.0, -2.0],
        rtol=1e-10,
        atol=1e-12,
        dense_output=True,
    ).sol

    def varied(size: float) -> float:
        def bump(t: float) -> float:
            return np.sin(np.pi * t / 0.2)

        def rate(t: float) -> float:
            return np.pi / 0.2 * np.cos(np.pi * t / 0.2)

        return variational.action(
            lagrangian,
            lambda t: (motion(t)[:2] + size * bump(t), motion(t)[2:] + size * rate(t)),
            0.0,
            0.2,
            20,
        )

    least = varied(0.0)
    times = np.linspace(0.0, 0.2, 401)
    states = motion(times).T
    energies = model.kinetic_energy(
        states[:, :2], states[:, 2:]
    ) - model.potential_energy(states[:, :2])
    assert least == pytest.approx(simpson(energies, x=times), rel=1e-8)
    assert min(varied(1e-2), varied(-1e-2)) > least
    assert varied(1e-3) - varied(-1e-3) == pytest.approx(
        0.0, abs=1e-6 * (varied(1e-1) - least)
    )


def test_eulers_method() -> None:
    """Craig (6.117): his arm of 6.7, and an error that halves with the step."""
    p = craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    model = RobotModel.from_urdf(
        arms.craig_planar_2r(p).urdf, gravity=np.array(IN_PLANE) * p.g
    )
    start = (np.array([0.4, 0.9]), np.array([1.0, -2.0]))
    tau = np.array([20.0, 5.0])

    def torque(t: float, q: Array, qd: Array) -> Array:
        return tau

    q, qd, qdd = variational.euler_integration(model, *start, torque, 0.01, 1)
    assert_close(qdd[0], [-11.798167, 23.842590], 1e-6)
    assert_close(q[1], [0.409410, 0.881192], 1e-6)
    assert_close(qd[1], [0.882018, -1.761574], 1e-6)
    exact = solve_ivp(
        lambda t, x: variational.phase_transition(model, x, tau),
        (0.0, 0.2),
        np.concatenate(start),
        rtol=1e-10,
        atol=1e-12,
    ).y[:2, -1]
    errors = [
        np.abs(
            variational.euler_integration(model, *start, torque, 0.2 / n, n)[0][-1]
            - exact
        )
        for n in (200, 400)
    ]
    assert_close(errors[0] / errors[1], [2.0, 2.0], 0.05)

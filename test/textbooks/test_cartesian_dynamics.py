"""Cartesian dynamics against joint-space dynamics and energies; joint rates for an end effector's velocity."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

from oracles import craig_jacobians
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.textbooks.cartesian_dynamics import (
    Task,
    cartesian_dynamics,
    condition_number,
    configuration_space_form,
    end_effector_force,
    joint_rates,
    most_isotropic,
    resolved_rate_motion,
    smallest_singular_value,
)
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots

ARMS = [
    pytest.param(
        "panda",
        "panda_link8",
        (0, 1, 2, 3, 4, 5),
        [0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6],
        id="panda",
    ),
    pytest.param(
        "ur5e",
        "tool0",
        (0, 1, 2, 3, 4, 5),
        [0.4, -1.2, 1.4, -1.7, -1.4, 0.3],
        id="ur5e",
    ),
    pytest.param("scara", "tool0", (0, 1, 2), [0.4, -1.0, 0.1], id="scara"),
]


def _check(model: RobotModel, task: Task, q: Any, seed: int) -> None:
    """F = Jbar^T tau for any motion, forces at the end effector have their effect, J^T F = tau if J is square."""
    rng = np.random.default_rng(seed)
    qd, qdd = rng.normal(size=(2, model.n))
    form = cartesian_dynamics(model, q, qd, task)
    j = form.jacobian
    h = 1e-6
    before, after = (
        cartesian_dynamics(model, q + k * h * qd, qd, task).jacobian for k in (-1, 1)
    )
    jdot_qd = (after - before) @ qd / (2 * h)
    tau = model.inverse_dynamics(q, qd, qdd)
    scale = 1.0 / smallest_singular_value(j) ** 2 * max(1.0, float(np.abs(tau).max()))
    # The form without the accelerations, and J's rate by a difference: (6.96), (6.98).
    force = form.mass @ (j @ qdd) + form.velocity_terms + form.gravity
    exact = form.inverse.T @ (tau - model.mass_matrix(q) @ qdd) + form.mass @ (j @ qdd)
    assert_close(
        force, exact - form.mass @ jdot_qd, 1e-7, scale * float(np.abs(jdot_qd).max())
    )
    assert_close(j @ form.inverse, np.eye(len(j)), 1e-10, scale)
    xd = rng.normal(size=len(j))
    least = form.inverse @ xd
    # Tsai (9.174); with more joints than components the least energy of all motions with this xd.
    assert xd @ form.mass @ xd / 2 == pytest.approx(
        float(model.kinetic_energy(q, least)), rel=1e-8
    )
    free = qd - form.inverse @ (j @ qd)
    assert abs(least @ model.mass_matrix(q) @ free) <= 1e-9 * scale * np.abs(xd).max()
    if task.own_axes:
        return
    exact_rate = model.jacobian_dot_qd(q, qd, task.link)[list(task.rows)]
    # The joints produce a force at the end effector, (6.92), which accelerates as Cartesian dynamics predict.
    pull = rng.normal(size=len(j))
    xdd = j @ model.forward_dynamics(q, qd, j.T @ pull) + exact_rate
    assert_close(
        form.mass @ xdd + form.velocity_terms + form.gravity, pull, 1e-10, scale
    )
    if j.shape[0] == j.shape[1]:
        back = j.T @ (
            form.mass @ (j @ qdd + exact_rate) + form.velocity_terms + form.gravity
        )
        assert_close(back, tau, 1e-10, scale)


@pytest.mark.parametrize(("robot", "link", "rows", "q"), ARMS)
@pytest.mark.parametrize("own_axes", [False, True])
def test_shipped_robots(
    robot: str, link: str, rows: tuple[int, ...], q: Any, own_axes: bool
) -> None:
    _check(
        RobotModel.from_urdf_file(robot_urdf(robot)),
        Task(link, rows, own_axes),
        np.array(q),
        1,
    )


@given(robot=robots())
def test_any_robot(robot: Robot) -> None:
    """For the last link, with as many rows as are well conditioned."""
    model = robot.model()
    q = arms.states(robot.seed, model.n, 1)[0][0]
    link = model.link_names[-1]
    rows: tuple[int, ...] = ()
    for row in range(6):
        more = (*rows, row)
        if (
            len(more) <= model.n
            and np.linalg.svd(model.jacobian(q, link)[list(more)])[1][-1] > 0.1
        ):
            rows = more
    assume(rows)
    _check(model, Task(link, rows), q, robot.seed)


@pytest.mark.parametrize(("robot", "link", "rows", "q"), ARMS)
def test_configuration_space_form(
    robot: str, link: str, rows: tuple[int, ...], q: Any
) -> None:
    """Bx [qd qd] + Cx [qd^2] = J^T Vx, Craig (6.104)-(6.107)."""
    model = RobotModel.from_urdf_file(robot_urdf(robot))
    task = Task(link, rows)
    b, c = configuration_space_form(model, q, task)
    qd = np.random.default_rng(0).normal(size=model.n)
    form = cartesian_dynamics(model, q, qd, task)
    products = [qd[i] * qd[k] for i in range(model.n) for k in range(i + 1, model.n)]
    assert_close(
        b @ products + c @ qd**2, form.jacobian.T @ form.velocity_terms, 1e-10, 100.0
    )


UR5E = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
PANDA = np.array([0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6])


@pytest.mark.parametrize(
    ("robot", "link", "q"), [("ur5e", "tool0", UR5E), ("panda", "panda_link8", PANDA)]
)
def test_the_end_effector_has_the_requested_velocity(
    robot: str, link: str, q: np.ndarray
) -> None:
    model = RobotModel.from_urdf_file(robot_urdf(robot))
    j = model.jacobian(q, link)
    v = np.array([0.1, -0.2, 0.05, 0.3, 0.1, -0.2])
    rates = joint_rates(j, v, q)
    assert_close(j @ rates, v, 1e-12)
    # No faster than needed: nothing of it leaves the hand where it is.
    null = np.linalg.svd(j)[2][6:]
    assert_close(null @ rates, np.zeros(len(null)), 1e-12)


def test_a_singularity_and_too_few_joints_are_refused() -> None:
    """The wrist of Craig, example 5.6, with collinear axes 4 and 6."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    q = UR5E * [1, 1, 1, 1, 0, 1]
    j = model.jacobian(q, "tool0")
    assert smallest_singular_value(j) < 1e-12
    with pytest.raises(RobotDynamicsError, match=r"\[0\.4, -1\.2"):
        joint_rates(j, np.ones(6), q)
    with pytest.raises(RobotDynamicsError, match=r"\[0\.4, -1\.2"):
        cartesian_dynamics(model, q, np.zeros(6), Task("tool0"))
    with pytest.raises(RobotDynamicsError, match="6.*2"):
        joint_rates(np.ones((6, 2)), np.ones(6), np.zeros(2))
    with pytest.raises(RobotDynamicsError, match="tau"):
        end_effector_force(np.ones((1, 2)), np.ones(3), np.zeros(2))
    assert condition_number(np.eye(3)[:, :2]) == np.inf
    with pytest.raises(RobotDynamicsError, match="6.*3"):
        cartesian_dynamics(
            RobotModel.from_urdf_file(robot_urdf("scara")),
            np.zeros(3),
            np.zeros(3),
            Task("tool0"),
        )
    for rows in ((), (0, 0), (6,)):
        with pytest.raises(RobotDynamicsError, match="rows"):
            cartesian_dynamics(model, q, np.zeros(6), Task("tool0", rows))


def test_a_motion_goes_where_its_velocity_leads() -> None:
    """The error of the Euler method decreases with the step."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    v = np.array([0.05, -0.04, 0.03, 0.0, 0.0, 0.0])
    start = model.link_pose(UR5E, "tool0")[:3, 3]
    error = []
    for steps in (50, 100):
        positions, rates = resolved_rate_motion(
            lambda q: model.jacobian(q, "tool0"), v, UR5E, step=1.0 / steps, steps=steps
        )
        assert positions.shape == rates.shape == (steps + 1, 6)
        assert np.array_equal(positions[0], UR5E)
        assert_close(np.diff(positions, axis=0), rates[:-1] / steps, 1e-15)
        error.append(
            np.linalg.norm(
                model.link_pose(positions[-1], "tool0")[:3, 3] - start - v[:3]
            )
        )
    assert error[0] < 1e-3 and error[1] == pytest.approx(error[0] / 2, rel=0.1)


def test_isotropic_points_of_two_links() -> None:
    """Craig exercise 5.8, (5.66): they exist for l1 = sqrt(2) l2, at theta2 = 135 and -135 degrees."""
    for l1, angle in (
        (np.sqrt(2.0), 0.75 * np.pi),
        (1.0, np.arccos(-1 / np.sqrt(2.0))),
    ):

        def jacobian(q: Any, l1: float = l1) -> Any:
            return craig_jacobians.jacobian_in_end_frame(l1, 1.0, q)

        for sign in (1.0, -1.0):
            q = most_isotropic(jacobian, [0.3, 2.0 * sign])
            least = condition_number(jacobian(q))
            if l1 > 1.0:
                assert least == pytest.approx(1.0, abs=1e-6)
                assert q[1] == pytest.approx(sign * angle, abs=1e-6)
            else:
                grid = [
                    condition_number(jacobian([0.0, x]))
                    for x in np.linspace(0.01, 3.13, 3001)
                ]
                assert 1.1 < least <= min(grid) * (1 + 1e-9)
    assert condition_number(np.diag([1.5, 6.0])) == pytest.approx(4.0, rel=1e-14)
    assert condition_number([[1.0, 0.0], [0.0, 0.0]]) == np.inf


def test_force_from_torques() -> None:
    """Craig exercise 5.10: F of the two links by hand; J^T F for more joints than components."""
    l1 = 0.5
    l2 = 0.4
    q = np.array([0.3, 1.1])
    tau = np.array([3.0, -2.0])
    j = craig_jacobians.jacobian_in_end_frame(l1, l2, q)
    expected = [
        (tau[0] - tau[1] * (1 + l1 / l2 * np.cos(q[1]))) / (l1 * np.sin(q[1])),
        tau[1] / l2,
    ]
    assert_close(end_effector_force(j, tau, q), expected, 1e-13)
    with pytest.raises(RobotDynamicsError, match="singular"):
        end_effector_force(
            craig_jacobians.jacobian_in_end_frame(l1, l2, np.zeros(2)), tau, [0.0, 0.0]
        )
    wide = np.random.default_rng(2).normal(size=(3, 5))
    force = np.array([1.0, -2.0, 0.5])
    assert_close(end_effector_force(wide, wide.T @ force, np.zeros(5)), force, 1e-12)

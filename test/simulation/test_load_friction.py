"""Friction that grows with the torque that a gear transmits, beside an oracle with tiny steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation import Plant
from support import arms
from support.robots_with_drives import load

PENDULUM = arms.Arm(
    (
        arms.Link("base"),
        arms.Link("rod", 4.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.1, 0.1])),
    ),
    (arms.Joint("joint", "revolute", "base", "rod", axis=(0.0, 1.0, 0.0)),),
)
GEAR = {"coulomb": 1.0, "load_coefficient": 0.1, "load_coefficient_backdriving": 0.2}
START = 0.3


def pendulum(**joint: float) -> RobotModel:
    """Return a pendulum of 4 kg at 0.5 m; its gravity torque is negative at START."""
    return load(PENDULUM, {"joints": {"joint": {**GEAR, **joint}}})


def magnitude(u: float, level: float, driving: float, backdriving: float) -> float:
    """Return the friction f = level + mu |u - f| by bisection: f - mu |u - f| grows with f."""
    low = 0.0
    high = 1e4
    for _ in range(80):
        f = 0.5 * (low + high)
        excess = f - level - (driving if u > f else backdriving) * abs(u - f)
        low, high = (f, high) if excess < 0.0 else (low, f)
    return f


def oracle(
    model: RobotModel, tau: float, seconds: float, dt: float, viscous: float, q: float
) -> tuple[float, float]:
    """Return position and velocity of the pendulum from rest by tiny Euler steps of the differential inclusion."""
    inertia = float(model.mass_matrix([0.0])[0, 0])
    c = 1.0
    driving = 0.1
    backdriving = 0.2
    weight = float(model.gravity_torque([0.0])[0])
    v = 0.0
    for _ in range(round(seconds / dt)):
        net = tau - weight * math.cos(q)
        way = math.copysign(1.0, v if v != 0.0 else net)
        f = magnitude(way * (tau - viscous * v), c, driving, backdriving)
        if v == 0.0 and abs(net) <= f:
            continue
        after = v + dt * (net - viscous * v - way * f) / inertia
        after = 0.0 if v * after < 0.0 else after
        q = q + dt * 0.5 * (v + after)
        v = after
    return q, v


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit"])
# raises, slips back, falls, is driven down
@pytest.mark.parametrize("tau", [-30.0, -25.0, -10.0, 5.0])
@pytest.mark.parametrize("viscous", [0.0, 2.0])
def test_motion_is_that_of_the_differential_inclusion(
    integrator: str, tau: float, viscous: float
) -> None:
    model = pendulum(viscous=viscous)
    plant = Plant(model, integrator, 0.0005, [START])
    plant.step([tau], 800)
    q, v = oracle(model, tau, 0.4, 2e-5, viscous, START)
    assert plant.position[0] == pytest.approx(
        q, abs=5e-5 if integrator == "rk4" else 2e-3
    )
    assert plant.velocity[0] == pytest.approx(
        v, abs=2e-4 if integrator == "rk4" else 5e-3
    )


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_sticking_is_exact_up_to_the_level_of_the_load(way: float) -> None:
    """No drift in 60 s at 0.99 of the level, up and down; motion at 1.01."""
    model = pendulum()
    weight = float(model.gravity_torque([START])[0])
    mu = 0.1 if weight * way > 0.0 else 0.2
    level = 1.0 + mu * abs(weight)
    plant = Plant(model, initial_positions=[START])
    plant.step([weight + 0.99 * way * level], 60_000)
    assert plant.position[0] == START and plant.velocity[0] == 0.0 and plant.stuck.all()
    plant.step([weight + 1.01 * way * level], 100)
    assert (plant.position[0] - START) * way > 0.0


def test_the_order_of_convergence_with_viscous_friction_is_that_of_rk4() -> None:
    """The level depends on the velocity through the load, without a change of mode."""
    model = pendulum(viscous=2.0)
    ends = []
    for dt in (0.02, 0.01, 0.005, 0.00125):
        plant = Plant(model, "rk4", dt, [START], [2.0])
        plant.step([-5.0], round(0.4 / dt))
        ends.append(float(plant.position[0]))
    errors = np.abs(np.array(ends[:3]) - ends[3])
    assert (errors[:-1] / errors[1:] > 12.0).all() and errors[0] > 1e-9


@given(
    q=st.floats(-3.0, 3.0), v=st.floats(-3.0, 3.0), tau=st.floats(-60.0, 60.0), mu=st.floats(0.0, 0.6),
    back=st.floats(0.0, 0.6), static=st.floats(1.0, 1.5), integrator=st.sampled_from(["rk4", "semi_implicit"]),
)  # fmt: skip
def test_friction_takes_energy_only(
    q: float,
    v: float,
    tau: float,
    mu: float,
    back: float,
    static: float,
    integrator: str,
) -> None:
    """The impulse of friction opposes the velocity after each step, also with a rotor, whose load is one step late."""
    joint = {
        "coulomb": 1.0,
        "static": static,
        "stribeck_velocity": 0.2,
        "load_coefficient": mu,
    }
    gear = {
        **joint,
        "load_coefficient_backdriving": back,
        "rotor_inertia": 1e-4,
        "gear_ratio": 100.0,
    }
    plant = Plant(pendulum(**gear), integrator, 0.002, [q], [v])
    for _ in range(50):
        plant.step([tau])
        assert float(plant.impulse @ plant.velocity) <= 0.0


def test_friction_torque_is_that_of_the_plant() -> None:
    """Motor torque = inverse dynamics + friction under its load, with a rotor, for both directions of power."""
    model = pendulum(viscous=0.5, rotor_inertia=1e-4, gear_ratio=100.0)
    for v, tau in ((0.5, -40.0), (-0.5, -40.0), (0.5, 30.0), (-0.5, 10.0)):
        plant = Plant(model, "rk4", 1e-4, [START], [v])
        plant.step([tau], 3)
        before = plant.velocity
        plant.step([tau])
        q = plant.position
        qd = 0.5 * (before + plant.velocity)
        qdd = (plant.velocity - before) / 1e-4
        needed = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(
            q, qd, qdd=qdd
        )
        np.testing.assert_allclose(needed, [tau], atol=0.01)
        assert model.friction_torque(
            q, qd, load=model.gear_load(q, qd, qdd)
        ) == pytest.approx(model.friction_torque(q, qd, qdd=qdd))
    states = np.zeros((5, 1)), np.ones((5, 1))
    np.testing.assert_allclose(
        model.friction_torque(*states, load=[-10.0]), 1.5 + 0.2 * 10.0
    )


@pytest.mark.parametrize(
    "joint",
    [
        {"load_coefficient": 1.0},
        {"static": 1.5, "load_coefficient": 0.7},
        {"load_coefficient": -0.1},
    ],
)
def test_a_coefficient_with_which_a_joint_could_never_move_is_refused(
    joint: dict[str, float],
) -> None:
    with pytest.raises(RobotModelError, match="load_coefficient"):
        pendulum(**joint)
    with pytest.raises(RobotModelError, match="scaled"):
        pendulum().scaled(friction=6.0)


@pytest.mark.parametrize("rotor_inertia", [0.0, 1e-4])
def test_an_arm_with_geared_joints_beside_an_ode_solver(rotor_inertia: float) -> None:
    """Both joints slip without a reversal, one while driving, one while driven.

    The load of a rotor is one step late: the error is larger, and proportional to the step.
    """
    rotor = {
        "rotor_inertia": rotor_inertia,
        "gear_ratio": 50.0,
        "rotor_carrier": "none",
    }
    gears = {name: {**GEAR, "viscous": 0.8, **rotor} for name in ("joint1", "joint2")}
    link = arms.Link("", 3.0, (0.2, 0.05, 0.0), np.diag([0.02, 0.05, 0.06]))
    model = load(
        arms.planar_2r(0.4, 0.3, link, link),
        {"joints": gears, "gravity": [0.0, -9.81, 0.0]},
    )
    reflected = rotor_inertia * 50.0**2
    tau = np.array([26.0, 3.0])
    start = np.array([0.2, 0.5, 1.5, -1.2])

    def slope(_: float, state: Array) -> Array:
        q = state[:2]
        v = state[2:]
        smooth = 0.8 * v
        way = np.sign(v)
        a = np.zeros(2)
        for _ in range(30):  # the load depends on the acceleration of the rotor
            applied = way * (tau - smooth - reflected * a)
            friction = smooth + way * [magnitude(u, 1.0, 0.1, 0.2) for u in applied]
            a = model.forward_dynamics(q, v, tau - friction)
        return np.concatenate([v, a])

    end = solve_ivp(slope, (0.0, 0.03), start, "DOP853", rtol=1e-10, atol=1e-12).y[
        :, -1
    ]
    errors = []
    for dt in (0.001, 0.0005):
        plant = Plant(model, "rk4", dt, start[:2], start[2:])
        plant.step(tau, round(0.03 / dt))
        assert (plant.velocity * start[2:] > 0.0).all()
        errors.append(
            np.abs(np.concatenate([plant.position, plant.velocity]) - end).max()
        )
    if rotor_inertia == 0.0:
        assert errors[1] < 1e-7
    else:
        assert errors[1] < 5e-4 and errors[0] > 1.7 * errors[1]

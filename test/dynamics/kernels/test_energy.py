"""Potential energy from the masses, and power of torques, friction and external wrenches."""

import numpy as np
import pytest
from hypothesis import given

from support.comparing import assert_close
from support.robots_with_drives import (
    Robot,
    robots,
    size,
    slope,
    state,
    stride,
    wrenches,
)


@given(robot=robots())
def test_potential_energy_is_that_of_the_moving_masses(robot: Robot) -> None:
    """-sum m g . c over all moving links, c from the root frame's origin; the gravity torque is its gradient."""
    model = robot.model()
    q = state(robot, model.n)[0]
    moving = {
        joint.child for joint in robot.bare.joints if joint.name in robot.bare.movable
    }
    for joint in robot.bare.joints:
        if joint.parent in moving:
            moving.add(joint.child)
    parts = [(link.name, link) for link in robot.arm.links]
    if robot.payload is not None:
        parts.append((robot.holder, robot.payload))
    expected = 0.0
    for name, part in parts:
        if name in moving:
            centre = model.link_pose(q, name) @ [*part.com, 1.0]
            expected -= (part.mass or 0.0) * float(np.dot(robot.gravity, centre[:3]))
    assert_close(
        model.potential_energy(q), expected, 1e-12, 100.0 * len(robot.bare.links) ** 2
    )
    rate = stride(robot, model.joint_names)
    gradient = [
        slope(lambda h, e=unit: model.potential_energy(q + h * e), rate)
        for unit in np.eye(model.n)
    ]
    assert_close(model.gravity_torque(q), gradient, 1e-8, rate * (1.0 + abs(expected)))


@given(robot=robots(friction=True))
def test_power(robot: Robot) -> None:
    """dE/dt = qd . (tau - friction) + power of the wrenches, along the motion from forward dynamics."""
    model = robot.model()
    q, qd, tau = state(robot, model.n)
    external_wrenches = wrenches(robot)
    tau = tau - model.friction_torque(q, qd)
    qdd = model.forward_dynamics(q, qd, tau, external_wrenches)
    # Moderate accelerations keep the path smooth: wrenches can accelerate a light wrist strongly.
    mild = min(1.0, 100.0 / float(np.abs(qdd).max()))
    tau = mild * tau + (1.0 - mild) * model.inverse_dynamics(
        q, qd, np.zeros(model.n), external_wrenches
    )
    qdd = mild * qdd
    assert_close(
        model.inverse_dynamics(q, qd, qdd, external_wrenches),
        tau,
        1e-10,
        size(model, q, qd, qdd) + float(abs(tau).max()),
    )
    power = float(qd @ tau)
    for link, wrench in external_wrenches.items():
        turn = model.link_pose(q, link)[:3, :3]
        twist = model.jacobian(q, link) @ qd
        power += float(twist[:3] @ turn @ wrench[:3] + twist[3:] @ turn @ wrench[3:])

    def energy(t: float) -> float:
        position = q + t * qd + t * t / 2.0 * qdd
        velocity = qd + t * qdd
        return float(
            model.kinetic_energy(position, velocity) + model.potential_energy(position)
        )

    fast = (
        stride(robot, model.joint_names, qd)
        + 10.0 * stride(robot, model.joint_names, qdd) ** 0.5
    )
    scale = fast * (
        model.kinetic_energy(q, qd)
        + abs(model.potential_energy(q))
        + float(np.abs(qd) @ np.abs(tau))
    )
    assert slope(energy, fast) == pytest.approx(power, abs=1e-9 * max(1.0, scale))

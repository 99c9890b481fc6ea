"""Steps at low speed, of a joint with static and Coulomb friction under a position control."""

import re

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.low_speed import steps_at_low_speed
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.recordings.bags import JointSeries
from support.noisy_recordings import START

STATIC = 6.0  # Nm
COULOMB = 4.0
STIFFNESS = 60.0  # Nm/rad
STEP = 2e-4  # s


@pytest.fixture
def model() -> RobotModel:
    return RobotModel.shipped(
        "planar_2r",
        joints=["joint2"],
        locked={"joint1": 0.0},
        gravity=[0.0, 0.0, -9.81],
    ).without_gravity()


def pulled(model: RobotModel, speed: float, damping: float) -> RecordedMotion:
    """Record 30 s under a set point with this speed, integrated by the semi-implicit Euler method."""
    ((inertia,),) = model.mass_matrix([0.0])
    q = 0.0
    qd = 0.0
    rows = []
    for k in range(150_000):
        time = k * STEP
        effort = STIFFNESS * (speed * time - q) + damping * (speed - qd)
        if qd == 0.0:
            friction = np.clip(effort, -STATIC, STATIC)
            if abs(effort) > STATIC:
                friction = np.copysign(COULOMB, effort)
        else:
            friction = np.copysign(COULOMB, qd)
        faster = qd + STEP * (effort - friction) / inertia
        qd = 0.0 if faster * qd < 0.0 else faster
        q += STEP * qd
        if k % 25 == 0:
            rows.append((time, q, qd, effort))
    time, position, velocity, effort = np.array(rows).T
    stamps = START + np.round(1e9 * time).astype(np.int64)
    noise = np.random.default_rng(0).standard_normal((3, len(time)))
    fields = [
        (x + size * e)[:, None]
        for x, size, e in zip(
            (position, velocity, effort), (1e-5, 1e-3, 0.05), noise, strict=True
        )
    ]
    return recorded_motion(
        JointSeries(("joint2",), stamps, stamps, *fields), Smoothing()
    )


def test_steps_are_named_with_friction_and_sufficient_damping(
    model: RobotModel,
) -> None:
    """With 10 % more than that damping the simulation has no steps, with 20 % less it has."""
    (hint,) = steps_at_low_speed(model, pulled(model, 0.05, 1.0))
    numbers = re.search(
        r"at rest (\S+) %.* is (\S+) Nm .* and (\S+) Nm .*than (\S+) Nm s/rad", hint
    )
    assert numbers, hint
    rest, static, coulomb, damping = map(float, numbers.groups())
    assert rest > 70.0
    assert static == pytest.approx(STATIC, rel=0.05)
    assert coulomb == pytest.approx(COULOMB, rel=0.1)
    assert steps_at_low_speed(model, pulled(model, 0.05, 0.8 * damping))
    assert not steps_at_low_speed(model, pulled(model, 0.05, 1.1 * damping))


def test_fast_motion_has_no_steps(model: RobotModel) -> None:
    assert not steps_at_low_speed(model, pulled(model, 1.0, 3.0))

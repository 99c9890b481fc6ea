"""Stopping against uniformly accelerated motion, with the figures of JTC's tests."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics_ros.control.stopping import stop
from support.trajectories import sampled

VELOCITIES = arrays(float, 4, elements=st.one_of(st.just(0.0), st.floats(1e-3, 5.0), st.floats(-5.0, -1e-3)))


@given(
    q=arrays(float, 4, elements=st.floats(-3.0, 3.0)),
    qd=VELOCITIES,
    deceleration=arrays(float, 4, elements=st.floats(0.1, 50.0)),
)
@settings(max_examples=60, deadline=None)
def test_every_joint_stops_in_its_own_time_and_way(q, qd, deceleration):
    trajectory = stop(2.0, q, qd, deceleration)
    until = np.abs(qd) / deceleration
    assert trajectory.duration == until.max()
    for dt in (*np.linspace(0.0, 1.1 * until.max() + 0.01, 40), *until):
        position, velocity, acceleration, effort, _ = sampled(trajectory, 2.0 + dt, 4)
        # Rounding of 2.0 + dt may put an instant on either side of a joint's own end.
        t = np.minimum((2.0 + dt) - 2.0, until)
        np.testing.assert_allclose(position, q + qd * t - np.sign(qd) * deceleration * t**2 / 2, rtol=0, atol=1e-12)
        np.testing.assert_allclose(velocity, qd - np.sign(qd) * deceleration * t, rtol=0, atol=1e-12)
        assert (np.abs(acceleration) <= deceleration).all()
        assert (acceleration * qd <= 0.0).all()
        assert not effort.any()
    np.testing.assert_allclose(
        sampled(trajectory, 99.0, 4)[0], q + np.sign(qd) * qd**2 / (2 * deceleration), rtol=0, atol=1e-13
    )

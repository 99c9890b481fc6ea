"""Random trajectories for tests, of three joints."""

import numpy as np

from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ALL,
    NodeSettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.goals import Tolerances
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory

NAMES = ("shoulder", "elbow", "wrist")
N = len(NAMES)
REST = np.zeros((4, N))
KINDS = ("linear", "spline", "cubic", "quintic")


def random_points(seed, m, kind="quintic", names=NAMES, first=0.3, effort=False):
    """Return m points 0.05 s to 0.8 s apart; the last one is at rest."""
    rng = np.random.default_rng(seed)
    times = first + np.concatenate(([0.0], np.cumsum(rng.uniform(0.05, 0.8, m - 1))))
    q, v, a, u = rng.normal(size=(4, m, len(names)))
    v[-1] = 0.0
    velocities = v if kind in ("cubic", "quintic") else None
    return TrajectoryPoints(
        names,
        times,
        q,
        velocities,
        a if kind == "quintic" else None,
        u if effort else None,
    )


def moving_state(seed):
    """Return a random position, velocity and acceleration, without effort."""
    return np.vstack((np.random.default_rng(seed).normal(size=(3, N)), np.zeros(N)))


def build(points, start_time=0.0, state=REST, kind="quintic", **options):
    """Return the trajectory through the points."""
    if kind == "linear":
        options["rules"] = TrajectoryRules(positions_upsampling=False)
    return Trajectory.from_points(points, NAMES, start_time, state, **options)


def sampled(trajectory, t):
    """Return position, velocity, acceleration, effort and whether the trajectory runs."""
    out = np.full((4, N), np.nan)
    active = trajectory.sample_rows(t, out)
    return (*out, active)


def resampled(trajectory, period):
    """Return the times and the motion of all points."""
    return tuple(
        np.concatenate(parts)
        for parts in zip(*trajectory.resampled(period), strict=True)
    )


RULES = TrajectoryRules(
    allow_partial_joints_goal=True, allow_nonzero_velocity_at_trajectory_end=True
)


def resting(q=(0.0, 0.0, 0.0), time=0.0):
    """Return a plan that holds q."""
    plan = MotionPlan(NAMES)
    plan.hold(time, np.array(q))
    return plan


def goal(times, q, v=None, names=NAMES, effort=None):
    """Return points from lists."""
    tables = [
        None if x is None else np.array(x, dtype=float) for x in (q, v, None, effort)
    ]
    return TrajectoryPoints(names, np.array(times, dtype=float), *tables)


def follow(plan, points, start=None, now=0.0, rules=RULES, measured=None):
    """Give points to a plan."""
    return plan.follow(points, start, now, rules, measured)


def desired(plan, t):
    """Advance a plan; return copies of position, velocity, acceleration and effort."""
    plan.advance(t)
    return plan.q.copy(), plan.qd.copy(), plan.qdd.copy(), plan.effort.copy()


def same(one, other, tolerance=0.0):
    """Assert that arrays are equal within a tolerance."""
    for x, y in zip(one, other, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance)


def goal_tolerances(joint_names, **constraints):
    """Return the tolerances of goals by some parameters constraints.*, others by default."""
    values = {one.name: one.default for one in ALL} | {
        f"constraints.{key}": x for key, x in constraints.items()
    }
    return Tolerances.of(NodeSettings.read(values.get), joint_names)

"""Benchmark of many varied robots: PlantBatch against MuJoCo's rollout, with the same number of threads.

Each robot has its own factor of masses and inertias, its own factor of friction, and its own initial position. All
robots get the same torques.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from benchmarks.peers import THREADS
from benchmarks.robots import Floats
from benchmarks.simulation_peers import HOLD, STEP, Case, mujoco_model, mujoco_order
from robot_dynamics_ros.simulation import PlantBatch

PLANTS = 1000
# robots per task of a MuJoCo thread; from 1 to 150 its speed is the same within the noise
CHUNK = 10

Many = Callable[[], Floats]
"""Function that simulates all robots from their start and returns their final positions (plants, n)."""


class Spread(NamedTuple):
    """Variations of the robots."""

    mass: Floats  # (plants,) factors
    friction: Floats  # (plants,) factors
    start: Floats  # (plants, n) rad


def spread(case: Case, count: int, seed: int) -> Spread:
    """Return uniform variations: masses +-20 %, friction +-50 %, initial positions +-0.1 rad."""
    generator = np.random.default_rng(seed)
    return Spread(
        generator.uniform(0.8, 1.2, count),
        generator.uniform(0.5, 1.5, count),
        case.start + generator.uniform(-0.1, 0.1, (count, case.model.n)),
    )


def our_many(case: Case, robots: Spread, integrator: str, *, customised: bool) -> Many:
    """PlantBatch."""
    model = case.customised if customised else case.model
    models = [
        model.scaled(mass=float(mass), friction=float(friction))
        for mass, friction in zip(robots.mass, robots.friction, strict=True)
    ]
    plants = PlantBatch(
        models, integrator=integrator, step_size=STEP, initial_positions=robots.start
    )

    def run() -> Floats:
        plants.reset()
        for tau in case.torque:
            plants.step(tau, HOLD)
        last: Floats = plants.position
        return last

    return run


def mujoco_many(case: Case, robots: Spread, integrator: str) -> Many:
    """Return MuJoCo's rollout in its fastest use: persistent thread pool, no checks, arrays allocated before."""
    base = mujoco_model(case, integrator)
    datas = [mujoco.MjData(base) for _ in range(THREADS)]
    own = mujoco_order(base, case)
    models = []
    for mass, friction in zip(robots.mass, robots.friction, strict=True):
        model = copy.copy(base)
        model.body_mass *= mass
        model.body_inertia *= mass
        model.dof_damping *= friction
        model.dof_frictionloss *= friction
        mujoco.mj_setConst(model, datas[0])
        models.append(model)
    count = len(models)
    steps = HOLD * len(case.torque)
    n = case.model.n
    size = mujoco.mj_stateSize(base, mujoco.mjtState.mjSTATE_FULLPHYSICS.value)
    first = np.zeros((count, size))  # time, positions, velocities
    first[:, 1 : 1 + n] = own(robots.start)
    control = np.ascontiguousarray(
        np.broadcast_to(np.repeat(own(case.torque), HOLD, axis=0), (count, steps, n))
    )
    states = np.empty((count, steps, size))
    columns = 1 + np.array(
        [base.joint(name).qposadr[0] for name in case.model.joint_names]
    )
    pool = Rollout(nthread=THREADS)
    applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

    def run() -> Floats:
        pool.rollout(
            models,
            datas,
            first,
            control,
            control_spec=applied,
            skip_checks=True,
            nstep=steps,
            state=states,
            chunk_size=CHUNK,
        )
        return np.array(states[:, -1, columns])

    return run

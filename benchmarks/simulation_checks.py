"""Checks that the libraries simulate the same motion, and measurements of friction in them; without timing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.monte_carlo import mujoco_many, our_many, spread
from benchmarks.robots import Floats
from benchmarks.simulation_peers import (
    HOLD,
    MUJOCO_INTEGRATORS,
    STEP,
    Case,
    Simulator,
    load,
    ours,
    sticking,
    with_mujoco,
    with_pinocchio,
)
from benchmarks.simulation_tables import (
    MUJOCO,
    MUJOCO_DEFAULT,
    MUJOCO_FAST,
    MUJOCO_RK4,
    OURS,
    PINOCCHIO,
    RK4,
    RK4_GENERAL,
    SEMI_IMPLICIT,
    TARGET_ROBOT,
    Facts,
)

CHECKED = 20  # compared robots of the many
MANY_DURATION = 1.0  # s
CREEP = 60.0  # s
LOAD_SHARE = 0.999  # of the Coulomb torque
TOLERANCE = 1e-9  # rad, between RK4 steps of different libraries
FRICTION_TOLERANCE = 2e-3  # rad, between our own integrators
# rad to a joint limit; limits differ in the libraries, and Pinocchio has none
NEAR = 0.05
ENOUGH = 0.1  # s, minimum duration of a comparison


def simulators(case: Case) -> dict[str, Simulator]:
    """Return all simulations of a robot; that of Pinocchio only without Coulomb friction."""
    return {
        **{
            name: ours(case, integrator, customised=customised)
            for name, (integrator, customised) in OURS.items()
        },
        **{
            MUJOCO + integrator: with_mujoco(case, integrator)
            for integrator in MUJOCO_INTEGRATORS
        },
        **({} if case.coulomb else {PINOCCHIO: with_pinocchio(case)}),
    }


def path(simulator: Simulator, case: Case) -> Floats:
    """Return the positions after each call (calls, n)."""
    simulator.reset()
    positions = []
    for tau in simulator.own(case.torque):
        simulator.step(tau, HOLD)
        positions.append(simulator.position())
    return np.array(positions)


def compare(
    robot: str,
    simulations: Mapping[str, Simulator],
    case: Case,
    allowed: Mapping[str, float],
) -> tuple[float, dict[str, float]]:
    """Return the largest distance of each simulation to RK4 before a joint comes near a stop, and that time (s).

    Exits if a distance is larger than allowed for that simulation.
    """
    expected = path(simulations[RK4], case)
    model = case.model
    room = np.minimum(
        expected - model.position_lower, model.position_upper - expected
    ).min(axis=1)
    count = int(np.argmax(room < NEAR)) if (room < NEAR).any() else len(room)
    seconds = STEP * HOLD * count
    if seconds < ENOUGH:
        raise SystemExit(
            f"{robot}: a joint comes near its limit after {seconds:.2g} s: too early to compare the libraries; nothing "
            "is timed. Cure: start elsewhere, or with smaller torques"
        )
    distances = {
        name: float(np.max(np.abs(path(simulator, case) - expected)[:count]))
        for name, simulator in simulations.items()
        if name != RK4
    }
    for name, most in allowed.items():
        if not distances[name] <= most:
            raise SystemExit(
                f"{robot}: {name} deviates by {distances[name]:.2g} rad from {RK4}, allowed is {most:g}; nothing is "
                "timed. Cure: find the wrong library, or the one with another robot"
            )
    return seconds, distances


def creep(simulator: Simulator, case: Case) -> float:
    """Return the largest joint displacement (rad) within CREEP seconds under LOAD_SHARE times the Coulomb torque."""
    push = LOAD_SHARE * case.coulomb * (-1.0) ** np.arange(case.model.n)
    (tau,) = simulator.own((case.model.gravity_torque(case.start) + push)[None, :])
    simulator.reset()
    simulator.step(tau, round(CREEP / STEP))
    return float(np.max(np.abs(simulator.position() - case.start)))


def find_facts(robot: str, case: Case, viscous: Case) -> Facts:
    """Compare the libraries and measure friction; exits like ``compare``."""
    exact = dict.fromkeys((RK4_GENERAL, MUJOCO_RK4, PINOCCHIO), TOLERANCE)
    smooth = simulators(viscous)
    smooth_time, smooth_distance = compare(
        robot, {name: smooth[name] for name in (RK4, *exact)}, viscous, exact
    )
    simulations = simulators(case)
    close = {name: FRICTION_TOLERANCE for name in OURS if name != RK4}
    seconds, distances = compare(robot, simulations, case, close)
    shown = {name: distances[name] for name in (SEMI_IMPLICIT, MUJOCO_FAST, MUJOCO_RK4)}
    changes, stuck = sticking(case)
    return Facts(
        smooth_time,
        max(smooth_distance.values()),
        seconds,
        shown,
        changes,
        stuck,
        {
            name: creep(simulations[name], case)
            for name in (SEMI_IMPLICIT, RK4, MUJOCO_DEFAULT, MUJOCO_FAST)
        },
    )


def check_many(folder: Path) -> None:
    """Exit if the first of many robots differ from MuJoCo's, with RK4 and viscous friction only."""
    case = load(TARGET_ROBOT, folder, MANY_DURATION, coulomb=False)
    robots = spread(case, CHECKED, seed=1)
    expected = mujoco_many(case, robots, "RK4")()
    for customised in (False, True):
        distance = np.max(
            np.abs(our_many(case, robots, "rk4", customised=customised)() - expected)
        )
        if not distance <= TOLERANCE:
            raise SystemExit(
                f"{CHECKED} robots: {distance:.2g} rad from MuJoCo's rollout, allowed is {TOLERANCE:g}; nothing is "
                "timed. Cure: find the wrong library, or the one with other robots"
            )

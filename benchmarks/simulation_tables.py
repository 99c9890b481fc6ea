"""Simulation speeds as Markdown tables, compared with their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.document import markdown_table
from benchmarks.robots import ROBOTS, Floats
from benchmarks.tables import Target, cell, short

SEMI_IMPLICIT = "semi_implicit, customised"
SEMI_IMPLICIT_GENERAL = "semi_implicit, general"
RK4 = "rk4, customised"
RK4_GENERAL = "rk4, general"
OURS = {
    SEMI_IMPLICIT: ("semi_implicit", True),
    SEMI_IMPLICIT_GENERAL: ("semi_implicit", False),
    RK4: ("rk4", True),
    RK4_GENERAL: ("rk4", False),
}
"""Integrator, and True if the model is customised, by the name of the simulation."""
OUR_MANY = (SEMI_IMPLICIT, SEMI_IMPLICIT_GENERAL, RK4)
MUJOCO = "MuJoCo "
PINOCCHIO = "Pinocchio's ABA in a loop, RK4"
MUJOCO_RK4 = MUJOCO + "RK4"
MUJOCO_DEFAULT = MUJOCO + "Euler"
MUJOCO_FAST = MUJOCO + "implicitfast"

# Calls with many steps: ``simulate`` with an array of torques, and ``Plant.step``, both with rk4, general.
SIMULATE = "simulate"
PLANT_STEP = "Plant.step"

TARGET_ROBOT = "panda"  # robot of the targets
SPEED_TARGETS = {SEMI_IMPLICIT: Target(300.0, 1000.0), RK4: Target(100.0, 200.0)}
RATIO_TARGETS = {SEMI_IMPLICIT: Target(2.0, 5.0)}
MANY_TARGETS = {SEMI_IMPLICIT: Target(3.0, 10.0)}
CALL_TARGETS = {SIMULATE: Target(1.0, 5.0)}
BARE_TARGETS = {SIMULATE: Target(0.77, 0.9)}

Speeds = Mapping[str, Mapping[str, Floats]]
"""Simulated seconds a second in each round: robot, simulation."""


class Facts(NamedTuple):
    """Results of the checks of a robot's simulations, before the timing."""

    viscous_time: float
    """Time (s) with viscous friction only, before a joint came near a limit."""
    viscous_distance: float
    """Largest distance (rad) in this time between the RK4 steps of all libraries."""
    friction_time: float
    """Time (s) with Coulomb friction, before a joint came near a limit."""
    friction_distance: Mapping[str, float]
    """Largest distance (rad) in this time from RK4, of some other simulations."""
    changes: int
    """Number of steps in which some joint breaks away or sticks."""
    stuck: float
    """Share of joints and steps at rest by friction."""
    creep: Mapping[str, float]
    """Drift (rad) of some simulations under a torque below the break-away torque."""


def ratios(speeds: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return our simulations' ratios to MuJoCo's variant with the highest median in each round; higher is better."""
    fastest = max(
        (name for name in speeds if name.startswith(MUJOCO)),
        key=lambda name: float(np.median(speeds[name])),
    )
    return {
        name: np.asarray(values / speeds[fastest])
        for name, values in speeds.items()
        if name in OURS
    }


def is_missed(
    targets: Mapping[str, Target], robot: str, name: str, values: Floats
) -> bool:
    """Return True if the median is below its target."""
    return (
        robot == TARGET_ROBOT
        and name in targets
        and float(np.median(values)) < targets[name].required
    )


def creeps(name: str, fact: Facts) -> bool:
    """Return True if one of our own simulations moved although friction holds the joints."""
    return name in OURS and fact.creep[name] != 0.0


def table(
    title: str, values: Speeds, targets: Mapping[str, Target], sign: str = ""
) -> str:
    """Return a table of medians and quartiles by simulation (row) and robot (column); ✗ marks missed targets."""
    asked = bool(targets)
    rows = [
        [
            title,
            *(["required", "goal"] if asked else []),
            *(ROBOTS[robot].title for robot in values),
        ]
    ]
    for name in dict.fromkeys(name for by_name in values.values() for name in by_name):
        goals = (
            [f"{goal:g}{sign}" for goal in targets[name]]
            if name in targets
            else ["", ""]
        )
        cells = [
            cell(by_name[name], sign, is_missed(targets, robot, name, by_name[name]))
            for robot, by_name in values.items()
        ]
        rows.append([name, *(goals if asked else []), *cells])
    return markdown_table(rows)


def facts_table(facts: Mapping[str, Facts], creep_time: float, steps: int) -> str:
    """Return a table of the checks, a column for each robot."""
    columns = {
        ROBOTS[robot].title: _cells(fact, creep_time, steps)
        for robot, fact in facts.items()
    }
    titles = next(iter(columns.values()))
    rows = [[title, *(cells[title] for cells in columns.values())] for title in titles]
    return markdown_table([["", *columns], *rows])


def _cells(fact: Facts, creep_time: float, steps: int) -> dict[str, str]:
    return {
        **{
            f"largest difference of {name} from our rk4, rad": f"{distance:.1g}"
            for name, distance in fact.friction_distance.items()
        },
        f"steps of {steps:,} in which a joint breaks away or sticks": f"{fact.changes:,}",
        "joints at rest by friction": f"{100 * fact.stuck:.0f}%",
        **{
            f"drift of {name} in {creep_time:g} s, rad": f"{drift:.3g}{' ✗' if creeps(name, fact) else ''}"
            for name, drift in fact.creep.items()
        },
    }


def missed(
    speeds: Speeds, many: Mapping[str, Floats], facts: Mapping[str, Facts]
) -> str:
    """Return a sentence on the missed targets."""
    checked = [
        (targets, robot, name, values, what)
        for robot, by_name in speeds.items()
        for targets, by_what, what in (
            (SPEED_TARGETS, by_name, " times real time"),
            (RATIO_TARGETS, ratios(by_name), "× MuJoCo's fastest"),
        )
        for name, values in by_what.items()
    ]
    checked += [
        (MANY_TARGETS, TARGET_ROBOT, name, values, "× MuJoCo's rollout")
        for name, values in many.items()
    ]
    found = [
        f"{name} on {ROBOTS[robot].title} ({short(float(np.median(values)))}{what}, "
        f"required {targets[name].required:g})"
        for targets, robot, name, values, what in checked
        if is_missed(targets, robot, name, values)
    ]
    found += [
        f"{name} on {ROBOTS[robot].title} (drifts)"
        for robot, fact in facts.items()
        for name in fact.creep
        if creeps(name, fact)
    ]
    return f"Missed (✗): {'; '.join(found)}." if found else "All requirements are met."

"""The simulations' speeds as Markdown tables, beside what they are meant to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.document import markdown_table
from benchmarks.robots import ROBOTS, Floats
from benchmarks.tables import Target

SEMI_IMPLICIT, SEMI_IMPLICIT_GENERAL = "semi_implicit, customised", "semi_implicit, general"
RK4, RK4_GENERAL = "rk4, customised", "rk4, general"
OURS = {
    SEMI_IMPLICIT: ("semi_implicit", True),
    SEMI_IMPLICIT_GENERAL: ("semi_implicit", False),
    RK4: ("rk4", True),
    RK4_GENERAL: ("rk4", False),
}
"""Integrator, and whether the model is customised."""
OUR_MANY = (SEMI_IMPLICIT, SEMI_IMPLICIT_GENERAL, RK4)
MUJOCO, PINOCCHIO = "MuJoCo ", "Pinocchio's ABA in a loop, RK4"
MUJOCO_RK4, MUJOCO_DEFAULT, MUJOCO_FAST = MUJOCO + "RK4", MUJOCO + "Euler", MUJOCO + "implicitfast"

MEANT = "panda"  # the robot that the targets are for
SPEED_TARGETS = {SEMI_IMPLICIT: Target(300.0, 1000.0), RK4: Target(100.0, 200.0)}
RATIO_TARGETS = {SEMI_IMPLICIT: Target(2.0, 5.0)}
MANY_TARGETS = {SEMI_IMPLICIT: Target(3.0, 10.0)}

Speeds = Mapping[str, Mapping[str, Floats]]
"""Simulated seconds a second in each round: robot, simulation."""


class Facts(NamedTuple):
    """What a robot's simulations did, before anything was timed."""

    viscous_time: float
    """s with viscous friction only, before a joint came near a stop."""
    viscous_distance: float
    """rad, the largest in that time between the RK4 steps of all libraries."""
    friction_time: float
    """s with Coulomb friction, before a joint came near a stop."""
    friction_distance: Mapping[str, float]
    """rad, the largest in that time to RK4, of some other simulations."""
    changes: int
    """Steps in which some joint started or stopped."""
    stuck: float
    """Share of joints and steps at rest by friction."""
    creep: Mapping[str, float]
    """rad, of some simulations under a torque that is not enough to break a joint loose."""


def ratios(speeds: Mapping[str, Floats]) -> dict[str, Floats]:
    """Each round's ratio to MuJoCo's fastest, which is the one with the highest median; higher is better."""
    fastest = max((name for name in speeds if name.startswith(MUJOCO)), key=lambda name: float(np.median(speeds[name])))
    return {name: np.asarray(values / speeds[fastest]) for name, values in speeds.items()}


def is_missed(targets: Mapping[str, Target], robot: str, name: str, values: Floats) -> bool:
    """Whether the median is below what it must be."""
    return robot == MEANT and name in targets and float(np.median(values)) < targets[name].must


def creeps(name: str, fact: Facts) -> bool:
    """Whether one of our own simulations moved where friction holds it."""
    return name in OURS and fact.creep[name] != 0.0


def table(title: str, values: Speeds, targets: Mapping[str, Target], sign: str = "") -> str:
    """Medians and quartiles, one row a simulation, one column a robot; ✗ marks what misses its target."""
    asked = bool(targets)
    rows = [[title, *(["must", "aim"] if asked else []), *(ROBOTS[robot].title for robot in values)]]
    for name in dict.fromkeys(name for by_name in values.values() for name in by_name):
        goals = [f"{goal:g}{sign}" for goal in targets[name]] if name in targets else ["", ""]
        cells = [
            _cell(by_name[name], sign, is_missed(targets, robot, name, by_name[name]))
            for robot, by_name in values.items()
        ]
        rows.append([name, *(goals if asked else []), *cells])
    return markdown_table(rows)


def facts_table(facts: Mapping[str, Facts], creep_time: float, steps: int) -> str:
    """One column a robot."""
    some = next(iter(facts.values()))
    rows = {
        "viscous only: compared for, s": [f"{fact.viscous_time:.3g}" for fact in facts.values()],
        "largest distance of any RK4 to ours, rad": [f"{fact.viscous_distance:.1g}" for fact in facts.values()],
        "with friction: compared for, s": [f"{fact.friction_time:.3g}" for fact in facts.values()],
    }
    for name in some.friction_distance:
        rows[f"largest distance of {name} to our rk4, rad"] = [
            f"{fact.friction_distance[name]:.1g}" for fact in facts.values()
        ]
    rows[f"steps of {steps:,} in which a joint starts or stops"] = [f"{fact.changes:,}" for fact in facts.values()]
    rows["joints at rest by friction"] = [f"{100 * fact.stuck:.0f}%" for fact in facts.values()]
    for name in some.creep:
        rows[f"drift of {name} in {creep_time:g} s, rad"] = [
            f"{fact.creep[name]:.3g}{' ✗' if creeps(name, fact) else ''}" for fact in facts.values()
        ]
    head = ["", *(ROBOTS[robot].title for robot in facts)]
    return markdown_table([head, *([title, *cells] for title, cells in rows.items())])


def missed(speeds: Speeds, many: Mapping[str, Floats], facts: Mapping[str, Facts]) -> str:
    """One sentence on what misses what it must be."""
    checked = [
        (targets, robot, name, values, what)
        for robot, by_name in speeds.items()
        for targets, by_what, what in (
            (SPEED_TARGETS, by_name, " times real time"),
            (RATIO_TARGETS, ratios(by_name), "× MuJoCo's fastest"),
        )
        for name, values in by_what.items()
    ]
    checked += [(MANY_TARGETS, MEANT, name, values, "× MuJoCo's rollout") for name, values in many.items()]
    found = [
        f"{name} on {ROBOTS[robot].title} ({_short(float(np.median(values)))}{what}, must be {targets[name].must:g})"
        for targets, robot, name, values, what in checked
        if is_missed(targets, robot, name, values)
    ]
    found += [
        f"{name} on {ROBOTS[robot].title} (drifts, must not)"
        for robot, fact in facts.items()
        for name in fact.creep
        if creeps(name, fact)
    ]
    return f"Missed (✗): {'; '.join(found)}." if found else "Everything is what it must be."


def _cell(values: Floats, sign: str, wrong: bool) -> str:
    low, median, high = (_short(float(value)) for value in np.percentile(values, [25, 50, 75]))
    return f"**{median}{sign}**{' ✗' if wrong else ''} ({low} to {high})"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"

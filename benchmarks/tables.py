"""Times of the algorithms as Markdown tables, compared with their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.document import markdown_table
from benchmarks.peers import BATCH, BATCHED, STATES
from benchmarks.robots import ROBOTS, Floats

CUSTOMISED = "customised"
GENERAL = "general"
PINOCCHIO = "Pinocchio"
WORLD = "Pinocchio (WORLD)"
MUJOCO = "MuJoCo"
LIBRARIES = (CUSTOMISED, GENERAL, PINOCCHIO, WORLD, MUJOCO)

Times = Mapping[str, Mapping[str, Mapping[str, Floats]]]
"""Seconds a call in each round: robot, algorithm, library."""


class Target(NamedTuple):
    """Required and desired value of a ratio; for batches of states per second relative to Pinocchio."""

    required: float
    goal: float


TARGETS = {
    "inverse_dynamics": Target(0.75, 0.45),
    "gravity_torque": Target(0.9, 0.6),
    "mass_matrix": Target(1.0, 0.6),
    "forward_dynamics": Target(0.7, 0.4),
    "inverse_dynamics_derivatives": Target(1.5, 0.8),
    "inverse_dynamics" + BATCH: Target(6.0, 16.0),
    "forward_dynamics" + BATCH: Target(3.0, 10.0),
}


def ratios(times: Mapping[str, Floats], algorithm: str, library: str) -> Floats:
    """Return each round's ratio to Pinocchio: of times (lower is better), for batches of speeds (higher is better)."""
    ratio = times[library] / times[PINOCCHIO]
    return np.asarray(1.0 / ratio if algorithm in BATCHED else ratio)


def is_missed(algorithm: str, ratio: float) -> bool:
    """Return True if the median ratio does not reach its required value."""
    required = TARGETS[algorithm].required
    return ratio < required if algorithm in BATCHED else ratio > required


def ratio_table(times: Times) -> str:
    """Return a table of the customised model's median ratios and quartiles, a column for each robot."""
    titles = [ROBOTS[robot].title for robot in times]
    rows = [["ratio to Pinocchio", "required", "goal", *titles]]
    for algorithm, target in TARGETS.items():
        sign = _sign(algorithm)
        cells = []
        for by_algorithm in times.values():
            values = ratios(by_algorithm[algorithm], algorithm, CUSTOMISED)
            wrong = is_missed(algorithm, float(np.median(values)))
            cells.append(cell(values, sign, wrong))
        asked = [f"{target.required:g}{sign}", f"{target.goal:g}{sign}"]
        rows.append([algorithm, *asked, *cells])
    return markdown_table(rows)


def time_table(times: Times) -> str:
    """Return a table of median times (us) per call, for batches per state, of all libraries for each robot."""
    rows = [["algorithm", *(ROBOTS[robot].title for robot in times)]]
    for algorithm in TARGETS:
        states = STATES if algorithm in BATCHED else 1
        cells = []
        for by_algorithm in times.values():
            by_library = by_algorithm[algorithm]
            values = [
                f"{1e6 * float(np.median(by_library[library])) / states:.3g}"
                if library in by_library
                else "–"
                for library in LIBRARIES
            ]
            cells.append("/".join(values))
        rows.append([algorithm, *cells])
    return markdown_table(rows)


def missed(times: Times) -> str:
    """Return a sentence on the number of targets that the customised model misses."""
    found = [
        is_missed(algorithm, float(np.median(ratios(times_of, algorithm, CUSTOMISED))))
        for by_algorithm in times.values()
        for algorithm, times_of in by_algorithm.items()
    ]
    return (
        f"Missed (✗): {sum(found)} of {len(found)}."
        if any(found)
        else "All requirements are met."
    )


def _sign(algorithm: str) -> str:
    return "×" if algorithm in BATCHED else ""


def cell(values: Floats, sign: str = "", wrong: bool = False) -> str:
    """Return the median of values, marked if it is wrong, and the quartiles."""
    low, median, high = (
        short(float(value)) for value in np.percentile(values, [25, 50, 75])
    )
    return f"**{median}{sign}**{' ✗' if wrong else ''} ({low}–{high})"


def short(value: float) -> str:
    """Return a value with three digits at most."""
    return (
        f"{value:.2f}"
        if value < 9.995
        else f"{value:.1f}"
        if value < 99.95
        else f"{value:.0f}"
    )

"""Benchmark of simulated robots with friction, against MuJoCo and a loop with Pinocchio, on one core.

``python -m benchmarks.simulation`` prints the tables of docs/benchmarks.md; ``--write docs/benchmarks.md`` updates
them. Before the timing, all libraries must simulate the same motion.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from benchmarks.document import machine, print_report, report_parser
from benchmarks.monte_carlo import PLANTS, Many, mujoco_many, our_many, spread
from benchmarks.peers import THREADS
from benchmarks.robots import Floats
from benchmarks.simulation_checks import (
    CREEP,
    LOAD_SHARE,
    MANY_DURATION,
    check_many,
    find_facts,
    simulators,
)
from benchmarks.simulation_peers import HOLD, SETTINGS, STEP, Case, Simulator, load
from benchmarks.simulation_tables import (
    MANY_TARGETS,
    MUJOCO,
    MUJOCO_DEFAULT,
    MUJOCO_FAST,
    OUR_MANY,
    OURS,
    RATIO_TARGETS,
    SPEED_TARGETS,
    TARGET_ROBOT,
    Facts,
    Speeds,
    facts_table,
    missed,
    ratios,
    table,
)
from benchmarks.timing import Timed, available_cores, bound_to, interleaved

COMMAND = "python -m benchmarks.simulation"
PART = "simulation"
DURATION = 10.0  # s
ROUNDS = 50  # turns
BLOCK = 100  # calls of HOLD steps in each: five runs
MANY_ROUNDS = 5
QUIET = 0.5  # load average before the run
QUIET_CORES = 0.75 * THREADS  # busy cores while simulating many robots
NOT_QUIET = ": the rest was used by other programs, so that the ratios are not reliable. Cure: run it again"


class Measured(NamedTuple):
    """Results of ``run``."""

    facts: Mapping[str, Facts]
    friction: Speeds
    viscous: Speeds
    many: Mapping[str, Floats]
    """Simulated seconds a second of all robots together, in each round; empty without Panda."""
    busy: float
    """Cores that the simulation of many robots kept busy."""


def measure(case: Case, core: list[int]) -> dict[str, Floats]:
    """Return simulated seconds per second in each round, on one core; the simulation continues between rounds."""

    def timed(simulator: Simulator) -> Timed:
        def call(tau: Floats, first: bool) -> None:
            if first:
                simulator.reset()
            simulator.step(tau, HOLD)

        return Timed(
            call, [(tau, k == 0) for k, tau in enumerate(simulator.own(case.torque))]
        )

    with bound_to(core):
        times = interleaved(
            {name: timed(each) for name, each in simulators(case).items()},
            ROUNDS,
            BLOCK,
        )
    return {name: STEP * HOLD / values for name, values in times.items()}


def measure_many(folder: Path) -> tuple[dict[str, Floats], float]:
    """Return simulated seconds of all robots per second in each round, and the number of busy cores."""
    case = load(TARGET_ROBOT, folder, MANY_DURATION)
    robots = spread(case, PLANTS, seed=2)
    simulations: dict[str, Many] = {
        name: our_many(case, robots, OURS[name][0], customised=OURS[name][1])
        for name in OUR_MANY
    }
    for name in (MUJOCO_FAST, MUJOCO_DEFAULT):
        simulations[name] = mujoco_many(case, robots, name.removeprefix(MUJOCO))
    wall = time.perf_counter()
    processors = time.process_time()
    times = interleaved(
        {name: Timed(many, [()]) for name, many in simulations.items()}, MANY_ROUNDS, 1
    )
    busy = (time.process_time() - processors) / (time.perf_counter() - wall)
    return {
        name: PLANTS * MANY_DURATION / values for name, values in times.items()
    }, busy


def run(names: list[str]) -> Measured:
    """Compare the libraries on these robots, then time them; shows progress bars."""
    cores = available_cores(THREADS)
    facts = {}
    friction = {}
    viscous = {}
    cases = {}
    many: dict[str, Floats] = {}
    busy = float(THREADS)
    with tempfile.TemporaryDirectory() as temporary, bound_to(cores):
        folder = Path(temporary)
        for name in tqdm(
            names, desc="compiling what is not cached, comparing", leave=False
        ):
            cases[name] = (
                load(name, folder, DURATION),
                load(name, folder, DURATION, coulomb=False),
            )
            facts[name] = find_facts(name, *cases[name])
        if TARGET_ROBOT in names:
            check_many(folder)
        for name, (case, smooth) in tqdm(cases.items(), desc="timing", leave=False):
            friction[name] = measure(case, cores[-1:])
            viscous[name] = measure(smooth, cores[-1:])
        if TARGET_ROBOT in names:
            many, busy = measure_many(folder)
    return Measured(facts, friction, viscous, many, busy)


def report(found: Measured) -> str:
    """Return the results of ``run`` as Markdown."""
    many = ratios(found.many) if found.many else {}
    ratio = {robot: ratios(speeds) for robot, speeds in found.friction.items()}
    text = f"""\
Machine: {machine(("numba", "numpy", "pin", "mujoco"))}. Command: `{COMMAND}`.

{missed(found.friction, many, found.facts)}

With viscous and Coulomb friction. Medians, and quartiles in brackets, of {ROUNDS} rounds of {STEP * HOLD * BLOCK:g} s
in steps of {1e3 * STEP:g} ms, on one core:

{table("times real time", found.friction, SPEED_TARGETS)}

{table("ratio to MuJoCo's fastest", ratio, RATIO_TARGETS, "×")}

With viscous friction only:

{table("times real time", found.viscous, {})}

Checks before the timing; drift under {LOAD_SHARE} of the Coulomb torque:

{facts_table(found.facts, CREEP, round(DURATION / STEP))}
"""
    if not many:
        return text
    busy = f"{found.busy:.1f} cores busy{'' if found.busy > QUIET_CORES else NOT_QUIET}"
    return f"""\
{text}
{PLANTS:,} Pandas for {MANY_DURATION:g} s, {MANY_ROUNDS} rounds; {THREADS} threads kept {busy}.

{table("simulated s of all robots per s", {TARGET_ROBOT: found.many}, {})}

{table("ratio to MuJoCo's fastest", {TARGET_ROBOT: many}, MANY_TARGETS, "×")}
"""


def main() -> None:
    """Run the benchmark from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--robots",
        nargs="+",
        choices=list(SETTINGS),
        default=list(SETTINGS),
        help="only these robots",
    )
    options = parser.parse_args()
    robots = list(dict.fromkeys(options.robots))
    print_report(
        options,
        lambda: report(run(robots)),
        PART,
        complete=set(robots) == set(SETTINGS),
        quiet=QUIET,
    )


if __name__ == "__main__":
    main()

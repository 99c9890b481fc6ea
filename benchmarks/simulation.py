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

import numpy as np
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
from benchmarks.simulation_peers import (
    CALL_SETTINGS,
    HOLD,
    SETTINGS,
    STEP,
    Case,
    Simulator,
    load,
    ours,
    with_mujoco,
)
from benchmarks.simulation_tables import (
    BARE_TARGETS,
    CALL_TARGETS,
    MANY_TARGETS,
    MUJOCO,
    MUJOCO_DEFAULT,
    MUJOCO_FAST,
    MUJOCO_RK4,
    OUR_MANY,
    OURS,
    PLANT_STEP,
    RATIO_TARGETS,
    SIMULATE,
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
from robot_dynamics_ros.simulation import simulate

COMMAND = "python -m benchmarks.simulation"
PART = "simulation"
DURATION = 10.0  # s
ROUNDS = 50  # turns
BLOCK = 100  # calls of HOLD steps in each: five runs
CALL_STEPS = 1000
CALL_BLOCK = 10  # calls with CALL_STEPS steps in each round
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
    calls: Speeds
    """Calls with many steps; empty without Panda."""


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


def measure_calls(name: str, folder: Path, core: list[int]) -> dict[str, Floats]:
    """Return simulated seconds per second in each round of calls with CALL_STEPS steps under constant torque."""
    case = load(name, folder, DURATION)
    torque = case.torque[len(case.torque) // 4]
    table = np.tile(torque, (CALL_STEPS, 1))
    plant = ours(case, "rk4", customised=False)
    peer = with_mujoco(case, "RK4")

    def simulated() -> None:
        simulate(case.model, table, CALL_STEPS * STEP, initial_positions=case.start)

    def stepped(simulator: Simulator) -> None:
        simulator.reset()
        simulator.step(simulator.own(torque), CALL_STEPS)

    with bound_to(core):
        times = interleaved(
            {
                SIMULATE: Timed(simulated, [()]),
                PLANT_STEP: Timed(stepped, [(plant,)]),
                MUJOCO_RK4: Timed(stepped, [(peer,)]),
            },
            ROUNDS,
            CALL_BLOCK,
        )
    return {name: STEP * CALL_STEPS / values for name, values in times.items()}


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
    calls: dict[str, dict[str, Floats]] = {}
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
            calls = {
                name: measure_calls(name, folder, cores[-1:]) for name in CALL_SETTINGS
            }
            many, busy = measure_many(folder)
    return Measured(facts, friction, viscous, many, busy, calls)


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
    by_peer = {
        peer: {
            robot: {SIMULATE: np.asarray(speeds[SIMULATE] / speeds[peer])}
            for robot, speeds in found.calls.items()
        }
        for peer in (MUJOCO_RK4, PLANT_STEP)
    }
    return f"""\
{text}
Calls with {CALL_STEPS:,} steps under constant torque, ours general with rk4:

{table("times real time", found.calls, {})}

{table("ratio to MuJoCo RK4", by_peer[MUJOCO_RK4], CALL_TARGETS, "×")}

{table("ratio to Plant.step", by_peer[PLANT_STEP], BARE_TARGETS, "×")}

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

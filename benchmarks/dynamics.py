"""Benchmark of the public methods against Pinocchio and MuJoCo, called from Python, for robots with 6 to 30 joints.

``python -m benchmarks.dynamics`` prints the tables of docs/benchmarks.md; ``--write docs/benchmarks.md`` updates them.
Before the timing, all libraries must give the same results.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import product

import numpy as np
from tqdm import tqdm

from benchmarks.document import machine, print_report, report_parser
from benchmarks.peers import (
    ALGORITHMS,
    BATCHED,
    STATES,
    THREADS,
    Calls,
    mujoco_calls,
    ours,
    pinocchio,
)
from benchmarks.robots import (
    ROBOTS,
    Floats,
    Robot,
    States,
    model_of,
    random_states,
    urdf_file,
)
from benchmarks.tables import (
    CUSTOMISED,
    GENERAL,
    LIBRARIES,
    MUJOCO,
    Times,
    missed,
    ratio_table,
    time_table,
)
from benchmarks.timing import Timed, available_cores, bound_to, interleaved

COMMAND = "python -m benchmarks.dynamics"
PART = "make bench"
TOLERANCE = 1e-8
CHECKED = 20  # states on which the libraries are compared before they are timed
SINGLE_STATES = 2000
ROUNDS = 50
BLOCK = 200
BATCH_ROUNDS = 7
QUIET = 0.5  # load average before the run
QUIET_CORES = 0.75 * THREADS  # kept busy by the batches
NOT_QUIET = ": the rest was used by other programs, so that the ratios of batches are not reliable. Cure: run it again"


def load(robot: Robot) -> tuple[int, dict[str, Calls]]:
    """Return the number of joints and the algorithms of each library for one robot, with joints matched by name."""
    path = urdf_file(robot)
    model = model_of(robot)
    return model.n, {
        CUSTOMISED: ours(model.customised()),
        GENERAL: ours(model),
        **pinocchio(path, model.joint_names),
        MUJOCO: mujoco_calls(path, model.joint_names),
    }


def with_algorithm(libraries: Mapping[str, Calls], algorithm: str) -> dict[str, Calls]:
    """Return the libraries that have an algorithm."""
    return {name: calls for name, calls in libraries.items() if algorithm in calls}


def check_agreement(
    robot: str, libraries: Mapping[str, Calls], algorithm: str, states: States
) -> None:
    """Exit if a library's results differ from those of the customised model by more than TOLERANCE.

    The difference is relative to the largest number of each result.
    """
    vectors = [getattr(states, name) for name in ALGORITHMS[algorithm]]
    rows = [slice(None)] if algorithm in BATCHED else range(CHECKED)
    for row in rows:
        sample = [column[row] for column in vectors]
        values: dict[str, Floats] = {
            name: calls[algorithm].value(
                calls[algorithm].function(*calls[algorithm].arguments(*sample))
            )
            for name, calls in with_algorithm(libraries, algorithm).items()
        }
        expected = values[CUSTOMISED]
        for name, value in values.items():
            difference = np.max(np.abs(value - expected)) / np.max(np.abs(expected))
            if not difference <= TOLERANCE:
                raise SystemExit(
                    f"{robot}: {algorithm}: {name} differs from ours by {difference:.2g} of the largest number, "
                    f"allowed is {TOLERANCE:g}; nothing is timed. Cure: find the library with the wrong robot"
                )


def measure(
    libraries: Mapping[str, Calls], algorithm: str, states: States, core: list[int]
) -> dict[str, Floats]:
    """Return the time per call (s) of each round for all libraries with the algorithm; single calls on one core."""
    vectors = [getattr(states, name) for name in ALGORITHMS[algorithm]]
    offered = {
        name: calls[algorithm]
        for name, calls in with_algorithm(libraries, algorithm).items()
    }
    if algorithm in BATCHED:
        batches = {
            name: Timed(call.function, [call.arguments(*vectors)])
            for name, call in offered.items()
        }
        return interleaved(batches, BATCH_ROUNDS, 1, warm=True)
    samples = [[column[k].copy() for column in vectors] for k in range(SINGLE_STATES)]
    singles = {
        name: Timed(call.function, [call.arguments(*sample) for sample in samples])
        for name, call in offered.items()
    }
    with bound_to(core):
        return interleaved(singles, ROUNDS, BLOCK)


def run(names: list[str]) -> tuple[Times, float]:
    """Compare the libraries on these robots, then time them; shows progress bars.

    Return the times, and the smallest number of cores that a batch kept busy, which is near THREADS on an idle machine.
    """
    cores = available_cores(THREADS)
    robots: dict[str, dict[str, Calls]] = {}
    states: dict[str, tuple[States, States]] = {}
    times: dict[str, dict[str, dict[str, Floats]]] = {name: {} for name in names}
    busy = float(THREADS)
    with bound_to(cores):
        for name in tqdm(
            names, desc="compiling what is not cached, comparing", leave=False
        ):
            n, robots[name] = load(ROBOTS[name])
            states[name] = (
                random_states(n, SINGLE_STATES, seed=n),
                random_states(n, STATES, seed=n + 1),
            )
            for algorithm in ALGORITHMS:
                check_agreement(
                    name, robots[name], algorithm, states[name][algorithm in BATCHED]
                )
        for name, algorithm in tqdm(
            [*product(names, ALGORITHMS)], desc="timing", leave=False
        ):
            batched = algorithm in BATCHED
            wall = time.perf_counter()
            processors = time.process_time()
            times[name][algorithm] = measure(
                robots[name], algorithm, states[name][batched], cores[-1:]
            )
            if batched:
                busy = min(
                    busy,
                    (time.process_time() - processors) / (time.perf_counter() - wall),
                )
    return times, busy


def report(times: Times, busy: float) -> str:
    """Return the results of ``run`` as Markdown."""
    return f"""\
Machine: {machine(("numba", "numpy", "pin", "mujoco"))}. Command: `{COMMAND}`.

Medians, and quartiles in brackets, of {ROUNDS} rounds of {BLOCK} calls on one core, and of {BATCH_ROUNDS} batches on
{THREADS} threads, which kept {busy:.1f} cores busy or more{"" if busy > QUIET_CORES else NOT_QUIET}.

{missed(times)}

{ratio_table(times)}

Times of a call in microseconds, of a batch for each of its states: {"/".join(LIBRARIES)}.

{time_table(times)}
"""


def main() -> None:
    """Run the benchmark from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--robots",
        nargs="+",
        choices=list(ROBOTS),
        default=list(ROBOTS),
        help="only these robots",
    )
    options = parser.parse_args()
    complete = set(options.robots) == set(ROBOTS)
    print_report(
        options,
        lambda: report(*run(options.robots)),
        PART,
        complete=complete,
        quiet=QUIET,
    )


if __name__ == "__main__":
    main()

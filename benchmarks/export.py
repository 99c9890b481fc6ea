"""Benchmark of exported C code against Pinocchio: in one C++ program, and as a Python module beside ``pin``.

``make bench-export`` prints the tables of docs/benchmarks.md; it needs gcc and the headers of ``cmeel-eigen`` and
``cmeel-urdfdom-headers``. Both sides are compiled with the wheel's flags, -O3 -DNDEBUG. Pinocchio's ``rnea`` and
``aba`` are those of the wheel's library. Results are compared before they are timed.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType

import numpy as np
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.peers import SINGLE, Call, pinocchio
from benchmarks.robots import ROBOTS, Floats, Robot, model_of, random_states, urdf_file
from benchmarks.timing import Timed, available_cores, bound_to, interleaved
from robot_dynamics_ros import RobotModel

COMMAND = "make bench-export"
NAMES = ("panda", "ur10", "g1")
FUNCTIONS = ("inverse_dynamics", "gravity_torque", "mass_matrix", "forward_dynamics")
ROUNDS = 200  # of 1000 calls
SINGLE_CALLS = 10_000_000
PYTHON_ROUNDS = 50
BLOCK = 200
STATES = 2000
FLAGS = ("-O3", "-DNDEBUG")
# as Pinocchio's CMake files define them for programs that link the wheel's library
DEFINED = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
    "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
    "PINOCCHIO_WITH_URDFDOM",
    *(
        f"PINOCCHIO_URDFDOM_HEADERS_{part}_VERSION={number}"
        for part, number in (("MAJOR", 3), ("MINOR", 0), ("PATCH", 0))
    ),
)
LIBRARIES = ("pinocchio_default", "pinocchio_parsers", "urdfdom_model")
Times = dict[str, dict[str, dict[str, Floats]]]
"""Times (s) of a function by library and kind: means of rounds, or the worst single call."""


def run_command(*command: object) -> str:
    """Return the output of a command; exits with its messages if it fails."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"{command[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def prefix(package: str) -> Path:
    """Return the folder with the headers and libraries of a cmeel wheel."""
    try:
        return Path(str(distribution(package).locate_file("cmeel.prefix")))
    except PackageNotFoundError:
        raise SystemExit(
            f"The headers of {package} are missing. Cure: pip install {package}"
        ) from None


def compiled_times(robot: Robot, folder: Path, calls: int) -> Times:
    """Return the times in one C++ program of the exported functions in ``folder`` and of Pinocchio's."""
    own = next(folder.glob("*_dynamics.h")).stem
    peer = prefix("pin")
    eigen = prefix("cmeel-eigen")
    headers = prefix("cmeel-urdfdom-headers")
    included = (
        folder,
        peer / "include",
        eigen / "include/eigen3",
        headers / "include/urdfdom_headers",
    )
    paths = [f"-I{path}" for path in (*included, peer / "include/urdfdom")]
    run_command(
        "gcc",
        "-std=c99",
        "-ffp-contract=off",
        "-fno-tree-vectorize",
        *FLAGS,
        "-c",
        folder / f"{own}.c",
        "-o",
        folder / "own.o",
    )
    defined = [
        f"-D{x}"
        for x in (
            *DEFINED,
            f"ROBOT={own.removesuffix('_dynamics')}",
            f'HEADER="{own}.h"',
        )
    ]
    source = Path(__file__).with_name("export_peer.cpp")
    program = folder / "program"
    linked = [
        f"-L{peer / 'lib'}",
        f"-Wl,-rpath,{peer / 'lib'}",
        *(f"-l{x}" for x in LIBRARIES),
    ]
    run_command(
        "g++",
        "-std=c++17",
        *FLAGS,
        *defined,
        *paths,
        source,
        folder / "own.o",
        *linked,
        "-o",
        program,
    )
    times: Times = {}
    for line in run_command(
        program, urdf_file(robot), ROUNDS, calls, *robot.locked
    ).splitlines():
        function, library, kind, value = line.split()
        kinds = times.setdefault(function, {}).setdefault(library, {})
        kinds[kind] = np.append(kinds.get(kind, []), 1e-9 * float(value))
    return times


def module_of(folder: Path) -> ModuleType:
    """Return the Python module of the exported files in a folder."""
    target = folder / "python"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--target",
    )
    run_command(*pip, target, folder)
    sys.path.insert(0, str(target))
    return importlib.import_module(next(folder.glob("*_dynamics.h")).stem)


def python_times(
    robot: Robot, model: RobotModel, module: ModuleType
) -> dict[str, dict[str, Floats]]:
    """Return the times (s) of rounds by function and library, called from Python."""
    states = random_states(model.n, STATES, seed=model.n)
    calls = pinocchio(urdf_file(robot), model.joint_names)["Pinocchio"]
    used = model.use(module)
    times = {}
    for name in FUNCTIONS:
        own = {
            title: Call(getattr(x, name), lambda *x: x, np.array)
            for title, x in (("module", module), ("use", used))
        }
        samples = [
            [getattr(states, x)[k].copy() for x in SINGLE[name]] for k in range(STATES)
        ]
        offered = {**own, "Pinocchio": calls[name]}
        timed = {
            title: Timed(x.function, [x.arguments(*sample) for sample in samples])
            for title, x in offered.items()
        }
        times[name] = interleaved(timed, PYTHON_ROUNDS, BLOCK)
    return times


def report(names: list[str], calls: int) -> str:
    """Measure the robots and return the results as Markdown."""
    compiled = [
        [
            "C",
            "",
            *(
                f"{ROBOTS[name].title}: {x}"
                for name in names
                for x in ("ratio", "ns", "worst, us")
            ),
        ]
    ]
    python = [
        [
            "Python",
            *(
                f"{ROBOTS[name].title}: {x}"
                for name in names
                for x in ("module", "us", "`use`", "us")
            ),
        ]
    ]
    rows: dict[str, list[str]] = {
        name: [name, "required 0.5, goal 0.3"] for name in FUNCTIONS
    }
    python_rows = {name: [name] for name in FUNCTIONS}
    with bound_to(available_cores(1)):
        for name in tqdm(names, desc="exporting, compiling, timing", leave=False):
            robot = ROBOTS[name]
            model = model_of(ROBOTS[name])
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                model.export_c(folder)
                for function, both in compiled_times(robot, folder, calls).items():
                    own = both["ours"]
                    peer = both["Pinocchio"]
                    worst = 1e6 * own["worst"][0], 1e6 * peer["worst"][0]
                    rows[function] += [
                        f"**{np.median(own['round'] / peer['round']):.2f}**",
                        f"{1e9 * np.median(own['round']):.0f}/{1e9 * np.median(peer['round']):.0f}",
                        f"{worst[0]:.0f}/{worst[1]:.0f}",
                    ]
                for function, by_library in python_times(
                    robot, model, module_of(folder)
                ).items():
                    peer_times = by_library["Pinocchio"]
                    for library in ("module", "use"):
                        times = by_library[library]
                        python_rows[function] += [
                            f"**{np.median(times / peer_times):.2f}**",
                            f"{1e6 * np.median(times):.2f}/{1e6 * np.median(peer_times):.2f}",
                        ]
    return f"""\
Machine: {machine(("numpy", "pin"))}. Command: `{COMMAND}`.

In one C++ program, gcc -O3, ours/Pinocchio: medians of {ROUNDS} rounds of 1000 calls, and the worst of {calls:,}
single calls, which on a shared machine is that of other programs:

{markdown_table([compiled[0], *rows.values()])}

From Python, ours/Pinocchio, required 0.4, goal 0.3 for the module: medians of {PYTHON_ROUNDS} rounds of {BLOCK}
calls; `use` is the method of `RobotModel` after `use(module)`:

{markdown_table([python[0], *python_rows.values()])}
"""


def main() -> None:
    """Run the benchmark from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--robots",
        nargs="+",
        choices=list(NAMES),
        default=list(NAMES),
        help="only these robots",
    )
    parser.add_argument(
        "--calls",
        type=int,
        default=SINGLE_CALLS,
        help="number of calls for the worst time",
    )
    options = parser.parse_args()
    complete = set(options.robots) == set(NAMES) and options.calls == SINGLE_CALLS
    print_report(
        options,
        lambda: report(options.robots, options.calls),
        COMMAND,
        complete=complete,
    )


if __name__ == "__main__":
    main()

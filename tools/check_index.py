"""Check that docs/theory.md names true functions and tests: `make check-index`.

Each function that a row names is broken: its result is zero, doubled, of the other sign, transposed or squared. If that
changes the result in a named test of the row, one of them must fail. Otherwise the function does not compute the
equation, or no named test checks it. A named test that fails for none of the broken functions of its row is a fault,
too; only zero and doubled results run each test, the others stop at the first failure of a row.
"""

import argparse
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tools.broken_function import MUTATIONS, is_named

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[`([^`]+)`\]\((\S+?)\)")
# Compiled functions contain the kernels that they call, so that these are broken in plain Python.
_KERNELS = tuple(
    f"robot_dynamics_ros.{folder}."
    for folder in ("dynamics.kernels", "simulation.step")
)
# Other plugins of the environment would take a third of the time. A broken function may make a loop endless.
_OPTIONS = "-p tools.broken_function -p pytest_timeout --timeout 300 -p no:cacheprovider -q -rfE --tb=no".split()


class Row(NamedTuple):
    """A row of the index: title such as "Tsai (9.1)", functions as "module:name", and node ids of tests."""

    title: str
    functions: list[str]
    tests: list[str]


def table_rows(page: str) -> dict[str, list[list[str]]]:
    """Return the rows of four cells of a page in docs/, by the level-2 heading above them."""
    found: dict[str, list[list[str]]] = {}
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = found.setdefault(line[3:], [])
        elif line.startswith("| ") and not line.startswith(
            ("| ---", "| Equation |", "| Place |")
        ):
            section.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def function_name(text: str, target: str) -> str:
    """Return "module:name" for a link to ``target`` with the text `module.name` or `folder/file.py::name`."""
    path = (ROOT / "docs" / target).resolve().relative_to(ROOT).with_suffix("")
    module = ".".join(path.parts).removeprefix("test.")
    if "::" in text:
        return f"{module}:{text.partition('::')[2]}"
    words = text.split(".")
    for part in path.parts:
        words = words[words[0] == part :]  # folders and module may precede the name
    return f"{module}:{'.'.join(words)}"


def index() -> list[Row]:
    """Return the rows of docs/theory.md that name functions."""
    rows = []
    for book, cells in table_rows("theory.md").items():
        for equation, _, functions, tests in cells:
            names = [function_name(*link) for link in LINK.findall(functions)]
            rows.append(
                Row(
                    f"{book} {equation}",
                    names,
                    [text for text, _ in LINK.findall(tests)],
                )
            )
    return [row for row in rows if row.functions]


class Outcome(NamedTuple):
    """Node ids of the tests that failed, or of their files, and of those that got a changed result ("": on import)."""

    failed: set[str]
    affected: set[str]


def outcome(broken: str, groups: Sequence[Sequence[str]], interpreted: bool) -> Outcome:
    """Run groups of tests with a broken function; after one failure the rest of a group is left out.

    ``broken`` is "module:name=zero" or another of MUTATIONS, or empty: no function is broken.
    """
    environment = {
        **os.environ,
        "BROKEN": broken,
        "BROKEN_GROUPS": json.dumps(groups),
        "HYPOTHESIS_PROFILE": "broken",
        "OPENBLAS_NUM_THREADS": "1",
    }
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    )
    environment["NUMBA_DISABLE_JIT"] = str(int(interpreted))
    command = [
        sys.executable,
        "-m",
        "pytest",
        *_OPTIONS,
        "-m",
        "slow or not slow",
        *sorted(set(itertools.chain(*groups))),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    failed = re.findall(
        r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE
    )
    affected = re.findall(r"^AFFECTED (.*)$", done.stdout, re.MULTILINE)
    if done.returncode and not failed:
        raise SystemExit(
            f"pytest ended with code {done.returncode} for {broken}:\n{done.stdout}{done.stderr}"
        )
    return Outcome(set(failed), set(affected))


def findings(rows: Sequence[Row], jobs: int) -> list[str]:
    """Return a line for each fault of the rows, after running their tests in ``jobs`` processes at a time."""
    functions = sorted({function for row in rows for function in row.functions})
    groups = {
        function: [row.tests for row in rows if function in row.functions]
        for function in functions
    }
    # The first two run each test, the others until one fails.
    each = {
        function: [[test] for test in sorted(set(itertools.chain(*tests)))]
        for function, tests in groups.items()
    }
    kernels = {function for function in functions if function.startswith(_KERNELS)}
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = {
            (function, how): pool.submit(
                outcome,
                f"{function}={how}",
                (each if how in ("zero", "double") else groups)[function],
                function in kernels,
            )
            for function, how in itertools.product(functions, MUTATIONS)
        }
        whole = [
            pool.submit(
                outcome,
                "",
                sum((each[function] for function in group), []),
                group == kernels,
            )
            for group in (kernels, groups.keys() - kernels)
            if group
        ]
    lines = [
        f"{node} fails although nothing is broken"
        for future in whole
        for node in sorted(future.result().failed)
    ]
    for row in rows:
        idle = set(row.tests)
        for function, how in itertools.product(row.functions, MUTATIONS):
            result = outcomes[function, how].result()
            caught = named_by(row, result.failed)
            idle -= caught
            # A mutation without effect is no fault, but with zeros there must be one.
            if not caught and (
                how == "zero" or "" in result.affected or named_by(row, result.affected)
            ):
                lines.append(
                    f"{row.title}: no test fails if {function} is broken ({how})"
                )
        lines += [
            f"{row.title}: {test} fails for no broken function of the row"
            for test in sorted(idle)
        ]
    return lines


def named_by(row: Row, nodes: Iterable[str]) -> set[str]:
    """Return the tests of a row to which the node ids belong."""
    return {
        test
        for test, node in itertools.product(row.tests, nodes)
        if is_named(node, test)
    }


def drawn(rows: Sequence[Row], count: int) -> list[Row]:
    """Return ``count`` rows, drawn by the hash of the commit; without git always the same ones."""
    git = shutil.which("git")
    seed = (
        subprocess.run(
            [git, "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout
        if git
        else ""
    )
    return random.Random(seed).sample(rows, count)


def main() -> int:
    """Print the faults; return 1 if there is one."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.check_index", description=__doc__
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes at a time (default: 2)"
    )
    parser.add_argument(
        "titles",
        nargs="*",
        help='check only rows whose title contains one of these: "Tsai (9.1)"',
    )
    options = parser.parse_args()
    rows = index()
    start = time.monotonic()
    if options.titles:
        rows = [
            row for row in rows if any(title in row.title for title in options.titles)
        ]
    lines = findings(rows, options.jobs)
    print(
        *lines,
        f"{len(rows)} rows, {len(lines)} faults, {time.monotonic() - start:.0f} s",
        sep="\n",
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

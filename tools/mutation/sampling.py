"""Random mutants of parts of the package, and the test that detects each, as one line of JSON per mutant."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tools.mutation.mutants import Mutant, Mutants
from tools.mutation.run import Outcome, Session, Trial
from tools.mutation.selection import Selection

PACKAGE = "robot_dynamics_ros"
PARTS = ("kernels", "model", "control", "simulation", "identification", "bags")
#: Tests that run in one process, without DDS.
UNIT_TESTS = (*PARTS, "codegen", "formulations", "messages", "oracles", "parameters", "security")
UNIT_TEST_FILES = (
    "test_independent_client.py",
    "test_plain_yaml.py",
    "test_public_robots.py",
    "test_robots.py",
    "test_sessions.py",
    "test_textbook.py",
)
_LEFT_OUT = ("test_sros2.py",)


def run_sample(
    tests: Path, mutants: Sequence[Mutant], files: dict[str, Mutants], options: Any, folder: Path, output: Path
) -> None:
    """Run mutants with the suite in the folder ``tests``, except those that are in ``output`` already."""
    root = tests.parent
    done = {place for place, _ in read(output)} if output.exists() else set()
    left = [mutant for mutant in mutants if place_of(mutant) not in done]
    by_key = {mutant.key: mutant for mutant in left}
    if not left:
        return
    os.chdir(root)
    for name in [name for name in sys.modules if name.split(".")[0] in (PACKAGE, "benchmarks")]:
        del sys.modules[name]  # the suite has its own

    def instead(session: Session) -> None:
        paths = {name: found.path for name, found in files.items()}
        selection = Selection(folder / "tests.json", paths, session.imported(paths))
        found = {name: item.path for name, item in session.items.items()}
        selection.measure(found, session.run, options.workers, options.longest)
        out = sorted(selection.left_out())
        print(f"{len(found)} tests, {len(out)} excluded because they fail or take too long", file=sys.stderr)
        (folder / "left_out.txt").write_text("\n".join(out))
        trial = Trial(session, files, selection, options.cap, folder)
        results = trial.results(left, options.workers)
        with output.open("a", encoding="utf-8") as lines:
            for outcome in tqdm(results, "mutants", len(left), mininterval=10.0):
                print(_line(by_key[outcome.key], outcome), file=lines, flush=True)

    chosen = [tests / name for name in (*UNIT_TESTS, *UNIT_TEST_FILES) if (tests / name).exists()]
    ignored = [f"--ignore-glob=*/{name}" for name in _LEFT_OUT]
    Session(instead, [found.path for found in files.values()]).start([*map(str, chosen), *ignored])


def mutants_of(root: Path, parts: Sequence[str]) -> dict[str, Mutants]:
    """Return the mutants of each file of these parts by names such as `control/limits.py`."""
    package = root / PACKAGE
    paths = sorted(path for part in parts for path in (package / part).rglob("*.py") if path.name != "__init__.py")
    names = {path: path.relative_to(package).as_posix() for path in paths}
    return {name: Mutants(path, name) for path, name in names.items()}


def drawn(files: dict[str, Mutants], count: int, seed: int) -> list[Mutant]:
    """Return random mutants, all with the same probability."""
    found = [mutant for mutants in files.values() for mutant in mutants.all]
    return random.Random(seed).sample(found, min(count, len(found)))


def place_of(mutant: Mutant) -> tuple[str, int, str]:
    """Return the identification of a mutant in JSON."""
    return mutant.file, mutant.line, mutant.text


def read(file: Path) -> list[tuple[tuple[str, int, str], str]]:
    """Return positions and results of the mutants in a file of JSON lines."""
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [((line["file"], line["line"], line["change"]), line["result"]) for line in lines]


def summary(output: Path) -> str:
    """Return the number of killed mutants for each part and in total."""
    counts: dict[str, Counter[str]] = {}
    for (file, _, _), result in read(output):
        for title in (file.split("/")[0], "all"):
            counts.setdefault(title, Counter())[result] += 1
    return "\n".join(
        f"{title}: {', '.join(f'{count} {result}' for result, count in sorted(found.items()))}"
        for title, found in sorted(counts.items(), key=lambda item: item[0] == "all")
    )


def _line(mutant: Mutant, outcome: Outcome) -> str:
    file, line, change = place_of(mutant)
    fields = {"file": file, "line": line, "change": change, "function": mutant.function, "result": outcome.result}
    return json.dumps({**fields, "test": outcome.test, "seconds": round(outcome.seconds, 2)})

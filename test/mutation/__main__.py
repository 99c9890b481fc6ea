"""Mutation testing: change one thing in a file, and see whether a test fails; `make mutation` does so.

What is found is kept in --folder, so that a run goes on where it ended; a changed file is tried again. --write leaves
the rows of files that were not tried as they are. Mutants that no test can see are explained in
mutation/explained/<area>.txt. What is neither killed nor explained is listed.
"""

from __future__ import annotations

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before anything imports numba
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not live on in forks

import argparse
import sys
import time
from fnmatch import fnmatch
from pathlib import Path

from mutation.areas import AREAS, ROOT
from mutation.report import Results, report
from mutation.run import Session, Trial
from mutation.selection import Selection
from tqdm import tqdm

from benchmarks.document import replace_part, rows_of_part

PART = "make mutation"


def main() -> int:
    """Return 1 where a mutant is neither killed nor explained."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)} (default: all)")
    parser.add_argument("--files", default="*", help="only files whose name (kernels/friction.py) is like this")
    parser.add_argument("--only", choices=["survivors"], help="try again what is neither killed nor explained")
    parser.add_argument("--cap", type=float, default=10.0, help="s of tests for one mutant (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this Markdown file, too")
    arguments = parser.parse_args()
    if unknown := set(arguments.areas) - set(AREAS):
        parser.error(f"{', '.join(sorted(unknown))}: no such area. Cure: one of {', '.join(AREAS)}")
    written = rows_of_part(arguments.write, PART) if arguments.write else {}
    os.nice(19)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    left = 0
    for name in arguments.areas or AREAS:
        results = Results(AREAS[name], arguments.folder)
        _try(results, arguments)
        left += len(results.unexplained())
        for mutant in results.unexplained():
            print(f"{mutant.name} ({results.outcome(mutant)})\n  {mutant.key}")
        for line in results.idle:
            print(f"explained, but killed or not there: {line}")
    text = report(arguments.folder, written)
    print(text)
    if arguments.write:
        replace_part(arguments.write, PART, text)
    return int(left > 0)


def _try(results: Results, arguments: argparse.Namespace) -> None:
    mutants = [mutant for mutant in results.mutants() if fnmatch(mutant.file, arguments.files)]
    if arguments.only:
        alive = results.unexplained()
        mutants = [mutant for mutant in mutants if mutant in alive]
    else:
        mutants = [mutant for mutant in mutants if results.outcome(mutant) is None]
    if not mutants:
        return
    by_key = {mutant.key: mutant for mutant in mutants}

    def instead(session: Session) -> None:
        paths = {name: found.path for name, found in results.files.items()}
        place = arguments.folder / f"{results.area.name}.tests.json"
        selection = Selection(place, paths, session.imported(paths))
        tests = {name: item.path for name, item in session.items.items()}
        selection.measure(tests, session.run, arguments.workers)
        for left_out in selection.left_out():
            print(f"left out, fails or takes too long without a mutant: {left_out}", file=sys.stderr)
        trial = Trial(session, results.files, selection, arguments.cap)
        saved = time.monotonic()
        try:
            for key, outcome in tqdm(
                trial.results(mutants, arguments.workers), "mutants", len(mutants), mininterval=10.0
            ):
                results.add(by_key[key], outcome)
                if time.monotonic() > saved + 10.0:
                    saved = time.monotonic()
                    results.save()
        finally:
            results.save()

    Session(instead, [found.path for found in results.files.values()]).start(list(results.area.tests))


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing: change one thing in a file and run the tests; `make mutation` does this.

Results are stored in --folder, so that a run can be continued; a changed file is tested again. --write keeps the rows
of areas that were not tested. Survivors are listed.

``--sample N --seed S`` draws mutants of ``--parts`` and writes to ``--output`` which test of the suite in ``--tests``
(the test folder of this or another checkout with the same sources) detects each of them. ``--only FILE`` tests the
mutants of such a file, for instance the survivors of one suite with another.
"""

from __future__ import annotations

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not survive a fork

import argparse
import hashlib
import sys
import time
from fnmatch import fnmatch
from pathlib import Path

from tqdm import tqdm

from benchmarks.document import replace_part, rows_of_part
from tools.mutation.areas import AREAS, ROOT
from tools.mutation.report import Results, report
from tools.mutation.run import Session, Trial
from tools.mutation.sampling import PARTS, drawn, mutants_of, place_of, read, run_sample, summary
from tools.mutation.selection import Selection

PART = "make mutation"


def main() -> int:
    """Return 1 if a mutant survived."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)} (default: all)")
    parser.add_argument("--files", default="*", help="only files that match this pattern, such as kernels/friction.py")
    parser.add_argument("--survivors", action="store_true", help="test only the survivors, again")
    parser.add_argument(
        "--cap", type=float, default=20.0, help="maximum duration of the tests of a mutant in s (default: %(default)s)"
    )
    parser.add_argument(
        "--longest", type=float, default=20.0, help="maximum duration of one test in s (default: %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the table to this Markdown file")
    sample = parser.add_argument_group("a sample")
    sample.add_argument("--sample", type=int, metavar="N", help="number of mutants to draw")
    sample.add_argument("--seed", type=int, default=1)
    sample.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    sample.add_argument("--tests", type=Path, default=ROOT / "test", metavar="DIR")
    sample.add_argument("--only", type=Path, metavar="FILE", help="test the mutants of an output file")
    sample.add_argument("--output", type=Path, default=ROOT / "build" / "mutation" / "sample.jsonl", metavar="FILE")
    sample.add_argument("--resume", action="store_true", help="keep the results in --output and test the other mutants")
    arguments = parser.parse_args()
    if arguments.sample or arguments.only:
        return _sample(arguments)
    if unknown := set(arguments.areas) - set(AREAS):
        parser.error(f"{', '.join(sorted(unknown))}: no such area. Cure: one of {', '.join(AREAS)}")
    written = rows_of_part(arguments.write, PART) if arguments.write else {}
    os.nice(19)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    left = 0
    for name in arguments.areas or AREAS:
        results = Results(AREAS[name], arguments.folder)
        _try(results, arguments)
        left += len(results.survivors())
        for mutant in results.survivors():
            print(f"{mutant.name} ({results.outcome(mutant)})\n  {mutant.key}")
    text = report(arguments.folder, written)
    print(text)
    if arguments.write:
        replace_part(arguments.write, PART, text)
    return int(left > 0)


def _sample(arguments: argparse.Namespace) -> int:
    tests, output = arguments.tests.resolve(), arguments.output.resolve()
    files = mutants_of(tests.parent, arguments.parts)
    if arguments.only:
        required = {place for place, _ in read(arguments.only)}
        mutants = [mutant for found in files.values() for mutant in found.all if place_of(mutant) in required]
    else:
        mutants = drawn(files, arguments.sample, arguments.seed)
    folder = arguments.folder.resolve() / hashlib.sha256(str(tests).encode()).hexdigest()[:8]
    folder.mkdir(parents=True, exist_ok=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    if not arguments.resume:
        output.unlink(missing_ok=True)
    run_sample(tests, mutants, files, arguments, folder, output)
    print(summary(output))
    return 0


def _try(results: Results, arguments: argparse.Namespace) -> None:
    mutants = [mutant for mutant in results.mutants() if fnmatch(mutant.file, arguments.files)]
    if arguments.survivors:
        alive = results.survivors()
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
        selection.measure(tests, session.run, arguments.workers, arguments.longest)
        for left_out in selection.left_out():
            print(f"excluded, fails or takes too long without a mutant: {left_out}", file=sys.stderr)
        trial = Trial(session, results.files, selection, arguments.cap, arguments.folder)
        saved = time.monotonic()
        try:
            for outcome in tqdm(trial.results(mutants, arguments.workers), "mutants", len(mutants), mininterval=10.0):
                results.add(by_key[outcome.key], outcome.result)
                if time.monotonic() > saved + 10.0:
                    saved = time.monotonic()
                    results.save()
        finally:
            results.save()

    Session(instead, [found.path for found in results.files.values()]).start(list(results.area.tests))


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzer of the package: `python -m tools.fuzz --seconds 600`, with test/ on the path; `make fuzz` does this.

Each target generates inputs from a seed, so that a run can be repeated. Inputs that fail are written to --output, one
file for each kind of failure; files in tools/fuzz/cases/<target>/ are tried again in every run of the tests.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.document import replace_part, rows_of_part
from benchmarks.machine import machine
from robot_dynamics_ros.base.progress import progress
from tools.fuzz import memory
from tools.fuzz.memory import EVERY, GROWTH
from tools.fuzz.table import rows_of, table
from tools.fuzz.targets import ALL, Target, compile_kernels
from tools.fuzz.trial import Tally

COMMAND = "make fuzz FUZZ_ARGS='--full --write docs/reliability.md'"
PART = "make fuzz"


def main() -> int:
    """Return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (default: %(default)s)")
    parser.add_argument("--inputs", type=int, help="number of inputs of each target, instead of --seconds")
    parser.add_argument(
        "--full", action="store_true", help="the number of inputs in docs/reliability.md for each target"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", nargs="+", choices=sorted(ALL), default=list(ALL))
    parser.add_argument("--output", type=Path, default=Path("fuzz_findings"))
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the rows to this Markdown file")
    options = parser.parse_args()
    rows: dict[str, list[str]] = {}
    if options.write:
        if not options.full:
            parser.error("--write needs the full length. Cure: add --full")
        rows = rows_of_part(options.write, PART)
    results = []
    for name in options.target:
        inputs = ALL[name].full if options.full else options.inputs
        tally, growth = fuzz(ALL[name], options.seed, options.seconds, inputs)
        results.append((ALL[name], tally, growth))
        print(f"{name}: {tally.tried} inputs, {len(tally.findings)} findings", file=sys.stderr)
        _keep(tally, options.output / name.replace(" ", "_"))
    head = f"Machine: {machine(('numpy', 'numba'))}. Command: `{COMMAND}`; seed {options.seed}."
    text = f"{head}\n\n{table(rows | rows_of(results), list(ALL))}"
    print(text)
    if options.write:
        replace_part(options.write, PART, text)
    return int(any(tally.findings for _, tally, _ in results))


def fuzz(target: Target, seed: int, seconds: float, inputs: int | None) -> tuple[Tally, float | None]:
    """Try inputs; return the results, and the growth of memory (MB), None if there were too few inputs."""
    compile_kernels()
    gc.collect()
    gc.freeze()  # permanent objects need no garbage collection
    rng, tally = random.Random(f"{seed} {target.name}"), Tally()
    samples = []
    end = time.monotonic() + seconds if inputs is None else float("inf")
    for _ in progress(_until(end, inputs), target.name, inputs or 0):
        tally.show(target.run, target.make(rng))
        if tally.tried % EVERY == 0:
            samples.append(memory.held_at_rest())
    growth = memory.growth(samples)
    if growth is not None and growth > GROWTH:
        tally.findings["memory growth"] = b"", f"by {growth:.1f} MB: {samples}"
    return tally, growth


def _until(end: float, inputs: int | None) -> Iterator[int]:
    tried = 0
    while time.monotonic() < end and (inputs is None or tried < inputs):
        yield tried
        tried += 1


def _keep(tally: Tally, folder: Path) -> None:
    for kind, (data, text) in tally.findings.items():
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "_" for c in kind)
        (folder / f"{name}.input").write_bytes(data)
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"  {kind}: {folder / name}.input", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

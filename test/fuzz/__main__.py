"""Fuzz the package: `python -m fuzz --seconds 600`, with test/ on the path; `make fuzz` does so.

Each target makes inputs from a seed, so that a run can be repeated. What fails is written to --output, one file for
each kind of failure; put it into test/fuzz/cases/<target>/ and it is tried again in every run of the tests.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from fuzz.targets import ALL, Target, compile_kernels
from fuzz.trial import Tally, memory

from robot_dynamics_ros.progress import progress

_WARM = 500  # inputs after which memory ought to stay


def main() -> int:
    """Return 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (default: %(default)s)")
    parser.add_argument("--inputs", type=int, help="stop a target after so many, however long they take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", nargs="+", choices=sorted(ALL), default=list(ALL))
    parser.add_argument("--output", type=Path, default=Path("fuzz_findings"))
    arguments = parser.parse_args()
    print(f"{'target':<16}{'inputs':>10}{'taken':>10}{'refused':>10}{'slowest':>10}{'memory':>10}{'findings':>10}")
    found = 0
    for name in arguments.target:
        tally, growth = fuzz(ALL[name], arguments.seed, arguments.seconds, arguments.inputs)
        refused = tally.refusals.total()
        print(
            f"{name:<16}{tally.tried:>10}{tally.taken:>10}{refused:>10}{tally.slowest:>8.2f} s{growth:>7.1f} MB"
            f"{len(tally.findings):>10}",
            flush=True,
        )
        found += len(tally.findings)
        _keep(tally, arguments.output / name.replace(" ", "_"))
    return int(found > 0)


def fuzz(target: Target, seed: int, seconds: float, inputs: int | None) -> tuple[Tally, float]:
    """Try inputs; return what came of them, and by how much (MB) memory has grown since the first few hundred."""
    compile_kernels()
    rng, tally, warm = random.Random(f"{seed} {target.name}"), Tally(), 0.0
    end = time.monotonic() + seconds if inputs is None else float("inf")
    for _ in progress(_until(end, inputs), target.name, inputs or 0):
        tally.show(target.run, target.make(rng))
        if tally.tried == _WARM:
            warm = memory()
    return tally, memory() - warm if warm else 0.0


def _until(end: float, inputs: int | None):  # type: ignore[no-untyped-def]
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

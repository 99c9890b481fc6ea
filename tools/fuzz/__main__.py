"""Fuzzer of the package: `python -m tools.fuzz --seconds 100`; `make fuzz` does this.

Hypothesis generates the inputs of each target from a seed, so that a run can be repeated. Inputs that fail are written
to --output, one file for each kind of failure; files in tools/fuzz/cases/<target>/ are tried again in every run of the
tests.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from functools import partial
from pathlib import Path

from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.ros_processes import resident
from tools.fuzz.inputs import run_all
from tools.fuzz.targets import ALL, Target, compile_kernels
from tools.fuzz.trial import Tally

COMMAND = "make fuzz FUZZ_ARGS='--full --write docs/reliability.md'"
PART = "make fuzz"
BATCH = 250
"""Number of inputs of a batch, which has a seed of its own, and after which the memory is measured."""

GROWTH = 5.0
"""Limit of the growth (MB) of memory from the second to the last tenth of a run."""


def main() -> int:
    """Return 1 if there are findings."""
    parser = report_parser("python -m tools.fuzz", __doc__)
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="for each target (default: %(default)s)",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="the full number of inputs of each target instead",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", nargs="+", choices=sorted(ALL), default=list(ALL))
    parser.add_argument("--output", type=Path, default=Path("fuzz_findings"))
    options = parser.parse_args()
    found = []

    def report() -> str:
        rows = [
            [
                "target",
                "inputs",
                "accepted",
                "refused",
                "slowest",
                "memory growth",
                "findings",
            ]
        ]
        for name in options.target:
            target = ALL[name]
            limits = (
                (target.full, math.inf)
                if options.full
                else (sys.maxsize, options.seconds)
            )
            tally, growth = fuzz(target, options.seed, *limits)
            rows.append(
                [
                    name,
                    *tally.cells(),
                    "–" if math.isnan(growth) else f"{growth:+.1f} MB",
                ]
            )
            rows[-1].append(str(len(tally.findings)))
            found.extend(tally.findings)
            _keep(tally, options.output / name.replace(" ", "_"))
        head = f"Machine: {machine(('numpy', 'numba'))}. Command: `{COMMAND}`; seed {options.seed}."
        return f"{head}\n\n{markdown_table(rows)}"

    print_report(
        options, report, PART, complete=options.full and options.target == list(ALL)
    )
    return int(bool(found))


def fuzz(
    target: Target, first: int, inputs: int, seconds: float = math.inf
) -> tuple[Tally, float]:
    """Try inputs; return the results, and the growth of memory (MB), NaN if there were too few inputs."""
    compile_kernels()
    gc.collect()
    gc.freeze()  # permanent objects need no garbage collection
    tally = Tally()
    samples = []
    end = time.monotonic() + seconds
    with tqdm(
        desc=target.name,
        total=inputs if inputs < sys.maxsize else None,
        leave=False,
        disable=None,
    ) as bar:
        while tally.tried < inputs and time.monotonic() < end:
            count = min(BATCH, inputs - tally.tried)
            run_all(
                target.inputs(),
                partial(tally.show, target.run),
                count,
                f"{first} {len(samples)}",
            )
            gc.collect()
            samples.append(resident())
            bar.update(tally.tried - bar.n)
    part = len(samples) // 10
    # A leak increases the minimum of a part; memory that is freed again does not. The first part is a warm-up.
    growth = min(samples[-part:]) - min(samples[part : 2 * part]) if part else math.nan
    if growth > GROWTH:
        tally.findings["memory growth"] = b"", f"by {growth:.1f} MB: {samples}"
    return tally, growth


def _keep(tally: Tally, folder: Path) -> None:
    for kind, (data, text) in tally.findings.items():
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "".join(c if c.isalnum() else "_" for c in kind)
        file.with_suffix(".input").write_bytes(data)
        file.with_suffix(".txt").write_text(text, encoding="utf-8")
        print(f"  {kind}: {file}.input", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

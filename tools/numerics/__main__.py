"""Rounding errors of the kernels, measured with 50 digits, and reproducibility of their bits.

``python -m tools.numerics`` prints the tables of docs/numerics.md; ``--write docs/numerics.md`` updates them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, replace_part
from tools.numerics.arms import ARMS, MOTIONS, load, same_axis
from tools.numerics.bits import bits_table, compare
from tools.numerics.errors import EPS, QUANTITIES, Measured, Plain, measure, motions

COMMAND = "python -m tools.numerics"
SAMPLES = 12
FEW = 3
"""Number of motions of a kind; FEW for arms of more than 10 joints, where 50 digits are slow."""

CUSTOMISED = ("Panda", "km boom, cm wrist")
DUST = (1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-15, 1e-17)

Floats = NDArray[np.float64]
Found = Mapping[str, Mapping[str, Mapping[str, Floats]]]
"""Errors (motions,) by arm, kind of motion and quantity."""


def models() -> dict[str, Measured]:
    """Return all arms, and some with customised kernels and batches."""
    found = {arm: Measured(load(arm)) for arm in ARMS}
    return found | {f"{arm}, customised": Measured(load(arm).customised(), many=True) for arm in CUSTOMISED}


def samples(measured: Measured) -> int:
    """Return the number of motions of each kind."""
    return SAMPLES if measured.model.n <= 10 else FEW


def all_errors(arms: Mapping[str, Measured]) -> Found:
    """Return all errors."""
    return {
        arm: {kind: measure(measured, kind, samples(measured)) for kind in MOTIONS}
        for arm, measured in tqdm(arms.items(), desc="arms", leave=False, disable=None)
    }


def arm_table(found: Found) -> str:
    """Return a table of the largest and median error of each quantity, a row for each arm."""
    rows = [["arm", *QUANTITIES]]
    for arm, kinds in found.items():
        rows.append([arm, *(_cell(np.concatenate([x[name] for x in kinds.values()])) for name in QUANTITIES)])
    return markdown_table(rows)


def motion_table(found: Found) -> str:
    """Return a table of the largest and median error of each quantity, a row for each kind of motion."""
    rows = [["motion", *QUANTITIES]]
    for kind in MOTIONS:
        rows.append([kind, *(_cell(np.concatenate([x[kind][name] for x in found.values()])) for name in QUANTITIES)])
    return markdown_table(rows)


def _cell(errors: Floats) -> str:
    held = errors[np.isfinite(errors)]
    refused = int(np.isnan(errors).sum())
    if not held.size:
        return "refused"
    reported = f"{held.max():.1f} ({np.median(held):.2f})"
    return f"{reported}, {refused} refused" if refused else reported


def plain_table(arms: Mapping[str, Measured]) -> str:
    """Return the largest relative errors and condition numbers for ordinary motions."""
    rows = [
        [
            "arm",
            "error of inverse_dynamics",
            "error of its derivatives, by joint",
            "condition number of M",
            "scaled condition",
            "error of forward_dynamics",
            "in eps times scaled condition",
        ]
    ]
    for arm, measured in arms.items():
        found = [measured.plain_errors(x) for x in motions("ordinary", measured.model.n, samples(measured))]
        rows.append([arm, *_plain_cells(found)])
    return markdown_table(rows)


def _plain_cells(found: list[Plain]) -> list[str]:
    columns = np.array(found)
    cells = [f"{value:.0e}" for value in columns[:, :4].max(axis=0)]
    held = columns[np.isfinite(columns[:, 4])]
    if not held.size:
        return [*cells, "refused", "–"]
    refused = len(columns) - len(held)
    worst = f"{held[:, 4].max():.0e}" + (f", {refused} refused" if refused else "")
    return [*cells, worst, f"{(held[:, 4] / (EPS * held[:, 3])).max():.1g}"]


def singular_table() -> str:
    """Return the errors for two joints on one axis with a decreasing inertia between them."""
    rows = [["inertia between them, kg m²", "scaled condition", "error of forward_dynamics"]]
    for dust in DUST:
        measured = Measured(same_axis(dust))
        *_, scaled, error, _ = _plain_cells([measured.plain_errors(x) for x in motions("ordinary", 2, SAMPLES)])
        rows.append([f"{dust:.0e}", scaled, error])
    return markdown_table(rows)


def error_report() -> str:
    """Return the errors as Markdown."""
    arms = models()
    found = all_errors(arms)
    return f"""\
Command: `{COMMAND}`. {SAMPLES} motions of each kind for each arm ({FEW} for 30 links), {machine(["numba", "mpmath"])}.

Largest error, and in brackets the median over motions, in eps times the size of the terms:

{arm_table(found)}

{motion_table(found)}

Largest relative errors for ordinary motions:

{plain_table(arms)}

Two joints on one axis:

{singular_table()}
"""


def bits_report() -> str:
    """Return the comparison of bits as Markdown."""
    return f"""\
Command: `{COMMAND}`. Results of all kernels for the Panda, customised kernels for the SCARA, and one and five
simulated Pandas with friction, from two processes each; the first has default settings.

{bits_table(compare())}
"""


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the tables to this Markdown file")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about properties that the unusual arms do not define
        parts = {"make numerics, errors": error_report(), "make numerics, bits": bits_report()}
    print("\n".join(parts.values()))
    if options.write:
        for part, text in parts.items():
            replace_part(options.write, part, text)


if __name__ == "__main__":
    main()

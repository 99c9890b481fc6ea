"""Rounding errors of the kernels, measured with 50 digits, and reproducibility of their bits.

``python -m tools.numerics`` prints the tables of docs/numerics.md; ``--write docs/numerics.md`` updates them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.robots import Floats
from tools.numerics.arms import ARMS, MOTIONS, load, same_axis
from tools.numerics.bits import bits_list, compare
from tools.numerics.errors import QUANTITIES, Measured, Plain, measure, motions

COMMAND = "python -m tools.numerics"
SAMPLES = 12
FEW = 3
"""Number of motions of a kind; FEW for arms of more than 10 joints, where 50 digits are slow."""

CUSTOMISED = ("Panda", "km boom, cm wrist")
PLAIN_HEAD = [
    "arm",
    "error of inverse_dynamics",
    "error of its derivatives, by joint",
    "scaled condition",
    "error of forward_dynamics",
]
DUST = (1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-15, 1e-17)

Found = Mapping[str, Mapping[str, Mapping[str, Floats]]]
"""Errors (motions,) by arm, kind of motion and quantity."""


def models() -> dict[str, Measured]:
    """Return all arms, and some with customised kernels and batches."""
    found = {arm: Measured(load(arm)) for arm in ARMS}
    return found | {
        f"{arm}, customised": Measured(load(arm).customised(), many=True)
        for arm in CUSTOMISED
    }


def samples(measured: Measured) -> int:
    """Return the number of motions of each kind."""
    return SAMPLES if measured.model.n <= 10 else FEW


def all_errors(arms: Mapping[str, Measured]) -> Found:
    """Return all errors."""
    return {
        arm: {kind: measure(measured, kind, samples(measured)) for kind in MOTIONS}
        for arm, measured in tqdm(arms.items(), desc="arms", leave=False, disable=None)
    }


def error_table(found: Found) -> str:
    """Return a table of the largest error of each quantity, with its arm and kind of motion."""
    rows = [["quantity", "largest", "arm", "motion"]]
    for quantity in QUANTITIES:
        errors = {
            (arm, kind): _largest(values[quantity])
            for arm, kinds in found.items()
            for kind, values in kinds.items()
        }
        arm, kind = max(errors, key=errors.__getitem__)
        rows.append([quantity, f"{errors[arm, kind]:.1f}", arm, kind])
    return markdown_table(rows)


def _largest(errors: Floats) -> float:
    """Return the largest error of the motions that are not refused."""
    return float(np.max(errors, initial=0.0, where=np.isfinite(errors)))


def plain_table(arms: Mapping[str, Measured]) -> str:
    """Return the largest relative errors and condition numbers for ordinary motions."""
    rows = [PLAIN_HEAD]
    for arm, measured in arms.items():
        found = [
            measured.plain_errors(x)
            for x in motions("ordinary", measured.model.n, samples(measured))
        ]
        rows.append([arm, *_plain_cells(found)])
    return markdown_table(rows)


def _plain_cells(found: list[Plain]) -> list[str]:
    columns = np.array(found)
    cells = [f"{value:.0e}" for value in columns[:, [0, 1, 3]].max(axis=0)]
    held = columns[np.isfinite(columns[:, 4])]
    if not held.size:
        return [*cells, "refused"]
    refused = len(columns) - len(held)
    worst = f"{held[:, 4].max():.0e}" + (f", {refused} refused" if refused else "")
    return [*cells, worst]


def singular_table() -> str:
    """Return the errors for two joints on one axis with a decreasing inertia between them."""
    rows = [
        ["inertia between them, kg m²", "scaled condition", "error of forward_dynamics"]
    ]
    for dust in DUST:
        measured = Measured(same_axis(dust))
        *_, scaled, error = _plain_cells(
            [measured.plain_errors(x) for x in motions("ordinary", 2, SAMPLES)]
        )
        rows.append([f"{dust:.0e}", scaled, error])
    return markdown_table(rows)


def error_report() -> str:
    """Return the errors as Markdown."""
    arms = models()
    found = all_errors(arms)
    return f"""\
Command: `{COMMAND}`. {SAMPLES} motions of each kind for each arm ({FEW} for 30 links), {machine(["numba", "mpmath"])}.

Largest error in eps times the size of the terms:

{error_table(found)}

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

{bits_list(compare())}
"""


def main() -> None:
    """Run from the command line."""
    options = report_parser(COMMAND, __doc__).parse_args()
    # about properties that the unusual arms do not define
    warnings.simplefilter("ignore")
    print_report(options, error_report, "make numerics, errors")
    print_report(options, bits_report, "make numerics, bits")


if __name__ == "__main__":
    main()

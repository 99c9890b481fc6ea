"""Operation counts and times of the formulations for 1 to 8 revolute joints, beside Milicevic's Table 3.

``python -m benchmarks.formulations`` prints the tables of docs/formulations.md; ``--write docs/formulations.md`` writes
them to that page and draws docs/images/formulations.png.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.formulation_counts import (
    COUNTED,
    FITTED,
    SIZES,
    TIMED,
    Form,
    count,
    exponent,
    formula,
    polynomial,
    state,
)
from benchmarks.operation_counts import PRINTED, Count, printed
from benchmarks.robots import random_chain

COMMAND = "python -m benchmarks.formulations"
IMAGE = Path("images") / "formulations.png"


def all_counts() -> dict[str, list[Count]]:
    """Return the counts for SIZES of each counted form."""
    return {
        name: [count(form, n) for n in SIZES] for name, (form, _) in COUNTED.items()
    }


def all_times(passes: int = 12) -> dict[str, list[float]]:
    """Return the time (s) of one call of each form for SIZES: the minimum over several passes."""
    times = {name: [np.inf] * len(SIZES) for name in TIMED}
    for _ in range(passes):
        for name, form in TIMED.items():
            times[name] = [
                min(best, seconds(form, n))
                for best, n in zip(times[name], SIZES, strict=True)
            ]
    return times


def seconds(form: Form, n: int) -> float:
    """Return the mean time (s) of one call, measured for 10 ms."""
    tree = random_chain(n)
    motion = state(n)
    form(tree, *motion)
    calls = 0
    begin = time.perf_counter()
    while calls == 0 or time.perf_counter() - begin < 0.01:
        form(tree, *motion)
        calls += 1
    return (time.perf_counter() - begin) / calls


def polynomial_table(counts: dict[str, list[Count]]) -> str:
    """Return a table of counted and printed polynomials."""
    rows = [["form", "", "multiplications", "additions"]]
    for name, (_, source) in COUNTED.items():
        ours = [
            formula(polynomial(list(values)))
            for values in zip(*counts[name], strict=True)
        ]
        rows += [
            [name, "counted", *ours],
            [
                "",
                "printed",
                *(formula(coefficients) for coefficients in PRINTED[source]),
            ],
        ]
    return markdown_table(rows)


def time_table(counts: dict[str, list[Count]], times: dict[str, list[float]]) -> str:
    """Return a table of times (us) for SIZES, and of the exponents of n for times and counts."""
    rows = [["form", *(f"n = {n}" for n in SIZES), "growth", "of the counts"]]
    for name, values in times.items():
        counted = (
            f"n^{exponent([float(sum(c)) for c in counts[name]]):.1f}"
            if name in counts
            else "–"
        )
        rows.append(
            [
                name,
                *(f"{1e6 * value:.0f}" for value in values),
                f"n^{exponent(values):.1f}",
                counted,
            ]
        )
    return markdown_table(rows)


def count_report(counts: dict[str, list[Count]]) -> str:
    """Return the counts as Markdown."""
    return f"""\
Command: `{COMMAND}`. The counts are the operations of one inverse dynamics of a serial chain of
n revolute joints with arbitrary placements and inertias, as implemented in `robot_dynamics_ros/textbooks/`. They
include the link placements and multiplications by zero; additions include subtractions. "Printed" is Milicevic's
Table 3. From two joints on:

{polynomial_table(counts)}
"""


def time_report(counts: dict[str, list[Count]], times: dict[str, list[float]]) -> str:
    """Return the times as Markdown."""
    return f"""\
Microseconds for one state, {machine(["numpy"])}.
Most of this time is the overhead of NumPy calls. "Growth" is the power of n
fitted from n = {FITTED[0]} to {FITTED[-1]}; at these sizes the highest power of the polynomials does not dominate yet.

{time_table(counts, times)}

![Operations and time of each form for 1 to {SIZES[-1]} joints]({IMAGE.as_posix()})
"""


def draw(
    counts: dict[str, list[Count]], times: dict[str, list[float]], path: Path
) -> None:
    """Plot counts, printed counts and times to a PNG file."""
    import matplotlib  # imported here because it takes a second

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    colours = {name: f"C{i}" for i, name in enumerate(times)}
    sources = set()
    for name, (_, source) in COUNTED.items():
        left.plot(
            SIZES,
            [sum(c) for c in counts[name]],
            "o-",
            ms=4,
            color=colours[name],
            label=name,
        )
        if source not in sources:
            expected = [sum(printed(source, n)) for n in SIZES]
            left.plot(
                SIZES,
                expected,
                "--",
                color=colours[name],
                label=source.replace("Milicevic ", ""),
            )
            sources.add(source)
    for name, values in times.items():
        right.plot(
            SIZES, 1e6 * np.array(values), "o-", ms=4, color=colours[name], label=name
        )
    left.set(title="multiplications and additions", xlabel="joints n")
    right.set(title="time of one state in NumPy, µs", xlabel="joints n")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(SIZES, [str(n) for n in SIZES], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run the benchmark from the command line."""
    options = report_parser(COMMAND, __doc__).parse_args()
    counts = all_counts()
    times = all_times()
    print_report(
        options,
        lambda: f"{count_report(counts)}\n{time_report(counts, times)}",
        "make formulations",
    )
    if options.write:
        draw(counts, times, options.write.parent / IMAGE)


if __name__ == "__main__":
    main()

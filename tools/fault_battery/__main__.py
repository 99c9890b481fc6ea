"""Battery of single faults against the control core, with a plant and a judge of its own.

``python -m tools.fault_battery`` runs each kind of ``kinds.py`` on its arms with its parameter sets, and prints a
table of the families of kinds with the shares of critical and high runs; ``--json FILE`` writes each run. Rest or
motion, period, joint and sensors are drawn by ``--seed`` and the names of kind, arm and set. ``--sample N`` draws N of
the runs.
``--healthy`` makes the runs without faults instead, in which a fault whose cause is untrue counts.
``--run KIND ARM SET`` repeats one run. docs/fault_battery.md describes scale and results.

A run is marked "unanswerable" if it is critical or high, and so is the same run with the true state in place of the
faulted signal. Where no signal is faulted but drives or plant, a controller that knows state and plant takes the place
of the node from the onset on; it corrects a faulty drive unless that is ``lost``. Wrong requests are never marked.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from multiprocessing import Pool
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.document import markdown_table, print_report, report_parser
from tools.fault_battery.judge import Verdict, judge
from tools.fault_battery.kinds import ALSO_HEALTHY, HEALTHY, KINDS
from tools.fault_battery.parameter_sets import SETS
from tools.fault_battery.run import Case, Kind, Record, Run

_GRADES = ("none", "high", "critical")
_PART = "make fault-battery"  # of docs/fault_battery.md
_HEALTHY_RUNS = 105
_KEY = 3  # fields of a result that name the run


class Result(NamedTuple):
    """Result of one run; ``false_alarm`` is the untrue cause of a fault of a healthy run, or ""."""

    kind: str
    family: str
    arm: str
    parameters: str
    seed: int
    moving: bool
    period: float
    joint: str
    effort_reports: str
    verdict: Verdict
    unanswerable: bool
    refused: str
    false_alarm: str
    last_mode: str


def case_of(kind: Kind, arm: str, parameters: str, seed: int) -> Case:
    """Return the case with a seed of its own, which does not depend on the other kinds.

    The set "drives" has the draws of "default", for a comparison run by run.
    """
    draws = parameters.replace("drives", "default")
    text = f"{kind.name}|{arm}|{draws}|{seed}"
    return Case(kind, arm, parameters, zlib.crc32(text.encode()))


def matrix(kinds: Iterable[Kind], seed: int) -> list[Case]:
    """Return all cases of the kinds."""
    return [case_of(k, arm, s, seed) for k in kinds for arm in k.arms for s in k.sets]


def execute(case: Case) -> Result:
    """Run a case, and its twin if it exceeds the scale."""
    run = Run(case)
    record = run.execute()
    verdict = _judge(run, record)
    unanswerable = False
    if verdict.grade != "none" and case.kind.twin:
        twin = Run(case, case.kind.twin)
        other = _judge(twin, twin.execute())
        unanswerable = _GRADES.index(other.grade) >= _GRADES.index(verdict.grade)
    return Result(
        case.kind.name, case.kind.family, case.arm, case.parameters, case.seed, run.moving, run.period * 1e-3,
        run.names[run.joint], run.echo, verdict, unanswerable, record.refused, _false_alarm(run, record), run.mode,
    )  # fmt: skip


def _judge(run: Run, record: Record) -> Verdict:
    return judge(record, run.arm.prismatic, run.arm.effort)


def _false_alarm(run: Run, record: Record) -> str:
    """Return the first cause of a fault that is not true by the plant and by the kind."""
    arm = run.arm
    q = np.array(record.q)
    margin = 1e-3
    true = set(run.case.kind.true_causes)
    if (np.abs(record.qd) > arm.velocity - margin).any():
        true.add("velocity_limit")
    if ((q > arm.upper - margin) | (q < arm.lower + margin)).any():
        true.add("position_limit")
    if record.largest_gap > run.settings.safety.state_timeout:
        true.add("state_stale")
    return next((cause for _, cause in record.faults if cause not in true), "")


def run_all(cases: Sequence[Case], jobs: int) -> list[Result]:
    """Run the cases, in parallel if ``jobs`` is above 1; the results are in their order."""
    if jobs == 1:
        return [execute(case) for case in tqdm(cases, disable=None)]
    with Pool(jobs) as pool:
        found = pool.imap(execute, cases, chunksize=4)
        return list(tqdm(found, total=len(cases), disable=None))


def shares(results: Sequence[Result]) -> str:
    """Return the table of shares by parameter set."""
    rows = [
        [
            "set",
            "runs",
            "unanswerable",
            "critical",
            "high",
            "critical in mode zero",
            "fell after release",
        ]
    ]
    for name in SETS:
        chosen = [r for r in results if r.parameters == name]
        rest = _answerable(chosen)
        critical = [r for r in rest if r.verdict.grade == "critical"]
        high = [r for r in rest if r.verdict.grade == "high"]
        part = max(len(rest), 1) / 100.0
        rows.append([
            name, str(len(chosen)), str(len(chosen) - len(rest)), f"{len(critical)} ({len(critical) / part:.1f} %)",
            f"{len(high)} ({len(high) / part:.1f} %)", str(sum(r.verdict.mode == "zero" for r in critical)),
            str(sum(r.verdict.fell != "none" for r in rest)),
        ])  # fmt: skip
    return markdown_table(rows)


def _answerable(results: Iterable[Result]) -> list[Result]:
    return [r for r in results if not r.unanswerable]


def _groups(results: Sequence[Result], field: str) -> dict[str, list[Result]]:
    """Return the results by their kind or family, in the order of the kinds."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[getattr(result, field)].append(result)
    return groups


def _grades(group: Sequence[Result], parameters: str) -> str:
    """Return the numbers of runs with this set that can be answered: critical/high/none."""
    chosen = [r for r in _answerable(group) if r.parameters == parameters]
    grades = [r.verdict.grade for r in chosen]
    return "/".join(str(grades.count(g)) for g in _GRADES[::-1])


def _marked(group: Sequence[Result]) -> str:
    """Return the number of unanswerable runs, or ""."""
    return str(sum(r.unanswerable for r in group) or "")


def table(results: Sequence[Result]) -> str:
    """Return the table of families: critical/high/none of the runs that can be answered, for each set.

    Families without critical and high runs are in a list below.
    """
    rows = [
        [
            "family",
            *SETS,
            "unanswerable/fell",
            "detected in",
            "worst run: rad/s, rad, Nm",
        ]
    ]
    quiet = []
    for family, group in _groups(results, "family").items():
        fell = sum(r.verdict.fell != "none" for r in group)
        if all(r.verdict.grade == "none" for r in group):
            quiet.append(f"{family} ({len(group)}/{fell})")
            continue
        grades = [_grades(group, name) for name in SETS]
        times = [r.verdict.detected for r in group if r.verdict.detected is not None]
        detected = f"{len(times)}/{len(group)}"
        if times:
            detected += f", {np.median(times) * 1e3:.0f} ms"
        refused = sum(bool(r.refused) for r in group)
        if refused:
            detected += f", {refused} refused"
        counts = f"{_marked(group) or 0}/{fell}"
        rows.append([family, *grades, counts, detected, _worst(group)])
    names = fill("; ".join(quiet), 110, break_long_words=False, break_on_hyphens=False)
    title = "Neither critical nor high, with the numbers of runs/fell:"
    return f"{markdown_table(rows)}\n\n{title}\n\n```text\n{names}\n```"


def _worst(group: Sequence[Result]) -> str:
    worst = max(group, key=lambda r: (_GRADES.index(r.verdict.grade), r.verdict.speed))
    v = worst.verdict
    values = f"{v.speed:.3g}, {v.distance:.2g}, {v.step:.3g}"
    parameters = worst.kind.removeprefix(worst.family).strip()
    run = ", ".join(filter(None, [parameters, worst.arm, worst.parameters, v.mode]))
    return f"{values} ({run})"


def as_json(results: Sequence[Result]) -> str:
    """Return the results as JSON, one run a line."""
    lines = [
        json.dumps({**r._asdict(), "verdict": r.verdict._asdict()}, default=float)
        for r in results
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read_results(path: Path) -> list[Result]:
    """Return the results of a file of ``as_json``."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [Result(**{**row, "verdict": Verdict(**row["verdict"])}) for row in rows]


def comparison(before: Sequence[Result], after: Sequence[Result]) -> str:
    """Return both tables of shares, and the grades of each kind before and after, of the runs that both have."""
    keys = {r[:_KEY] for r in before} & {r[:_KEY] for r in after}
    both = [[r for r in part if r[:_KEY] in keys] for part in (before, after)]
    times = ("before", "after")
    titles = [f"{name} {time}" for name in (*SETS, "unanswerable") for time in times]
    rows = [["kind", *titles]]
    groups = [_groups(part, "kind") for part in both]
    for kind in groups[1]:
        pair = [group[kind] for group in groups]
        grades = [_grades(part, name) for name in SETS for part in pair]
        rows.append([kind, *grades, *map(_marked, pair)])
    parts = ["Before:", shares(both[0]), "After:", shares(both[1])]
    return "\n\n".join([*parts, markdown_table(rows)])


def drawn(cases: list[Case], count: int, seed: int) -> list[Case]:
    """Return ``count`` of the cases, in their order."""
    random = np.random.default_rng(seed)
    chosen = random.choice(len(cases), min(count, len(cases)), replace=False)
    return [cases[i] for i in sorted(chosen)]


def cases_of(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the options select."""

    def chosen(kinds: Iterable[Kind]) -> list[Case]:
        return matrix((k for k in kinds if options.only in k.name), options.seed)

    if options.healthy:
        count = options.sample or _HEALTHY_RUNS
        return drawn(chosen(HEALTHY), count, options.seed) + chosen(ALSO_HEALTHY)
    cases = chosen(KINDS)
    return drawn(cases, options.sample or len(cases), options.seed)


def exceeds(results: Sequence[Result], most: float) -> bool:
    """Print and return if more than ``most`` percent of the runs that can be answered are critical."""
    rest = _answerable(results)
    share = 100.0 * sum(r.verdict.grade == "critical" for r in rest) / max(len(rest), 1)
    if share > most:
        print(f"{share:.1f} % of {len(rest)} runs are critical, more than {most:g} %")
    return share > most


def main(arguments: list[str] | None = None) -> int:
    """Run the battery; return 1 for too many critical runs, or too many healthy runs with a false alarm."""
    parser = report_parser("python -m tools.fault_battery", __doc__)
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of all draws (default 0)"
    )
    parser.add_argument("--sample", type=int, help="number of runs, instead of all")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--only", default="", help="kinds whose names contain this text"
    )
    parser.add_argument(
        "--healthy",
        action="store_true",
        help=f"{_HEALTHY_RUNS} drawn runs and some others without faults instead",
    )
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument(
        "--results", type=Path, help="read results from a file of --json, run nothing"
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="BEFORE.json",
        help="print the kinds before and after, of the runs that both have",
    )
    parser.add_argument(
        "--most-critical",
        type=float,
        default=100.0,
        metavar="PERCENT",
        help="return 1 if a larger share of the runs is critical",
    )
    parser.add_argument(
        "--most-alarms",
        type=int,
        default=0,
        metavar="N",
        help="return 1 if more healthy runs have a false alarm (default 0)",
    )
    parser.add_argument(
        "--run",
        nargs=3,
        metavar=("KIND", "ARM", "SET"),
        help="repeat one run and print it",
    )
    options = parser.parse_args(arguments)
    if options.run:
        name, arm, parameters = options.run
        (kind,) = (k for k in (*KINDS, *HEALTHY, *ALSO_HEALTHY) if k.name == name)
        print(as_json([execute(case_of(kind, arm, parameters, options.seed))]))
        return 0
    results: list[Result] = []

    def report() -> str:
        if options.results:
            results.extend(read_results(options.results))
        else:
            results.extend(run_all(cases_of(options), options.jobs))
        if options.json:
            options.json.write_text(as_json(results), encoding="utf-8")
        if options.compare:
            return comparison(read_results(options.compare), results)
        return f"{shares(results)}\n\n{table(results)}"

    print_report(options, report, _PART, complete=not options.only)
    if not options.healthy:
        return int(exceeds(results, options.most_critical))
    alarms = [r for r in results if r.false_alarm]
    for r in alarms:
        print(f"false alarm: {r.false_alarm}, {r.kind}, {r.arm}, {r.parameters}")
    print(f"{len(results)} healthy runs, {len(alarms)} false alarms")
    return int(len(alarms) > options.most_alarms)


if __name__ == "__main__":
    sys.exit(main())

"""Study of friction identified from simulated gears: held-out error, coverage of the load coefficient, false ones.

``python -m tools.gear_study --seeds 20`` identifies four public robots with three kinds of gears
(test/support/gears.py), and with gears without load dependence, from four motions of 10 s each, and tests each result
on another motion. A run takes half a minute on an idle core. Each result is appended to the file of ``--results``,
whose runs are not repeated.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from test_public_robots import ROBOTS

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification import (
    dynamics_document,
    identify,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from support.gears import Gears

ARMS = {
    "z1": "z1_description/urdf/z1",
    "ur10": "ur_description/urdf/ur10_robot",
    "xarm7": "xarm_description/urdf/xarm7",
    "kinova": "kinova_description/robots/kinova",
}
KINDS = {
    "none": Gears(0.0, 1.5, 0.10, 0.15),
    "3 %": Gears(0.03, 1.2, 0.15, 0.10),
    "8 %": Gears(0.08, 1.5, 0.10, 0.15),
    "15 %": Gears(0.15, 2.0, 0.05, 0.20),
}
MOTIONS = 4
NOISE = 0.02  # relative to the RMS effort
DELAY = 0.002  # s, corrected
BAR = 1.1  # of the error of the true model
_INSIDE = norm.ppf(0.975)  # deviations


class Case(NamedTuple):
    """Robot, kind of gears and seed of a run."""

    arm: str
    kind: str
    seed: int


def run(case: Case) -> dict[str, Any]:
    """Identify a robot; return each joint's error over the true model's, and the coefficients in deviations."""
    warnings.simplefilter("ignore")
    urdf = ROBOTS[ARMS[case.arm]]
    gears = KINDS[case.kind]
    prior = RobotModel.from_urdf_file(urdf).scaled(friction=0.0)
    draw = np.random.default_rng(
        [case.seed, list(ARMS).index(case.arm), list(KINDS).index(case.kind)]
    )

    def recorded(seconds: float) -> RecordedMotion:
        motion_seed, noise_seed = draw.integers(2**31, size=2)
        series = gears.truth(prior, seconds, int(motion_seed)).recorded(
            int(noise_seed), NOISE
        )
        return recorded_motion(series, Smoothing(), effort_delay=DELAY)

    forms = dict.fromkeys(prior.joint_names, frozenset({"auto", "directions"}))
    result = identify(prior, [recorded(10.3) for _ in range(MOTIONS)], forms=forms)
    test = recorded(20.0)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "identified.yaml"
        write_dynamics_file(file, dynamics_document(result, {}), [])
        models = (
            RobotModel.from_urdf_file(urdf, dynamics=file),
            gears.model(urdf, prior, Path(folder)),
        )
    error, floor = (analyse_torque(model, test).rms for model in models)
    estimate = result.estimate
    found = {
        name: k
        for k, name in enumerate(estimate.base.names)
        if name.endswith("load_coefficient")
    }
    scores = {
        name: (estimate.values[k] - gears.load) / estimate.deviations[k]
        for name, k in found.items()
    }
    return {"case": case, "ratio": (error / floor).tolist(), "scores": scores}


def report(results: Sequence[dict[str, Any]]) -> None:
    """Print a row for each robot and kind of gears."""
    print(
        f"{'arm':8}{'gears':8}{'runs':>5}{'joints':>8}{'worst':>8}{'over':>6}{'found':>7}{'inside 95 %':>14}"
    )
    for arm, kind in product([*ARMS, "all"], KINDS):
        chosen = [
            r for r in results if arm in (r["case"][0], "all") and r["case"][1] == kind
        ]
        ratio = np.array([value for r in chosen for value in r["ratio"]])
        scores = np.abs([score for r in chosen for score in r["scores"].values()])
        if chosen:
            inside = (
                f"{100.0 * (scores < _INSIDE).mean():.1f} %"
                if kind != "none" and len(scores)
                else "-"
            )
            print(
                f"{arm:8}{kind:8}{len(chosen):5}{len(ratio):8}{ratio.max():8.3f}{(ratio > BAR).sum():6}"
                f"{len(scores):7}{inside:>14}"
            )


def main() -> None:
    """Run the missing cases, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=2, help="number of seeds (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes (default: %(default)s)"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("gear_study.jsonl"),
        help="file (default: %(default)s)",
    )
    args = parser.parse_args()
    lines = (
        args.results.read_text(encoding="utf-8").splitlines()
        if args.results.exists()
        else []
    )
    results = [json.loads(line) for line in lines]
    done = {tuple(result["case"]) for result in results}
    cases = [
        Case(arm, kind, seed)
        for seed, arm, kind in product(range(args.seeds), ARMS, KINDS)
    ]
    with (
        ProcessPoolExecutor(args.jobs) as pool,
        args.results.open("a", encoding="utf-8") as file,
    ):
        for future in as_completed(
            [pool.submit(run, case) for case in cases if case not in done]
        ):
            results.append(future.result())
            print(json.dumps(results[-1]), file=file, flush=True)
    report(results)


if __name__ == "__main__":
    main()

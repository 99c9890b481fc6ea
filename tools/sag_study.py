"""Mistakes that ``robot_dynamics sag`` names, and coverage of its intervals, on simulated arms under P control.

``python -m tools.sag_study`` simulates arms whose drives have unknown stiffnesses, and gears whose friction sticks, at
poses that they approach from both sides, each with one mistake. It prints the cases whose mistake is not named or has
an interval that does not hold. The table has the number of cases whose mistake is named, alone or with rivals, of
those with another statement, of the intervals of numbers and stiffnesses, and of undetermined stiffnesses.
"""

import argparse
import re
import warnings
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation
from test_public_robots import ROBOTS

from robot_dynamics_ros import RobotModel, simulate
from robot_dynamics_ros.analysis.diagnosis.static_poses import analyse_sag, read_pairs
from robot_dynamics_ros.recordings.bags import JointSeries

ARMS = {
    "planar_2r": "planar_2r",
    "panda": "panda",
    "ur5e": "ur5e",
    "z1": "z1_description/urdf/z1",
}
CAUSES = (
    "healthy", "low stiffness", "link mass", "payload", "gravity", "effort sign", "effort zero", "effort unit", "gain",
    "encoder zero",
)  # fmt: skip
RATE = 100.0  # Hz
OF_EFFORT = ("effort sign", "effort zero", "effort unit", "gain")
STEP = 1e-3  # s


@dataclass
class Case:
    """Model of the user, recording, and what is true: text of the mistake, and its numbers."""

    model: RobotModel
    series: JointSeries
    command: Any
    stiffness: Any
    named: str
    number: float | None


def motion(poses: Any, reach: float, move: float, approach: float, hold: float) -> Any:
    """Return the command (m, n) at STEP: each pose is approached from above and below."""
    points = [poses[0]]
    times = [0.0]
    for k, side in product(range(len(poses)), (1.0, -1.0)):
        for point, duration in (
            (poses[k] - side * reach, move),
            (poses[k], approach),
            (poses[k], hold),
        ):
            points.append(point)
            times.append(times[-1] + duration)
    t = np.arange(0.0, times[-1], STEP)
    knots = np.array(points)
    part = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    s = (t - np.array(times)[part]) / np.diff(times)[part]
    s = (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)[:, None]
    return knots[part] + s * (knots[part + 1] - knots[part])


def simulated(arm: str, cause: str, draw: np.random.Generator, folder: Path) -> Case:
    """Simulate an arm with a mistake."""
    urdf = ROBOTS[ARMS[arm]]
    model = RobotModel.from_urdf_file(urdf).scaled(friction=0.0)
    n = model.n
    lower = np.maximum(model.position_lower, -2.0) + 0.3
    upper = np.minimum(model.position_upper, 2.0) - 0.3
    poses = draw.uniform(lower, upper, (10, n))
    many = draw.uniform(lower, upper, (200, n))
    size = np.sqrt((model.gravity_torque(many) ** 2).mean(axis=0))
    inertia = 1.5 * np.diagonal(model.mass_matrix(many), axis1=1, axis2=2).mean(axis=0)
    level = draw.uniform(0.03, 0.12, n) * np.maximum(size, 0.1 * size.max())
    joints = {
        name: {
            "coulomb": float(f),
            "coulomb_negative": float(f * draw.uniform(0.85, 1.15)),
            "static": float(1.3 * f),
            "stribeck_velocity": 0.02,
            "viscous": float(f),
            "rotor_inertia": float(m / 3.0),
            "gear_ratio": 1.0,
            "rotor_carrier": "none",
        }
        for name, f, m in zip(model.joint_names, level, inertia, strict=True)
    }
    file = folder / "dynamics.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf, dynamics=file)
    sag = draw.uniform(0.01, 0.06, n) * (3.0 if cause == "low stiffness" else 1.0)
    stiffness = np.max([size / sag, 100.0 * inertia, level / 0.05], axis=0)
    damping = draw.uniform(0.5, 1.5) * 2.0 * np.sqrt(stiffness * inertia)
    j = int(draw.choice(np.flatnonzero(size > 0.1 * size.max())))
    one = np.arange(n) == j
    number: float | None = None
    named = ""
    shift = np.zeros(n)
    if cause == "payload":
        number = float(draw.uniform(0.1, 0.3) * model.body_parameters[:, 0].sum() / 4.0)
        truth = truth.with_payload(
            model.moving_links[-1], number, draw.uniform(-0.05, 0.05, 3), np.zeros(6)
        )
        named = (
            f"carries a payload that the model lacks: .* on {model.moving_links[-1]}"
        )
    elif cause == "link mass":
        unit = model.regressor(many, 0.0 * many, 0.0 * many)[:, :, : 10 * n].reshape(
            len(many), n, n, 10
        )
        effect = np.sqrt(
            ((unit * model.body_parameters).sum(axis=3) ** 2).mean(axis=0)
        ) / (size[:, None] + 1e-9)
        body = int(
            draw.choice(
                np.flatnonzero(effect[size > 0.05 * size.max()].max(axis=0) > 0.15)
            )
        )
        number = float(draw.uniform(1.2, 1.6))
        own = model.body_parameters[body]
        link = model.moving_links[body]
        truth = truth.with_payload(
            link, (number - 1.0) * own[0], own[1:4] / own[0], np.zeros(6)
        )
        named = f"the mass of {link} is" if body < n - 1 else f"payload .* on {link}"
        number = number if body < n - 1 else None
    elif cause == "gravity":
        number = float(draw.uniform(15.0, 180.0))
        turn = Rotation.from_euler(
            "yz", [number, 0.0 if n == 2 else draw.uniform(0.0, 360.0)], degrees=True
        )
        truth = truth.with_gravity(turn.apply(truth.gravity))
        named = "gravity points|model has none"
    elif cause == "encoder zero":
        number = float(draw.uniform(0.1, 0.8) * draw.choice([-1.0, 1.0]))
        shift = number * one
        named = f"position of {model.joint_names[j]} has another zero"
    command = motion(poses, 0.1, 0.8, 0.5, 1.6)
    efforts = []

    def control(t: float, q: Any, qd: Any) -> Any:
        row = min(round(t / STEP), len(command) - 1)
        tau = stiffness * (command[row] - q) - damping * qd
        efforts.append(tau)
        return tau

    run = simulate(
        truth,
        control,
        round(len(command) * STEP, 6),
        method="semi_implicit",
        step_size=STEP,
        initial_positions=command[0],
    )
    every = round(1.0 / (RATE * STEP))
    tau = np.array(efforts)[::every]
    q = run.position[:-1][::every]
    tau = tau + draw.normal(0.0, 0.02 * tau.std(axis=0), tau.shape)
    resolution = 2.0 * np.pi / 2**14
    q = (
        np.round((q + draw.normal(0.0, 1e-4, q.shape)) / resolution) * resolution
        + shift
    )
    if cause == "effort sign":
        tau = tau * np.where(one, -1.0, 1.0)
    elif cause == "effort zero":
        number = float(draw.uniform(0.3, 1.0) * size[j] * draw.choice([-1.0, 1.0]))
        tau = tau + number * one
        named = f"the effort of {model.joint_names[j]} has another zero"
    elif cause == "effort unit":
        number = float(draw.choice([0.1, 0.5, 1.5, 2.0, 9.81]))
        tau = number * tau
        named = "every effort is"
    elif cause == "gain":
        number = float(draw.choice([0.5, 0.7, 1.4, 2.0]))
        tau = tau * np.where(one, number, 1.0)
        named = f"the effort of {model.joint_names[j]} is"
    if cause == "effort sign":
        named = f"the effort of {model.joint_names[j]} has the wrong sign"
    stamps = (1e9 / RATE * np.arange(len(q))).astype(np.int64) + 10**9
    series = JointSeries(model.joint_names, stamps, stamps, q, np.zeros_like(q), tau)
    return Case(model, series, command[::every] + shift, stiffness, named, number)


def run(arm: str, cause: str, seed: int, efforts: bool) -> dict[str, Any]:
    """Return the statements of a case, if one is right, if one is wrong, and errors in half intervals."""
    draw = np.random.default_rng([seed, list(ARMS).index(arm), CAUSES.index(cause)])
    with TemporaryDirectory() as folder:
        case = simulated(arm, cause, draw, Path(folder))
    series = case.series
    if not efforts:
        series = replace(series, effort=np.full_like(series.effort, np.nan))
    sag = analyse_sag(case.model, read_pairs(series, case.command))
    texts = [*sag.certain, *(one.text for one in sag.rivals)]
    right = [text for text in texts if case.named and re.search(case.named, text)]
    value, error = sag.stiffness
    known = 2.0 * error < value
    errors = ((value - case.stiffness) / (2.0 * error))[known].tolist()
    for text in right:
        found = re.search(r"(-?[\d.]+) \+- ([\d.]*\d)", text)
        if case.number is not None and found:
            errors.append((float(found[1]) - case.number) / float(found[2]))
    healthy = cause in CAUSES[:2]
    return {
        "case": [arm, cause, seed],
        "named": bool(right) or (healthy and not texts and not sag.unexplained),
        "alone": len(texts) < 2,
        "false": bool(texts) and not right,
        "errors": errors,
        "undetermined": int((~known).sum()),
        "texts": [*texts, "unexplained"] if sag.unexplained else texts,
        "true": (case.named, case.number),
    }


def main() -> None:
    """Run all cases, and print the wrong ones and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=1, help="number of seeds (default: %(default)s)"
    )
    parser.add_argument(
        "--first", type=int, default=0, help="first seed (default: %(default)s)"
    )
    parser.add_argument(
        "--position-only", action="store_true", help="leave out the efforts"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.seeds)
    causes = [
        cause for cause in CAUSES if not (options.position_only and cause in OF_EFFORT)
    ]
    results = [
        run(*case, not options.position_only) for case in product(ARMS, causes, seeds)
    ]
    for wrong in (
        result
        for result in results
        if not result["named"] or max(map(abs, result["errors"]), default=0) > 1.0
    ):
        print(
            *wrong["case"],
            wrong["true"],
            np.round(wrong["errors"], 2),
            *wrong["texts"],
            sep="\n  ",
        )
    print(
        f"{'mistake':16}{'named':>10}{'alone':>8}{'wrong':>8}{'intervals that hold':>22}{'undetermined':>14}"
    )
    for cause in (*causes, ""):
        chosen = [result for result in results if cause in (result["case"][1], "")]
        inside = [abs(error) <= 1.0 for result in chosen for error in result["errors"]]
        named, wrong, undetermined = (
            sum(result[key] for result in chosen)
            for key in ("named", "false", "undetermined")
        )
        alone = sum(result["named"] and result["alone"] for result in chosen)
        print(
            f"{cause or 'all':16}{f'{named}/{len(chosen)}':>10}{alone:8}{wrong:8}{f'{sum(inside)}/{len(inside)}':>22}"
            f"{undetermined:14}"
        )


if __name__ == "__main__":
    main()

"""Study of hints at causes of a torque residual: share that is right, false ones, and coverage of their intervals.

``python -m tools.hint_study --seeds 2`` simulates 20 causes on six arms in recordings of 12 s at 100 to 250 Hz with
noise. Two arms have gears with friction by load and rotors that their model lacks, which may be named too. A run takes
a second or two. Hints of runs that are not right are printed.
"""

from __future__ import annotations

import argparse
import re
import warnings
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation
from test_public_robots import ROBOTS

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from support.gears import Gears
from support.noisy_recordings import Truth, fourier

ARMS = {
    "kinova": "kinova_description/robots/kinova", "xarm7": "xarm_description/urdf/xarm7", "panda": "panda",
    "ur5e": "ur5e", "z1": "z1_description/urdf/z1", "ur10": "ur_description/urdf/ur10_robot",
}  # fmt: skip
UNKNOWN_GEARS = ("z1", "ur10")
CAUSES = (
    "healthy", "payload", "missing payload", "gravity", "friction", "load friction", "offset", "rotor", "delay",
    "effort sign", "all signs", "swapped efforts", "swapped joints", "mNm", "gain", "position sign", "zero offset",
    "swapped positions", "degrees", "link masses",
)  # fmt: skip
OF_GEARS = "no friction|friction differs|grows with the load|rotor inertia"
SECONDS = 12.0  # s
NOISE = 0.02  # of the RMS effort


def simulated(
    arm: str, cause: str, draw: np.random.Generator, folder: Path
) -> tuple[RobotModel, Truth, str, Any]:
    """Return model, motion and recorded effort, pattern of the hint, true numbers by the pattern before them."""
    urdf = ROBOTS[ARMS[arm]]
    geared = arm in UNKNOWN_GEARS
    prior = RobotModel.from_urdf_file(urdf).scaled(friction=0.0)
    gears = Gears(0.04, 1.3) if geared else Gears(0.0)
    n = prior.n
    names = prior.joint_names
    joints = dict(zip(names, gears.joints(prior), strict=True))
    file = folder / "dynamics.yaml"
    for joint in joints.values() if not geared else ():
        del joint["static"], joint["stribeck_velocity"], joint["load_coefficient"]
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf, dynamics=file)
    motion = fourier(prior, SECONDS, 1000.0, int(draw.integers(2**31)))
    q = motion.q
    qd = motion.qd
    qdd = motion.qdd

    def effort(robot: RobotModel) -> Any:
        return robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(
            q, qd, qdd=qdd
        )

    model = prior if geared else truth
    tau = effort(truth)
    pattern = OF_GEARS if geared else ""
    true = {}
    j, i = (
        draw.choice(n, 2, replace=False).tolist() if cause != "zero offset" else (1, 0)
    )  # gravity shows the second
    one = np.arange(n) == j
    name = names[j]
    pair = " and ".join(names[k] for k in sorted((i, j)))
    swap = [{i: j, j: i}.get(k, k) for k in range(n)]
    if "payload" in cause:
        mass = (
            draw.uniform(0.1, 0.4)
            * prior.inertial_parameters[: 10 * n : 10].sum()
            / 4.0
        )
        link = prior.moving_links[-1]
        com = draw.uniform(-0.05, 0.05, 3) + [0.0, 0.0, 0.08]
        who = "robot" if cause == "payload" else "model"
        loaded = (truth if who == "robot" else model).with_payload(
            link, mass, com, np.zeros(6)
        )
        model, tau = (model, effort(loaded)) if who == "robot" else (loaded, tau)
        pattern = f"{who} carries .* on {link}"
        true = {"lacks: ": mass, **{r"at \[" + "[^,]*, " * k: com[k] for k in range(3)}}
    elif cause == "gravity":
        angle = draw.uniform(15.0, 180.0)
        pattern = "gravity points "
        turn = Rotation.from_euler(
            "xz", [angle, draw.uniform(0.0, 360.0)], degrees=True
        )
        tau = effort(truth.with_gravity(turn.apply(truth.gravity)))
        true = {pattern: angle}
    elif cause == "friction":
        model = model.scaled(friction=0.0)
        pattern = "no friction"
        keys = {
            "viscous ": "viscous",
            "viscous [^;]*?Coulomb ": "coulomb",
            "viscous [^;]*? and ": "coulomb_negative",
        }
        pairs = product(joints.items(), keys.items())
        true = {
            rf"\b{a} {before}": own[key]
            for (a, own), (before, key) in pairs
            if not geared
        }
    share = draw.uniform(0.08, 0.2)
    gain = draw.choice([0.5, 0.67, 1.5, 2.0])
    size = draw.uniform(0.3, 1.0)
    shift = size * draw.choice([-1.0, 1.0])
    late = int(draw.integers(4, 31))
    offset = shift * tau[:, j].std()
    rotor = size * tau[:, j].std() / qdd[:, j].std()
    known = joints[name]["rotor_inertia"] if geared else 0.0
    change = (
        np.repeat(draw.uniform(-0.3, 0.3, n), 10) * prior.inertial_parameters[: 10 * n]
    )
    dry = np.abs(prior.gear_load(q, qd, qdd)) * np.sign(qd)
    way = np.where(one, -1.0, 1.0)
    shown = {rf"torque: .*\b{a} ": share + gears.load for a in names}
    mistakes = {
        "load friction": (q, qd, tau + share * dry, "grows with the load", shown),
        "offset": (
            q,
            qd,
            tau + offset * one,
            rf"constant offset.*\b{name}\b",
            {rf"offsets:.*\b{name} ": offset},
        ),
        "rotor": (
            q,
            qd,
            tau + rotor * qdd * one,
            rf"rotor inertia.*\b{name} ",
            rotor + known,
        ),
        "delay": (
            q,
            qd,
            np.concatenate([tau[:1].repeat(late, 0), tau[:-late]]),
            "effort is ",
            late,
        ),
        "effort sign": (q, qd, tau * way, f"effort of {name} has the wrong sign", None),
        "all signs": (q, qd, -tau, "every effort has the wrong sign", None),
        "mNm": (q, qd, 1e3 * tau, "as in mNm", None),
        "gain": (
            q,
            qd,
            tau * np.where(one, gain, 1.0),
            f"measured effort of {name} is ",
            gain,
        ),
        "swapped efforts": (
            q,
            qd,
            tau[:, swap],
            f"efforts of {pair} are swapped",
            None,
        ),
        "swapped joints": (
            q[:, swap],
            qd[:, swap],
            tau[:, swap],
            f"^{pair} are swapped",
            None,
        ),
        "swapped positions": (
            q[:, swap],
            qd[:, swap],
            tau,
            f"^position and velocity of {pair} are swapped",
            None,
        ),
        "position sign": (
            q * way,
            qd * way,
            tau,
            f"^position and velocity of {name} have the wrong sign",
            None,
        ),
        "zero offset": (
            q + shift * one,
            qd,
            tau,
            f"position of {name} has another zero: it is ",
            shift,
        ),
        "degrees": (np.degrees(q), np.degrees(qd), tau, "in degrees", None),
        "link masses": (
            q,
            qd,
            tau + prior.regressor(q, qd, qdd)[:, :, : 10 * n] @ change,
            "links' masses",
            None,
        ),
    }
    if cause in mistakes:
        q, qd, tau, pattern, number = mistakes[cause]
        true = (
            number
            if isinstance(number, dict)
            else {}
            if number is None
            else {pattern: number}
        )
    every = int(draw.choice([4, 5, 8, 10]))
    return (
        model,
        Truth(model, *(x[::every] for x in (motion.time, q, qd, qdd, tau))),
        pattern,
        true,
    )


def run(arm: str, cause: str, seed: int) -> dict[str, Any]:
    """Return the hints, the number that are false, True if the cause is named, and errors in half intervals."""
    draw = np.random.default_rng([seed, list(ARMS).index(arm), CAUSES.index(cause)])
    with TemporaryDirectory() as folder:
        model, wrong, pattern, true = simulated(arm, cause, draw, Path(folder))
        motion = recorded_motion(
            wrong.recorded(int(draw.integers(2**31)), NOISE), Smoothing()
        )
        texts = hints(model, analyse_torque(model, motion))
    named = [text for text in texts if pattern and re.search(pattern, text)]
    allowed = f"{pattern}|{OF_GEARS}" if arm in UNKNOWN_GEARS else pattern
    false = [text for text in texts if not (allowed and re.search(allowed, text))]
    found = [
        (re.search(rf"{key}(\S+) \+- (\S+?)[,;\].]* ", text), x)
        for text in named
        for key, x in true.items()
    ]
    errors = [(float(match[1]) - x) / float(match[2]) for match, x in found if match]
    right = not false and (bool(named) or cause == "healthy")
    return {
        "case": [arm, cause, seed],
        "right": right,
        "false": len(false),
        "errors": errors,
        "hints": texts,
    }


def main() -> None:
    """Run all cases, and print the wrong ones and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=2, help="number of seeds (default: %(default)s)"
    )
    parser.add_argument(
        "--first", type=int, default=0, help="first seed (default: %(default)s)"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.seeds)
    results = [run(*case) for case in product(ARMS, CAUSES, seeds)]
    for wrong in (result for result in results if not result["right"]):
        print(*wrong["case"], *wrong["hints"], sep="\n  ")
    print(f"{'cause':20}{'right':>12}{'false':>8}{'intervals that hold':>22}")
    for cause in (*CAUSES, ""):
        chosen = [result for result in results if cause in (result["case"][1], "")]
        inside = [abs(error) <= 1.0 for result in chosen for error in result["errors"]]
        right, false = (
            sum(result[key] for result in chosen) for key in ("right", "false")
        )
        print(
            f"{cause or 'all':20}{f'{right}/{len(chosen)}':>12}{false:8}{f'{sum(inside)}/{len(inside)}':>22}"
        )


if __name__ == "__main__":
    main()

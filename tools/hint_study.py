"""Study of hints at causes of a torque residual: share that is right, false ones, and coverage of their intervals.

``python -m tools.hint_study --seeds 2`` simulates kinds of mistakes on five arms in recordings of 12 s at 100 to 250 Hz
with noise. Two arms have gears with static friction, friction by load and rotors that their model lacks, which may be
named too. A run takes a second or two. Hints of runs that are not right are printed. In the column "residual" are those
with a residual that nothing explains.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from test_public_robots import ROBOTS

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.recordings.bags import JointSeries
from support.gears import Gears
from support.noisy_recordings import Truth, fourier

ARMS = {
    "panda": "panda", "ur10": "ur_description/urdf/ur10_robot", "z1": "z1_description/urdf/z1", "scara": "scara",
    "puma560": "puma560", "kinova": "kinova_description/robots/kinova", "xarm7": "xarm_description/urdf/xarm7",
}  # fmt: skip
UNKNOWN_GEARS = ("z1", "ur10")
OF_GEARS = "no friction|friction differs|grows with the load|rotor inertia"
RESIDUAL = "nothing explains"
RATE = 1000.0  # Hz, of the motion before it is sampled
SECONDS = 12.0  # s
NOISE = 0.02  # of the RMS effort


def _same(series: JointSeries) -> JointSeries:
    return series


@dataclass
class Case:
    """An arm, its motion and effort (m, n), and what a hint must contain.

    ``pattern`` is that of the hint, ``numbers`` are true values by the pattern before them, ``record`` changes the
    recording.
    """

    prior: RobotModel
    truth: RobotModel
    model: RobotModel
    joints: dict[str, dict[str, float]]
    time: Any
    q: Any
    qd: Any
    qdd: Any
    tau: Any
    pattern: str = ""
    numbers: Any = ()
    record: Callable[[JointSeries], JointSeries] = _same

    def effort(self, robot: RobotModel) -> Any:
        """Return the effort (m, n) of a robot along the motion."""
        rigid = robot.inverse_dynamics(self.q, self.qd, self.qdd)
        return rigid + robot.friction_torque(self.q, self.qd, qdd=self.qdd)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.prior.joint_names

    @property
    def geared(self) -> bool:
        """True if the model lacks friction and rotors of the robot."""
        return self.model is self.prior

    def moved(self, scale: Any, zero: Any = 0.0) -> None:
        """Record positions and velocities in another unit."""
        self.record = lambda series: replace(
            series,
            position=series.position * scale + zero,
            velocity=series.velocity * scale,
        )

    def visible(self, draw: np.random.Generator) -> int:
        """Return a random joint whose torque is not small beside that of the strongest."""
        rigid = self.prior.inverse_dynamics(self.q, self.qd, self.qdd).std(axis=0)
        return int(draw.choice(np.flatnonzero(rigid > 0.1 * rigid.max())))


def _case(arm: str, draw: np.random.Generator, folder: Path) -> Case:
    urdf = ROBOTS[ARMS[arm]]
    geared = arm in UNKNOWN_GEARS
    prior = RobotModel.from_urdf_file(urdf).scaled(friction=0.0)
    gears = Gears(0.04, 1.3) if geared else Gears(0.0)
    joints = dict(zip(prior.joint_names, gears.joints(prior), strict=True))
    for joint in joints.values() if not geared else ():
        del joint["static"], joint["stribeck_velocity"], joint["load_coefficient"]
    file = folder / "dynamics.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    truth = RobotModel.from_urdf_file(urdf, dynamics=file)
    motion = fourier(prior, SECONDS, RATE, int(draw.integers(2**31)))
    model = prior if geared else truth
    case = Case(
        prior, truth, model, joints, motion.time, motion.q, motion.qd, motion.qdd, None
    )
    case.tau = case.effort(truth)
    return case


Kind = Callable[[Case, np.random.Generator], None]


def _one(case: Case, j: int) -> Any:
    return np.arange(case.prior.n) == j


def _healthy(case: Case, draw: np.random.Generator) -> None:
    pass


def _payload(who: str, case: Case, draw: np.random.Generator) -> None:
    n = case.prior.n
    mass = (
        draw.uniform(0.1, 0.4)
        * case.prior.inertial_parameters[: 10 * n : 10].sum()
        / 4.0
    )
    link = case.prior.moving_links[-1]
    com = draw.uniform(-0.05, 0.05, 3) + [0.0, 0.0, 0.08]
    loaded = (case.truth if who == "robot" else case.model).with_payload(
        link, mass, com, np.zeros(6)
    )
    case.pattern = f"{who} carries .* on {link}"
    case.numbers = {
        "lacks: ": mass,
        **{r"at \[" + "[^,]*, " * k: com[k] for k in range(3)},
    }
    if who == "model":
        case.model = loaded
    else:
        case.tau = case.effort(loaded)


def _payload_later(case: Case, draw: np.random.Generator) -> None:
    before = case.tau
    _payload("robot", case, draw)
    start = int(draw.uniform(0.4, 0.6) * len(before))
    case.tau = np.concatenate([before[:start], case.tau[start:]])
    case.pattern += r".* from \S+ s on"


def _gravity(case: Case, draw: np.random.Generator) -> None:
    angle = draw.uniform(15.0, 180.0)
    turn = Rotation.from_euler("xz", [angle, draw.uniform(0.0, 360.0)], degrees=True)
    case.tau = case.effort(
        case.truth.with_gravity(turn.apply(case.truth.gravity).tolist())
    )
    case.pattern = "gravity points "
    case.numbers = {case.pattern: angle}


def _friction(case: Case, draw: np.random.Generator) -> None:
    geared = case.geared
    case.model = case.model.scaled(friction=0.0)
    case.pattern = "no friction"
    keys = {
        "viscous ": "viscous",
        "viscous [^;]*?Coulomb ": "coulomb",
        "viscous [^;]*? and ": "coulomb_negative",
    }
    pairs = product(case.joints.items(), keys.items())
    case.numbers = {
        rf"\b{a} {before}": own[key] for (a, own), (before, key) in pairs if not geared
    }


def _load_friction(case: Case, draw: np.random.Generator) -> None:
    share = draw.uniform(0.08, 0.2)
    load = np.abs(case.prior.gear_load(case.q, case.qd, case.qdd))
    case.tau = case.tau + share * load * np.sign(case.qd)
    case.pattern = "grows with the load"
    known = 0.04 if case.geared else 0.0
    case.numbers = {rf"torque: .*\b{a} ": share + known for a in case.names}


def _offset(case: Case, draw: np.random.Generator) -> None:
    j = int(draw.integers(case.prior.n))
    offset = draw.choice([-1.0, 1.0]) * draw.uniform(0.3, 1.0) * case.tau[:, j].std()
    case.tau = case.tau + offset * _one(case, j)
    name = case.names[j]
    case.pattern = rf"constant offset.*\b{name}\b"
    case.numbers = {rf"offsets:.*\b{name} ": offset}


def _rotor(case: Case, draw: np.random.Generator) -> None:
    j = int(draw.integers(case.prior.n))
    rotor = draw.uniform(0.3, 1.0) * case.tau[:, j].std() / case.qdd[:, j].std()
    case.tau = case.tau + rotor * case.qdd * _one(case, j)
    name = case.names[j]
    case.pattern = rf"rotor inertia.*\b{name} "
    known = case.joints[name]["rotor_inertia"] if case.geared else 0.0
    case.numbers = {case.pattern: rotor + known}


def _all_rotors(case: Case, draw: np.random.Generator) -> None:
    """Add rotors that the model has without their gear ratio, so that it has almost none."""
    inertia = np.diagonal(case.prior.mass_matrix(case.q[::100]), axis1=1, axis2=2)
    rotors = draw.uniform(0.5, 3.0, case.prior.n) * inertia.mean(axis=0)
    case.tau = case.tau + rotors * case.qdd
    case.pattern = "rotor inertia"


def _delay(case: Case, draw: np.random.Generator) -> None:
    late = int(draw.integers(4, 31))
    case.tau = np.concatenate([case.tau[:1].repeat(late, 0), case.tau[:-late]])
    case.pattern = "effort is "
    case.numbers = {case.pattern: late}


def _late_velocity(case: Case, draw: np.random.Generator) -> None:
    late = int(draw.integers(10, 31))
    case.qd = np.concatenate([case.qd[:1].repeat(late, 0), case.qd[:-late]])
    case.pattern = "velocity is .*behind"
    case.numbers = {"velocity is ": late}


def _effort_sign(case: Case, draw: np.random.Generator) -> None:
    j = int(draw.integers(case.prior.n))
    case.tau = case.tau * np.where(_one(case, j), -1.0, 1.0)
    case.pattern = f"effort of {case.names[j]} has the wrong sign"


def _all_signs(case: Case, draw: np.random.Generator) -> None:
    case.tau = -case.tau
    case.pattern = "every effort has the wrong sign"


def _cycle(
    length: int, fields: tuple[str, ...], case: Case, draw: np.random.Generator
) -> None:
    n = case.prior.n
    chosen = draw.choice(n, min(length, n), replace=False)
    order = np.arange(n)
    order[chosen] = np.roll(chosen, 1)
    for field in fields:
        setattr(case, field, getattr(case, field)[:, order])
    if length > 2:
        pairs = [
            f"{case.names[j]} has that of {case.names[order[j]]}"
            for j in sorted(chosen)
        ]
        case.pattern = "efforts .*" + ", ".join(pairs)
        return
    pair = " and ".join(case.names[k] for k in sorted(chosen))
    case.pattern = {
        1: f"efforts of {pair} are swapped",
        2: f"^position and velocity of {pair} are swapped",
        3: f"^{pair} are swapped",
    }[len(fields)]


def _unit(factor: float, pattern: str, case: Case, draw: np.random.Generator) -> None:
    case.tau = factor * case.tau
    case.pattern = pattern


def _gain(choices: tuple[float, ...], case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    gain = float(draw.choice(choices))
    case.tau = case.tau * np.where(_one(case, j), gain, 1.0)
    case.pattern = f"measured effort of {case.names[j]} is "
    case.numbers = {case.pattern: gain}


def _wrong_gains(case: Case, draw: np.random.Generator) -> None:
    case.tau = case.tau * draw.choice([0.6, 0.75, 1.4, 1.7], case.prior.n)
    case.pattern = RESIDUAL + "|gain of the measured|different units"


def _position_sign(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    way = np.where(_one(case, j), -1.0, 1.0)
    case.q = case.q * way
    case.qd = case.qd * way
    case.pattern = f"position and velocity of {case.names[j]} have the wrong sign"


def _zero(case: Case, draw: np.random.Generator) -> None:
    # gravity shows the second joint of these arms
    shift = draw.choice([-1.0, 1.0]) * draw.uniform(0.3, 1.0)
    case.q = case.q + shift * _one(case, 1)
    case.pattern = f"position of {case.names[1]} has another zero: it is "
    case.numbers = {case.pattern: shift}


def _links(case: Case, draw: np.random.Generator) -> None:
    n = case.prior.n
    share = np.repeat(draw.uniform(-0.3, 0.3, n), 10)
    change = share * case.prior.inertial_parameters[: 10 * n]
    columns = case.prior.regressor(case.q, case.qd, case.qdd)[:, :, : 10 * n]
    case.tau = case.tau + columns @ change
    case.pattern = "links' masses"


def _spring(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    stiffness = draw.uniform(0.5, 1.5) * case.tau[:, j].std() / case.q[:, j].std()
    rest = case.q[:, j].mean() + draw.uniform(-0.5, 0.5)
    case.tau = case.tau + stiffness * (case.q - rest) * _one(case, j)
    case.pattern = f"spring.*{case.names[j]} "
    case.numbers = {case.pattern: stiffness}


def _external(case: Case, draw: np.random.Generator) -> None:
    n = case.prior.n
    share = np.repeat(draw.uniform(-0.05, 0.05, n), 10)
    columns = case.prior.regressor(case.q, case.qd, case.qdd)[:, :, : 10 * n]
    noise = 0.01 * case.tau.std(axis=0) * draw.standard_normal(case.tau.shape)
    case.tau = columns @ (share * case.prior.inertial_parameters[: 10 * n]) + noise
    case.pattern = "external torque"


def _commanded(case: Case, draw: np.random.Generator) -> None:
    bare = case.truth.scaled(friction=0.0).without_gravity()
    case.tau = bare.inverse_dynamics(case.q, case.qd, case.qdd)
    # The gravity of a slide is constant, as a difference of friction levels.
    case.pattern = "no gravity|no friction in it|constant offset"


def _motor_efforts(case: Case, draw: np.random.Generator) -> None:
    case.tau = case.tau / draw.uniform(50.0, 160.0, case.prior.n)
    case.pattern = "before the gear"


def _motor_side(case: Case, draw: np.random.Generator) -> None:
    ratios = draw.uniform(50.0, 160.0, case.prior.n)
    case.moved(ratios)
    case.tau = case.tau / ratios
    case.pattern = "before the gear"


def _position_unit(
    scale: float, pattern: str, case: Case, draw: np.random.Generator
) -> None:
    revolute = np.array([a not in case.prior.prismatic_joints for a in case.names])
    case.moved(np.where(revolute, scale, 1.0))
    case.pattern = pattern


def _percent(case: Case, draw: np.random.Generator) -> None:
    lower = np.maximum(case.prior.position_lower, -np.pi)
    upper = np.minimum(case.prior.position_upper, np.pi)
    scale = 200.0 / (upper - lower)
    case.moved(scale, -scale * 0.5 * (lower + upper))
    case.pattern = "-100 to 100"


def _clipped(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    bound = np.where(_one(case, j), 0.6 * np.abs(case.tau[:, j]).max(), np.inf)
    case.record = lambda series: replace(
        series, effort=np.clip(series.effort, -bound, bound)
    )
    case.pattern = rf"clipped.*\b{case.names[j]}\b"


def _stamps(factor: float, case: Case, draw: np.random.Generator) -> None:
    def stretched(series: JointSeries) -> JointSeries:
        start = series.stamps[0]
        stamps = start + ((series.stamps - start) * factor).astype(np.int64)
        return replace(series, stamps=stamps)

    case.record = stretched
    case.pattern = "stamps"


def _constant(field: str, case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)

    def frozen(series: JointSeries) -> JointSeries:
        values = getattr(series, field).copy()
        values[:, j] = values[0, j]
        return replace(series, **{field: values})

    case.record = frozen
    case.pattern = rf"constant.*\b{case.names[j]}\b"


def _spikes(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)

    def spiked(series: JointSeries) -> JointSeries:
        effort = series.effort.copy()
        effort[draw.choice(len(effort), 5, replace=False), j] = 1e4
        return replace(series, effort=effort)

    case.record = spiked
    case.pattern = rf"spikes.*\b{case.names[j]}\b"


def _repeated(case: Case, draw: np.random.Generator) -> None:
    count = int(draw.choice([3, 5]))

    def held(series: JointSeries) -> JointSeries:
        rows = np.arange(len(series.stamps)) // count * count
        fields = {
            field: getattr(series, field)[rows]
            for field in ("position", "velocity", "effort")
        }
        return replace(series, **fields)

    case.record = held
    case.pattern = "repeat"


def _wrapped(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    turn = 2.0 * np.pi * draw.choice([-1.0, 1.0])

    def wrapped(series: JointSeries) -> JointSeries:
        position = series.position.copy()
        position[:, j] += np.where(position[:, j] * turn < 0.0, turn, 0.0)
        return replace(series, position=position)

    case.record = wrapped
    case.pattern = "turn|"


def _drift(case: Case, draw: np.random.Generator) -> None:
    j = case.visible(draw)
    change = draw.choice([-1.0, 1.0]) * draw.uniform(0.5, 1.0) * case.tau[:, j].std()
    case.tau = case.tau + np.outer(case.time / SECONDS * change, _one(case, j))
    case.pattern = rf"drift.*\b{case.names[j]}\b"


def _slow_drift(case: Case, draw: np.random.Generator) -> None:
    """Add offsets that wander as a slow sine."""
    n = case.prior.n
    phase = draw.uniform(0.0, 2.0 * np.pi, n)
    sine = np.sin(2.0 * np.pi * 0.15 * case.time[:, None] + phase)
    case.tau = case.tau + 0.5 * case.tau.std(axis=0) * sine
    case.pattern = RESIDUAL


def _lugre(case: Case, draw: np.random.Generator) -> None:
    """Replace dry friction by LuGre friction (Canudas de Wit et al. 1995) with large presliding."""
    coulomb = 0.4 * case.tau.std(axis=0)
    static = 1.8 * coulomb
    stiffness = coulomb / 0.02
    speed = 0.1 * np.abs(case.qd).max(axis=0)
    z = np.zeros(case.prior.n)
    friction = np.empty_like(case.tau)
    for k, v in enumerate(case.qd):
        level = coulomb + (static - coulomb) * np.exp(-((v / speed) ** 2))
        for _ in range(4):
            rate = v - stiffness * np.abs(v) * z / level
            z = z + rate * 0.25 / RATE
        friction[k] = stiffness * z
    case.tau = case.tau + friction
    case.pattern = RESIDUAL


def _ripple(case: Case, draw: np.random.Generator) -> None:
    waves = draw.integers(8, 20, case.prior.n)
    phase = draw.uniform(0.0, 2.0 * np.pi, case.prior.n)
    prismatic = np.array([a in case.prior.prismatic_joints for a in case.names])
    angle = np.where(prismatic, 20.0, 1.0) * case.q * waves
    case.tau = case.tau + 0.3 * case.tau.std(axis=0) * np.sin(angle + phase)
    case.pattern = RESIDUAL


def _backlash(case: Case, draw: np.random.Generator) -> None:
    """Record positions before a gear with play: they jump when the load changes its sign."""
    load = case.prior.inverse_dynamics(case.q, case.qd, case.qdd)
    play = 0.02 * case.q.std(axis=0)
    jump = 0.5 * play * np.tanh(load / (0.02 * load.std(axis=0)))
    rotor = 0.5 * np.diagonal(
        case.prior.mass_matrix(case.q[::100]), axis1=1, axis2=2
    ).mean(axis=0)
    spline = CubicSpline(case.time, case.q + jump)
    # The rotor crosses the play within some 50 ms.
    kernel = np.hanning(101) / np.hanning(101).sum()
    q = np.apply_along_axis(
        lambda x: np.convolve(np.pad(x, 50, mode="edge"), kernel, "valid"),
        0,
        spline(case.time),
    )
    qd = np.gradient(q, case.time, axis=0)
    case.tau = case.tau + rotor * (np.gradient(qd, case.time, axis=0) - case.qdd)
    case.q = q
    case.qd = qd
    case.pattern = RESIDUAL


KINDS: dict[str, Kind] = {
    "healthy": _healthy,
    "payload": partial(_payload, "robot"),
    "missing payload": partial(_payload, "model"),
    "payload later": _payload_later,
    "gravity": _gravity,
    "friction": _friction,
    "load friction": _load_friction,
    "offset": _offset,
    "drift": _drift,
    "rotor": _rotor,
    "all rotors": _all_rotors,
    "delay": _delay,
    "late velocity": _late_velocity,
    "effort sign": _effort_sign,
    "all signs": _all_signs,
    "swapped efforts": partial(_cycle, 2, ("tau",)),
    "cycle of three": partial(_cycle, 3, ("tau",)),
    "cycle of four": partial(_cycle, 4, ("tau",)),
    "swapped joints": partial(_cycle, 2, ("q", "qd", "tau")),
    "swapped positions": partial(_cycle, 2, ("q", "qd")),
    "mNm": partial(_unit, 1e3, "as in mNm"),
    "gain": partial(_gain, (0.5, 0.67, 1.5, 2.0)),
    "large gain": partial(_gain, (0.01, 100.0, 250.0)),
    "position sign": _position_sign,
    "zero offset": _zero,
    "link masses": _links,
    "spring": _spring,
    "external torque": _external,
    "commanded": _commanded,
    "motor efforts": _motor_efforts,
    "motor side": _motor_side,
    "degrees": partial(_position_unit, 180.0 / np.pi, "in degrees"),
    "turns": partial(_position_unit, 0.5 / np.pi, "in turns"),
    "half turns": partial(_position_unit, 1.0 / np.pi, "in half turns"),
    "counts": partial(_position_unit, 65536.0 / (2.0 * np.pi), "counts"),
    "percent": _percent,
    "clipped": _clipped,
    "stamps ms": partial(_stamps, 1e3),
    "stamps us": partial(_stamps, 1e6),
    "constant position": partial(_constant, "position"),
    "constant effort": partial(_constant, "effort"),
    "spikes": _spikes,
    "repeated": _repeated,
    "wrapped": _wrapped,
    "wrong gains": _wrong_gains,
    "slow drift": _slow_drift,
    "lugre": _lugre,
    "ripple": _ripple,
    "backlash": _backlash,
}


def run(arm: str, kind: str, seed: int) -> dict[str, Any]:
    """Return the hints, the number that are false, True if the cause is named, and errors in half intervals."""
    draw = np.random.default_rng([seed, list(ARMS).index(arm), list(KINDS).index(kind)])
    with TemporaryDirectory() as folder:
        case = _case(arm, draw, Path(folder))
        geared = case.geared
        KINDS[kind](case, draw)
        every = int(draw.choice([4, 5, 8, 10]))
        truth = Truth(
            case.model,
            *(x[::every] for x in (case.time, case.q, case.qd, case.qdd, case.tau)),
        )
        series = case.record(truth.recorded(int(draw.integers(2**31)), NOISE))
        motion = recorded_motion(series, Smoothing())
        texts = hints(case.model, analyse_torque(case.model, motion))
    pattern = case.pattern
    allowed = [pattern] if pattern else []
    if geared:
        allowed.append(OF_GEARS)
    if kind == "lugre":
        allowed.append("friction")
    # Static friction of the unknown gears has no hypothesis.
    if kind != "healthy" or geared:
        allowed.append(RESIDUAL)
    named = [text for text in texts if pattern and re.search(pattern, text)]
    false = [text for text in texts if not any(re.search(one, text) for one in allowed)]
    found = [
        (re.search(rf"{key}(\S+) \+- (\S+?)[,;\].]* ", text), x)
        for text in named
        for key, x in dict(case.numbers).items()
    ]
    errors = [(float(match[1]) - x) / float(match[2]) for match, x in found if match]
    right = not false and (bool(named) or kind == "healthy" or re.search(pattern, ""))
    return {
        "case": [arm, kind, seed],
        "right": bool(right),
        "false": bool(false),
        "residual": any(re.search(RESIDUAL, text) for text in texts),
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
    parser.add_argument(
        "--arms", nargs="+", choices=ARMS, default=list(ARMS)[:5], help="arms"
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="kinds"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.seeds)
    results = []
    for case in product(options.kinds, options.arms, seeds):
        kind, arm, seed = case
        result = run(arm, kind, seed)
        results.append(result)
        if not result["right"]:
            print(*result["case"], *result["hints"], sep="\n  ", flush=True)
    print(
        f"{'kind':20}{'right':>10}{'false':>8}{'residual':>10}{'intervals that hold':>22}"
    )
    for kind in (*options.kinds, ""):
        chosen = [result for result in results if kind in (result["case"][1], "")]
        inside = [abs(error) <= 1.0 for result in chosen for error in result["errors"]]
        right, false, residual = (
            sum(result[key] for result in chosen)
            for key in ("right", "false", "residual")
        )
        print(
            f"{kind or 'all':20}{f'{right}/{len(chosen)}':>10}{false:8}{residual:10}"
            f"{f'{sum(inside)}/{len(inside)}':>22}"
        )


if __name__ == "__main__":
    main()

"""Number of cycles from the cause of a fault to the first safe command, and check for false alarms.

``python -m tools.safety_times`` causes one fault after the other in lockstep with an independent plant at 1 kHz
(support.independent_plant) and counts cycles. ``--hour`` runs an hour of ordinary operation, 3.6 million cycles with an
inexact model, sensor noise and dropouts, in which no check may fail.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from multiprocessing import Pool
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.document import markdown_table, print_report, report_parser
from benchmarks.robots import Floats, shipped_parameters
from robot_dynamics_ros.runs.generators import quintic_then_sine
from support.independent_plant import START, Session, make_settings

COMMAND = "python -m tools.safety_times"
PART = "make safety-times"
RATE = 1000.0
LONGEST = 4000  # cycles without a failed check after which a case ends
GOAL = np.array(START["panda"]) + [0.5, 0.3, 0.4, 0.3, -0.5, 0.4, 0.6]
NOISE = (1e-5, 1e-3)  # rad and rad/s
HOUR = 3_600_000  # cycles
CHUNK = 100_000  # cycles
DROPOUT = 0.03  # s without states
EVERY = 1.0  # s between two dropouts

Act = Callable[[Session, int], "bool | None"]


class Case(NamedTuple):
    """Cause of a fault and its simulation.

    ``act`` runs a cycle of the session; its argument is the number of cycles since the beginning. It returns False
    while the cause does not exist yet.
    """

    cause: str
    about: str
    act: Act
    settings: dict[str, Any] = {}
    rates: tuple[float, ...] = (0.0, RATE)


def _cycle(**state: Any) -> Act:
    def act(session: Session, k: int) -> None:
        session.cycle(**state)

    return act


def _silent(session: Session, k: int) -> None:
    session.pass_time()
    session.tick()


def _jump(session: Session, k: int) -> None:
    session.cycle(q=session.plant.q + 0.5)


def _stuck(session: Session, k: int) -> None:
    session.cycle(stamp=session.memory.setdefault("stamp", session.ros))


def _frozen(session: Session, k: int) -> None:
    session.cycle(
        **session.memory.setdefault(
            "state", {"q": session.plant.q.copy(), "qd": session.plant.qd.copy()}
        )
    )


def _leap(seconds: float) -> Act:
    def act(session: Session, k: int) -> None:
        session.ros += round(seconds * 1e9) if k == 0 else 0
        session.cycle()

    return act


def _drift(session: Session, k: int, acceleration: float) -> tuple[Floats, Floats]:
    """Let the measured first joint accelerate while the state stays consistent; return position and velocity."""
    session.plant.braked = True
    velocity = acceleration * k / RATE
    session.memory["way"] = session.memory.get("way", 0.0) + velocity / RATE
    one = np.eye(len(session.names))[0]
    # Values of a real sensor are not constant.
    q = session.plant.q + session.memory["way"] * one + 1e-6 * (k % 2)
    qd = session.plant.qd + velocity * one
    session.cycle(q=q, qd=qd)
    return q, qd


def _beyond_position(session: Session, k: int) -> bool:
    q, _ = _drift(session, k, 2.0)
    return bool((q > session.model.position_upper + 0.05).any())


def _beyond_velocity(session: Session, k: int) -> bool:
    _, qd = _drift(session, k, 4.0)
    return bool((qd > session.model.velocity_limits + 0.2).any())


def _blocked(session: Session, k: int) -> bool:
    session.plant.braked = True
    session.cycle()
    return bool(
        np.abs(session.controller.command.desired.q - session.plant.q).max() > 0.05
    )  # type: ignore[union-attr]


def _braked(session: Session, k: int) -> None:
    session.plant.braked = True
    session.cycle()


def _strained(session: Session, k: int) -> bool:
    session.plant.braked = True
    if k == 0:
        assert session.go(2.0 * np.array(START["panda"]) - GOAL, 1.2)
    session.cycle()
    return bool(session.controller.command.saturated)  # type: ignore[union-attr]


def _pushed(session: Session, k: int) -> None:
    # an external torque, added like a command
    session.effort = session.effort + [0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    session.cycle()


def _slow(session: Session, k: int) -> None:
    session.pass_time()
    session.state()
    if k % 4 == 0:  # a quarter of the cycles
        session.tick()


def _without_cycles(session: Session, k: int) -> None:
    session.pass_time()
    session.state()


def _huge(session: Session, k: int) -> None:
    if k == 0:
        session.controller.arm.set_payload(
            session.model.link_names[-1], 1.7e307, (2.0, 0.0, 0.0), (0.0,) * 6
        )
    session.cycle()


def _emergency(session: Session, k: int) -> None:
    if k == 0:
        session.session.safety.request_emergency_stop("the tool")
    session.cycle()


# Blocked joints do not answer, which is found earlier.
UNCOMPARED = {"position_step_limit": (np.inf,)}
CASES = (
    Case("state_invalid", "a position is NaN", _cycle(q=np.full(7, np.nan))),
    Case("state_stale", "no states: `state_timeout` 0.1 s", _silent),
    Case("stamp_repeats", "the stamp repeats", _stuck),
    Case("state_implausible", "a position jumps by 0.5 rad", _jump),
    Case("state_implausible", "all values freeze at up to 0.6 rad/s", _frozen),
    Case("clock_jumped_back", "by 1 s", _leap(-1.0)),
    Case("clock_jumped_ahead", "by 1 s", _leap(1.0)),
    Case(
        "position_limit",
        "limit and margin are exceeded",
        _beyond_position,
        {"velocity_limit_margin": (np.inf,), **UNCOMPARED},
    ),
    Case(
        "velocity_limit",
        "limit and margin are exceeded",
        _beyond_velocity,
        UNCOMPARED,
    ),
    Case("no_response", "all joints are blocked at up to 0.6 rad/s", _braked),
    Case(
        "following_error",
        "the arm is blocked: 0.05 rad exceeded for `following_error_time` 0.1 s",
        _blocked,
        {
            "following_error_limit": (0.05,),
            "following_error_time": 0.1,
            **UNCOMPARED,
        },
    ),
    Case(
        "saturation",
        "the arm is blocked: at the effort limit for `saturation_timeout` 1 s",
        _strained,
        {"effort_limit_scale": (0.6,), **UNCOMPARED},
    ),
    Case(
        "collision",
        "a push of 40 Nm; threshold 20 Nm, `observer.gain` 25",
        _pushed,
        {"observer_gain": 25.0, "collision_threshold": (20.0,)},
    ),
    Case("cycle_rate", "a quarter of the cycles, counted over 1 s", _slow, {}, (RATE,)),
    Case(
        "cycle_rate",
        "no cycles while states arrive: `state_timeout` 0.1 s",
        _without_cycles,
        {},
        (RATE,),
    ),
    Case("torque_not_finite", "a payload of 1.7e307 kg", _huge),
    Case("emergency_stop", "effect `stop`", _emergency),
    Case(
        "emergency_stop", "effect `zero`", _emergency, {"emergency_stop_effect": "zero"}
    ),
)


def cycles_of(case: Case, update_rate: float) -> tuple[int | None, str, str]:
    """Return the number of cycles until the first safe command (None without one), its mode, and the first cause."""
    settings = make_settings(update_rate=update_rate, **case.settings)
    session = Session("panda", settings, rate=RATE, noise=NOISE, seed=1)
    session.run(0.1)
    assert session.go(GOAL, 1.5)
    session.run(0.7)
    assert session.controller.mode.value == "active" and not session.causes, (
        session.causes
    )
    begun: float | None = None
    for k in range(LONGEST):
        before = session.time
        count = len(session.commands)
        exists = case.act(session, k)
        if begun is None and exists is not False:
            begun = before
        for given in session.commands[count:]:
            if given.mode != "active":
                # The number is negative for a check that fails before the cause begins.
                since = given.at if begun is None else begun
                return (
                    round((given.at - since) * RATE),
                    given.mode,
                    session.causes[0] if session.causes else "",
                )
    return None, "", session.causes[0] if session.causes else ""


def table() -> tuple[str, list[str]]:
    """Return the table, and messages for unexpected results."""
    rows = [
        [
            "cause",
            "event",
            "cycles, `update_rate: 0`",
            f"cycles, `update_rate: {RATE:g}`",
            "mode",
        ]
    ]
    wrong = []
    for case in CASES:
        cells = []
        modes = []
        for rate in (0.0, RATE):
            if rate not in case.rates:
                cells.append("–")
                continue
            cycles, mode, cause = cycles_of(case, rate)
            if cause != case.cause or cycles is None:
                wrong.append(
                    f"{case.cause} ({case.about}), update_rate {rate:g}: {cause or 'no fault'}"
                )
            cells.append("none" if cycles is None else str(cycles))
            modes.append(mode)
        rows.append(
            [
                f"`{case.cause}`",
                case.about,
                *cells,
                " or ".join(dict.fromkeys(f"`{mode}`" for mode in modes)),
            ]
        )
    return markdown_table(rows), wrong


def quiet(part: int, cycles: int = CHUNK) -> tuple[int, list[str]]:
    """Return the number of cycles and the causes of faults in one part of the hour."""
    robot = ("panda", "ur5e")[part % 2]
    random = np.random.default_rng(part)
    given = shipped_parameters(robot)
    rate = (0.0, RATE)[part // 2 % 2]
    settings = make_settings(
        **given["gains"], update_rate=rate, following_error_limit=(0.2,)
    )
    session = Session(
        robot,
        settings,
        rate=RATE,
        q=given["initial_positions"],
        noise=NOISE,
        seed=part,
        mass_error=random.choice([-0.1, 0.1]),
        reports_effort=bool(part // 4 % 2),
    )
    back = given["initial_positions"]
    points = quintic_then_sine(
        session.names,
        back,
        **given["trajectory"],
        move_time=2.0,
        total_time=20.0,
        rate=50.0,
    )
    drop = session.time + 1.0
    for k in range(cycles):
        if k % 24_000 == 100:  # there and back
            fields = {
                "velocities": points.velocities,
                "accelerations": points.accelerations,
            }
            assert session.go(
                points.positions[1:],
                points.times[1:],
                **{n: v[1:] for n, v in fields.items()},
            )  # type: ignore[index]
        if k % 24_000 == 20_600:
            assert session.go(back, 3.0)
        if session.time >= drop:
            drop = session.time + random.uniform(0.5, 1.5) * EVERY
            for _ in range(round(DROPOUT * RATE)):
                _silent(session, 0)
        session.cycle()
        if session.causes:
            return k + 1, [
                f"{robot}, part {part}, {k / RATE:.3f} s: {session.controller.safety.fault}"
            ]
        if len(session.commands) > 10_000:
            del session.commands[:-10]
    return cycles, []


def hour(jobs: int) -> tuple[str, list[str]]:
    """Return the result of the hour, and the false alarms."""
    begun = time.monotonic()
    with Pool(jobs) as pool:
        parts = list(
            tqdm(
                pool.imap_unordered(quiet, range(HOUR // CHUNK)),
                total=HOUR // CHUNK,
                disable=None,
            )
        )
    alarms = [alarm for _, found in parts for alarm in found]
    text = (
        f"{sum(cycles for cycles, _ in parts):,} cycles of 1 ms in lockstep (Panda and UR5e, `update_rate` 0 and "
        f"{RATE:g}, the demo's motions, masses off by 10 %, sensor noise of {NOISE[0]:g} rad and {NOISE[1]:g} rad/s, "
        f"{DROPOUT * 1e3:.0f} ms without states about every {EVERY:g} s, in {time.monotonic() - begun:.0f} s): "
        f"{len(alarms) or 'no'} false alarm{'s' * (len(alarms) > 1)}."
    )
    return text, alarms


def main() -> int:
    """Print the table or the result of the hour; return 1 for an unexpected result."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "--hour",
        action="store_true",
        help="run an hour without faults instead of the table",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=2,
        help="number of processes for --hour (default: 2)",
    )
    options = parser.parse_args()
    wrong = []

    def report() -> str:
        text, found = hour(options.jobs) if options.hour else table()
        wrong.extend(found)
        return text

    print_report(options, report, PART, complete=not options.hour)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

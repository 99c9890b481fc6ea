"""Fuzzer of the controller: random robots, settings, messages, clocks and requests; every command is checked.

``python -m tools.session_fuzz`` makes 10,000 runs of a few hundred cycles each with an independent plant
(support/independent_plant.py). Each command must be finite, within the effort limits, and within the rate limit
relative to the command before it, for the time between them plus one period. The first command is compared with the
measured effort and with the gravity torque. For drives with a loop of their own the torques are compared that two
commands make at the same state of the plant. Only an emergency stop with effect zero, and set points that a position
limit cuts, may cause a larger step. After a fault no joint of the plant may become faster by more than 0.3 rad/s by
work of the controller or of the drives, while each cycle has a new state whose positions are trusted, and no limit
acts; without trust the effort is zero, or the gravity torque plus a constant.

Drives with a loop of their own act between the cycles. Set points and gains must be finite, the gains within their
limits, and the feedforward effort within those of effort. A stiffness rises at most by its target in 0.5 s, unless all
were 0. Set points of drives that take a position only are not further beyond the position limits than the joint is.

``--seed N`` repeats one run with the fewest events that cause its failure.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pool
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from tqdm import tqdm

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.parameters import EFFORT, IMPEDANCE, POSITION
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    DriveSettings,
)
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Cause, Mode
from support.independent_plant import Given, Session, joint_state, make_settings

RUNS = 10_000
LONGEST = 400  # cycles
_SLACK = 1e-6  # Nm; times are counted in steps of 15 ps
_MOST_SPEED = 0.3  # rad/s
_RISE_TIME = 0.5  # s
_APPROACH_TIME = 0.1  # s
_LEAST_WORK = 1e-3  # J
_DIFFERENCE = 1.5  # of the largest stiffness from that for M at the desired position
_RATES = {"panda": 400.0, "ur5e": 600.0, "planar_2r": 300.0}
Floats = NDArray[np.float64]


class Violation(Exception):
    """Command that is not allowed."""


class Run(Session):
    """Session that checks each command."""

    def __init__(
        self, robot: str, settings: ControllerSettings, **options: Any
    ) -> None:
        self.rates = np.zeros(0)
        self.decided: list[Given] = []
        self.speed: Floats | None = None
        self.work = 0.0  # J, of the effort beyond the gravity torque since the fault
        self.last = 0.0, np.zeros(0)  # time and velocity of the last cycle
        self.stiffness: tuple[float, Floats] | None = None  # with its time (s)
        self.sent: DriveCommand | None = None  # the command before
        self.planned = np.zeros(0)  # velocity of the motion then
        self.cut = [False, False]  # a position limit cuts the last set points
        self.load: Floats | None = None
        super().__init__(robot, settings, **options)
        self.set_rates()
        self.slack = max(
            self.period, 1.0 / settings.update_rate if settings.update_rate else 0.0
        )

    def disturb(self) -> None:
        """Exclude the present fault from the comparison of speeds: the arm was pushed, or its load changed."""
        self.speed = None

    def tick(self) -> None:
        """Fire the timer, and check the motion, as the last step of each cycle, also of those within an event."""
        super().tick()
        self.check_motion()

    def check_motion(self) -> None:
        """Compare the speeds of the plant with those at the last fault.

        The kinetic energy of the plant changes by the work of the effort less that of true gravity and friction. An
        unmodelled load may thus accelerate the arm, but only against the effort beyond the model's gravity torque.
        """
        controller = self.controller
        speed = np.abs(self.plant.qd)
        (at, qd) = self.last
        self.last = (self.time, self.plant.qd.copy())
        estimator = controller.estimator
        # a new state, not repeated or missing
        informed = estimator.estimate.trusted and estimator.arrival == self.time
        if controller.mode is Mode.ACTIVE:
            self.speed = speed
            self.work = 0.0
            if self.sent is not None:
                # The stop begins at the set point, with its velocity and the energy of the drives' springs.
                self.speed = np.maximum(speed, np.abs(self.sent.velocity))
                error = self.sent.position - self.plant.q
                self.work = -0.5 * float(self.sent.stiffness @ error**2)
        elif (
            controller.mode is not Mode.HOLD
            or not informed
            or self._limited()
            or controller.tuning.takes_position_only
            or self._topples()
        ):
            self.speed = None
        elif self.speed is not None:
            beyond = self.plant.made - controller.arm.model.gravity_torque(self.plant.q)
            self.work += float(beyond @ (qd + self.plant.qd)) * 0.5 * (self.time - at)
            if (speed > self.speed + _MOST_SPEED).any() and self.work > _LEAST_WORK:
                raise Violation(
                    f"speed {speed.max():.3g} in hold, {self.speed.max():.3g} before, {self.work:.3g} J"
                )

    def _topples(self) -> bool:
        """Return True if the stiffness of drives does not hold the arm where it is."""
        arm = self.controller.arm
        return bool(arm.tuning.check_stiffness(arm.model, self.plant.q))

    def _limited(self) -> bool:
        limiter = self.controller.limiter
        return limiter.slowed or limiter.clamped or limiter.ramp_left > 0.0

    def set_rates(self) -> None:
        """Update the rate limits from the present settings."""
        self.rates = np.broadcast_to(
            self.controller.settings.torque_rate_limit, len(self.names)
        )
        self.limits = self.model.effort_limits * np.asarray(
            self.controller.settings.effort_limit_scale
        )

    def _give(self, effort: Floats, mode: Any, kind: str) -> None:
        if not np.isfinite(effort).all():
            raise Violation(f"not finite: {effort}")
        if (np.abs(effort) > self.limits + _SLACK).any():
            raise Violation(f"beyond the effort limits: {effort}")
        if kind != "repeat":
            if self.drive is not None:
                self._check_drive(self.drive, mode, kind)
            self._check(effort, mode, kind)
        super()._give(effort, mode, kind)
        if kind != "repeat":
            self.decided = self.commands[-1:]

    def _check_drive(self, drive: DriveCommand, mode: Any, kind: str) -> None:
        tuning = self.session.arm.tuning
        settings = tuning.settings.drives
        if not all(np.isfinite(part).all() for part in drive):
            raise Violation(f"not finite: {drive}")
        stiffness = drive.stiffness
        gains = np.array([stiffness, drive.damping])
        limits = np.array([settings.stiffness_limit, settings.damping_limit])
        if tuning.takes_position_only:  # its gains are its own
            limits = np.array([settings.stiffness, settings.damping])
        if ((gains < 0.0) | (gains > limits)).any():
            raise Violation(f"beyond the limits: gains {gains}")
        if (np.abs(drive.effort) > self.limits + _SLACK).any():
            raise Violation(f"beyond the effort limits: {drive.effort}, feedforward")
        if mode is Mode.ZERO and not tuning.takes_position_only:
            if stiffness.any() or drive.damping.any():
                raise Violation(
                    f"gains of a released arm: {stiffness}, {drive.damping}"
                )
        if kind == "exit":
            return
        controller = self.controller
        if tuning.takes_position_only:
            q = controller.estimator.estimate.state[0]
            lower = np.minimum(self.model.position_lower, q)
            upper = np.maximum(self.model.position_upper, q)
            if ((drive.position < lower) | (drive.position > upper)).any():
                raise Violation(f"beyond the position limits: {drive.position}")
            at_limit = (drive.position == lower) | (drive.position == upper)
            self.cut = [self.cut[1], bool(at_limit.any())]
            return
        before = self.stiffness
        self.stiffness = (self.time, stiffness) if stiffness.any() else None
        if before is None or not stiffness.any():
            return
        inertia = controller.arm.model.mass_matrix(controller.plan.q).diagonal()
        laws = (controller.law.gains, controller.law.hold_gains)
        targets = [tuning.drive_gains(gains, inertia)[0] for gains in laws]
        target = _DIFFERENCE * np.max(targets, axis=0)
        passed = self.time - before[0] + self.slack
        rise = stiffness - before[1] - target * passed / _RISE_TIME
        if (rise > _SLACK).any():
            raise Violation(f"rise of the stiffness by {rise.max():.4g} too fast")

    def _check(self, effort: Floats, mode: Any, kind: str) -> None:
        before = self.decided
        passed = self.slack + (self.time - before[0].at if before else 0.0)
        sent = self.sent
        self.sent = self.drive
        planned = self.planned
        if self.session.controller is not None:
            self.planned = self._ahead(self.session.controller)
        if self.drive is not None:
            servo = self.session.arm.tuning.takes_position_only
            released = servo and mode in (Mode.ZERO, Mode.FAULT)  # it follows the arm
            may_step = released or (kind != "exit" and self._may_step(effort))
            if sent is not None and not may_step:
                self._check_jump(sent, self.drive, planned, passed)
            if kind != "exit" and not servo:
                self._check_load(effort, mode)
            if sent is not None or servo:
                return
        starts = [before[0].effort] if before else self._starts()
        steps = [
            float((np.abs(effort - start) - self.rates * passed).max())
            for start in starts
        ]
        if min(steps, default=0.0) > _SLACK and not self._may_step(effort):
            share = min(
                float((np.abs(effort - start) / (self.rates * passed)).max())
                for start in starts
            )
            raise Violation(
                f"{'step' if before else 'start'} of {share:.4g} times the rate limit, {kind} in {mode}"
            )
        if kind != "exit":
            self._check_load(effort, mode)

    def _check_jump(
        self, old: DriveCommand, new: DriveCommand, before: Floats, passed: float
    ) -> None:
        """Compare the torques of two commands at the present state of the plant; ``passed`` (s) is between them.

        The desired velocity was ``before`` (n,) at the old one.

        Allowed are the rate limit, a tenth of the effort limit, the motion of the set point, and other gains.
        """
        q = self.plant.q
        qd = self.plant.qd
        controller = self.session.controller  # None at the exit
        planned = old.velocity if controller is None else self._ahead(controller)
        speed = np.maximum(np.abs(planned), np.abs(old.velocity))
        # drives that take a position only have their damping in it
        faster = np.abs(planned - before) + np.abs(new.velocity - old.velocity)
        allowed = self.rates * passed + 0.1 * self.limits + _SLACK
        # a set point and its velocity that approach another one
        allowed = allowed + 2.0 * self.limits * passed / _APPROACH_TIME
        allowed = allowed + 2.0 * new.stiffness * speed * passed
        allowed = allowed + new.damping * faster
        gains = np.abs(new.stiffness - old.stiffness) * np.abs(old.position - q)
        gains = gains + np.abs(new.damping - old.damping) * np.abs(old.velocity - qd)
        jump = np.abs(new.torque(q, qd) - old.torque(q, qd))
        if (jump > allowed + gains).any():
            j = int(np.argmax(jump - allowed - gains))
            raise Violation(
                f"jump of the drives by {jump[j]:.4g} Nm, allowed {allowed[j] + gains[j]:.4g}"
            )

    @staticmethod
    def _ahead(controller: Controller) -> Floats:
        """Return the desired velocity (n,) of the set points."""
        drives = controller.law.drives
        lead = 0.0 if drives is None else drives.lead
        return np.array(controller.plan.ahead(lead)[1])

    def _check_load(self, effort: Floats, mode: Any) -> None:
        estimate = self.controller.estimator.estimate
        model = self.controller.arm.model
        blind = (
            mode is Mode.HOLD
            and estimate.known
            and not estimate.valid
            and not self.controller.plan.busy
            and not self._limited()
        )
        # The stop goes on from the last state.
        held = self.controller.plan.q
        load = effort - model.gravity_torque(held) if blind else None
        if (
            load is not None
            and self.load is not None
            and np.abs(load - self.load).max() > _SLACK
        ):
            raise Violation(
                f"load changes by {np.abs(load - self.load).max():.3g} without trust"
            )
        self.load = load

    def _may_step(self, effort: Floats) -> bool:
        if any(self.cut):
            return True
        fault = self.controller.safety.fault
        stopped = fault is not None and fault.cause is Cause.EMERGENCY_STOP
        return (
            stopped
            and self.controller.settings.safety.emergency_stop_effect == "zero"
            and not effort.any()
        )

    def _starts(self) -> list[Floats]:
        """Return the efforts from which the first command may start."""
        estimate = self.controller.estimator.estimate
        if not estimate.known:
            return []
        gravity = self.controller.arm.model.gravity_torque(estimate.state[0])
        given = [gravity, self.plant.gravity()]
        return [np.clip(start, -self.limits, self.limits) for start in given]


def draw_settings(
    random: Generator, robot: str, rate: float, given: ControllerSettings | None = None
) -> Any:
    """Return random settings in wide ranges; with ``given`` only those that may change at run time differ."""
    pick: Callable[..., Any] = lambda *of: of[random.integers(len(of))]  # noqa: E731
    values: dict[str, Any] = {
        "law": pick(*LAWS, *["computed_torque"] * 4),
        "natural_frequency": (random.uniform(1.0, pick(15.0, 40.0, 150.0)),),
        "damping_ratio": (random.uniform(0.2, 2.0),),
        "ki": pick((), (), (5.0,)),
        "friction_compensation": bool(random.integers(2)),
        "velocity_filter_cutoff": pick(0.0, 0.0, 20.0),
        "effort_limit_scale": (1.0,) if given is None else given.effort_limit_scale,
        "torque_rate_limit": (_RATES[robot] * 4.0 ** random.uniform(-1.0, 1.0),),
        "ramp_time": pick(0.0, 0.05, 0.3, 2.0),
        "observer_gain": 25.0,
        "collision_threshold": pick((), (), (20.0,)),
        "on_fault": pick("hold", "hold", "zero"),
        "fault_reset": pick("auto", "manual"),
        "state_timeout": pick(0.1, 0.03),
        "stale_hold_time": pick(0.5, 0.0, 0.1),
        "position_step_limit": pick((0.05,), (np.inf,)),
        "unstamped_states": pick("arrival", "refuse"),
        "following_error_limit": pick((), (0.2,)),
        "saturation_timeout": pick(1.0, 0.05),
        "activation_max_velocity": pick(0.1, np.inf),
        "emergency_stop_effect": pick("stop", "stop", "zero"),
        "update_rate": pick(0.0, 0.0, rate, rate / 2.0)
        if given is None
        else given.update_rate,
        "drives": _draw_drives(random, given),
    }
    return make_settings(**values)


def _draw_drives(random: Generator, given: ControllerSettings | None) -> DriveSettings:
    """Return random settings of the drives, most of which take an effort only."""
    choices = (*[EFFORT] * 5, IMPEDANCE, IMPEDANCE, POSITION)
    takes = choices[random.integers(len(choices))]
    if given is not None:
        takes = given.drives.command_interfaces  # cannot change
    stiffness = 10.0 ** random.uniform(1.0, 3.5)
    damping = stiffness * random.uniform(0.01, 0.1)
    has_gains = takes == POSITION or (takes == IMPEDANCE and random.integers(3) == 0)
    return DriveSettings(
        command_interfaces=takes,
        stiffness=(stiffness,) if has_gains else (),
        damping=(damping,) if has_gains else (),
        stiffness_limit=((np.inf,), (np.inf,), (500.0,))[random.integers(3)],
        damping_limit=((np.inf,), (np.inf,), (20.0,))[random.integers(3)],
        command_delay=(0.0, 0.005)[random.integers(2)],
    )


# Events of a run. Their arguments are the run and a random generator of their own; they return the number of cycles
# and the change of the messages in these. A message that is None is not sent.
Change = Callable[[Run], dict[str, Any] | None]
Event = Callable[[Run, Generator], "tuple[int, Change] | None"]


def _stuck_stamp(run: Run, random: Generator) -> tuple[int, Change]:
    stamp = run.ros
    return int(random.integers(1, 150)), lambda run: {"stamp": stamp}


def _zero_stamp(run: Run, random: Generator) -> tuple[int, Change]:
    return int(random.integers(1, 100)), lambda run: {"stamp": 0}


def _other_stamp(run: Run, random: Generator) -> tuple[int, Change]:
    by = int(10.0 ** random.uniform(5.0, 11.0)) * (1 if random.integers(2) else -1)
    return int(random.integers(1, 100)), lambda run: {"stamp": run.ros + by}


def _silence(run: Run, random: Generator) -> tuple[int, Change]:
    return int(10.0 ** random.uniform(0.0, 2.7)), lambda run: None


def _late_states(run: Run, random: Generator) -> None:
    kept = []
    for _ in range(int(10.0 ** random.uniform(0.0, 2.0))):
        run.pass_time()
        kept.append((run.ros, run.plant.q.copy(), run.plant.qd.copy()))
        run.tick()
    for stamp, q, qd in kept:
        run.state(stamp=stamp, q=q, qd=qd)


def _bad_numbers(run: Run, random: Generator) -> tuple[int, Change]:
    field = "q" if random.integers(2) else "qd"
    bad = np.where(
        random.random(len(run.names)) < 0.5,
        [np.nan, np.inf, -1e300, 1e8][random.integers(4)],
        0.1,
    )
    return int(random.integers(1, 30)), lambda run: {field: bad}


def _jump(run: Run, random: Generator) -> tuple[int, Change]:
    by = random.standard_normal(len(run.names)) * 10.0 ** random.uniform(-3.0, 1.0)
    field = "q" if random.integers(2) else "qd"
    return int(random.integers(1, 20)), lambda run: {
        field: getattr(run.plant, field) + by
    }


def _frozen(run: Run, random: Generator) -> tuple[int, Change]:
    state = {"q": run.plant.q.copy(), "qd": run.plant.qd.copy()}
    return int(random.integers(5, 200)), lambda run: state


def _repeated(run: Run, random: Generator) -> tuple[int, Change]:
    state = {"stamp": run.ros, "q": run.plant.q.copy(), "qd": run.plant.qd.copy()}
    return int(random.integers(5, 200)), lambda run: state


def _wrong_velocity(run: Run, random: Generator) -> tuple[int, Change]:
    factor = np.ones(len(run.names))
    factor[random.integers(len(run.names)) if random.integers(2) else slice(None)] = (
        random.choice([-1.0, 0.0, 0.5, 2.0, 57.3])
    )
    return int(random.integers(20, 300)), lambda run: {"qd": factor * run.plant.qd}


def _one_frozen(run: Run, random: Generator) -> tuple[int, Change]:
    joint = random.integers(len(run.names))
    q = run.plant.q.copy()
    qd = run.plant.qd.copy()
    both = random.integers(2)

    def change(run: Run) -> dict[str, Any]:
        state = {"q": run.plant.q.copy(), "qd": run.plant.qd.copy()}
        state["q"][joint] = q[joint]
        if both:
            state["qd"][joint] = qd[joint]
        return state

    return int(random.integers(5, 200)), change


def _no_velocity(run: Run, random: Generator) -> tuple[int, Change]:
    return int(random.integers(1, 100)), lambda run: {"qd": np.empty(0)}


def _odd_bytes(run: Run, random: Generator) -> None:
    names = [*run.names]
    q = run.plant.q
    cut = random.integers(3)
    whole = joint_state(
        run.ros,
        names[: -1 if cut == 1 else None],
        q[: -1 if cut else None],
        np.empty(0),
        np.empty(0),
    )
    run.receive("joint_states", whole if cut else whole[: random.integers(len(whole))])


def _motion(run: Run, random: Generator) -> None:
    k = int(random.integers(1, 6))
    positions = run.plant.q + np.cumsum(
        random.standard_normal((k, len(run.names))) * 0.3, axis=0
    )
    run.go(positions, np.cumsum(random.uniform(0.05, 0.8, k)), _start(run, random))


def _absurd_motion(run: Run, random: Generator) -> None:
    k = int(random.integers(1, 4))
    size = 10.0 ** random.uniform(0.0, [3.0, 200.0][random.integers(2)])
    positions = random.standard_normal((k, len(run.names))) * size
    if random.integers(4) == 0:
        positions[0, 0] = np.nan
    times = np.cumsum(random.uniform(0.0, [1e-6, 0.1][random.integers(2)], k))
    fields = {"velocities": positions * 10.0} if random.integers(2) else {}
    run.go(positions, times, _start(run, random), **fields)


def _start(run: Run, random: Generator) -> int:
    return 0 if random.integers(2) else run.ros + round(random.uniform(-0.2, 0.3) * 1e9)


def _set_points(run: Run, random: Generator) -> None:
    rate = random.uniform(-1.0, 1.0, len(run.names))
    q = run.plant.q.copy()
    for _ in range(int(random.integers(5, 60))):
        q = q + rate * run.period
        run.go(q, run.period)
        run.cycle()


def _end_effector_target(run: Run, random: Generator) -> None:
    where = run.plant.end_effector_position() + random.standard_normal(
        3
    ) * 10.0 ** random.uniform(-2.0, 1.0)
    run.aim(where, random.standard_normal(4))


def _tune(run: Run, random: Generator) -> None:
    settings = run.controller.settings
    drawn = draw_settings(random, "panda", 1.0 / run.period, settings)
    chosen = (
        {"law", "natural_frequency"}
        if random.integers(2)
        else {f.name for f in dataclasses.fields(settings)}
    )
    run.session.tune(
        dataclasses.replace(settings, **{name: getattr(drawn, name) for name in chosen})
    )
    run.set_rates()


def _payload(run: Run, random: Generator) -> None:
    mass = [random.uniform(0.0, 5.0), 0.0, 1e4][random.integers(3)]
    link = run.model.link_names[-1]
    com = random.uniform(-0.1, 0.2, 3)
    with suppress(RobotDynamicsError):
        run.take(run.session.on_payload(link, mass, com, (0.0,) * 6))


def _speed(run: Run, random: Generator) -> None:
    run.controller.plan.set_speed(float(random.uniform(-0.2, 1.2)))


def _clock_leap(run: Run, random: Generator) -> None:
    run.ros += round(10.0 ** random.uniform(6.0, 11.0)) * (
        1 if random.integers(2) else -1
    )


def _other_clock(run: Run, random: Generator) -> None:
    clock = [0.0, 0.3][random.integers(2)]  # a faster simulation has scaled rates
    for _ in range(int(random.integers(1, 80))):
        run.cycle(clock=clock)


def _clear_fault(run: Run, random: Generator) -> None:
    run.take(run.session.clear_fault(run.now))


def _cancel(run: Run, random: Generator) -> None:
    run.controller.cancel()


def _emergency_stop(run: Run, random: Generator) -> None:
    run.session.safety.emergency_stop(
        ("~/emergency_stop", "/cell/stop")[random.integers(2)], bool(random.integers(4))
    )


def _kick(run: Run, random: Generator) -> None:
    run.plant.qd += random.standard_normal(len(run.names)) * 10.0 ** random.uniform(
        -2.0, 1.0
    )
    run.disturb()


def _brakes(run: Run, random: Generator) -> None:
    run.plant.braked = not run.plant.braked
    if random.integers(2):
        run.take(run.session.on_brakes(run.plant.braked))
    run.disturb()


EVENTS: tuple[Event, ...] = (
    _stuck_stamp, _zero_stamp, _other_stamp, _silence, _late_states, _bad_numbers, _jump, _frozen, _no_velocity,
    _repeated, _wrong_velocity, _wrong_velocity, _one_frozen, _odd_bytes, _motion, _motion, _motion, _absurd_motion,
    _set_points, _end_effector_target, _tune, _payload, _speed,
    _clock_leap, _other_clock, _clear_fault, _clear_fault, _cancel, _emergency_stop, _kick, _brakes,
)  # fmt: skip


class Outcome(NamedTuple):
    """Result of one run: seed, cycles, causes of faults, and the failure with the events before it."""

    seed: int
    cycles: int
    causes: tuple[str, ...]
    failure: str = ""
    events: tuple[str, ...] = ()


def execute(seed: int, chosen: Sequence[int] | None = None) -> Outcome:
    """Make the run of a seed, with all of its events or with the ``chosen`` ones."""
    random = np.random.default_rng(seed)
    planned = sorted(
        int(at) for at in random.integers(0, LONGEST, random.integers(1, 13))
    )
    kinds = random.integers(0, len(EVENTS), len(planned))
    run: Run | None = None
    past: list[str] = []
    try:
        while run is None:
            run = _begin(random)
        last = 0
        for k, (at, kind) in enumerate(zip(planned, kinds, strict=True)):
            _cycles(run, at - last)
            last = at
            if chosen is None or k in chosen:
                event = EVENTS[kind]
                past.append(f"{k}: {event.__name__[1:]} at {run.time - 100.0:.3f} s")
                _cycles(run, *_happen(event, run, np.random.default_rng([seed, k])))
        _cycles(run, 30)
        past.append("exit")
        run.exit(states=bool(random.integers(2)))
    except RobotDynamicsError as refusal:  # the node would be deactivated
        return Outcome(
            seed,
            len(run.commands) if run else 0,
            (f"refused: {str(refusal).split()[0]}",),
        )
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        where = (
            ""
            if isinstance(problem, Violation)
            else f" at {place.filename.rpartition('/')[2]}:{place.lineno}"
        )
        text = f"{type(problem).__name__}: {problem}{where}"
        return Outcome(
            seed, len(run.commands) if run else 0, (), text, (_about(run), *past)
        )
    return Outcome(seed, len(run.commands), tuple(run.causes))


def _begin(random: Generator) -> Run | None:
    robot = ("panda", "ur5e", "planar_2r")[random.integers(3)]
    rate = (250.0, 500.0, 1000.0)[random.integers(3)]
    try:
        return Run(
            robot,
            draw_settings(random, robot, rate),
            rate=rate,
            continuous=bool(random.integers(2)),
            wraps=bool(random.integers(2)),
            noise=((0.0, 0.0), (1e-5, 1e-3))[random.integers(2)],
            payload=(0.0, 0.0, 1.0, 3.0)[random.integers(4)],
            mass_error=random.uniform(-0.1, 0.1),
            viscous=(0.0, 0.5)[random.integers(2)],
            coulomb=(0.0, 0.3)[random.integers(2)],
            reports_effort=bool(random.integers(2)),
            effort_factor=(1.0, 1.0, -0.3, 0.3, 0.05)[random.integers(5)],
            braked=random.integers(4) == 0,
            seed=int(random.integers(1 << 30)),
        )
    except RobotDynamicsError:  # invalid combination of settings
        return None


def _happen(event: Event, run: Run, random: Generator) -> tuple[int, Change]:
    try:
        return event(run, random) or (0, dict)  # type: ignore[return-value]
    except RobotDynamicsError:  # refused
        return 0, lambda run: {}


def _cycles(run: Run, count: int, change: Change = lambda run: {}) -> None:
    for _ in range(count):
        run.pass_time()
        if (state := change(run)) is not None:
            run.state(**state)
        run.tick()


def _about(run: Run | None) -> str:
    if run is None:
        return "no run"
    s = run.session.settings
    return (
        f"{run.model.name}, {1.0 / run.period:g} Hz, update_rate {s.update_rate:g}, {s.law}, "
        f"[{', '.join(s.drives.command_interfaces)}], "
        f"torque_rate_limit {s.torque_rate_limit[0]:.4g}, ramp_time {s.ramp_time:g}, on_fault {s.safety.on_fault}, "
        f"{s.safety.fault_reset}, stale_hold_time {s.safety.stale_hold_time:g}, {len(run.commands)} commands"
    )


def shrink(seed: int) -> Outcome:
    """Return the failure of a seed with the fewest events that cause a failure of the same kind."""
    outcome = execute(seed)
    kind = outcome.failure.partition(" of ")[0]
    chosen = list(range(20))
    for k in range(20):
        fewer = [other for other in chosen if other != k]
        tried = execute(seed, fewer)
        if tried.failure.partition(" of ")[0] == kind:
            chosen = fewer
            outcome = tried
    return outcome


def fuzz(seeds: Sequence[int], jobs: int = 1) -> list[Outcome]:
    """Make the runs of these seeds."""
    if jobs == 1:
        return [execute(seed) for seed in tqdm(seeds, disable=None)]
    with Pool(jobs) as pool:
        return list(
            tqdm(
                pool.imap_unordered(execute, seeds, chunksize=20),
                total=len(seeds),
                disable=None,
            )
        )


def main(arguments: list[str] | None = None) -> int:
    """Make the runs and print the failures; return 1 if there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.session_fuzz", description=__doc__
    )
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"number of runs (default {RUNS})"
    )
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first run (default 0)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--seed",
        type=int,
        help="repeat one run with the fewest events that cause its failure",
    )
    options = parser.parse_args(arguments)
    if options.seed is not None:
        outcomes = [shrink(options.seed)]
    else:
        outcomes = fuzz(
            range(options.first, options.first + options.runs), options.jobs
        )
    failed = sorted(outcome for outcome in outcomes if outcome.failure)
    for outcome in failed[:20]:
        print(f"seed {outcome.seed}: {outcome.failure}", *outcome.events, sep="\n    ")
    causes = Counter(cause for outcome in outcomes for cause in outcome.causes)
    print(
        "faults: "
        + ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    )
    print(
        f"{len(outcomes)} runs, {sum(o.cycles for o in outcomes):,} commands, {len(failed)} runs failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

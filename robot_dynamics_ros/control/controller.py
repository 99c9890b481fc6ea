"""The controller: trajectory, law and safety put together, cycle by cycle. It knows neither ROS nor clocks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.activation_check import holding_friction
from robot_dynamics_ros.control.external_torque import ExternalTorque
from robot_dynamics_ros.control.feedback import Feedback, clock_jump, clock_leap
from robot_dynamics_ros.control.laws import Gains, JointLaw, Motion
from robot_dynamics_ros.control.limits import Brake, EffortLimiter, ErrorIntegral, LastingCheck, MotionLimits
from robot_dynamics_ros.control.safety import (
    Cause,
    CycleRate,
    DampingCheck,
    Fault,
    Mode,
    Safety,
    Transition,
    first_not_finite,
)
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, Tuning
from robot_dynamics_ros.control.task_space.targets import HandControl, HandState, HandTargets
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_EMERGENCY_STOP = Fault(
    Cause.EMERGENCY_STOP, "emergency stop. Cure: publish false on ~/emergency_stop, then call ~/clear_fault"
)
_DEACTIVATED = Fault(Cause.DEACTIVATED, "the arm is stopped before the controller ends. Cure: activate it again")
_STOP_PATIENCE = 0.01  # s without a cycle, after which a stop does not wait for one
_STUCK_SHARE = 0.1  # of the effort limits: how much friction a model may not know of

CHANGE_TIME = 0.2
"""Seconds in which the command goes over to that of another law, payload or gain, or of the law after a fault."""

_QUICK_STOP, _SLOW_STOP = 0.1, 0.5  # s: the longest that a stop takes, after a fault and one that was asked for
_STOPPED_VELOCITY = 0.02  # rad/s or m/s
_SAG_VELOCITY = 0.05  # rad/s or m/s
_KEEPS_LOAD = (  # faults of what is known of the arm, not of its motion
    Cause.STATE_INVALID,
    Cause.STATE_STALE,
    Cause.STATE_IMPLAUSIBLE,
    Cause.STAMP_REPEATS,
    Cause.CLOCK_JUMPED_AHEAD,
    Cause.CYCLE_RATE,
    Cause.EMERGENCY_STOP,
    Cause.DEACTIVATED,
)
_FOLLOWING_ERROR_TEXT = (
    "is {value:.3g} off the desired position, over following_error_limit {limit:g}. Cure: see what the arm has hit, or "
    "ask for slower motion"
)
_SATURATION_TEXT = (
    "has been at its effort limit {limit:g} for over saturation_timeout {seconds:g} s. Cure: see what the arm has hit, "
    "check the payload, or ask for slower motion"
)
_NO_STATE = "the state of the joints is not known yet. Cure: wait for joint_states"


class Command(NamedTuple):
    """What one cycle decided.

    ``desired`` and ``effort`` (n,) belong to the controller and hold until its next cycle. ``saturated`` are
    the joints whose effort limit cut the command.
    """

    mode: Mode
    desired: Motion
    effort: Array
    saturated: tuple[str, ...]


class Controller:
    """Turns trajectories and measured states into joint efforts, and falls back to safety when a check fails.

    Times are seconds. ``time`` is on one clock of the caller's choice, that of the trajectories; ``steady`` on
    one that never stands still or jumps, which tells the age of the measured state. Until a trajectory comes,
    the arm holds the position in which the first cycle found it.

    Attributes
    ----------
    model
        The robot as the laws take it: without gravity where the robot makes up for that by itself.
    cycles, clamped_cycles, slowed_cycles
        How many cycles commanded something, were cut by an effort limit, were held back by a rate limit.
    trajectories
        How many trajectories were accepted.
    period
        Seconds from one cycle to the next, by the update rate or the last states; 0 where it is not known.
    start_effort
        Effort (n,) that the motors give before the first command, Nm or N; None: taken as the gravity torque.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        self._whole_model = model
        self._n = model.n
        names = model.joint_names
        self._tuning = tuning = Tuning(model, settings)
        self.model = model.without_gravity() if settings.robot_compensates_gravity else model
        safety = settings.safety
        self._feedback = Feedback(names, settings.velocity_filter_cutoff, safety.state_timeout, model.continuous)
        self._safety = Safety(*_safety_rules(safety))
        self._limiter = EffortLimiter(tuning.effort_limits, tuning.effort_rates)
        self._rate = CycleRate(settings.update_rate)
        self._plan = MotionPlan(names)
        self._desired = Motion(self._plan.q, self._plan.qd, self._plan.qdd)
        self._integral = ErrorIntegral(self._n)
        self._hand = HandControl()
        self._hand.targets.timeout = settings.task_space.target_timeout
        self._gains: Gains
        self._inertia: Array | None = None
        self._first_hold: Array | None = None
        self._time = -math.inf
        self._command: Command | None = None
        self._decided_at = -math.inf
        self._by_steady_clock = False
        self.period = 1.0 / settings.update_rate if settings.update_rate > 0.0 else 0.0
        self._measures_period = settings.update_rate == 0.0
        self.start_effort: Array | None = None
        self._changed = self._resting = False
        self._load = self._offset = np.zeros(self._n)
        self._stop: Fault | None = None
        self._engaged = False
        self._following_error = LastingCheck(names, Cause.FOLLOWING_ERROR, _FOLLOWING_ERROR_TEXT)
        self._saturation = LastingCheck(names, Cause.SATURATION, _SATURATION_TEXT)
        self._cycled_at = self._cycled_stamp = -math.inf
        self.cycles = self.clamped_cycles = self.slowed_cycles = self.trajectories = 0
        self._external = ExternalTorque(settings.observer_gain, settings.friction_smoothing_velocity)
        self._set_motion_limits(tuning)

    # What is known of it

    @property
    def settings(self) -> ControllerSettings:
        """What the user set."""
        return self._tuning.settings

    @property
    def time(self) -> float:
        """Time of the last cycle, -inf before the first one."""
        return self._time

    @property
    def mode(self) -> Mode:
        """What is commanded."""
        return self._safety.mode

    @property
    def needs_state(self) -> bool:
        """Whether the law goes by the measured state."""
        return self._tuning.law.needs_state

    @property
    def fault(self) -> Fault | None:
        """The last failed check, or None."""
        return self._safety.fault

    @property
    def fault_count(self) -> int:
        """How often it left ``active``."""
        return self._safety.faults

    @property
    def late_cycles(self) -> int:
        """Cycles that came more than half a period late."""
        return self._rate.late

    @property
    def command(self) -> Command | None:
        """What the last cycle decided, or None where nothing has been commanded yet."""
        return self._command

    @property
    def feedback(self) -> Feedback:
        """The measured state, to be read only."""
        return self._feedback

    @property
    def external_torque(self) -> Array | None:
        """What the observer says (n,), Nm or N; None where there is none, or nothing is known yet."""
        return self._external.torque

    @property
    def hand(self) -> HandState | None:
        """How well the hand follows; None where no law leads it, or a check fails."""
        return self._hand.state

    @property
    def trajectory_time(self) -> float:
        """Time (s) of trajectories in the last cycle, as ``follow`` returns them: see ``MotionPlan``."""
        return self._plan.trajectory_time

    @property
    def following(self) -> bool:
        """True while a trajectory runs or waits for its start."""
        return self._plan.busy

    @property
    def dropped_trajectories(self) -> int:
        """How often every trajectory was dropped: by a fault, another law, ``cancel``."""
        return self._plan.drops

    @property
    def speed_scaling(self) -> float:
        """How fast trajectory time runs, as a share of the clock's."""
        return self._plan.speed

    def take_transitions(self) -> list[Transition]:
        """Return the transitions since the last call."""
        transitions, self._safety.transitions = self._safety.transitions, []
        return transitions

    def check_start(self, q: Array) -> None:
        """Raise RobotDynamicsError for gains that the rate cannot carry where the arm starts, at q (n,)."""
        self._tuning.check_sampling(self.period, self.model.mass_matrix(q).diagonal())

    # What a user changes while it runs

    def tune(self, settings: ControllerSettings) -> None:
        """Take new settings from the next cycle on, all of them or, with RobotDynamicsError, none."""
        tuning = Tuning(self._whole_model, settings)
        self._tuning.check_change(tuning)
        changed = _law_settings(self.settings) != _law_settings(settings)
        if changed:
            tuning.check_sampling(self.period, self._inertia)
        self._change_law(self._tuning, tuning)
        before, self._tuning = self._tuning.settings, tuning
        safety = settings.safety
        if before.velocity_filter_cutoff != settings.velocity_filter_cutoff:
            self._feedback.set_cutoff(settings.velocity_filter_cutoff)
        self._feedback.state_timeout = safety.state_timeout
        self._safety.set(*_safety_rules(safety))
        if _margins(before) != _margins(settings):
            self._set_motion_limits(tuning)
        if (before.observer_gain, before.friction_smoothing_velocity) != (
            settings.observer_gain,
            settings.friction_smoothing_velocity,
        ):
            self._external = ExternalTorque(settings.observer_gain, settings.friction_smoothing_velocity)
        self._limiter.set(tuning.effort_limits, tuning.effort_rates)
        self._changed |= changed
        if self._inertia is not None:
            gains = tuning.gains(self._inertia)
            self._integral.keep_torque(self._gains.ki, gains.ki)
            self._gains = gains

    def _change_law(self, before: Tuning, after: Tuning) -> None:
        """Let arm and hand stay where they are, where the law that takes over would pull them elsewhere."""
        if before.law is not after.law and not before.law.follows and not self._plan.empty:
            self._plan.hold(self._time, self._feedback.state[0])  # where somebody, or the hand, has led the arm
        self._brake.release()
        old, new = before.hand, after.hand
        if old is None or new is None or (old.link, old.rows) != (new.link, new.rows):
            self._hand.hold()
        self._hand.targets.timeout = after.settings.task_space.target_timeout

    def set_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """Carry this payload in place of the one before; arguments and errors as RobotModel.with_payload."""
        self._whole_model = self._whole_model.with_payload(link, mass, com, inertia)
        self.model = self.model.with_payload(link, mass, com, inertia)
        self._changed = True

    def set_speed_scaling(self, factor: float) -> None:
        """Let trajectory time run at this share (0 to 1) of the clock's; RobotDynamicsError for other numbers."""
        self._plan.set_speed(factor)

    def hold_from_the_start(self, q: Array) -> None:
        """Begin as if the first cycle had found the arm at q (n,), rad or m, where an earlier run has begun."""
        self._first_hold = q.copy()

    def follow(self, points: TrajectoryPoints, start_time: float | None, now: float) -> Trajectory:
        """Take in a trajectory; it replaces the one before without a jump in position or velocity.

        ``start_time`` None: it starts at ``now``. Raises TrajectoryError, and keeps what it had, for
        points that cannot be followed now.
        """
        law = self._tuning.law
        if not (law.follows or law.task_space):
            raise TrajectoryError(f"the law {self.settings.law} follows none. Cure: set another law")
        if self.mode is not Mode.ACTIVE:
            raise TrajectoryError(f"the controller is in {self._why_not_active()}")
        measured = None
        if self._feedback.known:
            measured = self._feedback.state[0], self._feedback.state[1]
        elif law.needs_state:
            raise TrajectoryError(_NO_STATE)
        trajectory = self._plan.follow(
            points, start_time, now, self.settings.trajectories, measured, self._tuning.trajectory_limits
        )
        self.trajectories += 1
        return trajectory

    def targets(self) -> HandTargets:
        """Return where to send the hand; RobotDynamicsError where it follows no targets now."""
        if not self._tuning.law.task_space:
            raise RobotDynamicsError(
                f"the law {self.settings.law} follows none. Cure: set law to task_space_computed_torque"
            )
        if self.mode is not Mode.ACTIVE:
            raise RobotDynamicsError(f"the controller is in {self._why_not_active()}")
        if not self._feedback.known:
            raise RobotDynamicsError(_NO_STATE)
        return self._hand.targets

    def cancel(self) -> None:
        """Give up trajectory and targets: the joints slow down to a stop, or stop at once, as the settings say."""
        self._hand.hold()
        if self.mode is Mode.ACTIVE and not self._plan.empty:
            self._plan.cancel(self._time, self._tuning.deceleration if self.settings.decelerate_on_cancel else None)

    def clear_fault(self, steady: float) -> None:
        """Go back to active: the arm holds where it is. RobotDynamicsError says what still fails."""
        if self.mode is Mode.ACTIVE:
            return
        if self._feedback.known:
            self._motion_limits.accept(self._feedback.state[0])
        stop = self._stop
        if not self._engaged:
            self._stop = None
        fault = self._failing(steady) or self._rate.fault
        if fault is not None:
            self._stop = stop
            raise RobotDynamicsError(f"not cleared: {fault.message}")
        self._safety.clear(self._time)

    def emergency_stop(self, engaged: bool) -> None:
        """Stop the arm by a fault; False permits ``clear_fault`` to end it, which nothing else does."""
        self._engaged = engaged
        if engaged:
            self._stop = _EMERGENCY_STOP

    def begin_stop(self) -> None:
        """Stop the arm for good: before the controller ends."""
        self._stop = self._stop or _DEACTIVATED

    @property
    def stopped(self) -> bool:
        """True if nothing is commanded, or the arm rests after a stop, or has no effort."""
        if self._command is None:
            return True
        if self.mode is Mode.ZERO:
            return not self._command.effort.any()
        rests = self._feedback.usable and float(np.abs(self._feedback.state[1]).max()) < _STOPPED_VELOCITY
        return self.mode is not Mode.ACTIVE and not self._plan.busy and rests

    # Cycles

    def measure(self, stamp: float, steady: float, q: Array, qd: Array | None) -> bool:
        """Take in a measured state: ``q``, and ``qd`` or None where it is not measured, (n,), sent at ``stamp``.

        Returns whether it can be used.
        """
        effort = None if self._command is None else self._command.effort
        good = self._feedback.take(stamp, steady, q, qd, effort if self.mode is Mode.ACTIVE else None)
        if good and effort is not None:
            self._external.observe(self.model, self._feedback, effort)
        return good

    def update(self, time: float, steady: float) -> Command | None:
        """One cycle at ``time``: what to command now, or None while nothing can be commanded yet.

        A time that jumps back, or ahead by more than ``state_timeout`` beyond what has passed by the steady clock, is
        a fault that drops the trajectory.
        """
        dt = 0.0 if self._command is None else time - self._time
        passed = steady - self._cycled_at
        self._time = time
        self._cycled_at, self._cycled_stamp = steady, self._feedback.stamp
        feedback = self._feedback
        if not feedback.known and (self._tuning.law.needs_state or (self._stop is not None and self._plan.empty)):
            return None
        jump = None
        if dt < 0.0:
            jump = clock_jump(-dt)
        elif dt > passed + self._feedback.state_timeout:
            jump = clock_leap(dt - passed)
        dt = self._step(dt, steady, jump is not None or feedback.stamp_repeats)
        if jump is not None:
            self._rate.restart()
        late = self._rate.cycle(time, self.settings.safety.minimum_rate_ratio)
        if self._inertia is None:
            self._begin(time)
        fault = self._failing(steady, dt)
        self._safety.evaluate(fault or jump or late, time, steady, not feedback.usable)
        self._look_at_damping(time)
        command = self._decide(time, dt, steady)
        if self._measures_period and dt > 0.0 and not self._by_steady_clock:
            self.period = min(dt, 2.0 * self.period) if self.period > 0.0 else dt
        self.cycles += command is not None
        return command

    def _step(self, dt: float, steady: float, wrong: bool) -> float:
        """Return the time (s) since the last command: ``dt``, or by the steady clock where that is ``wrong``."""
        passed = max(steady - self._decided_at, 0.0)
        if wrong:
            dt = passed
        elif self._by_steady_clock:
            dt = min(dt, passed)
        self._by_steady_clock = wrong  # the next step counts from here, whatever the stamps say
        return dt

    def _rate_step(self, dt: float, steady: float) -> float:
        """Return for how long (s) the effort may have changed: at most a period more than the steady clock says.

        Only the limits of rate go by it, for drives get efforts when they come, late and two at once included: all
        else goes by stamps, so that a replay, which has other arrivals, gives the same commands.
        """
        passed = max(steady - self._decided_at, 0.0)
        return min(dt, passed + (self.period if self.period > 0.0 else passed))

    def watch(self, steady: float) -> Command | None:
        """Return what to command where no usable state, or no cycle, has come; None while there is nothing to say."""
        late = self._stop is not None and steady - self._decided_at > _STOP_PATIENCE
        if self._command is None or not (self._tuning.law.needs_state or late):
            return None
        stalled = self._stalled(steady)
        if stalled is None and not self._feedback.missing(steady) and not late:
            return None
        fault = self._feedback.fault(steady) or stalled
        self._safety.evaluate(self._stop or fault, self._time, steady, not self._feedback.usable)
        self._by_steady_clock = True
        return self._decide(self._time, steady - self._decided_at, steady)

    def _stalled(self, steady: float) -> Fault | None:
        """A fault where states go on and cycles do not; in a simulation that pauses both stand still."""
        gap = min(steady - self._cycled_at, self._feedback.stamp - self._cycled_stamp)
        if gap <= self._feedback.state_timeout:
            return None
        return Fault(
            Cause.CYCLE_RATE,
            f"no cycle for {gap:.3g} s, while joint_states go on. Cure: see who publishes /clock, and use_sim_time",
        )

    def last_effort(self, steady: float) -> Array | None:
        """Effort (n,) to leave behind, as ``on_fault`` says; None where nothing has been commanded."""
        if self._command is None:
            return None
        if self.stopped:
            return self._command.effort
        zero = self.mode is Mode.ZERO or self.settings.safety.on_fault == "zero"
        effort = np.zeros(self._n) if zero else self._gravity_effort()
        return self._limiter.limit(effort, max(steady - self._decided_at, 0.0))

    def _gravity_effort(self) -> Array:
        """Return the gravity torque (n,) at the last known position; zeros where not finite."""
        effort = self.model.gravity_torque(self._feedback.state[0] if self._feedback.known else self._plan.q)
        return effort if np.isfinite(effort).all() else np.zeros(self._n)

    def _look_at_damping(self, time: float) -> None:
        if self.mode is Mode.ACTIVE:
            self._damping.begin()
        elif self._feedback.usable:
            self._damping.look(self._feedback.state[1], time)

    def _begin(self, time: float) -> None:
        """The first cycle: the arm is to stay where it is."""
        if not self._feedback.known:
            self._gains = self._tuning.gains(np.ones(self._n))  # an open-loop law takes none
            return
        q = self._feedback.state[0] if self._first_hold is None else self._first_hold
        self._inertia = self.model.mass_matrix(q).diagonal().copy()
        self._gains = self._tuning.gains(self._inertia)
        self._motion_limits.accept(q)
        friction = 2.0 * holding_friction(self.model, q)
        self._feedback.set_breakaway_effort(friction + _STUCK_SHARE * self._tuning.effort_limits)
        self._hand.begin(q)
        if self._plan.empty:
            self._plan.hold(time, q)

    def _failing(self, steady: float, dt: float = 0.0) -> Fault | None:
        """The first check that fails, in the order in which they are made; ``dt`` seconds after the last cycle."""
        feedback = self._feedback
        fault = feedback.fault(steady)
        if self._stop is not None:
            return self._stop
        if not self._tuning.law.needs_state and (fault is not None or not feedback.known):
            return None  # an open-loop law does without
        if fault is None:
            fault = self._motion_limits.check(feedback.state)
        fault = fault or self._external.collision(self.model.joint_names, self._tuning.collision_threshold)
        return fault or (self._lasting(dt) if self.mode is Mode.ACTIVE and dt > 0.0 else None)

    def _lasting(self, dt: float) -> Fault | None:
        """A fault where the arm has been away from the desired motion, or at its effort limits, for too long."""
        safety, limiter, fault = self.settings.safety, self._limiter, None
        if len(safety.following_error_limit) > 0 and self._tuning.law.follows:
            error = self._desired.q - self._feedback.state[0]
            fault = self._following_error.check(error, self._tuning.following_error, dt, safety.following_error_time)
        if fault is None and limiter.effort is not None and (limiter.clamped or self._saturation.counts):
            fault = self._saturation.check(limiter.effort, limiter.limits, dt, safety.saturation_timeout)
        return fault

    def _decide(self, time: float, dt: float, steady: float) -> Command | None:
        safety, limiter, rate_step = self._safety, self._limiter, self._rate_step(dt, steady)
        self._decided_at = steady
        saturated: tuple[str, ...] = ()
        if safety.mode is Mode.ACTIVE:
            if self._plan.empty:
                return None
            if self._command is not None and self._command.mode is not Mode.ACTIVE:
                self._resume(time)
            self._plan.advance(time)
            requested = self._law_effort()
            bad = first_not_finite(self.model.joint_names, requested)
            if bad is None:
                effort = self._limited(requested, rate_step)
                if limiter.clamped:
                    self.clamped_cycles += 1
                    saturated = limiter.over(self.model.joint_names, requested)
                if self._gains.ki.any():
                    self._integral.add(self._desired.q - self._feedback.state[0], dt, requested - effort)
                self.slowed_cycles += limiter.slowed
                self._command = Command(Mode.ACTIVE, self._desired, effort, saturated)
                return self._command
            safety.evaluate(_not_finite(*bad), time, steady)
        effort = self._fall_back(time, rate_step)
        self._command = Command(safety.mode, self._desired, effort, saturated)
        return self._command

    def _limited(self, requested: Array, dt: float) -> Array:
        """Return what may be commanded; a start or a change of the law goes over from the effort before it."""
        limiter = self._limiter
        if limiter.effort is None:
            gravity = self._gravity_effort()
            start = gravity if self.start_effort is None else self.start_effort
            limiter.start(start, gravity, self._start_time(start - gravity))
        elif self._changed:
            limiter.start(limiter.effort, requested, CHANGE_TIME)
        self._changed = False
        return limiter.limit(requested, dt)

    def _start_time(self, load: Array) -> float:
        """Return ``ramp_time``, or more where the law gives way to the ``load`` (n,) so far that it would be fast."""
        seconds = self.settings.ramp_time
        if seconds > 0.0 and load.any() and (self._gains.kp > 0.0).all():
            if self._tuning.law.gains_are_accelerations:
                load = np.asarray(np.linalg.solve(self.model.mass_matrix(self._feedback.state[0]), load))
            seconds = max(seconds, float(np.abs(load / self._gains.kp).max()) / _SAG_VELOCITY)
        return seconds

    def _law_effort(self) -> Array:
        law, desired = self._tuning.law, self._desired
        if self._feedback.known:
            q, qd = self._feedback.state
        else:
            q, qd = desired.q, desired.qd
        if isinstance(law, JointLaw):
            effort = law.torque(self.model, self._gains, desired, q, qd, self._integral.value)
            effort = self._with_friction(effort, desired.q, desired.qd)
            if law.follows:
                return effort + self._plan.effort
        # Ten times the law's bandwidth, but half of what the sampling carries.
        kd = self._gains.kd
        bandwidth = np.minimum(10.0 * kd, 0.4 / self.period) if self.period > 0.0 else kd
        allowed = self._brake.velocities(q, self._tuning.deceleration, bandwidth)
        if law.task_space:
            effort = self._hand_effort(q, qd, allowed)
        over = qd - np.minimum(np.maximum(qd, allowed[0]), allowed[1])
        return effort - self.model.mass_matrix(q) @ (bandwidth * over) if over.any() else effort

    def _hand_effort(self, q: Array, qd: Array, allowed: Array) -> Array:
        """The law in task space: the joints' plan is the posture, its effort is left out as it would move the hand.

        Friction is that of the target's own motion. Along the approach to it, too, it would be feedback with a gain of
        Coulomb torque by smoothing velocity, unstable where the model has more friction than the arm.
        """
        assert self._tuning.hand is not None
        found = self._hand.torque(self.model, self._tuning.hand, self._time, q, qd, self._desired, allowed)
        return self._with_friction(found.torque, q, found.joint_velocities)

    def _with_friction(self, effort: Array, q: Array, qd: Array) -> Array:
        if not self._tuning.adds_friction:
            return effort
        return effort + self.model.friction_torque(q, qd, self.settings.friction_smoothing_velocity)

    def _fall_back(self, time: float, dt: float) -> Array:
        """The effort while a check fails or a fault waits: gravity's, what holds the position, or none."""
        blind = not self._feedback.usable
        if self._command is not None and self._command.mode is Mode.ACTIVE:
            self._leave_law()
        self._brake.release()
        self._hand.hold()
        if blind:
            self._external.forget()
            if not self._resting or self._feedback.stale(self._decided_at) is not None:
                self._plan.hold(time, self._feedback.state[0] if self._feedback.known else self._plan.q)
                self._resting = False
        else:
            if not self._resting:
                self._rest(time)
            self._plan.advance(time)
        if self._safety.holds:
            with np.errstate(over="ignore", invalid="ignore"):  # looked at below
                requested = self._hold_effort(blind)
            bad = first_not_finite(self.model.joint_names, requested)
            if bad is None:
                return self._limited(requested, dt)
            self._safety.force_zero(_not_finite(*bad), time)
        self._resting = False  # without effort the arm goes anywhere
        self._load = self._offset = np.zeros(self._n)
        if self._stop is _EMERGENCY_STOP and self.settings.safety.emergency_stop_effect == "zero":
            return self._limiter.zero()
        return self._limited(np.zeros(self._n), dt)

    def _leave_law(self) -> None:
        """Keep what the law has commanded at rest beyond gravity's torque: that of a load which nobody told of."""
        self._load = self._offset = np.zeros(self._n)
        law, fault = self._tuning.law, self._safety.fault
        assert fault is not None
        if not (self._feedback.known and law.compensates_gravity and fault.cause in _KEEPS_LOAD):
            return self._integral.reset()
        q, still = self._feedback.state[0], np.zeros(self._n)
        if isinstance(law, JointLaw):
            at_rest = Motion(self._desired.q, still, still)
            load = law.torque(self.model, self._gains, at_rest, q, still, self._integral.value)
        else:
            assert self._limiter.effort is not None
            load = self._limiter.effort
        load = load - self.model.gravity_torque(q)
        margin = self._tuning.hold_margin
        if ((np.abs(load) <= margin) & np.isfinite(margin)).all():
            self._load = load
            if law.follows:
                self._offset = self._desired.q - q
        else:
            self._integral.reset()

    def _rest(self, time: float) -> None:
        """Slow down from the measured state, and hold the position that is reached."""
        q, qd = self._feedback.state
        qd = np.clip(qd, -self._damping.limits, self._damping.limits)  # faster is no velocity that anybody asked for
        longest = _QUICK_STOP if self._stop is None else _SLOW_STOP
        self._plan.rest_from(time, q, qd, np.maximum(self._tuning.deceleration, np.abs(qd) / longest))
        self._resting = True

    def _resume(self, time: float) -> None:
        """Let the law hold the position that the arm has, with the load that it had."""
        if self._feedback.known:
            self._plan.hold(time, self._desired.q + self._offset)
        self._resting, self._changed = False, True

    def _hold_effort(self, blind: bool) -> Array:
        """M qdd_d + g(q) + load + Kp e (within the margin) + Kd e'; g(q) if blind, or where damping drives the arm."""
        q, qd = self._feedback.state if self._feedback.known else (self._plan.q, self._plan.qd)
        if blind or self._damping.drives:
            return self.model.gravity_torque(q)
        spring, damping = self._gains.kp * (self._desired.q - q), self._gains.kd * (self._desired.qd - qd)
        inertia = self.model.mass_matrix(q)
        if self._tuning.law.gains_are_accelerations:
            spring, damping = inertia @ spring, inertia @ damping
        margin = self._tuning.hold_margin
        position: Array = np.clip(self._load + spring, -margin, margin)
        return self.model.gravity_torque(q) + inertia @ self._desired.qdd + position + damping

    def _why_not_active(self) -> str:
        assert self.fault is not None
        return f"{self.mode.value} ({self.fault.message}). Cure: end the cause, then call ~/clear_fault"

    def _set_motion_limits(self, tuning: Tuning) -> None:
        model = self._whole_model
        largest_velocity = model.velocity_limits + tuning.velocity_margin
        self._brake = Brake(model.soft_lower, model.soft_upper, model.velocity_limits)
        self._damping = DampingCheck(largest_velocity)
        self._feedback.set_plausible(tuning.position_step, largest_velocity)
        self._motion_limits = MotionLimits(
            model.joint_names,
            model.position_lower,
            model.position_upper,
            model.velocity_limits,
            tuning.position_margin,
            tuning.velocity_margin,
        )
        if self._feedback.known:
            self._motion_limits.accept(self._feedback.state[0])


def _safety_rules(safety: SafetySettings) -> tuple[str, str, float, str]:
    return safety.on_fault, safety.fault_reset, safety.stale_hold_time, safety.emergency_stop_effect


def _law_settings(s: ControllerSettings) -> tuple[object, ...]:
    """Return the settings whose change may step the command."""
    per_joint = s.natural_frequency, s.damping_ratio, s.kp, s.kd, s.ki
    friction = s.friction_compensation, s.friction_smoothing_velocity
    return s.law, s.task_space, *(tuple(values) for values in per_joint), *friction


def _margins(settings: ControllerSettings) -> tuple[list[float], ...]:
    safety = settings.safety
    return list(safety.position_limit_margin), list(safety.velocity_limit_margin), list(safety.position_step_limit)


def _not_finite(joint: str, value: float) -> Fault:
    return Fault(
        Cause.TORQUE_NOT_FINITE,
        f'joint "{joint}": the torque comes out as {value}. Cure: check desired motion and payload for huge numbers',
        joint,
        value,
    )

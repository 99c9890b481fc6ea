"""The controller: one cycle of trajectory, law, limits and safety, without ROS and without a clock."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.activation_check import holding_friction
from robot_dynamics_ros.control.active_law import ActiveLaw, Hold
from robot_dynamics_ros.control.feedback import Feedback, clock_jump, clock_leap
from robot_dynamics_ros.control.laws import LAWS, Motion
from robot_dynamics_ros.control.limits import Checks, EffortLimiter
from robot_dynamics_ros.control.safety import Cause, CycleRate, Fault, Mode, Safety, Transition, not_finite
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.task_space import EndEffectorState, EndEffectorTargets
from robot_dynamics_ros.control.trajectory.files import trajectory_effort
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.moved import former_attribute

_EMERGENCY_STOP = Fault(
    Cause.EMERGENCY_STOP, "emergency stop. Cure: publish false on ~/emergency_stop, then call ~/clear_fault"
)
_DEACTIVATED = Fault(Cause.DEACTIVATED, "the arm is stopped before the controller ends. Cure: activate it again")

CHANGE_TIME = 0.2
"""Seconds in which the command changes over to another law, payload or gain, or to the law after a fault."""

_QUICK_STOP, _SLOW_STOP = 0.1, 0.5  # s: the longest duration of a stop after a fault, and of one that was requested
_STOP_PATIENCE = 0.01  # s without a cycle, after which a stop does not wait for one
_STUCK_SHARE = 0.1  # of the effort limits: friction that may be missing in the model
_STOPPED_VELOCITY = 0.02  # rad/s or m/s


class Command(NamedTuple):
    """Result of a cycle.

    ``desired`` and ``effort`` (n,) belong to the controller and hold until its next cycle. ``saturated`` are
    the joints whose effort limit cut the command.
    """

    mode: Mode
    desired: Motion
    effort: Array
    saturated: tuple[str, ...]


class Controller:
    """Joint efforts from trajectories and measured states, and a safe fall-back when a check fails.

    Times are seconds. ``time`` is on one clock of the caller's choice, that of the trajectories; ``steady`` on
    one that never stands still or jumps, by which the age of the measured state counts. Before the first trajectory
    the arm holds the position of the first cycle.

    Attributes
    ----------
    model
        The robot as laws, hold, observer and trajectories with effort take it: without gravity where the robot
        compensates for it by itself.
    time
        Time of the last cycle, -inf before the first one.
    command
        Result of the last cycle, or None where nothing has been commanded yet.
    feedback
        The measured state, to be read only.
    cycles, clamped_cycles, slowed_cycles
        Counts of cycles that commanded something, were cut by an effort limit, were held back by a rate limit.
    trajectories
        Count of accepted trajectories.
    period
        Seconds from one cycle to the next, by the update rate, else by the states up to the last cycle;
        0 where it is not known.
    start_effort
        Effort (n,) of the motors before the first command, Nm or N; None: taken as the gravity torque.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        names, safety = model.joint_names, settings.safety
        self._tuning = tuning = Tuning(model, settings)
        self._model_with_gravity = model
        self.model = model.without_gravity() if settings.robot_compensates_gravity else model
        self.feedback = Feedback(names, settings.velocity_filter_cutoff, safety.state_timeout, model.continuous)
        self._safety = Safety(safety)
        self._limiter = EffortLimiter(tuning.effort_limits, tuning.effort_rates)
        self._rate = CycleRate(settings.update_rate)
        self._plan = MotionPlan(names)
        self._desired = Motion(self._plan.q, self._plan.qd, self._plan.qdd)
        self._law = ActiveLaw(model, tuning, self._plan)
        self._checks = Checks(model, tuning, self.feedback)
        self._hold = Hold(self._law, self._plan, self.feedback, self._checks)
        self._inertia: Array | None = None
        self._first_hold: Array | None = None
        self._stop: Fault | None = None
        self._engaged = self._changed = self._by_steady_clock = False
        self._decided_at = self._cycled_at = self._cycled_stamp = -math.inf
        self.time = -math.inf
        self.command: Command | None = None
        self.period = 1.0 / settings.update_rate if settings.update_rate > 0.0 else 0.0
        self.start_effort: Array | None = None
        self.cycles = self.clamped_cycles = self.slowed_cycles = self.trajectories = 0

    @property
    def settings(self) -> ControllerSettings:
        """The present settings."""
        return self._tuning.settings

    @property
    def mode(self) -> Mode:
        """The present mode."""
        return self._safety.mode

    @property
    def needs_state(self) -> bool:
        """True if the law uses the measured state."""
        return self._tuning.law.needs_state

    @property
    def fault(self) -> Fault | None:
        """The last failed check, or None."""
        return self._safety.fault

    @property
    def fault_count(self) -> int:
        """Count of the times that it left ``active``."""
        return self._safety.faults

    @property
    def late_cycles(self) -> int:
        """Cycles that came more than half a period late."""
        return self._rate.late

    @property
    def external_torque(self) -> Array | None:
        """Observed external torque (n,), Nm or N; None without an observer, or before its first estimate."""
        return self._checks.external.torque

    @property
    def end_effector(self) -> EndEffectorState | None:
        """Errors of the end effector; None under laws without targets, or while a check fails."""
        return self._law.end_effector

    hand = former_attribute("end_effector")

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
        """Count of the times that every trajectory was dropped: by a fault, another law, ``cancel``."""
        return self._plan.drops

    @property
    def speed_scaling(self) -> float:
        """Speed of trajectory time, as a share of the clock's."""
        return self._plan.speed

    @property
    def stopped(self) -> bool:
        """True if nothing is commanded, or the arm rests after a stop, or has no effort."""
        if self.command is None:
            return True
        if self.mode is Mode.ZERO:
            return not self.command.effort.any()
        rests = self.feedback.usable and float(np.abs(self.feedback.state[1]).max()) < _STOPPED_VELOCITY
        return self.mode is not Mode.ACTIVE and not self._plan.busy and rests

    def take_transitions(self) -> list[Transition]:
        """Return the transitions since the last call."""
        transitions, self._safety.transitions = self._safety.transitions, []
        return transitions

    def check_start(self, q: Array) -> None:
        """Raise RobotDynamicsError for gains that are unstable at this rate where the arm starts, at q (n,)."""
        self._tuning.check_sampling(self.period, self.model.mass_matrix(q).diagonal())

    def tune(self, settings: ControllerSettings) -> None:
        """Take new settings from the next cycle on, all of them or, with RobotDynamicsError, none."""
        before, tuning = self._tuning, Tuning(self._model_with_gravity, settings)
        before.check_change(tuning)
        changed = before.law_settings != tuning.law_settings
        if changed:
            tuning.check_sampling(self.period, self._inertia)
        if before.law is not tuning.law and not before.law.follows and not self._plan.empty:
            self._plan.hold(self.time, self.feedback.state[0])  # the law before did not move the arm along the plan
        self._law.tune(tuning, self._inertia)
        self._tuning = tuning
        self._changed |= changed
        self._safety.settings = settings.safety
        self._limiter.set(tuning.effort_limits, tuning.effort_rates)
        self.feedback.state_timeout = settings.safety.state_timeout
        if before.settings.velocity_filter_cutoff != settings.velocity_filter_cutoff:
            self.feedback.set_cutoff(settings.velocity_filter_cutoff)
        self._checks.tune(self._model_with_gravity, tuning)

    def set_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """Carry this payload in place of the one before; arguments and errors as RobotModel.with_payload."""
        self._model_with_gravity = self._model_with_gravity.with_payload(link, mass, com, inertia)
        self.model = self.model.with_payload(link, mass, com, inertia)
        self._changed = True

    def set_speed_scaling(self, factor: float) -> None:
        """Let trajectory time run at this share (0 to 1) of the clock's; RobotDynamicsError for other numbers."""
        self._plan.set_speed(factor)

    def hold_from_the_start(self, q: Array) -> None:
        """Hold q (n,), rad or m, from the first cycle on: the position in which an earlier run began."""
        self._first_hold = q.copy()

    def follow(self, points: TrajectoryPoints, start_time: float | None, now: float) -> Trajectory:
        """Take in a trajectory; it replaces the one before, with position and velocity continuous.

        ``start_time`` None: it starts at ``now``. Raises TrajectoryError, and keeps what it had, for
        points that cannot be followed now.
        """
        law = self._tuning.law
        if not (law.follows or law.task_space):
            raise TrajectoryError(f"the law {self.settings.law} follows none. Cure: set another law")
        self._require_active(TrajectoryError)
        measured = (self.feedback.state[0], self.feedback.state[1]) if self.feedback.known else None
        trajectory = self._plan.follow(
            points, start_time, now, self.settings.trajectories, measured, self._tuning.trajectory_limits
        )
        self.trajectories += 1
        return trajectory

    def targets(self) -> EndEffectorTargets:
        """Return the targets of the end effector; RobotDynamicsError where it follows none now."""
        if not self._tuning.law.task_space:
            raise RobotDynamicsError(
                f"the law {self.settings.law} follows none. Cure: set law to task_space_computed_torque"
            )
        self._require_active(RobotDynamicsError)
        return self._law.targets

    def _require_active(self, error: type[RobotDynamicsError]) -> None:
        if self.mode is not Mode.ACTIVE:
            assert self.fault is not None
            reason = f"{self.mode.value} ({self.fault.message})"
            raise error(f"the controller is in {reason}. Cure: end the cause, then call ~/clear_fault")
        if self.needs_state and not self.feedback.known:
            raise error("the state of the joints is not known yet. Cure: wait for joint_states")

    def cancel(self) -> None:
        """Drop trajectory and targets: the joints slow down to a stop, or stop at once, as the settings say."""
        self._law.drop_targets()
        if self.mode is Mode.ACTIVE and not self._plan.empty:
            self._plan.cancel(self.time, self._tuning.deceleration if self.settings.decelerate_on_cancel else None)

    def clear_fault(self, steady: float) -> None:
        """Go back to active: the arm holds its position. RobotDynamicsError names the check that still fails."""
        if self.mode is Mode.ACTIVE:
            return
        if self.feedback.known:
            self._checks.motion_limits.accept(self.feedback.state[0])
        stop, self._stop = self._stop, self._stop if self._engaged else None
        fault = self._failing(steady) or self._rate.fault
        if fault is not None:
            self._stop = stop
            raise RobotDynamicsError(f"not cleared: {fault.message}")
        self._safety.clear(self.time)

    def emergency_stop(self, engaged: bool) -> None:
        """Stop the arm by a fault; False permits ``clear_fault`` to end it, which nothing else does."""
        self._engaged = engaged
        if engaged:
            self._stop = _EMERGENCY_STOP

    def begin_stop(self) -> None:
        """Stop the arm for good: before the controller ends."""
        self._stop = self._stop or _DEACTIVATED

    def measure(self, stamp: float, steady: float, q: Array, qd: Array | None) -> bool:
        """Take in a measured state: ``q``, and ``qd`` or None where it is not measured, (n,), sent at ``stamp``.

        Returns True if it can be used.
        """
        effort = None if self.command is None else self.command.effort
        good = self.feedback.take(stamp, steady, q, qd, effort if self.mode is Mode.ACTIVE else None)
        if good and effort is not None:
            self._checks.external.observe(self.model, self.feedback, effort)
        return good

    def update(self, time: float, steady: float) -> Command | None:
        """Run one cycle at ``time``; return the command, or None while nothing can be commanded yet.

        A time that jumps back, or ahead by more than ``state_timeout`` beyond what has passed by the steady clock, is
        a fault that drops the trajectory.
        """
        feedback = self.feedback
        dt = 0.0 if self.command is None else time - self.time
        passed = steady - self._cycled_at
        self.time = time
        self._cycled_at, self._cycled_stamp = steady, feedback.stamp
        if not feedback.known and (self.needs_state or (self._stop is not None and self._plan.empty)):
            return None
        jump = None
        if dt < 0.0:
            jump = clock_jump(-dt)
        elif dt > passed + feedback.state_timeout:
            jump = clock_leap(dt - passed)
        since = max(steady - self._decided_at, 0.0)
        by_steady_clock = jump is not None or feedback.stamp_repeats
        if by_steady_clock:
            dt = since
        elif self._by_steady_clock:
            dt = min(dt, since)
        self._by_steady_clock = by_steady_clock  # then the next step counts from this cycle
        if jump is not None:
            self._rate.restart()
        late = self._rate.cycle(time, self.settings.safety.minimum_rate_ratio)
        if self._inertia is None:
            self._begin(time)
        fault = self._failing(steady, dt)
        self._safety.evaluate(fault or jump or late, time, steady, not feedback.usable)
        self._checks.check_damping(self.mode is Mode.ACTIVE, time)
        command = self._decide(time, steady, dt, since)
        if self.settings.update_rate == 0.0 and dt > 0.0 and not by_steady_clock:
            self.period = min(dt, 2.0 * self.period) if self.period > 0.0 else dt
        self.cycles += command is not None
        return command

    def watch(self, steady: float) -> Command | None:
        """Return the command where no usable state, or no cycle, has come; None where the last one stays."""
        since = steady - self._decided_at
        late = self._stop is not None and since > _STOP_PATIENCE
        if self.command is None or not (self.needs_state or late):
            return None
        # States come and cycles do not; in a paused simulation neither come.
        gap = min(steady - self._cycled_at, self.feedback.stamp - self._cycled_stamp)
        stalled = gap > self.feedback.state_timeout
        if not (stalled or late or self.feedback.missing(steady)):
            return None
        fault = self.feedback.fault(steady)
        if fault is None and stalled:
            cure = "Cure: see who publishes /clock, and use_sim_time"
            fault = Fault(Cause.CYCLE_RATE, f"no cycle for {gap:.3g} s, while joint_states go on. {cure}")
        self._safety.evaluate(self._stop or fault, self.time, steady, not self.feedback.usable)
        self._by_steady_clock = True
        return self._decide(self.time, steady, since, max(since, 0.0))

    def last_effort(self, steady: float) -> Array | None:
        """Return the final effort (n,) by ``on_fault``; None where nothing has been commanded."""
        if self.command is None or self.stopped:
            return None if self.command is None else self.command.effort
        zero = self.mode is Mode.ZERO or self.settings.safety.on_fault == "zero"
        effort = np.zeros(self.model.n) if zero else self._gravity_effort()
        return self._limiter.limit(effort, max(steady - self._decided_at, 0.0))

    def _begin(self, time: float) -> None:
        """Hold the position that the arm has in the first cycle."""
        if not self.feedback.known:
            self._law.gains = self._tuning.gains(np.ones(self.model.n))  # an open-loop law takes none
            return
        q = self.feedback.state[0] if self._first_hold is None else self._first_hold
        self._inertia = self.model.mass_matrix(q).diagonal().copy()
        self._law.begin(q, self._inertia)
        self._checks.motion_limits.accept(q)
        friction = 2.0 * holding_friction(self.model, q)
        self.feedback.set_breakaway_effort(friction + _STUCK_SHARE * self._tuning.effort_limits)
        if self._plan.empty:
            self._plan.hold(time, q)

    def _failing(self, steady: float, dt: float = 0.0) -> Fault | None:
        """Return the first check that fails, or None; ``dt`` seconds after the last cycle."""
        fault = self.feedback.fault(steady)
        if self._stop is not None:
            return self._stop
        if not self.needs_state and (fault is not None or not self.feedback.known):
            return None  # an open-loop law does without
        fault = fault or self._checks.check_motion(self.model.joint_names)
        if fault is None and self.mode is Mode.ACTIVE and dt > 0.0:
            fault = self._checks.check_lasting(self._desired.q, self._limiter, dt)
        return fault

    def _decide(self, time: float, steady: float, dt: float, since: float) -> Command | None:
        """Command the law's effort or the fall-back's, ``dt`` after the last one, or ``since`` by the steady clock."""
        safety, limiter = self._safety, self._limiter
        self._decided_at = steady
        # Rate limits use at most a period more than the steady clock: drives get efforts when they arrive, also late or
        # two at once. All else uses stamps, so that a replay, with other arrivals, gives the same commands.
        rate_dt = min(dt, since + (self.period if self.period > 0.0 else since))
        if safety.mode is Mode.ACTIVE:
            if self._plan.empty:
                return None
            if self.command is not None and self.command.mode is not Mode.ACTIVE:
                self._hold.resume(time)
                self._changed = True
            self._plan.advance(time)
            q, qd = self.feedback.state if self.feedback.known else (self._desired.q, self._desired.qd)
            requested = self._law.effort(self.model, q, qd, time, self.period)
            fault = not_finite(self.model.joint_names, requested)
            if fault is None:
                effort = self._limited(requested, rate_dt)
                saturated = limiter.over(self.model.joint_names, requested) if limiter.clamped else ()
                if any(self.settings.ki):
                    self._law.integral.add(self._desired.q - self.feedback.state[0], dt, requested - effort)
                self.clamped_cycles += limiter.clamped
                self.slowed_cycles += limiter.slowed
                self.command = Command(Mode.ACTIVE, self._desired, effort, saturated)
                return self.command
            safety.evaluate(fault, time, steady)
        effort = self._fall_back(time, steady, rate_dt)
        self.command = Command(safety.mode, self._desired, effort, ())
        return self.command

    def _fall_back(self, time: float, steady: float, dt: float) -> Array:
        """Return the effort while a check fails or a fault waits: it holds the position, or is zero."""
        if self.command is not None and self.command.mode is Mode.ACTIVE:
            assert self.fault is not None
            self._hold.begin(self.model, self.fault, self.command.effort)
        self._hold.advance(time, steady, _QUICK_STOP if self._stop is None else _SLOW_STOP)
        if self._safety.holds:
            requested = self._hold.effort(self.model)
            fault = not_finite(self.model.joint_names, requested)
            if fault is None:
                return self._limited(requested, dt)
            self._safety.force_zero(fault, time)
        self._hold.release()
        if self._stop is _EMERGENCY_STOP and self.settings.safety.emergency_stop_effect == "zero":
            return self._limiter.zero()
        return self._limited(np.zeros(self.model.n), dt)

    def _limited(self, requested: Array, dt: float) -> Array:
        """Return the limited effort (n,); after a change of the law it fades over from the one before.

        At the start what ``start_effort`` has beyond the gravity torque is added, and fades away, under any law.
        """
        limiter = self._limiter
        if limiter.effort is None:
            gravity = self._gravity_effort()
            start = gravity if self.start_effort is None else self.start_effort
            limiter.start(start, gravity, self._law.start_duration(self.model, self.feedback.state[0], start - gravity))
        elif self._changed:
            limiter.start(limiter.effort, requested, CHANGE_TIME)
        self._changed = False
        return limiter.limit(requested, dt)

    def _gravity_effort(self) -> Array:
        """Return the gravity torque (n,) at the last known position; zeros where not finite."""
        effort = self.model.gravity_torque(self.feedback.state[0] if self.feedback.known else self._plan.q)
        return effort if np.isfinite(effort).all() else np.zeros(self.model.n)


def warm_up_controller(model: RobotModel, settings: ControllerSettings) -> None:
    """Do once what a controller does, so that every kernel is compiled and loaded."""
    model.warm_up()
    still, end_effector = np.zeros(model.n), model.link_names[-1]
    model.link_pose(still, end_effector)
    model.jacobian_dot_qd(still, still, end_effector)
    points = TrajectoryPoints(model.joint_names, np.array([0.1, 0.2]), np.zeros((2, model.n)))
    controller = Controller(model, dataclasses.replace(settings, observer_gain=10.0))
    for step in range(3):
        controller.measure(0.1 * step, 0.1 * step, still, still)
        controller.update(0.1 * step, 0.1 * step)
    if LAWS[settings.law].follows and controller.mode is Mode.ACTIVE:
        followed = controller.follow(points, None, 0.2)
        list(trajectory_effort(model, followed, points.joint_names, settings.trajectory_effort_period))

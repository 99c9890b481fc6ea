"""Controller: a cycle evaluates trajectory, control law, limits and safety. Without ROS and clocks."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.activation_check import holding_friction
from robot_dynamics_ros.control.active_law import ActiveLaw, Hold
from robot_dynamics_ros.control.feedback import Feedback, clock_jump, clock_jump_ahead
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

_DEACTIVATED = Fault(Cause.DEACTIVATED, "the controller stops the arm for deactivation. Cure: activate it again")

CHANGE_TIME = 0.2
"""Duration (s) of the transition to another law, payload or gain, and to the law after a fault."""

_QUICK_STOP, _SLOW_STOP = 0.1, 0.5  # s: longest duration of a stop after a fault, and of a requested one
_STOP_WAIT = 0.01  # s without a cycle, after which ``watch`` executes a requested stop
_STUCK_SHARE = 0.1  # share of the effort limits, for unmodelled friction
_STOPPED_VELOCITY = 0.02  # rad/s or m/s


class Command(NamedTuple):
    """Result of a cycle.

    Attributes
    ----------
    mode
        Mode of the controller.
    desired
        Desired motion; the controller reuses the arrays in its next cycle.
    effort
        Commanded effort (n,), Nm or N.
    saturated
        Names of the joints whose effort was clamped to its limit.
    """

    mode: Mode
    desired: Motion
    effort: Array
    saturated: tuple[str, ...]


class Controller:
    """Controller that computes joint efforts from trajectories and measured states, with a fall-back after faults.

    Times are seconds, with any origin. ``time`` is by the clock of the trajectories and stamps, chosen by the caller;
    ``steady`` is by a clock that never stops or jumps, for the age of states. Before the first trajectory the arm holds
    the position of the first cycle. ``on_fault`` and the like are fields of ``settings``. Modes: ``active`` runs the
    law, ``hold`` and ``zero`` hold the arm or command zero effort while a check fails, then ``fault`` until cleared.

    Attributes
    ----------
    model
        Model for laws, hold, observer and feedforward effort; without gravity if the robot compensates for it.
    time
        Time (s) of the last cycle, -inf before the first one.
    command
        Result of the last cycle; None before the first command.
    feedback
        Measured state; read-only.
    cycles, clamped_cycles, slowed_cycles, trajectories
        Numbers of cycles with a command, at an effort limit, at a rate limit, and of accepted trajectories.
    period
        Cycle period (s), by the update rate or else estimated from the stamps of the states; 0 if unknown.
    start_effort
        Effort (n,) of the motors before the first command, Nm or N; None: the gravity torque is assumed.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Create a controller of n joints; RobotDynamicsError, naming setting and cure, for invalid settings."""
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
        self._ending = self._changed = self._by_steady_clock = False
        self._decided_at = self._cycled_at = self._cycled_stamp = -math.inf
        self.time = -math.inf
        self.command: Command | None = None
        self.period = 1.0 / settings.update_rate if settings.update_rate > 0.0 else 0.0
        self.start_effort: Array | None = None
        self.cycles = self.clamped_cycles = self.slowed_cycles = self.trajectories = 0

    @property
    def settings(self) -> ControllerSettings:
        """Current settings."""
        return self._tuning.settings

    @property
    def mode(self) -> Mode:
        """Current mode."""
        return self._safety.mode

    @property
    def needs_state(self) -> bool:
        """True if the law uses the measured state."""
        return self._tuning.law.needs_state

    @property
    def fault(self) -> Fault | None:
        """Last fault, also after it was cleared; None before the first one."""
        return self._safety.fault

    @property
    def fault_count(self) -> int:
        """Number of transitions from the mode ``active`` to another."""
        return self._safety.faults

    @property
    def late_cycles(self) -> int:
        """Number of cycles that were more than half a period late; 0 without an update rate."""
        return self._rate.late

    @property
    def external_torque(self) -> Array | None:
        """External torque (n,), Nm or N, positive along the joint; None without observer or before an estimate."""
        return self._checks.external.torque

    @property
    def end_effector(self) -> EndEffectorState | None:
        """Errors of the end effector; None for joint-space laws, and in other modes than ``active``."""
        return self._law.end_effector

    hand = former_attribute("end_effector")

    @property
    def trajectory_time(self) -> float:
        """Trajectory time (s) of the last cycle: ``time`` less the delay by speed scaling."""
        return self._plan.trajectory_time

    @property
    def following(self) -> bool:
        """True while a trajectory runs or waits for its start."""
        return self._plan.busy

    @property
    def dropped_trajectories(self) -> int:
        """Number of times that all trajectories were dropped: by a fault, a change of law or ``cancel``."""
        return self._plan.drops

    @property
    def speed_scaling(self) -> float:
        """Speed factor of trajectory time, 0 to 1."""
        return self._plan.speed

    @property
    def stopped(self) -> bool:
        """True if nothing has been commanded, the arm rests after a stop, or the effort is zero in mode ``zero``."""
        if self.command is None:
            return True
        if self.mode is Mode.ZERO:
            return not self.command.effort.any()
        rests = self.feedback.usable and float(np.abs(self.feedback.state[1]).max()) < _STOPPED_VELOCITY
        return self.mode is not Mode.ACTIVE and not self._plan.busy and rests

    def take_transitions(self) -> list[Transition]:
        """Return the mode transitions since the last call, oldest first."""
        transitions, self._safety.transitions = self._safety.transitions, []
        return transitions

    def check_start(self, q: Array) -> None:
        """Raise RobotDynamicsError if gains are unstable at ``period`` (unless 0), with the inertia at ``q`` (n,)."""
        self._tuning.check_sampling(self.period, self.model.mass_matrix(q).diagonal())

    def tune(self, settings: ControllerSettings) -> None:
        """Apply new settings from the next cycle on.

        Raises RobotDynamicsError, naming setting and cure, for invalid settings; the old ones stay in effect.
        """
        before, tuning = self._tuning, Tuning(self._model_with_gravity, settings)
        before.check_change(tuning)
        changed = before.law_settings != tuning.law_settings
        if changed:
            tuning.check_sampling(self.period, self._inertia)
        if before.law is not tuning.law and not before.law.follows and not self._plan.empty:
            self._plan.hold(self.time, self.feedback.state[0])  # the previous law did not follow the plan
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
        """Replace the payload of the model: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m.

        ``inertia`` about it, (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2, and ``com`` are in the link's frame. Raises
        RobotModelError for invalid ones.
        """
        self._model_with_gravity = self._model_with_gravity.with_payload(link, mass, com, inertia)
        self.model = self.model.with_payload(link, mass, com, inertia)
        self._changed = True

    def set_speed_scaling(self, factor: float) -> None:
        """Set the speed factor of trajectory time: 1 full speed, 0 at rest; RobotDynamicsError outside 0 to 1."""
        self._plan.set_speed(factor)

    def hold_from_the_start(self, q: Array) -> None:
        """Hold q (n,), rad or m, from the first cycle on, not the measured position; call before the first cycle."""
        self._first_hold = q.copy()

    def follow(self, points: TrajectoryPoints, start_time: float | None, now: float) -> Trajectory:
        """Follow a trajectory; it replaces the previous one, with continuous position and velocity.

        The times of the points count from ``start_time`` (s), or from ``now`` (s) if it is None. Returns the
        trajectory, its times in ``trajectory_time``. Raises TrajectoryError for an invalid trajectory, a law that
        follows none, and in other modes than ``active``; the previous trajectory is then kept.
        """
        law = self._tuning.law
        if not (law.follows or law.task_space):
            raise TrajectoryError(f"the law {self.settings.law} does not follow trajectories. Cure: set another law")
        self._require_active(TrajectoryError)
        measured = (self.feedback.state[0], self.feedback.state[1]) if self.feedback.known else None
        trajectory = self._plan.follow(
            points, start_time, now, self.settings.trajectories, measured, self._tuning.trajectory_limits
        )
        self.trajectories += 1
        return trajectory

    def targets(self) -> EndEffectorTargets:
        """Return the targets of the end effector, to which new ones can be added.

        Raises RobotDynamicsError for joint-space laws, in other modes than ``active``, and before the first state.
        """
        if not self._tuning.law.task_space:
            raise RobotDynamicsError(
                f"the law {self.settings.law} does not follow targets. Cure: set law to task_space_computed_torque"
            )
        self._require_active(RobotDynamicsError)
        return self._law.targets

    def _require_active(self, error: type[RobotDynamicsError]) -> None:
        if self.mode is not Mode.ACTIVE:
            assert self.fault is not None
            reason = f"{self.mode.value} ({self.fault.message})"
            raise error(f"the controller is in {reason}. Cure: remove the cause, then call ~/clear_fault")
        if self.needs_state and not self.feedback.known:
            raise error("the state of the joints is unknown. Cure: wait for joint_states")

    def cancel(self) -> None:
        """Drop trajectories and targets; the joints decelerate, or stop at once without ``decelerate_on_cancel``."""
        self._law.drop_targets()
        if self.mode is Mode.ACTIVE and not self._plan.empty:
            self._plan.cancel(self.time, self._tuning.deceleration if self.settings.decelerate_on_cancel else None)

    def clear_fault(self, steady: float) -> None:
        """Return to the mode ``active``, where the arm holds its position.

        Without a fault nothing changes. Raises RobotDynamicsError, naming the check, while a check fails at the time
        ``steady`` (s), before an emergency stop has taken effect, and after ``begin_stop``.
        """
        if self._ending:
            raise RobotDynamicsError(f"not cleared: {_DEACTIVATED.message}")
        if self.mode is Mode.ACTIVE:
            if self._stop is not None:
                raise RobotDynamicsError(
                    "not cleared: the emergency stop takes effect in the next cycle. Cure: call ~/clear_fault again "
                    "after the next joint_states"
                )
            return
        if self.feedback.known:
            self._checks.motion_limits.accept(self.feedback.state[0])
        stop, self._stop = self._stop, None
        fault = self._failing(steady) or self._rate.fault
        if fault is not None:
            self._stop = stop
            raise RobotDynamicsError(f"not cleared: {fault.message}")
        self._safety.clear(self.time)

    def emergency_stop(self, source: str) -> None:
        """Stop the arm until ``clear_fault``; the fault names the ``source`` of the stop."""
        text = f"emergency stop by {source}. Cure: release it (false on a topic), then call ~/clear_fault"
        self._stop = Fault(Cause.EMERGENCY_STOP, text)

    def begin_stop(self) -> None:
        """Start to stop the arm before deactivation; ``stopped`` is True when it rests. This cannot be undone."""
        self._ending = True
        self._stop = self._stop or _DEACTIVATED

    def measure(self, stamp: float, steady: float, q: Array, qd: Array | None) -> bool:
        """Process a measured state; return True if it is valid, otherwise the next ``update`` detects a fault.

        ``stamp`` (s) is the time of measurement by the clock of ``time``, ``steady`` (s) that of arrival, ``q`` (n,)
        the position (rad or m), ``qd`` (n,) the velocity, or None if it is not measured.
        """
        effort = None if self.command is None else self.command.effort
        good = self.feedback.take(stamp, steady, q, qd, effort if self.mode is Mode.ACTIVE else None)
        if good and effort is not None:
            self._checks.external.observe(self.model, self.feedback, effort)
        return good

    def update(self, time: float, steady: float) -> Command | None:
        """Run a cycle at ``time`` (s) and return the command, or None before the first valid state.

        ``steady`` (s) is the same moment by the steady clock. A time that jumps back, or ahead of the steady clock by
        more than ``state_timeout``, is a fault that drops the trajectory.
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
            jump = clock_jump_ahead(dt - passed)
        since = max(steady - self._decided_at, 0.0)
        by_steady_clock = jump is not None or feedback.stamp_repeats
        if by_steady_clock:
            dt = since
        elif self._by_steady_clock:
            dt = min(dt, since)
        self._by_steady_clock = by_steady_clock  # the next step is limited to the time since this cycle
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
        """Return a new command if valid states or cycles are missing at ``steady`` (s), else None; call it at 50 Hz."""
        since = steady - self._decided_at
        late = self._stop is not None and since > _STOP_WAIT
        if self.command is None or not (self.needs_state or late):
            return None
        # States without cycles. In a paused simulation there are neither.
        gap = min(steady - self._cycled_at, self.feedback.stamp - self._cycled_stamp)
        stalled = gap > self.feedback.state_timeout
        if not (stalled or late or self.feedback.missing(steady)):
            return None
        fault = self.feedback.fault(steady)
        if fault is None and stalled:
            cure = "Cure: check the publisher of /clock, and use_sim_time"
            fault = Fault(Cause.CYCLE_RATE, f"no cycle for {gap:.3g} s, although joint_states arrive. {cure}")
        self._safety.evaluate(self._stop or fault, self.time, steady, not self.feedback.usable)
        self._by_steady_clock = True
        return self._decide(self.time, steady, since, max(since, 0.0))

    def last_effort(self, steady: float) -> Array | None:
        """Return the effort (n,), Nm or N, to command last, before deactivation; None if nothing has been commanded.

        It is the last one if the arm ``stopped``, else the gravity torque or zero by ``on_fault``, rate limited.
        """
        if self.command is None or self.stopped:
            return None if self.command is None else self.command.effort
        zero = self.mode is Mode.ZERO or self.settings.safety.on_fault == "zero"
        effort = np.zeros(self.model.n) if zero else self._gravity_effort()
        return self._limiter.limit(effort, max(steady - self._decided_at, 0.0))

    def _begin(self, time: float) -> None:
        """Initialise law and checks in the first cycle, and hold its position."""
        if not self.feedback.known:
            self._law.gains = self._tuning.gains(np.ones(self.model.n))  # not used by an open-loop law
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
        """Return the fault of the first check that fails, or None, ``dt`` (s) after the last cycle."""
        fault = self.feedback.fault(steady)
        if self._stop is not None:
            return self._stop
        if not self.needs_state and (fault is not None or not self.feedback.known):
            return None  # an open-loop law needs no state
        fault = fault or self._checks.check_motion(self.model.joint_names)
        if fault is None and self.mode is Mode.ACTIVE and dt > 0.0:
            fault = self._checks.check_lasting(self._desired.q, self._limiter, dt)
        return fault

    def _decide(self, time: float, steady: float, dt: float, since: float) -> Command | None:
        """Return the command of law or fall-back, ``dt`` (s) after the last one, or ``since`` by the steady clock."""
        safety, limiter = self._safety, self._limiter
        self._decided_at = steady
        # Rate limits are for the drives, so they use arrival times plus at most a period. All else uses stamps, so that
        # a replay, with other arrival times, gives the same commands.
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
        """Return the effort during a fault: hold, or zero."""
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
        emergency = self._stop is not None and self._stop.cause is Cause.EMERGENCY_STOP
        if emergency and self.settings.safety.emergency_stop_effect == "zero":
            return self._limiter.zero()
        return self._limited(np.zeros(self.model.n), dt)

    def _limited(self, requested: Array, dt: float) -> Array:
        """Return the limited effort (n,); a change of the law starts a ramp from the previous effort.

        At the start the ramp is from ``start_effort``, relative to the gravity torque.
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
        """Return the gravity torque (n,) at the last known position; zeros if it is not finite."""
        effort = self.model.gravity_torque(self.feedback.state[0] if self.feedback.known else self._plan.q)
        return effort if np.isfinite(effort).all() else np.zeros(self.model.n)


def warm_up_controller(model: RobotModel, settings: ControllerSettings) -> None:
    """Compile and load all kernels that a controller with these settings uses, so that no cycle is delayed."""
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

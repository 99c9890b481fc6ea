"""The controller: trajectory, law and safety put together, cycle by cycle. It knows neither ROS nor clocks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.control.cycle_rate import CycleRate
from robot_dynamics_ros.control.external_torque import ExternalTorque
from robot_dynamics_ros.control.faults import Cause, Fault, first_not_finite
from robot_dynamics_ros.control.feedback import Feedback, clock_jump, clock_leap
from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.hand_control import HandControl, HandState
from robot_dynamics_ros.control.hand_targets import HandTargets
from robot_dynamics_ros.control.integral import ErrorIntegral
from robot_dynamics_ros.control.laws import JointLaw, Motion
from robot_dynamics_ros.control.limits import EffortLimiter, MotionLimits
from robot_dynamics_ros.control.motion_plan import MotionPlan
from robot_dynamics_ros.control.safety import DampingCheck, Mode, Safety, Transition
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]

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
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        self._whole_model = model
        self._n = model.n
        names = model.joint_names
        self._tuning = tuning = Tuning(model, settings)
        self.model = model.without_gravity() if settings.robot_compensates_gravity else model
        safety = settings.safety
        self._feedback = Feedback(names, settings.velocity_filter_cutoff, safety.state_timeout)
        self._safety = Safety(safety.on_fault, safety.fault_reset, safety.stale_hold_time)
        self._limiter = EffortLimiter(tuning.effort_limits, tuning.effort_rates, settings.ramp_time)
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

    # What a user changes while it runs

    def tune(self, settings: ControllerSettings) -> None:
        """Take new settings from the next cycle on, all of them or, with RobotDynamicsError, none."""
        tuning = Tuning(self._whole_model, settings)
        self._tuning.check_change(tuning)
        self._change_law(self._tuning, tuning)
        before, self._tuning = self._tuning.settings, tuning
        safety = settings.safety
        if before.velocity_filter_cutoff != settings.velocity_filter_cutoff:
            self._feedback.set_cutoff(settings.velocity_filter_cutoff)
        self._feedback.state_timeout = safety.state_timeout
        self._safety.set(safety.on_fault, safety.fault_reset, safety.stale_hold_time)
        if _margins(before) != _margins(settings):
            self._set_motion_limits(tuning)
        if (before.observer_gain, before.friction_smoothing_velocity) != (
            settings.observer_gain,
            settings.friction_smoothing_velocity,
        ):
            self._external = ExternalTorque(settings.observer_gain, settings.friction_smoothing_velocity)
        self._limiter.set(tuning.effort_limits, tuning.effort_rates, settings.ramp_time)
        if self._inertia is not None:
            gains = tuning.gains(self._inertia)
            self._integral.keep_torque(self._gains.ki, gains.ki)
            self._gains = gains

    def _change_law(self, before: Tuning, after: Tuning) -> None:
        """Let arm and hand stay where they are, where the law that takes over would pull them elsewhere."""
        if before.law is not after.law and not before.law.follows and not self._plan.empty:
            self._plan.hold(self._time, self._feedback.state[0])  # where somebody, or the hand, has led the arm
        old, new = before.hand, after.hand
        if old is None or new is None or (old.link, old.rows) != (new.link, new.rows):
            self._hand.hold()
        self._hand.targets.timeout = after.settings.task_space.target_timeout

    def set_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """Carry this payload in place of the one before; arguments and errors as RobotModel.with_payload."""
        self._whole_model = self._whole_model.with_payload(link, mass, com, inertia)
        self.model = self.model.with_payload(link, mass, com, inertia)

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
        trajectory = self._plan.follow(points, start_time, now, self.settings.trajectories, measured)
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
        fault = self._failing(steady) or self._rate.fault
        if fault is not None:
            raise RobotDynamicsError(f"not cleared: {fault.message}")
        self._safety.clear(self._time)

    # Cycles

    def measure(self, stamp: float, steady: float, q: Array, qd: Array | None) -> bool:
        """Take in a measured state: ``q``, and ``qd`` or None where it is not measured, (n,), sent at ``stamp``.

        Returns whether it can be used.
        """
        good = self._feedback.take(stamp, steady, q, qd)
        if good and self._command is not None:
            self._external.observe(self.model, self._feedback, self._limiter.effort)
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
        if not feedback.known and self._tuning.law.needs_state:
            return None
        jump = None
        if dt < 0.0:
            jump, dt = clock_jump(-dt), 0.0
            self._rate.restart()
        elif dt > passed + self._feedback.state_timeout:
            jump = clock_leap(dt - passed)
        late = self._rate.cycle(time, self.settings.safety.minimum_rate_ratio)
        if self._inertia is None:
            self._begin(time)
        fault = self._failing(steady)
        self._safety.evaluate(fault or jump or late, time, steady, not feedback.usable)
        self._look_at_damping(time)
        command = self._decide(time, dt, steady)
        self.cycles += command is not None
        return command

    def watch(self, steady: float) -> Command | None:
        """Return what to command where no usable state, or no cycle, has come; None while there is nothing to say."""
        if self._command is None or not self._tuning.law.needs_state:
            return None
        stalled = self._stalled(steady)
        if stalled is None and not self._feedback.missing(steady):
            return None
        fault = self._feedback.fault(steady) or stalled
        self._safety.evaluate(fault, self._time, steady, not self._feedback.usable)
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

    def last_effort(self) -> Array | None:
        """Effort (n,) to leave behind, as ``on_fault`` says; None where nothing has been commanded."""
        if self._command is None:
            return None
        if self.mode is Mode.ZERO or self.settings.safety.on_fault == "zero":
            return np.zeros(self._n)
        return self._gravity_effort()

    def _gravity_effort(self) -> Array:
        """Return the gravity torque (n,) at the last known position, within the limits; zeros where not finite."""
        q = self._feedback.state[0] if self._feedback.known else self._plan.q
        effort = self.model.gravity_torque(q)
        if not np.isfinite(effort).all():
            return np.zeros(self._n)
        return np.clip(effort, -self._tuning.effort_limits, self._tuning.effort_limits)

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
        self._hand.begin(q)
        if self._plan.empty:
            self._plan.hold(time, q)

    def _failing(self, steady: float) -> Fault | None:
        """The first check that fails, in the order in which they are made."""
        feedback = self._feedback
        fault = feedback.fault(steady)
        if not self._tuning.law.needs_state and (fault is not None or not feedback.known):
            return None  # an open-loop law does without
        if fault is None:
            fault = self._motion_limits.check(feedback.state)
        return fault or self._external.collision(self.model.joint_names, self._tuning.collision_threshold)

    def _decide(self, time: float, dt: float, steady: float) -> Command | None:
        safety, limiter = self._safety, self._limiter
        self._decided_at = steady
        saturated: tuple[str, ...] = ()
        if safety.mode is Mode.ACTIVE:
            if self._plan.empty:
                return None
            self._plan.advance(time)
            wanted = self._law_effort()
            bad = first_not_finite(self.model.joint_names, wanted)
            if bad is None:
                effort = self._limited(wanted, dt)
                if limiter.clamped:
                    self.clamped_cycles += 1
                    saturated = limiter.over(self.model.joint_names, wanted)
                if self._gains.ki.any():
                    self._integral.add(self._desired.q - self._feedback.state[0], dt, wanted, limiter.limits)
                self.slowed_cycles += limiter.slowed
                self._command = Command(Mode.ACTIVE, self._desired, effort, saturated)
                return self._command
            safety.evaluate(_not_finite(*bad), time, steady)
        effort = self._fall_back(time, dt)
        self._command = Command(safety.mode, self._desired, effort, saturated)
        return self._command

    def _law_effort(self) -> Array:
        law, desired = self._tuning.law, self._desired
        if not isinstance(law, JointLaw):
            return self._hand_effort()
        if self._feedback.known:
            q, qd = self._feedback.state
        else:
            q, qd = desired.q, desired.qd
        effort = law.torque(self.model, self._gains, desired, q, qd, self._integral.value)
        effort = self._with_friction(effort, desired.q, desired.qd)
        return effort + self._plan.effort if law.follows else effort

    def _hand_effort(self) -> Array:
        """The law in task space: the joints' plan is the posture, its effort is left out as it would move the hand.

        Friction is that of the target's own motion. Along the approach to it, too, it would be feedback with a gain of
        Coulomb torque by smoothing velocity, unstable where the model has more friction than the arm.
        """
        assert self._tuning.hand is not None
        q, qd = self._feedback.state
        found = self._hand.torque(self.model, self._tuning.hand, self._time, q, qd, self._desired)
        return self._with_friction(found.torque, q, found.joint_velocities)

    def _with_friction(self, effort: Array, q: Array, qd: Array) -> Array:
        if not self._tuning.adds_friction:
            return effort
        return effort + self.model.friction_torque(q, qd, self.settings.friction_smoothing_velocity)

    def _fall_back(self, time: float, dt: float) -> Array:
        """The effort while a check fails or a fault waits: the arm's weight and damping, or none."""
        self._integral.reset()
        self._hand.hold()
        self._plan.hold(time, self._feedback.state[0] if self._feedback.known else self._plan.q)
        blind = not self._feedback.usable
        if blind:
            self._external.forget()
        if self._safety.holds:
            wanted = self._hold_effort(blind)
            bad = first_not_finite(self.model.joint_names, wanted)
            if bad is None:
                return self._limited(wanted, dt)
            self._safety.force_zero(_not_finite(*bad), time)
        return self._limiter.zero()

    def _limited(self, wanted: Array, dt: float) -> Array:
        if self._limiter.starting:
            self._limiter.start_from(self._gravity_effort())
        return self._limiter.limit(wanted, dt)

    def _hold_effort(self, blind: bool) -> Array:
        """g(q), and damping as strong as the law's where the velocity is known, unless that drives the arm."""
        q, qd = (self._plan.q, self._plan.qd) if blind else self._feedback.state
        if self._damping.drives:
            return self.model.gravity_torque(q)
        if self._tuning.law.gains_are_accelerations:
            return self.model.inverse_dynamics(q, np.zeros(self._n), -self._gains.kd * qd)
        return self.model.gravity_torque(q) - self._gains.kd * qd

    def _why_not_active(self) -> str:
        assert self.fault is not None
        return f"{self.mode.value} ({self.fault.message}). Cure: end the cause, then call ~/clear_fault"

    def _set_motion_limits(self, tuning: Tuning) -> None:
        model = self._whole_model
        self._damping = DampingCheck(model.velocity_limits + tuning.velocity_margin)
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


def _margins(settings: ControllerSettings) -> tuple[list[float], list[float]]:
    return list(settings.safety.position_limit_margin), list(settings.safety.velocity_limit_margin)


def _not_finite(joint: str, value: float) -> Fault:
    return Fault(
        Cause.TORQUE_NOT_FINITE,
        f'joint "{joint}": the torque comes out as {value}. Cure: check desired motion and payload for huge numbers',
        joint,
        value,
    )

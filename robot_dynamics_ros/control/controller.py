"""Controller: a cycle goes from the measured state to the command. Without ROS and clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    TrajectoryError,
    without_cure,
)
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.active_law import ActiveLaw
from robot_dynamics_ros.control.checks.activation_check import holding_friction
from robot_dynamics_ros.control.checks.cycle_checks import Checks, not_finite
from robot_dynamics_ros.control.clock import CycleClock, Instant
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controlled_arm import ControlledArm, check_holds
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTargets,
)
from robot_dynamics_ros.control.estimation.effort_reports import EffortReports
from robot_dynamics_ros.control.estimation.estimator import Estimate, Estimator
from robot_dynamics_ros.control.estimation.external_torque import ExternalTorque
from robot_dynamics_ros.control.estimation.response import Response
from robot_dynamics_ros.control.hold import Hold
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.laws import LAWS, Motion
from robot_dynamics_ros.control.limits import EffortLimiter, stopping_deceleration
from robot_dynamics_ros.control.safety import Cause, Mode, Safety
from robot_dynamics_ros.control.thresholds import (
    CHANGE_TIME,
    LONGEST_FAULT_STOP,
    LONGEST_REQUESTED_STOP,
    LONGEST_STEP_PERIODS,
    MOVED_DISTANCE,
    STOP_WAIT,
    STOPPED_VELOCITY,
)
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class Controller:
    """Controller that computes joint efforts from trajectories and measured states, with a fall-back after faults.

    ``time`` (s) is by the clock of the trajectories and stamps, ``steady`` (s) by a clock that never stops or jumps.
    Before the first trajectory the arm holds the position of the first cycle. ``on_fault`` is a field of the settings.

    Attributes
    ----------
    arm, safety
        Robot with payload, settings and brakes; modes, faults and stops. Both may outlive the controller.
    clock, estimator, external, response, reports, plan, law, checks, limiter
        Times, estimate of the state, external torque, response to efforts, reported efforts, desired motion, control
        law, checks, and limiter of the effort.
    command
        Result of the last cycle; None before the first command.
    cycles, clamped_cycles, slowed_cycles, trajectories, refusals
        Numbers of regular cycles with a command, of cycles at an effort limit and at a rate limit, and of accepted and
        refused trajectories.
    refusal
        Reason of the last refusal, "" before the first one.
    """

    def __init__(
        self,
        arm: ControlledArm,
        safety: Safety,
        held: Array | None = None,
        *,
        period: float = 0.0,
        simulated_time: bool = False,
    ) -> None:
        """Create a controller of ``arm``.

        It holds ``held`` (n,), rad or m, from the first cycle on, or the position then measured. ``period`` (s) is that
        of the states, if there is no update rate; 0: unknown. With ``simulated_time`` stamps are simulated time.
        """
        robot = arm.robot
        tuning = arm.tuning
        settings = tuning.settings
        self.arm = arm
        self.safety = safety
        safety.begin(settings.safety)
        self.clock = CycleClock(settings.update_rate, period)
        self.estimator = Estimator(
            robot.joint_names,
            settings.velocity_filter_cutoff,
            settings.safety.state_timeout,
            # Drives count the turns of their positions themselves, and a turn that is not reported would be commanded.
            None if tuning.has_drive_loop else robot.continuous,
            simulated_time,
        )
        self.estimator.tune(tuning)
        self.external = ExternalTorque(tuning)
        self.response = Response(robot.n)
        self.reports = EffortReports()
        self.plan = MotionPlan(robot.joint_names)
        self.law = ActiveLaw(arm, self.plan)
        self.limiter = EffortLimiter(tuning.effort_limits, tuning.effort_rates)
        self.checks = Checks(
            robot,
            tuning,
            self.external,
            self.response,
            self.reports,
        )
        self.command: Command | None = None
        self.cycles = self.clamped_cycles = self.slowed_cycles = 0
        self.trajectories = self.refusals = 0
        self.refusal = ""
        self._names = robot.joint_names
        self._hold = Hold(arm, self.law, self.plan)
        self._desired = Motion(self.plan.q, self.plan.qd, self.plan.qdd)
        self._start_position = held
        self._start_effort: Array | None = None
        self._inertia: Array | None = None
        self._model = arm.model  # of the last command
        self._law_changed = False

    @property
    def tuning(self) -> Tuning:
        """Current settings as arrays."""
        return self.arm.tuning

    @property
    def settings(self) -> ControllerSettings:
        """Current settings."""
        return self.arm.tuning.settings

    @property
    def mode(self) -> Mode:
        """Current mode."""
        return self.safety.mode

    def start_from(self, effort: Array | None) -> None:
        """Start at this ``effort`` (n,) of the motors, Nm or N, before the first command; None: the gravity torque."""
        self._start_effort = effort

    # Messages

    def note_arrival(self, steady: float) -> None:
        """Detect missing states at ``steady`` (s), before a message of the joints is processed.

        No timer runs in a stopped process (SIGSTOP).
        """
        if self.estimator.stale(steady):
            self.watch(steady)

    def measure(
        self,
        stamp: float,
        steady: float,
        q: Array,
        qd: Array | None,
        effort: Array | None = None,
    ) -> bool:
        """Process a measured state; return True if it is valid, otherwise the next cycle detects a fault.

        ``stamp`` (s) is the time of measurement, ``steady`` that of arrival, ``q`` (n,) the position (rad or m), ``qd``
        (n,) the velocity and ``effort`` (n,), Nm or N, the reported one, or None if they are not measured.
        """
        if self.arm.brakes_engaged:
            self.reports.reset()
        elif effort is not None:
            self.reports.report(steady, effort)
        valid = self.estimator.measure(stamp, steady, q, qd)
        if self.arm.brakes_engaged:
            self.external.reset()  # the torque of the brakes is no contact
            self.response.reset()
        elif valid and self.command is not None:
            estimate = self.estimator.estimate
            given = self.command.effort
            model = self.arm.model
            if self.estimator.refutes:
                self.response.reset()
            else:
                self.response.observe(model, estimate, given, self.tuning)
            self.external.observe(model, estimate, given)
        return valid

    # Cycles

    def update(self, time: float, steady: float) -> Command | None:
        """Run a cycle at ``time`` and ``steady`` and return the command, or None before the first valid state.

        A time that jumps back, or ahead of the steady clock by more than ``state_timeout``, is a fault.
        """
        known = self.estimator.estimate.known
        if not known and (
            self.tuning.law.needs_state
            or (self.safety.stop is not None and self.plan.empty)
        ):
            self.clock.wait(time)
            return None
        estimate = self.estimator.cycle(steady)
        instant = self.clock.advance(
            time, steady, estimate, self.estimator.state_timeout
        )
        if self._inertia is None:
            self._begin(estimate, time)
        return self._cycle(estimate, instant)

    def watch(self, steady: float) -> Command | None:
        """Run a cycle if valid states or cycles are missing at ``steady`` (s), else return None; call it at 50 Hz.

        Cycles are also missing if states pause for more than 1.5 periods while a rate limit slows the effort.
        """
        waited = self.clock.since_command(steady)
        late = self.safety.stop is not None and waited > STOP_WAIT
        late |= (
            self.limiter.slowed
            and waited > LONGEST_STEP_PERIODS * self.clock.period > 0.0
        )
        if self.command is None or not (self.tuning.law.needs_state or late):
            return None
        stamp = self.estimator.estimate.stamp
        stalled = self.clock.missed(steady, stamp) > self.estimator.state_timeout
        if not (stalled or late or self.estimator.missing(steady)):
            return None
        return self._cycle(
            self.estimator.cycle(steady), self.clock.stand_still(steady, stamp)
        )

    def finish(self, steady: float) -> Command | None:
        """Return the command of the exit: the last one if the arm ``stopped``, else gravity or zero by ``on_fault``."""
        if self.command is None or self.stopped:
            return self.command
        estimate = self.estimator.cycle(steady)
        return self._cycle(
            estimate, self.clock.stand_still(steady, estimate.stamp), is_last=True
        )

    @property
    def stopped(self) -> bool:
        """True if nothing has been commanded, the arm rests after a stop, or the effort is zero in mode ``zero``."""
        if self.command is None:
            return True
        if self.mode is Mode.ZERO:
            return not self.command.effort.any()
        estimate = self.estimator.estimate
        rests = (
            estimate.trusted
            and float(np.abs(estimate.state[1]).max()) < STOPPED_VELOCITY
        )
        return (
            self.mode is not Mode.ACTIVE
            and not self.plan.busy
            and rests
            and not self.limiter.slowed
        )

    def _begin(self, estimate: Estimate, time: float) -> None:
        """Initialise law and checks in the first cycle, and hold its position."""
        if not estimate.known:
            return
        q = estimate.state[0] if self._start_position is None else self._start_position
        self._inertia = self.arm.model.mass_matrix(q).diagonal().copy()
        self.law.begin(q, self._inertia)
        self.checks.limits.accept(q)
        self._apply_gains(self.tuning)
        friction = holding_friction(self.arm.model, q)
        self.response.set_bounds(friction, self.arm.robot.effort_limits)
        if self.plan.empty:
            self.plan.hold(time, q)

    def _cycle(
        self, estimate: Estimate, instant: Instant, is_last: bool = False
    ) -> Command | None:
        """Return the command of a cycle by a state, timer, watchdog or exit; None without a desired motion."""
        drives = self.law.drives
        last = None if self.arm.brakes_engaged else self.command
        faults = self.checks.faults(self.tuning, estimate, instant, last)
        seen = estimate.valid
        if self.mode is Mode.ZERO:
            # An arm that was released is caught only by a prompt state in which all of its joints are trusted.
            seen = estimate.trusted and estimate.tolerance == 1.0
        elif drives is not None:
            seen = estimate.known  # they hold without states
        mode = self.safety.step(faults, instant.time, instant.steady, not seen)
        if drives is not None:
            distrusted = self.response.doubted | self.response.reversed
            distrusted |= self.estimator.replaces_velocities
            drives.begin(instant, estimate, distrusted)
        command: Command | None = None
        if is_last:
            zero = mode is Mode.ZERO or self.settings.safety.on_fault == "zero"
            if zero:
                effort = np.zeros(self.arm.model.n)
                self.law.release()
            else:
                effort = self._corrected(self._gravity_effort(estimate))
                if drives is not None:
                    drives.rest()
            effort = self.limiter.limit(effort, instant.limit_dt, instant.ramp_dt)
            command = self._command_of(mode, effort)
        elif mode is Mode.ACTIVE:
            if self.plan.empty:
                return None
            command = self._run_law(estimate, instant)
        self.command = command or self._fall_back(estimate, instant)
        drive = self.command.drive
        self.reports.command(self.command.effort if drive is None else drive.effort)
        self.clock.commanded(instant.steady)
        self.cycles += instant.regular
        return self.command

    def _run_law(self, estimate: Estimate, instant: Instant) -> Command | None:
        """Return the command of the law; None if its effort is not finite, which is then a fault."""
        limiter = self.limiter
        drives = self.law.drives
        desired = self._desired
        if self.command is not None and self.command.mode is not Mode.ACTIVE:
            self._hold.resume(estimate, instant.time)
            self._law_changed = True
        self.plan.advance(instant.time)
        q, qd = estimate.state if estimate.known else (desired.q, desired.qd)
        if self._is_moved(estimate) and self.plan.rests:
            self.plan.hold(instant.time, q)
        braked = self.arm.brakes_engaged
        if braked:
            requested = self._gravity_effort(estimate)
            if drives is not None:
                drives.rest()
        else:
            requested = self.law.effort(q, qd, instant.time, instant.period)
        fault = not_finite(self._names, requested)
        if fault is not None:
            self.safety.step([fault], instant.time, instant.steady)
            return None
        total = requested if drives is None else requested + drives.feedback
        effort = self._limited(requested, estimate, instant)
        saturated: tuple[str, ...] = ()
        if drives is not None or limiter.clamped:
            saturated = limiter.over(self._names, total)
        command = self._command_of(Mode.ACTIVE, effort, saturated)
        if self.law.gains.has_integral_gain and not braked:
            error = desired.q - q if drives is None else drives.error
            self.law.integral.add(error, instant.dt, total - command.effort)
        self.clamped_cycles += bool(saturated)
        self.slowed_cycles += limiter.slowed
        return command

    def _is_moved(self, estimate: Estimate) -> bool:
        """Return True if the arm is off the desired position of an open-loop law, which may not drive it."""
        if self.tuning.law.needs_state or not estimate.valid:
            return False
        off = np.abs(self.plan.q - estimate.state[0])
        return bool(
            (off > np.minimum(MOVED_DISTANCE, self.tuning.following_error)).any()
        )

    def _fall_back(self, estimate: Estimate, instant: Instant) -> Command:
        """Return the command during a fault: hold, or zero."""
        safety = self.safety
        if self.command is not None and self.command.mode is Mode.ACTIVE:
            assert safety.fault is not None
            self._hold.begin(estimate, instant, safety.fault, self.command.effort)
        longest_stop = (
            LONGEST_FAULT_STOP if safety.stop is None else LONGEST_REQUESTED_STOP
        )
        estimate = self.response.believed(estimate)
        self._hold.advance(estimate, instant, longest_stop, self.response)
        if self.reports.other >= 0 and estimate.trusted:
            self._hold.hold_measured(estimate)
        if not estimate.trusted:
            self.external.reset()
            self.response.reset()
        if safety.holds:
            requested = self._corrected(self._hold.effort(estimate))
            fault = not_finite(self._names, requested)
            if fault is None:
                effort = self._limited(requested, estimate, instant)
                return self._command_of(safety.mode, effort)
            safety.force_zero(fault, instant.time)
        emergency = (
            safety.stop is not None and safety.stop.cause is Cause.EMERGENCY_STOP
        )
        if emergency and self.settings.safety.emergency_stop_effect == "zero":
            self._hold.release()
            effort = self.limiter.zero()
        else:
            gravity = self._gravity_effort(estimate)
            requested = self._corrected(self._hold.fading_effort(gravity))
            effort = self._limited(requested, estimate, instant)
        self.law.release()
        return self._command_of(safety.mode, effort)

    def _command_of(
        self, mode: Mode, effort: Array, saturated: tuple[str, ...] = ()
    ) -> Command:
        """Return the command of a limited ``effort`` (n,), which is the feedforward of drives with their own loop."""
        drives = self.law.drives
        if drives is None:
            return Command(mode, self._desired, effort, saturated)
        effort, drive = drives.command(effort)
        return Command(mode, self._desired, effort, saturated, drive)

    def _corrected(self, effort: Array) -> Array:
        """Return ``effort`` (n,) with the other sign for reversed drives, unless they take a position only."""
        if self.tuning.takes_position_only:
            return effort
        return self.response.corrected(effort)

    def _limited(self, requested: Array, estimate: Estimate, instant: Instant) -> Array:
        """Return the limited effort (n,); a change of law or model starts a ramp from the previous effort.

        At the start the ramp is from the effort of ``start_from``, relative to the gravity torque.
        """
        limiter = self.limiter
        model = self.arm.model
        if self.law.drives is not None:
            requested = self.law.drives.within_limits(requested)
        if limiter.effort is None:
            gravity = self._gravity_effort(estimate)
            start = gravity if self._start_effort is None else self._start_effort
            seconds = self.law.start_duration(estimate.state[0], start - gravity)
            limiter.start(start, gravity, seconds)
        elif self._law_changed or model is not self._model:
            limiter.start(limiter.effort, requested, CHANGE_TIME)
        self._law_changed = False
        self._model = model
        return limiter.limit(
            requested, instant.limit_dt, instant.ramp_dt, self.safety.holds
        )

    def _gravity_effort(self, estimate: Estimate) -> Array:
        """Return the gravity torque (n,) at the last known position; zeros if it is not finite."""
        effort = self.arm.model.gravity_torque(
            estimate.state[0] if estimate.known else self.plan.q
        )
        return effort if np.isfinite(effort).all() else np.zeros(len(effort))

    # Requests

    def tune(self, settings: ControllerSettings) -> None:
        """Apply new settings from the next cycle on, but those that are read when the node is configured.

        These are ``update_rate``, ``robot_compensates_gravity``, ``command_interfaces`` and ``drive_compensates``.

        Raises RobotDynamicsError, naming setting and cure, for invalid settings; the old ones stay in effect.
        """
        before = self.arm.tuning
        tuning = Tuning(self.arm.robot, settings)
        estimate = self.estimator.estimate
        before.check_change(tuning)
        old, new = before.settings.drives, settings.drives
        unchanged = (old.stiffness, old.damping) == (new.stiffness, new.damping)
        if tuning.takes_position_only and not unchanged:
            raise RobotDynamicsError(
                "stiffness, damping: with command_interfaces [position] a change shifts all set points at once. Cure: "
                "deactivate the controller, then set them"
            )
        if estimate.known and not np.array_equal(
            before.effort_limits, tuning.effort_limits
        ):
            check_holds(self.arm.model, estimate.state[0], tuning.effort_limits)
        changed = before.law_settings != tuning.law_settings
        if changed:
            tuning.check_sampling(self.clock.period, self._inertia)
        if (
            before.law is not tuning.law
            and not before.law.follows
            and not self.plan.empty
        ):
            # the previous law did not follow the plan
            self.plan.hold(self.clock.time, estimate.state[0])
        self.law.tune(tuning, self._inertia)
        self._hold.tune(tuning)
        self.arm.tune(tuning)
        self._law_changed |= changed
        self.safety.tune(settings.safety)
        self.limiter.set(tuning.effort_limits, tuning.effort_rates)
        self.estimator.tune(tuning)
        self._apply_gains(tuning)
        self.external.tune(tuning)
        self.checks.limits.tune(tuning, estimate)

    def _apply_gains(self, tuning: Tuning) -> None:
        """Set the bounds that follow from gains and inertia, once that is known."""
        if self._inertia is not None:
            period = self.clock.period
            self.estimator.largest_lag = tuning.largest_lag(self._inertia, period)
            self.limiter.set_step_rates(tuning.step_rates(self._inertia))

    def set_brakes(self, engaged: bool) -> None:
        """Set the state of the robot's brakes; while they are ``engaged``, the gravity torque replaces the law.

        A change drops trajectories, targets, the integral of the position error and the load of the hold. The desired
        position is then the measured one, and the effort changes by a ramp.
        """
        if engaged is self.arm.brakes_engaged:
            return
        self.arm.set_brakes(engaged)
        estimate = self.estimator.estimate
        self.law.deactivate()
        self.law.integral.reset()
        self._hold.release()
        if estimate.known and not self.plan.empty:
            self.plan.hold(self.clock.time, estimate.state[0])
        self._law_changed = True

    def follow(
        self, points: TrajectoryPoints, start_time: float | None, now: float
    ) -> Trajectory:
        """Follow a trajectory, which replaces the previous one, and return it in trajectory time.

        The times of the points count from ``start_time`` (s), or from ``now`` (s) if it is None. With an open-loop law
        the motion begins in the measured state if the arm is not at the desired position. Raises TrajectoryError
        for an invalid one, a law that follows none, in other modes than ``active``, and with engaged brakes; the
        previous one then goes on.
        """
        law = self.tuning.law
        estimate = self.estimator.estimate
        if not (law.follows or law.task_space):
            raise TrajectoryError(
                f"the law {self.settings.law} does not follow trajectories. Cure: set another law"
            )
        self._require_active(TrajectoryError)
        measured = (estimate.state[0], estimate.state[1]) if estimate.known else None
        rules = self.settings.trajectories
        if self._is_moved(estimate):
            rules = replace(rules, interpolate_from_desired_state=False)
        limits = self.tuning.trajectory_limits
        checks_effort = points.effort is not None and limits.effort is not None
        if checks_effort and law.follows and law.needs_state:
            inertia = self.arm.model.mass_matrix(estimate.state[0])
            limits = limits._replace(compliance=self.tuning.compliance(inertia))
        trajectory = self.plan.follow(
            points,
            start_time,
            now,
            rules,
            measured,
            limits,
        )
        self.trajectories += 1
        return trajectory

    def refuse(self, reason: str) -> None:
        """Count a trajectory that is not followed for this ``reason``, for the status."""
        self.refusals += 1
        self.refusal = reason

    def targets(self) -> EndEffectorTargets:
        """Return the targets of the end effector, to which new ones can be added.

        Raises RobotDynamicsError for joint-space laws, in other modes than ``active``, with engaged brakes, and before
        the first state.
        """
        if not self.tuning.law.task_space:
            raise RobotDynamicsError(
                f"the law {self.settings.law} does not follow targets. Cure: set law to task_space_computed_torque"
            )
        self._require_active(RobotDynamicsError)
        return self.law.targets

    def _require_active(self, error: type[RobotDynamicsError]) -> None:
        if self.mode is not Mode.ACTIVE:
            assert self.safety.fault is not None
            cause = without_cure(self.safety.fault.message)
            raise error(
                f"the controller is in {self.mode.value} ({cause}). Cure: remove the cause, then call ~/clear_fault"
            )
        if self.arm.brakes_engaged:
            raise error(
                "the brakes are engaged. Cure: release them (false on ~/brakes_engaged)"
            )
        if self.tuning.law.needs_state and not self.estimator.estimate.known:
            raise error(
                "the state of the joints is unknown. Cure: wait for joint_states"
            )

    def cancel(self) -> None:
        """Drop trajectories and targets; the joints decelerate, or stop at once without ``decelerate_on_cancel``."""
        self.law.drop_targets()
        if self.mode is Mode.ACTIVE and not self.plan.empty:
            rows = self.arm.robot.limit_rows
            plan = self.plan
            deceleration = self.tuning.deceleration
            deceleration = stopping_deceleration(rows, plan.q, plan.qd, deceleration)
            plan.cancel(
                self.clock.time,
                deceleration if self.settings.decelerate_on_cancel else None,
            )

    def clear_fault(self, steady: float, trust_measured: bool = False) -> None:
        """Return to the mode ``active``; without a fault nothing changes.

        With ``trust_measured`` the last state of joints that are refuted is trusted again; there must be one. A
        position beyond its limit is accepted. Raises RobotDynamicsError, naming the reason, while a check fails at
        ``steady`` (s), and as ``Safety.clear`` does for stops; a refused request changes nothing.
        """
        estimator = self.estimator.accepting() if trust_measured else self.estimator
        estimate = estimator.at(steady)
        instant = self.clock.now(steady)
        limits = self.checks.limits
        if self.mode is not Mode.ACTIVE and estimate.known:
            self.checks.limits = limits.accepting(estimate.state[0])
        try:
            faults = self.checks.faults(self.tuning, estimate, instant, self.command)
            self.safety.clear(faults, self.clock.time)
        except RobotDynamicsError:
            self.checks.limits = limits
            raise
        self.estimator = estimator


def make_controller(robot: RobotModel, settings: ControllerSettings) -> Controller:
    """Return a controller with an arm and a safety of its own, for use without a session.

    Raises RobotDynamicsError, naming setting and cure, for invalid settings.
    """
    return Controller(ControlledArm(robot, settings), Safety(settings.safety))


def warm_up_controller(model: RobotModel, settings: ControllerSettings) -> None:
    """Compile and load all kernels that a controller uses, also after a change of its settings while it runs.

    Raises RobotDynamicsError for settings that do not fit the model.
    """
    model.warm_up()
    still = np.zeros(model.n)
    end_effector = model.link_names[-1]
    model.link_pose(still, end_effector)
    model.jacobian_dot_qd(still, still, end_effector)
    warm_up_cycles(model, replace(settings, observer_gain=10.0))


def warm_up_cycles(model: RobotModel, settings: ControllerSettings) -> None:
    """Compile and load the kernels that cycles with these settings use.

    Raises RobotDynamicsError for settings that do not fit the model.
    """
    still = np.zeros(model.n)
    points = TrajectoryPoints(
        model.joint_names, np.array([0.1, 0.2]), np.zeros((2, model.n))
    )
    controller = make_controller(model, settings)
    for step in range(3):
        controller.measure(0.1 * step, 0.1 * step, still, still)
        controller.update(0.1 * step, 0.1 * step)
    if LAWS[settings.law].follows and controller.mode is Mode.ACTIVE:
        followed = controller.follow(points, None, 0.2)
        list(
            trajectory_effort(
                model, followed, points.joint_names, settings.trajectory_effort_period
            )
        )

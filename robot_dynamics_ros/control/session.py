"""Controller session: lifecycle of a controller, from samples, requests and times to commands and events.

Independent of ROS, messages and clocks: with the same inputs, node and replay get bitwise equal commands. Stamps are
nanoseconds of the ROS clock, which in simulation is /clock, as in header.stamp; 0 is no stamp. ``now`` is the time of
the call by this clock and by a steady one that never stops or jumps.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.checks.first_states import FirstStates
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTarget,
)
from robot_dynamics_ros.control.estimation.clock import StampClock
from robot_dynamics_ros.control.interface import (
    ERROR,
    OK,
    WARN,
    Followed,
    Note,
    Now,
    Output,
    Sample,
    UnusableSample,
)
from robot_dynamics_ros.control.safety import Mode, Safety
from robot_dynamics_ros.control.trajectory.plan import checked_speed
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

WATCH_PERIOD = 0.02
"""Time (s) between the calls of ``ControllerSession.watch`` while states arrive."""

_MOST_OVERTAKEN = 3  # states in succession

_UNSTAMPED = "joint_states: no header.stamp, so that delays cannot be detected. Cure: set it in the driver"
_INACTIVE = "the node is not active. Cure: activate it"


class ControllerSession:
    """Controller with activation and deactivation.

    Payload, speed scaling, brakes and emergency stop persist over deactivation. An inactive session stores the last
    states for the activation check, and rejects motions.

    Attributes
    ----------
    arm
        Robot model with its payload.
    safety
        Modes, faults and stops.
    settings
        Current settings; ``tune`` changes them.
    controller
        Controller; None while the session is inactive.
    watch_period
        Time (s) until the next call of ``watch``.
    state_stamp
        Stamp (ns) of the last state since the activation that was fit for the law, by the ROS clock; 0: none yet.
    """

    def __init__(
        self,
        robot: RobotModel,
        settings: ControllerSettings,
        use_sim_time: bool = False,
        safety: Safety | None = None,
    ) -> None:
        """Create an inactive session; RobotDynamicsError, naming setting and cure, for invalid settings.

        With ``use_sim_time`` a state may be repeated while the ROS clock stands still. ``safety`` has
        the emergency stops of a session before.
        """
        Tuning(robot, settings)
        self.arm = ControlledArm(robot, settings.robot_compensates_gravity)
        self.safety = safety or Safety(settings.safety)
        self.controller: Controller | None = None
        self.settings = settings
        self._simulated_time = use_sim_time
        self._answers_states = settings.update_rate == 0.0
        self._speed = 1.0
        self._brakes_engaged = False
        self._first_states = FirstStates()
        self._notes: list[Note] = []
        self._answer = Output()
        self.watch_period = WATCH_PERIOD
        self._begin()

    def _begin(self) -> None:
        """Reset what belongs to one activation."""
        self.state_stamp = self._answered = 0
        self._clock = StampClock()
        self._answer = Output(number=self._answer.number)
        self._last: Sample | None = None
        self._pending: tuple[TrajectoryPoints, int] | None = None
        self._to_check = self._compares_effort = False
        self._repeated_at = -1  # ns by the ROS clock
        self._overtaken = 0  # states in succession

    # Activation and deactivation

    def activate(
        self, compare_effort: bool, held: Array | None = None, now: Now | None = None
    ) -> Output:
        """Activate the controller; the arm holds its position, or ``held`` (n,), rad or m, until a trajectory arrives.

        Raises RobotDynamicsError if the arm moves, the gains are unstable, an effort limit is below the gravity torque
        or, with ``compare_effort``, the measured effort contradicts it. These checks use the last states; if there are
        none that are newer than ``state_timeout`` at ``now`` and have a velocity, ``on_state`` makes them with the
        first ones.
        """
        controller = Controller(self.arm, self.settings, self.safety, held)
        controller.estimator.simulated_time = self._simulated_time
        controller.plan.set_speed(self._speed)
        controller.set_brakes(self._brakes_engaged)
        if now is not None:
            self._first_states.drop_old(now.steady - self.settings.safety.state_timeout)
        if self._answers_states:
            controller.clock.period = self._first_states.period
        checked = self._first_states.suffice(self.settings.safety)
        if checked:
            self._notes += self._first_states.check(controller, compare_effort)
        self._begin()
        self._to_check = not checked
        self._compares_effort = compare_effort
        self.controller = controller
        return self._output()

    def deactivate(self, now: Now) -> Output:
        """Deactivate the controller and return its final command, None in the output if nothing has been commanded.

        It is the last command after a stop, else gravity torque or zero by the setting ``on_fault``. To stop the arm,
        call ``safety.begin_stop`` and continue the cycles until ``controller.stopped`` is True.
        """
        controller = self.controller
        self.controller = None
        return Output() if controller is None else Output(controller.finish(now.steady))

    def tune(self, settings: ControllerSettings) -> None:
        """Apply new settings but ``update_rate`` and ``robot_compensates_gravity``, which need a new session.

        Raises RobotDynamicsError, naming setting and cure, for invalid settings, which change nothing.
        """
        if self.controller is not None:
            self.controller.tune(settings)
        else:
            Tuning(self.arm.robot, self.settings).check_change(
                Tuning(self.arm.robot, settings)
            )
        self.settings = settings

    # Cycles

    def on_state(self, sample: Sample | UnusableSample, now: Now) -> Output:
        """Process a measured state ``sample``, or an invalid message; without an update rate, run a cycle for it.

        While inactive, the state is stored and the output empty. Raises RobotDynamicsError if the checks of
        ``activate`` were left to this state and fail; the caller then has to deactivate the session.
        """
        controller = self.controller
        if controller is None:
            if isinstance(sample, Sample):
                self._first_states.add(sample, now.steady)
            return Output()
        estimator = controller.estimator
        stamp = sample.stamp
        if estimator.stale(now.steady):
            # its timer did not run while the process was stopped (SIGSTOP)
            controller.watch(now.steady)
        if isinstance(sample, UnusableSample):
            if sample.incomplete:
                estimator.note_incomplete(sample.reason)
                return self._output()
            return self._refuse(
                controller, stamp or self.state_stamp, now, sample.reason
            )
        # A clock that has been set back is no late message: its stamps stay behind.
        self._overtaken = self._overtaken + 1 if sample.is_overtaken(self._last) else 0
        if sample.is_repeated(self._last) or 0 < self._overtaken <= _MOST_OVERTAKEN:
            if self._simulated_time:
                if now.stamp == self._repeated_at:
                    # while simulated time stands still, it is as good as new
                    estimator.repeat(now.steady)
                self._repeated_at = now.stamp
            return self._output(self._answer) if self._answers_states else Output()
        if stamp == 0:
            if self.settings.safety.unstamped_states != "arrival":
                return self._refuse(controller, self.state_stamp, now, _UNSTAMPED)
            self._notes.append(Note(WARN, _UNSTAMPED, math.inf))
            stamp = now.stamp
        if self._to_check:
            self._first_states.add(sample._replace(stamp=stamp), now.steady)
            if not self._first_states.suffice(self.settings.safety):
                estimator.arrival = now.steady
                self._notes += self.waiting()
                return self._output()
        origin = self._clock.origin
        time = self._clock.seconds(stamp)
        if not controller.measure(time, now.steady, sample.q, sample.qd):
            self._clock.origin = origin
            return self._refuse(controller, stamp, now)
        if self._to_check:
            self._notes += self._first_states.check(controller, self._compares_effort)
            self._to_check = False
        self.state_stamp = self._answered = stamp
        output = (
            self._cycle(controller, time, now, stamp)
            if self._answers_states
            else self._output()
        )
        if not self._answers_states or output.command is not None:
            self._last = sample
        return output

    def _refuse(
        self, controller: Controller, stamp: int, now: Now, reason: str = ""
    ) -> Output:
        """Return the output for an invalid message of this ``stamp`` (ns); ``reason`` is its defect.

        While a fault lasts, only a new stamp is answered. Time does not advance to a stamp that is not plausible.
        """
        if reason:
            controller.estimator.reject(now.steady, reason)
        if not self._answers_states:
            return self._output()
        if not controller.tuning.law.needs_state:
            self.state_stamp = stamp
        elif controller.command is None or (
            stamp <= self._answered and controller.mode is not Mode.ACTIVE
        ):
            self._notes += self.waiting()
            return self._output()
        self._answered = stamp
        time = self._clock.seconds(stamp)
        last = controller.clock.time
        if (
            controller.command is not None
            and not last < time <= last + self.settings.safety.state_timeout
        ):
            time = last
        return self._cycle(controller, time, now, stamp)

    def tick(self, now: Now) -> Output:
        """Run a cycle; to be called at the update rate, if that is not 0. While inactive, the output is empty."""
        if self.controller is None:
            return Output()
        return self._cycle(
            self.controller, self._clock.seconds(now.stamp), now, self.state_stamp
        )

    def watch(self, now: Now) -> Output:
        """Check for missing states and cycles; the output has a command if they are missing, and is empty otherwise.

        To be called every ``watch_period`` (s), which each call sets: 0.02 s, or the period of the cycles, if shorter,
        while commands are due or a rate limit slows the effort, so that it changes at the configured rate.
        """
        self.watch_period = WATCH_PERIOD
        controller = self.controller
        command = None if controller is None else controller.watch(now.steady)
        if controller is not None and (
            command is not None or controller.limiter.slowed
        ):
            self.watch_period = min(
                WATCH_PERIOD, controller.clock.period or WATCH_PERIOD
            )
        if command is None:
            return Output()
        if self._answer.command is not None:
            self._answer = self._answer._replace(command=command)
        return self._output(Output(command))

    def _cycle(
        self, controller: Controller, time: float, now: Now, answered: int
    ) -> Output:
        """Run a cycle at ``time`` (s) for the state of stamp ``answered`` (ns)."""
        command = controller.update(time, now.steady)
        output = Output()
        if command is None:
            self._notes += self.waiting()
        else:
            external_torque = controller.checks.external.torque
            output = self._answer = Output(command, answered, self._answer.number + 1)
            if external_torque is not None:
                output = output._replace(external_torque=external_torque)
            if command.saturated:
                self._notes.append(
                    Note(
                        WARN,
                        f"effort limit reached: {', '.join(command.saturated)}",
                        1.0,
                    )
                )
            state = controller.law.end_effector
            if state is not None and state.damped:
                self._notes.append(Note(WARN, state.singularity(), 1.0))
        if self._pending is not None:
            (points, start) = self._pending
            self._pending = None
            output = output._replace(followed=self._follow_or_note(points, start, now))
        return self._output(output)

    def _output(self, output: Output = Output()) -> Output:  # noqa: B008  it is immutable
        """Return ``output`` with the events since the last one."""
        transitions = () if self.controller is None else self.safety.take_transitions()
        if transitions or self._notes:
            output = output._replace(transitions=transitions, notes=tuple(self._notes))
            self._notes = []
        return output

    def waiting(self) -> tuple[Note, ...]:
        """Return a log message with the reason if the session is active but has no command yet, else ()."""
        if self.controller is None or self.controller.command is not None:
            return ()
        return (
            Note(
                WARN,
                f"nothing is commanded yet: {self.controller.estimator.trouble}",
                5.0,
            ),
        )

    # Requests

    def on_trajectory(self, points: TrajectoryPoints, start: int, now: Now) -> Output:
        """Follow a trajectory as ``follow`` does; if it is rejected, the output has a log message and no ``followed``.

        Without an update rate, one that arrives before the first state is kept, and followed after the first cycle.
        With an update rate it is rejected then, and always while the session is inactive.
        """
        if self.controller is None:
            return Output(notes=(Note(WARN, f"trajectory ignored: {_INACTIVE}"),))
        if self._time(now) is None:
            self._pending = points, start
            self._notes.append(
                Note(OK, "trajectory received, waiting for the first joint_states")
            )
            return self._output()
        return self._output(Output(followed=self._follow_or_note(points, start, now)))

    def _follow_or_note(
        self, points: TrajectoryPoints, start: int, now: Now
    ) -> Followed | None:
        try:
            return self.follow(points, start, now)
        except RobotDynamicsError as error:
            self._notes.append(Note(ERROR, f"trajectory refused: {error}"))
            return None

    def follow(self, points: TrajectoryPoints, start: int, now: Now) -> Followed:
        """Follow a trajectory from the stamp ``start`` (ns) on; 0: from now.

        Raises TrajectoryError if it is rejected, with the reason, and RobotDynamicsError while the session is inactive
        or has no state yet.
        """
        if self.controller is None:
            raise RobotDynamicsError(_INACTIVE)
        time = self._time(now)
        if time is None:
            raise RobotDynamicsError("the time is unknown. Cure: wait for joint_states")
        begin = None if start == 0 else self._clock.seconds(start)
        trajectory = self.controller.follow(points, begin, time)
        text = f"following a trajectory: {len(points.times)} points, {trajectory.duration:.3f} s"
        self._notes.append(Note(OK, text))
        return Followed(trajectory, points, start)

    def _time(self, now: Now) -> float | None:
        """Return the time (s) at which a message with stamp 0 takes effect; None before the first state."""
        if not self._answers_states:
            return self._clock.seconds(now.stamp)
        return (
            None
            if self.controller is None or self._clock.origin is None
            else self.controller.clock.time
        )

    def on_target(self, target: EndEffectorTarget, now: Now) -> Output:
        """Process a ``target`` of the end effector: pose, twist or acceleration; log a message if it is rejected."""
        try:
            if self.controller is None:
                raise RobotDynamicsError(_INACTIVE)
            targets = self.controller.targets()
            time = self._time(now)
            assert time is not None
            begin = self._clock.seconds(target.stamp) if target.stamp else time
            if targets.receive(target, self.arm.robot.link_names[0], begin, time):
                self._notes.append(Note(OK, "the end effector follows ~/target_pose"))
        except RobotDynamicsError as error:
            self._notes.append(
                Note(ERROR, f"~/target_{target.quantity} refused: {error}", 1.0)
            )
        return self._output()

    def on_speed(self, factor: float) -> Output:
        """Set the speed factor of trajectory time, 0 to 1; log a message for other numbers."""
        try:
            self._speed = checked_speed(factor)
        except RobotDynamicsError as error:
            return Output(
                notes=(Note(ERROR, f"~/speed_scaling_factor refused: {error}", 1.0),)
            )
        if self.controller is not None:
            self.controller.plan.set_speed(self._speed)
        return Output()

    def on_brakes(self, engaged: bool) -> Output:
        """Set the state of the robot's brakes, as ``Controller.set_brakes`` does; log a message for a change."""
        if engaged is not self._brakes_engaged:
            self._notes.append(
                Note(
                    OK,
                    "brakes engaged: no motion"
                    if engaged
                    else "brakes released: the arm is held",
                )
            )
        self._brakes_engaged = engaged
        if self.controller is not None:
            self.controller.set_brakes(engaged)
        return self._output()

    def on_payload(
        self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike
    ) -> Output:
        """Set the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m, in the link's frame.

        ``inertia`` about it in the link's axes is (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2. Invalid ones are logged.
        """
        try:
            if self.controller is None or not self.controller.estimator.estimate.known:
                self.arm.set_payload(link, mass, com, inertia)
            else:
                q = self.controller.estimator.estimate.state[0]
                limits = self.controller.tuning.effort_limits
                self.arm.set_payload(link, mass, com, inertia, q, limits)
        except RobotDynamicsError as error:
            return Output(notes=(Note(ERROR, f"~/payload refused: {error}"),))
        return Output(notes=(Note(OK, f"payload: {mass:g} kg on {link}"),))

    def clear_fault(self, now: Now) -> Output:
        """Return from a fault to normal control; without a fault there are no transitions in the output.

        Raises RobotDynamicsError as ``Controller.clear_fault`` does, and while the session is inactive.
        """
        if self.controller is None:
            raise RobotDynamicsError(_INACTIVE)
        self.controller.clear_fault(now.steady)
        return self._output()

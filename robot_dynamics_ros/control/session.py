"""Controller session: lifecycle of a controller, from samples, requests and times to commands and events.

Independent of ROS, messages and clocks: with the same inputs, node and replay get bitwise equal commands. Stamps are
nanoseconds of the ROS clock, which in simulation is /clock, as in header.stamp; 0 is no stamp. ``now`` is the time of
the call by this clock and by a steady one that never stops or jumps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.activation_check import check_activation, holding_effort
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.feedback import Sample, UnusableSample
from robot_dynamics_ros.control.safety import Mode, Transition
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.status import ERROR, OK, WARN, Note
from robot_dynamics_ros.control.task_space import EndEffectorTarget, pose_of
from robot_dynamics_ros.control.trajectory.plan import checked_speed
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_UNSTAMPED = "joint_states: no header.stamp, so that delays cannot be detected. Cure: set it in the driver"
_INACTIVE = "the node is not active. Cure: activate it"
_AT_REST = 0.01  # rad/s or m/s
_NANOSECONDS = 1_000_000_000
_TICKS = 1 << 36  # per second
_KEPT_SAMPLES = 8  # last samples before activation


class Now:
    """Current time by the steady clock, ``steady`` (s), and by the ROS clock, which ``clock()`` returns (ns).

    The latter is read at the first access to ``stamp``, as reading it is slow in rclpy.
    """

    def __init__(self, steady: float, clock: Callable[[], int]) -> None:
        self.steady, self._clock = steady, clock

    @cached_property
    def stamp(self) -> int:
        """Time by the ROS clock (ns), as ``clock()`` returned it at the first access."""
        return self._clock()


class Followed(NamedTuple):
    """Accepted trajectory, with the points and the start stamp (ns) of its request, 0 for an immediate start."""

    trajectory: Trajectory
    points: TrajectoryPoints
    stamp: int


class Output(NamedTuple):
    """Result of an input: a command to publish, and events to report.

    Attributes
    ----------
    command
        Command; None: nothing is to be published.
    answered, number
        Stamp (ns) of the state for which the command was computed, None without one, and a sequence number. A repeated
        state results in the last command with the same number.
    external_torque
        External torque (n,), Nm or N, at the last state, positive in the direction of the joints; None if it is
        unknown.
    transitions
        Changes of mode since the last output.
    notes
        Log messages since the last output.
    followed
        Trajectory that was accepted, or None.
    """

    command: Command | None = None
    answered: int | None = None
    number: int = 0
    external_torque: Array | None = None
    transitions: tuple[Transition, ...] = ()
    notes: tuple[Note, ...] = ()
    followed: Followed | None = None


class ControllerSession:
    """Controller with activation and deactivation.

    Payload, speed scaling and emergency stop persist over deactivation. An inactive session stores the last states for
    the activation check, and rejects motions. The flag ``compare_effort`` selects the comparison of measured effort and
    gravity torque at activation. A payload is its mass (kg) on a link, centre of mass (m) in the link's frame, and
    inertia (kg m^2) about the centre of mass in the link's axes.

    Attributes
    ----------
    robot
        Robot model with its payload.
    settings
        Current settings; ``tune`` changes them.
    controller
        Controller; None while the session is inactive.
    state_stamp
        Stamp (ns) of the last valid state, by the ROS clock; 0 before the first one.
    """

    def __init__(self, robot: RobotModel, settings: ControllerSettings) -> None:
        """Create an inactive session; RobotDynamicsError, naming setting and cure, for invalid settings."""
        Tuning(robot, settings)
        self.robot = robot
        self.controller: Controller | None = None
        self.settings = settings
        self._answers_states = settings.update_rate == 0.0
        self._speed = 1.0
        self._stops: dict[str, bool] = {}  # sources of emergency stops not yet cleared: True while engaged
        self._samples: deque[Sample] = deque(maxlen=_KEPT_SAMPLES)
        self._notes: list[Note] = []
        self._compares_effort = False
        self._answer = Output()
        self._begin()

    def _begin(self) -> None:
        self.state_stamp = self._answered = 0
        self._origin: int | None = None
        self._answer = Output(number=self._answer.number)
        self._last: Sample | None = None
        self._pending: tuple[TrajectoryPoints, int] | None = None
        self._to_check = self._damped = False

    # Activation and deactivation

    def activate(self, compare_effort: bool, held: Array | None = None) -> Output:
        """Activate the controller; the arm holds its position, or ``held`` (n,), rad or m, until a trajectory arrives.

        Raises RobotDynamicsError if the arm moves, the gains are unstable or, with ``compare_effort``, the measured
        effort contradicts the gravity torque. These checks use the last state; if there is none, ``on_state`` makes
        them with the first one.
        """
        controller, samples = Controller(self.robot, self.settings), list(self._samples)
        steps = np.diff([sample.stamp for sample in samples])
        if (steps > 0).any():
            controller.period = float(steps[steps > 0].min()) * 1e-9
        if held is not None:
            controller.hold_from_the_start(held)
        controller.set_speed_scaling(self._speed)
        self._compares_effort = compare_effort
        if samples:
            self._check_start(controller, samples[-1])
        self._begin()
        self._to_check = not samples
        self._samples.clear()
        self.controller = controller
        self._stop()
        return self._output()

    def deactivate(self, now: Now) -> Output:
        """Deactivate the controller and return its final command, None in the output if nothing has been commanded.

        It is the last command after a stop, else gravity torque or zero by the setting ``on_fault``. To stop the arm,
        call ``controller.begin_stop`` and continue the cycles until ``controller.stopped`` is True.
        """
        controller, self.controller = self.controller, None
        effort = None if controller is None else controller.last_effort(now.steady)
        if controller is None or controller.command is None or effort is None:
            return Output()
        return Output(controller.command._replace(effort=effort))

    def _check_start(self, controller: Controller, sample: Sample) -> None:
        speed = np.zeros(1) if sample.qd is None else np.abs(np.nan_to_num(sample.qd))
        limit = self.settings.safety.activation_max_velocity
        if speed.max() > limit:
            j = int(np.argmax(speed))
            raise RobotDynamicsError(
                f'joint "{self.robot.joint_names[j]}" moves at {speed[j]:.3g}, over activation_max_velocity '
                f"{limit:g}. Cure: stop the arm by its brakes or its present controller, then activate"
            )
        controller.check_start(sample.q)
        if not self._compares_effort:
            return
        if speed.max() > _AT_REST:
            self._note(WARN, "activation_check: skipped, because the arm moves")
            return
        for warning in check_activation(self.robot, sample.q, sample.effort):
            self._note(WARN, warning)
        if not self.settings.robot_compensates_gravity:
            controller.start_effort = holding_effort(self.robot, sample.q, sample.effort)

    def tune(self, settings: ControllerSettings) -> None:
        """Apply new settings; RobotDynamicsError, naming setting and cure, for invalid ones, which change nothing."""
        Tuning(self.robot, self.settings).check_change(Tuning(self.robot, settings))
        if self.controller is not None:
            self.controller.tune(settings)
        self.settings = settings

    # States and times

    def on_state(self, sample: Sample | UnusableSample, now: Now) -> Output:
        """Process a measured state ``sample``, or an invalid message; without an update rate, run a cycle for it.

        While inactive, the state is stored and the output empty. Raises RobotDynamicsError if the checks of
        ``activate`` were left to this state and fail; the caller then has to deactivate the session.
        """
        controller = self.controller
        if controller is None:
            if isinstance(sample, Sample):
                self._samples.append(sample)
            return Output()
        feedback = controller.feedback
        if feedback.stale(now.steady) is not None:
            controller.watch(now.steady)  # its timer did not run while the process was stopped (SIGSTOP)
        if isinstance(sample, UnusableSample):
            if sample.incomplete:
                feedback.note_incomplete(sample.reason)
                return self._output()
            feedback.reject(now.steady, sample.reason)
            return self._refuse(controller, sample.stamp or self.state_stamp, now)
        if self._last is not None and _same(sample, self._last):  # repeated by a waiting or paused simulation
            feedback.receive(now.steady)
            return self._output(self._answer) if self._answers_states else Output()
        stamp = sample.stamp
        if stamp == 0:
            if self.settings.safety.unstamped_states != "arrival":
                feedback.reject(now.steady, _UNSTAMPED)
                return self._refuse(controller, self.state_stamp, now)
            self._note(WARN, _UNSTAMPED, math.inf)
            stamp = now.stamp
        origin, time = self._origin, self._seconds(stamp)
        if not controller.measure(time, now.steady, sample.q, sample.qd):
            self._origin = origin
            return self._refuse(controller, stamp, now)
        if self._to_check:
            self._check_start(controller, sample)
            self._to_check = False
        self.state_stamp = self._answered = stamp
        output = self._cycle(controller, time, now, stamp) if self._answers_states else self._output()
        if not self._answers_states or output.command is not None:
            self._last = sample
        return output

    def _refuse(self, controller: Controller, stamp: int, now: Now) -> Output:
        """Return the output for an invalid message: one command for each new ``stamp`` (ns), as for valid states.

        Only the first one runs a cycle, which detects the fault. The following ones repeat its command, to bound the
        computing time; ``watch`` updates it.
        """
        if not self._answers_states:
            return self._output()
        if not controller.needs_state:  # an open-loop law is not affected
            self.state_stamp = stamp
            return self._cycle(controller, self._seconds(stamp), now, stamp)
        if controller.command is None:
            self._note_waiting(controller)
            return self._output()
        if controller.mode is Mode.ACTIVE:  # the first one
            self._answered = stamp
            return self._cycle(controller, self._seconds(self.state_stamp), now, stamp)
        if stamp > self._answered:
            self._answered = stamp
            return self._output(self._next_answer(controller.command, stamp))
        return self._output()

    def tick(self, now: Now) -> Output:
        """Run a cycle; to be called at the update rate, if that is not 0. While inactive, the output is empty."""
        if self.controller is None:
            return Output()
        return self._cycle(self.controller, self._seconds(now.stamp), now, self.state_stamp)

    def watch(self, now: Now) -> Output:
        """Check for missing states and cycles; return a command if they are missing. To be called at about 50 Hz."""
        command = None if self.controller is None else self.controller.watch(now.steady)
        if command is None:
            return Output()
        if self._answer.command is not None:
            self._answer = self._answer._replace(command=command)
        return self._output(Output(command))

    def _cycle(self, controller: Controller, time: float, now: Now, answered: int) -> Output:
        """Run a cycle at ``time`` (s) for the state of stamp ``answered`` (ns)."""
        command, output = controller.update(time, now.steady), Output()
        if command is None:
            self._note_waiting(controller)
        else:
            output = self._next_answer(command, answered)
            if controller.external_torque is not None:
                output = output._replace(external_torque=controller.external_torque)
            if command.saturated:
                self._note(WARN, f"effort limit reached: {', '.join(command.saturated)}", 1.0)
            self._note_singularity(controller)
        if self._pending is not None:
            (points, start), self._pending = self._pending, None
            output = output._replace(followed=self._follow_or_note(points, start, now))
        return self._output(output)

    def _next_answer(self, command: Command, stamp: int) -> Output:
        self._answer = Output(command, stamp, self._answer.number + 1)
        return self._answer

    def _output(self, output: Output = Output()) -> Output:  # noqa: B008  it is immutable
        """Return ``output`` with the events since the last one."""
        transitions = () if self.controller is None else tuple(self.controller.take_transitions())
        notes, self._notes = tuple(self._notes), []
        return output._replace(transitions=transitions, notes=notes) if transitions or notes else output

    def _note(self, level: int, text: str, period: float = 0.0) -> None:
        self._notes.append(Note(level, text, period))

    def waiting(self) -> tuple[Note, ...]:
        """Return a log message with the reason if the session is active but has no command yet, else ()."""
        if self.controller is None or self.controller.command is not None:
            return ()
        self._note_waiting(self.controller)
        return self._output().notes

    def _note_waiting(self, controller: Controller) -> None:
        self._note(WARN, f"nothing is commanded yet: {controller.feedback.trouble}", 5.0)

    def _note_singularity(self, controller: Controller) -> None:
        state = controller.end_effector
        damped = state is not None and state.damped
        if state is not None and damped and not self._damped:
            self._note(
                WARN,
                "the end effector is near a singularity, and does not follow in the singular direction: smallest "
                f"singular value {state.smallest_singular_value:.3g}. Cure: keep targets within reach, or remove "
                "components from task_space.components",
                1.0,
            )
        self._damped = damped

    # Motions

    def on_trajectory(self, points: TrajectoryPoints, start: int, now: Now) -> Output:
        """Follow a trajectory from the stamp ``start`` (ns) on; 0: from now, or from the first state on.

        A rejected trajectory results in a log message.
        """
        if self.controller is None:
            return Output(notes=(Note(WARN, f"trajectory ignored: {_INACTIVE}"),))
        if self._time_is_unknown:
            self._pending = points, start
            self._note(OK, "trajectory received, waiting for the first joint_states")
            return self._output()
        return self._output(Output(followed=self._follow_or_note(points, start, now)))

    def _follow_or_note(self, points: TrajectoryPoints, start: int, now: Now) -> Followed | None:
        try:
            return self.follow(points, start, now)
        except RobotDynamicsError as error:
            self._note(ERROR, f"trajectory refused: {error}")
            return None

    def follow(self, points: TrajectoryPoints, start: int, now: Now) -> Followed:
        """Follow a trajectory from the stamp ``start`` (ns) on; 0: from now.

        Raises TrajectoryError if it is rejected, with the reason, and RobotDynamicsError while the session is inactive
        or has no state yet.
        """
        if self.controller is None:
            raise RobotDynamicsError(_INACTIVE)
        if self._time_is_unknown:
            raise RobotDynamicsError("the time is unknown. Cure: wait for joint_states")
        time = self._time(self.controller, now)
        trajectory = self.controller.follow(points, None if start == 0 else self._seconds(start), time)
        self._note(OK, f"following a trajectory: {len(points.times)} points, {trajectory.duration:.3f} s")
        return Followed(trajectory, points, start)

    @property
    def _time_is_unknown(self) -> bool:
        return self._origin is None and self._answers_states

    def on_target(self, target: EndEffectorTarget, now: Now) -> Output:
        """Process a ``target`` of the end effector: pose, twist or acceleration; log a message if it is rejected."""
        try:
            if self.controller is None:
                raise RobotDynamicsError(_INACTIVE)
            self._take_target(self.controller, target, now)
        except RobotDynamicsError as error:
            self._note(ERROR, f"~/target_{target.quantity} refused: {error}", 1.0)
        return self._output()

    def _take_target(self, controller: Controller, target: EndEffectorTarget, now: Now) -> None:
        targets, time, stamp = controller.targets(), self._time(controller, now), target.stamp
        root = self.robot.link_names[0]
        if target.frame not in ("", root):
            raise RobotDynamicsError(
                f'frame_id "{target.frame}" is not the root link. Cure: transform the target to "{root}" with tf2'
            )
        if target.quantity != "pose":
            targets.feed_forward(target.quantity, target.numbers, stamp, time)
            return
        first = targets.empty
        pose = pose_of(target.numbers[:3], target.numbers[3:])
        targets.follow(pose, stamp, self._seconds(stamp) if stamp else time, time)
        if first:
            self._note(OK, "the end effector follows ~/target_pose")

    def cancel(self) -> bool:
        """Drop trajectories and targets; return True, or False without any effect while the session is inactive."""
        if self.controller is not None:
            self.controller.cancel()
        return self.controller is not None

    # State that persists over deactivation

    def on_speed(self, factor: float) -> Output:
        """Set the speed factor of trajectory time, 0 to 1; other numbers result in a log message."""
        try:
            self._speed = checked_speed(factor)
        except RobotDynamicsError as error:
            return Output(notes=(Note(ERROR, f"~/speed_scaling_factor refused: {error}", 1.0),))
        if self.controller is not None:
            self.controller.set_speed_scaling(self._speed)
        return Output()

    def on_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Output:
        """Set the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m, in the link's frame.

        ``inertia`` about it in the link's axes is (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2. Invalid arguments result
        in a log message.
        """
        try:
            self.robot = self.robot.with_payload(link, mass, com, inertia)
            if self.controller is not None:
                self.controller.set_payload(link, mass, com, inertia)
        except RobotDynamicsError as error:
            return Output(notes=(Note(ERROR, f"~/payload refused: {error}"),))
        return Output(notes=(Note(OK, f"payload: {mass:g} kg on {link}"),))

    def on_emergency_stop(self, source: str, engaged: bool) -> Output:
        """Stop the arm if ``engaged``, also after the next activation, until ``clear_fault``.

        That is refused until each ``source``, named as in messages, that was engaged is passed with False.
        """
        if engaged:
            self._stops[source] = True
            self._stop()
        elif source in self._stops:
            self._stops[source] = False
        return Output()

    def stop_in_emergency(self) -> None:
        """Stop the arm, also after the next activation, until ``clear_fault`` ends the stop."""
        self._stops["the service ~/emergency_stop"] = False
        self._stop()

    def _stop(self) -> None:
        if self.controller is not None and self._stops:
            self.controller.emergency_stop(", ".join(self._stops))

    def clear_fault(self, now: Now) -> Output:
        """Return from a fault to normal control; without a fault there are no transitions in the output.

        Raises RobotDynamicsError, naming the emergency stops that are engaged or the check, if there is one or a check
        fails, and while the session is inactive.
        """
        if self.controller is None:
            raise RobotDynamicsError(_INACTIVE)
        engaged = [source for source, still in self._stops.items() if still]
        if engaged:
            names = ", ".join(engaged)
            raise RobotDynamicsError(f"not cleared: true on {names}. Cure: publish false there, then clear the fault")
        self.controller.clear_fault(now.steady)
        self._stops.clear()
        return self._output()

    # Time

    def _time(self, controller: Controller, now: Now) -> float:
        """Return the time (s) at which a message with stamp 0 takes effect."""
        return controller.time if self._answers_states else self._seconds(now.stamp)

    def _seconds(self, stamp: int) -> float:
        """Return the time (s) since the first ``stamp`` (ns) passed to this function.

        Times are multiples of 2^-36 s (15 ps), whose differences are exact in float64 up to 36 hours. Commands then do
        not depend on the first message by rounding.
        """
        ticks = (stamp * _TICKS + _NANOSECONDS // 2) // _NANOSECONDS
        if self._origin is None:
            self._origin = ticks
        return (ticks - self._origin) / _TICKS


def _same(sample: Sample, last: Sample) -> bool:
    """True if both samples have the same nonzero stamp and the same state."""
    if sample.stamp != last.stamp or sample.stamp == 0 or not np.array_equal(sample.q, last.q):
        return False
    if sample.qd is None or last.qd is None:
        return sample.qd is last.qd
    return np.array_equal(sample.qd, last.qd, equal_nan=True)

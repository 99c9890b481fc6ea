"""Controller session: lifecycle of a controller, from samples, requests and times to commands and events.

Independent of ROS, messages and clocks: with the same inputs, node and replay get bitwise equal commands. Stamps are
nanoseconds of the ROS clock, which in simulation is /clock, as in header.stamp; 0 is no stamp. ``now`` is the time of
the call by this clock and by a steady one that never stops or jumps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import Sample, TrajectoryPoints
from robot_dynamics_ros.control.checks.first_states import FirstStates
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTarget,
)
from robot_dynamics_ros.control.interface import (
    ERROR,
    OK,
    WARN,
    Followed,
    Note,
    Output,
    UnusableSample,
)
from robot_dynamics_ros.control.safety import Mode, Safety
from robot_dynamics_ros.control.thresholds import (
    LONGEST_OVERTAKING,
    MOST_OVERTAKEN_STATES,
    WATCH_PERIOD,
)
from robot_dynamics_ros.control.trajectory.plan import checked_speed
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_UNSTAMPED = "joint_states: no header.stamp, so that delays cannot be detected. Cure: set it in the driver"
_INACTIVE = "the node is not active. Cure: activate it"


class ControllerSession:
    """Controller with activation and deactivation.

    Payload, speed scaling, brakes and emergency stop persist over deactivation. An inactive session stores the last
    states for the activation check, and rejects motions.

    Attributes
    ----------
    arm
        Robot with payload, settings and brakes.
    safety
        Modes, faults and stops.
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
        self.arm = ControlledArm(robot, settings)
        self.safety = safety or Safety(settings.safety)
        self.controller: Controller | None = None
        self.watch_period = WATCH_PERIOD
        self._simulated_time = use_sim_time
        self._answers_states = settings.update_rate == 0.0
        self._speed = 1.0
        self._payload: dict[str, Any] | None = None
        self._first_states = FirstStates()
        self._notes: list[Note] = []
        self._answer = Output()
        self._begin()

    def _begin(self) -> None:
        """Reset what belongs to one activation."""
        self.state_stamp = self._answered = 0
        self._answer = Output(number=self._answer.number)
        self._last: Sample | None = None
        self._pending: tuple[TrajectoryPoints, int] | None = None
        self._to_check = self._compares_effort = False
        self._repeated_at = -1  # ns by the ROS clock
        self._overtaken = 0  # states in succession

    @property
    def settings(self) -> ControllerSettings:
        """Current settings; ``tune`` changes them."""
        return self.arm.tuning.settings

    @property
    def lasting(self) -> dict[str, Any]:
        """Payload, speed factor, brakes and emergency stops, which outlast an activation, as values of JSON."""
        return {
            "payload": self._payload,
            "speed_scaling_factor": self._speed,
            "brakes_engaged": self.arm.brakes_engaged,
            "emergency_stops": dict(self.safety.sources),
        }

    def restore(self, lasting: Mapping[str, Any]) -> list[Output]:
        """Apply ``lasting`` of another session, while inactive, and return log messages.

        Raises KeyError for a missing key; values of other types raise TypeError, ValueError or AttributeError.
        """
        for source, engaged in lasting["emergency_stops"].items():
            self.safety.request_emergency_stop(source)
            self.safety.emergency_stop(source, engaged)
        outputs = [
            self.on_speed(lasting["speed_scaling_factor"]),
            self.on_brakes(lasting["brakes_engaged"]),
        ]
        if lasting["payload"]:
            try:
                outputs.append(self.on_payload(**lasting["payload"]))
            except RobotDynamicsError as error:
                note = Note(ERROR, f"payload refused: {error}")
                outputs.append(Output(notes=(note,)))
        return outputs

    # Activation and deactivation

    def activate(
        self, compare_effort: bool, held: Array | None = None, now: Now | None = None
    ) -> Output:
        """Activate the controller; the arm holds its position, or ``held`` (n,), rad or m, until a trajectory arrives.

        The checks use the last states. If there are none that are newer than ``state_timeout`` at ``now`` and have a
        velocity, ``on_state`` makes the checks with the first ones.

        Raises
        ------
        RobotDynamicsError
            If the arm moves, or a joint is far beyond its limits; if the gains are unstable, or would be without the
            payload; if an effort limit is below the gravity torque; and with ``compare_effort`` if the measured effort
            contradicts that torque.
        """
        safety = self.settings.safety
        if now is not None:
            self._first_states.drop_old(now.steady - safety.state_timeout)
        controller = Controller(
            self.arm,
            self.safety,
            held,
            period=self._first_states.period,
            simulated_time=self._simulated_time,
        )
        controller.plan.set_speed(self._speed)
        checked = self._first_states.suffice(safety)
        if checked:
            self._check_first_states(controller, compare_effort)
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
        """Apply new settings as ``Controller.tune`` does; those that it leaves out need a new session.

        The checks of gains already use the new ``update_rate``.

        Raises RobotDynamicsError, naming setting and cure, for invalid settings, which change nothing.
        """
        if self.controller is not None:
            self.controller.tune(settings)
            return
        tuning = Tuning(self.arm.robot, settings)
        self.arm.tuning.check_change(tuning)
        self.arm.tune(tuning)

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
        controller.note_arrival(now.steady)
        estimator = controller.estimator
        if isinstance(sample, UnusableSample):
            if sample.incomplete:
                estimator.note_incomplete(sample.reason)
                return self._output()
            stamp = sample.stamp or self.state_stamp
            return self._refuse(controller, stamp, now, sample.reason)
        self._count_overtaken(sample)
        if 0 < self._overtaken <= MOST_OVERTAKEN_STATES or self._is_repeated(sample):
            if self._note_repetition(now):
                estimator.repeat(now.steady)
            return self._output(self._answer) if self._answers_states else Output()
        stamp = sample.stamp
        if stamp == 0:
            if self.settings.safety.unstamped_states != "arrival":
                return self._refuse(controller, self.state_stamp, now, _UNSTAMPED)
            self._notes.append(Note(WARN, _UNSTAMPED, math.inf))
            stamp = now.stamp
        if self._to_check:
            self._first_states.add(sample._replace(stamp=stamp), now.steady)
            if not self._first_states.suffice(self.settings.safety):
                estimator.repeat(now.steady)
                self._notes += self.waiting()
                return self._output()
        time = controller.clock.seconds(stamp)
        if not controller.measure(time, now.steady, sample.q, sample.qd, sample.effort):
            return self._refuse(controller, stamp, now)
        if estimator.refutes:
            self._first_states.add(sample._replace(stamp=stamp), now.steady)
        controller.clock.start(stamp)
        if self._to_check:
            self._check_first_states(controller, self._compares_effort)
            self._to_check = False
        self.state_stamp = self._answered = stamp
        if not self._answers_states:
            self._last = sample
            return self._output()
        output = self._cycle(controller, time, now, stamp)
        if output.command is not None:
            self._last = sample
        return output

    def _count_overtaken(self, sample: Sample) -> None:
        """Count late messages in succession, which the last state overtook.

        More than three are a clock that has been set back: its stamps stay behind.
        """
        last = self._last
        late = False
        if last is not None and sample.stamp != 0:
            late = 0 < last.stamp - sample.stamp <= LONGEST_OVERTAKING
        self._overtaken = self._overtaken + 1 if late else 0

    def _is_repeated(self, sample: Sample) -> bool:
        """Return True for a state that was received before; its age grows then."""
        last = self._last
        if last is None or sample.stamp == 0 or sample.stamp != last.stamp:
            return False
        if not np.array_equal(sample.q, last.q):
            return False
        if sample.qd is None or last.qd is None:
            return sample.qd is last.qd
        return np.array_equal(sample.qd, last.qd, equal_nan=True)

    def _note_repetition(self, now: Now) -> bool:
        """Record the simulated time of a repeated state; return True if it is that of the repetition before.

        While simulated time stands still, a repeated state is as good as new.
        """
        if not self._simulated_time:
            return False
        before = self._repeated_at
        self._repeated_at = now.stamp
        return now.stamp == before

    def _check_first_states(self, controller: Controller, compare_effort: bool) -> None:
        """Check the first states, and let the ``controller`` start at the effort that holds the arm."""
        notes, effort = self._first_states.check(
            self.arm, controller.clock.period, compare_effort
        )
        self._notes += notes
        controller.start_from(effort)

    def _refuse(
        self, controller: Controller, stamp: int, now: Now, reason: str = ""
    ) -> Output:
        """Return the output for an invalid message of this ``stamp`` (ns); ``reason`` is its defect.

        Without a ``reason`` the controller knows the message already. While a fault lasts, only a new stamp is
        answered. Time does not advance to a stamp that is not plausible.
        """
        if reason:
            controller.estimator.reject(now.steady, reason)
        if not self._answers_states:
            return self._output()
        is_new = stamp > self._answered or controller.mode is Mode.ACTIVE
        if not controller.tuning.law.needs_state:
            self.state_stamp = stamp
        elif controller.command is None or not is_new:
            self._notes += self.waiting()
            return self._output()
        self._answered = stamp
        clock = controller.clock
        clock.start(stamp)
        time = clock.seconds(stamp)
        latest = clock.time + self.settings.safety.state_timeout
        if controller.command is not None and not clock.time < time <= latest:
            time = clock.time
        return self._cycle(controller, time, now, stamp)

    def tick(self, now: Now) -> Output:
        """Run a cycle; to be called at the update rate, if that is not 0. While inactive, the output is empty."""
        controller = self.controller
        if controller is None:
            return Output()
        controller.clock.start(now.stamp)
        time = controller.clock.seconds(now.stamp)
        return self._cycle(controller, time, now, self.state_stamp)

    def watch(self, now: Now) -> Output:
        """Check for missing states and cycles; the output has a command if they are missing, and is empty otherwise.

        To be called every ``watch_period`` (s), which each call sets: 0.02 s, or the period of the cycles, if shorter,
        while commands are due or a rate limit slows the effort, so that it changes at the configured rate.
        """
        self.watch_period = WATCH_PERIOD
        controller = self.controller
        if controller is None:
            return Output()
        command = controller.watch(now.steady)
        if command is not None or controller.limiter.slowed:
            period = controller.clock.period or WATCH_PERIOD
            self.watch_period = min(WATCH_PERIOD, period)
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
            output = self._answer = Output(command, answered, self._answer.number + 1)
            external_torque = controller.external.torque
            if external_torque is not None:
                output = output._replace(external_torque=external_torque)
            if command.saturated:
                text = f"effort limit reached: {', '.join(command.saturated)}"
                self._notes.append(Note(WARN, text, 1.0))
            task_torque = controller.law.task_torque
            if task_torque is not None and task_torque.damped:
                self._notes.append(Note(WARN, task_torque.singularity(), 1.0))
        if self._pending is not None:
            points, start = self._pending
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
        text = f"nothing is commanded yet: {self.controller.estimator.trouble}"
        return (Note(WARN, text, 5.0),)

    # Requests

    def on_trajectory(self, points: TrajectoryPoints, start: int, now: Now) -> Output:
        """Follow a trajectory as ``follow`` does; if it is rejected, the output has a log message and no ``followed``.

        Without an update rate, one that arrives before the first state is kept, and followed after the first cycle.
        With an update rate it is rejected then, and always while the session is inactive.
        """
        controller = self.controller
        if controller is not None and self._time(controller, now) is None:
            self._pending = points, start
            text = "trajectory received, waiting for the first joint_states"
            self._notes.append(Note(OK, text))
            return self._output()
        return self._output(Output(followed=self._follow_or_note(points, start, now)))

    def _follow_or_note(
        self, points: TrajectoryPoints, start: int, now: Now
    ) -> Followed | None:
        try:
            return self.follow(points, start, now)
        except RobotDynamicsError as error:
            if self.controller is not None:
                self.controller.refuse(str(error))
            self._notes.append(Note(ERROR, f"trajectory refused: {error}"))
            return None

    def follow(self, points: TrajectoryPoints, start: int, now: Now) -> Followed:
        """Follow a trajectory from the stamp ``start`` (ns) on; 0: from now.

        Raises TrajectoryError if it is rejected, with the reason, and RobotDynamicsError while the session is inactive
        or has no state yet.
        """
        controller = self.controller
        if controller is None:
            raise RobotDynamicsError(_INACTIVE)
        time = self._time(controller, now)
        if time is None:
            raise RobotDynamicsError("the time is unknown. Cure: wait for joint_states")
        begin = None if start == 0 else controller.clock.seconds(start)
        trajectory = controller.follow(points, begin, time)
        text = f"following a trajectory: {len(points.times)} points, {trajectory.duration:.3f} s"
        if begin is not None and begin > time:
            text += f", begins in {begin - time:.3f} s"
        self._notes.append(Note(OK, text))
        return Followed(trajectory, points, start)

    def _time(self, controller: Controller, now: Now) -> float | None:
        """Return the time (s) at which a message with stamp 0 takes effect; None before the first state."""
        clock = controller.clock
        if not self._answers_states:
            clock.start(now.stamp)
            return clock.seconds(now.stamp)
        return clock.time if clock.started else None

    def on_target(self, target: EndEffectorTarget, now: Now) -> Output:
        """Process a ``target`` of the end effector: pose, twist or acceleration; RobotDynamicsError for a bad one."""
        controller = self.controller
        if controller is None:
            raise RobotDynamicsError(_INACTIVE)
        targets = controller.targets()
        time = self._time(controller, now)
        assert time is not None
        begin = controller.clock.seconds(target.stamp) if target.stamp else time
        if targets.receive(target, self.arm.robot.link_names[0], begin, time):
            self._notes.append(Note(OK, "the end effector follows ~/target_pose"))
        return self._output()

    def on_speed(self, factor: float) -> Output:
        """Set the speed factor of trajectory time, 0 to 1; RobotDynamicsError for other numbers."""
        self._speed = checked_speed(factor)
        if self.controller is not None:
            self.controller.plan.set_speed(self._speed)
        return Output()

    def on_brakes(self, engaged: bool) -> Output:
        """Set the state of the robot's brakes, as ``Controller.set_brakes`` does; log a message for a change."""
        if engaged is not self.arm.brakes_engaged:
            text = "brakes engaged: no motion"
            if not engaged:
                text = "brakes released: the arm is held"
            self._notes.append(Note(OK, text))
        if self.controller is not None:
            self.controller.set_brakes(engaged)
        else:
            self.arm.set_brakes(engaged)
        return self._output()

    def on_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> Output:
        """Set the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m, in the link's frame.

        ``inertia`` about it in the link's axes is ixx ixy ixz iyy iyz izz, kg m^2. Raises RobotDynamicsError for
        one that is not valid, and as ``ControlledArm.set_payload``.
        """
        q = None
        period = 0.0
        if self.controller is not None and self.controller.estimator.estimate.known:
            q = self.controller.estimator.estimate.state[0]
            period = self.controller.clock.period
        self.arm.set_payload(link, mass, com, inertia, q, period)
        self._payload = {
            "link": link,
            "mass": mass,
            "com": com,
            "inertia": inertia,
        }
        return Output(notes=(Note(OK, f"payload: {mass:g} kg on {link}"),))

    def clear_fault(self, now: Now) -> Output:
        """Return from a fault to normal control; without a fault there are no transitions in the output.

        If the state of a joint is refuted, the checks of ``activate`` are repeated first, and the measured state is
        trusted again. Raises RobotDynamicsError as ``activate`` and ``Controller.clear_fault`` do, if there are too few
        states for these checks, and while the session is inactive.
        """
        controller = self.controller
        if controller is None:
            raise RobotDynamicsError(_INACTIVE)
        trust_measured = controller.estimator.refutes
        if trust_measured:
            self._check_again(controller, now)
        controller.clear_fault(now.steady, trust_measured)
        if trust_measured:
            text = "the checks of the activation are repeated: the measured positions are trusted again"
            self._notes.append(Note(OK, text))
        return self._output()

    def _check_again(self, controller: Controller, now: Now) -> None:
        """Repeat the checks of the activation with the states since a joint was refuted."""
        states = self._first_states
        safety = self.settings.safety
        states.drop_old(now.steady - safety.state_timeout)
        if not states.suffice(safety):
            raise RobotDynamicsError(
                "not cleared: too few joint_states for the checks of the activation. Cure: clear the fault later"
            )
        self._check_first_states(controller, self._compares_effort)

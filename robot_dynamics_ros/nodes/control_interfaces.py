"""What needs control_msgs, where that is installed: it comes with ROS distributions, and is on no package index."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rclpy.lifecycle import LifecycleNode

from robot_dynamics_ros.control.parameters import ACTION_MONITOR_RATE, STATE_PUBLISH_RATE
from robot_dynamics_ros.control.trajectory.goals import read_tolerances
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.parameters.kinds import Values

if TYPE_CHECKING:
    from robot_dynamics_ros.nodes.follow_joint_trajectory import ControllerState, TrajectoryGoals

INSTALLED = find_spec("control_msgs") is not None
ABSENT = (
    "control_msgs is not installed: there is no ~/follow_joint_trajectory (for MoveIt) and no ~/controller_state. "
    "Cure: install ros-$ROS_DISTRO-control-msgs where you want them"
)


class ControlInterfaces:
    """~/follow_joint_trajectory and ~/controller_state of a configured node; without control_msgs neither."""

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str], values: Values) -> None:
        """RobotDynamicsError names a parameter among ``values`` that is not allowed, or does not fit the joints."""
        self._names = tuple(joint_names)
        self._rates = ACTION_MONITOR_RATE.read(values), STATE_PUBLISH_RATE.read(values)
        self._running: RunningController | None = None
        self._goals: TrajectoryGoals | None = None
        self._state: ControllerState | None = None
        self.set(values)
        if INSTALLED:
            from robot_dynamics_ros.nodes.follow_joint_trajectory import ControllerState, TrajectoryGoals

            self._goals = TrajectoryGoals(node, self._names, self._tolerances)
            self._state = ControllerState(node, self._names)

    @property
    def owe_results(self) -> bool:
        """Whether the executor has still to send what became of a goal."""
        return self._goals is not None and self._goals.owes_results

    def set(self, values: Values) -> None:
        """Take tolerances for the goals to come; errors as above."""
        self._tolerances = read_tolerances(values, self._names)
        if self._goals is not None:
            self._goals.tolerances = self._tolerances

    def begin(self, running: RunningController) -> None:
        """A controller is active from now on."""
        self._running = running
        if self._goals is not None:
            self._goals.begin(running, self._rates[0])
        if self._state is not None:
            self._state.begin(self._rates[1])

    def check(self) -> None:
        """Look at what the controller did: after each cycle, and where cycles fail to come."""
        if self._goals is not None:
            self._goals.check()
        if self._state is not None and self._running is not None:
            self._state.check(self._running)

    def abort(self, why: str) -> None:
        """End the goal that runs, if one does."""
        if self._goals is not None:
            self._goals.abort(why)

    def end(self) -> None:
        """No controller is active from now on."""
        self._running = None
        if self._goals is not None:
            self._goals.end()

    def destroy(self) -> None:
        """Take all of it out of the graph."""
        for part in (self._goals, self._state):
            if part is not None:
                part.destroy()

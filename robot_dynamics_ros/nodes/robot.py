"""Robot of a node: from parameters, or from the latched topic robot_description."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.subscription import Subscription
from std_msgs.msg import String

from robot_dynamics_ros.background import run_in_background
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.kernels.compilation import announcement, compilations_reported
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.nodes.node_program import NodeProgram
from robot_dynamics_ros.parameters import DYNAMICS_FILE, JOINTS

_PERIOD = 0.1  # s


def await_description(node: NodeProgram, receive: Callable[[str], None]) -> Subscription[Any]:
    """Call ``receive`` with each URDF of the topic robot_description."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return node.create_subscription(String, "robot_description", lambda message: receive(message.data), latched)


def load_robot(
    node: NodeProgram, description: str, gravity: Sequence[float] | None = None, closes_loops: bool = False
) -> RobotModel:
    """Return the model and log its warnings; RobotDynamicsError says what is wrong with its files.

    ``gravity`` (m/s^2 in the root frame) replaces the dynamics file's if it is not None; ``closes_loops``: True if
    the node computes kinematic loops.
    """
    dynamics_file, joints = DYNAMICS_FILE.read(node.values), JOINTS.read(node.values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = RobotModel.from_urdf(
            description, dynamics=dynamics_file or None, gravity=gravity, joints=joints or None
        )
    for warning in caught:
        node.get_logger().warning(str(warning.message))
    if model.loops and not closes_loops:
        node.get_logger().warning(
            f'robot "{model.name}": its {len(model.loops)} loops are open here: torques are those of the tree, as if '
            "each loop were cut. Cure: give couplings in place of loops, as parallelograms allow; for others compute "
            "torques in Python, by constrained_inverse_dynamics of robot_dynamics_ros.formulations.constraints"
        )
    if not model.packed.friction.any():
        node.get_logger().info(f'robot "{model.name}": neither URDF nor dynamics file names any joint friction')
    return model


class StillCompilingError(RobotDynamicsError):
    """Refusal while kernels are compiled in the background."""


class WarmUp:
    """First run of the kernels, in a thread if they must be compiled.

    Parameters
    ----------
    resume
        Called by the executor when the kernels are compiled, to do what was refused before.
    """

    def __init__(self, node: NodeProgram, resume: Callable[[], object]) -> None:
        self._node, self._resume = node, resume
        self._future: Future[object] | None = None

    def check(self) -> None:
        """Raise StillCompilingError while kernels are compiled: numba could load no others meanwhile."""
        if self._future is not None and not self._future.done():
            raise StillCompilingError(
                f"still compiling the dynamics kernels, for {time.monotonic() - self._start:.0f} s so far; the first "
                "start takes up to a minute. Cure: try again when they are ready"
            )

    def run(self, work: Callable[[], object]) -> None:
        """Run ``work``; if it compiles, raise StillCompilingError at once and continue in the background."""
        self.check()
        self._start = time.monotonic()
        compiled: SimpleQueue[str] = SimpleQueue()

        def warm_up() -> None:
            try:
                with compilations_reported(compiled.put):
                    work()
            finally:
                compiled.put("")

        self._future = run_in_background(warm_up)
        kernel = compiled.get()
        if not kernel:
            self._future.result()
            return
        self._timer = self._node.create_steady_timer(_PERIOD, self._poll)
        raise StillCompilingError(announcement(kernel))

    def _poll(self) -> None:
        if self._future is not None and self._future.done():
            self._node.destroy_timer(self._timer)
            self._node.get_logger().info(f"dynamics kernels ready after {time.monotonic() - self._start:.1f} s")
            self._resume()

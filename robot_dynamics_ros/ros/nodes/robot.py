"""Base class of nodes that get their robot from a parameter or from the latched topic robot_description."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from robot_dynamics_ros.base.background import run_in_background
from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.base.files import read_urdf
from robot_dynamics_ros.base.parameters import (
    DYNAMICS_FILE,
    ROBOT_DESCRIPTION,
    URDF,
)
from robot_dynamics_ros.base.parameters.kinds import Parameter, Values
from robot_dynamics_ros.dynamics.kernels.compilation import (
    announcement,
    compilations_reported,
)
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.ros.nodes.node_parameters import check_changes
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram
from robot_dynamics_ros.ros.thresholds import COMPILATION_POLL_PERIOD
from robot_dynamics_ros.runs.recorded_setup import model_keywords


def load_robot(
    node: RobotNode,
    description: str,
    closes_loops: bool = False,
    locked: Mapping[str, float] | None = None,
) -> RobotModel:
    """Return the model of the URDF text ``description`` and log its warnings.

    Dynamics file, joints and gravity are those of the parameters of ``node``, as are locked joints unless ``locked``
    has their positions (rad or m). ``closes_loops`` is True if the node computes kinematic loops; otherwise they are a
    warning. Raises RobotDynamicsError for invalid files and parameters.
    """
    dynamics_file = DYNAMICS_FILE.read(node.values)
    keywords = model_keywords(node.values)
    if locked is not None:
        keywords["locked"] = locked
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = RobotModel.from_urdf(
            description, dynamics=dynamics_file or None, **keywords
        )
    messages = [str(warning.message) for warning in caught]
    if model.loops and not closes_loops:
        messages.append(
            f'robot "{model.name}": this node ignores its {len(model.loops)} kinematic loops: torques are those of the '
            "tree with each loop cut. Cure: replace loops by couplings, which is possible for parallelograms; for "
            "other loops compute torques in Python with robot_dynamics_ros.textbooks.constraints"
        )
    for message in messages:
        if node.is_new(message):
            node.get_logger().warning(message)
    frictionless = (
        f'robot "{model.name}": neither URDF nor dynamics file names any joint friction'
    )
    if not model.friction_parameters.any() and node.is_new(frictionless):
        node.get_logger().info(frictionless)
    return model


class NotReadyError(RobotDynamicsError):
    """Error of a request that cannot be served yet: kernels are compiled in the background, or no state has arrived."""


class RobotNode(NodeProgram):
    """Node that starts as soon as its robot is known, from the parameter or the topic robot_description.

    A subclass implements ``start_when_possible`` and ``tune``. ``parameters`` must contain robot_description,
    dynamics_file and the others of ``robot_dynamics_ros.base.parameters``. ``options`` are keyword arguments of
    ``rclpy.node.Node``.

    Attributes
    ----------
    too_late
        Reason why parameters that are read when the node is configured cannot be set; empty if they can.
    """

    def __init__(
        self, name: str, parameters: Iterable[Parameter[Any]], **options: Any
    ) -> None:
        """Create the node ``name`` and declare its ``parameters``, which include those of the robot.

        ``options`` are keyword arguments of ``rclpy.node.Node``.
        """
        super().__init__(name, parameters, **options)
        self._latched = ""
        self._logged: set[str] = set()
        self._kernels: Future[object] | None = None
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(
            String, "robot_description", self._receive_description, latched
        )
        self.too_late = ""
        self._declared = parameters
        self.add_on_set_parameters_callback(self._check_parameters)

    def tune(self, values: Values) -> None:
        """Apply new ``values`` of parameters; RobotDynamicsError, without a change, for one that is invalid."""
        raise NotImplementedError

    def _check_parameters(
        self, changes: list[RosParameter[Any]]
    ) -> SetParametersResult:
        try:
            declared = self._declared
            self.tune(check_changes(declared, self.values, changes, self.too_late))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _receive_description(self, message: String) -> None:
        self._latched = message.data
        self.start_when_possible()

    def is_new(self, message: str) -> bool:
        """Return True at the first call with ``message``: after a compilation the robot is loaded again."""
        new = message not in self._logged
        self._logged.add(message)
        return new

    def description(self) -> str:
        """Return the URDF last received on the topic, else the parameter robot_description, else the file of urdf.

        It is empty if there is none. A .xacro file is expanded. Raises RobotDynamicsError if the parameter urdf or,
        without a URDF from the topic, robot_description is not a text, and if the file is used and cannot be read or
        expanded.
        """
        text = self._latched or ROBOT_DESCRIPTION.read(self.values)
        file = URDF.read(self.values)
        return text or (
            read_urdf(Path(file), {}).decode(errors="replace") if file else ""
        )

    def require_kernels(self) -> None:
        """Raise NotReadyError while ``warm_up`` compiles kernels; numba cannot load others meanwhile."""
        if self._kernels is not None and not self._kernels.done():
            raise NotReadyError(
                f"still compiling the dynamics kernels, {time.monotonic() - self._start:.0f} s so far, up to a minute "
                "of a free processor. Cure: try again when they are ready"
            )

    def warm_up(self, work: Callable[[], object]) -> None:
        """Run ``work``, which uses the kernels, and wait for its end if they were compiled before.

        Errors of ``work`` are then raised. Otherwise it continues in a background thread, and NotReadyError is raised
        at once, as during an earlier compilation. After its end the executor calls ``start_when_possible``, and a new
        call of ``warm_up`` only loads the kernels.
        """
        self.require_kernels()
        self._start = time.monotonic()
        compiled: SimpleQueue[str] = SimpleQueue()

        def run() -> None:
            try:
                with compilations_reported(compiled.put):
                    work()
            finally:
                compiled.put("")

        self._kernels = run_in_background(run)
        kernel = compiled.get()
        if not kernel:
            self._kernels.result()
            return
        self._timer = self.create_steady_timer(COMPILATION_POLL_PERIOD, self._poll)
        raise NotReadyError(announcement(kernel))

    def _poll(self) -> None:
        if self._kernels is not None and self._kernels.done():
            self.destroy_timer(self._timer)
            self.get_logger().info(
                f"dynamics kernels ready after {time.monotonic() - self._start:.1f} s"
            )
            self.start_when_possible()

    def start_when_possible(self) -> None:
        """Start unless already started; called when a URDF is received and when kernels have been compiled."""
        raise NotImplementedError

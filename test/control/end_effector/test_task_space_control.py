"""Controller with ``task_space_computed_torque``: motion of the end effector in simulation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.controller_status import StatusReport
from robot_dynamics_ros.control.end_effector.poses import pose_error
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.simulation import Plant
from support.comparing import assert_close
from support.task_space_loops import END_EFFECTOR_LINKS, READY, rotated

PERIOD = 0.002
FREE = {"max_linear_velocity": np.inf, "max_angular_velocity": np.inf}


def settings(
    task_space: dict[str, Any] | None = None, **others: Any
) -> ControllerSettings:
    groups = TaskSpaceSettings(**(task_space or {}))
    return ControllerSettings(
        law="task_space_computed_torque", task_space=groups, **others
    )


class Sample(NamedTuple):
    """Data of a cycle: time (s), measured position, pose, and command."""

    time: float
    q: Any
    pose: Any
    command: Command


class Loop:
    """Closed loop of a controller and an arm, after a first cycle at rest."""

    def __init__(
        self, robot: str, model: RobotModel, settings: ControllerSettings
    ) -> None:
        self.model = model
        self.link = END_EFFECTOR_LINKS[robot]
        self.controller = make_controller(model, settings)
        self.plant = Plant(model, step_size=PERIOD, initial_positions=READY[robot])
        self.time = 0.0
        self.cycle()

    @property
    def pose(self) -> Any:
        return self.model.link_pose(self.plant.position, self.link)

    def cycle(self) -> Sample:
        """Measure, command, and simulate a period."""
        time = self.time
        q = self.plant.position.copy()
        self.controller.measure(time, time, q, self.plant.velocity.copy())
        command = self.controller.update(time, time)
        self.plant.step(command.effort)
        self.time += PERIOD
        command = command._replace(effort=command.effort.copy())
        return Sample(time, q, self.model.link_pose(q, self.link), command)

    def run(self, duration: float) -> list[Sample]:
        return [self.cycle() for _ in range(round(duration / PERIOD))]

    def aim(self, pose: Any, twist: Any = None, acceleration: Any = None) -> None:
        """Send a target with feedforward, without stamp."""
        targets = self.controller.targets()
        for kind, vector in (("twist", twist), ("acceleration", acceleration)):
            if vector is not None:
                targets.feed_forward(
                    kind, np.asarray(vector, dtype=float), 0, self.time
                )
        targets.follow(np.asarray(pose), 0, self.time, self.time)


@pytest.fixture(scope="module")
def smooth(load_robot: Callable[..., RobotModel]) -> Callable[[str], RobotModel]:
    """Load robots without friction."""
    made: dict[str, RobotModel] = {}
    return lambda robot: made.setdefault(robot, load_robot(robot).scaled(friction=0.0))


@pytest.fixture
def loop(smooth: Any) -> Loop:
    return Loop("panda", smooth("panda"), settings())


def moved(pose: Any, way: Any, turn: Any = (0.0, 0.0, 0.0)) -> Any:
    goal = pose.copy()
    goal[:3, 3] += way
    goal[:3, :3] = rotated(np.asarray(turn)) @ pose[:3, :3]
    return goal


def distance(samples: list[Sample], pose: Any) -> float:
    """Return the largest component of the error between the samples and a pose."""
    return max(float(np.abs(pose_error(pose, sample.pose)).max()) for sample in samples)


def test_a_stream_of_targets_with_feedforward_is_followed(smooth: Any) -> None:
    """Circle of 0.08 m with targets at 100 Hz."""
    loop = Loop("panda", smooth("panda"), settings(FREE))
    centre = loop.pose
    radius = 0.08
    rate = np.pi
    error = 0.0
    for k in range(600):
        c = np.cos(rate * loop.time)
        s = np.sin(rate * loop.time)
        goal = moved(centre, (radius * (c - 1.0), radius * s, 0.0))
        if k % 5 == 0:
            twist = np.zeros(6)
            acceleration = np.zeros(6)
            twist[:2] = radius * rate * -s, radius * rate * c
            acceleration[:2] = -radius * rate**2 * c, -radius * rate**2 * s
            loop.aim(goal, twist, acceleration)
        sample = loop.cycle()
        if k >= 300:
            error = max(error, float(np.linalg.norm(goal[:3, 3] - sample.pose[:3, 3])))
    assert error < 5e-4, (
        "without feedforward it lags by 2 zeta / omega times the speed, 0.05 m"
    )


def test_friction_is_compensated_along_the_targets_motion(
    load_robot: Callable[..., RobotModel],
) -> None:
    """By the model's friction at the joint velocities of the twist; none while the arm holds."""
    model = load_robot("puma560", "puma560")
    assert model.friction_parameters.any()
    q = READY["puma560"]
    qd = np.zeros(6)
    twist = np.array([0.1, -0.05, 0.2, 0.1, 0.2, -0.3])
    efforts = {}
    for on in (True, False):
        values = settings(friction_compensation=on, torque_rate_limit=())
        controller = make_controller(model, values)
        for k, moving in enumerate((False, True)):
            controller.measure(0.01 * k, 0.0, q, qd)
            if moving:
                controller.targets().feed_forward("twist", twist, 0, 0.01)
                controller.targets().follow(model.link_pose(q, "tool0"), 0, 0.01, 0.01)
            efforts[on, moving] = controller.update(0.01 * k, 0.0).effort.copy()
    assert np.array_equal(efforts[True, False], efforts[False, False])
    rates = np.linalg.solve(model.jacobian(q, "tool0"), twist)
    assert_close(
        efforts[True, True] - efforts[False, True],
        model.friction_torque(q, rates, 0.01),
        1e-9,
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_targets_give_finite_torques(sign: float, smooth: Any) -> None:
    """Targets up to 1e9 are accepted; the command stays within the limits."""
    loop = Loop("panda", smooth("panda"), settings(FREE))
    huge = np.full(6, sign * 1e9)
    for twist, acceleration in ((None, None), (huge, None), (huge, huge)):
        loop.aim(moved(loop.pose, huge[:3] / 2), twist, acceleration)
        for sample in loop.run(0.005):
            assert np.isfinite(sample.command.effort).all()
            assert (np.abs(sample.command.effort) <= loop.model.effort_limits).all()


def test_cancel_holds_the_pose(loop: Loop) -> None:
    loop.aim(moved(loop.pose, (0.1, 0.1, 0.0)))
    loop.run(0.4)
    loop.controller.cancel()
    assert loop.controller.law.task_torque is None
    here = loop.cycle().pose
    assert not loop.controller.law.task_torque.error.any()
    assert distance(loop.run(0.7)[-1:], here) < 1e-3


def test_a_fault_drops_all_targets(loop: Loop) -> None:
    """Targets are refused until the fault is cleared; then the pose is held."""
    loop.aim(moved(loop.pose, (0.2, 0.0, 0.0)))
    loop.run(0.3)
    loop.controller.targets().follow(
        moved(loop.pose, (0.0, 0.2, 0.0)), 1, loop.time + 0.5, loop.time
    )
    loop.controller.measure(
        loop.time, loop.time, loop.plant.position.copy(), np.full(7, np.nan)
    )
    assert loop.controller.update(loop.time, loop.time).mode is Mode.HOLD
    with pytest.raises(RobotDynamicsError, match="hold"):
        loop.controller.targets()
    assert loop.controller.law.task_torque is None
    loop.run(0.4)
    assert loop.controller.mode is Mode.FAULT
    loop.controller.clear_fault(loop.time)
    here = loop.pose
    assert distance(loop.run(0.5), here) < 1e-3, "it still crept"


def test_no_targets_before_there_is_a_state(smooth: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="joint_states"):
        make_controller(smooth("panda"), settings()).targets()


def test_a_trajectory_is_the_posture(loop: Loop) -> None:
    """The joints follow it in the null space, while the end effector holds its pose."""
    model = loop.model
    start = READY["panda"]
    pose = loop.pose
    along = np.linalg.svd(model.jacobian(start, loop.link))[2][-1]
    goal = start + 0.3 * along * np.sign(along[0])
    zeros = np.zeros((1, 7))
    points = TrajectoryPoints(
        model.joint_names, np.array([0.6]), goal[None], zeros, zeros
    )
    loop.controller.follow(points, None, loop.time)
    samples = loop.run(1.0)
    assert distance(samples, pose) < 1e-4
    assert_close(samples[-1].command.desired.q, goal, 1e-12)
    assert np.linalg.norm(loop.plant.position - start) > 0.2
    # The remaining error is outside the null space.
    tangent = np.linalg.svd(model.jacobian(loop.plant.position, loop.link))[2][-1]
    mass = model.mass_matrix(loop.plant.position)
    assert abs(tangent @ mass @ (goal - loop.plant.position)) < 1e-3


def test_a_change_of_law_holds_the_position(loop: Loop) -> None:
    loop.aim(moved(loop.pose, (0.1, 0.0, 0.1)))
    here = loop.run(1.2)[-1].q
    assert np.abs(here - READY["panda"]).max() > 0.05
    loop.controller.tune(ControllerSettings())
    assert_close(loop.cycle().command.desired.q, here, 1e-12)
    with pytest.raises(RobotDynamicsError, match="computed_torque"):
        loop.controller.targets()
    loop.controller.tune(settings())
    pose = loop.pose
    assert distance(loop.run(0.3), pose) < 1e-3


def test_settings_change_while_it_runs(loop: Loop) -> None:
    """Gains apply from the next cycle on; another link or other components hold the present pose."""
    loop.aim(moved(loop.pose, (0.1, 0.0, 0.0)))
    loop.run(0.2)
    loop.controller.tune(settings({"natural_frequency": [20.0], "target_timeout": 0.5}))
    loop.cycle()
    assert np.linalg.norm(loop.controller.law.task_torque.error[:3]) > 0.04
    assert loop.controller.targets().timeout == 0.5
    for change in ({"components": "x y z"}, {"link": "panda_link7"}):
        loop.controller.tune(settings(change))
        loop.cycle()
        assert not loop.controller.law.task_torque.error.any()
    with pytest.raises(RobotDynamicsError, match="task_space.link"):
        loop.controller.tune(settings({"link": "hand"}))
    assert loop.controller.settings.task_space.link == "panda_link7"
    assert (
        make_controller(
            loop.model, settings({"target_timeout": 0.25})
        ).law.targets.timeout
        == 0.25
    )


def test_status_of_the_end_effector(smooth: Any) -> None:
    loop = Loop("ur5e", smooth("ur5e"), settings())
    smallest = np.linalg.svd(loop.model.jacobian(loop.plant.position, "tool0"))[1].min()
    loop.aim(moved(loop.pose, (0.0, 0.03, 0.04), (0.1, 0.0, 0.0)))
    loop.cycle()
    values = StatusReport(0.0).status(loop.controller, loop.time, 0.0, None).values
    assert values["end effector position error"] == pytest.approx(0.05)
    assert values["end effector rotation error"] == pytest.approx(0.1)
    assert values["smallest singular value"] == pytest.approx(smallest, rel=1e-6)
    assert values["damped directions"] is False
    loop.controller.tune(ControllerSettings())
    assert (
        "end effector position error"
        not in StatusReport(0.0).status(loop.controller, 0.0, 0.0, None).values
    )


BRANCHING = """<robot name="fork"><link name="base"/>
  <link name="arm"><inertial>
    <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"/><link name="right"/><link name="camera"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="l" type="fixed"><parent link="arm"/><child link="left"/></joint>
  <joint name="r" type="fixed"><parent link="arm"/><child link="right"/></joint>
  <joint name="c" type="fixed"><parent link="base"/><child link="camera"/></joint></robot>"""


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"link": ""}, "left, right"),
        ({"link": "hand"}, '"hand"'),
        ({"link": "camera"}, '"camera"'),
        ({"components": "rz yaw"}, "rz yaw"),
        ({"components": "rz rz"}, "rz rz"),
        ({"components": ""}, "components"),
        ({"natural_frequency": [1.0, 2.0]}, "natural_frequency: 2 numbers"),
        ({"damping_ratio": [1, 1, 1, 1, 1, np.nan]}, "damping_ratio: nan .number 6"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, Any], culprit: str) -> None:
    model = RobotModel.from_urdf(BRANCHING)
    make_controller(model, settings({"link": "left", "components": "rz"}))
    with pytest.raises(RobotDynamicsError, match=f"task_space.*{culprit}"):
        make_controller(model, settings({"link": "left", "components": "rz", **change}))

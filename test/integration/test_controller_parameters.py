"""The controller's parameters on the wire: every law in closed form, what may change while it runs, and what not.

The arm is Tsai's planar one with friction added, Craig (6.110)-(6.113). A streamed set point asks for a motion, and the
measured state lies away from it, so that every term of a law counts.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from oracles import tsai_planar_2r
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import nanoseconds
from robot_dynamics_ros.parameters.controller import ALL
from support.ros import JOINTS, PLANAR, TSAI, Array, Driver, Graph, Log, gravity

NODE = "computed_torque_node"
START = np.array([-0.6, 0.9])
FRICTION = {"joint1": {"viscous": 0.8, "coulomb": 1.5}, "joint2": {"viscous": 0.3, "coulomb": 0.6}}

Q_D, QD_D, QDD_D = np.array([0.3, -0.5]), np.array([0.7, -0.4]), np.array([1.1, -0.9])
Q, QD = np.array([0.2, -0.3]), np.array([0.5, 0.1])
KP, KD = np.array([90.0, 40.0]), np.array([18.0, 11.0])

#: What every test starts from: the defaults, but for set points that move and for tests that pause.
BASE = {parameter.name: parameter.default for parameter in ALL if parameter.when == "run"} | {
    "state_timeout": math.inf,
    "position_step_limit": [math.inf],
    "set_point_step_limit": [math.inf],
    "saturation_timeout": math.inf,
    "allow_nonzero_velocity_at_trajectory_end": True,
}


def _friction(qd: Array) -> Array:
    """Viscous and Coulomb friction of the test's arm; its desired motion is fast enough not to be smoothed."""
    viscous, coulomb = ([FRICTION[name][part] for name in JOINTS] for part in ("viscous", "coulomb"))
    return np.multiply(viscous, qd) + np.multiply(coulomb, np.sign(qd))


class Arm(NamedTuple):
    """A controller."""

    driver: Driver
    node: str
    log: Path

    def change(self, values: dict[str, Any]) -> SetParametersResult:
        """Set all of these parameters or none, and return the outcome."""
        request = SetParametersAtomically.Request(parameters=[_parameter(*item) for item in values.items()])
        return self.driver.graph.call(SetParametersAtomically, f"{self.node}/set_parameters_atomically", request).result

    def change_singly(self, values: dict[str, Any]) -> list[SetParametersResult]:
        """Set these parameters one after the other, and return each outcome."""
        request = SetParameters.Request(parameters=[_parameter(*item) for item in values.items()])
        return list(self.driver.graph.call(SetParameters, f"{self.node}/set_parameters", request).results)

    def take(self, values: dict[str, Any]) -> None:
        result = self.change(values)
        assert result.successful, result.reason

    def values(self, names: list[str]) -> list[Any]:
        request = GetParameters.Request(names=names)
        return list(self.driver.graph.call(GetParameters, f"{self.node}/get_parameters", request).values)

    def aim(self, q_d: Array = Q_D, qd_d: Array = QD_D, qdd_d: Array = QDD_D) -> None:
        """Stream a set point."""
        graph = self.driver.graph
        log = Log(self.log)
        self.driver.follow(TrajectoryPoints(JOINTS, np.zeros(1), q_d[None], qd_d[None], qdd_d[None]))
        graph.await_log(log, "following a trajectory of 1 points")

    def effort(self, q: Array = Q, qd: Array = QD) -> Array:
        """What is commanded in answer to this state when a change has taken over: 0.2 s, by stamps and by the clock."""
        self.driver.ask(q, qd)
        stamp, clock = self.driver.now + 250_000_000, time.monotonic() + 0.25
        while self.driver.now < stamp or time.monotonic() < clock:
            self.driver.ask(q, qd)  # at 100 Hz by the stamps, which the gains need
        return np.array(self.driver.answers[-1].effort)


def _parameter(name: str, value: Any) -> Any:
    kind = Parameter.Type.DOUBLE_ARRAY if value == [] else None
    return Parameter(name, kind, value).to_parameter_msg()


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm]:
    """Its file has integers where numbers are meant."""
    folder = tmp_path_factory.mktemp("controller")
    document = yaml.safe_load(Path(str(PLANAR["dynamics_file"])).read_text(encoding="utf-8"))
    dynamics_file = folder / "rough.dynamics.yaml"
    dynamics_file.write_text(yaml.safe_dump({**document, "joints": FRICTION}), encoding="utf-8")
    whole = {"update_rate": 0, "gains.natural_frequency": [8, 8], "state_timeout": 1000, "effort_limit_scale": 1}
    with Graph(folder) as graph:
        process = graph.start(NODE, {**PLANAR, **whole, "dynamics_file": str(dynamics_file)})
        arm = Arm(Driver(graph), NODE, process.log)
        arm.driver.ask(START)
        yield arm
        arm.driver.assert_finite()


@pytest.fixture
def arm(started: Arm) -> Arm:
    """An arm with default parameters and a set point away from where it is."""
    started.take(BASE)
    started.aim()
    return started


def assert_effort(actual: Array, expected: Array) -> None:
    """The node's time has steps of 15 ps; efforts that change by some hundred Nm/s are not known better than that."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8)


def _computed_torque(kp: Any = 100.0, kd: Any = 20.0, q: Array = Q, qd: Array = QD) -> Array:
    """What the default law commands, by default with its default gains: Tsai (9.73)-(9.74) and friction."""
    return tsai_planar_2r.torque(TSAI, q, qd, QDD_D + _pd(kp, kd, q, qd)) + _friction(QD_D)


def _pd(kp: Any, kd: Any, q: Array = Q, qd: Array = QD) -> Array:
    return np.asarray(kp) * (Q_D - q) + np.asarray(kd) * (QD_D - qd)


def test_laws(arm: Arm) -> None:
    """With gains as numbers, and with gains from natural frequency and damping ratio."""
    omega, zeta = np.array([7.0, 9.0]), np.array([0.8, 1.2])
    frequencies = {"gains.natural_frequency": list(omega), "gains.damping_ratio": list(zeta)}
    # Torque laws get the same frequency and damping for each joint alone, where the arm started.
    inertia = tsai_planar_2r.mass_matrix(TSAI, START).diagonal()
    for law, scale, effort in (("computed_torque", 1.0, _computed_torque), ("pd", inertia, _pd)):
        arm.take({"law": law, "gains.kp": list(KP), "gains.kd": list(KD)})
        assert_effort(arm.effort(), effort(KP, KD))
        arm.take({"gains.kp": [], "gains.kd": [], **frequencies})
        assert_effort(arm.effort(), effort(scale * omega**2, scale * 2 * zeta * omega))


# Changes while it runs


def test_one_after_the_other(arm: Arm) -> None:
    """set_parameters takes each by itself: a bad one does not keep the others out."""
    results = arm.change_singly(
        {"gains.natural_frequency": [5.0], "on_fault": "brake", "gains.damping_ratio": [0.5], "ramp_time": 0}
    )
    assert [result.successful for result in results] == [True, False, True, True]
    assert "on_fault" in results[1].reason
    assert_effort(arm.effort(), _computed_torque(25.0, 5.0))


def test_friction_compensation(arm: Arm) -> None:
    arm.take({"friction_compensation": False})
    assert_effort(arm.effort(), _computed_torque() - _friction(QD_D))


def test_observer(arm: Arm) -> None:
    """An arm that stands still although it is not held is held by somebody: g(q) - tau, after 1 / gain seconds."""
    graph, driver = arm.driver.graph, arm.driver
    external = graph.collect(JointState, f"{arm.node}/external_torque")
    at_rest = np.zeros(2)
    arm.effort(qd=at_rest)
    graph.settle(0.2)
    assert external == []
    arm.take({"observer.gain": 20})
    for _ in range(50):
        commanded = np.array(driver.ask(Q, at_rest, dt=0.02).effort)
    graph.wait(lambda: external and nanoseconds(external[-1].header.stamp) == driver.now, "the last estimate")
    assert tuple(external[-1].name) == JOINTS
    np.testing.assert_allclose(external[-1].effort, gravity(Q) - commanded, rtol=0, atol=1e-6)


# Refused


#: One of each kind; which values each parameter refuses is tested where they are read.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "beyond its range": ({"minimum_rate_ratio": 1.5}, "minimum_rate_ratio"),
    "no choice": ({"on_fault": "brake"}, "on_fault"),
    "of another type": ({"gains.natural_frequency": "[1, 2.5]"}, "gains.natural_frequency"),
    "for another robot": ({"gains.natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency"),
    "beside others": ({"gains.kp": [9.0], "gains.kd": [2.0], "gains.ki": [18.5]}, "gains.ki"),
    "for another law": ({"law": "task_space_computed_torque"}, "task_space.components"),
    "deleted": ({"gains.kp": None}, "gains.kp"),
    "unknown": ({"gains.kq": [1.0]}, "undeclared"),
    "read-only": ({"autostart": False}, "autostart"),
    "read when it is configured": ({"joints": ["joint1"]}, "joints"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, arm: Arm) -> None:
    """With a reason that names the parameter, and nothing of the request is taken, good values before and after too."""
    bad, culprit = REFUSED[case]
    names = [name for name in ("effort_limit_scale", *bad, "friction_compensation") if name != "gains.kq"]
    before = arm.values(names)
    result = arm.change({"friction_compensation": False, **bad, "effort_limit_scale": [0.01]})
    assert not result.successful and culprit in result.reason
    assert_effort(arm.effort(), _computed_torque())
    assert arm.values(names) == before
    if len(bad) == 1:
        (single,) = arm.change_singly(bad)
        assert not single.successful and culprit in single.reason


def test_gains_keep_their_unit(arm: Arm) -> None:
    """Gains given as numbers are accelerations or torques: a law that reads them otherwise needs them anew, at once."""
    arm.take({"gains.kp": list(KP), "gains.kd": list(KD)})
    result = arm.change({"law": "pd"})
    assert not result.successful and "law" in result.reason
    singly = arm.change_singly({"law": "pd", "gains.kp": [5.0], "gains.kd": [3.0]})
    assert [one.successful for one in singly] == [False, True, True]
    torques = np.array([30.0, 20.0]), np.array([6.0, 4.0])
    arm.take({"law": "pd", "gains.kp": list(torques[0]), "gains.kd": list(torques[1])})
    assert_effort(arm.effort(), _pd(*torques))


# When it is configured


def test_changes_between_configurations(tmp_path: Path) -> None:
    """What is read when the node is configured waits for that; then commands follow it. Read-only stays read-only."""
    with Graph(tmp_path) as graph:
        process = graph.start(NODE, PLANAR)
        arm = Arm(Driver(graph), NODE, process.log)
        assert_effort(np.array(arm.driver.ask(Q).effort), gravity(Q))
        # A gravity that leans by an angle is that of an arm that leans the other way: Tsai (9.117)-(9.118).
        lean = 0.3
        tilted: dict[str, Any] = {"gravity": [1.62 * math.sin(lean), 0.0, -1.62 * math.cos(lean)]}
        cases: list[tuple[dict[str, Any], Array]] = [
            (tilted, tsai_planar_2r.gravity(replace(TSAI, g=1.62), Q - [lean, 0.0])),
            ({"gravity": [], "robot_compensates_gravity": True}, np.zeros(2)),
            ({"robot_compensates_gravity": False, "joints": ["joint2", "joint1"]}, gravity(Q)[::-1]),
            ({"joints": [], "update_rate": 0}, gravity(Q)),
        ]
        for values, expected in cases:
            assert graph.transition(NODE, Transition.TRANSITION_DEACTIVATE)
            result = arm.change(values)  # still configured
            assert not result.successful and any(name in result.reason for name in values)
            assert graph.transition(NODE, Transition.TRANSITION_CLEANUP)
            for read_only in ({"autostart": False}, {"realtime_priority": 10}, {"lock_memory": True}):
                assert not arm.change(read_only).successful
            assert not arm.change({"gravity": [0.0, 0.0]}).successful
            assert not arm.change({"joints": [1.0, 2.0]}).successful
            arm.take(values)
            assert graph.transition(NODE, Transition.TRANSITION_CONFIGURE), graph.logs()
            assert graph.transition(NODE, Transition.TRANSITION_ACTIVATE)
            assert_effort(np.array(arm.driver.ask(Q).effort), expected)


def test_every_parameter_is_described(arm: Arm) -> None:
    """By name, in words, with a range where it is one number between two, and as read-only where it is."""
    listed = arm.driver.graph.call(ListParameters, f"{arm.node}/list_parameters", ListParameters.Request())
    names = [name for name in listed.result.names if not name.startswith("qos_overrides.")]
    assert set(names) == {p.name for p in ALL} | {"use_sim_time", "start_type_description_service"}
    request = DescribeParameters.Request(names=[p.name for p in ALL])
    answer = arm.driver.graph.call(DescribeParameters, f"{arm.node}/describe_parameters", request)
    described = {descriptor.name: descriptor for descriptor in answer.descriptors}
    for name, descriptor in described.items():
        assert len(descriptor.description) > 20, name
        assert descriptor.read_only == (name in {"autostart", "executor", "realtime_priority", "lock_memory"}), name
    (between,) = described["minimum_rate_ratio"].floating_point_range
    assert (between.from_value, between.to_value) == (0.0, 1.0)
    assert "one of" in described["law"].additional_constraints
    assert set(described) == {p.name for p in ALL}

"""Parameters of the controller node: laws in closed form for Tsai's arm with friction, Craig (6.110)-(6.113)."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter

from oracles import tsai_planar_2r
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import ALL
from support.robot import friction, rough_arm
from support.ros import JOINTS, PLANAR, TSAI, Array, Driver, Graph, Log, gravity

NODE = "computed_torque_node"
START = np.array([-0.6, 0.9])

Q_D = np.array([0.3, -0.5])
QD_D = np.array([0.7, -0.4])
QDD_D = np.array([1.1, -0.9])
Q = np.array([0.2, -0.3])
QD = np.array([0.5, 0.1])
KP = np.array([90.0, 40.0])
KD = np.array([18.0, 11.0])

#: What every test starts from: the defaults, but for set points that move and for tests that pause.
BASE = {
    parameter.name: parameter.default for parameter in ALL if parameter.when == "run"
} | {
    "state_timeout": math.inf,
    "position_step_limit": [math.inf],
    "set_point_step_limit": [math.inf],
    "saturation_timeout": math.inf,
    "allow_nonzero_velocity_at_trajectory_end": True,
}


class Arm(Driver):
    """Driver of an arm that also changes its controller's parameters."""

    def change(self, values: dict[str, Any]) -> SetParametersResult:
        """Set these parameters atomically, and return the result."""
        request = SetParametersAtomically.Request(
            parameters=[_parameter(*item) for item in values.items()]
        )
        return self.graph.call(
            SetParametersAtomically, f"{NODE}/set_parameters_atomically", request
        ).result

    def take(self, values: dict[str, Any]) -> None:
        result = self.change(values)
        assert result.successful, result.reason

    def values(self, names: list[str]) -> list[Any]:
        request = GetParameters.Request(names=names)
        return list(
            self.graph.call(GetParameters, f"{NODE}/get_parameters", request).values
        )

    def effort(self) -> Array:
        """Return the command at Q, QD after the 0.2 s (stamps and steady clock) in which a change takes effect."""
        self.ask(Q, QD)
        stamp = self.now + 250_000_000
        clock = time.monotonic() + 0.25
        while self.now < stamp or time.monotonic() < clock:
            self.ask(Q, QD)  # at 100 Hz by the stamps, which the gains need
        return np.array(self.answers[-1].effort)


def _parameter(name: str, value: Any) -> Any:
    kind = Parameter.Type.DOUBLE_ARRAY if value == [] else None
    return Parameter(name, kind, value).to_parameter_msg()


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm]:
    """Start a controller whose file has integers for floating-point parameters."""
    folder = tmp_path_factory.mktemp("controller")
    whole = {
        "update_rate": 0,
        "gains.natural_frequency": [8, 8],
        "state_timeout": 1000,
        "effort_limit_scale": 1,
    }
    with Graph(folder) as graph:
        graph.start(NODE, rough_arm(folder) | whole)
        arm = Arm(graph)
        arm.ask(START)
        yield arm
        arm.assert_finite()


@pytest.fixture
def arm(started: Arm) -> Arm:
    """Return an arm with default parameters and a set point that differs from its position."""
    started.take(BASE)
    log = Log(started.graph.processes.members[0].log)
    points = TrajectoryPoints(JOINTS, np.zeros(1), Q_D[None], QD_D[None], QDD_D[None])
    started.graph.send_until_logged(
        lambda: started.follow(points), log, "following a trajectory: 1 points"
    )
    return started


def assert_effort(actual: Array, expected: Array) -> None:
    """Compare efforts; time has a resolution of 15 ps, which matters for changes of some hundred Nm/s."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8)


def _computed_torque(kp: Any = 100.0, kd: Any = 20.0) -> Array:
    """Return the effort of the default law, by default with its default gains: Tsai (9.73)-(9.74) and friction."""
    return tsai_planar_2r.torque(TSAI, Q, QD, QDD_D + _pd(kp, kd)) + friction(QD_D)


def _pd(kp: Any, kd: Any) -> Array:
    return np.asarray(kp) * (Q_D - Q) + np.asarray(kd) * (QD_D - QD)


def test_gains_of_the_laws(arm: Arm) -> None:
    """Gains are given as numbers, or by natural frequency and damping ratio."""
    omega = np.array([7.0, 9.0])
    zeta = np.array([0.8, 1.2])
    frequencies = {
        "gains.natural_frequency": list(omega),
        "gains.damping_ratio": list(zeta),
    }
    # Torque laws get the same frequency and damping for each joint alone, where the arm started.
    inertia = tsai_planar_2r.mass_matrix(TSAI, START).diagonal()
    for law, scale, effort in (
        ("computed_torque", 1.0, _computed_torque),
        ("pd", inertia, _pd),
    ):
        arm.take({"law": law, "gains.kp": list(KP), "gains.kd": list(KD)})
        assert_effort(arm.effort(), effort(KP, KD))
        arm.take({"gains.kp": [], "gains.kd": [], **frequencies})
        assert_effort(arm.effort(), effort(scale * omega**2, scale * 2 * zeta * omega))


#: One of each kind; which values each parameter refuses is tested where they are read.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"minimum_rate_ratio": 1.5}, "minimum_rate_ratio"),
    ({"gains.natural_frequency": "[1, 2.5]"}, "gains.natural_frequency"),
    ({"gains.natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency"),
    ({"gains.kp": [9.0], "gains.kd": [2.0], "gains.ki": [18.5]}, "gains.ki"),
    ({"law": "task_space_computed_torque"}, "task_space.components"),
    ({"gains.kp": None}, "gains.kp"),
    ({"gains.kq": [1.0]}, "undeclared"),
    ({"autostart": False}, "autostart"),
    ({"joints": ["joint1"]}, "joints"),
]


def test_refused(arm: Arm) -> None:
    """The reason names the parameter, and valid values of the same request are not applied."""
    for bad, culprit in REFUSED:
        names = [
            name
            for name in ("effort_limit_scale", *bad, "friction_compensation")
            if name != "gains.kq"
        ]
        before = arm.values(names)
        result = arm.change(
            {"friction_compensation": False, **bad, "effort_limit_scale": [0.01]}
        )
        assert not result.successful and culprit in result.reason
        assert arm.values(names) == before
    assert_effort(arm.effort(), _computed_torque())


def test_parameter_changes_while_unconfigured(tmp_path: Path) -> None:
    """Parameters that are read on configuration apply to later commands; read-only ones cannot change."""
    with Graph(tmp_path) as graph:
        graph.start(NODE, PLANAR)
        arm = Arm(graph)
        assert_effort(np.array(arm.ask(Q).effort), gravity(Q))
        # A gravity that leans by an angle is that of an arm that leans the other way: Tsai (9.117)-(9.118).
        lean = 0.3
        tilted = tsai_planar_2r.gravity(replace(TSAI, g=1.62), Q - [lean, 0.0])
        cases: list[tuple[dict[str, Any], Array]] = [
            (
                {
                    "gravity": [1.62 * math.sin(lean), 0.0, -1.62 * math.cos(lean)],
                    "joints": ["joint2", "joint1"],
                },
                tilted[::-1],
            ),
            ({"gravity": [], "robot_compensates_gravity": True}, np.zeros(2)),
        ]
        for values, expected in cases:
            assert graph.transition(NODE, Transition.TRANSITION_DEACTIVATE)
            result = arm.change(values)  # still configured
            assert not result.successful and any(
                name in result.reason for name in values
            )
            assert graph.transition(NODE, Transition.TRANSITION_CLEANUP)
            for bad in ({"autostart": False}, {"gravity": [0.0, 0.0]}):
                assert not arm.change(bad).successful
            arm.take(values)
            assert graph.transition(NODE, Transition.TRANSITION_CONFIGURE)
            assert graph.transition(NODE, Transition.TRANSITION_ACTIVATE)
            assert_effort(np.array(arm.ask(Q).effort), expected)

"""The controller's parameters on the wire: every law in closed form, what may change while it runs, and what not.

The arm is Tsai's planar one with friction added, Craig (6.110)-(6.113). A streamed set point asks for a motion, and the
measured state lies away from it, so that every term of a law counts.
"""

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from integration.ros import JOINTS, PLANAR, TSAI, Array, Driver, Graph, Log, gravity
from lifecycle_msgs.msg import Transition
from oracles import tsai_planar_2r
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.laws import JOINT_LAWS
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import nanoseconds
from robot_dynamics_ros.parameters.controller import ALL

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
    """A controller, and the closed forms of what its commands contain."""

    driver: Driver
    node: str
    log: Path
    forms: tsai_planar_2r.Parameters

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """ID of Tsai (9.73)-(9.74)."""
        return tsai_planar_2r.torque(self.forms, q, qd, qdd)

    def gravity(self, q: Array) -> Array:
        return tsai_planar_2r.gravity(self.forms, q)

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
def arms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Arm]]:
    """Two arms, one of which makes up for gravity by itself; its file has integers where numbers are meant."""
    folder = tmp_path_factory.mktemp("controllers")
    document = yaml.safe_load(Path(str(PLANAR["dynamics_file"])).read_text(encoding="utf-8"))
    dynamics_file = folder / "rough.dynamics.yaml"
    dynamics_file.write_text(yaml.safe_dump({**document, "joints": FRICTION}), encoding="utf-8")
    rough = {**PLANAR, "dynamics_file": str(dynamics_file)}
    whole = {"update_rate": 0, "gains.natural_frequency": [8, 8], "state_timeout": 1000, "effort_limit_scale": 1}
    with Graph(folder) as graph:
        plain = graph.start(NODE, rough)
        light = graph.start(NODE, {**rough, **whole, "robot_compensates_gravity": True}, "-r", "__ns:=/light")
        arms = {
            "plain": Arm(Driver(graph), NODE, plain.log, TSAI),
            "light": Arm(Driver(graph, "/light"), f"light/{NODE}", light.log, replace(TSAI, g=0.0)),
        }
        for arm in arms.values():
            arm.driver.ask(START)
        yield arms
        for arm in arms.values():
            arm.driver.assert_finite()


def _ready(arm: Arm) -> Arm:
    arm.take(BASE)
    arm.aim()
    return arm


@pytest.fixture
def arm(arms: dict[str, Arm]) -> Arm:
    """An arm with default parameters and a set point away from where it is."""
    return _ready(arms["plain"])


def assert_effort(actual: Array, expected: Array) -> None:
    """The node's time has steps of 15 ps; efforts that change by some hundred Nm/s are not known better than that."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8)


# Laws


def _pd(kp: Array, kd: Array, q: Array, qd: Array) -> Array:
    return kp * (Q_D - q) + kd * (QD_D - qd)


def _coriolis(q: Array, a: Array, b: Array) -> Array:
    """C(q, a) b by Christoffel symbols: the symmetric bilinear form of the velocity terms."""
    both = [tsai_planar_2r.velocity_coupling(TSAI, q, qd) for qd in (a + b, a - b)]
    return (both[0] - both[1]) / 4


Law = Callable[[Arm, Array, Array, Array, Array], Array]

# DESIGN's table of laws with the terms of the book; of the arm, kp, kd, q and qd.
CLOSED_FORMS: dict[str, Law] = {
    "feedforward": lambda arm, kp, kd, q, qd: arm.torque(Q_D, QD_D, QDD_D) + _friction(QD_D),
    "computed_torque": lambda arm, kp, kd, q, qd: arm.torque(q, qd, QDD_D + _pd(kp, kd, q, qd)) + _friction(QD_D),
    "pd_feedforward": lambda arm, kp, kd, q, qd: arm.torque(Q_D, QD_D, QDD_D) + _friction(QD_D) + _pd(kp, kd, q, qd),
    "pd_plus": lambda arm, kp, kd, q, qd: (
        tsai_planar_2r.mass_matrix(TSAI, q) @ QDD_D
        + _coriolis(q, qd, QD_D)
        + arm.gravity(q)
        + _friction(QD_D)
        + _pd(kp, kd, q, qd)
    ),
    "pd_gravity": lambda arm, kp, kd, q, qd: arm.gravity(q) + _pd(kp, kd, q, qd),
    "pd": lambda arm, kp, kd, q, qd: _pd(kp, kd, q, qd),
    "gravity_compensation": lambda arm, kp, kd, q, qd: arm.gravity(q),
}


def test_every_law_has_a_closed_form_here() -> None:
    assert set(CLOSED_FORMS) == set(JOINT_LAWS)


@pytest.mark.parametrize("name", ["plain", "light"])
@pytest.mark.parametrize("law", CLOSED_FORMS)
def test_law(law: str, name: str, arms: dict[str, Arm]) -> None:
    """With gains as numbers, and with gains from natural frequency and damping ratio; with gravity and without."""
    arm, expected = _ready(arms[name]), CLOSED_FORMS[law]
    arm.take({"law": law, "gains.kp": list(KP), "gains.kd": list(KD)})
    assert_effort(arm.effort(), expected(arm, KP, KD, Q, QD))
    omega, zeta = np.array([7.0, 9.0]), np.array([0.8, 1.2])
    frequencies = {"gains.natural_frequency": list(omega), "gains.damping_ratio": list(zeta)}
    arm.take({"gains.kp": [], "gains.kd": [], **frequencies})
    # Torque laws get the same frequency and damping for each joint alone, where the arm started.
    scale = 1.0 if law == "computed_torque" else tsai_planar_2r.mass_matrix(TSAI, START).diagonal()
    assert_effort(arm.effort(), expected(arm, scale * omega**2, scale * 2 * zeta * omega, Q, QD))


def test_integral_term(arm: Arm) -> None:
    """ID(q, qd, qdd_d + Kd e' + Kp e + Ki int e), from zero on; a refused change leaves the integral alone.

    An error counts for the time since the state before it, from the next answer on.
    """
    driver, ki = arm.driver, np.array([200.0, 90.0])
    arm.take({"gains.kp": list(KP), "gains.kd": list(KD)})
    arm.effort()
    first = len(driver.answers)
    arm.take({"gains.ki": list(ki)})
    states = {}
    for k in range(10):
        q = Q + 0.01 * np.array([k, -2 * k])
        answer = driver.ask(q, QD)
        states[nanoseconds(answer.header.stamp)] = q
        if k == 4:
            assert not arm.change({"law": "pd", "gains.ki": [0.0], "on_fault": "brake"}).successful
    integral, before = np.zeros(2), nanoseconds(driver.answers[first - 1].header.stamp)
    for answer in driver.answers[first:]:
        now = nanoseconds(answer.header.stamp)
        q = states.get(now, Q)
        expected = arm.torque(q, QD, QDD_D + _pd(KP, KD, q, QD) + ki * integral) + _friction(QD_D)
        np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-9)
        integral += (Q_D - q) * (now - before) * 1e-9
        before = now
    assert np.abs(ki * integral).max() > 1.0


# Changes while it runs


def _computed_torque(arm: Arm, kp: Any = 100.0, kd: Any = 20.0, q: Array = Q, qd: Array = QD) -> Array:
    """What the default law commands, by default with its default gains."""
    return CLOSED_FORMS["computed_torque"](arm, kp, kd, q, qd)


@pytest.mark.parametrize(
    ("values", "kp", "kd"),
    [
        ({"gains.natural_frequency": [5.0]}, 25.0, 10.0),
        ({"gains.damping_ratio": [0.5, 0.9]}, 100.0, [10.0, 18.0]),
        ({"gains.kp": [64.0], "gains.kd": [9.0, 8.0]}, 64.0, [9.0, 8.0]),
        ({"gains.natural_frequency": [6, 7]}, [36.0, 49.0], [12.0, 14.0]),
        ({"gains.natural_frequency": 6}, 36.0, 12.0),
        ({"gains.natural_frequency": 6.5}, 42.25, 13.0),
        ({"gains.kp": 50, "gains.kd": 7}, 50.0, 7.0),
    ],
    ids=repr,
)
def test_gains(values: dict[str, Any], kp: Any, kd: Any, arm: Arm) -> None:
    """From the next answer on; integers and single numbers count."""
    assert_effort(arm.effort(), _computed_torque(arm))
    arm.take(values)
    assert_effort(arm.effort(), _computed_torque(arm, np.asarray(kp), np.asarray(kd)))


def test_one_after_the_other(arm: Arm) -> None:
    """set_parameters takes each by itself: a bad one does not keep the others out."""
    results = arm.change_singly(
        {"gains.natural_frequency": [5.0], "on_fault": "brake", "gains.damping_ratio": [0.5], "ramp_time": 0}
    )
    assert [result.successful for result in results] == [True, False, True, True]
    assert "on_fault" in results[1].reason
    assert_effort(arm.effort(), _computed_torque(arm, 25.0, 5.0))


def test_effort_limits(arm: Arm) -> None:
    far = np.array([-1.0, 0.5])
    signs = np.sign(_computed_torque(arm, q=far))
    assert (np.abs(_computed_torque(arm, q=far)) > [80.0, 30.0]).all()
    assert_effort(arm.effort(far), signs * [80.0, 30.0])  # the URDF's
    arm.take({"effort_limit_scale": [0.5, 0.2]})
    assert_effort(arm.effort(far), signs * [40.0, 6.0])
    arm.take({"effort_limit_scale": 1})
    assert_effort(arm.effort(far), signs * [80.0, 30.0])


def test_rate_limit(arm: Arm) -> None:
    driver, rate, other = arm.driver, np.array([300.0, 100.0]), Q - [0.1, 0.1]
    wanted = _computed_torque(arm, q=other)
    arm.effort()
    arm.take({"torque_rate_limit": list(rate)})
    first = len(driver.answers)
    for _ in range(10):
        driver.ask(other, QD, dt=0.01)
    for before, after in zip(driver.answers[first - 1 : -1], driver.answers[first:], strict=True):
        step = rate * (nanoseconds(after.header.stamp) - nanoseconds(before.header.stamp)) * 1e-9
        effort = np.array(before.effort)
        assert_effort(np.array(after.effort), effort + np.clip(wanted - effort, -step, step))
    assert (np.abs(driver.answers[first].effort - wanted) > 1.0).all()
    assert_effort(np.array(driver.answers[-1].effort), wanted)


def test_friction_compensation(arm: Arm) -> None:
    """Below the smoothing velocity it fades out: at half of that to half of what friction takes there."""
    arm.take({"friction_compensation": False})
    assert_effort(arm.effort(), _computed_torque(arm) - _friction(QD_D))
    arm.take({"friction_compensation": True, "friction_smoothing_velocity": 1.4})
    arm.aim(qd_d=np.array([0.7, -0.7]))
    asked = QDD_D + 100.0 * (Q_D - Q) + 20.0 * ([0.7, -0.7] - QD)
    assert_effort(arm.effort(), arm.torque(Q, QD, asked) + _friction(np.array([1.4, -1.4])) / 2)


def test_from_floating_to_following(arm: Arm) -> None:
    """An arm that was moved by hand holds where it is left; it does not go back to what it was to do before."""
    here = Q + [0.3, -0.2]
    arm.take({"law": "gravity_compensation"})
    assert_effort(arm.effort(here, np.zeros(2)), gravity(here))
    log = Log(arm.log)
    arm.driver.follow(TrajectoryPoints(JOINTS, np.ones(1), Q_D[None]))
    arm.driver.graph.await_log(log, "the law gravity_compensation follows none")
    arm.take({"law": "computed_torque"})
    assert_effort(arm.effort(here, np.zeros(2)), gravity(here))


def test_velocity_filter(arm: Arm) -> None:
    """A first-order low-pass filter, w = 2 pi cutoff, that starts at the first velocity after the change."""
    arm.take({"velocity_filter_cutoff": 4})
    arm.effort()
    driver = arm.driver
    first, other = len(driver.answers), np.array([-0.3, 0.8])
    driver.ask(Q, other, dt=0.02)
    dt = (nanoseconds(driver.answers[first].header.stamp) - nanoseconds(driver.answers[first - 1].header.stamp)) * 1e-9
    filtered = other + np.exp(-2 * np.pi * 4 * dt) * (QD - other)
    np.testing.assert_allclose(driver.answers[first].effort, _computed_torque(arm, qd=filtered), rtol=0, atol=1e-6)


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
    arm.take({"observer.gain": 0.0})
    arm.effort(qd=at_rest)
    graph.settle(0.2)
    external.clear()
    arm.effort(qd=at_rest)
    graph.settle(0.2)
    assert external == []


def test_what_follows_a_fault(arm: Arm) -> None:
    """on_fault and fault_reset hold for the fault that comes next: weight and load, or nothing; over after 0.2 s."""
    driver, lost = arm.driver, np.array([np.nan, 0.0])
    load = tsai_planar_2r.mass_matrix(TSAI, Q) @ (100.0 * (Q_D - Q))  # what the law added at rest
    for on_fault, expected, held in (("hold", gravity(Q) + load, Q_D), ("zero", np.zeros(2), Q)):
        arm.take({"on_fault": on_fault, "fault_reset": "auto"})
        arm.aim()
        assert_effort(arm.effort(), _computed_torque(arm))
        assert_effort(np.array(driver.ask(lost).effort), gravity(Q) if on_fault == "hold" else expected)
        driver.ask(Q, dt=0.1)
        assert_effort(np.array(driver.ask(Q, dt=0.05).effort), expected)
        driver.ask(Q, dt=0.3)
        effort = arm.effort(Q - 0.1, np.zeros(2))
        np.testing.assert_allclose(driver.answers[-1].position, held, rtol=0, atol=1e-9)
        assert_effort(effort, arm.torque(Q - 0.1, np.zeros(2), 100.0 * (held - Q + 0.1)))


def test_state_timeout(arm: Arm) -> None:
    """Without states the arm is carried as soon as they are older than what is set now."""
    graph, driver = arm.driver.graph, arm.driver
    moving = arm.effort()
    graph.settle(0.3)
    assert_effort(np.array(driver.efforts[-1].data), moving)
    log = Log(arm.log)
    arm.take({"state_timeout": 0.2, "stale_hold_time": 1000.0, "fault_reset": "auto"})
    graph.await_log(log, "over state_timeout 0.2 s")
    graph.wait(lambda: driver.efforts[-1].data != driver.answers[-1].effort, "the command that holds")
    graph.settle(0.1)
    assert_effort(np.array(driver.efforts[-1].data), gravity(Q))
    arm.take({"state_timeout": math.inf})
    driver.ask(Q)
    driver.ask(Q, dt=0.3)


# Refused


def _unchanged(arm: Arm, names: list[str], before: list[Any]) -> None:
    assert_effort(arm.effort(), _computed_torque(arm))
    assert arm.values(names) == before


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"gains.natural_frequency": [10.0, -1.0]}, "gains.natural_frequency"),
    "not a number": ({"gains.damping_ratio": [math.nan]}, "gains.damping_ratio"),
    "infinite": ({"gains.natural_frequency": [math.inf]}, "gains.natural_frequency"),
    "a wrong count": ({"gains.natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency"),
    "no numbers": ({"gains.damping_ratio": []}, "gains.damping_ratio"),
    "kp alone": ({"gains.kp": [50.0]}, "kp and kd"),
    "ki as large as kp kd": ({"gains.ki": [2000.0]}, "gains.ki"),
    "ki larger than kp kd": ({"gains.kp": [9.0], "gains.kd": [2.0], "gains.ki": [18.5]}, "gains.ki"),
    "ki where nothing integrates": ({"law": "pd_plus", "gains.ki": [1.0]}, "gains.ki"),
    "unknown law": ({"law": "magic"}, "law"),
    "more of the hand than two joints move": ({"law": "task_space_computed_torque"}, "task_space.components"),
    "no component": ({"task_space.components": "x w"}, "task_space.components"),
    "no effort": ({"effort_limit_scale": [0.0]}, "effort_limit_scale"),
    "too much effort": ({"effort_limit_scale": [1.0, 1.01]}, "effort_limit_scale"),
    "no rate": ({"torque_rate_limit": [0.0]}, "torque_rate_limit"),
    "no deceleration": ({"constraints.max_deceleration_on_cancel": [0.0]}, "constraints.max_deceleration_on_cancel"),
    "a ramp back": ({"ramp_time": -0.1}, "ramp_time"),
    "no age": ({"state_timeout": 0.0}, "state_timeout"),
    "no finite cutoff": ({"velocity_filter_cutoff": math.inf}, "velocity_filter_cutoff"),
    "beyond its range": ({"minimum_rate_ratio": 1.5}, "minimum_rate_ratio"),
    "unknown fall-back": ({"on_fault": "brake"}, "on_fault"),
    "unknown reset": ({"fault_reset": "never"}, "fault_reset"),
    "negative observer": ({"observer.gain": -1.0}, "observer.gain"),
    "threshold without an observer": ({"observer.collision_threshold": [5.0]}, "observer.collision_threshold"),
    "text for a number": ({"ramp_time": "1.0"}, "ramp_time"),
    "text for numbers": ({"gains.natural_frequency": "[1, 2.5]"}, "gains.natural_frequency"),
    "texts for numbers": ({"gains.natural_frequency": ["1.0", "2.0"]}, "gains.natural_frequency"),
    "truth for a number": ({"observer.gain": True}, "observer.gain"),
    "truths for numbers": ({"torque_rate_limit": [True, True]}, "torque_rate_limit"),
    "numbers for a number": ({"friction_smoothing_velocity": [0.1]}, "friction_smoothing_velocity"),
    "number for truth": ({"friction_compensation": 0}, "friction_compensation"),
    "text for truth": ({"allow_partial_joints_goal": "true"}, "allow_partial_joints_goal"),
    "number for text": ({"law": 1}, "law"),
    "truth for text": ({"on_fault": True}, "on_fault"),
    "deleted": ({"gains.kp": None}, "gains.kp"),
    "unknown": ({"gains.kq": [1.0]}, "undeclared"),
    "read-only autostart": ({"autostart": False}, "autostart"),
    "read-only priority": ({"realtime_priority": 10}, "realtime_priority"),
    "read-only lock": ({"lock_memory": True}, "lock_memory"),
    "configure: robot": ({"robot_description": "<robot/>"}, "robot_description"),
    "configure: dynamics": ({"dynamics_file": ""}, "dynamics_file"),
    "configure: joints": ({"joints": ["joint1"]}, "joints"),
    "configure: rate": ({"update_rate": 100.0}, "update_rate"),
    "configure: gravity": ({"gravity": [0.0, 0.0, 0.0]}, "gravity"),
    "configure: compensation": ({"robot_compensates_gravity": True}, "robot_compensates_gravity"),
    "configure: check": ({"activation_check": False}, "activation_check"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, arm: Arm) -> None:
    """With a reason that names the parameter, and nothing of the request is taken, good values before and after too."""
    bad, culprit = REFUSED[case]
    names = [name for name in ("gains.natural_frequency", "law", *bad, "gains.damping_ratio") if name != "gains.kq"]
    before = arm.values(names)
    good = {"friction_compensation": False, "effort_limit_scale": [0.01]}
    for request in (bad, {**good, **bad}, {**bad, **{name: good[name] for name in good if name not in bad}}):
        result = arm.change(request)
        assert not result.successful
        assert culprit in result.reason
        _unchanged(arm, names, before)
    if len(bad) == 1:
        (single,) = arm.change_singly(bad)
        assert not single.successful and culprit in single.reason
        _unchanged(arm, names, before)


def test_gains_keep_their_unit(arm: Arm) -> None:
    """Gains given as numbers are accelerations or torques: a law that reads them otherwise needs them anew, at once."""
    arm.take({"gains.kp": list(KP), "gains.kd": list(KD)})
    expected = _computed_torque(arm, KP, KD)
    for law in ("pd", "pd_gravity", "pd_plus", "pd_feedforward"):
        result = arm.change({"law": law})
        assert not result.successful and "law" in result.reason and "one request" in result.reason
        singly = arm.change_singly({"law": law, "gains.kp": [5.0], "gains.kd": [3.0]})
        assert [one.successful for one in singly] == [False, True, True]
        arm.take({"gains.kp": list(KP), "gains.kd": list(KD)})
        assert_effort(arm.effort(), expected)
    torques = np.array([30.0, 20.0]), np.array([6.0, 4.0])
    arm.take({"law": "pd", "gains.kp": list(torques[0]), "gains.kd": list(torques[1])})
    assert_effort(arm.effort(), CLOSED_FORMS["pd"](arm, *torques, Q, QD))
    arm.take({"law": "pd_plus"})  # reads them as torques too
    assert_effort(arm.effort(), CLOSED_FORMS["pd_plus"](arm, *torques, Q, QD))
    assert not arm.change({"law": "computed_torque"}).successful
    assert_effort(arm.effort(), CLOSED_FORMS["pd_plus"](arm, *torques, Q, QD))


# When it is configured


def test_changes_between_configurations(tmp_path: Path) -> None:
    """What is read when the node is configured waits for that; then commands follow it. Read-only stays read-only."""
    with Graph(tmp_path) as graph:
        process = graph.start(NODE, PLANAR)
        arm = Arm(Driver(graph), NODE, process.log, TSAI)
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


def test_every_parameter_is_described(arms: dict[str, Arm]) -> None:
    """By name, in words, with a range where it is one number between two, and as read-only where it is."""
    arm = arms["plain"]
    listed = arm.driver.graph.call(ListParameters, f"{arm.node}/list_parameters", ListParameters.Request())
    names = [name for name in listed.result.names if not name.startswith("qos_overrides.")]
    assert set(names) == {p.name for p in ALL} | {"use_sim_time", "start_type_description_service"}
    request = DescribeParameters.Request(names=[p.name for p in ALL])
    answer = arm.driver.graph.call(DescribeParameters, f"{arm.node}/describe_parameters", request)
    described = {descriptor.name: descriptor for descriptor in answer.descriptors}
    ranges = {"update_rate": (0.0, 1e5), "minimum_rate_ratio": (0.0, 1.0), "realtime_priority": (0, 99)}
    ranges |= dict.fromkeys(("action_monitor_rate", "state_publish_rate"), (1e-3, 1e5))
    for name, descriptor in described.items():
        assert len(descriptor.description) > 20 and descriptor.description.endswith("."), name
        assert descriptor.read_only == (name in {"autostart", "executor", "realtime_priority", "lock_memory"}), name
        found = [*descriptor.floating_point_range, *descriptor.integer_range]
        assert [(r.from_value, r.to_value) for r in found] == ([ranges[name]] if name in ranges else []), name
        if re.search(r"^(law|on_fault|fault_reset)$", name):
            assert "one of" in descriptor.additional_constraints
    assert set(described) == {p.name for p in ALL}

"""Gains from the settings: derived from natural frequencies, checked for stability with sampling."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import (
    Tuning,
    check_sampling,
    delay_margin,
)
from robot_dynamics_ros.control.controlled_arm import ControlledArm, check_payload
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.laws import LAWS, Gains
from support.comparing import assert_close
from support.controlled_arm import MODEL, TASK_SPACE
from support.task_space_loops import READY

INERTIA = np.array([2.0, 0.1])


def gains_of(law: str = "computed_torque", **changes: Any) -> Gains:
    given = {"natural_frequency": [10.0, 20.0], "damping_ratio": [1.0, 0.5], **changes}
    return Tuning(
        MODEL, ControllerSettings(law=law, task_space=TASK_SPACE, **given)
    ).gains(INERTIA)


@pytest.mark.parametrize("law", LAWS)
def test_from_natural_frequency_and_damping_ratio(law: str) -> None:
    """Inertia times (omega^2, 2 zeta omega) of the standard second-order system; without inertia for accelerations."""
    size = np.ones(2) if LAWS[law].gains_are_accelerations else INERTIA
    gains = gains_of(law)
    assert_close(gains.kp, size * [100.0, 400.0], 1e-15)
    assert_close(gains.kd, size * [20.0, 20.0], 1e-15)
    assert_close(gains.ki, [0.0, 0.0], 0.0)


@pytest.mark.parametrize("kp, kd", [((), ()), ([30.0], [4.0, 5.0]), ([0.5], [0.5])])
def test_an_integral_gain_below_kp_kd_is_stable(kp: Any, kd: Any) -> None:
    """Slightly below and at kp kd, where roots of s^3 + Kd s^2 + Kp s + Ki cross into the right half-plane."""
    plain = gains_of(kp=kp, kd=kd)
    below = gains_of(kp=kp, kd=kd, ki=(plain.kp * plain.kd * 0.999).tolist())
    for j in range(2):
        assert np.roots([1.0, below.kd[j], below.kp[j], below.ki[j]]).real.max() < 0.0
        assert (
            np.roots(
                [1.0, below.kd[j], below.kp[j], 1.001 * plain.kp[j] * plain.kd[j]]
            ).real.max()
            > 0.0
        )
    with pytest.raises(RobotDynamicsError, match='gains.ki.*"joint2"'):
        gains_of(kp=kp, kd=kd, ki=(plain.kp * plain.kd * [0.999, 1.0]).tolist())


@given(st.floats(-3.0, 1.0), st.floats(-3.0, 1.0))
def test_gains_that_are_unstable_when_sampled_are_refused(
    log_kd: float, log_kp: float
) -> None:
    """Compared with the eigenvalues of e'' = u, with a delay of one period of 2 ms."""
    period = 0.002
    kd = 10.0**log_kd / period
    kp = 10.0**log_kp / period**2
    step = np.array(
        [[1.0, period, 0.5 * period**2], [0.0, 1.0, period], [-kp, -kd, 0.0]]
    )
    radius = np.abs(np.linalg.eigvals(step)).max()
    if abs(radius - 1.0) < 1e-9:
        return
    try:
        check_sampling(
            "gains", np.array([1.0, kp]), np.array([1.0, kd]), period, MODEL.joint_names
        )
    except RobotDynamicsError as refused:
        assert radius > 1.0 and '"joint2"' in str(refused)
    else:
        assert radius < 1.0


@pytest.mark.parametrize("law", ["computed_torque", "task_space_computed_torque", "pd"])
def test_the_controller_refuses_them(
    law: str, load_robot: Callable[..., RobotModel]
) -> None:
    """Before the start, and when they change."""
    model = load_robot("ur5e")
    q = READY["ur5e"]
    plain = ControllerSettings(law=law, update_rate=500.0)
    fast = replace(plain, natural_frequency=[5000.0])
    controller = make_controller(model, plain)
    inertia = model.mass_matrix(q).diagonal()
    controller.tuning.check_sampling(controller.clock.period, inertia)
    controller.measure(0.0, 0.0, q, np.zeros(6))
    controller.update(0.0, 0.0)
    with pytest.raises(RobotDynamicsError, match="shoulder_pan_joint"):
        controller.tune(fast)
    with pytest.raises(RobotDynamicsError, match="shoulder_pan_joint"):
        make_controller(model, fast).tuning.check_sampling(0.0, inertia)
    make_controller(model, replace(fast, update_rate=0.0))


BALANCED = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])


@pytest.mark.parametrize("law", ["computed_torque", "task_space_computed_torque", "pd"])
@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_a_payload_that_makes_the_gains_unstable_is_refused(
    name: str, law: str, load_robot: Callable[..., RobotModel]
) -> None:
    """At 500 Hz, in a wrong unit. What the arm can carry is accepted, though the model has no rotors."""
    model = load_robot(name)
    q = READY[name]
    arm = ControlledArm(model, ControllerSettings(law=law))
    link = model.end_links[0]
    for mass, com in ((0.5, 0.05), (3.0, 0.1), (3.0, 0.15)):
        arm.set_payload(link, mass, (com, 0.0, 0.0), 0.02 * BALANCED, q, 0.002)
    held = arm.robot
    for size in (10.0, 1e5, 1e200):  # kg m^2
        wrong = link, 1.0, (0.0, 0.0, 0.0), size * BALANCED, q
        if law == "pd":  # whose feedback has no inertia
            arm.set_payload(*wrong, 0.002)
            continue
        with pytest.raises(RobotDynamicsError, match="Cure: give mass.* kg m"):
            arm.set_payload(*wrong, 0.002)
        assert arm.robot is held
        arm.set_payload(*wrong)  # without a known period
        with pytest.raises(RobotDynamicsError, match="Cure: give mass.* kg m"):
            check_payload(arm.robot, q, arm.tuning, 0.002)
        arm.set_payload(link, 3.0, (0.1, 0.0, 0.0), 0.02 * BALANCED, q, 0.002)
        held = arm.robot


@pytest.mark.parametrize("law", ["feedforward", "pd", "task_space_computed_torque"])
def test_an_integral_gain_for_a_law_that_does_not_integrate(law: str) -> None:
    with pytest.raises(RobotDynamicsError, match='gains.ki: 1 for joint "joint2"'):
        gains_of(law, ki=[0.0, 1.0])
    assert_close(gains_of(law, ki=[0.0]).ki, [0.0, 0.0], 0.0)


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency: 3 numbers"),
        ({"natural_frequency": []}, "gains.natural_frequency: .. is not allowed"),
        ({"natural_frequency": [1.0, -2.0]}, "gains.natural_frequency: -2.0 .number 2"),
        ({"natural_frequency": [1e200, 1.0]}, 'natural_frequency: 1e.200.*"joint1"'),
        (
            {"natural_frequency": [1e150], "damping_ratio": [1e200]},
            'damping_ratio 1e.200.*"joint1"',
        ),
        (
            {"natural_frequency": [0.0], "damping_ratio": [1e308]},
            'damping_ratio 1e.308.*"joint1"',
        ),
        ({"damping_ratio": [np.nan]}, "gains.damping_ratio: nan is not allowed"),
        ({"kp": [1.0]}, "kp and kd"),
        ({"kd": [1.0]}, "kp and kd"),
        ({"kp": [1.0, 2.0, 3.0], "kd": [1.0]}, "gains.kp: 3 numbers"),
        ({"kp": [1.0], "kd": [np.inf]}, "gains.kd: inf is not allowed"),
        ({"ki": [1.0, 2.0, 3.0]}, "gains.ki: 3 numbers"),
        ({"ki": [0.0, -1.0]}, "gains.ki: -1.0 .number 2"),
    ],
)
def test_bad_gains_are_refused(changes: dict[str, Any], culprit: str) -> None:
    """They are refused before the inertia is known."""
    with pytest.raises(RobotDynamicsError, match=culprit):
        gains_of(**changes)


@pytest.mark.parametrize(
    ("kp", "kd"), [(100.0, 20.0), (100.0, 8.0), (4.0, 9.0), (0.0, 20.0)]
)
def test_delay_margin(kp: float, kd: float) -> None:
    """Compared with the eigenvalues of e'' = u for fine sampling, whose hold adds half a step of delay."""
    margin = float(delay_margin(np.array([kp]), np.array([kd]))[0])
    steps = 200
    for factor, stable in ((0.98, True), (1.02, False)):
        dt = factor * margin / (steps + 0.5)
        system = np.zeros((steps + 2, steps + 2))
        system[:2, :2] = [[1.0, dt], [0.0, 1.0]]
        system[:2, -1] = [0.5 * dt**2, dt]
        system[2, :2] = [-kp, -kd]
        system[3:, 2:-1] = np.eye(steps - 1)
        values = np.linalg.eigvals(system)
        growing = values[np.abs(values) > 1.0 + 1e-9]
        assert (len(growing) == 0) == stable
    assert delay_margin(np.zeros(1), np.zeros(1))[0] == np.inf

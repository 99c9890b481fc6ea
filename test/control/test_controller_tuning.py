"""Settings that change while a controller runs: what acts at once, and what goes on as before."""

from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai
from teleporting import teleporting

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import SafetySettings
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
ARM = arms.tsai_planar_2r(P).with_joint("joint2", limit='<limit lower="-2" upper="2" effort="500" velocity="5"/>')
MODEL = RobotModel.from_urdf(ARM.urdf, gravity=[0.0, -P.g, 0.0])
Q, REST = np.array([0.3, -0.8]), np.zeros(2)
DAMPER: dict[str, Any] = {"law": "pd", "kp": [0.0], "kd": [1.0]}


def command(controller: Controller, time: float, q: Any = Q, qd: Any = REST) -> Command:
    """One cycle with a state that comes as time goes."""
    controller.measure(time, time, np.array(q, dtype=float), np.array(qd, dtype=float))
    found = controller.update(time, time)
    assert found is not None
    return found


def test_a_new_cutoff_filters_from_then_on() -> None:
    """A damper of 1 Nms/rad shows the velocity that is used; other settings leave the filter as it is."""
    controller = Controller(MODEL, teleporting(**DAMPER))
    command(controller, 0.0)
    assert_close(command(controller, 0.01, qd=[1.0, 1.0]).effort, [-1.0, -1.0], 1e-12)
    controller.tune(teleporting(**DAMPER, velocity_filter_cutoff=5.0))
    command(controller, 0.02)
    left = np.exp(-2 * np.pi * 5.0 * 0.01)
    assert_close(command(controller, 0.03, qd=[1.0, 1.0]).effort, (left - 1.0) * np.ones(2), 1e-12)
    controller.tune(teleporting(**DAMPER, velocity_filter_cutoff=5.0, ramp_time=1.0))
    assert_close(command(controller, 0.04, qd=[1.0, 1.0]).effort, (left**2 - 1.0) * np.ones(2), 1e-12)


def test_what_a_fault_leads_to() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    controller.tune(teleporting(safety=SafetySettings(on_fault="zero")))
    assert command(controller, 0.1, [np.nan, 0.0]).mode is Mode.ZERO


def test_a_new_share_of_the_effort_limits() -> None:
    controller = Controller(MODEL, teleporting(law="pd", kp=[1000.0], kd=[0.0]))
    command(controller, 0.0)
    assert_close(command(controller, 0.1, Q + [0.0, 0.4]).effort, [0.0, -400.0], 1e-9)
    controller.tune(teleporting(law="pd", kp=[1000.0], kd=[0.0], effort_limit_scale=[0.5]))
    assert_close(command(controller, 0.2, Q + [0.0, 0.4]).effort, [0.0, -250.0], 1e-9)


@pytest.mark.parametrize(("margin", "mode"), [(0.05, Mode.HOLD), (0.2, Mode.ACTIVE)])
def test_a_new_margin(margin: float, mode: Mode) -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    controller.tune(teleporting(safety=SafetySettings(position_limit_margin=[margin])))
    assert command(controller, 0.1, [0.3, 2.1]).mode is mode


def test_a_new_margin_counts_from_where_the_arm_is() -> None:
    """One that started beyond its limit of 2 may stay there, and be led back, but goes no further."""
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0, [0.3, 2.5])
    controller.tune(teleporting(safety=SafetySettings(position_limit_margin=[0.1])))
    assert command(controller, 0.1, [0.3, 2.5]).mode is Mode.ACTIVE
    assert command(controller, 0.2, [0.3, 2.59]).mode is Mode.ACTIVE
    assert command(controller, 0.3, [0.3, 2.61]).mode is Mode.HOLD


def test_other_settings_do_not_move_the_limits() -> None:
    """New gains while the arm is held beyond a limit: that is no leave to stay there."""
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    for time in (0.1, 0.2, 0.3, 0.6):
        assert command(controller, time, [0.3, 2.5]).mode is Mode.HOLD
        controller.tune(teleporting(natural_frequency=[1.0 + time]))


def test_a_new_observer_starts_anew_and_other_settings_leave_it() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    command(controller, 0.1)
    assert controller.external_torque is None
    controller.tune(teleporting(observer_gain=20.0))
    for time in (0.2, 0.3):
        command(controller, time, Q + 0.1)
    observed = controller.external_torque
    assert observed is not None and np.abs(observed).min() > 0.1, "the law pulls, and the arm does not move"
    controller.tune(teleporting(observer_gain=20.0, ramp_time=1.0))
    assert controller.external_torque is observed
    controller.tune(teleporting(ramp_time=1.0))
    command(controller, 0.4)
    assert controller.external_torque is None


def test_a_law_that_follows_nothing_takes_no_effort_of_a_trajectory() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    rows = np.array([Q, Q])
    effort = np.full((2, 2), 3.0)
    points = TrajectoryPoints(MODEL.joint_names, np.array([0.0, 9.0]), rows, 0.0 * rows, 0.0 * rows, effort)
    controller.follow(points, None, 0.0)
    assert_close(command(controller, 0.1).effort, tsai.gravity(P, Q) + 3.0, 1e-9)
    controller.period = 0.0  # the gains are not those of 10 Hz
    controller.tune(teleporting(law="gravity_compensation"))
    command(controller, 0.2)
    assert_close(command(controller, 0.5).effort, tsai.gravity(P, Q), 1e-9)

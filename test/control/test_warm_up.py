"""Warm-up of a controller: kernels that it omits would be compiled during a motion."""

from unittest.mock import Mock

import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control import controller
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS
from support.controlled_arm import MODEL, TASK_SPACE


@pytest.mark.parametrize("law", sorted(LAWS))
def test_every_part_is_run(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cycles, as the observer needs an interval; a trajectory if the law follows one."""
    places = dict.fromkeys(("warm_up", "link_pose", "jacobian_dot_qd"), RobotModel)
    places |= dict.fromkeys(("measure", "update", "follow"), Controller) | {
        "trajectory_effort": controller
    }
    calls = {name: Mock(wraps=getattr(place, name)) for name, place in places.items()}
    for name, place in places.items():
        monkeypatch.setattr(
            place, name, lambda *arguments, name=name: calls[name](*arguments)
        )
    controller.warm_up_controller(
        MODEL, ControllerSettings(law=law, task_space=TASK_SPACE)
    )
    assert calls["warm_up"].call_count == 1
    assert calls["link_pose"].called and calls["jacobian_dot_qd"].called
    assert calls["measure"].call_count >= 3 and calls["update"].call_count >= 3
    assert (
        calls["follow"].call_count
        == calls["trajectory_effort"].call_count
        == int(LAWS[law].follows)
    )

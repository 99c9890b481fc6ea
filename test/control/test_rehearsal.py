"""What a rehearsal goes through: whatever it leaves out is compiled in the middle of a motion."""

from collections import Counter
from typing import Any

import arms
import pytest
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control import rehearsal
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, TaskSpaceSettings

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
MODEL = RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])


def count(patch: pytest.MonkeyPatch, place: Any, name: str, calls: Counter[str]) -> None:
    """Count calls of a function that works as before."""
    function = getattr(place, name)

    def counting(*arguments: Any) -> Any:
        calls[name] += 1
        return function(*arguments)

    patch.setattr(place, name, counting)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_every_part_is_run(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cycles, from two of which the observer has an interval; a trajectory where the law follows one."""
    calls: Counter[str] = Counter()
    for name in ("warm_up", "link_pose", "jacobian_dot_qd"):
        count(monkeypatch, RobotModel, name, calls)
    for name in ("measure", "update", "follow"):
        count(monkeypatch, Controller, name, calls)
    count(monkeypatch, rehearsal, "trajectory_effort", calls)
    rehearsal.rehearse(MODEL, ControllerSettings(law=law, task_space=TaskSpaceSettings(components=("x", "y"))))
    follows = int(LAWS[law].follows)
    assert calls["warm_up"] == 1
    assert calls["link_pose"] > 0 and calls["jacobian_dot_qd"] > 0
    assert calls["measure"] >= 3 and calls["update"] >= 3
    assert calls["follow"] == calls["trajectory_effort"] == follows

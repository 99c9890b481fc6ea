"""The table beside the picture."""

import re

import numpy as np
from report.recordings import ARM

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.view.moment import Moment, draw
from robot_dynamics_ros.view.panel import short_names, table

STILL = np.zeros(2)


def cells(moment: Moment, limited: tuple[bool, bool] = (True, True), arm: str = ARM) -> list[list[str]]:
    model = RobotModel.from_urdf(arm)
    html = table(model, moment, draw(model, moment, np.array([8.0, 500.0]), 1.0), limited, "effort")
    rows = re.findall(r"<tr.*?</tr>", html)
    texts = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    return [[re.sub("<[^>]*>", "", text) for text in row] for row in texts]


def test_numbers_and_units() -> None:
    moment = Moment(np.array([0.5, 0.25]), STILL, STILL, np.array([-2.0, np.nan]), np.array([0.501, 0.252]))
    head, first, second = cells(moment)
    assert head == ["joint", "position", "error", "effort", "of limit"]
    assert first == ["a", "0.500 rad", "1.00 mrad", "-2.0 Nm", "25 %"]
    assert second == ["b", "0.250 m", "2.00 mm", "–", "0 %"]


def test_without_desired_and_limit() -> None:
    head, first, _ = cells(Moment(STILL, STILL, STILL, np.array([8.0, 0.0])), (False, True))
    assert head == ["joint", "position", "effort", "of limit*"] and first[-1] == "100 %*"


def test_names_are_text() -> None:
    _, first, _ = cells(Moment(STILL, STILL, STILL, STILL), arm=ARM.replace('name="a"', 'name="&lt;i&gt;"'))
    assert first[0] == "&lt;i&gt;"


def test_short_names() -> None:
    assert short_names(["panda_joint1", "panda_joint2"]) == ["joint1", "joint2"]
    assert short_names(["a", "b"]) == ["a", "b"] and short_names(["only_one"]) == ["only_one"]

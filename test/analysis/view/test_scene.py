"""Numbers, arrows and table of the view, compared with statics computed without the model's code."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view.geometry import (
    FACES,
    colour_of_share,
    ring,
    straight_arrow,
    turning_arrow,
)
from robot_dynamics_ros.analysis.view.panel import legend, table
from robot_dynamics_ros.analysis.view.scene import (
    centre_of_mass,
    link_poses,
    poses_in_range,
    position_range,
    quaternions,
    reach_of,
    reaction_arrows,
    short_names,
    torque_scale,
    torque_shares,
)
from robot_dynamics_ros.analysis.view.scene_state import SceneState
from support.report_recordings import ARM

STILL = np.zeros(2)
#: 2 kg at 0.2 m on a turning link, 1 kg on a slide along it; limits 8 Nm and 500 N.
MODEL = RobotModel.from_urdf(ARM)


def test_poses_and_centre_of_mass() -> None:
    slide = MODEL.link_names.index("slide")
    poses = link_poses(MODEL, [0.3, 0.4])
    assert poses[slide, :3, 3] == pytest.approx(
        [0.4 * np.cos(0.3), 0.0, -0.4 * np.sin(0.3)]
    )
    assert centre_of_mass(MODEL, [0.0, 0.5]) == pytest.approx(
        [(2 * 0.2 + 1 * 0.5) / 3, 0.0, 0.0]
    )
    assert centre_of_mass(MODEL, [-np.pi / 2, 0.5]) == pytest.approx([0.0, 0.0, 0.3])


def test_first_joint_carries_the_weight() -> None:
    """At rest the arrow is 22 % of the reach upwards; for the second joint a third of this."""
    state = SceneState(np.array([0.7, 0.5]), STILL, STILL, STILL)
    arrows = reaction_arrows(MODEL, state, reach=2.0)
    whole = 0.22 * 2.0 * 9.81 / 9.80665
    assert arrows[0] == pytest.approx(
        np.array([[0.0, 0.0, 0.0], [0.0, 0.0, whole]]), abs=1e-12
    )
    assert arrows[1, 1] - arrows[1, 0] == pytest.approx(
        [0.0, 0.0, whole / 3], abs=1e-12
    )
    assert arrows[1, 0] == pytest.approx(link_poses(MODEL, state.q)[-1][:3, 3])


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_torque_is_a_share_of_the_limit_or_of_the_largest() -> None:
    scale, limited = torque_scale(MODEL)
    assert scale.tolist() == [8.0, 500.0] and limited.all()
    assert torque_shares(np.array([-2.0, np.nan]), scale).tolist() == [-0.25, 0.0]
    arm = RobotModel.from_urdf(ARM.replace('effort="8"', 'effort="0"'))
    scale, limited = torque_scale(arm, recorded=[[1.0, 2.0], [-3.0, np.nan]])
    assert scale.tolist() == [3.0, 500.0] and limited.tolist() == [False, True]
    # Level, the slide out: (2 0.2 + 1 1) 9.81.
    assert 11.0 < torque_scale(arm)[0][0] <= 1.4 * 9.81
    assert torque_scale(arm, recorded=np.zeros((5, 2)))[0][0] == 1.0


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize(
    "limit", ["", '<limit lower="0" upper="0" effort="8" velocity="5"/>']
)
def test_range_without_limits_is_half_a_turn_to_either_side(limit: str) -> None:
    free = RobotModel.from_urdf(
        ARM.replace('<limit lower="-3" upper="3" effort="8" velocity="5"/>', limit)
    )
    lower, upper = position_range(free)
    assert lower.tolist() == [-np.pi, -1.0] and upper.tolist() == [np.pi, 1.0]
    poses = poses_in_range(free)
    assert (
        (poses >= lower).all()
        and (poses <= upper).all()
        and (poses == poses_in_range(free)).all()
    )
    assert 0.95 < reach_of(MODEL) <= 1.0


def test_quaternions(load_robot: Callable[..., Any]) -> None:
    panda = load_robot("panda")
    poses = link_poses(panda, poses_in_range(panda)[0])
    w, x, y, z = quaternions(poses).T
    turned = np.stack(
        [1 - 2 * (y**2 + z**2), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1
    )
    assert turned == pytest.approx(poses[:, :3, 0], abs=1e-12)


# --- Arrows: their length says how large a torque is, and their sense its sign


def test_length_of_arrows_is_the_share() -> None:
    for share in (0.01, 0.3, -1.0):
        tip = turning_arrow(share, 0.1, 0.002)[-1]
        angle = np.radians(300.0) * share
        assert tip == pytest.approx(
            [0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.0], abs=1e-12
        )
        straight = straight_arrow(share, 0.4, 0.002)
        assert straight[-1] == pytest.approx([0.0, 0.0, 0.4 * share])
        assert np.abs(straight[:, :2]).max() < 0.01
    assert np.ptp(turning_arrow(0.0, 0.1, 0.002), axis=0).max() == 0.0
    assert (
        turning_arrow(50.0, 0.1, 0.002).tolist()
        == turning_arrow(1.2, 0.1, 0.002).tolist()
    )


def test_faces_fit_all_arrows_and_close_the_surface() -> None:
    for vertices in (
        turning_arrow(0.5, 0.1, 0.002),
        straight_arrow(0.5, 0.1, 0.002),
        ring(0.1, 0.001),
    ):
        assert FACES.max() == len(vertices) - 1
    corners = turning_arrow(0.5, 0.1, 0.002)[FACES]
    volume = (
        np.einsum(
            "ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])
        ).sum()
        / 6
    )
    shaft = np.pi * 0.002**2 * 0.1 * np.radians(150.0)
    assert 0.8 * shaft < abs(volume) < 1.2 * shaft
    assert (
        colour_of_share(1.0)
        == colour_of_share(-7.0)
        != colour_of_share(0.4)
        == colour_of_share(-0.4)
    )


# --- The table beside the picture


def _cells(
    state: SceneState, limited: tuple[bool, bool] = (True, True), arm: str = ARM
) -> list[list[str]]:
    model = RobotModel.from_urdf(arm)
    html = table(
        model, state, torque_shares(state.torque, np.array([8.0, 500.0])), limited
    )
    texts = [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)
        for row in re.findall(r"<tr.*?</tr>", html)
    ]
    return [[re.sub("<[^>]*>", "", text) for text in row] for row in texts]


def test_table_has_numbers_with_units() -> None:
    torque = np.array([-2.0, np.nan])
    desired = np.array([0.501, 0.252])
    head, *rows = _cells(
        SceneState(np.array([0.5, 0.25]), STILL, STILL, torque, desired)
    )
    assert head == ["joint", "position", "error", "torque", "of limit"]
    assert rows == [
        ["a", "0.500 rad", "1.00 mrad", "-2.0 Nm", "25 %"],
        ["b", "0.250 m", "2.00 mm", "–", "0 %"],
    ]
    named = ARM.replace('name="a"', 'name="&lt;i&gt;"')
    head, first, _ = _cells(
        SceneState(STILL, STILL, STILL, np.array([8.0, 0.0])), (False, True), named
    )
    assert head == ["joint", "position", "torque", "of limit*"]
    assert (first[0], first[-1]) == ("&lt;i&gt;", "100 %*"), "names are text"


def test_short_names_lack_common_words() -> None:
    assert short_names(["panda_joint1", "panda_joint2"]) == ["joint1", "joint2"]
    assert short_names(["left_elbow_roll_joint", "left_wrist_joint"]) == [
        "elbow_roll",
        "wrist",
    ]
    for names in (
        ["a", "b"],
        ["only_one_joint"],
        ["elbow", "below"],
        ["wrist_joint", "_joint"],
    ):
        assert short_names(names) == names


def test_legend_explains_the_layers_that_are_shown() -> None:
    """All 3 kg weigh 29.4 N and have an arrow of 22 % of the reach: 0.1 m of it are 13 N."""
    everything = (
        "arm",
        "ghost",
        "torques",
        "reactions",
        "centre",
        "inertias",
        "ground",
    )
    text = legend(
        MODEL, 1.0, everything, "measured position", "measured effort", [True, True]
    )
    assert text.count("<svg") == len(everything)
    assert all(
        part in text
        for part in (
            "measured position",
            "measured effort",
            "300°",
            "0.33 m",
            "0.1 m is 13 N",
        )
    )
    text = legend(
        MODEL,
        1.0,
        ("arm", "centre"),
        "measured position",
        "measured effort",
        [True, True],
    )
    assert (
        text.count("<svg") == 2
        and "centre of mass" in text
        and "measured effort" not in text
    )

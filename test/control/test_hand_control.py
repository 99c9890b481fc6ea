"""What the hand follows from one cycle to the next: targets, or the place where it has been found."""

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.hand_control import HandControl
from robot_dynamics_ros.control.hand_tuning import HandTuning
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.settings import TaskSpaceSettings

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
MODEL = RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])
TUNING = HandTuning(MODEL, TaskSpaceSettings(components=("x", "y")), Gains(*np.ones((3, 2))))
REST = np.zeros(2)
START, PUSHED = np.array([0.3, 0.8]), np.array([0.35, 0.7])


def error(hand: HandControl, q: np.ndarray, time: float = 0.0) -> np.ndarray:
    """What the hand has left to go, x and y (m)."""
    found = hand.torque(MODEL, TUNING, time, q, REST, Motion(q, REST, REST), np.array([[-9.0, -9.0], [9.0, 9.0]]))
    assert hand.state is not None
    assert hand.state.position_error == pytest.approx(np.linalg.norm(found.error[:3]))
    return found.error[:2]


def place(q: np.ndarray) -> np.ndarray:
    """x and y of the hand (m)."""
    return MODEL.link_pose(q, TUNING.link)[:2, 3]


def test_it_stays_where_it_began() -> None:
    """Though the arm is elsewhere when the first cycle comes, and does not keep the caller's array."""
    hand, begin = HandControl(), START.copy()
    hand.begin(begin)
    begin += 1.0
    for q in (PUSHED, START, PUSHED):
        assert_close(error(hand, q), place(START) - place(q), 1e-15)


def test_without_a_beginning_it_stays_where_the_first_cycle_finds_it() -> None:
    hand = HandControl()
    assert_close(error(hand, START), REST, 1e-15)
    assert_close(error(hand, PUSHED), place(START) - place(PUSHED), 1e-15)


def test_it_goes_to_a_target_from_its_time_on() -> None:
    hand, goal = HandControl(), MODEL.link_pose(PUSHED, TUNING.link)
    hand.begin(START)
    hand.targets.follow(goal, stamp=0, begin=1.0, now=0.0)
    assert_close(error(hand, START, 0.5), REST, 1e-15)
    for time in (1.0, 1.5):
        assert_close(error(hand, START, time), place(PUSHED) - place(START), 1e-15)


def test_held_it_forgets_targets_and_beginning() -> None:
    hand = HandControl()
    hand.begin(START)
    hand.targets.follow(MODEL.link_pose(START, TUNING.link), stamp=0, begin=0.0, now=0.0)
    error(hand, START)
    hand.hold()
    assert hand.state is None
    assert_close(error(hand, PUSHED, 2.0), REST, 1e-15)
    assert_close(error(hand, START, 2.1), place(PUSHED) - place(START), 1e-15)

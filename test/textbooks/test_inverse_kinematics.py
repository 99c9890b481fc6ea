"""Inverse kinematics against closed solutions and forward kinematics, and joint motion along a path of a link."""

import cmath

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.textbooks.cartesian_dynamics import (
    Task,
    joint_motion,
    link_motion,
)
from robot_dynamics_ros.textbooks.inverse_kinematics import (
    inverse_kinematics,
    joint_path,
)
from support.arms import Array
from support.comparing import assert_close

POSITION = (0, 1, 2)


def pose(x: float, y: float, z: float, angle: float = 0.0) -> Array:
    """Return a pose that is turned about z."""
    c = np.cos(angle)
    s = np.sin(angle)
    return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])


def test_metr4202_challenge() -> None:
    """All four postures, and the Jacobian of the tool point in the first of them."""
    model = RobotModel.shipped("metr4202_elbow")
    found = inverse_kinematics(model, Task("link3", POSITION), pose(1.0, 0.2, 0.5))
    expected = [
        (-168.6901, -129.8697, 55.0753),
        (-168.6901, -94.5135, -55.0753),
        (11.3099, -85.4865, 55.0753),
        (11.3099, -50.1303, -55.0753),
    ]
    np.testing.assert_allclose(
        sorted(np.degrees(found).round(4).tolist()), expected, atol=1e-9
    )
    jacobian = [
        [-0.2, 2.451452, 0.496372],
        [1, 0.490290, 0.099274],
        [0, 1.019804, 0.862415],
    ]
    np.testing.assert_allclose(
        model.jacobian(np.radians(expected[2]), "link3")[:3], jacobian, atol=3e-6
    )


BENT = np.arccos(9 / 16)  # elbow at (1, 0, 0.5), by the law of cosines
INNER = np.arctan2(np.sin(BENT), 2 + np.cos(BENT))
DOWN = np.arctan2(2.5, 1.0)  # of the line from the shoulder to the tool point


@pytest.mark.parametrize(
    ("x", "z", "expected"),
    [
        (
            1.0,
            0.5,
            [
                (0, INNER - DOWN, -BENT),
                (0, -INNER - DOWN, BENT),
                (np.pi, DOWN + INNER - np.pi, -BENT),
                (np.pi, DOWN - INNER - np.pi, BENT),
            ],
        ),
        (3 * np.cos(0.3), 3 + 3 * np.sin(0.3), [(0, 0.3, 0), (np.pi, np.pi - 0.3, 0)]),
    ],
    ids=["bent", "stretched"],
)
def test_half_a_turn_counts_once(
    x: float, z: float, expected: list[tuple[float, ...]]
) -> None:
    """Postures of the elbow manipulator in the plane y = 0, where joint 1 is 0 or half a turn, in a stable order."""
    model = RobotModel.shipped("metr4202_elbow")
    for y in (0.0, 1e-12, -1e-12):
        found = inverse_kinematics(model, Task("link3", POSITION), pose(x, y, z))
        np.testing.assert_allclose(found, expected, atol=2e-4)


def test_craig_programming_exercise_3() -> None:
    """Chapter 5: both postures of the planar 3R arm, by complex numbers, and the velocity of the tool in its frame."""
    tool = 0.1 + 0.2j
    turn = np.radians(30.0)
    corner = cmath.phase(tool)
    rows = [
        [0, 0, 0, 0],
        [0, 0.5, 0, 0],
        [0, 0.5, 0, 0],
        [0, 0, 0, corner],
        [0, abs(tool), 0, turn - corner],
    ]
    model = RobotModel.from_dh(rows, "craig", "RRRFF")
    task = Task("link5", (0, 1, 5))
    goal = np.radians(45.0)
    found = inverse_kinematics(model, task, pose(0.6, -0.3, 0.0, goal))
    wrist = 0.6 - 0.3j - tool * cmath.exp(1j * (goal - turn))
    elbow = np.arccos((abs(wrist) ** 2 - 0.5) / 0.5) * np.array([1, -1])
    first = cmath.phase(wrist) - elbow / 2  # links of equal length
    expected = np.column_stack([first, elbow, goal - turn - first - elbow])
    np.testing.assert_allclose(
        sorted(found.tolist()), sorted(expected.tolist()), atol=1e-9
    )
    rates = np.radians([20.0, 10.0, 12.0])
    for q in found:
        sums = np.cumsum(q)
        parts = np.array([0.5, 0.5, tool]) * np.exp(1j * sums)
        velocity = (1j * np.cumsum(rates) * parts).sum() * cmath.exp(-1j * goal)
        frame, twist, _ = link_motion(model, "link5", q, rates, np.zeros(3))
        assert_close(
            frame[:3, :3].T @ twist[:3], [velocity.real, velocity.imag, 0.0], 1e-9
        )
        assert twist[5] == pytest.approx(np.radians(42.0))


@pytest.mark.parametrize(
    ("robot", "link", "rows"),
    [
        ("panda", "panda_link8", range(6)),
        ("ur5e", "tool0", range(6)),
        ("scara", "tool0", (0, 1, 2, 5)),
    ],
)
def test_reachable_poses_are_reached(robot: str, link: str, rows: range) -> None:
    model = RobotModel.shipped(robot)
    rng = np.random.default_rng(0)
    task = Task(link, tuple(rows))
    for _ in range(10):
        goal = model.link_pose(
            rng.uniform(model.position_lower, model.position_upper), link
        )
        for q in inverse_kinematics(model, task, goal):
            assert_close(model.link_pose(q, link), goal, 1e-8, 1.0)
            assert (model.position_lower <= q).all() and (
                q <= model.position_upper
            ).all()


def test_the_nearest_solution_is_the_first() -> None:
    model = RobotModel.shipped("ur5e")
    task = Task("tool0")
    start = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
    found = inverse_kinematics(
        model, task, model.link_pose(start + 0.05, "tool0"), start
    )
    assert_close(found[0], start + 0.05, 1e-7)
    assert (
        len(found) > 4 and (np.diff(np.linalg.norm(found - start, axis=1)) >= 0).all()
    )
    # of continuous joints the nearest turn
    turned = RobotModel.shipped("craig_2r"), Task("link3", (0, 2))
    q = np.array([20.0, -14.0])
    assert_close(
        inverse_kinematics(*turned, turned[0].link_pose(q, "link3"), q + 0.1)[0],
        q,
        1e-7,
    )


def test_rounding_errors_do_not_change_the_order() -> None:
    """The elbow is up or down at the same distance from the start."""
    rows = [[0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0.5, 0, 0]]
    model = RobotModel.from_dh(rows, "craig", "RRF")
    task = Task("link3", (0, 1))
    rng = np.random.default_rng(0)
    bend = np.arccos(0.8)
    for _ in range(10):
        x, y = (0.8, 0.0) + 1e-13 * rng.normal(size=2)
        found = inverse_kinematics(model, task, pose(x, y, 0.0))
        np.testing.assert_allclose(
            found, [[-bend, 2 * bend], [bend, -2 * bend]], atol=1e-7
        )


def test_the_rest_of_an_unreached_pose_is_reported() -> None:
    model = RobotModel.shipped("metr4202_elbow")
    task = Task("link3", POSITION)
    with pytest.raises(RobotDynamicsError, match=r"link3.*-?1e?.* m in z.*Cure: "):
        inverse_kinematics(model, task, pose(0.0, 0.0, 7.0))


def test_tsai_9_172() -> None:
    rows = [[0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0.4, 0, 0]]
    model = RobotModel.from_dh(rows, "craig", "RRF")
    task = Task("link3", (0, 1))
    q = np.array([0.4, 0.9])
    qd = np.array([1.0, -2.0])
    found, qdd = joint_motion(
        model, q, model.jacobian(q, "link3")[:2] @ qd, [1.0, -2.0], task
    )
    assert_close(found, qd, 1e-12)
    np.testing.assert_allclose(qdd, [-2.42252, -0.42070], atol=5e-6)


def test_motion_of_a_link_and_back() -> None:
    """Twist and acceleration are slopes of the pose along a joint motion, which they give back."""
    model = RobotModel.shipped("ur5e")
    h = 1e-4
    start = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
    qd = np.linspace(-0.5, 0.6, 6)
    qdd = np.linspace(1.0, -0.8, 6)
    t = h * np.arange(-1, 2)[:, None]
    poses, twists, accelerations = link_motion(
        model, "tool0", start + t * qd + t**2 / 2 * qdd, qd + t * qdd, qdd
    )
    assert_close((poses[2, :3, 3] - poses[0, :3, 3]) / (2 * h), twists[1, :3], 1e-6)
    spin = (poses[2, :3, :3] - poses[0, :3, :3]) / (2 * h) @ poses[1, :3, :3].T
    assert_close(np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), twists[1, 3:], 1e-6)
    assert_close((twists[2] - twists[0]) / (2 * h), accelerations[1], 1e-6)
    found = joint_motion(model, start, twists[1], accelerations[1], Task("tool0"))
    assert_close(np.array(found), np.array([qd, qdd]), 1e-10)


def test_a_straight_line() -> None:
    model = RobotModel.shipped("metr4202_elbow")
    task = Task("link3", POSITION)
    times = np.linspace(0.0, 2.0, 60)
    poses = np.array([pose(1.0 + t / 4, 0.2 + t / 3, 0.5 + t / 2) for t in times])
    for start in inverse_kinematics(model, task, poses[0]):
        q = joint_path(model, task, times, poses, start)
        assert_close(model.link_pose(q, "link3")[:, :3, 3], poses[:, :3, 3], 1e-8)
        assert_close(q[0], start, 1e-8)


def test_a_path_that_cannot_be_followed() -> None:
    """One leaves the reach, 3 m from the shoulder; one passes close to the column, where joint 1 turns round."""
    model = RobotModel.shipped("metr4202_elbow")
    task = Task("link3", POSITION)
    times = np.linspace(0.0, 1.0, 21)
    with pytest.raises(RobotDynamicsError, match=r"at 0\.95 s: .*Cure: "):
        joint_path(
            model, task, times, np.array([pose(1.0, 0.0, 3.0 + 3 * t) for t in times])
        )
    with pytest.raises(RobotDynamicsError, match=r"at 0\.5\d* s: joints jump.*Cure: "):
        joint_path(
            model, task, times, np.array([pose(1.0 - 2 * t, 0.05, 5.0) for t in times])
        )

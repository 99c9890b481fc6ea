"""The check of measured effort before activation: what it refuses, and what it must not refuse."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.activation_check import check_activation, check_effort, holding_friction, tip_load
from support import arms
from support.comparing import assert_close

Array = NDArray[np.float64]

# Arm half stretched out, elbow and wrist bent and turned; and the ready pose, where the wrist carries its share.
GOOD = np.array([0.3, 0.4, 0.5, -1.4, 0.8, 1.2, 0.4])

SIGN, ORDER, TWICE, HALF = "wrong sign", "wrong order", "about twice", "about half"


@pytest.fixture(scope="module")
def panda(request: Any) -> RobotModel:
    model: RobotModel = request.getfixturevalue("load_robot")("panda", "panda_coulomb")
    return model


def _wrong(cause: str, gravity: Array, joints: tuple[int, int] = (1, 3)) -> Array:
    """What a robot with one error reports."""
    reported = {SIGN: -gravity, ORDER: gravity.copy(), TWICE: 2.0 * gravity, HALF: 0.5 * gravity}[cause]
    if cause == ORDER:
        reported[list(joints)] = gravity[list(reversed(joints))]
    return reported


# Any robot: loads that differ clearly, some joints without any. Noise of 10 % and friction on every joint.


@st.composite
def loads(draw: st.DrawFn) -> tuple[Array, Array]:
    """g (n,) and static friction (n,): loads a ratio of at least 1.4 apart, none of them 1.8 to 2.2 times another."""
    carried = draw(st.lists(st.sampled_from([100.0, 70.0, 36.0, 25.0, 13.0]), min_size=2, unique=True))
    idle = draw(st.lists(st.just(0.0), max_size=3))
    places = draw(st.permutations([*carried, *idle]))
    signs = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(places), max_size=len(places)))
    gravity = draw(st.sampled_from([0.05, 1.0, 30.0])) * np.array(places) * signs
    share = draw(st.lists(st.floats(0.0, 0.015), min_size=len(places), max_size=len(places)))
    return gravity, np.array(share) * np.abs(gravity).max()


def _noisy(data: st.DataObject, effort: Array, friction: Array) -> Array:
    n = len(effort)
    noise, held = (
        np.array(data.draw(st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n))) for _ in ("noise", "friction")
    )
    return effort * (1.0 + 0.1 * noise) + friction * held


def _names(n: int) -> list[str]:
    return [f"joint{i}" for i in range(1, n + 1)]


def _check(measured: Array, gravity: Array, friction: Array) -> tuple[str, ...]:
    return check_effort(_names(len(gravity)), measured, gravity, friction, np.zeros(len(gravity)))


@given(loads(), st.data())
@pytest.mark.parametrize("share", [1.0, 0.0])
def test_right_effort_and_none_at_all_pass(share: float, robot: tuple[Array, Array], data: st.DataObject) -> None:
    """None is measured where brakes hold the arm, or the robot leaves gravity out of what it reports."""
    gravity, friction = robot
    assert _check(_noisy(data, share * gravity, friction), gravity, friction) == ()


@given(loads(), st.data())
@pytest.mark.parametrize("cause", [SIGN, TWICE, HALF])
def test_every_error_of_the_whole_arm_is_refused_and_named(
    cause: str, robot: tuple[Array, Array], data: st.DataObject
) -> None:
    gravity, friction = robot
    with pytest.raises(RobotDynamicsError, match=cause):
        _check(_noisy(data, _wrong(cause, gravity), friction), gravity, friction)


@given(loads(), st.data())
def test_the_wrong_sign_of_any_loaded_joints_is_refused_and_they_are_named(
    robot: tuple[Array, Array], data: st.DataObject
) -> None:
    gravity, friction = robot
    loaded = np.flatnonzero(gravity).tolist()
    wrong = data.draw(st.lists(st.sampled_from(loaded), min_size=1, unique=True))
    reported = gravity.copy()
    reported[wrong] *= -1.0
    with pytest.raises(RobotDynamicsError, match=SIGN) as refusal:
        _check(_noisy(data, reported, friction), gravity, friction)
    assert [f'"{name}"' in str(refusal.value) for name in _names(len(gravity))] == [
        j in wrong for j in range(len(gravity))
    ]


@given(loads(), st.data())
def test_swapped_joints_are_refused_and_named(robot: tuple[Array, Array], data: st.DataObject) -> None:
    """Two joints of which one carries at least twice what the other does; also a loaded and an idle one."""
    gravity, friction = robot
    j = data.draw(st.sampled_from(np.flatnonzero(gravity).tolist()))
    i = data.draw(st.sampled_from([k for k in range(len(gravity)) if k != j]))
    assume(2.0 * min(abs(gravity[i]), abs(gravity[j])) < max(abs(gravity[i]), abs(gravity[j])))
    with pytest.raises(RobotDynamicsError, match=ORDER) as refusal:
        _check(_noisy(data, _wrong(ORDER, gravity, (i, j)), friction), gravity, friction)
    named = [k for k, name in enumerate(_names(len(gravity))) if f'"{name}"' in str(refusal.value)]
    assert named == sorted((i, j))


# Panda


@pytest.fixture(scope="module")
def poses(panda: RobotModel) -> tuple[Array, Array, Array, Array]:
    """Positions all over Panda's reach, gravity, friction and tip load there, each (poses, n)."""
    q = np.random.default_rng(7).uniform(panda.position_lower, panda.position_upper, (400, panda.n))
    friction, load = (np.array([f(panda, x) for x in q]) for f in (holding_friction, tip_load))
    return q, panda.gravity_torque(q), friction, load


def _causes(panda: RobotModel, poses: tuple[Array, Array, Array, Array], effort: Array) -> list[str]:
    """What the check says in each pose of efforts (poses, n), to which noise of 10 % and friction are added."""
    _, gravity, friction, load = poses
    rng = np.random.default_rng(8)
    noise, held = rng.uniform(-1.0, 1.0, (2, *effort.shape))
    said = []
    for m, g, f, w in zip(effort * (1.0 + 0.1 * noise) + friction * held, gravity, friction, load, strict=True):
        try:
            said.append("warned" if check_effort(panda.joint_names, m, g, f, w) else "")
        except RobotDynamicsError as refusal:
            said.append(next(cause for cause in (SIGN, ORDER, TWICE, HALF) if cause in str(refusal)))
    return said


def test_panda_all_over_its_reach(panda: RobotModel, poses: tuple[Array, Array, Array, Array]) -> None:
    """The right effort always passes; errors are found nearly everywhere, and named."""
    gravity = poses[1]
    assert set(_causes(panda, poses, gravity)) == {""}
    assert set(_causes(panda, poses, 0.0 * gravity)) == {""}
    assert _causes(panda, poses, -gravity).count(SIGN) >= 0.99 * len(gravity)
    assert _causes(panda, poses, 2.0 * gravity).count(TWICE) >= 0.93 * len(gravity)
    assert _causes(panda, poses, 0.5 * gravity).count(HALF) >= 0.85 * len(gravity)


@pytest.mark.parametrize(("mass", "com"), [(1.0, (0.0, 0.0, 0.0)), (3.0, (0.05, -0.05, 0.08))])
def test_a_payload_is_not_refused(
    mass: float, com: tuple[float, ...], panda: RobotModel, poses: tuple[Array, Array, Array, Array]
) -> None:
    """Warned of, where it is more than noise. In one pose of hundreds it looks like an error by chance."""
    loaded = panda.with_payload("panda_link8", mass, com, 0.001 * np.eye(3)).gravity_torque(poses[0])
    said = _causes(panda, poses, loaded)
    assert sum(word not in ("", "warned") for word in said) <= 2
    assert said.count("warned") > (0.98 if mass == 3.0 else 0.7) * len(said)
    left = _causes(panda, poses, loaded - poses[1])  # the robot leaves out gravity, of the arm alone
    assert sum(word not in ("", "warned") for word in left) <= 2


@pytest.mark.parametrize("gravity", [[0.0, 0.0], [1e-15, -3e-16], [0.05, -0.03]])
def test_a_pose_where_gravity_does_nothing_tells_nothing(gravity: list[float]) -> None:
    """An upright arm, one that moves in a horizontal plane; what friction holds, and rounding."""
    for measured in ([0.3, -0.2], [-1e-15, 2e-16]):
        assert _check(np.array(measured), np.array(gravity), np.array([0.4, 0.4])) == ()


# What drivers report, and what not


def test_efforts_that_are_not_reported(panda: RobotModel) -> None:
    for nothing in (None, np.empty(0), np.full(7, math.nan), np.full(7, math.inf)):
        assert check_activation(panda, GOOD, nothing) == ()


def test_joints_that_do_not_report_are_left_out(panda: RobotModel) -> None:
    gravity = panda.gravity_torque(GOOD)
    partial = gravity.copy()
    partial[[0, 2]] = math.nan, math.inf
    assert check_activation(panda, GOOD, partial) == ()
    with pytest.raises(RobotDynamicsError, match='"panda_joint2"') as refusal:
        check_activation(panda, GOOD, -partial)
    assert '"panda_joint3"' not in str(refusal.value)


def test_efforts_of_another_number_than_joints(panda: RobotModel) -> None:
    with pytest.raises(RobotDynamicsError, match="panda_joint1"):
        check_activation(panda, GOOD, np.zeros(8))


# What it compares with


def test_holding_friction(panda: RobotModel, load_robot: Callable[..., RobotModel]) -> None:
    """The greater of both Coulomb levels in config/panda_coulomb.dynamics.yaml; of Gaz's sigmoid most of it."""
    levels = [0.300607, 0.487052, 0.393804, 0.704197, 0.465255, 0.178529, 0.287630]
    assert_close(holding_friction(panda, GOOD), levels, 1e-12)
    smooth = holding_friction(load_robot("panda", "panda"), GOOD)
    assert (smooth > 0.2 * np.array(levels)).all()
    assert (smooth < np.array(levels)).all()
    np.testing.assert_array_equal(holding_friction(load_robot("planar_2r"), np.zeros(2)), 0.0)


def test_holding_friction_takes_the_static_level(tmp_path: Any, urdf_path: Callable[[str], Any]) -> None:
    file = tmp_path / "friction.yaml"
    file.write_text("joints:\n  joint1: {coulomb: 1.0, static: 1.5, stribeck_velocity: 0.02}\n")
    model = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    assert_close(holding_friction(model, np.zeros(2)), [1.5, 0.0], 1e-12)


@pytest.mark.parametrize(("name", "tip"), [("panda", "panda_link8"), ("planar_2r", "tip")])
def test_tip_load_is_what_one_kilogram_there_adds(name: str, tip: str, load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot(name)
    q = np.linspace(0.2, 0.9, model.n)
    heavy = model.with_payload(tip, 1.0, np.zeros(3), np.zeros((3, 3)))
    assert_close(tip_load(model, q), heavy.gravity_torque(q) - model.gravity_torque(q), 1e-12, scale=10.0)


def test_the_tip_is_the_link_that_most_joints_move() -> None:
    """Not a camera on the first link, though it comes last: 1 kg at the tool of an arm stretched out along x."""
    arm = arms.planar_2r(0.5, 0.4, arms.Link("", 1.0), arms.Link("", 1.0))
    camera = arms.Joint("mount", "fixed", "link1", "camera", xyz=(0.2, 0.1, 0.0))
    arm = replace(arm, links=(*arm.links, arms.Link("camera")), joints=(*arm.joints, camera))
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, -9.81, 0.0])
    assert_close(tip_load(model, np.zeros(2)), [9.81 * 0.9, 9.81 * 0.4], 1e-12)


@pytest.mark.parametrize(
    ("measured", "gravity", "load"),
    [
        ([225.0, 35.5], [100.0, 20.0], [10.0, 2.0]),  # about 11 kg, by each joint's own tolerance
        ([17.6, 22.4], [10.0, 10.0], [15.2, 24.8]),  # half a kilogram
    ],
)
def test_about_twice_gravity_may_be_a_payload(measured: Any, gravity: Any, load: Any) -> None:
    """The mass at the tip that fits best is no error; without one it is gravity counted twice."""
    given = ("a", "b"), np.array(measured), np.array(gravity), np.zeros(2)
    (warning,) = check_effort(*given, np.array(load))
    assert "payload" in warning
    with pytest.raises(RobotDynamicsError, match="about twice"):
        check_effort(*given, np.zeros(2))


def _verdict(measured: Any, gravity: Any, friction: Any = 0.0, load: Any = 0.0) -> str:
    """Of joints that share friction and load where one number is given."""
    numbers = (np.array(measured), np.array(gravity), *(np.zeros(len(gravity)) + x for x in (friction, load)))
    try:
        return "warned" if check_effort(_names(len(gravity)), *numbers) else ""
    except RobotDynamicsError:
        return "refused"


# 100 Nm have a tolerance of 2 + 12 Nm, which 46 Nm of friction make 60.
@pytest.mark.parametrize(
    ("given", "verdict", "beyond"),
    [
        (([114.0], [100.0]), "", "warned"),  # right within 1
        (([12.0], [100.0]), "", "warned"),  # about zero: a tenth of the largest, and 2 Nm
        (([226.0], [100.0]), "refused", "warned"),  # twice, within 1
        (([-50.0, 100.0], [100.0, 100.0], [46.0, 0.0]), "refused", "warned"),  # a wrong sign: missed by 2.5
    ],
)
def test_numbers_at_a_threshold(given: Any, verdict: str, beyond: str) -> None:
    """To the bit, as the module says them; a thousandth on, they are beyond."""
    assert _verdict(*given) == verdict
    measured = np.array(given[0])
    measured[0] += 1e-3
    assert _verdict(measured, *given[1:]) == beyond


def test_friction_of_half_the_gravity_hides_it() -> None:
    """Less friction, and the sign is told."""
    assert _verdict([-100.0], [100.0], 48.0) == ""
    assert _verdict([-100.0], [100.0], 47.9) == "refused"


@pytest.mark.parametrize(("gravity", "verdict"), [(0.019, ""), (0.021, "refused")])
def test_the_least_gravity_that_is_judged(gravity: float, verdict: str) -> None:
    """Twice 0.01 Nm: below that it may be rounding."""
    assert _verdict([-gravity], [gravity]) == verdict


@pytest.mark.parametrize("order", [(1, 2, 3, 0), (3, 2, 1, 0)])
def test_any_other_order_is_refused(order: tuple[int, ...]) -> None:
    """A cycle, reversed, sorted by another name."""
    gravity = np.array([3.0, -40.0, 25.0, 11.0])
    with pytest.raises(RobotDynamicsError, match=ORDER):
        _check(gravity[list(order)], gravity, np.full(4, 0.3))


def test_a_payload_that_fits_within_the_tolerance_is_a_payload() -> None:
    """200 kg, which the first joint shows to the number, and 14 Nm beside at the second."""
    given = [-100.0, 114.0], [100.0, 100.0], 0.0
    assert _verdict(*given) == "refused"
    assert _verdict(*given, [-1.0, 0.0]) == "warned"

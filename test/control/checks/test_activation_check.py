"""Check of measured effort before activation: detected errors and accepted efforts."""

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
from robot_dynamics_ros.control.checks.activation_check import (
    check_activation,
    check_effort,
    holding_friction,
    payload_effort,
)
from support import arms
from support.comparing import assert_close

Array = NDArray[np.float64]

# Arm half stretched out, elbow and wrist bent and turned.
GOOD = np.array([0.3, 0.4, 0.5, -1.4, 0.8, 1.2, 0.4])

SIGN = "wrong sign"
ORDER = "wrong order"
TWICE = "about twice"
HALF = "about half"
WARNED = "warned"


@pytest.fixture(scope="module")
def panda(request: Any) -> RobotModel:
    model: RobotModel = request.getfixturevalue("load_robot")("panda", "panda_coulomb")
    return model


def verdict(
    measured: Any, gravity: Any, friction: Any = 0.0, load: Any = 0.0
) -> tuple[str, list[int]]:
    """Return the detected error and its joints, or "warned", or "" if the efforts are accepted."""
    n = len(gravity)
    names = [f"joint{j}" for j in range(n)]
    numbers = (
        np.array(measured, dtype=float),
        np.array(gravity),
        *(np.zeros(n) + x for x in (friction, load)),
    )
    try:
        return (WARNED if check_effort(names, *numbers) else ""), []
    except RobotDynamicsError as refusal:
        text = str(refusal)
        cause = next(cause for cause in (SIGN, ORDER, TWICE, HALF) if cause in text)
        return cause, [j for j, name in enumerate(names) if f'"{name}"' in text]


@st.composite
def loads(draw: st.DrawFn) -> tuple[Array, Array]:
    """Draw g (n,) and static friction (n,): ratios of loads above 1.4 and outside 1.8 to 2.2, some joints idle."""
    carried = draw(
        st.lists(
            st.sampled_from([100.0, 70.0, 36.0, 25.0, 13.0]), min_size=2, unique=True
        )
    )
    idle = draw(st.lists(st.just(0.0), max_size=3))
    places = draw(st.permutations([*carried, *idle]))
    signs = draw(
        st.lists(
            st.sampled_from([-1.0, 1.0]), min_size=len(places), max_size=len(places)
        )
    )
    gravity = draw(st.sampled_from([0.05, 1.0, 30.0])) * np.array(places) * signs
    share = draw(
        st.lists(st.floats(0.0, 0.015), min_size=len(places), max_size=len(places))
    )
    return gravity, np.array(share) * np.abs(gravity).max()


def _noisy(data: st.DataObject, effort: Array, friction: Array) -> Array:
    share = st.lists(st.floats(-1.0, 1.0), min_size=len(effort), max_size=len(effort))
    return effort * (1.0 + 0.1 * np.array(data.draw(share))) + friction * np.array(
        data.draw(share)
    )


@given(loads(), st.data())
@pytest.mark.parametrize(
    ("share", "cause"), [(1.0, ""), (0.0, ""), (-1.0, SIGN), (2.0, TWICE), (0.5, HALF)]
)
def test_errors_of_all_joints_are_refused(
    share: float, cause: str, robot: tuple[Array, Array], data: st.DataObject
) -> None:
    """Efforts are zero with brakes on, or if the robot reports them without gravity."""
    gravity, friction = robot
    assert (
        verdict(_noisy(data, share * gravity, friction), gravity, friction)[0] == cause
    )


@given(loads(), st.data())
def test_joints_with_the_wrong_sign_are_refused_and_named(
    robot: tuple[Array, Array], data: st.DataObject
) -> None:
    gravity, friction = robot
    wrong = data.draw(
        st.lists(
            st.sampled_from(np.flatnonzero(gravity).tolist()), min_size=1, unique=True
        )
    )
    reported = gravity.copy()
    reported[wrong] *= -1.0
    assert verdict(_noisy(data, reported, friction), gravity, friction) == (
        SIGN,
        sorted(wrong),
    )


@given(loads(), st.data())
def test_swapped_joints_are_refused_and_named(
    robot: tuple[Array, Array], data: st.DataObject
) -> None:
    """Two joints with a ratio of loads of at least two, or a loaded and an idle one."""
    gravity, friction = robot
    j = data.draw(st.sampled_from(np.flatnonzero(gravity).tolist()))
    i = data.draw(st.sampled_from([k for k in range(len(gravity)) if k != j]))
    assume(
        2.0 * min(abs(gravity[i]), abs(gravity[j]))
        < max(abs(gravity[i]), abs(gravity[j]))
    )
    reported = gravity.copy()
    reported[[i, j]] = gravity[[j, i]]
    assert verdict(_noisy(data, reported, friction), gravity, friction) == (
        ORDER,
        sorted((i, j)),
    )


@pytest.mark.parametrize("order", [(1, 2, 3, 0), (3, 2, 1, 0)])
def test_any_other_order_is_refused(order: tuple[int, ...]) -> None:
    gravity = np.array([3.0, -40.0, 25.0, 11.0])
    assert verdict(gravity[list(order)], gravity, 0.3)[0] == ORDER


@pytest.fixture(scope="module")
def poses(panda: RobotModel) -> tuple[Array, Array, Array, Array]:
    """Return positions in the Panda's workspace, and gravity, friction and payload effort there, each (poses, n)."""
    q = np.random.default_rng(7).uniform(
        panda.position_lower, panda.position_upper, (400, panda.n)
    )
    friction, load = (
        np.array([f(panda, x) for x in q]) for f in (holding_friction, payload_effort)
    )
    return q, panda.gravity_torque(q), friction, load


def _causes(poses: tuple[Array, Array, Array, Array], effort: Array) -> list[str]:
    """Return the verdict in each pose for efforts (poses, n) with noise of 10 % and friction."""
    _, gravity, friction, load = poses
    noise, held = np.random.default_rng(8).uniform(-1.0, 1.0, (2, *effort.shape))
    measured = effort * (1.0 + 0.1 * noise) + friction * held
    return [
        verdict(*pose)[0]
        for pose in zip(measured, gravity, friction, load, strict=True)
    ]


def test_panda_in_its_workspace(poses: tuple[Array, Array, Array, Array]) -> None:
    """The correct effort is always accepted; errors are detected and named in nearly all poses."""
    gravity = poses[1]
    for share, cause, part in (
        (1.0, "", 1.0),
        (0.0, "", 1.0),
        (-1.0, SIGN, 0.99),
        (2.0, TWICE, 0.93),
        (0.5, HALF, 0.85),
    ):
        assert _causes(poses, share * gravity).count(cause) >= part * len(gravity), (
            cause
        )


@pytest.mark.parametrize(
    ("mass", "com", "part"),
    [(1.0, (0.0, 0.0, 0.0), 0.7), (3.0, (0.05, -0.05, 0.08), 0.98)],
)
def test_a_payload_is_not_refused(
    mass: float,
    com: tuple[float, ...],
    part: float,
    panda: RobotModel,
    poses: tuple[Array, Array, Array, Array],
) -> None:
    """It causes a warning if it exceeds noise. In one pose of hundreds it resembles an error by chance."""
    loaded = panda.with_payload(
        "panda_link8", mass, com, 0.001 * np.eye(3)
    ).gravity_torque(poses[0])
    given = _causes(poses, loaded)
    # reports without the gravity torque of the arm itself
    left = _causes(poses, loaded - poses[1])
    for causes in (given, left):
        assert sum(cause not in ("", WARNED) for cause in causes) <= 2
    assert given.count(WARNED) > part * len(given)


def test_joints_without_reported_effort_are_ignored(panda: RobotModel) -> None:
    for nothing in (np.full(7, math.nan), np.full(7, math.inf)):
        assert check_activation(panda, GOOD, nothing) == ()
    partial = panda.gravity_torque(GOOD)
    partial[[0, 2]] = math.nan, math.inf
    assert check_activation(panda, GOOD, partial) == ()
    with pytest.raises(RobotDynamicsError, match='"panda_joint2"') as refusal:
        check_activation(panda, GOOD, -partial)
    assert '"panda_joint3"' not in str(refusal.value)


def test_holding_friction(
    panda: RobotModel, load_robot: Any, tmp_path: Any, urdf_path: Any
) -> None:
    """The larger Coulomb torque of both directions in config/panda_coulomb.dynamics.yaml; most of Gaz's sigmoid."""
    levels = [0.300607, 0.487052, 0.393804, 0.704197, 0.465255, 0.178529, 0.287630]
    assert_close(holding_friction(panda, GOOD), levels, 1e-12)
    smooth = holding_friction(load_robot("panda", "panda"), GOOD)
    assert (smooth > 0.2 * np.array(levels)).all() and (smooth < np.array(levels)).all()
    file = tmp_path / "friction.yaml"
    file.write_text(
        "joints:\n  joint1: {coulomb: 1.0, static: 1.5, stribeck_velocity: 0.02}\n"
    )
    model = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    assert_close(holding_friction(model, np.zeros(2)), [1.5, 0.0], 1e-12)


def test_payload_effort_is_that_of_one_kilogram(
    load_robot: Callable[..., RobotModel],
) -> None:
    """At the link moved by most joints, not at a camera on the first link that is listed last."""
    model = load_robot("panda")
    q = np.linspace(0.2, 0.9, model.n)
    heavy = model.with_payload("panda_link8", 1.0, np.zeros(3), np.zeros((3, 3)))
    assert_close(
        payload_effort(model, q),
        heavy.gravity_torque(q) - model.gravity_torque(q),
        1e-12,
        scale=10.0,
    )
    arm = arms.planar_2r(0.5, 0.4, arms.Link("", 1.0), arms.Link("", 1.0))
    camera = arms.Joint("mount", "fixed", "link1", "camera", xyz=(0.2, 0.1, 0.0))
    arm = replace(
        arm, links=(*arm.links, arms.Link("camera")), joints=(*arm.joints, camera)
    )
    model = RobotModel.from_urdf(arm.urdf, gravity=[0.0, -9.81, 0.0])
    assert_close(payload_effort(model, np.zeros(2)), [9.81 * 0.9, 9.81 * 0.4], 1e-12)


@pytest.mark.parametrize(
    ("measured", "gravity", "load", "cause"),
    [
        # about 11 kg, weighted by the tolerances of the joints
        ([225.0, 35.5], [100.0, 20.0], [10.0, 2.0], TWICE),
        ([17.6, 22.4], [10.0, 10.0], [15.2, 24.8], TWICE),  # half a kilogram
        # 200 kg, and 14 Nm within the tolerance
        ([-100.0, 114.0], [100.0, 100.0], [-1.0, 0.0], SIGN),
    ],
)
def test_efforts_explained_by_a_payload(
    measured: Any, gravity: Any, load: Any, cause: str
) -> None:
    """Accepted with the best payload; an error if no payload is considered."""
    assert verdict(measured, gravity, 0.0, load)[0] == WARNED
    assert verdict(measured, gravity)[0] == cause


# The tolerance of 100 Nm is 2 + 12 Nm, plus 46 Nm of friction.
@pytest.mark.parametrize(
    ("given", "cause", "beyond"),
    [
        (([114.0], [100.0]), "", WARNED),  # right within 1
        (([12.0], [100.0]), "", WARNED),  # about zero: a tenth of the largest, and 2 Nm
        (([226.0], [100.0]), TWICE, WARNED),  # twice, within 1
        # residual of 2.5
        (([-50.0, 100.0], [100.0, 100.0], [46.0, 0.0]), SIGN, WARNED),
    ],
)
def test_numbers_at_a_threshold(given: Any, cause: str, beyond: str) -> None:
    """Exactly at the threshold, and a thousandth beyond it."""
    assert verdict(*given)[0] == cause
    measured = np.array(given[0])
    measured[0] += 1e-3
    assert verdict(measured, *given[1:])[0] == beyond


@pytest.mark.parametrize(
    ("measured", "gravity", "friction", "cause"),
    [
        ([-100.0], [100.0], 48.0, ""),  # hidden by friction of half the gravity torque
        ([-100.0], [100.0], 47.9, SIGN),
        ([-0.019], [0.019], 0.0, ""),  # below twice the smallest floor of 0.01 Nm
        ([-0.021], [0.021], 0.0, SIGN),
        ([0.3, -0.2], [1e-15, -3e-16], 0.4, ""),  # an upright arm
        ([0.3, -0.2], [0.05, -0.03], 0.4, ""),
    ],
)
def test_the_smallest_gravity_torque_that_is_checked(
    measured: Any, gravity: Any, friction: float, cause: str
) -> None:
    assert verdict(measured, gravity, friction)[0] == cause

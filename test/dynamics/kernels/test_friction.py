"""Friction torque, Craig (6.110)-(6.113), and bounds of a step; test_robots.py tests the sigmoid of Gaz et al."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels import friction
from support import arms
from support.arms import Array
from support.comparing import assert_close
from support.robots_with_drives import Robot, load, robots, state

ARM = arms.random_arm(np.random.default_rng(1), [0, 1], ["revolute", "prismatic"])
REST = np.zeros(2)
ROOT = Path(__file__).parents[3]
FILES = {
    file.name: joints
    for file in sorted(ROOT.glob("config/*.dynamics.yaml"))
    if (joints := yaml.safe_load(file.read_text(encoding="utf-8")).get("joints"))
}


def _load(**terms: Any) -> RobotModel:
    """Return the robot with these friction parameters at the first joint."""
    return load(ARM, {"joints": {ARM.movable[0]: terms}})


def _closed_form(
    terms: dict[str, Any], q: float, qd: float, load: float = 0.0
) -> float:
    """Return the friction of a joint by the formula of docs/dynamics_file.md."""
    get = terms.get
    total = get("viscous", 0.0) * qd
    total += get("quadratic", 0.0) * qd * abs(qd) + get("cubic", 0.0) * qd**3
    if "sigmoid" in terms:
        a, s, v0 = (terms["sigmoid"][key] for key in ("amplitude", "slope", "shift"))
        total += a / (1.0 + np.exp(-s * (qd + v0))) - a / (1.0 + np.exp(-s * v0))
    if qd == 0.0:
        return float(total)
    coulomb = get("coulomb", 0.0)
    mu = get("load_coefficient", 0.0)
    level = coulomb if qd > 0.0 else get("coulomb_negative", coulomb)
    if load * qd < 0.0:
        mu = get("load_coefficient_backdriving", mu)
    dry = level
    if "stribeck_velocity" in terms:
        fall = np.exp(-((qd / terms["stribeck_velocity"]) ** 2))
        dry += max(0.0, get("static", 0.0) - level) * fall
    mu *= dry / level if level > 0.0 else 1.0
    if "ripple" in terms:
        a, per_turn, phase = (
            terms["ripple"][key] for key in ("amplitude", "per_turn", "phase")
        )
        dry += a * np.sin(per_turn * q + phase)
    return float(total + np.sign(qd) * (max(dry, 0.0) + mu * abs(load)))


@pytest.mark.parametrize("file", FILES)
def test_dynamics_files_of_the_repository(file: str) -> None:
    joints = FILES[file]
    links = tuple(arms.Link(f"link{k}") for k in range(len(joints) + 1))
    chain = tuple(
        arms.Joint(name, "revolute", f"link{k}", f"link{k + 1}")
        for k, name in enumerate(joints)
    )
    friction_only = {
        name: {key: x for key, x in entry.items() if key in friction.FRICTION_KEYS}
        for name, entry in joints.items()
    }
    model = load(arms.Arm(links, chain), {"joints": friction_only})
    rng = np.random.default_rng(0)
    q, qd, loads = rng.normal(size=(3, 50, model.n)) * [[[2.0]], [[0.5]], [[30.0]]]
    expected = [
        [_closed_form(*given) for given in zip(joints.values(), *state, strict=True)]
        for state in zip(q, qd, loads, strict=True)
    ]
    assert_close(model.friction_torque(q, qd, load=loads), np.array(expected), 1e-12)


@given(robot=robots(friction=True), resting=st.booleans())
def test_any_robot_has_the_friction_of_its_joints(robot: Robot, resting: bool) -> None:
    """F = G^T F_tree, each joint's at its own position and rate, Craig (6.113). Friction only dissipates power."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    if resting:
        qd[::2] = 0.0
    g, c = (part[: len(robot.bare.movable)] for part in robot.matrix(model.joint_names))
    tree = [
        _closed_form(robot.friction.get(name, {}), position, rate)
        for name, position, rate in zip(
            robot.bare.movable, g @ q + c, g @ qd, strict=True
        )
    ]
    got = model.friction_torque(q, qd)
    assert_close(
        got,
        g.T @ np.array(tree),
        1e-12,
        float(np.abs(g).T.sum() + 10.0 * np.abs(tree).max()),
    )
    assert float(qd @ got) >= -1e-12 * float(np.abs(qd) @ np.abs(got))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stribeck(sign: float) -> None:
    """Friction falls from the static level near rest to the Coulomb level; at v_s by 1 - 1/e of the difference."""
    model = _load(coulomb=3.0, coulomb_negative=2.0, static=5.0, stribeck_velocity=0.1)
    level = 3.0 if sign > 0.0 else 2.0
    for speed, expected in (
        (0.0, 0.0),
        (1e-9, 5.0),
        (0.1, level + (5.0 - level) / np.e),
        (10.0, level),
    ):
        assert_close(
            model.friction_torque(REST, [sign * speed, 0]), [sign * expected, 0], 1e-14
        )


def test_static_level_without_stribeck_velocity_is_for_rest_alone() -> None:
    assert_close(
        _load(coulomb=3.0, static=5.0).friction_torque(REST, [1e-9, 0]), [3.0, 0], 1e-15
    )


# --- Compensation along a desired motion: continuous at a reversal

PLANAR = arms.tsai_planar_2r(tsai_planar_2r.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0))
RATES = np.linspace(-0.03, 0.03, 601)


def test_friction_compensation_has_no_step_at_a_reversal() -> None:
    """Craig (6.112), c sgn(qd) + v qd, but proportional to the rate below the smoothing velocity of 0.01 rad/s."""
    terms = {"coulomb": 2.0, "coulomb_negative": 1.5, "viscous": 0.5}
    model = load(PLANAR, {"joints": {"joint1": terms, "joint2": terms}})
    tau = np.array(
        [model.friction_torque(REST, np.array([x, -x]), 0.01) for x in RATES]
    )
    smoothed = np.clip(RATES / 0.01, -1.0, 1.0)
    forward, backward = (
        level + 0.5 * np.maximum(np.abs(RATES), 0.01) for level in (2.0, 1.5)
    )
    first = np.where(RATES > 0.0, forward, backward)
    second = np.where(RATES > 0.0, backward, forward)
    assert_close(tau, np.stack((first * smoothed, -second * smoothed), axis=1), 1e-12)
    np.testing.assert_array_equal(
        model.friction_torque(REST, np.array([-0.0, 0.0]), 0.01), 0.0
    )
    assert_close(
        model.friction_torque(REST, np.array([1e-9, 0.0]), 0.0), [2.0, 0.0], 1e-8
    )


def test_a_coupled_joint_has_no_step_at_its_reversal() -> None:
    """Spong (9.89): joint2 rotates by p2 - p1 and comes to rest while both coordinates move; tau = G^T tau_tree."""
    couplings = {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}}
    content = {
        "joints": {"joint2": {"coulomb": 2.0}},
        "coordinates": ["p1", "p2"],
        "couplings": couplings,
    }
    model = load(PLANAR, content)
    tau = np.array(
        [model.friction_torque(REST, np.array([1.0, 1.0 + x]), 0.01) for x in RATES]
    )
    expected = 2.0 * np.clip(RATES / 0.01, -1.0, 1.0)
    assert_close(tau, np.stack((-expected, expected), axis=1), 1e-12)


# --- Table of terms


def _entry(values: dict[str, float]) -> dict[str, Any]:
    """Return the entry of a joint in a dynamics file with these values by their keys."""
    entry: dict[str, Any] = {}
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        (entry.setdefault(group, {}) if group else entry)[name] = value
    return entry


VALUES = {x.key: 0.5 + 0.01 * x.column for x in friction.FRICTION_PARAMETERS} | {
    "static": 0.6,
    "load_coefficient": 0.1,
    "load_coefficient_backdriving": 0.2,
}


def test_each_column_is_a_key_of_the_dynamics_file() -> None:
    row = _load(**_entry(VALUES)).friction_parameters[0]
    for x in friction.FRICTION_PARAMETERS:
        assert row[x.column] == VALUES[x.key] and x.column == getattr(
            friction, x.constant
        )
    assert sorted(x.column for x in friction.FRICTION_PARAMETERS) == list(
        range(friction.FRICTION_SIZE)
    )


@pytest.mark.parametrize(
    "parameter",
    [x for x in friction.FRICTION_PARAMETERS if math.isfinite(x.least)],
    ids=lambda x: x.key,
)
def test_a_parameter_below_its_range_is_refused(
    parameter: friction.FrictionParameter,
) -> None:
    below = VALUES | {parameter.key: parameter.least - 1e-3}
    with pytest.raises(RobotModelError, match=parameter.key.replace(".", " ")):
        _load(**_entry(below))


@pytest.mark.parametrize("rate", [-1.3, -0.02, 0.0, 0.9])
@pytest.mark.parametrize(
    "term",
    [x for x in friction.TERMS if x.kind == "smooth"],
    ids=lambda x: x.kernel.__name__,
)
def test_smooth_terms_return_their_derivative(term: friction.Term, rate: float) -> None:
    row = np.zeros(friction.FRICTION_SIZE)
    for x in term.parameters:
        row[x.column] = VALUES[x.key]
    ahead, behind = (term.kernel(row, rate + step)[0] for step in (1e-5, -1e-5))
    assert term.kernel(row, rate)[1] == pytest.approx((ahead - behind) / 2e-5, abs=2e-5)


# --- Friction of one joint in a time step


def _joint(**values: float) -> Array:
    row = np.zeros(friction.FRICTION_SIZE)
    for name, value in values.items():
        row[getattr(friction, name.upper())] = value
    return row


def _sigmoid(amplitude: float, slope: float, viscous: float = 0.0) -> Array:
    return _joint(
        viscous=viscous,
        sigmoid_amplitude=amplitude,
        sigmoid_slope=slope,
        sigmoid_shift=0.2,
    )


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 5.0, 40.0])
def test_logistic_by_its_symmetry(x: float) -> None:
    assert friction.logistic(x) == pytest.approx(
        0.5 * (1.0 + math.tanh(0.5 * x)), rel=1e-15
    )
    assert friction.logistic(-x) == pytest.approx(
        math.exp(-x) * friction.logistic(x), rel=1e-14
    )
    assert [friction.logistic(far) for far in (-1e4, 1e4)] == [0.0, 1.0], (
        "it does not overflow"
    )


@pytest.mark.parametrize("rate", [-1.3, 0.0, 0.9])
def test_quadratic_and_cubic_friction_oppose_the_motion(rate: float) -> None:
    joint = _joint(viscous=0.7, quadratic=0.2, cubic=0.3)
    assert friction.smooth_friction(joint, rate) == pytest.approx(
        0.7 * rate + 0.2 * rate * abs(rate) + 0.3 * rate**3
    )


def test_a_falling_sigmoid_counts_as_level() -> None:
    """Amplitude -3 and slope 4 give a slope of -3 at the steepest point."""
    assert friction.smooth_slope(_sigmoid(-3.0, 4.0, 1.0), -0.2) == 0.0
    assert friction.smooth_slope(_sigmoid(-3.0, 4.0, 3.5), -0.2) == pytest.approx(
        0.5, rel=1e-14
    )


@pytest.mark.parametrize("stribeck", [0.0, 0.1])
def test_the_friction_bound_at_rest_is_the_static_level(stribeck: float) -> None:
    joint = _joint(
        coulomb=3.0, coulomb_negative=6.0, static=5.0, stribeck_velocity=stribeck
    )
    assert (
        friction.friction_bound(joint, 3.0, 0.4, 0.0) == 5.0
        and friction.friction_bound(joint, 6.0, 0.4, 0.0) == 6.0
    )
    fall = math.exp(-((0.05 / stribeck) ** 2)) if stribeck else 0.0
    for rate in (0.05, -0.05):
        assert friction.friction_bound(joint, 3.0, 0.4, rate) == pytest.approx(
            3.0 + 2.0 * fall, rel=1e-15
        )
        assert friction.friction_bound(joint, 6.0, 0.4, rate) == 6.0

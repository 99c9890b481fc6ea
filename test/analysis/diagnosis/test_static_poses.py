"""Friction, load and stiffness of arms at rest, and the mistakes that explain the load."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.static_poses import (
    SagAnalysis,
    analyse_sag,
    read_pairs,
)
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.recordings.bags import JointSeries
from support.arms import Array
from support.held_poses import held_poses, series_of

PANDA = RobotModel.shipped("panda")
LAST = PANDA.moving_links[-1]
STIFFNESS = np.array([300.0, 900.0, 400.0, 400.0, 40.0, 40.0, 10.0])
FRICTION = np.array([0.5, 2.0, 1.0, 1.0, 0.1, 0.1, 0.02])


def poses(count: int = 10) -> Array:
    """Return random poses (count, 7) within the limits."""
    draw = np.random.default_rng(2)
    middle = 0.5 * (PANDA.position_lower + PANDA.position_upper)
    return middle + draw.uniform(-0.8, 0.8, (count, 7))


class Mistake(NamedTuple):
    """The arm, what the recording shows of it, the mistake that is to be named, and its number."""

    named: str
    number: float
    arm: RobotModel = PANDA
    shown: Callable[[JointSeries], JointSeries] = lambda series: series
    shift: Any = 0.0


def with_effort(factor: Any, offset: Any = 0.0) -> Callable[[JointSeries], JointSeries]:
    return lambda series: replace(series, effort=series.effort * factor + offset)


ONE = np.eye(7)
PAYLOAD = PANDA.with_payload(LAST, 0.7, (0.01, -0.02, 0.06), np.zeros(6))
HEAVY = PANDA.with_payload(
    "panda_link3",
    2.0,
    PANDA.body_parameters[2, 1:4] / PANDA.body_parameters[2, 0],
    np.zeros(6),
)
TILTED = PANDA.with_gravity((9.81 * np.sin(0.4), 0.0, -9.81 * np.cos(0.4)))
MISTAKES = {
    "payload": Mistake(
        f"carries a payload that the model lacks: NUMBER kg on {LAST}", 0.7, PAYLOAD
    ),
    "gravity": Mistake("gravity points NUMBER degrees", np.degrees(0.4), TILTED),
    "link mass": Mistake(
        "the mass of panda_link3 is NUMBER times",
        1.0 + 2.0 / PANDA.body_parameters[2, 0],
        HEAVY,
    ),
    "gain": Mistake(
        "the effort of panda_joint4 is NUMBER times",
        1.5,
        shown=with_effort(1.0 + 0.5 * ONE[3]),
    ),
    "unit": Mistake("every effort is NUMBER times", 0.4, shown=with_effort(0.4)),
    "offset": Mistake(
        "the effort of panda_joint2 has another zero: at position error 0 it is NUMBER",
        8.0,
        shown=with_effort(1.0, 8.0 * ONE[1]),
    ),
    "zero": Mistake(
        "the recorded position of panda_joint4 has another zero: it is NUMBER rad",
        0.3,
        shown=lambda series: replace(series, position=series.position + 0.3 * ONE[3]),
        shift=0.3 * ONE[3],
    ),
}


def texts(sag: SagAnalysis) -> list[str]:
    return [*sag.certain, *(one.text for one in sag.rivals)]


def assert_named(sag: SagAnalysis, mistake: Mistake) -> None:
    """The mistake is named, also with others that explain the loads as well, and its number is in the interval."""
    pattern = mistake.named.replace("NUMBER", r"(\S+) \+- ([\d.]*\d)")
    found = re.search(pattern, "; or ".join(texts(sag)))
    assert found is not None, texts(sag)
    assert abs(float(found[1]) - mistake.number) <= float(found[2])


@pytest.mark.parametrize("name", MISTAKES)
def test_one_mistake_is_named_with_its_number(name: str) -> None:
    mistake = MISTAKES[name]
    series, command = held_poses(mistake.arm, STIFFNESS, FRICTION, poses())
    pairs = read_pairs(mistake.shown(series), command + mistake.shift)
    sag = analyse_sag(PANDA, pairs)
    assert_named(sag, mistake)
    value, error = sag.stiffness
    assert (np.abs(value - STIFFNESS) <= 2.0 * error).all()
    # what only an added weight separates is named together
    alike = name == "unit"
    masses = [text for text in texts(sag) if "the mass of all links" in text]
    assert len(masses) == alike
    assert len(texts(sag)) == 1 + alike


@pytest.mark.parametrize(
    ("name", "effort"), [("payload", np.nan), ("gravity", 0.0), ("zero", np.nan)]
)
def test_position_errors_alone_show_shapes_of_the_load(
    name: str, effort: float
) -> None:
    mistake = MISTAKES[name]
    series, command = held_poses(mistake.arm, STIFFNESS, FRICTION, poses())
    series = replace(mistake.shown(series), effort=np.full_like(series.effort, effort))
    sag = analyse_sag(PANDA, read_pairs(series, command + mistake.shift))
    assert_named(sag, mistake)
    assert np.isinf(sag.ratio[1]).all()


def test_a_healthy_arm_has_its_stiffness_and_friction_and_no_mistake() -> None:
    series, command = held_poses(PANDA, STIFFNESS, FRICTION, poses())
    sag = analyse_sag(PANDA, read_pairs(series, command))
    assert not texts(sag) and not sag.unexplained
    np.testing.assert_allclose(sag.friction, FRICTION, rtol=0.1)
    np.testing.assert_allclose(sag.stiffness[0], STIFFNESS, rtol=1e-6)
    np.testing.assert_allclose(sag.ratio[0, 1:6], 1.0, atol=1e-3)
    assert np.isinf(sag.ratio[1, 0])  # gravity does not load the vertical joint


def test_every_reversed_effort_is_named_without_a_model() -> None:
    signs = np.where(ONE[1] + ONE[4] > 0.0, -1.0, 1.0)
    series, command = held_poses(PANDA, STIFFNESS, FRICTION, poses())
    sag = analyse_sag(PANDA, read_pairs(with_effort(signs)(series), command))
    found = texts(sag)
    assert len(found) == 2
    assert (
        "panda_joint2 has the wrong sign" in found[0]
        and "panda_joint5 has the wrong sign" in found[1]
    )
    np.testing.assert_allclose(sag.stiffness[0], STIFFNESS, rtol=1e-6)


def test_a_joint_that_sticks_is_in_no_pair() -> None:
    """The friction of the last joint is never overcome: its effort shows no load, and no mistake is made of it."""
    stuck = np.where(ONE[6] > 0.0, 0.4, np.nan)
    recording = held_poses(PANDA, STIFFNESS, FRICTION, poses(), stuck=stuck)
    pairs = read_pairs(*recording)
    assert np.isnan(pairs.effort_half[:, 6]).all()
    assert np.isfinite(pairs.effort_half[:, :6]).all()
    sag = analyse_sag(PANDA, pairs)
    assert not texts(sag) and not sag.unexplained


def test_slow_sweeps_in_both_directions_will_do() -> None:
    """Damping by the velocity adds to friction, and does not count as stiffness."""
    time = np.arange(0.0, 40.0, 0.02)
    phase = np.abs(time / 20.0 - 1.0)  # there and back
    command = poses(1) + (phase[:, None] - 0.5) * np.linspace(1.0, 1.4, 7)
    speed = np.sign(np.gradient(phase))[:, None]
    q = command
    for _ in range(30):
        q = command - (PAYLOAD.gravity_torque(q) + speed * FRICTION) / STIFFNESS
    effort = STIFFNESS * (command - q) + speed * FRICTION
    sag = analyse_sag(PANDA, read_pairs(series_of(PANDA, q, effort), command))
    assert_named(sag, MISTAKES["payload"])
    np.testing.assert_allclose(sag.friction, 2.0 * FRICTION, rtol=0.2)


def test_two_mistakes_are_not_explained_by_one() -> None:
    series, command = held_poses(
        PAYLOAD.with_gravity(TILTED.gravity), STIFFNESS, FRICTION, poses()
    )
    gains = with_effort(1.0 + 0.6 * ONE[1] - 0.4 * ONE[3] + ONE[4])
    sag = analyse_sag(PANDA, read_pairs(gains(series), command))
    assert sag.unexplained and not sag.rivals


def test_poses_from_one_side_are_refused() -> None:
    series, command = held_poses(PANDA, STIFFNESS, FRICTION, poses(), sides=(1.0,))
    with pytest.raises(BagError, match="approach each once upwards and once downwards"):
        read_pairs(series, command)

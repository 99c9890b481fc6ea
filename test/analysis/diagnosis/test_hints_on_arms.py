"""Hints on recordings of arms with friction and noise in all joints: the true causes and no others."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_public_robots import ROBOTS

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.recordings.bags import JointSeries
from support.arm_cases import CASES, Arm
from support.noisy_recordings import fourier
from support.pinocchio_peer import Peer

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


@pytest.mark.parametrize(
    ("robot", "seeds"),
    [
        ("ur5e", [0]),
        pytest.param("ur5e", range(1, 20), marks=pytest.mark.slow),
        pytest.param("panda", range(20), marks=pytest.mark.slow),
    ],
    ids=["ur5e", "ur5e, many", "panda, many"],
)
@pytest.mark.parametrize("name", CASES)
def test_hints_name_exactly_the_true_causes(
    name: str,
    robot: str,
    seeds: Sequence[int],
    urdf_path: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    for seed in seeds:
        case = CASES[name](Arm(urdf_path(robot), tmp_path, seed))
        reported = hints(case.model, analyse_torque(case.model, case.motion))
        assert len(reported) == len(case.causes), (seed, reported)
        for cause in case.causes:
            assert any(cause in hint for hint in reported), (seed, cause, reported)


#: Factors of position, velocity and effort of a joint, offset (rad) of its position, and pattern of the hint.
FACTORS: dict[str, tuple[float, float, float, float, str]] = {
    "halved effort": (1.0, 1.0, 0.5, 0.0, r"gain of the measured effort of {} is (\S+) \+- (\S+),.*--drive-gains {}="),
    "doubled effort": (1.0, 1.0, 2.0, 0.0, r"gain of the measured effort of {} is (\S+) \+- (\S+),.*--drive-gains {}="),
    "zero": (1.0, 1.0, 1.0, 0.3, r"position of {} has another zero: it is (\S+) \+- (\S+) rad"),
    "sign": (-1.0, -1.0, 1.0, 0.0, "^position and velocity of {} have the wrong sign"),
    "sign of velocity": (1.0, -1.0, 1.0, 0.0, "velocity is not .*{} -1 times: one of both has the wrong sign"),
    "degrees": (180.0 / np.pi, 180.0 / np.pi, 1.0, 0.0, "(positions|velocities) .*{} .*: in degrees|{} are in degrees"),
    "degrees, but rad/s": (180.0 / np.pi, 1.0, 1.0, 0.0, "velocity is not .*{} 0.0175 times: the position .* degrees"),
    "rad, but degrees/s": (1.0, 180.0 / np.pi, 1.0, 0.0, "velocity is not .*{} 57.3 times: in degrees/s"),
    "counts": (2e4, 2e4, 1.0, 0.0, "(positions|velocities) .*{} .*counts"),
}  # fmt: skip
#: Fields of the third and fourth joint that are swapped, and pattern of the hint.
SWAPS = {
    (
        "position",
        "velocity",
    ): "^position and velocity of {} and {} are swapped, their efforts are not",
    ("position",): "velocity is not .*{0} that of {1}, {1} that of {0}: another order",
}
PUBLIC = {
    "kinova": "kinova_description/robots/kinova",
    "xarm7": "xarm_description/urdf/xarm7",
}
Recording = tuple[RobotModel, JointSeries]


@pytest.fixture(
    scope="module",
    params=[
        "panda",
        "puma560",
        "kinova",
        pytest.param("ur5e", marks=pytest.mark.slow),
        pytest.param("xarm7", marks=pytest.mark.slow),
    ],
)
def recording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Recording:
    """Return an arm with friction, and its recording, with the torque of Pinocchio and noise of 2 %."""
    name = PUBLIC.get(request.param, request.param)
    if name not in ROBOTS:
        pytest.skip("needs the example-robot-data package")
    model = Arm(ROBOTS[name], tmp_path_factory.mktemp("arm"), 0).model
    truth = fourier(model, 12.0, 100.0, seed=3)
    peer = Peer(ROBOTS[name].read_text(encoding="utf-8"), model.joint_names)
    rigid = [
        peer.rnea(*motion) for motion in zip(truth.q, truth.qd, truth.qdd, strict=True)
    ]
    return model, replace(
        truth, tau=rigid + model.friction_torque(truth.q, truth.qd)
    ).recorded(3, 0.02)


def reported(model: RobotModel, series: JointSeries) -> list[str]:
    return hints(model, analyse_torque(model, recorded_motion(series, Smoothing())))


def test_recording_without_mistake_gets_no_hint(recording: Recording) -> None:
    assert reported(*recording) == []


@pytest.mark.parametrize("mistake", FACTORS)
def test_mistake_of_one_joint_is_named(recording: Recording, mistake: str) -> None:
    model, series = recording
    position, velocity, effort, offset, pattern = FACTORS[mistake]
    # gravity shows the zero; gain and friction of a light wrist are not separable
    j = 1 if offset else 2
    one = np.arange(model.n) == j
    name = model.joint_names[j]
    wrong = replace(
        series,
        position=series.position * np.where(one, position, 1.0) + offset * one,
        velocity=series.velocity * np.where(one, velocity, 1.0),
        effort=series.effort * np.where(one, effort, 1.0),
    )
    (hint,) = reported(model, wrong)
    match = re.search(pattern.replace("{}", name), hint)
    assert match, hint
    if "+-" in pattern:
        value, half = (float(x) for x in match.groups())
        assert abs(value - (offset or effort)) < 2.0 * half < 0.1


@pytest.mark.parametrize("fields", SWAPS)
def test_swapped_positions_are_named(
    recording: Recording, fields: tuple[str, ...]
) -> None:
    model, series = recording
    order = [0, 1, 3, 2, *range(4, model.n)]
    wrong = replace(
        series, **{field: getattr(series, field)[:, order] for field in fields}
    )
    (hint,) = reported(model, wrong)
    assert re.search(SWAPS[fields].format(*model.joint_names[2:4]), hint), hint


@pytest.mark.parametrize("angle", [60.0, 90.0])
def test_base_orientation_is_named(
    recording: Recording, angle: float, urdf_path: Callable[[str], Path]
) -> None:
    """The model's gravity is turned instead of the base."""
    model, series = recording
    radians = np.radians(angle)
    turned = model.with_gravity([9.81 * np.sin(radians), 0.0, -9.81 * np.cos(radians)])
    (hint,) = reported(turned, series)
    assert re.search(r"it is \(-?0\.?\d* -?0\.?\d* -9\.8", hint), hint


def test_positions_in_degrees_are_not_unwrapped() -> None:
    """They change by more than pi between samples, over more than a turn."""
    model = RobotModel.shipped("panda")
    series = fourier(model, 12.0, 25.0, seed=3).recorded(3, 0.02)
    (hint,) = reported(
        model,
        replace(
            series,
            position=np.degrees(series.position),
            velocity=np.degrees(series.velocity),
        ),
    )
    assert (
        hint.startswith("positions are beyond the limits, panda_joint1 by ")
        and "in degrees?" in hint
    )

"""A real Panda's exciting trajectory, against Pinocchio with the friction of Gaz et al."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification import (
    dynamics_document,
    identify,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    Factors,
    Samples,
    estimate_base,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    analyse_torque,
)
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.recordings.bags import JointSeries
from support.arms import Array
from support.panda_recording import NEEDED, WITHOUT_HAND, public_panda, recorded

EXPECTED = [0.607, 0.417, 0.476, 0.689, 0.190, 0.217, 0.080]
MEASURED = [0.926, 18.0, 12.5, 14.6, 0.78, 0.92, 0.27]
BENCHMARKS = (
    Path(__file__).parents[3].joinpath("docs/benchmarks.md").read_text(encoding="utf-8")
)

pytestmark = NEEDED


@pytest.fixture
def series(tmp_path: Path) -> JointSeries:
    return recorded(panda(tmp_path, hand=True))


def panda(tmp_path: Path, hand: bool) -> RobotModel:
    """Return the public URDF with the friction of Gaz et al.; ``hand`` False sets the mass of the gripper to 0."""
    dynamics = yaml.safe_load(
        find_resource("config", "panda.dynamics.yaml").read_text(encoding="utf-8")
    )
    if not hand:
        dynamics["links"] = WITHOUT_HAND
    file = tmp_path / "panda.dynamics.yaml"
    file.write_text(yaml.safe_dump(dynamics), encoding="utf-8")
    return public_panda(file)


def documented(row: str) -> list[float]:
    """Return the RMS errors in a row of the tables of docs/benchmarks.md."""
    (line,) = (
        line for line in BENCHMARKS.splitlines() if line.startswith(f"| {row} |")
    )
    return [float(cell) for cell in line.split("|")[2:-1]]


def test_errors_are_below_those_of_the_reference(
    series: JointSeries, tmp_path: Path
) -> None:
    """Effort is filtered too, which removes its noise. No payload is reported."""
    model = panda(tmp_path, hand=False)
    analysis = analyse_torque(model, recorded_motion(series, Smoothing()))
    np.testing.assert_allclose(root_mean_square(series.effort), MEASURED, rtol=0.02)
    errors = root_mean_square(analysis.residual)
    assert (errors < EXPECTED).all()
    assert (analysis.explained > [0.7, 0.99, 0.99, 0.98, 0.9, 0.9, 0.9]).all()
    assert not any("carries" in hint for hint in hints(model, analysis))
    np.testing.assert_allclose(errors, documented("`torque`"), atol=2e-3)


@pytest.mark.parametrize(("cutoff", "within"), [(None, 0.02), (4.0, 0.01)])
def test_errors_equal_those_of_the_reference_with_unfiltered_effort(
    cutoff: float | None, within: float, series: JointSeries, tmp_path: Path
) -> None:
    """The reference filters the motion and not the effort."""
    motion = recorded_motion(series, Smoothing(cutoff))
    stamps = (series.stamps - series.stamps[0]) * 1e-9
    effort = np.column_stack(
        [np.interp(motion.time, stamps, column) for column in series.effort.T]
    )
    analysis = analyse_torque(
        panda(tmp_path, hand=False), dataclasses.replace(motion, tau=effort)
    )
    np.testing.assert_allclose(
        root_mean_square(analysis.residual), EXPECTED, rtol=within
    )


def test_absent_gripper_is_reported(series: JointSeries, tmp_path: Path) -> None:
    """Hand and fingers of the model: 0.76 kg, some 0.14 m beyond the origin of link 7."""
    model = panda(tmp_path, hand=True)
    analysis = analyse_torque(model, recorded_motion(series, Smoothing()))
    assert (analysis.rms[1:4] > 1.5).all()
    payload = hints(model, analysis)[0]
    assert payload.startswith("the model carries a payload")
    match = re.search(
        r"([\d.]+) \+- \S+ kg on panda_link7, .* at \[(\S+) \S+ \S+ (\S+) \S+ \S+ (\S+) .*?\] m",
        payload,
    )
    assert match is not None
    mass, x, y, z = (float(number) for number in match.groups())
    assert mass == pytest.approx(0.7, abs=0.1)
    np.testing.assert_allclose([x, y, z], [0.0, 0.0, 0.14], atol=0.03)


GAINS = np.array([11.0, 14.0, 9.0, 12.0, 8.0, 7.0, 9.0])


@pytest.mark.parametrize(
    ("effort", "cause"),
    [
        (lambda tau: 1000.0 * tau, "as in mNm"),
        (lambda tau: tau / GAINS, "different units per joint"),
        (lambda tau: -tau, "every effort has the wrong sign"),
        (
            lambda tau: tau * [1, 1, 1, -1, 1, 1, 1],
            "effort of panda_joint4 has the wrong sign",
        ),
    ],
    ids=["mNm", "amperes", "all signs", "one sign"],
)
def test_wrong_units_and_signs_of_effort_are_reported(
    effort: Callable[[Array], Array], cause: str, series: JointSeries, tmp_path: Path
) -> None:
    """The first hint; others report only friction, which differs also in the original recording."""
    model = panda(tmp_path, hand=False)
    motion = recorded_motion(
        dataclasses.replace(series, effort=effort(series.effort)), Smoothing()
    )
    first, *others = hints(model, analyse_torque(model, motion))
    assert cause in first
    assert all(hint.startswith("friction differs") for hint in others)


@pytest.mark.parametrize("delay", [0.010, 0.020])
def test_effort_delay_is_estimated_and_corrected(
    delay: float, series: JointSeries, tmp_path: Path
) -> None:
    model = panda(tmp_path, hand=False)
    time = (series.stamps - series.stamps[0]) * 1e-9
    late = np.column_stack(
        [np.interp(time - delay, time, column) for column in series.effort.T]
    )
    series = dataclasses.replace(series, effort=late)
    reported = hints(model, analyse_torque(model, recorded_motion(series, Smoothing())))
    (hint,) = (hint for hint in reported if "--effort-delay" in hint)
    size, half = map(
        float, re.search(r"effort is (\S+) \+- (\S+) ms behind", hint).groups()
    )
    assert abs(size - 1000.0 * delay) < half
    estimate = float(re.search(r"--effort-delay (\S+)", hint)[1])
    shifted = recorded_motion(series, Smoothing(), effort_delay=estimate)
    assert not any(
        "--effort-delay" in hint
        for hint in hints(model, analyse_torque(model, shifted))
    )


@pytest.mark.parametrize("cutoff", [None, 4.0])
def test_estimates_of_both_halves_agree(
    cutoff: float | None, series: JointSeries, tmp_path: Path
) -> None:
    """In 90 % or more of the base parameters; with deviations due to noise alone it would be 68 %."""
    parameterization = Parameterization.of(panda(tmp_path, hand=False))
    motion = recorded_motion(series, Smoothing(cutoff))
    half = len(motion.time) // 2
    parts = [
        Samples.of(parameterization, [motion.part(slice(*ends))])
        for ends in ((0, half), (half, len(motion.time)))
    ]
    one, other = (
        estimate_base(parameterization, part, Factors.of(parameterization, part))
        for part in parts
    )
    assert one.base.names == other.base.names
    agree = np.abs(one.values - other.values) <= 1.96 * np.hypot(
        one.deviations, other.deviations
    )
    assert agree.mean() >= 0.9


@pytest.mark.parametrize(
    ("cutoff", "option"),
    [
        (None, "auto"),
        pytest.param(4.0, "auto", marks=pytest.mark.slow),
        (None, "--friction viscous_coulomb"),
    ],
)
def test_identified_model_has_smaller_holdout_error(
    cutoff: float | None, option: str, series: JointSeries, tmp_path: Path
) -> None:
    """Identified on the first two thirds; smaller RMS error on the last third in at least six of seven joints."""
    model = panda(tmp_path, hand=False)
    prior = yaml.safe_load(
        (tmp_path / "panda.dynamics.yaml").read_text(encoding="utf-8")
    )
    identified = tmp_path / "identified.yaml"
    motion = recorded_motion(series, Smoothing(cutoff))
    end = round(2 / 3 * len(motion.time))
    result = identify(model, [motion.part(slice(end))], option.split()[-1])
    write_dynamics_file(identified, dynamics_document(result, prior), [])
    identified_model = public_panda(identified)
    tested = motion.part(slice(end, None))
    without_offset = dataclasses.replace(
        tested, tau=tested.tau - result.effort_offsets[0]
    )
    before = analyse_torque(model, tested).rms
    after = analyse_torque(identified_model, without_offset).rms
    assert np.count_nonzero(after < before) >= 6
    assert np.linalg.norm(after) < 0.7 * np.linalg.norm(before)
    if cutoff is None:
        np.testing.assert_allclose(
            after, documented(f"identified (`{option}`)"), atol=5e-3
        )
        assert f" {len(result.estimate.values)} base parameters" in BENCHMARKS
        gravity = [
            re.match(r"panda_link\d\.mc", name) is not None
            for name in result.estimate.base.names
        ]
        values = result.estimate.values[gravity]
        deviations = result.estimate.deviations[gravity]
        largest = np.argsort(-np.abs(values))[:2]
        assert (deviations[largest] < 0.02 * np.abs(values[largest])).all(), (
            "as docs/identify.md says"
        )

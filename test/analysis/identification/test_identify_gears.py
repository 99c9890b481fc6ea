"""Identification of gears whose friction grows with the load, on a public robot; the effort is 2 ms late."""

from pathlib import Path
from typing import Any

import pytest
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification import (
    dynamics_document,
    identify,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.friction_shapes import LOAD
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.dynamics.kernels.friction import STRIBECK_VELOCITY
from support.gears import Gears

Z1 = "z1_description/urdf/z1"
HEAVILY_LOADED = [0, 1, 2, 4]  # joints; the load of the last one is a few mNm

pytestmark = [
    pytest.mark.skipif(Z1 not in PUBLIC, reason="needs the example-robot-data package"),
    pytest.mark.filterwarnings(
        "ignore::robot_dynamics_ros.base.errors.RobotModelWarning"
    ),
]


@pytest.fixture
def prior() -> RobotModel:
    return RobotModel.from_urdf_file(PUBLIC[Z1]).scaled(friction=0.0)


@pytest.mark.parametrize("load", [0.0, 0.15])
def test_load_dependence_is_identified_only_if_the_gears_have_it(
    load: float, prior: RobotModel, tmp_path: Path
) -> None:
    """Coefficients within 3 deviations, and Stribeck velocities; held-out error near that of the true model."""
    gears = Gears(load)

    def recorded(seconds: float, seed: int) -> RecordedMotion:
        return recorded_motion(
            gears.recorded(prior, seconds, seed, 0.02), Smoothing(), effort_delay=0.002
        )

    forms = dict.fromkeys(prior.joint_names, frozenset({"auto", "directions"}))
    motions = [recorded(10.3, seed) for seed in range(1, 5)]
    result = identify(prior, motions, forms=forms)
    shapes = result.parameterization.shapes
    assert (
        all(shapes[j].used[LOAD] for j in HEAVILY_LOADED)
        if load
        else not any(shape.used[LOAD] for shape in shapes)
    )
    estimate = result.estimate
    found = {
        name: k
        for k, name in enumerate(estimate.base.names)
        if name.endswith("load_coefficient")
    }
    assert len(found) == sum(shape.used[LOAD] for shape in shapes)
    for k in found.values():
        assert estimate.values[k] == pytest.approx(
            load, abs=3.0 * estimate.deviations[k]
        )
    file = tmp_path / "identified.yaml"
    write_dynamics_file(file, dynamics_document(result, {}), [])
    for shape, joint in zip(shapes, gears.joints(prior), strict=True):
        assert shape.row[STRIBECK_VELOCITY] == pytest.approx(
            joint["stribeck_velocity"], rel=0.06
        )
    test = recorded(20.0, 1001)
    models = (
        RobotModel.from_urdf_file(PUBLIC[Z1], dynamics=file),
        gears.model(PUBLIC[Z1], prior, tmp_path),
    )
    error, floor = (analyse_torque(model, test).rms for model in models)
    assert (error <= 1.1 * floor).all()


def test_hint_at_load_dependent_friction(prior: RobotModel, tmp_path: Path) -> None:
    """For a model whose friction is right but for the load."""
    keys: dict[str, Any] = {"stribeck": 1.0, "coulomb": 0.1}
    motion = recorded_motion(
        Gears(0.15, **keys).recorded(prior, 40.0, 1, 0.02),
        Smoothing(),
        effort_delay=0.002,
    )
    model = Gears(0.0, **keys).model(PUBLIC[Z1], prior, tmp_path)
    hint, *_ = hints(model, analyse_torque(model, motion))
    assert "load_coefficient" in hint and "joint2 0.15" in hint
    true = Gears(0.15, **keys).model(PUBLIC[Z1], prior, tmp_path)
    assert not any(
        "load_coefficient" in hint for hint in hints(true, analyse_torque(true, motion))
    )

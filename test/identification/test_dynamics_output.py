"""What was identified comes back from the file: the numbers, the friction, and all that was there before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from numpy.typing import NDArray
from test_public_robots import CURE
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.identification.estimate import (
    Identification,
    dynamics_document,
    physical_prior,
    write_dynamics_file,
)
from robot_dynamics_ros.identification.least_squares import BaseEstimate
from robot_dynamics_ros.identification.parameterization import Parameterization
from robot_dynamics_ros.kernels.layout import COULOMB, COULOMB_NEGATIVE, VISCOUS
from support.robots_with_drives import Robot, load, robots, state

Array = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
PANDA = "panda_description/urdf/panda"


def made_up(model: RobotModel, friction: str, seed: int) -> Identification:
    """Physical values that no recording gave: other bodies, rotors and friction than the model's."""
    parameterization = Parameterization.of(model, friction)
    rng = np.random.default_rng(seed)
    first = parameterization.scalars.start
    values = rng.uniform(0.1, 2.0, len(parameterization.names))
    bodies = physical_prior(parameterization.own[:first].reshape(-1, 10)) * rng.uniform(
        0.5, 2.0, (parameterization.bodies, 1)
    )
    values[:first] = bodies.ravel()
    nothing = np.zeros(len(parameterization.base.names))
    estimate = BaseEstimate(parameterization.base, nothing, nothing, np.ones(model.n), 1.0, ())
    return Identification(parameterization, estimate, values, 1.0, 0.0, 0)


@pytest.mark.skipif(PANDA not in PUBLIC, reason=CURE)
def test_a_panda_with_a_hand_is_what_was_identified(tmp_path: Path) -> None:
    """Hand, fingers and flange count with link 7, and add nothing to it: all 70 numbers to 1e-12."""
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    model = RobotModel.from_urdf_file(PUBLIC[PANDA], locked=fingers)
    hand = model.inertial_parameters[60] - 0.73552200
    assert hand > 0.5  # kg: the URDF has link 7, the hand and two fingers
    identification = made_up(model, "viscous_coulomb", 1)
    file = tmp_path / "identified.yaml"
    write_dynamics_file(file, dynamics_document(identification, {}), ["one", "two"])
    assert file.read_text().startswith("# one\n# two\n")
    loaded = RobotModel.from_urdf_file(PUBLIC[PANDA], dynamics=file, locked=fingers)
    np.testing.assert_allclose(loaded.inertial_parameters[:70], identification.values[:70], rtol=0, atol=1e-12)
    named = dict(zip(identification.parameterization.names, identification.values, strict=True))
    for row, joint in zip(loaded.packed.friction, loaded.moving_joints, strict=True):
        friction = [named[f"{joint}.{c}"] for c in ("viscous", "coulomb", "coulomb_negative")]
        assert [row[VISCOUS], row[COULOMB], row[COULOMB_NEGATIVE]] == friction
    rotors = {name: value for name, value in named.items() if name.endswith(".rotor_inertia")}
    assert loaded.packed.rotor_names == tuple(f"{name.rsplit('.', 1)[0]} rotor" for name in rotors)
    np.testing.assert_array_equal(loaded.inertial_parameters[70:], list(rotors.values()))


@pytest.mark.parametrize("friction", ["viscous_coulomb", "keep", "none"])
@given(robot=robots(friction=True).filter(lambda robot: len(robot.arm.movable) <= 4))
def test_any_robots_torque_is_the_identified_one(friction: str, robot: Robot) -> None:
    """Payload, rotors of both forms, couplings, mimic joints, any gravity: tau = columns values + known."""
    identification = made_up(robot.model(), friction, robot.seed)
    model = identification.parameterization.model
    loaded = load(robot.arm, dynamics_document(identification, robot.dynamics))
    q, qd, qdd = state(robot, model.n)
    motion = tuple(x[np.newaxis] for x in (q, qd, qdd))
    expected = identification.parameterization.columns(
        *motion
    ) @ identification.values + identification.parameterization.known(*motion)
    found = loaded.inverse_dynamics(q, qd, qdd) + loaded.friction_torque(q, qd)
    np.testing.assert_allclose(found, expected[0], rtol=0, atol=1e-8 * (1.0 + np.abs(expected).max()))


def test_what_was_not_identified_stays(urdf_path: Callable[[str], Path], tmp_path: Path) -> None:
    """The payload, joints that are locked, and friction that is kept; what was identified replaces all of a joint's."""
    prior: dict[str, Any] = {
        "gravity": [0.0, 0.0, -1.62],
        "payload": {"link": "link2", "mass": 1.0, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]},
        "joints": {"joint1": {"sigmoid": {"amplitude": 0.5, "slope": 5.0, "shift": 0.0}, "static": 9.0}},
    }
    file = tmp_path / "prior.yaml"
    file.write_text(yaml.safe_dump(prior))
    model = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    for friction in ("viscous_coulomb", "keep"):
        document = dynamics_document(made_up(model, friction, 3), prior)
        assert (document["payload"], document["gravity"]) == (prior["payload"], prior["gravity"])
        kept = {"sigmoid", "static"} & set(document["joints"]["joint1"])
        assert kept == ({"sigmoid", "static"} if friction == "keep" else set())
    assert prior["joints"]["joint1"].keys() == {"sigmoid", "static"}


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("gravity: [0, 0, 0]")
    with pytest.raises(RobotDynamicsError, match=r"mine\.yaml: "):
        write_dynamics_file(file, {}, [])
    assert file.read_text() == "gravity: [0, 0, 0]"

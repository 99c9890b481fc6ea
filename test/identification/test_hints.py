"""What is said to be wrong, where it is known what is wrong: recordings of a robot that differs from its model.

Each cause is made alone, on a simulated recording with noise; it must be named first, with its size, and nothing else.
A good model with noise must be told nothing.
"""

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pytest
from exciting_motions import exciting_motion

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.identification.motion import Motion
from robot_dynamics_ros.identification.torque_analysis import analyse_torque

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

LOAD = (0.8, [0.02, 0.0, 0.08], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
SAMPLES = 500
Load = Callable[..., RobotModel]


@pytest.fixture
def panda(load_robot: Load) -> RobotModel:
    return load_robot("panda", "panda")


def told(model: RobotModel, motion: Motion) -> list[str]:
    return hints(model, analyse_torque(model, motion))


def recorded(truth: RobotModel, seed: int = 0) -> Motion:
    return exciting_motion(truth, seed, samples=SAMPLES)


def numbers(text: str, pattern: str) -> list[float]:
    found = re.search(pattern, text)
    assert found is not None, text
    return [float(x) for x in found.groups()]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("robot", ["panda", "ur5e", "puma560", "planar_2r", "scara"])
def test_a_good_model_with_noise_is_told_nothing(load_robot: Load, robot: str, seed: int) -> None:
    model = load_robot(robot, None if robot in ("ur5e", "planar_2r") else robot)
    for noise in (0.0, 0.03, 0.5):
        assert told(model, exciting_motion(model, seed, noise, SAMPLES)) == []


def test_a_good_model_with_slow_noise_is_told_nothing(panda: RobotModel) -> None:
    """Noise that wanders, so that neighbouring samples err alike, as a moving mean over 25 of them."""
    motion = exciting_motion(panda, 5, 0.0, SAMPLES)
    white = np.random.default_rng(5).normal(size=(SAMPLES + 24, panda.n))
    slow = np.apply_along_axis(lambda column: np.convolve(column, np.full(25, 0.2), "valid"), 0, white)
    assert told(panda, dataclasses.replace(motion, tau=motion.tau + 0.05 * motion.tau.std(axis=0) * slow)) == []


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_payload(panda: RobotModel, sign: float) -> None:
    """0.8 kg: first on the robot and not in the model, then the other way round; com in the link's axes."""
    loaded = panda.with_payload("panda_link7", *LOAD)
    model, truth = (panda, loaded) if sign > 0 else (loaded, panda)
    (hint,) = told(model, recorded(truth))
    what = "the robot carries what the model does not know" if sign > 0 else "the model carries what the robot does not"
    assert hint.startswith(what)
    mass, *com = numbers(hint, r"([\d.]+) kg on panda_link7, .* at \[(\S+), (\S+), (\S+)\] m")
    assert mass == pytest.approx(0.8, abs=0.02)
    np.testing.assert_allclose(com, LOAD[1], atol=0.003)
    assert "payload" in hint and "dynamics file" in hint


def test_missing_friction(load_robot: Load) -> None:
    """Viscous 4 Nm s/rad and Coulomb 6 Nm on every joint: the shipped arm has none.

    The noise is 3 % of up to 60 Nm, and speeds are near 0.3 rad/s.
    """
    model = load_robot("ur5e")
    motion = recorded(model)
    slip = 4.0 * motion.qd + 6.0 * np.sign(motion.qd)
    (hint,) = told(model, dataclasses.replace(motion, tau=motion.tau + slip))
    assert hint.startswith("the model has no friction where the robot has")
    for name in model.joint_names:
        found = numbers(hint, rf"{name} viscous (\S+), Coulomb (\S+) forwards and (\S+) backwards")
        np.testing.assert_allclose(found, [4.0, 6.0, 6.0], rtol=0, atol=2.0)


def test_other_friction(panda: RobotModel) -> None:
    (hint,) = told(panda, recorded(panda.scaled(friction=2.0)))
    assert hint.startswith("friction differs from the model's")


@pytest.mark.parametrize(
    ("gravity", "words"),
    [([9.81, 0.0, 0.0], "on a wall"), ([0.0, 0.0, 9.81], "on a ceiling"), ([0.0, -6.94, -6.94], "tilted")],
)
def test_direction_of_gravity(load_robot: Load, gravity: list[float], words: str) -> None:
    (hint,) = told(load_robot("panda", "panda"), recorded(load_robot("panda", "panda", gravity=gravity)))
    assert words in hint and "--gravity" in hint
    np.testing.assert_allclose(numbers(hint, r"it is \((\S+) (\S+) (\S+)\) m/s"), gravity, atol=0.15)


def test_compensated_gravity(panda: RobotModel) -> None:
    (hint,) = told(panda, recorded(panda.without_gravity()))
    assert hint.startswith("the measured effort has no gravity in it") and "--gravity 0 0 0" in hint


def test_gravity_that_the_model_lacks(panda: RobotModel) -> None:
    (hint,) = told(panda.without_gravity(), recorded(panda))
    assert hint.startswith("the measured effort has gravity in it, the model has none")
    np.testing.assert_allclose(numbers(hint, r"it is \((\S+) (\S+) (\S+)\)"), [0.0, 0.0, -9.81], atol=0.05)


@pytest.mark.parametrize("scale", [0.01, 1.3, 100.0])
def test_units(panda: RobotModel, scale: float) -> None:
    motion = recorded(panda)
    (hint,) = told(panda, dataclasses.replace(motion, tau=scale * motion.tau))
    assert numbers(hint, r"every effort is (\S+) times the model's") == [pytest.approx(scale, rel=0.01)]


def test_every_sign(panda: RobotModel) -> None:
    motion = recorded(panda)
    (hint,) = told(panda, dataclasses.replace(motion, tau=-motion.tau))
    assert hint.startswith("every effort has the wrong sign")


@pytest.mark.parametrize("joint", [1, 3])
def test_one_sign(panda: RobotModel, joint: int) -> None:
    """Of the effort alone, or of the whole joint."""
    motion = recorded(panda, seed=1)
    name = panda.joint_names[joint]
    sign = np.ones(panda.n)
    sign[joint] = -1.0
    effort = dataclasses.replace(motion, tau=motion.tau * sign)
    (hint,) = told(panda, effort)
    assert hint.startswith(f"the measured effort of {name} has the wrong sign")
    whole = dataclasses.replace(effort, q=motion.q * sign, qd=motion.qd * sign, qdd=motion.qdd * sign)
    (hint,) = told(panda, whole)
    assert hint.startswith(f"{name} turns the other way")


def test_order(panda: RobotModel) -> None:
    """Of two efforts, or of two whole joints."""
    motion = recorded(panda, seed=1)
    a, b = panda.joint_names[1], panda.joint_names[3]
    order = [0, 3, 2, 1, 4, 5, 6]
    effort = dataclasses.replace(motion, tau=motion.tau[:, order])
    (hint,) = told(panda, effort)
    assert hint.startswith(f"the efforts of {a} and {b} are swapped")
    whole = dataclasses.replace(effort, q=motion.q[:, order], qd=motion.qd[:, order], qdd=motion.qdd[:, order])
    (hint,) = told(panda, whole)
    assert hint.startswith(f"{a} and {b} are swapped") and f"--rename {a}={b} {b}={a}" in hint


def test_offsets(panda: RobotModel) -> None:
    motion = recorded(panda)
    offset = np.zeros(panda.n)
    offset[4] = 0.7
    (hint,) = told(panda, dataclasses.replace(motion, tau=motion.tau + offset))
    assert numbers(hint, r"constant offsets: panda_joint5 (\S+?)\.? Cure") == [pytest.approx(0.7, abs=0.02)]


def test_two_causes_are_both_named(load_robot: Load, panda: RobotModel) -> None:
    """A payload on an arm whose dynamics file was forgotten: each found with the other fitted along."""
    found = told(load_robot("panda"), recorded(panda.with_payload("panda_link7", *LOAD)))
    assert len(found) == 2
    payload = next(hint for hint in found if "carries" in hint)
    assert numbers(payload, r"([\d.]+) kg on panda_link7") == [pytest.approx(0.8, abs=0.05)]
    assert any("friction" in hint for hint in found)


def test_a_mistake_is_found_beside_a_cause(load_robot: Load, panda: RobotModel) -> None:
    """A turned sign on an arm whose dynamics file was forgotten."""
    motion = recorded(panda)
    sign = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    found = told(load_robot("panda"), dataclasses.replace(motion, tau=motion.tau * sign))
    assert len(found) == 2
    assert any(hint.startswith("the measured effort of panda_joint4 has the wrong sign") for hint in found)
    assert any(hint.startswith("the model has no friction") for hint in found)


def test_a_load_whose_mass_no_motion_shows(load_robot: Load) -> None:
    """One joint: the mass at its axis moves nothing; what can be seen is its first moment."""
    model = load_robot("planar_2r", joints=["joint2"], locked={"joint1": 0.0})
    link = model.packed.body_links[-1]
    (hint, *_) = told(model, recorded(model.with_payload(link, 3.0, [0.2, 0.0, 0.0], LOAD[2])))
    (moment,) = numbers(hint, rf"a first moment of \[(\S+), \S+, \S+\] kg m on {link}")
    assert moment == pytest.approx(0.6, abs=0.02)


def test_too_short_recordings_are_told_nothing(panda: RobotModel) -> None:
    assert told(panda, recorded(panda.without_gravity()).part(slice(50))) == []


def test_gravity_that_a_planar_arm_feels_only_in_part(load_robot: Load) -> None:
    """Its plane holds x and z: of (4.905, -4.905, -6.94) it feels (4.905, 0, -6.94), and y is what makes 9.81 full."""
    tilted = [4.905, -4.905, -6.937]
    compensated = load_robot("planar_2r", gravity=tilted).without_gravity()
    (hint,) = told(load_robot("planar_2r", gravity=tilted), recorded(compensated))
    assert hint.startswith("the measured effort has no gravity in it")
    (hint,) = told(
        load_robot("planar_2r", gravity=[-4.905, -4.905, -6.937]), recorded(load_robot("planar_2r", gravity=tilted))
    )
    np.testing.assert_allclose(numbers(hint, r"it is \((\S+) (\S+) (\S+)\)"), tilted, atol=0.2)

"""Each cause alone, on a simulated recording with noise, is named with its size; a good model gets no hint."""

import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.identification.motion import RecordedMotion, analyse_torque
from support.noisy_recordings import exciting_motion

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

LOAD = (0.8, [0.02, 0.0, 0.08], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
SAMPLES = 500
Load = Callable[..., RobotModel]
Case = tuple[RobotModel, RecordedMotion]


def reported(model: RobotModel, motion: RecordedMotion) -> list[str]:
    return hints(model, analyse_torque(model, motion))


def recorded(truth: RobotModel, seed: int = 0) -> RecordedMotion:
    return exciting_motion(truth, seed, samples=SAMPLES)


def with_effort(motion: RecordedMotion, tau: np.ndarray) -> RecordedMotion:
    return dataclasses.replace(motion, tau=tau)


def reread(motion: RecordedMotion, order: Sequence[int], signs: np.ndarray) -> RecordedMotion:
    q, qd, qdd, tau = (values[:, order] * signs for values in (motion.q, motion.qd, motion.qdd, motion.tau))
    return dataclasses.replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)


@pytest.mark.parametrize("robot", ["panda", "ur5e", "puma560", "planar_2r", "scara"])
def test_a_good_model_with_noise_gets_no_hint(load_robot: Load, robot: str) -> None:
    model = load_robot(robot, None if robot in ("ur5e", "planar_2r") else robot)
    for seed, noise in ((0, 0.0), (0, 0.03), (1, 0.5)):
        assert reported(model, exciting_motion(model, seed, noise, SAMPLES)) == []


def test_a_good_model_with_slow_noise_or_a_short_recording_gets_no_hint(load_robot: Load) -> None:
    """Noise that wanders, so that neighbouring samples err alike, as a moving mean over 25 of them."""
    panda = load_robot("panda", "panda")
    motion = exciting_motion(panda, 5, 0.0, SAMPLES)
    white = np.random.default_rng(5).normal(size=(SAMPLES + 24, panda.n))
    slow = np.apply_along_axis(lambda column: np.convolve(column, np.full(25, 0.2), "valid"), 0, white)
    assert reported(panda, with_effort(motion, motion.tau + 0.05 * motion.tau.std(axis=0) * slow)) == []
    assert reported(panda, recorded(panda.without_gravity()).part(slice(50))) == []


PAYLOAD = r" carries what .* ([\d.]+) kg on panda_link7, .* at \[(\S+), (\S+), (\S+)\] m"
IT_IS = r".*it is \((\S+) (\S+) (\S+)\)"
ONE, TWO = np.array([1, -1, 1, 1, 1, 1, 1]), [0, 3, 2, 1, 4, 5, 6]
OFFSET = np.array([0, 0, 0, 0, 0.7, 0, 0])

#: What model and recording are made of the Panda and its motion, the first hint, and its numbers.
CAUSES: list[tuple[Callable[[RobotModel, RecordedMotion], Case], str, Sequence[float], float]] = [
    (lambda panda, _: (panda, recorded(panda.with_payload("panda_link7", *LOAD))),
     "the robot" + PAYLOAD, [LOAD[0], *LOAD[1]], 0.01),
    (lambda panda, motion: (panda.with_payload("panda_link7", *LOAD), motion),
     "the model" + PAYLOAD, [LOAD[0], *LOAD[1]], 0.01),
    (lambda panda, _: (panda, recorded(panda.scaled(friction=2.0))), "friction differs", [], 0.0),
    (lambda panda, _: (panda, recorded(panda.without_gravity())),
     "the measured effort has no gravity in it.*--gravity 0 0 0", [], 0.0),
    (lambda panda, motion: (panda.without_gravity(), motion),
     "the measured effort has gravity in it" + IT_IS, [0.0, 0.0, -9.81], 0.05),
    (lambda panda, motion: (panda, with_effort(motion, 0.01 * motion.tau)),
     r"every effort is (\S+) times", [0.01], 1e-4),
    (lambda panda, motion: (panda, with_effort(motion, 5.0 * motion.tau)),
     r"every effort is (\S+) times", [5.0], 0.05),
    (lambda panda, motion: (panda, with_effort(motion, -motion.tau)), "every effort has the wrong sign", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau * ONE)),
     "the measured effort of panda_joint2 has the wrong sign", [], 0.0),
    (lambda panda, motion: (panda, reread(motion, range(7), ONE)), "panda_joint2 turns the other way", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau[:, TWO])),
     "the efforts of panda_joint2 and panda_joint4 are swapped", [], 0.0),
    (lambda panda, motion: (panda, reread(motion, TWO, np.ones(7))),
     "panda_joint2 and panda_joint4 .*--rename panda_joint2=panda_joint4 panda_joint4=panda_joint2", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau + OFFSET)),
     r".* constant offsets: panda_joint5 (\S+?)\.? ", [0.7], 0.02),
]  # fmt: skip


@pytest.mark.parametrize(("make", "expected", "numbers", "within"), CAUSES, ids=[case[1][:40] for case in CAUSES])
def test_a_cause_is_named_with_its_size(
    make: Callable[[RobotModel, RecordedMotion], Case],
    expected: str,
    numbers: Sequence[float],
    within: float,
    load_robot: Load,
) -> None:
    panda = load_robot("panda", "panda")
    (hint,) = reported(*make(panda, recorded(panda, 1)))
    np.testing.assert_allclose(numbers_of(hint, f"^{expected}"), numbers, rtol=0, atol=within)


@pytest.mark.parametrize(
    ("gravity", "words"),
    [([9.81, 0.0, 0.0], "on a wall"), ([0.0, 0.0, 9.81], "on a ceiling"), ([0.0, -6.94, -6.94], "tilted")],
)
def test_another_direction_of_gravity(load_robot: Load, gravity: list[float], words: str) -> None:
    (hint,) = reported(load_robot("panda", "panda"), recorded(load_robot("panda", "panda", gravity=gravity)))
    assert words in hint and "--gravity" in hint
    np.testing.assert_allclose(numbers_of(hint, IT_IS), gravity, atol=0.15)


def numbers_of(text: str, pattern: str) -> list[float]:
    found = re.search(pattern, text)
    assert found is not None, text
    return [float(x) for x in found.groups()]


def test_missing_friction(load_robot: Load) -> None:
    """Viscous 4 Nm s/rad and Coulomb 6 Nm on every joint; the noise is 3 % of up to 60 Nm."""
    model = load_robot("ur5e")
    motion = recorded(model)
    (hint,) = reported(model, with_effort(motion, motion.tau + 4.0 * motion.qd + 6.0 * np.sign(motion.qd)))
    assert hint.startswith("the model has no friction")
    for name in model.joint_names:
        found = numbers_of(hint, rf"{name} viscous (\S+), Coulomb (\S+) forwards and (\S+) backwards")
        np.testing.assert_allclose(found, [4.0, 6.0, 6.0], rtol=0, atol=2.0)


def test_two_causes_are_both_named(load_robot: Load) -> None:
    """A payload, or a turned sign, on an arm whose dynamics file was forgotten: each with the other fitted along."""
    panda, bare = load_robot("panda", "panda"), load_robot("panda")
    found = reported(bare, recorded(panda.with_payload("panda_link7", *LOAD)))
    assert len(found) == 2 and any("friction" in hint for hint in found)
    (mass,) = (numbers_of(hint, r"([\d.]+) kg on panda_link7")[0] for hint in found if "carries" in hint)
    assert mass == pytest.approx(0.8, abs=0.05)
    motion = recorded(panda)
    found = reported(bare, with_effort(motion, motion.tau * np.array([1, 1, 1, -1, 1, 1, 1])))
    assert len(found) == 2 and any("no friction" in hint for hint in found)
    assert any(hint.startswith("the measured effort of panda_joint4 has the wrong sign") for hint in found)


def test_a_joint_without_measured_effort_does_not_mislead(load_robot: Load) -> None:
    """As of a gripper: its driver reports 0; what the others lack is named."""
    panda, bare = load_robot("panda", "panda"), load_robot("panda")
    motion = recorded(panda)
    (hint,) = reported(bare, with_effort(motion, motion.tau * (np.arange(7) != 6)))
    assert hint.startswith("the model has no friction")


def test_a_load_whose_mass_no_motion_shows(load_robot: Load) -> None:
    """One joint: the mass at its axis moves nothing; what can be seen is its first moment."""
    model = load_robot("planar_2r", joints=["joint2"], locked={"joint1": 0.0})
    link = model.moving_links[-1]
    (hint, *_) = reported(model, recorded(model.with_payload(link, 3.0, [0.2, 0.0, 0.0], LOAD[2])))
    assert numbers_of(hint, rf"\[(\S+), \S+, \S+\] kg m on {link}") == [pytest.approx(0.6, abs=0.02)]


def test_gravity_that_a_planar_arm_feels_only_in_part(load_robot: Load) -> None:
    """Its plane holds x and z: of (4.905, -4.905, -6.94) it feels (4.905, 0, -6.94), and y is what makes 9.81 full."""
    tilted = [4.905, -4.905, -6.937]
    model = load_robot("planar_2r", gravity=tilted)
    (hint,) = reported(model, recorded(model.without_gravity()))
    assert hint.startswith("the measured effort has no gravity in it")
    (hint,) = reported(load_robot("planar_2r", gravity=[-4.905, -4.905, -6.937]), recorded(model))
    np.testing.assert_allclose(numbers_of(hint, IT_IS), tilted, atol=0.2)

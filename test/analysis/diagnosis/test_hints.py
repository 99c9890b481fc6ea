"""Hints on simulated recordings with noise: cause and size of each deviation, and none for a correct model."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from support.noisy_recordings import Truth, exciting_motion, fourier

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

PAYLOAD = (0.8, [0.02, 0.0, 0.08], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
SAMPLES = 500
LoadRobot = Callable[..., RobotModel]
Case = tuple[RobotModel, RecordedMotion]


def reported(model: RobotModel, motion: RecordedMotion) -> list[str]:
    return hints(model, analyse_torque(model, motion))


def recorded(truth: RobotModel, seed: int = 0) -> RecordedMotion:
    return exciting_motion(truth, seed, samples=SAMPLES)


def with_effort(motion: RecordedMotion, tau: np.ndarray) -> RecordedMotion:
    return dataclasses.replace(motion, tau=tau)


def permuted(
    motion: RecordedMotion, order: Sequence[int], signs: np.ndarray
) -> RecordedMotion:
    q, qd, qdd, tau = (
        values[:, order] * signs
        for values in (motion.q, motion.qd, motion.qdd, motion.tau)
    )
    return dataclasses.replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)


@pytest.mark.parametrize("robot", ["panda", "ur5e", "puma560", "planar_2r", "scara"])
def test_correct_model_gets_no_hint(load_robot: LoadRobot, robot: str) -> None:
    model = load_robot(robot, None if robot in ("ur5e", "planar_2r") else robot)
    for seed, noise in ((0, 0.0), (0, 0.03), (1, 0.5)):
        assert reported(model, exciting_motion(model, seed, noise, SAMPLES)) == []


def test_correlated_noise_or_short_recording_gets_no_hint(
    load_robot: LoadRobot,
) -> None:
    """The noise is a moving average over 25 samples."""
    panda = load_robot("panda", "panda")
    motion = exciting_motion(panda, 5, 0.0, SAMPLES)
    white = np.random.default_rng(5).normal(size=(SAMPLES + 24, panda.n))
    slow = np.apply_along_axis(
        lambda column: np.convolve(column, np.full(25, 0.2), "valid"), 0, white
    )
    assert (
        reported(
            panda,
            with_effort(motion, motion.tau + 0.05 * motion.tau.std(axis=0) * slow),
        )
        == []
    )
    assert reported(panda, recorded(panda.without_gravity()).part(slice(50))) == []


PAYLOAD_HINT = (
    r" carries a payload that .* lacks: ([\d.]+) \S+ \S+ kg on panda_link7, "
    r".* at \[(\S+) \S+ \S+ (\S+) \S+ \S+ (\S+) .*\] m"
)
GRAVITY_HINT = r".*it is \((\S+) (\S+) (\S+)\)"
ONE = np.array([1, -1, 1, 1, 1, 1, 1])
TWO = [0, 3, 2, 1, 4, 5, 6]
OFFSET = np.array([0, 0, 0, 0, 0.7, 0, 0])

#: Function of the Panda and its motion that returns model and recording; pattern, numbers and tolerance of the hint.
CAUSES: list[tuple[Callable[[RobotModel, RecordedMotion], Case], str, Sequence[float], float]] = [
    (lambda panda, _: (panda, recorded(panda.with_payload("panda_link7", *PAYLOAD))),
     "the robot" + PAYLOAD_HINT, [PAYLOAD[0], *PAYLOAD[1]], 0.01),
    (lambda panda, motion: (panda.with_payload("panda_link7", *PAYLOAD), motion),
     "the model" + PAYLOAD_HINT, [PAYLOAD[0], *PAYLOAD[1]], 0.01),
    (lambda panda, _: (panda, recorded(panda.scaled(friction=2.0))), "friction differs", [], 0.0),
    (lambda panda, _: (panda, recorded(panda.without_gravity())),
     "the measured effort has no gravity in it.*--gravity 0 0 0", [], 0.0),
    (lambda panda, motion: (panda.without_gravity(), motion),
     "the measured effort has gravity in it" + GRAVITY_HINT, [0.0, 0.0, -9.81], 0.05),
    (lambda panda, motion: (panda, with_effort(motion, 0.01 * motion.tau)),
     r"every effort is (\S+) \+- \S+ times", [0.01], 1e-4),
    (lambda panda, motion: (panda, with_effort(motion, 5.0 * motion.tau)),
     r"every effort is (\S+) \+- \S+ times", [5.0], 0.05),
    (lambda panda, motion: (panda, with_effort(motion, -motion.tau)), "every effort has the wrong sign", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau * ONE)),
     "the measured effort of panda_joint2 has the wrong sign", [], 0.0),
    (lambda panda, motion: (panda, permuted(motion, range(7), ONE)), "panda_joint2 turns the other way", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau[:, TWO])),
     "the efforts of panda_joint2 and panda_joint4 are swapped", [], 0.0),
    (lambda panda, motion: (panda, permuted(motion, TWO, np.ones(7))),
     "panda_joint2 and panda_joint4 .*--rename panda_joint2=panda_joint4 panda_joint4=panda_joint2", [], 0.0),
    (lambda panda, motion: (panda, with_effort(motion, motion.tau + OFFSET)),
     r".* constant offsets: panda_joint5 (\S+?)\.? ", [0.7], 0.02),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "expected", "numbers", "within"),
    CAUSES,
    ids=[case[1][:40] for case in CAUSES],
)
def test_hint_names_cause_and_size(
    make: Callable[[RobotModel, RecordedMotion], Case],
    expected: str,
    numbers: Sequence[float],
    within: float,
    load_robot: LoadRobot,
) -> None:
    panda = load_robot("panda", "panda")
    (hint,) = reported(*make(panda, recorded(panda, 1)))
    np.testing.assert_allclose(
        numbers_of(hint, f"^{expected}"), numbers, rtol=0, atol=within
    )


@pytest.mark.parametrize(
    ("gravity", "words"),
    [
        ([9.81, 0.0, 0.0], "on a wall"),
        ([0.0, 0.0, 9.81], "on a ceiling"),
        ([0.0, -6.94, -6.94], "tilted"),
    ],
)
def test_hint_names_direction_of_gravity(
    load_robot: LoadRobot, gravity: list[float], words: str
) -> None:
    (hint,) = reported(
        load_robot("panda", "panda"),
        recorded(load_robot("panda", "panda", gravity=gravity)),
    )
    assert words in hint and "--gravity" in hint
    np.testing.assert_allclose(numbers_of(hint, GRAVITY_HINT), gravity, atol=0.15)


def numbers_of(text: str, pattern: str) -> list[float]:
    match = re.search(pattern, text)
    assert match is not None, text
    return [float(x) for x in match.groups()]


def test_hint_names_missing_friction(load_robot: LoadRobot) -> None:
    """Viscous 4 Nm s/rad and Coulomb 6 Nm in every joint; the noise is 3 % of up to 60 Nm."""
    model = load_robot("ur5e")
    motion = recorded(model)
    (hint,) = reported(
        model,
        with_effort(motion, motion.tau + 4.0 * motion.qd + 6.0 * np.sign(motion.qd)),
    )
    assert hint.startswith("the model has no friction")
    for name in model.joint_names:
        values = numbers_of(
            hint, rf"{name} viscous (\S+) .*?Coulomb (\S+) .*?and (\S+) .*? backwards"
        )
        np.testing.assert_allclose(values, [4.0, 6.0, 6.0], rtol=0, atol=2.0)


def test_offset_beside_unknown_friction_is_named(load_robot: LoadRobot) -> None:
    """It agrees with levels that differ by direction, of the fourth joint: 6 + 4 and 6 - 4 Nm."""
    model = load_robot("ur5e")
    motion = recorded(model)
    friction = 4.0 * motion.qd + 6.0 * np.sign(motion.qd)
    offset = 4.0 * (np.arange(model.n) == 3)
    (hint,) = reported(model, with_effort(motion, motion.tau + friction + offset))
    assert re.search(r"constant offset of the effort: wrist_1_joint\.", hint), hint


def intervals(hint: str) -> np.ndarray:
    """Return values and half widths (k, 2) of the numbers of a hint."""
    return np.array(
        re.findall(r"(-?\d+\.?\d*) \+- (\d+\.?\d*)", hint), dtype=float
    ).reshape(-1, 2)


def test_intervals_hold(load_robot: LoadRobot) -> None:
    """95 % of 32 are 30.4; 26 or less are a chance of 0.5 %."""
    panda = load_robot("panda", "panda")
    inside = []
    truth = panda.with_payload("panda_link7", *PAYLOAD)
    for seed in range(8):
        (hint,) = reported(panda, recorded(truth, seed))
        value, half = intervals(hint).T
        inside += (np.abs(value - [PAYLOAD[0], *PAYLOAD[1]]) <= half).tolist()
        assert (half < [0.06, 0.006, 0.006, 0.006]).all()
    assert 27 <= sum(inside)


@pytest.mark.parametrize("seed", range(3))
def test_payload_on_a_wrong_model(load_robot: LoadRobot, seed: int) -> None:
    """With links off by up to 30 % the interval is wide, and the cure is to identify the unloaded arm first."""
    model = load_robot("ur5e")
    truth = model.with_payload(model.moving_links[-1], 2.7, [0.0, 0.0, 0.1], [0.0] * 6)
    motion = recorded(truth, seed)
    share = np.random.default_rng(seed).uniform(-0.3, 0.3, model.n).repeat(10)
    change = model.regressor(motion.q, motion.qd, motion.qdd)[:, :, : 10 * model.n] @ (
        share * model.inertial_parameters[: 10 * model.n]
    )
    (hint,) = (
        hint
        for hint in reported(model, with_effort(motion, motion.tau + change))
        if "carries" in hint
    )
    (mass, half), *_ = intervals(hint)
    assert abs(mass - 2.7) < half
    assert half < 0.2 * mass or "identify with the unloaded arm first" in hint


@pytest.mark.parametrize("delay", [0, 4, 10])
def test_presliding_is_no_delay(load_robot: LoadRobot, delay: int) -> None:
    """Friction that changes over some 4 mrad after a reversal (Dahl 1968), and effort that is late by 0, 4 or 10 ms."""
    panda = load_robot("panda")
    motion = fourier(panda, 16.0, 1000.0, seed=2)
    steps = range(16000)
    ratio = np.zeros_like(motion.q)
    for k in steps[1:]:
        way = np.sign(motion.qd[k])
        ratio[k] = way - (way - ratio[k - 1]) * np.exp(
            -np.abs(motion.q[k] - motion.q[k - 1]) / 0.004
        )
    tau = motion.tau + 0.3 * motion.tau.std(axis=0) * ratio
    late = tau[np.maximum(np.array(steps) - delay, 0)]
    truth = Truth(
        panda, *(x[::4] for x in (motion.time, motion.q, motion.qd, motion.qdd, late))
    )
    found = reported(panda, recorded_motion(truth.recorded(1, 0.02), Smoothing()))
    delays = [hint for hint in found if "--effort-delay" in hint]
    assert len(delays) == (delay > 0) and any("no friction" in hint for hint in found)
    for hint in delays:
        ((size, half),) = intervals(hint)
        assert abs(size - delay) <= half < 2.0 and "behind" in hint


def test_gains_of_currents_have_intervals(load_robot: LoadRobot) -> None:
    """Joint 7 reports only noise: no gain is determined."""
    panda = load_robot("panda", "panda")
    gains = np.array([11.24, 14.0, 9.0, 12.0, 8.0, 7.0])
    motion = recorded(panda, 1)
    noise = np.random.default_rng(3).standard_normal(SAMPLES)
    current = np.column_stack([motion.tau[:, :6] / gains, noise])
    (hint,) = (
        text
        for text in reported(panda, with_effort(motion, current))
        if "different units" in text
    )
    value, half = intervals(hint).T
    assert "panda_joint7 undetermined" in hint
    assert (np.abs(value - gains) < 2.0 * half).all() and (half < 0.1 * gains).all()


def test_hints_name_two_causes(load_robot: LoadRobot) -> None:
    """A payload, or a wrong sign, and a model without friction."""
    panda = load_robot("panda", "panda")
    bare = load_robot("panda")
    texts = reported(bare, recorded(panda.with_payload("panda_link7", *PAYLOAD)))
    assert len(texts) == 2 and any("friction" in hint for hint in texts)
    (mass,) = (
        numbers_of(hint, r"([\d.]+) \+- \S+ kg on panda_link7")[0]
        for hint in texts
        if "carries" in hint
    )
    assert mass == pytest.approx(0.8, abs=0.05)
    motion = recorded(panda)
    texts = reported(
        bare, with_effort(motion, motion.tau * np.array([1, 1, 1, -1, 1, 1, 1]))
    )
    assert len(texts) == 2 and any("no friction" in hint for hint in texts)
    assert any(
        hint.startswith("the measured effort of panda_joint4 has the wrong sign")
        for hint in texts
    )


@pytest.mark.parametrize("seed", [22, 25, 49])
def test_every_hint_explains_something(seed: int) -> None:
    """Several mistakes at once: payload, gravity, offsets, signs, order and units."""
    scara = RobotModel.shipped("scara")
    rng = np.random.default_rng(seed)
    truth = scara.with_payload(
        scara.link_names[-1],
        rng.uniform(0, 3),
        rng.uniform(-0.2, 0.2, 3),
        1e-3 * np.eye(3),
    )
    motion = exciting_motion(
        truth.without_gravity() if rng.random() < 0.5 else truth, seed, 0.03, 400
    )
    tau = motion.tau
    if rng.random() < 0.5:
        tau = tau + rng.normal(size=scara.n) * tau.std(axis=0)
    if rng.random() < 0.5:
        tau = tau * rng.choice([-1, 1, 1], scara.n)
    if rng.random() < 0.4:
        tau = tau[:, rng.permutation(scara.n)]
    if rng.random() < 0.3:
        tau = tau * rng.uniform(0.2, 6)
    found = reported(scara, with_effort(motion, tau))
    assert found and not [hint for hint in found if "explains -" in hint]


@pytest.mark.parametrize(
    ("robot", "seed"), [("planar_2r", 1), ("scara", 10), ("scara", 21), ("scara", 24)]
)
def test_no_interval_contains_no_effect(robot: str, seed: int) -> None:
    """Effort in another unit, under a random walk that is up to ten times as large."""
    model = RobotModel.shipped(robot)
    rng = np.random.default_rng(seed)
    motion = exciting_motion(model, seed, 0.03, 200)
    walk = rng.normal(size=motion.tau.shape).cumsum(axis=0)
    walk /= walk.std(axis=0)
    tau = motion.tau * rng.choice([1e-3, 0.1, 1, 10], 1)
    tau += rng.choice([0.3, 1, 3, 10]) * motion.tau.std(axis=0) * walk
    for hint in reported(model, with_effort(motion, tau)):
        value, half = intervals(hint).T
        none = 1.0 if "gain" in hint or "every effort" in hint else 0.0
        assert not len(value) or (np.abs(value - none) > half).any(), hint


@pytest.mark.parametrize(("robot", "factor"), [("planar_2r", 10.0), ("ur5e", 3.0)])
def test_unit_is_named_where_the_model_has_too_much_friction(
    urdf_path: Callable[[str], Path], tmp_path: Path, robot: str, factor: float
) -> None:
    urdf = urdf_path(robot)
    names = RobotModel.from_urdf_file(urdf).joint_names

    def damped(share: float) -> RobotModel:
        friction = {"viscous": 0.5 * share, "coulomb": 0.5 * share}
        file = tmp_path / f"{share}.yaml"
        joints = dict.fromkeys(names, friction)
        file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
        return RobotModel.from_urdf_file(urdf, dynamics=file)

    motion = recorded(damped(1.0))
    unit, friction = reported(damped(factor), with_effort(motion, 1000.0 * motion.tau))
    assert "as in mNm" in unit and "--drive-gains 0.001" in unit
    assert friction.startswith("friction differs")


def test_cure_of_missing_rotors_removes_the_error(
    urdf_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """Keys and values of the hint, written to a dynamics file."""
    model = RobotModel.from_urdf_file(urdf_path("ur5e"))
    motion = recorded(model)
    tau = motion.tau + motion.qdd * [0.0, 3.0, 2.0, 0.0, 0.0, 0.0]
    (hint,) = reported(model, with_effort(motion, tau))
    listed, cure = hint.split(" Cure: ")
    keys = yaml.safe_load(
        "{" + ", ".join(re.findall(r"gear_ratio: \S+|rotor_carrier: \S+", cure)) + "}"
    )
    joints = {
        name: {"rotor_inertia": float(value), **keys}
        for name, value in re.findall(r"(\w+_joint) ([\d.]+)", listed)
    }
    file = tmp_path / "rotors.yaml"
    file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
    cured = RobotModel.from_urdf_file(urdf_path("ur5e"), dynamics=file)
    assert reported(cured, with_effort(motion, tau)) == []
    error, floor = (
        analyse_torque(*case).rms
        for case in ((cured, with_effort(motion, tau)), (model, motion))
    )
    assert (error < 1.05 * floor).all()


@pytest.mark.parametrize(
    ("noise", "gain", "offset"), [(0.0, 2.0, 0.0), (0.0, 1.0, 1.0), (1e-9, 1.0, 1.0)]
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_recording_without_noise(noise: float, gain: float, offset: float) -> None:
    """The rest of the squared error is then a rounding error of either sign."""
    model = RobotModel.shipped("planar_2r")
    motion = exciting_motion(model, 1, noise, 200)
    assert reported(model, with_effort(motion, gain * motion.tau + offset))


def test_joint_without_measured_effort_is_ignored(load_robot: LoadRobot) -> None:
    """The driver of joint 7 reports 0, as that of a gripper; the friction of the other joints is reported."""
    panda = load_robot("panda", "panda")
    bare = load_robot("panda")
    motion = recorded(panda)
    (hint,) = reported(bare, with_effort(motion, motion.tau * (np.arange(7) != 6)))
    assert hint.startswith("the model has no friction")


def test_payload_in_force_is_named_and_a_far_one_rejected(
    load_robot: LoadRobot,
) -> None:
    """The cure names the model's own payload. No arm carries 1 kg at 0.6 m from its last link."""
    panda = load_robot("panda", "panda")
    loaded = panda.with_payload("panda_link8", 0.73, [0.0, 0.0, 0.05], PAYLOAD[2])
    (hint,) = reported(loaded, recorded(panda))
    assert "remove the payload of 0.73 kg on panda_link8" in hint
    far = panda.with_payload("panda_link7", 1.0, [0.0, 0.6, 0.0], PAYLOAD[2])
    assert not any(
        "carries a payload" in hint for hint in reported(panda, recorded(far))
    )


def test_payload_with_unobservable_mass(load_robot: LoadRobot) -> None:
    """With a single joint only the first moment of a payload is observable."""
    model = load_robot("planar_2r", joints=["joint2"], locked={"joint1": 0.0})
    link = model.moving_links[-1]
    (hint, *_) = reported(
        model, recorded(model.with_payload(link, 3.0, [0.2, 0.0, 0.0], PAYLOAD[2]))
    )
    assert numbers_of(hint, rf"\[(\S+) .*, undetermined\] kg m on {link}") == [
        pytest.approx(0.6, abs=0.02)
    ]


def test_partially_observable_gravity(load_robot: LoadRobot) -> None:
    """The arm moves in the x-z plane: of (4.905, -4.905, -6.94) it observes x and z; y completes 9.81 m/s^2."""
    tilted = [4.905, -4.905, -6.937]
    model = load_robot("planar_2r", gravity=tilted)
    (hint,) = reported(model, recorded(model.without_gravity()))
    assert hint.startswith("the measured effort has no gravity in it")
    (hint,) = reported(
        load_robot("planar_2r", gravity=[-4.905, -4.905, -6.937]), recorded(model)
    )
    np.testing.assert_allclose(numbers_of(hint, GRAVITY_HINT), tilted, atol=0.2)

"""Check that joints answer their efforts."""

from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.estimator import Estimator
from robot_dynamics_ros.control.estimation.response import Response
from support.controlled_arm import ARM, GRAVITY, MODEL, REST, WEIGHT, Q

TUNING = Tuning(MODEL, ControllerSettings())
FRICTION = np.array([5.0, 0.0])
LIMITS = np.array([100.0, 100.0])
BOUNDS = np.array([15.0, 20.0])  # twice the friction or 15 Nm, and 5 Nm
PERIOD = 0.002
ROUGH = RobotModel.from_urdf(
    ARM.with_joint("joint1", extra='<dynamics damping="2" friction="5"/>').urdf,
    gravity=GRAVITY,
)


class Arm:
    """Arm that reports its states to the check."""

    def __init__(self) -> None:
        self.response = Response(2)
        self.response.set_bounds(FRICTION, LIMITS)
        self.estimator = Estimator(MODEL.joint_names, 0.0, 0.1)
        self.time = 1.0

    def run(
        self,
        seconds: float,
        effort: Any,
        q: Any = Q,
        qd: Any = REST,
        model: RobotModel = MODEL,
    ) -> float | None:
        """Report states for this time; return the time until a joint does not answer, or None."""
        begun = self.time
        for _ in range(round(seconds / PERIOD)):
            self.time += PERIOD
            self.estimator.measure(self.time, self.time, np.array(q), np.array(qd))
            estimate = self.estimator.estimate
            self.response.observe(model, estimate, np.array(effort), TUNING)
            if self.response.unanswered >= 0:
                return self.time - begun
        return None


def test_an_effort_beyond_friction_that_moves_nothing() -> None:
    """The residual follows the effort with a time constant of 60 ms, for either sign."""
    for j in range(2):
        for sign in (1.0, -1.0):
            change = sign * np.eye(2)[j]
            for share, expected in ((0.95, None), (2.0, 0.06 * np.log(2.0))):
                arm = Arm()
                assert arm.run(0.5, WEIGHT) is None
                found = arm.run(0.5, WEIGHT + share * BOUNDS * change)
                assert (found is None) == (expected is None)
                if found is not None:
                    assert abs(found - expected) < 0.015
                    assert arm.response.doubted.tolist() == [j == 0, j == 1]


def test_a_load_that_was_there_before_is_no_evidence() -> None:
    """As of a wrong mass or a payload; its change is."""
    arm = Arm()
    assert arm.run(1.0, WEIGHT + [60.0, -60.0]) is None
    np.testing.assert_allclose(arm.response.reference, [-60.0, 60.0])
    assert arm.run(0.5, WEIGHT + [60.0 + 2.0 * BOUNDS[0], -60.0]) is not None


def test_a_joint_that_moves_answers() -> None:
    arm = Arm()
    arm.run(0.1, WEIGHT)
    for k in range(100):
        q = Q + [0.004 * k, 0.0]
        assert arm.run(PERIOD, WEIGHT + [90.0, 0.0], q, [2.0, 0.0]) is None


def test_a_stop_that_no_drive_can_cause_is_found_at_once() -> None:
    """A contact, or a sensor that repeats its values: M(q) takes more than half the limit. It ends by itself."""
    arm = Arm()
    for k in range(100):
        arm.run(PERIOD, WEIGHT, Q + [0.002 * k, 0.0], [1.0, 0.0])
    found = arm.run(0.5, WEIGHT, Q + [0.198, 0.0])
    assert found is not None and found < 0.03
    for _ in range(100):
        arm.run(PERIOD, WEIGHT, Q + [0.198, 0.0])
    assert arm.response.unanswered == -1


def test_the_check_restarts() -> None:
    """After a torque that is not finite, and if stamps go back."""
    arm = Arm()
    heavy = MODEL.with_payload(
        MODEL.link_names[-1], 5e307, (1.0, 0.0, 0.0), np.zeros((3, 3))
    )
    with np.errstate(all="ignore"):
        assert arm.run(0.1, WEIGHT, model=heavy) is None
    for back in (0.0, 0.5):
        arm.time -= back
        assert arm.run(0.2, WEIGHT) is None
        assert arm.run(0.5, WEIGHT + 2.0 * BOUNDS) is not None


def test_the_hidden_motion_of_a_joint_whose_position_is_frozen() -> None:
    """Its effort moves the first joint, while the measurement repeats the state before; the second one is held."""
    arm = Arm()
    arm.run(0.5, WEIGHT, model=ROUGH)
    q = Q.copy()
    qd = REST.copy()
    for k in range(500):
        effort = WEIGHT + [0.1 * k, 0.0]
        drive = effort - ROUGH.gravity_torque(q) - FRICTION - [2.0 * qd[0], 0.0]
        qd[0] = max(qd[0] + PERIOD * drive[0] / ROUGH.mass_matrix(q)[0, 0], 0.0)
        q = q + PERIOD * qd
        if arm.run(PERIOD, effort, model=ROUGH) is not None:
            break
    assert arm.response.doubted.tolist() == [True, False]
    believed = arm.response.believed(arm.estimator.estimate).state
    assert qd[0] > 0.5
    np.testing.assert_allclose(believed[1], qd, rtol=0.15)
    np.testing.assert_allclose(believed[0] - Q, q - Q, rtol=0.2)
    for _ in range(10):
        arm.run(PERIOD, WEIGHT, Q + [0.02, 0.0], model=ROUGH)
    assert not arm.response.doubted.any()


def test_a_hidden_motion_that_friction_explains_is_forgotten() -> None:
    """A residual that lasts below the bound means friction above that of the model."""
    arm = Arm()
    arm.run(0.5, WEIGHT, model=ROUGH)
    assert arm.run(20.0, WEIGHT + 0.9 * BOUNDS * [1.0, 0.0], model=ROUGH) is None
    assert arm.run(0.5, WEIGHT + 2.0 * BOUNDS, model=ROUGH) is not None
    speed = arm.response.believed(arm.estimator.estimate).state[1, 0]
    inertia = ROUGH.mass_matrix(Q)[0, 0]
    assert 0.0 < speed < 1.5 * (0.9 * BOUNDS[0] - FRICTION[0]) / inertia


class Loop:
    """Arm under computed torque, with drives that give ``gains`` times their effort, and a torque of another cause."""

    def __init__(self, gains: Any = (1.0, 1.0), noise: float = 1e-3) -> None:
        self.arm = Arm()
        self.gains = np.array(gains)
        self.noise = noise
        self.random = np.random.default_rng(0)
        self.q = Q.copy()
        self.qd = np.zeros(2)

    def run(self, seconds: float, torque: Any = lambda t, q: REST) -> int:
        """Move to and fro for this time; return the joint whose drive is reversed, or -1.

        ``torque`` is a function of time and position.
        """
        begun = self.arm.time
        while (t := self.arm.time - begun) < seconds:
            phase = 3.0 * self.arm.time + np.array([0.0, 1.0])
            measured = self.qd + self.noise * self.random.standard_normal(2)
            error = Q + 0.1 * np.sin(phase) - self.q
            qdd = 100.0 * error + 20.0 * (0.3 * np.cos(phase) - measured)
            effort = MODEL.inverse_dynamics(self.q, measured, qdd).clip(-LIMITS, LIMITS)
            driven = self.gains * effort + torque(t, self.q)
            self.qd += PERIOD * MODEL.forward_dynamics(self.q, self.qd, driven)
            self.q += PERIOD * self.qd
            measured = self.qd + self.noise * self.random.standard_normal(2)
            self.arm.run(PERIOD, effort, self.q, measured)
            if self.arm.response.reversed_drive >= 0:
                break
        return self.arm.response.reversed_drive


def test_a_drive_that_opposes_its_effort() -> None:
    for j in range(2):
        for gain in (-1.0, -0.3):
            loop = Loop()
            assert loop.run(1.0) == -1
            loop.gains[j] = gain
            begun = loop.arm.time
            assert loop.run(0.3) == j
            assert loop.arm.time - begun < 0.15
            effort = np.array([3.0, -4.0])
            expected = np.where(np.arange(2) == j, -effort, effort)
            np.testing.assert_array_equal(loop.arm.response.corrected(effort), expected)


def test_weak_strong_and_dead_drives_are_not_reversed() -> None:
    for gain in (0.0, 0.3, 0.6, 1.5):
        loop = Loop((gain, 1.0))
        assert loop.run(1.0) == -1


def test_pushes_contact_and_loads_are_no_reversed_drive() -> None:
    """The feedback against them follows their torque; no effort leads it."""
    causes = (
        lambda t, q: [60.0, 0.0] if t > 0.1 else REST,
        lambda t, q: [0.0, -40.0 * min(4.0 * t, 1.0)],
        lambda t, q: [0.0, 40.0 * min((4.0 * t) ** 2, 1.0)],
        lambda t, q: 30.0 * np.sin(np.array([15.0, 20.0]) * t),
        lambda t, q: -5e3 * np.maximum(q - Q - 0.03, 0.0),
        lambda t, q: -MODEL.gravity_torque(q) * min(2.0 * t, 0.5),
    )
    for cause in causes:
        for noise in (0.0, 3e-3):
            loop = Loop(noise=noise)
            assert loop.run(1.0) == -1
            assert loop.run(1.5, cause) == -1


def test_a_drive_that_answers_again_is_not_reversed() -> None:
    """As after a false alarm, the efforts that the hold commands show it."""
    loop = Loop((-1.0, 1.0))
    assert loop.run(0.5) == 0
    response = loop.arm.response
    response.reset()
    assert response.reversed_drive == 0, "a gap is no evidence"
    loop.gains[0] = 1.0
    loop.q[:] = Q
    loop.qd[:] = 0.0
    while response.reversed_drive == 0 and loop.arm.time < 5.0:
        loop.run(PERIOD)
    assert response.reversed_drive == -1

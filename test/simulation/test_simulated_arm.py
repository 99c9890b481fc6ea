"""Simulated arm without ROS: brakes, effort delay, command timeout, external wrenches, failures and model errors.

The arm is one wheel about a vertical axis: under a constant effort tau it rotates by tau t^2 / (2 I), exact in rk4.
"""

import math
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.parameters import ALL, read_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings
from support import arms, mechanisms

INERTIA = 0.5  # kg m^2
DEFAULTS = {parameter.name: parameter.default for parameter in ALL}
STEP = 0.001  # s
PERIOD = 0.004  # s


def _model(viscous: float = 0.0, coulomb: float = 0.0) -> RobotModel:
    limit = '<limit effort="100" velocity="1000"/>'
    friction = f'<dynamics damping="{viscous!r}" friction="{coulomb!r}"/>'
    spin = arms.Joint(
        "spin", "continuous", "base", "wheel", limit=limit, extra=friction
    )
    wheel = arms.Link("wheel", 2.0, inertia=np.diag([1.0, 1.0, INERTIA]))
    return RobotModel.from_urdf(arms.Arm((arms.Link("base"), wheel), (spin,)).urdf)


MODEL = _model()


def _settings(model: RobotModel = MODEL, **given: Any) -> SimulationSettings:
    values = {
        **DEFAULTS,
        "publish_rate": 1.0 / PERIOD,
        "initial_positions": [0.3],
        **given,
    }
    return read_settings(values.__getitem__, model)


def _arm(model: RobotModel = MODEL, **given: Any) -> SimulatedArm:
    return SimulatedArm(_settings(model, **given))


def _advance(arm: SimulatedArm, periods: int) -> float:
    """Advance some periods and return the velocity."""
    for _ in range(periods):
        arm.advance()
    assert arm.failure == ""
    return float(arm.velocity[0])


def _turned(arm: SimulatedArm) -> float:
    return float(arm.position[0]) - 0.3


def _go(arm: SimulatedArm, effort: float = 2.0) -> SimulatedArm:
    arm.command(np.array([effort]))
    return arm


def test_brakes_until_the_first_command() -> None:
    """No motion, not even under an external wrench; then tau t^2 / (2 I)."""
    arm = _arm()
    arm.push("wheel", (0, 0, 0, 0, 0, 9.0))
    assert _advance(arm, 5) == 0.0 and (tuple(arm.position), tuple(arm.effort)) == (
        (0.3,),
        (0.0,),
    )
    assert arm.braked and arm.periods == 5 and arm.command_age == math.inf
    arm.push("wheel", (0,) * 6)
    assert _advance(_go(arm), 10) == pytest.approx(2.0 * 0.04 / INERTIA, rel=1e-9)
    assert _turned(arm) == pytest.approx(2.0 * 0.04**2 / (2 * INERTIA), rel=1e-9)
    assert (
        not arm.braked
        and tuple(arm.effort) == (2.0,)
        and arm.command_age == pytest.approx(0.04)
    )


def test_effort_delay() -> None:
    """Commands at 0 and 8 ms act 6 ms later: brakes until 6 ms, 2 Nm until 14 ms, then -3 Nm."""
    arm = _go(_arm(effort_delay=0.006))
    assert _advance(arm, 1) == 0.0
    assert arm.braked and _turned(arm) == 0.0
    assert _advance(arm, 1) == pytest.approx(2.0 * 0.002 / INERTIA, rel=1e-9)
    assert _advance(_go(arm, -3.0), 3) == pytest.approx(
        (2.0 * 0.008 - 3.0 * 0.006) / INERTIA, rel=1e-9
    )


@pytest.mark.parametrize("timeout", [0.008, 0.0095, 0.01])
def test_timeout_to_zero(timeout: float) -> None:
    """Effort until the step of the timeout, 8 or 10 ms; then it coasts at tau T / I."""
    ends = math.ceil(timeout / STEP - 1e-6) * STEP
    arm = _go(_arm(command_timeout=timeout))
    _advance(arm, 2)
    assert not arm.timed_out
    speed = 2.0 * ends / INERTIA
    assert _advance(arm, 8) == pytest.approx(speed, rel=1e-9)
    assert arm.timed_out and not arm.braked and tuple(arm.effort) == (0.0,)
    assert _turned(arm) == pytest.approx(speed * (0.5 * ends + 0.04 - ends), rel=1e-9)
    assert not _go(arm, -2.0).timed_out
    assert _advance(arm, 1) == pytest.approx(speed - 2.0 * PERIOD / INERTIA, rel=1e-9)


def test_timeout_to_hold() -> None:
    arm = _go(_arm(command_timeout=0.01, on_command_timeout="brake"))
    _advance(arm, 3)
    stopped = arm.position.copy()
    assert _turned(arm) == pytest.approx(2.0 * 0.01**2 / (2 * INERTIA), rel=1e-9)
    assert _advance(arm, 50) == 0.0
    assert arm.timed_out and arm.braked
    assert np.array_equal(arm.position, stopped) and tuple(arm.effort) == (0.0,)
    _advance(_go(arm), 2)
    assert arm.position[0] - stopped[0] == pytest.approx(
        2.0 * 0.008**2 / (2 * INERTIA), rel=1e-9
    )


def test_a_timeout_discards_delayed_commands() -> None:
    """The watchdog acts after 4 ms, a command after 6 ms; commands every period prevent the timeout."""
    arm = _go(_arm(command_timeout=PERIOD, effort_delay=0.006))
    _advance(arm, 10)
    assert arm.timed_out and _turned(arm) == 0.0
    arm = _arm(command_timeout=PERIOD)
    for _ in range(20):
        _advance(_go(arm), 1)
        assert not arm.timed_out
    assert arm.velocity[0] == pytest.approx(2.0 * 20 * PERIOD / INERTIA, rel=1e-9)


def test_external_wrenches() -> None:
    """With a moment mz about the axis the acceleration is (tau + mz) / I; zeros remove the wrench."""
    arm = _go(_arm(), 0.0)
    arm.push("wheel", (5.0, -3.0, 7.0, 1.0, 2.0, 4.0))
    assert arm.pushed == ("wheel",)
    assert _advance(arm, 5) == pytest.approx(4.0 * 0.02 / INERTIA, rel=1e-9)
    arm.push("wheel", (0.0, 0.0, 0.0, 0.0, 0.0, -4.0))
    assert _advance(arm, 5) == pytest.approx(0.0, abs=1e-12), (
        "the new one counts instead of the old one"
    )
    arm.push("wheel", (0,) * 6)
    arm.push("base", (1.0,) * 6)
    assert _advance(arm, 5) == pytest.approx(0.0, abs=1e-12)
    assert arm.pushed == ("base",)
    arm.reset()
    assert arm.pushed == ()


def test_bad_wrenches_and_commands_are_refused() -> None:
    arm = _arm(command_timeout=0.01)
    arm.push("wheel", (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    for link, wrench in (
        ("hand", (1.0,) * 6),
        ("wheel", (0.0, math.nan, 0.0, 0.0, 0.0, 0.0)),
    ):
        with pytest.raises(RobotDynamicsError, match=link):
            arm.push(link, wrench)
    for effort, culprit in (([1.0, 2.0], "2 numbers"), ([math.inf], '"spin"')):
        with pytest.raises(RobotDynamicsError, match=culprit):
            arm.command(np.array(effort))
    _advance(arm, 10)
    assert arm.pushed == ("wheel",) and arm.braked and arm.command_age == math.inf


def test_a_failure() -> None:
    """rk4 is unstable if step times damping over inertia exceeds 2.785; here it is 400. Only a reset recovers."""
    arm = _go(_arm(_model(viscous=2e5)), 1.0)
    for _ in range(1000):
        before = arm.position.copy(), arm.velocity.copy(), arm.periods
        arm.advance()
        if arm.failure:
            break
    assert '"spin"' in arm.failure
    assert np.array_equal(arm.position, before[0]) and np.array_equal(
        arm.velocity, before[1]
    )
    assert arm.periods == before[2] and np.isfinite([arm.position, arm.velocity]).all()
    _go(arm, 0.0)
    arm.tune(_settings())
    assert arm.failure, "neither another command nor another model changes that"
    arm.reset()
    assert (arm.failure, arm.periods, tuple(arm.position), tuple(arm.velocity)) == (
        "",
        0,
        (0.3,),
        (0.0,),
    )
    _advance(_go(arm, 0.0), 3)


def test_friction_scale() -> None:
    """At 1.5 times its Coulomb torque of 1 Nm a wheel slips, and sticks with doubled friction."""
    model = _model(coulomb=1.0)
    arm = _go(_arm(model, friction_scale=[2.0]), 1.5)
    assert (_advance(arm, 5), tuple(arm.effort)) == (0.0, (1.5,))
    arm.tune(_settings(model))
    assert _advance(arm, 5) == pytest.approx(0.5 * 0.02 / INERTIA, rel=1e-6)


def test_payload() -> None:
    """A mass m at the distance r adds m r^2 and Izz, for any mass_scale, and replaces the dynamics file's payload."""
    own = MODEL.with_payload("wheel", 1.0, (0.5, 0.0, 0.0), np.zeros(6))
    payload = {
        "link": "wheel",
        "mass": 3.0,
        "com": [0.0, 0.4, 1.0],
        "inertia": [0.1, 0.0, 0.0, 0.1, 0.0, 0.02],
    }
    arm = _go(
        _arm(
            own,
            mass_scale=2.0,
            **{f"payload.{name}": value for name, value in payload.items()},
        )
    )
    speed = 2.0 * 0.02 / (2.0 * INERTIA + 3.0 * 0.4**2 + 0.02)
    assert _advance(arm, 5) == pytest.approx(speed, rel=1e-9)
    arm.tune(_settings(own))
    assert _advance(arm, 5) == pytest.approx(
        speed + 2.0 * 0.02 / (INERTIA + 0.25), rel=1e-9
    )


def _measured(arm: SimulatedArm, periods: int) -> np.ndarray:
    """Return position and velocity after each period."""
    return np.array([[_advance(arm, 1), arm.position[0]] for _ in range(periods)])[
        :, ::-1
    ]


def test_noise_and_encoder_do_not_affect_the_motion() -> None:
    """A reset repeats the noise, another seed changes it; positions are multiples of the encoder's resolution."""
    sensors = {
        "position_noise": [0.01],
        "velocity_noise": [0.2],
        "position_resolution": [0.005],
    }
    quiet = _go(_arm())
    noisy = _go(_arm(**sensors, seed=7))
    exact = _measured(quiet, 300)
    first = _measured(noisy, 300)
    assert (first - exact).std(axis=0) == pytest.approx([0.01, 0.2], rel=0.2)
    np.testing.assert_allclose(
        first[:, 0] / 0.005, np.rint(first[:, 0] / 0.005), rtol=0, atol=1e-6
    )
    assert not np.array_equal(_measured(_go(_arm(**sensors, seed=8)), 300), first)
    noisy.tune(_settings())
    assert np.array_equal(_measured(noisy, 1), _measured(quiet, 1))
    noisy.tune(_settings(**sensors, seed=7))
    noisy.reset()
    assert np.array_equal(_measured(_go(noisy), 300), first)


@pytest.mark.parametrize(
    ("bad", "culprit"),
    [
        ({"friction_scale": [1.0, 2.0]}, "friction_scale"),
        ({"payload.link": "hand", "payload.mass": 1.0}, "hand"),
        (
            {
                "payload.link": "wheel",
                "payload.mass": 1.0,
                "payload.inertia": [-1.0, 0, 0, 1.0, 0, 1.0],
            },
            "inertia",
        ),
        ({"position_noise": [0.1, 0.1]}, "position_noise"),
        ({"effort_delay": 0.0005}, "effort_delay"),
        ({"publish_rate": 300.0}, "publish_rate"),
    ],
)
def test_invalid_settings_are_refused(bad: dict[str, Any], culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        _settings(**bad)


def test_reports() -> None:
    arm = _go(_arm(_model(coulomb=1.0)), 5.0)
    arm.reset_counts()
    _advance(arm, 2)
    assert arm.steps == 8 and 1 <= arm.solves <= 40 and 0.0 <= arm.residual < 1e-9
    arm.reset_counts()
    assert (arm.steps, arm.solves, arm.residual) == (0, 0, 0.0)


def test_loops_are_reported() -> None:
    """Force and gap of each loop; zero force with brakes on; none without loops."""
    model = mechanisms.four_bar()
    q, way = mechanisms.assembled(model, speed=1.0)
    arm = _arm(model, initial_positions=q.tolist())
    force = "loop 1: force of base on rocker, N"
    gap = "loop 1: gap, m"
    assert list(arm.loops) == [force, gap]
    _advance(arm, 1)
    assert arm.loops[force] == [0.0, 0.0, 0.0]
    effort = np.array([model.gravity_torque(q) @ way, 0.0, 0.0])
    arm.command(effort)
    _advance(arm, 1)
    plant = Plant(model, initial_positions=q)
    plant.step(effort)
    reported = arm.loops[force]
    reported_gap = arm.loops[gap]
    assert (
        isinstance(reported, list)
        and isinstance(reported_gap, float)
        and reported_gap < 1e-12
    )
    np.testing.assert_allclose(reported, plant.loop_forces[0], rtol=0, atol=1e-9)
    assert _arm().loops == {}
    with pytest.raises(RobotDynamicsError, match="is open by"):
        _arm(model, initial_positions=[0.3, 0.0, 0.0])

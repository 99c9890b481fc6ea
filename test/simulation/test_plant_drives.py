"""Drives of the simulated arm with a loop of their own: set points, gains, feedforward, limits, encoders, timeouts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.parameters import IMPEDANCE
from robot_dynamics_ros.simulation.parameters import ALL, read_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm
from support import arms

DEFAULTS = {parameter.name: parameter.default for parameter in ALL}
START = 0.3  # rad
TARGET = 1.1  # rad
MOMENT = 2.0 * 9.81 * 0.4  # of gravity on the pendulum, m g l, Nm
STIFFNESS = 60.0  # Nm/rad
DAMPING = 12.0  # Nms/rad


def _joint(axis: tuple[int, int, int], mass: float, com: Any) -> RobotModel:
    """Return one joint with a moment of inertia of 1 kg m^2 about its axis."""
    inertia = np.eye(3) * (1.0 - mass * np.dot(com, com))
    joint = arms.Joint(
        "joint",
        "continuous",
        "base",
        "body",
        axis=axis,
        limit='<limit effort="100" velocity="1000"/>',
    )
    body = arms.Link("body", mass, com, inertia)
    return RobotModel.from_urdf(arms.Arm((arms.Link("base"), body), (joint,)).urdf)


WHEEL = _joint((0, 0, 1), 2.0, (0.0, 0.0, 0.0))
PENDULUM = _joint((0, 1, 0), 2.0, (0.0, 0.0, -0.4))


def _arm(model: RobotModel = WHEEL, **given: Any) -> SimulatedArm:
    values = {
        **DEFAULTS,
        "command_interfaces": list(IMPEDANCE),
        "initial_positions": [START],
        "publish_rate": 250.0,
        **given,
    }
    return SimulatedArm(read_settings(values.__getitem__, model))


def _command(
    position: float,
    velocity: float = 0.0,
    stiffness: float = STIFFNESS,
    damping: float = DAMPING,
    effort: float = 0.0,
) -> DriveCommand:
    numbers = (position, velocity, stiffness, damping, effort)
    return DriveCommand(*np.array(numbers)[:, np.newaxis])


def _advance(arm: SimulatedArm, seconds: float) -> SimulatedArm:
    for _ in range(round(seconds * 250)):
        arm.advance()
    assert arm.failure == ""
    return arm


def _rest(command: DriveCommand, **given: Any) -> float:
    """Return the position of the pendulum at rest."""
    arm = _arm(PENDULUM, **given)
    arm.command(command)
    _advance(arm, 6.0)
    assert abs(arm.velocity[0]) < 1e-9
    return float(arm.position[0])


def test_stiffness_alone_sags() -> None:
    q = _rest(_command(TARGET))
    assert q + MOMENT / STIFFNESS * np.sin(q) == pytest.approx(TARGET, abs=1e-9)
    assert TARGET - q > 0.08


@pytest.mark.parametrize("kind", ["feedforward", "shifted set point"])
@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_gravity_in_the_command_leaves_the_error_of_the_model(
    scale: float, kind: str
) -> None:
    """At rest kp (q_d - q) + m g l sin(q_d) = scale m g l sin(q), with plant masses of ``scale`` times the model's."""
    gravity = MOMENT * np.sin(TARGET)
    command = (
        _command(TARGET, effort=gravity)
        if kind == "feedforward"
        else _command(TARGET + gravity / STIFFNESS)
    )
    expected = brentq(
        lambda q: STIFFNESS * (TARGET - q) + gravity - scale * MOMENT * np.sin(q),
        0.0,
        2.0,
    )
    assert _rest(command, mass_scale=scale) == pytest.approx(expected, abs=1e-9)


def test_response_is_of_second_order() -> None:
    """A unit inertia oscillates about p + (d v + tau) / k; the error is at most of first order in the step."""
    command = _command(1.0, 0.5, stiffness=100.0, damping=6.0, effort=8.0)
    end = 1.0 + (6.0 * 0.5 + 8.0) / 100.0
    decay = 3.0
    rate = np.sqrt(100.0 - decay**2)
    times = 0.004 * np.arange(1, 251)
    oscillation = np.cos(rate * times) + decay / rate * np.sin(rate * times)
    expected = end + (START - end) * np.exp(-decay * times) * oscillation
    errors = []
    for step in (0.002, 0.001):
        arm = _arm(step_size=step)
        arm.command(command)
        positions = [float(_advance(arm, 0.004).position[0]) for _ in times]
        errors.append(np.abs(positions - expected).max())
    assert errors[1] < 0.006
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@given(
    numbers=st.lists(st.floats(-10.0, 10.0), min_size=6, max_size=6),
    gains=st.lists(st.floats(-3.0, 308.0), min_size=4, max_size=4),
)
def test_torques_never_exceed_the_limits(
    numbers: list[float], gains: list[float]
) -> None:
    """Whatever the gains, up to unstable ones: a step fails with a message, or the state is finite."""
    model = RobotModel.shipped("planar_2r")
    position, velocity, effort = np.reshape(numbers, (3, 2))
    stiffness, damping = 10.0 ** np.reshape(gains, (2, 2))
    arm = _arm(model, initial_positions=[], publish_rate=1000.0)
    arm.command(DriveCommand(position, velocity, stiffness, damping, 100.0 * effort))
    with np.errstate(all="ignore"):
        for _ in range(30):
            arm.advance()
            assert (np.abs(arm.effort) <= model.effort_limits).all()
            assert np.isfinite([arm.position, arm.velocity]).all()
            if arm.failure:
                assert '"joint' in arm.failure
                break


def test_drives_read_their_encoders_without_noise() -> None:
    """A set point within the present step of the encoder makes no torque; the next step makes that of a step."""
    arm = _arm(
        initial_positions=[0.5 + 0.004],
        position_resolution=[0.01],
        position_noise=[0.1],
        publish_rate=1000.0,
    )
    arm.command(_command(0.5))
    for _ in range(20):
        arm.advance()
        assert tuple(arm.effort) == (0.0,)
    arm.command(_command(0.5 + 0.01))
    arm.advance()
    assert arm.effort == pytest.approx(STIFFNESS * 0.01, rel=1e-9)


def test_delay_of_commands() -> None:
    """A command acts after 8 ms, under brakes until then; the drive goes on between the commands."""
    late = _arm(effort_delay=0.008)
    late.command(_command(TARGET))
    prompt = _arm()
    prompt.command(_command(TARGET))
    _advance(late, 0.008)
    assert late.braked and tuple(late.position) == (START,)
    assert np.array_equal(_advance(late, 0.4).position, _advance(prompt, 0.4).position)


@pytest.fixture
def moving() -> dict[str, SimulatedArm]:
    """Return arms after the timeout of 0.1 s, by reaction; they were in motion."""
    timed_out = {}
    for reaction in ("hold", "damp", "zero", "brake"):
        arm = _arm(command_timeout=0.1, on_command_timeout=reaction)
        arm.command(_command(TARGET, velocity=3.0, effort=6.0))
        _advance(arm, 0.1)
        assert not arm.timed_out and arm.velocity[0] > 1.0
        timed_out[reaction] = arm
    return timed_out


def test_timeout_to_hold(moving: dict[str, SimulatedArm]) -> None:
    """At rest kp (p - q) + tau = 0: the last position and feedforward stay, the velocity set point does not."""
    arm = _advance(moving["hold"], 6.0)
    assert arm.timed_out and not arm.braked
    assert arm.position[0] == pytest.approx(TARGET + 6.0 / STIFFNESS, abs=1e-9)
    assert arm.velocity[0] == pytest.approx(0.0, abs=1e-9)


def test_timeout_to_damping(moving: dict[str, SimulatedArm]) -> None:
    """The speed decays as exp(-d t / I), to first order in the step, and never reverses."""
    arm = moving["damp"]
    start = float(arm.position[0])
    speed = float(arm.velocity[0])
    positions = [float(_advance(arm, 0.004).position[0]) for _ in range(500)]
    assert positions[49] - start == pytest.approx(
        speed / DAMPING * (1.0 - np.exp(-DAMPING * 0.2)), rel=0.01
    )
    assert (np.diff(positions) >= 0.0).all()
    assert arm.velocity[0] == pytest.approx(0.0, abs=1e-9)


def test_timeout_to_zero_and_brakes(moving: dict[str, SimulatedArm]) -> None:
    free = moving["zero"]
    speed = free.velocity.copy()
    assert np.array_equal(_advance(free, 1.0).velocity, speed)
    braked = moving["brake"]
    position = braked.position.copy()
    assert np.array_equal(_advance(braked, 1.0).position, position) and braked.braked


@pytest.mark.parametrize("reaction", ["hold", "damp"])
def test_next_command_ends_a_timeout(reaction: str) -> None:
    arm = _arm(PENDULUM, command_timeout=0.1, on_command_timeout=reaction)
    arm.command(_command(TARGET))
    _advance(arm, 0.5)
    for _ in range(500):
        arm.command(_command(-TARGET, effort=-MOMENT * np.sin(TARGET)))
        _advance(arm, 0.012)
    assert not arm.timed_out
    assert arm.position[0] == pytest.approx(-TARGET, abs=1e-9)


@pytest.mark.parametrize("reaction", ["hold", "damp"])
def test_brakes_stay_on_if_no_command_has_acted(reaction: str) -> None:
    arm = _arm(
        PENDULUM,
        command_timeout=0.004,
        on_command_timeout=reaction,
        effort_delay=0.008,
    )
    arm.command(_command(TARGET))
    _advance(arm, 0.1)
    assert arm.timed_out and arm.braked and tuple(arm.position) == (START,)


@pytest.mark.parametrize(
    ("bad", "culprit"),
    [
        ({"stiffness": [-1.0]}, 'stiffness of joint "joint"'),
        ({"damping": [-1e-9]}, 'damping of joint "joint"'),
        ({"position": [np.nan]}, 'position of joint "joint"'),
        ({"effort": [np.inf]}, 'effort of joint "joint"'),
        ({"velocity": [0.0, 0.0]}, "2 numbers"),
    ],
)
def test_bad_commands_are_refused(bad: dict[str, list[float]], culprit: str) -> None:
    """The previous command goes on."""
    arm = _arm()
    arm.command(_command(TARGET))
    changes = {name: np.array(values) for name, values in bad.items()}
    with pytest.raises(RobotDynamicsError, match=culprit):
        arm.command(_command(0.0)._replace(**changes))
    assert _advance(arm, 6.0).position[0] == pytest.approx(TARGET, abs=1e-9)


@pytest.mark.parametrize("reaction", ["hold", "damp"])
def test_reactions_need_drives_with_a_loop(reaction: str) -> None:
    with pytest.raises(RobotDynamicsError, match=f"{reaction}.*command_interfaces"):
        _arm(on_command_timeout=reaction, command_interfaces=["effort"])

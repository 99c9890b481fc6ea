"""The parameters of simulation_node."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.control.laws import per_joint
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.parameters import EXECUTOR, ROBOT
from robot_dynamics_ros.parameters.kinds import (
    ANY,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    RATE,
    Flag,
    Number,
    Numbers,
    Parameter,
    Text,
    Values,
    WholeNumber,
)
from robot_dynamics_ros.simulation.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulated_arm import SimulationSettings

# Read when the node learns its robot, beside those of robot.py

INTEGRATOR = Text(
    "integrator",
    "rk4",
    "rk4, or the faster semi_implicit, which can feed energy to a fast free arm",
    choices=tuple(INTEGRATORS),
)
STEP_SIZE = Number("step_size", 0.001, "Step (s) of the integration", POSITIVE)
PUBLISH_RATE = Number(
    "publish_rate", 500.0, "joint_states per simulated second; a period is a whole number of steps", RATE
)
INITIAL_POSITIONS = Numbers(
    "initial_positions",
    [],
    "Where the joints start (rad or m); empty: 0, or the nearest limit",
    how_many="one for each joint",
)
VELOCITY_LIMITS = Flag("velocity_limits", False, "Stop each joint from going faster than the URDF's velocity limit")
EFFORT_DELAY = Number(
    "effort_delay",
    0.0,
    "Seconds from a command's arrival until the motors follow it, a whole number of steps",
    NOT_NEGATIVE,
)
PUBLISH_CLOCK = Flag(
    "publish_clock", False, "Publish /clock, which starts at one period of publish_rate, and there again after a reset"
)
START_PAUSED = Flag("start_paused", False, "Start paused: time stands still until ~/pause or ~/step is called")
LOCKSTEP = Flag(
    "lockstep",
    False,
    "Step only when the controller (with update_rate 0) has answered the state: each run is the same, to the bit",
)
LOCKSTEP_TOPIC = Text(
    "lockstep_topic", "computed_torque_node/command_states", "Where the controller's answers come from with lockstep"
)

# How fast, and what happens without commands

REAL_TIME_FACTOR = Number(
    "real_time_factor", 1.0, "Simulated seconds per second; 0: as fast as it can", NOT_NEGATIVE, when="run"
)
COMMAND_TIMEOUT = Number(
    "command_timeout",
    float("inf"),
    "Simulated seconds after the last command until on_command_timeout; .inf: commands stay for ever",
    POSITIVE_OR_INFINITE,
    when="run",
)
ON_COMMAND_TIMEOUT = Text(
    "on_command_timeout",
    "zero",
    "When commands stop: zero (no effort) or hold (brakes on, until the next command)",
    when="run",
    choices=("zero", "hold"),
)

# What the sensors say

POSITION_NOISE = Numbers(
    "position_noise", [0.0], "Standard deviation (rad or m) of measured positions", NOT_NEGATIVE, when="run"
)
VELOCITY_NOISE = Numbers(
    "velocity_noise", [0.0], "Standard deviation (rad/s or m/s) of measured velocities", NOT_NEGATIVE, when="run"
)
POSITION_RESOLUTION = Numbers(
    "position_resolution", [0.0], "Smallest step (rad or m) of the encoders; 0: none", NOT_NEGATIVE, when="run"
)
SEED = WholeNumber(
    "seed", 0, "The same seed gives the same noise; it starts anew at each reset", 0, 2**31 - 1, when="run"
)

# A plant that differs from the controller's model on purpose

MASS_SCALE = Number("mass_scale", 1.0, "Factor of the masses and inertias of all links", POSITIVE, when="run")
FRICTION_SCALE = Numbers("friction_scale", [1.0], "Factor of the joints' friction", NOT_NEGATIVE, when="run")
PAYLOAD_LINK = Text(
    "payload.link", "", "Link that carries a payload; empty: the dynamics file's payload, if any", when="run"
)
PAYLOAD_MASS = Number("payload.mass", 0.0, "Its mass (kg), which mass_scale leaves alone", NOT_NEGATIVE, when="run")
PAYLOAD_COM = Numbers(
    "payload.com", [0.0, 0.0, 0.0], "Its centre of mass (m) in the link's frame", ANY, "three of them", 3, when="run"
)
PAYLOAD_INERTIA = Numbers(
    "payload.inertia",
    [0.0] * 6,
    "Its inertia (kg m^2) about that point: ixx ixy ixz iyy iyz izz",
    ANY,
    "six of them",
    6,
    when="run",
)

ALL: tuple[Parameter[Any], ...] = (
    *ROBOT,
    EXECUTOR,
    INTEGRATOR,
    STEP_SIZE,
    PUBLISH_RATE,
    INITIAL_POSITIONS,
    VELOCITY_LIMITS,
    EFFORT_DELAY,
    PUBLISH_CLOCK,
    START_PAUSED,
    LOCKSTEP,
    LOCKSTEP_TOPIC,
    REAL_TIME_FACTOR,
    COMMAND_TIMEOUT,
    ON_COMMAND_TIMEOUT,
    POSITION_NOISE,
    VELOCITY_NOISE,
    POSITION_RESOLUTION,
    SEED,
    MASS_SCALE,
    FRICTION_SCALE,
    PAYLOAD_LINK,
    PAYLOAD_MASS,
    PAYLOAD_COM,
    PAYLOAD_INERTIA,
)


_MOST_STEPS = 1e9


def read_settings(values: Values, model: RobotModel) -> SimulationSettings:
    """Return the settings for the ``model`` of the files; RobotDynamicsError names the parameter and the cure."""
    step_size, publish_rate = STEP_SIZE.read(values), PUBLISH_RATE.read(values)
    effort_delay = EFFORT_DELAY.read(values)
    return SimulationSettings(
        model=_changed_model(values, model),
        integrator=INTEGRATOR.read(values),
        step_size=step_size,
        period_steps=_steps(f"publish_rate {publish_rate}", 1.0 / publish_rate, step_size, 1),
        initial_positions=tuple(INITIAL_POSITIONS.read(values)),
        velocity_limits=VELOCITY_LIMITS.read(values),
        delay_steps=_steps(f"effort_delay {effort_delay}", effort_delay, step_size, 0),
        real_time_factor=REAL_TIME_FACTOR.read(values),
        command_timeout=COMMAND_TIMEOUT.read(values),
        on_command_timeout=ON_COMMAND_TIMEOUT.read(values),
        sensors=Sensors(
            position_noise=tuple(_per_joint(values, POSITION_NOISE, model)),
            velocity_noise=tuple(_per_joint(values, VELOCITY_NOISE, model)),
            position_resolution=tuple(_per_joint(values, POSITION_RESOLUTION, model)),
            seed=SEED.read(values),
        ),
    )


def _steps(name: str, time: float, step_size: float, least: int) -> int:
    steps = time / step_size
    whole = steps < _MOST_STEPS and abs(steps - round(steps)) <= min(1e-6 * steps, 0.01)
    if not whole or round(steps) < least:
        raise RobotDynamicsError(
            f"parameters {name} and step_size {step_size}: {time:.6g} s are {steps:.6g} steps. "
            f"Cure: make it a whole number from {least} to a billion"
        )
    return round(steps)


def _per_joint(values: Values, parameter: Numbers, model: RobotModel) -> Array:
    return per_joint(f"parameter {parameter.name}", parameter.read(values), model.joint_names)


def _changed_model(values: Values, model: RobotModel) -> RobotModel:
    mass, friction = MASS_SCALE.read(values), _per_joint(values, FRICTION_SCALE, model)
    if mass != 1.0 or (friction != 1.0).any():
        model = model.scaled(mass, friction)
    link = PAYLOAD_LINK.read(values)
    numbers = PAYLOAD_MASS.read(values), PAYLOAD_COM.read(values), PAYLOAD_INERTIA.read(values)
    return model.with_payload(link, *numbers) if link else model

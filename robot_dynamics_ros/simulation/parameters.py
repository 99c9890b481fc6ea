"""Parameters of simulation_node, each declared once, and their conversion to settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters import (
    COMMAND_INTERFACES,
    EFFORT,
    EXECUTOR,
    ROBOT,
)
from robot_dynamics_ros.base.parameters.kinds import (
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
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulated_arm import SimulationSettings
from robot_dynamics_ros.simulation.step.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.thresholds import MOST_STEPS

# Read when the node receives its robot description, with the robot's parameters

INTEGRATOR = Text(
    "integrator",
    "rk4",
    "rk4 (fourth order), or semi_implicit (faster, first order; an arm that moves fast without friction can gain "
    "energy)",
    choices=tuple(INTEGRATORS),
)
STEP_SIZE = Number("step_size", 0.001, "Integration step (s)", POSITIVE)
PUBLISH_RATE = Number(
    "publish_rate",
    500.0,
    "joint_states messages per simulated second; the period must be a whole number of steps",
    RATE,
)
INITIAL_POSITIONS = Numbers(
    "initial_positions",
    [],
    "Initial joint positions (rad or m); empty: 0, or the position limit nearest to it",
    how_many="one for each joint",
)
VELOCITY_LIMITS = Flag(
    "velocity_limits", False, "Limit the velocity of each joint to that of the URDF"
)
EFFORT_DELAY = Number(
    "effort_delay",
    0.0,
    "Seconds from the arrival of a command to its effect, a whole number of steps",
    NOT_NEGATIVE,
)
PUBLISH_CLOCK = Flag(
    "publish_clock",
    False,
    "Publish /clock; after the start and each reset its first time is 1 / publish_rate",
)
START_PAUSED = Flag(
    "start_paused", False, "Start with time stopped, until ~/pause or ~/step is called"
)
LOCKSTEP = Flag(
    "lockstep",
    False,
    "Take the next step only after the controller (with update_rate 0) has sent the command for the last state; runs "
    "are then bitwise reproducible",
)
LOCKSTEP_TOPIC = Text(
    "lockstep_topic",
    "computed_torque_node/command_states",
    "Topic of the controller's commands in lockstep with command_interfaces [effort]; other drives take drive_commands",
)

# Pacing and command timeout

REAL_TIME_FACTOR = Number(
    "real_time_factor",
    1.0,
    "Simulated seconds per second; 0: as fast as possible",
    NOT_NEGATIVE,
    when="run",
)
COMMAND_TIMEOUT = Number(
    "command_timeout",
    float("inf"),
    "Simulated seconds after the last command until on_command_timeout takes effect; .inf: never",
    POSITIVE_OR_INFINITE,
    when="run",
)
ON_COMMAND_TIMEOUT = Text(
    "on_command_timeout",
    "zero",
    "Reaction to the timeout, until the next command: zero (no effort) or brake (brakes on). Unless command_interfaces "
    "is [effort], also hold (the last position with velocity 0) or damp (the last damping alone, with velocity 0)",
    when="run",
    choices=("zero", "brake", "hold", "damp"),
)

# Sensors

POSITION_NOISE = Numbers(
    "position_noise",
    [0.0],
    "Standard deviation (rad or m) of measured positions",
    NOT_NEGATIVE,
    when="run",
)
VELOCITY_NOISE = Numbers(
    "velocity_noise",
    [0.0],
    "Standard deviation (rad/s or m/s) of measured velocities",
    NOT_NEGATIVE,
    when="run",
)
POSITION_RESOLUTION = Numbers(
    "position_resolution",
    [0.0],
    "Resolution (rad or m) of the encoders; 0: exact",
    NOT_NEGATIVE,
    when="run",
)
SEED = WholeNumber(
    "seed",
    0,
    "Seed of the noise; each reset restarts the noise from it",
    0,
    2**31 - 1,
    when="run",
)

# Model error: deviations of the plant from the controller's model

MASS_SCALE = Number(
    "mass_scale",
    1.0,
    "Factor of the masses and inertias of all links",
    POSITIVE,
    when="run",
)
FRICTION_SCALE = Numbers(
    "friction_scale", [1.0], "Factor of the joints' friction", NOT_NEGATIVE, when="run"
)
PAYLOAD_LINK = Text(
    "payload.link",
    "",
    "Link that the payload is attached to; empty: the dynamics file's payload, if any",
    when="run",
)
PAYLOAD_MASS = Number(
    "payload.mass",
    0.0,
    "Mass of the payload (kg), not scaled by mass_scale",
    NOT_NEGATIVE,
    when="run",
)
PAYLOAD_COM = Numbers(
    "payload.com",
    [0.0, 0.0, 0.0],
    "Centre of mass of the payload (m) in the link's frame",
    ANY,
    "three of them",
    3,
    when="run",
)
PAYLOAD_INERTIA = Numbers(
    "payload.inertia",
    [0.0] * 6,
    "Inertia of the payload (kg m^2) about its centre of mass: ixx ixy ixz iyy iyz izz",
    ANY,
    "six of them",
    6,
    when="run",
)

_SHARED = (EXECUTOR, COMMAND_INTERFACES)
_OWN = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, Parameter) and value not in _SHARED
)
ALL: tuple[Parameter[Any], ...] = (*ROBOT, *_SHARED, *_OWN)


def read_settings(values: Values, model: RobotModel) -> SimulationSettings:
    """Return the settings from the values of simulation_node's parameters, for a plant derived from ``model``.

    ``values`` is a function that returns the value of the parameter with the given name, such as the result of
    parameters.file.read_parameter_file. ``mass_scale``, ``friction_scale`` and the payload change a copy of ``model``.
    Raises RobotDynamicsError, naming the parameter and the cure, for invalid values, and as ``with_payload`` for a
    payload. ``SimulatedArm`` checks the initial positions.
    """
    step_size = STEP_SIZE.read(values)
    publish_rate = PUBLISH_RATE.read(values)
    effort_delay = EFFORT_DELAY.read(values)
    return SimulationSettings(
        model=_changed_model(values, model),
        integrator=INTEGRATOR.read(values),
        step_size=step_size,
        period_steps=_steps(
            f"publish_rate {publish_rate}", 1.0 / publish_rate, step_size, 1
        ),
        initial_positions=tuple(INITIAL_POSITIONS.read(values)),
        velocity_limits=VELOCITY_LIMITS.read(values),
        delay_steps=_steps(f"effort_delay {effort_delay}", effort_delay, step_size, 0),
        real_time_factor=REAL_TIME_FACTOR.read(values),
        command_timeout=COMMAND_TIMEOUT.read(values),
        on_command_timeout=_on_command_timeout(values),
        sensors=Sensors(
            position_noise=tuple(_per_joint(values, POSITION_NOISE, model)),
            velocity_noise=tuple(_per_joint(values, VELOCITY_NOISE, model)),
            position_resolution=tuple(_per_joint(values, POSITION_RESOLUTION, model)),
            seed=SEED.read(values),
        ),
    )


def _on_command_timeout(values: Values) -> str:
    reaction = ON_COMMAND_TIMEOUT.read(values)
    interfaces = COMMAND_INTERFACES.read(values)
    if reaction in ("hold", "damp") and interfaces == EFFORT:
        raise RobotDynamicsError(
            f"parameter on_command_timeout: {reaction!r} needs drives with a loop of their own, but command_interfaces "
            "is [effort]. Cure: set zero or brake, or command_interfaces to what the drives take"
        )
    return reaction


def _steps(name: str, time: float, step_size: float, least: int) -> int:
    steps = time / step_size
    whole = steps < MOST_STEPS and abs(steps - round(steps)) <= min(1e-6 * steps, 0.01)
    if not whole or round(steps) < least:
        raise RobotDynamicsError(
            f"parameters {name} and step_size {step_size}: {time:.6g} s is {steps:.6g} steps. "
            f"Cure: make it a whole number from {least} to a billion"
        )
    return round(steps)


def _per_joint(values: Values, parameter: Numbers, model: RobotModel) -> Array:
    numbers = parameter.read(values)
    parameter.check_size(numbers, model.joint_names)
    return np.full(model.n, numbers)


def _changed_model(values: Values, model: RobotModel) -> RobotModel:
    mass = MASS_SCALE.read(values)
    friction = _per_joint(values, FRICTION_SCALE, model)
    if mass != 1.0 or (friction != 1.0).any():
        model = model.scaled(mass, friction)
    link = PAYLOAD_LINK.read(values)
    numbers = (
        PAYLOAD_MASS.read(values),
        PAYLOAD_COM.read(values),
        PAYLOAD_INERTIA.read(values),
    )
    return model.with_payload(link, *numbers) if link else model

"""From the simulation node's parameters to what its arm takes."""

from __future__ import annotations

from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.parameters import simulation as p
from robot_dynamics_ros.parameters.kinds import Numbers, Values
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.settings import SimulationSettings

_MOST_STEPS = 1e9


def read_settings(values: Values, model: RobotModel) -> SimulationSettings:
    """Return the settings for the ``model`` of the files; RobotDynamicsError names the parameter and the cure."""
    step_size, publish_rate = p.STEP_SIZE.read(values), p.PUBLISH_RATE.read(values)
    steps = 1.0 / publish_rate / step_size
    if not _whole(steps) or steps < 0.5:
        raise RobotDynamicsError(
            f"parameters publish_rate {publish_rate} and step_size {step_size}: a period is {steps:.6g} steps. "
            "Cure: make it a whole number from 1 to a billion"
        )
    effort_delay = p.EFFORT_DELAY.read(values)
    delay_steps = effort_delay / step_size
    if not _whole(delay_steps):
        raise RobotDynamicsError(
            f"parameters effort_delay {effort_delay} and step_size {step_size}: that is {delay_steps:.6g} steps. "
            "Cure: make it a whole number up to a billion"
        )
    return SimulationSettings(
        model=_changed_model(values, model),
        integrator=p.INTEGRATOR.read(values),
        step_size=step_size,
        period_steps=round(steps),
        initial_positions=tuple(p.INITIAL_POSITIONS.read(values)),
        velocity_limits=p.VELOCITY_LIMITS.read(values),
        delay_steps=round(delay_steps),
        real_time_factor=p.REAL_TIME_FACTOR.read(values),
        command_timeout=p.COMMAND_TIMEOUT.read(values),
        on_command_timeout=p.ON_COMMAND_TIMEOUT.read(values),
        sensors=Sensors(
            position_noise=tuple(_per_joint(values, p.POSITION_NOISE, model)),
            velocity_noise=tuple(_per_joint(values, p.VELOCITY_NOISE, model)),
            position_resolution=tuple(_per_joint(values, p.POSITION_RESOLUTION, model)),
            seed=p.SEED.read(values),
        ),
    )


def _whole(steps: float) -> bool:
    return steps < _MOST_STEPS and abs(steps - round(steps)) <= min(1e-6 * steps, 0.01)


def _per_joint(values: Values, parameter: Numbers, model: RobotModel) -> Array:
    return per_joint(f"parameter {parameter.name}", parameter.read(values), model.joint_names)


def _changed_model(values: Values, model: RobotModel) -> RobotModel:
    mass, friction = p.MASS_SCALE.read(values), _per_joint(values, p.FRICTION_SCALE, model)
    if mass != 1.0 or (friction != 1.0).any():
        model = model.scaled(mass, friction)
    link = p.PAYLOAD_LINK.read(values)
    numbers = p.PAYLOAD_MASS.read(values), p.PAYLOAD_COM.read(values), p.PAYLOAD_INERTIA.read(values)
    return model.with_payload(link, *numbers) if link else model

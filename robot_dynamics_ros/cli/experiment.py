"""Experiment of simulate and demo: robot, controller, plant and motion, from command line and parameter file.

``Values`` is a function that returns the value of a ROS parameter by its name.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning, note
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.parameters import COMMAND_INTERFACES, JOINTS, LOCKED
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.parameters.kinds import Parameter, Values, overridden
from robot_dynamics_ros.base.resources import dynamics_file, find_resource, robot_names
from robot_dynamics_ros.cli.command_line import (
    TRACKING_LAWS,
    note_locked,
    plant_step_size,
)
from robot_dynamics_ros.cli.kernels import (
    EXPERIMENT,
    step_compiled_beside,
    with_kernels,
)
from robot_dynamics_ros.cli.named_robots import named_robot
from robot_dynamics_ros.cli.thresholds import (
    LONGEST_MOTION,
    RK4_STIFFNESS,
    SETTLING_TIME,
    SHORTEST_MOTION,
)
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.controller import warm_up_cycles
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.robot_source import RobotSource
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.runs.default_motion import (
    default_motion,
    default_start,
    scaled_to_limits,
)
from robot_dynamics_ros.runs.recorded_setup import (
    configuration_of,
    controller_files,
    model_keywords,
)
from robot_dynamics_ros.runs.recorder import COMMANDS, Replay
from robot_dynamics_ros.runs.simulation import simulate_to_bag
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file
from robot_dynamics_ros.simulation import parameters as simulation
from robot_dynamics_ros.simulation.arm import step_of
from robot_dynamics_ros.simulation.parameters import (
    read_settings as simulation_settings,
)
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings

_DEFAULT_KIND = trajectory.KIND.default


@dataclass(frozen=True)
class Experiment:
    """Robot, controller, plant and motion of a simulation.

    Attributes
    ----------
    source
        Files of the robot.
    model
        Model of the controller.
    values
        Parameters of computed_torque_node, by name.
    laws
        Names of the control laws: those of the command line, else that of ``values``.
    plant
        Settings of the simulated arm, with its initial positions.
    points
        Desired motion.
    duration
        Seconds of motion to track, from the first change of the desired position on; at most the times of ``points``.
    """

    source: RobotSource
    model: RobotModel
    values: Values
    laws: Sequence[str]
    plant: SimulationSettings
    points: TrajectoryPoints
    duration: float

    def load(self, law: str) -> tuple[controller.ControllerSettings, SimulatedArm]:
        """Return the settings of the controller with the law named ``law``, and the arm; both have their kernels.

        Raises RobotDynamicsError for parameters that are not allowed or do not fit the robot.
        """
        settings = controller.read_settings(overridden(self.values, {"law": law}))
        arm = SimulatedArm(self.plant)
        with_kernels(arm.warm_up, [step_of(self.model)])
        return settings, arm

    def run(self, law: str, bag: Path) -> tuple[Replay, float]:
        """Simulate with the law named ``law`` into the new bag ``bag``; return the summary and the real time (s).

        The real time is that of the simulation without loading kernels. A run that ends in a fault is no error; the
        transitions of the summary have it. Raises RobotDynamicsError as ``load``, if the controller rejects activation
        or motion, or the simulation of the arm fails, and BagError if ``bag`` exists or cannot be written.
        """
        settings, arm = self.load(law)
        moves = (self.points.positions != self.points.positions[0]).any(axis=1)
        # at the first point
        rest = float(self.points.times[max(int(moves.argmax()) - 1, 0)])
        begin = time.monotonic()
        result = simulate_to_bag(
            bag,
            arm,
            self.plant.period,
            self.model,
            settings,
            self.points,
            rest + self.duration + SETTLING_TIME,
            configuration=configuration_of(
                self.source, overridden(self.values, {"law": law})
            ),
            activation_check=controller.NodeSettings.read(self.values).activation_check,
        )
        return result, time.monotonic() - begin


def prepare(
    arguments: Namespace, overrides: Mapping[str, object] | None = None
) -> Experiment:
    """Return the experiment of the arguments of simulate or demo, whose kernels are loaded.

    ``overrides`` are parameters of the controller by name, which replace those of the parameter file. Notes are printed
    to stderr. Raises RobotDynamicsError for invalid arguments, files and robots, and for laws that follow no
    trajectory.
    """
    source = named_robot(arguments)
    values, plant_values, motion_values = _parameters(arguments)
    chosen = {
        JOINTS.name: arguments.joints,
        LOCKED.name: dict(arguments.locked) or None,
        COMMAND_INTERFACES.name: arguments.command_interfaces,
    }
    source, values = controller_files(
        source,
        overridden(values, {**chosen, **(overrides or {})}),
        arguments.dynamics,
        arguments.gravity,
    )
    interfaces = COMMAND_INTERFACES.read(values)
    plant_values = overridden(plant_values, {COMMAND_INTERFACES.name: interfaces})
    model = source.model(**model_keywords(values))
    note_locked(model)
    laws = arguments.law or [controller.read_settings(values).law]
    if laws[0] not in TRACKING_LAWS:
        raise RobotDynamicsError(
            f"law {laws[0]} follows no trajectory. Cure: --law with {', '.join(TRACKING_LAWS)}"
        )
    model.require_mass()

    def work() -> tuple[TrajectoryPoints, tuple[float, ...]]:
        for law in laws:
            # of settings that do not fit; the run reports it
            with suppress(RobotDynamicsError):
                warm_up_cycles(
                    model, controller.read_settings(overridden(values, {"law": law}))
                )
        return _motion(arguments, plant_values, motion_values, model)

    with step_compiled_beside(model):
        points, start = with_kernels(work, (*EXPERIMENT, step_of(model)))
    plant = simulation_settings(
        plant_values, _plant_model(arguments, source, values, model)
    )
    # given nowhere
    if plant_values(simulation.INTEGRATOR.name) is simulation.INTEGRATOR.default:
        plant = _with_stable_integrator(plant, np.array(start))
    duration = (
        float(points.times[-1]) if arguments.duration is None else arguments.duration
    )
    plant = replace(plant, initial_positions=start)
    return Experiment(source, model, values, laws, plant, points, duration)


def _parameters(arguments: Namespace) -> tuple[Values, Values, Values]:
    """Return the parameters of controller, plant and trajectory: of the command line, else of a file.

    The file is that of --config, else the robot's own.
    """
    own = (
        find_resource("config", f"{arguments.robot}.yaml")
        if arguments.robot in robot_names()
        else None
    )
    file = own if arguments.config is None else arguments.config
    step_size = None
    if arguments.rate is not None:
        step_size = plant_step_size(simulation.PUBLISH_RATE.check(arguments.rate))
    plant = {
        simulation.MASS_SCALE.name: arguments.mass_scale,
        simulation.FRICTION_SCALE.name: arguments.friction_scale,
        simulation.PUBLISH_RATE.name: arguments.rate,
        simulation.STEP_SIZE.name: step_size,
    }
    controller_values = read_parameter_file(
        file, COMMANDS.rsplit("/", 1)[0], controller.ALL
    )

    def read(node: str, parameters: Sequence[Parameter[Any]]) -> Values:
        try:
            return read_parameter_file(file, node, parameters)
        except RobotDynamicsError:  # the file is valid, but has nothing for this node
            return read_parameter_file(own, node, parameters)

    motion = read("/trajectory_node", trajectory.ALL)
    return (
        controller_values,
        overridden(read("/simulation_node", simulation.ALL), plant),
        overridden(motion, _of_duration(motion, arguments.duration)),
    )


def _of_duration(motion: Values, duration: float | None) -> dict[str, object]:
    """Return parameters of trajectory_node for ``duration`` (s); a shorter motion is the whole one, faster."""
    if duration is None:
        return {}
    if not SHORTEST_MOTION <= duration <= LONGEST_MOTION:
        raise RobotDynamicsError(
            f"--duration {duration:g} is out of range. Cure: give {SHORTEST_MOTION:g} to {LONGEST_MOTION:g} seconds"
        )
    if trajectory.KIND.read(motion) != _DEFAULT_KIND:
        return {}
    part = min(1.0, duration / trajectory.TOTAL_TIME.read(motion))
    return {
        trajectory.TOTAL_TIME.name: duration,
        trajectory.MOVE_TIME.name: part * trajectory.MOVE_TIME.read(motion),
        trajectory.RATE.name: trajectory.RATE.read(motion) / part,
    }


def _plant_model(
    arguments: Namespace,
    source: RobotSource,
    values: Values,
    model: RobotModel,
) -> RobotModel:
    """Return the controller's ``model``, unless the plant differs: the parameter gravity is the controller's only."""
    dynamics = arguments.plant_dynamics
    if dynamics is not None:
        source = replace(source, dynamics=dynamics_file(dynamics))
    elif arguments.gravity or not controller.NodeSettings.read(values).gravity:
        return model
    with warnings.catch_warnings():
        # the controller's model has caused them already
        warnings.simplefilter("ignore", RobotModelWarning)
        return source.model(
            joints=model.joint_names, locked=model.locked, gravity=arguments.gravity
        )


def _with_stable_integrator(
    plant: SimulationSettings, start: Array
) -> SimulationSettings:
    """Return the settings with the integrator semi_implicit if rk4 might be unstable with the viscous friction."""
    model = plant.model
    slow, fast = (
        model.friction_torque(start, np.full(model.n, speed)) for speed in (1.0, 2.0)
    )
    # 1 / effective inertia; M may be singular
    compliance = np.diag(np.linalg.pinv(model.mass_matrix(start)))
    stiff = plant.step_size * (fast - slow) * compliance > RK4_STIFFNESS
    if not stiff.any():
        return plant
    name = model.joint_names[int(np.argmax(stiff))]
    note(f"integrator semi_implicit, since the viscous friction of {name} is stiff")
    return replace(plant, integrator="semi_implicit")


def _motion(
    arguments: Namespace,
    plant_values: Values,
    motion_values: Values,
    model: RobotModel,
) -> tuple[TrajectoryPoints, tuple[float, ...]]:
    """Return the trajectory, and the initial positions of the arm (n,)."""
    start = model.limit_rows.within(np.zeros(model.n))
    initial = simulation.INITIAL_POSITIONS.read(plant_values)
    if initial:
        start = model.vector("parameter initial_positions", initial)
    kind = trajectory.KIND.read(motion_values)
    if arguments.trajectory is not None or kind == trajectory.FROM_FILE:
        file = arguments.trajectory
        points = (
            trajectory.trajectory_of_file(motion_values)
            if file is None
            else read_trajectory_file(file)
        )
        positions = dict(zip(model.joint_names, start.tolist(), strict=True))
        if points.times[0] == 0.0:
            first = zip(points.joint_names, points.positions[0].tolist(), strict=True)
            positions |= {name: q for name, q in first if name in positions}
        return points, tuple(positions.values())
    fit = arguments.duration is not None
    names = trajectory.JOINTS.read(motion_values) or model.joint_names
    sine = (trajectory.CENTER, trajectory.AMPLITUDE, trajectory.FREQUENCY)
    given = any(
        motion_values(parameter.name) is not parameter.default for parameter in sine
    )
    if kind == _DEFAULT_KIND and names == model.joint_names and not given:
        start = start if initial else default_start(model)
        motion_values = overridden(motion_values, default_motion(model, start))
        fit = True
    positions = dict(zip(model.joint_names, start.tolist(), strict=True))
    begin = trajectory.START.read(motion_values) or [
        positions.get(name, 0.0) for name in names
    ]
    points = trajectory.trajectory_from(motion_values, names, begin)
    if fit and kind == _DEFAULT_KIND and not model.loops:
        points, factors = scaled_to_limits(model, points, start)
        _report_scale(points.joint_names, factors)
    return points, tuple(start.tolist())


def _report_scale(names: Sequence[str], factors: Array) -> None:
    """Print notes for factors (k,) of the motion below 1."""
    if still := ", ".join(compress(names, factors == 0.0)):
        note(f"{still}: not moved, since friction exceeds the effort limit")
    if (smaller := factors[factors > 0.0]).min(initial=1.0) < 1.0:
        note(
            f"velocity and effort limits reduce the motion, of some joints to {smaller.min():.2g} of its size"
        )

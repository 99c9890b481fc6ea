"""Benchmark of control laws: tracking errors on simulated arms, with exact and inexact models.

``python -m benchmarks.control_laws`` prints the table of docs/benchmarks.md; ``--write FILE`` updates it. Plant
and controller run in one process in lockstep, so that a machine always gives the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.document import markdown_table, print_report, report_parser
from benchmarks.robots import Floats, shipped, shipped_parameters
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.dynamics.kernels.layout import (
    FIRST_MOMENT,
    INERTIA,
    MASS,
    ROTOR_INERTIA,
)
from robot_dynamics_ros.dynamics.model.model_data import views
from robot_dynamics_ros.runs.generators import quintic_then_sine
from robot_dynamics_ros.simulation import Plant

COMMAND = "python -m benchmarks.control_laws"
PART = "make laws"
ROBOTS = {"Panda": ("panda", "panda_coulomb"), "PUMA 560": ("puma560", "puma560")}
COMPARED = (
    "pd",
    "pd_gravity",
    "pd_feedforward",
    "pd_plus",
    "computed_torque",
    "feedforward",
)
COLUMNS = (
    "exact model",
    "inertia off by up to 10 %",
    "friction not modelled",
    "torque saturating",
)
EXACT, OFF, FRICTION, SATURATING = COLUMNS

RATE = 500  # cycles a second
STEPS = 2  # of the plant in a cycle
MOVE_TIME = 2.0
DURATION = 8.0
DRAWS = 5  # number of inexact models
PART_OFF = 0.1
# effort limit of the most loaded joint relative to the torque of the motion, for the saturating case
SHARE = 0.9
# No faults: each run continues to its end, whatever the error.
UNCHECKED = SafetySettings(
    position_limit_margin=(np.inf,),
    velocity_limit_margin=(np.inf,),
    position_step_limit=(np.inf,),
    saturation_timeout=np.inf,
)


class Result(NamedTuple):
    """RMS error over time, joints and runs (mrad), and True if the default velocity check fails."""

    error: float
    too_fast: bool

    def __str__(self) -> str:
        number = f"{self.error:.3g}" if self.error < 999.5 else f"{self.error:.0f}"
        return f"{number} ✗" if self.too_fast else number


class Arm(NamedTuple):
    """Robot of the comparison with its initial position, gains and trajectory."""

    model: RobotModel
    start: list[float]
    settings: ControllerSettings
    points: TrajectoryPoints


def load(title: str, duration: float = DURATION) -> Arm:
    """Return one of ROBOTS, with the initial position, gains and trajectory of its file in config/."""
    robot, dynamics = ROBOTS[title]
    model = shipped(robot, dynamics)
    given = shipped_parameters(robot)
    start = given["initial_positions"]
    points = quintic_then_sine(
        model.joint_names,
        start,
        **given["trajectory"],
        move_time=MOVE_TIME,
        total_time=duration,
        rate=100.0,
    )
    return Arm(
        model, start, ControllerSettings(**given["gains"], safety=UNCHECKED), points
    )


def off_by(
    model: RobotModel, part: float, generator: np.random.Generator
) -> RobotModel:
    """Return a model whose body masses, first moments, inertias and rotor inertias deviate by up to ``part``.

    The bodies stay physically consistent: the pseudo-inertia matrix J (4, 4), of second moments S with I = tr(S) 1 - S,
    first moments and mass, stays positive definite as D J D with a diagonal D (Wensing, Kim and Slotine 2018).
    """
    parameters = model.kernels.parameters.copy()
    robot = views(model.kernels.topology, parameters)
    for body in robot.bodies:
        d = np.sqrt(generator.uniform(1.0 - part, 1.0 + part, 4))
        xx, xy, xz, yy, yz, zz = body[INERTIA:]
        trace = (xx + yy + zz) / 2.0
        second = (
            trace * np.eye(3) - [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        ) * np.outer(d[:3], d[:3])
        body[MASS] *= d[3] ** 2
        body[FIRST_MOMENT:INERTIA] *= d[:3] * d[3]
        body[INERTIA:] = (np.trace(second) * np.eye(3) - second)[np.triu_indices(3)]
    robot.rotors[:, ROTOR_INERTIA] *= generator.uniform(
        1.0 - part, 1.0 + part, len(robot.rotors)
    )
    return replace(model, kernels=model.kernels.with_parameters(parameters))


def load_of(arm: Arm) -> Floats:
    """Return the largest torque of the motion for each joint (n,), friction included, relative to its effort limit."""
    positions = arm.points.positions
    velocities = arm.points.velocities
    accelerations = arm.points.accelerations
    # the reference motion has them
    assert velocities is not None and accelerations is not None
    torque = arm.model.inverse_dynamics(positions, velocities, accelerations)
    torque += arm.model.friction_torque(positions, velocities)
    return np.asarray((np.abs(torque) / arm.model.effort_limits).max(axis=0))


def runs_of(arm: Arm, column: str) -> Iterator[tuple[RobotModel, ControllerSettings]]:
    """Yield the controller's model and settings for each run of a column."""
    if column == OFF:
        for seed in range(DRAWS):
            yield off_by(arm.model, PART_OFF, np.random.default_rng(seed)), arm.settings
    elif column == FRICTION:
        yield arm.model, replace(arm.settings, friction_compensation=False)
    elif column == SATURATING:
        yield (
            arm.model,
            replace(arm.settings, effort_limit_scale=(SHARE * load_of(arm).max(),)),
        )
    else:
        yield arm.model, arm.settings


def track(
    arm: Arm, model: RobotModel, settings: ControllerSettings
) -> tuple[Floats, bool]:
    """Control the exact plant with ``model``; return the error (cycles, n), and True if the velocity check fails."""
    plant = Plant(
        arm.model, step_size=1.0 / (RATE * STEPS), initial_positions=arm.start
    )
    controller = make_controller(model, settings)
    count = round(arm.points.times[-1] * RATE) + 1
    errors = np.empty((count, model.n))
    fastest = np.zeros(model.n)
    for cycle in range(count):
        now = cycle / RATE
        q = plant.position
        qd = plant.velocity
        controller.measure(now, now, q, qd)
        if cycle == 0:
            controller.update(now, now)
            controller.follow(arm.points, now, now)
        command = controller.update(now, now)
        assert command is not None and command.mode is Mode.ACTIVE
        errors[cycle] = command.desired.q - q
        np.maximum(fastest, np.abs(qd), out=fastest)
        plant.step(command.effort, STEPS)
    margin = SafetySettings().velocity_limit_margin
    return errors, bool((fastest > arm.model.velocity_limits + margin).any())


def result(arm: Arm, law: str, column: str) -> Result:
    """Return the result of a law over all runs of a column."""
    runs = [
        track(arm, model, replace(settings, law=law))
        for model, settings in runs_of(arm, column)
    ]
    errors, too_fast = zip(*runs, strict=True)
    return Result(1e3 * float(np.sqrt(np.mean(np.square(errors)))), any(too_fast))


def compare(
    arm: Arm, columns: Sequence[str] = COLUMNS, laws: Sequence[str] = COMPARED
) -> dict[str, dict[str, Result]]:
    """Return the results of one arm by law and column; shows a progress bar."""
    found: dict[str, dict[str, Result]] = {law: {} for law in laws}
    for law, column in tqdm([*product(laws, columns)], desc=arm.model.name):
        found[law][column] = result(arm, law, column)
    return found


def report() -> str:
    """Return the results as Markdown."""
    parts = [f"Command: `{COMMAND}`. RMS error over time and joints in mrad."]
    for title in ROBOTS:
        arm = load(title)
        loads = load_of(arm)
        most = int(np.argmax(loads))
        rows = [
            [f"`{law}`", *map(str, by_column.values())]
            for law, by_column in compare(arm).items()
        ]
        parts.append(markdown_table([[title, *COLUMNS], *rows]))
        parts.append(
            f"Torque saturating: `effort_limit_scale` {SHARE * loads[most]:.3f}. The motion needs {loads[most]:.1%} of "
            f"the limit of `{arm.model.joint_names[most]}`; {SHARE:.0%} of that is available."
        )
    return "\n\n".join(parts)


if __name__ == "__main__":
    print_report(report_parser(COMMAND, __doc__).parse_args(), report, PART)

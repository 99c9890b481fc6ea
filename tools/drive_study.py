"""Tracking by drives with a loop of their own, and by effort commands only, over a network that delays messages.

``python -m tools.drive_study`` prints the RMS position error of the Panda's demo motion. The plant has sticking
friction, 10 % more mass and 20 % more friction than the model. At 100 Hz states and commands are each delayed by up to
10 ms, and 5 % of them are lost. Effort commands have the largest natural frequency that runs without a fault.

A second table has the motion after the node is killed: how far the fastest joint moves on in 3 s.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.document import markdown_table
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import Sample, TrajectoryPoints
from robot_dynamics_ros.base.parameters import EFFORT, IMPEDANCE
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    DriveSettings,
)
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.simulation import parameters as plant_parameters
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm
from support.arms import Array
from support.networked_drives import Tracking, track

# Gains of the drives: overdamped, so that set points which come early or late move the arm little
FREQUENCY = (50.0, 50.0, 50.0, 120.0, 130.0, 130.0, 220.0)  # rad/s
DAMPING_RATIO = (6.0, 6.0, 6.0, 12.0, 14.0, 14.0, 30.0)
JITTER = 0.010  # s
# of the jitter: messages do not overtake each other, and a command replaces a lost one late
MEAN_DELAY = 0.6
LOSSES = 0.05
DRIVE_STEP = 5e-5  # s: drives run at 20 kHz
STEP = 1e-3  # s
_FIRST = 100  # cycles before the motion
_ROOT = Path(__file__).resolve().parents[1]
_START = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)


@cache
def _experiment() -> tuple[RobotModel, RobotModel, TrajectoryPoints, Array]:
    """Return the model, that of the plant, the demo motion, and the start (n,)."""
    model = RobotModel.from_urdf_file(
        _ROOT / "urdf/panda.urdf", dynamics=_ROOT / "config/panda_coulomb.dynamics.yaml"
    )
    values = read_parameter_file(
        _ROOT / "config/panda.yaml", "/trajectory_node", trajectory.ALL
    )
    points = trajectory.trajectory_from(values, model.joint_names, _START)
    return model, model.scaled(1.1, 1.2), points, np.array(_START)


def by_effort(
    frequency: float,
    rate: float,
    seed: int,
    law: str = "computed_torque",
    **network: float,
) -> Tracking:
    """Return the tracking with effort commands for the natural ``frequency`` (rad/s) of all joints."""
    settings = ControllerSettings(
        law=law, natural_frequency=[frequency], update_rate=rate
    )
    return _track(settings, rate, STEP, seed, **network)


def by_drives(
    rate: float,
    seed: int,
    frequency: Sequence[float] = FREQUENCY,
    damping_ratio: Sequence[float] = DAMPING_RATIO,
    law: str = "computed_torque",
    step: float = DRIVE_STEP,
    **network: float,
) -> Tracking:
    """Return the tracking with drives that have their own loop, of this ``step`` (s)."""
    drives = DriveSettings(
        command_interfaces=IMPEDANCE,
        command_delay=MEAN_DELAY * network.get("jitter", 0.0),
    )
    settings = ControllerSettings(
        law=law,
        natural_frequency=frequency,
        damping_ratio=damping_ratio,
        update_rate=rate,
        drives=drives,
    )
    return _track(settings, rate, step, seed, **network)


class Stop(NamedTuple):
    """Motion after the end of the commands.

    Attributes
    ----------
    velocity
        Velocity (n,) at the end of the commands, rad/s.
    beyond
        How far each joint moves on (n,), rad.
    allowed
        Bound of ``beyond`` (n,) for drives that hold: 1.5 times v / (e omega) of a critically damped joint, and the
        error of the last feedforward over the stiffness; NaN for others.
    rests
        True if no joint moves after 3 s.
    """

    velocity: Array
    beyond: Array
    allowed: Array
    rests: bool


def killed(at: float, reaction: str, interfaces: Sequence[str] = IMPEDANCE) -> Stop:
    """Return the motion of drives with this ``reaction`` after a node at 500 Hz ends at the time ``at`` (s)."""
    model, _, points, start = _experiment()
    values = {parameter.name: parameter.default for parameter in plant_parameters.ALL}
    values |= {
        "command_interfaces": interfaces,
        "on_command_timeout": reaction,
        "command_timeout": 0.01,
        "initial_positions": start,
        "step_size": 0.00025,
        "integrator": "semi_implicit",
        "mass_scale": 1.1,
        "friction_scale": [1.2],
    }
    plant = plant_parameters.read_settings(values.__getitem__, model)
    arm = SimulatedArm(plant)
    drives = DriveSettings(command_interfaces=interfaces)
    session = ControllerSession(model, ControllerSettings(drives=drives))
    session.activate(compare_effort=False)
    command: Command | None = None
    for k in range(round(at / plant.period)):
        time = 1.0 + k * plant.period
        now = Now(time, lambda time=time: round(time * 1e9))
        if k == _FIRST:
            session.on_trajectory(points, 0, now)
        state = Sample(now.stamp, arm.position, arm.velocity, arm.effort)
        command = session.on_state(state, now).command
        assert command is not None and command.mode is Mode.ACTIVE
        arm.command(command.drive or command.effort)
        arm.advance()
    assert command is not None
    q = arm.position
    qd = arm.velocity
    beyond = np.zeros(model.n)
    for _ in range(round(3.0 / plant.period)):
        arm.advance()
        beyond = np.maximum(beyond, np.sign(qd) * (arm.position - q))
    allowed = np.full(model.n, np.nan)
    if command.drive is not None and reaction == "hold":
        stiffness = command.drive.stiffness
        omega = np.sqrt(stiffness / model.mass_matrix(q).diagonal())
        error = command.drive.effort - plant.model.gravity_torque(arm.position)
        allowed = 1.5 * np.abs(qd) / (np.e * omega) + np.abs(error) / stiffness
    return Stop(qd, beyond, allowed, not arm.velocity.any())


def stops() -> str:
    """Return a Markdown table of the ways to stop."""
    table = [["drives", "velocity (rad/s)", "moves on (rad)", "allowed", "rests"]]
    for name, reaction, interfaces in (
        ("hold", "hold", IMPEDANCE),
        ("damp", "damp", IMPEDANCE),
        ("free", "zero", IMPEDANCE),
        ("effort only, free", "zero", EFFORT),
    ):
        found = killed(5.1, reaction, interfaces)
        j = int(np.argmax(np.abs(found.velocity)))
        numbers = (found.velocity[j], found.beyond[j], found.allowed[j])
        table.append([name, *(f"{x:.3f}" for x in numbers), str(found.rests)])
    return markdown_table(table)


def _track(
    settings: ControllerSettings, rate: float, step: float, seed: int, **network: Any
) -> Tracking:
    model, plant, points, start = _experiment()
    return track(
        plant,
        model,
        settings,
        points,
        start=start,
        rate=rate,
        step=step,
        seed=seed,
        **network,
    )


def report(seed: int) -> str:
    """Return a Markdown table of all runs."""
    network = {"jitter": JITTER, "losses": LOSSES}
    rows = []
    for frequency in range(10, 44, 2):
        found = by_effort(float(frequency), 100.0, seed, **network)
        if found.faults:
            break
        largest = float(frequency)
        rows.append(("effort", f"{frequency} rad/s", "100 Hz, jitter", found))
    rows += [
        ("drives", "own gains", "100 Hz, jitter", by_drives(100.0, seed, **network)),
        ("drives", "own gains", "1 kHz", by_drives(1000.0, seed)),
        ("drives", "own gains", "500 Hz", by_drives(500.0, seed)),
        ("effort", f"{largest:g} rad/s", "500 Hz", by_effort(largest, 500.0, seed)),
    ]
    for law in ("computed_torque", "pd_feedforward"):
        same = by_drives(500.0, seed, [10.0], [1.0], law, STEP)
        rows += [
            (f"effort, {law}", "10 rad/s", "500 Hz", by_effort(10.0, 500.0, seed, law)),
            (f"drives, {law}", "10 rad/s", "500 Hz", same),
        ]
    table = [["commands", "gains", "messages", "RMS error (mrad)", "faults"]]
    table += [
        [kind, gains, messages, f"{1e3 * found.rms:.3f}", str(len(found.faults))]
        for kind, gains, messages, found in rows
    ]
    return markdown_table(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the network")
    print(report(parser.parse_args(arguments).seed))
    print()
    print(stops())
    return 0


if __name__ == "__main__":
    sys.exit(main())

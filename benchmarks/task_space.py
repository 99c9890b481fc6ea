"""Benchmark of ``task_space_computed_torque``: errors of a simulated Panda's end effector on a circle.

``python -m benchmarks.task_space`` prints the table of docs/benchmarks.md; ``--write FILE`` updates it. Plant
and controller run in one process in lockstep, so that a machine always gives the same results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from benchmarks.document import markdown_table, print_report, report_parser
from benchmarks.robots import Floats, shipped
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.control.controller import Controller, make_controller
from robot_dynamics_ros.control.end_effector.poses import TaskMotion
from robot_dynamics_ros.simulation import Plant

COMMAND = "python -m benchmarks.task_space"
END_EFFECTOR = "panda_link8"
START = (0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6)
RADIUS = 0.08  # m
TURN = 2.0  # s for a turn
CYCLE = 0.001  # s
STEPS = 1  # of the plant in a cycle
# The second turn counts (s).
BEGIN = 2.0
END = 4.0
SENT = ("pose", "pose and twist", "pose, twist and acceleration")


class Case(NamedTuple):
    """Column of the table: rate of the targets (Hz), and the compensation of friction."""

    title: str
    rate: int
    friction: bool = False
    made_up_for: bool = True


CASES = (
    Case("100 Hz", 100),
    Case("1 kHz", 1000),
    Case("100 Hz, friction compensated", 100, friction=True),
    Case("100 Hz, friction not compensated", 100, friction=True, made_up_for=False),
)


def circle(centre: Floats, t: float) -> TaskMotion:
    """Return the desired motion of the end effector at ``t`` (s): a horizontal circle with constant orientation."""
    rate = 2.0 * np.pi / TURN
    c = np.cos(rate * t)
    s = np.sin(rate * t)
    motion = TaskMotion(centre.copy(), np.zeros(6), np.zeros(6))
    motion.pose[:2, 3] += RADIUS * (c - 1.0), RADIUS * s
    motion.twist[:2] = -RADIUS * rate * s, RADIUS * rate * c
    motion.acceleration[:2] = -RADIUS * rate**2 * c, -RADIUS * rate**2 * s
    return motion


def track(model: RobotModel, sent: str, case: Case, end: float = END) -> float:
    """Return the RMS distance (mm) of the end effector from the circle during the last turn."""
    settings = ControllerSettings(
        law="task_space_computed_torque",
        friction_compensation=case.made_up_for,
        task_space=TaskSpaceSettings(max_linear_velocity=0.3),
    )
    controller = make_controller(model, settings)
    plant = Plant(model, step_size=CYCLE / STEPS, initial_positions=START)
    centre = model.link_pose(START, END_EFFECTOR)
    every = round(1.0 / (case.rate * CYCLE))
    squares = []
    for k in range(round(end / CYCLE)):
        t = k * CYCLE
        desired = circle(centre, t)
        controller.measure(t, t, plant.position, plant.velocity)
        if k % every == 0:
            _send(controller, desired, k, t, sent)
        command = controller.update(t, t)
        assert command is not None
        if t >= end - TURN:
            away = (
                model.link_pose(plant.position, END_EFFECTOR)[:3, 3]
                - desired.pose[:3, 3]
            )
            squares.append(away @ away)
        plant.step(command.effort, STEPS)
    return 1e3 * float(np.sqrt(np.mean(squares)))


def _send(
    controller: Controller, desired: TaskMotion, stamp: int, t: float, sent: str
) -> None:
    targets = controller.targets()
    if "twist" in sent:
        targets.feed_forward("twist", desired.twist, stamp + 1, t)
    if "acceleration" in sent:
        targets.feed_forward("acceleration", desired.acceleration, stamp + 1, t)
    targets.follow(desired.pose, stamp + 1, t, t)


def report() -> str:
    """Return the table as Markdown."""
    model = shipped("panda")
    robots = {True: model, False: model.scaled(friction=0.0)}
    rows = [["sent", *(case.title for case in CASES)]]
    for sent in tqdm(SENT, desc="circle"):
        rows.append(
            [
                sent,
                *(f"{track(robots[case.friction], sent, case):.3g}" for case in CASES),
            ]
        )
    speed = 2.0 * np.pi * RADIUS / TURN
    return (
        f"Command: `{COMMAND}`. RMS distance in mm on a circle of {1e3 * RADIUS:g} mm at {speed:.2f} m/s, "
        f"cycle time {1e3 * CYCLE:g} ms.\n\n{markdown_table(rows)}"
    )


if __name__ == "__main__":
    print_report(report_parser(COMMAND, __doc__).parse_args(), report, COMMAND)

"""robot_dynamics warm-up: kernels compiled before the first start of nodes and commands."""

from __future__ import annotations

import argparse
import time

import numpy as np

from robot_dynamics_ros.background import run_in_background
from robot_dynamics_ros.cli.robot_source import add_named_robot, named_robot
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.constraints import close_loops
from robot_dynamics_ros.kernels import compilation
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation import Plant


def add_warm_up(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Compiles the kernels that the nodes and the other commands use, and keeps them in "
        "NUMBA_CACHE_DIR, else ~/.cache, where others may read but not write them. They serve every robot; the "
        "simulation of coupled joints with friction or of closed loops has more: name such a robot."
    )
    add_named_robot(parser, nargs="?", default="panda")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compile nothing; exit code 1 where something is missing")
    action.add_argument("--clear", action="store_true", help="remove what is kept, of earlier versions too")


def run_warm_up(arguments: argparse.Namespace) -> None:
    """Fill, check or clear the cache; RobotDynamicsError if that is impossible, or a kernel is missing."""
    if not compilation.COMPILED:
        raise RobotDynamicsError("numba is missing or switched off: nothing is compiled. Cure: install or allow it")
    if arguments.clear:
        print(f"removed {compilation.clear_cache()}")
        return
    model = named_robot(arguments).model(gravity=arguments.gravity)
    if arguments.check:
        with compilation.compilations_reported(_refuse):
            _run_kernels(model)
        print("every kernel is there")
        return
    if not compilation.is_cached():
        raise RobotDynamicsError("kernels cannot be kept. Cure: point NUMBA_CACHE_DIR to a writable folder of your own")
    begin = time.monotonic()
    run_in_background(lambda: _run_kernels(model)).result()  # Ctrl-C ends the wait
    folder = compilation.cache_directory()
    assert folder is not None
    for path in (folder.parent, folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print(f"dynamics kernels ready after {time.monotonic() - begin:.1f} s, kept in {folder}")


def _refuse(kernel: str) -> None:
    raise RobotDynamicsError(f"{kernel} and perhaps others are not compiled yet. Cure: robot_dynamics warm-up")


def _run_kernels(model: RobotModel) -> None:
    """Run once the kernels that nodes run at their start, and those that commands run for many states."""
    warm_up_controller(model, ControllerSettings())
    q = close_loops(model, np.zeros(model.n)) if model.loops else np.zeros(model.n)
    Plant(model, initial_positions=q).warm_up()
    states = np.zeros((2, model.n))
    model.mass_matrix(states)
    model.friction_torque(states, states)
    model.regressor(states, states, states)

"""robot_dynamics warm-up: compile the kernels before the first start of nodes and commands.

``run_warm_up`` takes the parsed arguments that ``add_warm_up`` declares.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.cli.command_line import add_named_robot
from robot_dynamics_ros.cli.kernels import step_compiled_beside, with_kernels
from robot_dynamics_ros.cli.named_robots import named_robot
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.dynamics.kernels import compilation, entries
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.loops import close_loops
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.arm import step_of


def add_warm_up(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Compile the kernels of the nodes and commands, and store them in NUMBA_CACHE_DIR, else ~/.cache, readable by "
        "other users. They are the same for every robot; only the simulation of coupled joints with friction and of "
        "kinematic loops needs more kernels, for which ROBOT must be such a robot."
    )
    add_named_robot(parser, nargs="?", default="panda")
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check",
        action="store_true",
        help="compile nothing; exit code 1 if a kernel is missing",
    )
    action.add_argument(
        "--clear",
        action="store_true",
        help="remove all stored kernels, also of earlier versions",
    )


def run_warm_up(arguments: Namespace) -> None:
    """Compile and store the kernels for the robot of ``arguments``; with --check only check, with --clear remove all.

    Raises RobotDynamicsError if numba is not available, if the robot is unknown, cannot be read or cannot be simulated,
    if kernels cannot be stored or removed and, with --check, if one is missing.
    """
    if not compilation.COMPILED:
        raise RobotDynamicsError(
            "numba is not installed or disabled. Cure: install it, or unset NUMBA_DISABLE_JIT"
        )
    if arguments.clear:
        print(f"removed {compilation.clear_cache()}")
        return
    model = named_robot(arguments).model(gravity=arguments.gravity)
    if arguments.check:
        with compilation.compilations_reported(_refuse):
            _run_kernels(model)
            _run_step(model)
        print("all kernels are compiled")
        return
    if not compilation.is_cached():
        raise RobotDynamicsError(
            "kernels cannot be stored. Cure: set NUMBA_CACHE_DIR to a writable folder of your own"
        )
    begin = time.monotonic()
    public = [
        function for name, function in vars(entries).items() if not name.startswith("_")
    ]
    kernels = [
        function
        for function in public
        if getattr(function, "__module__", "") == entries.__name__
    ]
    with step_compiled_beside(model):
        with_kernels(lambda: _run_kernels(model), [*kernels, step_of(model)])
    with_kernels(lambda: _run_step(model), [step_of(model)])
    folder = compilation.cache_directory()
    assert folder is not None
    for path in (folder.parent, folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print(
        f"dynamics kernels ready after {time.monotonic() - begin:.1f} s, kept in {folder}"
    )


def _refuse(kernel: str) -> None:
    raise RobotDynamicsError(
        f"{kernel} is not compiled, and possibly others. Cure: run robot_dynamics warm-up"
    )


def _run_kernels(model: RobotModel) -> None:
    """Run once all kernels of nodes and of commands (batches of states) but the plant's step."""
    warm_up_controller(model, ControllerSettings())
    states = np.zeros((2, model.n))
    link = model.link_names[-1]
    model.inverse_dynamics(states, states, states)
    model.inverse_dynamics_derivatives(states, states, states)
    model.joint_reactions(states, states, states)
    model.regressor(states, states, states)
    model.mass_matrix(states)
    model.friction_torque(states, states)
    model.link_pose(states, link)
    model.jacobian(states, link)
    model.jacobian_dot_qd(states, states, link)
    model.kinetic_energy(states, states)
    model.potential_energy(states)
    with suppress(RobotModelError):  # of joints without mass
        # the mass matrix may be singular at zero
        model.forward_dynamics(states + 0.5, states, states)


def _run_step(model: RobotModel) -> None:
    q = close_loops(model, np.zeros(model.n)) if model.loops else np.zeros(model.n)
    Plant(model, initial_positions=q).warm_up()

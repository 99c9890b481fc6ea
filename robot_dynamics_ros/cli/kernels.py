"""Compilation of the kernels of commands before the first run, with progress.

A second process compiles about half of them, and this one loads these from the cache. The plant's step takes as long as
all kernels of the controller together.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as NotDone
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from robot_dynamics_ros.base.background import run_in_background
from robot_dynamics_ros.base.progress import BAR
from robot_dynamics_ros.cli.thresholds import POLLING_PERIOD
from robot_dynamics_ros.control import cycle_kernels
from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.compilation import (
    announcement,
    compilations_reported,
    will_be_stored,
)
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.arguments import cores

EXPERIMENT = (
    cycle_kernels.check_state,
    cycle_kernels.check_drives,
    cycle_kernels.check_response,
    cycle_kernels.limit_effort,
    cycle_kernels.all_within,
    entries.inverse_dynamics,
    entries.gravity_torque,
    entries.mass_matrix,
    entries.friction_torque,
    entries.inverse_dynamics_batch,
    entries.friction_batch,
    entries.jacobian_batch,
)
"""Kernels of the controller in simulate and demo."""
TORQUE = (
    entries.inverse_dynamics,
    entries.inverse_dynamics_batch,
    entries.gravity_torque,
    entries.friction_torque,
    entries.friction_batch,
    entries.regressor_batch,
)
"""Kernels of torque."""
IDENTIFY = (*TORQUE, entries.mass_matrix, entries.mass_matrix_batch)
"""Kernels of identify."""

T = TypeVar("T")


def with_kernels(work: Callable[[], T], kernels: Sequence[Any]) -> T:
    """Return the result of ``work``, which loads or compiles ``kernels``.

    It runs in a background thread, so that Ctrl-C interrupts the wait. Its exceptions are raised here. The first
    compilation is reported on stderr; a terminal then shows the number of kernels that are done.
    """
    missing = [kernel for kernel in kernels if will_be_stored(kernel)]
    form = "compiling: {n_fmt} of {total_fmt} kernels, {elapsed}"
    with (
        compilations_reported(_announce_once()),
        tqdm(total=len(missing), bar_format=form, **BAR) as bar,
    ):
        future = run_in_background(work)
        while True:
            try:
                return future.result(POLLING_PERIOD if missing else None)
            except NotDone:
                if future.done():  # an error of ``work``
                    raise
                bar.update(len(missing) - sum(map(will_be_stored, missing)) - bar.n)


def load_torque_kernels(model: RobotModel, kernels: Sequence[Any]) -> None:
    """Load or compile ``kernels``, TORQUE or IDENTIFY, with progress; ``model`` is any robot."""
    states = np.zeros((2, model.n))

    def work() -> None:
        model.inverse_dynamics(states, states, states)
        model.gravity_torque(states[0])
        model.friction_torque(states, states, load=states)
        model.regressor(states, states, states)
        if entries.mass_matrix_batch in kernels:
            model.mass_matrix(states)

    with_kernels(work, kernels)


def _announce_once() -> Callable[[str], None]:
    announced: list[str] = []

    def announce(kernel: str) -> None:
        if not announced:
            print(announcement(kernel), file=sys.stderr, flush=True)
        announced.append(kernel)

    return announce


@contextmanager
def step_compiled_beside(model: RobotModel) -> Iterator[None]:
    """Compile the plant's step in another process while the block runs, if it is not in the cache.

    No effect for a model with loops, and on a machine with one core. The block's end waits for the other process.
    """
    # deferred: torque and identify do not need it
    from robot_dynamics_ros.simulation.arm import step_of

    if model.loops or cores() == 1 or not will_be_stored(step_of(model)):
        yield
        return
    process = get_context("spawn").Process(
        target=_compile_step, args=(model,), daemon=True
    )
    process.start()
    try:
        yield
    except BaseException:
        process.terminate()
        raise
    process.join()


def _compile_step(model: RobotModel) -> None:
    from robot_dynamics_ros.simulation import Plant

    # the first process handles Ctrl-C and ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with compilations_reported(lambda kernel: None):
        Plant(model).warm_up()

"""Comparison of results, bit for bit, between processes that differ in one condition.

``python -m tools.numerics.bits FILE STATES`` writes the results of one process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.robots import Floats, random_states, shipped
from robot_dynamics_ros.simulation.simulate import simulate
from robot_dynamics_ros.simulation.simulate_batch import simulate_batch

Results = Mapping[str, Floats]

STATES = 1100
"""Number of states that two threads share (see model/batches.py)."""

_ONE_CORE = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
_START = "import runpy; runpy.run_module('tools.numerics.bits', run_name='__main__')"


class Condition(NamedTuple):
    """Condition of a process: environment variables, and True for one core only."""

    environment: Mapping[str, str] = {}
    one_core: bool = False


CONDITIONS = {
    "the same conditions": Condition(),
    "one core, NUMBA_NUM_THREADS=1": Condition(
        {"NUMBA_NUM_THREADS": "1"}, one_core=True
    ),
    "NUMBA_NUM_THREADS=2": Condition({"NUMBA_NUM_THREADS": "2"}),
    "compiled again, without a cache": Condition({"NUMBA_CACHE_DIR": "/proc/nowhere"}),
    "kernels as plain Python": Condition({"NUMBA_DISABLE_JIT": "1"}),
}


def results(states: int = STATES) -> dict[str, Floats]:
    """Return all results to compare."""
    panda = shipped("panda", "panda_coulomb")
    scara = shipped("scara")
    q, qd, qdd, tau = random_states(panda.n, states, 9)
    link = panda.link_names[-1]
    few = slice(0, 20)
    found: dict[str, Floats] = {
        "inverse_dynamics, many": panda.inverse_dynamics(q, qd, qdd),
        "forward_dynamics, many": panda.forward_dynamics(q, qd, tau),
        "mass_matrix": panda.mass_matrix(q[few]),
        "coriolis_matrix": panda.coriolis_matrix(q[few], qd[few]),
        "regressor": panda.regressor(q[few], qd[few], qdd[few]),
        "jacobian": panda.jacobian(q[few], link),
        "energies": np.concatenate(
            [panda.kinetic_energy(q[few], qd[few]), panda.potential_energy(q[few])]
        ),
        "friction_torque": panda.friction_torque(q[few], qd[few]),
    }
    singles: dict[str, Callable[[int], Floats]] = {
        "inverse_dynamics, one": lambda k: panda.inverse_dynamics(q[k], qd[k], qdd[k]),
        "forward_dynamics, one": lambda k: panda.forward_dynamics(q[k], qd[k], tau[k]),
        "gravity_torque, one": lambda k: panda.gravity_torque(q[k]),
    }
    found |= {
        name: np.array([call(k) for k in range(20)]) for name, call in singles.items()
    }
    s = random_states(scara.n, states, 10)
    own = scara.customised()
    found["customised inverse_dynamics, many"] = own.inverse_dynamics(s.q, s.qd, s.qdd)
    found["customised inverse_dynamics, one"] = np.array(
        [own.inverse_dynamics(s.q[k], s.qd[k], s.qdd[k]) for k in range(20)]
    )

    def law(t: float, x: Floats, v: Floats) -> Floats:
        return np.asarray(40.0 * (0.5 * np.sin(3.0 * t) - x) - 4.0 * v)

    run = simulate(panda, law, 0.03)
    found["simulate"] = np.concatenate([run.position, run.velocity])
    runs = simulate_batch(
        panda,
        law,
        0.03,
        count=5,
        initial_velocities=np.linspace(-1.0, 1.0, 35).reshape(5, 7),
    )
    found["simulate_batch"] = np.concatenate([runs.position, runs.velocity])
    return found


def from_process(condition: Condition, states: int = STATES) -> Results:
    """Return the results of a new process."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")
    }
    if "NUMBA_CACHE_DIR" in os.environ:
        environment["NUMBA_CACHE_DIR"] = os.environ["NUMBA_CACHE_DIR"]
    code = (_ONE_CORE if condition.one_core else "") + _START
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.npz"
        command = [sys.executable, "-W", "ignore", "-c", code, str(file), str(states)]
        subprocess.run(
            command,
            env=environment | dict(condition.environment),
            check=True,
            cwd=Path(__file__).parents[2],
        )
        with np.load(file) as arrays:
            return dict(arrays)


class Difference(NamedTuple):
    """Number of different values, number of all, and the largest difference in eps of the array's largest value."""

    numbers: int
    of: int
    eps: float


def difference(a: Results, b: Results) -> Difference:
    """Return the difference of two results by bits, so that NaN equals itself and -0 differs from 0."""
    numbers = sum(
        int((a[name].view(np.int64) != b[name].view(np.int64)).sum()) for name in a
    )
    worst = max(
        float(np.abs(a[name] - b[name]).max() / np.abs(a[name]).max()) for name in a
    )
    return Difference(
        numbers, sum(ours.size for ours in a.values()), worst / np.finfo(np.float64).eps
    )


def compare() -> dict[str, Difference]:
    """Return the difference of each of CONDITIONS from a first process."""
    first = from_process(Condition())
    return {
        name: difference(first, from_process(condition))
        for name, condition in CONDITIONS.items()
    }


def bits_list(found: Mapping[str, Difference]) -> str:
    """Return the numbers of different values, and the largest difference in eps of the largest value."""
    return "\n".join(
        f"- {name}: {x.numbers} of {x.of} values differ, by at most {x.eps:.2g} eps."
        for name, x in found.items()
    )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays: Any = results(int(sys.argv[2]))
        np.savez(sys.argv[1], **arrays)

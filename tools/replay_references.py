"""Commands of the controller in the replay of five small recordings, as references for later versions.

``python -m tools.replay_references`` compares, and with ``--rewrite`` stores those of the present controller, for the
recordings that are named, or all. ``test/runs/test_replay_references.py`` compares, too.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from rosbags.highlevel import AnyReader

from benchmarks.robots import Floats
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.runs.replay import replay
from support.independent_plant import STORE, load, make_settings

FOLDER = Path(__file__).resolve().parents[1] / "test" / "runs" / "references"
EVERY = 20  # every n-th row of efforts is stored as numbers
TOLERANCE = 1e-9  # Nm, tolerance for the rounding of other processors and compilers
_LAWS = (
    "computed_torque", "feedforward", "pd_feedforward", "pd_plus", "pd_gravity", "pd", "gravity_compensation",
    "task_space_computed_torque",
)  # fmt: skip


class Recording(NamedTuple):
    """Robot, and settings of the replays by name."""

    robot: str
    settings: dict[str, ControllerSettings]


def _at_rate(rate: float) -> ControllerSettings:
    return make_settings(
        update_rate=rate,
        ki=(5.0,),
        ramp_time=0.5,
        torque_rate_limit=(200.0,),
        velocity_filter_cutoff=20.0,
    )


_FAULTS: dict[str, Any] = {"fault_reset": "auto", "torque_rate_limit": (300.0,)}
# Recorded without limits of steps, which these commands have: at the start of pd, and to a target pose.
_STEPS: dict[str, Any] = {"torque_rate_limit": ()}
RECORDINGS = {
    "laws": Recording(
        "panda",
        {law: make_settings(law=law) for law in _LAWS}
        | {"pd": make_settings(law="pd", **_STEPS)},
    ),
    "rates": Recording(
        "ur5e",
        {f"update_rate {rate:g}": _at_rate(rate) for rate in (0.0, 100.0, 250.0)},
    ),
    "faults": Recording(
        "panda",
        {
            "hold": make_settings(**_FAULTS),
            "zero": make_settings(**_FAULTS, on_fault="zero"),
            "manual": make_settings(),
        },
    ),
    "payload": Recording(
        "ur5e",
        {"observer": make_settings(collision_threshold=(60.0,), observer_gain=25.0)},
    ),
    "task space": Recording(
        "panda",
        {
            "all": make_settings(law="task_space_computed_torque", **_STEPS),
            "position": make_settings(
                law="task_space_computed_torque",
                **_STEPS,
                task_space=TaskSpaceSettings(components="x y z"),
            ),
        },
    ),
}


def machine() -> str:
    """Return the versions on which the last bits depend, and the BLAS kernels if the environment selects them."""
    selected = os.environ.get("OPENBLAS_CORETYPE")
    kernels = f", BLAS of {selected}" if selected else ""
    return f"{get_host_cpu_name()}, numba {numba.__version__}, NumPy {np.__version__}{kernels}"


def bag(name: str) -> Path:
    """Return the path of a recording."""
    return FOLDER / f"{name.replace(' ', '_')}.mcap"


def efforts(name: str, which: str) -> Floats:
    """Return the efforts (m, n) of a replay with the settings ``which``, without NaN."""
    recording = RECORDINGS[name]
    with TemporaryDirectory() as folder:
        output = Path(folder, "output")
        replay(bag(name), output, load(recording.robot)[1], recording.settings[which])
        with AnyReader([output], default_typestore=STORE) as reader:
            connections = [
                c for c in reader.connections if c.topic.endswith("command_states")
            ]
            found = [
                reader.deserialize(data, c.msgtype).effort
                for c, _, data in reader.messages(connections)
            ]
    return np.array(found)


def kept(values: Floats) -> dict[str, Any]:
    """Return the stored part of a replay: its length, every 20th row, the hash of all rows, and the machine."""
    return {
        "rows": len(values),
        "some": values[::EVERY],
        "hash": sha256(values.tobytes()).hexdigest(),
        "machine": machine(),
    }


def difference(name: str, which: str) -> str:
    """Return the difference of a replay from its reference; empty if there is none."""
    values = efforts(name, which)
    with np.load(bag(name).with_suffix(".npz")) as file:
        rows, some, bits, where = (file[f"{which}: {part}"] for part in kept(values))
    if len(values) != rows:
        return f"{len(values)} commands instead of {rows}"
    largest = float(np.abs(values[::EVERY] - some).max())
    if str(where) != machine():
        return "" if largest <= TOLERANCE else f"{largest:.3g} Nm"
    same = kept(values)["hash"] == str(bits)
    return (
        ""
        if same
        else f"other bits, with differences up to {largest:.3g} Nm in the stored rows"
    )


def rewrite(name: str) -> None:
    """Store the commands of the present controller."""
    parts = {
        f"{which}: {part}": value
        for which in RECORDINGS[name].settings
        for part, value in kept(efforts(name, which)).items()
    }
    np.savez_compressed(bag(name).with_suffix(".npz"), **parts)


if __name__ == "__main__":
    wrong = 0
    for title, entry in RECORDINGS.items():
        if "--rewrite" in sys.argv and (len(sys.argv) == 2 or title in sys.argv):
            rewrite(title)
        for case in entry.settings:
            if text := difference(title, case):
                wrong += 1
                print(f"{title}, {case}: {text}")
    sys.exit(wrong > 0)

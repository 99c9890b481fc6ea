"""Targets of the fuzzer: strategies of inputs, and the functions of the package that process them."""

from __future__ import annotations

import math
from binascii import crc32
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import yaml
from hypothesis.strategies import SearchStrategy

from benchmarks.robots import shipped
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TaskSpaceSettings,
    read_settings,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controller import make_controller, warm_up_controller
from robot_dynamics_ros.control.laws import LAWS
from tools.fuzz import bags, inputs, messages
from tools.fuzz.trial import Wrong, no_file_is_opened, with_bait

_CONFIG = Path(__file__).resolve().parents[2] / "config"
_JOINT_LAWS = sorted(name for name, law in LAWS.items() if not law.task_space)
_LARGEST = 120_000  # bytes, limit of the public URDFs, for speed
_FARTHEST = 1e6  # rad or m; a first state far beyond it is refused, without a command

#: A dynamics file with every key.
_EVERY_KEY: Any = {
    "gravity": [0.0, 0.0, -9.81],
    "joints": {
        "panda_joint1": {
            "viscous": 0.5,
            "coulomb": 0.3,
            "coulomb_negative": 0.35,
            "static": 0.4,
            "stribeck_velocity": 0.05,
            "ripple": {"amplitude": 0.02, "per_turn": 100, "phase": 0.0},
            "sigmoid": {"amplitude": 0.546, "slope": 5.12, "shift": 0.0395},
            "rotor_inertia": 2e-4,
            "gear_ratio": 100.0,
            "rotor_carrier": "parent",
        }
    },
    "links": {
        "panda_link3": {
            "mass": 3.2,
            "com": [0.04, 0.01, -0.07],
            "inertia": [0.02, 0, 0, 0.02, 0, 0.01],
        }
    },
    "rotors": [
        {
            "carrier": "panda_link1",
            "axis": [0, 0, 1],
            "inertia": 1e-4,
            "ratio": {"panda_joint2": -60.0},
        }
    ],
    "payload": {
        "link": "panda_link8",
        "mass": 1.2,
        "com": [0, 0, 0.05],
        "inertia": [0.01, 0, 0, 0.01, 0, 0.005],
    },
    "loops": [
        {
            "link_a": "panda_link1",
            "point_a": [0.1, 0, 0],
            "link_b": "panda_link5",
            "point_b": [0, 0.2, 0],
        }
    ],
}


class Target(NamedTuple):
    """Kind of input.

    ``full`` is the number of inputs of a full run, ``inputs`` returns their strategy, and ``run`` processes one: it
    raises the package's errors, or Wrong.
    """

    name: str
    full: int
    inputs: Callable[[], SearchStrategy[bytes]]
    run: Callable[[bytes], None]


def drive(model: RobotModel, settings: ControllerSettings) -> None:
    """Pass states at rest, at the limits, fast and implausible ones to a controller; check its commands."""
    low = np.where(
        np.isfinite(model.position_lower), model.position_lower, -math.pi
    ).clip(-_FARTHEST, _FARTHEST)
    high = np.where(
        np.isfinite(model.position_upper), model.position_upper, math.pi
    ).clip(-_FARTHEST, _FARTHEST)
    rest = np.zeros(model.n)
    middle = 0.5 * low + 0.5 * high
    states = [
        (middle, rest),
        (low, rest + 1.0),
        (high, rest - 3.0),
        (middle, rest + 1e150),
        (rest + 1e300, rest),
    ]
    controller = make_controller(model, settings)
    # the controller checks the results
    with np.errstate(over="ignore", invalid="ignore"):
        commands = []
        for k, state in enumerate(states):
            controller.measure(k * 1e-3, k * 1e-3, *state)
            commands.append(controller.update(k * 1e-3, k * 1e-3))
        commands.append(controller.finish(controller.clock.time))
    for command in commands:
        if command is None:
            raise Wrong(f"a command is missing for {len(states)} states: {commands}")
        messages.check_effort(model, command.effort)


@cache
def _planar() -> RobotModel:
    return shipped("planar_2r", "planar_2r_tsai")


@contextmanager
def _written(data: bytes) -> Iterator[Path]:
    """Yield a YAML file with these bytes."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file.yaml"
        file.write_bytes(with_bait(data))
        yield file


@cache
def _urdfs() -> list[bytes]:
    """Return URDFs; small ones several times, so that small and large ones use the same time in total."""
    public = [
        Path(str(file.locate()))
        for file in files("example-robot-data") or ()
        if file.suffix == ".urdf"
    ]
    texts = [file.read_bytes() for file in [*map(robot_urdf, robot_names()), *public]]
    return [text for text in texts for _ in range(_LARGEST // len(text))]


def _run_urdf(data: bytes) -> None:
    text = with_bait(data)
    with no_file_is_opened():
        model = RobotModel.from_urdf(text)
    drive(model, ControllerSettings(law=_JOINT_LAWS[crc32(data) % len(_JOINT_LAWS)]))


def _yaml(pattern: str) -> list[Any]:
    return [
        yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in sorted(_CONFIG.glob(pattern))
    ]


def _run_dynamics_file(data: bytes) -> None:
    with _written(data) as file:
        model = RobotModel.from_urdf_file(robot_urdf("panda"), dynamics=file)
    drive(model, ControllerSettings())


def _run_messages(data: bytes) -> None:
    messages.play(_planar(), with_bait(data))


def _run_parameters(data: bytes) -> None:
    values = {p.name: p.default for p in controller.ALL} | yaml.safe_load(
        with_bait(data)
    )
    settings = read_settings(values.__getitem__)
    Tuning(_planar(), settings)
    drive(_planar(), settings)


def _run_parameter_file(data: bytes) -> None:
    with _written(data) as file:
        settings = read_settings(
            read_parameter_file(file, "/arm/computed_torque_node", controller.ALL)
        )
    drive(_planar(), settings)


def compile_kernels() -> None:
    """Compile the kernels of robots and controllers, so that inputs are timed without compilation."""
    for law in LAWS:
        settings = ControllerSettings(
            law=law, task_space=TaskSpaceSettings(components="x y")
        )
        warm_up_controller(_planar(), settings)
        drive(_planar(), settings)


_TARGETS = (
    Target("urdf", 50_000, lambda: inputs.urdfs(_urdfs()), _run_urdf),
    Target(
        "dynamics file",
        10_000,
        lambda: inputs.yaml_files([_EVERY_KEY, *_yaml("*.dynamics.yaml")]),
        _run_dynamics_file,
    ),
    Target("messages", 10_000, messages.sequences, _run_messages),
    Target(
        "parameters",
        20_000,
        lambda: inputs.parameters().map(inputs.as_yaml),
        _run_parameters,
    ),
    Target(
        "parameter file",
        5_000,
        lambda: inputs.parameter_files(
            [x for x in _yaml("*.yaml") if "ros__parameters" in str(x)]
        ),
        _run_parameter_file,
    ),
    Target("bags", 5_000, bags.bags, bags.read),
)
ALL = {target.name: target for target in _TARGETS}

"""Targets of the fuzzer: generation of inputs, and the functions of the package that process them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from binascii import crc32
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.resources import find_resource, robot_names, robot_urdf
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, TaskSpaceSettings, read_settings
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.control.warm_up import warm_up_controller
from tools.fuzz import bags, driven, dynamics_files, messages, parameter_files, parameter_values, urdfs
from tools.fuzz.trial import no_file_is_opened

ROOT = Path(__file__).resolve().parents[2]
_JOINT_LAWS = sorted(name for name, law in LAWS.items() if not law.task_space)
_LARGEST = 120_000  # bytes, limit of the public URDFs, for speed


class Target(ABC):
    """Kind of input.

    Attributes
    ----------
    name
        Name for --target.
    full
        Number of inputs with --full.
    """

    name: str
    full: int

    @abstractmethod
    def make(self, rng: random.Random) -> bytes:
        """Return an input."""

    @abstractmethod
    def run(self, data: bytes) -> None:
        """Process an input; raises the package's errors, or Wrong."""

    def counted(self, tried: int) -> str:
        """Return the number of inputs as text."""
        return f"{tried:,}"


class Urdfs(Target):
    """URDFs: build a model and control it with any law; no file may be opened."""

    name, full = "urdf", 50_000

    @cached_property
    def _originals(self) -> list[bytes]:
        found = [robot_urdf(name) for name in robot_names()]
        try:
            public = files("example-robot-data") or []
        except PackageNotFoundError:
            public = []
        found += [Path(str(file.locate())) for file in public if file.suffix == ".urdf"]
        texts = [file.read_bytes() for file in found]
        return [text for text in texts if len(text) <= _LARGEST]

    @cached_property
    def _shares(self) -> list[float]:
        """Return the weight of each original, so that small and large ones use the same time in total."""
        return [1.0 / len(text) for text in self._originals]

    def make(self, rng: random.Random) -> bytes:
        (original,) = rng.choices(self._originals, self._shares)
        return urdfs.mutated(rng, original)

    def run(self, data: bytes) -> None:
        with no_file_is_opened():
            model = RobotModel.from_urdf(data)
        law = _JOINT_LAWS[crc32(data) % len(_JOINT_LAWS)]
        driven.drive(model, ControllerSettings(law=law), driven.states_of(model))


class DynamicsFiles(Target):
    """Dynamics files for the Panda."""

    name, full = "dynamics file", 10_000

    @cached_property
    def _urdf(self) -> bytes:
        return robot_urdf("panda").read_bytes()

    @cached_property
    def _originals(self) -> list[object]:
        kept = [*sorted((ROOT / "config").glob("*.dynamics.yaml"))]
        return [dynamics_files.EXAMPLE, *(yaml.safe_load(file.read_text(encoding="utf-8")) for file in kept)]

    def make(self, rng: random.Random) -> bytes:
        return dynamics_files.mutated(rng, rng.choice(self._originals))

    def run(self, data: bytes) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "dynamics.yaml"
            file.write_bytes(data)
            model = RobotModel.from_urdf(self._urdf, dynamics=file)
        driven.drive(model, ControllerSettings(), driven.states_of(model))


class Messages(Target):
    """Sequences of messages on the input topics of a running controller."""

    name, full = "messages", 10_000

    def __init__(self) -> None:
        self._count = 0

    def counted(self, tried: int) -> str:
        return f"{tried:,} ({self._count:,} messages)"

    @cached_property
    def _model(self) -> RobotModel:
        dynamics = find_resource("config", "planar_2r_tsai.dynamics.yaml")
        return RobotModel.from_urdf_file(robot_urdf("planar_2r"), dynamics=dynamics)

    def make(self, rng: random.Random) -> bytes:
        return messages.made(rng, self._model.joint_names)

    def run(self, data: bytes) -> None:
        self._count += messages.play(self._model, data)


class Parameters(Target):
    """Values of the controller's parameters; accepted ones are used by a controller."""

    name, full = "parameters", 20_000

    @cached_property
    def _model(self) -> RobotModel:
        return RobotModel.from_urdf_file(robot_urdf("planar_2r"))

    def make(self, rng: random.Random) -> bytes:
        return parameter_values.made(rng)

    def run(self, data: bytes) -> None:
        settings = read_settings(parameter_values.values(data))
        Tuning(self._model, settings)
        driven.drive(self._model, settings, driven.states_of(self._model))


class ParameterFiles(Target):
    """Parameter files of the controller, whose values are used by a controller."""

    name, full = "parameter file", 5_000

    @cached_property
    def _model(self) -> RobotModel:
        return RobotModel.from_urdf_file(robot_urdf("planar_2r"))

    @cached_property
    def _originals(self) -> list[object]:
        kept = (file.read_text(encoding="utf-8") for file in sorted((ROOT / "config").glob("*.yaml")))
        return [yaml.safe_load(text) for text in kept if "ros__parameters" in text]

    def make(self, rng: random.Random) -> bytes:
        return parameter_files.mutated(rng, self._originals)

    def run(self, data: bytes) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "parameters.yaml"
            file.write_bytes(data)
            settings = read_settings(read_parameter_file(file, "/arm/computed_torque_node", controller.ALL))
        driven.drive(self._model, settings, driven.states_of(self._model))


class Bags(Target):
    """Damaged recordings: valid parts are read, or the bag is refused; the files remain unchanged."""

    name, full = "bags", 5_000

    def make(self, rng: random.Random) -> bytes:
        return bags.mutated(rng)

    def run(self, data: bytes) -> None:
        bags.read(data)


def compile_kernels() -> None:
    """Compile the kernels of robots and controllers, so that inputs are timed without compilation."""
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    for law in LAWS:
        settings = ControllerSettings(law=law, task_space=TaskSpaceSettings(components="x y"))
        warm_up_controller(model, settings)
        driven.drive(model, settings, driven.states_of(model))


ALL: dict[str, Target] = {
    target.name: target for target in (Urdfs(), DynamicsFiles(), Messages(), Parameters(), ParameterFiles(), Bags())
}

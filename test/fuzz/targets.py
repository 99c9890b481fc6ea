"""What is fuzzed: how inputs are made, and what the package has to do with one."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from fuzz import driven, dynamics_files, messages, parameter_values, urdfs
from fuzz.nasty import damaged
from fuzz.trial import Wrong, no_file_is_opened

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags.joint_series import read_joint_names, read_joint_states
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.rehearsal import rehearse
from robot_dynamics_ros.control.settings import ControllerSettings, TaskSpaceSettings
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.parameters.controller_settings import read_settings
from robot_dynamics_ros.resources import find_resource, robot_names, robot_urdf

ROOT = Path(__file__).resolve().parents[2]
_LARGEST = 120_000  # bytes of a public URDF that is worth its time


class Target(ABC):
    """A kind of input."""

    name: str

    @abstractmethod
    def make(self, rng: random.Random) -> bytes:
        """Return an input."""

    @abstractmethod
    def run(self, data: bytes) -> None:
        """Give it to the package; raises what the package raises, or Wrong."""


class Urdfs(Target):
    """A URDF becomes a model, which is then controlled; no file is opened."""

    name = "urdf"

    @cached_property
    def _originals(self) -> list[bytes]:
        found = [robot_urdf(name) for name in robot_names()] * 4
        try:
            public = files("example-robot-data") or []
        except PackageNotFoundError:
            public = []
        found += [Path(str(file.locate())) for file in public if file.suffix == ".urdf"]
        texts = [file.read_bytes() for file in found]
        return [text for text in texts if len(text) <= _LARGEST]

    def make(self, rng: random.Random) -> bytes:
        return urdfs.mutated(rng, rng.choice(self._originals))

    def run(self, data: bytes) -> None:
        with no_file_is_opened():
            model = RobotModel.from_urdf(data)
        driven.drive(model, ControllerSettings(), driven.states_of(model))


class DynamicsFiles(Target):
    """A dynamics file for the Panda."""

    name = "dynamics file"

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
    """joint_states and trajectories, as bytes, one after the other, to a controller that runs."""

    name = "messages"

    @cached_property
    def _model(self) -> RobotModel:
        dynamics = find_resource("config", "planar_2r_tsai.dynamics.yaml")
        return RobotModel.from_urdf_file(robot_urdf("planar_2r"), dynamics=dynamics)

    def make(self, rng: random.Random) -> bytes:
        return messages.made(rng, self._model.joint_names)

    def run(self, data: bytes) -> None:
        messages.play(self._model, data)


class Parameters(Target):
    """Values of the controller's parameters; those that are taken are then driven with."""

    name = "parameters"

    @cached_property
    def _model(self) -> RobotModel:
        return RobotModel.from_urdf_file(robot_urdf("planar_2r"))

    def make(self, rng: random.Random) -> bytes:
        return parameter_values.made(rng)

    def run(self, data: bytes) -> None:
        settings = read_settings(parameter_values.values(data))
        Tuning(self._model, settings)
        driven.drive(self._model, settings, driven.states_of(self._model))


class Bags(Target):
    """A damaged recording: what is whole is read, or it is refused; the file stays as it is."""

    name = "bags"

    @cached_property
    def _originals(self) -> list[tuple[str, bytes]]:
        return messages.bag_files()

    def make(self, rng: random.Random) -> bytes:
        suffix, data = rng.choice(self._originals)
        return suffix.encode().ljust(8) + damaged(rng, data)

    def run(self, data: bytes) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / f"bag{data[:8].decode().strip()}"
            file.write_bytes(data[8:])
            names = read_joint_names(file, "/joint_states")
            series = read_joint_states(file, ["/joint_states"], joint_names=names)["/joint_states"]
            if len(series.stamps) == 0 or file.read_bytes() != data[8:]:
                raise Wrong("nothing was read, or the file is another")


def compile_kernels() -> None:
    """Compile what robots and controllers use, so that no input has to wait for it."""
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    for law in LAWS:
        settings = ControllerSettings(law=law, task_space=TaskSpaceSettings(components=("x", "y")))
        rehearse(model, settings)
        driven.drive(model, settings, driven.states_of(model))


ALL: dict[str, Target] = {
    target.name: target for target in (Urdfs(), DynamicsFiles(), Messages(), Parameters(), Bags())
}

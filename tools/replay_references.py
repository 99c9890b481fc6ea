"""Five small recordings, and the controller's commands in their replay, as references for later versions.

``python -m tools.replay_references --rewrite`` records them again with the independent plant and writes the commands of
the present controller; without the option it compares. ``test/offline/test_replay_references.py`` compares, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.offline.replay import replay
from support.independent_plant import STORE, TYPES, Session, header, load

Floats = NDArray[np.float64]

FOLDER = Path(__file__).resolve().parents[1] / "test" / "offline" / "references"
EVERY = 20  # every n-th row of efforts is stored as numbers
TOLERANCE = 1e-9  # Nm, tolerance for the rounding of other processors and compilers
_AUTO = {"fault_reset": "auto"}
# A new law is added when the references are recorded again.
_LAWS = (
    "computed_torque", "feedforward", "pd_feedforward", "pd_plus", "pd_gravity", "pd", "gravity_compensation",
    "task_space_computed_torque",
)  # fmt: skip


class _Taped(Session):
    """Session whose inputs are written to a bag when they are received."""

    bag: Writer
    topics: dict[str, Any]

    def record(self, path: Path, motion: Callable[[_Taped], None]) -> None:
        running, self.topics = self.running, {}
        for name in ("receive_state", "receive_trajectory"):
            topic, kind = {
                "receive_state": ("/joint_states", "sensor_msgs/msg/JointState"),
                "receive_trajectory": ("/arm/joint_trajectory", "trajectory_msgs/msg/JointTrajectory"),
            }[name]
            setattr(running, name, self._taped(getattr(running, name), topic, kind))
        target = running.receive_target
        running.receive_target = lambda topic, data: (  # type: ignore[method-assign]
            self.write(f"/arm/{topic}", "geometry_msgs/msg/PoseStamped", data), target(topic, data))[1]  # fmt: skip
        self.bag = Writer(path, version=8, storage_plugin=StoragePlugin.MCAP)
        self.bag.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with self.bag:
            motion(self)

    def _taped(self, receive: Any, topic: str, kind: str) -> Any:
        def taped(data: bytes) -> Any:
            self.write(topic, kind, data)
            return receive(data)

        return taped

    def write(self, topic: str, kind: str, data: bytes) -> None:
        if topic not in self.topics:
            self.topics[topic] = self.bag.add_connection(topic, kind, typestore=STORE)
        self.bag.write(self.topics[topic], self.ros, data)

    def carry(self, mass: float) -> None:
        zero, com = (0.0,) * 6, (0.0, 0.0, 0.1)
        inertia = TYPES["geometry_msgs/msg/Inertia"](mass, TYPES["geometry_msgs/msg/Vector3"](*com), *zero)
        message = TYPES["geometry_msgs/msg/InertiaStamped"](header(0, self.model.link_names[-1]), inertia)
        kind = "geometry_msgs/msg/InertiaStamped"
        self.write("/arm/payload", kind, bytes(STORE.serialize_cdr(message, kind)))
        self.controller.arm.set_payload(self.model.link_names[-1], mass, com, zero)

    def slow_down(self, factor: float) -> None:
        kind = "std_msgs/msg/Float64"
        self.write("/arm/speed_scaling_factor", kind, bytes(STORE.serialize_cdr(TYPES[kind](factor), kind)))
        self.controller.plan.set_speed(factor)


def _there_and_back(session: _Taped) -> None:
    start = session.plant.q.copy()
    session.run(0.2)
    step = np.resize([0.4, 0.2, -0.3], len(start))
    session.go([start + step, start - 0.5 * step, start], [0.8, 1.8, 2.6])
    session.run(3.0)


def _faults(session: _Taped) -> None:
    n = len(session.names)
    disturbances: tuple[Callable[[], object], ...] = (
        lambda: session.cycle(q=np.full(n, np.nan)),
        lambda: session.pass_time(0.3),
        lambda: session.cycle(q=session.plant.q + 0.4),
        lambda: session.cycle(stamp=session.ros - 1_000_000_000),
        lambda: session.run(0.15, q=session.plant.q.copy(), qd=session.plant.qd.copy()),
        lambda: session.run(0.03, stamp=session.ros),
    )
    start = session.plant.q.copy()
    session.run(0.2)
    for k, disturb in enumerate(disturbances):
        session.go(start + 0.3 * (-1) ** k, 1.0)
        session.run(0.3)
        disturb()
        session.run(0.4)


def _payload(session: _Taped) -> None:
    start = session.plant.q.copy()
    session.run(0.2)
    session.go([start + 0.3, start], [1.0, 2.0])
    session.run(0.5)
    session.carry(1.0)
    session.run(0.5)
    session.slow_down(0.4)
    session.run(0.8)
    session.carry(0.7)
    session.slow_down(1.0)
    session.run(1.0)


def _task_space(session: _Taped) -> None:
    session.run(0.2)
    where, turn = session.model.link_pose(session.plant.q, session.model.link_names[-1])[:3, 3], [1.0, 0.0, 0.0, 0.0]
    for k in range(6):
        session.aim(where + 0.05 * np.array([(-1) ** k, k % 3 - 1, 0.5 * (k % 2)]), turn)
        session.run(0.4)


def _settings(safety: dict[str, Any] | None = None, **values: Any) -> ControllerSettings:
    return ControllerSettings(safety=SafetySettings(**(safety or {})), **values)


class Recording(NamedTuple):
    """Robot, rate (Hz) of its states, motion, and settings of the replays; the first are those of the recording."""

    robot: str
    rate: float
    motion: Callable[[_Taped], None]
    settings: dict[str, ControllerSettings]
    plant: dict[str, Any] = {}


RECORDINGS = {
    "laws": Recording(
        "panda", 125.0, _there_and_back,
        {law: _settings(law=law) for law in _LAWS},
    ),
    "rates": Recording(
        "ur5e", 125.0, _there_and_back,
        {
            f"update_rate {rate:g}": _settings(
                update_rate=rate, ki=(5.0,), ramp_time=0.5, torque_rate_limit=(200.0,), velocity_filter_cutoff=20.0
            )
            for rate in (0.0, 100.0, 250.0)
        },
        {"payload": 0.5},
    ),
    "faults": Recording(
        "panda", 125.0, _faults,
        {
            "hold": _settings(_AUTO, torque_rate_limit=(300.0,)),
            "zero": _settings({**_AUTO, "on_fault": "zero"}, torque_rate_limit=(300.0,)),
            "manual": _settings(),
        },
        {"viscous": 0.3},
    ),
    "payload": Recording(
        "ur5e", 125.0, _payload,
        {"observer": _settings({"collision_threshold": (60.0,)}, observer_gain=25.0)},
        {"reports_effort": True, "payload": 1.0},
    ),
    "task space": Recording(
        "panda", 250.0, _task_space,
        {"all": _settings(law="task_space_computed_torque"), "position": _settings(
            law="task_space_computed_torque", task_space=TaskSpaceSettings(components=("x", "y", "z")))},
    ),
}  # fmt: skip


def machine() -> str:
    """Return the versions on which the last bits depend."""
    return f"{get_host_cpu_name()}, numba {numba.__version__}, NumPy {np.__version__}"


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
            connections = [c for c in reader.connections if c.topic.endswith("command_states")]
            found = [reader.deserialize(data, c.msgtype).effort for c, _, data in reader.messages(connections)]
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
    if str(where) == machine():
        return (
            ""
            if kept(values)["hash"] == str(bits)
            else f"other bits, with differences up to {largest:.3g} Nm in the stored rows"
        )
    return "" if largest <= TOLERANCE else f"{largest:.3g} Nm"


def rewrite(name: str) -> None:
    """Record again, check that the replay repeats the live commands, and store the commands."""
    recording = RECORDINGS[name]
    first, settings = next(iter(recording.settings.items()))
    session = _Taped(recording.robot, settings, rate=recording.rate, noise=(1e-5, 1e-3), seed=1, **recording.plant)
    bag(name).unlink(missing_ok=True)
    with TemporaryDirectory() as folder:
        path = Path(folder, "recording")
        session.record(path, recording.motion)
        FOLDER.mkdir(exist_ok=True)
        (file,) = path.glob("*.mcap")
        file.replace(bag(name))
    live = np.array([given.effort for given in session.commands if given.kind in ("answer", "repeat")])
    again = efforts(name, first)
    # Without states a timer causes the cycles, whose phase is not in the bag.
    assert "state_stale" in session.causes or live.tobytes() == again.tobytes(), (
        f"{name}: the replay differs from the live commands"
    )
    parts = {
        f"{which}: {part}": value for which in recording.settings for part, value in kept(efforts(name, which)).items()
    }
    np.savez_compressed(bag(name).with_suffix(".npz"), **parts)
    causes = ", ".join(session.causes) or "none"
    print(f"{name}: {len(live)} commands, {bag(name).stat().st_size / 1e3:.0f} kB, faults: {causes}")


if __name__ == "__main__":
    wrong = 0
    for title, entry in RECORDINGS.items():
        if "--rewrite" in sys.argv:
            rewrite(title)
        for case in entry.settings:
            if text := difference(title, case):
                wrong += 1
                print(f"{title}, {case}: {text}")
    sys.exit(wrong > 0)

"""simulation_node with drives that have a loop of their own; the client writes its messages without our codec."""

from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from robot_dynamics_ros.recordings.messages.joint_state import stamp_of
from robot_dynamics_ros.ros.conversions import nanoseconds
from support.robot import WARN
from support.ros import PLANAR, RELIABLE, Array, Graph, gravity
from support.simulation import Simulation

Q = (-0.6, 0.9)
TARGET = np.array([0.5, -0.4])
PERIOD = 2_000_000  # ns
STIFFNESS = (300.0, 100.0)
DAMPING = (40.0, 8.0)
PLANT = {
    **PLANAR,
    "command_interfaces": ["position", "velocity", "stiffness", "damping", "effort"],
    "initial_positions": list(Q),
}


def _message(
    position: Any, effort: Any, stamp: int = 0, damping: Any = DAMPING
) -> Float64MultiArray:
    """Return two numbers for the stamp, then five rows: position, velocity, stiffness, damping, effort."""
    message = Float64MultiArray()
    message.layout.dim = [
        MultiArrayDimension(label="rows", size=5, stride=10),
        MultiArrayDimension(label="columns", size=2, stride=2),
    ]
    message.layout.data_offset = 2
    seconds, rest = divmod(stamp, 1_000_000_000)
    numbers = (seconds, rest, *position, 0.0, 0.0, *STIFFNESS, *damping, *effort)
    message.data = [float(x) for x in numbers]
    return message


def test_drives_move_to_their_set_points(tmp_path: Path) -> None:
    """With the gravity torque of the set point it is reached; bad messages are refused and change nothing."""
    with Graph(tmp_path) as graph:
        parameters = {
            **PLANT,
            "command_timeout": 0.5,
            "on_command_timeout": "hold",
            "real_time_factor": 5.0,
        }
        plant = Simulation(graph, parameters)
        drives = graph.publisher(Float64MultiArray, "drive_commands")
        plant.await_start()
        graph.wait(drives.get_subscription_count, "the drives to listen")
        assert graph.client.count_subscribers("effort_commands") == 0
        short = _message(TARGET, gravity(TARGET))
        short.data = short.data[:-1]
        for bad, culprit in (
            (short, "drive_commands"),
            (_message(TARGET, (0.0, np.nan)), "not finite"),
            (_message(TARGET, (0.0, 0.0), damping=(1.0, -1.0)), "joint2"),
        ):
            log = plant.log_from_now()
            graph.repeat(
                lambda bad=bad: drives.publish(bad),
                lambda log=log: log.errors,
                "the refusal",
            )
            assert culprit in log.errors[0] and "Cure" in log.errors[0]
        assert tuple(plant.states[-1].position) == Q, "the brakes are still on"

        def at_target() -> bool:
            state = plant.states[-1]
            error = np.abs(state.position - TARGET).max()
            return bool(error < 1e-6 and np.abs(state.velocity).max() < 1e-6)

        drives.publish(_message(TARGET, gravity(TARGET)))
        status = plant.await_mode("commands timed out")
        assert status.level == WARN and "hold" in status.message
        graph.wait(at_target, "the arm at its target")
        refused = graph.try_parameters(
            plant.node, {"command_interfaces": ["effort"]}
        ).values()
        assert all("restart" in reason for reason in refused)


def _set_point(at: int) -> Array:
    return np.array(Q) + 0.4 * np.sin(3e-9 * at) * np.array([1.0, -1.0])


def _lockstep_run(folder: Path, count: int) -> dict[int, bytes]:
    """Return serialized joint_states by stamp of a run that this function controls."""
    states: dict[int, bytes] = {}
    folder.mkdir()
    with Graph(folder) as graph:
        parameters = {
            **PLANT,
            "lockstep": True,
            "publish_clock": True,
            "real_time_factor": 0.0,
        }
        plant = Simulation(graph, parameters, listens=False)
        drives = graph.publisher(Float64MultiArray, "drive_commands")

        def answer(data: bytes) -> None:
            at = stamp_of(data)
            assert at is not None and at == PERIOD * (at // PERIOD)
            assert states.setdefault(at, data) == data, "one state of each time"
            q = _set_point(at)
            drives.publish(_message(-q, gravity(-q), at - PERIOD))  # a stray
            drives.publish(_message(q, gravity(q), at))

        graph.client.create_subscription(
            JointState, "joint_states", answer, RELIABLE, raw=True
        )
        graph.wait(lambda: len(states) > count, "the states")
        status = plant.next_status()
        assert status.number("answers to other states") > 0
        assert status.number("refused") == 0
    return states


def test_lockstep_runs_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    count = 700
    first, second = (
        _lockstep_run(tmp_path / name, count) for name in ("first", "second")
    )
    times = [PERIOD * (k + 1) for k in range(count)]
    assert [first[at] for at in times] == [second[at] for at in times]
    last: JointState = deserialize_message(first[times[-1]], JointState)
    np.testing.assert_allclose(last.position, _set_point(times[-1]), rtol=0, atol=0.2)
    assert np.abs(last.position - np.array(Q)).min() > 0.2, "it has moved"


def test_lockstep_names_the_missing_topic(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        plant = Simulation(graph, {**PLANT, "lockstep": True}, "/cell")
        plant.await_start()
        status = plant.await_mode("waiting for the controller")
        assert "/cell/drive_commands" in status.message
        assert nanoseconds(plant.states[-1].header.stamp) == PERIOD

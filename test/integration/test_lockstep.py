"""Controller and plant in lockstep over DDS: runs are identical to the last byte, also with lost messages."""

from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.configuration.settings import (
    read_settings as controller_settings,
)
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointStateReader,
    JointStateWriter,
    stamp_of,
)
from robot_dynamics_ros.ros.conversions import stamp, trajectory_message
from robot_dynamics_ros.runs.simulation import simulate_to_bag
from robot_dynamics_ros.runs.thresholds import START_DELAY
from robot_dynamics_ros.simulation import parameters as simulation
from robot_dynamics_ros.simulation.parameters import (
    read_settings as simulation_settings,
)
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm
from support.robot import WARN, move
from support.ros import JOINTS, PLANAR, RELIABLE, TSAI, URDF, Graph, Log, gravity
from support.simulation import Simulation

CONTROLLER = "computed_torque_node"
Q = (-0.6, 0.9)
PERIOD = 2_000_000  # ns
END = 900 * PERIOD
GOAL = (0.5, -0.4)
#: As docs/simulation.md says.
CONTROLLED = {
    **PLANAR,
    "update_rate": 0.0,
    "qos_overrides": {"/joint_states": {"subscription": {"reliability": "reliable"}}},
}
PLANT = {
    **PLANAR,
    "lockstep": True,
    "publish_clock": True,
    "start_paused": True,
    "real_time_factor": 0.0,
    "initial_positions": list(Q),
}


class Recording:
    """Serialized joint_states by stamp; a repeated state must be identical."""

    def __init__(self, graph: Graph, topic: str) -> None:
        self.states: dict[int, bytes] = {}
        self.repeated = 0
        graph.client.create_subscription(
            JointState, topic, self._receive, RELIABLE, raw=True
        )

    def _receive(self, data: bytes) -> None:
        at = stamp_of(data)
        assert at is not None
        self.repeated += at in self.states
        assert self.states.setdefault(at, data) == data, "one state of each time"


class Relay:
    """Relay that drops every n-th message; a plant in lockstep is no faster than this."""

    def __init__(self, graph: Graph, source: str, target: str, lose_every: int) -> None:
        self.lost = self._count = 0
        self._lose_every = lose_every
        self._out = graph.publisher(JointState, target)
        graph.client.create_subscription(
            JointState, source, self._receive, RELIABLE, raw=True
        )

    def _receive(self, data: bytes) -> None:
        self._count += 1
        if self._count % self._lose_every == 0:
            self.lost += 1
        else:
            self._out.publish(data)


def _pause_and_step(plant: Simulation, recording: Recording) -> None:
    """Pause halfway, step, and continue."""
    graph = plant.graph
    graph.wait(lambda: len(recording.states) > 200, "some cycles")
    plant.pause()
    last = 0, 0

    def stands_still() -> bool:
        """Check that the last state is received three more times, and no other."""
        nonlocal last
        if len(recording.states) != last[0]:
            last = len(recording.states), recording.repeated
        return recording.repeated > last[1] + 3

    graph.wait(stands_still, "the last state again and again")
    seen = set(recording.states)
    for k in range(1, 6):
        graph.wait(
            lambda: plant.try_step()[0], "a step, as soon as the answer is there"
        )
        graph.wait(
            lambda k=k: len(set(recording.states) - seen) == k,
            "the state after the step",
        )
        assert max(recording.states) == max(seen) + k * PERIOD
    plant.pause(False)


def _offline(bag: Path) -> dict[int, bytes]:
    """Return the joint_states of the same run by `robot_dynamics simulate`."""
    model = RobotModel.from_urdf(URDF, dynamics=str(PLANAR["dynamics_file"]))
    plant = simulation_settings(
        ({p.name: p.default for p in simulation.ALL} | PLANT).__getitem__, model
    )
    settings = controller_settings(
        ({p.name: p.default for p in controller.ALL} | CONTROLLED).__getitem__
    )
    simulate_to_bag(
        bag,
        SimulatedArm(plant),
        plant.period,
        model,
        settings,
        move(GOAL, 1.0),
        END * 1e-9,
    )
    with BagReader(bag) as reader:
        states = {
            stamp_of(message.data): message.data
            for message in reader.messages(["/joint_states"])
        }
    return {at: data for at, data in states.items() if at is not None}


def test_a_run_is_identical_to_one_without_nodes(tmp_path: Path) -> None:
    """The run is at twice real time, is paused and stepped, and messages are lost."""
    with Graph(tmp_path) as graph:
        recording = Recording(graph, "states_of_plant")
        relays = [
            Relay(graph, "states_of_plant", "joint_states", 100),
            Relay(graph, f"{CONTROLLER}/command_states", "answers", 100),
        ]
        node = graph.start(CONTROLLER, CONTROLLED)
        parameters = {**PLANT, "lockstep_topic": "answers", "real_time_factor": 2.0}
        plant = Simulation(
            graph, parameters, "", "-r", "joint_states:=states_of_plant", listens=False
        )
        trajectories = graph.publisher(
            JointTrajectory, f"{CONTROLLER}/joint_trajectory"
        )
        graph.wait(
            lambda: plant.statuses and plant.statuses[-1].number("commands") > 0,
            "the first answer",
        )
        graph.wait(lambda: recording.states, "the state that was answered")
        assert list(recording.states) == [PERIOD], (
            "it is paused, and time begins at one period"
        )
        message = trajectory_message(move(GOAL, 1.0))
        message.header.stamp = stamp(PERIOD + round(START_DELAY * 1e9))
        graph.wait(trajectories.get_subscription_count, "the controller to listen")
        trajectories.publish(message)
        graph.wait(
            lambda: "following a trajectory" in node.log.read_text(), "the trajectory"
        )

        plant.pause(False)
        _pause_and_step(plant, recording)
        graph.wait(lambda: max(recording.states) >= END, "the cycles")
        plant.pause()
        assert plant.next_status().number("states sent again") > 0
        # Also of states that were answered: they are repeated while time stands still, and some of these get lost.
        assert recording.repeated >= sum(relay.lost for relay in relays) > 0
        assert plant.statuses[-1].number("refused") == 0
        for process in (plant.process, node):
            assert Log(process.log, 0).errors == []
    offline = _offline(tmp_path / "bag")
    assert set(range(PERIOD, END, PERIOD)) <= recording.states.keys() & offline.keys()
    differing = [
        at for at in range(PERIOD, END, PERIOD) if recording.states[at] != offline[at]
    ]
    assert differing == [], f"the first of {len(differing)} at {differing[0] * 1e-9} s"
    last = JointStateReader(JOINTS).read(offline[END])
    assert last is not None
    np.testing.assert_allclose(last.q, GOAL, rtol=0, atol=1e-3)


def test_plant_waits_for_the_command_of_its_state(tmp_path: Path) -> None:
    """Time does not advance without the command for its state: v = M^-1 (tau - g) t."""
    with Graph(tmp_path) as graph:
        plant = Simulation(graph, {**PLANT, "start_paused": False})
        plant.await_start()
        status = plant.await_mode("waiting for the controller")
        assert (
            status.level == WARN and f"/{CONTROLLER}/command_states" in status.message
        )
        seen = len(plant.states)
        graph.wait(lambda: len(plant.states) > seen + 10, "the state again")
        assert all(state == plant.states[0] for state in plant.states)
        assert plant.now == PERIOD and tuple(plant.states[0].position) == Q
        assert plant.next_status().number("states sent again") > 10
        plant.pause()
        assert not plant.try_step()[0]
        plant.pause(False)

        publisher = graph.publisher(JointState, f"{CONTROLLER}/command_states")
        graph.wait(publisher.get_subscription_count, "the plant to listen")

        def answer(at: int, effort: Any) -> None:
            zeros = np.zeros(2)
            publisher.publish(
                JointStateWriter(JOINTS).write(at, zeros, zeros, np.array(effort))
            )

        tau = np.array([12.0, -3.0])
        log = plant.log_from_now()
        answer(PERIOD, [1.0, np.nan])
        for at in (0, PERIOD - 1, 2 * PERIOD):
            answer(at, tau)
        graph.wait(
            lambda: plant.statuses[-1].number("answers to other states") == 3,
            "those to other states",
        )
        assert plant.statuses[-1].number("refused") == 1
        graph.await_log(log, "joint2")
        assert plant.now == PERIOD

        answer(PERIOD, tau)
        answer(PERIOD, -tau)  # once more, as to a state that was sent again
        graph.wait(lambda: plant.now > PERIOD, "the step")
        seen = len(plant.states)
        graph.wait(
            lambda: len(plant.states) > seen + 3, "the state after it again and again"
        )
        state = plant.states[-1]
        assert plant.now == 2 * PERIOD and tuple(state.effort) == tuple(tau)
        acceleration = np.linalg.solve(
            tsai_planar_2r.mass_matrix(TSAI, np.array(Q)), tau - gravity(Q)
        )
        np.testing.assert_allclose(state.velocity, acceleration * 0.002, rtol=2e-3)

"""Controller and plant in lockstep over DDS: runs that are the same to the last byte, whatever gets lost."""

from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import BagReader
from robot_dynamics_ros.bags.simulation import START_DELAY, simulate_to_bag
from robot_dynamics_ros.messages.joint_state import JointStateReader, JointStateWriter, stamp_of
from robot_dynamics_ros.nodes.messages import stamp, trajectory_message
from robot_dynamics_ros.parameters import controller, simulation
from robot_dynamics_ros.parameters.controller_settings import read_settings as controller_settings
from robot_dynamics_ros.parameters.simulation_settings import read_settings as simulation_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm
from support.robot import WARN, move
from support.ros import JOINTS, PLANAR, RELIABLE, TSAI, URDF, Graph, gravity
from support.simulation import Simulation

CONTROLLER = "computed_torque_node"
Q = (-0.6, 0.9)
PERIOD = 2_000_000  # ns
CYCLES = 1500
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
    """joint_states as bytes, by their stamps; a state that was sent again must be the same. Counts ``known`` stamps."""

    def __init__(self, graph: Graph, topic: str, known: Set[int]) -> None:
        self.states: dict[int, bytes] = {}
        self.repeated = self.shared = 0
        self._known = known
        graph.client.create_subscription(JointState, topic, self._receive, RELIABLE, raw=True)

    def _receive(self, data: bytes) -> None:
        at = stamp_of(data)
        assert at is not None
        if at in self.states:
            self.repeated += 1
        else:
            self.shared += at in self._known
        assert self.states.setdefault(at, data) == data, "one state of each time"


class Relay:
    """Hands messages on, but loses every so many; a plant in lockstep is no faster than this."""

    def __init__(self, graph: Graph, source: str, target: str, lose_every: int) -> None:
        self.lost = self._count = 0
        self._lose_every = lose_every
        self._out = graph.publisher(JointState, target)
        graph.client.create_subscription(JointState, source, self._receive, RELIABLE, raw=True)

    def _receive(self, data: bytes) -> None:
        self._count += 1
        if self._count % self._lose_every == 0:
            self.lost += 1
        else:
            self._out.publish(data)


def _pause_and_step(plant: Simulation, recording: Recording) -> None:
    """Half-way: time stands still, goes on in single steps, and by itself again."""
    graph = plant.graph
    graph.wait(lambda: len(recording.states) > 500, "some cycles")
    plant.pause()
    last = 0, 0

    def stands_still() -> bool:
        """Three times more the last state, and no other."""
        nonlocal last
        if len(recording.states) != last[0]:
            last = len(recording.states), recording.repeated
        return recording.repeated > last[1] + 3

    graph.wait(stands_still, "the last state again and again")
    seen = set(recording.states)
    for k in range(1, 6):
        graph.wait(lambda: plant.try_step()[0], "a step, as soon as the answer is there")
        graph.wait(lambda k=k: len(set(recording.states) - seen) == k, "the state after the step")
        assert max(recording.states) == max(seen) + k * PERIOD
    plant.pause(False)


def _run(folder: Path, *, pace: float, lose_every: int = 0, known: Set[int] = frozenset()) -> dict[int, bytes]:
    """The joint_states of one run along a trajectory of later stamps, which is there before the first step.

    With ``lose_every`` they go through this process, so that it has each of them.
    """
    folder.mkdir()
    with Graph(folder) as graph:
        remapped = ("-r", "joint_states:=states_of_plant") if lose_every else ()
        topic = "answers" if lose_every else f"{CONTROLLER}/command_states"
        parameters = {**PLANT, "lockstep_topic": topic, "real_time_factor": pace}
        relays = []
        if lose_every:
            relays.append(Relay(graph, "states_of_plant", "joint_states", lose_every))
            relays.append(Relay(graph, f"{CONTROLLER}/command_states", "answers", lose_every))
        recording = Recording(graph, "states_of_plant" if lose_every else "joint_states", known)
        controller = graph.start(CONTROLLER, CONTROLLED)
        plant = Simulation(graph, parameters, "", *remapped, listens=False)
        trajectories = graph.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        graph.wait(lambda: plant.statuses and plant.statuses[-1].number("commands") > 0, "the first answer")
        graph.wait(lambda: recording.states, "the state that was answered")
        assert list(recording.states) == [PERIOD], "it is paused, and time begins at one period"
        message = trajectory_message(move(GOAL, 2.0))
        message.header.stamp = stamp(PERIOD + round(START_DELAY * 1e9))
        graph.wait(trajectories.get_subscription_count, "the controller to listen")
        trajectories.publish(message)
        graph.wait(lambda: "following a trajectory" in controller.log.read_text(), "the trajectory")

        plant.pause(False)
        if not lose_every:
            _pause_and_step(plant, recording)
        graph.wait(lambda: recording.shared >= CYCLES if known else len(recording.states) >= 2400, "the cycles")
        plant.pause()
        lost = sum(relay.lost for relay in relays)
        again = plant.next_status().number("states sent again")
        assert not lost or again >= lost
        assert plant.statuses[-1].number("refused") == 0
        for process in (plant.process, controller):
            assert process.errors() == []
        return recording.states


def _offline(bag: Path, end: int) -> dict[int, bytes]:
    """The joint_states of the same run until ``end`` (ns) by `robot_dynamics simulate`, without nodes."""
    model = RobotModel.from_urdf(URDF, dynamics=str(PLANAR["dynamics_file"]))
    plant = simulation_settings(({p.name: p.default for p in simulation.ALL} | PLANT).__getitem__, model)
    settings = controller_settings(({p.name: p.default for p in controller.ALL} | CONTROLLED).__getitem__)
    simulate_to_bag(bag, SimulatedArm(plant), plant.period, model, settings, move(GOAL, 2.0), end * 1e-9)
    with BagReader(bag) as reader:
        states = {stamp_of(message.data): message.data for message in reader.messages(["/joint_states"])}
    return {at: data for at, data in states.items() if at is not None}


def test_runs_are_identical(tmp_path: Path) -> None:
    """Without a pace; at twice real time, paused and stepped on the way; with messages that get lost; and offline.

    A listener that is slower than the plant may miss states; those heard in two runs are the same, on to the goal.
    """
    full = _run(tmp_path / "full", pace=0.0, lose_every=1_000_000)
    paced = _run(tmp_path / "paced", pace=2.0, known=full.keys())
    lossy = _run(tmp_path / "lossy", pace=0.0, known=full.keys(), lose_every=50)
    for other in (paced, lossy, _offline(tmp_path / "bag", max(full))):
        both = sorted(set(full) & set(other))
        assert len(both) >= CYCLES
        differing = [at for at in both if full[at] != other[at]]
        assert differing == [], f"the first of {len(differing)} at {differing[0] * 1e-9} s"
    last = JointStateReader(JOINTS).read(full[max(full)])
    assert last is not None
    np.testing.assert_allclose(last.q, GOAL, rtol=0, atol=1e-3)


# A test that plays the controller


class Answers:
    """Commands as a controller publishes them on ~/command_states."""

    def __init__(self, graph: Graph) -> None:
        self._out = graph.publisher(JointState, f"{CONTROLLER}/command_states")
        graph.wait(self._out.get_subscription_count, "the plant to listen")

    def send(self, at: int, effort: Any, joints: tuple[str, ...] = JOINTS) -> None:
        zeros = np.zeros(len(joints))
        self._out.publish(JointStateWriter(joints).write(at, zeros, zeros, np.array(effort, dtype=float)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    with Graph(tmp_path_factory.mktemp("alone")) as graph:
        plant = Simulation(graph, {**PLANT, "start_paused": False})
        plant.await_start()
        yield plant


def test_it_waits_for_the_controller(alone: Simulation) -> None:
    """It says for what, sends its state again, and time stands still; paused, it cannot be stepped either."""
    status = alone.await_mode("waiting for the controller")
    assert status.level == WARN and f"/{CONTROLLER}/command_states" in status.message
    seen = len(alone.states)
    alone.graph.wait(lambda: len(alone.states) > seen + 10, "the state again")
    assert all(state == alone.states[0] for state in alone.states)
    assert alone.now == PERIOD and tuple(alone.states[0].position) == Q
    assert alone.next_status().number("states sent again") > 10
    alone.pause()
    assert not alone.try_step()[0]
    alone.pause(False)


def test_answers(alone: Simulation) -> None:
    """One step for the answer to the state that waits for it, and for no other message: v = M^-1 (tau - g) t."""
    graph, answers = alone.graph, Answers(alone.graph)
    tau = np.array([12.0, -3.0])
    log = alone.log_from_now()
    answers.send(PERIOD, [1.0, np.nan])
    answers.send(PERIOD, [1.0], ("joint1",))
    for at in (0, PERIOD - 1, 2 * PERIOD):
        answers.send(at, tau)
    graph.wait(lambda: alone.statuses[-1].number("answers to other states") == 3, "those to other states")
    assert alone.statuses[-1].number("refused") == 2
    graph.await_log(log, "joint2")
    assert alone.now == PERIOD

    answers.send(PERIOD, tau)
    answers.send(PERIOD, -tau)  # once more, as to a state that was sent again
    graph.wait(lambda: alone.now > PERIOD, "the step")
    seen = len(alone.states)
    graph.wait(lambda: len(alone.states) > seen + 3, "the state after it again and again")
    state = alone.states[-1]
    assert alone.now == 2 * PERIOD and tuple(state.effort) == tuple(tau)
    acceleration = np.linalg.solve(tsai_planar_2r.mass_matrix(TSAI, np.array(Q)), tau - gravity(Q))
    np.testing.assert_allclose(state.velocity, acceleration * 0.002, rtol=2e-3)

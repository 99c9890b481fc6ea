"""The plant as a node: services, clock, pace, external wrenches, and refused input."""

import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import ArrayLike
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from oracles import tsai_planar_2r
from robot_dynamics_ros.ros.conversions import nanoseconds
from support.robot import ERROR, OK, WARN
from support.ros import JOINTS, PLANAR, TSAI, URDF, Array, Graph, gravity
from support.simulation import Simulation

Q = (-0.6, 0.9)
TAU = (12.0, -3.0)
PERIOD = 2_000_000  # ns

USUAL = {
    "real_time_factor": 1.0,
    "command_timeout": float("inf"),
    "friction_scale": [0.0],
    "payload.link": "",
}


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    """Start a simulation that publishes the clock; friction is only relevant in some tests."""
    folder = tmp_path_factory.mktemp("simulation")
    dynamics = folder / "planar.dynamics.yaml"
    document = yaml.safe_load(Path(PLANAR["dynamics_file"]).read_text(encoding="utf-8"))
    document["joints"] = {name: {"viscous": 1.0} for name in JOINTS}
    dynamics.write_text(yaml.safe_dump(document), encoding="utf-8")
    parameters = {
        # no limit stops what goes wrong
        "robot_description": URDF.replace('type="revolute"', 'type="continuous"'),
        "dynamics_file": str(dynamics),
        "initial_positions": list(Q),
        "friction_scale": [0.0],
        "publish_clock": True,
    }
    with Graph(folder) as graph:
        simulation = Simulation(graph, parameters, "/lab")
        simulation.await_start()
        yield simulation
        for state in simulation.states:
            assert np.isfinite(
                [*state.position, *state.velocity, *state.effort]
            ).all(), state


@pytest.fixture
def paused(simulation: Simulation) -> Simulation:
    """Return the simulation in its initial state, paused."""
    simulation.pause()
    simulation.graph.set_parameters(simulation.node, USUAL)
    simulation.reset()
    simulation.graph.spin_for(0.1)  # commands of the test before
    simulation.reset()
    simulation.graph.wait(lambda: simulation.now == PERIOD, "the state after the reset")
    return simulation


def _acceleration(effort: ArrayLike, q: ArrayLike = Q) -> Array:
    """Return the acceleration of the arm at rest: M(q)^-1 (tau - g(q)), Tsai (9.114)-(9.118)."""
    return np.linalg.solve(
        tsai_planar_2r.mass_matrix(TSAI, np.array(q)), effort - gravity(q)
    )


def _assert_first_period(state: JointState, acceleration: Array) -> None:
    """Check v = a t from rest, up to the change of a in 2 ms."""
    np.testing.assert_allclose(state.velocity, acceleration * 0.002, rtol=2e-3)


def test_pause_step_and_reset_while_commands_keep_arriving(paused: Simulation) -> None:
    """A reset sets /clock back once, to its start, which is not zero (an unset time in ROS)."""
    graph = paused.graph
    states = paused.states
    clock = graph.collect(Clock, "/clock")
    timer = graph.client.create_timer(0.005, lambda: paused.command(TAU))
    try:
        paused.pause(False)
        graph.wait(
            lambda: clock and paused.now > 50 * PERIOD and any(states[-1].velocity),
            "the arm to move",
        )
        success, reason = paused.try_step()
        assert not success and "~/pause" in reason

        paused.pause()
        graph.wait(
            lambda: all(state == states[-1] for state in states[-5:]),
            "the same state again and again",
        )
        seen = len(states)
        assert paused.pause().endswith(f"t = {paused.now / 1e9:.6f} s")

        for _ in range(3):
            before = paused.now
            after = paused.step()
            assert paused.now == before + PERIOD and tuple(after.effort) == TAU
        graph.spin_for(0.2)
        assert states[-1] == after, "one period and no more"

        paused.pause(False)
        graph.wait(lambda: paused.now > before + 10 * PERIOD, "time to go on")
        stamps = np.array([nanoseconds(state.header.stamp) for state in states[seen:]])
        assert not (np.diff(stamps) < 0).any(), "no jump"

        seen = len(states) - 1  # the jump may come right after the last one heard
        paused.reset()
        graph.wait(
            lambda: any(nanoseconds(x.header.stamp) == PERIOD for x in states[seen:]),
            "a new start",
        )
        graph.wait(
            lambda: paused.now > 20 * PERIOD and any(states[-1].velocity),
            "the arm to move again",
        )
    finally:
        graph.client.destroy_timer(timer)
    stamps = np.array([nanoseconds(state.header.stamp) for state in states[seen:]])
    jumps = np.flatnonzero(np.diff(stamps) < 0)
    graph.wait(
        lambda: (
            (np.diff([nanoseconds(message.clock) for message in clock]) < 0).sum() == 1
        ),
        "the clock's jump",
    )
    assert (
        len(jumps) == 1
        and min(nanoseconds(message.clock) for message in clock) >= PERIOD
    )
    first = states[seen + jumps[0] + 1]
    assert nanoseconds(first.header.stamp) == PERIOD
    assert (tuple(first.position), tuple(first.velocity), tuple(first.effort)) == (
        Q,
        (0.0, 0.0),
        (0.0, 0.0),
    )


def test_external_wrench(paused: Simulation) -> None:
    """A wrench F at the tip in the axes of link 2 gives J^T F; a reset ends it."""
    fx = 40.0
    fy = -25.0
    about2 = TSAI.a2 * fy
    torque = np.array(
        [about2 + TSAI.a1 * (math.cos(Q[1]) * fy + math.sin(Q[1]) * fx), about2]
    )
    paused.push("tip", (fx, fy, 0.0, 0.0, 0.0, 0.0))
    paused.graph.wait(
        lambda: paused.statuses[-1].values["pushed links"] == "tip", "the push"
    )
    _assert_first_period(paused.first_step_under(TAU), _acceleration(TAU + torque))
    paused.reset()
    _assert_first_period(paused.first_step_under(TAU), _acceleration(TAU))


def test_invalid_commands_and_wrenches(paused: Simulation) -> None:
    """Invalid messages are counted and do not release the brakes; one per second is logged with the culprit."""
    graph = paused.graph
    log = paused.log_from_now()
    before = paused.statuses[-1].number("refused")
    paused.push("hand", (1.0,) * 6)
    paused.push("tip", (0.0, math.nan, 0.0, 0.0, 0.0, 0.0))
    graph.wait(
        lambda: paused.statuses[-1].number("refused") == before + 2, "the count of them"
    )
    graph.await_log(log, '"hand"')
    assert paused.next_status().values["pushed links"] == ""
    for effort, culprit in (([1.0], "2 joints"), ([0.0, math.nan], "joint2")):
        log = paused.log_from_now()
        graph.repeat(
            lambda effort=effort: paused.command(effort),
            lambda log=log: log.errors,
            "the refusal",
        )
        assert culprit in log.errors[0] and "effort_commands" in log.errors[0]
    assert tuple(paused.step().position) == Q


def test_command_timeout(paused: Simulation) -> None:
    """After 20 ms, ten periods, the brakes are on; the next command releases them."""
    paused.set(command_timeout=0.02, on_command_timeout="brake")
    paused.await_command(TAU)
    last = paused.step(10)
    assert tuple(last.effort) == TAU and any(last.velocity)
    locked = paused.step(2)
    assert (tuple(locked.velocity), tuple(locked.effort)) == ((0.0, 0.0), (0.0, 0.0))
    assert tuple(locked.position) == tuple(last.position), (
        "where it was when the time was over"
    )
    paused.pause(False)
    status = paused.await_mode("commands timed out")
    assert (
        status.level == WARN
        and status.values["brakes"] == "on"
        and status.number("command age") > 0.02
    )
    paused.pause()
    paused.await_command(TAU)
    _assert_first_period(paused.step(), _acceleration(TAU, last.position))


def test_states_are_repeated_in_slow_simulations(paused: Simulation) -> None:
    """With one second between states each is repeated, so that the controller detects no timeout."""
    paused.set(real_time_factor=0.002)
    paused.pause(False)
    paused.graph.wait(lambda: paused.now > PERIOD, "the next state")
    paused.graph.wait(
        lambda: all(state == paused.states[-1] for state in paused.states[-5:]),
        "the same state again",
    )
    assert paused.next_status().number("real time factor wanted") == 0.002


def test_invalid_parameters_change_nothing(paused: Simulation) -> None:
    for name, value in (
        ("step_size", 0.002),  # it needs a new start
        ("friction_scale", [1.0, 1.0, 1.0]),
        ("payload.link", "hand"),
        ("seed", -1),
    ):
        (reason,) = paused.graph.try_parameters(paused.node, {name: value}).values()
        assert name.partition(".")[0] in reason
    _assert_first_period(paused.first_step_under(TAU), _acceleration(TAU))


def test_failed_step_and_reset(paused: Simulation) -> None:
    """A step too large for 1e6 Nms/rad of damping fails with a message and finite numbers; a reset recovers."""
    log = paused.log_from_now()
    paused.set(friction_scale=[1e6])
    paused.await_command(TAU)
    paused.pause(False)
    status = paused.await_mode("failed")
    assert status.level == ERROR and "joint" in status.message
    (error,) = log.errors
    assert "joint" in error
    paused.graph.spin_for(0.1)
    last = paused.states[-1]
    seen = len(paused.states)
    paused.graph.wait(lambda: len(paused.states) > seen + 3, "the state again")
    assert all(state == last for state in paused.states[seen:])
    success, reason = paused.try_step()
    assert not success and "joint" in reason
    paused.pause()
    paused.set(friction_scale=[0.0])
    paused.reset()
    assert paused.await_mode("paused").level == OK
    _assert_first_period(paused.first_step_under(TAU), _acceleration(TAU))


def test_friction_sticks(tmp_path: Path) -> None:
    """Below the Coulomb torque the position has the same bits; effort is limited. Stamps are dates."""
    dynamics = tmp_path / "sticky.dynamics.yaml"
    start = (0.1, 0.3)
    document = {
        "gravity": [0.0, 0.0, 0.0],
        "joints": {name: {"viscous": 0.5, "coulomb": 3.0} for name in JOINTS},
    }
    dynamics.write_text(yaml.safe_dump(document), encoding="utf-8")
    with Graph(tmp_path) as graph:
        plant = Simulation(
            graph,
            {
                **PLANAR,
                "dynamics_file": str(dynamics),
                "initial_positions": list(start),
            },
        )
        plant.await_start()
        assert 0 < time.time_ns() - plant.now < 3600e9
        plant.pause()
        graph.spin_for(0.2)
        resumed = time.time_ns()
        plant.pause(False)
        graph.wait(lambda: plant.now > resumed, "time to go on")
        plant.await_command([2.99, -2.99])
        seen = len(plant.states)
        graph.wait(lambda: len(plant.states) > seen + 500, "some states")
        assert {
            (tuple(x.name), tuple(x.position), *x.velocity) for x in plant.states
        } == {(JOINTS, start, 0.0, 0.0)}
        plant.await_command([1000.0, -1000.0])
        graph.wait(lambda: plant.states[-1].position[1] < 0.2, "joint2 to give way")
        assert {tuple(x.effort) for x in plant.states} == {
            (0.0, 0.0),
            (2.99, -2.99),
            (80.0, -30.0),
        }

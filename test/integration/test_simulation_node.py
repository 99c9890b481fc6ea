"""The plant as a node: services, clock, pace, commands that stop, pushes, sensors, and what it refuses."""

import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from integration.robot import ERROR, OK, WARN
from integration.ros import JOINTS, PLANAR, TSAI, URDF, Array, Graph, Log, gravity
from integration.simulation import Simulation
from oracles import tsai_planar_2r
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation import mechanisms

from robot_dynamics_ros.nodes.messages import nanoseconds
from robot_dynamics_ros.simulation.loops import loop_gaps

Q = (-0.6, 0.9)
TAU = (12.0, -3.0)
PERIOD = 2_000_000  # ns
NAN = math.nan

USUAL = {
    "real_time_factor": 1.0,
    "command_timeout": float("inf"),
    "on_command_timeout": "zero",
    "position_noise": [0.0],
    "velocity_noise": [0.0],
    "position_resolution": [0.0],
    "mass_scale": 1.0,
    "friction_scale": [0.0],
    "payload.link": "",
}


@pytest.fixture(scope="module")
def simulations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Simulation]]:
    """One that publishes the clock, whose friction counts only where a test says so, and one whose motors lag."""
    folder = tmp_path_factory.mktemp("simulations")
    dynamics = folder / "planar.dynamics.yaml"
    document = yaml.safe_load(Path(PLANAR["dynamics_file"]).read_text(encoding="utf-8"))
    document["joints"] = {name: {"viscous": 1.0} for name in JOINTS}
    dynamics.write_text(yaml.safe_dump(document), encoding="utf-8")
    usual = {
        **PLANAR,
        "robot_description": URDF.replace('type="revolute"', 'type="continuous"'),  # no limit stops what goes wrong
        "dynamics_file": str(dynamics),
        "initial_positions": list(Q),
        "friction_scale": [0.0],
    }
    with Graph(folder) as graph:
        simulations = {
            "clocked": Simulation(graph, {**usual, "publish_clock": True}, "/clocked"),
            "lagging": Simulation(
                graph, {**usual, "effort_delay": 0.02, "start_paused": True, "use_sim_time": True}, "/lagging"
            ),
        }
        for simulation in simulations.values():
            simulation.await_start()
        yield simulations
        for simulation in simulations.values():
            for state in simulation.states:
                assert np.isfinite([*state.position, *state.velocity, *state.effort]).all(), state


@pytest.fixture
def paused(simulations: dict[str, Simulation]) -> Simulation:
    """As it is at the start, but paused."""
    simulation = simulations["clocked"]
    simulation.pause()
    simulation.graph.set_parameters(simulation.node, USUAL)
    simulation.reset()
    simulation.graph.settle(0.1)  # commands of the test before
    simulation.reset()
    simulation.graph.wait(lambda: simulation.now == PERIOD, "the state after the reset")
    return simulation


def _acceleration(q: Array, effort: Array) -> Array:
    """Of the arm at rest under efforts and gravity: M(q)^-1 (tau - g(q)), Tsai (9.114)-(9.118)."""
    return np.linalg.solve(tsai_planar_2r.mass_matrix(TSAI, q), effort - gravity(q))


def _assert_first_period(state: JointState, acceleration: Array) -> None:
    """From rest v = a t, up to the change of a in 2 ms."""
    np.testing.assert_allclose(state.velocity, acceleration * 0.002, rtol=2e-3)


# Pause, step, reset


def test_pause_step_and_reset_while_commands_keep_arriving(paused: Simulation) -> None:
    graph, states = paused.graph, paused.states
    timer = graph.client.create_timer(0.005, lambda: paused.command(TAU))
    try:
        assert "already" not in paused.pause(False) and "already" in paused.pause(False)
        graph.wait(lambda: paused.now > 50 * PERIOD and any(states[-1].velocity), "the arm to move")
        success, reason = paused.try_step()
        assert not success and "it runs" in reason and "~/pause" in reason

        paused.pause()
        graph.settle(0.1)
        seen = len(states)
        graph.settle(0.5)
        still = states[seen - 1 :]
        assert len(still) > 5, "it goes on publishing"
        assert all(state == still[0] for state in still), "time stands still, and all else"
        said = paused.pause()
        assert "already" in said and said.endswith(f"t = {paused.now / 1e9:.6f} s")

        for _ in range(3):
            before = paused.now
            after = paused.step()
            assert paused.now == before + PERIOD and tuple(after.effort) == TAU
        graph.settle(0.2)
        assert states[-1] == after, "one period and no more"

        paused.pause(False)
        graph.wait(lambda: paused.now > before + 10 * PERIOD, "time to go on")
        stamps = np.array([nanoseconds(state.header.stamp) for state in states[seen:]])
        assert set(np.diff(stamps)) <= {0, PERIOD}, "no jump anywhere"

        seen = len(states) - 1  # the jump may come right after the last one heard
        assert "brakes on" in paused.reset()
        graph.wait(lambda: any(nanoseconds(x.header.stamp) == PERIOD for x in states[seen:]), "a new start")
        graph.wait(lambda: paused.now > 20 * PERIOD and any(states[-1].velocity), "the arm to move again")
    finally:
        graph.client.destroy_timer(timer)
    stamps = np.array([nanoseconds(state.header.stamp) for state in states[seen:]])
    jumps = np.flatnonzero(np.diff(stamps) < 0)
    assert len(jumps) == 1, "one clean jump"
    first = states[seen + jumps[0] + 1]
    assert nanoseconds(first.header.stamp) == PERIOD
    assert (tuple(first.position), tuple(first.velocity), tuple(first.effort)) == (Q, (0.0, 0.0), (0.0, 0.0))


def test_the_clock_on_a_reset(paused: Simulation) -> None:
    """It jumps back once, to its start, which is no zero: ROS takes that for no time. It is that of joint_states."""
    graph = paused.graph
    clock = graph.collect(Clock, "/clock")
    paused.pause(False)
    graph.wait(lambda: clock and nanoseconds(clock[-1].clock) > 100 * PERIOD, "the clock")
    paused.reset()
    graph.wait(lambda: paused.now < 100 * PERIOD, "the reset")
    graph.wait(lambda: nanoseconds(clock[-1].clock) > 20 * PERIOD, "time to go on")
    paused.pause()
    graph.settle(0.2)
    times = np.array([nanoseconds(message.clock) for message in clock])
    assert times.min() >= PERIOD and (np.diff(times) < 0).sum() == 1
    assert times[-1] == paused.now
    seen = len(clock)
    graph.settle(0.3)
    assert len(clock) > seen + 3 and {nanoseconds(message.clock) for message in clock[seen:]} == {paused.now}


def test_without_a_clock_stamps_go_on(simulations: dict[str, Simulation]) -> None:
    """They are dates, those of the start and of what has been simulated since; after a pause they are up to date."""
    lagging = simulations["lagging"]
    before = lagging.now
    assert abs(before - time.time_ns()) < 600e9
    lagging.step(3)
    assert lagging.now == before + 3 * PERIOD
    lagging.graph.settle(1.0)
    resumed = time.time_ns()
    lagging.pause(False)
    lagging.graph.wait(lambda: lagging.now > before + 4 * PERIOD, "time to go on")
    assert lagging.now > resumed
    seen = len(lagging.states)
    lagging.process.process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    continued = time.time_ns()
    lagging.process.process.send_signal(signal.SIGCONT)
    lagging.graph.wait(lambda: lagging.now > continued, "the plant to catch up", seconds=20.0)
    lagging.pause()
    assert lagging.now < time.time_ns() + 1e9
    assert (np.diff([nanoseconds(state.header.stamp) for state in lagging.states[seen:]]) >= 0).all()


# Forces


def test_masses_scale(paused: Simulation) -> None:
    """Twice the masses: 2 M a = tau - 2 g."""
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU)))
    paused.set(mass_scale=2.0)
    paused.reset()
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU) / 2.0))


def test_a_payload(paused: Simulation) -> None:
    """A point mass m at the tip adds m J^T J to the mass matrix and its weight to gravity."""
    m, (q1, q2) = 2.0, Q
    paused.set(payload__link="tip", payload__mass=m)
    state = paused.first_step_under(TAU)
    a1, a2 = TSAI.a1, TSAI.a2
    x = np.array([a1 * math.cos(q1) + a2 * math.cos(q1 + q2), a2 * math.cos(q1 + q2)])
    y = np.array([a1 * math.sin(q1) + a2 * math.sin(q1 + q2), a2 * math.sin(q1 + q2)])
    jacobian = np.array([-y, x])
    matrix = tsai_planar_2r.mass_matrix(TSAI, np.array(Q)) + m * jacobian.T @ jacobian
    weight = gravity(Q) + m * TSAI.g * x
    _assert_first_period(state, np.linalg.solve(matrix, np.array(TAU) - weight))


def test_a_push(paused: Simulation) -> None:
    """F at the tip in its axes, those of link 2, is J^T F in the joints; a reset ends it."""
    fx, fy = 40.0, -25.0
    about2 = TSAI.a2 * fy
    torque = np.array([about2 + TSAI.a1 * (math.cos(Q[1]) * fy + math.sin(Q[1]) * fx), about2])
    paused.push("tip", (fx, fy, 0.0, 0.0, 0.0, 0.0))
    paused.graph.wait(lambda: paused.statuses[-1].values["pushed links"] == "tip", "the push")
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU) + torque))
    paused.reset()
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU)))


def test_wrenches_that_cannot_be(paused: Simulation) -> None:
    for link, wrench, culprits in (
        ("hand", (1.0,) * 6, ("external_wrench", '"hand"', "base_link", "tip")),
        ("tip", (0.0, NAN, 0.0, 0.0, 0.0, 0.0), ("external_wrench", '"tip"', "not finite")),
    ):
        time.sleep(1.1)  # the log tells one of them a second
        log = paused.log_from_now()
        before = paused.statuses[-1].number("refused")
        paused.push(link, wrench)
        paused.graph.wait(lambda log=log: log.errors, "the refusal")
        assert all(culprit in log.errors[0] for culprit in culprits), log.errors
        paused.graph.wait(lambda before=before: paused.statuses[-1].number("refused") == before + 1, "the count of it")
    assert paused.next_status().values["pushed links"] == ""


# Commands that stop


def test_commands_that_stop(paused: Simulation) -> None:
    """After 20 ms, ten periods: no effort, or brakes; the next command moves the arm again."""
    paused.set(command_timeout=0.02)
    paused.await_command(TAU)
    assert tuple(paused.step(10).effort) == TAU
    moving = paused.step()
    assert tuple(moving.effort) == (0.0, 0.0) and any(moving.velocity)
    status = paused.statuses[-1]
    paused.pause(False)
    status = paused.await_mode("commands timed out")
    assert status.level == WARN and "no effort" in status.message and status.values["brakes"] == "off"
    assert status.number("command age") > 0.02
    paused.pause()
    before = paused.states[-1]
    assert paused.step(2).position != before.position, "it swings"

    paused.set(on_command_timeout="hold")
    paused.reset()
    paused.await_command(TAU)
    last = paused.step(10)
    assert any(last.velocity)
    locked = paused.step(5)
    assert (tuple(locked.velocity), tuple(locked.effort)) == ((0.0, 0.0), (0.0, 0.0))
    assert tuple(locked.position) == tuple(last.position), "where it was when the time was over"
    paused.pause(False)
    status = paused.await_mode("commands timed out")
    assert status.level == WARN and "brakes on" in status.message and status.values["brakes"] == "on"
    paused.pause()
    paused.await_command(TAU)
    state = paused.step()
    assert tuple(state.effort) == TAU
    _assert_first_period(state, _acceleration(np.array(last.position), np.array(TAU)))


def test_motors_that_lag(simulations: dict[str, Simulation]) -> None:
    """effort_delay 20 ms: ten periods under the brakes, then the effort."""
    lagging = simulations["lagging"]
    lagging.reset()
    lagging.graph.settle(0.1)
    lagging.await_command(TAU)
    state = lagging.step(10)
    assert (tuple(state.position), tuple(state.effort)) == (Q, (0.0, 0.0))
    state = lagging.step()
    assert tuple(state.effort) == TAU
    _assert_first_period(state, _acceleration(np.array(Q), np.array(TAU)))


# Sensors


def test_noise_is_the_same_for_the_same_seed(paused: Simulation) -> None:
    def heard(seed: int) -> list[tuple[float, ...]]:
        paused.set(seed=seed)
        paused.reset()
        paused.graph.wait(lambda: paused.now == PERIOD, "the reset")
        return [tuple([*state.position, *state.velocity]) for state in (paused.step() for _ in range(10))]

    paused.set(position_noise=[0.01], velocity_noise=[0.1, 0.2])
    first, other, again = heard(3), heard(4), heard(3)
    assert first == again and first != other
    noise = np.array(first) - [*Q, 0.0, 0.0]
    # Under the brakes nothing else changes; six standard deviations.
    assert (np.abs(noise) < [0.06, 0.06, 0.6, 1.2]).all() and (noise.std(axis=0) > 0.0).all()


def test_encoders_have_steps(paused: Simulation) -> None:
    paused.set(position_resolution=[0.01, 0.0])
    state = paused.step()
    np.testing.assert_allclose(state.position, Q, rtol=0, atol=1e-12)
    paused.set(position_resolution=[0.25, 0.0])
    assert tuple(paused.step().position) == (-0.5, 0.9)


# Pace


def test_pace(paused: Simulation) -> None:
    """Simulated time is slower than the clock by real_time_factor, or as fast as can be; services work all the same."""
    graph = paused.graph

    def advance(factor: float, seconds: float) -> float:
        paused.set(real_time_factor=factor)
        paused.pause(False)
        graph.settle(0.1)
        begin, stamp = time.monotonic(), paused.now
        graph.settle(seconds)
        paused.pause()
        graph.settle(0.2)
        elapsed = time.monotonic() - begin
        simulated = (paused.now - stamp) * 1e-9
        print(f"real_time_factor {factor:g}: {simulated / elapsed:.3g} times real time at least")
        # What had been published before may come late; up to 20 ms are made up for.
        assert factor == 0.0 or simulated < factor * (elapsed + 1.0)
        return simulated

    assert 0.0 < advance(0.05, 0.5)
    assert 0.0 < advance(1.0, 0.5)
    assert 0.0 < advance(0.0, 0.05)
    assert paused.next_status().number("real time factor wanted") == 0.0


def test_slower_than_the_controller_waits(paused: Simulation) -> None:
    """With a second from state to state each is sent again, so that nobody takes the robot for dead."""
    paused.set(real_time_factor=0.002)
    paused.pause(False)
    paused.graph.settle(0.1)
    seen, stamp = len(paused.states), paused.now
    paused.graph.settle(0.9)
    assert len(paused.states) > seen + 5
    assert paused.now <= stamp + 3 * PERIOD


# What it refuses


def test_bad_parameters_change_nothing(paused: Simulation) -> None:
    for name, value, culprit in (
        ("step_size", 0.002, "start the node again"),
        ("lockstep", True, "start the node again"),
        ("initial_positions", [0.0, 0.0], "start the node again"),
        ("friction_scale", [1.0, 1.0, 1.0], "joint1, joint2"),
        ("position_noise", [-0.1], "position_noise"),
        ("payload.link", "hand", '"hand"'),
        ("on_command_timeout", "panic", "zero, hold"),
        ("seed", -1, "seed"),
    ):
        (reason,) = paused.graph.try_parameters(paused.node, {name: value}).values()
        assert reason and culprit in reason and ("Cure" in reason or "range" in reason), reason
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU)))


def test_a_simulation_that_cannot_be(paused: Simulation) -> None:
    """A step too large for 1e6 Nms/rad of damping: it says so, stands still with finite numbers, and a reset helps."""
    graph = paused.graph
    log = paused.log_from_now()
    paused.set(friction_scale=[1e6])
    paused.await_command(TAU)
    paused.pause(False)
    status = paused.await_mode("failed")
    assert status.level == ERROR and '"joint' in status.message and "step_size" in status.message
    (error,) = log.errors
    assert '"joint' in error and "Cure: " in error and "~/reset" in error
    graph.settle(0.1)
    last, seen = paused.states[-1], len(paused.states)
    paused.command((0.0, 0.0))
    graph.settle(0.3)
    assert len(paused.states) > seen + 3 and all(state == last for state in paused.states[seen:])
    success, reason = paused.try_step()
    assert not success and '"joint' in reason and "~/reset" in reason
    paused.pause()
    paused.set(friction_scale=[0.0])
    paused.reset()
    assert paused.await_mode("paused").level == OK
    _assert_first_period(paused.first_step_under(TAU), _acceleration(np.array(Q), np.array(TAU)))


def test_what_it_says_of_itself(paused: Simulation) -> None:
    paused.await_command(TAU)
    paused.pause(False)
    status = paused.await_mode("running")
    paused.graph.wait(lambda: paused.statuses[-1].number("steps") > 100, "a second")
    status = paused.statuses[-1]
    assert status.at == pytest.approx(status.number("simulated time"))
    assert set(status.values) == {
        "mode",
        "simulated time",
        "real time factor",
        "real time factor wanted",
        "skipped time",
        "brakes",
        "commands",
        "refused",
        "command age",
        "pushed links",
        "states sent again",
        "answers to other states",
        "steps",
        "solves per step",
        "largest residual",
    }
    assert 0.0 < status.number("real time factor") < 2.0
    assert 0.0 <= status.number("largest residual") < 1e-9 and status.number("solves per step") >= 0.0
    assert status.number("command age") > 0.1


def test_a_start_that_cannot_be(tmp_path: Path) -> None:
    """It says which parameter is wrong, and starts when that has been cured and the robot comes again."""
    with Graph(tmp_path) as graph:
        good = {"lockstep": True, "lockstep_topic": "answers", "effort_delay": 0.0, "position_noise": [0.0]}
        process = graph.start("simulation_node", {**PLANAR, **good, "robot_description": ""})
        for name, value in (("lockstep_topic", "a b"), ("effort_delay", 0.0005), ("position_noise", [0.1] * 3)):
            log = Log(process.log)
            graph.set_parameters("simulation_node", {**good, name: value})
            graph.describe(URDF)
            graph.wait(lambda log=log: log.errors, "the error")
            assert name in log.errors[0] and "no simulation" in log.errors[0] and "Cure: " in log.errors[0]
        graph.set_parameters("simulation_node", good)
        states = graph.collect(JointState, "joint_states")
        graph.describe(URDF)
        graph.wait(lambda: states, "the simulation")


def test_loops_are_closed(tmp_path: Path) -> None:
    """A four-bar whose coupler and rocker have no motor: closed in every state; /diagnostics has force and gap."""
    model = mechanisms.four_bar({"crank_joint": {"viscous": 0.5}})
    q, _ = mechanisms.assembled(model)
    arm, content = mechanisms.four_bar_files({"crank_joint": {"viscous": 0.5}})
    dynamics = tmp_path / "four_bar.dynamics.yaml"
    dynamics.write_text(yaml.safe_dump(content), encoding="utf-8")
    robot = {"robot_description": arm.urdf, "dynamics_file": str(dynamics)}
    with Graph(tmp_path) as graph:
        open_start = graph.start(
            "simulation_node", {**robot, "initial_positions": [0.3, 0.7, -2.5]}, "-r", "__ns:=/open"
        )
        log = Log(open_start.log)
        graph.wait(lambda: log.errors, "the error")
        assert 'between "base" and "rocker" is open by' in log.errors[0] and "start from [" in log.errors[0]

        simulation = Simulation(graph, {**robot, "initial_positions": q.tolist()}, "/closed")
        simulation.await_start()
        simulation.await_command([8.0, 0.0, 0.0])
        graph.wait(lambda: simulation.states[-1].position[0] > 2.0, "a third of a turn")
        gaps = [loop_gaps(model, np.array(state.position)).max() for state in simulation.states]
        assert max(gaps) < 1e-12
        status = simulation.next_status()
        assert status.number("loop 1: gap, m") < 1e-12
        force = [float(x) for x in status.values["loop 1: force of base on rocker, N"].split(",")]
        assert len(force) == 3 and force[2] == 0.0 and np.abs(force).max() > 0.1
        assert not [line for line in Log(simulation.process.log).lines("WARN") if "loops" in line]

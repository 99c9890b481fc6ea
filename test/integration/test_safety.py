"""Bad days: what the controller commands when a check fails, what it says, and how it comes back."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from integration.robot import ERROR, NODE, OK, WARN, Robot, comes_to_rest_at, following, holding, holds, move, near
from integration.ros import LATCHED, PLANAR, Graph, gravity
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.nodes.messages import nanoseconds

Q = (-0.6, 0.9)
STALE = {"state_timeout": 0.5, "stale_hold_time": 0.5}


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Robot]]:
    """A controller for each clock and pace, each in its namespace."""
    with Graph(tmp_path_factory.mktemp("robots")) as graph:
        robots = {}
        for clock in ("wall", "simulated"):
            for rate in (0, 200):
                name = f"{clock}_{rate}"
                parameters = {**PLANAR, "update_rate": rate, "use_sim_time": clock == "simulated"}
                process = graph.start(NODE, parameters, "-r", f"__ns:=/{name}")
                robots[name] = Robot(graph, process, f"/{name}", clock=clock == "simulated")
        for robot in robots.values():
            robot.answer_to(Q)
        yield robots
        for robot in robots.values():
            robot.assert_finite()


# No state comes any more


@pytest.mark.parametrize(
    "name",
    ["wall_0", "simulated_200", *(pytest.param(more, marks=pytest.mark.slow) for more in ("wall_200", "simulated_0"))],
)
def test_stale_feedback(name: str, robots: dict[str, Robot]) -> None:
    robot = robots[name]
    graph = robot.graph
    robot.begin(Q, STALE)
    robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
    last, speed = (-0.5, 0.8), (0.4, -0.3)
    robot.drive(lambda: any(robot.answers[-1].velocity), "the motion to begin", last, speed)
    robot.answer_to(last, speed)
    assert not near(robot.efforts[-1].data, gravity(last))

    # Silence: the torque that holds the arm where it was seen last, without damping, and then none.
    before = len(robot.efforts)
    hold = robot.await_mode("hold")
    assert (hold.change, hold.level, hold.values["cause"]) == (("active", "hold"), ERROR, "state_stale")
    assert "state_timeout" in hold.message and 0.5 < hold.number("value") and hold.number("state age") > 0.5
    robot.refuses_a_trajectory("hold", "state_timeout", "clear_fault")
    zero = robot.await_mode("zero")
    assert (zero.change, zero.level, zero.values["cause"]) == (("hold", "zero"), ERROR, "state_stale")
    robot.refuses_a_trajectory("zero")
    refused = robot.clear_fault()
    graph.wait(lambda: not np.any([message.data for message in robot.efforts[-3:]]), "no torque")
    assert not refused.success and "joint_states are" in refused.message
    silent = [message.data for message in robot.efforts[before:]]
    known = [near(effort, gravity(last)) for effort in silent]
    first = known.index(True)
    last_held = len(known) - 1 - known[::-1].index(True)
    assert all(known[first : last_held + 1]) and last_held - first > 3, silent
    assert not np.any(silent[last_held + 1 :]) and last_held < len(silent) - 3, silent

    # States again: hold at once, the cause is over after 0.2 s, and it waits to be cleared.
    here, speed = (-0.3, 0.7), (0.2, 0.1)
    seen = len(robot.changes)
    fault = robot.drive_to("fault", here, speed)
    assert [status.change for status in robot.changes[seen:]] == [("zero", "hold"), ("hold", "fault")]
    assert (fault.level, fault.values["cause"]) == (ERROR, "state_stale")
    answer = robot.answer_to(here, speed)
    held = tuple(answer.position)
    assert comes_to_rest_at(held, here, speed) and held != here
    assert near(answer.effort, holding(here, speed, held))
    robot.refuses_a_trajectory("fault")
    # Somewhere else it is pulled back, before clear_fault and after it.
    there = (-0.2, 0.6)
    answer = robot.answer_to(there, speed)
    assert (tuple(answer.position), tuple(answer.velocity)) == (held, (0.0, 0.0))
    assert near(answer.effort, holding(there, speed, held))
    assert robot.clear_fault().success
    answer = robot.later_answer_to(there, speed)
    assert (tuple(answer.position), tuple(answer.velocity)) == (held, (0.0, 0.0))
    assert near(answer.effort, following(there, speed, held))
    graph.wait(lambda: robot.changes[-1].change == ("fault", "active"), "that in /diagnostics")
    assert (robot.changes[-1].level, robot.changes[-1].number("faults")) == (OK, 1)

    # The same once more, but it goes back to active by itself.
    robot.set("fault_reset", "auto")
    robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
    robot.answer_to(there)
    robot.await_mode("zero")
    seen = len(robot.changes)
    robot.drive_to("active", here)
    assert [status.change for status in robot.changes[seen:]] == [("zero", "hold"), ("hold", "active")]
    answer = robot.later_answer_to(here)
    assert (tuple(answer.position), tuple(answer.velocity)) == (here, (0.0, 0.0)), "the trajectory is forgotten"
    assert near(answer.effort, gravity(here))
    assert robot.statuses[-1].number("faults") == 2


def test_an_emergency_stop(robots: dict[str, Robot]) -> None:
    """On the topic before the activation: the law commands nothing; then by the service."""
    robot = robots["wall_0"]
    service = f"{robot.node}/emergency_stop"
    robot.begin(Q)
    robot.deactivate()
    stop = robot.graph.publisher(Bool, service, LATCHED)
    robot.graph.wait(lambda: stop.get_subscription_count() == 1, "the node to listen")
    stop.publish(Bool(data=True))
    robot.graph.settle(0.5)
    assert robot.activate()
    count, speed = len(robot.answers), (0.4, -0.3)
    robot.answer_to(Q, speed)
    assert all(holds(answer.effort, Q, speed) for answer in robot.answers[count:])
    assert robot.await_mode("hold").values["cause"] == "emergency_stop"
    assert not robot.clear_fault().success
    stop.publish(Bool(data=False))
    robot.graph.settle(0.5)
    assert robot.clear_fault().success
    assert not near(robot.answer_to(Q, speed).effort, gravity(Q))
    assert robot.graph.call(Trigger, service, Trigger.Request()).success
    robot.await_mode("hold")
    assert robot.clear_fault().success


def _plant(graph: Graph, q: tuple[float, float]) -> NodeProcess:
    return graph.start("simulation_node", {**PLANAR, "publish_rate": 250.0, "initial_positions": list(q)})


def _kill(graph: Graph, plant: NodeProcess) -> None:
    plant.process.kill()
    plant.join(time.monotonic() + 10.0)
    graph.processes.members.remove(plant)  # the others must end well


@pytest.mark.slow
def test_a_killed_plant_and_one_that_comes_back(tmp_path: Path) -> None:
    """At first the fault waits to be cleared, the second time it is over by itself; the arm is held where it is."""
    with Graph(tmp_path) as graph:
        plant = _plant(graph, Q)
        robot = Robot(graph, graph.start(NODE, {**PLANAR, **STALE}))
        states = graph.collect(JointState, "joint_states")
        for reset in ("manual", "auto"):
            graph.wait(lambda: states and robot.answers, "the plant under control")
            robot.set("fault_reset", reset)
            robot.takes_a_trajectory(move((0.3, 0.2), 3.0))
            graph.wait(lambda: abs(states[-1].velocity[0]) > 0.2, "the arm to move")
            _kill(graph, plant)
            robot.await_mode("zero")
            graph.wait(lambda: not np.any(robot.efforts[-1].data), "no torque")
            held = [message.data for message in robot.efforts if np.any(message.data)][-3:]
            # One of its last states was the last that came.
            assert any(all(near(effort, gravity(state.position)) for effort in held) for state in states[-10:])

            seen, dead = len(robot.changes), len(states)
            plant = _plant(graph, (-0.9, 1.1))
            if reset == "manual":
                robot.await_mode("fault")
                assert "active" not in [status.values["mode"] for status in robot.changes[seen:]]
                assert robot.clear_fault().success
            robot.await_mode("active")

            def rests() -> bool:
                places = {tuple(answer.position) for answer in robot.answers[-100:]}
                return len(places) == 1 and np.abs(states[-1].velocity).max() < 1e-3

            graph.wait(rests, "the arm to come to rest")
            measured = {nanoseconds(state.header.stamp): tuple(state.position) for state in states[dead:]}
            for answer in robot.answers:
                place = measured.get(nanoseconds(answer.header.stamp))
                assert place is None or tuple(answer.velocity) == (0.0, 0.0), "nothing is to move"
            place = robot.answers[-1].position
            np.testing.assert_allclose(states[-1].position, place, rtol=0, atol=0.01)
            np.testing.assert_allclose(robot.efforts[-1].data, gravity(place), rtol=0, atol=0.5)
        robot.assert_finite()


# Time


def test_a_rate_in_simulated_time(robots: dict[str, Robot]) -> None:
    """As many cycles as fit into the clock's time, however long that takes; each answers the last state."""
    robot = robots["simulated_200"]
    robot.begin(Q)
    robot.takes_a_trajectory(move((0.4, -0.1), 0.5))
    count, begin = len(robot.answers), robot.now
    robot.drive(lambda: robot.now >= begin + 1_000_000_000, "a second", Q, dt=0.005)
    robot.graph.settle(0.1)
    # 200 and the steps on the way there; a loaded machine loses some messages of the clock.
    assert 50 < len(robot.answers) - count < 230
    assert begin < nanoseconds(robot.answers[-1].header.stamp) <= robot.now
    answer = robot.answer_to((0.4, -0.1))
    assert (tuple(answer.position), tuple(answer.velocity)) == ((0.4, -0.1), (0.0, 0.0)), "the motion is over"


@pytest.mark.parametrize("name", ["wall_0", "wall_200", "simulated_200"])
def test_a_clock_that_jumps_back(name: str, robots: dict[str, Robot]) -> None:
    """As with a bag that loops: the trajectory is dropped, and the arm held where it comes to rest."""
    robot = robots[name]
    robot.begin(Q)
    faults = 0
    for reset in ("manual", "auto"):
        robot.set("fault_reset", reset)
        begin = robot.now
        robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
        robot.drive(lambda begin=begin: robot.now > begin + 1_000_000_000, "a second", Q)
        assert any(robot.answer_to(Q).velocity)
        end, robot.now = robot.now, begin
        seen = len(robot.changes)
        here, speed = (-0.5, 0.8), (0.2, 0.1)
        robot.drive(lambda seen=seen: len(robot.changes) == seen + 2, "it is over", here, speed)
        first, *others = robot.changes[seen:]
        assert (first.change, first.level) == (("active", "hold"), ERROR)
        assert (first.values["cause"], first.number("faults")) == ("clock_jumped_back", faults + 1)
        assert first.number("value") == pytest.approx((end - begin) * 1e-9, abs=0.05)
        assert [status.change for status in others] == [("hold", "fault" if reset == "manual" else "active")]
        answer = robot.answer_to(here, speed)
        held = tuple(answer.position)
        assert comes_to_rest_at(held, here, speed) and held != here
        if reset == "manual":
            assert near(answer.effort, holding(here, speed, held))
            assert robot.clear_fault().success
            robot.drive_to("active", here, speed)
        answer = robot.later_answer_to(here, speed)
        assert (tuple(answer.position), tuple(answer.velocity)) == (held, (0.0, 0.0))
        assert near(answer.effort, following(here, speed, held))
        faults += 1


@pytest.mark.slow
def test_a_rate_that_cannot_be_kept(tmp_path: Path) -> None:
    """And the last command at the end of its life: the torque that holds the arm."""
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "update_rate": 100_000.0, "minimum_rate_ratio": 0.9}
        robot = Robot(graph, graph.start(NODE, parameters))
        robot.drive_to("hold", Q, dt=0.02)
        (status,) = robot.changes
        assert (status.change, status.level, status.values["cause"]) == (("active", "hold"), ERROR, "cycle_rate")
        assert 0.0 < status.number("value") < 0.9
        assert status.number("late cycles") > 100 and "update_rate" in status.message
        here = (-0.4, 0.8)
        assert holds(robot.answer_to(here, (0.2, 0.1), dt=0.02).effort, here, (0.2, 0.1))
        refused = robot.clear_fault()
        assert not refused.success and "update_rate" in refused.message
        assert holds(robot.answer_to(here, dt=0.02).effort, here)
        assert not np.any([answer.velocity for answer in robot.answers])
        robot.assert_finite()
        assert graph.transition(NODE, Transition.TRANSITION_ACTIVE_SHUTDOWN)
        graph.wait(lambda: near(robot.efforts[-1].data, gravity(here)), "the last command")


# Limits


def test_beyond_a_position_limit(robots: dict[str, Robot]) -> None:
    """After clear_fault it may move back inside, and no further out."""
    robot = robots["wall_0"]
    robot.begin(Q)
    inside, outside, further = (3.18, 0.9), (3.2, 0.9), (3.26, 0.9)  # the limit is pi, the margin 0.05
    robot.answer_to(inside)
    robot.answer_to(inside)
    assert robot.changes == []
    fault = robot.drive_to("hold", outside)
    assert (fault.change, fault.level) == (("active", "hold"), ERROR)
    assert (fault.values["cause"], fault.values["joint"]) == ("position_limit", "joint1")
    assert fault.number("value") == 3.2
    assert holds(robot.answer_to(outside, (0.1, 0.2)).effort, outside, (0.1, 0.2))
    robot.refuses_a_trajectory("joint1", "3.2")
    robot.drive(lambda first=robot.now: robot.now > first + 500_000_000, "half a second", outside)
    assert robot.mode == "hold", "it stays outside"

    for place in (outside, further):
        robot.drive_to("hold", place)
        assert robot.statuses[-1].number("value") == place[0]
        assert robot.clear_fault().success
        robot.drive_to("active", place)
        assert tuple(robot.answer_to(place).position) == place
    robot.takes_a_trajectory(move((3.0, 0.9), 1.0))
    robot.answer_to((3.2, 0.9))
    answer = robot.answer_to((3.1, 0.9), dt=0.5)
    assert answer.velocity[0] < -0.1
    robot.drive(lambda: robot.answers[-1].position[0] == 3.0, "the motion back inside", (3.0, 0.9))
    assert robot.mode == "active"
    robot.drive_to("hold", outside)
    assert robot.statuses[-1].number("value") == 3.2, "the limit is where it was"


def test_beyond_a_velocity_limit(robots: dict[str, Robot]) -> None:
    robot = robots["wall_0"]
    robot.begin(Q)
    slower, faster = (0.1, -6.1), (0.1, -6.3)  # the limit is 6, the margin 0.2
    robot.answer_to(Q, slower)
    assert near(robot.answer_to(Q, slower).effort, following(Q, slower, Q))
    fault = robot.drive_to("hold", Q, faster)
    assert (fault.change, fault.level) == (("active", "hold"), ERROR)
    assert (fault.values["cause"], fault.values["joint"]) == ("velocity_limit", "joint2")
    assert fault.number("value") == -6.3
    assert holds(robot.answer_to(Q, faster).effort, Q, faster)
    refused = robot.clear_fault()
    assert not refused.success and "joint2" in refused.message
    robot.drive_to("fault", Q, slower)
    held = tuple(robot.answer_to(Q, slower).position)
    assert comes_to_rest_at(held, Q, faster) and held != Q
    assert robot.clear_fault().success
    answer = robot.later_answer_to(Q, slower)
    assert tuple(answer.position) == held and near(answer.effort, following(Q, slower, held))


def test_no_torque(robots: dict[str, Robot]) -> None:
    """on_fault zero: by the rate limit, for as long as the fault waits; then back, and to the last command, by it."""
    robot = robots["wall_0"]
    robot.begin(Q, {"on_fault": "zero", "torque_rate_limit": [100.0]})
    largest = 100.0 * 0.02 + 1e-6
    robot.drive(lambda: near(robot.efforts[-1].data, gravity(Q)), "the whole torque", Q)
    fast = (0.0, 7.0)
    robot.answer_to(Q)
    before = len(robot.efforts) - 1
    fault = robot.drive_to("zero", Q, fast)
    assert (fault.change, fault.values["cause"]) == (("active", "zero"), "velocity_limit")
    robot.drive(lambda: not np.any(robot.efforts[-1].data), "no torque", Q, fast)
    robot.drive_to("fault", Q)
    robot.answer_to(Q)
    efforts = np.array([message.data for message in robot.efforts[before:]])
    steps = np.diff(efforts, axis=0)
    assert near(efforts[0], gravity(Q)) and (steps <= 0.0).all() and -largest < steps.min() < -1.0, efforts
    first = int(np.argmin(efforts.any(axis=1)))
    assert not efforts[first:].any() and len(efforts) > first + 10, efforts
    assert robot.clear_fault().success
    robot.drive(lambda: near(robot.efforts[-1].data, gravity(Q)), "the whole torque", Q)
    steps = np.diff([message.data for message in robot.efforts[before + first :]], axis=0)
    assert 1.0 < steps.max() < largest

    robot.efforts.clear()
    robot.deactivate()
    robot.graph.wait(lambda: robot.efforts and not np.any(robot.efforts[-1].data), "the last command")
    assert len(robot.efforts) > 5, "by the rate limit"


def test_the_last_command_where_nothing_can_be_held(robots: dict[str, Robot]) -> None:
    """on_fault hold, but no state for too long: no torque is left behind."""
    robot = robots["wall_0"]
    robot.begin(Q, STALE)
    robot.await_mode("zero")
    robot.deactivate()
    robot.graph.settle(0.3)
    assert tuple(robot.efforts[-1].data) == (0.0, 0.0)


# What it says of itself


def test_diagnostics_once_a_second(robots: dict[str, Robot]) -> None:
    robot = robots["wall_200"]
    robot.begin(Q, {"saturation_timeout": float("inf")})
    robot.drive(lambda: len(robot.statuses) >= 3, "two seconds", Q)
    statuses = robot.statuses
    assert robot.changes == []
    gaps = np.diff([status.at for status in statuses])
    assert (gaps > 0.3).all() and np.median(gaps) == pytest.approx(1.0, abs=0.3)
    last = statuses[-1]
    assert (last.level, last.message) == (OK, "active")
    assert (last.values["law"], last.values["mode"], last.values["cause"]) == ("computed_torque", "active", "")
    assert last.values["faults"] == last.values["clamped cycles"] == "0"
    cycles = last.number("cycles") - statuses[0].number("cycles")
    seconds = last.at - statuses[0].at
    assert last.number("rate") > 50 and cycles / seconds == pytest.approx(last.number("rate"), rel=0.5)
    assert 0.0 <= last.number("state age") < 5.0

    # Too far away to be driven back within the limits; a process that is held up.
    far = (Q[0] - 2.0, Q[1])
    late = last.number("late cycles")
    robot.process.process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    robot.process.process.send_signal(signal.SIGCONT)
    robot.drive(lambda: robot.statuses[-1].level == WARN, "the effort limit", far)
    last = robot.statuses[-1]
    assert "effort limit" in last.message
    assert last.number("clamped cycles") > 0 and last.number("late cycles") > late
    assert robot.efforts[-1].data[0] == 80.0 and max(abs(robot.efforts[-1].data[1]), 30.0) == 30.0
    # A state that grows old, with a timeout that lets it.
    robot.graph.wait(lambda: robot.statuses[-1].number("state age") > 0.5, "a state that grows old")
    assert robot.changes == []
    # At the effort limit for longer than it may be.
    robot.set("saturation_timeout", 1.0)
    fault = robot.drive_to("hold", far)
    assert (fault.values["cause"], fault.values["joint"]) == ("saturation", "joint1")

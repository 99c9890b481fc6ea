"""Bad days: what the controller commands when a check fails, what it says, and how it comes back."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from support.robot import (
    ERROR,
    NODE,
    OK,
    WARN,
    Robot,
    comes_to_rest_at,
    following,
    holding,
    holds,
    move,
    near,
    reliable_states,
)
from support.ros import LATCHED, PLANAR, Graph, gravity

Q = (-0.6, 0.9)
STALE = {"stale_hold_time": 1.0, "state_timeout": 1.0}


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Robot]]:
    """A controller for each clock and pace, each in its namespace."""
    with Graph(tmp_path_factory.mktemp("robots")) as graph:
        robots = {}
        for clock, rate in (("wall", 0), ("wall", 200), ("simulated", 200)):
            name = f"{clock}_{rate}"
            parameters = {**PLANAR, **reliable_states(f"/{name}"), "update_rate": rate}
            parameters["use_sim_time"] = clock == "simulated"
            process = graph.start(NODE, parameters, "-r", f"__ns:=/{name}")
            robots[name] = Robot(graph, process, f"/{name}", clock=clock == "simulated")
        for robot in robots.values():
            robot.answer_to(Q)
        yield robots
        for robot in robots.values():
            robot.assert_finite()


# No state comes any more


@pytest.mark.parametrize("name", ["wall_0", "wall_200", "simulated_200"])
def test_stale_feedback(name: str, robots: dict[str, Robot]) -> None:
    robot = robots[name]
    graph = robot.graph
    robot.begin(Q)
    robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
    last, speed = (-0.5, 0.8), (0.4, -0.3)
    robot.drive(lambda: any(robot.answers[-1].velocity), "the motion to begin", last, speed)
    robot.answer_to(last, speed)
    assert not near(robot.efforts[-1].data, gravity(last))

    # Silence: the torque that holds the arm where it was seen last, without damping, and then none.
    before = len(robot.efforts)
    graph.set_parameters(robot.node, STALE)
    hold = robot.await_mode("hold")
    assert (hold.change, hold.level, hold.values["cause"]) == (("active", "hold"), ERROR, "state_stale")
    assert hold.number("value") > 1.0 and hold.number("state age") > 1.0
    robot.refuses_a_trajectory("state_timeout")
    zero = robot.await_mode("zero")
    assert (zero.change, zero.level, zero.values["cause"]) == (("hold", "zero"), ERROR, "state_stale")
    assert not robot.clear_fault().success
    graph.wait(lambda: not np.any([message.data for message in robot.efforts[-3:]]), "no torque")
    silent = [message.data for message in robot.efforts[before:]]
    held = [k for k, effort in enumerate(silent) if near(effort, gravity(last))]
    assert len(held) > 3 and not np.any(silent[held[-1] + 1 :]), silent

    # States again: hold at once, the cause is over after 0.2 s, and it waits to be cleared.
    here, speed = (-0.3, 0.7), (0.2, 0.1)
    seen = len(robot.changes)
    fault = robot.drive_to("fault", here, speed)
    assert [status.change for status in robot.changes[seen:]] == [("zero", "hold"), ("hold", "fault")]
    assert (fault.level, fault.values["cause"]) == (ERROR, "state_stale")
    robot.set("state_timeout", float("inf"))
    answer = robot.answer_to(here, speed)
    held_at = tuple(answer.position)
    assert comes_to_rest_at(held_at, here, speed) and held_at != here
    assert near(answer.effort, holding(here, speed, held_at))
    robot.refuses_a_trajectory("fault")
    # Somewhere else it is pulled back, before clear_fault and after it.
    there = (-0.2, 0.6)
    answer = robot.answer_to(there, speed)
    assert (tuple(answer.position), tuple(answer.velocity)) == (held_at, (0.0, 0.0))
    assert near(answer.effort, holding(there, speed, held_at))
    assert robot.clear_fault().success
    answer = robot.later_answer_to(there, speed)
    assert (tuple(answer.position), tuple(answer.velocity)) == (held_at, (0.0, 0.0)), "the trajectory is forgotten"
    assert near(answer.effort, following(there, speed, held_at))
    graph.wait(lambda: robot.changes[-1].change == ("fault", "active"), "that in /diagnostics")
    assert (robot.changes[-1].level, robot.changes[-1].number("faults")) == (OK, 1)

    # The same once more, but it goes back to active by itself.
    robot.set("fault_reset", "auto")
    robot.set("state_timeout", 1.0)
    robot.await_mode("zero")
    seen = len(robot.changes)
    robot.drive_to("active", here)
    assert [status.change for status in robot.changes[seen:]] == [("zero", "hold"), ("hold", "active")]
    robot.set("state_timeout", float("inf"))
    answer = robot.later_answer_to(here)
    assert (tuple(answer.position), tuple(answer.velocity)) == (here, (0.0, 0.0))
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
    robot.graph.settle(0.5)  # nothing tells that an inactive node has it
    assert robot.activate()
    count, speed = len(robot.answers), (0.4, -0.3)
    robot.answer_to(Q, speed)
    assert all(holds(answer.effort, Q, speed) for answer in robot.answers[count:])
    assert robot.await_mode("hold").values["cause"] == "emergency_stop"
    assert not robot.clear_fault().success
    stop.publish(Bool(data=False))
    robot.graph.wait(lambda: robot.clear_fault().success, "the end of the stop")
    assert not near(robot.answer_to(Q, speed).effort, gravity(Q))
    assert robot.graph.call(Trigger, service, Trigger.Request()).success
    robot.await_mode("hold")
    assert robot.clear_fault().success


# Time


@pytest.mark.parametrize("name", ["wall_0", "simulated_200"])
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
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "update_rate": 100_000.0, "minimum_rate_ratio": 0.9}
        robot = Robot(graph, graph.start(NODE, parameters))
        robot.drive_to("hold", Q)
        (status,) = robot.changes
        assert (status.change, status.level, status.values["cause"]) == (("active", "hold"), ERROR, "cycle_rate")
        assert 0.0 < status.number("value") < 0.9
        assert status.number("late cycles") > 0 and "update_rate" in status.message
        here = (-0.4, 0.8)
        assert holds(robot.answer_to(here, (0.2, 0.1)).effort, here, (0.2, 0.1))
        assert not robot.clear_fault().success
        robot.assert_finite()
        assert graph.transition(NODE, Transition.TRANSITION_ACTIVE_SHUTDOWN)


# Limits


def test_beyond_a_position_limit(robots: dict[str, Robot]) -> None:
    """After clear_fault it may move back inside."""
    robot = robots["wall_0"]
    robot.begin(Q)
    inside, outside = (3.18, 0.9), (3.2, 0.9)  # the limit is pi, the margin 0.05
    robot.answer_to(inside)
    assert robot.changes == []
    fault = robot.drive_to("hold", outside)
    assert (fault.change, fault.level) == (("active", "hold"), ERROR)
    assert (fault.values["cause"], fault.values["joint"]) == ("position_limit", "joint1")
    assert fault.number("value") == 3.2
    assert holds(robot.answer_to(outside, (0.1, 0.2)).effort, outside, (0.1, 0.2))
    robot.refuses_a_trajectory("joint1")
    assert robot.clear_fault().success
    robot.drive_to("active", outside)
    assert tuple(robot.answer_to(outside).position) == outside
    robot.takes_a_trajectory(move((3.0, 0.9), 1.0))
    robot.drive(lambda: robot.answers[-1].velocity[0] < -0.1, "the way back", outside)
    robot.drive(lambda: robot.answers[-1].position[0] == 3.0, "the motion back inside", (3.0, 0.9))
    assert robot.mode == "active"
    robot.drive_to("hold", outside)  # the limit is where it was


def test_no_torque(robots: dict[str, Robot]) -> None:
    """on_fault zero: by the rate limit, for as long as the fault waits; then back, and to the last command, by it."""
    robot = robots["wall_0"]
    robot.begin(Q, {"on_fault": "zero", "torque_rate_limit": [100.0]})
    largest = 100.0 * 0.02 + 1e-6  # in the time between two states
    robot.drive(lambda: near(robot.efforts[-1].data, gravity(Q)), "the whole torque", Q)
    before, fast = len(robot.efforts) - 1, (0.0, 7.0)
    fault = robot.drive_to("zero", Q, fast)
    assert (fault.change, fault.values["cause"]) == (("active", "zero"), "velocity_limit")
    robot.drive(lambda: not np.any(robot.efforts[-1].data), "no torque", Q, fast)
    none = len(robot.efforts) - 1
    assert not robot.clear_fault().success
    robot.drive_to("fault", Q)
    assert not np.any([message.data for message in robot.efforts[none:]])
    assert robot.clear_fault().success
    robot.drive(lambda: near(robot.efforts[-1].data, gravity(Q)), "the whole torque", Q)
    steps = np.diff([message.data for message in robot.efforts[before:]], axis=0)
    assert 1.0 < np.abs(steps).max() < largest

    robot.efforts.clear()
    robot.deactivate()
    robot.graph.wait(lambda: robot.efforts and not np.any(robot.efforts[-1].data), "the last command")
    assert len(robot.efforts) > 1, "by the rate limit"


def test_the_last_command_where_nothing_can_be_held(robots: dict[str, Robot]) -> None:
    """on_fault hold, but no state for too long: no torque is left behind."""
    robot = robots["wall_0"]
    robot.begin(Q, STALE)
    robot.await_mode("zero")
    robot.graph.wait(lambda: not np.any(robot.efforts[-1].data), "no torque")
    count = len(robot.efforts)
    robot.deactivate()
    robot.graph.wait(lambda: len(robot.efforts) > count, "the last command")
    robot.graph.settle(0.5)
    assert not np.any([message.data for message in robot.efforts[count:]])


# What it says of itself


def test_diagnostics(robots: dict[str, Robot]) -> None:
    """Once a second: rates, ages, a process that is held up, the effort limit."""
    robot = robots["wall_200"]
    robot.begin(Q, {"saturation_timeout": float("inf")})
    robot.drive(lambda: len(robot.statuses) >= 3, "two seconds", Q)
    first, last = robot.statuses[0], robot.statuses[-1]
    assert robot.changes == []
    assert last.at - first.at > 0.3
    assert (last.level, last.message) == (OK, "active")
    assert (last.values["law"], last.values["mode"], last.values["cause"]) == ("computed_torque", "active", "")
    assert last.values["faults"] == last.values["clamped cycles"] == "0"
    assert last.number("cycles") > first.number("cycles") and last.number("rate") > 0.0
    assert last.number("state age") >= 0.0

    late = last.number("late cycles")
    robot.process.process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    robot.process.process.send_signal(signal.SIGCONT)
    # Too far away to be driven back within the limits.
    far = (Q[0] - 2.0, Q[1])
    robot.drive(lambda: robot.efforts[-1].data[0] == 80.0, "the effort limit", far)
    assert abs(robot.efforts[-1].data[1]) <= 30.0
    robot.drive(lambda: robot.statuses[-1].level == WARN, "a warning of the effort limit", far)
    last = robot.statuses[-1]
    assert last.number("clamped cycles") > 0 and last.number("late cycles") > late
    # A state that grows old, with a timeout that lets it.
    robot.graph.wait(lambda: robot.statuses[-1].number("state age") > 0.5, "a state that grows old")
    assert robot.changes == []
    # At the effort limit for longer than it may be.
    robot.set("saturation_timeout", 1.0)
    fault = robot.drive_to("hold", far)
    assert (fault.values["cause"], fault.values["joint"]) == ("saturation", "joint1")

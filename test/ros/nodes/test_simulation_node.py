"""Pace of a simulation, compared with exact arithmetic, and commands in lockstep."""

import math

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.ros.nodes.simulation_node import EffortReader, Pace


def _periods(
    pace: Pace, begin: float, seconds: float, work: float = 0.0
) -> tuple[int, float]:
    """Run each tick as the node does, with ``work`` (s) per period; return the periods and the skipped time."""
    done = 0
    skipped = 0.0
    ticks = round(seconds / pace.tick)
    now = begin
    for k in range(1, ticks + 1):
        now = max(now, begin + k * pace.tick)
        if now > begin + seconds + 1e-9:
            break
        while pace.due(now) and now < begin + seconds + 1e-9:
            now += work
            skipped += pace.advance(now)
            done += 1
    return done, skipped


@pytest.mark.parametrize("factor", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("rate", [1.0, 60.0, 10_000.0])
def test_simulated_time_passes_by_the_factor(factor: float, rate: float) -> None:
    """In T seconds factor T of simulated time passes, to half a tick."""
    pace = Pace(1.0 / rate, factor, 100.0)
    seconds = max(200.0 / (factor * rate), 20 * pace.tick)
    done, skipped = _periods(pace, 100.0, seconds)
    assert abs(done - seconds * factor * rate) <= 1.0 + 0.5 * pace.tick * factor * rate
    assert skipped == 0.0


@pytest.mark.parametrize("interval", [1e-5, 1e-3, 0.007, 0.011, 0.5, 30.0])
def test_a_period_is_a_whole_number_of_ticks_or_shorter(interval: float) -> None:
    """Ticks are between 0.5 and 10 ms."""
    pace = Pace(interval, 1.0, 0.0)
    assert 0.0005 <= pace.tick <= 0.01
    ticks = interval / pace.tick
    assert ticks < 1.0 or math.isclose(ticks, round(ticks))


def test_factor_zero_is_always_due() -> None:
    pace = Pace(0.002, 0.0, 0.0)
    assert [(pace.due(now), pace.advance(now)) for now in (0.0, 0.0, 1.0)] == [
        (True, 0.0)
    ] * 3


def test_a_short_delay_is_made_up_for() -> None:
    """15 ms late: the eight periods up to 16 ms (to half a tick) follow at once."""
    pace = Pace(0.002, 1.0, 0.0)
    done = 0
    while pace.due(0.0155):
        assert pace.advance(0.0155) == 0.0
        done += 1
    assert done == 8


def test_a_long_delay_is_not() -> None:
    """5 s late: at most 20 ms are caught up on, the rest is skipped and reported."""
    pace = Pace(0.002, 1.0, 0.0)
    skipped = 0.0
    done = 0
    while pace.due(5.0):
        skipped += pace.advance(5.0)
        done += 1
    assert done == 10
    assert skipped == pytest.approx(5.0 - 0.02)
    assert not pace.due(5.0009) and pace.due(5.0011), "the next one is due in time"


@pytest.mark.parametrize(
    ("rate", "stall"), [(500.0, 0.0117), (1000.0 / 3.0, 0.0519), (700.0, 3.3333)]
)
def test_after_a_delay_each_tick_has_one_period_again(
    rate: float, stall: float
) -> None:
    """Ticks are late by a little, and once by a lot; states must not stay paired."""
    pace = Pace(1.0 / rate, 1.0, 100.0)
    tick = int((pace.tick + 0.5e-9) * 1e9) * 1e-9
    rng = np.random.default_rng(0)
    counts = []
    for k in range(1, 1_000_000, 997):
        now = 100.0 + k * tick + stall * (k == 1 + 997) + rng.uniform(0.0, 0.4 * tick)
        count = 0
        while pace.due(now):
            pace.advance(now)
            count += 1
        counts.append(count)
        for early in range(1, 997):  # ticks in between, to keep it going
            if pace.due(now + early * tick):
                pace.advance(now + early * tick)
    assert set(counts[5:]) == {1}


def test_too_slow_a_machine_falls_behind() -> None:
    """Periods of 2 ms that take 8 ms: a quarter of the rate, and the rest of the time is skipped."""
    done, skipped = _periods(Pace(0.002, 1.0, 0.0), 0.0, 4.0, work=0.008)
    assert done == pytest.approx(500, abs=5)
    assert skipped == pytest.approx(3.0, abs=0.05)


JOINTS = ("shoulder", "elbow")
TOPIC = "/arm/command_states"
EFFORT = np.array([3.0, -4.0])


def _answer(
    stamp: int, effort: np.ndarray = EFFORT, joints: tuple[str, ...] = JOINTS
) -> bytes:
    zeros = np.zeros(len(joints))
    return JointStateWriter(joints).write(stamp, zeros, zeros, effort)


@pytest.mark.parametrize("order", [1, -1])
def test_efforts_are_read_in_the_order_of_the_joints(order: int) -> None:
    at, effort = EffortReader(JOINTS, TOPIC).read(_answer(5, joints=JOINTS[::order]))
    assert at == 5 and np.array_equal(effort, EFFORT[::order])


@pytest.mark.parametrize(
    ("data", "culprit"),
    [
        (_answer(5, np.empty(0)), "effort"),
        (_answer(5, joints=("lid", "lever")), "joints"),
        (_answer(5, np.ones(1), ("elbow",)), "shoulder"),
        (_answer(5)[:20], "JointState"),
    ],
)
def test_what_answers_nothing_is_an_error(data: bytes, culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=f"{TOPIC}: .*{culprit}"):
        EffortReader(JOINTS, TOPIC).read(data)

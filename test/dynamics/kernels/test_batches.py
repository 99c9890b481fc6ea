"""Batched calls give the same results as single calls, for any number of states and threads."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from robot_dynamics_ros.dynamics.model import arguments as batches
from support import arms
from support.arms import Array
from support.comparing import assert_close
from support.model_methods import CUSTOMISED, METHODS, call
from support.robots_with_drives import Robot, robots, wrenches


def _states(seed: int, n: int, *batch: int) -> tuple[Array, Array, Array]:
    q, qd, qdd = arms.states(seed, n, int(np.prod(batch)))
    return q.reshape(*batch, n), qd.reshape(*batch, n), qdd.reshape(*batch, n)


@given(
    robot=robots(friction=True),
    batch=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_any_robot_in_batches_of_any_rank(robot: Robot, batch: list[int]) -> None:
    """Results equal single calls to 1e-13 of the largest element."""
    model = robot.model()
    q, qd, third = _states(robot.seed, model.n, *batch)
    external_wrenches = {
        link: wrench + np.zeros((*batch, 1)) for link, wrench in wrenches(robot).items()
    }
    for name in METHODS:
        got = call(name, model, external_wrenches, q, qd, third)
        for k in np.ndindex(*batch):
            one = {link: wrench[k] for link, wrench in external_wrenches.items()}
            single = call(name, model, one, q[k], qd[k], third[k])
            assert (
                got.shape == (*batch, *np.shape(single)) and got.flags.c_contiguous
            ), name
            assert_close(got[k], single, 1e-13, float(np.abs(got).max()))


@given(robot=robots(friction=True))
def test_arguments_are_broadcast(robot: Robot) -> None:
    """Leading axes of each argument, including wrenches, are broadcast."""
    model = robot.model()
    q, qd, third = _states(robot.seed, model.n, 3, 2)
    q = q[:, :1]
    qd = qd[0]
    third = third[0, 0]
    links = list(wrenches(robot).items())
    external_wrenches = {
        link: wrench * np.arange(1.0, 4.0)[:, None, None] for link, wrench in links[:1]
    }
    external_wrenches |= dict(links[1:])
    full = tuple(np.broadcast_to(x, (3, 2, model.n)).copy() for x in (q, qd, third))
    full_wrenches = {
        link: np.broadcast_to(wrench, (3, 2, 6))
        for link, wrench in external_wrenches.items()
    }
    for name in METHODS:
        got = call(name, model, external_wrenches, q, qd, third)
        expected = call(name, model, full_wrenches, *full)
        assert np.array_equal(np.broadcast_to(got, expected.shape), expected), name
    # A wrench alone may have the leading axes.
    q = full[0][0, 0]
    qd = full[1][0, 0]
    third = full[2][0, 0]
    got = model.inverse_dynamics(q, qd, third, external_wrenches)
    assert got.shape == (3, 1, model.n)
    single = model.inverse_dynamics(
        q, qd, third, {link: wrench[2, 0] for link, wrench in full_wrenches.items()}
    )
    assert_close(got[2, 0], single, 1e-13, float(np.abs(got).max()))


@pytest.mark.parametrize("batch", [(0,), (2, 0)])
@pytest.mark.parametrize("name", METHODS)
def test_no_states_at_all(
    batch: tuple[int, ...], name: str, load_robot: Callable[..., Any]
) -> None:
    model = load_robot("scara", "scara")
    none = np.empty((*batch, model.n))
    one = np.zeros(model.n)
    wrench = {model.link_names[-1]: np.zeros(6)}
    got = call(name, model, wrench, none, none, none)
    assert got.shape == (*batch, *np.shape(call(name, model, wrench, one, one, one)))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, int], None]]:
    """Set the number of threads, and the smallest number of states for another thread."""

    def choose(count: int, least: int) -> None:
        monkeypatch.setattr(batches, "cores", lambda: count)
        monkeypatch.setattr(batches, "STATES_PER_THREAD", least)
        batches._pool.cache_clear()

    yield choose
    batches._pool.cache_clear()


@pytest.mark.parametrize(
    ("name", "customised"),
    [
        *((name, False) for name in METHODS),
        *(pytest.param(name, True, marks=pytest.mark.slow) for name in CUSTOMISED),
    ],
)
def test_bit_for_bit_whatever_the_size_and_the_threads(
    name: str,
    customised: bool,
    threads: Callable[[int, int], None],
    load_robot: Callable[..., Any],
) -> None:
    model = load_robot("panda", "panda")
    if customised:
        model = model.customised()
    count = 64 * 4 + 7 if COMPILED else 64 + 7
    q, qd, third = _states(21, model.n, count)
    external_wrenches = {
        model.link_names[-1]: np.random.default_rng(21).uniform(-9, 9, (count, 6))
    }
    threads(1, 10**9)
    whole = call(name, model, external_wrenches, q, qd, third)
    for number in (2, 3, 5):
        threads(number, 20)
        assert np.array_equal(call(name, model, external_wrenches, q, qd, third), whole)

    def some(part: Any) -> Any:
        return call(
            name,
            model,
            {link: w[part] for link, w in external_wrenches.items()},
            q[part],
            qd[part],
            third[part],
        )

    for part in (
        slice(0, 1),
        slice(1, 2),
        slice(0, 7),
        slice(3, 70),
        slice(count - 1, count),
    ):
        assert np.array_equal(some(part), whole[part])
    for k in (0, 63, 64, count - 1):
        single = some(k)
        assert_close(whole[k], single, 1e-13, float(np.abs(whole).max()))


def test_numba_num_threads_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("numba").config, "NUMBA_NUM_THREADS", 1)
    assert batches.cores() == 1


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_singular_state_is_named(
    number: int, loaded: bool, threads: Callable[[int, int], None]
) -> None:
    """For a point mass on the axis of the first joint, that joint moves no inertia."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("turntable"), arms.Link("slider", 1.0)),
        (
            arms.Joint("turn", "continuous", "base", "turntable"),
            arms.Joint("slide", "prismatic", "turntable", "slider", axis=(1, 0, 0)),
        ),
    )
    with pytest.warns(UserWarning, match="turn"):
        model = RobotModel.from_urdf(arm.urdf)
    q = np.ones((200, 2))
    q[130] = 0.25, 0.0
    q[180] = 0.5, 0.0
    threads(number, 20)
    external_wrenches = {"slider": np.zeros(6)} if loaded else None
    with pytest.raises(RobotModelError, match=r'joint "turn", .*\[0\.25, 0\.0\]'):
        model.forward_dynamics(q, np.zeros(2), np.zeros(2), external_wrenches)
    assert model.forward_dynamics(
        q[:130], np.zeros(2), np.zeros(2), external_wrenches
    ).shape == (130, 2)


def test_arguments_stay_as_they_are(load_robot: Callable[..., Any]) -> None:
    """Arguments are unchanged, including read-only views from broadcasting."""
    model = load_robot("panda", "panda")
    states = _states(23, 7, 6)
    q, qd, third = (x.copy() for x in states)
    view = np.broadcast_to(q[0], (6, 7))
    wrench = {model.link_names[-1]: np.ones(6)}
    for name in METHODS:
        got, expected = (
            call(name, model, wrench, position, qd, third)
            for position in (view, view.copy())
        )
        assert np.array_equal(got, expected)
    assert np.array_equal((q, qd, third), states)

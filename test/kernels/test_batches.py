"""Leading axes: many states at once are single states in a row, whatever their number and that of the threads."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.kernels.compilation import COMPILED
from robot_dynamics_ros.model import batches
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, wrenches

Array = NDArray[np.float64]
Call = Callable[[RobotModel, Any, Any, Any, Any], Any]

#: Every method that takes states; w: wrenches by link.
CALLS: dict[str, Call] = {
    "inverse_dynamics": lambda m, q, v, a, w: m.inverse_dynamics(q, v, a),
    "inverse_dynamics under wrenches": lambda m, q, v, a, w: m.inverse_dynamics(q, v, a, w),
    "forward_dynamics": lambda m, q, v, a, w: m.forward_dynamics(q, v, a),
    "forward_dynamics under wrenches": lambda m, q, v, a, w: m.forward_dynamics(q, v, a, w),
    "bias_torque": lambda m, q, v, a, w: m.bias_torque(q, v),
    "gravity_torque": lambda m, q, v, a, w: m.gravity_torque(q),
    "mass_matrix": lambda m, q, v, a, w: m.mass_matrix(q),
    "coriolis_matrix": lambda m, q, v, a, w: m.coriolis_matrix(q, v),
    "dtau/dq": lambda m, q, v, a, w: m.inverse_dynamics_derivatives(q, v, a)[0],
    "dtau/dqd": lambda m, q, v, a, w: m.inverse_dynamics_derivatives(q, v, a)[1],
    "friction_torque": lambda m, q, v, a, w: m.friction_torque(q, v),
    "joint_reactions": lambda m, q, v, a, w: m.joint_reactions(q, v, a),
    "joint_reactions under wrenches": lambda m, q, v, a, w: m.joint_reactions(q, v, a, w),
    "regressor": lambda m, q, v, a, w: m.regressor(q, v, a),
    "link_pose": lambda m, q, v, a, w: m.link_pose(q, m.link_names[-1]),
    "jacobian": lambda m, q, v, a, w: m.jacobian(q, m.link_names[-1]),
    "jacobian_dot_qd": lambda m, q, v, a, w: m.jacobian_dot_qd(q, v, m.link_names[-1]),
    "kinetic_energy": lambda m, q, v, a, w: m.kinetic_energy(q, v),
    "potential_energy": lambda m, q, v, a, w: m.potential_energy(q),
}


def _states(seed: int, n: int, *batch: int) -> tuple[Array, Array, Array]:
    q, qd, qdd = arms.states(seed, n, int(np.prod(batch)))
    return q.reshape(*batch, n), qd.reshape(*batch, n), qdd.reshape(*batch, n)


@given(robot=robots(friction=True), batch=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_any_robot_in_batches_of_any_rank(robot: Robot, batch: list[int]) -> None:
    """Equal to single calls to 1e-13 of the largest."""
    model = robot.model()
    q, qd, third = _states(robot.seed, model.n, *batch)
    loads = {link: wrench + np.zeros((*batch, 1)) for link, wrench in wrenches(robot).items()}
    for name, call in CALLS.items():
        got = call(model, q, qd, third, loads)
        for k in np.ndindex(*batch):
            single = call(model, q[k], qd[k], third[k], {link: wrench[k] for link, wrench in loads.items()})
            assert got.shape == (*batch, *np.shape(single)) and got.flags.c_contiguous, name
            assert_close(got[k], single, 1e-13, float(np.abs(got).max()))


@given(robot=robots(friction=True))
def test_arguments_are_broadcast(robot: Robot) -> None:
    """Each by its own leading axes, wrenches too."""
    model = robot.model()
    q, qd, third = _states(robot.seed, model.n, 3, 2)
    q, qd, third = q[:, :1], qd[0], third[0, 0]
    links = list(wrenches(robot).items())
    loads = {link: wrench * np.arange(1.0, 4.0)[:, None, None] for link, wrench in links[:1]}
    loads |= dict(links[1:])
    full = tuple(np.broadcast_to(x, (3, 2, model.n)).copy() for x in (q, qd, third))
    full_loads = {link: np.broadcast_to(wrench, (3, 2, 6)) for link, wrench in loads.items()}
    for name, call in CALLS.items():
        got, expected = call(model, q, qd, third, loads), call(model, *full, full_loads)
        assert np.array_equal(np.broadcast_to(got, expected.shape), expected), name
    # A wrench alone may have the leading axes.
    q, qd, third = full[0][0, 0], full[1][0, 0], full[2][0, 0]
    got = model.inverse_dynamics(q, qd, third, loads)
    assert got.shape == (3, 1, model.n)
    single = model.inverse_dynamics(q, qd, third, {link: wrench[2, 0] for link, wrench in full_loads.items()})
    assert_close(got[2, 0], single, 1e-13, float(np.abs(got).max()))


@pytest.mark.parametrize("batch", [(0,), (2, 0)])
@pytest.mark.parametrize("name", CALLS)
def test_no_states_at_all(batch: tuple[int, ...], name: str, load_robot: Callable[..., Any]) -> None:
    model = load_robot("scara", "scara")
    none, one, wrench = np.empty((*batch, model.n)), np.zeros(model.n), {model.link_names[-1]: np.zeros(6)}
    got = CALLS[name](model, none, none, none, wrench)
    assert got.shape == (*batch, *np.shape(CALLS[name](model, one, one, one, wrench)))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, int], None]]:
    """Let batches run on so many threads, from so few states a thread."""

    def choose(count: int, least: int) -> None:
        monkeypatch.setattr(batches, "cores", lambda: count)
        monkeypatch.setattr(batches, "_LEAST", least)
        batches._pool.cache_clear()

    yield choose
    batches._pool.cache_clear()


#: Those for which customised models have kernels of their own.
CUSTOMISED = ("inverse_dynamics", "forward_dynamics", "gravity_torque", "mass_matrix")


@pytest.mark.parametrize(
    ("name", "customised"),
    [
        *((name, False) for name in CALLS),
        *(pytest.param(name, True, marks=pytest.mark.slow) for name in CUSTOMISED),
    ],
)
def test_bit_for_bit_whatever_the_size_and_the_threads(
    name: str, customised: bool, threads: Callable[[int, int], None], load_robot: Callable[..., Any]
) -> None:
    call, model = CALLS[name], load_robot("panda", "panda")
    if customised:
        model = model.customised()
    count = 64 * 4 + 7 if COMPILED else 64 + 7
    q, qd, third = _states(21, model.n, count)
    loads = {model.link_names[-1]: np.random.default_rng(21).uniform(-9, 9, (count, 6))}
    threads(1, 10**9)
    whole = call(model, q, qd, third, loads)
    for number in (2, 3, 5):
        threads(number, 20)
        assert np.array_equal(call(model, q, qd, third, loads), whole)
    for part in (slice(0, 1), slice(1, 2), slice(0, 7), slice(3, 70), slice(count - 1, count)):
        some = call(model, q[part], qd[part], third[part], {link: wrench[part] for link, wrench in loads.items()})
        assert np.array_equal(some, whole[part])
    for k in (0, 63, 64, count - 1):
        single = call(model, q[k], qd[k], third[k], {link: wrench[k] for link, wrench in loads.items()})
        assert_close(whole[k], single, 1e-13, float(np.abs(whole).max()))


def test_numba_num_threads_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("numba").config, "NUMBA_NUM_THREADS", 1)
    assert batches.cores() == 1


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_singular_state_is_named(number: int, loaded: bool, threads: Callable[[int, int], None]) -> None:
    """A point mass that slides over the axis: there the first joint moves nothing."""
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
    loads = {"slider": np.zeros(6)} if loaded else None
    with pytest.raises(RobotModelError, match=r'joint "turn", .*\[0\.25, 0\.0\]'):
        model.forward_dynamics(q, np.zeros(2), np.zeros(2), loads)
    assert model.forward_dynamics(q[:130], np.zeros(2), np.zeros(2), loads).shape == (130, 2)


def test_axes_that_do_not_go_together(load_robot: Callable[..., Any]) -> None:
    model = load_robot("scara")
    with pytest.raises(RobotDynamicsError, match=r"q \(2,\).*qd \(4,\)"):
        model.inverse_dynamics(np.zeros((2, 3)), np.zeros((4, 3)), np.zeros(3))
    with pytest.raises(RobotDynamicsError, match=r"\(2,\).*\(5,\)"):
        model.inverse_dynamics(np.zeros((2, 3)), np.zeros(3), np.zeros(3), {model.link_names[-1]: np.zeros((5, 6))})


def test_arguments_stay_as_they_are(load_robot: Callable[..., Any]) -> None:
    """Also where they are read-only views, as broadcasting makes them."""
    model = load_robot("panda", "panda")
    states = _states(23, 7, 6)
    q, qd, third = (x.copy() for x in states)
    view, wrench = np.broadcast_to(q[0], (6, 7)), {model.link_names[-1]: np.ones(6)}
    for call in CALLS.values():
        got, expected = (call(model, position, qd, third, wrench) for position in (view, view.copy()))
        assert np.array_equal(got, expected)
    assert np.array_equal((q, qd, third), states)

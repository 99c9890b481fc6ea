"""Pickled models give the same results, bit for bit, in another process."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from support import arms
from support.model_methods import METHODS, call
from support.robots_with_drives import Robot, robots, state

ARM = arms.random_arm(np.random.default_rng(4), [0, 1], ["revolute", "prismatic"])
STATES = arms.states(4, 2, 5)


def _through_buffers(model: RobotModel) -> RobotModel:
    """Pickle with out-of-band buffers, as clusters do. The received arrays are read-only."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(head, buffers=[bytes(buffer) for buffer in buffers])  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[RobotModel], RobotModel]] = {
    "bytes": lambda model: pickle.loads(pickle.dumps(model)),
    "buffers": _through_buffers,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def _numbers(model: RobotModel, *states: Any) -> list[bytes]:
    wrenches = {model.link_names[-1]: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    results = [call(name, model, wrenches, *states) for name in METHODS]
    constant = (model.inertial_parameters, model.position_lower, model.effort_limits)
    return [np.asarray(result).tobytes() for result in (*results, *constant)]


@pytest.mark.parametrize("way", WAYS)
@given(robot=robots(friction=True))
def test_robots_of_all_kinds_can_be_pickled(way: str, robot: Robot) -> None:
    model = robot.model()
    states = state(robot, model.n)
    expected = _numbers(model, *states)
    received = WAYS[way](model)
    assert repr(received) == repr(model)
    for same in ("joint_names", "moving_joints", "link_names", "parameter_names"):
        assert getattr(received, same) == getattr(model, same)
    assert _numbers(received, *states) == expected
    assert _numbers(model, *states) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "customised", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_kernels_work_after_pickling(way: str, customised: bool) -> None:
    """For one state and many, pickled before and after the first call. The received model can be changed again."""
    model = RobotModel.from_urdf(ARM.urdf)
    if customised:
        model = model.customised()
    early = WAYS[way](model)
    for states in ([x[0] for x in STATES], STATES):
        expected = _numbers(model, *states)
        for received in (early, WAYS[way](model)):
            assert type(received.kernels) is type(model.kernels)
            assert _numbers(received, *states) == expected
            assert _numbers(received.scaled(1.2), *states) == _numbers(
                model.scaled(1.2), *states
            )


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
def test_read_only_arrays_do_not_compile_anew() -> None:
    """numba has a different type for read-only arrays and would compile every kernel again."""
    from numba.core import event

    model = RobotModel.from_urdf(ARM.urdf)
    for states in ([x[0] for x in STATES], STATES):
        _numbers(model, *states)
        with event.install_recorder("numba:compile") as compiled:
            _numbers(_through_buffers(model), *states)
        assert not compiled.buffer

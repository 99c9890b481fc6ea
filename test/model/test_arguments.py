"""What the methods of RobotModel accept and refuse as vectors."""

from collections.abc import Callable
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.kernels.newton_euler import newton_euler

Array = NDArray[np.float64]
ARM = arms.random_arm(np.random.default_rng(3), [0, 1, 2], ["revolute", "prismatic", "continuous"])


@pytest.mark.parametrize("form", [list, tuple, np.float32, np.asfortranarray, "strided", "integers"])
def test_vectors_of_other_types_are_converted(form: Any) -> None:
    model = RobotModel.from_urdf(ARM.urdf)
    # Small integers are exact in every one of these types.
    q, qd, qdd = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0]), np.array([0.0, 4.0, 1.0])
    expected = model.inverse_dynamics(q, qd, qdd)
    if form == "strided":
        given: list[Any] = [np.repeat(x, 2)[::2] for x in (q, qd, qdd)]
    elif form == "integers":
        given = [x.astype(np.int64) for x in (q, qd, qdd)]
    else:
        given = [form(x) for x in (q, qd, qdd)]
    assert_close(model.inverse_dynamics(given[0], given[1], given[2]), expected, 0.0)


def _read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def _unaligned(x: Array) -> Array:
    out: Array = np.ndarray(x.shape, np.float64, bytearray(8 * x.size + 1), 1)
    out[:] = x
    return out


@pytest.mark.parametrize("form", [_read_only, _unaligned, lambda x: x.astype(">f8"), np.ma.array])
def test_odd_arrays_work_and_compile_nothing(form: Callable[[Array], Any]) -> None:
    """To the kernel all arrays look the same: a compiler inside a control cycle would stop it for seconds."""
    model = RobotModel.from_urdf(ARM.urdf)
    q, qd, qdd = (x[0] for x in arms.states(3, 3, 1))
    expected = model.inverse_dynamics(q, qd, qdd)
    before = list(getattr(newton_euler, "signatures", []))
    assert_close(model.inverse_dynamics(q, form(qd), qdd), expected, 0.0)
    assert_close(model.inverse_dynamics(form(q), form(qd), form(qdd)), expected, 0.0)
    assert list(getattr(newton_euler, "signatures", [])) == before


CALLS: dict[str, Callable[[RobotModel, Any, Any, Any], Any]] = {
    "inverse_dynamics": lambda m, a, b, c: m.inverse_dynamics(a, b, c),
    "forward_dynamics": lambda m, a, b, c: m.forward_dynamics(a, b, c),
    "bias_torque": lambda m, a, b, c: m.bias_torque(a, b),
    "friction_torque": lambda m, a, b, c: m.friction_torque(a, b),
    "kinetic_energy": lambda m, a, b, c: m.kinetic_energy(a, b),
    "mass_matrix": lambda m, a, b, c: m.mass_matrix(a),
    "gravity_torque": lambda m, a, b, c: m.gravity_torque(a),
    "potential_energy": lambda m, a, b, c: m.potential_energy(a),
}
#: how many vectors each takes, where not two
TAKEN = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "gravity_torque": 1,
    "potential_energy": 1,
}


@pytest.mark.parametrize(("name", "position"), [(name, k) for name in CALLS for k in range(TAKEN.get(name, 2))])
@pytest.mark.parametrize("length", [0, 2, 4])
def test_wrong_length_is_refused(name: str, position: int, length: int) -> None:
    """The message says what was given and what was expected."""
    model = RobotModel.from_urdf(ARM.urdf)
    vectors = [np.zeros(3), np.zeros(3), np.zeros(3)]
    vectors[position] = np.zeros(length)
    with pytest.raises(RobotDynamicsError, match=f"(?s)(?=.*{length})(?=.*3)"):
        CALLS[name](model, *vectors)


@pytest.mark.parametrize(
    "value", [np.full(3, 1j), 0.5, "abc", None, [[0.0]] * 3, np.zeros((3, 1)), [1, "x", 2], [1j, 0, 0]]
)
def test_other_nonsense_is_refused(value: Any) -> None:
    model = RobotModel.from_urdf(ARM.urdf)
    with pytest.raises(RobotDynamicsError):
        model.gravity_torque(value)


def test_results_belong_to_the_caller() -> None:
    """No workspace leaks out: a result stays as it was after the next call, and the inputs stay untouched."""
    model = RobotModel.from_urdf(ARM.urdf)
    q, qd, qdd = (x[0] for x in arms.states(3, 3, 1))
    copies = q.copy(), qd.copy(), qdd.copy()
    first, m = model.inverse_dynamics(q, qd, qdd), model.mass_matrix(q)
    kept, m_kept = first.copy(), m.copy()
    model.inverse_dynamics(2 * q, qd, -qdd)
    model.mass_matrix(2 * q)
    model.forward_dynamics(q, qd, qdd)
    assert np.array_equal(first, kept) and np.array_equal(m, m_kept)
    for now, before in zip((q, qd, qdd), copies, strict=True):
        assert np.array_equal(now, before)


def test_model_does_not_change() -> None:
    """Limits are handed out as copies, and attributes cannot be set."""
    model = RobotModel.from_urdf(ARM.urdf)
    for name in ("position_lower", "position_upper", "effort_limits", "velocity_limits"):
        before = getattr(model, name).copy()
        getattr(model, name)[:] = 0.0
        assert np.array_equal(getattr(model, name), before)
        with pytest.raises((AttributeError, TypeError)):
            setattr(model, name, np.zeros(3))

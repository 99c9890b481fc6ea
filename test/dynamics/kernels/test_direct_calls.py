"""Direct calls of kernels: they check every argument, and keep referenced arrays alive."""

import gc
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels import direct_calls, entries
from robot_dynamics_ros.dynamics.kernels.direct_calls import direct_call
from support.generated import kernels_of
from support.python_process import ROOT, run_python

PANDA = ROOT / "urdf" / "panda.urdf"
SUPPORTED_AND_RIGHT = f"""
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels import direct_calls
model = RobotModel.from_urdf_file({str(PANDA)!r})
print(direct_calls.SUPPORTED, model.gravity_torque([0.0] * 7)[1] < -1.0)
"""


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(PANDA)


@pytest.fixture(params=["direct", "careful"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Select calls as built-in functions, or calls in plain Python."""
    if request.param == "direct" and not direct_calls.SUPPORTED:
        pytest.skip("kernels are not compiled, or with bounds checks")
    if request.param == "careful":
        monkeypatch.setattr(direct_calls, "SUPPORTED", False)
    return str(request.param)


def bound_call(model: RobotModel, function: Any, axes: tuple[int, ...]) -> Callable[..., Any]:
    return kernels_of(model).call(function, axes)


def odd_forms(x: Any) -> list[Any]:
    """Return objects that resemble the array but are not plain arrays."""
    read_only = x.copy()
    read_only.flags.writeable = False
    unaligned = np.ndarray(x.shape, float, bytearray(x.nbytes + 1), 1)
    unaligned[:] = x
    kinds = ["f4", ">f8", "i8", "c16", "O", "M8[s]", [("number", "f8")]]
    strided = [np.repeat(x, 2, axis=-1)[..., ::2], x[..., ::-1], np.broadcast_to(0.5, x.shape), x.T[:3]]
    shapes = [x[None], x[..., :-1].copy(), np.append(x.ravel(), 1.0), np.empty(0), np.array(1.0)]
    subclasses = [x.view(np.memmap), np.ma.array(x), x.view(np.recarray)]
    others = [x.tolist(), tuple(x.tolist()), memoryview(x), x.tobytes(), None, 1, np.ndarray]
    return [*(x.astype(kind) for kind in kinds), *strided, *shapes, *subclasses, read_only, unaligned, *others]


def test_only_plain_arrays_are_taken(model: RobotModel, call_path: str) -> None:
    q = np.linspace(-1.0, 1.0, model.n)
    matrix = np.full((model.n, model.n), np.nan)
    call = bound_call(model, entries.mass_matrix, (1, 2))
    for odd in odd_forms(q):
        assert call(odd, matrix) is not matrix
    assert np.isnan(matrix).all()
    for odd in [*odd_forms(np.zeros_like(matrix)), np.zeros_like(matrix, order="F")]:
        assert odd is None or call(q, odd) is not odd
    assert call(q, matrix) is matrix
    np.testing.assert_allclose(matrix, model.mass_matrix(q.tolist()), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("inverse_dynamics", (1, 1, 1, 1)),
        ("gravity_torque", (1, 1)),
        ("mass_matrix", (1, 2)),
        ("forward_dynamics", (1, 1, 1, 1)),
        ("inverse_dynamics_derivatives", (1, 1, 1, 2, 2)),
    ],
)
def test_a_models_kernels_take_vectors_and_matrices_of_its_size(
    name: str, axes: tuple[int, ...], model: RobotModel
) -> None:
    kernel = getattr(kernels_of(model), name)
    arrays = [np.ones(count * (model.n,)) for count in axes]
    assert kernel(*arrays) is arrays[-1]
    for k, count in enumerate(axes):
        others = [*arrays[:k], np.ones((3 - count) * (model.n,)), *arrays[k + 1 :]]
        assert kernel(*others) is not others[-1]


def test_a_wrong_number_of_arguments(model: RobotModel) -> None:
    if not direct_calls.SUPPORTED:
        pytest.skip("kernels are not compiled, or with bounds checks")
    q, tau = np.zeros(model.n), np.zeros(model.n)
    call = bound_call(model, entries.gravity_torque, (1, 1))
    for arguments in ((), (q,), (q, tau, tau), (q,) * 50):
        assert all(call(*arguments) is not array for array in (q, tau))
    with pytest.raises(TypeError):
        call(q, tau=tau)
    assert not tau.any()


def test_references_are_counted(model: RobotModel, call_path: str) -> None:
    q, tau = np.zeros(model.n), np.zeros(model.n)
    call = bound_call(model, entries.gravity_torque, (1, 1))
    refused = call(q, None)
    known = [q, tau] if refused is None else [q, tau, refused]
    before = [sys.getrefcount(x) for x in known]
    alone = sys.getrefcount(tau)
    results = [call(q, tau) for _ in range(1000)]
    assert sys.getrefcount(tau) == alone + 1000
    del results
    for _ in range(1000):
        call(q, None)
        call(tau.tolist(), tau)
    assert [sys.getrefcount(x) for x in known] == before


def test_arrays_of_a_call_are_kept_alive(model: RobotModel, call_path: str) -> None:
    q = np.linspace(-1.0, 1.0, model.n)
    expected = model.gravity_torque(q)
    topology, parameters = model.kernels.topology.copy(), model.kernels.parameters.copy()
    alive = weakref.ref(parameters)
    call = direct_call(entries.gravity_torque, (topology, parameters, entries.make_scratch(topology)), (1, 1))
    del parameters
    gc.collect()
    others = [np.full(len(model.kernels.parameters), np.nan) for _ in range(100)]
    assert alive() is not None
    np.testing.assert_array_equal(call(q, np.empty(model.n)), expected)
    del call, others
    gc.collect()
    assert alive() is None


def test_many_threads_call_one_model(model: RobotModel) -> None:
    states = np.random.default_rng(1).uniform(-2.0, 2.0, (400, model.n))
    expected = [model.inverse_dynamics(q, q, q) for q in states]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            got = list(pool.map(lambda q: model.inverse_dynamics(q, q, q), states))
            np.testing.assert_array_equal(got, expected)


def test_a_result_that_is_an_argument_too(model: RobotModel, call_path: str) -> None:
    """The result may overwrite an argument; memory around it is unchanged."""
    q = np.linspace(-1.0, 1.0, model.n)
    expected = model.gravity_torque(q)
    guarded = np.full(3 * model.n, 7.0)
    middle = guarded[model.n : 2 * model.n]
    middle[:] = q
    assert bound_call(model, entries.gravity_torque, (1, 1))(middle, middle) is middle
    np.testing.assert_allclose(middle, expected, rtol=1e-14, atol=1e-14)
    assert (guarded[: model.n] == 7.0).all()
    assert (guarded[2 * model.n :] == 7.0).all()


def test_a_layout_that_is_not_known_is_not_read() -> None:
    """If Python reports that it has no GIL, calls are made in plain Python."""
    no_lock = """
import sysconfig
original = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else original(name)
"""
    result = run_python("-c", no_lock + SUPPORTED_AND_RIGHT)
    assert result.stdout.split() == ["False", "True"]


def test_the_switch_leaves_calls_to_numba() -> None:
    result = run_python("-c", SUPPORTED_AND_RIGHT, ROBOT_DYNAMICS_DIRECT_CALLS="0")
    assert result.stdout.split() == ["False", "True"]

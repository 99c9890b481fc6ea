"""Calls of single-state kernels: which arguments they take."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from support.python_process import ROOT


@pytest.fixture(scope="module", params=["general", "customised"])
def model(request: pytest.FixtureRequest) -> RobotModel:
    general = RobotModel.from_urdf_file(ROOT / "urdf" / "panda.urdf")
    return general if request.param == "general" else general.customised()


CALLS: dict[str, Callable[[RobotModel, Any], Any]] = {
    "inverse_dynamics": lambda model, q: model.inverse_dynamics(q, q, q),
    "gravity_torque": lambda model, q: model.gravity_torque(q),
    "mass_matrix": lambda model, q: model.mass_matrix(q),
    "forward_dynamics": lambda model, q: model.forward_dynamics(q, q, q),
    "inverse_dynamics_derivatives": lambda model, q: np.array(
        model.inverse_dynamics_derivatives(q, q, q)
    ),
    "friction_torque": lambda model, q: model.friction_torque(q, q),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_form_of_a_vector_gives_the_same_result(
    name: str, model: RobotModel
) -> None:
    """Other objects than plain arrays are converted. Values are multiples of 1/4, exact in each type."""
    q = np.linspace(-1.5, 1.5, model.n)
    call = CALLS[name]
    expected = CALLS[name](model, q)
    read_only = q.copy()
    unaligned = np.ndarray(q.shape, float, bytearray(q.nbytes + 1), 1)
    read_only.flags.writeable = False
    unaligned[:] = q
    forms = [
        q.tolist(),
        tuple(q),
        *(q.astype(kind) for kind in ("f4", ">f8", "O")),
        np.repeat(q, 2)[::2],
        read_only,
    ]
    for form in [
        *forms,
        unaligned,
        q[::-1].copy()[::-1],
        np.ma.array(q),
        q.view(np.memmap),
    ]:
        np.testing.assert_allclose(call(model, form), expected, rtol=1e-14, atol=1e-14)
    many = call(model, q[None].repeat(3, axis=0))
    for k in range(3):
        one = many[:, k] if name == "inverse_dynamics_derivatives" else many[k]
        np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-13)
    for wrong in (
        q[1:],
        q[:, None],
        np.float64(1.0),
        q.astype(complex),
        "abc",
        None,
        [None] * model.n,
    ):
        with pytest.raises(RobotDynamicsError, match="q"):
            call(model, wrong)


def test_many_threads_call_one_model(model: RobotModel) -> None:
    states = np.random.default_rng(1).uniform(-2.0, 2.0, (400, model.n))
    expected = [model.inverse_dynamics(q, q, q) for q in states]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            got = list(pool.map(lambda q: model.inverse_dynamics(q, q, q), states))
            np.testing.assert_array_equal(got, expected)

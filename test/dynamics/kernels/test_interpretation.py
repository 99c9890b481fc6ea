"""Kernels as plain Python functions, on floats and on other number types."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import WORK_SIZE
from robot_dynamics_ros.dynamics.kernels.newton_euler import newton_euler
from robot_dynamics_ros.dynamics.kernels.placement import cross
from robot_dynamics_ros.dynamics.model.model_data import views


def test_plain_python_computes_the_same_as_the_kernel(load_robot: Any) -> None:
    """Arguments are arrays of objects."""
    model = load_robot("panda", "panda")
    states = [
        np.linspace(low, high, model.n) for low, high in ((-1, 2), (0.5, -1), (3, -4))
    ]
    robot = views(model.kernels.topology, model.kernels.parameters)
    robot = robot._replace(
        **{
            x: getattr(robot, x).astype(object)
            for x in ("bodies", "rotors", "factors", "gravity")
        }
    )
    work = np.empty((len(robot.tree), WORK_SIZE), dtype=object)
    tau = np.empty(model.n, dtype=object)
    interpreted(newton_euler)(
        robot, *(x.astype(object) for x in states), np.empty((0, 6)), work, tau
    )
    np.testing.assert_array_equal(tau.astype(float), model.inverse_dynamics(*states))


def test_fractions_stay_exact() -> None:
    parts = [Fraction(1, x) for x in (2, 3, 5, 7, 11, 13)]
    vector = interpreted(cross)(parts[:3], parts[3:])
    assert vector == (
        Fraction(1, 39) - Fraction(1, 55),
        Fraction(1, 35) - Fraction(1, 26),
        Fraction(1, 22) - Fraction(1, 21),
    )


def test_plain_python_calls_no_compiled_kernel() -> None:
    @kernel
    def through_default(x: float, inner: Any = cross) -> float:
        return float(inner((x, 0.0, 0.0), (0.0, 1.0, 0.0))[2]) + math.floor(0.5)

    twin = interpreted(through_default)
    assert twin(2.0) == 2.0
    assert not hasattr(twin.__defaults__[0], "py_func")  # type: ignore[attr-defined]
    for used in (
        interpreted(factorise),
        interpreted(solve_factorised),
        interpreted(newton_euler),
    ):
        for name in used.__code__.co_names:
            assert not hasattr(used.__globals__.get(name), "py_func"), name
    assert interpreted(cross) is interpreted(cross), "a kernel has one twin"

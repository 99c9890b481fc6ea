"""The plain-Python twins of compiled kernels, on floats and on other numbers."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.codegen.interpretation import interpreted
from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.layout import WORK_SIZE
from robot_dynamics_ros.kernels.newton_euler import newton_euler
from robot_dynamics_ros.kernels.vectors import cross


class Complex:
    """A complex number with the methods that a kernel asks for."""

    def __init__(self, value: complex) -> None:
        self.value = value

    def __add__(self, other: Any) -> "Complex":
        return Complex(self.value + getattr(other, "value", other))

    def __sub__(self, other: Any) -> "Complex":
        return Complex(self.value - getattr(other, "value", other))

    def __rsub__(self, other: float) -> "Complex":
        return Complex(other - self.value)

    def __mul__(self, other: Any) -> "Complex":
        return Complex(self.value * getattr(other, "value", other))

    def sin(self) -> "Complex":
        return Complex(complex(np.sin(self.value)))

    def cos(self) -> "Complex":
        return Complex(complex(np.cos(self.value)))

    __radd__ = __add__
    __rmul__ = __mul__


def torque(model: RobotModel, q: Any, qd: Any, qdd: Any) -> Any:
    work = np.empty((len(model.packed.robot.tree), WORK_SIZE), dtype=object)
    tau = np.empty(model.n, dtype=object)
    robot = model.packed.robot
    robot = robot._replace(**{x: getattr(robot, x).astype(object) for x in ("bodies", "rotors", "factors", "gravity")})
    interpreted(newton_euler)(robot, q, qd, qdd, np.empty((0, 6)), work, tau)
    return tau


def test_a_twin_computes_what_the_kernel_computes(load_robot: Any) -> None:
    model = load_robot("panda", "panda")
    q, qd, qdd = (np.linspace(low, high, model.n).astype(object) for low, high in ((-1, 2), (0.5, -1), (3, -4)))
    expected = model.inverse_dynamics(*(x.astype(float) for x in (q, qd, qdd)))
    np.testing.assert_array_equal(torque(model, q, qd, qdd).astype(float), expected)


def test_a_twin_runs_on_other_numbers(load_robot: Any) -> None:
    """A complex step gives a column of the mass matrix: tau is linear in qdd."""
    model = load_robot("ur5e")
    q = np.array([0.3, -0.8, 1.1, 0.4, -0.2, 0.9])
    matrix = model.mass_matrix(q)
    for j in range(model.n):
        qdd = np.array([Complex(1j * (i == j)) for i in range(model.n)])
        tau = torque(model, np.array([Complex(x) for x in q]), np.zeros(model.n, dtype=object), qdd)
        np.testing.assert_allclose([x.value.imag for x in tau], matrix[:, j], rtol=0, atol=1e-13)


def test_fractions_stay_exact() -> None:
    vector = interpreted(cross)(*(Fraction(1, x) for x in (2, 3, 5, 7, 11, 13)))
    assert vector == (
        Fraction(1, 39) - Fraction(1, 55),
        Fraction(1, 35) - Fraction(1, 26),
        Fraction(1, 22) - Fraction(1, 21),
    )


def test_a_twin_takes_no_compiled_kernel_with_it() -> None:
    @kernel
    def through_default(x: float, inner: Any = cross) -> float:
        return float(inner(x, 0.0, 0.0, 0.0, 1.0, 0.0)[2]) + math.floor(0.5)

    twin = interpreted(through_default)
    assert twin(2.0) == 2.0
    assert not hasattr(twin.__defaults__[0], "py_func")  # type: ignore[attr-defined]
    for used in (interpreted(factorise), interpreted(solve_factorised), interpreted(newton_euler)):
        for name in used.__code__.co_names:
            assert not hasattr(used.__globals__.get(name), "py_func"), name


def test_a_kernel_has_one_twin() -> None:
    assert interpreted(cross) is interpreted(cross)

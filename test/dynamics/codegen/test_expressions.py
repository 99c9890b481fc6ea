"""Simplification rules of traced arithmetic, which do not change any result."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.operation_counts import operations
from robot_dynamics_ros.dynamics.codegen.expressions import Expression, Scalar, Trace
from robot_dynamics_ros.dynamics.codegen.statements import Statements


def evaluate(trace: Trace, result: Scalar, x: list[float]) -> float:
    """Run the result's statements with these inputs."""
    statements = Statements(
        trace, [result], lambda node: f"x[{node.element}]" if node.array else None
    )
    names = {"x": x, "math": math}
    exec("\n".join(statements.lines), names)
    return float(eval(statements.text(result), names))


def same(left: Scalar, right: Scalar) -> bool:
    """Return True if two results are the same node with the same sign."""
    assert isinstance(left, Expression) and isinstance(right, Expression)
    return (left.place, left.negative) == (right.place, right.negative)


def test_trivial_operations_are_folded() -> None:
    trace = Trace()
    x = trace.input("x", 0)
    for zero in (0.0, -0.0, 0):
        assert (
            same(x + zero, x)
            and same(zero + x, x)
            and same(x - zero, x)
            and same(zero - x, -x)
        )
        assert x * zero == 0.0 and zero * x == 0.0 and zero / x == 0.0
    for one in (1.0, 1):
        assert same(x * one, x) and same(one * x, x) and same(x / one, x)
        assert same(x * -one, -x) and same(-one * x, -x) and same(x / -one, -x)
    assert x - x == 0.0 and -x + x == 0.0
    minus = -x
    assert same(-minus, x)
    assert operations(trace, [x + 0.0, x * 1.0, -x, x - x]) == {}


def test_equal_operations_are_done_once() -> None:
    trace = Trace()
    x = trace.input("x", 0)
    y = trace.input("x", 1)
    assert same(trace.input("x", 1), y)
    assert same(x + y, y + x) and same(x * y, y * x)
    assert same(x - y, -(y - x)) and same(-x - y, -(x + y)) and same(x - -y, x + y)
    assert same(-x * y, -(x * y)) and same(-x * -y, x * y) and same(x / -y, -(x / y))
    assert same(x * -3.0, -(x * 3.0)) and same(x + -3.0, x - 3.0)
    assert same((-x).sin(), -x.sin()) and same((-x).cos(), x.cos())
    assert not same(x / y, y / x)
    # Only operations that results need are counted.
    assert operations(trace, [x + y, y + x, x * y, (x * y) * (y * x), 3.0]) == {
        "+": 1,
        "*": 2,
    }


def test_numpy_scalars_count_as_numbers() -> None:
    x = Trace().input("x", 0)
    assert same(np.float64(2.0) * x, x * 2.0) and same(np.float64(2.0) - x, 2.0 - x)


def test_comparisons_are_taken_to_hold_and_remembered_in_order() -> None:
    trace = Trace()
    x = trace.input("x", 0)
    y = trace.input("x", 1)
    assert x > 0.5
    assert 2.0 > y
    assert y < -x
    statements = Statements(
        trace,
        [],
        lambda node: "xy"[node.element] if node.array else None,
        "held[{}] = {}".format,
    )
    for x_value, y_value in ((1.0, -2.0), (1.0, 2.0), (-3.0, 2.0), (0.0, 3.0)):
        names = {"x": x_value, "y": y_value, "held": {}}
        exec("\n".join(statements.lines), names)
        assert names["held"] == {
            0: x_value > 0.5,
            1: 2.0 > y_value,
            2: y_value < -x_value,
        }


def test_any_other_branch_is_refused() -> None:
    x = Trace().input("x", 0)
    for branch in (
        lambda: x == 0.0,
        lambda: 0.0 != x,
        lambda: bool(x),
        lambda: x >= 0.0,
        lambda: float(x),
    ):
        with pytest.raises(TypeError):
            branch()


numbers = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5]),
    st.floats(-4, 4, allow_subnormal=False),
)
steps = st.tuples(
    st.sampled_from("+-*/nsc"), st.integers(0, 10**6), st.integers(0, 10**6)
)


@given(
    inputs=st.lists(numbers, min_size=1, max_size=3),
    known=st.lists(numbers, max_size=3),
    program=st.lists(steps, max_size=40),
)
def test_a_traced_program_computes_the_same_bits(
    inputs: list[float], known: list[float], program: list[tuple[str, int, int]]
) -> None:
    trace = Trace()
    plain = [*known, *inputs]
    traced: list[Scalar] = [*known, *(trace.input("x", i) for i in range(len(inputs)))]
    for operation, i, j in program:
        a = plain[i % len(plain)]
        b = plain[j % len(plain)]
        s = traced[i % len(plain)]
        t = traced[j % len(plain)]
        if operation == "+":
            value = a + b
            symbol = s + t
        elif operation == "-":
            value = a - b
            symbol = s - t
        elif operation == "*":
            value = a * b
            symbol = s * t
        elif operation == "n":
            value = -a
            symbol = -s
        elif operation == "/":
            if b == 0.0:
                continue
            value = a / b
            symbol = s / t
        else:
            function, method = (
                (math.sin, "sin") if operation == "s" else (math.cos, "cos")
            )
            value = function(a)
            symbol = getattr(s, method)() if isinstance(s, Expression) else function(s)
        if not abs(value) < 1e100:
            continue
        plain.append(value)
        traced.append(symbol)
    for value, symbol in zip(plain, traced, strict=True):
        assert evaluate(trace, symbol, inputs) == value

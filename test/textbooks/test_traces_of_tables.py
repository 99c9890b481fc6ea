"""Traces of Craig's tables with d and offsets: each vector is that of (6.45)-(6.53) in the frames {i} of the book.

The expected vectors are computed from the rows alone: frames from (3.6), then the equations in their order.
"""

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.textbooks.newton_euler_equations import (
    NewtonEulerTrace,
    joint_reactions,
    newton_euler_trace,
)
from robot_dynamics_ros.textbooks.shared_terms import with_end_effector
from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import symbolic_arm
from support.arms import Array
from support.comparing import assert_close

# no limits
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

QUARTER = np.pi / 2
GRAVITY = np.array([1.0, -2.0, -9.0])
TOOL = [0.4, 0.2, -0.1, 0.6]
LOAD = np.array([1.0, -2.0, 0.5, 0.3, -0.1, 0.7])
# alpha, a, d, theta
TABLES = {
    "offset_axis": ("RR", [[0, 0, 0, 0], [-QUARTER, 0, 0.2, 0]]),
    "revolute_prismatic": ("RP", [[0, 0, 0.3, QUARTER], [QUARTER, 0.1, 0.15, 0.4]]),
    "scara": ("RRP", [[0, 0, 0.4, 0], [0, 0.4, 0.1, 0.3], [np.pi, 0.3, -0.2, np.pi]]),
    "quarter_turns": (
        "RRR",
        [
            [-QUARTER, 0, 0.2, -QUARTER],
            [QUARTER, 0, 0.1, QUARTER],
            [-QUARTER, 0.1, -0.1, QUARTER],
        ],
    ),
    "oblique": (
        "RRPR",
        [
            [0.3, 0.1, 0.2, 0.5],
            [-1.2, 0.4, -0.3, 2.8],
            [2.4, -0.2, 0.1, -0.7],
            [1.6, 0.3, 0.2, -1.4],
        ],
    ),
}


def frame(alpha: float, a: float, d: float, theta: float) -> Array:
    """Return the pose of frame i in frame i - 1: Craig (3.6)."""
    ca, ct = np.cos([alpha, theta])
    sa, st = np.sin([alpha, theta])
    return np.array(
        [
            [ct, -st, 0, a],
            [st * ca, ct * ca, -sa, -sa * d],
            [st * sa, ct * sa, ca, ca * d],
            [0, 0, 0, 1],
        ]
    )


def by_hand(
    frames: list[Array],
    kinds: str,
    bodies: list[tuple[float, Array, Array]],
    qd: Array,
    qdd: Array,
) -> NewtonEulerTrace:
    """Return (6.45)-(6.53), for prismatic joints Tsai (9.58), and his (9.55) and (9.60).

    The last frame is the tool's, with LOAD as f and n.
    """
    z = np.array([0.0, 0.0, 1.0])
    w = dw = v = np.zeros(3)
    dv = -GRAVITY
    g = GRAVITY
    rows = []
    origins = []
    for T, kind, (m, c, inertia), rate, gain in zip(
        frames, kinds, bodies, qd, qdd, strict=True
    ):
        R = T[:3, :3].T
        P = T[:3, 3]
        dv = R @ (np.cross(dw, P) + np.cross(w, np.cross(w, P)) + dv)
        v = R @ (np.cross(w, P) + v)
        g = R @ g
        w = R @ w
        dw = R @ dw
        if kind == "P":
            dv = dv + 2.0 * np.cross(w, rate * z) + gain * z
            v = v + rate * z
        else:
            dw = dw + np.cross(w, rate * z) + gain * z
            w = w + rate * z
        dv_c = np.cross(dw, c) + np.cross(w, np.cross(w, c)) + dv
        F = m * dv_c
        origins.append((v, g))
        rows.append([w, dw, dv, dv_c, F, inertia @ dw + np.cross(w, inertia @ w)])
    f, n = LOAD.reshape(2, 3)
    forces = [(f, n)]
    for i in range(len(frames) - 2, -1, -1):
        R = frames[i + 1][:3, :3]
        P = frames[i + 1][:3, 3]
        F, N = rows[i][4:]
        n = N + R @ n + np.cross(bodies[i][1], F) + np.cross(P, R @ f)
        f = R @ f + F
        forces.insert(0, (f, n))
    along_z = [
        (f if kind == "P" else n)[2] for kind, (f, n) in zip(kinds, forces, strict=True)
    ]
    w, dw, dv, dv_c, *loads = zip(*rows, strict=True)
    v, g = zip(*origins, strict=True)
    loads += [*zip(*forces, strict=True), along_z[:-1]]
    return NewtonEulerTrace(*map(np.array, (w, dw, v, dv, dv_c, g, *loads)))


@pytest.mark.parametrize("name", TABLES)
def test_every_vector_of_a_trace(name: str) -> None:
    joints, table = TABLES[name]
    n = len(table)
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, n))
    moments = [np.diag(row) + 0.02 for row in rng.uniform(0.1, 0.2, (n, 3))]
    bodies = list(
        zip(
            rng.uniform(1.0, 3.0, n),
            rng.uniform(-0.3, 0.3, (n, 3)),
            moments,
            strict=True,
        )
    )
    links = [(m, com.tolist(), inertia) for m, com, inertia in bodies]
    model = RobotModel.from_dh(
        [*table, TOOL], "craig", f"{joints}F", [*links, None], gravity=GRAVITY.tolist()
    )
    assert model.moving_links == tuple(f"link{i}" for i in range(1, n + 1))
    moved = np.array(table, dtype=float)
    for row, kind, x in zip(moved, joints, q, strict=True):
        row[2 if kind == "P" else 3] += x
    expected = by_hand(
        [*(frame(*row) for row in moved), frame(*TOOL)],
        f"{joints}R",
        [*bodies, (0.0, np.zeros(3), np.zeros((3, 3)))],
        np.append(qd, 0.0),
        np.append(qdd, 0.0),
    )
    loads = np.vstack([np.zeros((n, 6)), LOAD])
    tree = with_end_effector(model, f"link{n + 1}")
    trace = newton_euler_trace(tree, q, qd, qdd, loads)
    for step in NewtonEulerTrace._fields:
        assert_close(getattr(trace, step), getattr(expected, step), 1e-13)


def test_a_moment_at_rest() -> None:
    """2 kg at 0.5 m on x2, with y2 down and the origin 0.2 m along z2 = y1: n is taken about the origin of {2}."""
    bodies = [None, (2.0, [0.5, 0, 0], np.zeros(6))]
    model = RobotModel.from_dh(TABLES["offset_axis"][1], "craig", links=bodies)
    f, n = joint_reactions(model, [0, 0], [0, 0], [0, 0])
    assert_close(f, [[0, 0, 19.62], [0, -19.62, 0]], 1e-15)
    assert_close(n, [[3.924, -9.81, 0], [0, 0, -9.81]], 1e-15)
    wrenches = model.joint_reactions([0, 0], [0, 0], [0, 0])
    assert_close(wrenches, np.hstack([f, n]), 1e-14)


@pytest.mark.parametrize(
    ("name", "lengths"),
    [("tsai_scara", {"l0", "l1", "l2"}), ("metr4202_elbow", {"l0", "l2", "l3"})],
)
def test_the_lengths_of_a_table_are_symbols(name: str, lengths: set[str]) -> None:
    """Also in the standard convention; d of a row is before its joint."""
    pytest.importorskip("sympy")
    arm = symbolic_arm(RobotModel.shipped(name), {}, "link3")
    symbols = {str(symbol) for symbol in arm.values}
    assert {x for x in symbols if x[0] == "l" and x[1] != "c"} == lengths

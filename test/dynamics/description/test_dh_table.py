"""Robots from DH tables: frames of both conventions, the books' arms against their closed forms, files and errors."""

import dataclasses
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest

from oracles import (
    craig_planar_2r,
    craig_rp,
    lavalle_two_link,
    spong_elbow,
    spong_five_bar,
    spong_remotely_driven_elbow,
    tsai_planar_2r,
    tsai_pointer,
    tsai_scara,
    tsai_spatial_3r,
)
from oracles.published_arms import DhArm
from robot_dynamics_ros import (
    RobotDynamicsError,
    RobotModel,
    RobotModelError,
    RobotModelWarning,
)
from robot_dynamics_ros.base.errors import IncompleteModelWarning
from robot_dynamics_ros.base.resources import textbook_arm_names
from robot_dynamics_ros.dynamics.description.dh_table import (
    dh_urdf,
    read_dh_file,
    textbook_arm,
)
from robot_dynamics_ros.dynamics.model.loops import Constraints
from robot_dynamics_ros.textbooks.constraints import constrained_forward_dynamics
from robot_dynamics_ros.textbooks.lagrange import dynamic_coefficients
from robot_dynamics_ros.textbooks.propagation import velocity_jacobian
from support import arms
from support.comparing import assert_close
from support.pinocchio_peer import Peer

# no limits, no masses
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")

ARMS = {
    "craig_2r": craig_planar_2r,
    "craig_rp": craig_rp,
    "spong_elbow": spong_elbow,
    "spong_five_bar": spong_five_bar,
    "spong_remote_elbow": spong_remotely_driven_elbow,
    "tsai_2r": tsai_planar_2r,
    "tsai_pointer": tsai_pointer,
    "tsai_scara": tsai_scara,
    "tsai_spatial_3r": tsai_spatial_3r,
}


def test_a_row_of_the_standard_convention() -> None:
    model = RobotModel.from_dh([[np.radians(30), 0.2, 0.5, np.radians(45)]])
    expected = [
        [0.866025, -0.353553, 0.353553, 0.433013],
        [0.5, 0.612372, -0.612372, 0.25],
        [0, 0.707107, 0.707107, 0.2],
    ]
    np.testing.assert_allclose(model.link_pose([0.0], "link1")[:3], expected, atol=5e-7)


@pytest.mark.parametrize("convention", ["standard", "craig"])
@pytest.mark.parametrize("seed", range(5))
def test_frames_and_weights(convention: str, seed: int) -> None:
    """The arithmetic of the table, and centres of mass in its frames; the offsets are those of the rows."""
    rng = np.random.default_rng(seed)
    a, alpha, d, theta, q = rng.uniform(-2, 2, (5, 4))
    masses = rng.uniform(1, 3, 4)
    coms = rng.uniform(-1, 1, (4, 3))
    oracle = DhArm(
        a, alpha, d, convention == "craig", (0.0, 0.0), tuple(masses), tuple(coms)
    )
    rows = np.column_stack([theta, d, a, alpha])[
        :, :: -1 if convention == "craig" else 1
    ]
    links = [(m, c, np.eye(3)) for m, c in zip(masses, coms, strict=True)]
    joints = "".join(rng.choice(["R", "P", "F"], 3)) + "R"
    turned = theta + np.where([kind == "R" for kind in joints], q, 0.0)
    slid = dataclasses.replace(
        oracle, d=d + np.where([kind == "P" for kind in joints], q, 0.0)
    )
    model = RobotModel.from_dh(rows, convention, joints, links)
    moving = q[[kind != "F" for kind in joints]]
    for i, frame in enumerate(slid.frames(turned), start=1):
        assert_close(model.link_pose(moving, f"link{i}"), frame.real, 1e-13)
    assert model.gravity_torque(moving)[-1] == pytest.approx(
        slid.gravity_torque(turned)[-1], abs=1e-11
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ARMS)
def test_arms_of_the_books(name: str, seed: int) -> None:
    book: ModuleType = ARMS[name]
    names = [
        field.name for field in dataclasses.fields(book.Parameters) if field.name != "g"
    ]
    rng = np.random.default_rng(seed)
    values = dict(zip(names, rng.uniform(0.2, 3.0, len(names)).tolist(), strict=True))
    model = RobotModel.shipped(name, **values)
    p = book.Parameters(**values)
    velocity_terms = getattr(book, "velocity_terms", None) or book.velocity_coupling
    for q, qd, _ in zip(*arms.states(seed, model.n, 5), strict=True):
        weight = book.gravity(p, q) if hasattr(book, "gravity") else 0.0
        assert_close(model.mass_matrix(q), book.mass_matrix(p, q), 1e-12)
        assert_close(
            model.bias_torque(q, qd), velocity_terms(p, q, qd) + weight, 1e-12, 100.0
        )


def test_craigs_three_links() -> None:
    """Programming exercise 2 of part 5: the Jacobian in frame {3}; weights of the point masses and of link 3."""
    model = RobotModel.shipped("craig_3r")
    q = np.array([0.3, 0.7, -0.4])
    l1, l2 = 0.5, 0.5
    expected = [
        [l1 * np.sin(q[1] + q[2]) + l2 * np.sin(q[2]), l2 * np.sin(q[2]), 0],
        [l1 * np.cos(q[1] + q[2]) + l2 * np.cos(q[2]), l2 * np.cos(q[2]), 0],
        [1, 1, 1],
    ]
    found = velocity_jacobian(model, q, "link3")
    assert_close(found[[0, 1, 5]], expected, 1e-14)
    x = np.cumsum([l1 * np.cos(q[0]), l2 * np.cos(q[0] + q[1]), 0.1 * np.cos(q.sum())])
    starts = np.append(0, x[:2])
    weights = [4.0, 2.0, 1.0] * (x - starts[:, None])
    assert_close(model.gravity_torque(q), 9.81 * np.triu(weights).sum(axis=1), 1e-12)


def test_tsais_planar_arm() -> None:
    """Tsai (9.71)."""
    lengths = (0.5, 0.4)
    model = RobotModel.from_dh([[0, 0, a, 0] for a in lengths])
    q = np.array([0.3, 1.1])
    first, second = (
        [[c, -s, 0, a * c], [s, c, 0, a * s], [0, 0, 1, 0], [0, 0, 0, 1]]
        for a, c, s in zip(lengths, np.cos(q), np.sin(q), strict=True)
    )
    assert_close(model.link_pose(q, "link1"), first, 1e-14)
    assert_close(model.link_pose(q, "link2"), np.matmul(first, second), 1e-14)


def test_gravity_in_frame_0() -> None:
    rows = [[0, 0, 0, 0], [0, 0.5, 0, 0]]
    links = [
        (4.0, [0.2, 0, 0], np.diag([0, 0.1, 0.1])),
        (3.0, [0.1, 0, 0], [0, 0, 0, 0.2, 0, 0.2]),
    ]
    model = RobotModel.from_dh(rows, "craig", "RR", links, gravity=[0, -9.81, 0])
    p = lavalle_two_link.Parameters(0.5, 0.2, 0.1, 4.0, 3.0, 0.1, 0.2)
    q = np.array([0.3, 1.1])
    assert_close(model.mass_matrix(q), lavalle_two_link.mass_matrix(p, q), 1e-13)
    assert_close(model.gravity_torque(q), lavalle_two_link.gravity(p, q), 1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_down_is_down(seed: int) -> None:
    down = np.random.default_rng(seed).normal(size=3)
    rows = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]]
    links = [(1.0, [0.1, 0.2, 0.3], np.eye(3))] * 2
    upright = RobotModel.from_urdf(dh_urdf(rows, links=links, down=down))
    tilted = RobotModel.from_dh(
        rows, links=links, gravity=9.81 * down / np.linalg.norm(down)
    )
    assert_close(
        upright.gravity_torque([0.3, 0.4]), tilted.gravity_torque([0.3, 0.4]), 1e-13
    )


def test_milicevic_coefficients() -> None:
    model = RobotModel.shipped("milicevic_rprr")
    q = np.array([0.3, 0.2, 0.7, -0.4])
    found = dynamic_coefficients(model, q)
    assert_close(model.mass_matrix(q), found.D, 1e-13)
    assert_close(model.gravity_torque(q), found.c, 1e-12)


def test_a_particle_on_a_sphere_moves_on_a_great_circle() -> None:
    """LaValle, example 13.14: q is the position, m qdd = 2 lambda q, and qdd = -|qd|^2 q."""
    model = RobotModel.shipped("lavalle_sphere", m=1.5)
    q = np.array([0.6, 0.0, 0.8])
    qd = np.array([-0.8, 1.5, 0.6])
    pose = model.link_pose(q, "link4")
    assert_close(pose[:3], np.column_stack([np.eye(3), q]), 1e-15)
    sphere = Constraints(2 * q[None], np.array([2 * qd @ qd]), np.zeros(1))
    motion = constrained_forward_dynamics(model, q, qd, np.zeros(3), sphere)
    assert_close(motion.qdd, -3.25 * q, 1e-13)
    assert_close(motion.multipliers, [-1.5 * 3.25 / 2], 1e-13)


@pytest.mark.parametrize("name", textbook_arm_names())
def test_pinocchio_loads_the_file(name: str) -> None:
    text, _ = textbook_arm(name, {})
    model = RobotModel.from_urdf(text)
    q = np.linspace(0.2, 0.4, model.n)
    assert_close(Peer(text, model.joint_names).crba(q), model.mass_matrix(q), 1e-12)


def test_mujoco_loads_the_file() -> None:
    """It merges fixed links with their parents, and refuses thin rods and massless links."""
    links = [(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25]))] * 3
    text = dh_urdf(
        [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0, 0, 0.4, 0]],
        joints="RPR",
        links=links,
    )
    model = RobotModel.from_urdf(text)
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    m = np.zeros((3, 3))
    q = np.array([0.3, 0.2, 0.4])
    data.qpos[:] = q
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, m)
    assert_close(m, model.mass_matrix(q), 1e-12)


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"convention": "modified"}, "convention"),
        ({"rows": [[0, 0, 0]]}, "rows"),
        ({"rows": [[0, 0, 0, "l1"]]}, "rows"),
        ({"joints": "RR"}, "joints"),
        ({"joints": "S"}, "joints"),
        ({"links": []}, "links"),
        ({"links": [3.0]}, "link1"),
        ({"links": [(-1.0, [0, 0, 0], np.eye(3))]}, "link1"),
        ({"links": [(1.0, [0, 0, 0], [1, 0, 0, 1])]}, "link1"),
        ({"parents": [1]}, "parents"),
        ({"limits": [[0, 1]]}, "joint1"),
        ({"down": [0, 0, 0]}, "down"),
    ],
)
def test_invalid_tables(changes: dict[str, Any], culprit: str) -> None:
    with pytest.raises(RobotModelError, match=f"{culprit}.*Cure: "):
        dh_urdf(**{"rows": [[0, 0, 0, 0]], **changes})


def test_a_table_needs_neither_limits_nor_masses() -> None:
    """Warnings of these alone have a category of their own, which ``from_dh`` ignores."""
    rows = [[0, 0, 0.4, 0]]
    with pytest.warns(IncompleteModelWarning) as caught:
        RobotModel.from_urdf(dh_urdf(rows))
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobotModel.from_dh(rows)


def test_impossible_inertia_is_that_of_a_urdf() -> None:
    table = [[0, 0, 0, 0]], "standard", "R", [(1.0, [0, 0, 0], [1, 0, 0, 1, 0, 3])]
    with pytest.warns(RobotModelWarning, match='"link1".*no body') as caught:
        model = RobotModel.from_dh(*table)
    assert len(caught) == 1 and model.mass_matrix([0.0]) == 3.0
    with pytest.raises(RobotModelError, match='"link1".*no body'):
        RobotModel.from_dh(*table, strict=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rows: [",
        "rows: 3",
        "rows: [[0, 0, 0, 0]]\nroes: 1",
        "rows: []\nparameters: 2",
    ],
)
def test_invalid_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(text)
    with pytest.raises(RobotModelError, match=r"table\.yaml: .*Cure: "):
        read_dh_file(file)


@pytest.mark.parametrize("formula", ["2 * l", "-l/2", "pi**2", "(l + 1) * 2.5e-1"])
def test_formulas(formula: str, tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(f"parameters: {{l: 3}}\nrows: [[0, 0, {formula}, 0]]")
    model = RobotModel.from_urdf(read_dh_file(file, {"l": 4.0})[0])
    assert model.link_pose([0.0], "link1")[0, 3] == eval(
        formula, {"pi": np.pi, "l": 4.0}
    )


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os')",
        "l.real",
        "l if l else 1",
        "m",
        "1/0",
        "9**9**9",
        "(" * 150,
        "[l]*9",
    ],
)
def test_other_content_is_no_formula(formula: str, tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(f"parameters: {{l: 3}}\nrows: [[0, 0, {formula!r}, 0]]")
    with pytest.raises(RobotModelError, match="rows"):
        read_dh_file(file)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("craig_4r", {}), ("craig_rp", {"l2": 1.0}), ("panda", {"l1": 1.0})],
)
def test_unknown_names(name: str, parameters: dict[str, float]) -> None:
    with pytest.raises(RobotDynamicsError, match="Cure: "):
        RobotModel.shipped(name, **parameters)

"""Inertia matrices against the integrals that define them, and the examples and exercises of Tsai and Craig."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracles import craig_inertia, tsai_exercises
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.textbooks import mass_properties, newton_euler_equations
from support import arms
from support.comparing import assert_close

Array = np.ndarray
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
# equal weights are exact for low powers of sine and cosine
AROUND = np.arange(12) * 2.0 * np.pi / 12.0
BOX = (2.3, 0.4, 0.7, 1.1)  # kg, m


def inertia_of(points: Array, masses: Array) -> Array:
    """Tsai (9.8) for points (k, 3) with masses (k,)."""
    return np.einsum(
        "k,kij->ij", masses, (points**2).sum(axis=1)[:, None, None] * np.eye(3)
    ) - (points.T @ (masses[:, None] * points))


def solid_cylinder(mass: float, radius: float, length: float) -> tuple[Array, Array]:
    r, angle, z = np.meshgrid(
        radius * (NODES + 1.0) / 2.0, AROUND, NODES * length / 2.0, indexing="ij"
    )
    weights = r * np.einsum("i,k->ik", WEIGHTS, WEIGHTS)[:, None, :]
    points = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=-1).reshape(-1, 3)
    return points, mass * weights.ravel() / weights.sum()


def solid_sphere(mass: float, radius: float) -> tuple[Array, Array]:
    r, angle, height = np.meshgrid(
        radius * (NODES + 1.0) / 2.0, AROUND, NODES, indexing="ij"
    )
    weights = r**2 * np.einsum("i,k->ik", WEIGHTS, WEIGHTS)[:, None, :]
    flat = np.sqrt(1.0 - height**2)
    points = r[..., None] * np.stack(
        [flat * np.cos(angle), flat * np.sin(angle), height], axis=-1
    )
    return points.reshape(-1, 3), mass * weights.ravel() / weights.sum()


def test_solids_are_their_integrals() -> None:
    """Tsai (9.8), (9.12); Craig (6.28)."""
    m, *size = BOX
    expected = craig_inertia.integrated(m, -np.array(size) / 2.0, np.array(size))
    assert_close(mass_properties.box_inertia(m, size), expected, 1e-14)
    assert_close(
        mass_properties.cylinder_inertia(2.0, 0.3, 0.7),
        inertia_of(*solid_cylinder(2.0, 0.3, 0.7)),
        1e-14,
    )
    assert_close(
        mass_properties.sphere_inertia(1.5, 0.4),
        inertia_of(*solid_sphere(1.5, 0.4)),
        1e-14,
    )


def test_rod_is_what_thin_bars_become() -> None:
    """Tsai (9.13) from (9.12), and from the cylinder."""
    rod = mass_properties.rod_inertia(2.0, 0.6)
    assert_close(rod, craig_inertia.slender_rod(2.0, 0.6), 1e-15)
    assert_close(mass_properties.cylinder_inertia(2.0, 1e-8, 0.6), rod, 1e-14)


def test_box_about_its_corner() -> None:
    """Craig examples 6.1 and 6.2, (6.18)-(6.28), where the prints of (6.25) and Tsai (9.9) have the sign wrong."""
    m, *size = BOX
    moved = mass_properties.parallel_axes(
        m, mass_properties.box_inertia(m, size), np.array(size) / 2.0
    )
    assert_close(moved, craig_inertia.about_corner(*BOX), 1e-14)


def test_rotated_bar() -> None:
    """Tsai exercise 3: the bar (9.12) in axes that are rotated by phi about z_c."""
    m, *size = BOX
    cos = np.cos(0.6)
    sin = np.sin(0.6)
    # the bar's axes in the turned ones
    turn = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    got = mass_properties.rotated(mass_properties.box_inertia(m, size), turn)
    assert_close(got, tsai_exercises.bar_in_turned_axes(*BOX, 0.6), 1e-15)


@pytest.mark.parametrize("elevation", [-0.7, 1.1])
def test_pointer(elevation: float) -> None:
    """Tsai exercises 4 and 5: a rod from O, at azimuth theta1 and elevation theta2; its inertia and h = I w."""
    m = 1.2
    length = 0.8
    q = np.array([0.4, elevation])
    qd = np.array([1.3, -0.6])
    (c1, c2) = np.cos(q)
    (s1, s2) = np.sin(q)
    u = np.array([c1 * c2, s1 * c2, s2])
    across = np.array([s1, -c1, 0.0])
    # Columns: where the rod's x, y, z axes (z along it) point in the base frame.
    turn = np.column_stack([np.cross(across, u), across, u])
    central = mass_properties.rotated(mass_properties.rod_inertia(m, length), turn)
    about_o = mass_properties.parallel_axes(m, central, length / 2.0 * u)
    assert_close(about_o, tsai_exercises.pointer_inertia(m, length, q), 1e-15)
    w = qd @ [[0.0, 0.0, 1.0], across]
    p_c = length / 2.0 * u
    expected = tsai_exercises.pointer_angular_momentum(m, length, q, qd)
    assert_close(about_o @ w, expected, 1e-15)
    assert_close(
        newton_euler_equations.angular_momentum(m, central, p_c, np.cross(w, p_c), w),
        expected,
        1e-15,
    )


def test_principal_axes() -> None:
    """Tsai (9.10)-(9.11): each axis is parallel to its second moment; the axes are right-handed."""
    for seed in range(5):
        inertia = arms.central_inertia(np.random.default_rng(seed), 2.0)
        moments, axes = mass_properties.principal_axes(inertia)
        assert_close(inertia @ axes, axes * moments, 1e-14)
        turned = mass_properties.rotated(inertia, axes.T)
        assert_close(turned, np.diag(moments), 1e-14)
        assert np.all(np.diff(moments) >= 0.0) and np.linalg.det(axes) == pytest.approx(
            1.0
        )


def test_moment_about_a_line() -> None:
    """Tsai (9.5): the sum of the squared distances of points from the line; products of inertia are not zero."""
    rng = np.random.default_rng(0)
    u = np.array([0.6, 0.0, 0.8])
    points = rng.normal(size=(5, 3))
    masses = rng.uniform(0.1, 1.0, 5)
    expected = masses @ ((points**2).sum(axis=1) - (points @ u) ** 2)
    got = mass_properties.moment_of_inertia(inertia_of(points, masses), 3.0 * u)
    assert got == pytest.approx(expected, rel=1e-13)


def test_moments_of_points() -> None:
    """Tsai (9.2), (9.4), (9.5), (9.7)-(9.8): sums over points; a rod has the radius of gyration l / sqrt(12)."""
    rng = np.random.default_rng(1)
    u = np.array([0.6, 0.0, 0.8])
    w = np.array([0.0, 1.0, 0.0])
    points = rng.normal(size=(5, 3))
    masses = rng.uniform(0.1, 1.0, 5)
    inertia = mass_properties.inertia_of_points(masses, points)
    assert_close(inertia, inertia_of(points, masses), 1e-14)
    assert_close(
        mass_properties.second_moment(inertia, 2.0 * u),
        masses @ np.cross(points, np.cross(u, points)),
        1e-14,
    )
    product = mass_properties.product_of_inertia(inertia, u, w)
    assert product == pytest.approx(-masses @ ((points @ u) * (points @ w)), rel=1e-13)
    rod = mass_properties.rod_inertia(2.0, 0.6)
    assert mass_properties.radius_of_gyration(2.0, rod, [1, 1, 0]) == pytest.approx(
        0.6 / np.sqrt(12.0), rel=1e-14
    )
    with pytest.raises(RobotDynamicsError, match="mass is 0"):
        mass_properties.radius_of_gyration(0.0, rod, [1, 0, 0])


def test_body_with_a_density() -> None:
    """Tsai (9.1), (9.8), Craig (6.17): a bar whose density grows as x, by hand; a homogeneous box."""
    lower = np.array([0.0, -0.1, -0.2])
    upper = np.array([0.6, 0.1, 0.2])
    masses, points = mass_properties.point_masses(
        lambda p: 1000.0 * p[:, 0], lower, upper
    )
    mass = 1000.0 * 0.6**2 / 2.0 * 0.08
    xx = 0.6**2 / 2.0  # the integral of x^2 is m l^2 / 2
    assert masses.sum() == pytest.approx(mass, rel=1e-13)
    assert_close(mass_properties.center_of_mass(masses, points), [0.4, 0.0, 0.0], 1e-14)
    yy = 0.1**2 / 3.0
    zz = 0.2**2 / 3.0
    expected = mass * np.diag([yy + zz, xx + zz, xx + yy])
    assert_close(mass_properties.inertia_of_points(masses, points), expected, 1e-13)
    m, *size = BOX
    half = np.array(size) / 2.0
    box = mass_properties.point_masses(
        lambda p: np.full(len(p), m / np.prod(size)), -half, half
    )
    assert_close(
        mass_properties.inertia_of_points(*box),
        mass_properties.box_inertia(m, size),
        1e-14,
    )


def test_parts_add_up_to_the_model() -> None:
    """Tsai (9.1), (9.9): two boxes fixed to each other are one link of the kernels' model."""
    sizes = [[0.2, 0.1, 0.3], [0.1, 0.1, 0.5]]
    masses = [2.0, 0.7]
    centers = np.array([[0.1, 0.0, 0.2], [-0.2, 0.3, 0.1]])
    parts = [
        mass_properties.box_inertia(m, size)
        for m, size in zip(masses, sizes, strict=True)
    ]
    about_o = sum(
        mass_properties.parallel_axes(m, i, c)
        for m, i, c in zip(masses, parts, centers, strict=True)
    )
    arm = arms.Arm(
        (
            arms.Link("base"),
            *(arms.Link(f"p{k}", masses[k], centers[k], parts[k]) for k in range(2)),
        ),
        (
            arms.Joint("turn", "revolute", "base", "p0"),
            arms.Joint("weld", "fixed", "p0", "p1"),
        ),
    )
    model = RobotModel.from_urdf(arm.urdf)
    parameters = dict(
        zip(model.parameter_names, model.inertial_parameters, strict=True)
    )
    assert model.mass_matrix([0.3])[0, 0] == pytest.approx(about_o[2, 2], rel=1e-13)
    assert parameters["p0.ixy"] == pytest.approx(about_o[0, 1], rel=1e-13)
    com = mass_properties.center_of_mass(masses, centers)
    assert_close([parameters[f"p0.mc{axis}"] / 2.7 for axis in "xyz"], com, 1e-14)


@pytest.mark.parametrize(
    ("function", "arguments", "culprit"),
    [
        (mass_properties.sphere_inertia, (-1.0, 0.1), r"mass .*-1\.0"),
        (mass_properties.cylinder_inertia, (1.0, float("nan"), 0.1), "radius .*nan"),
        (mass_properties.box_inertia, (1.0, [1.0, 2.0]), "size"),
        (mass_properties.rotated, (np.eye(3), 2.0 * np.eye(3)), "orthogonal"),
        (mass_properties.moment_of_inertia, (np.eye(3), [0, 0, 0]), "direction"),
        (mass_properties.center_of_mass, ([0.0, 0.0], np.zeros((2, 3))), "masses"),
        (mass_properties.principal_axes, (np.ones(6),), "inertia"),
        (mass_properties.parallel_axes, (1.0, np.eye(3), [1.0, 2.0]), "com"),
        (
            mass_properties.inertia_of_points,
            ([1.0, -1.0], np.ones((2, 3))),
            r"mass .*-1\.0",
        ),
        (
            mass_properties.inertia_of_points,
            ([1.0, float("nan")], np.ones((2, 3))),
            "mass .*nan",
        ),
        (
            mass_properties.radius_of_gyration,
            (1.0, -np.eye(3), [0, 0, 1]),
            "moment of inertia",
        ),
    ],
)
def test_impossible_mass_properties_are_refused(
    function: Callable[..., Array], arguments: tuple[Any, ...], culprit: str
) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        function(*arguments)

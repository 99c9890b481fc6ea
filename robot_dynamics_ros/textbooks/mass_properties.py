"""Mass properties of rigid bodies: Tsai (9.1)-(9.13), (9.29) and Craig (6.16)-(6.28).

Bodies are solid and homogeneous. Lengths are in m, masses in kg, inertia matrices (3, 3) in kg m^2 with Tsai's sign
(9.7): off-diagonal elements are negative products of inertia. Functions of one body raise RobotDynamicsError for a
wrong shape, and for a mass or length that is negative or not finite.

With Tsai's I_xy = -integral xy dm, the parallel-axis theorem subtracts m xc yc. Tsai (9.9) has a plus in print; Craig
(6.25), whose products have no sign, has a minus; Craig (6.26) is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.description.inertia import steiner
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.textbooks.shared_terms import real, shaped


def center_of_mass(masses: ArrayLike, centers: ArrayLike) -> Array:
    """Return the centre of mass (3,), m, of k parts with masses (k,) and centres of mass (k, 3), Tsai (9.1).

    Raises RobotDynamicsError also if the total mass is 0.
    """
    m = real(masses)
    c = real(centers)
    if m.ndim != 1 or c.shape != (len(m), 3) or not m.sum() > 0.0:
        raise RobotDynamicsError(
            f"masses have shape {m.shape}, sum {m.sum():g}, centers shape {c.shape}. "
            "Cure: pass k masses with a positive sum, and k points (k, 3)"
        )
    return np.asarray(m @ c / m.sum())


def point_masses(
    density: Callable[[Array], ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    nodes: int = 16,
) -> tuple[Array, Array]:
    """Return k masses (k,), kg, and points (k, 3), m, whose sums are the mass integrals over a box: Tsai (9.8).

    They are Gauss-Legendre nodes: sums of polynomials up to degree 2 nodes - 1 in each coordinate are exact. A density
    that jumps converges slowly; divide the body into boxes at the jumps.

    Parameters
    ----------
    density
        Function of points (k, 3), m, that returns their densities (k,), kg/m^3. The result is not checked.
    lower, upper
        Corners (3,) of the box, m, lower < upper along each axis.
    nodes
        Number of nodes along each axis, at least 1.
    """
    corners = np.array(
        [
            shaped(n, x, (3,), "pass x y z")
            for n, x in (("lower", lower), ("upper", upper))
        ]
    )
    at, weights = np.polynomial.legendre.leggauss(nodes)
    axes = corners.mean(axis=0) + np.outer(at, corners[1] - corners[0]) / 2.0
    points = np.stack(np.meshgrid(*axes.T, indexing="ij"), axis=-1).reshape(-1, 3)
    volumes = (
        np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
        * np.prod(corners[1] - corners[0])
        / 8.0
    )
    return volumes * real(density(points)), points


def inertia_of_points(masses: ArrayLike, points: ArrayLike) -> Array:
    """Return the inertia (3, 3) about the origin of masses (k,), kg, at points (k, 3), m: Tsai (9.7)-(9.8).

    Of ``point_masses`` it is the inertia of the body. Craig (6.17) has the same with Tsai's sign of the products.
    """
    m = np.array([_mass(mass) for mass in real(masses).ravel().tolist()])
    p = shaped(
        "points", points, (len(m), 3), f"pass a point for each of the {len(m)} masses"
    )
    return np.sum(m[:, None] * p * p) * np.eye(3) - p.T @ (m[:, None] * p)


def box_inertia(mass: float, size: ArrayLike) -> Array:
    """Return the inertia (3, 3) about its centre of a box with edges ``size`` (3,), m, along x, y, z: Tsai (9.12)."""
    sides = shaped("size", size, (3,), "pass the edges along x, y, z in m")
    a, b, c = (_not_negative("size", side) for side in sides.tolist())
    return _mass(mass) / 12.0 * np.diag([b * b + c * c, c * c + a * a, a * a + b * b])


def rod_inertia(mass: float, length: float) -> Array:
    """Return the inertia (3, 3) about its centre of a slender rod along z, Tsai (9.13)."""
    return cylinder_inertia(mass, 0.0, length)


def cylinder_inertia(mass: float, radius: float, length: float) -> Array:
    """Return the inertia (3, 3) about its centre of a cylinder along z, from Tsai (9.8)."""
    r = _not_negative("radius", radius)
    h = _not_negative("length", length)
    across = (3.0 * r * r + h * h) / 12.0
    return _mass(mass) * np.diag([across, across, r * r / 2.0])


def sphere_inertia(mass: float, radius: float) -> Array:
    """Return the inertia (3, 3) about its centre of a sphere, from Tsai (9.8)."""
    return 0.4 * _mass(mass) * _not_negative("radius", radius) ** 2 * np.eye(3)


def parallel_axes(mass: float, inertia: ArrayLike, com: ArrayLike) -> Array:
    """Return the inertia (3, 3) of a body about a point O, in parallel axes: Craig (6.26), Tsai (9.9) corrected.

    Parameters
    ----------
    mass
        Mass, kg.
    inertia
        Inertia (3, 3) about the centre of mass, kg m^2.
    com
        Vector (3,) from O to the centre of mass, m; its sign does not matter.
    """
    return _matrix("inertia", inertia) + steiner(
        _mass(mass), shaped("com", com, (3,), "pass x y z")
    )


def rotated(inertia: ArrayLike, rotation: ArrayLike) -> Array:
    """Return the inertia (3, 3) in the axes of frame A about the same point: R I R^T, Tsai (9.29).

    Parameters
    ----------
    inertia
        Inertia I (3, 3) in the axes of frame C.
    rotation
        R (3, 3): its columns are the axes of C in A.

    Raises
    ------
    RobotDynamicsError
        If ``rotation`` is not orthogonal.
    """
    r = _matrix("rotation", rotation)
    if not np.allclose(r @ r.T, np.eye(3), rtol=0.0, atol=1e-9):
        raise RobotDynamicsError(
            "rotation is not orthogonal. Cure: pass the unit axes of one frame in the other"
        )
    return r @ _matrix("inertia", inertia) @ r.T


def moment_of_inertia(inertia: ArrayLike, direction: ArrayLike) -> float:
    """Return the moment of inertia u^T I u (kg m^2) about an axis u through the reference point, Tsai (9.5)-(9.6).

    The point is that of ``inertia`` I (3, 3). ``direction`` (3,) is along the axis, in the axes of I and of any length.
    Raises RobotDynamicsError if it is zero.
    """
    return product_of_inertia(inertia, direction, direction)


def second_moment(inertia: ArrayLike, direction: ArrayLike) -> Array:
    """Return the second moment I u (3,), kg m^2, of a body for the direction u: Tsai (9.2), (9.3), (9.6).

    ``inertia`` and ``direction`` are as for ``moment_of_inertia``.
    """
    return _matrix("inertia", inertia) @ _unit(direction)


def product_of_inertia(inertia: ArrayLike, u: ArrayLike, w: ArrayLike) -> float:
    """Return the product of inertia w^T I u, kg m^2, for two directions (3,): Tsai (9.4).

    With his sign: for perpendicular u and w it is minus the integral of (p . u) (p . w) over the mass. Arguments and
    errors are as for ``moment_of_inertia``.
    """
    return float(_unit(w) @ second_moment(inertia, u))


def radius_of_gyration(mass: float, inertia: ArrayLike, direction: ArrayLike) -> float:
    """Return the radius (m) at which a point mass has the body's moment of inertia about an axis: Tsai (9.5).

    ``inertia`` and ``direction`` are as for ``moment_of_inertia``. Raises RobotDynamicsError for a mass of 0.
    """
    if not _mass(mass) > 0.0:
        raise RobotDynamicsError("mass is 0. Cure: pass the mass in kg")
    return math.sqrt(
        _not_negative(
            "moment of inertia", moment_of_inertia(inertia, direction), "kg m^2"
        )
        / mass
    )


def principal_axes(inertia: ArrayLike) -> tuple[Array, Array]:
    """Return the principal moments (3,) in ascending order and the axes (3, 3) as columns: Tsai (9.10)-(9.11).

    Moments are in kg m^2. The axes, in those of ``inertia`` (3, 3), form a rotation R, with inertia = R diag(moments)
    R^T. ``inertia`` is symmetric; only its lower triangle is read.
    """
    moments, axes = np.linalg.eigh(_matrix("inertia", inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0  # right-handed; the sign of an axis is arbitrary
    return moments, axes


def _not_negative(name: str, value: float, unit: str = "m") -> float:
    if not (math.isfinite(value) and value >= 0.0):
        raise RobotDynamicsError(
            f"{name} is {value!r}. Cure: pass a finite number of at least 0, in {unit}"
        )
    return float(value)


def _unit(direction: ArrayLike) -> Array:
    u = shaped("direction", direction, (3,), "pass x y z")
    length = float(np.linalg.norm(u))
    if not length > 0.0:
        raise RobotDynamicsError(
            "direction is zero. Cure: pass a vector along the axis"
        )
    return u / length


def _mass(mass: float) -> float:
    return _not_negative("mass", mass, "kg")


def _matrix(name: str, value: ArrayLike) -> Array:
    return shaped(name, value, (3, 3), "pass a matrix (3, 3)")

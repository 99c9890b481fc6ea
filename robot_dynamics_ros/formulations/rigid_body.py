"""One rigid body: accelerations, momentum, energy, Newton's and Euler's equations. Craig 6.2, 6.4; Tsai 9.3-9.5.

Vectors (3,) in any axes, as long as all of a call are in the same; inertias (3, 3) about the centre of mass.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.types import Array


def point_velocity(origin: Array, w: Array, r: Array, relative: Array) -> Array:
    """Velocity (m/s) of a point at r (m) from the origin of a frame that turns at w: Craig (6.5), (5.13), Tsai (9.32).

    The frame's origin moves at ``origin``, the point at ``relative`` as seen from the frame.
    """
    return origin + relative + np.cross(w, r)


def point_acceleration(origin: Array, w: Array, dw: Array, r: Array, relative: Array, gaining: Array) -> Array:
    """Acceleration (m/s^2) of a point at r (m) from the origin of a frame with angular velocity w, rad/s: Craig (6.10).

    The origin's acceleration is ``origin``, the frame's angular one dw (rad/s^2); as seen from the frame, the point
    has the velocity ``relative`` and the acceleration ``gaining``. Craig (6.12) is that of a point of the body.
    """
    return origin + gaining + 2.0 * np.cross(w, relative) + np.cross(dw, r) + np.cross(w, np.cross(w, r))


def angular_acceleration(w: Array, dw: Array, relative: Array, gaining: Array) -> Array:
    """Angular acceleration (rad/s^2) of a body that turns at ``relative`` in a frame that turns at w: Craig (6.15).

    dw and ``gaining`` are the rates of w and, as seen from the frame, of ``relative``.
    """
    return dw + gaining + np.cross(w, relative)


def linear_momentum(mass: float, v_c: Array) -> Array:
    """Momentum m v_c (kg m/s), by the velocity of the centre of mass: Tsai (9.18)."""
    return mass * v_c


def angular_momentum(mass: float, inertia: Array, p_c: Array, v_c: Array, w: Array) -> Array:
    """Angular momentum (kg m^2/s) about the point from which p_c leads to the centre of mass: Tsai (9.22), (9.24)."""
    return np.asarray(np.cross(p_c, linear_momentum(mass, v_c)) + inertia @ w)


def kinetic_energy(mass: float, inertia: Array, v_c: Array, w: Array) -> float:
    """K (J): Tsai (9.34), Craig (6.69), Spong (9.41)."""
    return float(0.5 * mass * v_c @ v_c + 0.5 * w @ inertia @ w)


def newton_force(mass: float, dv_c: Array) -> Array:
    """Force (N) that accelerates the centre of mass at dv_c: Craig (6.29), Tsai (9.38)."""
    return mass * dv_c


def euler_moment(inertia: Array, w: Array, dw: Array) -> Array:
    """Moment (Nm) about the centre of mass for the angular acceleration dw: Craig (6.30), Tsai (9.45), (9.47)."""
    return np.asarray(inertia @ dw + np.cross(w, inertia @ w))

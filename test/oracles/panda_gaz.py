"""Dynamic coefficients of the Panda, as printed beside the parameters they come from.

C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic identification of the Franka Emika Panda robot
with retrieval of feasible parameters using penalty-based optimization", IEEE RA-L 4(4), 2019, supplementary material,
Table III, column pi(p): combinations of masses m, first moments c m and inertias J at the link frames' origins.

Left out: two rows without a number, and four with link 6's c6z, which the printed c6z = -0.010517 m does not
give (J5xx - J5yy + ..., J6yy + J5zz + ..., J6yz, c5y m5 - c6z m6): with -0.0192 m the last three come out.
"""

from collections.abc import Callable

import numpy as np

from oracles.lagrange import Array

D3 = 0.316
D5 = 0.384
A4 = 0.0825
A7 = 0.088
AXES = "xyz"


def coefficients(m: Array, c: Array, inertia: Array) -> list[tuple[str, float, float]]:
    """Name, printed value and computed value of each coefficient.

    From masses (7,), centres of mass (7, 3) and inertias there (7, 3, 3), in link axes.
    """

    def j(link: int, axes: str) -> float:
        arm = c[link - 1]
        about_origin = inertia[link - 1] + m[link - 1] * (
            arm @ arm * np.eye(3) - np.outer(arm, arm)
        )
        return float(about_origin[AXES.index(axes[0]), AXES.index(axes[1])])

    def mc(link: int, axis: str) -> float:
        return float(m[link - 1] * c[link - 1, AXES.index(axis)])

    def mass(link: int) -> float:
        return float(m[link - 1])

    return (
        _shoulder(j, mc, mass)
        + _elbow(j, mc, mass)
        + _wrist(j, mc, mass)
        + _moments(mc, mass)
    )


Inertia = Callable[[int, str], float]
Mass = Callable[[int], float]


def _from(mass: Mass, link: int) -> float:
    return sum(mass(k) for k in range(link, 8))


def _shoulder(j: Inertia, mc: Inertia, mass: Mass) -> list[tuple[str, float, float]]:
    beyond = D3**2 * mass(3) + 2 * D3 * mc(3, "z") + (D3**2 + A4**2) * _from(mass, 4)
    return [
        ("J2yy + J1zz", 0.0373, j(2, "yy") + j(1, "zz")),
        (
            "J2xx - J2yy + J3yy + ...",
            0.9896,
            j(2, "xx") - j(2, "yy") + j(3, "yy") + beyond,
        ),
        ("J2xy", -0.0040, j(2, "xy")),
        ("J2xz", 0.0103, j(2, "xz")),
        ("J2yz", 0.0008, j(2, "yz")),
        ("J3yy + J2zz + ...", 1.0358, j(3, "yy") + j(2, "zz") + beyond),
        (
            "J3xx - J3yy + J4yy - ...",
            0.0116,
            j(3, "xx") - j(3, "yy") + j(4, "yy") - A4**2 * mass(4),
        ),
        ("J3xz", -0.0055, j(3, "xz")),
        ("J3yz", -0.0044, j(3, "yz")),
    ]


def _elbow(j: Inertia, mc: Inertia, mass: Mass) -> list[tuple[str, float, float]]:
    past = _from(mass, 5)
    along = 2 * D5 * mc(5, "z")
    return [
        (
            "J4yy + J3zz + ...",
            0.1245,
            j(4, "yy") + j(3, "zz") + A4**2 * mass(4) + 2 * A4**2 * past,
        ),
        (
            "J4xx - J4yy + ...",
            0.5408,
            j(4, "xx") - j(4, "yy") + j(5, "yy") + along + (D5**2 - A4**2) * past,
        ),
        ("J4xy + ...", 0.1388, j(4, "xy") + A4 * D5 * past + A4 * mc(5, "z")),
        ("J4xz", 0.0039, j(4, "xz")),
        ("J4yz", -0.0016, j(4, "yz")),
        (
            "J5yy + J4zz + ...",
            0.6325,
            j(5, "yy") + j(4, "zz") + (D5**2 + A4**2) * past + along,
        ),
        ("J5xy", -0.0015, j(5, "xy")),
        ("J5xz", -0.0046, j(5, "xz")),
        ("J5yz", 0.0022, j(5, "yz")),
    ]


def _wrist(j: Inertia, mc: Inertia, mass: Mass) -> list[tuple[str, float, float]]:
    return [
        (
            "J6xx - J6yy + J7yy - ...",
            -0.0009,
            j(6, "xx") - j(6, "yy") + j(7, "yy") - A7**2 * mass(7),
        ),
        ("J6xy + ...", 0.0055, j(6, "xy") + A7 * mc(7, "z")),
        ("J7yy + J6zz + ...", 0.0304, j(7, "yy") + j(6, "zz") + A7**2 * mass(7)),
        ("J7xx - J7yy", 0.0024, j(7, "xx") - j(7, "yy")),
        ("J7xy", -0.0004, j(7, "xy")),
        ("J7xz", -0.0017, j(7, "xz")),
        ("J7yz", -0.0005, j(7, "yz")),
        ("J7zz", 0.0049, j(7, "zz")),
    ]


def _moments(mc: Inertia, mass: Mass) -> list[tuple[str, float, float]]:
    return [
        ("c2x m2", -0.0020, mc(2, "x")),
        ("c2y m2 - ...", -3.1043, mc(2, "y") - D3 * _from(mass, 3) - mc(3, "z")),
        ("c3x m3 + ...", 0.6842, A4 * _from(mass, 4) + mc(3, "x")),
        ("c3y m3 - c4z m4", 0.0282, mc(3, "y") - mc(4, "z")),
        ("c4x m4 - ...", -0.4901, mc(4, "x") - A4 * _from(mass, 5)),
        ("c4y m4 + ...", 1.7207, D5 * _from(mass, 5) + mc(4, "y") + mc(5, "z")),
        ("c5x m5", -0.0147, mc(5, "x")),
        ("c6x m6 + ...", 0.1650, A7 * mass(7) + mc(6, "x")),
        ("c6y m6 - c7z m7", -0.0688, mc(6, "y") - mc(7, "z")),
        ("c7x m7", 0.0077, mc(7, "x")),
        ("c7y m7", -0.0031, mc(7, "y")),
    ]

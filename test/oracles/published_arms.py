"""Denavit-Hartenberg tables and mass properties as they are printed, and plain arithmetic on them.

Panda: Franka Emika, Franka Control Interface documentation (Craig's convention). UR5e: Universal Robots, "DH
parameters for calculations of kinematics and dynamics". Puma 560: Corke and Armstrong-Helouvry, ICRA 1994,
and Armstrong, Khatib, Burdick, ICRA 1986, as in mdl_puma560 of Corke's Robotics Toolbox for MATLAB.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.lagrange import Array

Complex = NDArray[np.complex128]
HALF_PI = np.pi / 2


@dataclass(frozen=True)
class DhArm:
    """A DH table, one row (a, alpha, d) a joint, standard or Craig's.

    Masses are in kg, centres of mass in m in the DH frames. `base` lifts (m) and turns (rad) the table's frame 0.
    """

    a: list[float]
    alpha: list[float]
    d: list[float]
    craig: bool = False
    base: tuple[float, float] = (0.0, 0.0)
    masses: tuple[float, ...] = ()
    coms: tuple[tuple[float, float, float], ...] = ()

    def frames(self, q: NDArray[np.generic]) -> list[Complex]:
        """DH frames 1 to n in the root frame, (4, 4) each."""
        here = _turn_z(self.base[1]) @ _shift(0.0, self.base[0])
        out = []
        for a, alpha, d, angle in zip(self.a, self.alpha, self.d, q, strict=True):
            along_z = _turn_z(angle) @ _shift(0.0, d)
            along_x = _shift(a, 0.0) @ _turn_x(alpha)
            here = here @ (along_x @ along_z if self.craig else along_z @ along_x)
            out.append(here)
        return out

    def potential(self, q: NDArray[np.generic], g: float = 9.81) -> complex:
        """Energy in gravity along -z of the root frame, J."""
        points = [
            f @ np.array([*c, 1.0])
            for f, c in zip(self.frames(q), self.coms, strict=True)
        ]
        return complex(
            sum(m * g * p[2] for m, p in zip(self.masses, points, strict=True))
        )

    def gravity_torque(self, q: Array) -> Array:
        """Gradient of the potential energy, by complex steps: exact to rounding."""
        return np.array(
            [self.potential(q + 1e-30j * e).imag / 1e-30 for e in np.eye(len(q))]
        )


def _turn_z(angle: complex) -> Complex:
    c = np.cos(angle)
    s = np.sin(angle)
    return np.array(
        [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=np.complex128
    )


def _turn_x(angle: float) -> Complex:
    c = np.cos(angle)
    s = np.sin(angle)
    return np.array(
        [[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]], dtype=np.complex128
    )


def _shift(x: float, z: float) -> Complex:
    out = np.eye(4, dtype=np.complex128)
    out[0, 3] = x
    out[2, 3] = z
    return out


#: Frame 7 is panda_link7; the flange, panda_link8, lies 0.107 m further along its z.
PANDA = DhArm(
    a=[0, 0, 0, 0.0825, -0.0825, 0, 0.088],
    alpha=[0, -HALF_PI, HALF_PI, HALF_PI, -HALF_PI, HALF_PI, HALF_PI],
    d=[0.333, 0, 0.316, 0, 0.384, 0, 0],
    craig=True,
)
PANDA_FLANGE = 0.107

#: The table's frame 0 is the controller's Base; ROS's base_link is turned by pi about z (REP 103).
UR5E = DhArm(
    a=[0, -0.425, -0.3922, 0, 0, 0],
    alpha=[HALF_PI, 0, 0, HALF_PI, -HALF_PI, 0],
    d=[0.1625, 0, 0, 0.1333, 0.0997, 0.0996],
    base=(0.0, np.pi),
    masses=(3.761, 8.058, 2.846, 1.37, 1.3, 0.365),
    coms=(
        (0, -0.02561, 0.00193),
        (0.2125, 0, 0.11336),
        (0.15, 0, 0.0265),
        (0, -0.0018, 0.01634),
        (0, 0.0018, 0.01634),
        (0, 0, -0.001159),
    ),
)

#: The shoulder stands 26.45 inch above the floor (Robotics Toolbox for Python). Link 1's mass is unpublished.
PUMA560 = DhArm(
    a=[0, 0.4318, 0.0203, 0, 0, 0],
    alpha=[HALF_PI, 0, -HALF_PI, HALF_PI, -HALF_PI, 0],
    d=[0, 0, 0.15005, 0.4318, 0, 0],
    base=(26.45 * 0.0254, 0.0),
    masses=(0.0, 17.4, 4.8, 0.82, 0.34, 0.09),
    coms=(
        (0, 0, 0),
        (-0.3638, 0.006, 0.2275),
        (-0.0203, -0.0141, 0.07),
        (0, 0.019, 0),
        (0, 0, 0),
        (0, 0, 0.032),
    ),
)

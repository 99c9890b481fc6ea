"""Sines and cosines of many angles at once, without branches, so that the loop runs on vector registers.

The angle is reduced to |r| <= pi/4 by subtracting quarter turns in three parts (Cody and Waite, Software Manual for
the Elementary Functions, 1980), then two polynomials (fdlibm's coefficients) give sin r and cos r. The error is
below one unit in the last place or so, the same for an angle wherever it stands.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.types import Array

FARTHEST = 1e5
"""Angles beyond (rad) lose digits in the reduction: they are left to ``math.sin`` and ``math.cos``."""

# pi / 2 in three parts; a whole number below 2**17 times one of the first two is exact.
_FIRST, _SECOND, _THIRD = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
_ROUND = 1.5 * 2.0**52  # added and taken away again, it rounds to a whole number

_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@kernel
def sines_and_cosines(b: Array, angles: int, sines: int, cosines: int, count: int) -> None:
    """Write the sines and cosines of ``count`` angles (rad) in ``b``, each lot from its own place in ``b`` on.

    What is not finite has neither sine nor cosine: NaN.
    """
    far = 0
    for i in range(count):
        x = b[angles + i]
        quarters = (x * (2.0 / math.pi) + _ROUND) - _ROUND
        r = ((x - quarters * _FIRST) - quarters * _SECOND) - quarters * _THIRD
        z = r * r
        s = r + r * z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))))
        half = 0.5 * z
        w = 1.0 - half
        p = z * z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
        c = w + (((1.0 - w) - half) + p)
        # Sine and cosine of the quarter turns, -1, 0 or 1: halves are rounded to even.
        up = quarters - 2.0 * ((0.5 * quarters + _ROUND) - _ROUND)
        next_quarter = quarters + 1.0
        along = next_quarter - 2.0 * ((0.5 * next_quarter + _ROUND) - _ROUND)
        b[sines + i] = s * along + c * up
        b[cosines + i] = c * along - s * up
        far += 1 if abs(x) > FARTHEST else 0
    if far > 0:
        for i in range(count):
            x = b[angles + i]
            if FARTHEST < abs(x) < math.inf:
                b[sines + i] = math.sin(x)
                b[cosines + i] = math.cos(x)

"""The samples of recordings that identification uses: nearly independent of each other, and none of a joint at rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.identification.motion import RecordedMotion
from robot_dynamics_ros.identification.unknowns import Unknowns, at_rest
from robot_dynamics_ros.kernels.types import Array

PARTS = 5
"""Each recording's samples are in so many parts, one after the other: what cross-validation leaves out in turn."""

_CHUNK = 1024  # samples whose regressor is in memory at a time
_REACH = 1.5  # periods of the cutoff that the filter smears a step over, to each side


@dataclass(frozen=True, eq=False)
class Samples:
    """Motion and torque at m times.

    Attributes
    ----------
    q, qd, qdd, tau
        (m, n) in SI units.
    used
        (m, n): whether this joint's torque tells anything, see friction_fit.at_rest.
    part
        (m,): which of PARTS.
    """

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    used: NDArray[np.bool_]
    part: NDArray[np.intp]

    @classmethod
    def of(cls, unknowns: Unknowns, motions: Sequence[RecordedMotion]) -> Samples:
        """Choose samples of recordings.

        They are half a period of the filter's cutoff apart: what the filter leaves of white noise is then nearly white
        again, and nothing else is lost. Gautier 1997, "parallel decimate".
        """
        return cls(
            *(np.concatenate(field) for field in zip(*(_chosen(unknowns, motion) for motion in motions), strict=True))
        )

    def __len__(self) -> int:
        return len(self.q)

    @property
    def chunks(self) -> int:
        """How many chunks ``columns`` yields."""
        return -(-len(self) // _CHUNK)

    def columns(self, unknowns: Unknowns, overlap: int = 0) -> Iterator[tuple[slice, Array, Array]]:
        """Yield places, columns (k, n, p) and torque (k, n) of the samples, chunk by chunk.

        Rows that tell nothing are zero. Each chunk begins with the last ``overlap`` samples of the one before it.
        """
        for start in range(0, len(self), _CHUNK):
            places = slice(max(0, start - overlap), min(start + _CHUNK, len(self)))
            motion = self.q[places], self.qd[places], self.qdd[places]
            used = self.used[places]
            torque = (self.tau[places] - unknowns.known(*motion)) * used
            yield places, unknowns.columns(*motion) * used[:, :, np.newaxis], torque


def _chosen(unknowns: Unknowns, motion: RecordedMotion) -> tuple[NDArray[np.generic], ...]:
    step, reach, cutoff = 1, 0, motion.smoothing.cutoff
    if cutoff and len(motion.time) > 1:
        period = float(np.median(np.diff(motion.time)))
        step = max(1, int(0.5 / (cutoff * period) + 1e-6))
        reach = math.ceil(_REACH / (cutoff * period))
    rest = at_rest(unknowns.joint_rates(motion.qd), reach)[::step]
    chosen = motion.part(slice(None, None, step))
    count = len(chosen.time)
    return (
        *(chosen.q, chosen.qd, chosen.qdd, chosen.tau),
        ~unknowns.touched(rest),
        np.arange(count) * PARTS // max(count, 1),
    )

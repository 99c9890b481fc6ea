"""The zero-phase filter and the derivative that a recording's motion passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import Array

SHORTEST = 10
"""Samples that a stretch must leave."""

_HIGHEST_CUTOFF = 10.0
_SAMPLES_PER_CUTOFF = 6.0  # sampling rate over cutoff, at least, unless asked for otherwise
_KEPT_PER_CUTOFF = 20.0  # samples that are kept for each period of the cutoff
_EDGE = 1.5  # periods of the cutoff that each end of a stretch loses
_JITTER = 0.05  # sampling periods that a message may be off an even grid
_STENCIL = (1.0 / 12.0, -8.0 / 12.0, 0.0, 8.0 / 12.0, -1.0 / 12.0)  # first derivative, error (w dt)^4 / 30
_REACH = len(_STENCIL) // 2


@dataclass(frozen=True)
class Smoothing:
    """The zero-phase filter that position, velocity and torque all pass.

    A Butterworth filter of ``order`` that runs forward and back (scipy.signal.sosfiltfilt), so that it delays
    nothing; at the cutoff (Hz) it leaves half the amplitude. Everything passes the same filter, so that the
    equation of motion, which is nearly linear over so short a time, still holds between what comes out: the
    parallel filtering of Gautier, "Dynamic identification of robots with power model", ICRA 1997. ``cutoff`` None: 10
    Hz, or a sixth of the sampling rate where that is less; 0: no filter.
    """

    cutoff: float | None = None
    order: int = 4

    def __post_init__(self) -> None:
        if self.cutoff is not None and not 0.0 <= self.cutoff < math.inf:
            raise BagError(f"a filter with its cutoff at {self.cutoff} Hz. Cure: give a positive number, or 0 for none")
        if self.order < 1:
            raise BagError(f"a filter of order {self.order}. Cure: give 1 or more")

    def at(self, rate: float) -> Smoothing:
        """Return this filter for ``rate`` samples a second, its cutoff a number.

        Raises BagError for a cutoff that the rate does not allow.
        """
        cutoff = min(_HIGHEST_CUTOFF, rate / _SAMPLES_PER_CUTOFF) if self.cutoff is None else self.cutoff
        if cutoff > 0.45 * rate:
            raise BagError(
                f"a filter with its cutoff at {cutoff:g} Hz needs more than the recording's {rate:.4g} samples a "
                f"second. Cure: give {0.45 * rate:.3g} Hz or less, or 0 for none"
            )
        return Smoothing(cutoff, self.order)

    @property
    def edge(self) -> float:
        """Seconds at each end of a stretch where the filter has not enough samples to one side; they are left out."""
        return _EDGE / self.cutoff if self.cutoff else 0.0

    def __str__(self) -> str:
        """Say what is done to a recording."""
        slope = "acceleration: five-point central differences of the velocity"
        if self.cutoff == 0.0:
            return f"not filtered; {slope}"
        where = "10 Hz or a sixth of the sampling rate" if self.cutoff is None else f"{self.cutoff:.4g} Hz"
        return (
            f"position, velocity and effort alike through a zero-phase Butterworth filter of order {self.order} "
            f"at {where}, run forward and back; {slope}"
        )


@dataclass(frozen=True, eq=False)
class Stretch:
    """Messages without a gap between them, and what becomes of a joint's values in them."""

    rows: NDArray[np.intp]
    time: Array  # s, of the rows
    grid: Array | None  # s, evenly; None where the rows are even
    period: float
    sections: Array | None  # the filter's
    padding: int
    kept: slice

    @classmethod
    def of(
        cls, stamps: NDArray[np.int64], rows: NDArray[np.intp], period: float, smoothing: Smoothing
    ) -> Stretch | None:
        """Return the stretch, or None where too little of it would remain."""
        time: Array = stamps.astype(np.float64) * 1e-9
        grid = None
        even = (time[-1] - time[0]) / max(1, len(time) - 1)
        if np.abs(time - time[0] - even * np.arange(len(time))).max() > _JITTER * even:
            even, grid = period, np.arange(time[0], time[-1] + 1e-6 * period, period)
        count = len(time) if grid is None else len(grid)
        edge = max(_REACH, math.ceil(smoothing.edge / even - 1e-6))
        if count - 2 * edge < SHORTEST:
            return None
        step, sections = 1, None
        if smoothing.cutoff:
            from scipy import signal  # takes a second to load: not for whoever only asks for --help

            step = max(1, int(1.0 / (_KEPT_PER_CUTOFF * smoothing.cutoff * even)))
            sections = signal.butter(smoothing.order, smoothing.cutoff, fs=1.0 / even, output="sos")
        return cls(rows, time, grid, even, sections, edge, slice(edge, count - edge, step))

    def kept_time(self) -> Array:
        """Return the times (s) of the samples that are kept."""
        times = self.time if self.grid is None else self.grid
        return times[self.kept]

    def column(self, position: Array, velocity: Array | None, effort: Array) -> tuple[Array, Array, Array, Array]:
        """Return q, qd, qdd and tau of one joint."""
        # A joint that turns on and on may be reported modulo a turn; nothing makes half a turn in a period.
        q = self._smooth(np.unwrap(position[self.rows]))
        qd = self._slope(q) if velocity is None else self._smooth(velocity[self.rows])
        tau = self._smooth(effort[self.rows])
        q, qd, qdd, tau = (values[self.kept].copy() for values in (q, qd, self._slope(qd), tau))
        return q, qd, qdd, tau

    def _smooth(self, values: Array) -> Array:
        if self.grid is not None:
            values = np.interp(self.grid, self.time, values)
        if self.sections is None:
            return values
        from scipy import signal

        smooth: Array = signal.sosfiltfilt(self.sections, values, padlen=min(self.padding, len(values) - 1))
        return smooth

    def _slope(self, values: Array) -> Array:
        slope = np.gradient(values, self.period)  # for the ends, of which nothing is kept
        slope[_REACH:-_REACH] = np.convolve(values, _STENCIL[::-1], "valid") / self.period
        return slope

"""Statistics of recorded signals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def root_mean_square(
    values: ArrayLike,
    axis: int | None = 0,
    where: bool | NDArray[np.bool_] = True,
) -> NDArray[np.float64]:
    """Return the root mean square (n,) of the columns of ``values`` (m, n); with ``axis`` None that of all.

    Only values for which ``where`` is True count.
    """
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=axis, where=where)))

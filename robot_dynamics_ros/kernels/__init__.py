"""Dynamics algorithms: one per file, scalar loops over flat float64 arrays, compiled with numba."""

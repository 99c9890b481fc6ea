"""The numbers: one algorithm a file, scalar loops over flat float64 arrays, compiled by numba."""

"""Dynamics algorithms: one per file, scalar loops over flat float64 arrays, compiled with numba.

Kernels write their results into arrays that the caller allocates. They check no shapes unless it is stated. Units are
SI: positions in rad or m, torques in Nm, or N for prismatic joints.
"""

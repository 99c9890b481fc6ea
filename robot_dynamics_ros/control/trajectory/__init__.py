"""Trajectories: points, interpolation, limits and generators."""

"""Trajectories: points, interpolation, goals and generators."""

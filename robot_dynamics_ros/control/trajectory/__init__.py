"""Trajectories: points, interpolation, limits, plan and feedforward effort."""

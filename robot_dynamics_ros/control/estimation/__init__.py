"""Estimate of the joint state, and of the external torque. Start with estimator.py."""

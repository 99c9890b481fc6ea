"""Probable causes of the difference between measured and model torque. Start with hints.py."""

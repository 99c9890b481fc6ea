"""Checks before the start and in each cycle. Start with cycle_checks.py, which has the latter in their order."""

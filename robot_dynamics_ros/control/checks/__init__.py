"""Checks before the start and in each cycle. Start with all_checks.py, which lists them in their order."""

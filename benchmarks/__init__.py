"""Benchmarks of speed and operation counts; not installed."""

"""Textbook formulations of robot dynamics in plain NumPy, for comparison with the books and with each other."""

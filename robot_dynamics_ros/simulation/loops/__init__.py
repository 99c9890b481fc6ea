"""Closed loops: what is measured of them, the step that keeps them closed, and checks of the start."""

"""Closed loops: constraints, the step with projection to them, and checks of the initial state."""

"""Rows of ``Buffers.vectors`` (SIZE, n): intermediate results of a step, for each of the n coordinates."""

DRIVE = 0  # motor torque plus Coulomb torque of slipping rows
FORCE = 1  # DRIVE less viscous and sigmoid friction
STIFFNESS = 2  # slope of viscous and sigmoid friction times the step size
MOVES = 3  # 1, or 0 for a coordinate at rest (separable arms)
# impulse of friction and limits: first in the unconstrained motion, then the solution
CONSTRAINT_IMPULSE = 4
UNCONSTRAINED_POSITION = 5
UNCONSTRAINED_VELOCITY = 6
POSITION = 7  # new position
VELOCITY = 8  # new velocity
SCRATCH = 9
EFFORT = 10  # commanded torque clamped to the effort limits
SIZE = 11

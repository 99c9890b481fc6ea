"""How a robot is packed into flat arrays for the kernels.

Bodies stand in an order in which parents come first; each body is moved by exactly one joint, and
its frame has the z axis along that joint (Craig's convention), the origin on it.

- ``tree``: int64 (bodies, 3): parent body (-1: the fixed base), kind of joint, coordinate that moves it
- ``bodies``: float64 (bodies, 22): placement at zero joint position, then the inertia of the body
- ``rotors``: float64 (rotors, 5 + n): carrier body (-1: none), spin axis in the carrier's frame, axial
  inertia, ratio of the spin rate to each coordinate's rate
- ``friction``: float64 (n, 6)
- ``wrenches``: float64 (bodies, 6) or (0, 6) for none: force, then moment, on the body, at and in its frame
"""

PARENT, KIND, COORDINATE = 0, 1, 2
REVOLUTE, PRISMATIC = 0, 1

ROTATION = 0  # 9 values, row by row: axes of the body's frame in the parent's frame
POSITION = 9  # 3 values: origin of the body's frame in the parent's frame
MASS = 12
MOMENT = 13  # 3 values: mass times centre of mass
INERTIA = 16  # ixx ixy ixz iyy iyz izz about the frame's origin
BODY_SIZE = 22

CARRIER, SPIN_AXIS, ROTOR_INERTIA, RATIO = 0, 1, 4, 5

VISCOUS, COULOMB, COULOMB_NEGATIVE, SIGMOID_AMPLITUDE, SIGMOID_SLOPE, SIGMOID_SHIFT = 0, 1, 2, 3, 4, 5
FRICTION_SIZE = 6

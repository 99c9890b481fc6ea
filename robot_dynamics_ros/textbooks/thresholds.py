"""Tuned numbers of the textbook forms.

Each has its unit and meaning. All are judgement: no study exists; test/textbooks compares the results with the kernels
and with the books. Constants of the documentation stand where they are documented: MOST_JOINTS in
``symbolic/symbolic_arm.py``, NEGLIGIBLE in ``dynamics/model/loops.py``.
"""

# --- Rank and rounding.

# ratio of singular values below which a matrix is singular, also of difference quotients
SINGULAR = 1e-8
# share of the largest value: smaller ones are rounding errors of coefficients, moments of inertia and terms
ROUNDING = 1e-12
# deviation of R R^T from the identity
ORTHONORMAL = 1e-6
# relative difference of numbers that have one symbol, and of wave numbers or amplitudes that are equal
EQUAL_VALUES = 1e-6
EQUAL_TERMS = 1e-9
# share of the largest term of all entries: smaller terms are noise
TERM_NOISE = 1e-14
# largest denominator of the fractions that replace decimal numbers
LARGEST_DENOMINATOR = 1000
# m, kg and their products: smaller parameters have no symbol
ABSENT_PARAMETER = 1e-9
# deviation of rounded whole numbers
WHOLE_NUMBER = 1e-15

# --- Constraints.

# m/s and m/s^2: rounding of velocities and accelerations of the constraints
CONSTRAINT_ROUNDING = 1e-9
# m: largest violation of the constraints by an initial position
OPEN_CONSTRAINT = 1e-5
# number of position projections after a step, at most, and change (m or rad) at which they have converged
PROJECTIONS = 4
PROJECTION_CONVERGED = 1e-13

# --- Searches and iterations.

# number of positions evaluated in the search for bounds, and of those from which it goes on
BOUND_POSITIONS = 2000
BOUND_IMPROVED = 4
# number of iterations of an implicit step
IMPLICIT_ITERATIONS = 100
# relative change at which the iteration has converged, and one that rounding in the equations can cause
IMPLICIT_CONVERGED = 1e-15
IMPLICIT_STALLED = 1e-12
# rad, kg m^2/s and so on: smallest scale of the relative change
IMPLICIT_SCALE = 1e-6
# number of random starts of the inverse kinematics, and of its steps
KINEMATIC_STARTS = 32
KINEMATIC_STEPS = 200
# m and rad: norm of the remaining error
KINEMATIC_ERROR = 1e-9
# rad or m: largest step of a joint between two poses of a path
LARGEST_JOINT_STEP = 0.5
# rad or m: solutions closer than this are one; at the edge of the reach errors are of the order of the square root of
# KINEMATIC_ERROR
SAME_SOLUTION = 1e-3
# m: half range of prismatic joints without position limits, for the starts
FREE_HALF_STROKE = 1.0
# step of difference quotients: balances truncation (h^4) and rounding (1e-16 / h^2) of second derivatives
VARIATIONAL_DIFFERENCE = 2e-3
# number of Newton steps, and error relative to the gradients at the guess
VARIATIONAL_STEPS = 50
VARIATIONAL_CONVERGED = 1e-9

"""Tuned numbers of dynamics.

They decide, but follow neither from physics nor from a parameter. Each has its unit and meaning, and each section what
calibrates it. After a change, run that command and compare its results with those stored in the documentation.
"Judgement" means that no study exists. Kernels freeze some of them: a change compiles all kernels again.
"""

# --- Algorithms and generated code.

# relative to its diagonal element: a smaller pivot is rounding error of a singular matrix (tools/numerics)
SMALLEST_PIVOT = 1e-15
# share of the highest speed: Stribeck velocities, and widths of sigmoids, that identification tries (tools/gear_study)
FRICTION_WIDTHS = (0.02, 0.04, 0.08, 0.16)
# number of states in a block of the batched kernels; slices of threads are whole blocks (benchmarks/dynamics.py)
BATCH_BLOCK = 64
# number of operations in an exported C function, as compilers need more than proportional time (judgement)
LARGEST_C_FUNCTION = 2000
# number of characters of an expression that is still inlined into the next one (judgement)
LONGEST_INLINED = 88
# s without compilation, after which the next one is announced again (judgement)
COMPILATION_PAUSE = 60.0

# --- Base parameters. Judgement; test/analysis/identification/test_base_parameters.py.

# share of the largest pivot, for columns of unit length, from which on a column is independent
BASE_RANK = 1e-9
# share of the longest column: shorter ones have no effect
BASE_NEGLIGIBLE = 1e-12
# relative size of a coefficient: smaller ones are rounding errors
BASE_ROUNDING = 1e-10
# number of random states for each joint, which give many more equations than parameters
STATES_PER_JOINT = 60
# rad/s or m/s: largest velocity of random states; in analysis, of joints without a velocity limit
RANDOM_VELOCITY = 3.0
# rad/s^2 or m/s^2: largest acceleration of random states
RANDOM_ACCELERATION = 10.0

# --- Calls of batches. Calibrated by benchmarks/dynamics.py.

# number of states for which another thread pays
STATES_PER_THREAD = 512
# number of leading axes; NumPy broadcasts up to 32, and wrenches and results need some of them
MOST_LEADING_AXES = 24

# --- Closed loops. Judgement; test/dynamics/model. NEGLIGIBLE is documented in model/loops.py.

# number of Newton iterations of close_loops, at most
CLOSING_ITERATIONS = 100

# --- Robot descriptions. Judgement; test/dynamics/description, and the foreign URDFs of test/test_public_robots.py.

# characters of a formula, since the parser recurses
LONGEST_FORMULA = 200
# m, and direction cosines: smaller ones are rounding errors, as of cos(pi / 2)
COSINE_NOISE = 1e-15
# m, m/s and N: limits of a prismatic joint of a DH table without its own, as URDF requires some
SLIDE_LIMITS = (-1.0, 1.0, 1e3, 1e6)
# length of an axis, at least and at most
SHORTEST_AXIS = 1e-12
LONGEST_AXIS = 1e12
# deviation of a quaternion's length from 1 that is an error; smaller ones are normalised
QUATERNION_LENGTH = 1e-3
# relative rounding of published numbers with six digits
PUBLISHED_ROUNDING = 1e-6
# share of the sum of the principal moments: a smaller one is zero
MOMENT_NOISE = 1e-14
# share of the norm of a result: deviation of the exported code
EXPORT_TOLERANCE = 1e-9

# --- Explanations of inertias and limits that cannot be right. Judgement; test/dynamics/description/test_inertia.py.

# kg/m^3 of the heaviest and the lightest plausible link
STEEL_DENSITY = 8000.0
FOAM_DENSITY = 20.0
# ratio of the size of a link to the distance between joints, as housings exceed it
HOUSING_MARGIN = 1.5
# times the heaviest other link, from which on a mass is too large
HEAVY_LINK = 3.0
# kg: smallest mass that may be given in g
LIGHTEST_GRAMS = 0.05
# distance of the centre of mass over radius of gyration, above which the reference point matters
LONG_LEVER = 0.3
# share of the largest moment, by which measured moments violate the triangle inequality
MEASURED_INACCURACY = 0.1
# ratio of spreads, by which one order of the elements is clearly better than the others
CLEAR_SPREAD = 4.0
# ratio of the smallest to the largest moment, at least, where spreads are compared: thinner rods count as equally thin
THIN_ROD = 1e-3
# kg m^2: smaller inertias are none
NEGLIGIBLE_INERTIA = 1e-15
# rad or m: farthest plausible position limit
FARTHEST_LIMIT = 20.0
# rad or m: such limits, and farther ones, mean that there is none; so does COMMON_LIMIT, which many URDFs have
UNLIMITED_LIMIT = 1e3
COMMON_LIMIT = 100.0
# rad: largest angle of an origin
LARGEST_TURN = 7.0
# m: largest typical distance between joints
LARGEST_DISTANCE = 10.0
# kg: largest sum of the masses of moving links
HEAVIEST_ROBOT = 100.0

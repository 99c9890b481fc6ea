"""Tuned numbers of the simulation.

They decide, but follow neither from physics nor from a parameter. Each has its unit and meaning, and each section what
calibrates it. "Judgement" means that no study exists: the number was chosen by reasoning, and tests fix its effect.
Kernels freeze some of them: a change compiles all kernels again.
"""

# --- Checks of arm and parameters. Judgement; test/simulation.

# relative: directions that differ by less are one constraint row
SAME_DIRECTION = 1e-12
# m/s: rounding of the rates of a loop
LOOP_RATE_ROUNDING = 1e-9
# number of steps in a period or delay, up to which it counts as whole
MOST_STEPS = 1e9
# share of the requested pace, below which the simulation is reported as too slow
TOO_SLOW_PACE = 0.95

# --- Friction problem. Judgement; test/simulation compares its solutions with other solvers.

# share of its largest coefficient: a row that elimination reduces below it is linearly dependent
DEPENDENCE_TOLERANCE = 1e-11
# relative tolerance of the bounds of a multiplier; velocities have none, so that rounding errors cannot make a row
# alternate between two modes
MULTIPLIER_SLACK = 1e-12
# number of solves per row, after which Bland's rule replaces the largest excess, to prevent cycling
BLAND_SOLVES = 10
# number of solves per row, at most; about three are usual
MOST_SOLVES = 100

# --- Loops. Judgement; test/simulation.

# relative rank tolerance of the constraints: a planar mechanism stays planar with angles such as 1.5708
LOOP_RANK_TOLERANCE = 1e-5
# m: largest gap of a closed loop
LARGEST_GAP = 1e-5
# number of Newton iterations of the position projection, at most; two are usual
PROJECTION_ITERATIONS = 10
# m or rad: convergence tolerance of the position projection
PROJECTION_CONVERGED = 1e-13

# --- Stages. Judgement.

# share of M_kk: with less stiffness, rk4 is taken as stable without computing M^-1
STABILITY_CHECK = 0.2
# rad or m: products in the mass matrix overflow beyond it
LARGEST_POSITION = 1e100

# --- Sizes that change speed and memory, not results. Calibrated by benchmarks/simulation.py and monte_carlo.py.

# number of arms in a block; the intermediate results of larger blocks would not fit the L1 cache
LANES = 16
# number of random numbers that are drawn at a time for each plant
RANDOM_BLOCK = 32
# number of steps between two updates of the progress bar
PROGRESS_STEPS = 1000
# number of plants in a task of an executor, at most, and of tasks, at least: a compromise of load balance and overhead
MOST_PLANTS = 64
FEWEST_TASKS = 8
# number of customised robots of a process whose kinds are kept
KINDS_KEPT = 32

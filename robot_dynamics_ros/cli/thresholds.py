"""Tuned numbers of the command: ranges of options, times, and limits of what is reported.

Each has its unit and meaning. All are judgement: no study exists, and tests only fix their effect.
"""

# --- Ranges of options.

# s: largest step of a simulation whose step the command chooses
LARGEST_STEP_SIZE = 0.001
# Hz of a converted trajectory, at most
LARGEST_RATE = 1000.0
# share of a recording that is held out, at most
LARGEST_HOLDOUT = 0.9
# s of motion, at least and at most
SHORTEST_MOTION = 0.1
LONGEST_MOTION = 10_000.0

# --- Simulated experiments.

# s after the motion
SETTLING_TIME = 0.5
# step size times viscous friction over effective inertia, above which semi_implicit replaces rk4, unstable above 2.8
RK4_STIFFNESS = 0.5
# share of lost cycles; above, the numbers depend on the load of the machine
MOST_LOST_CYCLES = 0.01
# s to start, and to end after the motion; a busy machine needs a minute or more
LIVE_TIMEOUT = 300.0
# s in which the trajectory reaches the controller on a busy machine, too
LIVE_START_DELAY = 2.0
# s; a background job of a shell ignores SIGINT until the node has installed its handler
SIGNAL_PERIOD = 1.0
# s until processes have ended by themselves
STOP_TIMEOUT = 10.0
# s between two looks at missing kernels
POLLING_PERIOD = 1.0

# --- Reports.

# share by which physically consistent inertias enlarge the residual, from which on a cause is searched
LARGE_LOSS = 0.5
# share of a joint's RMS torque: a loss is not reported as a cause below it
SMALL_RESIDUAL = 0.01
# standard deviation of a determined base parameter, as a share of its estimate
DETERMINED_DEVIATION = 0.2
# share of a joint's highest speed, which a joint that moves one way does not reach in the other direction
ONE_WAY_SPEED = 0.02
# number of samples of an exciting trajectory for the table of its extremes
EXCITATION_SAMPLES = 1000
# number of points of the trajectory in each period of the highest harmonic
POINTS_PER_PERIOD = 40.0
# smaller values are printed as 0
PRINTED_ZERO = 1e-14
# number of random positions for the largest gravity torque and condition number
FACT_SAMPLES = 2000
# m: half range of prismatic joints without position limits
FACT_HALF_STROKE = 1.0
# number of steps of 5 degrees in a whole turn, which resolve the maximum of a cosine to 0.1 %
FACT_GRID = 73
# number of sweeps over the joints
FACT_SWEEPS = 2
# condition number from which on a matrix is singular
SINGULAR_CONDITION = 1e15
# share of the largest element of a vector or matrix: smaller ones are rounding errors
FACT_ROUNDING = 1e-12

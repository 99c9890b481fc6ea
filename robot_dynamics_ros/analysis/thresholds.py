"""Tuned numbers of identification, diagnosis, report and view.

They decide, but follow neither from physics nor from a parameter. Each has its unit and meaning, and each section what
calibrates it. After a change, run that command and compare its results with those stored in the documentation.
"Judgement" means that no study exists: the number was chosen by reasoning, and tests only fix its effect. Effect and
complexity of single hypotheses are stated with them in ``diagnosis``, and are calibrated by tools/hint_study, too.
"""

import math

import numpy as np

# --- Common to several analyses.

# SI units: smallest magnitude that differs from zero, in divisors and of measured efforts (judgement)
TINY = 1e-9
# Nm or N: noise of a joint without any torque (judgement)
TINY_NOISE = 1e-12
# share of a column's squared length: added to the diagonal of normal equations (judgement)
RIDGE = 1e-10
# median steps between samples without a gap (test/analysis/identification/test_recorded_motion.py)
GAP_STEPS = 1.5
# number of iterations of weighted least squares, at most (judgement)
WEIGHTING_ITERATIONS = 30

# --- Causes of a torque residual. Calibrated by tools/hint_study: right hints, false ones, coverage of intervals.

# number of samples that are used, at most and at least
HINT_MOST_SAMPLES = 1000
HINT_LEAST_SAMPLES = 60
# share of the squared error by which a cause of complexity 1 has to reduce it
HINT_LEAST_REDUCTION = 0.3
# number of causes in a hypothesis, at most
HINT_MOST_CAUSES = 3
# number of corrections that are combined with all sets of causes
HINT_SHORTLIST = 3
# share of a joint's measured RMS torque: first guess of its error
HINT_ROUGH_NOISE = 0.3
# share of a joint's measured RMS torque: smallest error
HINT_NOISE_FLOOR = 1e-3
# number of blocks of a recording, and of folds of cross-validation
HINT_BLOCKS = 24
HINT_FOLDS = 4
# share of the squared residual: its rounding
HINT_ROUNDING = 1e-12
# share of a joint's highest speed: faster, presliding after a reversal is over
HINT_SLIDING_SPEED = 0.25
# share of the squared prediction error: less shows that the model's links or friction are wrong
HINT_BETTER = 0.95
# prior deviations: inverse variance of a uniform distribution over one of them to each side
HINT_UNIFORM = 3.0
# share of a parameter's variance by the ridge alone: with more its standard error is infinite
HINT_UNDETERMINED = 1e-6
# number of parts of a recording, all but an eighth at each end of which are tried as the start of a payload
LATER_STARTS = 200
# standard errors by which an explanation must be better than a rival
RIVAL_SIGNIFICANT = 2.0
# logarithm of the squared error, and complexity, by which rivals may be worse
RIVAL_RANGE = 0.5
RIVAL_COMPLEXITY = 0.3
# standard errors: significance of a ratio or difference
HINT_SIGNIFICANT = 3.0
# standard errors of half an interval
HINT_INTERVAL = 2.0
# share of a value: half of its smallest interval
HINT_EXACT = 1e-3
# m or kg m: smaller errors of a vector are not listed
HINT_FINE = 5e-4
# share of the measured RMS torque or of gravity: smaller effects are not listed
HINT_NEGLIGIBLE = 0.05
# share of the model's gravity below which there is none
NO_GRAVITY = 0.15
# degrees: smaller tilts of gravity are not listed
SMALLEST_TILT = 3.0
# share of the largest eigenvalue of the squared torque by direction of gravity
OBSERVABLE_GRAVITY = 1e-7
# kg, or kg m: smaller payloads are not listed
LIGHTEST_PAYLOAD = 0.02
# m: largest distance of a payload from its link's origin, or the distance of neighbouring joints if larger
PAYLOAD_REACH = 0.3
# share of a payload: with a larger interval the unloaded arm should be identified first
PAYLOAD_UNCERTAIN = 0.15
# share of a link's own parameters: their prior standard deviation about the model's
LINK_SPREAD = 0.3
# prior standard deviations of a link's parameters, beyond which they are not plausible
LINK_IMPLAUSIBLE = 3.0
# number of samples that the prior of the links counts as
LINK_PRIOR_SAMPLES = 30.0
# share of a joint's measured RMS torque: more negative friction is rejected
NEGATIVE_FRICTION = 0.02
# share of the model's friction that is none
NO_FRICTION = 0.08
# inertias at the joint by the links: larger rotors are rejected
LARGEST_ROTOR = 10.0
# ratio of the difference of two levels of Coulomb friction to their sum, above which they are uneven
UNEVEN_FRICTION = 0.25
# s: shortest and longest delay of the effort
SHORTEST_EFFORT_DELAY = 2e-3
LONGEST_EFFORT_DELAY = 0.1
# measured over the model's torque, or its inverse: smaller ratios are errors of the model
LEAST_UNIT_RATIO = 3.0
# ratio of unit factors that errors of the model's masses explain
EQUAL_UNIT_RATIO = 1.5
# a recorded effort is compared with the joints' torques at every third sample
MATCHED_EVERY = 3
# logarithm of the RMS misfit by which another joint or sign must fit an effort better
MATCHED_BETTER = 0.15
# complexity of a correction with a fitted number
FITTED_COMPLEXITY = 1.1
# shares of the largest offset of a zero, at which the search for it begins
ZERO_STARTS = np.arange(-5, 7) / 6.0
# m: largest offset of the zero of a prismatic joint
LARGEST_PRISMATIC_ZERO = 0.5
# rad and m: smaller offsets are within the accuracy of a calibration
SMALLEST_ZERO = 0.02, 0.002
# number of Gauss-Newton steps of the search for a zero
ZERO_STEPS = 4
# rad or m: step of its difference quotients
ZERO_DIFFERENCE = 1e-5
# number of parts of a recording whose disagreement is the standard error of a correction
CORRECTION_BLOCKS = 12
# rad/s or m/s: slower joints are not compared with the derivative of their position
COMPARED_VELOCITY = 0.01
# correlation of a velocity with the derivative of a position, if they belong together and if not
ALIKE_CORRELATION = 0.9
UNLIKE_CORRELATION = 0.8
# ratio of velocities that are equal but for filters
EQUAL_VELOCITY_RATIO = 1.25
# s, and least number of samples, of the parts of a recording by which its noise is estimated
NOISE_PART = 0.5
NOISE_PART_SAMPLES = 32
# ratio to the noise of the recording of residuals that are not noise, and correlation below which they are impacts
UNEXPLAINED_NOISE = 6.0
UNEXPLAINED_CORRELATION = 0.1
# number of bins of a residual by position or the like, and share of its variance that they must explain
LOCATED_BINS = 16
LOCATED_SHARE = 0.3
# share of the highest speed of a joint that moves in steps, below which it is at rest
STEPS_SPEED = 0.2
# number of its rests, their share of the time, and share of motion onwards, at least
STEPS_LEAST = 5
STEPS_LEAST_REST = 0.4
STEPS_ALIKE = 0.9
# damping ratios that are tried
DAMPING_RATIOS = np.arange(0.02, 1.0, 0.02)
# s between messages: longer, or shorter by 1e-5, they are stamped in another unit
LONGEST_MESSAGE_PERIOD = 0.5
# ms: shortest delay of the velocity against the position
SHORTEST_VELOCITY_DELAY = 5.0
# spreads of a signal, by which single messages deviate from their neighbours
SPIKE_SIZE = 10.0
# share of the largest spread of a joint, which that of a joint at rest counts as
STILL_SPREAD = 0.1
# share of the messages at which an effort is at its bound, and ratio to the number at the next values
CLIPPED_SHARE = 0.01
CLIPPED_RATIO = 3.0
# share of the messages that repeat the one before, of those between others, so many before and after, that differ
REPEATED_SHARE = 0.3
REPEATED_SPAN = 10
# share of the model's torque, below which an effort is no joint torque
EXTERNAL_SHARE = 0.3
# share of an effort that its fit to the model's torque leaves, above which it is not proportional
EXTERNAL_REST = 0.12
# logarithm of the RMS misfit by which torques confirm a unit of the positions
UNIT_CONFIRMED = 1.5
# share of the range within the limits, and of 1 rad or m, by which positions may exceed them
POSITION_RANGE_MARGIN = 0.1
# rad or m beyond the limits, which no swapped joints explain
FARTHEST_BEYOND_LIMITS = 4.0 * np.pi
# velocity limits, which no swapped joints explain
FASTEST_OVER_LIMITS = 5.0

# --- Arms at rest under their own position control. Calibrated by tools/sag_study: mistakes named, coverage.

# rad or m: a command that changes less between two messages is constant
POSE_STEADY = 1e-6
# s: shortest time of a constant command
POSE_HELD = 0.5
# rad/s or m/s: fastest sweep
POSE_SLOW = 0.2
# s: time of each mean of a sweep
POSE_WINDOW = 0.2
# number of pairs, at least
POSE_LEAST_PAIRS = 5
# rad or m: largest distance of the commands of a pair
POSE_DISTANCE = 0.05
# shares of the RMS load of a joint, and of its friction, which may differ by direction: deviation of a load
POSE_NOISE = 0.01
POSE_UNEVEN = 0.05
# rad or m: resolution of a position, at least
POSE_RESOLUTION = 3e-4
# number of Gauss-Newton steps of a fit with unknown stiffnesses
POSE_ROUNDS = 6
# squared standard deviations by which a mistake must fit better than the model, and not worse than the best one
POSE_SIGNIFICANT = 12.0
POSE_RIVAL = 10.0
# squared standard deviations of a load, on average, above which the model does not fit
POSE_MISFIT = 4.0
# share of the squared misfit that a mistake must explain
POSE_EXPLAINED = 0.6

# --- Choice of friction. Calibrated by tools/gear_study: held-out error, coverage and false load coefficients.

# share of its highest speed up to which a joint counts as being at rest
REST_SPEED_SHARE = 0.02
# share of a joint's highest speed: noise may reverse a lower one
SIGNLESS_SPEED = 3e-4
# times that a reversal takes: longer rest is sticking
STICKING_TIME = 1.5
# share of a joint's highest speed, over which the friction of a candidate falls by a factor e
FRICTION_DECAY = 0.05
# number of choices of shapes: the second one with the inertias of the first
SHAPE_CHOICES = 2
# number of consecutive blocks of the samples: every fifth is left out at a time
SHAPE_BLOCKS = 25
# number of samples, at 20 in a period of the filter's cutoff, from which friction and offsets are chosen, at most
SHAPE_SAMPLES = 10_000
# number of stretches of a longer recording that have these samples
SHAPE_STRETCHES = 8
# standard errors by which a shape must be better: Breiman et al. 1984, "Classification and regression trees"
SHAPE_SIGNIFICANT = 1.0
# share to which a shape must reduce the RMS error
SHAPE_BETTER = 0.97
# standard deviations above which a coefficient is determined
SHAPE_DETERMINED = 2.0
# factors of the velocities in the refinement of a grid with the factor 2
SHAPE_REFINEMENTS = tuple(2.0**power for power in (0.5, 0.25, 0.125, 0.0625))
# largest step of the logarithm of a velocity
SHAPE_LARGEST_STEP = math.log(1.2)
# number of rounds of nonlinear friction, at most
FRICTION_ROUNDS = 10
# ratio of static to Coulomb friction, at most
LARGEST_STATIC_RATIO = 10.0
# load coefficient at rest, at most: near 1 a gear would lock
LARGEST_LOAD_COEFFICIENT = 0.9

# --- Estimate of the parameters. Calibrated by test/analysis/identification/test_identify_simulated.py: coverage of the
# confidence intervals, docs/benchmarks.md.

# weights of the prior that cross-validation tries; 100 counts as a measurement of 10 % standard deviation
PRIOR_WEIGHTS = 10.0 ** np.arange(0.0, 5.0)
# weight of the prior of friction and added rotors, which only keeps them positive
BARRIER_WEIGHT = 1e-3
# share of the inertia at the joint: prior of a rotor that the model does not have
ADDED_ROTOR = 0.01
# share of the joints' mean noise: smallest prior of a friction coefficient, in SI units
LEAST_FRICTION_PRIOR = 1e-3
# m: smallest radius of gyration about the centre of mass
LEAST_GYRATION = 0.01
# share of the mean body's mass, and radius of gyration (m): prior of bodies without mass
MASSLESS_SHARE = 0.05
MASSLESS_GYRATION = 0.05
# number of Newton steps, and of halvings of a step, at most
NEWTON_STEPS = 200
NEWTON_HALVINGS = 60
# share of the decrement that a step has to reach (Armijo), and units of the cost at which the decrement has converged
NEWTON_ARMIJO = 0.1
NEWTON_CONVERGED = 1e-10
# share of a joint's RMS effort: half-width of the interval of an offset that the motion does not determine
WIDE_OFFSET = 0.1
# number of consecutive parts of each recording that cross-validation leaves out in turn
VALIDATION_PARTS = 5
# relative length of a column that is independent of the others
COLUMN_RANK = 1e-7
# share of a joint's RMS torque: smallest noise, of simulations without it
LEAST_NOISE = 1e-6
# relative change at which the noise has converged
NOISE_CONVERGED = 1e-6
# ratio of two estimates of a variance that noise alone explains
NOISE_RATIO = 2.0
# standard deviations of chi-squared above its mean, from which neglected effects are significant
NEGLECTED_SIGNIFICANT = 1.5
# s of the difference quotients for the lag
LAG_DIFFERENCE = 1e-3
# standard deviations within which two estimates agree
ESTIMATES_AGREE = 1e-3
# relative step of difference quotients by parameters
PARAMETER_DIFFERENCE = 1e-3
# number of random states for each parameter of a joint
STATES_PER_PARAMETER = 6
# number of states whose regressor is in memory at a time; changes no result but by rounding
REGRESSOR_CHUNK = 1024

# --- Recorded motions. Judgement; test/analysis/identification/test_recorded_motion.py fixes their effect.

# number of samples of a stretch after filtering, at least
STRETCH_LEAST_SAMPLES = 10
# Hz: largest default cutoff of the filter
LARGEST_CUTOFF = 10.0
# sampling rate over the default cutoff, at least
RATE_PER_CUTOFF = 6.0
# number of samples that are kept for each period of the cutoff
KEPT_PER_CUTOFF = 20.0
# periods of the cutoff that are dropped at each end of a stretch
FILTER_EDGE = 1.5
# periods of the cutoff between samples that the filter does not relate
UNRELATED_PERIODS = 0.5
# sampling periods that a stamp may deviate from an even grid
STAMP_JITTER = 0.05
# sampling periods without a message that are interpolated
LONGEST_HOLE = 5.0
# ns without effort and motion, from which on brakes hold the robot
LOCKED_TIME = 100_000_000
# ns: a larger step backwards is a clock that was reset, not messages out of order
CLOCK_RESTART = 1_000_000_000
# ns that replace such a step
RESTART_PAUSE = 60_000_000_000
# rad or m that a joint at rest may move
REST_TRAVEL = 1e-3
# ns: clocks below 11 days since 1970 count from a start, as simulated ones do
COUNTED_TIME = 1e15

# --- Payload and gains from two recordings. Judgement; test/analysis/identification/test_two_recordings.py checks the
# coverage of the intervals.

# number of consecutive blocks of each recording that the jackknife leaves out in turn
JACKKNIFE_BLOCKS = 20
# relative eigenvalue of the normal matrix, for columns of unit length
NORMAL_RANK = 1e-12
# length of a column, relative to the longest one
NEGLIGIBLE_COLUMN = 1e-9
# share of a parameter's unit vector in the null space, from which on it is not excited
UNEXCITED_SHARE = 1e-3
# relative change at which gains and noise have converged
GAINS_CONVERGED = 1e-5
# number of fits in which the load of the gears converges
LOAD_ROUNDS = 4
# share of the half-width of its interval, by which a gain may change last
GAIN_UNCHANGED = 0.1
# share of the joint's standard deviation: distance of the positions of two different motions
OTHER_MOTION = 0.5
# rad or m: smallest standard deviation of a joint
LEAST_SPREAD = 1e-3
# s: step of the search for the same place
SEARCH_STEP = 0.05
# number of samples in that search
SEARCH_SAMPLES = 200
# share of mass, largest moment of inertia or gain: half-width of an interval that determines nothing
WIDE_INTERVAL = 0.5
# m: half-width for a centre of mass
WIDE_CENTRE = 0.05

# --- Exciting trajectories. Judgement; test/analysis/identification/test_excitation.py checks limits and conditions.

# rad/s or m/s: velocity limit of joints without one
DEFAULT_VELOCITY_LIMIT = 1.0
# number of samples in each period of the highest harmonic, for the regressor and for the limits
CONDITION_POINTS = 10
LIMIT_POINTS = 80
# relative step of finite differences
EXCITATION_DIFFERENCE = 1e-6
# decades of the condition number that an effort of twice its bound costs
EFFORT_PENALTY = 10.0
# power of the eigenvalues; larger: closer to the condition number, and less smooth
SPECTRUM_POWER = 4
# share of the effort limits below which the search ends
LEAST_EFFORT_SHARE = 0.5
# number of iterations of a search
EXCITATION_ITERATIONS = 40
# number of entries of the regressor that are computed at once; changes no result
REGRESSOR_ENTRIES = 4_000_000

# --- URDF and MJCF of the result. Judgement.

# kg and kg m^2: smallest mass and moment of inertia, as MuJoCo refuses 0
LEAST_INERTIA = 1e-12
# number of random states at which loaded models are compared
COMPARED_STATES = 10

# --- View. Judgement.

# s without messages after which the state is stale
STALE_TIME = 1.0
# s: time constant of the low-pass filter of live derivatives
DERIVATIVE_SMOOTHING = 0.05
# s: half width of the differences of recorded positions and velocities
DIFFERENCE_HALF_WIDTH = 0.025
# s between two updates of the scene, of its table, and of the time slider
SCENE_PERIOD = 0.04
TABLE_PERIOD = 0.1
SLIDER_PERIOD = 0.2
# number of ports that are tried
PORTS_TRIED = 100
# number of random poses, and of poses of a recording, that the camera must show
CAMERA_POSES = 200
CAMERA_RECORDED_POSES = 20
# m: half range of a prismatic joint without limits, in the scene
SCENE_HALF_STROKE = 0.25

"""Tuned numbers of simulated runs, replays and default motions.

Each has its unit and meaning. All are judgement: no study exists, and tests only fix their effect.
"""

# --- Default start and motion of an arm (test/runs/test_motion.py).

# rad and m: largest amplitude of the sine of revolute and prismatic joints
LARGEST_AMPLITUDE = 0.3
LARGEST_PRISMATIC_AMPLITUDE = 0.05
# share of the position range: largest amplitude
RANGE_SHARE = 0.2
# share of the amplitude between the start and a position limit
START_MARGIN = 0.5
# Hz of the first and the last joint
SINE_FREQUENCIES = 0.25, 0.45
# share of the effort limit to hold the start
HOLDING_SHARE = 0.7
# rad or m: step of the search for a start, and its largest number of steps
START_STEP = 0.02
START_STEPS = 200
# share of the limits that a motion may use: the rest is for tracking errors
MOTION_LIMIT_SHARE = 0.8
# factor by which a motion beyond the limits shrinks, and the smallest product of these factors
MOTION_SHRINKAGE = 0.9
SMALLEST_MOTION = 1e-3
# rad/s or m/s at which a joint that starts to move has its Coulomb friction
COULOMB_VELOCITY = 1e-6

# --- Runs.

# s from the first state to the start of the trajectory, in which the arm holds its position
START_DELAY = 0.5
# share of the sum of magnitudes: larger sums of coefficients do not vanish, so that the series does not begin at rest
SERIES_REST = 1e-8
# rad or m that a locked joint may move in a recording
LOCKED_JOINT_TRAVEL = 0.05

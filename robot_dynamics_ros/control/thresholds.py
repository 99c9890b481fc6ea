"""Tuned numbers of the controller.

They decide, but follow neither from physics nor from a parameter. Each has its unit and meaning, and each section what
calibrates it. After a change, run that command and compare its results with those stored in the documentation.
"Judgement" means that no study exists: the number was chosen by reasoning, and tests only fix its effect.
Kernels freeze those of ``cycle_kernels.py``: a change compiles all kernels again.
"""

# --- Check of the efforts at activation. Calibrated by test/control/checks/test_activation_check.py.

# share of the expected torque: typical error of the gravity model
ACTIVATION_MODEL_ERROR = 0.12
# share of the largest gravity torque: typical error of any joint (offset, cables, unmodelled friction)
ACTIVATION_FLOOR = 0.02
# Nm or N: smallest such error, for poses without gravity torque
ACTIVATION_LEAST_FLOOR = 0.01
# normalised residual of g(q) from which an error hypothesis is accepted
ACTIVATION_LEAST_RESIDUAL = 2.5
# share of the largest gravity torque: smaller efforts are zero, as with brakes, or of reports without gravity
ACTIVATION_ZERO_EFFORT = 0.1
# m: distance of an unknown payload's centre of mass from the end effector
PAYLOAD_LEVER = 0.2

# --- States before activation. Judgement.

# number of states that are kept
FIRST_STATES_KEPT = 50
# rad/s or m/s: a faster arm moves, and its efforts are not compared
FIRST_STATES_AT_REST = 0.01
# ns that positions have to span for differentiation, so that the steps of an encoder are small per time
FIRST_STATES_LEAST_SPAN = 50_000_000

# --- Measured states. Calibrated by tools/fault_battery (hang, names, states delayed, second publisher, scaled, noise).

# s of differentiation of positions whose measured velocity is wrong
DIFFERENTIATION_WINDOW = 0.01
# number of samples that are kept for differentiation
DIFFERENTIATION_SAMPLES = 32
# relative drift of clocks, by which the smallest delay of the stamps fades
CLOCK_DRIFT = 1e-3
# s of a stamp per s of steady time: slower stamps stand still
SLOWEST_STAMPS = 2e-3
# s between the stamps of two states that differ
SHORTEST_STAMP_STEP = 1e-4
# number of unusable messages in succession for which the last valid state still is feedback
MOST_UNUSABLE_STATES = 2
# number of states in succession that a newer one overtook; more are a clock that was set back
MOST_OVERTAKEN_STATES = 3
# ns: largest decrease of stamps that is no jump of the clock
LONGEST_OVERTAKING = 100_000_000
# rad or m, and per s: larger magnitudes are rejected, and squares of accepted ones cannot overflow (judgement)
LARGEST_MAGNITUDE = 1e9

# --- check_state: measured positions and velocities. Calibrated by tools/fault_battery (jump, creep, scaled, swapped,
# noise, coarse, and --healthy for false alarms); tools/safety_times --hour counts false alarms, too.

# s of the comparison of position and velocity
STATE_WINDOW = 0.1
# s in which a joint may have moved at its velocity
LONGEST_STATE_GAP = 1.0
# s in which a refuted position may return
REFUTED_RETURN_TIME = 0.1
# s of a contradiction after which neither position nor velocity is trusted
LONGEST_CONTRADICTION = 0.3
# share of the plausible step within which a position rests; also of check_response
REST_SHARE = 0.1

# --- check_response: joints that do not answer their effort. Calibrated by tools/fault_battery (frozen, stuck at rest,
# dead drive, contact, friction, and --healthy), test/control/estimation/test_response.py.

# s of the mean external torque
RESPONSE_WINDOW = 0.06
# number of states in succession with an unexplained torque, from which on a joint does not answer
RESPONSE_STATES = 2
# share of the effort limit: external torque of a sudden stop
SUDDEN_STOP_TORQUE = 0.5
# rad/s or m/s: a slower joint rests; also of check_drives
RESPONSE_REST_VELOCITY = 0.05
# share of the effort limit: dry friction of joints whose model has none
UNMODELLED_FRICTION = 0.075
# share of the effort limit: other torque that the model does not explain
UNMODELLED_TORQUE = 0.05
# share of a change of the model's torque: its error
MODEL_TORQUE_ERROR = 0.15
# s after which the hidden motion of a joint at rest is forgotten
HIDDEN_MOTION_MEMORY = 1.0

# --- check_drives: reversed drives. Calibrated by tools/fault_battery (drive, drives exchanged, and
# --healthy), test/control/estimation/test_response.py.

# s of mean and variance of effort and external torque
DRIVE_WINDOW = 0.04
# number of states in succession, from which on a drive counts as reversed
DRIVE_STATES = 3
# share of the effort limit: least standard deviation of the effort
DRIVE_LEAST_CHANGE = 0.02
# share of the effort limit: a larger jump of the external torque restarts the window
DRIVE_TORQUE_JUMP = 0.05
# external torque per effort, above which the torque has another cause
DRIVE_STEEPEST = 4.0
# external torque per effort: the drive gives -0.15 of its effort
DRIVE_OPPOSED = -1.15
# external torque per effort: the drive gives half of its effort
DRIVE_ANSWERED = -0.5
# share of the variance of the external torque that the effort explains
DRIVE_EXPLAINED = 0.97
# share of the effort limit, between the mean external torque and the slope times the mean effort
DRIVE_OFFSET = 0.02
# share of the mean external torque, added to this
DRIVE_RELATIVE_OFFSET = 0.08

# --- Response of the joints and reported efforts. Calibrated by tools/fault_battery (frozen, stuck at rest, drive, dead
# drive, other controller).

# s between two states that are compared
RESPONSE_INTERVAL = 0.004
# s, with differentiated velocities: the resolution of the positions would appear as torque
RESPONSE_DIFFERENTIATED_INTERVAL = 0.02
# s of reports that are commands, after which a driver is known to report commands
REPORTS_CONFIRMATION = 0.5
# number of changes of the reported effort in this time
REPORTS_CHANGES = 50
# s of reports that are not commands, after which another controller drives the arm
OTHER_REPORTS_TIME = 20e-3
# number of such reports, at least
FEWEST_OTHER_REPORTS = 3
# number of commands that may be on their way between a command and its report (judgement)
MOST_UNREPORTED_COMMANDS = 1000

# --- Faults, stops and hold. Calibrated by tools/fault_battery (all families); tools/session_fuzz and safety_times
# check them.

# s for which all checks have to pass, or an emergency stop has to be released, before a fault is over
RECOVERY_TIME = 0.2
# s of the transition to another law, payload or gain, and to the law after a fault
CHANGE_TIME = 0.2
# s: longest stop after a fault
LONGEST_FAULT_STOP = 0.1
# s: longest stop on request
LONGEST_REQUESTED_STOP = 0.5
# s: shortest stop, which limits the deceleration before a position limit
SHORTEST_STOP = 0.02
# s without a command, after which ``watch`` executes a requested stop
STOP_WAIT = 0.01
# rad/s or m/s below which the arm is stopped
STOPPED_VELOCITY = 0.02
# rad or m off the desired position: something else than an open-loop law has moved the joint
MOVED_DISTANCE = 0.02
# rad/s or m/s: a joint of the hold moves above it
HOLD_MOVING_VELOCITY = 0.05
# rad or m between held and measured position within which a joint is where it is held
HOLD_NEAR = 0.05
# rad/s or m/s: largest speed to which the stiffness accelerates a joint that has been moved
HOLD_RETURN_VELOCITY = 0.3
# times the speed limit or the speed at the fault: a faster joint runs away
HOLD_RUNAWAY_RATIO = 1.5
# s for which it is faster, and after which the feedback is softened
HOLD_RUNAWAY_TIME = 0.02
# rad/s or m/s: smallest speed of a swing
HOLD_SWING_VELOCITY = 0.3
# share of the speed of the swing before, above which a swing is not damped
HOLD_SWING_RATIO = 0.7
# number of swings after which the feedback is softened
HOLD_MOST_SWINGS = 2
# factor of the feedback in each softening
HOLD_SOFTENING = 1.0 / 3.0
# s in which gravity torque and load fade where the hold ends
HOLD_RELEASE_TIME = 0.5
# s in which the effort of the hold may change by its limit
HOLD_RISE_TIME = 0.1
# rad/s: natural frequency of the hold where the law has less stiffness
HOLD_FREQUENCY = 5.0

# --- Commands and cycles. tools/session_fuzz checks each command against the limits; the numbers are judgement.

# periods: longest time step of rate limits
LONGEST_STEP_PERIODS = 1.5
# number of time steps whose median is the period of the states
PERIOD_STEPS = 20
# s over which the rate of the cycles is measured
RATE_WINDOW = 1.0
# number of cycles in this window, at least
RATE_LEAST_CYCLES = 5
# s between the calls of ``ControllerSession.watch`` while states arrive
WATCH_PERIOD = 0.02
# share of a period by which a cycle may be early
EARLY_CYCLE = 0.1
# share of the effort limit by which the effort follows a step of its request in a response time of the law
EFFORT_STEP_SHARE = 0.5
# gain margin that is required with a payload that is not there (2: 6 dB)
PAYLOAD_GAIN_MARGIN = 2.0
# kg m^2 or kg: smallest inertia in divisions
SMALLEST_INERTIA = 1e-12
# s of the slowest loop of drives
DRIVE_PERIOD = 0.001
# rad/s or m/s of the sag under an effort that fades at activation
SAG_VELOCITY = 0.05
# rad or m: largest shift of a set point by the gravity torque
LARGEST_SHIFT = 0.5
# rad or m: step of finite differences of the gravity torque
DERIVATIVE_STEP = 1e-6
# s in which the stiffness of drives may rise from 0 to its target. Judgement: several periods of the oscillation
STIFFNESS_RISE_TIME = 0.5
# times faster rises their damping
DAMPING_RISE = 5.0
# natural frequency times period up to which efforts replace the loop of drives that are not trusted; 0.43 is unstable
LARGEST_SAMPLED_FREQUENCY = 0.1
# number of passes over the constraint rows in a stop; bounds the time of a cycle
BRAKING_PASSES = 10

# --- limit_effort. Calibrated by tools/fault_battery (set points, target, scaled), with and without torque_rate_limit.

# share of the effort limit: largest change of the effort in a cycle that is no step
LARGEST_EFFORT_CHANGE = 0.1

# --- Trajectories. Judgement, but where a test or source is named.

# 1/s: rate of change of the speed factor, from standstill to full speed in half a second
SPEED_FACTOR_RATE = 2.0
# smallest speed factor by which measured velocities are divided
SLOWEST_SPEED_FACTOR = 0.1
# speed factor up to which the arm counts as stopped
STOPPED_SPEED_FACTOR = 1e-6
# number of trajectories, and of target poses, with a start in the future; bounds the memory
MOST_WAITING = 100
# number of points whose feedforward effort is computed in a cycle; changes no result
POINTS_AT_ONCE = 64
# number of points of a trajectory with computed efforts; bounds the computation of a node besides its cycles
MOST_EFFORT_POINTS = 1000
# s: joint_trajectory_controller starts in its own desired state, and takes at least this time to the motion
JOINING_TIME = 0.15
# samples of a curve between two points; a maximum between them is at most 4^-8 of the coefficients' excess higher
CURVE_SAMPLES = 256
# rad or m that a trajectory may be beyond a position limit
POSITION_LIMIT_EXCESS = 1e-3
# share beyond a limit of velocity or acceleration, as planners check them only at the points
RATE_LIMIT_EXCESS = 0.05
# rad/s or m/s: a planner's last point is at rest below it, but slowing down
REST_POINT_VELOCITY = 1e-6
# rad or m: rounding of a step to the first point
STEP_EXCESS = 1e-9
# Factors of acceleration and jerk between the points: interpolation of a planner's motion that switches between its
# limits there reaches 1.8 times the limit of acceleration, and 2.2 times that of jerk.
ACCELERATION_BETWEEN_POINTS = 2.0
JERK_BETWEEN_POINTS = 2.5

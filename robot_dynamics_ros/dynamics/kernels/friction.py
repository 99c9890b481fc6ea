"""Joint friction as a function of position, velocity and load: a table of terms, their sums, and friction of a robot.

A row of the friction table, ``joint`` (FRICTION_SIZE,), has the parameters of one joint in SI units. Each section below
is a term: columns of its parameters, kernel, C function, and entry of the table TERMS. Keys and checks of the dynamics
file, the table in docs/dynamics_file.md, the C export, and the coefficients that identification fits follow from TERMS.

Three things make a new term: its section, its place in TERMS and in the sums below TERMS, in Python and in C, and its
formula in docs/dynamics_file.md. Then run ``python docs/generated.py``.

``position`` (rad or m) and ``rate`` (rad/s or m/s) are the joint's position and velocity, ``load`` (Nm or N) is the
torque that its gear transmits to the link. Friction (Nm or N) is positive for positive velocities: it is the torque
that an actuator must supply to overcome it. ``level`` (Nm or N) is the Coulomb level in the direction of motion: column
COULOMB or COULOMB_NEGATIVE.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.couplings import clear, expand, project
from robot_dynamics_ros.dynamics.kernels.layout import (
    FIRST,
    JOINT_POSITION,
    JOINT_RATE,
    JOINT_TORQUE,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import FRICTION_WIDTHS


class FrictionParameter(NamedTuple):
    """Parameter of a term: a column of the friction table and a key of the dynamics file.

    Attributes
    ----------
    column
        Index in a row of the friction table, a constant of this module with the name ``constant``.
    key
        Key in the dynamics file; "sigmoid.slope" is the key slope in the table sigmoid.
    symbol
        Symbol in the formula of docs/dynamics_file.md, LaTeX.
    unit
        Unit for a revolute and for a prismatic joint.
    least
        Smallest permitted value.
    default
        Key of a parameter before this one, or attribute of <dynamics> in the URDF, whose value applies without the key.
        Empty: 0.
    required
        True if the key is required in its table.
    enables
        Key that has no effect without this one.
    tried
        Values that identification tries with the parameter, by column of others, for a highest speed of 1. Those of
        COULOMB and COULOMB_NEGATIVE are 1 if the parameter needs Coulomb friction, 0 if it replaces it. Empty:
        identification does not add the parameter.
    """

    column: int
    key: str
    symbol: str
    unit: str
    least: float = 0.0
    default: str = ""
    required: bool = False
    enables: str = ""
    tried: tuple[dict[int, float], ...] = ()

    @property
    def group(self) -> str:
        """Key in the entry of a joint: that of the parameter, or of the table that contains it."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """Key in its table: the part of ``key`` after the dot, or all of it without one."""
        return self.key.rpartition(".")[2]

    @property
    def constant(self) -> str:
        """Name of the column in this module and in C."""
        return self.key.upper().replace(".", "_")

    @property
    def linear(self) -> bool:
        """True if friction is proportional to the parameter: its unit contains that of the torque."""
        return self.unit.startswith("N")


class Term(NamedTuple):
    """Term of the friction law.

    Attributes
    ----------
    kind
        "smooth": torque that is smooth in velocity. "dry": part of the level of dry friction, which opposes the motion
        and holds at rest. "load": level of dry friction per load.
    source
        Source of the equation.
    kernel
        Function with the value of the term; of a smooth term, also its derivative by velocity, Nm s/rad or N s/m.
    c
        C function @robot@_<name of the kernel> with the arguments of the kernel, for the value.
    parameters
        Parameters in the order of the documentation.
    """

    kind: Literal["smooth", "dry", "load"]
    source: str
    kernel: Callable[..., Any]
    c: str
    parameters: tuple[FrictionParameter, ...]


_TORQUE = "N m, N"
_PER_LOAD = "N m per N m, N per N"
_VELOCITY = "rad/s, m/s"

# --- Polynomial of the velocity

VISCOUS = 0
QUADRATIC = 11
CUBIC = 12


@kernel
def polynomial(joint: Array, rate: float) -> tuple[float, float]:
    """Return the friction (Nm or N) in proportion to v, v |v| and v^3, and its derivative by velocity.

    The higher powers are losses as of a greased gear.
    """
    speed = abs(rate)
    factor = joint[VISCOUS] + (joint[QUADRATIC] + joint[CUBIC] * speed) * speed
    slope = (
        joint[VISCOUS] + (2.0 * joint[QUADRATIC] + 3.0 * joint[CUBIC] * speed) * speed
    )
    return factor * rate, slope


POLYNOMIAL = Term(
    "smooth",
    "Craig (6.110)",
    polynomial,
    """
static double @robot@_polynomial(const @robot@_joint *joint, double rate)
{
    const double speed = fabs(rate);
    return (joint->VISCOUS + (joint->QUADRATIC + joint->CUBIC * speed) * speed) * rate;
}
""",
    (
        FrictionParameter(VISCOUS, "viscous", "b", "N m s, N s/m", default="damping"),
        FrictionParameter(
            QUADRATIC, "quadratic", "b_2", "N m s², N s²/m²", tried=({},)
        ),
        FrictionParameter(CUBIC, "cubic", "b_3", "N m s³, N s³/m³", tried=({},)),
    ),
)

# --- Level of dry friction

COULOMB = 1
COULOMB_NEGATIVE = 2
STATIC = 3
STRIBECK_VELOCITY = 4


@kernel
def dry_level(joint: Array, level: float, rate: float) -> float:
    """Return the level of Coulomb and static friction: ``static`` at rest, ``coulomb`` far from it.

    The level against motion in the negative direction is ``coulomb_negative``. The static level, by default and at
    least the Coulomb level, decays over ``stribeck_velocity``; 0: static level at rest only.
    """
    excess: float = max(joint[STATIC] - level, 0.0)
    if rate == 0.0:
        return level + excess
    if joint[STRIBECK_VELOCITY] > 0.0:
        ratio = rate / joint[STRIBECK_VELOCITY]
        return level + math.exp(-ratio * ratio) * excess
    return level


DRY_LEVEL = Term(
    "dry",
    "Craig (6.111), ME5118 p. 42; Armstrong-Helouvry, Dupont, Canudas de Wit 1994",
    dry_level,
    """
static double @robot@_dry_level(const @robot@_joint *joint, double level, double rate)
{
    const double excess = fmax(joint->STATIC - level, 0.0), ratio = rate / joint->STRIBECK_VELOCITY;
    if (rate == 0.0)
        return level + excess;
    return joint->STRIBECK_VELOCITY > 0.0 ? level + exp(-ratio * ratio) * excess : level;
}
""",
    (
        FrictionParameter(COULOMB, "coulomb", "c", _TORQUE, default="friction"),
        FrictionParameter(
            COULOMB_NEGATIVE, "coulomb_negative", "c", _TORQUE, default="coulomb"
        ),
        FrictionParameter(
            STATIC,
            "static",
            "f",
            _TORQUE,
            enables="stribeck_velocity",
            tried=tuple({STRIBECK_VELOCITY: width} for width in FRICTION_WIDTHS),
        ),
        FrictionParameter(STRIBECK_VELOCITY, "stribeck_velocity", "w", _VELOCITY),
    ),
)

# --- Load of a gear

LOAD_COEFFICIENT = 13
LOAD_COEFFICIENT_BACKDRIVING = 14


@kernel
def load_coefficient(joint: Array, level: float, rate: float, driving: bool) -> float:
    """Return the friction of a gear per torque that it transmits: mu times the ratio of the level to Coulomb's.

    The coefficient mu, below 1, is ``load_coefficient``, but ``load_coefficient_backdriving`` while the load drives the
    joint, x v < 0.
    """
    mu: float = (
        joint[LOAD_COEFFICIENT] if driving else joint[LOAD_COEFFICIENT_BACKDRIVING]
    )
    if mu > 0.0 and level > 0.0:
        mu *= dry_level(joint, level, rate) / level
    return mu


GEAR_LOAD = Term(
    "load",
    "Bittencourt and Gunnarsson 2012; Hamon, Gautier and Garrec 2010",
    load_coefficient,
    """
static double @robot@_load_coefficient(const @robot@_joint *joint, double level, double rate, int driving)
{
    const double mu = driving ? joint->LOAD_COEFFICIENT : joint->LOAD_COEFFICIENT_BACKDRIVING;
    return mu > 0.0 && level > 0.0 ? mu * (@robot@_dry_level(joint, level, rate) / level) : mu;
}
""",
    (
        FrictionParameter(
            LOAD_COEFFICIENT,
            "load_coefficient",
            r"\mu",
            _PER_LOAD,
            tried=({COULOMB: 1.0, COULOMB_NEGATIVE: 1.0},),
        ),
        FrictionParameter(
            LOAD_COEFFICIENT_BACKDRIVING,
            "load_coefficient_backdriving",
            r"\mu",
            _PER_LOAD,
            default="load_coefficient",
        ),
    ),
)

# --- Ripple of the level

RIPPLE_AMPLITUDE = 5
RIPPLE_PER_TURN = 6
RIPPLE_PHASE = 7


@kernel
def ripple(joint: Array, position: float) -> float:
    """Return the variation of the level with position, as of eccentric gears: ``per_turn`` periods per turn.

    The position of a coupled joint is without the coupling's offset.
    """
    if joint[RIPPLE_AMPLITUDE] > 0.0:
        angle = joint[RIPPLE_PER_TURN] * position + joint[RIPPLE_PHASE]
        return float(joint[RIPPLE_AMPLITUDE] * math.sin(angle))
    return 0.0


RIPPLE = Term(
    "dry",
    "Craig (6.113)",
    ripple,
    """
static double @robot@_ripple(const @robot@_joint *joint, double position)
{
    if (joint->RIPPLE_AMPLITUDE > 0.0)
        return joint->RIPPLE_AMPLITUDE * sin(joint->RIPPLE_PER_TURN * position + joint->RIPPLE_PHASE);
    return 0.0;
}
""",
    (
        FrictionParameter(
            RIPPLE_AMPLITUDE, "ripple.amplitude", "a", _TORQUE, required=True
        ),
        FrictionParameter(
            RIPPLE_PER_TURN, "ripple.per_turn", "n", "rad/rad, rad/m", required=True
        ),
        FrictionParameter(RIPPLE_PHASE, "ripple.phase", "p", "rad", -math.inf),
    ),
)

# --- Sigmoid of the velocity

SIGMOID_AMPLITUDE = 8
SIGMOID_SLOPE = 9
SIGMOID_SHIFT = 10


@kernel
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    power = math.exp(x)
    return power / (1.0 + power)


@kernel
def sigmoid(joint: Array, rate: float) -> tuple[float, float]:
    """Return the friction (Nm or N) that a sigmoid describes without stiction, and its derivative by velocity.

    The published model of the Panda has this form.
    """
    amplitude = joint[SIGMOID_AMPLITUDE]
    if amplitude == 0.0:
        return 0.0, 0.0
    slope = joint[SIGMOID_SLOPE]
    shift = joint[SIGMOID_SHIFT]
    share = logistic(slope * (rate + shift))
    torque = amplitude * (share - logistic(slope * shift))
    return torque, amplitude * slope * share * (1.0 - share)


SIGMOID = Term(
    "smooth",
    "Gaz et al. 2019, Dynamic identification of the Franka Emika Panda robot",
    sigmoid,
    """
static double @robot@_logistic(double x)
{
    const double power = exp(-fabs(x)); /* without overflow */
    return (x >= 0.0 ? 1.0 : power) / (1.0 + power);
}

static double @robot@_sigmoid(const @robot@_joint *joint, double rate)
{
    const double slope = joint->SIGMOID_SLOPE, shift = joint->SIGMOID_SHIFT;
    if (joint->SIGMOID_AMPLITUDE == 0.0)
        return 0.0;
    return joint->SIGMOID_AMPLITUDE * (@robot@_logistic(slope * (rate + shift)) - @robot@_logistic(slope * shift));
}
""",
    (
        FrictionParameter(
            SIGMOID_AMPLITUDE,
            "sigmoid.amplitude",
            "A",
            _TORQUE,
            enables="sigmoid",
            tried=tuple(
                {
                    SIGMOID_SLOPE: 1.0 / width,
                    SIGMOID_SHIFT: share * width,
                    COULOMB: coulomb,
                    COULOMB_NEGATIVE: coulomb,
                }
                for width in FRICTION_WIDTHS
                for share in (-0.5, 0.0, 0.5)
                for coulomb in (1.0, 0.0)
            ),
        ),
        FrictionParameter(
            SIGMOID_SLOPE, "sigmoid.slope", "k", "s/rad, s/m", enables="sigmoid"
        ),
        FrictionParameter(SIGMOID_SHIFT, "sigmoid.shift", "d", _VELOCITY, -math.inf),
    ),
)

# --- The table, and the sums of its terms

TERMS = (POLYNOMIAL, DRY_LEVEL, GEAR_LOAD, RIPPLE, SIGMOID)
"""Terms of the friction law."""


@kernel
def smooth_friction(joint: Array, rate: float) -> float:
    """Return the sum of the smooth terms of a joint (Nm or N)."""
    return polynomial(joint, rate)[0] + sigmoid(joint, rate)[0]


@kernel
def smooth_slope(joint: Array, rate: float) -> float:
    """Return the derivative of ``smooth_friction`` by velocity (Nm s/rad or N s/m), limited to at least 0."""
    return max(polynomial(joint, rate)[1] + sigmoid(joint, rate)[1], 0.0)


@kernel
def friction_bound(joint: Array, level: float, position: float, rate: float) -> float:
    """Return the magnitude (Nm or N, at least 0) of dry friction without load; at rest, the largest possible magnitude.

    It is the sum of the dry terms.
    """
    return max(dry_level(joint, level, rate) + ripple(joint, position), 0.0)


C_SUMS = """
static double @robot@_smooth_friction(const @robot@_joint *joint, double rate)
{
    return @robot@_polynomial(joint, rate) + @robot@_sigmoid(joint, rate);
}

static double @robot@_friction_bound(const @robot@_joint *joint, double level, double position, double rate)
{
    return fmax(@robot@_dry_level(joint, level, rate) + @robot@_ripple(joint, position), 0.0);
}
"""
"""C functions of the sums."""
FRICTION_PARAMETERS = tuple(
    parameter for term in TERMS for parameter in term.parameters
)
"""Parameters of all terms in the order of the documentation."""
FRICTION_SIZE = len(FRICTION_PARAMETERS)
"""Number of columns of the friction table."""
FRICTION_KEYS = tuple(dict.fromkeys(x.group for x in FRICTION_PARAMETERS))
"""Keys of friction in the entry of a joint in the dynamics file."""

# --- Friction of a joint and of a robot


@kernel
def depends_on_load(joint: Array) -> bool:
    """Return True if the friction of a joint depends on its load."""
    return bool(
        joint[LOAD_COEFFICIENT] > 0.0 or joint[LOAD_COEFFICIENT_BACKDRIVING] > 0.0
    )


# A motor supplies the load x and the friction f of a slipping joint: u = x + f. With f = F + mu |x|, f is (F + mu u) /
# (1 + mu) while the motor drives the load, u >= F, and (F - mu u) / (1 - mu) while the load drives the motor. A joint
# at rest sticks as long as its friction is below that value, since f - mu |u - f| increases with f.
@kernel
def load_slope(
    joint: Array, level: float, rate: float, bound: float, applied: float
) -> float:
    """Return m in f = (F + m u) / (1 + m), the dry friction of a joint (Nm or N) by the torque ``applied`` to its gear.

    F is ``bound``, the friction without load, and u is ``applied``, positive in the direction of motion; the load is
    u - f.
    """
    if applied >= bound:
        return load_coefficient(joint, level, rate, True)
    return -load_coefficient(joint, level, rate, False)


@kernel
def dry_friction(joint: Array, position: float, rate: float, load: float) -> float:
    """Return the dry friction (Nm or N) of a moving joint, and 0 at rest, where it depends on the applied torque.

    Dry friction is all friction without ``smooth_friction``.
    """
    if rate == 0.0:
        return 0.0
    level = joint[COULOMB] if rate > 0.0 else joint[COULOMB_NEGATIVE]
    bound = friction_bound(joint, level, position, rate)
    per_load = load_coefficient(joint, level, rate, load * rate > 0.0)
    return math.copysign(bound + per_load * abs(load), rate)


@kernel
def faded_friction(
    joint: Array, position: float, rate: float, load: float, fade: float
) -> float:
    """Return all friction (Nm or N) of a joint, made continuous at rest.

    Below the speed ``fade`` (rad/s or m/s) it is the friction at that speed times |rate| / fade. 0 switches this off;
    dry friction then jumps at rest, where it is 0.
    """
    speed = abs(rate)
    share = 1.0
    if speed < fade:
        share = speed / fade
        rate = math.copysign(fade, rate)
    return share * (
        smooth_friction(joint, rate) + dry_friction(joint, position, rate, load)
    )


@kernel
def friction(
    robot: ModelArrays,
    joints: Array,
    fade: float,
    q: Array,
    qd: Array,
    load: Array,
    work: Array,
    tau: Array,
) -> None:
    """Write the friction torque (n,), Nm or N, of the coordinates at ``q``, ``qd`` (n,), rad or m, to ``tau``.

    ``load`` (n,) is the torque that the gears transmit; only the friction of independent joints depends on it. Below
    the speed ``fade`` (rad/s or m/s) of a joint, its friction is that at this speed times |rate| / fade; 0 switches
    this off. ``robot`` has the model arrays (from layout.unpack), ``joints`` is the friction table (bodies,
    FRICTION_SIZE), and ``work`` (bodies + rotors, WORK_SIZE) is scratch.
    """
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    clear(work, JOINT_TORQUE)  # rotors have no friction of their own
    for i in range(joints.shape[0]):
        own = (
            load[robot.coordinates[robot.tree[i, FIRST]]]
            if depends_on_load(joints[i])
            else 0.0
        )
        position = work[i, JOINT_POSITION]
        rate = work[i, JOINT_RATE]
        work[i, JOINT_TORQUE] = faded_friction(joints[i], position, rate, own, fade)
    project(robot, work, JOINT_TORQUE, tau)

"""Joint friction as a function of position and velocity.

Viscous and Coulomb friction: Craig (6.110)-(6.112), with a Coulomb level for each direction. Static level: ME5118 p.
42. Stribeck effect: level = coulomb + (static - coulomb) exp(-(rate / v_s)^2), Armstrong-Helouvry, Dupont, Canudas de
Wit 1994. Level that varies with position: Craig (6.113). Sigmoid: Gaz et al. 2019, "Dynamic identification of the
Franka Emika Panda robot", the published Panda model. Load of a gear: the level grows in proportion to the magnitude of
the torque that the gear transmits, Bittencourt and Gunnarsson 2012, "Static Friction in a Robot Joint"; with
coefficients of driving and backdriving, by the sign of the transmitted power: Hamon, Gautier and Garrec 2010, "Dynamic
Identification of Robots with a Dry Friction Model Depending on Load and Velocity".

``joint`` (FRICTION_SIZE,) is a row of the friction table, with the columns of layout. VISCOUS b: torque b rate. COULOMB
and COULOMB_NEGATIVE: levels for positive and negative velocities. STATIC: level at rest, if above Coulomb's.
STRIBECK_VELOCITY: v_s, 0 for no effect. RIPPLE_AMPLITUDE a, RIPPLE_PER_TURN k and RIPPLE_PHASE p: a sin(k position + p)
is added to the level. SIGMOID_AMPLITUDE f, SIGMOID_SLOPE s and SIGMOID_SHIFT w: torque f (logistic(s (rate + w)) -
logistic(s w)). LOAD_DRIVING and LOAD_BACKDRIVING: coefficients mu, 0 <= mu < 1, of the load while the motor drives it
and while it drives the motor; mu |load| is added to Coulomb's level, and the static level grows by the same ratio.
QUADRATIC k and CUBIC l: torque k rate |rate| + l rate^3.

``position`` (rad or m) and ``rate`` (rad/s or m/s) are the joint's position and velocity, ``load`` (Nm or N) is the
torque that its gear transmits to the link. Friction (Nm or N) is positive for positive velocities: it is the torque
that an actuator must supply to overcome it.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.couplings import clear, expand, project
from robot_dynamics_ros.dynamics.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    CUBIC,
    FIRST,
    JOINT_POSITION,
    JOINT_RATE,
    JOINT_TORQUE,
    LOAD_BACKDRIVING,
    LOAD_DRIVING,
    QUADRATIC,
    RIPPLE_AMPLITUDE,
    RIPPLE_PER_TURN,
    RIPPLE_PHASE,
    SIGMOID_AMPLITUDE,
    SIGMOID_SHIFT,
    SIGMOID_SLOPE,
    STATIC,
    STRIBECK_VELOCITY,
    VISCOUS,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


@kernel
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    power = math.exp(x)
    return power / (1.0 + power)


@kernel
def smooth_friction(joint: Array, rate: float) -> float:
    """Return the viscous, quadratic, cubic and sigmoid friction of a joint (Nm or N), smooth in ``rate``."""
    torque: float = (
        joint[VISCOUS] + (joint[QUADRATIC] + joint[CUBIC] * abs(rate)) * abs(rate)
    ) * rate
    if joint[SIGMOID_AMPLITUDE] != 0.0:
        slope = joint[SIGMOID_SLOPE]
        shift = joint[SIGMOID_SHIFT]
        torque += joint[SIGMOID_AMPLITUDE] * (
            logistic(slope * (rate + shift)) - logistic(slope * shift)
        )
    return torque


@kernel
def smooth_slope(joint: Array, rate: float) -> float:
    """Return the derivative of ``smooth_friction`` by velocity (Nm s/rad or N s/m), limited to at least 0."""
    total: float = joint[VISCOUS] + (
        2.0 * joint[QUADRATIC] + 3.0 * joint[CUBIC] * abs(rate)
    ) * abs(rate)
    if joint[SIGMOID_AMPLITUDE] != 0.0:
        slope = joint[SIGMOID_SLOPE]
        sigmoid = logistic(slope * (rate + joint[SIGMOID_SHIFT]))
        total += joint[SIGMOID_AMPLITUDE] * slope * sigmoid * (1.0 - sigmoid)
    return max(total, 0.0)


@kernel
def _static_share(joint: Array, rate: float) -> float:
    """Return the share of the excess of the static level in the level at ``rate``: 1 at rest."""
    if rate == 0.0:
        return 1.0
    if joint[STRIBECK_VELOCITY] > 0.0:
        ratio = rate / joint[STRIBECK_VELOCITY]
        return math.exp(-ratio * ratio)
    return 0.0


@kernel
def friction_bound(joint: Array, level: float, position: float, rate: float) -> float:
    """Return the magnitude (Nm or N, at least 0) of dry friction without load; at rest, the largest possible magnitude.

    Dry friction is Coulomb and static friction with Stribeck effect and ripple.

    ``level`` (Nm or N) is the Coulomb level in the direction of motion: column COULOMB or COULOMB_NEGATIVE. The
    ``position`` of a coupled joint is without the coupling's offset.
    """
    size = level + _static_share(joint, rate) * max(joint[STATIC] - level, 0.0)
    if joint[RIPPLE_AMPLITUDE] > 0.0:
        size += joint[RIPPLE_AMPLITUDE] * math.sin(
            joint[RIPPLE_PER_TURN] * position + joint[RIPPLE_PHASE]
        )
    return float(max(size, 0.0))


@kernel
def depends_on_load(joint: Array) -> bool:
    """Return True if the friction of a joint depends on its load."""
    return bool(joint[LOAD_DRIVING] > 0.0 or joint[LOAD_BACKDRIVING] > 0.0)


@kernel
def load_coefficient(joint: Array, level: float, rate: float, driving: bool) -> float:
    """Return the increase of dry friction by load: mu times the ratio of the level at ``rate`` to Coulomb's.

    ``driving`` is True if the motor drives the load. ``level`` is as for ``friction_bound``.
    """
    mu: float = joint[LOAD_DRIVING] if driving else joint[LOAD_BACKDRIVING]
    if mu > 0.0 and joint[STATIC] > level > 0.0:
        mu *= 1.0 + _static_share(joint, rate) * (joint[STATIC] / level - 1.0)
    return mu


# A motor supplies the load x and the friction f of a slipping joint: u = x + f. With f = F + mu |x|, f is (F + mu u) /
# (1 + mu) while the motor drives the load, u >= F, and (F - mu u) / (1 - mu) while the load drives the motor. A joint
# at rest sticks as long as its friction is below that value, since f - mu |u - f| increases with f.
@kernel
def load_slope(
    joint: Array, level: float, rate: float, bound: float, applied: float
) -> float:
    """Return m in f = (F + m u) / (1 + m), the dry friction of a joint (Nm or N) by the torque ``applied`` to its gear.

    F is ``bound``, the friction without load, and u is ``applied``, positive in the direction of motion; the load is
    u - f. ``level`` is as for ``friction_bound``.
    """
    if applied >= bound:
        return load_coefficient(joint, level, rate, True)
    return -load_coefficient(joint, level, rate, False)


@kernel
def _dry_magnitude(
    joint: Array, level: float, position: float, rate: float, load: float
) -> float:
    bound: float = friction_bound(joint, level, position, rate)
    return bound + load_coefficient(joint, level, rate, load * rate > 0.0) * abs(load)


@kernel
def dry_friction(joint: Array, position: float, rate: float, load: float) -> float:
    """Return the dry friction (Nm or N) of a moving joint, and 0 at rest, where it depends on the applied torque.

    Dry friction is all friction without ``smooth_friction``.
    """
    if rate > 0.0:
        return _dry_magnitude(joint, joint[COULOMB], position, rate, load)
    if rate < 0.0:
        return -_dry_magnitude(joint, joint[COULOMB_NEGATIVE], position, rate, load)
    return 0.0


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

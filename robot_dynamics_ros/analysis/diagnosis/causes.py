"""Causes of a torque residual: torques linear in a few parameters, and hints for fitted parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction_shapes import at_rest
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    modelled_friction,
    summed_products,
)
from robot_dynamics_ros.analysis.thresholds import (
    HINT_EXACT,
    HINT_FINE,
    HINT_INTERVAL,
    HINT_NEGLIGIBLE,
    HINT_SIGNIFICANT,
    LARGEST_ROTOR,
    LATER_STARTS,
    LIGHTEST_PAYLOAD,
    LINK_IMPLAUSIBLE,
    LINK_PRIOR_SAMPLES,
    LINK_SPREAD,
    LONGEST_EFFORT_DELAY,
    NEGATIVE_FRICTION,
    NO_FRICTION,
    NO_GRAVITY,
    OBSERVABLE_GRAVITY,
    PAYLOAD_REACH,
    PAYLOAD_UNCERTAIN,
    SHORTEST_EFFORT_DELAY,
    SMALLEST_TILT,
    TINY,
    UNEVEN_FRICTION,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree


@dataclass(frozen=True, eq=False)
class Evidence:
    """Recorded motion of n joints at m times, and the time derivative (m, n) of its effort in Nm/s or N/s."""

    motion: RecordedMotion
    effort_rate: Array


class Hypothesis(NamedTuple):
    """A cause whose additional torque is linear in p parameters.

    Attributes
    ----------
    columns
        Torque (m, n, p) in Nm or N for a unit of each parameter.
    describe
        Function of the fitted parameters (p,) and their standard errors (p,). It returns the hint (cause, size and
        cure), or None if the parameters are implausible, or if all their 95 % intervals contain no effect.
    precision
        Prior inverse variances (p,) of the parameters about 0, if torques have unit variance; 0: no prior.
    effect
        Share of the measured RMS torque that the cause must contribute in at least one joint.
    complexity
        Number of causes that it counts as in model selection: larger for causes that can imitate others.
    """

    columns: Array
    describe: Callable[[Array, Array], str | None]
    precision: Array | float = 0.0
    effect: float = 0.03
    complexity: float = 1.0


HypothesisFunction = Callable[[RobotModel, Evidence], Hypothesis]
FRICTION = "missing friction"
DELAY = "a delay of the effort"
DRIFT = "drifting offsets"
SPRINGS = "springs"
LATER = "a later payload"
RARE = (DRIFT, SPRINGS, LATER)
"""Causes of which there is one at most beside others: together they imitate anything."""
LINKS = "other link parameters"


def causes(model: RobotModel) -> Mapping[str, HypothesisFunction]:
    """Return the possible causes of the torque residual of ``model``, by name.

    Each is a function of a model and the ``Evidence`` with its joints; it returns the ``Hypothesis`` of this cause.
    """
    links = model.moving_links
    return {
        "another direction of gravity": _gravity,
        **{
            f"a payload on {links[body]}": partial(_payload, body)
            for body in _payload_bodies(model)
        },
        LATER: partial(_later_payload, _payload_bodies(model)[0]),
        FRICTION: _friction,
        "friction by load": _load_friction,
        "constant offsets": _offsets,
        DRIFT: _drift,
        SPRINGS: _springs,
        "rotor inertia": _rotors,
        DELAY: _delay,
        LINKS: _links,
    }


def _gravity(model: RobotModel, evidence: Evidence) -> Hypothesis:
    columns = np.stack(
        [
            model.with_gravity(unit).gravity_torque(evidence.motion.q)
            for unit in np.eye(3)
        ],
        axis=-1,
    )

    def describe(values: Array, errors: Array) -> str | None:
        modelled = model.gravity
        flat = columns.reshape(-1, 3)
        magnitude = float(np.linalg.norm(modelled)) or 9.81
        # Only components of gravity that load a joint along the motion are compared.
        strength, directions = np.linalg.eigh(flat.T @ flat)
        directions = directions[:, strength > OBSERVABLE_GRAVITY * strength[-1]]
        observed = directions.shape[1] == len(strength)
        projection = directions @ directions.T
        estimate = projection @ (modelled + values)
        expected = projection @ modelled
        size = float(np.linalg.norm(estimate))
        error = _largest(errors)
        if size < NO_GRAVITY * np.linalg.norm(expected):
            return (
                "the measured effort has no gravity in it: the driver subtracts it, or the arm is balanced. "
                "Cure: --gravity 0 0 0"
            )
        # The unobservable component completes the magnitude, in the model's direction.
        # zero but for rounding
        hidden = np.zeros(3) if observed else modelled - expected
        rest = np.sqrt(max(0.0, magnitude**2 - size**2))
        direction = estimate + hidden * (
            rest / np.linalg.norm(hidden) if hidden.any() else 0.0
        )
        size = float(np.linalg.norm(direction))
        if abs(size - magnitude) > 2 * HINT_NEGLIGIBLE * magnitude:
            return None
        vector = " ".join(
            f"{x:g}" for x in np.round(direction * magnitude / size, 2) + 0.0
        )
        each = f"({vector}) m/s^2, each +- {_half(error, magnitude)[0]}"
        if not observed:
            each += ", or undetermined where no joint carries it"
        if not modelled.any():
            text = f"the measured effort has gravity in it, the model has none: it is {each}. Cure: --gravity {vector}"
            return text if excludes_zero(magnitude, error) else None
        angle = float(
            np.degrees(
                np.arccos(np.clip(direction @ modelled / (size * magnitude), -1.0, 1.0))
            )
        )
        angle_error = np.degrees(error / magnitude)
        if angle < SMALLEST_TILT or not excludes_zero(angle, angle_error):
            return None
        mounted = (
            "on a wall"
            if abs(angle - 90.0) < 10.0
            else "on a ceiling"
            if angle > 170.0
            else "tilted"
        )
        return (
            f"gravity points {interval(angle, angle_error)} degrees away from the model's, as for a robot that is "
            f"mounted {mounted}: it is {each}. Cure: --gravity {vector}, or gravity in the dynamics file"
        )

    return Hypothesis(columns, describe)


def _largest(errors: Array) -> float:
    """Return the largest standard error of the values that are determined."""
    return float(errors[np.isfinite(errors)].max(initial=0.0))


def _payload_bodies(model: RobotModel) -> list[int]:
    """Return the bodies at which a payload is likely: leaves of the tree, and parents of several bodies."""
    parents = [link.parent for link in LinkTree.of(model).links]
    carried = [parents.count(body) for body in range(len(parents))]
    last = [body for body, count in enumerate(carried) if count == 0]
    branching = {
        parents[body]
        for body in last
        if parents[body] >= 0 and carried[parents[body]] > 1
    }
    return [*last, *sorted(branching)]


def _later_payload(body: int, model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Return the hypothesis of a payload that is added at the time, of some, at which it explains most."""
    motion = evidence.motion
    known = model.friction_torque(motion.q, motion.qd, qdd=motion.qdd)
    residual = motion.tau - model.inverse_dynamics(*motion.states) - known
    columns = _payload(body, model, evidence).columns
    rows = np.concatenate([columns, residual[:, :, None]], axis=2)
    rows /= root_mean_square(residual)[:, None] + TINY
    edges = np.array_split(np.arange(len(rows)), LATER_STARTS)
    squares = summed_products([rows[edge] for edge in edges]).sum(axis=1)
    after = np.cumsum(squares[::-1], axis=0)[::-1]
    explained = []
    ends = LATER_STARTS // 8
    for square in after[ends:-ends]:
        solution = np.linalg.lstsq(square[:-1, :-1], square[:-1, -1], rcond=None)[0]
        explained.append(solution @ square[:-1, -1])
    first = edges[ends + int(np.argmax(explained))][0]
    return _payload(body, model, evidence, float(motion.time[first]))


def _payload(
    body: int, model: RobotModel, evidence: Evidence, start: float = -np.inf
) -> Hypothesis:
    """Return the hypothesis of a payload on a body, ``start`` (s) and later."""
    motion = evidence.motion
    link = model.moving_links[body]
    own = slice(PARAMETERS * body, PARAMETERS * (body + 1))
    masses = model.body_parameters[:, 0]
    far = max(
        PAYLOAD_REACH,
        *(float(np.linalg.norm(part.position)) for part in LinkTree.of(model).links),
    )
    known = _known_payload(body, model)
    when = f" from {start:.1f} s on" if np.isfinite(start) else ""

    def describe(values: Array, errors: Array) -> str | None:
        mass = values[0]
        moment = values[1:4]
        if excludes_zero(mass, errors[0]) and abs(mass) > LIGHTEST_PAYLOAD:
            com = moment / mass
            if (
                np.linalg.norm(com) > far
                or not -1.5 * masses[body] < mass < masses.sum()
            ):
                return None
            com_errors = np.hypot(errors[1:4], com * errors[0]) / abs(mass)
            where = f"with its centre of mass at {_vector(com, com_errors)} m in the axes of {link}"
            payload = f"{interval(abs(mass), errors[0])} kg on {link}{when}, {where}"
            heavier = mass > 0.0
            uncertain = HINT_INTERVAL * errors[0] > PAYLOAD_UNCERTAIN * abs(mass)
        else:
            # The mass is not observable, as where the link's origin does not move.
            size = float(np.linalg.norm(moment))
            heaviest = abs(mass) + HINT_INTERVAL * errors[0]
            if (
                size < LIGHTEST_PAYLOAD
                or size > far * heaviest
                or not excludes_zero(size, _largest(errors[1:4]))
            ):
                return None
            heavier = mass > 0.0 or not np.isfinite(errors[0])
            uncertain = False
            payload = f"a first moment of {_vector(moment if heavier else -moment, errors[1:4])} kg m on {link}{when}"
        if heavier:
            cure = (
                f"add it to {known}"
                if known
                else "define it as payload in the dynamics file"
            )
            before = (
                "run robot_dynamics identify with the unloaded arm first; then "
                if uncertain
                else ""
            )
            return f"the robot carries a payload that the model lacks: {payload}. Cure: {before}{cure}"
        cure = (
            f"correct or remove {known}"
            if known
            else "give absent links mass 0 under links in the dynamics file"
        )
        return f"the model carries a payload that the robot lacks: {payload}, such as an absent gripper. Cure: {cure}"

    columns = model.regressor(*motion.states)[:, :, own]
    columns = columns * (motion.time >= start)[:, None, None]
    return Hypothesis(columns, describe, complexity=1.5 if when else 1.0)


def _known_payload(body: int, model: RobotModel) -> str:
    """Return the payload of the model on a body, with its mass and link; empty if there is none."""
    if (link := model.payload_link) is None or model.link_frames[link].body != body:
        return ""
    change = model.body_parameters - model.without_payload().body_parameters
    return f"the payload of {change[body, 0]:.2f} kg on {link} in the dynamics file"


def _friction(model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Return the hypothesis of missing friction: n viscous coefficients, n Coulomb levels forwards, n backwards."""
    motion = evidence.motion
    n = model.n
    columns = np.zeros((len(motion.time), n, 3 * n))
    joints = np.arange(n)
    columns[:, joints, joints] = motion.qd
    columns[:, joints, n + joints] = _dry(
        motion, lambda q, qd, qdd: np.where(qd > 0.0, 1.0, 0.0)
    )
    columns[:, joints, 2 * n + joints] = _dry(
        motion, lambda q, qd, qdd: np.where(qd < 0.0, 1.0, 0.0)
    )

    # The model's friction as viscous and Coulomb friction.
    known = modelled_friction(model, motion)
    total = np.stack(
        [
            np.linalg.lstsq(columns[:, j, j::n], known[:, j], rcond=None)[0]
            for j in range(n)
        ],
        axis=1,
    )

    def describe(values: Array, errors: Array) -> str | None:
        viscous, forwards, backwards = np.reshape(
            list(map(interval, values.tolist(), errors.tolist())), (3, model.n)
        )
        matters = _matters(columns @ values, motion.tau)
        left = total + values.reshape(3, n)
        deviations = HINT_INTERVAL * errors.reshape(3, n)
        # Friction dissipates; levels of different signs may contain an offset of the effort.
        speed = root_mean_square(motion.qd)
        size = NEGATIVE_FRICTION * root_mean_square(np.hypot(motion.tau, known))
        dissipates = left[0] * speed > -deviations[0] * speed - size
        dissipates &= left[1] + left[2] > -np.hypot(*deviations[1:]) - size
        listed = matters & dissipates
        parts = np.tile(listed, 3)
        clear = any(map(excludes_zero, values[parts], errors[parts]))
        if not clear or (matters & ~dissipates).any():
            return None
        cause = "friction differs: add to the model's values"
        if not known[:, listed].any():
            cause = "the model has no friction where the robot has"
        if (np.abs(left) < NO_FRICTION * np.abs(total) + TINY)[:, listed].all():
            names = ", ".join(itertools.compress(model.joint_names, listed.tolist()))
            return (
                f"the measured effort has no friction in it: {names}. The driver compensates it, or the sensor is "
                "behind the gear. Cure: --dynamics without friction, or record the effort of the motors"
            )
        units = "Nm s/rad and Nm" + (
            ", or N s/m and N" if model.prismatic_joints else ""
        )
        each = "; ".join(
            f"{name} viscous {viscous[j]}, Coulomb {forwards[j]} forwards and {backwards[j]} backwards"
            for j, name in enumerate(model.joint_names)
            if listed[j]
        )
        positive, negative = values[model.n :].reshape(2, model.n)
        least = np.maximum(
            UNEVEN_FRICTION * (positive + negative),
            HINT_SIGNIFICANT * np.hypot(*errors[model.n :].reshape(2, -1)),
        )
        uneven = matters & (np.abs(positive - negative) > least)
        if uneven.any():
            names = ", ".join(itertools.compress(model.joint_names, uneven.tolist()))
            each += f"; levels that differ by direction look the same as a constant offset of the effort: {names}"
        return (
            f"{cause} ({units}): {each}. Cure: give viscous, coulomb and coulomb_negative in the dynamics "
            "file, or let identify do it"
        )

    return Hypothesis(columns, describe, complexity=1.3)


def interval(value: float, error: float) -> str:
    """Return the 95 % interval of a value with this standard error, as "0.65 +- 0.04", or "undetermined" (infinite)."""
    if not np.isfinite(error):
        return "undetermined"
    half, decimals = _half(error, value)
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f} +- {half}"


def excludes_zero(value: float, error: float) -> bool:
    """Return True if the ``interval`` of a value with this standard error excludes 0."""
    if not np.isfinite(error):
        return False
    half, decimals = _half(error, value)
    return abs(round(value, decimals)) > float(half)


def _half(error: float, value: float) -> tuple[str, int]:
    """Return half the 95 % interval with one digit, or two up to 29, and the number of its decimals."""
    half = max(HINT_INTERVAL * error, HINT_EXACT * abs(value), TINY)
    power = int(np.floor(np.log10(half)))
    decimals = int(half < 2.95 * 10.0**power) - power
    return f"{round(half, decimals):.{max(decimals, 0)}f}", decimals


def _vector(values: Array, errors: Array) -> str:
    return (
        "["
        + ", ".join(
            map(interval, values.tolist(), np.maximum(errors, HINT_FINE).tolist())
        )
        + "]"
    )


def _matters(torque: Array, measured: Array) -> NDArray[np.bool_]:
    """Return True (n,) for joints with a torque (m, n) that is not negligible beside the ``measured`` one (m, n)."""
    return root_mean_square(torque) > HINT_NEGLIGIBLE * root_mean_square(measured)


def _by_joint(
    model: RobotModel, values: Array, errors: Array, listed: NDArray[np.bool_]
) -> str:
    """Return the names and intervals of the ``listed`` joints (n,) whose intervals exclude 0."""
    named = zip(
        model.joint_names, values.tolist(), errors.tolist(), listed, strict=True
    )
    return ", ".join(
        f"{name} {interval(value, error)}"
        for name, value, error, one in named
        if one and excludes_zero(value, error)
    )


def _dry(
    motion: RecordedMotion, level: Callable[[Array, Array, Array], Array]
) -> Array:
    """Return dry friction (m, n) of a level by motions (k, n), filtered as the torque is; 0 for joints at rest."""
    rest = at_rest(motion.qd, motion.qdd, motion.period, 0)
    return motion.filtered(lambda q, qd, qdd: np.sign(qd) * level(q, qd, qdd)) * ~rest


def _of_joints(
    model: RobotModel,
    motion: RecordedMotion,
    torque: Array,
    text: str,
    lower: Array | float = -np.inf,
    upper: Array | float = np.inf,
    *,
    offset: bool = False,
    complexity: float = 1.0,
) -> Hypothesis:
    """Return the hypothesis of a torque (m, n) times a coefficient of each joint, within bounds (n,).

    ``text`` is the hint, with {} for the list of coefficients. With ``offset`` each joint has a constant torque, too.
    """
    n = model.n
    columns = torque[:, :, None] * np.eye(n)
    if offset:
        constant = np.broadcast_to(np.eye(n), columns.shape)
        columns = np.concatenate([columns, constant], axis=2)

    def describe(values: Array, errors: Array) -> str | None:
        coefficients = values[:n]
        slack = HINT_INTERVAL * errors[:n]
        matters = _matters(torque * coefficients, motion.tau)
        possible = coefficients > lower - slack
        possible &= coefficients < upper + slack
        within = matters & (coefficients > lower) & (coefficients < upper)
        each = _by_joint(model, coefficients, errors[:n], within)
        return text.format(each) if each and possible[matters].all() else None

    return Hypothesis(columns, describe, complexity=complexity)


def _load_friction(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    dry = _dry(motion, lambda q, qd, qdd: np.abs(model.gear_load(q, qd, qdd)))
    text = (
        "friction grows with the load, as in gears, by this share of the transmitted torque: {}. Cure: add it to "
        "load_coefficient in the dynamics file, or let identify do it"
    )
    return _of_joints(model, motion, dry, text, 0.0, 1.0)


def _offsets(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    text = "the measured effort has constant offsets: {}. Cure: zero the torque sensors; identify leaves them out"
    # A larger complexity: gravity of a vertical prismatic joint is constant too, and so is the part of Coulomb friction
    # that differs by direction.
    return _of_joints(model, motion, np.ones_like(motion.q), text, complexity=1.25)


def _drift(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    time = np.repeat(motion.time[:, None] - motion.time.mean(), model.n, axis=1)
    text = "the measured effort drifts, in Nm/s or N/s: {}. Cure: let sensors and gears warm up, and zero the sensors"
    return _of_joints(model, motion, time, text, offset=True, complexity=1.5)


def _springs(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    text = (
        "a spring acts on the joint, such as a cable or a balancer, of this stiffness: {} Nm/rad (N/m). Cure: record "
        "without it, or subtract its torque from the effort"
    )
    # A negative stiffness is that of gravity, which tilts a link further.
    position = motion.q - motion.q.mean(axis=0)
    return _of_joints(model, motion, position, text, 0.0, offset=True, complexity=1.5)


def _rotors(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    text = (
        "rotor inertia is missing in the model: {} kg m^2 (kg) at the joint. Cure: give it as rotor_inertia with "
        "gear_ratio: 1 and rotor_carrier: none in the dynamics file, or let identify do it"
    )
    if model.rotor_names:
        text += "; to the rotor_inertia that a joint has already, add it divided by the square of gear_ratio"
    # The rotor of a wrist can be larger than its links, but not than the whole arm.
    inertia = np.diagonal(model.mass_matrix(motion.q), axis1=1, axis2=2)
    largest = LARGEST_ROTOR * inertia.max()
    return _of_joints(model, motion, motion.qdd, text, 0.0, largest)


def _delay(model: RobotModel, evidence: Evidence) -> Hypothesis:
    def describe(values: Array, errors: Array) -> str | None:
        delay = float(values[0])
        error = float(errors[0])
        if not (
            SHORTEST_EFFORT_DELAY < abs(delay) < LONGEST_EFFORT_DELAY
            and excludes_zero(delay, error)
        ):
            return None
        return (
            f"the effort is {interval(1e3 * abs(delay), 1e3 * error)} ms {'behind' if delay > 0.0 else 'ahead of'} "
            f"position and velocity. Cure: --effort-delay {delay:.4f}"
        )

    columns = -evidence.effort_rate[:, :, None]
    return Hypothesis(columns, describe, effect=0.003, complexity=0.02)


def _links(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    spread = _parameter_spread(model.body_parameters).ravel()
    columns = model.regressor(*motion.states)[:, :, : len(spread)]

    def describe(values: Array, errors: Array) -> str | None:
        if np.abs(values / spread).max() > LINK_IMPLAUSIBLE:
            return None
        shares = root_mean_square(columns @ values) / np.maximum(
            root_mean_square(motion.tau), TINY
        )
        if shares.max() > 1.0:
            return None
        each = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip(model.joint_names, shares, strict=True)
            if share > HINT_NEGLIGIBLE
        )
        return (
            "the links' masses, centres of mass or inertias differ from the model's"
            f"{'; share of the measured torque: ' + each if each else ''}. Cure: run robot_dynamics identify"
        )

    return Hypothesis(
        columns, describe, LINK_PRIOR_SAMPLES / spread**2, effect=0.01, complexity=2.0
    )


def _parameter_spread(parameters: Array) -> Array:
    """Return prior standard deviations (bodies, 10) of inertial ``parameters`` (bodies, 10)."""
    mass = np.maximum(
        parameters[:, 0], 0.05 * parameters[:, 0].mean() + np.finfo(float).tiny
    )
    about = 0.5 * parameters[:, [4, 7, 9]].sum(axis=1) / mass
    radius = np.sqrt(np.maximum(about, 0.05**2))
    sizes = np.stack([mass, *[mass * radius] * 3, *[mass * radius**2] * 6], axis=1)
    return LINK_SPREAD * sizes

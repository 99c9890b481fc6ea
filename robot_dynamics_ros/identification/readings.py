"""Readings of a recording: joints and efforts in another order, with other signs, or in other units."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics_ros.identification.causes import Evidence, friction
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_UNIT = 3.0  # times the model's torque: more is no robot's deviation, but another unit
_EQUAL = 1.5  # ratio of factors that masses unlike the model's may cause
_PREFIXES = {1e3: "mNm", 1e-3: "kNm"}
_CLEAR = 0.5  # share of a joint's measured torque squared that its factor must explain to count
_FAR_BETTER = 4.0  # times less squared error


@dataclass(frozen=True, eq=False)
class Reading:
    """A way to read the recording, and the mistake that it corrects.

    Attributes
    ----------
    words
        The mistake and its cure; empty: the recording as it is.
    joints, signs
        (n,): place in the recording, and sign, of position, velocity and acceleration of each joint.
    efforts, gains
        (n,): the same of its effort, the gains in Nm or N per recorded unit.
    complexity
        How many causes it counts as.
    """

    words: str
    joints: list[int]
    signs: Array
    efforts: list[int]
    gains: Array
    complexity: float

    def of(self, evidence: Evidence) -> Evidence:
        """Return the evidence, read in this way."""
        motion = evidence.motion
        q, qd, qdd = (values[:, self.joints] * self.signs for values in (motion.q, motion.qd, motion.qdd))
        tau, rate = (values[:, self.efforts] * self.gains for values in (motion.tau, evidence.effort_rate))
        return Evidence(replace(motion, q=q, qd=qd, qdd=qdd, tau=tau), rate)


def as_recorded(n: int) -> Reading:
    """Return the reading without any change."""
    return Reading("", list(range(n)), np.ones(n), list(range(n)), np.ones(n), 0.0)


def readings(model: RobotModel, evidence: Evidence) -> Iterator[Reading]:
    """Yield every single mistake of sign, order or unit that the recording may have."""
    names = evidence.motion.joint_names
    plain = replace(as_recorded(len(names)), complexity=1.0)
    yield from _units(model, evidence)
    yield replace(
        plain,
        words="every effort has the wrong sign. Cure: turn the signs in the driver: effort moves the joint forward",
        gains=-plain.gains,
    )
    for j, name in enumerate(names):
        signs = plain.signs.copy()
        signs[j] = -1.0
        yield replace(
            plain,
            words=f"the measured effort of {name} has the wrong sign. Cure: turn its sign in the driver, or "
            f"--drive-gains {name}=-1",
            gains=signs,
        )
        yield replace(
            plain,
            words=f"{name} turns the other way: position, velocity and effort have the wrong sign. Cure: turn the "
            "joint's <axis> in the URDF, or the signs in the driver",
            signs=signs,
            gains=signs,
        )
    for i, j in itertools.combinations(range(len(names)), 2):
        first, second = names[i], names[j]
        order = list(range(len(names)))
        order[i], order[j] = j, i
        yield replace(
            plain,
            words=f"the efforts of {first} and {second} are swapped. Cure: check the order of the effort in the driver",
            efforts=order,
        )
        yield replace(
            plain,
            words=f"{first} and {second} are swapped. Cure: check the names in the driver, or swap them back with "
            f"--rename {first}={second} {second}={first}",
            joints=order,
            efforts=order,
        )


def _units(model: RobotModel, evidence: Evidence) -> Iterator[Reading]:
    """Yield one gain for all efforts, and one for each, if the model's torque shows that they are not in Nm or N."""
    names, plain = evidence.motion.joint_names, replace(as_recorded(model.n), complexity=1.0)
    factors, clear = _factors(model, evidence)
    if not clear.any():
        return
    common = float(np.median(factors[clear]))
    unit = next((unit for unit in _PREFIXES if 1.0 / _EQUAL < common / unit < _EQUAL), common)
    if max(abs(common), 1.0 / abs(common)) > _UNIT:
        where = f"as in {_PREFIXES[unit]}" if unit in _PREFIXES else "as currents, or torques before the gear"
        yield replace(
            plain,
            words=f"every effort is {common:.4g} times the model's, {where}. Cure: record torque at the joints in Nm, "
            f"or --drive-gains {1.0 / unit:.4g}",
            gains=np.full(model.n, 1.0 / unit),
        )
    factors = np.where(clear, factors, common)
    spread = np.maximum(factors / common, common / factors)
    if unit in _PREFIXES and 0.0 < spread.min() and spread.max() < _EQUAL:
        return
    if (np.maximum(np.abs(factors), 1.0 / np.abs(factors)) > _UNIT).any():
        gains = " ".join(f"{name}={1.0 / factor:.3g}" for name, factor in zip(names, factors, strict=True))
        yield replace(
            plain,
            words="joint efforts are in different units per joint, as currents or torques before the gear: gains "
            f"{gains} by the model's masses. Cure: --drive-gains with the drives' own gains, or with these",
            gains=1.0 / factors,
            complexity=1.5,
        )


def _factors(model: RobotModel, evidence: Evidence) -> tuple[Array, Array]:
    """Return each joint's measured over the model's torque (n,), and if it is clear: (n,) too.

    By the model as it is, or by its torque without friction beside any friction and offset where that fits far better.
    """
    motion = evidence.motion
    rigid = model.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    whole = rigid + model.friction_torque(motion.q, motion.qd)
    columns = friction(model, evidence).columns
    factors, clear = np.ones(model.n), np.zeros(model.n, dtype=bool)
    for j in range(model.n):
        others = np.column_stack([np.ones(len(rigid)), columns[:, j, j :: model.n]])
        factors[j], share, left = _factor(motion.tau[:, j], whole[:, j], others[:, :0])
        free, free_share, free_left = _factor(motion.tau[:, j], rigid[:, j], others)
        if left > _FAR_BETTER * free_left and free_share > _CLEAR:
            factors[j], share = free, free_share
        clear[j] = share > _CLEAR
    return factors, clear


def _factor(measured: Array, torque: Array, others: Array) -> tuple[float, float, float]:
    """Return measured over the model's torque, both without ``others``, the share explained, and the squares left."""
    both = np.column_stack([torque, measured])
    both = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    inner = both.T @ both
    if not inner[0, 0] * inner[1, 1] > 0.0:
        return 1.0, 0.0, float(inner[1, 1])
    share = float(inner[0, 1] ** 2 / (inner[0, 0] * inner[1, 1]))
    return float(inner[0, 1] / inner[0, 0]), share, (1.0 - share) * float(inner[1, 1])

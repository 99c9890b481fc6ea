"""The settings of the hand for one robot, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.laws import Gains, per_joint
from robot_dynamics_ros.control.task_space.law import COMPONENTS, TaskGains
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True)
class TaskSpaceSettings:
    """How ``task_space_computed_torque`` moves the hand.

    Attributes
    ----------
    link
        The hand; "": the only tip of the robot.
    components
        Which of x, y, z and the rotations about them, rx, ry and rz, follow the target; the others are free.
    natural_frequency, damping_ratio
        rad/s, and 1 for critical damping, of the hand's error: one for each of x y z rx ry rz, or one for all.
    max_linear_velocity, max_angular_velocity
        How fast (m/s, rad/s) the hand approaches a target, beyond the target's own motion; inf: as the gains say.
    target_timeout
        How long (s) a target goes on along its velocity; then it stands still.
    """

    link: str = ""
    components: Sequence[str] = COMPONENTS
    natural_frequency: Sequence[float] = (10.0,)
    damping_ratio: Sequence[float] = (1.0,)
    max_linear_velocity: float = 0.25
    max_angular_velocity: float = 1.0
    target_timeout: float = 0.1


class HandTuning:
    """What the hand of one robot takes from its settings. It never changes.

    Attributes
    ----------
    link, rows
        The hand, and which of x y z, rotation about x y z follow targets, as 0 to 5.
    gains
        As the law takes them.
    """

    def __init__(self, model: RobotModel, settings: TaskSpaceSettings, posture: Gains) -> None:
        """Check against the model; RobotDynamicsError names the setting and the cure.

        ``posture``: the gains (n,) of the joints, accelerations.
        """
        model.require_mass()
        self.link = _link(model, settings.link)
        self.rows = rows_of(settings.components)
        if len(self.rows) > model.n:
            raise RobotDynamicsError(
                f"task_space.components: {len(self.rows)} of them for {model.n} joints. "
                f'Cure: name at most {model.n}, as "{" ".join(COMPONENTS[: model.n])}"'
            )
        kp, kd = hand_gains(settings.natural_frequency, settings.damping_ratio)
        for joint, damping in zip(model.joint_names, posture.kd.tolist(), strict=True):
            if damping == 0.0:
                raise RobotDynamicsError(
                    f'gains: nothing damps joint "{joint}" at a singularity. Cure: give gains.damping_ratio and '
                    "gains.natural_frequency, or gains.kd, above 0"
                )
        self.gains = TaskGains(
            kp,
            kd,
            posture.kp,
            posture.kd,
            settings.max_linear_velocity,
            settings.max_angular_velocity,
        )


def rows_of(components: Sequence[str]) -> tuple[int, ...]:
    """Return components of a pose as 0 to 5; RobotDynamicsError for none, unknown ones and the same one twice."""
    unknown = [name for name in components if name not in COMPONENTS]
    if unknown or not components or len(set(components)) < len(components):
        given = " ".join(components)
        raise RobotDynamicsError(
            f'task_space.components: "{given}". Cure: name different ones of {" ".join(COMPONENTS)}'
        )
    return tuple(sorted(COMPONENTS.index(name) for name in components))


def hand_gains(natural_frequency: Sequence[float], damping_ratio: Sequence[float]) -> tuple[Array, Array]:
    """Return omega^2 and 2 zeta omega, each (6,); RobotDynamicsError where one is not positive and finite."""
    omega = per_joint("task_space.natural_frequency", natural_frequency, COMPONENTS, of="component")
    zeta = per_joint("task_space.damping_ratio", damping_ratio, COMPONENTS, of="component")
    with np.errstate(over="ignore"):  # looked at below
        kp, kd = omega**2, 2.0 * zeta * omega
    for k, name in enumerate(COMPONENTS):
        if not (0.0 < kp[k] < np.inf and 0.0 < kd[k] < np.inf):
            raise RobotDynamicsError(
                f"task_space: natural_frequency {omega[k]:g} with damping_ratio {zeta[k]:g} for component {name}. "
                "Cure: give numbers above 0 whose products are numbers; task_space.components leaves components out"
            )
    return kp, kd


def _link(model: RobotModel, name: str) -> str:
    frames, tips = model.packed.frames, model.packed.tips
    if not name:
        if len(tips) == 1:
            return tips[0]
        raise RobotDynamicsError(
            f'task_space.link: "" is not clear, the robot has {len(tips)} tips. Cure: name a link, as {", ".join(tips)}'
        )
    if name not in frames:
        raise RobotDynamicsError(f'task_space.link: no link "{name}". Cure: use one of {", ".join(frames)}')
    if frames[name].body < 0:
        raise RobotDynamicsError(f'task_space.link: "{name}" does not move. Cure: use another link, as {tips[-1]}')
    return name

"""Gains as a user gives them: directly, or by natural frequency and damping ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array


def check_sampling(setting: str, kp: Array, kd: Array, period: float, names: Sequence[str], of: str = "joint") -> None:
    """Raise RobotDynamicsError where cycles of ``period`` (s) cannot carry gains (n,), 1/s^2 and 1/s.

    The error obeys e'' = u, computed torque making up for the rest, with u = -kp e - kd e' of the state one period ago,
    held for a period: z^3 - 2 z^2 + (1 + a + b) z + b - a = 0 with a = kd T, b = kp T^2 / 2. It is stable by Jury's
    criterion if (a - b)^2 + 3 b < a: up to 0.43 / T rad/s with critical damping. Zero-order hold of the double
    integrator, and the criterion: Astrom and Wittenmark, Computer-Controlled Systems (3rd ed.), chapters 2 and 3.

    The integral gain is left out: its own bound ki < kp kd keeps it to frequencies below sqrt(kp), where sampling adds
    little lag.
    """
    a, b = kd * period, 0.5 * kp * period**2
    for j in np.flatnonzero(~((a - b) ** 2 + 3.0 * b < a) & (a + b > 0.0)).tolist():
        omega = math.sqrt(max(float(kp[j]), 1e-12))
        zeta = float(kd[j]) / (2.0 * omega)
        bounds = np.roots([-2.0 * zeta, 4.0 * zeta**2 + 1.5, -2.0 * zeta, 0.25])  # the same for 1 / (omega T)
        most = 1.0 / (period * max(bounds.real[np.abs(bounds.imag) < 1e-9 * np.abs(bounds)], default=math.inf))
        raise RobotDynamicsError(
            f'{setting}: natural frequency {omega:.6g} rad/s with damping ratio {zeta:.3g} for {of} "{names[j]}" makes '
            f"the error grow at {1.0 / period:.6g} Hz, which carries less than {most:.3g} rad/s. Cure: give less, "
            "damping near 1, or a higher rate"
        )


class UserGains:
    """Gains as a user gives them. They are checked before any state is known; torques need the arm's inertia.

    ``natural_frequency`` (rad/s), ``damping_ratio``, ``kp``, ``kd`` and ``ki`` hold one number for each joint, or
    one for all. Where ``kp`` and ``kd`` are empty, the error is to swing as e'' + 2 zeta omega e' + omega^2 e = 0.
    An empty ``ki`` is zero.

    Raises RobotDynamicsError naming the gain, the joint and the cure: for numbers that are negative, not finite or
    of a wrong count, for one of kp and kd without the other, for an integral gain where ``law`` does not integrate,
    and for one of at least kp kd, with which the error would not die out: s^3 + Kd s^2 + Kp s + Ki, Routh-Hurwitz
    (Lewis, Dawson, Abdallah, Robot Manipulator Control, 4.4).
    """

    def __init__(
        self,
        law: Law,
        joint_names: Sequence[str],
        natural_frequency: Sequence[float],
        damping_ratio: Sequence[float],
        kp: Sequence[float],
        kd: Sequence[float],
        ki: Sequence[float],
    ) -> None:
        omega = per_joint("gains.natural_frequency", natural_frequency, joint_names)
        zeta = per_joint("gains.damping_ratio", damping_ratio, joint_names)
        if (len(kp) == 0) != (len(kd) == 0):
            raise RobotDynamicsError(
                "gains: kp and kd go together. Cure: give both in one request (set_parameters_atomically), or neither"
            )
        given = len(kp) > 0
        self._per_inertia = not (given or law.gains_are_accelerations)
        with np.errstate(over="ignore", invalid="ignore"):  # looked at below
            self._kp = per_joint("gains.kp", kp, joint_names) if given else omega**2
            self._kd = per_joint("gains.kd", kd, joint_names) if given else 2.0 * zeta * omega
            most = self._kp * self._kd
        self._ki = per_joint("gains.ki", ki, joint_names) if len(ki) > 0 else np.zeros(len(joint_names))
        for j, joint in enumerate(joint_names):
            if not np.isfinite(self._kp[j] + self._kd[j]):
                raise RobotDynamicsError(
                    f"gains.natural_frequency: {omega[j]:g} rad/s with gains.damping_ratio {zeta[j]:g} for joint "
                    f'"{joint}" is too large for a number. Cure: give less'
                )
            if self._ki[j] > 0.0 and not law.integrates:
                raise RobotDynamicsError(
                    f'gains.ki: {self._ki[j]:g} for joint "{joint}", but this law does not integrate the error. '
                    "Cure: give 0, or set the law computed_torque"
                )
            if self._ki[j] > 0.0 and self._ki[j] >= most[j]:
                raise RobotDynamicsError(
                    f'gains.ki: {self._ki[j]:g} for joint "{joint}" makes the error grow. '
                    f"Cure: give less than kp kd = {self._kp[j]:g} x {self._kd[j]:g} = {most[j]:g}"
                )

    def at(self, inertia: Array) -> Gains:
        """Return the gains for an arm with ``inertia`` (n,), kg m^2 or kg: the diagonal of M where it starts.

        It counts only where gains are torques that follow from natural frequency and damping ratio: each joint alone
        then swings as the error of `computed_torque` does.
        """
        if self._per_inertia:
            return Gains(inertia * self._kp, inertia * self._kd, self._ki)
        return Gains(self._kp, self._kd, self._ki)

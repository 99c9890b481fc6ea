"""Settings of a controller as arrays for one robot, with their validation.

Arrays (n,) have one number for each joint of the model. Names such as ``kp`` are fields of ControllerSettings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError, require_known
from robot_dynamics_ros.base.parameters import EFFORT, POSITION
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.end_effector.poses import COMPONENTS
from robot_dynamics_ros.control.end_effector.task_space import TaskGains
from robot_dynamics_ros.control.laws import LAWS, Gains
from robot_dynamics_ros.control.thresholds import (
    DERIVATIVE_STEP,
    DRIVE_PERIOD,
    EFFORT_STEP_SHARE,
    HOLD_FREQUENCY,
    LARGEST_MAGNITUDE,
    LARGEST_SHIFT,
    PAYLOAD_GAIN_MARGIN,
    SMALLEST_INERTIA,
)
from robot_dynamics_ros.control.trajectory.trajectory_limits import (
    TrajectoryLimits,
    rate_limits,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.joint_limits import (
    SOFT_LOWER,
    SOFT_UPPER,
    VELOCITY,
)


class EndEffector(NamedTuple):
    """End effector of a task-space law: name of the ``link``, ``rows`` and ``gains``.

    ``rows`` are the indices 0 to 5 of its controlled components: x y z, rotation about x y z.
    """

    link: str
    rows: tuple[int, ...]
    gains: TaskGains


class Tuning:
    """Validated settings of one robot's controller as arrays; immutable.

    Creation raises RobotDynamicsError, naming setting and cure, for settings that do not fit the robot.

    Attributes
    ----------
    settings
        Settings.
    law
        Control law.
    has_drive_loop, takes_position_only
        True for drives with a loop of their own, and for those of them that take a position only.
    adds_friction
        True if friction at the desired velocity is added to the torque of the law.
    end_effector
        Link and gains of the task-space law; None for other laws.
    effort_limits, effort_rates, deceleration, collision_threshold, position_margin, velocity_margin, following_error,
    position_step, hold_margin, largest_velocity
        Arrays (n,) of the parameters of similar names, and the velocity limits plus their margin; positions in rad or
        m, velocities and deceleration per s and per s^2, efforts in Nm or N and their rates per s; infinite for no
        limit.
    trajectory_limits
        Limits of trajectories, a TrajectoryLimits; infinite for joints whose measured state is not checked.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        names = model.joint_names
        n = model.n
        safety = settings.safety
        rules = settings.trajectories
        drives = settings.drives
        for group in (settings, rules, safety, drives):
            group.check_sizes(names)
        settings.task_space.check_sizes(COMPONENTS)
        if settings.observer_gain == 0.0 and safety.collision_threshold:
            raise RobotDynamicsError(
                "observer.collision_threshold: requires the external torque observer. Cure: set observer.gain, e.g. 25"
            )
        self.settings = settings
        self._names = names
        self.law = LAWS[settings.law]
        self.has_drive_loop = drives.command_interfaces != EFFORT
        self.takes_position_only = drives.command_interfaces == POSITION
        self._check_drives()
        posture = self.gains(np.ones(n))
        task = settings.task_space
        components = _component_rows(task.components)
        kp, kd = _second_order(
            "task_space", task.natural_frequency, task.damping_ratio, COMPONENTS
        )
        gains = TaskGains(
            kp,
            kd,
            posture.kp,
            posture.kd,
            task.max_linear_velocity,
            task.max_angular_velocity,
        )
        self.end_effector = (
            _end_effector(model, task.link, components, gains)
            if self.law.task_space
            else None
        )
        self.adds_friction = bool(
            self.law.compensates_friction
            and settings.friction_compensation
            and "friction" not in drives.drive_compensates
            and model.friction_parameters.any()
        )
        self._velocity_limits = np.minimum(model.velocity_limits, LARGEST_MAGNITUDE)
        self.effort_limits = model.effort_limits * np.array(settings.effort_limit_scale)
        self.effort_rates = np.full(n, settings.torque_rate_limit or np.inf)
        self.effort_rates[self.effort_rates == 0.0] = np.inf
        self.deceleration = np.full(n, settings.max_deceleration_on_cancel)
        self.collision_threshold = np.full(n, safety.collision_threshold or np.inf)
        self.following_error = np.full(n, safety.following_error_limit or np.inf)
        self.position_step = np.full(n, safety.position_step_limit)
        self.position_margin = np.full(n, safety.position_limit_margin)
        self.velocity_margin = np.full(n, safety.velocity_limit_margin)
        self.largest_velocity = model.velocity_limits + self.velocity_margin
        self.hold_margin = 0.25 * model.effort_limits
        if safety.hold_effort_margin:
            self.hold_margin = np.full(n, safety.hold_effort_margin)
        off = rules.trajectory_limits == "off"
        rows = model.limit_rows
        limits = model.limit_rows.limits.copy()
        free, fast = (
            off | np.isinf(rows.largest(margin))
            for margin in (self.position_margin, self.velocity_margin)
        )
        limits[SOFT_LOWER, free] = -np.inf
        limits[SOFT_UPPER, free] = np.inf
        limits[VELOCITY, fast] = np.inf
        self.trajectory_limits = TrajectoryLimits(
            replace(rows, limits=limits),
            np.full(n, rules.set_point_step_limit),
            model.continuous,
            rules.trajectory_limits == "clamp",
            None if off else rate_limits(model),
            None if off else self.effort_limits,
        )
        self.check_sampling()

    def gains(self, inertia: Array) -> Gains:
        """Return the gains of the settings, explicit or from natural frequency and damping ratio.

        Without ``kp`` and ``kd`` the dynamics of the position error e are e'' + 2 zeta omega e' + omega^2 e = 0, by
        natural frequency omega and damping ratio zeta; for laws whose feedback is a torque, these gains are multiplied
        by ``inertia`` (n,), kg m^2 or kg, the diagonal of the mass matrix at the start. An empty ``ki`` is zero.

        Raises RobotDynamicsError, naming gain, joint and cure, for overflows, one of kp and kd without the other, an
        integral gain for a law without integral, and an integral gain of kp kd or more, which is unstable: s^3 + Kd s^2
        + Kp s + Ki, Routh-Hurwitz (Lewis, Dawson, Abdallah, Robot Manipulator Control, 4.4).
        """
        s = self.settings
        names = self._names
        if bool(s.kp) != bool(s.kd):
            raise RobotDynamicsError(
                "gains: only one of kp and kd. Cure: set both in one request (set_parameters_atomically), or neither"
            )
        kp, kd, ki = (
            np.full(len(names), values or 0.0) for values in (s.kp, s.kd, s.ki)
        )
        if not s.kp:
            kp, kd = _second_order("gains", s.natural_frequency, s.damping_ratio, names)
        for j in np.flatnonzero(ki).tolist():
            gain = f'gains.ki: {ki[j]:g} for joint "{names[j]}"'
            if not self.law.integrates:
                raise RobotDynamicsError(
                    f"{gain}, but the law has no integral term. Cure: give 0, or set the law computed_torque"
                )
            most = float(kp[j]) * float(kd[j])
            if ki[j] >= most:
                raise RobotDynamicsError(
                    f"{gain} is unstable. Cure: give less than kp kd = {kp[j]:g} x {kd[j]:g} = {most:g}"
                )
        unit = 1.0 if s.kp else self._gain_unit(inertia)
        return Gains(unit * kp, unit * kd, ki)

    def drive_gains(self, gains: Gains, inertia: Array) -> tuple[Array, Array]:
        """Return stiffness and damping (n,) of drives with a loop of their own.

        They are fixed by the settings, or the ``gains`` of the law as torques within the limits. ``inertia`` (n,),
        kg m^2 or kg, is the diagonal of the mass matrix.
        """
        drives = self.settings.drives
        n = len(self._names)
        unit = inertia if self.law.gains_are_accelerations else 1.0
        stiffness = unit * gains.kp
        damping = unit * gains.kd
        if drives.stiffness:
            stiffness = np.full(n, drives.stiffness)
            damping = np.full(n, drives.damping)
        return (
            np.minimum(stiffness, drives.stiffness_limit),
            np.minimum(damping, drives.damping_limit),
        )

    def _check_drives(self) -> None:
        """Raise RobotDynamicsError for a law or settings that drives with a loop of their own do not allow."""
        s = self.settings
        drives = s.drives
        if not self.has_drive_loop:
            return
        if not (self.law.follows and self.law.needs_state):
            raise RobotDynamicsError(
                f"law: the feedback of {s.law} cannot be left to the drives of command_interfaces "
                f"[{', '.join(drives.command_interfaces)}]. Cure: set law to computed_torque or pd_feedforward, or "
                "command_interfaces to [effort]"
            )
        if bool(drives.stiffness) != bool(drives.damping):
            raise RobotDynamicsError(
                "drives: only one of stiffness and damping. Cure: set both in one request "
                "(set_parameters_atomically), or neither"
            )
        if self.takes_position_only and not all(drives.stiffness or [0.0]):
            raise RobotDynamicsError(
                "stiffness: command_interfaces [position] requires the gains of the drives' own position loop. Cure: "
                "set stiffness to positive numbers, and damping"
            )
        for j in np.flatnonzero(np.full(len(self._names), drives.drive_integral_gain)):
            raise RobotDynamicsError(
                f'drive_integral_gain: the position loop of joint "{self._names[j]}" has an integral. It would '
                "cancel the feedforward and oscillate under static friction. Cure: set it to 0 in the drive and here; "
                "gains.ki of computed_torque replaces it"
            )

    def check_stiffness(self, model: RobotModel, q: Array) -> list[str]:
        """Compare the stiffness of the drives with gravity at ``q`` (n,), and return warnings.

        Raises RobotDynamicsError if gravity shifts the set point of drives that take a position only by over 0.5 rad or
        m: such a stiffness has another unit. A joint whose gravity torque falls with its position faster than its
        stiffness, as in an arm that stands upright, does not stay there: it results in a warning.
        """
        if not self.has_drive_loop:
            return []
        inertia = model.mass_matrix(q).diagonal()
        stiffness, _ = self.drive_gains(self.gains(inertia), inertia)
        gravity = model.gravity_torque(q)
        if self.takes_position_only:
            shift = np.abs(gravity) / stiffness
            for j in np.flatnonzero(~(shift <= LARGEST_SHIFT))[:1].tolist():
                raise RobotDynamicsError(
                    f'stiffness: {stiffness[j]:g} for joint "{self._names[j]}", whose gravity torque of '
                    f"{gravity[j]:.3g} then shifts its set point by {shift[j]:.3g}. Cure: give it in Nm/rad or N/m of "
                    "the joint"
                )
        steps = DERIVATIVE_STEP * np.eye(len(q))
        change = np.array([model.gravity_torque(q + step) - gravity for step in steps])
        least = -change.diagonal() / DERIVATIVE_STEP
        return [
            f'stiffness: {stiffness[j]:.3g} for joint "{self._names[j]}" is less than the {least[j]:.3g} by which '
            "gravity grows with a deflection here: the joint moves away. Cure: raise it, or support the arm"
            for j in np.flatnonzero((stiffness > 0.0) & (stiffness < least)).tolist()
        ]

    def hold_gains(self, inertia: Array) -> Gains:
        """Return the gains of the hold: those of the law or, for joints without stiffness, those of at least 5 rad/s.

        ``inertia`` (n,) and the errors are those of ``gains``.
        """
        gains = self.gains(inertia)
        unit = self._gain_unit(inertia)
        soft = gains.kp == 0.0
        kp = np.where(soft, unit * HOLD_FREQUENCY**2, gains.kp)
        kd = np.where(soft, np.maximum(gains.kd, 2.0 * unit * HOLD_FREQUENCY), gains.kd)
        return Gains(kp, kd, gains.ki)

    def _gain_unit(self, inertia: Array) -> Array | float:
        """Return the ratio of the gains to those of an acceleration: ``inertia`` (n,) if they are torques, else 1."""
        return 1.0 if self.law.gains_are_accelerations else inertia

    @property
    def law_settings(self) -> tuple[object, ...]:
        """Values of law, gains, friction and task space, for comparison: a change may cause a step of the command."""
        s = self.settings
        gains = s.natural_frequency, s.damping_ratio, s.kp, s.kd, s.ki
        return (
            s.law,
            s.drives,
            s.task_space,
            gains,
            s.friction_compensation,
            s.friction_smoothing_velocity,
        )

    def check_sampling(
        self, measured: float = 0.0, inertia: Array | None = None
    ) -> None:
        """Raise RobotDynamicsError for gains that are unstable at the update rate, else at a ``measured`` period (s).

        A period of 0 is unknown, and not checked. The velocity filter is included. ``inertia`` (n,), kg m^2 or kg, is
        the diagonal of the mass matrix; if it is None, gains that are torques are not checked.
        """
        period = self._period(measured)
        if period <= 0.0:
            return
        if self.law.gains_are_accelerations or inertia is not None:
            known = (
                np.ones(len(self._names))
                if inertia is None
                else np.maximum(inertia, SMALLEST_INERTIA)
            )
            gains = self.gains(known)
            unit = self._gain_unit(known)
            kp = gains.kp / unit
            kd = gains.kd / unit
            check_sampling("gains", kp, kd, period, self._names)
            cutoff = self.settings.velocity_filter_cutoff
            check_filter(kp, kd, period, cutoff, self._names)
        if self.end_effector is not None:
            task = self.end_effector.gains
            check_sampling(
                "task_space", task.kp, task.kd, period, COMPONENTS, "component"
            )

    def _period(self, measured: float) -> float:
        """Return the period (s) of the feedback: of the update rate, else the ``measured`` one; 0: unknown.

        That of drives with a loop of their own is unknown.
        """
        if self.has_drive_loop:
            return 0.0
        rate = self.settings.update_rate
        return 1.0 / rate if rate > 0.0 else measured

    def largest_lag(self, inertia: Array, period: float) -> float:
        """Return the largest lag (s) of the states that the feedback tolerates: half its delay margin.

        The margin is that of the law, or of the hold for joints without stiffness, with ``inertia`` (n,), kg m^2 or kg,
        the diagonal of the mass matrix. ``period`` (s) of the cycles delays by half of it, and is the least result. It
        is infinite for drives with a loop of their own, whose feedback needs no states.
        """
        if self.has_drive_loop:
            return math.inf
        gains = self.hold_gains(inertia)
        unit = self._gain_unit(inertia)
        margins = [delay_margin(gains.kp / unit, gains.kd / unit)]
        if self.end_effector is not None:
            task = self.end_effector.gains
            margins.append(delay_margin(task.kp, task.kd))
        margin = float(np.concatenate(margins).min()) - 0.5 * period
        return max(0.5 * margin, period)

    def step_rates(self, inertia: Array) -> Array:
        """Return the rates (n,), Nm/s or N/s, at which the effort follows a step of its request; infinite: at once.

        They are half the effort limit, of at most 1e9, in the response time 1 / omega; infinite if
        ``torque_rate_limit`` is empty. omega^2 is the position gain of ``hold_gains`` as an acceleration, and of a
        task-space law at least the largest one of the end effector. ``inertia`` (n,), kg m^2 or kg, is the diagonal of
        the mass matrix.
        """
        unit = self._gain_unit(inertia)
        kp = self.hold_gains(inertia).kp / unit
        if self.end_effector is not None:
            kp = np.maximum(kp, self.end_effector.gains.kp.max())
        share = EFFORT_STEP_SHARE if self.settings.torque_rate_limit else np.inf
        rates: Array = (
            share * np.minimum(self.effort_limits, LARGEST_MAGNITUDE) * kp**0.5
        )
        return rates

    def check_payload(self, loaded: Array, bare: Array, measured: float) -> None:
        """Raise RobotDynamicsError for a payload that is not plausible and, if it is not there, makes the law unstable.

        ``loaded`` and ``bare`` (n,), kg m^2 or kg, are the diagonal of the mass matrix with and without it.
        ``measured`` is the period (s) as for ``check_sampling``.

        A law whose feedback is an acceleration multiplies it by the model's inertia. A payload that the arm does not
        carry therefore multiplies the gains by the ratio of the two, for which a gain margin of 2 is required. Joints
        whose effort limit is above the torque of the feedback at ``set_point_step_limit`` are not checked, because a
        model without rotors has too little inertia at the wrist. Drives with a loop of their own are assumed to run at
        1 kHz, unless their gains are fixed.
        """
        period = self._period(measured)
        if self.has_drive_loop and not self.settings.drives.stiffness:
            period = DRIVE_PERIOD
        if period <= 0.0 or not self.law.gains_are_accelerations:
            return
        gains = self.gains(bare)
        kp = gains.kp
        kd = gains.kd
        if self.end_effector is not None:
            kp = np.maximum(kp, self.end_effector.gains.kp.max())
            kd = np.maximum(kd, self.end_effector.gains.kd.max())
        ratio = loaded / np.maximum(bare, SMALLEST_INERTIA)
        margin = PAYLOAD_GAIN_MARGIN * ratio
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # payloads may have an inertia of 1e200
            stable = is_stable_sampled(margin * kp, margin * kd, period)
            heavy = kp * loaded * self.trajectory_limits.step > self.effort_limits
        for j in np.flatnonzero(~stable & heavy & (ratio > 1.0))[:1].tolist():
            raise RobotDynamicsError(
                f'payload: it multiplies the inertia of joint "{self._names[j]}" by {ratio[j]:.3g}. If the arm does '
                f"not carry it, the gains are unstable at {1.0 / period:.6g} Hz. Cure: give mass, centre of mass and "
                "inertia in kg, m and kg m^2, or use a lower natural frequency"
            )

    def compliance(self, mass_matrix: Array) -> Array:
        """Return the displacement of the joints by efforts, (n, n), rad or m per Nm or N, that the feedback opposes.

        It is Kp^-1 M^-1 for the ``mass_matrix`` M (n, n) if the feedback is an acceleration, else Kp^-1, with the
        stiffness of drives that have a loop of their own. Joints without stiffness have zeros.
        """
        inertia = mass_matrix.diagonal()
        gains = self.gains(inertia)
        kp = gains.kp
        if self.has_drive_loop:
            kp = self.drive_gains(gains, inertia)[0]
        inverse = np.divide(1.0, kp, out=np.zeros_like(kp), where=kp > 0.0)
        if self.has_drive_loop or not self.law.gains_are_accelerations:
            return np.diag(inverse)
        return np.asarray(inverse[:, np.newaxis] * np.linalg.pinv(mass_matrix))

    def rate_warnings(self, inertia: Array) -> list[str]:
        """Return a warning if ``torque_rate_limit`` delays the feedback at a quarter of a joint's velocity limit.

        At the velocity v the torque Kp e of a joint that stops following changes by Kp v per second. ``inertia`` (n,),
        kg m^2 or kg, is the diagonal of the mass matrix.
        """
        stiffness = self.gains(inertia).kp * (
            inertia if self.law.gains_are_accelerations else 1.0
        )
        for j in np.flatnonzero(
            self.effort_rates < 0.25 * stiffness * self._velocity_limits
        ).tolist():
            return [
                f'torque_rate_limit: {self.effort_rates[j]:g} for joint "{self._names[j]}" delays its feedback above '
                f"{self.effort_rates[j] / stiffness[j]:.2g} rad/s. Cure: raise it, or use a lower natural frequency"
            ]
        return []

    def check_change(self, new: Tuning) -> None:
        """Raise RobotDynamicsError if ``new`` changes the unit of explicit ``kp`` and ``kd``, but not their values."""
        before = self.settings
        after = new.settings
        changes_unit = (
            self.law.gains_are_accelerations != new.law.gains_are_accelerations
        )
        if changes_unit and after.kp and (before.kp, before.kd) == (after.kp, after.kd):
            raise RobotDynamicsError(
                f"law: gains.kp and gains.kd are accelerations for one of {before.law} and {after.law} and torques for "
                "the other. Cure: set law, gains.kp and gains.kd in one request (set_parameters_atomically)"
            )


def check_sampling(
    setting: str,
    kp: Array,
    kd: Array,
    period: float,
    names: Sequence[str],
    of: str = "joint",
) -> None:
    """Raise RobotDynamicsError for gains (n,), 1/s^2 and 1/s, that are unstable with the sampling ``period`` (s).

    Only for the message are the ``setting``, ``names`` (n) of the gains and ``of``, the word for such a name.

    The integral gain is not considered: ki < kp kd limits its effect to frequencies below sqrt(kp), where sampling adds
    little lag.
    """
    for j in np.flatnonzero(~is_stable_sampled(kp, kd, period)).tolist():
        omega = math.sqrt(max(float(kp[j]), 1e-12))
        zeta = float(kd[j]) / (2.0 * omega)
        # Jury's criterion for 1 / (omega T)
        bounds = np.roots([-2.0 * zeta, 4.0 * zeta**2 + 1.5, -2.0 * zeta, 0.25])
        most = 1.0 / (
            period
            * max(
                bounds.real[np.abs(bounds.imag) < 1e-9 * np.abs(bounds)],
                default=math.inf,
            )
        )
        raise RobotDynamicsError(
            f'{setting}: natural frequency {omega:.6g} rad/s with damping ratio {zeta:.3g} for {of} "{names[j]}" is '
            f"unstable at {1.0 / period:.6g} Hz, which allows less than {most:.3g} rad/s. Cure: use a lower frequency, "
            "a damping ratio near 1, or a higher rate"
        )


def is_stable_sampled(kp: Array, kd: Array, period: float) -> NDArray[np.bool_]:
    """Return True (n,) for gains (n,), 1/s^2 and 1/s, that are 0 or stable with the sampling ``period`` (s).

    With exact feedback linearisation the position error e obeys e'' = u, with u = -kp e - kd e' of the state one period
    T earlier, held for a period: z^3 - 2 z^2 + (1 + a + b) z + b - a = 0 with a = kd T, b = kp T^2 / 2. By Jury's
    criterion it is stable if (a - b)^2 + 3 b < a: up to 0.43 / T rad/s with critical damping. Zero-order hold of the
    double integrator, and the criterion: Astrom and Wittenmark, Computer-Controlled Systems (3rd ed.), chapters 2 and
    3.
    """
    a = kd * period
    b = 0.5 * kp * period**2
    stable: NDArray[np.bool_] = ((a - b) ** 2 + 3.0 * b < a) | (a + b == 0.0)
    return stable


def delay_margin(kp: Array, kd: Array) -> Array:
    """Return the delay (n,), s, above which the feedback -kp e - kd e' of e'' = u is unstable; inf without gains.

    It is the phase margin of the loop (kp + kd s) / s^2 over its crossover frequency w, where kp^2 + kd^2 w^2 = w^4:
    atan(kd w / kp) / w. For natural frequency omega and damping ratio 1 it is 0.65 / omega, for kp = 0 pi / (2 kd).
    Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic Systems, chapter 6.
    """
    squared = 0.5 * (kd**2 + np.hypot(kd**2, 2.0 * kp))
    crossover = np.sqrt(squared)
    margin = np.arctan2(kd * crossover, kp)
    return np.divide(
        margin, crossover, out=np.full_like(margin, np.inf), where=crossover > 0.0
    )


def check_filter(
    kp: Array, kd: Array, period: float, cutoff: float, names: Sequence[str]
) -> None:
    """Raise RobotDynamicsError for gains (n,) that are unstable with a velocity filter of this ``cutoff`` (Hz).

    Their units are 1/s^2 and 1/s. As for ``check_sampling``, but the feedback is kd times the filtered velocity f_k =
    v_k + exp(-w T) (f_{k-1} - v_k), w = 2 pi cutoff; all eigenvalues of the sampled system must be within the unit
    circle. ``names`` (n) are for the message. A cutoff of 0 is no filter.
    """
    if cutoff == 0.0:
        return
    kept = math.exp(-math.tau * cutoff * period)
    for name, stiffness, damping in zip(names, kp.tolist(), kd.tolist(), strict=True):
        # Error, its rate, filtered rate, and the acceleration of the period before.
        system = np.array([
            [1.0, period, 0.0, 0.5 * period**2],
            [0.0, 1.0, 0.0, period],
            [0.0, 1.0 - kept, kept, 0.0],
            [-stiffness, -damping * (1.0 - kept), -damping * kept, 0.0],
        ])  # fmt: skip
        if stiffness > 0.0 and np.abs(np.linalg.eigvals(system)).max() > 1.0:
            raise RobotDynamicsError(
                f'velocity_filter_cutoff: with {cutoff:g} Hz the gains of joint "{name}" are unstable at '
                f"{1.0 / period:.6g} Hz. Cure: raise velocity_filter_cutoff, or use a lower natural frequency"
            )


def _second_order(
    prefix: str,
    natural_frequency: Sequence[float],
    damping_ratio: Sequence[float],
    names: Sequence[str],
) -> tuple[Array, Array]:
    """Return omega^2 and 2 zeta omega (n,) for natural frequency omega (rad/s) and damping ratio zeta.

    Raises RobotDynamicsError, with the ``prefix`` of both parameters and one of the n ``names``, for overflows, and
    for positive numbers whose products are rounded to zero.
    """
    omega, zeta = (
        np.full(len(names), values) for values in (natural_frequency, damping_ratio)
    )
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        kp = omega**2
        kd = 2.0 * zeta * omega
    vanishes = (np.minimum(kp, kd) == 0.0) & (np.minimum(omega, zeta) > 0.0)
    for j in np.flatnonzero(vanishes | ~np.isfinite(np.maximum(kp, kd))).tolist():
        raise RobotDynamicsError(
            f"{prefix}.natural_frequency: {omega[j]:g} rad/s with {prefix}.damping_ratio {zeta[j]:g} for "
            f'"{names[j]}" is beyond the range of numbers. Cure: give values nearer to 1'
        )
    return kp, kd


def _component_rows(components: str) -> tuple[int, ...]:
    """Return the sorted indices 0 to 5 of ``components``, some of x, y, z, rx, ry and rz, separated by spaces.

    These are position and rotation about the axes. Raises RobotDynamicsError for no, unknown and repeated ones.
    """
    names = components.split()
    rows = tuple(row for row, name in enumerate(COMPONENTS) if name in names)
    if not rows or len(rows) != len(names):
        raise RobotDynamicsError(
            f'task_space.components: "{components}". Cure: list different components of {" ".join(COMPONENTS)}'
        )
    return rows


def _end_effector(
    model: RobotModel, link: str, rows: tuple[int, ...], gains: TaskGains
) -> EndEffector:
    model.require_mass()
    ends = model.end_links
    frames = model.link_frames
    if not link and len(ends) > 1:
        raise RobotDynamicsError(
            f'task_space.link: "" is ambiguous, the robot has {len(ends)} end links. '
            f"Cure: name the end-effector link, e.g. one of {', '.join(ends)}"
        )
    link = link or ends[0]
    moving = [name for name, frame in frames.items() if frame.body >= 0]
    require_known(link, moving, f'task_space.link: no moving link is named "{link}"')
    if len(rows) > model.n:
        raise RobotDynamicsError(
            f"task_space.components: {len(rows)} components for {model.n} joints. "
            f'Cure: list at most {model.n}, e.g. "{" ".join(COMPONENTS[: model.n])}"'
        )
    for j in np.flatnonzero(gains.posture_kd == 0.0).tolist():
        raise RobotDynamicsError(
            f'gains: joint "{model.joint_names[j]}" has no damping at a singularity. Cure: set gains.damping_ratio and '
            "gains.natural_frequency, or gains.kd, to positive numbers"
        )
    return EndEffector(link, rows, gains)

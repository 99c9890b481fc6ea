"""Steps at low speed: joints that stick and slip instead of moving evenly."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.thresholds import (
    DAMPING_RATIOS,
    STEPS_ALIKE,
    STEPS_LEAST,
    STEPS_LEAST_REST,
    STEPS_SPEED,
    TINY,
)
from robot_dynamics_ros.dynamics.model import RobotModel


def steps_at_low_speed(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return a hint for each joint that is at rest much of the time, and jumps after its effort has risen.

    Static friction is the largest effort at rest, without gravity, Coulomb friction that in motion, also without
    inertia. The rise at rest is the stiffness of the position control times speed and time.
    """
    inertias = np.diagonal(model.mass_matrix(motion.q), axis1=1, axis2=2)
    effort = motion.tau - model.gravity_torque(motion.q) - inertias * motion.qdd
    texts = []
    for j, name in enumerate(motion.joint_names):
        velocity = motion.qd[:, j]
        rest = np.abs(velocity) < STEPS_SPEED * np.abs(velocity).max()
        parts = np.split(np.arange(len(rest)), np.flatnonzero(np.diff(rest)) + 1)
        inner = parts[1:-1]
        rests = [part for part in inner if rest[part[0]]]
        if len(rests) < STEPS_LEAST or rest.mean() < STEPS_LEAST_REST:
            continue
        way = np.sign(np.median(velocity[~rest]))
        pushes = [way * effort[part, j] for part in rests]
        rises = np.array([np.ptp(push[: 1 + push.argmax()]) for push in pushes])
        onwards = np.sign(velocity[~rest]) == way
        sliding = float(np.median(way * effort[~rest, j]))
        static = float(np.median([push.max() for push in pushes]))
        drop = static - sliding
        first, last = rests[0][0], rests[-1][0]
        speed = float(abs(motion.q[last, j] - motion.q[first, j]))
        speed /= motion.time[last] - motion.time[first]
        pause = motion.period * np.median([len(part) for part in rests])
        stiffness = float(np.median(rises)) / (speed * pause + TINY)
        if onwards.mean() < STEPS_ALIKE or not 0.0 < drop < static:
            continue
        damping = least_damping(drop, stiffness, float(inertias[:, j].mean()), speed)
        texts.append(
            f"{name} moves in steps at a mean speed of {speed:.2g} rad/s (m/s), at rest {100 * rest.mean():.0f} % of "
            f"the time, since its friction is {static:.3g} Nm (N) when it breaks away and {sliding:.3g} Nm (N) in "
            "motion. Cure: move faster, compensate the friction, or damp the joint with more than "
            f"{damping:.2g} Nm s/rad (N s/m), with which its model predicts no steps at this speed"
        )
    return texts


def least_damping(drop: float, stiffness: float, inertia: float, speed: float) -> float:
    """Return the damping, Nm s/rad or N s/m, above which a joint does not stick again after it has broken away.

    A joint with inertia m under a position control with stiffness k and damping d, whose set point has the speed v,
    breaks away with the deviation of its velocity w = -v and dw/dt = drop / m, where the friction falls by ``drop``.
    Then m d2w/dt2 + d dw/dt + k w = 0, and it sticks if w returns to -v: stick-slip of B. Armstrong-Helouvry, P.
    Dupont, C. Canudas de Wit, "A survey of models, analysis tools and compensation methods for the control of machines
    with friction", Automatica 1994. All quantities are in SI units.
    """
    frequency = np.sqrt(stiffness / inertia)
    phase = np.linspace(0.0, 2.0 * np.pi, 500)
    for ratio in DAMPING_RATIOS:
        decay = np.exp(-ratio * phase / np.sqrt(1.0 - ratio**2))
        slope = (drop / (inertia * frequency) - ratio * speed) / np.sqrt(1.0 - ratio**2)
        deviation = decay * (slope * np.sin(phase) - speed * np.cos(phase))
        if (deviation[1 + deviation.argmax() :] > -speed).all():
            break
    return float(2.0 * ratio * np.sqrt(stiffness * inertia))

"""The same robot under the same torques in three libraries, each stepped as its users do.

All joints have viscous and Coulomb friction, in MuJoCo damping and frictionloss. Pinocchio has no friction: the loop
subtracts the viscous torque. Smoothed Coulomb friction would be unstable in an explicit loop with this step size.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.peers import mujoco_urdf, pinocchio
from benchmarks.robots import ROBOTS, Floats, urdf_file
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

STEP = 0.001  # s
HOLD = 10  # steps under the same torque: one call
SWING = 0.05  # rad, displacement of a joint by a slow torque against gravity alone
# amplitude of the torque of a joint without gravity, relative to the Coulomb torque
OVER = 2.0

MUJOCO_INTEGRATORS = {
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
}


class Setting(NamedTuple):
    """Setup of a robot: joint friction (Nm s and Nm), gravity along z, and joints with a non-zero initial position.

    All robots hang, so that open-loop torques swing them without toppling them.
    """

    viscous: float
    coulomb: float
    gravity: float
    start: dict[str, float]


_LEGS = {
    f"{side}_{joint}_joint": position
    for side in ("left", "right")
    for joint, position in {
        "hip_pitch": -0.2,
        "knee": 0.5,
        "ankle_pitch": -0.2,
        "elbow": 0.3,
    }.items()
}
SETTINGS = {
    # Mounted on the ceiling.
    "panda": Setting(
        0.5,
        0.3,
        9.81,
        {
            "panda_joint2": -0.25,
            "panda_joint4": -0.7,
            "panda_joint6": 2.6,
            "panda_joint7": 0.8,
        },
    ),
    "ur10": Setting(
        0.5,
        0.3,
        -9.81,
        {"shoulder_lift_joint": 1.4, "elbow_joint": 0.3, "wrist_2_joint": -1.0},
    ),
    # Mounted at its pelvis.
    "g1": Setting(0.2, 0.2, -9.81, _LEGS),
}
# Robots of calls with many steps: an arm and a tree.
CALL_SETTINGS = {
    "panda": SETTINGS["panda"],
    "solo12": Setting(0.02, 0.02, -9.81, {}),
}


class Case(NamedTuple):
    """Robot with its friction, initial position and torques."""

    urdf: Path
    model: RobotModel
    customised: RobotModel
    viscous: float
    coulomb: float
    start: Floats  # (n,) rad
    torque: Floats  # (calls, n) Nm, each for HOLD steps


class Simulator(NamedTuple):
    """Simulation of one library; vectors are in the order of the model's joints."""

    reset: Callable[[], object]
    step: Callable[[Floats, int], object]
    """Function that takes steps under one torque, in the library's own order."""
    position: Callable[[], Floats]
    own: Callable[[Floats], Floats]
    """Function that reorders vectors (..., n) from our order to the library's."""


def load(name: str, folder: Path, duration: float, *, coulomb: bool = True) -> Case:
    """Return the case of a robot in SETTINGS or CALL_SETTINGS, with a dynamics file in ``folder``.

    ``coulomb``: False for no Coulomb friction.
    """
    setting = {**CALL_SETTINGS, **SETTINGS}[name]
    robot = ROBOTS[name]
    urdf = urdf_file(robot)
    dynamics = folder / f"{name}.dynamics.yaml"
    level = setting.coulomb if coulomb else 0.0
    locked = dict.fromkeys(robot.locked, 0.0)
    with warnings.catch_warnings():
        # about properties that these URDFs do not define: friction, limits
        warnings.simplefilter("ignore")
        names = RobotModel.from_urdf_file(urdf, locked=locked).joint_names
        friction = f"{{viscous: {setting.viscous}, coulomb: {level}}}"
        dynamics.write_text(
            "joints:\n" + "".join(f"  {name}: {friction}\n" for name in names),
            encoding="utf-8",
        )
        model = RobotModel.from_urdf_file(
            urdf, dynamics=dynamics, gravity=(0.0, 0.0, setting.gravity), locked=locked
        )
    start = np.array([setting.start.get(name, 0.0) for name in names])
    torque = torques(
        model, start, OVER * setting.coulomb, round(duration / (STEP * HOLD))
    )
    return Case(urdf, model, model.customised(), setting.viscous, level, start, torque)


def torques(model: RobotModel, start: Floats, least: float, count: int) -> Floats:
    """Return the gravity torque at the start plus a slow sine for each joint: (count, n), Nm.

    tau_j(t) = g_j + (least + SWING max(0, dg_j/dq_j)) (-1)^j sin(2 pi f_j t), f_j from 0.3 to 0.9 Hz, within the effort
    limits.
    """
    still = np.zeros(model.n)
    stiffness = np.diag(model.inverse_dynamics_derivatives(start, still, still)[0])
    amplitude = (least + SWING * np.maximum(0.0, stiffness)) * (-1.0) ** np.arange(
        model.n
    )
    frequency = np.linspace(0.3, 0.9, model.n)
    time = STEP * HOLD * np.arange(count)[:, None]
    required = model.gravity_torque(start) + amplitude * np.sin(
        2.0 * math.pi * frequency * time
    )
    torque: Floats = np.clip(required, -model.effort_limits, model.effort_limits)
    return torque


def ours(case: Case, integrator: str, *, customised: bool) -> Simulator:
    """Return the simulation of a Plant."""
    plant = Plant(
        case.customised if customised else case.model, integrator, STEP, case.start
    )
    plant.warm_up()
    return Simulator(
        plant.reset, plant.step, lambda: plant.position, np.ascontiguousarray
    )


def mujoco_model(case: Case, integrator: str) -> mujoco.MjModel:
    """Return the MuJoCo model with the same bodies and friction, without contacts, otherwise with default options.

    Islands are disabled, because detecting that all joints form one island costs some 6 % of the speed.
    """
    model = mujoco.MjModel.from_xml_string(
        mujoco_urdf(case.urdf.read_bytes(), case.model.joint_names)
    )
    model.opt.timestep = STEP
    model.opt.integrator = MUJOCO_INTEGRATORS[integrator]
    model.opt.gravity[:] = case.model.gravity
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_ISLAND
    )
    model.dof_damping[:] = case.viscous
    model.dof_frictionloss[:] = case.coulomb
    return model


def mujoco_order(model: mujoco.MjModel, case: Case) -> Callable[[Floats], Floats]:
    """Return a function that reorders vectors (..., n) from our order to MuJoCo's."""
    order = np.array([model.joint(name).dofadr[0] for name in case.model.joint_names])
    return lambda vectors: np.ascontiguousarray(vectors[..., np.argsort(order)])


def with_mujoco(case: Case, integrator: str) -> Simulator:
    """Return the simulation of MuJoCo, with one mj_step call for many steps."""
    model = mujoco_model(case, integrator)
    data = mujoco.MjData(model)
    applied = data.qfrc_applied
    own = mujoco_order(model, case)
    order = np.array([model.joint(name).qposadr[0] for name in case.model.joint_names])
    start = own(case.start)

    def reset() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start

    def step(tau: Floats, count: int) -> None:
        applied[:] = tau
        mujoco.mj_step(model, data, count)

    reset()
    return Simulator(reset, step, lambda: np.array(data.qpos[order]), own)


def with_pinocchio(case: Case) -> Simulator:
    """Return a Python loop of classical Runge-Kutta steps on ABA, without Coulomb friction and continuous joints."""
    if case.coulomb:
        raise ValueError("the loop around Pinocchio has viscous friction only")
    still = np.zeros(case.model.n)
    aba = pinocchio(case.urdf, case.model.joint_names)["Pinocchio"]["forward_dynamics"]
    model, data, start, _, _ = aba.arguments(case.start, still, still)
    model.gravity.linear = case.model.gravity
    viscous = case.viscous
    h = STEP
    q = start
    v = still

    def reset() -> None:
        nonlocal q, v
        q = start
        v = still

    def acceleration(q: Floats, v: Floats, tau: Floats) -> Floats:
        return np.array(pin.aba(model, data, q, v, tau - viscous * v))

    def step(tau: Floats, count: int) -> None:
        nonlocal q, v
        for _ in range(count):
            a1 = acceleration(q, v, tau)
            v2 = v + h / 2 * a1
            a2 = acceleration(q + h / 2 * v, v2, tau)
            v3 = v + h / 2 * a2
            a3 = acceleration(q + h / 2 * v2, v3, tau)
            v4 = v + h * a3
            a4 = acceleration(q + h * v3, v4, tau)
            q = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    def own(vectors: Floats) -> Floats:
        return np.stack(
            [
                aba.arguments(case.start, still, row)[-1]
                for row in np.atleast_2d(vectors)
            ]
        )

    return Simulator(reset, step, lambda: aba.value(q), own)


def sticking(case: Case) -> tuple[int, float]:
    """Return the number of steps in which a joint sticks or breaks away, and the share of sticking joints."""
    plant = Plant(case.model, "semi_implicit", STEP, case.start)
    stuck = []
    for tau in case.torque:
        for _ in range(HOLD):
            plant.step(tau)
            stuck.append(plant.stuck)
    rests = np.array(stuck)
    return int(np.count_nonzero((rests[1:] != rests[:-1]).any(axis=1))), float(
        rests.mean()
    )

"""Drives with a loop of their own: set points, gains and feedforward effort of the controller's commands."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.joint_messages import DriveCommand, Sample
from robot_dynamics_ros.base.parameters import IMPEDANCE, POSITION
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    DriveSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import Controller, make_controller
from robot_dynamics_ros.control.interface import Command, Note
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.session import ControllerSession
from support import arms
from support.arms import Array
from support.comparing import assert_close
from support.controlled_arm import (
    MODEL,
    REST,
    WEIGHT,
    P,
    Q,
    command,
    move,
    started,
    teleporting,
)

FIXED: dict[str, Any] = {"stiffness": [300.0, 200.0], "damping": [20.0, 10.0]}


def settings(
    interfaces: Any = IMPEDANCE, law: str = "computed_torque", **drives: Any
) -> ControllerSettings:
    return ControllerSettings(
        law=law, drives=DriveSettings(command_interfaces=interfaces, **drives)
    )


def driven(
    interfaces: Any = IMPEDANCE, law: str = "computed_torque", **drives: Any
) -> Controller:
    """Return a controller of drives at 0 s, when the stiffness has risen."""
    controller = make_controller(
        MODEL, teleporting(settings(interfaces, law, **drives))
    )
    for k in range(61):
        command(controller, 0.01 * (k - 60))
    return controller


def drive_of(found: Command) -> DriveCommand:
    assert found.drive is not None
    return found.drive


def along(controller: Controller, times: Array, error: Any = REST) -> list[Command]:
    """Follow a motion with this position error, and return the commands with copies of their desired positions."""
    commands = []
    for time in times:
        ahead = controller.plan.ahead(time - controller.clock.time)
        found = command(controller, time, ahead[0] - error, ahead[1])
        desired = replace(found.desired, q=found.desired.q.copy())
        commands.append(found._replace(desired=desired))
    return commands


@pytest.mark.parametrize("law", ["computed_torque", "pd_feedforward", "pd_plus"])
def test_the_feedforward_is_the_dynamics_of_the_motion_ahead(law: str) -> None:
    """Whatever is measured: inverse dynamics (Tsai) half a period of 10 ms and the delay of 4 ms ahead."""
    controller = driven(law=law, command_delay=0.004)
    trajectory = controller.follow(move(Q + [0.3, -0.2]), None, 0.0)
    motion = np.empty((4, 2))
    for error in (REST, [0.02, -0.01]):
        times = controller.clock.time + 0.01 * np.arange(1, 20)
        found = along(controller, times, error)[-1]
        drive = drive_of(found)
        trajectory.sample_rows(times[-1] + 0.009, motion)
        q, qd, qdd, _ = motion
        assert_close(drive.position, q, 1e-12)
        assert_close(drive.velocity, qd, 1e-12)
        assert_close(drive.effort, tsai.torque(P, q, qd, qdd), 1e-9)


def test_gains_are_those_of_the_law_times_the_diagonal_of_the_mass_matrix() -> None:
    drive = drive_of(command(driven(), 0.01))
    inertia = tsai.mass_matrix(P, Q).diagonal()
    assert_close(drive.stiffness, 100.0 * inertia, 1e-9)
    assert_close(drive.damping, 20.0 * inertia, 1e-9)
    limited = driven(stiffness_limit=[150.0, 1.0], damping_limit=[3.0])
    drive = drive_of(command(limited, 0.01))
    assert_close(drive.stiffness, [150.0, 1.0], 0.0)
    assert_close(drive.damping, [3.0, 3.0], 0.0)
    drive = drive_of(command(driven(**FIXED), 0.01))
    assert_close(drive.stiffness, FIXED["stiffness"], 0.0)


@pytest.mark.parametrize("interfaces", [IMPEDANCE, POSITION])
@pytest.mark.parametrize("law", ["computed_torque", "pd_gravity", "pd"])
def test_drives_make_the_commanded_effort(interfaces: Any, law: str) -> None:
    """At rest set points are those of the present, so that the drive makes what limits and checks assume."""
    controller = driven(interfaces, law, **FIXED)
    q = Q + [0.01, -0.02]
    for k in range(1, 30):
        found = command(controller, 0.01 * k, q, [0.1, 0.2])
    made = drive_of(found).torque(q, np.array([0.1, 0.2]))
    assert_close(made, found.effort, 1e-9)
    feedback = np.array(FIXED["stiffness"]) * (Q - q) - np.array(FIXED["damping"]) * [0.1, 0.2]  # fmt: skip
    gravity = 0.0 * WEIGHT if law == "pd" else WEIGHT
    assert_close(found.effort, gravity + feedback, 1e-9)


def test_a_position_alone_makes_the_same_torque() -> None:
    """q_cmd = q_d + (tau + kd qd_d) / kp; velocity and effort stay 0."""
    pair = [driven(interfaces, **FIXED) for interfaces in (IMPEDANCE, POSITION)]
    for controller in pair:
        controller.follow(move(Q + [0.3, -0.2]), None, 0.0)
    full, shifted = (along(c, 0.01 * np.arange(1, 30))[-1] for c in pair)
    q = full.desired.q - [0.02, 0.01]
    qd = np.array([0.3, -0.1])
    assert_close(drive_of(shifted).torque(q, qd), drive_of(full).torque(q, qd), 1e-9)
    assert not drive_of(shifted).velocity.any()
    assert not drive_of(shifted).effort.any()


def test_a_set_point_of_position_drives_is_within_the_position_limits() -> None:
    """Joint 2 ends at -2 rad; its gravity torque would shift the set point beyond."""
    controller = driven(POSITION, stiffness=[5.0], damping=[1.0])
    q = np.array([0.3, -1.95])
    for k in range(1, 5):
        controller.plan.hold(0.01 * k, q)
        found = command(controller, 0.01 * k, q)
    assert q[1] + tsai.gravity(P, q)[1] / 5.0 < -2.0
    assert drive_of(found).position[1] == -2.0
    assert_close(found.effort, drive_of(found).torque(q, REST), 1e-9)


def test_a_state_is_compared_with_the_desired_motion_of_its_time() -> None:
    """An arm on its way whose states are 8 ms old has no error."""
    given = settings(**FIXED)
    controller = started(update_rate=100.0, drives=given.drives)
    trajectory = controller.follow(move(Q + [0.5, -0.5]), None, 0.0)
    motion = np.empty((4, 2))
    for k in range(1, 50):
        trajectory.sample_rows(0.01 * k - 0.008, motion)
        controller.measure(0.01 * k - 0.008, 0.01 * k, motion[0], motion[1])
        found = controller.update(0.01 * k, 0.01 * k)
    assert found is not None
    late = np.array(FIXED["stiffness"]) * motion[1] * 0.008
    assert (np.abs(late) > 1.0).all()
    assert (np.abs(found.effort - drive_of(found).effort) < 0.05 * np.abs(late)).all()


def test_stiffness_rises_after_the_activation() -> None:
    """A wrong zero of a drive then pulls slowly; damping is there at once."""
    controller = started(drives=settings(**FIXED).drives)
    for k in range(1, 25):
        drive = drive_of(command(controller, 0.01 * k))
    assert_close(drive.stiffness, 0.48 * np.array(FIXED["stiffness"]), 1e-9)
    assert_close(drive.damping, FIXED["damping"], 0.0)


def test_more_stiffness_comes_slowly_and_less_at_once() -> None:
    controller = driven(**FIXED)
    command(controller, 0.01)

    def tuned(stiffness: float, time: float) -> Array:
        new = replace(controller.settings.drives, stiffness=[stiffness], damping=[5.0])
        controller.tune(replace(controller.settings, drives=new))
        return drive_of(command(controller, time, Q + [0.05, 0.0])).stiffness

    assert_close(tuned(1000.0, 0.02), np.array([300.0, 200.0]) + 20.0, 1e-9)
    assert_close(tuned(1000.0, 0.03), np.array([300.0, 200.0]) + 40.0, 1e-9)
    assert_close(tuned(100.0, 0.04), [100.0, 100.0], 0.0)


def test_drives_hold_without_states() -> None:
    """Joint states end in a motion; the drives stop and hold a fixed set point for good, under the gravity torque."""
    controller = driven(**FIXED)
    controller.follow(move(Q + [0.3, -0.2]), None, 0.0)
    along(controller, 0.01 * np.arange(1, 50))
    last = None
    for k in range(50, 450):
        found = controller.watch(0.02 * k)
        last = found or last
    assert last is not None and last.mode is Mode.HOLD
    drive = drive_of(last)
    assert not drive.velocity.any()
    assert_close(drive.stiffness, FIXED["stiffness"], 0.0)
    assert_close(drive.effort, tsai.gravity(P, drive.position), 1e-9)


@pytest.mark.parametrize("interfaces", [IMPEDANCE, POSITION])
def test_zero_effort_is_zero_torque_of_the_drives(interfaces: Any) -> None:
    given = settings(interfaces, **FIXED)
    safety = SafetySettings(on_fault="zero", position_step_limit=[np.inf])
    controller = make_controller(MODEL, replace(given, safety=safety))
    for k in range(5):
        command(controller, 0.01 * k)
    for k in range(5, 100):
        controller.note_arrival(0.01 * k)
        controller.estimator.reject(0.01 * k, "broken")
        found = controller.update(0.01 * k, 0.01 * k)
    assert found is not None and found.mode is Mode.ZERO
    assert_close(drive_of(found).torque(Q, REST), REST, 1e-9)
    if interfaces == IMPEDANCE:
        assert not np.any(drive_of(found)[2:])


@pytest.mark.parametrize("on_fault", ["hold", "zero"])
@pytest.mark.parametrize("interfaces", [IMPEDANCE, POSITION])
def test_commands_before_the_law_are_finite(interfaces: Any, on_fault: str) -> None:
    """Engaged brakes or a fault in the first cycle: the law has set no gains yet."""
    given = replace(
        settings(interfaces, **FIXED), safety=SafetySettings(on_fault=on_fault)
    )
    for brakes in (True, False):
        controller = make_controller(MODEL, given)
        controller.set_brakes(brakes)
        controller.measure(0.0, 0.0, Q, REST if brakes else np.array([50.0, 0.0]))
        found = controller.update(0.0, 0.0)
        assert found is not None
        torque = drive_of(found).torque(Q, REST)
        assert np.isfinite(torque).all()
        if brakes:
            assert_close(torque, WEIGHT, 1e-9)


def test_what_the_drives_add_is_left_out(load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot("panda", "panda_coulomb")
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    points = move(q)
    efforts = {}
    for added in ((), ("gravity",), ("friction",), ("gravity", "friction")):
        controller = make_controller(
            model, teleporting(settings(drive_compensates=added))
        )
        command(controller, 0.0, q, 0.0 * q)
        goal = replace(points, joint_names=model.joint_names, positions=q[None] + 0.2)
        controller.follow(goal, None, 0.0)
        for k in range(1, 60):
            ahead = controller.plan.ahead(0.01)
            found = command(controller, 0.01 * k, ahead[0], ahead[1])
        efforts[added] = drive_of(found).effort
        drive = drive_of(found)
    gravity = model.gravity_torque(drive.position)
    friction = model.friction_torque(drive.position, drive.velocity, 0.01)
    assert_close(efforts[()] - efforts["gravity",], gravity, 1e-6)
    assert_close(efforts[()] - efforts["friction",], friction, 1e-9)
    both = efforts["gravity", "friction"]
    assert_close(efforts[()] - both, gravity + friction, 1e-6)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("law", settings(law="gravity_compensation")),
        ("law", settings(law="feedforward")),
        ("law", settings(law="task_space_computed_torque")),
        ("stiffness", settings(POSITION)),
        ("stiffness", settings(POSITION, stiffness=[0.0], damping=[1.0])),
        ("damping", settings(stiffness=[10.0])),
        ("drive_integral_gain", settings(drive_integral_gain=[0.0, 1.0])),
    ],
)
def test_settings_that_drives_do_not_allow_are_refused(
    name: str, wrong: ControllerSettings
) -> None:
    with pytest.raises(RobotDynamicsError, match=f"{name}.*Cure"):
        make_controller(MODEL, wrong)


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4),
    st.sampled_from([IMPEDANCE, POSITION]),
    st.floats(0.0, 6.0),
)
def test_commands_are_within_the_limits(
    state: list[float], interfaces: Any, scale: float
) -> None:
    """Wherever the arm is: finite, and neither the expected effort nor the feedforward exceeds the effort limits."""
    fixed = {key: 10.0**scale * np.array(value) for key, value in FIXED.items()}
    controller = driven(interfaces, **fixed)
    limits = controller.limiter.limits
    for k in range(1, 6):
        found = command(controller, 0.01 * k, state[:2], state[2:])
        drive = drive_of(found)
        assert all(np.isfinite(part).all() for part in drive)
        assert (np.abs(found.effort) <= limits * (1.0 + 1e-9)).all()
        assert (np.abs(drive.effort) <= limits).all()


def test_states_that_arrive_in_bursts_have_the_same_stiffness() -> None:
    """A replay receives them at their times, so that its commands are the same."""

    def stiffness(delays: tuple[float, ...]) -> Array:
        controller = driven()
        controller.follow(move(Q + [0.3, -0.9], Q), None, 0.0)
        rows = []
        for k in range(1, 200):
            time = 0.01 * k
            steady = time + delays[k % len(delays)]
            q, qd = controller.plan.ahead(time - controller.clock.time)[:2]
            controller.measure(time, steady, q.copy(), qd.copy())
            found = controller.update(time, steady)
            assert found is not None and found.mode is Mode.ACTIVE
            rows.append(drive_of(found).stiffness.copy())
        return np.array(rows)

    prompt = stiffness((0.0,))
    assert np.ptp(prompt[:, 0]) > 10.0
    assert_close(stiffness((0.04, 0.0301, 0.0202, 0.0103)), prompt, 0.0)


def activation_notes(q: Array, *interfaces: Any, **drives: Any) -> list[Note]:
    """Activate at rest at ``q`` and return the messages."""
    session = ControllerSession(MODEL, settings(*interfaces, **drives))
    now = Now(0.0, lambda: 1)
    session.on_state(Sample(1, q, REST, None), now)
    return session.activate(compare_effort=False, now=now).notes


def test_a_stiffness_in_another_unit_is_refused_at_the_first_states() -> None:
    """Nm per degree: gravity would shift the set point by radians, as a jump of the arm."""
    with pytest.raises(RobotDynamicsError, match="joint1.*Cure"):
        activation_notes(Q, POSITION, stiffness=[300.0 / 57.3], damping=[1.0])


def test_a_stiffness_that_does_not_hold_an_upright_arm_is_reported() -> None:
    """Gravity grows by the torque of the level arm per radian; joint 2 has enough stiffness."""
    level = tsai.gravity(P, REST)[0]
    upright = np.array([0.5 * np.pi, 0.0])
    for share, warned in ((0.9, True), (1.1, False)):
        notes = activation_notes(
            upright, stiffness=[share * level, level], damping=[1.0]
        )
        assert any("joint1" in note.text for note in notes) is warned


def test_gains_of_position_drives_do_not_change_while_they_are_used() -> None:
    controller = driven(POSITION, **FIXED)
    drives = replace(controller.settings.drives, stiffness=[600.0, 400.0])
    with pytest.raises(RobotDynamicsError, match="stiffness.*Cure"):
        controller.tune(replace(controller.settings, drives=drives))


def test_a_reported_position_that_wraps_is_no_set_point() -> None:
    """The drives count turns as they are reported: a wrap of a continuous joint is a fault, and moves no set point."""
    urdf = arms.tsai_planar_2r(P).urdf.replace('"revolute"', '"continuous"')
    model = RobotModel.from_urdf(urdf, gravity=[0.0, 0.0, 0.0])
    drives = settings(**FIXED).drives
    controller = make_controller(model, ControllerSettings(drives=drives))
    q = np.array([np.pi - 0.01, 0.0])
    for k in range(100):
        command(controller, 0.01 * k, q)
    found = command(controller, 1.0, q + [0.02 - 2.0 * np.pi, 0.0])
    assert found.mode is Mode.HOLD
    assert_close(drive_of(found).position, q, 1e-9)


def test_one_wrong_state_is_no_jump_of_the_drives() -> None:
    """The torque at the true state changes by at most 3 % of the effort limit in a cycle."""
    limits = MODEL.effort_limits
    for dq, dqd in ((0.04, 0.0), (0.0, 3.0), (0.5, 0.0), (np.nan, 0.0)):
        drives = settings(stiffness=[3000.0], damping=[200.0]).drives
        controller = make_controller(MODEL, ControllerSettings(drives=drives))
        torques = []
        for k in range(400):
            q, qd = (Q, REST) if k != 350 else (Q + [0.0, dq], REST + [0.0, dqd])
            found = command(controller, 0.002 * k, q, qd)
            torques.append(drive_of(found).torque(Q, REST))
        steps = np.abs(np.diff(torques[300:], axis=0))
        assert (steps < 0.03 * limits).all(), (dq, dqd, steps.max(axis=0))


def test_a_stop_begins_at_the_set_point() -> None:
    """States are lost in a motion with an update rate: the last one is far behind when that is detected."""
    controller = started(
        update_rate=500.0, drives=settings(stiffness=[3000.0], damping=[200.0]).drives
    )
    controller.follow(move(Q + [1.0, -1.0]), None, 0.0)
    torques = []
    for k in range(1, 500):
        time = 0.002 * k
        if k < 250:
            ahead = controller.plan.ahead(0.002)
            controller.measure(time, time, ahead[0], ahead[1])
        found = controller.update(time, time)
        assert found is not None
        if k > 249:
            torques.append(drive_of(found).torque(*ahead[:2]))
    assert found.mode is Mode.HOLD
    made = np.diff(np.array(torques), axis=0)
    regular = np.abs(made[:40]).max(axis=0)  # by the motion of the set point
    assert (np.abs(made) < 1.2 * regular + 0.03 * MODEL.effort_limits).all()

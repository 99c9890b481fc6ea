"""What only the reference simulation does: steps without bearing, impacts, and motion that it cannot follow."""

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.simulation import event_motion
from robot_dynamics_ros.simulation.event_plant import EventPlant
from support import arms, plants

LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'
PRESS = [-5.0, 2.0]


def test_motion_does_not_depend_on_how_it_is_cut_into_steps() -> None:
    friction = {"joint1": {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1}, "joint2": {"coulomb": 1.0}}
    model = plants.planar(friction, limit2=LIMIT)
    ends = []
    for step, count, calls in ((0.1, 1, 6), (0.01, 10, 6), (0.01, 1, 60)):
        plant = EventPlant(model, step, initial_positions=[0.3, -0.2])
        for _ in range(calls):
            plant.step([8.0, 3.0], count)
        ends.append(np.concatenate([plant.position, plant.velocity]))
        assert plant.time == pytest.approx(0.6)
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-9


def test_impact_tears_a_stuck_neighbour_loose() -> None:
    """Joint 2 flies into its limit while friction holds joint 1: v+ = v - M^-1 e2 v2 / (M^-1)_22.

    From there the arm turns as one body, joint 2 pressed on its limit, and stops after M_11 v1^2 / (2 tau_c). A
    plant comes to the same place, to first order.
    """
    coulomb, speed = 8.0, 3.0
    model = plants.planar({"joint1": {"coulomb": coulomb}}, gravity=(0, 0, 0), limit2=LIMIT)
    inverse = np.linalg.inv(model.mass_matrix([0.0, 0.5]))
    v1 = -inverse[0, 1] / inverse[1, 1] * speed
    assert v1 > 0.5
    stop = model.mass_matrix([0.0, 0.5])[0, 0] * v1**2 / (2 * coulomb)
    start = {"initial_positions": [0.0, 0.4], "initial_velocities": [0.0, speed]}
    # Joint 1 holds: the centrifugal force on it, m2 l1 lc2 sin q2 v2^2, is at most 1.3 Nm.
    plant = EventPlant(model, 0.01, **start)
    plant.step([0.0, 0.0], 3)
    assert plant.stuck.tolist() == [True, False]
    plant.step([0.0, 0.0], 50)
    assert plant.position == pytest.approx([stop, 0.5], rel=1e-9)
    assert not plant.velocity.any()
    for step in (1e-3, 1e-4):
        peer = plants.start(model, "rk4", step, **start)
        peer.step([0.0, 0.0], round(0.5 / step))
        assert abs(peer.position[0] - stop) < 2.0 * v1 * step


def _thrown() -> EventPlant:
    """Joints 1 and 2, pressed towards their lower and upper limit, throw each other off by ever smaller jumps."""
    limit = '<limit lower="-0.5" upper="0.5" effort="100" velocity="10"/>'
    model = plants.planar({}, gravity=(0, 0, 0), limit1=limit, limit2=limit)
    return EventPlant(model, 0.5, initial_positions=[-0.5, 0.5], initial_velocities=[0.3, 0.0])


def test_ever_smaller_jumps_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """If their end were not seen, they would be refused."""
    plant = _thrown()
    plant.step(PRESS, 6)
    assert plant.position.tolist() == [-0.5, 0.5]
    assert not plant.velocity.any()
    monkeypatch.setattr(event_motion, "_TOUCH", -1.0)
    plant = _thrown()
    with pytest.raises(RobotDynamicsError, match='"joint[12]".*ever faster'):
        plant.step(PRESS, 6)
    assert (plant.time, *plant.position, *plant.velocity) == (0.0, -0.5, 0.5, 0.3, 0.0), "the state stays"


def test_motion_that_is_too_stiff_or_too_fast_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time constant of a microsecond: millions of evaluations a second; and speeds whose squares are infinite."""
    monkeypatch.setattr(event_motion, "_MOST_EVALUATIONS", 2000)
    plant = EventPlant(plants.turning(0.01, viscous=1e4), initial_velocities=[1.0])
    with pytest.raises(RobotDynamicsError, match='in the 1000 steps from t = 0 s.*"turn".*too stiff'):
        plant.step([0.0], 1000)
    assert plant.velocity[0] == 1.0
    with pytest.raises(RobotDynamicsError, match="joint1.*cannot be followed|joint1.*too fast"):
        EventPlant(plants.planar({}), initial_velocities=[1e200, 0.0]).step([0.0, 0.0])


def test_coupled_joints_are_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(3), [0, 1], ["revolute", "prismatic"])
    first, second = arm.movable
    arm = arm.with_joint(second, extra=f'<mimic joint="{first}" multiplier="0.5"/>')
    with pytest.raises(RobotModelError, match="mimic"):
        EventPlant(RobotModel.from_urdf(arm.urdf))

"""Payload and drive gains from two recordings, with torques from Pinocchio of arms that differ from the model."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.two_recordings import (
    estimate_drive_gains,
    estimate_payload,
)
from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.description.inertia import symmetric
from support.arms import Array
from support.gears import Gears
from support.noisy_recordings import Truth, fourier
from support.pinocchio_peer import Peer

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
LINKS = {
    "panda": "panda_link8",
    "ur5e": "tool0",
    "scara": "link3",
    "planar_2r": "link2",
}
MASS = 2.8
COM = [0.02, -0.03, 0.08]
INERTIA = [0.02, 0.002, 0.0, 0.015, -0.001, 0.01]
PAYLOAD = np.array([MASS, *COM, *INERTIA])
UR10 = "ur_description/urdf/ur10_robot"


class Robot:
    """An arm with masses up to 20 % off the model's, and with friction and torque ripple, which the model lacks."""

    def __init__(self, name: str, seed: int) -> None:
        text = robot_urdf(name).read_text(encoding="utf-8")
        self.model = RobotModel.from_urdf(text)
        self.link = LINKS[name]
        self.rng = np.random.default_rng(seed)
        masses = self.rng.uniform(0.8, 1.2, self.model.n)
        self.peer, self.loaded = (
            Peer(text, self.model.joint_names, self.model.gravity) for _ in range(2)
        )
        for peer in (self.peer, self.loaded):
            for inertia, factor in zip(
                list(peer.model.inertias)[1:], masses, strict=True
            ):
                inertia.mass *= factor
        loaded = self.loaded.model
        frame = loaded.frames[loaded.getFrameId(self.link, pin.FrameType.BODY)]
        payload = pin.Inertia(MASS, np.array(COM), symmetric(*INERTIA))
        loaded.inertias[frame.parentJoint] += frame.placement.act(payload)
        self.viscous, self.coulomb = self.rng.uniform(0.3, 1.5, (2, self.model.n))

    def motion(
        self, seed: int, start: float = 0.0, lag: float = 0.0, loaded: bool = False
    ) -> RecordedMotion:
        """Return a recorded motion of 20 s that begins at ``start`` (s), with a ``lag`` (s) and noise of 1 %."""
        path = fourier(self.model, 20.0 + start, 100.0, seed, period=20.0)
        rows = path.time >= start - 1e-9
        time, q, qd, qdd = (
            values[rows] for values in (path.time - start, path.q, path.qd, path.qdd)
        )
        q = q - lag * qd
        qd = qd - lag * qdd
        qdd = np.gradient(qd, 0.01, axis=0)
        peer = self.loaded if loaded else self.peer
        tau = np.array([peer.rnea(*state) for state in zip(q, qd, qdd, strict=True)])
        tau += (
            self.viscous * qd
            + self.coulomb * np.tanh(qd / 0.005)
            + 0.5 * np.sin(12.0 * q)
        )
        truth = Truth(self.model, time, q, qd, qdd, tau)
        return recorded_motion(
            truth.recorded(int(self.rng.integers(2**31)), 0.01), Smoothing()
        )


def within(robot: Robot, seed: int) -> tuple[Array, Array]:
    """Return True for each payload parameter and each gain whose 95 % interval contains the true one."""
    unloaded = robot.motion(seed)
    loaded = robot.motion(seed, start=1.234, lag=0.01, loaded=True)
    values, half_widths = estimate_payload(robot.model, unloaded, loaded, robot.link)
    assert half_widths[0] < 0.03 * MASS
    np.testing.assert_allclose(values[1:4], COM, atol=0.01)
    hits = np.abs(values - PAYLOAD) <= half_widths
    gains = robot.rng.uniform(0.5, 12.0, robot.model.n)
    unloaded, loaded = (
        replace(motion, tau=motion.tau / gains)
        for motion in (unloaded, robot.motion(seed + 1, loaded=True))
    )
    values, half_widths = estimate_drive_gains(
        robot.model, unloaded, loaded, robot.link, (MASS, COM, INERTIA)
    )
    assert (half_widths < 0.3 * gains).all()
    return hits, np.abs(values - gains) <= half_widths


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("ur5e", 3),
        *(pytest.param(name, 60, marks=pytest.mark.slow) for name in ("panda", "ur5e")),
    ],
)
def test_95_percent_intervals_contain_true_values(name: str, seeds: int) -> None:
    """The model's masses differ by up to 20 %, and it has neither friction nor ripple."""
    payload, gains = zip(
        *(within(Robot(name, seed), seed) for seed in range(seeds)), strict=True
    )
    for hits in (np.array(payload), np.array(gains)):
        assert hits.mean() >= (0.88 if seeds == 60 else 0.8)  # few seeds scatter more
        assert seeds < 60 or hits.mean() <= 0.99


@pytest.mark.parametrize(
    "seeds", [3, pytest.param(20, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.skipif(UR10 not in PUBLIC, reason="needs the example-robot-data package")
def test_intervals_hold_for_gears_whose_friction_grows_with_the_load(
    seeds: int,
) -> None:
    """Friction of 8 % of the load, with Stribeck effect, uneven Coulomb levels and rotors."""
    model = RobotModel.from_urdf_file(PUBLIC[UR10]).scaled(friction=0.0)
    loaded = model.with_payload("tool0", MASS, COM, INERTIA)
    gears = Gears(0.08)
    joints = gears.joints(model)
    hits = list[Array]()
    for seed in range(seeds):
        unloaded_motion, loaded_motion = (
            recorded_motion(
                gears.truth(robot, 20.0, seed + 1, joints).recorded(
                    100 * seed + k, 0.02
                ),
                Smoothing(),
                effort_delay=0.002,
            )
            for k, robot in enumerate((model, loaded))
        )
        found = estimate_payload(model, unloaded_motion, loaded_motion, "tool0")
        known = np.isfinite(found.half_widths)
        assert found.half_widths[0] < 0.01 * MASS
        hits.append((np.abs(found.values - PAYLOAD) <= found.half_widths)[known])
    assert np.concatenate(hits).mean() >= 0.88


def test_what_no_motion_shows_is_undetermined() -> None:
    """On a SCARA: only the moment of inertia about the vertical, and not the height of the centre of mass."""
    robot = Robot("scara", 1)
    motions = robot.motion(1), robot.motion(1, start=1.0, loaded=True)
    values, half_widths = estimate_payload(robot.model, *motions, robot.link)
    finite = np.isfinite(half_widths)
    assert finite[:3].all() and not finite[3:9].any()
    assert (np.abs(values - PAYLOAD) <= half_widths)[finite].all()
    massless = estimate_drive_gains(
        robot.model, *motions, robot.link, (0.0, COM, [0.0] * 6)
    )
    assert np.isinf(massless.half_widths).all()


def test_errors_name_the_cause() -> None:
    robot = Robot("planar_2r", 1)
    unloaded = robot.motion(1)
    loaded = robot.motion(1, loaded=True)
    other = robot.motion(2)
    with pytest.raises(BagError, match="different motions: joint1"):
        estimate_payload(robot.model, unloaded, other, robot.link)
    with pytest.raises(BagError, match="mass of -2.8"):
        estimate_payload(robot.model, loaded, unloaded, robot.link)
    for link in ("nosuch", "base"):
        with pytest.raises(RobotDynamicsError, match=link):
            estimate_payload(robot.model, unloaded, loaded, link)

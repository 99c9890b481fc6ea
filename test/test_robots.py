"""Shipped robots against published values."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

from oracles import (
    craig_planar_2r,
    panda_gaz,
    published_arms,
    puma560_corke,
    tsai_planar_2r,
    tsai_scara,
)
from robot_dynamics_ros import RobotModelWarning

Array = NDArray[np.float64]
Load = Callable[..., Any]

FILES = {
    "panda": ["panda", "panda_coulomb"],
    "ur5e": ["ur5e"],
    "puma560": ["puma560"],
    "scara": ["scara"],
    "planar_2r": ["planar_2r_craig", "planar_2r_tsai"],
}
PAIRS = [(robot, None) for robot in FILES] + [
    (robot, file) for robot, files in FILES.items() for file in files
]
PANDA_JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
UR_JOINTS = [
    f"{name}_joint"
    for name in (
        "shoulder_pan",
        "shoulder_lift",
        "elbow",
        "wrist_1",
        "wrist_2",
        "wrist_3",
    )
]
PUMA_JOINTS = [f"joint{i}" for i in range(1, 7)]
JOINTS = {
    "panda": PANDA_JOINTS,
    "ur5e": UR_JOINTS,
    "puma560": PUMA_JOINTS,
    "scara": PUMA_JOINTS[:3],
    "planar_2r": PUMA_JOINTS[:2],
}


def _states(n: int, count: int = 20) -> Array:
    return np.random.default_rng(560).uniform(-np.pi, np.pi, (count, n))


@pytest.fixture
def pinocchio(urdf_path: Callable[[str], Path]) -> Callable[[str], pin.Model]:
    return lambda name: pin.buildModelFromUrdf(str(urdf_path(name)))


# --- The files themselves, with Pinocchio


@pytest.mark.parametrize(
    ("name", "arm", "tip", "beyond"),
    [
        ("panda", published_arms.PANDA, "panda_link8", published_arms.PANDA_FLANGE),
        ("ur5e", published_arms.UR5E, "tool0", 0.0),
        ("puma560", published_arms.PUMA560, "tool0", 0.0),
    ],
)
def test_forward_kinematics_of_the_published_table(
    name: str,
    arm: published_arms.DhArm,
    tip: str,
    beyond: float,
    pinocchio: Callable[[str], pin.Model],
) -> None:
    model = pinocchio(name)
    data = model.createData()
    frame = model.getFrameId(tip)
    shift = np.eye(4)
    shift[2, 3] = beyond
    for q in _states(model.nq):
        pin.framesForwardKinematics(model, data, q)
        expected = (arm.frames(q)[-1] @ shift).real
        np.testing.assert_allclose(data.oMf[frame].homogeneous, expected, atol=1e-12)


def test_total_masses(pinocchio: Callable[[str], pin.Model]) -> None:
    """Sums of printed masses: Gaz et al. Table VIII; Universal Robots; Armstrong et al. and 13 kg chosen."""
    gaz = 4.970684 + 0.646926 + 3.228604 + 3.587895 + 1.225946 + 1.666555 + 0.735522
    assert pin.computeTotalMass(pinocchio("panda")) == pytest.approx(gaz, abs=1e-9)
    assert pin.computeTotalMass(pinocchio("ur5e")) == pytest.approx(
        sum(published_arms.UR5E.masses), abs=1e-9
    )
    puma = sum(published_arms.PUMA560.masses) + 13.0
    assert pin.computeTotalMass(pinocchio("puma560")) == pytest.approx(puma, abs=1e-9)


def test_panda_dynamic_coefficients(pinocchio: Callable[[str], pin.Model]) -> None:
    bodies = list(pinocchio("panda").inertias)[1:]
    rows = panda_gaz.coefficients(
        *(
            np.array([getattr(b, x) for b in bodies])
            for x in ("mass", "lever", "inertia")
        )
    )
    assert len(rows) == 37
    assert not [row for row in rows if abs(row[1] - row[2]) > 0.6e-4]


# --- Through RobotModel


@pytest.mark.parametrize(("name", "file"), PAIRS)
def test_loads_without_warnings_and_with_all_limits(
    name: str, file: str | None, load_robot: Load
) -> None:
    """The exception is the measured inertia of the Puma's link 3."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_robot(name, file)
    messages = [
        str(w.message) for w in caught if issubclass(w.category, RobotModelWarning)
    ]
    assert not [
        message
        for message in messages
        if not (name == "puma560" and "link3" in message)
    ]
    assert list(model.joint_names) == JOINTS[name]
    for limit in (
        model.effort_limits,
        model.velocity_limits,
        model.position_lower,
        model.position_upper,
    ):
        assert np.all(np.isfinite(limit))
    q = _states(model.n, 1)[0]
    tau = model.inverse_dynamics(q, q, q)
    assert np.all(np.isfinite(tau))
    np.testing.assert_allclose(model.forward_dynamics(q, q, tau), q, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "arm"),
    [("ur5e", published_arms.UR5E), ("puma560", published_arms.PUMA560)],
)
def test_gravity_of_the_published_masses(
    name: str, arm: published_arms.DhArm, load_robot: Load
) -> None:
    """Gradient of sum m g z, with the centres of mass in the published DH frames."""
    model = load_robot(name, name)
    for q in _states(model.n):
        np.testing.assert_allclose(
            model.gravity_torque(q), arm.gravity_torque(q), atol=1e-10
        )


def test_panda_friction(load_robot: Load) -> None:
    """Gaz et al.: A/(1+exp(-a(qd+s))) - A/(1+exp(-a s)); the Coulomb file has its levels at high rates."""
    a = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
    slope = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
    s = np.array(
        [0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526]
    )
    smooth = load_robot("panda", "panda")
    dry = load_robot("panda", "panda_coulomb")
    q = np.zeros(7)

    def published(qd: Array) -> Array:
        return a / (1 + np.exp(-slope * (qd + s))) - a / (1 + np.exp(-slope * s))

    for qd in 0.5 * _states(7):
        np.testing.assert_allclose(
            smooth.friction_torque(q, qd), published(qd), atol=1e-12
        )
    for qd in (smooth.velocity_limits, -smooth.velocity_limits):
        np.testing.assert_allclose(dry.friction_torque(q, qd), published(qd), atol=2e-5)
    np.testing.assert_array_equal(dry.friction_torque(q, np.zeros(7)), np.zeros(7))


# --- Puma 560: prints of the Robotics Toolboxes


def _puma(load_robot: Load, gravity: float = 9.81) -> Any:
    return load_robot("puma560", "puma560", gravity=[0.0, 0.0, -gravity])


def _assert_prints(got: Array, expected: puma560_corke.Print) -> None:
    joints = list(expected.joints)
    np.testing.assert_allclose(
        got[joints], expected.value[joints], rtol=0.0, atol=1.02 * expected.half_digit
    )


PUMA_TERMS: dict[
    str, tuple[list[puma560_corke.Print], Callable[[Any, puma560_corke.Print], Array]]
] = {
    "gravity": (puma560_corke.GRAVITY, lambda m, p: m.gravity_torque(p.q)),
    "coriolis": (
        puma560_corke.CORIOLIS,
        lambda m, p: m.bias_torque(p.q, p.qd) - m.gravity_torque(p.q),
    ),
    "torque": (puma560_corke.TORQUE, lambda m, p: m.inverse_dynamics(p.q, p.qd, p.qdd)),
    "friction": (
        puma560_corke.TORQUE_WITH_FRICTION,
        lambda m, p: (
            m.inverse_dynamics(p.q, p.qd, p.qdd) + m.friction_torque(p.q, p.qd)
        ),
    ),
}


@pytest.mark.parametrize("term", PUMA_TERMS)
def test_puma_torques(term: str, load_robot: Load) -> None:
    prints, torque = PUMA_TERMS[term]
    for expected in prints:
        got = torque(_puma(load_robot, expected.gravity), expected)
        _assert_prints(got, expected)
        # joints 1 and 3, with that program's reading of Tc
        if term == "friction" and len(expected.joints) < 6:
            np.testing.assert_allclose(
                got + puma560_corke.TC_SWAPPED, expected.value, atol=1e-4
            )


def test_puma_mass_matrix(load_robot: Load) -> None:
    for expected in puma560_corke.MASS:
        got = _puma(load_robot).mass_matrix(expected.q)
        np.testing.assert_allclose(
            got, expected.value, rtol=0.0, atol=1.02 * expected.half_digit
        )


def test_puma_under_a_wrench(load_robot: Load) -> None:
    expected = puma560_corke.TORQUE_UNDER_WRENCH
    reaction = {"tool0": -puma560_corke.WRENCH}
    got = _puma(load_robot).inverse_dynamics(
        expected.q, expected.qd, expected.qdd, external_wrenches=reaction
    )
    _assert_prints(got, expected)


def test_puma_friction_and_rotors_at_the_joint(load_robot: Load) -> None:
    """B G^2 and |Tc| |G|. A joint with G < 0 rotates against its motor, which exchanges the two directions."""
    model = _puma(load_robot)
    rigid = load_robot("puma560")
    g = puma560_corke.G
    b = puma560_corke.B
    tc = puma560_corke.TC
    positive = np.where(g > 0, tc[:, 0], -tc[:, 1]) * np.abs(g)
    negative = np.where(g > 0, -tc[:, 1], tc[:, 0]) * np.abs(g)
    q = puma560_corke.QN
    fast = np.full(6, 2.0)
    np.testing.assert_allclose(
        model.friction_torque(q, fast), b * g**2 * fast + positive, rtol=1e-6
    )
    np.testing.assert_allclose(
        model.friction_torque(q, -fast), -b * g**2 * fast - negative, rtol=1e-6
    )
    np.testing.assert_array_equal(model.friction_torque(q, np.zeros(6)), np.zeros(6))
    rotors = np.diag(puma560_corke.JM * g**2)
    np.testing.assert_allclose(
        model.mass_matrix(q) - rigid.mass_matrix(q), rotors, atol=1e-12
    )
    np.testing.assert_array_equal(model.effort_limits, puma560_corke.MAXIMUM_TORQUE)


def test_puma_against_the_explicit_model(load_robot: Load) -> None:
    """Armstrong, Khatib and Burdick: other lengths, and link 4's centre of mass before the wrist's."""
    model = load_robot("puma560")
    for q in _states(6):
        theirs = puma560_corke.to_explicit(q)
        gravity = puma560_corke.explicit_gravity(theirs)
        np.testing.assert_allclose(
            model.gravity_torque(q)[:3], gravity[:3], atol=0.01 * 37.2
        )
        np.testing.assert_allclose(model.gravity_torque(q)[3:], gravity[3:], atol=2e-4)
        inertia = puma560_corke.explicit_arm_inertia(theirs)
        known = ~np.isnan(inertia)
        np.testing.assert_allclose(
            model.mass_matrix(q)[:3, :3][known], inertia[known], atol=0.06
        )


# --- The textbook arms with the numbers chosen in their files


@pytest.mark.parametrize(
    ("name", "file", "book", "parameters"),
    [
        (
            "planar_2r",
            "planar_2r_craig",
            craig_planar_2r,
            craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0),
        ),
        (
            "planar_2r",
            "planar_2r_tsai",
            tsai_planar_2r,
            tsai_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0),
        ),
        ("scara", "scara", tsai_scara, tsai_scara.Parameters(0.4, 0.3, 6.0, 4.0, 2.0)),
    ],
)
def test_textbook_arms(
    name: str, file: str, book: Any, parameters: Any, load_robot: Load
) -> None:
    model = load_robot(name, file)
    for q, qd, qdd in zip(
        _states(model.n), _states(model.n)[::-1], -_states(model.n), strict=True
    ):
        np.testing.assert_allclose(
            model.mass_matrix(q), book.mass_matrix(parameters, q), atol=1e-12
        )
        np.testing.assert_allclose(
            model.gravity_torque(q), book.gravity(parameters, q), atol=1e-12
        )
        expected = book.torque(parameters, q, qd, qdd)
        np.testing.assert_allclose(
            model.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12, atol=1e-11
        )

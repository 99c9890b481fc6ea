"""Model data: bodies, payloads and checks of masses."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModelError, RobotModelWarning
from robot_dynamics_ros.dynamics.description.inertia import payload_inertial
from robot_dynamics_ros.dynamics.kernels import layout
from robot_dynamics_ros.dynamics.model.model_data import with_payload
from support import arms
from support.arms import model_data
from support.comparing import assert_close

ARM = arms.random_arm(
    np.random.default_rng(8),
    [0, 1, 2, 2],
    ["revolute", "fixed", "prismatic", "continuous"],
)
A, B, C = ARM.movable
LINKS = [link.name for link in ARM.links]
PAYLOAD = (1.5, [0.1, -0.2, 0.3], [0.02, 0.001, 0.002, 0.03, 0.003, 0.04])


def test_names_and_links_of_the_bodies() -> None:
    model = model_data(ARM, joints=[C, A], locked={B: 0.1})
    assert model.joint_names == (C, A)
    assert model.moving_joints == (A, C)
    assert model.body_links == (LINKS[1], LINKS[4])
    assert (
        model.rotor_names == ()
        and model.payload is None
        and model.massless_joints == ()
    )
    assert {link: frame.body for link, frame in model.frames.items()} == dict(
        zip(LINKS, [-1, 0, 0, 0, 1], strict=True)
    )
    assert model.end_links == (LINKS[3], LINKS[4])
    assert model.robot.tree.tolist() == [
        [-1, layout.REVOLUTE, 0, 1],
        [0, layout.REVOLUTE, 1, 2],
    ]
    assert model.robot.coordinates.tolist() == [
        1,
        0,
    ] and model.robot.factors.tolist() == [1.0, 1.0]


# --- Payload


def test_payload_inertia_is_six_numbers_or_a_matrix_symmetric_to_rounding() -> None:
    mass, com, six = PAYLOAD
    expected = np.array(
        [[six[0], six[1], six[2]], [six[1], six[3], six[4]], [six[2], six[4], six[5]]]
    )
    for inertia in (six, expected):
        got = payload_inertial(mass, tuple(com), inertia)
        assert got.mass == mass and got.com.tolist() == com
        assert np.array_equal(got.inertia, expected)
    rounded = expected.copy()
    rounded[1, 0] *= 1 + 1e-12
    got = payload_inertial(mass, com, rounded)
    assert np.array_equal(got.inertia, got.inertia.T)
    assert_close(got.inertia, expected, 1e-12)


@pytest.mark.parametrize(
    ("values", "culprit"),
    [
        ((np.nan, PAYLOAD[1], PAYLOAD[2]), "mass: nan"),
        ((-1.0, PAYLOAD[1], PAYLOAD[2]), "mass: -1"),
        (([1.0], PAYLOAD[1], PAYLOAD[2]), "mass"),
        ((1.0, [0, 0], PAYLOAD[2]), "com"),
        ((1.0, [0, 0, np.inf], PAYLOAD[2]), "com.*inf"),
        ((1.0, PAYLOAD[1], [1, 1, 1]), "inertia"),
        (
            (1.0, PAYLOAD[1], [[1, 0, 0], [0.1, 1, 0], [0, 0, 1]]),
            "inertia.*not symmetric",
        ),
        ((1.0, PAYLOAD[1], [1, 3, 0, 1, 0, 1]), "inertia: negative"),
        ((1.0, PAYLOAD[1], [1, 0, 0, 1, 0, 5]), "inertia.*exceeds"),
    ],
)
def test_impossible_payloads_are_refused(
    values: tuple[Any, Any, Any], culprit: str
) -> None:
    with pytest.raises(RobotModelError, match=f"payload {culprit}"):
        payload_inertial(*values)


def test_too_large_inertias_are_refused() -> None:
    with pytest.raises(RobotModelError, match=LINKS[4]):
        model_data(ARM.with_link(LINKS[4], mass=1e300, com=[1e10, 0, 0]))
    with pytest.raises(RobotModelError, match=LINKS[4]):
        with_payload(
            model_data(ARM),
            LINKS[4],
            payload_inertial(1e300, [1e10, 0, 0], [1, 0, 0, 1, 0, 1]),
        )


# --- Bodies without mass

MASSLESS = ARM.with_link(LINKS[4], mass=None)
BOTH = MASSLESS.with_link(LINKS[3], mass=None)


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.base.errors.RobotModelWarning")
@pytest.mark.parametrize(
    ("arm", "content", "ends"),
    [
        (MASSLESS, {}, (C,)),
        (MASSLESS, {"couplings": {C: {A: 1.0}}}, ()),
        (
            BOTH,
            {"coordinates": ["p"], "couplings": {C: {"p": 1.0}, B: {"p": 2.0}}},
            ("p",),
        ),
        (
            MASSLESS,
            {"rotors": [{"carrier": "none", "inertia": 1e-4, "ratio": {C: 100.0}}]},
            (),
        ),
        (
            MASSLESS,
            {"rotors": [{"carrier": "none", "inertia": 0.0, "ratio": {C: 100.0}}]},
            (C,),
        ),
    ],
    ids=["alone", "follows", "coordinate", "rotor", "rotor_without_inertia"],
)
def test_coordinates_that_move_nothing_with_mass(
    arm: arms.Arm, content: dict[str, Any], ends: tuple[str, ...]
) -> None:
    model = model_data(arm, content)
    assert model.massless_joints == ends
    inertial = payload_inertial(*PAYLOAD)
    loaded = with_payload(with_payload(model, LINKS[3], inertial), LINKS[4], inertial)
    assert loaded.massless_joints == ()


def test_massless_bodies_are_warned_of_or_refused() -> None:
    """An end link, or an inner body that carries mass only in the bodies beyond it. A payload resolves both."""
    inside = ARM.with_link(LINKS[1], mass=None).with_link(LINKS[2], mass=None)
    for arm, joint, link in ((MASSLESS, C, LINKS[4]), (inside, A, LINKS[1])):
        with pytest.warns(RobotModelWarning, match=rf"\['{joint}'\]") as caught:
            model_data(arm)
        assert len(caught) == 1
        with pytest.raises(RobotModelError, match=joint):
            model_data(arm, strict=True)
        payload = {
            "link": link,
            "mass": 1.0,
            "com": [0, 0, 0],
            "inertia": [1, 0, 0, 1, 0, 1],
        }
        assert model_data(arm, {"payload": payload}, strict=True).massless_joints == ()


def test_inertia_alone_counts_as_mass() -> None:
    """At an end link and inside. A thin rod has no inertia about its own axis."""
    inside = ARM.with_link(LINKS[1], mass=None).with_link(LINKS[2], mass=None)
    rod = {"mass": 0.0, "com": [0, 0, 0], "inertia": [0, 0, 0, 1e-3, 0, 1e-3]}
    for arm, link in ((MASSLESS, LINKS[4]), (inside, LINKS[1])):
        assert (
            model_data(arm, {"links": {link: rod}}, strict=True).massless_joints == ()
        )

"""Rotors and friction of the dynamics file in the model arrays."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.dynamics.description.urdf import parse_urdf
from robot_dynamics_ros.dynamics.kernels import friction
from support import arms
from support.arms import model_data
from support.comparing import assert_close

ARM = arms.random_arm(
    np.random.default_rng(9),
    [0, 1, 2, 3],
    ["revolute", "fixed", "revolute", "prismatic"],
)
A, B, C = ARM.movable
LINKS = [link.name for link in ARM.links]


# --- Rotors


def test_short_and_general_form_are_the_same() -> None:
    """The rotor is on the parent link and about the joint's axis, which the URDF defines in the child's frame."""
    short = model_data(
        ARM, {"joints": {B: {"rotor_inertia": 1e-4, "gear_ratio": -60.0}}}
    )
    assert short.rotor_names == (f"{B} rotor",)
    general = {"carrier": LINKS[2], "inertia": 1e-4, "ratio": {B: -60.0}}
    joint = next(j for j in parse_urdf(ARM.urdf, "").joints if j.name == B)
    for rotor in (
        general,
        {**general, "axis": (joint.rotation @ joint.axis * 3.0).tolist()},
    ):
        model = model_data(ARM, {"rotors": [rotor]})
        assert np.array_equal(model.topology, short.topology)
        assert_close(model.parameters, short.parameters, 1e-15)
        assert model.rotor_names == ("rotors[0]",)


@pytest.mark.parametrize(
    ("content", "locked"),
    [
        (
            {"rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {B: 5.0}}]},
            {B: 0.3},
        ),
        ({"joints": {B: {"rotor_inertia": 1.0}}}, {B: 0.3}),
        ({"joints": {B: {"rotor_inertia": 1.0, "gear_ratio": 0.0}}}, {}),
        (
            {
                "couplings": {B: {A: 0.5}},
                "rotors": [
                    {"carrier": "none", "inertia": 1.0, "ratio": {A: 1.0, B: -2.0}}
                ],
            },
            {},
        ),
    ],
)
def test_rotors_that_cannot_spin_are_part_of_their_carriers(
    content: dict[str, Any], locked: dict[str, float]
) -> None:
    model = model_data(ARM, content, locked=locked)
    assert model.rotor_names == () and model.robot.rotors.shape == (0, 4)


def test_rotors_are_named_by_their_index_in_the_list() -> None:
    """The second of two rotors is rotors[1], also if the first cannot spin. A rotor without inertia is kept."""
    rotors = [
        {"carrier": "none", "inertia": 0, "ratio": {name: 5.0}} for name in (A, B)
    ]
    assert model_data(ARM, {"rotors": rotors}, locked={A: 0.0}).rotor_names == (
        "rotors[1]",
    )


# --- Friction


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0.5, 0.25, 0.25]),
        ({"coulomb": 0.4}, [0.5, 0.4, 0.4]),
        ({"coulomb": 0.0}, [0.5, 0.0, 0.0]),
        ({"coulomb_negative": 0.4}, [0.5, 0.25, 0.4]),
        (
            {
                **{
                    "viscous": 0.1,
                    "coulomb": 0.3,
                    "coulomb_negative": 0.35,
                    "static": 0.4,
                    "stribeck_velocity": 0.05,
                },
                "ripple": {"amplitude": 0.02, "per_turn": 100, "phase": 0.7},
                "sigmoid": {"amplitude": 0.5, "slope": 5.0, "shift": 0.04},
            },
            [0.1, 0.3, 0.35, 0.4, 0.05, 0.02, 100.0, 0.7, 0.5, 5.0, 0.04],
        ),
        ({"load_coefficient": 0.1}, [0.5, 0.25, 0.25, *[0.0] * 10, 0.1, 0.1]),
        ({"quadratic": 0.2, "cubic": 0.3}, [0.5, 0.25, 0.25, *[0.0] * 8, 0.2, 0.3]),
        (
            {"load_coefficient_backdriving": 0.2},
            [0.5, 0.25, 0.25, *[0.0] * 10, 0.0, 0.2],
        ),
    ],
)
def test_friction_of_the_file_overrides_the_urdf(
    given: dict[str, Any], expected: list[float]
) -> None:
    arm = ARM.with_joint(B, extra='<dynamics damping="0.5" friction="0.25"/>')
    table = model_data(arm, {"joints": {B: given}}).friction
    assert table[1].tolist() == [
        *expected,
        *[0.0] * (friction.FRICTION_SIZE - len(expected)),
    ]
    assert not table[[0, 2]].any()

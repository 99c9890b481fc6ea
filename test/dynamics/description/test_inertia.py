"""Mistakes made in the links of the shipped robots are found by name, and the robots themselves have none."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.base.resources import robot_names, robot_urdf
from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    WrittenInertial,
    check_inertia,
    explain_inertia,
    implausible_links,
    steiner,
    symmetric,
)
from robot_dynamics_ros.dynamics.description.urdf import parse_urdf

Array = NDArray[np.float64]
SLOTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def scaled(slot: int, factor: float) -> Callable[[float, Array], tuple[float, Array]]:
    """Return the mistake that multiplies one element."""
    return lambda mass, i: (mass, np.where(np.arange(6) == slot, factor * i, i))


#: Mass and the six elements with the mistake, and what names it.
MISTAKES: dict[str, tuple[Callable[[float, Array], tuple[float, Array]], str]] = {
    **{
        f"{SLOTS[k]} times {f:g}": (scaled(k, f), f"point of {SLOTS[k]},")
        for k in (0, 3, 5)
        for f in (0.01, 100)
    },
    **{
        f"{SLOTS[k]} times 1000": (scaled(k, 1e3), f"point of {SLOTS[k]},")
        for k in (1, 2, 4)
    },
    **{f"-{SLOTS[k]}": (scaled(k, -1.0), f"sign of {SLOTS[k]}") for k in (0, 3, 5)},
    "row by row": (lambda mass, i: (mass, i[[0, 1, 2, 1, 3, 4]]), "row by row"),
    "lower triangle": (lambda mass, i: (mass, i[[0, 1, 3, 2, 4, 5]]), "lower triangle"),
    "diagonal first": (
        lambda mass, i: (mass, i[[0, 3, 5, 1, 2, 4]]),
        "order ixx iyy izz",
    ),
    "inertia times 0.01": (lambda mass, i: (mass, 0.01 * i), "decimal point"),
    "inertia times 100": (lambda mass, i: (mass, 100 * i), "decimal point"),
    "g m^2": (lambda mass, i: (mass, 1e3 * i), "g m^2"),
    "kg mm^2": (lambda mass, i: (mass, 1e6 * i), "kg mm^2"),
    "g mm^2": (lambda mass, i: (mass, 1e9 * i), "inertia in g mm^2"),
    "g": (lambda mass, i: (1e3 * mass, i), "mass in g"),
    "mass": (lambda mass, i: (6.0 * mass, i), "mass"),
}


def read(robot: str) -> tuple[dict[str, WrittenInertial], dict[str, Inertial]]:
    """Return the mass properties of a shipped robot, as written and in link axes."""
    description = parse_urdf(robot_urdf(robot).read_bytes(), robot)
    return description.written_inertials(), description.links


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named(mistake: str) -> None:
    """Wherever a body cannot have the result, or hardly; a mistake in a zero or a small element is none."""
    change, expected = MISTAKES[mistake]
    noticed = []
    for robot in robot_names():
        written, inertials = read(robot)
        for name, link in written.items():
            mass, elements = change(link.mass, link.elements)
            if (
                not link.moving
                or not link.possible()
                or (elements == link.elements).all()
                and mass == link.mass
            ):
                continue
            wrong = replace(link, mass=mass, elements=elements)
            if wrong.possible():
                noticed += [
                    text
                    for text in implausible_links(
                        {**written, name: wrong}.values(), inertials
                    )
                    if f'"{name}"' in text
                ]
            else:
                noticed.append(explain_inertia(wrong))
    assert len(noticed) > 5
    assert sum(expected in text for text in noticed) > 0.85 * len(noticed), noticed


@pytest.mark.parametrize("robot", ["panda", "scara", "ur5e"])
def test_inertias_about_joints(robot: str) -> None:
    written, inertials = read(robot)
    for link in inertials.values():
        link.inertia[:] += steiner(link.mass, link.com)
    wrong = [
        replace(link, elements=inertials[name].inertia[np.triu_indices(3)])
        for name, link in written.items()
    ]
    (message,) = implausible_links(wrong, inertials)
    assert "about the origin" in message


#: Arm of three links of 0.2 m, with these equal moments.
ARM = '<robot name="arm"><link name="link0"/>{}</robot>'
LINK = """<link name="link{0}"><inertial><origin xyz="0 0 0.1"/><mass value="{1}"/><inertia ixx="{2}" iyy="{2}"
  izz="{2}"/></inertial></link><joint name="joint{0}" type="continuous"><parent link="link{3}"/><child link="link{0}"/>
  <origin xyz="0 0 0.2"/></joint>"""


@pytest.mark.parametrize(
    ("moments", "explained"),
    [
        ((1.0, 1.0, 1.0), ["placeholder"]),
        ((4000.0, 2500.0, 900.0), ["kg mm^2"] * 3),
        ((1e-3, 1e-3, 1e-3), []),
        ((0.0, 0.0, 0.0), []),
    ],
)
def test_equal_moments_fit_the_size(
    moments: tuple[float, ...], explained: list[str]
) -> None:
    links = [
        LINK.format(k, mass, moment, k - 1)
        for k, mass, moment in zip((1, 2, 3), (1.0, 0.5, 0.1), moments, strict=True)
    ]
    description = parse_urdf(ARM.format("".join(links)), "arm")
    messages = implausible_links(
        description.written_inertials().values(), description.links
    )
    assert len(messages) == len(explained)
    assert all(map(str.endswith, messages, explained))


@pytest.mark.parametrize("robot", robot_names())
@pytest.mark.parametrize(("metre", "kilogram"), list(product((1.0, 1e3), repeat=2)))
def test_millimetres_and_grams_throughout(
    robot: str, metre: float, kilogram: float
) -> None:
    root = ElementTree.fromstring(robot_urdf(robot).read_bytes())
    for origin in root.iter("origin"):
        xyz = map(float, origin.get("xyz", "0 0 0").split())
        origin.set("xyz", " ".join(repr(metre * x) for x in xyz))
    for mass in root.iter("mass"):
        mass.set("value", repr(kilogram * float(mass.get("value", ""))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse_urdf(ElementTree.tostring(root), robot)
    errors = [str(warning.message).partition(". Cure")[0] for warning in caught]
    units = [error.rpartition(" ")[2] for error in errors if "explained by" in error]
    assert units == ["mm"] * (metre > 1.0) + ["g"] * (kilogram > 1.0)


@pytest.mark.parametrize("robot", robot_names())
def test_shipped_robots_have_none(robot: str) -> None:
    """Link 3 of the PUMA 560 violates the triangle inequality as published, for no such reason."""
    written, inertials = read(robot)
    assert implausible_links(written.values(), inertials) == []
    for name, link in written.items():
        if link.moving and check_inertia(symmetric(*link.elements)) is not None:
            assert (robot, name, explain_inertia(link)) == (
                "puma560",
                "link3",
                "",
            )


def test_centre_of_mass_in_millimetres() -> None:
    written, inertials = read("panda")
    link = written["panda_link4"]
    written["panda_link4"] = replace(link, com=np.array([-53.2, 104.4, 27.4]))
    (message,) = implausible_links(written.values(), inertials)
    assert "panda_link4" in message and "mm" in message


def test_error_of_an_impossible_inertia_names_the_mistake() -> None:
    text = (
        robot_urdf("ur5e")
        .read_text(encoding="utf-8")
        .replace('ixx="0.0', 'ixx="-0.0', 1)
    )
    with pytest.raises(RobotModelError, match="explained by the sign of ixx"):
        RobotModel.from_urdf(text, strict=True)

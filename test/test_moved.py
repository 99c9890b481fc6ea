"""Former names of public modules, classes and attributes refer to the same objects, with a DeprecationWarning."""

import sys
from importlib import import_module

import pytest

from robot_dynamics_ros.control.task_space import EndEffectorTargets
from robot_dynamics_ros.moved import MOVED


@pytest.mark.parametrize(("former", "successor"), MOVED.items())
def test_a_former_module_is_its_successor(former: str, successor: str) -> None:
    name = f"robot_dynamics_ros.{former}"
    sys.modules.pop(name, None)
    with pytest.warns(DeprecationWarning, match=successor):
        old = import_module(name)
    new = import_module(f"robot_dynamics_ros.{successor}")
    public = [key for key in vars(new) if not key.startswith("_") and f"{successor}.{key}" not in MOVED]
    assert public and all(getattr(old, key) is getattr(new, key) for key in public)


@pytest.mark.parametrize(
    ("module", "former", "present"),
    [
        ("simulation", "Plants", "PlantBatch"),
        ("identification.motion", "Motion", "RecordedMotion"),
        ("identification.parameterization", "Unknowns", "Parameterization"),
        ("control.task_space", "HandState", "EndEffectorState"),
        ("control.task_space", "HandTargets", "EndEffectorTargets"),
        ("formulations.link_tree", "Rotor", "LinkRotor"),
    ],
)
def test_a_former_class_is_its_successor(module: str, former: str, present: str) -> None:
    package = import_module(f"robot_dynamics_ros.{module}")
    with pytest.warns(DeprecationWarning, match=present):
        assert getattr(package, former) is getattr(package, present)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(package, "nothing")  # noqa: B009


def test_a_former_attribute_is_its_successor() -> None:
    targets = EndEffectorTargets()
    with pytest.warns(DeprecationWarning, match="empty"):
        assert targets.none_has_come is targets.empty is True

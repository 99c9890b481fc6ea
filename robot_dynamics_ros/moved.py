"""Former names of public modules and attributes, kept for one release.

Importing a module by a former name imports its successor and issues a DeprecationWarning. Module-level ``__getattr__``
functions call ``former_name``; classes assign ``former_attribute`` to the former name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "bags.comparison_table": "bags.comparison",
    "bags.replay": "offline.replay",
    "bags.topic_comparison": "bags.differences",
    "bags.writing": "bags.storage",
    "control.faults": "control.safety",
    "control.gains": "control.laws",
    "control.hand_control": "control.task_space",
    "control.hand_targets": "control.task_space",
    "control.momentum_observer": "control.external_torque",
    "control.motion_plan": "control.trajectory.plan",
    "control.task_space.law": "control.task_space",
    "control.task_space.targets": "control.task_space",
    "control.trajectory_points": "control.trajectory.points",
    "formulations.christoffel": "formulations.properties",
    "formulations.closed_loops": "formulations.constraints",
    "formulations.collision_inertias": "formulations.mass_properties",
    "formulations.configuration_space": "formulations.properties",
    "formulations.force_propagation": "formulations.propagation",
    "formulations.frame_transforms": "formulations.propagation",
    "formulations.inertia_bounds": "formulations.properties",
    "formulations.lagrange_euler": "formulations.lagrange",
    "formulations.lagrange_link_jacobians": "formulations.lagrange",
    "formulations.minimal_parameters": "formulations.properties",
    "formulations.newton_euler_base": "formulations.newton_euler",
    "formulations.newton_euler_links": "formulations.newton_euler",
    "formulations.resolved_rate": "formulations.cartesian_dynamics",
    "formulations.rigid_body": "formulations.newton_euler",
    "formulations.rotor_terms": "formulations.link_tree",
    "formulations.velocity_propagation": "formulations.propagation",
    "identification.base_parameters": "model.base_parameters",
    "identification.dynamics_output": "identification.estimate",
    "identification.smoothing": "identification.motion",
    "identification.torque_analysis": "identification.motion",
    "identification.unknowns": "identification.parameterization",
    "model.packed": "model.model_data",
    "report.faults": "report.recording",
}
"""Successor of each former module name, both relative to robot_dynamics_ros."""

_PREFIX = "robot_dynamics_ros."


class _Former(MetaPathFinder, Loader):
    """Meta path finder and loader of the former module names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        former = fullname.removeprefix(_PREFIX)
        return ModuleSpec(fullname, self) if fullname.startswith(_PREFIX) and former in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        successor = _PREFIX + MOVED[module.__name__.removeprefix(_PREFIX)]
        warnings.warn(f"{module.__name__} is {successor} now", DeprecationWarning, stacklevel=2)
        module.__dict__.update(
            {
                name: value
                for name, value in vars(import_module(successor)).items()
                if name == "__getattr__" or not name.startswith("__")
            }
        )


def find_former_modules() -> None:
    """Append the finder of the former module names to sys.meta_path; call this once, on import of the package."""
    sys.meta_path.append(_Former())


def former_name(module: str, names: dict[str, object], name: str) -> object:
    """Return a renamed object of ``module`` by its former ``name``, with a DeprecationWarning.

    ``module`` is the full name of the module, for messages. ``names`` maps former names to objects. Raises
    AttributeError for a name that is not in it.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{module}.{name} is {getattr(names[name], '__name__', name)} now", DeprecationWarning, stacklevel=3)
    return names[name]


def former_attribute(present: str) -> property:
    """Return a read-only property for the former name of the attribute ``present``, the present name.

    Each access returns the value of that attribute and issues a DeprecationWarning.
    """

    def get(self: object) -> object:
        warnings.warn(f"the name in {type(self).__name__} is {present} now", DeprecationWarning, stacklevel=2)
        return getattr(self, present)

    return property(get, doc=f"Former name of ``{present}``.")

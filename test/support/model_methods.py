"""Methods of RobotModel that take states: names of their vectors, and a call with model, wrenches and vectors."""

from collections.abc import Callable
from typing import Any

METHODS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "inverse_dynamics": (("q", "qd", "qdd"), lambda m, w, *x: m.inverse_dynamics(*x)),
    "inverse_dynamics under wrenches": (
        ("q", "qd", "qdd"),
        lambda m, w, *x: m.inverse_dynamics(*x, w),
    ),
    "forward_dynamics": (("q", "qd", "tau"), lambda m, w, *x: m.forward_dynamics(*x)),
    "forward_dynamics under wrenches": (
        ("q", "qd", "tau"),
        lambda m, w, *x: m.forward_dynamics(*x, w),
    ),
    "mass_matrix": (("q",), lambda m, w, q: m.mass_matrix(q)),
    "bias_torque": (("q", "qd"), lambda m, w, *x: m.bias_torque(*x)),
    "gravity_torque": (("q",), lambda m, w, q: m.gravity_torque(q)),
    "dtau/dq": (
        ("q", "qd", "qdd"),
        lambda m, w, *x: m.inverse_dynamics_derivatives(*x)[0],
    ),
    "dtau/dqd": (
        ("q", "qd", "qdd"),
        lambda m, w, *x: m.inverse_dynamics_derivatives(*x)[1],
    ),
    "coriolis_matrix": (("q", "qd"), lambda m, w, *x: m.coriolis_matrix(*x)),
    "friction_torque": (("q", "qd"), lambda m, w, *x: m.friction_torque(*x)),
    "joint_reactions": (("q", "qd", "qdd"), lambda m, w, *x: m.joint_reactions(*x)),
    "joint_reactions under wrenches": (
        ("q", "qd", "qdd"),
        lambda m, w, *x: m.joint_reactions(*x, w),
    ),
    "bearing_loads": (("q", "qd", "qdd"), lambda m, w, *x: m.bearing_loads(*x)),
    "regressor": (("q", "qd", "qdd"), lambda m, w, *x: m.regressor(*x)),
    "link_pose": (("q",), lambda m, w, q: m.link_pose(q, m.link_names[-1])),
    "jacobian": (("q",), lambda m, w, q: m.jacobian(q, m.link_names[-1])),
    "jacobian_dot_qd": (
        ("q", "qd"),
        lambda m, w, *x: m.jacobian_dot_qd(*x, m.link_names[-1]),
    ),
    "kinetic_energy": (("q", "qd"), lambda m, w, *x: m.kinetic_energy(*x)),
    "potential_energy": (("q",), lambda m, w, q: m.potential_energy(q)),
}
#: Those for which customised models have kernels of their own.
CUSTOMISED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_torque")


def call(name: str, model: Any, wrenches: Any, *vectors: Any) -> Any:
    """Call a method with as many of the vectors as it needs."""
    names, method = METHODS[name]
    return method(model, wrenches, *vectors[: len(names)])

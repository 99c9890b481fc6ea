"""Closed-form equations of motion as SymPy formulas, in the notation of the textbooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.textbooks.newton_euler_equations import newton_euler_links
from robot_dynamics_ros.textbooks.symbolic.formula_text import formula_lines
from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import SymbolicArm, symbolic_arm


class ClosedForm(NamedTuple):
    """Equations of motion M(q) qdd + V(q, qd) + G(q) = tau as SymPy formulas, in SI units.

    Attributes
    ----------
    arm
        The robot in symbols.
    mass_matrix, velocity_terms, gravity
        M (n, n), V (n, 1) and G (n, 1) as SymPy matrices, Tsai (9.86), (9.101), (9.102).
    """

    arm: SymbolicArm
    mass_matrix: Any
    velocity_terms: Any
    gravity: Any

    def lines(self, digits: int = 4) -> Iterator[str]:
        """Yield the elements of M, V and G as equations, such as ``M12 = M21 = ...``, as ``formula_lines`` does.

        Numbers have ``digits`` significant digits. Elements that are equal by symmetry share a line, and terms that are
        negligible at these digits are omitted.
        """
        terms = {"M": self.mass_matrix, "V": self.velocity_terms, "G": self.gravity}
        return formula_lines(terms, self.arm.q, digits=digits)


def closed_form(
    model: RobotModel,
    parameters: Mapping[str, str] | None = None,
    link: str | None = None,
) -> ClosedForm:
    """Return the closed-form equations of motion of a robot, including couplings and rotors, without friction.

    They follow from the recursion of Newton and Euler on symbols, Craig 6.6. Numbers are those of the model, without
    rounding. Terms that cancel up to rounding are omitted.

    Parameters
    ----------
    model
        The robot. More than four joints cause a RobotModelWarning about the size of the formulas.
    parameters, link
        Symbols instead of numbers, and the end effector (``symbolic_arm``).

    Raises
    ------
    RobotDynamicsError
        For an unknown link or unsuitable parameters, and if SymPy is not installed.
    """
    arm = symbolic_arm(model, parameters, link)
    q, qd, _ = arm.motion
    zero = np.zeros(model.n)
    # Tsai (9.103): the torques at unit accelerations without gravity are the columns of M.
    weightless = replace(arm.tree, gravity=np.zeros(3))
    columns = [
        newton_euler_links(weightless, q, zero, unit) for unit in np.eye(model.n)
    ]
    velocity = newton_euler_links(weightless, q, qd, zero)
    gravity = newton_euler_links(arm.tree, q, zero, zero)
    return ClosedForm(
        arm, *map(arm.formulas, (np.column_stack(columns), velocity, gravity))
    )

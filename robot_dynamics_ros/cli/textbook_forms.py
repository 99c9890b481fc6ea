"""Equations of motion as formulas and the intermediate results of Newton-Euler, for robot_dynamics inspect."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.command_line import one_of, pair, table, wrapped
from robot_dynamics_ros.cli.model_facts import Facts
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks.lagrange import named_coefficients
from robot_dynamics_ros.textbooks.newton_euler_equations import (
    NewtonEulerTrace,
    newton_euler_trace,
)
from robot_dynamics_ros.textbooks.shared_terms import with_end_effector
from robot_dynamics_ros.textbooks.symbolic.closed_form import closed_form
from robot_dynamics_ros.textbooks.symbolic.derived_terms import KINDS, equation_terms
from robot_dynamics_ros.textbooks.symbolic.formula_text import (
    LANGUAGES,
    formula_lines,
    vector_line,
)
from robot_dynamics_ros.textbooks.symbolic.symbolic_arm import SymbolicArm, symbolic_arm

_LEGENDS = {
    "M": "M(q) q'' + V(q, q') + G(q) = tau",
    "B": "V = B (q1' q2', q1' q3', ...) + C (q1'^2, q2'^2, ...)",
    "h": "V_i = sum of h_ikm qk' qm'",
    "hl": "V_i = sum of hl_ijk qj' qk', LaValle (13.141)",
    "energies": "K is the kinetic, P the potential energy",
    "lagrangian": "L = K - P, p = dL/dq', pd = dp/dt, dL = dL/dq, pd - dL = tau",
    "jacobian": "J and Jb: velocity, then angular velocity of the end effector in its axes and the base's; Ji: inverse",
    "cartesian": "Mx x'' + Vx + Gx = F for the rows of J with detJ, J^T Vx = Bx (q1' q2', ...) + Cx (q1'^2, ...)",
}
_STEPS = NewtonEulerTrace._fields[:-1]  # without tau


def add_textbook_forms(parser: ArgumentParser) -> None:
    """Add --equations and --trace with their options, which ``textbook_facts`` reads."""
    parser.add_argument(
        "--equations",
        type=partial(one_of, names=KINDS),
        nargs="*",
        choices=KINDS,
        metavar="KIND",
        help=f"print formulas (default: M V G) of {', '.join(KINDS)}; docs/inspect.md explains them",
    )
    parser.add_argument(
        "--trace",
        type=float,
        nargs="*",
        metavar="X",
        help="print each step of Newton-Euler for q, q' and q'', 3 n numbers, with D, h, c; without numbers formulas",
    )
    parser.add_argument(
        "--symbols",
        type=partial(pair, form="NAME=FORMULA"),
        nargs="*",
        metavar="NAME=FORMULA",
        help="formulas with m1, l1, lc1, Izz1 and so on instead of numbers; lc1=l1/2 replaces one",
    )
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        default="text",
        help="of the formulas (default: text)",
    )
    parser.add_argument(
        "--end-effector",
        metavar="LINK",
        help="link of jacobian, cartesian, --trace and --force",
    )
    parser.add_argument(
        "--force",
        type=float,
        nargs=6,
        metavar="F",
        help="force (N), then moment (Nm) of the end effector on the environment in its axes, for --trace",
    )


def textbook_facts(model: RobotModel, arguments: Namespace) -> Facts:
    """Return the equations and the trace that ``arguments`` select, each None if it is not selected.

    Raises RobotDynamicsError for options that do not fit the model or each other, and without SymPy for formulas.
    """
    at_end = arguments.force is not None or {"jacobian", "cartesian"} & set(
        arguments.equations or []
    )
    if at_end and arguments.end_effector is None:
        raise RobotDynamicsError(
            "--force, jacobian and cartesian need a link. Cure: add --end-effector LINK"
        )
    parameters = None if arguments.symbols is None else dict(arguments.symbols)
    equations = trace = None
    if arguments.equations is not None:
        form = closed_form(model, parameters, arguments.end_effector)
        terms = equation_terms(form, arguments.equations or ["M", "V", "G"])
        equations = _formula_facts(
            model, form.arm, terms, formula_lines(terms, form.arm.q, arguments.language)
        )
    if arguments.trace:
        trace = _number_trace(
            model, arguments.trace, arguments.end_effector, arguments.force
        )
    elif arguments.trace is not None:
        arm = symbolic_arm(model, parameters, arguments.end_effector)
        trace = _formula_trace(model, arm, arguments.force, arguments.language)
    return {"equations": equations, "trace": trace}


def textbook_sections(facts: Facts, arguments: Namespace) -> Iterator[str]:
    """Yield the equations and the trace as text; ``facts`` has those of ``model_facts`` and ``textbook_facts``."""
    equations = facts["equations"]
    trace = facts["trace"]
    language = arguments.language
    if equations is not None:
        legends = [
            text
            for kind, text in _LEGENDS.items()
            if kind in (arguments.equations or ["M"])
        ]
        yield from _formula_sections("; ".join(legends), equations, language)
        if facts["loops"]:
            yield "loops are cut open in these equations"
    if trace is not None:
        title = (
            "Newton-Euler in link frames: w, dw, v, dv of the origin, dv_c of the centre of mass, both minus "
            "gravity g, F = m dv_c, N, and f, n of the parent on the link"
        )
        if "lines" in trace:
            yield from _formula_sections(title, trace, language)
        else:
            yield f"{wrapped(title)}\n{_trace_table(trace)}"
            yield _coefficient_text(trace["coefficients"])


def _formula_facts(
    model: RobotModel, arm: SymbolicArm, terms: Mapping[str, Any], lines: Iterable[str]
) -> Facts:
    symbols = {
        str(symbol): name for symbol, name in zip(arm.q, arm.joint_names, strict=True)
    }
    used = set().union(*(formula.free_symbols for formula in terms.values()))
    parameters = {
        str(symbol): value for symbol, value in arm.values.items() if symbol in used
    }
    links = list(model.moving_links)
    return {
        "symbols": symbols,
        "links": links,
        "parameters": parameters,
        "lines": list(lines),
    }


def _formula_sections(title: str, formulas: Facts, language: str) -> Iterator[str]:
    names = [
        f"{x} = {name} ({'m' if x.startswith('d') else 'rad'})"
        for x, name in formulas["symbols"].items()
    ]
    yield wrapped(f"{title}, with {', '.join(names)}, c1 = cos(q1), s12 = sin(q1 + q2)")
    if formulas["parameters"]:
        links = " ".join(
            f"{k} {name}," for k, name in enumerate(formulas["links"], start=1)
        )
        values = ", ".join(
            f"{name} = {x:.6g}" for name, x in formulas["parameters"].items()
        )
        yield wrapped(f"links {links} SI units: {values}")
    yield "\n".join(
        map(wrapped, formulas["lines"]) if language == "text" else formulas["lines"]
    )


def _loads(tree: LinkTree, force: Sequence[float] | None) -> Array | None:
    """Return the loads of ``newton_euler_trace`` with a force of the last link on the environment."""
    if force is None:
        return None
    return np.vstack([np.zeros((len(tree.links) - 1, 6)), force])


def _formula_trace(
    model: RobotModel, arm: SymbolicArm, force: Sequence[float] | None, language: str
) -> Facts:
    trace = newton_euler_trace(arm.tree, *arm.motion, _loads(arm.tree, force))
    vectors = {
        f"{step}{i + 1}": arm.formulas(getattr(trace, step)[i])
        for i in range(len(trace.w))
        for step in _STEPS
    }
    terms = vectors | {"tau": arm.formulas(trace.tau)}
    if language == "text":
        lines = [vector_line(name, vector, arm.q) for name, vector in terms.items()]
    else:
        lines = list(formula_lines(terms, arm.q, language))
    return _formula_facts(model, arm, terms, lines)


def _number_trace(
    model: RobotModel,
    numbers: Sequence[float],
    link: str | None,
    force: Sequence[float] | None,
) -> Facts:
    if len(numbers) != 3 * model.n or not np.isfinite(numbers).all():
        raise RobotDynamicsError(
            f"--trace has {len(numbers)} numbers. Cure: give {model.n} positions, {model.n} velocities and {model.n} "
            f"accelerations of {' '.join(model.joint_names)}, all finite"
        )
    q, qd, qdd = np.reshape(numbers, (3, model.n))
    tree = LinkTree.of(model) if link is None else with_end_effector(model, link)
    trace = newton_euler_trace(tree, q, qd, qdd, _loads(tree, force))
    names = [*model.moving_links, *([] if link is None else [link])]
    steps = [
        {step: getattr(trace, step)[i].tolist() for step in _STEPS}
        for i in range(len(names))
    ]
    return {
        "q": q.tolist(),
        "qd": qd.tolist(),
        "qdd": qdd.tolist(),
        "links": [
            {"link": name, **step} for name, step in zip(names, steps, strict=True)
        ],
        "tau": dict(zip(model.joint_names, trace.tau.tolist(), strict=True)),
        "coefficients": named_coefficients(model, q),
    }


def _trace_table(trace: Facts) -> str:
    rows = []
    for link in trace["links"]:
        for step in _STEPS:
            vector = np.round(link[step], 12) + 0.0
            rows.append(
                [
                    link["link"] if step == _STEPS[0] else "",
                    step,
                    *(f"{x:.6g}" for x in vector),
                ]
            )
    torques = ", ".join(f"{name} {torque:.6g}" for name, torque in trace["tau"].items())
    return f"{table(['link', '', 'x', 'y', 'z'], rows)}\ntau: {torques}"


def _coefficient_text(coefficients: Facts) -> str:
    """Return the coefficients that are not zero, and the reasons for the others."""
    lines = [
        "tau_i = D_ik qk'' + h_ikm qk' qm' + c_i, Milicevic (2.5); h_ikm = h_imk, D_ik = D_ki"
    ]
    lines += [
        f"{name} = {value:.6g}"
        for name, (value, reason) in coefficients.items()
        if not reason
    ]
    for given in dict.fromkeys(reason for _, reason in coefficients.values() if reason):
        names = [name for name, (_, reason) in coefficients.items() if reason == given]
        lines.append(wrapped(f"zero: {' '.join(names)}: {given}"))
    return "\n".join(lines)

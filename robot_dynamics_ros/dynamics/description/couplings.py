"""Independent coordinates, and the positions of all movable joints as affine functions of them: q_tree = G q + c.

q (n,) are the positions of the independent coordinates: joints, and coordinates that the dynamics file names. q_tree
are the positions of all movable joints, rad or m. A row of G and its element of c are a Row: factors by name, and an
offset. Coupling rows are read from the dynamics file, else from a URDF's <mimic>. Spong (9.89) is the remotely driven
elbow, Spong (9.96) the parallelogram five-bar.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from robot_dynamics_ros.base.errors import RobotModelError, use_one_of
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    JointDynamics,
    Rotor,
    Row,
)
from robot_dynamics_ros.dynamics.description.urdf import MOVABLE, Description


@dataclass(frozen=True)
class Couplings:
    """Independent coordinates and the joints and rotors that depend on them.

    Attributes
    ----------
    names
        Names of the n independent coordinates, in the order of q.
    rows
        Row of each movable joint and coordinate, by name, in terms of ``names``. Factors are nonzero. A joint whose row
        has no factors is locked at its offset (rad or m).
    rotors
        Name, definition and spin rate by coordinate of each rotor. Rotors of joints (the short form) come first.
    locked
        Positions (rad or m) of the locked joints and coordinates.
    """

    names: tuple[str, ...]
    rows: Mapping[str, Row]
    rotors: tuple[tuple[str, Rotor, Mapping[str, float]], ...] = ()
    locked: Mapping[str, float] = field(default_factory=dict)

    def substitute(self, row: Row, where: str) -> Row:
        """Return ``row`` with each name replaced by its own row, so that only independent names remain.

        All names of ``row`` must be in ``rows``; factors that become zero are omitted. Raises RobotModelError if a
        factor or the offset is not finite; ``where`` is the beginning of its message.
        """
        factors: dict[str, float] = {}
        offset = row.offset
        for name, factor in row.factors.items():
            source = self.rows[name]
            offset += factor * source.offset
            for independent, inner in source.factors.items():
                factors[independent] = factors.get(independent, 0.0) + factor * inner
        if not all(map(math.isfinite, (offset, *factors.values()))):
            raise RobotModelError(
                f"{where}: a factor or an offset of its coupling overflows a float. "
                "Cure: correct the mimic multipliers, couplings or ratios"
            )
        return Row(
            {name: factor for name, factor in factors.items() if factor != 0.0}, offset
        )


def resolve(
    description: Description,
    dynamics: DynamicsFile,
    joints: Sequence[str] | None,
    locked: Mapping[str, Any] | None,
) -> Couplings:
    """Select the independent coordinates and express every movable joint by them.

    Joints and coordinates that have no coupling row and are not locked are independent. The coupling row of a locked
    joint is ignored.

    Parameters
    ----------
    description
        The URDF.
    dynamics
        The dynamics file.
    joints
        The independent names in the desired order; others are locked at 0. None: all, depth first, as in the URDF.
    locked
        Position (rad or m) of locked joints or coordinates, by name; None: none.

    Raises
    ------
    RobotModelError
        For unknown and repeated names, joints that follow themselves, dependent joints in ``joints``, names both in
        ``joints`` and ``locked``, and locked positions that are not finite. Also for coordinates that move nothing or
        have the name of a joint, factors that overflow, and if no joint can move.
    """
    movable = dict.fromkeys(
        joint.name for joint in description.joints if joint.kind in MOVABLE
    )
    known = movable | dict.fromkeys(dynamics.coordinates)
    _check_names(description, dynamics, movable, known)
    positions = _checked_locked(description, known, locked)
    rows = {
        name: row
        for name, row in _coupling_rows(description, dynamics).items()
        if name not in positions
    }
    free = [name for name in known if name not in rows and name not in positions]
    names = (
        tuple(free)
        if joints is None
        else _in_order(description, joints, known, rows, positions, free)
    )
    others = set(free).difference(names)
    positions = {
        name: positions.get(name, 0.0)
        for name in known
        if name in positions or name in others
    }
    start = {name: Row({name: 1.0}) for name in names} | {
        name: Row({}, value) for name, value in positions.items()
    }
    couplings = Couplings(names, _resolved(description, dynamics, rows, start))
    if not any(couplings.rows[name].factors for name in movable):
        raise RobotModelError(
            f"{description.source}: no joint can move. Cure: use a robot with movable joints"
        )
    couplings = replace(
        couplings,
        rotors=tuple(_rotors(description, dynamics, couplings)),
        locked=positions,
    )
    _refuse_idle(dynamics, couplings)
    return couplings


def _check_names(
    description: Description,
    dynamics: DynamicsFile,
    movable: Collection[str],
    known: Collection[str],
) -> None:
    """Raise RobotModelError for names in the file that are neither those of movable joints nor known coordinates."""
    for name in dynamics.coordinates:
        if name in movable:
            raise RobotModelError(
                f'{dynamics.source}: coordinates: "{name}" is a joint of {description.source}. '
                "Cure: choose another name; joints without a row in couplings already are coordinates"
            )
    for name in (*dynamics.joints, *dynamics.couplings):
        if name not in movable:
            raise RobotModelError(
                _no_joint(description, dynamics.source, name, movable)
            )
    for where, used in _references(description, dynamics):
        for name in used:
            if name not in known:
                raise RobotModelError(_no_joint(description, where, name, known))


def _coupling_rows(description: Description, dynamics: DynamicsFile) -> dict[str, Row]:
    """Return the rows of the file, else of <mimic>."""
    mimics = {
        joint.name: Row({joint.mimic.joint: joint.mimic.multiplier}, joint.mimic.offset)
        for joint in description.joints
        if joint.mimic is not None
    }
    return {**mimics, **dynamics.couplings}


def _rotors(
    description: Description, dynamics: DynamicsFile, couplings: Couplings
) -> Iterator[tuple[str, Rotor, Mapping[str, float]]]:
    rotors: list[tuple[str, Rotor]] = []
    for joint in description.joints:
        extra = dynamics.joints.get(joint.name, JointDynamics())
        if extra.rotor_inertia > 0.0 and couplings.rows[joint.name].factors:
            carrier = joint.parent if extra.rotor_carrier == "parent" else None
            rotor = Rotor(
                carrier, None, extra.rotor_inertia, {joint.name: extra.gear_ratio}
            )
            rotors.append((f"{joint.name} rotor", rotor))
    rotors += [(f"rotors[{k}]", rotor) for k, rotor in enumerate(dynamics.rotors)]
    for name, rotor in rotors:
        yield (
            name,
            rotor,
            couplings.substitute(
                Row(rotor.ratio), f"{dynamics.source}: {name}"
            ).factors,
        )


def _references(
    description: Description, dynamics: DynamicsFile
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield each element of the files that names joints or coordinates, with these names."""
    for name, row in _coupling_rows(description, dynamics).items():
        where = (
            f'{dynamics.source}: couplings: joint "{name}"'
            if name in dynamics.couplings
            else f'{description.source}: joint "{name}" <mimic>'
        )
        yield where, row.factors
    for k, rotor in enumerate(dynamics.rotors):
        yield f"{dynamics.source}: rotors[{k}] ratio", rotor.ratio


def _no_joint(
    description: Description, where: str, name: str, known: Iterable[str]
) -> str:
    names = list(known)
    cure = use_one_of(name, names)
    kinds = {joint.name: "fixed" for joint in description.joints}
    kinds |= {
        joint: f"{kind}, which is not supported"
        for joint, kind in description.unsupported.items()
    }
    kind = kinds.get(str(name))
    reason = f": it is {kind}" if kind else ""
    return f'{where}: {description.source} has no movable joint "{name}"{reason}. Cure: {cure}'


def _checked_locked(
    description: Description, known: Collection[str], locked: Mapping[str, Any] | None
) -> dict[str, float]:
    if not isinstance(locked, Mapping | None):
        raise RobotModelError(
            f"locked: {locked!r} is not a mapping. Cure: pass a mapping from joints to positions"
        )
    result: dict[str, float] = {}
    for name, value in (locked or {}).items():
        if name not in known:
            raise RobotModelError(_no_joint(description, "locked", name, known))
        try:
            result[name] = float(value) if isinstance(value, Real) else math.nan
        except OverflowError:  # an integer that is too large for a float
            result[name] = math.inf
        if not math.isfinite(result[name]):
            raise RobotModelError(
                f'locked: joint "{name}": position {value!r} is not finite. Cure: pass a number'
            )
    return result


def _in_order(
    description: Description,
    joints: Sequence[str],
    known: Collection[str],
    rows: Mapping[str, Row],
    positions: Mapping[str, float],
    free: Sequence[str],
) -> tuple[str, ...]:
    try:
        # a set has no order
        names = None if isinstance(joints, str | set | frozenset) else tuple(joints)
    except TypeError:  # for example an array without dimensions
        names = None
    if names is None:
        raise RobotModelError(
            f"joints: {joints!r} is not a list of names. Cure: pass a list of joint names"
        )
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise RobotModelError(_no_joint(description, "joints", name, known))
        if name in rows:
            followed = ", ".join(rows[name].factors)
            reason = (
                f"it follows {followed}" if followed else "its coupling row locks it"
            )
            raise RobotModelError(
                f'joints: joint "{name}" is not independent: {reason}. '
                f"Cure: remove it; the independent names are {', '.join(free)}"
            )
    if len(set(names)) < len(names):
        raise RobotModelError(
            f"joints: {list(names)} names a joint twice. Cure: name each once"
        )
    both = [name for name in names if name in positions]
    if both:
        raise RobotModelError(
            f"joints: {both} are also in locked. Cure: name each joint in only one of the two"
        )
    return names


def _resolved(
    description: Description,
    dynamics: DynamicsFile,
    rows: Mapping[str, Row],
    start: dict[str, Row],
) -> dict[str, Row]:
    """Resolve rows that refer to other rows, in the order of their dependencies."""
    done = Couplings((), start)
    missing = {
        name: {source for source in row.factors if source in rows}
        for name, row in rows.items()
    }
    followers: dict[str, list[str]] = {name: [] for name in rows}
    for name, sources in missing.items():
        for source in sources:
            followers[source].append(name)
    ready = deque(name for name, sources in missing.items() if not sources)
    pending = dict(rows)
    while ready:
        name = ready.popleft()
        start[name] = done.substitute(
            pending.pop(name), f'{description.source}: joint "{name}"'
        )
        for follower in followers[name]:
            missing[follower].remove(name)
            if not missing[follower]:
                ready.append(follower)
    if pending:
        cycle = _cycle(pending)
        raise RobotModelError(
            f'{dynamics.source or description.source}: joint "{cycle[0]}" <mimic> or couplings: joints {cycle} follow '
            "each other in a cycle. Cure: remove one <mimic>, or let one of them follow another joint or a coordinate"
        )
    return start


def _cycle(pending: Mapping[str, Row]) -> list[str]:
    chain: list[str] = []
    name = next(iter(pending))
    while name not in chain:
        chain.append(name)
        name = next(source for source in pending[name].factors if source in pending)
    return chain[chain.index(name) :]


def _refuse_idle(dynamics: DynamicsFile, couplings: Couplings) -> None:
    joints = couplings.rows.keys() - set(dynamics.coordinates)
    moved = {name for joint in joints for name in couplings.rows[joint].factors}
    moved.update(name for _, _, factors in couplings.rotors for name in factors)
    for name in couplings.names:
        if name not in moved:
            raise RobotModelError(
                f'{dynamics.source}: coordinates: "{name}" moves no joint and no rotor that is not locked. '
                "Cure: name it in couplings or in a rotor's ratio, lock it, or remove it"
            )

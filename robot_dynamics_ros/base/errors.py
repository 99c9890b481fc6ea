"""Errors, warnings and notes of this package.

Each message states the file or argument, the element, the value found and, after "Cure:", an instruction.
"""

import re
import sys
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from robot_dynamics_ros.base import thresholds

_CONTROL = re.compile("[^\t\n\r\x20-\x7e\xa0-\U0010ffff]")


class RobotDynamicsError(Exception):
    """Base class of all errors that this package raises deliberately.

    Messages are printable; those longer than 2000 characters are shortened in the middle.
    """

    def __str__(self) -> str:
        text = printable(super().__str__())
        if len(text) <= thresholds.LONGEST_MESSAGE:
            return text
        return f"{text[: thresholds.MESSAGE_HEAD]} [...] {text[thresholds.MESSAGE_HEAD - thresholds.LONGEST_MESSAGE :]}"


class RobotModelError(RobotDynamicsError):
    """Invalid URDF, dynamics file or model argument."""


class TrajectoryError(RobotDynamicsError):
    """Trajectory that cannot be executed: its points, joints or times are invalid, or violate limits."""


class JointNamesError(TrajectoryError):
    """Trajectory whose joint names are not those of the controlled joints."""


class TrajectoryOverError(TrajectoryError):
    """Trajectory whose last point is already in the past on arrival."""


class BagError(RobotDynamicsError):
    """Bag that cannot be read, written or compared, or that lacks the content requested."""


class RobotModelWarning(UserWarning):
    """Content of a URDF or a dynamics file that is valid but probably unintended."""


class IncompleteModelWarning(RobotModelWarning):
    """Limits that are not set, and joints or bodies without mass."""


class BagWarning(UserWarning):
    """Lost or doubtful content of a bag whose remaining content can be used."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?", the end of a cure, with the name of ``known`` most similar to ``name``.

    A name that contains ``name``, if that has at least 3 letters, precedes one with similar letters. The text is empty
    if none is similar, and if ``name`` is not a text, or longer than 200 characters.
    """
    # from messages: the search takes time
    if not isinstance(name, str) or len(name) > thresholds.LONGEST_NAME:
        return ""
    names = list(known)
    longer = [
        other for other in names if len(name) >= thresholds.NAME_PART and name in other
    ]
    similar = get_close_matches(name, longer, n=1, cutoff=0.0)
    similar = similar or get_close_matches(name, names, n=1)
    return f"; did you mean {similar[0]}?" if similar else ""


def use_one_of(name: object, known: Iterable[str]) -> str:
    """Return the cure for an unknown ``name``: "use one of ", the ``known`` names, and the most similar one."""
    return f"use one of {', '.join(known)}{did_you_mean(name, known)}"


def require_known(
    name: object,
    known: Collection[str],
    problem: str,
    error: type[RobotDynamicsError] = RobotDynamicsError,
) -> None:
    """Raise an ``error`` with the ``problem``, and the cure to use one of ``known``, unless ``name`` is one of them."""
    if not isinstance(name, str) or name not in known:
        raise error(f"{problem}. Cure: {use_one_of(name, known)}")


def without_cure(message: str) -> str:
    """Return the error of a message, without its cure."""
    return message.partition(". Cure: ")[0]


def printable(text: str) -> str:
    """Return ``text`` with control characters, except for tab and line ends, replaced by escape sequences of Python.

    Text from bags, URDFs and messages can contain sequences that control a terminal.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """Print a note for the user to stderr, where it does not mix with results."""
    print(f"note: {text}", file=sys.stderr)

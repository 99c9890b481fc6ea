"""Errors and warnings of this package.

Each message states the file or argument, the element, the value found and, after "Cure:", an instruction.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 2000
_HEAD = 1500


class RobotDynamicsError(Exception):
    """Base class of all errors that this package raises deliberately.

    Messages longer than 2000 characters are shortened in the middle.
    """

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= _LONGEST:
            return text
        return f"{text[:_HEAD]} [...] {text[_HEAD - _LONGEST :]}"


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


class BagWarning(UserWarning):
    """Lost or doubtful content of a bag whose remaining content can be used."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?", the end of a cure, with the name of ``known`` most similar to ``name``.

    The text is empty if none is similar.
    """
    return "".join(f"; did you mean {close}?" for close in get_close_matches(name, list(known), n=1))

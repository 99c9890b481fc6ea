"""The errors that this package raises; each message names the culprit and the cure."""

_LONGEST = 2000
_HEAD = 1500


class RobotDynamicsError(Exception):
    """Base of every error that this package raises on purpose; its text is cut in the middle where it is long."""

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= _LONGEST:
            return text
        return f"{text[:_HEAD]} [...] {text[_HEAD - _LONGEST :]}"


class RobotModelError(RobotDynamicsError):
    """A URDF, a dynamics file or a model argument that cannot be used."""


class TrajectoryError(RobotDynamicsError):
    """A trajectory that cannot be followed."""


class JointNamesError(TrajectoryError):
    """A trajectory for other joints than those that are controlled."""


class TrajectoryOverError(TrajectoryError):
    """A trajectory that ended before it came."""


class BagError(RobotDynamicsError):
    """A bag that cannot be read or written."""


class RobotModelWarning(UserWarning):
    """Something in a URDF or a dynamics file that works, but is probably not meant."""


class BagWarning(UserWarning):
    """Something in a bag that is lost or doubtful, but does not keep the rest from being used."""

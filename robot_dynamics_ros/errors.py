"""The errors that this package raises; each message names the culprit and the cure."""


class RobotDynamicsError(Exception):
    """Base of every error that this package raises on purpose."""


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

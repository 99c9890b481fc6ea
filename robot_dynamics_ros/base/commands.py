"""Command lines in texts for users."""

import shutil


def command_line(ros2: str, own: str) -> str:
    """Return the command line ``ros2`` if the command ros2 is installed, else ``own``, which needs this package only.

    The wheels of PyPI contain no command ros2.
    """
    return own if shutil.which("ros2") is None else ros2

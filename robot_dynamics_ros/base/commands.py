"""Command lines in texts for users, and the program of the nodes."""

import shutil
from pathlib import Path

NODE_PROGRAM = str(Path(__file__).parents[1] / "cli" / "executables.py")
"""Program whose first argument names the node that it runs, from this copy of the package in any working directory."""


def command_line(ros2: str, own: str) -> str:
    """Return the command line ``ros2`` if the command ros2 is installed, else ``own``, which needs this package only.

    The wheels of PyPI contain no command ros2.
    """
    return own if shutil.which("ros2") is None else ros2

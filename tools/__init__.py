"""Checks of this package and of its tests that take longer than a test may; `CONTRIBUTING.md` lists the commands.

They use the robots, plants and recordings of the tests.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

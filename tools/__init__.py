"""What checks this package, and its tests, for longer than a test may take; `CONTRIBUTING.md` lists the commands.

Robots, plants and recordings are those of the tests.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

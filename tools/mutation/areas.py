"""Areas of the package to mutate, and the tests of each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = ROOT / "robot_dynamics_ros"


class Area(NamedTuple):
    """Files, as patterns relative to ``root``, and tests, as arguments of pytest."""

    name: str
    patterns: tuple[str, ...]
    tests: tuple[str, ...]
    root: Path = _PACKAGE

    def files(self) -> dict[str, Path]:
        """Return paths by names such as `kernels/friction.py`."""
        found = sorted(path for pattern in self.patterns for path in self.root.glob(pattern))
        return {path.relative_to(self.root).as_posix(): path for path in found if path.name != "__init__.py"}


_DYNAMICS = ("test/kernels", "test/model", "test/codegen", "test/oracles", "test/formulations", "test/test_textbook.py")
_STEPS = ("step_stages", "stick_slip", "coupled", "elimination")

AREAS = {
    area.name: area
    for area in (
        # kernels/friction.py belongs to the area friction
        Area("kernels", ("kernels/[!f]*.py", "kernels/forward_dynamics.py"), _DYNAMICS),
        Area("control", ("control/**/*.py",), ("test/control", "test/messages")),
        Area(
            "friction",
            ("kernels/friction.py", *(f"simulation/{name}.py" for name in _STEPS)),
            ("test/simulation", "test/kernels"),
        ),
    )
}

"""What there is to change, and which tests ought to see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parents[1]
_PACKAGE = ROOT / "robot_dynamics_ros"


class Area(NamedTuple):
    """Files, as patterns below ``root``, and tests, as pytest takes them."""

    name: str
    patterns: tuple[str, ...]
    tests: tuple[str, ...]
    root: Path = _PACKAGE
    reasons: Path = _HERE / "explained"

    def files(self) -> dict[str, Path]:
        """Paths by names as `kernels/friction.py`."""
        found = sorted(path for pattern in self.patterns for path in self.root.glob(pattern))
        return {path.relative_to(self.root).as_posix(): path for path in found if path.name != "__init__.py"}

    def explanations(self) -> Iterator[tuple[str, str]]:
        """Mutants' keys and why no test can see them, from explained/<name>.txt.

        There a reason stands at the beginning of a line, and below it, indented, one mutant a line. A line with a file
        and a function only (`kernels/direct_calls.py shared: *`) stands for all that are in it.
        """
        path, reason = self.reasons / f"{self.name}.txt", ""
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            if line.startswith(" "):
                yield line.strip(), reason
            elif line:
                reason = line


_DYNAMICS = ("test/kernels", "test/model", "test/codegen", "test/oracles", "test/formulations", "test/test_textbook.py")
_STEPS = ("friction_step", "stick_slip", "coupled_stick_slip", "elimination", "event_friction")
# The other tests of the simulation take long runs, minutes where nothing is compiled.
_SINGLE_STEPS = (
    *_STEPS,
    "stick_slip_segments",
    "stick_slip_descent",
    "coupled_stick_slip_segments",
    "joint_friction",
)
_LONG = "test/simulation/test_coupled_stick_slip.py::test_ten_thousand_problems_with_lines_that_depend_on_each_other"

AREAS = {
    area.name: area
    for area in (
        # kernels/friction.py is the simulation's, too
        Area("kernels", ("kernels/[!f]*.py", "kernels/forward_dynamics.py"), _DYNAMICS),
        Area("control", ("control/*.py",), ("test/control", "test/messages")),
        Area(
            "friction",
            ("kernels/friction.py", *(f"simulation/{name}.py" for name in _STEPS)),
            (
                *(f"test/simulation/test_{name}.py" for name in _SINGLE_STEPS),
                "test/kernels/test_friction.py",
                f"--deselect={_LONG}_are_all_solved",
            ),
        ),
    )
}

"""Coverage-guided fuzzing with atheris: `python -m tools.fuzz.coverage_guided urdf -max_total_time=600`.

Arguments after the target are those of libFuzzer. Inputs start from those of the target. An input that fails is written
to the working directory as crash-*; move it to tools/fuzz/cases/<target>/ by hand.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

ROOT = Path(__file__).resolve().parents[2]
#: Modules that cannot be instrumented, because they are compiled or generated.
COMPILED = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for folder in ("dynamics/kernels", "dynamics/codegen", "simulation")
    for file in (ROOT / "robot_dynamics_ros" / folder).glob("*.py")
]

with atheris.instrument_imports(include=["robot_dynamics_ros"], exclude=COMPILED):
    from tools.fuzz.targets import ALL, compile_kernels
    from tools.fuzz.trial import Tally

_SEEDS = 200


def main() -> None:
    """Run until libFuzzer ends."""
    name, *options = sys.argv[1:] or ["urdf"]
    target = ALL[name]
    compile_kernels()

    def one(data: bytes) -> None:
        tally = Tally()
        kind = tally.show(target.run, data)
        if kind is not None:
            raise AssertionError(f"{kind}: {tally.findings[kind][1]}")

    rng = random.Random(1)
    with TemporaryDirectory() as folder:
        for k in range(_SEEDS):
            (Path(folder) / str(k)).write_bytes(target.make(rng))
        atheris.Setup([sys.argv[0], folder, "-timeout=10", "-rss_limit_mb=4096", *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

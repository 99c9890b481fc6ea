"""Writing a report."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.report.page import page
from robot_dynamics_ros.report.recording import Recording


def write_report(recording: Recording, output: str | Path, *, overwrite: bool = False) -> None:
    """Write a recording's report as one HTML page, which opens without network.

    Raises BagError where the file cannot be written, or exists and ``overwrite`` is False.
    """
    text = page(recording)
    try:
        with Path(output).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise BagError(f"{output}: {problem.strerror}. Cure: name another file") from None

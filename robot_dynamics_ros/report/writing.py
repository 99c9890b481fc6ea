"""Writing a report where it does no harm."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.report.page import page
from robot_dynamics_ros.report.recording import Recording

_BEGIN = b"<!doctype html"


def write_report(recording: Recording, output: str | Path) -> None:
    """Write a recording's report as one HTML page, which opens without network; an earlier page is replaced.

    Raises BagError where the file cannot be written, or is there and is no page.
    """
    output = Path(output)
    check_output(output)
    text = page(recording)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise BagError(f"{output}: {problem.strerror}. Cure: name another file") from None


def check_output(output: Path) -> None:
    """Raise BagError where a report must not be written: onto anything but an HTML page, or where no folder is."""
    if not output.parent.is_dir():
        raise BagError(f"{output}: there is no folder {output.parent}. Cure: make it, or name another file")
    if output.is_dir():
        raise BagError(f"{output}: it is a folder. Cure: name a file, such as {output / 'report.html'}")
    if not output.exists():
        return
    with output.open("rb") as file:
        begin = file.read(len(_BEGIN))
    if begin and begin.lower() != _BEGIN:
        raise BagError(f"{output}: it is there and is no HTML page. Cure: name another file")

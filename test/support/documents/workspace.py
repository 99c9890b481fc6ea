"""Execution of a page: its blocks run in order in a folder that looks like a clone of the package.

Blocks that need ROS, the network or administrator rights are not run; shell_checks.py checks their names.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robot_dynamics_ros.cli.main import main
from support.documents.given import prepare
from support.documents.markdown_blocks import ROOT, Block
from support.documents.shell_checks import FOR_EVER
from support.documents.shell_lines import Command, commands

_LINKED = ("config", "docs", "examples", "launch", "recordings", "urdf")
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_PART = re.compile(rf"(?P<any>\.\.\.)|(?P<space>\s+)|(?P<number>{_NUMBER})")


class Workspace:
    """Working directory of a page, and the names that its Python blocks have defined so far."""

    def __init__(self, folder: Path, page: Path) -> None:
        self.folder = folder
        for name in _LINKED:
            (folder / name).symlink_to(ROOT / name)
        self.names: dict[str, Any] = {
            "__name__": "__main__",
            **prepare(str(page.relative_to(ROOT))),
        }

    def go_through(self, block: Block) -> None:
        """Save, run or skip a block, depending on its language; AssertionError names page and line."""
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            self._python(block)
        elif block.language in ("sh", "console"):
            for text, expected in _prompts(block):
                output = "".join(
                    self._run(command, block.where) for command in commands(text)
                )
                _compare(expected, output, block.where)

    def _python(self, block: Block) -> None:
        # a traceback shows the page's line
        code = compile("\n" * block.line + block.text, block.where, "exec")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, self.names)
            for test in [
                self.names.pop(name)
                for name in list(self.names)
                if name.startswith("test_")
            ]:
                test(self.folder)  # its tmp_path
        assert "nan" not in output.getvalue(), block.where
        _compare(block.output, output.getvalue(), block.where)

    def _run(self, command: Command, where: str) -> str:
        """Return what it prints; nothing of what is not run here."""
        program, *rest = command.words
        if program == "cat" and command.output:
            appends = command.output.startswith(">>")
            with (self.folder / command.output.removeprefix(">>")).open(
                "a" if appends else "w"
            ) as file:
                file.write(command.given)
        elif program in ("cp", "mkdir"):
            return _process(where, program, *rest)
        elif program.rpartition("/")[2] == "robot_dynamics" and rest[0] not in (
            *FOR_EVER,
            "warm-up",  # the commands of the page compile what they need
        ):
            # serves until Ctrl-C
            return _robot_dynamics([word for word in rest if word != "--view"], where)
        elif program.rpartition("/")[2] in ("python", "python3") and not self._waits(
            rest
        ):
            return _process(where, sys.executable, *rest)
        return ""

    def _waits(self, arguments: list[str]) -> bool:
        """Return True if Python installs packages, or runs a node, which needs Ctrl-C and has a test of its own."""
        script = self.folder / arguments[0]
        return arguments[:2] in (["-m", "pip"], ["-m", "venv"]) or (
            script.is_file() and "import rclpy" in script.read_text(encoding="utf-8")
        )


def _robot_dynamics(arguments: list[str], where: str) -> str:
    """Run a command in this process, because starting Python would take a second."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = main(arguments)
    may_differ = arguments[0] == "compare" and code == 1
    assert code == 0 or may_differ, f"{where}: {arguments}\n{output.getvalue()}"
    return output.getvalue()


def _process(where: str, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{where}: {words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def _prompts(block: Block) -> Iterator[tuple[str, str]]:
    """Yield commands and their output: in a console after $ and below it, for a script all lines and all output."""
    if block.language == "sh":
        yield block.text, block.output
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        last = next(k for k, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])


def _compare(expected: str, output: str, where: str) -> None:
    """Check that each line is printed, with numbers within a unit of their last digit; ... stands for any text."""
    printed = output.splitlines()
    for line in expected.splitlines():
        assert not line.strip() or any(_is_like(line, other) for other in printed), (
            f"{where}: not printed: {line}\n{output}"
        )


def _is_like(expected: str, printed: str) -> bool:
    numbers = [part["number"] for part in _PART.finditer(expected) if part["number"]]
    pattern = ""
    end = 0
    for part in _PART.finditer(expected):
        pattern += re.escape(expected[end : part.start()])
        pattern += ".*" if part["any"] else r"\s+" if part["space"] else f"({_NUMBER})"
        end = part.end()
    found = re.fullmatch(pattern + re.escape(expected[end:]), printed)
    return found is not None and all(map(_agree, numbers, found.groups()))


def _agree(expected: str, printed: str) -> bool:
    """Return True if two numbers differ by at most a unit of the last digit of the first, and integers by nothing."""
    digits, _, exponent = expected.partition("e")
    unit = (
        10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
        if digits != expected or "." in digits
        else 0.0
    )
    return abs(float(printed) - float(expected)) <= 1.001 * unit

"""Inventory of what users see, in docs/inventory.txt: one fact a line, sorted in each section.

``python -m tools.inventory`` writes the file, ``--check`` compares it and prints the differences. The facts come from
running commands and nodes, from the public Python API and from reading real files, so that the file stays the same
while modules move. CI checks it with Python 3.11; numbers that a run measures are left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from tools.inventory import api, bags, commands, files, hints, ros_graph
from tools.inventory.observed import ROOT

PAGE = ROOT / "docs" / "inventory.txt"
SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "Arguments of commands and launch files": commands.arguments,
    "Results of commands": commands.results,
    "Exit codes of processes": commands.exit_codes,
    "Installed files": commands.shipped_files,
    "URDFs": files.urdfs,
    "Dynamics files": files.dynamics_files,
    "Other files": files.other_files,
    "Bags": bags.bags,
    "Hints": hints.hints,
    "Checks of the controller": files.checks,
    "Nodes": ros_graph.interfaces,
    "Python API": api.api,
}
_HEAD = "What users see, one fact a line; # is a number. Written by `python -m tools.inventory`.\n"
_CURE = """\
Cure: run `python -m tools.inventory`. If a line is removed or changed on purpose, list it under Removed or Changed in
CHANGELOG.rst; otherwise restore what it describes."""


def page() -> str:
    """Return the inventory; files of the runs are in a temporary working directory."""
    parts = [_HEAD]
    for title, facts in tqdm(SECTIONS.items(), disable=not sys.stderr.isatty()):
        with TemporaryDirectory() as parent:
            folder = Path(parent) / "inventory"  # reports contain its name
            folder.mkdir()
            os.chdir(folder)
            found = sorted(set(facts()))
            os.chdir(ROOT)
        parts += [f"== {title} ==", *found, ""]
    return "\n".join(parts)


def main(check: bool) -> int:
    """Write the inventory; with ``check`` return 1 and print the differences if it is not current."""
    # argparse wraps usage and help at the width of the terminal
    os.environ["COLUMNS"] = "1000"
    new = page()
    if not check:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    old = PAGE.read_text(encoding="utf-8")
    differences = list(
        unified_diff(
            old.splitlines(),
            new.splitlines(),
            "docs/inventory.txt",
            "now",
            lineterm="",
            n=0,
        )
    )
    if differences:
        print("\n".join(differences), _CURE, sep="\n")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

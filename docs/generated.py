"""Write the pages and tables that are made from the code: `python docs/generated.py`; `--check` only compares."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = ("write_cli", "write_friction", "write_parameters")


def main(check: bool) -> int:
    """Write each page; with ``check`` return 1 if one is not current."""
    found = [
        module
        for module in map(import_module, MODULES)
        if module.PAGE.read_text("utf-8") != module.page()
    ]
    for module in found:
        if check:
            print(
                f"{module.PAGE}: not current. Cure: python docs/generated.py",
                file=sys.stderr,
            )
        else:
            module.PAGE.write_text(module.page(), encoding="utf-8")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

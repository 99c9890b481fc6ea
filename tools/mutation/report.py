"""Results of the mutants, as a table and as lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.document import markdown_table
from tools.mutation.areas import AREAS, Area
from tools.mutation.mutants import Mutant, Mutants

HEAD = ["area", "mutants", "killed", "of these by timeout", "survived"]
ALIVE = ("survived", "untested")


class Results:
    """Results of the mutants of one area, stored in a file."""

    def __init__(self, area: Area, folder: Path) -> None:
        self.area, self.path = area, folder / f"{area.name}.json"
        self.files = {name: Mutants(path, name) for name, path in area.files().items()}
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self._sources = {
            name: hashlib.sha256(found.path.read_bytes()).hexdigest() for name, found in self.files.items()
        }
        self.outcomes: dict[str, dict[str, str]] = {}
        for name, source in self._sources.items():
            same = kept.get(name, {}).get("source") == source
            self.outcomes[name] = kept[name]["outcomes"] if same else {}

    def mutants(self) -> list[Mutant]:
        """Return all mutants."""
        return [mutant for mutants in self.files.values() for mutant in mutants.all]

    def outcome(self, mutant: Mutant) -> str | None:
        """Return killed, timeout, survived, untested, or None if not tested yet."""
        return self.outcomes[mutant.file].get(mutant.key)

    def add(self, mutant: Mutant, outcome: str) -> None:
        """Store the result of a mutant."""
        self.outcomes[mutant.file][mutant.key] = outcome

    def save(self) -> None:
        """Write the results to the file."""
        kept = {name: {"source": self._sources[name], "outcomes": found} for name, found in self.outcomes.items()}
        self.path.write_text(json.dumps(kept, indent=1))

    def survivors(self) -> list[Mutant]:
        """Return the mutants that no test has detected."""
        return [mutant for mutant in self.mutants() if self.outcome(mutant) in ALIVE]

    def row(self) -> list[str]:
        """Return the row of the area in the table."""
        mutants = self.mutants()
        tried = [mutant for mutant in mutants if self.outcome(mutant)]
        alive = len([mutant for mutant in tried if self.outcome(mutant) in ALIVE])
        late = sum(self.outcome(mutant) == "timeout" for mutant in tried)
        total = str(len(mutants)) if len(tried) == len(mutants) else f"{len(tried)} of {len(mutants)}"
        return [self.area.name, total, *(str(count) for count in (len(tried) - alive, late, alive))]


def report(folder: Path, written: Mapping[str, list[str]]) -> str:
    """Return the table of all areas; an area without results keeps its row of ``written``, the earlier table."""
    rows = [HEAD]
    for name, area in AREAS.items():
        results = Results(area, folder)
        if any(results.outcomes.values()):
            rows.append(results.row())
        elif name in written:
            rows.append(written[name])
    return markdown_table(rows)

"""Results of the mutants as a table and as lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.document import markdown_table
from tools.mutation.areas import AREAS, Area
from tools.mutation.mutants import Mutant, Mutants

HEAD = ["file", "mutants", "killed", "of them by time", "survived"]
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

    def row(self, name: str) -> list[str]:
        """Return a row of the table for one file."""
        mutants = self.files[name].all
        tried = [mutant for mutant in mutants if self.outcome(mutant)]
        alive = [mutant for mutant in tried if self.outcome(mutant) in ALIVE]
        late = sum(self.outcome(mutant) == "timeout" for mutant in tried)
        total = str(len(mutants)) if len(tried) == len(mutants) else f"{len(tried)} of {len(mutants)}"
        counts = [len(tried) - len(alive), late, len(alive)]
        return [name, total, *(str(count) for count in counts)]


def report(folder: Path, written: Mapping[str, list[str]]) -> str:
    """Return the table of all tested areas; ``written`` are earlier rows, for files that were not tested."""
    rows = [HEAD]
    for area in AREAS.values():
        results = Results(area, folder)
        if any(results.outcomes.values()) or not written.keys().isdisjoint(results.files):
            own = [_row_or(written, results, name) for name in results.files if results.files[name].all]
            rows += [*own, _sum(own, f"**{area.name}**")]
    return markdown_table(rows)


def _row_or(written: Mapping[str, list[str]], results: Results, name: str) -> list[str]:
    """Return the row of a tested file, else the earlier one if it has the same number of mutants."""
    before = written.get(name, HEAD)
    untried = not results.outcomes[name] and before[1] == str(len(results.files[name].all))
    return before if untried else results.row(name)


def _sum(rows: Sequence[list[str]], title: str) -> list[str]:
    """Return a row with the sum of files."""
    # Of a file that was tried in part the second cell is "3 of 8".
    tried, all_of_them = (sum(int(row[1].split(" of ")[k]) for row in rows) for k in (0, -1))
    total = str(tried) if tried == all_of_them else f"{tried} of {all_of_them}"
    return [title, total, *(str(sum(int(row[k]) for row in rows)) for k in range(2, len(HEAD)))]

"""The catalogue's rows about some runs of a dataset, read once for all, and added rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from warehouse.ingest import steps
from warehouse.store import checksums, rows
from warehouse.store.clock import Clock

# The reason for forgetting a run whose file is gone.
FILE_GONE = "its file is gone"


@dataclass
class Known:
    """The runs that have some names or some contents, and the runs being added to them.

    `current` has the newest version of a run by its name, `forgotten` the forgotten versions by
    name and content hash.
    """

    con: duckdb.DuckDBPyConnection
    dataset_id: int
    current: dict[str, dict[str, Any]]
    forgotten: dict[tuple[str, str], dict[str, Any]]
    clock: Clock
    _last: dict[str, int]
    _names: dict[str, list[str]]
    _next_id: int
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _tags: dict[int, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        con: duckdb.DuckDBPyConnection,
        dataset_id: int,
        names: Iterable[str],
        hashes: Iterable[str],
    ) -> Known:
        """Look up runs, forgotten ones too, by their names and content hashes."""
        asked = {"dataset_id": dataset_id, "names": sorted(set(names))}
        named = "dataset_id = $dataset_id and list_contains($names::varchar[], name)"
        oldest_first = "order by store.recency(ingested_at, content_hash)"
        found = rows.as_dicts(con, f"from store.run where {named} {oldest_first}", asked)
        current = {row["name"]: row for row in found}
        last = {name: int(row["version"]) for name, row in current.items()}
        gone = rows.as_dicts(
            con, f"from store.forgotten_run where {named} order by forgotten_at, ingested_at", asked
        )
        for row in gone:
            last[row["name"]] = max(int(row["version"]), last.get(row["name"], 0))
        there = {(row["name"], row["content_hash"]): row["ingested_at"] for row in found}
        tombs = {
            (row["name"], row["content_hash"]): row
            for row in gone
            # a forgotten run that somebody has loaded again is no longer forgotten, and what was
            # removed with its file comes back with it
            if row["reason"] != FILE_GONE
            and there.get((row["name"], row["content_hash"]), row["ingested_at"])
            <= row["ingested_at"]
        }
        alike: dict[str, list[str]] = defaultdict(list)
        for content_hash, name in con.execute(
            "select content_hash, name from store.run "
            "semi join (from store.run_version where is_current) using (run_id) "
            "where dataset_id = $dataset_id "
            f"and list_contains($hashes::varchar[], content_hash) {oldest_first}",
            {"dataset_id": dataset_id, "hashes": sorted(set(hashes))},
        ).fetchall():
            alike[content_hash].append(name)
        next_id = rows.next_id(con, "run_id", "run", "forgotten_run")
        return cls(con, dataset_id, current, tombs, Clock(con), last, alike, next_id)

    def alike(self, content_hash: str, name: str) -> list[str]:
        """Return the other names of current runs with a content, the oldest first."""
        return [other for other in self._names[content_hash] if other != name]

    def tags(self, run_id: int) -> Mapping[str, str]:
        """Return the tags of a run."""
        if run_id in self._tags:
            return self._tags[run_id]
        found = self.con.execute(
            "select key, value from store.run_tag where run_id = $1", [run_id]
        ).fetchall()
        return {str(key): str(value) for key, value in found}

    def rename(
        self,
        gone: frozenset[str],
        name: str,
        content_hash: str,
        system: str | None,
        tags: Mapping[str, str],
    ) -> str | None:
        """Give a new name to a run whose file is gone, if it has this content; return its old name.

        A run of another system, or with other tags, is another run.
        """
        if name in self._last:
            return None
        of_name = "dataset_id = $dataset_id and name = $old"
        for old in self._names[content_hash]:
            asked = {"dataset_id": self.dataset_id, "old": old}
            row = steps.newest(self.con, "run", of_name, asked) if old in gone else None
            if row is None or row["content_hash"] != content_hash:
                continue
            if system is not None and row["system"] != system:
                continue
            if any(self.tags(row["run_id"]).get(key) != value for key, value in tags.items()):
                continue
            checksums.change(self.con, "run", {"name": name}, of_name, asked)
            self.current[name] = row | {"name": name}
            self._last[name] = int(row["version"])
            self._names[content_hash] = [n for n in self._names[content_hash] if n != old]
            return old
        return None

    def add(self, name: str, row: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
        """Add a run, or a new version of it; return its row, with number and version."""
        version = self._last.get(name, 0) + 1
        known = {"run_id": self._next_id, "dataset_id": self.dataset_id}
        whole = {**known, "name": name, "version": version, **row}
        self._next_id += 1
        self._last[name] = version
        self.current[name] = whole
        self._names[whole["content_hash"]].append(name)
        self._rows.append(whole)
        self._tags[whole["run_id"]] = dict(tags)
        return whole

    def write(self) -> None:
        """Write the added runs to the database; gates are due to check them."""
        if self._rows:
            rows.add(self.con, "run", self._rows)
            rows.add(self.con, "gate_due", [{"run_id": row["run_id"]} for row in self._rows])
        tags = [
            {"run_id": run_id, "key": key, "value": value}
            for run_id, tags in self._tags.items()
            for key, value in tags.items()
        ]
        if tags:
            rows.add(self.con, "run_tag", tags)

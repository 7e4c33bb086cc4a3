"""What the catalogue knows about some runs of a dataset, read once for all, and what is added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from warehouse.ingest import steps
from warehouse.store import checksums, database, schema
from warehouse.store.clock import Clock

# The reason of what was forgotten because its file is gone.
FILE_GONE = "its file is gone"


@dataclass
class Known:
    """The runs that have some names or some contents, and the runs being added to them.

    `current` has the newest version of a run by its name, `forgotten` the forgotten versions by
    name and content hash.
    """

    connection: sa.Connection
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
        cls, connection: sa.Connection, dataset_id: int, names: Iterable[str], hashes: Iterable[str]
    ) -> Known:
        """Look up runs, forgotten ones too, by their names and content hashes."""
        run, forgotten = schema.run, schema.forgotten_run
        wanted, contents = sorted(set(names)), sorted(set(hashes))
        ours = sa.and_(run.c.dataset_id == dataset_id, run.c.name.in_(wanted))
        oldest_first = sa.func.recency(run.c.ingested_at, run.c.content_hash)
        rows = connection.execute(sa.select(run).where(ours).order_by(oldest_first)).fetchall()
        current = {row.name: dict(row._mapping) for row in rows}
        last = {name: int(row["version"]) for name, row in current.items()}
        gone = connection.execute(
            sa.select(forgotten)
            .where(forgotten.c.dataset_id == dataset_id, forgotten.c.name.in_(wanted))
            .order_by(forgotten.c.forgotten_at, forgotten.c.ingested_at)
        ).fetchall()
        for row in gone:
            last[row.name] = max(int(row.version), last.get(row.name, 0))
        there = {(row.name, row.content_hash): row.ingested_at for row in rows}
        tombs = {
            (row.name, row.content_hash): dict(row._mapping)
            for row in gone
            # a forgotten run that somebody has loaded again is no longer forgotten, and what was
            # removed with its file comes back with it
            if row.reason != FILE_GONE
            and there.get((row.name, row.content_hash), row.ingested_at) <= row.ingested_at
        }
        alike: dict[str, list[str]] = defaultdict(list)
        found = connection.execute(
            sa.select(run.c.content_hash, run.c.name)
            .where(run.c.dataset_id == dataset_id, run.c.content_hash.in_(contents))
            .order_by(oldest_first)
        )
        for content_hash, name in found.fetchall():
            alike[content_hash].append(name)
        next_id = schema.next_id(connection, run.c.run_id, forgotten.c.run_id)
        clock = Clock(database.raw(connection))
        return cls(connection, dataset_id, current, tombs, clock, last, alike, next_id)

    def alike(self, content_hash: str, name: str) -> list[str]:
        """Return the other names of runs with a content, the oldest first."""
        return [other for other in self._names[content_hash] if other != name]

    def tags(self, run_id: int) -> Mapping[str, str]:
        """Return the tags of a run."""
        if run_id in self._tags:
            return self._tags[run_id]
        table = schema.run_tag
        rows = self.connection.execute(
            sa.select(table.c.key, table.c.value).where(table.c.run_id == run_id)
        ).fetchall()
        return {row.key: row.value for row in rows}

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
        table = schema.run
        for old in self._names[content_hash]:
            newest = sa.and_(table.c.dataset_id == self.dataset_id, table.c.name == old)
            row = steps.newest(self.connection, table, newest) if old in gone else None
            if row is None or row["content_hash"] != content_hash:
                continue
            if system is not None and row["system"] != system:
                continue
            if any(self.tags(row["run_id"]).get(key) != value for key, value in tags.items()):
                continue
            checksums.change(
                database.raw(self.connection), "run", {"name": name},
                "dataset_id = $dataset_id and name = $old",
                {"dataset_id": self.dataset_id, "old": old},
            )  # fmt: skip
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
            self.connection.execute(schema.run.insert().values(self._rows))
            due = [{"run_id": row["run_id"]} for row in self._rows]
            self.connection.execute(schema.gate_due.insert().values(due))
        tags = [
            {"run_id": run_id, "key": key, "value": value}
            for run_id, tags in self._tags.items()
            for key, value in tags.items()
        ]
        if tags:
            self.connection.execute(schema.run_tag.insert().values(tags))

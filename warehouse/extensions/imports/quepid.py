"""Quepid's exports as CSV: the ratings of a case, and a snapshot, which is a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warehouse.config import times
from warehouse.errors import InputError, counted, listing
from warehouse.readers import reshaped, staging
from warehouse.readers.csv_tsv import Csv, cells
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, Head, Reading, Table
from warehouse.readers.ir_metadata import Description
from warehouse.readers.kinds import ColumnNames, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_RATINGS = ("query", "docid", "rating")
_SNAPSHOT = ("Snapshot Name", "Snapshot Time", "Case ID", "Query Text", "Doc ID", "Doc Position")


class Quepid(Csv):
    """Ratings, below `query,docid,rating`; or a snapshot, below `Snapshot Name,Snapshot Time,…`."""

    name = "quepid"
    suffixes = ()
    contents = ("run", "qrels", "training")
    # a query without ratings stands alone in its line
    pads = True

    def sniff(self, head: Head) -> Confidence:
        """Go by the names in the first line, which are always the same."""
        names = tuple(cells(head.line, self.delimiter))
        is_one = names == _RATINGS or names[: len(_SNAPSHOT)] == _SNAPSHOT
        return Confidence.CONTENT if is_one else Confidence.NONE

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Read each alone: each has one snapshot."""
        return None

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the ratings that there are, or the documents of a snapshot by their places."""
        table = self.read_table(con, source, "query_id", ())
        try:
            if ("Doc Position" in table.columns) != (kind == "run"):
                held = (
                    "ratings, which are judgments"
                    if kind == "run"
                    else "a snapshot, which is a run"
                )
                raise InputError(f"{source.source}: holds {held}")
            return _snapshot(con, table, mapping) if kind == "run" else _ratings(con, table, kind)
        finally:
            staging.drop(con, "staged_table")


def _ratings(con: Connection, table: Table, kind: Kind) -> Reading:
    """Read the ratings. Quepid also writes queries and documents without one."""
    ((rows, rated),) = con.execute("select count(*), count(rating) from staged_table").fetchall()
    if not rated:
        raise InputError(f"{table.source}: has no rating ({counted(rows, 'row')})")
    names = {"query_id": "query", "doc_id": "docid", "relevance": "rating"}
    reading = reshaped.read(con, table, kind, names, "rating is not null")
    unrated = counted(rows - rated, "row")
    warnings = (f"{unrated} without a rating: not judged",) if rated < rows else ()
    return replace(reading, warnings=(*warnings, *reading.warnings))


def _snapshot(con: Connection, table: Table, mapping: ColumnNames) -> Reading:
    """Read a snapshot; its name and its case become tags."""
    found = con.execute(
        'select distinct "Snapshot Name", "Snapshot Time", "Case ID" from staged_table order by all'
    ).fetchall()
    if len(found) != 1:
        there = listing([str(name) for name, _, _ in found]) or "none"
        raise InputError(f"{table.source}: a run is one snapshot; found are: {there}")
    name, time, case = found[0]
    names = {"query_id": "Query Text", "doc_id": "Doc ID", "rank": "Doc Position"}
    reading = reshaped.read(con, table, "run", {**names, **mapping})
    try:
        run_at = None if time is None else times.begin(time)
    except ValueError as error:
        raise InputError(f"{table.source}: Snapshot Time {time!r}: {error}") from None
    tags = {"quepid_snapshot": name, "quepid_case": case}
    about = Description(None, run_at, {key: value for key, value in tags.items() if value})
    return replace(reading, about=about)

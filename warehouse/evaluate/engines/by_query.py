"""Scoring by query: runs are read in tasks, divided by the hash of the query, and scored in others.

For runs that are too large for one task. A bucket has the lists that all runs give for its queries,
with their positions in the source, so that protocols that keep the order of the file have it.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, UsageError, WarehouseError, listing, option
from warehouse.evaluate import engine, file_scoring
from warehouse.evaluate.engines.tasks import Note, Reply, RunFiles, Task, Work, arrow
from warehouse.evaluate.scope import Scope
from warehouse.metrics.notation import Metric
from warehouse.readers import batches, checks
from warehouse.readers.staging import row_count
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BUCKETS = 32
# The columns of a row between the two kinds of tasks. It has some predictions of a bucket, packed, so
# that what carries it handles few rows; none, to make sure that the bucket is there; or a note about a
# run, whose bucket is none of those that are scored.
COLUMNS = "bucket int, packed binary"


BY = ("run", "query")


@dataclass(frozen=True)
class Bucket:
    """The rows of some queries."""

    number: int
    rows: pa.Table


@dataclass(frozen=True)
class Named:
    """A table of runs that no reader has checked, with the names of the runs."""

    source: str
    names: tuple[str, ...]


def bucket_of(query_id: str, num_buckets: int) -> int:
    """Return the bucket of a query.

    >>> bucket_of("q1", 32)
    18
    """
    return zlib.crc32(query_id.encode()) % num_buckets


def check(metrics: Collection[Metric]) -> None:
    """Refuse metrics whose values need more than one query."""
    whole = [str(metric) for metric in metrics if metric.grain != "query"]
    if whole:
        raise UsageError(
            f"{option('by', 'query')}: a value of {listing(whole)} needs all queries at once; "
            f"divide the work by "
            "run, or leave the metric out"
        )


def read(work: Work, part: RunFiles) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the runs of a part, and a note about each run."""
    if part.first == 0:
        for number in range(work.num_buckets):
            yield _batch(number)
    for index, (name, source) in enumerate(zip(part.names, part.sources, strict=True), part.first):
        try:
            yield from _read(work, index, name, source)
        except WarehouseError as error:
            yield _batch(work.num_buckets, pickle.dumps((index, name, error)))


def _batch(bucket: int, packed: bytes | None = None) -> pa.RecordBatch:
    import pyarrow as pa

    schema = pa.schema([("bucket", pa.int32()), ("packed", pa.binary())])
    return pa.RecordBatch.from_arrays([[bucket], [packed]], schema=schema)


def _packed(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each bucket as one row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ordered = rows.take(pc.sort_indices(rows, sort_keys=[("bucket", "ascending")]))
    numbers = ordered.column("bucket")
    kept = ordered.drop_columns(["bucket"])
    first = 0
    for ends in pc.value_counts(numbers):
        count = ends["counts"].as_py()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, kept.schema) as stream:
            stream.write_batch(kept.slice(first, count))
        yield _batch(ends["values"].as_py(), sink.getvalue().to_pybytes())
        first += count


def unpacked(rows: pa.Table) -> pa.Table | None:
    """Return the predictions of the rows of a bucket, None if there are none."""
    import pyarrow as pa

    packed = [value.as_buffer() for value in rows.column("packed") if value.is_valid]
    tables = [pa.ipc.open_stream(buffer).read_all() for buffer in packed]
    return pa.concat_tables(tables) if tables else None


def _read(work: Work, index: int, name: str, source: object) -> Iterator[pa.RecordBatch]:
    how = work.reading
    con = database.memory(work.resources)
    try:
        for group in batches.groups(
            [source], format=how.format, columns=how.columns, normalise=how.normalise,
            where=how.where, repeated=how.repeated, hashed=False, shared=True, single=True,
        ):  # fmt: skip
            for batch in file_scoring.read_batches(con, group):
                (staged,) = batch.runs
                file_scoring.check_apart(work.truth, staged, source)
                turned = how.lower_is_better or staged.ranked_by == "rank"
                ids = con.execute("select query_id from staged_ranking").fetchall()
                make_buckets(con, [query_id for (query_id,) in ids], work.num_buckets)
                rows: Any = con.sql(render("statements/bucket_rows", run=index, is_turned=turned))
                for some in rows.to_arrow_reader(200_000):
                    yield from _packed(some)
                yield _batch(work.num_buckets, pickle.dumps((index, name, staged)))
    finally:
        con.close()


def make_buckets(con: duckdb.DuckDBPyConnection, queries: Sequence[str], num_buckets: int) -> None:
    """Make the table `query_bucket (query_id, bucket)` of some queries."""
    con.execute(
        "create or replace temp table query_bucket as "
        "select unnest($ids::varchar[]) as query_id, unnest($numbers::integer[]) as bucket",
        {"ids": queries, "numbers": [bucket_of(query_id, num_buckets) for query_id in queries]},
    )


def judged_rows(con: duckdb.DuckDBPyConnection, work: Task, bucket: int) -> str:
    """Make the table of the judgments of a bucket's queries; return its name."""
    judged = [query for query in work.judged if bucket_of(query, work.num_buckets) == bucket]
    con.execute(
        f"create or replace temp table bucket_qrels as from {ident(work.rows)} "
        "where query_id in (select unnest($judged::varchar[]))",
        {"judged": judged},
    )
    return "bucket_qrels"


def _no_rows() -> pa.Table:
    import pyarrow as pa

    types = {"run": pa.int32(), "is_turned": pa.bool_(), "position": pa.int64()}
    types |= {"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float64()}
    return pa.schema(types).empty_table()


def read_all(work: Work, part: RunFiles) -> pa.Table:
    """Return the rows of the runs of a part, and a note about each run."""
    import pyarrow as pa

    return pa.Table.from_batches(read(work, part))


def buckets(work: Work, tables: Iterable[pa.Table]) -> list[Bucket]:
    """Divide rows by their buckets, the last of which has the notes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.concat_tables(tables)
    numbers = rows.column("bucket")
    return [Bucket(n, rows.filter(pc.equal(numbers, n))) for n in range(work.num_buckets + 1)]


def _refuse(con: duckdb.DuckDBPyConnection, table: Named) -> list[Note]:
    """Remove the staged runs that cannot be scored; return a note about each."""
    if not checks.any_problem(con, "run", unread=None, together=True):
        return []
    rows = con.execute(render("checks/bucket_runs")).fetchall()
    runs = [run for run, _ in rows]
    con.execute(
        "create or replace temp table staged as from staged "
        "where run_number not in (select unnest($runs::integer[])) order by rowid",
        {"runs": runs},
    )
    return [
        (run, table.names[run], InputError(f"{table.source}: run {table.names[run]}: {problem}"))
        for run, problem in rows
    ]


def score(work: Work, bucket: Bucket) -> Reply:
    """Score the lists of a bucket; a run that answers none of its queries gets their values too."""

    if bucket.number == work.num_buckets:
        return Reply(notes=[pickle.loads(n.as_py()) for n in bucket.rows.column("packed")])
    return score_rows(work, bucket.number, unpacked(bucket.rows))


def score_rows(work: Work, number: int, rows: pa.Table | None, table: Named | None = None) -> Reply:
    """Score the lists of a bucket, given as rows `run, is_turned, position, query_id, doc_id, score`."""
    import pyarrow as pa

    reply = Reply()
    plan = work.plan
    values, lists = [], []
    with work.connected() as con:
        con.register("bucket_row", _no_rows() if rows is None else rows)
        truth = replace(work.truth, rows=judged_rows(con, work, number))
        found = con.execute("select distinct run from bucket_row where is_turned").fetchall()
        turned = sorted(run for (run,) in found)
        others = sorted({*range(work.num_runs)} - {*turned})
        for is_turned, runs in ((False, others), (True, turned)):
            if not runs:
                continue
            con.execute(render("statements/bucket_staged", is_turned=is_turned))
            if table is not None:
                reply.notes += _refuse(con, table)
            checks.make_rankings(con, together=True)
            checks.walk_staged(con, ranks=False, lowest_first=is_turned)
            con.execute(render("statements/bucket_empty", is_turned=is_turned))
            counts = file_scoring.put_in_scope(
                con, truth, plan, runs, first=0, rows=row_count(con), together=True,
                lower_is_better=is_turned,
            )  # fmt: skip
            Scope(con).judged_documents(work.truth.rows)
            engine.compute(con, plan)
            values.append(arrow(con, render("statements/bucket_values")))
            lists.append(
                arrow(
                    con,
                    "select run_id as run, query_id::varchar as query_id, num_ret from scope_ranking",
                )
            )
            reply.counts |= dict(zip(runs, counts, strict=True))
    reply.values, reply.lists = pa.concat_tables(values), pa.concat_tables(lists)
    return reply

"""Tables of runs in Spark: a data frame, or a folder of Parquet files or of a Delta table.

A row is a document in a list of a run. Spark reads and shuffles the rows by itself; a task scores the
lists of a bucket of queries, as in `queries`, and checks them, as no reader has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.config.installation import adding
from warehouse.errors import InputError, UsageError, listing, option
from warehouse.evaluate.engines import by_query
from warehouse.evaluate.engines.tasks import Reply, Work
from warehouse.evaluate.plan import Plan
from warehouse.readers import Staged

if TYPE_CHECKING:
    import pyarrow as pa

_RUN, _POSITION = "run", "position"
_LOG = "_delta_log"
# Features of Delta tables that reading their files alone would miss.
_UNREADABLE = {"deletionVectors", "columnMapping"}


@dataclass(frozen=True)
class RunTable:
    """Rows `run, query_id, doc_id, score, position` of several runs, and their number by run."""

    source: str
    frame: Any
    rows: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(self.rows)

    def scorer(self, work: Work) -> Callable[[int, pa.Table], Reply]:
        """Return the function that scores a bucket of the rows."""
        return partial(score, work, self.source, self.names)

    def staged(self, name: str) -> Staged:
        """Return the staged run."""
        source, rows = f"{self.source}: {name}", self.rows[name]
        return Staged("run", source, "table", rows, None, "score", None, ())


def is_table(source: object) -> bool:
    """Whether a source is a table of several runs."""
    if hasattr(source, "sparkSession"):
        return True
    if not isinstance(source, str | os.PathLike) or not Path(source).is_dir():
        return False
    folder = Path(source)
    if (folder / _LOG).is_dir():
        return True
    import pyarrow.parquet as pq

    files = sorted(folder.rglob("*.parquet"))
    if not files:
        return False
    inside = files[0].relative_to(folder).parts
    return (
        any(part.startswith(f"{_RUN}=") for part in inside)
        or _RUN in pq.read_schema(files[0]).names
    )


@dataclass(frozen=True)
class Table:
    """A table of several runs as it was given: a frame, or the path of a folder."""

    given: Any

    def read(self, engine: Any, work: Work) -> RunTable:
        """Open the table in a session of Spark; count the rows of its runs."""
        return read(engine, self.given, work)


def table_of(run: object, by: str) -> Table | None:
    """Return the table that is given as the run or as the only one of a list, if there is one."""
    given = run if isinstance(run, list | tuple) else [run]
    tables = [one for one in given if is_table(one)]
    if not tables:
        return None
    if len(given) > 1:
        raise UsageError(f"{_name(tables[0])}: is a table of runs; give it alone")
    if by != "query":
        raise UsageError(
            f"{_name(tables[0])}: a table of runs is divided by query: add {option('by', 'query')}"
        )
    return Table(tables[0])


def check(plan: Plan, has_position: bool) -> None:
    """Refuse metrics that need the order of the rows, which a table does not have."""
    following = [str(metric) for metric in plan.queries if plan.follows_source(metric)]
    if following and not has_position:
        is_rule = plan.protocol.ties == "input"
        what = f"the protocol {plan.protocol.name}" if is_rule else listing(following)
        raise UsageError(
            f"{what}: equal scores count in the order of the source, which a table does not keep; add a "
            f"column {_POSITION}, or choose another protocol"
        )


def read(engine: Any, source: Any, work: Work) -> RunTable:
    """Open a table in a session of Spark; count the rows of its runs."""
    if not hasattr(engine, "by_table"):
        raise UsageError(f"{_name(source)}: a table of runs needs {option('engine', 'spark')}")
    reading = work.reading
    rules = {
        "normalise": reading.normalise,
        "run-where": reading.where,
        "run-repeated": reading.repeated,
    }
    for name, given in rules.items():
        if given is not None:
            raise UsageError(
                f"{option(name, None)}: is for files; change the rows of the table instead"
            )
    frame = _frame(engine.session, source)
    ours = {
        name: (work.reading.columns or {}).get(name, name)
        for name in ("query_id", "doc_id", "score")
    }
    wanted = {_RUN: _RUN, **ours}
    lacking = [theirs for theirs in wanted.values() if theirs not in frame.columns]
    if lacking:
        raise InputError(
            f"{_name(source)}: no column {listing(lacking)} (there are: {listing(frame.columns)}); "
            f"{option('column', 'doc_id=document')} names another"
        )
    has_position = _POSITION in frame.columns
    check(work.plan, has_position)
    types = {"score": "double"}
    frame = frame.select(
        *(
            frame[theirs].cast(types.get(name, "string")).alias(name)
            for name, theirs in wanted.items()
        ),
        *([frame[_POSITION].cast("long").alias(_POSITION)] if has_position else []),
    )
    if not has_position:
        frame = frame.selectExpr("*", f"cast(null as long) as {_POSITION}")
    # an empty id is refused in the task; a row without a document would be a list without one
    frame = frame.fillna("", ["query_id", "doc_id"])
    counts = engine.counts(frame.groupBy(_RUN).count())
    if None in counts:
        raise InputError(
            f"{_name(source)}: {counts[None]:,} rows have no {_RUN}; each row needs one"
        )
    if not counts:
        raise InputError(f"{_name(source)}: the table has no rows")
    return RunTable(_name(source), frame, dict(sorted(counts.items())))


def score(work: Work, table: str, names: tuple[str, ...], number: int, rows: pa.Table) -> Reply:
    """Score a bucket of the rows of a table whose runs have these names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.filter(pc.is_valid(rows.column(_RUN)))
    indices = pc.index_in(rows.column(_RUN), value_set=pa.array(names, pa.string()))
    rows = rows.set_column(rows.schema.get_field_index(_RUN), _RUN, indices)
    turned = pa.scalar(work.reading.lower_is_better)
    rows = rows.append_column("is_turned", pa.repeat(turned, len(rows)))
    return by_query.score_rows(work, number, rows, by_query.Named(table, names))


def _name(source: Any) -> str:
    return "the table" if hasattr(source, "sparkSession") else str(source)


def _frame(session: Any, source: Any) -> Any:
    if hasattr(source, "sparkSession"):
        return source
    folder = Path(source).resolve()
    reader = session.read.option("basePath", str(folder))
    if not (folder / _LOG).is_dir():
        return reader.parquet(str(folder))
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise UsageError(f"{source}: a Delta table needs deltalake: {adding('lake')}") from None
    table = DeltaTable(str(folder))
    has = _UNREADABLE & set(table.protocol().reader_features or ())
    if has:
        raise UsageError(
            f"{source}: the Delta table uses {listing(sorted(has))}, which its files alone do not show; "
            "open it in Spark, and give the data frame"
        )
    files = table.file_uris()
    if not files:
        raise InputError(f"{source}: the table has no rows")
    return reader.parquet(*files)

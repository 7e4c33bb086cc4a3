"""Inputs and outputs of tasks: the work, its parts and the replies, all of which can be pickled."""

from __future__ import annotations

import os
import socket
import sys
import typing
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.config.installation import adding
from warehouse.config.settings import VERSION
from warehouse.errors import EngineError, UsageError, WarehouseError, counted, listing, option, url
from warehouse.evaluate.file_scoring import Counts, Reading, ScoredRun, Truth
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.scope import ATTRIBUTES
from warehouse.metrics import notation
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.readers.kinds import Staged
from warehouse.sql_text.quoting import ident
from warehouse.store import database

if TYPE_CHECKING:
    import pyarrow as pa

# DuckDB's limits in a task: several tasks share a machine.
_MEMORY = "1GB"
_THREADS = 1
# The most runs and bytes of a part, and the number of parts that there are at least, if there are as
# many runs.
_RUNS = 200
_BYTES = 1 << 27
_PARTS = 32


@dataclass(frozen=True)
class Versions:
    """The programs that compute."""

    warehouse: str
    duckdb: str

    def __str__(self) -> str:
        return f"ranking-warehouse {self.warehouse} with DuckDB {self.duckdb}"


def versions() -> Versions:
    """Return the versions of this process."""
    return Versions(VERSION, duckdb.__version__)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The inputs of every task apart from its part: the metrics, their rules and the ground truth."""

    metrics: tuple[str, ...]
    protocol: Protocol
    rows: str
    """The table of the judgments or preferences."""
    tables: dict[str, pa.Table]
    """The temporary tables of the ground truth."""
    resources: database.Resources
    num_buckets: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the metrics."""
        return plan(notation.parse(*self.metrics), self.protocol)

    @cached_property
    def judged(self) -> list[str]:
        """The ids of the judged queries."""
        return list(self.tables[self.rows].column("query_id").unique().to_pylist())

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a database in memory that has the ground truth."""
        con = database.memory(self.resources)
        try:
            for name, rows in self.tables.items():
                con.register("given", rows)
                con.execute(f"create temp table {ident(name)} as from given")
                con.unregister("given")
            yield con
        finally:
            con.close()


@dataclass(frozen=True, kw_only=True)
class Work(Task):
    """The inputs of every task that scores the files of runs."""

    truth: Truth
    reading: Reading
    per_query: bool
    num_runs: int = 0
    into: str | None = None
    """The folder into which each task writes the values of its queries."""


def work(
    con: duckdb.DuckDBPyConnection,
    asked: Plan,
    truth: Truth,
    reading: Reading,
    resources: database.Resources,
    *,
    per_query: bool,
    num_runs: int,
    num_buckets: int,
) -> Work:
    """Return the work of the tasks, with the ground truth that was read on a connection."""
    check_metrics(asked.queries)
    if truth.queries is not None:
        raise UsageError(
            f"{option('global')}: the judgments are made anew for each run, which only the local engine "
            f"does; leave out {option('engine', None)}"
        )
    return Work(
        metrics=tuple(str(metric) for metric in asked.queries),
        protocol=asked.protocol,
        rows=truth.rows,
        tables=ground_truth(con, truth.rows),
        resources=of_a_task(resources),
        num_buckets=num_buckets,
        truth=truth if isinstance(truth.given, str | os.PathLike) else replace(truth, given=None),
        reading=reading,
        per_query=per_query,
        num_runs=num_runs,
    )


def check_metrics(metrics: Collection[Metric]) -> None:
    """Refuse metrics that tasks elsewhere cannot compute."""
    own = [str(metric) for metric in metrics if metric.definition.is_own]
    if own:
        raise UsageError(
            f"{listing(own)}: a metric of the project or of this program, which tasks elsewhere do not "
            "have; "
            f"leave out {option('engine', None)}, or the metric"
        )


def ground_truth(con: duckdb.DuckDBPyConnection, rows: str) -> dict[str, pa.Table]:
    """Return the tables of the ground truth in scope; `rows` names the table of the judgments."""
    names = [rows, *ATTRIBUTES.values(), "scope_training"]
    return {name: arrow(con, f"from {ident(name)}") for name in names}


def of_a_task(resources: database.Resources) -> database.Resources:
    """Return DuckDB's limits in a task."""
    return database.Resources(resources.memory_limit or _MEMORY, resources.threads or _THREADS)


@dataclass(frozen=True)
class RunFiles:
    """Runs that one task reads, the first of them at index `first`."""

    first: int
    names: tuple[str, ...]
    sources: tuple[object, ...]


class HasVersions(typing.Protocol):
    """A reply that says which programs computed it."""

    @property
    def versions(self) -> Versions:
        """The programs."""
        ...


# The index and the name of a run, and the staged run or the error that refuses it.
Note = tuple[int, str, Staged | WarehouseError]


@dataclass
class Reply:
    """The results of a task, and which programs computed it.

    By run, `values` and `totals` are as `scoring.keep_values` makes them; `runs` and `refused` are by
    the names of the runs. By query, `values` has the columns `run, query_id, metric, value`, with
    numbers for runs and metrics, and `lists` the lengths of the lists; `counts` are by the numbers of
    the runs, and a note has the number and the name of a run, and what was read of it or why it is
    refused. `written` names the files with the values of the queries, if there is a folder for them.
    """

    values: pa.Table | None = None
    totals: pa.Table | None = None
    num_judged: int = 0
    runs: dict[str, ScoredRun] = field(default_factory=dict)
    refused: dict[str, WarehouseError] = field(default_factory=dict)
    lists: pa.Table | None = None
    counts: dict[int, Counts] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    versions: Versions = field(default_factory=versions)


def parts(names: Sequence[str], runs: Sequence[object]) -> list[RunFiles]:
    """Divide runs into parts of about the same size, in order."""
    sources = [_absolute(run) for run in runs]
    return [
        RunFiles(first, tuple(names[first:end]), tuple(sources[first:end]))
        for first, end in divided([_size(run) for run in runs], _BYTES)
    ]


def _absolute(run: object) -> object:
    """Return a source as a task finds it, whose current folder is another."""
    if not isinstance(run, str | os.PathLike) or url(os.fspath(run)) is not None:
        return run
    if os.fspath(run) == "-":
        raise UsageError(
            f"-: tasks cannot read standard input: name a file, or leave out {option('engine', None)}"
        )
    return str(Path(run).absolute())


def local_files(work: Iterable[RunFiles]) -> list[str]:
    """Return the files of some parts that tasks read from a disk."""
    return [
        one for part in work for one in part.sources if isinstance(one, str) and url(one) is None
    ]


def divided(sizes: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Divide runs of some sizes, in order, into parts of at most so much; return where they end.

    There are several parts if there are several runs, and a run is never divided.

    >>> divided([5, 5, 9, 1], 10)
    [(0, 1), (1, 2), (2, 3), (3, 4)]
    """
    count = min(_RUNS, -(-len(sizes) // _PARTS))
    found: list[tuple[int, int]] = []
    first = filled = 0
    for index, size in enumerate(sizes):
        if index > first and (index - first == count or filled + size > most):
            found.append((first, index))
            first, filled = index, 0
        filled += size
    return [*found, (first, len(sizes))]


def _size(run: object) -> int:
    try:
        return Path(str(run)).stat().st_size
    except OSError:  # the task says so
        return 0


def check_versions(replies: Iterable[HasVersions]) -> None:
    """Refuse values that other versions than this process's computed."""
    ours = versions()
    others = [reply.versions for reply in replies if reply.versions != ours]
    if others:
        found = listing(sorted({str(other) for other in others}))
        raise EngineError(
            f"{counted(len(others), 'task')} ran {found}, and this process runs {ours}: values of "
            "several versions are not mixed; install the same versions on every machine"
        )


@dataclass(frozen=True)
class Host:
    """What a task found on its machine: its name, the programs, and the files that it does not see."""

    name: str
    missing: tuple[str, ...]
    versions: Versions = field(default_factory=versions)


def look_around(files: Sequence[str]) -> Host:
    """Look from a task for files that it is going to read."""
    return Host(socket.gethostname(), tuple(file for file in files if not Path(file).exists()))


def check_hosts(hosts: Sequence[Host], files: Sequence[str]) -> None:
    """Refuse machines with other programs, or that do not see files which are seen here."""
    check_versions(hosts)
    for host in hosts:
        lost = [file for file in host.missing if Path(file).exists()]
        if lost:
            raise EngineError(
                f"the machine {host.name} does not see {listing(lost, 3)} ({len(lost):,} of "
                f"{counted(len(files), 'file')}): every machine must see them under the same paths; "
                "mount their folder there, or name another or URLs"
            )


def arrow(con: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Return the rows of a query as an Arrow table."""
    check_arrow()
    found: Any = con.sql(sql)
    return found.to_arrow_table()


def check_arrow() -> None:
    """Refuse to go on without pyarrow."""
    if "pyarrow" in sys.modules:
        return
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError(
            f"engines pass tables as Arrow, which needs pyarrow: {adding('arrow')}"
        ) from None

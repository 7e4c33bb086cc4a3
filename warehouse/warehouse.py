"""The class `Warehouse`: the same verbs as the commands, for scripts and notebooks."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import duckdb

from warehouse import database, protocols
from warehouse import metrics as notation
from warehouse.analyze import across, adhoc, board
from warehouse.errors import UsageError
from warehouse.evaluate.plan import plan
from warehouse.settings import database_path
from warehouse.templates import render

if TYPE_CHECKING:
    import sqlalchemy as sa

    from warehouse.evaluate.files import Scored
    from warehouse.evaluate.stored import Outcome
    from warehouse.ingest import Loaded, LoadedAttributes

DEFAULT_METRICS = ("nDCG@10", "AP", "RR", "P@10", "R@100", "R@1000", "Judged@10")
T = TypeVar("T")
Texts = str | Sequence[str]
# A metric that is read already means what it is, whatever the protocol.
Metrics = str | Sequence[str | notation.Metric]


@dataclass(frozen=True)
class Scores:
    """The values of a run that was scored from files.

    `relation` has the columns `query_id, metric, value`: the queries in byte order, each with its
    metrics as asked for, then the values over all queries under the query_id 'all'. `lines` are the
    lines of trec_eval's layout: what was requested, and its relstrings, whose texts are in `strings`
    by label and query.
    """

    relation: duckdb.DuckDBPyRelation
    requested: tuple[notation.Requested, ...]
    read: Scored
    lines: tuple[notation.Line, ...] = ()
    strings: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def means(self) -> dict[str, float | None]:
        """Return the value over all queries of each metric, by its canonical name."""
        rows = self.relation.filter("query_id = 'all'").fetchall()
        return {str(metric): value for _, metric, value in rows}


class Warehouse:
    """A warehouse file and what can be done with it.

    Every verb opens the file, does its work in one transaction and lets go of it again; results are
    DuckDB relations with `.df()`, `.pl()`, `.arrow()` and `.fetchall()` that hold no lock.

    >>> import tempfile
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> wh.ingest_qrels({"q1": {"a": 1, "b": 0}}, "tiny").status
    'loaded'
    >>> wh.ingest_run({"q1": {"b": 2.0, "a": 1.0}}, "tiny", name="first").status
    'loaded'
    >>> wh.evaluate(metrics="AP RR").computed
    2
    >>> wh.leaderboard("tiny").fetchall()
    [(1, 'first', None, 0.5, 0.5, 1, 1)]
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | None = None,
        lock_timeout: float = database.LOCK_TIMEOUT,
    ) -> None:
        self.path = database_path(path)
        self.resources = database.Resources(memory_limit, threads, temp_directory)
        self.lock_timeout = lock_timeout

    def __repr__(self) -> str:
        return f"Warehouse({str(self.path)!r})"

    # ------------------------------------------------------------------ writing

    def init(self) -> bool:
        """Make the file, or bring it to this program's schema; tell whether anything changed."""
        from warehouse import schema

        return schema.ensure(self.path, lock_timeout=self.lock_timeout)

    def ingest_qrels(
        self,
        source: object,
        dataset: str,
        *,
        label: str | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        is_global: bool = False,
        queries: object | None = None,
        iterations: bool = False,
        replace: bool = False,
    ) -> Loaded:
        """Load judgments: a path, '-' for stdin, a dict, a data frame, an Arrow table or a relation.

        Columns: `query_id, doc_id, relevance[, iteration]`; `columns` maps these to other names.
        With `iterations` a document may be judged once per iteration (a subtopic, a judgment group);
        the format "prefs" is a file of preferences. With `is_global` they are one set of documents for
        every query of `queries`, else of the runs. Raises InputError for bad content and ConflictError
        where other qrels are loaded already; `replace` makes them a new version.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> path = folder + "/subtopics.txt"
        >>> _ = open(path, "w").write("q 1 a 1\\nq 2 a 0\\n")
        >>> Warehouse(folder + "/it.duckdb").ingest_qrels(path, "tiny", iterations=True).num_rows
        2
        """
        from warehouse.ingest import load_qrels

        self.init()
        with self._write() as connection:
            return load_qrels(
                connection, source, dataset,
                label=label, format=format, columns=columns, normalise=normalise,
                is_global=is_global, queries=queries, iterations=iterations, replace=replace,
            )  # fmt: skip

    def ingest_training(
        self,
        source: object,
        dataset: str,
        *,
        label: str | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> Loaded:
        """Load a training set: what a system was trained on, or what users had seen before.

        Sources and errors are those of `ingest_qrels`; the columns are `query_id, doc_id[, relevance]`,
        and relevance is 1 in a table without it.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_training({"ann": {"alien": 1}}, "films").status
        'loaded'
        """
        from warehouse.ingest import load_training

        self.init()
        with self._write() as connection:
            return load_training(
                connection, source, dataset,
                label=label, format=format, columns=columns, normalise=normalise, replace=replace,
            )  # fmt: skip

    def ingest_run(
        self,
        source: object,
        dataset: str,
        *,
        name: str | None = None,
        name_from: Literal["stem", "tag"] = "stem",
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_at: dt.datetime | None = None,
        lower_is_better: bool = False,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> Loaded:
        """Load a run: a path, '-' for stdin, a dict, a data frame, an Arrow table or a relation.

        Columns: `query_id, doc_id, score[, rank]`, or a rank and no score. Raises InputError for bad
        content and ConflictError where the name is taken by other content; `replace` makes a new
        version of the run.
        """
        from warehouse.ingest import RunOptions, load_run

        options = RunOptions(name, name_from, system, tags or {}, run_at, lower_is_better)
        self.init()
        with self._write() as connection:
            return load_run(
                connection, source, dataset, options,
                format=format, columns=columns, normalise=normalise, replace=replace,
            )  # fmt: skip

    def ingest_attributes(
        self,
        source: object,
        dataset: str,
        of: Literal["docs", "queries"],
        *,
        name: str | None = None,
        id: str | None = None,
        split: Mapping[str, str] | None = None,
        format: str | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> LoadedAttributes:
        """Load attributes of documents or queries: any table with one row per id.

        The ids are in the column `doc_id` or `query_id`, else in the column `id`. A dict is
        `{id: {attribute: value}}`; `split={"genres": "|"}` makes lists of a column of text.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_attributes({"up": {"year": 2009}}, "films", "docs", name="years").columns
        {'year': 'number'}
        """
        from warehouse.ingest import load_attributes

        self.init()
        with self._write() as connection:
            return load_attributes(
                connection, source, dataset, of, name=name, id=id, split=split,
                format=format, normalise=normalise, replace=replace,
            )  # fmt: skip

    def evaluate(
        self,
        dataset: str | None = None,
        *,
        runs: Texts = (),
        metrics: Metrics = (),
        protocol: str = protocols.DEFAULT,
        dry_run: bool = False,
        on_metric: Callable[[str], None] | None = None,
    ) -> Outcome:
        """Compute the metrics that are missing or stale; all of them become visible together."""
        from warehouse.evaluate import grounds, stored

        rules = protocols.get(protocol)
        wanted = notation.parse(*(_texts(metrics) or DEFAULT_METRICS), defaults=rules.defaults())
        work = plan(wanted, rules)
        names = _texts(runs)
        with self._read() as con:
            found = stored.evaluate(con, work, stored.candidates(con, dataset, names), dry_run=True)
        if dataset in found.unfit:
            raise UsageError(grounds.unfit(dataset, found.unfit[dataset]))
        if not dry_run and found.computed:
            with self._write() as connection:
                con = database.raw(connection)
                found = stored.evaluate(
                    con, work, stored.candidates(con, dataset, names), on_metric=on_metric
                )
        return found

    @staticmethod
    def sql(metrics: Metrics, *, protocol: str = protocols.DEFAULT) -> str:
        """Return the SQL that computes some metrics, as readable scripts."""
        rules = protocols.get(protocol)
        work = plan(notation.parse(*_texts(metrics), defaults=rules.defaults()), rules)
        return "\n\n".join(work.script(metric) for metric in work.queries) + "\n"

    # ------------------------------------------------------------------ reading

    def leaderboard(
        self,
        dataset: Texts,
        *,
        metrics: Metrics = (),
        sort: str | None = None,
        top: int | None = None,
        protocol: str = protocols.DEFAULT,
        weights: across.Weights = "equal",
        by: Literal["run", "system"] = "run",
        each: bool = False,
    ) -> duckdb.DuckDBPyRelation:
        """Return the board of a dataset, best first by `sort` (else the first metric).

        Columns: `place, run, system`, one per metric, `answered` and `judged` (queries).

        Of several datasets (a list, or a pattern as in 'proj*') it is the board of the runs that have
        values in all of them, matched by name or `by="system"`. A value is then the mean over the
        datasets, weighted by "relevant" judgments, by judged "queries" or by given weights, as in
        `{"A": 2, "B": 1}`; `each=True` adds the value in each dataset, in the column 'AP A'.
        """
        return self.board(
            dataset, metrics=metrics, sort=sort, top=top, protocol=protocol,
            weights=weights, by=by, each=each,
        ).relation  # fmt: skip

    def board(
        self,
        dataset: Texts,
        *,
        metrics: Metrics = (),
        sort: str | None = None,
        top: int | None = None,
        protocol: str = protocols.DEFAULT,
        weights: across.Weights = "equal",
        by: Literal["run", "system"] = "run",
        each: bool = False,
    ) -> board.Board:
        """Return what `leaderboard` does with notes on it: how its values came to be, what is not in."""
        rules = protocols.get(protocol)
        order = self._metrics([sort], rules)[0] if sort is not None else None
        wanted = self._metrics(metrics, rules)
        with self._read() as con:
            datasets = across.named_datasets(
                con, [dataset] if isinstance(dataset, str) else dataset
            )
            if len(datasets) == 1:
                only = board.leaderboard(con, datasets[0], wanted, rules, sort=order, top=top)
                across.weights_of(con, datasets, weights)
                return only
            return across.leaderboard(
                con, datasets, wanted, rules,
                weights=weights, by=by, each=each, sort=order, top=top,
            )  # fmt: skip

    def queries(
        self,
        run: str,
        dataset: str,
        *,
        metrics: Metrics = (),
        worst: int | None = None,
        protocol: str = protocols.DEFAULT,
    ) -> duckdb.DuckDBPyRelation:
        """Return a run's values query by query, with its counts of documents.

        Columns: `query_id`, one per metric, `retrieved, relevant_retrieved, relevant,
        unjudged_at_10`. `worst=N` gives the N worst by the first metric, worst first.
        """
        rules = protocols.get(protocol)
        with self._read() as con:
            return board.queries(
                con, run, dataset, self._metrics(metrics, rules), rules, worst=worst
            )

    def query(
        self, sql: str, output: Path | None = None, /, **params: object
    ) -> duckdb.DuckDBPyRelation:
        """Run one SQL statement, read-only, with `$name` bound from the keywords.

        Files and network are closed to it; `output` is the one file that the relation may be
        written to afterwards.
        """
        with self._read() as con:
            return adhoc.query(con, sql, params, output)

    def runs(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current runs, of one dataset or of all."""
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            return board.keep(con, render("analyses/runs"), {"dataset": dataset})

    def datasets(self) -> duckdb.DuckDBPyRelation:
        """Return the datasets with their qrels and the number of runs."""
        with self._read() as con:
            return board.keep(con, render("analyses/datasets"))

    def attributes(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current attributes of documents and queries, with their types and counts."""
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            return board.keep(con, render("analyses/attributes"), {"dataset": dataset})

    def schema(self) -> duckdb.DuckDBPyRelation:
        """Return every table, view and column with its comment."""
        with self._read() as con:
            return board.keep(con, render("analyses/schema", database=database.ALIAS))

    # ------------------------------------------------------------------ files in, numbers out

    @staticmethod
    def score(
        qrels: object,
        run: object,
        metrics: Metrics = ("official",),
        *,
        per_query: bool = True,
        protocol: str = protocols.DEFAULT,
        level: int | None = None,
        complete: bool = False,
        judged_only: bool = False,
        depth: int | None = None,
        lower_is_better: bool = False,
        qrels_format: str | None = None,
        run_format: str | None = None,
        columns: Mapping[str, str] | None = None,
        attributes: Sequence[object] = (),
        normalise: str | None = None,
        is_global: bool = False,
        queries: object | None = None,
        iterations: bool = False,
        training: object = None,
        zscores: str | os.PathLike[str] | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> Scores:
        """Score a run against qrels without storing anything; the same templates as `evaluate`.

        `level`, `complete`, `judged_only`, `depth` and `zscores` are trec_eval's -l, -c, -J, -M and -Z;
        its -R is `iterations` (qrels_jg, qrels_prefs) and `qrels_format="prefs"`. `training` is a
        training set. `attributes` are sources of attributes of the documents.

        >>> Warehouse.score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR P@1").means()
        {'RR': 0.5, 'P@1': 0.0}
        """
        from warehouse.evaluate import files
        from warehouse.evaluate.zscores import standardise
        from warehouse.readers.zscores import read as read_zscores

        rules = protocols.get(protocol)
        rules = replace(
            rules,
            queries="judged" if complete else rules.queries,
            judged_only=judged_only or rules.judged_only,
            depth=rules.depth if depth is None else depth,
        )
        lines = notation.lines(*_texts(metrics), defaults=rules.defaults(level))
        requested = [line for line in lines if isinstance(line, notation.Requested)]
        work = plan((r.metric for r in requested), rules)
        reference = None if zscores is None else read_zscores(zscores)
        con = database.memory(database.Resources(memory_limit, threads))
        read = files.score(
            con, qrels, run, work,
            qrels_format=qrels_format, run_format=run_format, columns=columns,
            attributes=attributes, normalise=normalise, is_global=is_global, queries=queries,
            lower_is_better=lower_is_better, iterations=iterations, training=training,
        )  # fmt: skip
        if reference is not None:
            standardise(con, work, requested, rules.defaults(level), reference)
        sql = render(
            "analyses/scored",
            metrics=[str(metric) for metric in work.queries],
            per_query=per_query,
            list_silent=rules.list_silent,
        )
        strings = {
            (line.trec_name, query_id): text
            for line in lines
            if isinstance(line, notation.Relstring) and per_query
            for query_id, text in files.relstrings(con, rules, line.length)
        }
        kept = board.keep(con, sql)
        return Scores(kept, tuple(requested), read, tuple(lines), strings)

    # ------------------------------------------------------------------ inside

    @staticmethod
    def _metrics(texts: Metrics, rules: protocols.Protocol) -> list[notation.Metric]:
        return notation.parse(*_texts(texts), defaults=rules.defaults())

    def _write(self) -> AbstractContextManager[sa.Connection]:
        return database.write(self.path, resources=self.resources, lock_timeout=self.lock_timeout)

    @contextmanager
    def _read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        if not self.path.exists():
            raise UsageError(
                f"{self.path}: no such database; make one with 'warehouse init' or 'warehouse demo', "
                "or say where it is with --db or WAREHOUSE_DB"
            )
        with database.read(
            self.path, resources=self.resources, lock_timeout=self.lock_timeout
        ) as con:
            database.check_schema(con, self.path)
            yield con


def _texts(texts: str | Sequence[T]) -> list[str | T]:
    return [texts] if isinstance(texts, str) else list(texts)

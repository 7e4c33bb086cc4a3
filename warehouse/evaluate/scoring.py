"""Scoring runs: qrels and runs in, a relation of values out, nothing stored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Unpack

import duckdb

from warehouse import readers
from warehouse.config import notebook
from warehouse.config.explicit import explicit
from warehouse.config.project import request
from warehouse.errors import (
    UsageError,
    WarehouseError,
    check_at_least,
    check_several,
    counted,
    listing,
)
from warehouse.evaluate import file_scoring, unanswerable
from warehouse.evaluate.arguments import Files, Rules, Scoring, part
from warehouse.evaluate.hits import NO_HITS
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.tie_ranges import TieRange, any_tie, of_scope
from warehouse.evaluate.zscores import standardise
from warehouse.metrics import notation, protocols
from warehouse.metrics.protocols import Protocol
from warehouse.readers.arguments import Source
from warehouse.readers.files import default_name
from warehouse.readers.records import is_records
from warehouse.readers.zscores import read as read_zscores
from warehouse.sql_text.quoting import ident, literal
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.database import RESULT, keep
from warehouse.store.engine_errors import at_the_edge

# The name of the temporary table of the values over all queries, a row for each run.
TOTALS = "totals"


@dataclass(frozen=True)
class Scores:
    """The values of a run, or of several, scored from files.

    `relation` has the columns `query_id, metric, value`: the queries in byte order, each with its
    metrics as asked for, then the values over all queries under the query_id 'all'. Where a list of runs
    was given, it begins with the column `run`, and `names` are theirs. `read` is what was read of the
    runs, and `qrels` of the judgments. `lines` are the lines of trec_eval's layout: what was requested,
    and its relstrings, whose texts are in `strings` by label and query. `refused` has the errors of the
    runs that an engine refused, by name; they have no values. `notes` say which queries have nothing
    relevant, and `ranges`, if they were asked for, what the order of equal scores does to a value.
    `warnings` are about the qrels and the runs, such as a run without a judged document.
    """

    relation: duckdb.DuckDBPyRelation
    requested: tuple[notation.Requested, ...] = field(repr=False)
    qrels: readers.Staged = field(repr=False)
    num_judged: int
    read: tuple[file_scoring.ScoredRun, ...] = field(repr=False)
    names: tuple[str, ...] = ()
    lines: tuple[notation.Line, ...] = field(default=(), repr=False)
    strings: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    totals: duckdb.DuckDBPyRelation | None = None
    refused: Mapping[str, WarehouseError] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    ranges: tuple[TieRange, ...] = field(default=(), repr=False)

    def means(self) -> dict[str, float | None]:
        """Return the value over all queries of each metric of the one run, by its canonical name."""
        if self.names:
            raise UsageError("means: needs one run, but a list was given; use board")
        try:
            rows = self.relation.filter("query_id = 'all'").fetchall()
        except (duckdb.CatalogException, duckdb.ConnectionException, duckdb.InvalidInputException):
            raise UsageError(
                "the values are gone: the scorer has scored another run since, or is closed; take "
                "them before that"
            ) from None
        return {str(metric): value for _, metric, value in rows}

    def _repr_html_(self) -> str:
        shown = self.relation if self.totals is None else self.totals
        notes = [*self.notes, *(f"warning: {warning}" for warning in self.warnings)]
        ((number,),) = shown.aggregate("count(*)").fetchall()
        first = shown.limit(notebook.ROWS).fetchall()
        return notebook.html(shown.columns, first, notes, number)

    def board(self) -> duckdb.DuckDBPyRelation:
        """Return the values over all queries of several runs: `run` and one column per metric."""
        if self.totals is None:
            raise UsageError("board: needs a list of runs, but one run was given; use means")
        return self.totals


@dataclass(frozen=True)
class ScoringRequest:
    """A request: the lines of metrics, and the plan that computes them under some rules."""

    rules: Protocol
    lines: list[notation.Line]
    requested: list[notation.Requested]
    work: Plan


def usual(protocol: str) -> tuple[str, ...]:
    """Return the metrics to compute if none is asked for: the protocol's own, else trec_eval's set.

    >>> usual("default"), usual("ardoco")
    (('official',), ('AP', 'LAG', 'AUC'))
    """
    return tuple(protocols.get(protocol).metrics) or ("official",)


def ask(
    metrics: notation.Metrics | None,
    *,
    list_silent: bool = False,
    exclude: object = None,
    **changed: Unpack[Rules],
) -> ScoringRequest:
    """Return the request for metrics, under a protocol whose rules may be changed.

    With `list_silent`, a query that the run does not have is listed, whatever the protocol says.
    `exclude` is a rule of the protocol, or a source of documents to leave out.
    """
    is_rule = isinstance(exclude, str) and exclude in (protocols.SELF, protocols.TRAINING)
    rule = str(exclude) if is_rule else None if exclude is None else file_scoring.LISTED
    protocol, depth = changed.get("protocol", protocols.DEFAULT), changed.get("depth")
    rules = protocols.get(protocols.without(protocol, rule))
    rules = replace(
        rules,
        queries="judged" if changed.get("complete") else rules.queries,
        judged_only=changed.get("judged_only") or rules.judged_only,
        list_silent=list_silent or rules.list_silent,
        depth=rules.depth if depth is None else depth,
    )
    asked = usual(protocol) if metrics is None else check_several("metrics", metrics)
    lines = notation.lines(*asked, defaults=rules.defaults(changed.get("level")))
    if not lines:
        raise UsageError("metrics: name one at least, as in nDCG@10")
    requested = [line for line in lines if isinstance(line, notation.Requested)]
    return ScoringRequest(rules, lines, requested, plan((r.metric for r in requested), rules))


@explicit(Scoring, protocol=protocols.DEFAULT, attributes=())
@request()
@at_the_edge()
def score(
    qrels: Source,
    run: Source,
    metrics: notation.Metrics | None = None,
    *,
    per_query: bool = True,
    is_global: bool = False,
    queries: object | None = None,
    zscores: str | os.PathLike[str] | None = None,
    tie_ranges: bool = False,
    engine: object = "local",
    master: str | None = None,
    by: Literal["run", "query"] = "run",
    buckets: int | None = None,
    into: str | os.PathLike[str] | None = None,
    **how: Unpack[Scoring],
) -> Scores:
    """Score a run against qrels without storing anything; the same templates as `evaluate`.

    A list of runs is scored at once, in less time than one after another. They are named as `ingest_run`
    names them, or by their whole paths where two have the same name.

    `columns` maps our names of columns to those of the tables: query_id and doc_id to those of qrels and
    runs, relevance and iteration to those of qrels, score and rank to those of runs. Dicts and TREC
    files, which have none, pass them over. `qrels_columns` and `run_columns` are for one of the two, and
    take precedence. `relevance` is an SQL expression over the columns of the qrels that gives the
    relevance, as in "rating >= 4". `where` is a condition over the columns of both that chooses their
    rows, as in "year >= 2020", and `qrels_where` and `run_where` are for one of the two; where columns
    have no names, they have ours. `repeated` says which row counts where a document is there several
    times for a query, "first", "last" or "max", or that the "sum" or the "count" of its rows does, and
    likewise `qrels_repeated` and `run_repeated`.

    `level`, `complete`, `judged_only`, `depth` and `zscores` are trec_eval's -l, -c, -J, -M and -Z;
    its -R is `iterations` (qrels_jg, qrels_prefs) and `qrels_format="prefs"`. `training` is a
    training set. `exclude` leaves documents out of the rankings, whose ranks close up; the judgments
    stay: with "self" the document that has the id of its query, with "training" those that the
    training set has for the query, else those of a file, dict or table of pairs (query_id, doc_id) or of
    a list for each query. `attributes` is a source of attributes of documents, or of queries (column
    query_id), or a list of such.

    With `tie_ranges`, the result has the lowest and the highest value over all orders of documents with
    equal scores, of the metrics for which these follow from where the relevant documents stand.

    `engine` says where the values are computed: "local" in this process, "spark" in the tasks of the
    active session or of a new one on the `master`, or in those of an object with `map(function, parts)`,
    such as a pool of processes. The values are the same to the bit. A run that is refused then does not
    keep the others from their values: `refused` has its error. Work is divided `by` run or, for runs
    that are too large for one task, by query, into a number of `buckets` (32).

    With `into`, the tasks of a division by run write the values of the queries, as Parquet files in a
    new folder that all of them see, and the result has the values over all queries alone.

    >>> score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR P@1").means()
    {'RR': 0.5, 'P@1': 0.0}
    >>> score({"q": {"a": 1}}, {"q": {"q": 2.0, "a": 1.0}}, "RR P@1", exclude="self").means()
    {'RR': 1.0, 'P@1': 1.0}
    >>> score({"q": {"a": 1}}, [{"q": {"a": 2.0}}, {"q": {"b": 2.0, "a": 1.0}}], "RR").board()
    ┌─────────┬────────┐
    │   run   │   RR   │
    │ varchar │ double │
    ├─────────┼────────┤
    │ run 1   │    1.0 │
    │ run 2   │    0.5 │
    └─────────┴────────┘
    <BLANKLINE>
    """
    check_at_least(1, level=how["level"], depth=how["depth"], threads=how["threads"])
    asked = ask(metrics, exclude=how["exclude"], **part(Rules, how))
    rules, work, lines, requested = asked.rules, asked.work, asked.lines, asked.requested
    reference = None if zscores is None else read_zscores(zscores)
    several = run if isinstance(run, list | tuple) and not is_records(run) else None
    names = () if several is None else run_names(several)
    if len(names) > 1 or engine != "local":
        _refuse_several(lines, reference is not None)
    if engine != "local":
        from warehouse.evaluate.engines import driver

        driver.check(engine)
        num_buckets = driver.num_buckets(work.queries, by, buckets)
        table = driver.table_of(run, by)
        if several is None and table is None:
            raise UsageError("engine: divides a list of runs, but one run was given; give a list")
    elif into is not None:
        raise UsageError("into: is the folder of the tasks of an engine; name one")
    resources = database.Resources(how["memory_limit"], how["threads"])
    con = database.scratch(resources)
    truth, reading = file_scoring.opened(
        con, qrels, work, is_global=is_global, queries=queries, **part(Files, how)
    )
    if engine != "local":
        from warehouse.evaluate.engines import tasks

        divided = tasks.work(
            con, work, truth, reading, resources,
            per_query=per_query, num_runs=len(names), num_buckets=num_buckets,
        )  # fmt: skip
        parts = () if table is not None else tasks.parts(names, several or ())
        with driver.values_in(into, divided) as given, driver.opened(engine, master) as opened:
            if table is not None:
                read_table = table.read(opened, given)
                names = read_table.names
                whole = replace(given, num_runs=len(names))
                found = driver.score_table(con, opened, whole, read_table)
            else:
                found = driver.score(con, opened, given, names, parts)
        names = tuple(name for name in names if name in found.runs)
        return Scores(
            con.table(f"temp.main.{RESULT}"), tuple(requested), truth.qrels, found.num_judged,
            tuple(found.runs[name] for name in names), names, tuple(lines),
            totals=con.table(f"temp.main.{TOTALS}"), refused=found.refused,
            warnings=all_warnings(
                truth.qrels, ((name, found.runs[name]) for name in names), found.num_judged, rules
            ),
        )  # fmt: skip
    read: list[file_scoring.ScoredRun] = []
    ranges: list[TieRange] = []
    notes: dict[str, None] = {}
    strings: dict[tuple[str, str], str] = {}
    num_judged = 0
    for scored in file_scoring.score_runs(
        con, truth, [run] if several is None else several, work, reading
    ):
        if reference is not None:
            standardise(con, work, requested, rules.defaults(how["level"]), reference)
        keep_values(con, work, names, scored.first, per_query=per_query)
        notes |= dict.fromkeys(unanswerable.notes(con, work))
        read += scored.runs
        num_judged = scored.num_judged
        for line in lines:
            if isinstance(line, notation.Relstring) and per_query:
                for query_id, text in file_scoring.relstrings(con, rules, line.length):
                    strings[line.trec_name, query_id] = text
        if tie_ranges and any_tie(con):
            ranges += of_scope(con, work)
    return Scores(
        con.table(f"temp.main.{RESULT}"), tuple(requested), truth.qrels, num_judged, tuple(read),
        names, tuple(lines), strings, con.table(f"temp.main.{TOTALS}") if names else None,
        notes=tuple(notes), ranges=tuple(ranges),
        warnings=all_warnings(truth.qrels, zip(names or ("",), read, strict=True), num_judged, rules),
    )  # fmt: skip


def all_warnings(
    qrels: readers.Staged,
    runs: Iterable[tuple[str, file_scoring.ScoredRun]],
    num_judged: int,
    rules: Protocol,
) -> tuple[str, ...]:
    """Return the warnings about the qrels, then those about the runs, each once with their names.

    A single run has the name "".
    """
    named: dict[str, list[str]] = {}
    for name, read in runs:
        for warning in _run_warnings(read, num_judged, rules.queries):
            named.setdefault(warning, []).append(name)
    found = (f"{listing(of, 4)}: {one}" if of != [""] else one for one, of in named.items())
    return (*qrels.warnings, *found)


def _run_warnings(read: file_scoring.ScoredRun, num_judged: int, counting: str) -> Iterator[str]:
    """Yield the warnings about a run; `counting` is which queries the protocol counts."""
    yield from read.staged.warnings
    if read.staged.rows and not read.num_hits:
        yield NO_HITS
    if read.num_answered < num_judged:
        treated = "counts as 0" if counting == "judged" else "is left out"
        yield (
            f"the run has no line for {num_judged - read.num_answered:,} of "
            f"{num_judged:,} judged queries; each {treated}"
        )
    if read.num_unjudged_queries:
        one = read.num_unjudged_queries == 1
        are, they, count = ("is", "it", "counts") if one else ("are", "they", "count")
        treated = f"{count}, with no relevant document" if counting == "run" else f"{are} left out"
        queries = counted(read.num_unjudged_queries, "query")
        yield f"{queries} of the run {are} not judged; {they} {treated}"


def keep_values(
    con: duckdb.DuckDBPyConnection, work: Plan, names: Sequence[str], first: int, *, per_query: bool
) -> None:
    """Append the values of the runs in scope to the tables of the result, which the first one makes.

    These are RESULT and, if the runs have `names`, TOTALS, with a row for each run.
    """
    tables = {RESULT: _scored(work, names, per_query=per_query)}
    if names:
        metrics = [str(metric) for metric in work.queries]
        tables[TOTALS] = render("analyses/scored_board", metrics=metrics, runs=names)
    for name, sql in tables.items():
        if first == 0:
            keep(con, sql, name=name)
        else:
            con.execute(f"insert into temp.{ident(name)}\n{sql}")


def write_values(
    con: duckdb.DuckDBPyConnection, work: Plan, names: Sequence[str], file: Path
) -> None:
    """Write the values of the runs in scope, by query and over all queries, as a Parquet file."""
    rows = _scored(work, names, per_query=True)
    con.execute(f"copy ({rows}) to {literal(str(file))} (format parquet, compression zstd)")


def _scored(work: Plan, names: Sequence[str], *, per_query: bool) -> str:
    return render(
        "analyses/scored",
        metrics=[str(metric) for metric in work.queries], runs=names, per_query=per_query,
        list_silent=work.protocol.list_silent,
    )  # fmt: skip


def run_names(runs: Sequence[object]) -> tuple[str, ...]:
    """Return the names of some runs.

    >>> run_names(["runs/bm25.run", "tasb.run.gz", {}]), run_names(["a/run.txt", "b/run.txt"])
    (('bm25', 'tasb', 'run 3'), ('a/run.txt', 'b/run.txt'))
    """
    if not runs:
        raise UsageError("no runs: the list is empty")
    paths = [os.fspath(run) if isinstance(run, str | os.PathLike) else None for run in runs]
    for whole in (False, True):
        names = [
            f"run {number}" if path is None else str(path) if whole else default_name(str(path))
            for number, path in enumerate(paths, start=1)
        ]
        name, count = Counter(names).most_common(1)[0]
        if count == 1:
            return tuple(names)
    raise UsageError(f"{name}: is given twice; give each run once")


def _refuse_several(lines: Sequence[notation.Line], zscores: bool) -> None:
    """Refuse options that work for one run only."""
    if zscores:
        raise UsageError("z-scores: need one run, scored here; score the runs one by one")
    if any(isinstance(line, notation.Relstring) for line in lines):
        raise UsageError("relstring: needs one run, scored here; score the runs one by one")

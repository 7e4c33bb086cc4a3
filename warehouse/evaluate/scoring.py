"""Scoring runs: qrels and runs in, a relation of values out, nothing stored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from warehouse import readers
from warehouse.config.project import request
from warehouse.errors import UsageError, check_at_least, check_several
from warehouse.evaluate import files
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.zscores import standardise
from warehouse.metrics import notation, protocols
from warehouse.metrics.protocols import Protocol
from warehouse.readers import batches
from warehouse.readers.files import default_name
from warehouse.readers.zscores import read as read_zscores
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.database import RESULT, keep
from warehouse.store.engine_errors import at_the_edge

_TOTALS = "totals"


@dataclass(frozen=True)
class Scores:
    """The values of a run, or of several, scored from files.

    `relation` has the columns `query_id, metric, value`: the queries in byte order, each with its
    metrics as asked for, then the values over all queries under the query_id 'all'. Where a list of runs
    was given, it begins with the column `run`, and `names` are theirs. `read` is what was read of the
    runs, and `qrels` of the judgments. `lines` are the lines of trec_eval's layout: what was requested,
    and its relstrings, whose texts are in `strings` by label and query.
    """

    relation: duckdb.DuckDBPyRelation
    requested: tuple[notation.Requested, ...] = field(repr=False)
    qrels: readers.Staged = field(repr=False)
    num_judged: int
    read: tuple[files.ScoredRun, ...] = field(repr=False)
    names: tuple[str, ...] = ()
    lines: tuple[notation.Line, ...] = field(default=(), repr=False)
    strings: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    totals: duckdb.DuckDBPyRelation | None = None

    def means(self) -> dict[str, float | None]:
        """Return the value over all queries of each metric of the one run, by its canonical name."""
        if self.names:
            raise UsageError("means: needs one run, but a list was given; use board")
        try:
            rows = self.relation.filter("query_id = 'all'").fetchall()
        except (duckdb.CatalogException, duckdb.ConnectionException):
            raise UsageError(
                "the values are gone: the scorer has scored another run since, or is closed; take "
                "them before that"
            ) from None
        return {str(metric): value for _, metric, value in rows}

    def board(self) -> duckdb.DuckDBPyRelation:
        """Return the values over all queries of several runs: `run` and one column per metric."""
        if self.totals is None:
            raise UsageError("board: needs a list of runs, but one run was given; use means")
        return self.totals


@dataclass(frozen=True)
class Asked:
    """What is asked for: the lines of metrics, and the plan that computes them under some rules."""

    rules: Protocol
    lines: list[notation.Line]
    requested: list[notation.Requested]
    work: Plan


def ask(
    metrics: notation.Metrics,
    protocol: str,
    *,
    level: int | None,
    complete: bool,
    judged_only: bool,
    depth: int | None,
) -> Asked:
    """Return what metrics are, under a protocol whose rules may be changed."""
    rules = protocols.get(protocol)
    rules = replace(
        rules,
        queries="judged" if complete else rules.queries,
        judged_only=judged_only or rules.judged_only,
        depth=rules.depth if depth is None else depth,
    )
    lines = notation.lines(*check_several("metrics", metrics), defaults=rules.defaults(level))
    if not lines:
        raise UsageError("metrics: name one at least, as in nDCG@10")
    requested = [line for line in lines if isinstance(line, notation.Requested)]
    return Asked(rules, lines, requested, plan((r.metric for r in requested), rules))


@request()
@at_the_edge()
def score(
    qrels: object,
    run: object,
    metrics: notation.Metrics = ("official",),
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
    attributes: object = (),
    relevance: str | None = None,
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

    A list of runs is scored at once, in less time than one after another. They are named as `ingest_run`
    names them, or by their whole paths where two have the same name.

    `columns` maps our names of columns to those of the tables: query_id and doc_id to those of qrels and
    runs, relevance and iteration to those of qrels, score and rank to those of runs. Dicts and TREC
    files, which have none, pass them over. `relevance` is an SQL expression over the columns of the
    qrels that gives the relevance, as in "rating >= 4".

    `level`, `complete`, `judged_only`, `depth` and `zscores` are trec_eval's -l, -c, -J, -M and -Z;
    its -R is `iterations` (qrels_jg, qrels_prefs) and `qrels_format="prefs"`. `training` is a
    training set. `attributes` is a source of attributes of documents, or of queries (column query_id),
    or a list of such.

    >>> score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR P@1").means()
    {'RR': 0.5, 'P@1': 0.0}
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
    check_at_least(1, level=level, depth=depth, threads=threads)
    asked = ask(
        metrics, protocol, level=level, complete=complete, judged_only=judged_only, depth=depth
    )
    rules, work, lines, requested = asked.rules, asked.work, asked.lines, asked.requested
    reference = None if zscores is None else read_zscores(zscores)
    several = run if isinstance(run, list | tuple) else None
    names = () if several is None else run_names(several)
    if len(names) > 1:
        _refuse_several(lines, reference is not None)
    con = database.scratch(database.Resources(memory_limit, threads))
    read: list[files.ScoredRun] = []
    strings: dict[tuple[str, str], str] = {}
    totals: duckdb.DuckDBPyRelation | None = None
    for scored in files.score(
        con, qrels, [run] if several is None else several, work,
        qrels_format=qrels_format, run_format=run_format, columns=columns,
        attributes=batches.source_list(attributes), relevance=relevance, normalise=normalise,
        is_global=is_global, queries=queries, lower_is_better=lower_is_better,
        iterations=iterations, training=training,
    ):  # fmt: skip
        if reference is not None:
            standardise(con, work, requested, rules.defaults(level), reference)
        shown = {"metrics": [str(metric) for metric in work.queries], "runs": names}
        how = {"per_query": per_query, "list_silent": rules.list_silent}
        relation = _add(con, scored, render("analyses/scored", **shown, **how), RESULT)
        if names:
            totals = _add(con, scored, render("analyses/scored_board", **shown), _TOTALS)
        read += scored.runs
        for line in lines:
            if isinstance(line, notation.Relstring) and per_query:
                for query_id, text in files.relstrings(con, rules, line.length):
                    strings[line.trec_name, query_id] = text
    return Scores(
        relation, tuple(requested), scored.qrels, scored.num_judged, tuple(read), names,
        tuple(lines), strings, totals,
    )  # fmt: skip


def _add(
    con: duckdb.DuckDBPyConnection, scored: files.Scored, sql: str, name: str
) -> duckdb.DuckDBPyRelation:
    """Append the rows of a query to those kept from earlier runs; return all."""
    if scored.first == 0:
        return keep(con, sql, name=name)
    con.execute(f"insert into temp.{ident(name)}\n{sql}")
    return con.table(f"temp.main.{name}")


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
            f"run {place}" if path is None else str(path) if whole else default_name(str(path))
            for place, path in enumerate(paths, start=1)
        ]
        name, count = Counter(names).most_common(1)[0]
        if count == 1:
            return tuple(names)
    raise UsageError(f"{name}: is given twice; give each run once")


def _refuse_several(lines: Sequence[notation.Line], zscores: bool) -> None:
    """Refuse options that work for one run only."""
    if zscores:
        raise UsageError("z-scores: need one run; score the runs one by one")
    if any(isinstance(line, notation.Relstring) for line in lines):
        raise UsageError("relstring: needs one run; score the runs one by one")

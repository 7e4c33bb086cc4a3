"""Scoring one run: qrels and a run in, a relation of values out, nothing stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from warehouse import database, protocols
from warehouse import metrics as notation
from warehouse.analyze.board import keep
from warehouse.evaluate import files
from warehouse.evaluate.plan import plan
from warehouse.evaluate.zscores import standardise
from warehouse.project import request
from warehouse.readers.zscores import read as read_zscores
from warehouse.templates import render


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
    read: files.Scored
    lines: tuple[notation.Line, ...] = ()
    strings: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def means(self) -> dict[str, float | None]:
        """Return the value over all queries of each metric, by its canonical name."""
        rows = self.relation.filter("query_id = 'all'").fetchall()
        return {str(metric): value for _, metric, value in rows}


@request()
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
    training set. `attributes` are sources of attributes of documents, or of queries (column query_id).

    >>> score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR P@1").means()
    {'RR': 0.5, 'P@1': 0.0}
    """
    rules = protocols.get(protocol)
    rules = replace(
        rules,
        queries="judged" if complete else rules.queries,
        judged_only=judged_only or rules.judged_only,
        depth=rules.depth if depth is None else depth,
    )
    defaults = rules.defaults(level)
    asked = [metrics] if isinstance(metrics, str) else metrics
    lines = notation.lines(*asked, defaults=defaults)
    requested = [line for line in lines if isinstance(line, notation.Requested)]
    work = plan((r.metric for r in requested), rules)
    reference = None if zscores is None else read_zscores(zscores)
    con = database.scratch(database.Resources(memory_limit, threads))
    read = files.score(
        con, qrels, run, work,
        qrels_format=qrels_format, run_format=run_format, columns=columns,
        attributes=attributes, normalise=normalise, is_global=is_global, queries=queries,
        lower_is_better=lower_is_better, iterations=iterations, training=training,
    )  # fmt: skip
    if reference is not None:
        standardise(con, work, requested, defaults, reference)
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
    return Scores(keep(con, sql), tuple(requested), read, tuple(lines), strings)

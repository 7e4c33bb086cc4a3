"""Scoring one run: qrels and a run in, a relation of values out, nothing stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from warehouse import metrics as notation
from warehouse.analyze.board import keep
from warehouse.evaluate import files
from warehouse.evaluate.plan import plan
from warehouse.evaluate.zscores import standardise
from warehouse.protocols import Protocol
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


def score(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    run: object,
    metrics: Sequence[notation.Asked],
    protocol: Protocol,
    *,
    per_query: bool = True,
    level: int | None = None,
    lower_is_better: bool = False,
    qrels_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    iterations: bool = False,
    training: object = None,
    zscores: str | os.PathLike[str] | None = None,
) -> Scores:
    """Score a run against qrels on a connection; the options are those of `Warehouse.score`."""
    defaults = protocol.defaults(level)
    lines = notation.lines(*metrics, defaults=defaults)
    requested = [line for line in lines if isinstance(line, notation.Requested)]
    work = plan((r.metric for r in requested), protocol)
    reference = None if zscores is None else read_zscores(zscores)
    read = files.score(
        con, qrels, run, work,
        qrels_format=qrels_format, run_format=run_format, columns=columns,
        lower_is_better=lower_is_better, iterations=iterations, training=training,
    )  # fmt: skip
    if reference is not None:
        standardise(con, work, requested, defaults, reference)
    sql = render(
        "analyses/scored",
        metrics=[str(metric) for metric in work.queries],
        per_query=per_query,
        list_silent=protocol.list_silent,
    )
    strings = {
        (line.trec_name, query_id): text
        for line in lines
        if isinstance(line, notation.Relstring) and per_query
        for query_id, text in files.relstrings(con, protocol, line.length)
    }
    return Scores(keep(con, sql), tuple(requested), read, tuple(lines), strings)

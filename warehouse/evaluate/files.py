"""Scoring files: qrels and runs in, values out, nothing stored; same templates, same engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse import readers
from warehouse.errors import InputError, UsageError
from warehouse.evaluate import engine, hits, requirements
from warehouse.evaluate.plan import Plan, relations_sql
from warehouse.evaluate.scope import ATTRIBUTES, Scope
from warehouse.metrics.protocols import Protocol
from warehouse.readers import batches
from warehouse.readers.checks import walk_staged
from warehouse.readers.global_qrels import for_queries, stage_everywhere, stage_queries
from warehouse.readers.kinds import IDS, Subject
from warehouse.sql_text.templates import render


@dataclass(frozen=True)
class ScoredRun:
    """What was read of a scored run."""

    staged: readers.Staged
    num_answered: int
    num_unjudged_queries: int
    num_hits: int
    """How many of its documents are judged for their query."""


@dataclass(frozen=True)
class Scored:
    """What was read to score some runs, besides the values in `query_score` and `score`.

    The runs are numbered from `first`.
    """

    first: int
    runs: tuple[ScoredRun, ...]
    qrels: readers.Staged
    num_judged: int
    training: readers.Staged | None = None


def score(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    runs: Sequence[object],
    work: Plan,
    *,
    qrels_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    attributes: Sequence[object] = (),
    relevance: str | None = None,
    normalise: str | None = None,
    is_global: bool = False,
    queries: object | None = None,
    lower_is_better: bool = False,
    iterations: bool = False,
    training: object = None,
) -> Iterator[Scored]:
    """Yield values of a plan's metrics for runs and qrels, files or objects, many runs at a time.

    Each step leaves the temporary tables `query_score (evaluation_id, query_id, value)`, `score`
    and `pending` on the connection, with an evaluation for each of its runs and each metric.
    """
    how: Any = {"normalise": normalise, "hashed": False, "shared": True}
    of_qrels = readers.qrels_kind(qrels_format, iterations=iterations)
    columns_of = readers.columns_of(columns, of_qrels, "run")
    truth = read_truth(
        con, qrels, work, qrels_format=qrels_format, columns=columns, attributes=attributes,
        relevance=relevance, normalise=normalise, is_global=is_global, queries=queries,
        iterations=iterations, training=training,
    )  # fmt: skip
    for group in batches.groups(
        runs, format=run_format, columns=columns_of["run"], single=is_global, **how
    ):
        for batch in group.read(con):
            if isinstance(batch, batches.Refusal):
                raise batch.error
            truth.scope(con, batch.runs)
            num_judged, scored = score_batch(con, work, batch, truth.qrels, lower_is_better)
            yield Scored(batch.first, scored, truth.qrels, num_judged, truth.training)


@dataclass(frozen=True)
class Truth:
    """What runs are scored against: qrels that were read into a table, `rows`, and a training set.

    Where all queries share a set of documents, `asked` is SQL of the queries, or None for those of
    each run.
    """

    qrels: readers.Staged
    rows: str
    training: readers.Staged | None
    is_global: bool
    asked: str | None

    def scope(self, con: duckdb.DuckDBPyConnection, runs: Sequence[readers.Staged]) -> None:
        """Put it in scope for the staged runs."""
        num_rows = None
        if self.is_global:
            sql = self.asked or "select query_id from staged"
            con.execute(f"create or replace temp table {self.rows} as\n{for_queries(sql)}")
        else:
            num_rows = self.qrels.rows + sum(run.rows for run in runs)
        Scope(con).read_qrels(self.qrels, self.rows, num_rows)


def read_truth(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    work: Plan,
    *,
    qrels_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    attributes: Sequence[object] = (),
    relevance: str | None = None,
    normalise: str | None = None,
    is_global: bool = False,
    queries: object | None = None,
    iterations: bool = False,
    training: object = None,
) -> Truth:
    """Read qrels, a training set and attributes; refuse metrics that need more than is given."""
    scope = Scope(con)
    how: Any = {"normalise": normalise, "hashed": False, "shared": True}
    of_qrels = readers.qrels_kind(qrels_format, iterations=iterations)
    columns_of = readers.columns_of(columns, of_qrels, "run")
    names = scope_attributes(con, attributes, normalise=normalise)
    lacking = requirements.lacking(work, training is not None, names, requirements.OF_FILES)
    if lacking:
        raise UsageError("\n".join(lacking))
    read_training = None
    if training is not None:
        read_training = readers.stage(con, training, "training", normalise=normalise)
    scope.read_training(read_training)
    rows = "given_qrels"
    asked = None
    if is_global:
        if iterations:
            raise UsageError("--global: one set of documents has no iterations")
        shared = {name: given for name, given in columns_of[of_qrels].items() if name == "doc_id"}
        read_qrels = stage_everywhere(
            con,
            qrels,
            format=qrels_format,
            columns=shared,
            relevance=relevance,
            normalise=normalise,
        )
        rows = "expanded_qrels"
        if queries is not None:
            asked, *_ = stage_queries(con, queries)
    elif queries is not None:
        raise UsageError("--queries: goes with --global, for judgments that name no query")
    else:
        read_qrels = readers.stage(
            con,
            qrels,
            of_qrels,
            format=qrels_format,
            columns=columns_of[of_qrels],
            relevance=relevance,
            **how,
        )
        _, others = requirements.fitting(work, read_qrels.kind)
        if others:
            raise UsageError(requirements.unfit(read_qrels.source, others))
        scope.rename_staged(rows)
    return Truth(read_qrels, rows, read_training, is_global, asked)


def score_batch(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    batch: batches.Batch,
    qrels: readers.Staged,
    lower_is_better: bool,
    kept: frozenset[str] = frozenset(),
) -> tuple[int, tuple[ScoredRun, ...]]:
    """Compute the metrics of the staged runs; return the number of judged queries, and the runs.

    The tables of the plan that are `kept` are there already.
    """
    turned = lower_is_better or batch.runs[0].ranked_by == "rank"
    scope = Scope(con)
    scope.read_runs(first=batch.first, together=batch.together, lower_is_better=turned)
    if turned and batch.runs[0].ranked_by == "score":
        walk_staged(con, ranks=False, lowest_first=True)
    rows = sum(run.rows for run in batch.runs)
    if hits.out_of_order(con, work.protocol):
        matched = hits.in_any_order(con, work.protocol)
    else:
        matched = hits.by_place(con, work.protocol, rows)
    scope.read_hits(matched)
    con.execute(
        "insert into pending "
        "select run_id * len($kinds) + metric_number, run_id, metric_number, kind, aggregate "
        "from scope_run cross join (select unnest(range(len($kinds))) as metric_number, "
        "unnest($kinds) as kind, unnest($aggregates) as aggregate)",
        {
            "kinds": [metric.definition.kind for metric in work.queries],
            "aggregates": [metric.aggregate for metric in work.queries],
        },
    )
    counts = con.execute(render("statements/score_counts")).fetchall()
    scored = []
    for run, (_, answered, extra, found) in zip(batch.runs, counts, strict=True):
        if answered == 0:
            raise InputError(
                f"{run.source}: no query of the run is judged in {qrels.source}; "
                "do the two belong together, and are the query ids written the same way?"
            )
        scored.append(ScoredRun(run, answered, extra, found))
    engine.compute(con, work, kept=kept)
    return int(counts[0][0]), tuple(scored)


def scope_attributes(
    con: duckdb.DuckDBPyConnection, sources: Sequence[object], *, normalise: str | None = None
) -> dict[Subject, list[str]]:
    """Put attributes of documents and of queries from some sources in scope; return their names.

    A source has attributes of documents if it has a column `doc_id`, else of queries if it has a
    column `query_id`. The tables' columns are the id and `attribute, position, text, number`. Two
    sources may not have the same attribute for the same subject, in upper or lower case.
    """
    for subject, table in ATTRIBUTES.items():
        con.execute(
            f"create or replace temp table {table} ({IDS[subject]} varchar, attribute varchar, "
            "position integer, text varchar, number double)"
        )
    seen: dict[Subject, dict[str, str]] = {"document": {}, "query": {}}
    if sources:  # usually there are none, and their reader takes a while to import
        from warehouse.readers.attributes import stage_attributes
    for source in sources:
        staged = stage_attributes(con, source, None, normalise=normalise)
        known = {name.lower(): source for name, source in seen[staged.subject].items()}
        for attribute in staged.columns:
            if attribute.lower() in known:
                raise InputError(
                    f"{staged.source}: the attribute {attribute} is in {known[attribute.lower()]} "
                    "too; rename it, or leave it out of one of the two"
                )
            seen[staged.subject][attribute] = staged.source
        con.execute(f"insert into {ATTRIBUTES[staged.subject]} from staged_attribute")
    return {subject: list(names) for subject, names in seen.items()}


def relstrings(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, length: int
) -> list[tuple[str, str]]:
    """Return the grades of each query's first documents in a scored run, as one string."""
    relations = relations_sql(protocol, "rankings", "retrieved")
    sql = render(
        "analyses/relstring",
        relations=relations,
        length=length,
        list_silent=protocol.list_silent,
    )
    return con.execute(sql).fetchall()

"""Values that are not stored, or under other assumptions, computed without storing anything.

This is the usual evaluation, run on empty tables that shadow the file's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import duckdb

from warehouse.errors import UsageError
from warehouse.evaluate import requirements, stored_runs
from warehouse.evaluate.candidates import Candidate
from warehouse.evaluate.chain import ranked_sql
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scope import Scope, qrels_kind
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database, own_schema

# The tables that say which runs and which truth are read; they stay cut while values are computed: see
# analyze/past_state.py.
_CATALOGUE = (
    "dataset", "qrels", "qrels_judge", "run", "training", "attribute_set",
    "run_version", "qrels_version", "training_version", "attribute_set_version",
)  # fmt: skip
# The tables that shadow the file's own judgments and hits.
_TRUTH = ("judgment", "hit", "hit_set")
# Values over all queries, by the metric's name and the run.
Values = dict[tuple[str, str], float | None]


def compute_judged_only(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
) -> None:
    """Replace the stored values that are read by values of lists without unjudged documents."""
    _compute(con, metrics, replace(protocol, judged_only=True), runs)
    for statement in own_schema.statements():
        con.execute(statement)


def compute_missing(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
    slice: str | None = None,
    *,
    leave_out: bool = False,
) -> dict[str, int]:
    """Add the values that are not stored to those that are read; return the runs by metric.

    They are computed from the stored hits, or from the predictions of runs that have none yet. With
    a slice, they are values of its parts. With `leave_out`, nothing is computed of a metric that some
    run has a value of, and the other runs have none.
    """
    lacking: defaultdict[tuple[Candidate, ...], list[Metric]] = defaultdict(list)
    missing = _missing(con, metrics, protocol, runs, slice)
    for metric in metrics:
        without = tuple(runs[index] for index in missing[str(metric)])
        if without and not (leave_out and len(without) < len(runs)):
            lacking[without].append(metric)
    if not lacking:
        return {}
    if slice is not None:  # a changed slice has no stored values
        lacking = defaultdict(list, {tuple(runs): list(metrics)})
    made: dict[str, set[str]] = {}
    by, suffix = ([], "") if slice is None else ([slice], f" by {slice}")
    with _with_stored(con, protocol, [run for some in lacking for run in some], slice, metrics):
        for some, those in lacking.items():
            done = stored_runs.evaluate(con, stored_runs.Job(plan(those, protocol), by=by), some)
            for dataset, run, name, _ in done.details:
                if name.endswith(suffix):
                    made.setdefault(name.removesuffix(suffix), set()).add(f"{dataset}/{run}")
    return {str(metric): len(made[str(metric)]) for metric in metrics if str(metric) in made}


def compute_curve(
    con: duckdb.DuckDBPyConnection,
    curve: Metric,
    protocol: Protocol,
    runs: Sequence[Candidate],
    on_curve: Callable[[str], None] | None = None,
) -> stored_runs.Outcome:
    """Add the points of a curve that are not stored, or are stale, to those that are read."""
    job = stored_runs.Job(plan([curve], protocol))
    found = stored_runs.evaluate(con, job, runs, dry_run=True)
    if found.computed:
        with _with_stored(con, protocol, runs):
            found = stored_runs.evaluate(con, job, runs, on_metric=on_curve)
    return found


@contextmanager
def _with_stored(
    con: duckdb.DuckDBPyConnection,
    protocol: Protocol,
    runs: Sequence[Candidate],
    slice: str | None = None,
    metrics: Sequence[Metric] = (),
) -> Iterator[None]:
    """Keep the rows that an evaluation stores apart from the rows that are read, and then read both.

    With a slice, the values of the metrics over the whole are recomputed.
    """
    needed = {(run.run_id, run.qrels_id) for run in runs}
    with_hits = con.execute(
        "select run_id, qrels_id from hit_set where ordering = $1", [protocol.ordering]
    ).fetchall()
    ids = [] if needed <= set(with_hits) else sorted({run_id for run_id, _ in needed})
    before = con.execute(
        "select 1 from duckdb_tables() where database_name = 'temp' and table_name = 'new_score'"
    ).fetchall()
    if before:
        drop_views(con)
    con.execute(
        render(
            "statements/shadow_new",
            file=database.ALIAS, runs=ids, again=bool(before), slice=slice,
            protocol=protocol.name, metrics=[str(metric) for metric in metrics],
        )
    )  # fmt: skip
    drop_views(con)
    yield
    con.execute(render("statements/shadow_both", file=database.ALIAS))
    for statement in own_schema.statements():
        con.execute(statement)


def _missing(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
    slice: str | None,
) -> dict[str, list[int]]:
    """Return by metric the positions of the runs that have no value of it."""
    rows = con.execute(
        render("analyses/missing_values", slice=slice),
        {
            "protocol": protocol.name,
            "metrics": [str(metric) for metric in metrics],
            "run_ids": [run.run_id for run in runs],
            "qrels_ids": [run.qrels_id for run in runs],
        },
    ).fetchall()
    missing: defaultdict[str, list[int]] = defaultdict(list)
    for metric, index in rows:
        missing[metric].append(index)
    return missing


def values(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
) -> Values:
    """Return the values of metrics that may not be stored, computed from stored hits."""
    _compute(con, metrics, protocol, runs)
    return _values(con, runs)


def all_relevant(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
) -> Values:
    """Return the values of runs if all of their unjudged retrieved documents were relevant.

    This concerns documents retrieved for judged queries, down to the metric's cutoff; they get the
    highest judged relevance. Raises UsageError if the qrels are not plain judgments.
    """
    by_cutoff: defaultdict[object, list[Metric]] = defaultdict(list)
    for metric in metrics:
        by_cutoff[metric.depth].append(metric)
    found: Values = {}
    for run in runs:
        if run.qrels_id is None or qrels_kind(con, run.qrels_id) != "judgments":
            raise UsageError(
                f"{run.dataset}: unjudged documents can be counted as relevant only if documents "
                "are judged once, not by subtopic or in preferences"
            )
        for cutoff, those in by_cutoff.items():
            scope = Scope(con)
            scope.stored_truth(run.qrels_id)
            scope.predictions([run.run_id])
            con.execute(
                render(
                    "statements/all_relevant",
                    file=database.ALIAS, qrels_id=run.qrels_id, cutoff=cutoff,
                    ranked=ranked_sql(protocol),
                )
            )  # fmt: skip
            _compute(con, those, protocol, [run])
            found |= _values(con, [run])
            for table in _TRUTH:
                con.execute(f"drop table temp.main.{table}")
    return found


def without_documents(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
    documents: str,
    left_out: str | None,
) -> Values:
    """Return the values of runs of one dataset if some documents had no judgment.

    `documents` is a table with `left_out, query_id, doc_id`, of which the rows with this `left_out`
    count; None leaves nothing out. Raises UsageError if the qrels are not plain judgments.
    """
    qrels_id = _plain(con, runs)
    drop_views(con)
    con.execute(
        render(
            "statements/without_documents",
            file=database.ALIAS, qrels_id=qrels_id, documents=documents, left_out=left_out,
        )
    )  # fmt: skip
    _compute(con, metrics, protocol, runs)
    found = _values(con, runs)
    for table in _TRUTH:
        con.execute(f"drop table temp.main.{table}")
    return found


def tied(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
    *,
    relevant_first: bool,
) -> Values:
    """Return the values of runs if, of documents with one score, the relevant ones stood first or last.

    The table `head` has the whole lists, and the judgments are in scope (`Scope.stored_truth`). Raises
    UsageError if the qrels are not plain judgments.
    """
    qrels_id = _plain(con, runs)
    resolved = requirements.resolved(con, protocol, runs[0].dataset)
    Scope(con).runs([run.run_id for run in runs])
    drop_views(con)
    con.execute(
        render(
            "statements/tied_hits",
            file=database.ALIAS, qrels_id=qrels_id, ordering=resolved.ordering,
            relevant_first=relevant_first,
        )
    )  # fmt: skip
    _compute(con, metrics, protocol, runs)
    found = _values(con, runs)
    for table in ("hit", "hit_set"):
        con.execute(f"drop table temp.main.{table}")
    return found


def _plain(con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]) -> int:
    """Return the qrels of runs of one dataset; refuse those that are not plain judgments."""
    qrels_id = runs[0].qrels_id
    if qrels_id is None or qrels_kind(con, qrels_id) != "judgments":
        raise UsageError(
            f"{runs[0].dataset}: needs qrels in which documents are judged once, not by subtopic or in "
            "preferences"
        )
    return qrels_id


def _compute(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
) -> None:
    drop_views(con)
    con.execute(render("statements/shadow_values", file=database.ALIAS))
    stored_runs.evaluate(con, stored_runs.Job(plan(metrics, protocol)), runs)


def drop_views(con: duckdb.DuckDBPyConnection) -> None:
    """Drop the views that shadow the file's own values: an evaluation takes their names."""
    rows = con.execute(
        "select view_name from duckdb_views() where database_name = 'temp' and not internal "
        "and not list_contains($kept, view_name)",
        {"kept": list(_CATALOGUE)},
    ).fetchall()
    for (name,) in rows:
        con.execute(f"drop view temp.main.{ident(name)}")


def _values(con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]) -> Values:
    names = {run.run_id: run.run for run in runs}
    rows = con.execute(
        "select metric, run_id, value from temp.main.score join temp.main.evaluation "
        "using (evaluation_id)"
    ).fetchall()
    return {(str(metric), names[run_id]): value for metric, run_id, value in rows}

"""The values of a run query by query."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import column_names, past_state, stored_metrics, texts
from warehouse.errors import UsageError, check_at_least, listing, nearest
from warehouse.evaluate import requirements
from warehouse.evaluate.scope import Scope
from warehouse.metrics.notation import Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store.database import is_collected, keep


def queries(
    con: Connection,
    dataset: str | None,
    run: str,
    *,
    metrics: Metrics,
    slice: str | None,
    worst: int | None,
    protocol: str,
    as_of: past_state.Moment | None,
    qrels: int | None,
) -> tuple[Relation, tuple[str, ...], dict[str, str]]:
    """Return a run's values query by query, with notes, and the names that were asked for.

    The arguments are as in `Warehouse.queries`.
    """
    check_at_least(1, worst=worst)
    state = past_state.state(as_of, qrels)
    with past_state.read_one(con, dataset, state, stored_only=not metrics) as (name, _):
        rules = stored_metrics.stored_rules(con, protocol)
        wanted = stored_metrics.names(con, [name], metrics, rules)
        if slice is not None:
            stored_metrics.check_slice(con, name, slice)
        made = stored_metrics.with_missing(
            con, [name], wanted, rules, slice, [run], is_past=as_of is not None
        )
        computed = stored_metrics.computed_notes(
            [name], made, rules, slice=slice, qrels=qrels, is_past=as_of is not None
        )
        return (
            _queries(con, name, run, wanted, rules, slice, worst),
            computed,
            stored_metrics.labels(metrics, rules),
        )


def _queries(
    con: Connection,
    dataset: str,
    run: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None,
    worst: int | None,
) -> Relation:
    """Return a run's values with its counts; for a slice, those in each part, without counts."""
    shown = stored_metrics.choose(con, dataset, metrics, protocol, slice)
    column_names.check(shown)
    rows = con.execute(
        "select distinct run from scores where dataset = $dataset and protocol = $protocol",
        {"dataset": dataset, "protocol": protocol.name},
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if run not in known:
        hint = nearest(run, known) or f"; evaluated are {listing(known)}"
        raise UsageError(f"{run}: no evaluated run of that name in {dataset}{hint}")
    lower_is_better = stored_metrics.direction(con, [dataset], shown[0], protocol) == "lower"
    order = {"metrics": shown, "lower_is_better": lower_is_better, "worst": worst}
    if slice is not None:
        sql = render("analyses/slice_queries", **order)
        asked = {"dataset": dataset, "run": run, "protocol": protocol.name, "slice": slice}
        return keep(con, sql, asked)
    if protocol.exclude is not None:  # the lists are shorter than the stored ones
        _put_predictions(con, dataset, run)
    with_text = texts.any_texts(con, dataset, "query")
    return keep(
        con,
        render(
            "analyses/queries",
            **order,
            with_text=with_text,
            exclude=protocol.exclude,
            is_collected=is_collected(con),
        ),
        {
            "dataset": dataset,
            "run": run,
            "protocol": protocol.name,
            "ordering": requirements.resolved(con, protocol, dataset).ordering,
        },
    )


def _put_predictions(con: Connection, dataset: str, run: str) -> None:
    """Put the predictions of a run in scope, and what may be left out of them."""
    ((run_id, qrels_id),) = con.execute(
        "select distinct run_id, qrels_id from scores where dataset = $dataset and run = $run",
        {"dataset": dataset, "run": run},
    ).fetchall()
    scope = Scope(con)
    scope.runs([run_id])
    scope.stored_truth(qrels_id)
    scope.predictions([run_id])

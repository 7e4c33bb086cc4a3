"""Agreement of rankings: of runs on documents, and of metrics or datasets on runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import past_state, ranked_lists, run_choice, stored_metrics
from warehouse.analyze.run_choice import Choice
from warehouse.errors import (
    UsageError,
    check_names,
    check_several,
    check_word,
    command,
    counted,
    listing,
    nearest,
)
from warehouse.metrics.notation import Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

OF = ("documents", "runs", "queries")
OVER = ("intersection", "union")
MEASURES = ("tau_b", "tau_ap", "tau_ap_b", "rbo_ext", "rbo_min", "rbo_residual")
# The most documents compared in one statement; this bounds its memory.
_BATCH = 4_000_000


@dataclass(frozen=True)
class Agreement:
    """How much rankings agree.

    For documents, `relation` has the columns `run, other, tau_b, tau_ap, tau_ap_b, rbo_ext,
    rbo_min, rbo_residual, common, queries, undefined, only_one`: means over the queries that both
    runs have. `queries` has these measures query by query. For runs it is None, and the columns are
    `metric, other, tau_b, tau_ap, tau_ap_b, rbo_ext, runs, swapped_pairs, left_out`; between
    datasets they are `metric, dataset, other`, and then the same. For queries the columns are
    `attribute, run, metric, pearson, spearman, tau_b, queries, left_out`.
    """

    relation: Relation
    notes: tuple[str, ...] = ()
    queries: Relation | None = None


def agree(
    con: Connection,
    dataset: str | Iterable[str] | None,
    runs: str | Iterable[str],
    *,
    of: str,
    metrics: Metrics,
    against: str | None,
    depth: int | None,
    p: float,
    over: str,
    protocol: str,
    choice: Choice = run_choice.ALL,
) -> Agreement:
    """Compare rankings of documents or of runs; the arguments are as in `Warehouse.agree`."""
    check_word("kind of ranking", of, OF)
    rules = stored_metrics.stored_rules(con, protocol)
    names, asked = check_names("runs", runs), check_several("metrics", metrics)
    if of != "documents":
        if depth is not None or over != "intersection":
            raise UsageError(
                "depth and over: are for lists of documents; runs and queries are compared whole"
            )
    elif asked:
        raise UsageError("metrics order runs, not documents: ask for the agreement of runs")
    base = [] if against is None or of != "documents" else [against]
    reads = replace(choice, named=(*names, *base))
    with past_state.read(con, dataset, past_state.NOW, reads) as (datasets, _):
        named = run_choice.expanded(con, datasets[0], names, rest=bool(names) and not choice.is_all)
        if of == "runs":
            chosen = stored_metrics.names(con, datasets, asked, rules)
            made = stored_metrics.with_missing(con, datasets, chosen, rules)
            found = of_runs(con, datasets, chosen, rules, runs=named, against=against, p=p)
            computed = stored_metrics.computed_notes(datasets, made, rules)
            return replace(found, notes=(*found.notes, *computed))
        if of == "queries":
            (dataset,) = _only(datasets)
            chosen = stored_metrics.names(con, datasets, asked, rules)
            made = stored_metrics.with_missing(con, datasets, chosen, rules)
            found = of_queries(con, dataset, chosen, rules, runs=named, attribute=against)
            computed = stored_metrics.computed_notes(datasets, made, rules)
            return replace(found, notes=(*found.notes, *computed))
        (dataset,) = _only(datasets)
        return of_documents(
            con, dataset, named, rules, against=against, depth=depth, p=p, over=over
        )


def _only(datasets: Sequence[str]) -> Sequence[str]:
    if len(datasets) > 1:
        raise UsageError("documents and queries are compared within one dataset; name one")
    return datasets


def of_documents(
    con: Connection,
    dataset: str,
    names: Sequence[str],
    protocol: Protocol,
    *,
    against: str | None = None,
    depth: int | None,
    p: float,
    over: str,
) -> Agreement:
    """Compare the document rankings of every two named runs, or all; or all `against` one.

    tau is over the documents of both lists, or of either; documents that a list lacks rank below
    all others, tied with each other. Raises UsageError for wrong names and numbers.
    """
    check_word("choice of documents", over, OVER)
    runs = ranked_lists.current_runs(con, dataset, names)
    base = None if against is None else ranked_lists.current_runs(con, dataset, [against])[0]
    pairs = _pairs(runs, base)
    if not pairs:
        others = [run.name for run in ranked_lists.current_runs(con, dataset) if run != runs[0]]
        there = f"name another beside {runs[0].name}" if others else "it has only one"
        raise UsageError(f"{dataset}: agreement needs two runs; {there}")
    involved = dict.fromkeys(run for pair in pairs for run in pair)
    longest = ranked_lists.make_tables(con, list(involved), protocol, depth)
    ranked_lists.make_masses(con, p, longest)
    sql = render("analyses/agree_documents", p=float(p), over=over)
    made = "create or replace temp table agreement as"
    for batch in _batches(pairs):
        con.execute(f"{made}\n{sql}", _ids(batch))
        made = "insert into agreement"
    asked = _ids(pairs)
    relation = database.keep(con, render("analyses/agree_means", measures=MEASURES), asked)
    queries = database.keep(
        con, render("analyses/agree_queries", measures=MEASURES), asked, name="queries"
    )
    return Agreement(relation, _notes_of_documents(relation, over), queries)


def _pairs(
    runs: Sequence[ranked_lists.Run], base: ranked_lists.Run | None
) -> list[tuple[ranked_lists.Run, ranked_lists.Run]]:
    if base is not None:
        return [(run, base) for run in runs if run != base]
    return [(one, other) for index, one in enumerate(runs) for other in runs[index + 1 :]]


def _batches(
    pairs: Sequence[tuple[ranked_lists.Run, ranked_lists.Run]],
) -> Iterator[list[tuple[ranked_lists.Run, ranked_lists.Run]]]:
    """Divide the pairs into batches of at most so many documents; a pair is never divided."""
    batch: list[tuple[ranked_lists.Run, ranked_lists.Run]] = []
    filled = 0
    for pair in pairs:
        size = sum(run.num_predictions for run in pair)
        if batch and filled + size > _BATCH:
            yield batch
            batch, filled = [], 0
        batch.append(pair)
        filled += size
    yield batch


def _ids(pairs: Sequence[tuple[ranked_lists.Run, ranked_lists.Run]]) -> dict[str, list[int]]:
    return {
        "ones": [one.run_id for one, _ in pairs],
        "others": [other.run_id for _, other in pairs],
    }


def _notes_of_documents(relation: Relation, over: str) -> tuple[str, ...]:
    """Say over which queries the means are, and which are left out."""
    rows = database.records(relation)
    notes = []
    nothing = [f"{row['run']} and {row['other']}" for row in rows if not row["queries"]]
    if nothing:
        notes.append(f"no common query, so no value: {listing(nothing, 4)}")
    alone = {f"{row['run']} and {row['other']}": row["only_one"] for row in rows if row["only_one"]}
    if alone:
        counts = listing([f"{names} {queries:,}" for names, queries in alone.items()], 4)
        notes.append(f"queries that only one of two runs answers are left out: {counts}")
    undefined = {
        f"{row['run']} and {row['other']}": f"{row['undefined']:,} of {row['queries']:,}"
        for row in rows
        if row["undefined"]
    }
    if undefined:
        shared = "in both lists" if over == "intersection" else "in either list"
        runs = listing([f"{names} {queries}" for names, queries in undefined.items()], 4)
        notes.append(f"tau is undefined for queries with fewer than two documents {shared}: {runs}")
    return tuple(notes)


def of_runs(
    con: Connection,
    datasets: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    runs: Sequence[str] = (),
    against: str | None = None,
    p: float,
) -> Agreement:
    """Compare the orders of the runs by every two metrics, or between datasets by each metric.

    The metrics are canonical names; by default, all with values and a better direction. Between
    datasets, runs are matched by name. Raises UsageError for wrong names and missing values.
    """
    if not 0 < p < 1:
        raise UsageError(f"p of a rank-biased overlap lies between 0 and 1, not {p}")
    by = "metric" if len(datasets) == 1 else "dataset"
    chosen = _ranking(con, datasets, metrics, protocol)
    for dataset in datasets if runs else ():
        ranked_lists.current_runs(con, dataset, runs)
    names = chosen if by == "metric" else list(datasets)
    if by == "metric" and against is not None and against not in names:
        against = ", ".join(stored_metrics.names(con, datasets, [against], protocol))
    if against is not None and against not in names:
        hint = nearest(against, names) or f"; there are {listing(names)}"
        raise UsageError(f"{against}: nothing of that name is compared{hint}")
    if len(names) < 2:
        raise UsageError(
            f"{names[0]}: agreement needs two metrics; {datasets[0]} has values of {listing(chosen)}"
        )
    compared = {
        "datasets": list(datasets),
        "metrics": chosen,
        "runs": list(runs),
        "protocol": protocol.name,
    }
    relation = database.keep(
        con,
        render("analyses/agree_runs", by=by, against=against, p=float(p)),
        {"names": names, **compared} | ({} if against is None else {"against": against}),
    )
    older = con.execute(render("analyses/agree_formulas"), compared).fetchall()
    notes = (
        f"{metric} in {dataset}: {counted(number, 'run')} with a value by an older formula than the "
        f"others: {command('evaluate', dataset, metrics=[metric], protocol=protocol.name)}"
        for dataset, metric, number in older
    )
    return Agreement(relation, (*_notes_of_runs(relation, by), *notes))


def of_queries(
    con: Connection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    runs: Sequence[str] = (),
    attribute: str | None = None,
) -> Agreement:
    """Correlate an attribute of the queries, or each one that is a number, with the runs' values.

    That is how predictors of a query's performance are evaluated. Raises UsageError for wrong names.
    """
    rows = con.execute(render("statements/current_attributes"), {"dataset": dataset}).fetchall()
    known = [str(name) for subject, name, _ in rows if subject == "query"]
    if not known:
        raise UsageError(
            f"{dataset}: no attribute of queries; load a table with one number for each: "
            f"{command('ingest attributes', dataset)} --of queries FILE"
        )
    if attribute is not None and attribute not in known:
        hint = nearest(attribute, known) or f"; there are {listing(known)}"
        raise UsageError(f"{attribute}: dataset {dataset} has no such attribute of queries{hint}")
    chosen = [run.name for run in ranked_lists.current_runs(con, dataset, runs)]
    asked = {
        "dataset": dataset,
        "protocol": protocol.name,
        "metrics": stored_metrics.choose(con, dataset, metrics, protocol),
        "attributes": known if attribute is None else [attribute],
        "runs": chosen,
    }
    relation = database.keep(con, render("analyses/agree_predictors"), asked)
    found = {row["attribute"] for row in database.records(relation)}
    lacking = [name for name in asked["attributes"] if name not in found]
    if not found:
        raise UsageError(
            f"{listing(lacking)}: no query with a value has one number of it, so nothing can be compared"
        )
    notes = (f"no numbers: {listing(lacking)}",) if lacking else ()
    return Agreement(relation, notes)


def _ranking(
    con: Connection, datasets: Sequence[str], metrics: Sequence[str], protocol: Protocol
) -> list[str]:
    """Return the metrics to order runs by: the named ones, or all that the datasets share."""
    shared: list[str] = []
    for index, dataset in enumerate(datasets):
        there = stored_metrics.choose(con, dataset, metrics, protocol)
        shared = there if index == 0 else [name for name in shared if name in there]
    found = []
    for name in shared:
        if stored_metrics.direction(con, datasets, name, protocol) != "none":
            found.append(name)
        elif metrics:
            raise UsageError(f"{name}: neither higher nor lower is better, so it cannot rank runs")
    if not found:
        raise UsageError(
            f"{listing(datasets)}: no metric with a better direction has values in all of them"
        )
    return found


def _notes_of_runs(relation: Relation, by: str) -> tuple[str, ...]:
    """Say which runs are left out, and which values are undefined."""
    rows = database.records(relation)

    def pair(row: dict[str, Any]) -> str:
        of_metric = "" if by == "metric" else f"{row['metric']} in "
        return f"{of_metric}{row[by]} and {row['other']}"

    notes = []
    out = {pair(row): counted(row["left_out"], "run") for row in rows if row["left_out"]}
    if out:
        counts = listing([f"{names} {number}" for names, number in out.items()], 4)
        notes.append(f"left out, because they have only one of the values: {counts}")
    undefined = [pair(row) for row in rows if row["tau_b"] is None]
    if undefined:
        notes.append(
            "undefined, because there are fewer than two runs or all values are equal: "
            f"{listing(undefined, 4)}"
        )
    return tuple(notes)

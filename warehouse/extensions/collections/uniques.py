"""Whether judgments are fair to runs that had no part in the pool: leave-out-uniques."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from warehouse.analyze import holes, past_state, ranked_lists, run_choice, stored_metrics
from warehouse.analyze.regressions import SYSTEM
from warehouse.analyze.run_choice import Choice
from warehouse.errors import UsageError, check_at_least, check_names, counted, listing
from warehouse.evaluate import candidates, unstored_values
from warehouse.evaluate.candidates import Candidate
from warehouse.metrics.notation import Metric, Metrics, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.report.result import Result
from warehouse.sql_text.templates import render
from warehouse.store import database

RUN = "run"
_UNIQUES, _BOARDS = "temp.main.unique_document", "temp.main.left_out_board"


@dataclass(frozen=True)
class Reusability:
    """The effect on the board of leaving out each group's own judgments.

    `relation` has, by metric and group, the largest loss of rank first: `metric, left_out, runs,
    unique_judged, unique_relevant, tau_b, swapped_pairs, rank_loss, run, rank_before, rank_after,
    value_before, value_after`. `boards` has every run: `metric, left_out, run, is_member, before,
    after, rank_before, rank_after`. `documents` has the judgments left out: `left_out, query_id,
    doc_id, relevance`.
    """

    relation: duckdb.DuckDBPyRelation
    boards: duckdb.DuckDBPyRelation
    documents: duckdb.DuckDBPyRelation
    dataset: str
    by: str
    depth: int | None
    runs: tuple[str, ...]
    protocol: str
    labels: Mapping[str, str] = field(default_factory=dict)


def reusability(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    runs: str | Iterable[str],
    metrics: Metrics,
    *,
    by: str,
    depth: int | None,
    protocol: str,
    choice: Choice = run_choice.ALL,
    on_group: Callable[[str], None] | None = None,
) -> Reusability:
    """Leave out each group's uniques; the arguments are as in `collections.reusability`."""
    check_at_least(1, depth=depth)
    rules = stored_metrics.stored_rules(con, protocol)
    if rules.is_imported:
        raise UsageError(
            f"protocol {rules.name}: imported values cannot be computed with other judgments"
        )
    names = check_names("runs", runs)
    reads = replace(choice, named=tuple(names))
    with past_state.read_one(con, dataset, past_state.NOW, reads) as (name, _):
        named = run_choice.expanded(con, name, names, rest=bool(names) and not choice.is_all)
        chosen = [run.name for run in ranked_lists.current_runs(con, name, named)]
        wanted = stored_metrics.names(con, [name], metrics, rules)
        shown = wanted or stored_metrics.with_values(con, [name], rules)
        measured = [m for m in map(known_metric, shown) if m is not None and m.direction != "none"]
        groups = _groups(con, name, chosen, by)
    asked = candidates.find(con, name, chosen)
    if len(asked) < 2:
        raise UsageError(f"{name}: leaving out needs two runs at least; there is {listing(chosen)}")
    if not measured:
        raise UsageError(f"{name}: name a metric of which a higher or a lower value is better")
    found_runs = ranked_lists.current_runs(con, name, chosen)
    holes.put_heads(con, name, found_runs, rules, depth)
    sql = render("collections/unique_documents")
    ids = {run.name: run.run_id for run in found_runs}
    given = {"runs": [ids[run] for run in groups], "groups": list(groups.values())}
    documents = database.keep(con, sql, given, name="unique_document")
    boards = _boards(con, measured, rules, asked, groups, on_group)
    taus = render("analyses/qrels_taus", boards="left_out_board", keys=["metric", "left_out"])
    database.keep(con, taus, name="left_out_tau")
    sql = render(
        "collections/reusability", uniques=_UNIQUES, boards=_BOARDS, taus="temp.main.left_out_tau"
    )
    return Reusability(
        relation=database.keep(con, sql, name="reusability"),
        boards=boards,
        documents=documents,
        dataset=name,
        by=by,
        depth=depth,
        runs=tuple(chosen),
        protocol=rules.name,
        labels=stored_metrics.labels(metrics, rules),
    )


def _groups(
    con: duckdb.DuckDBPyConnection, dataset: str, runs: Sequence[str], by: str
) -> dict[str, str]:
    """Return the group of each run; one without a system, or without the tag, is alone.

    Raises UsageError if no run has the tag, or if all are of one group.
    """
    if by == RUN:
        return {run: run for run in runs}
    rows = con.execute(
        render("collections/run_groups", grouped_by=by), {"dataset": dataset}
    ).fetchall()
    given = {run: group for run, group in rows if group is not None and run in runs}
    if not given:
        what = "system" if by == SYSTEM else f"tag {by}"
        raise UsageError(f"{dataset}: no run has a {what}; leave out by run, by system or by a tag")
    # a run alone is named by itself, and must not fall into a group of that name
    taken = set(given.values())
    groups = {run: given.get(run, f"run {run}" if run in taken else run) for run in runs}
    if len(set(groups.values())) < 2:
        raise UsageError(f"{dataset}: all runs are of one {by}, {listing(set(groups.values()))}")
    return groups


def _boards(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    protocol: Protocol,
    runs: Sequence[Candidate],
    groups: Mapping[str, str],
    on_group: Callable[[str], None] | None,
) -> duckdb.DuckDBPyRelation:
    """Compute the values of all runs without the uniques of each group, and with them."""
    before = unstored_values.without_documents(con, metrics, protocol, runs, _UNIQUES, None)
    rows = con.execute(f"select distinct left_out from {_UNIQUES}").fetchall()
    with_uniques = {group for (group,) in rows}
    columns: dict[str, list[object]] = {
        name: []
        for name in (
            "left_out", "metric", "run", "is_member", "lower_is_better", "before", "after",
        )
    }  # fmt: skip
    for group in dict.fromkeys(groups.values()):
        after = before
        if group in with_uniques:
            after = unstored_values.without_documents(con, metrics, protocol, runs, _UNIQUES, group)
        for metric in metrics:
            for run in runs:
                key = str(metric), run.run
                row = (
                    group, *key, groups[run.run] == group, metric.direction == "lower",
                    before.get(key), after.get(key),
                )  # fmt: skip
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
        if on_group is not None:
            on_group(group)
    return database.keep(con, render("collections/left_out_boards"), columns, name="left_out_board")


def result(found: Reusability) -> Result:
    """Return the effect of leaving out each group's own judgments; tables have boards and documents."""
    titles = {
        "left_out": "left out", "unique_judged": "unique judged", "unique_relevant": "unique relevant",
        "tau_b": "tau-b", "swapped_pairs": "swapped pairs", "rank_loss": "rank loss",
        "rank_before": "rank", "rank_after": "rank then", "value_before": "value",
        "value_after": "value then",
    }  # fmt: skip
    first = "all documents" if found.depth is None else f"the first {found.depth:,} documents"
    notes = [
        f"left out: the judgments of documents that only this {found.by} has among {first} of the "
        f"{counted(len(found.runs), 'run')}; tau-b: of the boards with and without them; rank loss: of "
        f"the run named, which loses most; protocol {found.protocol}"
    ]
    unneeded = ["runs"] if found.by == "run" else []
    spare = ["swapped_pairs", "value_before", "value_after", "unique_judged"]
    tables: dict[str, Result | None] = {
        "boards": Result(
            found.boards, notes, titles={**titles, "before": "value", "after": "value then"}
        ),
        "documents": Result(found.documents, notes, titles=titles),
    }
    return Result(
        found.relation, notes, titles=titles, unneeded=unneeded, spare=spare, tables=tables,
        details=found,
    )  # fmt: skip

"""Selecting current runs, and their ranked lists as numbers, for comparing rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import UsageError, check_at_least, no_such_run, none_yet
from warehouse.evaluate.chain import ranked_sql
from warehouse.evaluate.scope import Scope
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import datasets


@dataclass(frozen=True)
class Run:
    """A current run of a dataset."""

    run_id: int
    name: str
    num_predictions: int


def current_runs(con: Connection, dataset: str, names: Sequence[str] = ()) -> list[Run]:
    """Return the named current runs of a dataset, in that order, or all by name.

    Raises UsageError for a dataset without runs and for unknown names.
    """
    datasets.check(con, dataset)
    rows = con.execute(
        "select run_id, run, num_predictions from runs where dataset = $dataset "
        "and (len($names) = 0 or list_contains($names, run)) order by run",
        {"dataset": dataset, "names": list(names)},
    ).fetchall()
    found = {str(row[1]): Run(int(row[0]), str(row[1]), int(row[2])) for row in rows}
    if not (found or names):
        raise UsageError(none_yet("run", dataset))
    for name in names:
        if name not in found:
            known = (run.name for run in current_runs(con, dataset))
            raise UsageError(no_such_run(name, dataset, known))
    return [found[name] for name in dict.fromkeys(names)] if names else list(found.values())


def whole_lists(protocol: Protocol) -> Protocol:
    """Return a protocol's order of documents, for every query of a run, judged or not."""
    return replace(protocol, queries="run", judged_only=False)


def make_tables(con: Connection, runs: Sequence[Run], protocol: Protocol, depth: int | None) -> int:
    """Make the tables `listed` and `list_length` of some runs' lists; return the longest length.

    The lists are in the protocol's order and end at `depth` or at its own. `listed` has `run_id,
    query_id, item, rank`; an item is a number for a document of a query.
    """
    check_at_least(1, depth=depth)
    scope = Scope(con)
    scope.predictions([run.run_id for run in runs])
    if protocol.exclude is not None:
        ((dataset,),) = con.execute(
            "select distinct dataset from run_version where run_id = $1", [runs[0].run_id]
        ).fetchall()
        scope.other_data(dataset)
    cuts = [cut for cut in (depth, protocol.depth) if cut is not None]
    ranked = ranked_sql(whole_lists(protocol), min(cuts) if cuts else None)
    sql = render("analyses/agree_lists", ranked=ranked)
    con.execute(f"create or replace temp table listed as\n{sql}")
    con.execute(
        "create or replace temp table list_length as "
        "select run_id, query_id, count(*) as length from listed group by run_id, query_id"
    )
    rows = con.execute("select coalesce(max(length), 0) from list_length").fetchall()
    return int(rows[0][0])


def make_masses(con: Connection, p: float, longest: int) -> None:
    """Make the table `rbo_mass`: the weights of depths in rank-biased overlap, for such lengths."""
    if not 0 < p < 1:
        raise UsageError(f"p of a rank-biased overlap lies between 0 and 1, not {p}")
    # two disjoint lists have seen all documents at the sum of their lengths
    sql = render("analyses/agree_weights", p=float(p), deepest=2 * longest)
    con.execute(f"create or replace temp table rbo_mass as\n{sql}")

"""The unjudged documents that runs rank high: candidates for judging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import duckdb

from warehouse import extending
from warehouse.analyze import past_state, ranked_lists, run_choice, stored_metrics
from warehouse.analyze.run_choice import Choice
from warehouse.errors import UsageError, check_at_least, check_names, check_word, none_yet, option
from warehouse.evaluate.chain import ranked_sql, relation
from warehouse.evaluate.scope import Scope
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

# Which documents are wanted most: orders of one template; extensions add files in `sql/holes`.
_ORDERS = ("popularity", "average-error", "move-to-front")


@dataclass(frozen=True)
class Holes:
    """The documents to judge, and the effect of judging them.

    `relation` has the columns `query_id, doc_id, runs, best_rank, mean_reciprocal_rank`, the most
    wanted first, and by the order also `error` or `nonrel_above`. `filled` has, by run, `run, shown,
    unjudged, filled, judged, judged_after`; the last two are the mean share of judged documents among
    the first `depth`. `total` counts all unjudged documents there, listed or not.
    """

    relation: duckdb.DuckDBPyRelation
    filled: duckdb.DuckDBPyRelation
    dataset: str
    depth: int
    total: int


def holes(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    runs: str | Iterable[str],
    *,
    depth: int,
    top: int | None,
    per_query: bool,
    protocol: str,
    order: str = "popularity",
    p: float = 0.95,
    choice: Choice = run_choice.ALL,
) -> Holes:
    """List the unjudged documents among the first of runs, for the queries that count.

    The arguments are as in `Warehouse.holes`. Raises UsageError if there are no qrels.
    """
    check_at_least(1, depth=depth, top=top)
    database.refuse_collected(con, "unjudged documents")
    rules = stored_metrics.stored_rules(con, protocol)
    if per_query and top is None:
        raise UsageError("per query: needs top, the number of documents for each query")
    files = (path for one in extending.found() for path in one.extension.files("holes"))
    check_word("order", order, (*_ORDERS, *(path.name.partition(".")[0] for path in files)))
    if not 0 < p < 1:
        raise UsageError(f"p of a rank-biased precision lies between 0 and 1, not {p}")
    if order not in _ORDERS and (top is None or per_query):
        raise UsageError(
            f"order {order}: takes one document after another over all queries: say how many with "
            f"{option('top', 100)}, not per query"
        )
    if rules.judged_only:
        raise UsageError(
            f"protocol {rules.name} removes unjudged documents, so there are none to list"
        )
    names = check_names("runs", runs)
    reads = replace(choice, named=tuple(names))
    with past_state.read_one(con, dataset, past_state.NOW, reads) as (dataset, _):
        named = run_choice.expanded(con, dataset, names, rest=bool(names) and not choice.is_all)
        found_runs = ranked_lists.current_runs(con, dataset, named)
    depth = depth if rules.depth is None else min(depth, rules.depth)
    put_heads(con, dataset, found_runs, rules, depth)
    if order in _ORDERS:
        sql = render("analyses/holes", top=top, per_query=per_query, order=order, p=float(p))
    else:
        sql = render(f"holes/{order}", top=top, p=float(p))
    found = database.keep(con, sql, name="holes")
    rankings = relation("rankings", rules)
    filled = database.keep(
        con, render("analyses/holes_filled", holes="holes", rankings=rankings), name="filled"
    )
    ((total,),) = con.execute(
        "select count(*) from (select distinct query_id, doc_id from head anti join "
        "(select query_id, doc_id from scope_judgment where relevance >= 0) using (query_id, doc_id))"
    ).fetchall()
    return Holes(found, filled, dataset, depth, int(total))


def put_heads(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    runs: Sequence[ranked_lists.Run],
    protocol: Protocol,
    depth: int | None,
) -> None:
    """Put the runs and the current qrels in scope, and make the table `head` of the first documents.

    It has `run_id, query_id, doc_id, rank` down to a depth, or all.
    """
    rows = con.execute(
        "select qrels_id from qrels_version where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    if not rows:
        raise UsageError(none_yet("qrels", dataset))
    ids = [run.run_id for run in runs]
    scope = Scope(con)
    scope.runs(ids)
    scope.stored_truth(int(rows[0][0]))
    scope.predictions(ids)
    scope.rankings(protocol)
    con.execute(f"create or replace temp table head as\n{ranked_sql(protocol, depth)}")

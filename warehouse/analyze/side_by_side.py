"""The queries for which two runs differ most, with both lists side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import paired_tests, past_state, ranked_lists, stored_metrics, texts
from warehouse.analyze.resampling import COMPARED, UNITS
from warehouse.errors import UsageError, check_at_least
from warehouse.evaluate.chain import ranked_sql
from warehouse.evaluate.scope import Scope
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database


@dataclass(frozen=True)
class SideBySide:
    """The queries that differ most in a metric, and two runs' lists for them.

    `relation` has the columns `place, query_id, base_value, value, difference, rank, base_document,
    base_relevance, document, relevance`, one row per query and rank; relevance is null where nobody
    judged the document. `texts` has the texts of the queries, as far as they are loaded.
    """

    relation: Relation
    metric: str
    base: str
    run: str
    dataset: str
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def side_by_side(
    con: Connection,
    dataset: str | None,
    base: str,
    run: str,
    metric: str,
    *,
    queries: int,
    depth: int,
    protocol: str,
    as_of: past_state.Moment | None,
    qrels: int | None,
) -> SideBySide:
    """Return two runs' lists for the queries that differ most; see `Warehouse.side_by_side`."""
    check_at_least(1, queries=queries, depth=depth)
    state = past_state.state(as_of, qrels)
    with past_state.read_one(con, dataset, state, stored_only=False) as (name, gone):
        rules = stored_metrics.stored_rules(con, protocol)
        names = [stored_metrics.one_name(con, [name], metric, rules)]
        both = [one.name for one in ranked_lists.current_runs(con, name, [base, run])]
        made = stored_metrics.with_missing(con, [name], names, rules, runs=both)
        computed = stored_metrics.computed_notes(
            [name], made, rules, qrels=qrels, is_past=as_of is not None
        )
        chosen = paired_tests.current_runs(con, name, [base, run], names, rules)
        if base == run:
            raise UsageError(f"{run}: cannot be compared with itself; name another run")
        found = paired_tests.gather(con, name, chosen, names, rules)
        lists = _lists(con, found, name, rules, queries=queries, depth=depth)
        return replace(lists, notes=(*computed, *gone))


def _lists(
    con: Connection,
    found: paired_tests.Gathered,
    dataset: str,
    protocol: Protocol,
    *,
    queries: int,
    depth: int,
) -> SideBySide:
    """Return the queries for which the two gathered runs differ most, with their lists."""
    asked = {"queries": queries}
    database.keep(
        con,
        render("analyses/most_different", compared=COMPARED, units=UNITS),
        asked,
        name="differing",
    )
    rows = con.execute(
        "select run_number, run_id, qrels_id from temp.main.compared_score order by run_number"
    ).fetchall()
    (_, base_id, qrels_id), (_, run_id, _) = rows
    ids = [base_id, run_id]
    scope = Scope(con)
    scope.runs(ids)
    scope.part("query_id", "differing")
    scope.stored_truth(qrels_id)
    scope.predictions(ids, of_part=True)
    sql = render("analyses/side_by_side", ranked=ranked_sql(protocol), differing="differing")
    relation = database.keep(
        con, sql, {"base_id": base_id, "run_id": run_id, "depth": depth}, name="side_by_side"
    )
    names = con.execute("select query_id from temp.main.differing").fetchall()
    loaded = texts.texts(con, dataset, "query", [str(name) for (name,) in names])
    return SideBySide(
        relation, found.metrics[0], found.runs[0], found.runs[1], dataset,
        texts={query: text.whole for query, text in loaded.items()},
    )  # fmt: skip

"""What runs are evaluated against, put in scope: judgments, preferences and the training set.

    scope_judgment    (query_id, doc_id, relevance)   one row per query and document: the highest
                      grade of its iterations; of preferences 1 where a group has it above 0, else 0
    scope_iteration   (query_id, doc_id, iteration, relevance)   the judgments as they were loaded;
                      of preferences one row per group
    scope_preference  (query_id, judgment_group, judgment_subgroup, doc_id, level)   the preferences;
                      of judgments each iteration is a group of one subgroup, and the grade the level
    scope_training    (query_id, doc_id, relevance)   the training set; empty where there is none

The first is a table, the others are views on what is stored or was read.
"""

from __future__ import annotations

import duckdb

from warehouse import readers
from warehouse.errors import listing
from warehouse.evaluate.plan import Plan, plan
from warehouse.quoting import ident, literal
from warehouse.templates import render

PREFERENCES = "preferences"
_KINDS = {"qrels": "judgments", "iterations": "iterations", "preferences": PREFERENCES}


def kind_of(con: duckdb.DuckDBPyConnection, qrels_id: int) -> str:
    """Return what stored qrels are: judgments, iterations or preferences."""
    rows = con.execute("select kind from qrels where qrels_id = $id", {"id": qrels_id}).fetchall()
    return str(rows[0][0])


def put_stored(con: duckdb.DuckDBPyConnection, qrels_id: int, kind: str) -> None:
    """Put a version of the qrels, and its dataset's current training set, in scope."""
    table = "preference" if kind == PREFERENCES else "judgment"
    rows = f"(select * from {table} where qrels_id = {literal(qrels_id)})"
    con.execute(render("statements/scope_qrels", kind=kind, rows=rows))
    found = con.execute(
        "select max_by(training_id, version) from training semi join "
        "(select dataset_id from qrels where qrels_id = $id) using (dataset_id)",
        {"id": qrels_id},
    ).fetchall()[0][0]
    rows = f"(select * from example where training_id = {literal(found)})"
    con.execute(render("statements/scope_training", rows=None if found is None else rows))


def put_read_qrels(con: duckdb.DuckDBPyConnection, read: readers.Staged) -> None:
    """Put qrels that were just staged in scope."""
    kind = _KINDS[read.kind]
    con.execute(render("statements/scope_qrels", kind=kind, rows=_keep(con, "given_qrels")))


def put_read_training(con: duckdb.DuckDBPyConnection, read: readers.Staged | None) -> None:
    """Put a training set that was just staged, or none, in scope."""
    rows = None if read is None else _keep(con, "given_training")
    con.execute(render("statements/scope_training", rows=rows))


def fitting(work: Plan, kind: str) -> tuple[Plan, list[str]]:
    """Return the part of a plan that qrels of a kind have the grounds for, and the other metrics.

    Preferences say which document is better, not how good one is: only what reads them fits.
    """
    if kind != PREFERENCES:
        return work, []
    fits = [metric for metric in work.queries if "scope_preference" in work.script(metric)]
    others = [str(metric) for metric in work.queries if metric not in fits]
    return plan(fits, work.protocol), others


def unfit(where: str, metrics: list[str]) -> str:
    """Return the sentence that refuses metrics of judgments for qrels that are preferences."""
    return (
        f"{where}: the qrels are preferences, which have no grades: {listing(metrics, 5)} cannot be "
        "computed from them; ask for metrics of preferences, or load judgments"
    )


def _keep(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Give what is staged another name, so that the next source can be staged."""
    con.execute(f"drop table if exists temp.{ident(name)}")
    con.execute(f"alter table staged rename to {ident(name)}")
    return name

"""What is changed behind the program's back, in any column of any table, is told by `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from extended import assess, extension

from warehouse.analyze import gate_results
from warehouse.analyze.regressions import Gate, Limits
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.sync import gates
from warehouse.warehouse import Warehouse

# What needs no proof.
FREE = {
    "alembic_version": "a file with another version is not opened",
    "gate_due": "what the next sync has to do, and nothing of what was computed",
}
# What is planted, by type.
PLANTED = {
    "VARCHAR": "coalesce({0}, '') || 'x'",
    "INTEGER": "coalesce({0}, 0) + 1",
    "BIGINT": "coalesce({0}, 0) + 1",
    "UBIGINT": "xor({0}, 1)",
    "DOUBLE": "coalesce({0}, 0) + 0.5",
    "BOOLEAN": "not coalesce({0}, true)",
    "TIMESTAMP WITH TIME ZONE": "coalesce({0}, now()) + interval 1 microsecond",
}
CHECKS = " union all ".join(
    f"({render(f'checks/stored_{what}')})"
    for what in ("checksums", "contents", "current", "orphans", "predictions", "totals")
)
# In the quick run, each column by whose number this divides.
STRIDE = 16


def everything(wh: Warehouse) -> None:
    """Fill every table: with two rows, if it can, so that a change can also be of one among others."""
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0, "u": 2}, "q2": {"d": 1}})
    extension("answers").ingest_judgments(
        wh,
        "tiny",
        {"q1": {"a": 1, "b": 2}},
        judge="gpt",
        kind="llm",
        model="gpt-4o",
        prompt="umbrela",
    )
    sides = wh.path.with_name("sides.prefs")
    sides.write_text("q g s a 1\nq g s b 0\n")
    wh.ingest_qrels("sides", sides, format="prefs")
    wh.ingest_training("tiny", {"q0": {"a": 1, "b": 1}, "q9": {}})
    kinds = {"a": {"kind": "x", "size": 3}, "b": {"kind": "y", "size": 4}}
    wh.ingest_attributes("tiny", kinds, of="docs", name="kinds")
    wh.ingest_text(
        "tiny",
        {"q1": {"text": "what", "title": "is"}, "q2": {"text": "an owl"}},
        of="queries",
        name="texts",
    )
    one, two = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"x": 1.0}}, {"q1": {"a": 3.0}, "q2": {"d": 1.0}}
    wh.ingest_run("tiny", one, name="one", system="S", tags={"stage": "first", "fold": "2"})
    wh.ingest_run("tiny", two, name="two")
    wh.ingest_run("tiny", {"q1": {"1": 1.0, "2": 0.5}}, name="numbered")
    wh.ingest_run("tiny", {"q1": {"b": 1.0}}, name="gone")
    wh.forget("tiny", "gone", reason="why not")
    for name in ("first.run", "second.run"):
        lying = wh.path.with_name(name)
        lying.write_text(f"q Q0 a 1 2 {name}\nq Q0 b 2 1 {name}\n")
        wh.ingest_run("sides", lying, where_it_lies=True)
    wh.evaluate("tiny", metrics="AP RR", slices="each = query_id")
    wh.curve("tiny", "ROC", store=True)
    wh.fuse("tiny", ["one", "two"], "wsum", name="both", tune="AP", train_queries=["q1"])
    wh.compare("tiny", ["one", "two", "numbered"], "AP", store=True)
    nuggets = [
        {"run": "one", "query_id": query, "metric": "nuggets", "value": 0.5}
        for query in ("q1", "q2")
    ]
    wh.ingest_scores("tiny", nuggets, judge="gpt")
    answered = [
        {"query_id": "q1", "text": "a fact", "importance": "vital", "weight": 2, "part": "p"}
        | {"assignment": "support", "sentence": 1, "doc_id": "a", "support": "partial_support"}
    ]
    assess(wh, "tiny", answered, "one", judge="gpt")
    gate = Gate("tiny", "AP", "system", "best", Limits(0.0, strict=True, min=1.0), "default")
    with wh.file.transaction() as con:
        checked = gates.check(con, gates.find(con, [gate], "newest"))
        gates.keep(con, [gate], [v for _, v in checked if isinstance(v, gates.Verdict)], ())
        gate_results.accept(con, "tiny", None, "why not")
        con.execute(
            "insert into source_file by name select 1 as dataset_id, 'run' as kind, '/a/b.run' as path, "
            "'b' as name, 9 as size, 5 as mtime_ns, '{}' as settings, now() as taken_at, "
            "'1' as program_version"
        )
        con.execute(
            "insert into gate_result by name select 1 as run_id, 2 as reference_id, 1 as qrels_id, "
            "'f' as fingerprint, 'AP' as metric, 'default' as protocol, 'system' as grouped_by, "
            "'best' as against, 'any drop' as limits, 0.5 as value, 'worse' as verdict, "
            "now() as checked_at, '1' as program_version"
        )
        con.execute(
            "insert into gate_acceptance values (1, 'why not', now(), '1', null, 'ann@host')"
        )
        con.execute("insert into gate_baseline values (1, 'why not', 'ann@host', now(), '1', null)")
        con.execute("insert into gate_alert values ('0', now(), '1', null)")
        con.execute(
            "insert into gate_place values (1, 'h', 'AP', 'default', 'system', '1', 1, 0.1, now(), '1', "
            "null)"
        )
        con.execute("insert into clock_behind values (now(), now() - interval 1 day, null)")


@pytest.fixture
def con(tmp_path: Path, prepared) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection to a file with rows in every table, in one transaction."""
    wh = prepared(tmp_path / "warehouse.duckdb", everything)
    with database.transaction(wh.path) as connection:
        yield connection


def problems(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return what is wrong by the checks of content, which are enough here."""
    rows = con.execute(CHECKS).fetchall()
    return {f"{relation}: {problem}" for relation, problem, _ in rows}


def planted(con: duckdb.DuckDBPyConnection, first: int, stride: int) -> list[str]:
    """Change columns one at a time; return those of which nothing is told."""
    columns = con.execute(
        "select table_name, column_name, data_type from duckdb_columns() "
        "where database_name = 'warehouse' and schema_name = 'store' and table_name in "
        "(select table_name from duckdb_tables() where schema_name = 'store') order by all"
    ).fetchall()
    assert len(columns) > 150
    unseen = []
    for table, column, kind in [c for c in columns if c[0] not in FREE][first::stride]:
        ((number, before),) = con.execute(
            f'select rowid, "{column}" from store.{table} '
            f'order by "{column}" is null, rowid limit 1'
        ).fetchall()
        change = f'update store.{table} set "{column}" = {{}} where rowid = {number}'
        con.execute(change.format(PLANTED[kind].format(f'"{column}"')))
        if not problems(con):
            unseen.append(f"{table}.{column}")
        con.execute(change.format("$before"), {"before": before})
    assert problems(con) == set()
    return unseen


@pytest.mark.slow
@pytest.mark.core
def test_a_change_in_some_columns_is_told(con: duckdb.DuckDBPyConnection) -> None:
    assert planted(con, 0, STRIDE) == []


@pytest.mark.slow
@pytest.mark.sample(STRIDE, 5)
@pytest.mark.parametrize("first", range(1, STRIDE))
def test_a_change_in_any_column_is_told(con: duckdb.DuckDBPyConnection, first: int) -> None:
    assert planted(con, first, STRIDE) == []


@pytest.mark.slow
@pytest.mark.core
def test_rows_that_are_gone_with_all_that_belongs_to_them_are_told(
    con: duckdb.DuckDBPyConnection,
) -> None:
    check = render("checks/stored_totals")
    tables = [table for (table,) in con.execute("select relation from table_total").fetchall()]
    assert {"run", "evaluation", "comparison", "gate_result", "slice"} <= set(tables)
    for table in tables:
        con.execute(
            f"create or replace temp table one as select rowid as number, * from store.{table} limit 1"
        )
        con.execute(f"delete from store.{table} where rowid in (select number from temp.one)")
        found = con.execute(check).fetchall()
        assert found == [(table, "rows are gone that were written", 1)]
        con.execute(f"insert into store.{table} select * exclude (number) from temp.one")
    assert con.execute(check).fetchall() == []

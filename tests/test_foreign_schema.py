"""Databases that somebody else made: their tables are read, and nothing else of them is ever run.

Each case changes a small warehouse with another client. It is then refused, in words, or answers what it
answered before; in both, no byte of a file that lies near it comes out, and nobody is asked over the
network.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb
import next_revision
import pytest
from hostile_sql import RAN, SECRET

from tests.survival.outcome import check_sentence
from warehouse.analyze import sql_query
from warehouse.errors import WarehouseError
from warehouse.store import own_schema
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile
from warehouse.warehouse import Warehouse

try:
    from warehouse.extensions.server import replicas
except ImportError:  # a core without extensions
    replicas = None

# Ways to reach something else, or to show that one was run.
READS = {
    "text": "(select content from read_text('{secret}'))",
    "glob": "(select max(columns(*))::varchar from '{folder}/*.csv')",
    "query": "(select any_value(content) from query('from read_' || 'text(''{secret}'')'))",
    "csv": "(select max(a) from read_csv('{secret}', header = false, names = ['a']))",
    "error": "error('ran-4711')",
}
VIEWS = (
    "runs", "leaderboard", "score_versions", "run_versions", "qrels", "store.run_version",
    "store.qrels_version", "store.newest_evaluation", "store.prediction", "store.only_warehouse",
)  # fmt: skip
_RUN = "alter table store.run rename to old; "
# What other clients do to a file that is read all the same: the names are never looked at.
IGNORED = {
    f"view {view} {how}": f"create or replace view {view} as select {read} as run"
    for number, view in enumerate(VIEWS)
    for read, how in [
        (reads, how)
        for place, (how, reads) in enumerate(READS.items())
        if place in (number % 5, (number + 2) % 5)
    ]
} | {
    "recency": (
        "create or replace macro store.recency(a, b) as (select content from read_text('{secret}'))"
    ),
    "an overload of recency": (
        "create or replace macro store.recency(a) as a, (a, b) as "
        "(select content from read_text('{secret}')), (a, b, c) as 1"
    ),
    "a macro count": "create macro store.count(a) as (select content from read_text('{secret}'))",
    "a macro rank in main": "create macro rank() as (select content from read_text('{secret}'))",
    "a macro ratio": "create macro ratio(a, b) as error('ran-4711')",
    "recency asks a server": "create or replace macro store.recency(a, b) as "
    "(select content from read_text('http://127.0.0.1:{port}/' || a))",
    "compare asks a server": "create or replace macro compare(a, b) as table "
    "from read_text('http://127.0.0.1:{port}/' || a)",
    "a macro as a table": "create macro store.run() as table from read_text('{secret}')",
    "scores_as_of": (
        "create or replace macro scores_as_of(a) as table select content from read_text('{secret}')"
    ),
    "compare": "create or replace macro compare(a, b) as table from read_text('{secret}')",
    "another view": "create view store.more as from read_text('{secret}')",
    "a view in another schema": "create schema memory; create view memory.runs as from '{secret}'",
    "a schema like another": "create schema temporary; create view temporary.runs as from '{secret}'",
    "another table": "create table store.other (i integer default (error('ran-4711')))",
    "a sequence": "create sequence store.numbers",
    "a type": "create type store.varchar as enum ('ran-4711')",
    "comments": "comment on view runs is 'ran-4711'; comment on table store.run is 'ran'",
    "published never": f"{own_schema._PUBLICATION} insert into store.publication values "
    "('w', null, null, null), (null, now(), null, null), ('w', 'infinity', null, null)",
    "an index": "create index more on store.run ((lower(name)))",
    "a log beside it": "pragma disable_checkpoint_on_shutdown; create or replace view runs as "
    "from '{secret}'",
}  # fmt: skip
IGNORED = {
    "all of them": "; ".join(IGNORED.values()),
    "no views": "drop view leaderboard; drop view runs; drop view store.run_version",
} | IGNORED
# What makes it no database of this program.
REFUSED = {
    "run is a view": _RUN + "create view store.run as select old.* from store.old",
    "run reads a file": _RUN
    + "create view store.run as select old.* replace (r.content as name) "
    "from store.old, read_text('{secret}') r",
    "run fails": _RUN + "create view store.run as select error('ran-4711') as run_id",
    "score is a view": "drop table store.score; create view store.score as from '{secret}'",
    "a generated column": "drop table store.gate_due; "
    "create table store.gate_due (i integer, run_id integer generated always as (error('ran-4711')))",
    "a table with the name of a view, in capitals": "drop view store.run_version; "
    "create table store.RUN_VERSION (run_id integer)",
    "one more column": "alter table store.run add column more varchar",
    "a column of another type": "alter table store.judgment alter relevance type varchar",
    "a column of another name": "alter table store.judgment rename doc_id to document",
    "one more column, in a log beside it": "pragma disable_checkpoint_on_shutdown; "
    "alter table store.run add column more varchar default 'ran-4711'",
    "a default": "alter table store.run alter system set default (error('ran-4711'))",
    "an empty default": "alter table store.run alter system set default 'ran-4711'",
    "nullable": "alter table store.dataset alter name drop not null",
    "a check": "drop table store.gate_due; create table store.gate_due "
    "(run_id integer not null check (run_id > 0))",
    "a default from a sequence": "create sequence store.s; alter table store.run alter run_id "
    "set default nextval('store.s')",
    "a key": "drop table store.gate_due; create table store.gate_due (run_id integer primary key)",
    "an enum": "create type store.kind as enum ('a'); drop table store.gate_due; "
    "create table store.gate_due (run_id store.kind)",
    "a table is missing": "drop table store.query_score",
    "a table in another schema": "drop table store.gate_due; create table gate_due (run_id integer)",
    "a table under the name of a view": "drop view store.run_version; "
    "create table store.run_version as select 'x' as name",
    "alembic_version is a view": "drop table store.alembic_version; "
    "create view store.alembic_version as select content as version_num from read_text('{secret}')",
    "alembic_version fails": "drop table store.alembic_version; "
    "create view store.alembic_version as select error('ran-4711') as version_num",
    "alembic_version is generated": "drop table store.alembic_version; create table "
    "store.alembic_version (i integer, version_num varchar generated always as (error('ran-4711')))",
    "alembic_version has two rows": "insert into store.alembic_version values ('v0002')",
    "alembic_version of nothing": "delete from store.alembic_version",
    "another revision": "update store.alembic_version set version_num = 'v9999'",
    "a revision before the first release": "update store.alembic_version set version_num = 'r0008'",
    "no revision": "update store.alembic_version set version_num = 'ran'",
    "publication is generated": "create table store.publication (i integer, "
    "source varchar generated always as (error('ran-4711')))",
}  # fmt: skip


def one_run(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}}, name="one")
    wh.evaluate(metrics="AP")


def published(path: Path) -> None:
    """Make a file a replica, as another client would."""
    row = "insert into store.publication values ('first.duckdb', now(), 'r', '0')"
    with duckdb.connect(path) as con:
        for sql in (own_schema._PUBLICATION, row):
            with suppress(duckdb.Error):  # it has such a table
                con.execute(sql)


@pytest.fixture
def changed(tmp_path: Path, prepared, unasked_port: int) -> Callable[[str], Warehouse]:
    """Return a function that makes a small warehouse and lets another client change it."""
    secret = tmp_path / "secret.csv"
    secret.write_text(f"a\n{SECRET}\n")
    served = prepared(tmp_path / "served.duckdb", one_run)
    published(served.path)

    def change(sql: str) -> Warehouse:
        wh = prepared(tmp_path / "w.duckdb", one_run)
        with duckdb.connect(wh.path) as con:
            con.execute(sql.format(secret=secret, folder=tmp_path, port=unasked_port))
        return wh

    return change


def answers(wh: Warehouse, *, pages: bool = True) -> list[object]:
    """Return what commands of each kind answer, or the errors; the file is opened in all ways.

    Nothing of the file that nobody may read is in any of it, nor in a file that they write.
    """

    def copied() -> object:
        target = wh.path.with_name("replica.duckdb")
        wh.publish(target)
        return Warehouse(target).runs("tiny").fetchall()[0][0]

    def served() -> object:
        found = replicas.Replicas(wh.file, wh.path.parent, Resources())
        with found.snapshot.file.read() as con:
            with pytest.raises(duckdb.PermissionException):
                con.execute("from read_text($1)", [str(wh.path.with_name("secret.csv"))])
            return con.execute("select run from runs").fetchall()

    def swapped() -> object:
        """Put the file in the place of a replica that is being served."""
        replica = wh.path.with_name("served.duckdb")
        found = replicas.Replicas(WarehouseFile(replica), wh.path.parent, Resources())
        new = wh.path.with_name("new.duckdb")
        for end in ("", ".wal"):
            if Path(f"{wh.path}{end}").exists():
                shutil.copy(f"{wh.path}{end}", f"{new}{end}")
        published(new)
        new.replace(replica)
        assert found.refresh()
        with found.snapshot.file.read() as con:
            return con.execute("select run from runs").fetchall()

    asked: list[Callable[[], object]] = [
        wh.init,
        lambda: [row[:3] for row in wh.runs("tiny").fetchall()],
        lambda: wh.leaderboard("tiny").fetchall(),
        lambda: wh.query("select run, value from leaderboard").fetchall(),
        lambda: wh.query("select run, is_current from store.run_version").fetchall(),
        lambda: wh.history("tiny", "AP").fetchall(),
        lambda: wh.verify().fetchall(),
        lambda: wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="two").version,
        copied,
        *([served, swapped] if replicas is not None else []),
    ]
    if pages:
        asked.append(lambda: wh.report(wh.path.with_name("pages")).path.name)
    found: list[object] = []
    for ask in asked:
        try:
            found.append(ask())
        except WarehouseError as refusal:
            found.append(refusal)
    for one in found:
        if isinstance(one, WarehouseError):
            assert one.exit_code in (1, 2)
            check_sentence(str(one))
    made = [path for path in wh.path.parent.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert [path for path in made if SECRET.encode() in path.read_bytes()] == []
    assert not {SECRET, RAN} & set(re.findall(r"\w+-4711", repr(found)))
    return found


@pytest.mark.parametrize("read", READS.values())
def test_another_client_would_run_it(changed, read: str) -> None:
    """So each of these would be noticed if the program ran it, too."""
    wh = changed(f"create or replace view runs as select {read} as run")
    with duckdb.connect(wh.path) as con:
        try:
            told = repr(con.execute("from runs").fetchall())
        except duckdb.Error as error:
            told = str(error)
    assert SECRET in told or RAN in told


@pytest.mark.sample(1000, 7)
@pytest.mark.parametrize("case", [*IGNORED, "all of them, with pages"])
def test_what_others_added_is_never_run(changed, case: str) -> None:
    name, _, pages = case.partition(", with ")
    found = answers(changed(IGNORED[name]), pages=bool(pages))
    assert [one for one in found if isinstance(one, WarehouseError)] == []


@pytest.mark.sample(25, 3)
@pytest.mark.parametrize("case", REFUSED)
def test_other_tables_are_refused(changed, case: str) -> None:
    wh = changed(REFUSED[case])
    before = wh.path.read_bytes()
    found = answers(wh)
    assert [one for one in found if not isinstance(one, WarehouseError)] == []
    assert wh.path.read_bytes() == before


def test_a_replica_has_no_view_or_macro_of_others(changed) -> None:
    """Other clients would run them."""
    made = (
        "create view mine as from read_text('{secret}'); "
        "create macro twice(a) as (select content from read_text('{secret}')); "
        "create macro store.more() as table from read_text('{secret}'); "
        "create or replace view leaderboard as select content as run from read_text('{secret}'); "
        "create or replace view store.run_version as select content as run from read_text('{secret}'); "
        "create or replace macro store.recency(a, b) as (select content from read_text('{secret}'))"
    )
    sql = (
        "select view_name, sql, comment from duckdb_views() where not internal union all "
        "select function_name, macro_definition, comment from duckdb_functions() where not internal "
        "union all select table_name || column_name, null, comment from duckdb_columns() "
        "where not internal and table_name <> 'publication' order by all"
    )
    found = []
    for change in ("select 1", made):
        wh = changed(change)
        with duckdb.connect(wh.path, read_only=True) as con:
            own = con.execute(sql).fetchall()
        target = wh.path.with_name(f"{len(found)}.duckdb")
        wh.publish(target)
        with duckdb.connect(target, read_only=True) as con:
            found.append(con.execute(sql).fetchall())
            assert con.execute("select run, value from leaderboard").fetchall() == [("one", 0.25)]
        wh.path.unlink()
        if change != made:
            assert {(row[0], row[2]) for row in own} <= {(row[0], row[2]) for row in found[0]}
    assert "read_text" not in repr(found[1])
    assert [row[:2] for row in found[1]] == [row[:2] for row in found[0]]
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "named",
    [
        "warehouse.main.leaderboard", "warehouse.leaderboard", 'Warehouse . "main"."my view"',
        "warehouse/**/.store.more()", "(select warehouse.main.twice(1))", "query('from warehouse.mine')",
    ],
)  # fmt: skip
def test_sql_that_names_a_view_of_the_file_in_full(named: str) -> None:
    """As the process of a query runs it, once it has opened the file."""
    with duckdb.connect() as con:
        con.execute(
            "attach ':memory:' as warehouse; create schema warehouse.store; use warehouse.main; "
            "create table store.run as select 1 as run_id; create view leaderboard as select 2; "
            'create view "my view" as select 3; create view mine as select 4; '
            "create macro twice(a) as a; create macro store.more() as table select 5; use memory"
        )
        with pytest.raises(WarehouseError, match="views and macros of the file are not run"):
            sql_query.refuse_views_of_the_file(con, f"from {named}")
        sql_query.refuse_views_of_the_file(con, "select warehouse.run_id from warehouse.store.run")


@pytest.mark.slow
def test_an_upgrade_reads_no_view_of_others(changed, tmp_path: Path) -> None:
    wh = changed(
        "create or replace view runs as select content from read_text('{secret}'); "
        "create or replace view store.run_version as select content as name from read_text('{secret}'); "
        "create or replace macro store.recency(a, b) as (select content from read_text('{secret}')); "
        "create view mine as select 4"
    )
    steps = (
        "create table store.copied as select run from store.run_version",
        "comment on table store.copied is 'Runs.'",
        "comment on column store.copied.run is 'A run.'",
    )
    with next_revision.installed(tmp_path / "migrations", steps):
        with pytest.raises(WarehouseError, match="has an older schema"):
            wh.runs("tiny")
        assert wh.init() is True
        assert [row[:3] for row in answers(wh)[3]] == [("one", 0.25)]
    with duckdb.connect(wh.path, read_only=True) as con:
        assert con.execute("select run from runs order by 1").fetchall() == [("one",), ("two",)]
        assert con.execute("select run from store.run_version order by 1").fetchall() == [
            ("one",),
            ("two",),
        ]
        assert con.execute("from store.copied").fetchall() == [("one",)]
        assert con.execute("from mine").fetchall() == [(4,)]
        comments = con.execute(
            "select comment from duckdb_views() where view_name = 'qrels_version'"
        ).fetchall()
    assert comments != [(None,)]


@pytest.mark.slow
def test_a_macro_that_an_upgrade_would_take_for_a_function(changed, tmp_path: Path) -> None:
    wh = changed("create macro rank() as (select content from read_text('{secret}'))")
    with (
        next_revision.installed(tmp_path / "migrations"),
        pytest.raises(WarehouseError, match="has a macro rank"),
    ):
        wh.init()

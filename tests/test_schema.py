"""The database file: its tables and their comments, its migrations, and files that are none of ours."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import next_revision
import pytest
import schema_script
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from projects import command, stored

from warehouse.analyze.view_examples import EXAMPLES
from warehouse.cli.application import names as commands
from warehouse.config import settings
from warehouse.errors import UsageError, WarehouseError
from warehouse.evaluate import verify
from warehouse.sql_text import templates
from warehouse.sql_text.templates import render
from warehouse.store import database, own_schema, schema, tables
from warehouse.warehouse import Warehouse

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("migrated")]

Counts = Callable[[Path], dict[str, int]]


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(path), read_only=True) as con:
        yield con


def columns(path: Path, *, whole: bool = False) -> dict[str, list[str]]:
    """Return the columns by the name of their table or view, with its schema if `whole`.

    Without it, `qrels` is the table, not the view for people.
    """
    with opened(path) as con:
        name = (
            "if(schema_name = 'main', '', schema_name || '.') || table_name"
            if whole
            else "table_name"
        )
        found = con.execute(
            f"select {name} as name, column_name from duckdb_columns() where not internal "
            "and ($whole or (schema_name, table_name) <> ('main', 'qrels')) "
            "order by name, column_index",
            {"whole": whole},
        ).fetchall()
    tables: dict[str, list[str]] = {}
    for table, column in found:
        tables.setdefault(table, []).append(column)
    return tables


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return schema_script.by_migrations(tmp_path_factory.mktemp("made"))


@pytest.fixture
def made(made_once: Path, wh: Warehouse) -> Path:
    """Return a new warehouse's file: a copy of what the migrations make."""
    return Path(shutil.copyfile(made_once, wh.path))


PEOPLES = set(EXAMPLES)


def test_main_has_the_views_for_people_alone(wh: Warehouse, made: Path) -> None:
    """Tables, which have names of their own, are in another schema, as in a replica."""
    replica = wh.publish(made.with_name("replica.duckdb")).path
    for path in (made, replica):
        with opened(path) as con:
            assert con.execute("show tables").fetchall() == [(view,) for view in sorted(PEOPLES)]
            tables = con.execute(
                "select distinct schema_name from duckdb_tables() where not internal"
            ).fetchall()
            assert tables == [("store",)]
            assert con.execute("from runs").fetchall() == []
            assert con.execute("select count(*) from store.run").fetchall() == [(0,)]
    assert PEOPLES & {*own_schema.tables()} == {"qrels"}
    with pytest.raises(WarehouseError, match=r'Did you mean "store\.run\b'):
        wh.query("from run")


def test_names_of_temporary_tables(made: Path) -> None:
    """They are found before the file's: one of the same name is there to stand in its place."""
    folders = *templates.folders(ours=True), Path(database.__file__).parent.parent
    text = "".join(
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".j2", ".py")
    )
    names = set(re.findall(r"temp (?:table|view) (\w+)", text))
    assert names & set(columns(made)) == {
        "current_score", "evaluation", "hit", "hit_set", "judgment", "prediction", "prediction_file",
        "qrels_judge", "query_score", "ranking", "score", "slice", "slice_member",
    }  # fmt: skip


def test_the_tables_for_sqlalchemy_read_what_the_program_has_written(wh: Warehouse) -> None:
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")
    known = tables.metadata().tables
    assert {*known} == {f"store.{name}" for name in own_schema.tables()}
    with database.transaction(wh.path) as con, tables.connected(con) as connection:
        for table in known.values():
            connection.execute(sa.select(table)).fetchall()
        run = known["store.run"].c
        row = connection.execute(sa.select(run.name, run.lower_is_better, run.num_queries)).one()
    assert tuple(row) == ("r", False, 1)


def test_everything_carries_a_comment(made: Path) -> None:
    with opened(made) as con:
        bare = con.execute(
            """
            select table_name, '' from duckdb_tables() where not internal and comment is null
            union all
            select view_name, '' from duckdb_views() where not internal and comment is null
            union all
            select table_name, column_name from duckdb_columns()
            where not internal and comment is null
            """
        ).fetchall()
    assert bare == []


def test_comments_name_what_there_is(made: Path) -> None:
    """Commands, and the relations and columns that are told by an underscore or a dot."""
    tables = columns(made)
    names = {*tables, *(column for found in tables.values() for column in found), "not_included"}
    for relation, column, comment, _ in _described(made):
        said = f"{relation}.{column}: {comment}"
        assert {*re.findall(r"`warehouse (\w+)", comment)} <= {*commands()}, said
        assert {*re.findall(r"\b(?<!/)[a-z]+_[a-z_]+\b", comment)} - {"doc_desc"} <= names, said
        for owner, owned in re.findall(r"\b([a-z_]+)\.([a-z_]+)\b", comment):
            known = {"store": [*tables], "warehouse": ["toml"]} | tables
            assert owned in known[owner], said


def test_the_command_schema_shows_all_of_it(wh: Warehouse, made: Path) -> None:
    shown: dict[str, list[str]] = {}
    for kind, named, column, _, comment, _ in wh.schema().fetchall():
        if kind == "macro":
            continue
        assert named.startswith("store.") or named in PEOPLES
        shown.setdefault(named, [])
        if column is not None:
            shown[named].append(column)
        else:
            assert comment
    assert shown == columns(made, whole=True)


def test_verify_looks_at_every_table(made: Path) -> None:
    with opened(made) as con:
        rows = con.execute("select table_name from duckdb_tables() where not internal").fetchall()
    # those of the predictions are looked at by the view that both are in
    tables = {name for (name,) in rows if not name.startswith("prediction_by")} - {
        "alembic_version"
    }
    for check, but in (
        ("stored_twice", tables & set(verify.LONG)),
        # current_score is compared with what it is derived by, row by row
        (
            "stored_orphans",
            {"dataset", "clock_behind", "current_score", "gate_alert", "table_total"},
        ),
    ):
        looked_at = set(re.findall(r"^ +from (\w+)$", render(f"checks/{check}"), re.MULTILINE))
        assert tables - looked_at == but


def test_the_tables_and_views_of_the_script_are_found(made: Path) -> None:
    """A file is compared with its tables before it is read."""
    with opened(made) as con:
        rows = con.execute("select table_name from duckdb_tables() where not internal").fetchall()
    assert {name for (name,) in rows} == {*own_schema.tables(), "alembic_version"}
    with database.read(made) as con:  # where they are compared
        own_schema.make_more(con, own_schema.for_people())
        views = con.execute(
            "select view_name from duckdb_views() where database_name = 'memory' "
            "and schema_name = 'people'"
        ).fetchall()
    assert {name for (name,) in views} == PEOPLES


def test_every_table_has_a_checksum_or_is_part_of_what_has_one(made: Path) -> None:
    """A table that is neither is compared with a hash of content, or needs no proof."""
    others = {
        "alembic_version", "attribute", "attribute_column", "current_score", "example", "gate_due",
        "judgment", "prediction_by_number", "prediction_by_text", "preference", "ranking",
        "slice_member", "table_total", "text",
    }  # fmt: skip
    sealed = re.findall(
        r"^from store\.(\w+)$", render("statements/totals", tables=None), re.MULTILINE
    )
    read = re.findall(r"^    from store\.(\w+)$", render("checks/stored_checksums"), re.MULTILINE)
    found = columns(made)
    assert {name for name in found if "checksum" in found[name]} == {*sealed}
    with opened(made) as con:
        rows = con.execute("select table_name from duckdb_tables() where not internal").fetchall()
    assert {name for (name,) in rows} == {*read} | others


def test_the_revision_in_the_settings_is_the_head(made: Path) -> None:
    scripts = ScriptDirectory.from_config(schema.alembic_config())
    newest = "name the newest migration in settings.SCHEMA_REVISION"
    assert scripts.get_heads() == [settings.SCHEMA_REVISION], newest
    # revisions sort as text: a program compares them so
    walked = [script.revision for script in scripts.walk_revisions()]
    assert walked == sorted(walked, reverse=True)
    assert all(own_schema.script(revision).exists() for revision in walked)
    with opened(made) as con:
        assert con.execute("select * from store.alembic_version").fetchall() == [
            (settings.SCHEMA_REVISION,)
        ]


def test_a_new_file_is_made_by_one_script(made: Path, tmp_path: Path) -> None:
    """The migrations make the same."""
    path = tmp_path / "new.duckdb"
    assert schema.ensure(path) is True
    again = "write the script again: PYTHONPATH=. python tests/schema_script.py"
    assert schema_script.everything(path) == schema_script.everything(made), again
    with opened(path) as con:
        assert con.execute("from store.alembic_version").fetchall() == [(settings.SCHEMA_REVISION,)]


def _described(path: Path) -> list[tuple]:
    with opened(path) as con:
        return con.execute(
            """
            select table_name, '', comment, sql from duckdb_tables() where not internal
            union all
            select view_name, '', comment, sql from duckdb_views() where not internal
            union all
            select table_name, column_name, comment, data_type from duckdb_columns()
            where not internal
            order by all
            """
        ).fetchall()


def test_the_next_revision_is_added_to_what_is_there(
    wh: Warehouse, made: Path, tmp_path: Path, counts: Counts
) -> None:
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")
    before = counts(wh.path)
    with next_revision.installed(tmp_path / "migrations"):
        assert wh.init() is True
        assert wh.init() is False
        assert counts(wh.path) == before | {"note": 0}
        assert stored(wh, "select name, colour from run") == [("r", None)]
        for check in ("checksums", "totals"):
            assert stored(wh, render(f"checks/stored_{check}")) == []
        assert stored(wh, "from training_version") == [(1,)]
    with opened(wh.path) as con:
        assert con.execute("from store.alembic_version").fetchall() == [(next_revision.REVISION,)]
        assert con.execute("show tables").fetchall() == [(view,) for view in sorted(PEOPLES)]


def test_a_migration_that_fails_leaves_nothing(wh: Warehouse, made: Path, tmp_path: Path) -> None:
    before = _described(made)
    statements = ("create table store.half (i integer)",) * 2
    with (
        next_revision.installed(tmp_path / "migrations", statements),
        pytest.raises(Exception, match=r"half.*already exists"),
    ):
        wh.init()
    assert _described(wh.path) == before


def test_init_twice(wh: Warehouse) -> None:
    assert wh.init() is True
    content = wh.path.read_bytes()
    assert wh.init() is False
    assert wh.path.read_bytes() == content


def test_a_new_file_is_there_whole_or_not_at_all(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what a process left that was killed at making the file
    wh.path.with_name(f".{wh.path.name}.1f.part").write_bytes(bytes(4096))

    def stopped(path: Path) -> None:
        path.write_bytes(bytes(4096))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(database, "_create", stopped)
        with pytest.raises(KeyboardInterrupt):
            wh.init()
    assert not wh.path.exists()
    assert wh.init() is True
    assert list(wh.path.parent.iterdir()) == [wh.path]


def test_a_file_that_another_process_has_made_meanwhile_stays(wh: Warehouse, made: Path) -> None:
    wh.ingest_qrels("tiny", {"q": {"d": 1}})
    before = made.read_bytes()
    database.create(made)
    assert made.read_bytes() == before


def test_a_file_system_without_links(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, target: Path) -> None:
        raise PermissionError(source, target)

    monkeypatch.setattr(database.os, "link", refused)
    assert wh.init() is True
    assert list(wh.path.parent.iterdir()) == [wh.path]


@pytest.mark.usefixtures("made")
def test_a_file_as_this_process_left_it_is_opened_once(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schema is looked at before the source is read only if somebody may have changed it."""
    execute = duckdb.DuckDBPyConnection.execute
    opened: list[str] = []

    def counted(con: duckdb.DuckDBPyConnection, sql: object, *rest: object) -> object:
        opened.extend(re.findall(r"^attach .*\((.*)\)", str(sql)))
        return execute(con, sql, *rest)

    monkeypatch.setattr(duckdb.DuckDBPyConnection, "execute", counted)
    looked, written = "type duckdb, read_only", "type duckdb"
    wh.ingest_qrels("d", {"q": {"a": 1}})
    opened.clear()
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="one")
    assert opened == [written]
    opened.clear()
    wh.path.touch()
    wh.ingest_run("d", {"q": {"a": 2.0}}, name="two")
    assert opened == [looked, written]
    log = wh.path.with_name(f"{wh.path.name}.wal")
    log.write_bytes(b"")
    assert not database.is_as_left(wh.path)
    log.unlink()
    assert database.is_as_left(wh.path)


def test_a_file_of_a_newer_program_is_refused(wh: Warehouse, made: Path, counts: Counts) -> None:
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")
    with duckdb.connect(str(wh.path)) as con:
        con.execute("update store.alembic_version set version_num = 'v9999'")
    before = counts(wh.path)
    words = r"written by a newer version of this program \(schema v9999.*pip install --upgrade"
    for use in (
        wh.runs,
        wh.init,
        wh.evaluate,
        lambda: wh.query("select 1"),
        lambda: wh.leaderboard("tiny"),
        lambda: wh.ingest_run("tiny", {"q": {"d": 2.0}}, name="new"),
        lambda: wh.ingest_qrels("tiny", {"q": {"d": 2}}),
    ):
        with pytest.raises(UsageError, match=words):
            use()
    assert counts(wh.path) == before


@pytest.mark.parametrize(("where", "revision"), [("main", "0015"), ("store", "r0008")])
def test_a_file_from_before_the_first_release_is_loaded_again(
    tmp_path: Path, where: str, revision: str
) -> None:
    path = tmp_path / "early.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"create schema if not exists {where}; use {where}; "
            "create table alembic_version (version_num varchar primary key); "
            f"insert into alembic_version values ('{revision}'); "
            "create table query_score (evaluation_id integer, query_id varchar); "
            "create view query_scores as from query_score"
        )
    before = _described(path)
    wh = Warehouse(path)
    words = (
        r"early\.duckdb: was made by a program from before release 0\.1\.0, whose files are not "
        r"carried over: load the runs and qrels again, into a new file$"
    )
    for use in (
        wh.runs,
        wh.init,
        wh.evaluate,
        lambda: wh.query("select 1"),
        lambda: wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r"),
        lambda: wh.publish(tmp_path / "replica.duckdb"),
    ):
        with pytest.raises(UsageError, match=words):
            use()
    assert _described(path) == before
    assert command("init", "--db", str(path))[0] == 2


def test_a_file_of_an_older_program_says_what_to_do(made_once: Path, tmp_path: Path) -> None:
    wh = Warehouse(shutil.copyfile(made_once, tmp_path / "an older.duckdb"))
    with duckdb.connect(str(wh.path)) as con:
        con.execute("update store.alembic_version set version_num = 'v0000'")
    with pytest.raises(
        UsageError, match=f"has an older schema; run: warehouse init --db '{wh.path}'$"
    ):
        wh.runs()
    # the limits of the other work hold for the upgrade, which may be the largest of all
    with pytest.raises(UsageError, match="memory limit 'little': write a size"):
        Warehouse(wh.path, memory_limit="little").init()


@pytest.mark.parametrize("content", [b"", b"a note to myself\n" * 500, bytes(range(256)) * 64])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_bytes(content)
    wh = Warehouse(path)
    for use in (wh.runs, wh.init, lambda: wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")):
        with pytest.raises(UsageError, match=r"notes\.duckdb: not a DuckDB database"):
            use()
    assert path.read_bytes() == content


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("create table orders as select 1 as i", "orders"),
        ("create table t as select 1 as i; create view orders as from t", "orders, t"),
        # other programs that keep their schema by Alembic, or under its table's name
        (
            "create table orders as select 1 as i; "
            "create table alembic_version as select 'ae1027a6acf4' as version_num",
            "alembic_version, orders",
        ),
        (
            "create table orders as select 1 as i; "
            "create table alembic_version as select '0001' as version_num",
            "alembic_version, orders",
        ),
        ("create table alembic_version as select 1 as number", "alembic_version"),
        (
            "create table orders as select 1 as i; create table alembic_version (version_num text)",
            "alembic_version, orders",
        ),
    ],
)
def test_a_database_with_other_tables(tmp_path: Path, made: str, told: str) -> None:
    path = tmp_path / "sales.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(made)
    before = _described(path)
    wh = Warehouse(path)
    for use in (wh.runs, wh.init, lambda: wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")):
        with pytest.raises(
            UsageError, match=rf"not a warehouse; it holds other tables \({told}\); take a file"
        ):
            use()
    assert _described(path) == before


def test_a_name_that_is_the_schemas(wh: Warehouse, made: Path, tmp_path: Path) -> None:
    for use in (
        Warehouse(tmp_path / "store.duckdb").init,
        lambda: wh.publish(tmp_path / "Store.of.may.duckdb"),
    ):
        with pytest.raises(UsageError, match="take another name: other clients would call"):
            use()
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "absent.duckdb")
    for use in (wh.runs, wh.evaluate, lambda: wh.query("select 1")):
        with pytest.raises(UsageError, match=r"absent\.duckdb: no such database.*warehouse init"):
            use()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="there is no folder"):
        Warehouse(tmp_path / "no" / "such.duckdb").init()
    (tmp_path / "link.duckdb").symlink_to("no/such.duckdb")
    with pytest.raises(UsageError, match=f"link.duckdb: there is no folder {tmp_path}/no$"):
        schema.ensure(tmp_path / "link.duckdb")


def storage_version(path: Path) -> int:
    """Return the number in the header of a DuckDB file: after a checksum of 8 bytes, DUCK, then it."""
    head = path.read_bytes()[:20]
    assert head[8:12] == b"DUCK"
    (number,) = struct.unpack("<Q", head[12:20])
    return int(number)


def test_the_file_can_be_read_by_duckdb_1_5_after_every_write(wh: Warehouse) -> None:
    """DuckDB 1.5.6 reads storage 64 to 68; what DuckDB 2.0 makes unasked is 69 and more."""
    wh.init()
    versions = [storage_version(wh.path)]
    wh.ingest_qrels("tiny", {"q": {"d": 1}})
    versions.append(storage_version(wh.path))
    wh.ingest_run("tiny", {"q": {f"d{n}": float(n) for n in range(5000)}}, name="r")
    versions.append(storage_version(wh.path))
    wh.evaluate(metrics="AP nDCG@10")
    versions.append(storage_version(wh.path))
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r", replace=True)
    versions.append(storage_version(wh.path))
    assert versions == [68] * 5
    with opened(wh.path) as con:
        ((tags,),) = con.execute(
            "select tags from duckdb_databases() where database_name = 'warehouse'"
        ).fetchall()
    assert tags["storage_version"].startswith("v1.5.0")


def test_nothing_is_left_beside_the_file(wh: Warehouse, made: Path) -> None:
    wh.ingest_qrels("tiny", {"q": {"d": 1}})
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="r")
    wh.evaluate(metrics="AP")
    wh.leaderboard("tiny")
    assert [path.name for path in wh.path.parent.iterdir()] == [wh.path.name]


@pytest.mark.slow
def test_no_orphans(demo: Warehouse) -> None:
    """DuckDB has no foreign key that may be upserted: queries take its place."""
    for child, key, parent in (
        ("qrels", "dataset_id", "dataset"),
        ("run", "dataset_id", "dataset"),
        ("judgment", "qrels_id", "qrels"),
        ("run_tag", "run_id", "run"),
        ("prediction", "run_id", "run"),
        ("ranking", "run_id", "run"),
        ("hit_set", "run_id", "run"),
        ("hit", "run_id", "hit_set"),
        ("evaluation", "run_id", "hit_set"),
        ("evaluation", "qrels_id", "qrels"),
        ("query_score", "evaluation_id", "evaluation"),
        ("score", "evaluation_id", "evaluation"),
    ):
        found = stored(demo, f"select count(*) from {child} anti join {parent} using ({key})")
        assert found == [(0,)], f"{child}.{key}"
        assert stored(demo, f"select count(*) > 0 from {child}") == [(True,)], child


@pytest.mark.usefixtures("migrated")
def test_what_a_killed_maker_has_left_is_removed(wh: Warehouse) -> None:
    """It was killed after the file had its name, and before the name of its part was removed."""
    database.create(wh.path)
    part = wh.path.with_name(f".{wh.path.name}.1f.part")
    part.hardlink_to(wh.path)
    assert wh.init() is False
    assert not part.exists()
    assert wh.path.exists()

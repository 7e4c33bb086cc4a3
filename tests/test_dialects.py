"""Metrics as SQL of other databases: PostgreSQL, started here, gives the values of DuckDB."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from shared_cases import needs_cases
from test_metric_pages import text_of
from test_metric_properties import collection
from test_sql import NAMES, of_trec_eval

from warehouse.errors import UsageError
from warehouse.metrics.catalogue import catalogue
from warehouse.warehouse import Warehouse

pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
Sql = Callable[[str], list[list[str]]]
TABLES = """
    create table run (run text, query_id text, doc_id text, score double precision);
    create table qrels (query_id text, doc_id text, iteration text, relevance double precision);
    create table training (query_id text, doc_id text, relevance double precision);
    create table document_attributes (
        doc_id text, attribute text, position int, text text, number double precision
    );
    create table assignments (
        run text, query_id text, judge text, nugget_id text, importance text,
        weight double precision, part text, assignment text
    );
    create table citations (
        run text, query_id text, judge text, sentence int, doc_id text, support text
    );
"""
# Nuggets and citations, as a judge could have found them.
FACTS = """
    insert into training select query_id, doc_id, 1 from run where hash(doc_id) % 3 = 0;
    insert into document_attributes select distinct doc_id, 'genre', 0, doc_id[:1], null from run;
    insert into assignments
    select
        run, query_id, null, doc_id, if(hash(doc_id) % 2 = 0, 'vital', 'okay'), 1, null,
        ['support', 'partial_support', 'not_support'][(hash(doc_id) % 3)::int + 1]
    from run;
    insert into citations
    select
        run, query_id, null, row_number() over (partition by query_id order by doc_id), doc_id,
        ['support', 'partial_support', 'not_support'][(hash(doc_id) % 3)::int + 1]
    from run;
"""
EXPECTED = {"AP", "nDCG", "RR", "Rprec", "bpref", "Success", "SetF", "Judged", "nDCG@10"}


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, of which only some are in the path."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).resolve().parent]
        if found
        else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    )
    return folders[-1] if folders else None


@pytest.fixture(scope="module")
def postgres() -> Iterator[Sql]:
    """Return a function that runs SQL in a new cluster of PostgreSQL, whose texts sort as words do."""
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL is not installed")
    # a server refuses to run as root, and the folders of pytest are closed to others
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="postgres"))
    if user:
        shutil.chown(folder, "postgres")

    def call(program: str, *arguments: str, sql: str = "") -> str:
        line = [*user, str(bin / program), *arguments]
        done = subprocess.run(line, input=sql, capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(sql: str) -> list[list[str]]:
        how = ("-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", "postgres")
        return [
            line.split("\t")
            for line in call("psql", "-h", str(folder), *how, "-f", "-", sql=sql).splitlines()
        ]

    data = str(folder / "data")
    call(
        "initdb",
        "-D",
        data,
        "-A",
        "trust",
        "-E",
        "utf8",
        "--locale-provider=icu",
        "--icu-locale=en",
    )
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield ask
    finally:
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def filled(postgres: Sql, con: duckdb.DuckDBPyConnection) -> None:
    """Put the tables of DuckDB into PostgreSQL."""
    postgres("drop schema public cascade; create schema public;" + TABLES)
    for (table,) in con.execute("select table_name from duckdb_tables()").fetchall():
        columns = [name for name, *_ in con.execute(f"describe {table}").fetchall()]
        rows = con.execute(f"from {table}").fetchall()
        lines = ["\t".join("\\N" if cell is None else str(cell) for cell in row) for row in rows]
        postgres(
            f"copy {table} ({', '.join(columns)}) from stdin;\n" + "\n".join([*lines, "\\.", ""])
        )


@pytest.mark.slow
def test_values_are_those_of_duckdb(postgres: Sql) -> None:
    """Of every metric that is translated. The ids sort otherwise in a language: aB, b, B."""
    con = duckdb.connect()
    con.execute(TABLES)
    dice = random.Random(3)
    qrels, run = collection(dice)
    names = {
        doc: dice.choice("aBb-_") + doc for each in (*qrels.values(), *run.values()) for doc in each
    }
    for query, grades in qrels.items():
        for number, (doc, grade) in enumerate(grades.items()):
            con.execute(
                "insert into qrels values (?, ?, ?, ?)", [query, names[doc], number % 2, grade]
            )
    for query, scores in run.items():
        for doc, score in scores.items():
            con.execute("insert into run values ('one', ?, ?, ?)", [query, names[doc], score])
    # PostgreSQL stops at a square that is too small for a number
    con.execute("update run set score = 0 where abs(score) < 1e-100")
    con.execute(FACTS)
    filled(postgres, con)
    agreed, refused = set(), {}
    for name in [*map(text_of, catalogue().values()), "nDCG@10", "AP(ties=average)", "P(rel=2)@5"]:
        try:
            sql = Warehouse.sql(name, by_query=True, dialect="postgres")
        except UsageError as error:
            refused[name] = str(error)
            continue
        rows = con.execute(Warehouse.sql(name, by_query=True)).fetchall()
        found = {(row[1], row[2]): float(row[3]) if row[3] else None for row in postgres(sql)}
        assert found == pytest.approx({row[1:3]: row[3] for row in rows}, abs=1e-12), name
        agreed.add(name.removesuffix("()"))
    assert agreed >= EXPECTED
    assert all("DuckDB runs it" in said for said in refused.values())
    assert len(agreed) > 70


@pytest.mark.slow
@needs_cases
def test_values_of_trec_eval_in_postgres(postgres: Sql) -> None:
    con, expected = of_trec_eval("bm25*")
    filled(postgres, con)
    sql = Warehouse.sql(list(NAMES), protocol="trec_eval_10", dialect="postgres")
    found = {(metric, run): float(value) for metric, run, value in postgres(sql)}
    assert found == pytest.approx(expected, abs=1e-12)
    assert len(found) == 4 * 2


@pytest.mark.slow
def test_halves_are_rounded_as_in_c(postgres: Sql) -> None:
    """Half of 5 relevant documents is 3, as lround(2.5) in trec_eval 10, and two are found: 0."""
    con = duckdb.connect()
    con.execute(TABLES)
    con.execute("insert into qrels select 'q', chr(97 + n::int), '0', 1 from range(5) as five (n)")
    con.execute("insert into run values ('one', 'q', 'a', 2), ('one', 'q', 'b', 1)")
    filled(postgres, con)
    names = ["IPrec@0.5", "IPrec@0.4"]
    sql = Warehouse.sql(names, protocol="trec_eval_10", dialect="postgres")
    assert [float(value) for *_, value in postgres(sql)] == [1, 0]  # IPrec@0.4 comes first


def test_what_cannot_be_translated_is_refused_by_name() -> None:
    for name, reason in (("ERR", "array"), ("Gini@3", "n"), ("AP(ties=average)", "list")):
        with pytest.raises(UsageError, match=f"(?s)^{name[:2]}.*{reason}.*DuckDB runs it"):
            Warehouse.sql(name, dialect="postgres")
    with pytest.raises(UsageError, match="postgres"):
        Warehouse.sql("AP", dialect="postgre")
    with pytest.raises(UsageError, match="dataset"):
        Warehouse.sql("AP", dialect="postgres", dataset="dl19")


def test_one_statement_without_macros_for_duckdb() -> None:
    con = duckdb.connect()
    con.execute(TABLES)
    con.execute("insert into qrels values ('q', 'a', '0', 1)")
    con.execute("insert into run values ('one', 'q', 'b', 2), ('one', 'q', 'a', 1)")
    (sql,) = con.extract_statements(Warehouse.sql("RR nDCG@10", dialect="duckdb"))
    assert con.execute(sql).fetchall() == [
        ("RR", "one", 0.5),
        ("nDCG@10", "one", pytest.approx(0.6309297535714575, abs=1e-15)),  # 1 / log2(3)
    ]

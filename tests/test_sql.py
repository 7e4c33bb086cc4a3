"""Metrics as SQL that anyone can run: `warehouse sql`, in a DuckDB without this program."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from projects import Answer
from shared_cases import CASES, needs_cases
from test_metric_properties import collection

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

# nDCG of query 1, b (2), x, a (1): (2 / log2(2) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3)).
QRELS = (
    "(values (1, 'a', 1), (1, 'b', 2), (2, 'c', 1), (2, 'd', 0)) as q (query_id, doc_id, relevance)"
)
RUN = """(values
    ('one', 1, 'b', 3), ('one', 1, 'x', 2), ('one', 1, 'a', 1), ('one', 2, 'd', 2), ('one', 2, 'c', 1)
) as r (run, query_id, doc_id, score)"""


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute(f"create schema mine; create table mine.qrels as from {QRELS}")
    found.execute(f"create table mine.run as from {RUN}")
    return found


def asked(metrics: str, **options: object) -> str:
    return Warehouse.sql(metrics, run="mine.run", qrels="mine.qrels", **options)  # type: ignore[arg-type]


def test_by_hand_over_tables_of_ones_own(con: duckdb.DuckDBPyConnection) -> None:
    """Ids may be numbers. RR: 1 and 1/2; nDCG: 2.5 / 2.6309297535714574 and 1/log2(3)."""
    found = con.execute(asked("RR nDCG@10", by_query=True)).fetchall()
    assert found == [
        ("RR", "one", "1", 1.0), ("RR", "one", "2", 0.5),
        ("nDCG@10", "one", "1", pytest.approx(2.5 / 2.6309297535714574, abs=1e-15)),
        ("nDCG@10", "one", "2", pytest.approx(0.6309297535714575, abs=1e-15)),
    ]  # fmt: skip
    assert con.execute(asked("RR")).fetchall() == [("RR", "one", 0.75)]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("('one', 2, 'c', 0)", "a document twice"),
        ("('one', 3, 'c', 'nan'::double)", "no finite number"),
        ("('one', 3, 'c', 'inf'::double)", "no finite number"),
        ("('other', 1, 'c', 1)", "no document of it is judged"),
        ("(null, 1, 'b', 1)", "a run without a name"),
    ],
)
def test_wrong_rows_are_an_error(con: duckdb.DuckDBPyConnection, row: str, problem: str) -> None:
    con.execute("alter table mine.run alter score type double")
    con.execute(f"insert into mine.run values {row}")
    with pytest.raises(duckdb.Error, match=problem):
        con.execute(asked("P@1"))


@pytest.mark.parametrize(
    "row", ["(1, 'a', 2)", "(1, 'e', null)", "(1, 'e', 'nan'::double)", "(1, null, 1)"]
)
def test_wrong_judgments_are_an_error(con: duckdb.DuckDBPyConnection, row: str) -> None:
    con.execute("alter table mine.qrels alter relevance type double")
    con.execute(f"insert into mine.qrels values {row}")
    with pytest.raises(
        duckdb.Error, match="judged twice, or with a relevance that is no finite number"
    ):
        con.execute(asked("P@1"))


def test_what_is_read_besides_ids_and_scores() -> None:
    """The column `iteration`, for preferences as for subtopics, and the order of the rows."""
    con = duckdb.connect()
    con.execute(
        "create table qrels as from (values ('1', 'a', 2, 's'), ('1', 'b', 1, 's'), ('1', 'b', 2, 't'), "
        "('1', 'c', 1, 't')) as q (query_id, doc_id, relevance, iteration)"
    )
    con.execute(
        "create table run as from (values ('one', '1', 'b', 1), ('one', '1', 'a', 1), "
        "('one', '1', 'c', 1)) as r (run, query_id, doc_id, score)"
    )
    # s prefers a to b, and t prefers b to c: in the order b, a, c the second is kept; in c, b, a none
    for protocol, value in (("rectools", 0.5), ("default", 0.0)):
        sql = Warehouse.sql("PrefPair", protocol=protocol)
        assert con.execute(sql).fetchall() == [("PrefPair", "one", value)]
    con.execute("delete from qrels where iteration = 't'")
    for protocol, value in (("rectools", 1 / 2), ("default", 1 / 3)):
        sql = Warehouse.sql("RR(rel=2)", protocol=protocol)
        assert con.execute(sql).fetchall() == [("RR(rel=2)", "one", value)]


def test_equal_scores_are_in_the_order_of_the_rows() -> None:
    """By hand: the relevant document is the 4,000th of 5,000 with one score, so that RR is 1/4000."""
    con = duckdb.connect()
    con.execute(
        "create table qrels as select '1' as query_id, 'relevant' as doc_id, 1 as relevance"
    )
    con.execute(
        "create table run as select 'one' as run, '1' as query_id, 1 as score, "
        "if(n = 3999, 'relevant', 'd' || hash(n)) as doc_id from range(5000) as rows(n)"
    )
    found = con.execute(Warehouse.sql("RR", protocol="rectools")).fetchall()
    assert found == [("RR", "one", 1 / 4000)]


@pytest.mark.parametrize("setting", ["integer_division = true", "default_order = 'desc'"])
def test_settings_that_change_sql_are_an_error(
    con: duckdb.DuckDBPyConnection, setting: str
) -> None:
    con.execute(f"set {setting}")
    with pytest.raises(duckdb.Error, match="set integer_division = false"):
        con.execute(asked("AP"))


def test_over_a_warehouse(tmp_path: Path, wh: Warehouse) -> None:
    """What the SQL cannot read, or has nothing for, is an error; by hand, RR is 1 and 1/2."""
    run = tmp_path / "run.csv"
    run.write_text("query_id,doc_id,score\n1,b,3\n1,x,2\n2,d,2\n2,c,1\n")
    wh.ingest_qrels("tiny", {"1": {"a": 1, "b": 2}, "2": {"c": 1, "d": 0}})
    wh.ingest_run("tiny", run, name="one", where_it_lies=True)
    wh.evaluate("tiny", metrics="RR")
    with duckdb.connect(str(wh.path), read_only=True) as con:
        found = con.execute(Warehouse.sql("RR", dataset="tiny")).fetchall()
        assert found == [("RR", "one", 0.75)]
        for metric, protocol, problem in (
            ("Share@1", "default", "lie in a file of their own"),
            ("RR", "default~self", "lie in a file of their own"),
            ("RR", "default~seen.csv", "lie in a file|nothing to leave out is loaded as seen.csv"),
            ("RR", "trec_eval_9", "not evaluated under this protocol"),
        ):
            with pytest.raises(duckdb.Error, match=problem):
                con.execute(Warehouse.sql(metric, dataset="tiny", protocol=protocol)).fetchall()
    wh.ingest_run("tiny", {"1": {"b": 1.0}}, name="one", replace=True)
    wh.evaluate("tiny", metrics="RR")
    with duckdb.connect(str(wh.path), read_only=True) as con:
        for left_out in ("training", "seen.csv"):
            sql = Warehouse.sql("RR", dataset="tiny", protocol=f"default~{left_out}")
            with pytest.raises(duckdb.Error, match=f"nothing to leave out is loaded as {left_out}"):
                con.execute(sql).fetchall()


def test_the_command(run: Callable[..., Answer], con: duckdb.DuckDBPyConnection) -> None:
    found = run("sql", "RR", "--run", "mine.run", "--qrels", "mine.qrels")
    assert con.execute(found.out).fetchall() == [("RR", "one", 0.75)]
    assert run("sql", "RR", "-d", "tiny", "--run", "other").code == 2
    assert "nDCG" in run("sql", "ndgc").err


NAMES = {"map": "AP", "ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "bpref": "bpref"}


def of_trec_eval(runs: str) -> tuple[duckdb.DuckDBPyConnection, dict[tuple[str, str], float]]:
    """Return the tables of some runs of TREC 2019, and trec_eval's means by metric and run."""
    case = CASES / "dl19_passage"
    con = duckdb.connect()
    con.execute(
        "create table qrels as select column0 as query_id, column2 as doc_id, column3 as relevance "
        f"from read_csv('{case}/qrels.txt', delim=' ', header=false)"
    )
    con.execute(
        "create table run as select parse_filename(filename).replace('.run.gz', '') as run, "
        "column0 as query_id, column2 as doc_id, column4 as score "
        f"from read_csv('{case}/runs/{runs}', delim=' ', header=false, filename=true)"
    )
    golden = con.execute(
        "select measure, run, try_cast(value as double) from read_csv($1, delim='\t') "
        "where qid = 'all' and run in (select run from run)",
        [str(case / "golden/trec_eval-9.0.8-exact.base.tsv.gz")],
    ).fetchall()
    return con, {(NAMES[name], run): value for name, run, value in golden if name in NAMES}


@needs_cases
def test_values_of_trec_eval() -> None:
    con, expected = of_trec_eval("*")
    sql = Warehouse.sql(list(NAMES), protocol="trec_eval_9")
    found = {(metric, run): value for metric, run, value in con.execute(sql).fetchall()}
    assert found == pytest.approx(expected, abs=1e-12)
    assert len(found) == 4 * 13


@pytest.mark.slow
def test_macros_of_all_established_metrics() -> None:
    """In a plain DuckDB, whatever else is there, and with the values of the statements."""
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
    con = duckdb.connect()
    con.execute(Warehouse.sql_macros())
    qrels, run = collection(random.Random(4))
    con.execute(
        "create schema mine; create table mine.qrels (query_id text, doc_id text, relevance double)"
    )
    con.execute("create table mine.run (run text, query_id text, doc_id text, score double)")
    for query, grades in qrels.items():
        con.executemany(
            "insert into mine.qrels values (?, ?, ?)", [(query, *one) for one in grades.items()]
        )
    for query, scores in run.items():
        con.executemany(
            "insert into mine.run values ('one', ?, ?, ?)", [(query, *o) for o in scores.items()]
        )
    rows = con.execute(
        "select function_name, parameters from duckdb_functions() where not internal"
    )
    made = dict(rows.fetchall())
    assert made.pop("evaluate") == ["run_table", "qrels_table", "metrics"]
    assert made.keys() >= {
        "AP",
        "nDCG",
        "RR",
        "P",
        "R",
        "Rprec",
        "bpref",
        "Success",
        "Judged",
        "ERR",
    }
    assert len(made) > 40
    for name, parameters in made.items():
        at, k = ("@3", ", k := 3") if "k" in parameters else ("", "")
        found = con.execute(f"from {name}('mine.run', 'mine.qrels'{k})").fetchall()
        assert found == con.execute(asked(f"{name}{at}")).fetchall()
    for name in ("AP", "nDCG", "RR", "DCG", "ERR"):
        found = con.execute(f"select value from {name}('mine.run', 'mine.qrels')").fetchall()
        assert found == [(value,) for *_, value in con.execute(asked(name)).fetchall()], name
    with pytest.raises(duckdb.Error, match="k"):  # a precision has a cutoff
        con.execute("from P('mine.run', 'mine.qrels')")
    several = ["AP", "nDCG@3", "RR", "P@2"]
    found = con.execute("from evaluate('mine.run', 'mine.qrels', $1)", [several]).fetchall()
    assert sorted(found) == sorted(con.execute(asked(" ".join(several))).fetchall())


def test_macros_of_some_metrics(con: duckdb.DuckDBPyConnection) -> None:
    """A name of a metric or a table is data in what they make of it. By hand: RR, and nDCG above."""
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
    con.execute(Warehouse.sql("RR nDCG@10", form="macro"))
    values = (1.25 * 2 / 2.6309297535714574 + 0.6309297535714575) / 2
    assert con.execute("from nDCG('mine.run', 'mine.qrels', k := 10)").fetchall() == [
        ("nDCG@10", "one", pytest.approx(values, abs=1e-15))
    ]
    con.execute("""create table mine."it's" as from mine.run""")
    found = con.execute("""from evaluate('mine."it''s"', 'mine.qrels', ['RR'])""").fetchall()
    assert found == [("RR", "one", 0.75)]
    for k in ("0", "-1", "2.5"):
        with pytest.raises(duckdb.Error, match="k is a whole number of at least 1"):
            con.execute(f"from nDCG('mine.run', 'mine.qrels', k := {k})").fetchall()
    for wrong in ("nDCG@0", "nDCG@2.5", "nDCG@1@2", "AP(rel=2)"):
        with pytest.raises(duckdb.Error, match="write NAME or NAME@K"):
            con.execute("from evaluate('mine.run', 'mine.qrels', $1)", [[wrong]]).fetchall()
    with pytest.raises(duckdb.Error, match="one metric at least"):
        con.execute("from evaluate('mine.run', 'mine.qrels', [])").fetchall()
    for metric in ("no", "RR\"('mine.run', 'mine.qrels') union all from nDCG('a', 'b') -- "):
        with pytest.raises(duckdb.Error, match=r"no such macro|write NAME"):
            con.execute("from evaluate('mine.run', 'mine.qrels', $1)", [[metric]]).fetchall()
    for wrong in ({"dataset": "tiny"}, {"dialect": "postgres"}, {"by_query": True}, {"run": "r"}):
        with pytest.raises(UsageError, match="leave out"):
            Warehouse.sql("RR", form="macro", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="would both be the macro nDCG"):
        Warehouse.sql("nDCG@5 nDCG@10", form="macro")


def test_a_model_of_dbt(con: duckdb.DuckDBPyConnection) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
    model = Warehouse.sql("RR", form="model", run="raw.my_run", qrels="my_qrels")
    assert model.count("{{") == model.count("{%") + 2 == 2
    query = model.replace("{{ source('raw', 'my_run') }}", "mine.run")
    query = query.replace("{{ ref('my_qrels') }}", "mine.qrels")
    assert con.execute(query).fetchall() == [("RR", "one", 0.75)]
    for name in ("a.b.c", "it's", "a') }} {{ ref('b"):
        with pytest.raises(UsageError, match="name a model"):
            Warehouse.sql("RR", form="model", run=name)


@pytest.mark.slow
def test_dbt_builds_a_model(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """With dbt-duckdb, over tables of a source."""
    pytest.importorskip("dbt.adapters.duckdb", reason="dbt is not installed")
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
    con.execute(f"attach '{tmp_path / 'w.duckdb'}' as file; create schema file.raw")
    con.execute("create table file.raw.run as from mine.run")
    con.execute("create table file.raw.qrels as from mine.qrels; detach file")
    profile = "ranking: {target: dev, outputs: {dev: {type: duckdb, path: w.duckdb}}}"
    files = {
        "dbt_project.yml": "{name: ranking, profile: ranking}",
        "profiles.yml": profile,
        "models/raw.yml": "sources: [{name: raw, tables: [{name: run}, {name: qrels}]}]",
        "models/quality.yml": "models: [{name: quality, columns: [{name: value, tests: [not_null]}]}]",
        "models/quality.sql": Warehouse.sql("RR", form="model", run="raw.run", qrels="raw.qrels"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "build"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout
    with duckdb.connect(str(tmp_path / "w.duckdb")) as file:
        assert file.execute("from quality").fetchall() == [("RR", "one", 0.75)]


def test_the_pack_stands_alone(run: Callable[..., Answer]) -> None:
    assert "create or replace macro" in run("sql", "--pack").out
    assert run("sql", "AP", "--pack").code == run("sql").code == 2


def test_a_name_of_a_table_is_no_sql(con: duckdb.DuckDBPyConnection) -> None:
    """It is data in the statement and in the comments above it."""
    con.execute('create table mine."a\ndrop table mine.qrels; --" as from mine.run')
    sql = Warehouse.sql("RR", run='mine."a\ndrop table mine.qrels; --"', qrels="mine.qrels")
    assert con.execute(sql).fetchall() == [("RR", "one", 0.75)]
    assert con.execute("select count(*) from mine.qrels").fetchall() == [(4,)]
    assert "have not run it" in Warehouse.sql("RR", dialect="snowflake")

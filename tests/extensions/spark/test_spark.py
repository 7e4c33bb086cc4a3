"""Spark on a cluster that is started here: the same bits as in one process, whatever ends meanwhile."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest
from clusters import cluster, needs_spark
from engines import InTurn, bits, computable, first_files, stored
from refusals import expect_refusal
from shared_cases import CASES, needs_cases
from test_sql import NAMES, of_trec_eval

from warehouse import Warehouse
from warehouse.errors import InputError, WarehouseError

pytestmark = [pytest.mark.slow, needs_spark]
METRICS = ["nDCG@10", "AP", "RR", "P@10", "R@100"]
PROTOCOLS = ("default", "trec_eval_9", "trec_eval_c", "ranx", "ir_measures")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a session on a cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("spark")) as started:
        session = started.session()
        try:
            yield session
        finally:
            session.stop()


def divided(
    spark: Any, case: str, protocol: str, num_buckets: int, num_runs: int | None = None
) -> int:
    """Score a case in one process and on a cluster, by run if there are no buckets; count the values."""
    qrels, runs = first_files(case, num_runs)
    metrics = computable(protocol, pooled=not num_buckets)
    how: dict[str, Any] = {"by": "query", "buckets": num_buckets} if num_buckets else {}
    plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
    found = Warehouse.score(qrels, runs, metrics, protocol=protocol, engine=spark, **how)
    rows = bits(plain.relation)
    assert bits(found.relation) == rows
    assert bits(found.board()) == bits(plain.board())
    assert (found.read, found.num_judged) == (plain.read, plain.num_judged)
    return len(rows)


@needs_cases
@pytest.mark.parametrize(
    ("case", "protocol", "num_buckets"),
    [
        ("edge_basic/ties_float32", "trec_eval_9", 0),
        ("dl19_passage", "default", 0),
        ("dl19_passage", "trec_eval_9", 3),
    ],
)
def test_the_same_bits(spark: Any, case: str, protocol: str, num_buckets: int) -> None:
    assert divided(spark, case, protocol, num_buckets, 4) > 0


@pytest.fixture(scope="module")
def compared() -> Iterator[list[int]]:
    """Return a list for the number of values of each comparison; pytest -s shows their sum."""
    counts: list[int] = []
    yield counts
    print(f"\n{sum(counts):,} values of {len(counts)} comparisons were the same")


@pytest.mark.long
@needs_cases
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "case", sorted(str(path.parent.relative_to(CASES)) for path in CASES.glob("**/runs"))
)
def test_the_same_bits_of_every_case(
    spark: Any, case: str, protocol: str, compared: list[int]
) -> None:
    """Every metric, by run, and by query in 1, 3 and 32 buckets."""
    if is_scored(case, protocol):
        compared += [divided(spark, case, protocol, number) for number in (0, 1, 3, 32)]


def is_scored(case: str, protocol: str) -> bool:
    """Whether the runs of a case can be read: some cases are about what is refused."""
    qrels, runs = first_files(case, None)
    try:
        Warehouse.score(qrels, runs, "AP", protocol=protocol)
    except InputError:
        return False
    return True


@needs_cases
@pytest.mark.parametrize("by", ["run", pytest.param("query", marks=pytest.mark.long)])
def test_stored_runs(spark: Any, tmp_path: Path, by: Literal["run", "query"]) -> None:
    """The tasks read predictions in the folder of the database, and leave their values there."""
    qrels, runs = first_files("dl19_passage")
    metrics = computable("default", pooled=by == "run")[:: 6 if by == "run" else 1]
    plain, parts = tmp_path / "plain.duckdb", tmp_path / "parts.duckdb"
    warehouse = Warehouse(plain)
    warehouse.ingest_qrels("dl19", qrels)
    for run in runs:
        warehouse.ingest_run("dl19", run)
    shutil.copy(plain, parts)
    warehouse.evaluate(metrics=metrics)
    Warehouse(parts).evaluate(metrics=metrics, engine=spark, by=by)
    assert stored(parts) == stored(plain)


@needs_cases
def test_tables_of_runs(spark: Any, tmp_path: Path) -> None:
    """A folder of Parquet by run, a Delta table with a deleted run, and a data frame."""
    deltalake = pytest.importorskip("deltalake")
    qrels, runs = first_files("dl19_passage", 2)
    with duckdb.connect() as con:
        con.execute(
            "create table t (run varchar, query_id varchar, doc_id varchar, score double, "
            "position bigint)"
        )
        for run in runs:
            con.execute(
                "insert into t select $run, column0, column2, column4, row_number() over () "
                "from read_csv($path, delim = ' ', header = false, all_varchar = true)",
                {"run": run.name.removesuffix(".gz").removesuffix(".run"), "path": str(run)},
            )
        con.execute(
            f"copy (from t order by hash(doc_id)) to '{tmp_path}/parquet' "
            "(format parquet, partition_by (run))"
        )
        rows = con.sql("from t order by hash(doc_id)").to_arrow_table()
        other = con.sql("select * replace ('other' as run) from t limit 9").to_arrow_table()
    folder = str(tmp_path / "delta")
    deltalake.write_deltalake(folder, rows, partition_by=["run"])
    deltalake.write_deltalake(folder, other, mode="append")
    deltalake.DeltaTable(folder).delete("run = 'other'")
    frame = spark.read.parquet(str(tmp_path / "parquet"))
    how: dict[str, Any] = {"engine": spark, "by": "query", "buckets": 2}
    for table, protocol in (
        (tmp_path / "parquet", "default"),
        (folder, "ranx"),
        (frame, "default"),
    ):
        metrics = computable(protocol, pooled=False)[::20]
        plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
        found = Warehouse.score(qrels, table, metrics, protocol=protocol, **how)
        assert bits(found.relation) == bits(plain.relation)
        assert bits(found.board()) == bits(plain.board())
        assert [read.num_hits for read in found.read] == [read.num_hits for read in plain.read]
    name = found.names[1]
    (again,) = frame.filter(frame["run"] == name).take(1)
    frame.createOrReplaceTempView("given")
    wrong = spark.sql(
        "select run, query_id, doc_id, score from given "
        f"union all select '{name}', '{again.query_id}', '{again.doc_id}', 0.5 "
        "union all select 'new', 'q', 'd', double('nan') union all select 'new', 'q', null, 1.0"
    )
    found = Warehouse.score(qrels, wrong, "AP", **how)
    assert len(found.names) == 1
    words = f"document '{again.doc_id}' is there twice for query '{again.query_id}'"
    assert str(found.refused[name]) == f"the table: run {name}: {words}"
    assert "rows without a query, a document or a finite score: 2" in str(found.refused["new"])
    unordered = frame.drop("position")
    for table, options, words in (
        (unordered, {"protocol": "xclib", "by": "query"}, "protocol xclib … column position"),
        (frame, {"by": "run"}, "by='query'"),
        (frame.drop("score"), {"by": "query"}, "no column score (there are: query_id"),
        ([frame, *runs], {"by": "query"}, "give it alone"),
    ):
        with expect_refusal(words, WarehouseError):
            Warehouse.score(qrels, table, "AP", engine=spark, **options)
    with expect_refusal("engine='spark'"):
        Warehouse.score(qrels, frame, "AP", engine=InTurn(), by="query")


@needs_cases
@pytest.mark.parametrize("by", ["run", pytest.param("query", marks=pytest.mark.long)])
def test_a_run_is_refused(spark: Any, tmp_path: Path, by: Literal["run", "query"]) -> None:
    """With its lines, while the others come back."""
    qrels, runs = first_files("dl19_passage", 2)
    wrong = tmp_path / "wrong.run"
    wrong.write_text("19335 Q0 d1 1 2.5 x\n19335 Q0 d2 2 high x\n19335 Q0 d1 3 0.5 x\n")
    plain = Warehouse.score(qrels, runs, "AP")
    found = Warehouse.score(qrels, [wrong, *runs], "AP", engine=spark, by=by)
    assert bits(found.relation) == bits(plain.relation)
    assert list(found.refused) == ["wrong"]
    told = str(found.refused["wrong"])
    assert "wrong.run: 2 problems" in told
    assert "\n  line 2: score 'high' is not a number" in told


@needs_cases
def test_printed_statements_run_in_spark_sql(spark: Any) -> None:
    """Over tables of its own, with the values of trec_eval; each metric runs or is refused by name."""
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: extra sql")
    con, expected = of_trec_eval("bm25*")
    for table in ("run", "qrels"):
        spark.createDataFrame(con.sql(f"from {table}").df()).createOrReplaceTempView(table)
    sql = Warehouse.sql(list(NAMES), protocol="trec_eval_10", dialect="spark").rstrip().rstrip(";")
    found = {(row.metric, row.run): row.value for row in spark.sql(sql).collect()}
    assert found == pytest.approx(expected, abs=1e-12)


@dataclass(frozen=True)
class Predictions:
    """Files of five million predictions, a warehouse with them, and their values by one process."""

    folder: Path
    scored: list[tuple[object, ...]]
    board: list[tuple[object, ...]]
    stored: dict[str, list[tuple[object, ...]]]

    @property
    def runs(self) -> list[Path]:
        return sorted(self.folder.glob("*.run.parquet"))

    @property
    def qrels(self) -> Path:
        return self.folder / "qrels.parquet"

    def copy(self, folder: Path) -> Path:
        """Copy the warehouse, which has no values yet, into a folder."""
        return Path(shutil.copy(self.folder / "runs.duckdb", folder))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Predictions:
    folder = tmp_path_factory.mktemp("many")
    doc = "'d' || (hash(q, d, $n) % 5000) || '_' || d as doc_id"
    with duckdb.connect() as con:
        for number in range(20):
            con.execute(
                f"copy (select 'q' || q as query_id, {doc}, "
                "1000.0 - d + (hash(d, q, $n) % 3) as score from range(250) t(q), range(1000) u(d)) "
                f"to '{folder}/{number:02}.run.parquet'",
                {"n": number},
            )
        con.execute(
            f"copy (select 'q' || q as query_id, {doc}, (hash(d, q) % 3)::integer as relevance "
            f"from range(250) t(q), range(0, 1000, 25) u(d)) to '{folder}/qrels.parquet'",
            {"n": 1},
        )
    made = Predictions(folder, [], [], {})
    warehouse = Warehouse(folder / "runs.duckdb")
    warehouse.ingest_qrels("many", made.qrels)
    warehouse.ingest_runs("many", made.runs)
    plain = made.copy(folder / "plain.duckdb")
    Warehouse(plain).evaluate(metrics=METRICS)
    scores = Warehouse.score(made.qrels, made.runs, METRICS, per_query=True)
    return Predictions(folder, bits(scores.relation), bits(scores.board()), stored(plain))


def is_in_the_middle(session: Any) -> bool:
    """Whether some tasks of the work are done and others are not; fewer only look for the files."""
    tracker = session.sparkContext.statusTracker()
    stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
    return any(s.numTasks >= 20 and s.numCompletedTasks and s.numActiveTasks for s in stages)


@pytest.mark.long
@pytest.mark.parametrize("verb", ["score", "evaluate"])
@pytest.mark.parametrize("by", ["run", "query"])
@pytest.mark.parametrize("killed", ["worker", "executor", "python"])
def test_a_kill_among_many_predictions(
    many: Predictions, tmp_path: Path, killed: str, by: Literal["run", "query"], verb: str
) -> None:
    file = many.copy(tmp_path)
    deaths: list[int] = []
    with cluster(tmp_path) as started:
        session = started.session()

        def kill() -> None:
            while not is_in_the_middle(session):
                time.sleep(0.1)
            deaths.append(started.kill("worker1", killed))

        try:
            Warehouse.score(many.qrels, many.runs[:2], METRICS, engine=session)  # executors start
            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
            if verb == "evaluate":
                Warehouse(file).evaluate(metrics=METRICS, engine=session, by=by)
            else:
                found = Warehouse.score(
                    many.qrels, many.runs, METRICS, engine=session, by=by, per_query=True
                )
            was_alive = killer.is_alive()
            killer.join()
        finally:
            session.stop()
    assert deaths != [0]
    assert not was_alive  # the kill was in the middle
    if verb == "evaluate":
        assert stored(file) == many.stored
    else:
        assert bits(found.relation) == many.scored
        assert bits(found.board()) == many.board


@pytest.mark.long
@pytest.mark.parametrize("verb", ["score", "evaluate by run", "evaluate by query"])
def test_a_driver_is_killed(many: Predictions, tmp_path: Path, verb: str) -> None:
    """After some tasks have written their values: nothing looks whole, and a second try is."""
    file, values = many.copy(tmp_path), tmp_path / "values"
    before = stored(file)
    command = [sys.executable, "-m", "warehouse"]
    if verb == "score":
        command += ["score", str(many.qrels), *map(str, many.runs), *METRICS, "-q"]
        command += ["-f", "parquet", "-o", str(values)]
    else:
        command += ["evaluate", "--db", str(file), "--by", verb.split()[-1]]
        command += [f"-m{metric}" for metric in METRICS]
    with cluster(tmp_path) as started:
        command += ["--engine", "spark", "--master", started.url]
        process = subprocess.Popen(command, env=started.environment)
        while not list(tmp_path.glob("*.scratch/files/values*/*.parquet")):
            assert process.poll() is None
            time.sleep(0.1)
        process.kill()
        process.wait()
        assert not values.exists()
        assert stored(file) == before
        subprocess.run(command, env=started.environment, check=True)
    assert not list(tmp_path.glob("*.scratch"))
    if verb == "score":
        assert sorted(bits(duckdb.sql(f"from '{values}/*.parquet'"))) == sorted(many.scored)
    else:
        assert stored(file) == many.stored

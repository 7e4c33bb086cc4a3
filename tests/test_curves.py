"""Curves: what their files say, how they are named, what is stored of them, and the commands."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from projects import invoked
from refusals import expect_refusal, tells
from test_templates import doubled, rules, scope, stubbed, sums_without_order, tables_of

from warehouse.errors import DefinitionError, UsageError
from warehouse.evaluate.chain import matched_sql
from warehouse.evaluate.evaluation import compute
from warehouse.evaluate.plan import plan
from warehouse.evaluate.stored_runs import Job
from warehouse.metrics import catalogue, checks, curves, protocols
from warehouse.metrics.protocols import Protocol
from warehouse.metrics.template import parts
from warehouse.sql_text import relations, templates
from warehouse.warehouse import Warehouse

__all__ = ["scope"]  # a fixture

NAMES = list(templates.names_in("curves"))
EVERY = [
    "PrecisionByRank", "RecallByRank", "RankByRecall", "InterpolatedPrecision",
    "InterpolatedPrecision(needed=trec_eval_9)", "ROC", "ROC(points=all)@3",
    *(f"ROC(ties={ties})" for ties in ("half", "input")),
    *(
        f"PrecisionRecall(ties={ties}, aggregate={aggregate}, points={points})@4"
        for ties in ("rank", "threshold")
        for aggregate in ("mean", "pooled")
        for points in ("corners", "all")
    ),
]  # fmt: skip
HEADER = """/*
title = "Mine"
summary = "What it is."
formula = "y = x"
reads = ["hits"]
direction = "higher"
joined = "lines"
aggregate = "mean"
reference = "none"
x = { name = "rank", range = [1, inf] }
y = { name = "hits", range = [0, 1] }
param.rel = { type = "integer", default = 1, min = 1, summary = "Lowest relevance that counts." }
*/
select run_id, query_id, 0 as position, 1 as x, count(*) as y from {{ hits }} group by run_id, query_id
"""


def read(text: str) -> curves.Curve:
    return curves._curve("Mine", *parts(text, "sql/curves/Mine.sql.j2"))


def test_a_header_is_read() -> None:
    found = read(HEADER)
    assert (found.kind, found.x.name, found.y.range, found.area) == ("curve", "rank", (0, 1), None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('joined = "lines"', 'joined = "line"', "joined is one of .*; did you mean lines"),
        ('joined = "lines"', "", "the key 'joined' is missing"),
        (
            'joined = "lines"',
            'joined = "lines"\nundefined = 0',
            "unknown key 'undefined'; known are",
        ),
        ('joined = "lines"', 'joined = "lines"\naera = "AUC"', "unknown key 'aera'; did you mean"),
        ('joined = "lines"', 'joined = "lines"\nchance = 1', "'chance' has the wrong type"),
        ("range = [1, inf]", "range = [1, 1]", "x: range is \\[lowest, highest\\]"),
        ("range = [1, inf]", "range = [1]", "x: 'range' lists 2 values, not 1"),
        ('name = "rank", ', "", "x: the key 'name' is missing"),
        ('aggregate = "mean"', 'aggregate = "sum"', "aggregate is one of mean, pooled"),
        ('reads = ["hits"]', 'reads = ["hit"]', "no relation 'hit'; did you mean hits"),
        ('title = "Mine"', "", "the key 'title' is missing"),
        ('type = "integer"', 'type = "int"', "param.rel: type is one of .*; did you mean integer"),
        ('direction = "higher"', 'direction = "up"', "direction is one of"),
    ],
)
def test_a_wrong_header_is_refused(old: str, new: str, message: str) -> None:
    assert old in HEADER
    with pytest.raises(DefinitionError, match=rf"sql/curves/Mine.sql.j2: .*{message}"):
        read(HEADER.replace(old, new, 1))


@pytest.mark.parametrize("name", NAMES)
def test_the_files(name: str) -> None:
    found = curves.curves()[name]
    types = {p.name: p.type for p in found.parameters}
    checks.check_body(found, found.body, types)
    # a parameter that relations ask for has the type that metrics give it
    asked = {v for read in found.reads for v in relations.variables(read)}
    known = {p.name: p.type for one in catalogue.catalogue().values() for p in one.parameters}
    assert all(known[p] == types[p] for p in asked & types.keys())
    assert "/" not in found.body
    named = r"over \w+|\bwindow\n? *\w+ as \([^()]*\)|\{\{.*?\}\}|\{%.*?%\}"
    assert "order by" not in re.sub(named, "", _one_window_each(found.body), flags=re.DOTALL)


def _one_window_each(body: str) -> str:
    """Return a body in which each of several windows stands alone."""
    return re.sub(r",\n( *\w+ as \(partition)", r"\nwindow \1", body)


@pytest.mark.parametrize("name", EVERY)
def test_what_a_curve_reads_is_what_it_says(name: str) -> None:
    metric = curves.parse(name)
    found = metric.definition
    values = metric.params | {r: r for r in found.reads}
    sql = templates.compiled(found.body).render(**values)
    assert stubbed()
    assert tables_of(sql) <= set(found.reads)
    assert sums_without_order(plan([metric], protocols.get("default")).queries[metric]) == [] or (
        # a running count of documents
        name == "PrecisionByRank"
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("rule", list(rules())[::5], ids=str)
def test_columns_and_points(scope, rule: Protocol) -> None:
    """Every curve has its columns, and points numbered from 0, within the axes, from left to right."""
    scope.execute(f"insert into scope_hit select *, rank from ({matched_sql(rule)})")
    work = plan([curves.parse(name) for name in EVERY], rule)
    for table, sql in work.tables.items():
        scope.execute(f'create table "{table}" as {sql}')
    for metric, sql in work.queries.items():
        scope.execute(f"create or replace temp table point as {sql}")
        assert scope.table("point").columns == ["run_id", "query_id", "position", "x", "y"]
        assert doubled(scope, "from point", ["run_id", "query_id", "position"]) == 0
        found = curves.of(metric)
        (low, high), (least, most) = found.x.range, found.y.range
        wrong = scope.execute(
            """select run_id, query_id from (
                select *, lag(x, 1, x) over (partition by run_id, query_id order by position) as before
                from point
            ) group by all
            having min(position) <> 0 or max(position) <> count(*) - 1
                or bool_or(x is null or y is null or x < before)
                or min(x) < $1 or max(x) > $2 or min(y) < $3 or max(y) > $4""",
            [low, high, least, most],
        ).fetchall()
        assert not wrong, str(metric)
        assert scope.execute("from point where query_id is null").fetchall(), str(metric)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("roc", "ROC"),
        ("ROC( rel = 2 )@100", "ROC(rel=2)@100"),
        ("roc_curve", "ROC(ties=half)"),
        ("precision_recall_curve", "PrecisionRecall(ties=threshold)"),
        ("PR", "PrecisionRecall"),
        ("precision@k", "PrecisionByRank@100"),
        ("P@20", "PrecisionByRank@20"),
        ("recall@k", "RecallByRank@100"),
        ("k@recall", "RankByRecall"),
        ("iprec_at_recall", "InterpolatedPrecision"),
        ("11pt(levels=[0.5])", "InterpolatedPrecision(levels=[0.5])"),
    ],
)
def test_names(text: str, canonical: str) -> None:
    assert str(curves.parse(text)) == canonical
    assert str(curves.parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RCO", "RCO … ROC"),
        ("zzz", "zzz: no such curve; curves are InterpolatedPrecision"),
        ("AP@3", "AP@3: a metric, not a curve"),
        ("ROC(rle=2)", "rle … rel"),
        ("ROC(ties=threshold)", "ties is one of rank, half, input"),
        ("ROC@0", "cutoff is at least 1"),
        ("ROC(", "not in the notation"),
        ("PrecisionRecall(points=all)", "points=all needs a cutoff"),
    ],
)
def test_wrong_names(text: str, message: str) -> None:
    with expect_refusal(message):
        curves.parse(text)


def test_protocols_give_curves_the_defaults_of_their_peers() -> None:
    def named(name: str, protocol: str) -> str:
        return str(curves.parse(name, defaults=protocols.get(protocol).defaults()))

    assert named("11pt", "trec_eval_9") == "InterpolatedPrecision(needed=trec_eval_9)"
    assert named("ROC", "sklearn") == "ROC(ties=half)"
    assert named("ROC", "ardoco") == "ROC(ties=input)"
    assert named("PR", "sklearn") == "PrecisionRecall(ties=threshold, aggregate=pooled)"


@pytest.fixture
def seed(wh: Warehouse) -> Warehouse:
    """Source 001: the ranking x a y b c z, of which a, b, c are relevant."""
    wh.ingest_qrels("seed", {"q": {"a": 1, "b": 1, "c": 1, "x": 0, "y": 0, "z": 0}})
    wh.ingest_run("seed", {"q": {doc: 6.0 - n for n, doc in enumerate("xaybcz")}}, name="model")
    return wh


@pytest.mark.slow
def test_the_table_of_the_first_source(seed: Warehouse) -> None:
    """Rank, precision, recall; the source has 3/4 for rank 5, and a second rank 5 with 3/5."""
    table = [
        (1, 0, 0), (2, 1 / 2, 1 / 3), (3, 1 / 3, 1 / 3), (4, 2 / 4, 2 / 3), (5, 3 / 5, 1), (6, 3 / 6, 1),
    ]  # fmt: skip
    for query in (None, "q"):
        rows = seed.curve("seed", "PrecisionRecall(points=all)@6", query=query).fetchall()
        assert [(position + 1, y, x) for _, position, x, y in rows] == table
    by_rank = seed.curve("seed", "precision@k").fetchall()
    assert [(x, y) for _, _, x, y in by_rank] == [(rank, p) for rank, p, _ in table]
    # recall rises at 2, 4 and 5
    recall = [(x, y) for _, _, x, y in seed.curve("seed", "recall@k").fetchall()]
    assert recall == [(0, 0), (2, 1 / 3), (4, 2 / 3), (5, 1), (6, 1)]
    needed = [
        (x, y) for _, _, x, y, _ in seed.curve("seed", "k@recall(levels=[0.3,0.5,1])").fetchall()
    ]
    assert needed == [(0.3, 2), (0.5, 4), (1, 5)]
    # the highest precision from anywhere on is 3/5
    assert {y for *_, y in seed.curve("seed", "11pt").fetchall()} == {3 / 5}
    # false, true, false, true, true, false
    roc = [(x, y) for _, _, x, y in seed.curve("seed", "ROC").fetchall()]
    assert roc == [(0, 0), (1 / 3, 0), (1 / 3, 1 / 3), (2 / 3, 1 / 3), (2 / 3, 1), (1, 1)]
    trace = seed.curve("seed", "PrecisionRecall", query="q")
    assert trace.areas["model"] == pytest.approx((1 / 2 + 2 / 4 + 3 / 5) / 3, rel=1e-15)


@pytest.mark.slow
def test_a_query_that_nothing_is_relevant_for(wh: Warehouse) -> None:
    wh.ingest_qrels("d", {"n": {"a": 0}, "q": {"a": 1, "b": 0}})
    wh.ingest_run("d", {"n": {"a": 1.0}, "q": {"a": 1.0, "b": 0.5}}, name="r")
    for name in ("ROC", "PrecisionRecall", "recall@k", "k@recall"):
        found = wh.curve("d", name, query="n")
        assert found.relation.fetchall() == []
        assert found.notes[-1:] == (f"{found.metric} has no point for r: nothing to draw it from",)
    assert [y for *_, y in wh.curve("d", "P@2").fetchall()] == [1 / 2, 1 / 4]
    assert [y for *_, y in wh.curve("d", "R@2").fetchall()] == [0, 1 / 2, 1 / 2]
    assert [row[3:] for row in wh.curve("d", "k@recall(levels=[1])").fetchall()] == [(1, 1)]


@pytest.mark.slow
def test_what_is_there_is_not_computed_again(seed: Warehouse, counts) -> None:
    nothing = seed.path.read_bytes()
    shown = seed.curve("seed", "ROC")
    told = "computed for 1 run and not stored: ROC; to store: warehouse curve ROC --store -d seed"
    assert (shown.computed, shown.notes[0]) == (1, told)
    assert seed.path.read_bytes() == nothing
    first = seed.curve("seed", "ROC", store=True)
    assert (first.computed, first.stale, first.notes[0]) == (1, 0, "computed ROC for 1 run")
    assert first.fetchall() == shown.fetchall() != []
    before = counts(seed.path)
    assert seed.curve("seed", "roc").computed == 0
    assert counts(seed.path) == before
    assert before["curve_point"] == 12
    assert (before["score"], before["query_score"]) == (0, 0)
    seed.ingest_run("seed", {"q": {"a": 1.0}}, name="other")
    assert seed.curve("seed", "ROC", store=True).computed == 1
    # other judgments: all is computed anew, and what was there stays
    seed.ingest_qrels("seed", {"q": {"a": 1, "x": 1}}, replace=True)
    assert seed.curve("seed", "ROC", store=True).computed == 2
    assert counts(seed.path)["curve_point"] > before["curve_point"]


def test_a_changed_formula_makes_points_stale(seed: Warehouse, monkeypatch, counts) -> None:
    seed.curve("seed", "ROC", store=True)
    before = counts(seed.path)["curve_point"]
    changed = read(templates.source("curves/ROC").replace("union\n", "union distinct\n"))
    monkeypatch.setitem(curves.curves(), "ROC", changed)
    curves._names.cache_clear()
    try:
        shown = seed.curve("seed", "ROC")
        found = seed.curve("seed", "ROC", store=True)
    finally:
        curves._names.cache_clear()
    assert (shown.computed, shown.fetchall()) == (1, found.fetchall())
    assert (found.metric.name, found.computed) == ("Mine", 1)
    assert counts(seed.path)["curve_point"] == 2 * before


@pytest.mark.slow
def test_the_same_points_whatever_the_threads(demo_data: Path, tmp_path: Path) -> None:
    found = []
    for threads in (1, 4):
        wh = Warehouse(tmp_path / f"{threads}.duckdb", threads=threads)
        wh.ingest_qrels("d", demo_data / "qrels.txt.gz")
        for run in ("bm25", "tasb"):
            wh.ingest_run("d", demo_data / f"{run}.run.gz", name=run)
        compute(wh.file, [Job(plan(map(curves.parse, NAMES), protocols.get("default")))], "d")
        found.append(
            wh.query("select * exclude evaluated_at from curve_points order by all").fetchall()
        )
    assert found[0] == found[1] != []


def run(*arguments: str):
    return invoked(*arguments)


@pytest.fixture
def demo_db(demo: Warehouse) -> str:
    return str(demo.path)


def test_the_points_as_a_table_and_as_data(demo_db: str) -> None:
    result = run("curve", "11pt(rel=2)", "-d", "dl19", "--run", "bm25", "--db", demo_db)
    assert result.exit_code == 0, result.output
    head, _, first, *_ = result.stdout.splitlines()
    assert head.split() == ["run", "position", "recall", "interpolated", "precision"]
    assert first.split()[:3] == ["bm25", "0", "0.0000"]
    assert "computed for 1 run and not stored: InterpolatedPrecision(rel=2)" in result.stderr
    assert "mean over 43 judged queries; protocol default" in result.stderr
    again = run(
        "curve", "11pt(rel=2)", "-d", "dl19", "-r", "bm25", "-r", "tasb", "-f", "json", "--db", demo_db,
    )  # fmt: skip
    rows = json.loads(again.stdout)
    assert [row["run"] for row in rows] == ["bm25"] * 11 + ["tasb"] * 11
    assert list(rows[0]) == ["run", "position", "x", "y"]
    assert "computed for 2 runs" in again.stderr


def test_files_by_their_names(demo_db: str, tmp_path: Path) -> None:
    for name in ("roc.csv", "roc.parquet", "roc.txt"):
        result = run(
            "curve", "ROC", "-d", "dl19", "-r", "bm25", "-o", str(tmp_path / name), "--db", demo_db
        )
        assert result.exit_code == 0, result.output
        assert "bm25: AUC 0." in result.stderr
    assert (tmp_path / "roc.csv").read_text().startswith("run,position,x,y\nbm25,0,0.0,0.0\n")
    assert (tmp_path / "roc.parquet").read_bytes()[:4] == b"PAR1"
    assert "false positive rate" in (tmp_path / "roc.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ROC", "-d", "dl18"], "dl18 … dl19"),
        (["ROC", "-d", "dl19", "-r", "bm26"], "bm26 … bm25"),
        (["ROC", "-d", "dl19", "--query", "44339"], "44339: no judged query of dl19"),
        (["ROC", "-d", "dl19", "-f", "svgg"], "svgg … svg"),
        (["ROC", "-d", "dl19", "-f", "svg"], "-f svg needs a file: -o FILE"),
        (["ROC", "-d", "dl19", "--protocol", "x"], "x: no such protocol"),
    ],
)
def test_wrong_words(arguments: list[str], message: str, demo_db: str, counts) -> None:
    before = counts(Path(demo_db))
    result = run("curve", *arguments, "--db", demo_db)
    assert isinstance(result.exception, UsageError)
    assert tells(str(result.exception), message)
    assert counts(Path(demo_db)) == before


def test_a_dataset_without_qrels(wh: Warehouse) -> None:
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="r")
    with pytest.raises(UsageError, match="d: it has no qrels yet: warehouse ingest qrels"):
        wh.curve("d", "ROC")


def test_preferences_have_no_curve(wh: Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "prefs.txt"
    path.write_text("q 1 1 a 2\nq 1 1 b 1\n")
    wh.ingest_qrels("d", path, format="prefs")
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="r")
    with pytest.raises(UsageError, match=r"the qrels are preferences.*ROC cannot be computed"):
        wh.curve("d", "ROC")


def test_no_name_is_a_metrics() -> None:
    assert not set(NAMES) & set(catalogue.catalogue())
    taken = {name.lower() for name in catalogue.catalogue()}
    assert not {name.lower() for name in NAMES} & taken


def test_metrics_and_curves_do_not_see_each_other(seed: Warehouse, counts) -> None:
    seed.evaluate("seed", metrics="AUC")
    seed.curve("seed", "ROC", store=True)
    assert seed.evaluate("seed", metrics="AUC").computed == 0
    assert seed.leaderboard("seed").columns[3:4] == ["AUC"]
    kinds = seed.query("select kind, metric, direction from store.evaluation order by 1").fetchall()
    assert kinds == [("curve", "ROC", "higher"), ("metric", "AUC", "higher")]
    assert seed.query("select distinct metric from scores").fetchall() == [("AUC",)]


def test_the_same_name_as_a_metric_is_not_a_metric(seed: Warehouse) -> None:
    with pytest.raises(UsageError, match="ROC: a curve, not a metric: warehouse curve ROC"):
        seed.evaluate("seed", metrics="ROC")


def test_the_lists_of_curves() -> None:
    listed = run("curves")
    assert listed.exit_code == 0
    assert [line.split()[0].partition("[")[0] for line in listed.stdout.splitlines()[2:]] == NAMES
    assert "false positive rate" in run("curves", "-f", "markdown").stdout
    shown = run("curves", "show", "roc_curve")
    assert "x              false positive rate, 0 to 1" in shown.stdout
    assert "SQL of ROC(ties=half) under protocol default" in shown.stdout


def test_that_the_extra_is_declared() -> None:
    path = Path(__file__).resolve().parents[1] / "pyproject.toml"
    extras = tomllib.loads(path.read_text())["project"]["optional-dependencies"]
    assert [name.partition(">")[0] for name in extras["plot"]] == ["vl-convert-python"]

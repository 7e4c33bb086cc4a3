"""Values by query that other programs computed: read, checked, shown apart, verified and forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection as Connection
from refusals import expect_refusal

from warehouse.errors import ConflictError, InputError, UsageError, WarehouseError
from warehouse.readers.scores import stage_scores
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Put = Callable[..., Path]
# map of a run: (0.5 + 0.25) / 2 = 0.375; hits are a sum, 1 + 3 = 4; gm_map has no values by query.
TREC = """\
map                   \tq1\t0.5000
hits                  \tq1\t1
map                   \tq2\t0.2500
hits                  \tq2\t3
runid                 \tall\tfirst
map                   \tall\t0.3750
hits                  \tall\t4
gm_map                \tall\t0.3536
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("imported") / "warehouse.duckdb"
    wh = Warehouse(path)
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
    for number, name in enumerate(("first", "second")):
        wh.ingest_run("tiny", {"q1": {"a": 2.0 - number}, "q2": {"c": 1.0, "b": 0.5}}, name=name)
    wh.evaluate("tiny", metrics="AP")
    return path


@pytest.fixture
def wh(made: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copyfile(made, tmp_path / "warehouse.duckdb"))


def test_lines_of_trec_eval(wh: Warehouse, put: Put) -> None:
    loaded = wh.ingest_scores("tiny", put(TREC, "first.eval"))
    assert loaded.status == {("first", "hits"): "loaded", ("first", "map"): "loaded"}
    assert loaded.protocol == "imported"
    assert loaded.warnings == (
        "left out, for there are no values by query: gm_map",
        "left out, for it is no number: runid",
    )
    board = wh.leaderboard("tiny", metrics=["map", "hits"], protocol="imported")
    assert board.fetchall() == [(1, "first", None, 0.375, 4.0, 2, 2)]
    assert any("no values were loaded of second; to load: " in note for note in board.notes)
    # the second run answers both queries, and is better by 0.25 in each
    better = TREC.replace("0.5000", "0.7500").replace("0.2500", "0.5000").replace("0.3750", "0.625")
    wh.ingest_scores("tiny", put(better, "other.txt"), name="second", metrics="map")
    board = wh.leaderboard("tiny", protocol="imported")
    assert not any("no values were loaded" in note for note in board.notes)
    found = wh.compare("tiny", ["first", "second"], metrics="map", protocol="imported")
    ((row),) = found.pairs.fetchall()
    assert row[5] == 0.25
    queries = wh.queries("tiny", "second", metrics="map", protocol="imported").fetchall()
    assert [row[:2] for row in queries] == [("q1", 0.75), ("q2", 0.5)]
    steps = wh.history("tiny", "map", protocol="imported").fetchall()
    assert [row[1] for row in steps] == ["first", "second"]
    verdict = wh.check("tiny", "map", run="second", against="first", protocol="imported")
    assert verdict.details.is_good
    # what is computed here stands apart
    assert wh.leaderboard("tiny").columns == ["place", "run", "system", "AP", "answered", "judged"]
    assert wh.status("tiny").details.num_orphaned == 0
    verified = wh.verify("tiny")
    assert verified.details.is_good
    assert verified.details.skipped == {"computed by another program": 3}
    rows = wh.query(
        "select metric, judge, format, num_queries from imported_scores order by run, metric"
    )
    assert rows.fetchall() == [
        ("hits", None, "trec_eval", 2),
        ("map", None, "trec_eval", 2),
        ("map", None, "trec_eval", 2),
    ]


@pytest.mark.slow
def test_the_same_again_other_values_and_judges(wh: Warehouse) -> None:
    rows = [
        {"run": run, "query": query, "measure": "nuggets", "value": value}
        for run, query, value in (
            ("first", "q1", 0.5),
            ("first", "q2", None),
            ("second", "q1", 1.0),
        )
    ]
    first = wh.ingest_scores("tiny", rows, judge="human")
    assert set(first.status.values()) == {"loaded"}
    assert set(wh.ingest_scores("tiny", rows, judge="human").status.values()) == {"unchanged"}
    rows[0]["value"] = 0.75
    with expect_refusal("nuggets of first", ConflictError):
        wh.ingest_scores("tiny", rows, judge="human")
    again = wh.ingest_scores("tiny", rows, judge="human", replace=True)
    assert again.status == {("first", "nuggets"): "replaced", ("second", "nuggets"): "unchanged"}
    wh.ingest_scores("tiny", rows, judge="gpt", lower_is_better="nuggets")
    # an undefined query is left out of the mean; a judge's board has the judge's values alone
    for judge, order in (("human", ["second", "first"]), ("gpt", ["first", "second"])):
        board = wh.leaderboard("tiny", protocol=f"imported:{judge}").fetchall()
        assert [row[1] for row in board] == order
        assert {row[1]: row[3] for row in board} == {"first": 0.75, "second": 1.0}
    with expect_refusal("nugets … nuggets"):
        wh.leaderboard("tiny", metrics="nugets", protocol="imported:gpt")
    with expect_refusal("imported … warehouse ingest scores FILE"):
        wh.leaderboard("tiny", protocol="imported")
    with expect_refusal("judge robot … imported:gpt, imported:human"):
        wh.forget_scores("tiny", "first", judge="robot")
    assert wh.forget_scores("tiny", "first", judge="gpt", dry_run=True).num_values == 2
    assert wh.forget_scores("tiny", "first", judge="gpt").num_evaluations == 1
    assert [row[1] for row in wh.leaderboard("tiny", protocol="imported:gpt").fetchall()] == [
        "second"
    ]
    wh.forget("tiny", "second")
    assert wh.query("select distinct run from imported_scores").fetchall() == [("first",)]
    assert wh.verify("tiny").details.is_good


def test_which_column_has_the_queries(wh: Warehouse, put: Put) -> None:
    """ir_measures prints the query first; it is known by the judged queries."""
    metric = "nDCG(gains={0: 0})@10"
    lines = f"q1\t{metric}\t0.25\nq2\t{metric}\t0.75\nall\t{metric}\t0.5\n"
    loaded = wh.ingest_scores("tiny", put(lines, "first.tsv"))
    assert loaded.metrics == (metric,)
    board = wh.leaderboard("tiny", metrics=metric, protocol="imported")
    assert board.fetchall()[0][3] == 0.5
    loaded = wh.ingest_scores("tiny", put("q1\tq2\t1\n", "first.txt"), format="ir_measures")
    assert loaded.metrics == ("q2",)


READ = [
    ("map q1 0.5\nmap q1 0.6\n", "line 2: map of query q1 is there twice, first on line 1"),
    ("map q1 0.5\nmap q2\n", "line 2: expected 3 columns, found 2"),
    ("map q1 0.5\nmap q2 inf\n", "line 2: the value is not a finite number: inf"),
    ("map q1 0.5\nmap q2 many\n", "line 2: the value is not a finite number: many"),
    ("map\tq1\t0.5\n\tq2\t0.5\n", "line 2: the metric is empty"),
    ("x\ty\t1\n", "in neither of the first two columns"),
    ("q1\tq2\t1\n", "in both of the first two columns"),
    ("run,query,metric\n", "there is no column value"),
    ("run,query,metric,value\nfirst,,map,0.5\n", "line 2: the query is empty"),
]
KEPT = [
    ("map q1 0.5000\nmap all 0.6000\n", "neither the mean nor the sum"),
    ("map all 0.6\n", "only values over all queries"),
    ("my map\tq1\t0.5\n", "a metric cannot be called 'my map'"),
    ("run,query,metric,value\nfirst,q9,map,0.5\n", "do not judge: q9"),
    ("run,query,metric,value\nthird,q1,map,0.5\n", "no run of that name"),
]


def told(error: WarehouseError) -> str:
    return "; ".join(
        [str(error), *(f"line {n}: {why}" for n, why in getattr(error, "problems", ()))]
    )


def test_what_cannot_be_read_is_refused_by_its_line(con: Connection, put: Put) -> None:
    for text, wanted in READ:
        path = put(text, "first.csv" if "," in text else "first.txt")
        with pytest.raises(InputError) as caught:
            stage_scores(con, path, "(values ('q1'), ('q2')) as known (query_id)")
        assert wanted in told(caught.value)


def test_what_cannot_be_kept_stores_nothing(wh: Warehouse, put: Put) -> None:
    for text, wanted in KEPT:
        with pytest.raises((InputError, UsageError)) as caught:
            wh.ingest_scores("tiny", put(text, "first.csv" if "," in text else "first.txt"))
        assert wanted in told(caught.value)
    assert wh.query("select count(*) from store.evaluation").fetchall() == [(2,)]
    assert wh.query("select count(*) from store.imported_score").fetchall() == [(0,)]


GATE = """\
[datasets.tiny]
qrels = "qrels.txt"
[[gates]]
dataset = "tiny"
metric = "nuggets"
protocol = "imported"
group = "system"
against = "first"
max_drop = 0.1
strict = true
"""


@pytest.mark.slow
def test_a_gate_of_imported_values(
    wh: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate checks a run again if other values take the place of those that it has seen."""
    (tmp_path / "warehouse.toml").write_text('database = "warehouse.duckdb"\n' + GATE)
    monkeypatch.chdir(tmp_path)
    rows = [
        {"run": run, "query": query, "metric": "nuggets", "value": 0.5}
        for run in ("first", "second")
        for query in ("q1", "q2")
    ]
    wh.ingest_scores("tiny", rows)
    assert [row.verdict for row in wh.check(new=True)] == ["good", "good"]
    assert wh.check(new=True).fetchall() == []
    rows[-1]["value"] = 0.25
    wh.ingest_scores("tiny", rows, replace=True)
    (row,) = wh.check(new=True)
    assert (row.run, row.value, row.verdict) == ("second", 0.375, "worse")


def test_anova_by_hand(wh: Warehouse) -> None:
    """Residuals in thirtieths: 1, 1, -2; -2, -2, 4; 1, 1, -2. Their squares add up to 36/900 = 0.04.

    With (3-1)(3-1) = 4 degrees of freedom the mean square is 0.01, and a mean has the standard error
    sqrt(0.01/3). In tables, q at 5 % is 5.04 for 3 groups and 4 degrees of freedom, and 8.12 at 1 %.
    """
    pytest.importorskip("scipy")
    values = {"a": (0.0, 0.2, 0.4), "b": (0.2, 0.4, 0.9), "c": (0.4, 0.6, 0.8)}
    wh.ingest_qrels("anova", {query: {"d": 1} for query in "xyz"})
    for run in values:
        wh.ingest_run("anova", {query: {"d": 1.0} for query in "xyz"}, name=run)
    rows = [
        {"run": run, "query_id": query, "metric": "m", "value": value}
        for run, of_run in values.items()
        for query, value in zip("xyz", of_run, strict=True)
    ]
    wh.ingest_scores("anova", rows)
    found = wh.compare(
        "anova", ["a", "b", "c"], "m", all_pairs=True, test="tukey-anova", protocol="imported"
    )
    error = (0.01 / 3) ** 0.5
    pairs = {(row.base, row.run): row for row in found}
    for pair, difference, is_significant in (
        ("ab", 0.3, True),
        ("ac", 0.4, True),
        ("bc", 0.1, False),
    ):
        row = pairs[tuple(pair)]
        assert row.difference == pytest.approx(difference)
        assert row.statistic == pytest.approx(difference / error)
        assert row.effect_size == pytest.approx(difference / 0.1)
        assert (row.low + row.high) / 2 == pytest.approx(difference)
        assert (row.high - row.low) / 2 == pytest.approx(5.04 * error, rel=1e-3)
        assert row.is_significant == is_significant
    assert pairs["a", "c"].p > 0.01
    # 3 (0.2333^2 + 0.0667^2 + 0.1667^2) / 2 = 0.13 of the runs, by 0.01
    told = [note for note in found.notes if "squared error" in note]
    assert "mean squared error 0.01, 4 degrees of freedom; F = 13, p" in told[0]

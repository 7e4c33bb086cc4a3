"""Boards: over several datasets, and what they say of values that are not over every query."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from projects import invoked
from refusals import expect_refusal

from warehouse.analyze import significance
from warehouse.analyze.dataset_board import Board
from warehouse.errors import UsageError
from warehouse.metrics import checks
from warehouse.report import charts
from warehouse.sql_text.templates import render
from warehouse.warehouse import Warehouse

# The projects A, B and C. AP of the run `one`:
#   A  q1 a z b, relevant a b: (1/1 + 2/3) / 2 = 5/6; q2 z c, relevant c: 1/2;   mean 2/3
#   B  q1 x, relevant x: 1
#   C  q1 z m n, relevant m n: (1/2 + 2/3) / 2 = 7/12
# Relevant judgments: 3, 1, 2. Judged queries: 2, 1, 1.
QRELS = {
    "A": {"q1": {"a": 1, "b": 1, "z": 0}, "q2": {"c": 1}},
    "B": {"q1": {"x": 1}},
    "C": {"q1": {"m": 1, "n": 2}},
}
ONE = {
    "A": {"q1": {"a": 3.0, "z": 2.0, "b": 1.0}, "q2": {"z": 2.0, "c": 1.0}},
    "B": {"q1": {"x": 1.0}},
    "C": {"q1": {"z": 3.0, "m": 2.0, "n": 1.0}},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Warehouse(tmp_path_factory.mktemp("projects") / "projects.duckdb")
    for dataset, qrels in QRELS.items():
        made.ingest_qrels(dataset, qrels)
        made.ingest_run(dataset, ONE[dataset], name="one", system="first")
    made.ingest_run("B", {"q1": {"x": 1.0}}, name="two", system="second")
    made.ingest_run("C", {"q1": {"n": 1.0}}, name="two", system="second")
    for dataset in QRELS:
        best = {q: {d: float(r) for d, r in docs.items()} for q, docs in QRELS[dataset].items()}
        made.ingest_run(dataset, best, name=f"best of {dataset}", system="best")
    made.evaluate(metrics="AP NumRel")
    made.evaluate("A", metrics="RR")
    return made.path


@pytest.fixture
def projects(file: Path) -> Warehouse:
    return Warehouse(file)


def run(*arguments: str) -> tuple[str, str]:
    result = invoked("leaderboard", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.mark.sample(5, 2)
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("equal", (2 / 3 + 1 + 7 / 12) / 3),  # 27/36
        ("relevant", (3 * 2 / 3 + 1 * 1 + 2 * 7 / 12) / 6),  # 25/36
        ("queries", (2 * 2 / 3 + 1 * 1 + 1 * 7 / 12) / 4),  # 35/48
        ({"A": 2, "B": 1, "C": 0}, (2 * 2 / 3 + 1 * 1) / 3),  # 7/9
        ({"A": 0.5, "B": 0.25, "C": 0.25}, (0.5 * 2 / 3 + 0.25 + 0.25 * 7 / 12) / 1),  # 35/48
    ],
)
def test_the_mean_over_datasets(projects: Warehouse, weights: object, expected: float) -> None:
    found = projects.leaderboard(["A", "B", "C"], metrics="AP", weights=weights)
    assert found.columns == ["place", "run", "system", "AP", "answered", "judged"]
    ((place, name, system, value, answered, judged),) = found.fetchall()
    assert (place, name, system, answered, judged) == (1, "one", "first", 4, 4)
    assert math.isclose(value, expected, rel_tol=1e-15)


# Demšar 2006, table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on each of 14 data sets. Of the two
# values .975 the paper ranks the first one higher: its ranks are of values before rounding.
AUC = """\
.763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657
.882 .888 .886 .898  .936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625
.775 .838 .866 .875  1.00 1.00 1.00 1.00  .940 .962 .965 .962  .619 .666 .614 .669
.972 .981 .975 .9749  .957 .978 .946 .970"""


def test_ranks_over_datasets_are_those_of_the_paper(con) -> None:
    """The mean ranks are the paper's, whose statistic is not corrected for ties; SciPy's is."""
    stats = pytest.importorskip("scipy.stats")
    values = [float(word) for word in AUC.split()]
    names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    con.execute(
        "create temp table auc as select unnest($1::varchar[]) as name, "
        "unnest($2::varchar[]) as dataset, unnest($3::double[]) as value",
        [names * 14, [f"{n // 4:02}" for n in range(56)], values],
    )
    sql = render("analyses/dataset_ranks", values="auc", lower_is_better=False)
    rows = {row[0]: row[1:] for row in con.execute(sql).fetchall()}
    ranks = [rows[name][0] for name in names]
    assert [round(rank, 3) for rank in ranks] == [3.143, 2.0, 2.893, 1.964]
    # without a correction for ties, as in the paper
    assert round(12 * 14 / (4 * 5) * (sum(rank**2 for rank in ranks) - 4 * 25 / 4), 2) == 9.28
    # each of the four meets three others in 14 data sets, and wins if its rank is lower
    assert [rows[name][1] for name in names] == pytest.approx([14 * (4 - rank) for rank in ranks])
    theirs = stats.friedmanchisquare(*(values[n::4] for n in range(4)))
    assert rows["C4.5"][3] == pytest.approx(theirs.statistic, rel=1e-12)
    assert significance.chi_squared(theirs.statistic, 3) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_the_diagram_joins_what_the_paper_joins(con) -> None:
    """At alpha 0.1 the critical difference is 1.12, and the paper cannot tell where C4.5+cf belongs."""
    ranks = {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    relation = con.sql(
        "select unnest($1) as run, unnest($2) as mean_rank",
        params=[list(ranks), list(ranks.values())],
    )
    critical = significance.nemenyi(4, 14, 0.1)
    assert round(critical, 2) == 1.12
    board = Board(relation, {}, {}, tuple("abcdefghijklmn"), "", critical=critical, alpha=0.1)
    spec = charts.critical_difference(board)
    layers = {layer["name"]: layer["data"]["values"] for layer in spec["layer"]}
    joined = [(round(bar["x"] + 0.02, 3), round(bar["end"] - 0.02, 3)) for bar in layers["alike"]]
    assert joined == [(1.964, 2.893), (2.893, 3.143)]
    names = [[row["label"] for row in layers[f"names-{side}"]] for side in ("left", "right")]
    assert names == [["C4.5+m+cf (1.96)", "C4.5+m (2.00)"], ["C4.5+cf (2.89)", "C4.5 (3.14)"]]
    assert "4 runs in 14 datasets; critical difference 1.12" in " ".join(spec["title"]["subtitle"])


def test_ranks_on_a_board_of_several_datasets(projects: Warehouse) -> None:
    """AP of one is 1 and 7/12 in B and C, of two 1 and 1/2: the ranks are 1.5 and 1, and 1.5 and 2.

    In C the values lie 1/24 above and below their mean and deviate by sqrt(2)/24: z is 1/sqrt(2).
    In B they do not deviate: the mean of z is half of it. Of the two pairs, one is tied.
    """
    board = projects.leaderboard(["B", "C"], metrics="AP", ranks=True)
    assert board.columns[:5] == ["place", "mean_rank", "borda", "standard_score", "run"]
    z = 0.5 / math.sqrt(2)
    rows = [row[:5] for row in board.fetchall()]
    assert rows == [
        (1, 1.25, 1.5, pytest.approx(z), "one"),
        (2, 1.75, 0.5, pytest.approx(-z), "two"),
    ]
    assert board.wins.fetchall() == [("one", "two", 1, 1, 0), ("two", "one", 0, 1, 1)]
    # squares of ranks: 1.5^2 twice, 1 and 4, less 2 * 2 * 1.5^2: 0.5; above: 4 * 2 * 0.25^2 = 0.5
    told = " ".join(board.notes)
    assert "chi-squared 1, 1 degrees of freedom, p = 0.317" in told
    # 1.96 * sqrt(2 * 3 / (6 * 2))
    assert "differ by less than 1.39 cannot" in told
    stems = board.diagram.chart["layer"][0]["data"]["values"]
    assert [(stem["run"], stem["x"]) for stem in stems] == [("one", 1.25), ("two", 1.75)]
    refused = invoked(
        "leaderboard", "-d", "B", "-m", "AP", "-o", "x.svg", "--db", str(projects.path)
    )
    assert "the diagram is of --ranks over several datasets" in str(refused.exception)
    with expect_refusal("ci and ties: need one dataset"):
        projects.leaderboard(["B", "C"], metrics="AP", ties=True)


def test_the_value_in_each_dataset_and_the_order(projects: Warehouse) -> None:
    board = projects.leaderboard(["C", "B"], metrics=["AP", "NumRel"], each=True)
    assert board.columns == [
        "place", "run", "system", "AP", "AP C", "AP B", "NumRel", "NumRel C", "NumRel B",
        "answered", "judged",
    ]  # fmt: skip
    # two: n is the one of the two relevant ones that it has, at rank 1: AP 1/2 in C
    one, two = board.fetchall()
    assert one[:3] == (1, "one", "first")
    assert one[3:6] == pytest.approx(((7 / 12 + 1) / 2, 7 / 12, 1.0), rel=1e-15)
    assert two[:6] == (2, "two", "second", 0.75, 0.5, 1.0)
    top = projects.leaderboard(["C", "B"], metrics="AP", sort="NumRel", top=1).fetchall()
    assert len(top) == 1


def test_a_mean_of_counts_is_no_count(file: Path) -> None:
    out, _ = run("-d", "B", "-d", "C", "-m", "NumRel", "--db", str(file))
    assert "1.5000" in out
    out, _ = run("-d", "B", "-m", "NumRel", "--db", str(file))
    assert "1.0000" not in out


def test_runs_that_lack_a_dataset_are_named(projects: Warehouse) -> None:
    board = projects.leaderboard(["A", "B", "C"], metrics="AP", weights="relevant")
    assert board.notes[1:] == (
        "mean over 3 datasets, weighted by relevant judgments: A 3, B 1, C 2",
        "left out: 4 runs without values in every dataset: best of A (not in B, C), "
        "best of B (not in A, C), best of C (not in A, B), two (not in A)",
    )


def test_matching_by_system(projects: Warehouse) -> None:
    board = projects.leaderboard(["A", "B", "C"], metrics="AP", by="system")
    assert board.relation.columns == ["place", "system", "AP", "answered", "judged"]
    assert [row[:3] for row in board.relation.fetchall()] == [(1, "best", 1.0), (2, "first", 0.75)]
    assert board.notes[2].endswith("1 system without values in every dataset: second (not in A)")


@pytest.mark.slow
def test_a_system_with_two_runs_is_refused(wh: Warehouse) -> None:
    for dataset in ("A", "B"):
        wh.ingest_qrels(dataset, {"q": {"a": 1}})
        wh.ingest_run(dataset, {"q": {"a": 1.0}}, name="x", system="s")
    wh.ingest_run("B", {"q": {"b": 1.0}}, name="y", system="s")
    wh.evaluate(metrics="AP")
    with pytest.raises(UsageError, match="s: more than one run of that system"):
        wh.leaderboard(["A", "B"], by="system")


@pytest.mark.slow
def test_no_run_in_common(wh: Warehouse) -> None:
    for dataset in ("A", "B"):
        wh.ingest_qrels(dataset, {"q": {"a": 1}})
        wh.ingest_run(dataset, {"q": {"a": 1.0}}, name=f"of {dataset}", system="s")
    wh.evaluate(metrics="AP")
    board = wh.leaderboard(["A", "B"])
    assert board.relation.fetchall() == []
    assert board.notes[-1].endswith("match them otherwise: by='system'")
    assert wh.leaderboard(["A", "B"], by="system").fetchall() == [(1, "s", 1.0, 2, 2)]


@pytest.mark.slow
def test_what_is_undefined_in_one_dataset_is_undefined_over_all(wh: Warehouse) -> None:
    for dataset, listed in (("A", {"a": 2.0, "z": 1.0}), ("B", {"a": 1.0})):
        wh.ingest_qrels(dataset, {"q": {"a": 1}})
        wh.ingest_run(dataset, {"q": listed}, name="x")
    wh.evaluate(metrics="AUC")
    board = wh.leaderboard(["A", "B"], each=True)
    assert [row[3:6] for row in board.relation.fetchall()] == [(None, 1.0, None)]
    assert board.notes[-1] == "AUC in B: mean over 0 of 1 queries (undefined for the others)"


def test_one_dataset_is_as_it_was(projects: Warehouse) -> None:
    one = projects.leaderboard("A", metrics="AP")
    with pytest.raises(UsageError, match=r"relevent.*relevant"):
        projects.leaderboard("A", weights="relevent")
    for same in (["A"], ["A", "A"], "A*", ["[A]"]):
        assert projects.leaderboard(same, metrics="AP").fetchall() == one.fetchall()
    assert projects.leaderboard("A").notes == (
        "mean over queries; NumRel: sum; 2 of 2 judged queries answered by every run",
    )
    assert projects.leaderboard("*", metrics="AP").datasets == ("A", "B", "C")


def test_metrics_that_all_datasets_have(projects: Warehouse) -> None:
    board = projects.leaderboard(["A", "B"])
    assert list(board.metrics) == ["AP", "NumRel"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "relevent"}, "relevent.*relevant"),
        ({"weights": {"A": 1}}, "B: has no weight"),
        ({"weights": {"A": 1, "B": 1, "D": 1}}, "weight of D: no such dataset on this board"),
        ({"weights": {"A": -1, "B": 1}}, "weight of A: a number of at least 0, not -1"),
        ({"weights": {"A": math.nan, "B": 1}}, "weight of A: a number of at least 0, not nan"),
        ({"weights": {"A": 0, "B": 0}}, "every dataset has the weight 0"),
        ({"by": "name"}, "name: runs are matched by run or system"),
    ],
)
def test_wrong_weights_and_matches(
    projects: Warehouse, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        projects.leaderboard(["A", "B"], **options)


def test_wrong_datasets(projects: Warehouse) -> None:
    for names in (["A", "D"], "x*", ["x*", "A"]):
        with pytest.raises(UsageError, match="no such dataset"):
            projects.leaderboard(names)
    with pytest.raises(UsageError, match="name a dataset"):
        projects.leaderboard([])


def test_a_run_without_a_value_has_no_place(wh: Warehouse) -> None:
    """AUC needs a document that is not relevant: `x` lists one for q1, and nothing else for q2."""
    wh.ingest_qrels("A", {"q1": {"a": 1}, "q2": {"a": 1}})
    wh.ingest_run("A", {"q1": {"a": 2.0, "z": 1.0}, "q2": {"a": 1.0}}, name="x")
    wh.evaluate(metrics="AUC", slices="query = query_id")
    board = wh.leaderboard("A", slice="query")
    assert board.relation.project("part, place, AUC").fetchall() == [
        ("q1", 1, 1.0), ("q2", None, None),
    ]  # fmt: skip


def test_a_query_that_does_not_count_is_not_undefined(wh: Warehouse) -> None:
    """Under trec_eval_9 a query that the run is silent on is no part of anything: no note."""
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 2.0, "z": 1.0}}, name="one")
    wh.evaluate(metrics="AUC", protocol="trec_eval_9")
    wh.evaluate(metrics="AUC")
    assert wh.leaderboard("tiny", protocol="trec_eval_9").notes == (
        "mean over queries; 1 of 2 judged queries answered by every run",
    )
    assert wh.leaderboard("tiny").notes[1:] == (
        "AUC: mean over 1 of 2 queries (undefined for the others)",
    )


@pytest.mark.core
def test_numbers_that_make_no_sense_are_refused(wh: Warehouse) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    wh.ingest_qrels("tiny", qrels)
    wh.ingest_run("tiny", run, name="one")
    wh.evaluate(metrics="RR")
    for call, told in (
        (lambda: Warehouse.score(qrels, run, "RR", depth=-1), "depth is at least 1, not -1"),
        (lambda: Warehouse.score(qrels, run, "RR", level=0), "level is at least 1, not 0"),
        (lambda: Warehouse.score(qrels, run, "RR", level="2"), "level is a whole number, not '2'"),
        (lambda: Warehouse.score(qrels, run, []), "metrics: name one at least"),
        (lambda: Warehouse.score(qrels, run, "RR", threads=0), "threads is at least 1, not 0"),
        (lambda: Warehouse(wh.path, threads=0), "threads is at least 1, not 0"),
        (lambda: wh.leaderboard("tiny", top=-1), "top is at least 1, not -1"),
        (lambda: wh.leaderboard("tiny", top=1.5), "top is a whole number, not 1.5"),
        (lambda: wh.leaderboard("tiny", by="sistem"), "sistem.*system"),
        (lambda: wh.queries("tiny", "one", worst=0), "worst is at least 1, not 0"),
        (lambda: wh.explain("tiny", "one", "q", "RR", top=-1), "top is at least 0, not -1"),
        (lambda: wh.verify(sample=-1), "sample is at least 1, not -1"),
        (lambda: wh.stream("select 1", write=print, limit=-1), "limit is at least 1, not -1"),
        (lambda: wh.stream("select 1", write=print, format="parquet"), "use stream_parquet"),
        (lambda: wh.query(1), "sql is a text, not 1"),
        (lambda: wh.stream_parquet("select 1", "x", limit=0), "limit is at least 1, not 0"),
    ):
        with pytest.raises(UsageError, match=told):
            call()


@pytest.mark.slow
def test_columns_that_differ_only_in_case_are_refused(wh: Warehouse) -> None:
    """To SQL they are one column: the board had the value in one of the datasets under both names."""
    for dataset, relevance in (("DL", 1), ("dl", 0)):
        wh.ingest_qrels(dataset, {"q": {"a": relevance}})
        wh.ingest_run(dataset, {"q": {"a": 1.0}}, name="one")
    for kind in ("Genre", "genre"):  # one after the other in one table: values of both are kept
        wh.ingest_attributes("DL", {"a": {kind: kind}}, of="docs", name="facts", replace=True)
        wh.evaluate("DL", metrics=f"AP CategoricalDiversity(attribute={kind})@1")
    wh.evaluate("dl", metrics="AP")
    with pytest.raises(UsageError, match=r"AP DL and AP dl: differ only in case"):
        wh.leaderboard(["DL", "dl"], each=True)
    assert wh.leaderboard(["DL", "dl"]).fetchall() == [(1, "one", None, 0.5, 2, 2)]
    for table in (wh.leaderboard, lambda name: wh.queries(name, "one")):
        with pytest.raises(
            UsageError, match=r"attribute=Genre\)@1 and .*genre\)@1: differ only in"
        ):
            table("DL")
    # and no metric of a project may have the name of one that stands there anyway
    for table in (wh.leaderboard("dl"), wh.queries("dl", "one"), wh.leaderboard(["DL", "dl"])):
        assert {*table.columns} - {"AP"} <= checks.COLUMNS


def test_ranks_that_hold_together(demo_file: Path) -> None:
    """A run ranks below all that beat it significantly in Tukey's test, and above all that it beats."""
    dl19 = Warehouse(demo_file)
    asked = {"metrics": "nDCG@10", "resamples": 500}
    board = dl19.leaderboard("dl19", ranks=True, together=True, **asked)
    pairs = dl19.compare("dl19", [], "nDCG@10", all_pairs=True, test="tukey", resamples=500)
    beats = [
        (row.run, row.base) if row.difference > 0 else (row.base, row.run)
        for row in pairs
        if row.is_significant
    ]
    assert len(beats) > 10
    own = {row.run: row for row in dl19.leaderboard("dl19", ranks=True, **asked)}
    for row in board:
        above, below = (sum(pair[at] == row.run for pair in beats) for at in (1, 0))
        assert (row.rank_low, row.rank_high) == (1 + above, 9 - below)
        assert row.rank_low <= row.place <= row.rank_high
        assert row.p_first == own[row.run].p_first
    with expect_refusal("together"):
        dl19.leaderboard("dl19", metrics="nDCG@10", together=True)


def test_values_by_an_older_formula_are_not_counted_as_current(wh: Warehouse) -> None:
    wh.ingest_qrels("d", {"q1": {"a": 1}})
    wh.ingest_run("d", {"q1": {"a": 1.0}}, name="one")
    wh.evaluate("d", metrics="RR")
    assert wh.evaluate("d", metrics="RR", dry_run=True).stale == 0
    with wh.file.transaction() as con:
        for table in ("evaluation", "current_score"):
            con.execute(f"update warehouse.store.{table} set fingerprint = 'older'").fetchall()
    assert wh.evaluate("d", metrics="RR", dry_run=True).stale == 1

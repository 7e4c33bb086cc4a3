"""Runs held against each other: tests, corrections, intervals, marks, and what is unjudged."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from projects import command, stored
from refusals import expect_refusal
from shared_cases import case, needs_cases
from test_check import FOUR, ranks

from warehouse.analyze import paired_tests as comparing
from warehouse.analyze.comparison import letter
from warehouse.errors import UsageError
from warehouse.report import formats
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.warehouse import Warehouse

stats = pytest.importorskip("scipy.stats")

RUNS = ["bm25", "tasb", "ada2", "bm25_rm3", "splade_pp_ed"]
METRICS = ["AP", "nDCG@10", "RR(rel=2)", "P@10"]


@pytest.fixture(scope="module")
def dl19(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse of five runs on TREC's deep learning track of 2019, evaluated."""
    wh = Warehouse(tmp_path_factory.mktemp("dl19") / "dl19.duckdb")
    data = case("dl19_passage")
    wh.ingest_qrels("dl19", data.qrels)
    for run in RUNS:
        wh.ingest_run("dl19", data.runs[run], name=run)
    wh.evaluate(metrics=" ".join(METRICS))
    return wh


def two_on_four(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", FOUR)
    wh.ingest_run("tiny", ranks(1, 1, 1, 1), name="old")
    wh.ingest_run("tiny", ranks(2, 2, 1, 2), name="new")
    wh.evaluate(metrics="RR MaxRank NumRet")


@pytest.fixture
def four(wh: Warehouse, prepared) -> Warehouse:
    """Return a warehouse of two runs on four queries.

    RR of `old` is 1, 1, 1, 1; of `new` 1/2, 1/2, 1, 1/2: the differences are -1/2, -1/2, 0, -1/2.
    """
    return prepared(wh.path, two_on_four)


def pairs(found: comparing.Compared) -> list[dict]:
    relation = found.pairs
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def values(found: comparing.Compared) -> dict[tuple[str, str], dict]:
    relation = found.values
    rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return {(row["metric"], row["run"]): row for row in rows}


@cache
def stored_values(path: Path) -> dict[tuple[str, str], list[float]]:
    """Return the values of the queries, in the order of their ids, by run and metric."""
    found: dict[tuple[str, str], list[float]] = {}
    rows = Warehouse(path).query("select run, metric, value from query_scores order by query_id")
    for run, metric, value in rows.fetchall():
        found.setdefault((run, metric), []).append(value)
    return found


def per_query(wh: Warehouse, run: str, metric: str) -> np.ndarray:
    return np.array(stored_values(wh.path)[run, metric])


@pytest.mark.core
def test_by_hand(four: Warehouse) -> None:
    """The mean difference is -3/8. Squared deviations: 3 * (1/8)^2 + (3/8)^2 = 12/64, the variance
    12/64 / 3 = 1/16, the deviation 1/4: t = -3/8 / (1/4 / sqrt(4)) = -3 and d = -3/8 / (1/4) = -3/2.
    At 3 degrees of freedom 3.182446 (a table's value) bounds 95 %: -3/8 -+ 3.182446 * 1/4 / 2.
    """
    (row,) = pairs(four.compare("tiny", ["old", "new"], "RR"))
    assert (row["difference"], row["effect_size"], row["statistic"]) == (-3 / 8, -1.5, -3.0)
    assert (row["wins"], row["ties"], row["losses"], row["queries"]) == (0, 1, 3, 4)
    assert row["low"] == pytest.approx(-3 / 8 - 3.182446 / 8, abs=1e-6)
    assert row["high"] == pytest.approx(-3 / 8 + 3.182446 / 8, abs=1e-6)
    assert row["p"] == pytest.approx(0.0577, abs=5e-5)  # of a table of Student's t
    assert row["is_significant"] is False


@pytest.mark.parametrize("test", ["sign", "randomisation"])
def test_by_hand_of_eight_signs(four: Warehouse, test: str) -> None:
    """Three queries differ, all in one direction and by as much: of 2^3 choices of signs, two are so."""
    found = four.compare("tiny", ["old", "new"], "RR", test=test)
    assert pairs(found)[0]["p"] == 2 / 8
    assert ("p is exact: every choice of signs was tried" in found.notes) == (test != "sign")


@pytest.mark.slow
def test_marks_are_on_the_side_of_the_test(wh: Warehouse) -> None:
    """Of 30 queries, b loses 25 by 1/10 - 1/11 and wins five by 1 - 1/20: in the mean it is better,
    but queries, 25 to 5, and signed ranks, 25 * 13 to 26 + ... + 30 = 140, speak for a."""
    queries = [f"q{number}" for number in range(30)]

    def lists(most: int, others: int) -> dict[str, dict[str, float]]:
        return {
            query: {"d": 0.0} | {f"x{n}": 1.0 for n in range((others if place < 5 else most) - 1)}
            for place, query in enumerate(queries)
        }

    wh.ingest_qrels("tiny", {query: {"d": 1} for query in queries})
    wh.ingest_run("tiny", lists(10, 20), name="a")
    wh.ingest_run("tiny", lists(11, 1), name="b")
    wh.evaluate("tiny", metrics="RR")
    for test, better in (("t", ["b"]), ("wilcoxon", ["a"]), ("sign", ["a"]), ("randomisation", [])):
        found = wh.compare("tiny", ["a", "b"], "RR", test=test)
        (row,) = pairs(found)
        assert (row["difference"] > 0, row["wins"], row["losses"]) == (True, 5, 25)
        assert [run for (_, run), one in values(found).items() if one["better_than"]] == better


def test_what_is_no_mean_is_compared_as_it_is_shown(four: Warehouse) -> None:
    """RR is 1, 1, 1, 1 of old and 1/2, 1/2, 1, 1/2 of new.

    Its geometric mean is AP's here: 1, and (1/2)^(3/4). The logarithms differ by -ln 2 three times and
    once by 0, as the values do by -1/2 and 0: t is -3 for both. NumRet is 4, and 2 + 2 + 1 + 2 = 7: the
    differences 1, 1, 0, 1 have the mean 3/4 and the deviation 1/2, t is 3, and the interval is 4 times
    that of their mean, 3/4 -+ 3.182446 * (1/2) / 2. The median is 1, and 1/2. Of
    the catalogue of 10, old shows a alone, new x1 too.
    """
    metrics = "GMAP NumRet RR(aggregate=median) Coverage(catalogue=10)@2"
    found = four.compare("tiny", ["old", "new"], metrics)
    rows = {row["metric"]: row for row in pairs(found)}
    shown = {name: (row["value"], row["base_value"]) for name, row in rows.items()}
    for name, row in rows.items():
        assert row["difference"] == pytest.approx(shown[name][0] - shown[name][1]), name
    assert [rows[name]["difference"] for name in metrics.split()] == pytest.approx(
        [0.5**0.75 - 1, 3, -1 / 2, 1 / 10]
    )
    assert [rows[name]["statistic"] for name in metrics.split()[:2]] == pytest.approx([-3, 3])
    assert [rows[name]["p"] for name in metrics.split()] == [
        pytest.approx(0.0577, abs=5e-5), pytest.approx(0.0577, abs=5e-5), None, None,
    ]  # fmt: skip
    ends = [(row["low"], row["high"]) for row in rows.values()]
    assert ends[0] == ends[2] == ends[3] == (None, None)
    assert ends[1] == pytest.approx((3 - 3.182446, 3 + 3.182446), abs=1e-5)
    assert any(
        "RR(aggregate=median), Coverage(catalogue=10)@2: no mean over the queries" in note
        for note in found.notes
    )
    assert not any("cannot be resolved" in note or "undefined" in note for note in found.notes)
    with expect_refusal("ties: RR(aggregate=median) … median"):
        four.leaderboard("tiny", metrics="RR(aggregate=median)", ties=True)


def test_values_over_other_queries_have_the_number_beside_them(four: Warehouse) -> None:
    """Under trec_eval_9 the queries that a run answers count; which pairs were tested is said."""
    four.ingest_run("tiny", ranks(1, 1), name="two")
    how = ("-d", "tiny", "-m", "RR", "--db", str(four.path), "--only", "values")
    columns = ("--columns", "run,RR,queries", "--protocol", "trec_eval_9")
    _, out, told = command("compare", *how, *columns)
    rows = [line.split() for line in out.splitlines()]
    assert rows[2:] == [["old", "1.0000*", "4"], ["new", "0.6250", "4"], ["two", "1.0000*", "2"]]
    assert "all pairs of runs were tested" in told
    _, out, told = command("compare", "--base", "old", *how)
    assert "only pairs with old were tested" in told
    assert "queries of RR" not in out


@pytest.mark.sample(3)
@needs_cases
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_p_values_are_scipys(dl19: Warehouse, test: str) -> None:
    found = dl19.compare("dl19", RUNS, METRICS, test=test, all_pairs=True, interval="t")
    rows = pairs(found)
    assert len(rows) == 10 * 4
    for row in rows:
        one, other = (per_query(dl19, row[side], row["metric"]) for side in ("base", "run"))
        if test == "t":
            theirs = stats.ttest_rel(other, one)
            interval = theirs.confidence_interval(0.95)
            assert (row["low"], row["high"]) == pytest.approx(tuple(interval), rel=1e-9)
            assert row["statistic"] == pytest.approx(theirs.statistic, rel=1e-9)
        elif test == "wilcoxon":
            # SciPy's page says to round: else the last bits of equal differences rank them
            theirs = stats.wilcoxon(np.round(other - one, 12))
            assert row["statistic"] == theirs.statistic
        else:
            wins, losses = int((other > one).sum()), int((other < one).sum())
            assert (row["wins"], row["losses"]) == (wins, losses)
            theirs = stats.binomtest(wins, wins + losses)
        assert row["p"] == pytest.approx(theirs.pvalue, rel=1e-9)
        assert row["difference"] == pytest.approx(np.mean(other - one), rel=1e-9)
        assert row["value"] - row["base_value"] == pytest.approx(row["difference"], abs=1e-12)


@needs_cases
@pytest.mark.slow
def test_the_analysis_of_variance_is_statsmodels(dl19: Warehouse) -> None:
    formula = pytest.importorskip("statsmodels.formula.api")
    pd = pytest.importorskip("pandas")
    anova = pytest.importorskip("statsmodels.stats.anova")
    found = dl19.compare("dl19", RUNS, "nDCG@10", all_pairs=True, test="tukey-anova", alpha=0.01)
    of_run = {run: per_query(dl19, run, "nDCG@10") for run in RUNS}
    rows = [(run, q, value) for run, some in of_run.items() for q, value in enumerate(some)]
    columns = dict(zip(("run", "query", "value"), zip(*rows, strict=True), strict=True))
    fitted = formula.ols("value ~ C(run) + C(query)", pd.DataFrame(columns)).fit()
    error = math.sqrt(fitted.mse_resid / 43)
    bound = stats.studentized_range.isf(0.01, 5, 168)
    for row in pairs(found):
        difference = of_run[row["run"]].mean() - of_run[row["base"]].mean()
        assert row["difference"] == pytest.approx(difference, rel=1e-9)
        assert row["p"] == pytest.approx(
            stats.studentized_range.sf(abs(difference) / error, 5, 168), abs=1e-9
        )
        assert row["high"] - row["difference"] == pytest.approx(bound * error, rel=1e-6)
        assert row["effect_size"] == pytest.approx(difference / fitted.mse_resid**0.5, rel=1e-9)
    (told,) = [note for note in found.notes if "squared error" in note]
    ratio = anova.anova_lm(fitted).loc["C(run)", "F"]
    assert f"squared error {fitted.mse_resid:.5g}, 168 degrees of freedom; F = {ratio:.4g}," in told


@pytest.mark.slow
def test_the_posterior_is_student_s_t(dl19: Warehouse) -> None:
    """With a flat prior, the posterior is SciPy's t about the mean, as wide as its standard error.

    Of two runs without a difference, nothing deviates, and nothing can be said.
    """
    for metric, rope in (("nDCG@10", 0.02), ("RR(rel=2)", 0.0), ("AvgRank", 1.0)):
        for row in pairs(dl19.compare("dl19", RUNS, metric, rope=rope)):
            n = row["queries"]
            if metric == "AvgRank":  # a lower rank is better; it is not stored
                mean, deviation = -row["difference"], row["difference"] / row["effect_size"]
            else:
                some, base = (per_query(dl19, row[name], metric) for name in ("run", "base"))
                mean, deviation = (some - base).mean(), (some - base).std(ddof=1)
            posterior = stats.t(n - 1, mean, deviation / n**0.5)
            found = [row["p_worse"], row["p_equal"], row["p_better"]]
            worse, better = posterior.cdf(-rope), posterior.sf(rope)
            assert found == pytest.approx([worse, 1 - worse - better, better], abs=1e-9)
    same = dl19.compare("dl19", ["bm25", "tasb"], "Success@1000", rope=0.1).fetchall()
    assert same[0][-3:] == (None, None, None)


@pytest.mark.slow
def test_standardised_values(tmp_path: Path) -> None:
    """By hand on three queries, with P@10 in tenths.

    On q0 the runs have 1, 2 and 6: the mean is 3, the deviation sqrt((4 + 1 + 9) / 2) = sqrt(7). On q1
    all have 4: z is 0. On q2 they have 0, 5 and 5, with the mean 10/3 and the deviation
    sqrt((100 + 25 + 25) / 9 / 2) = 5 / sqrt(3): z is -2/sqrt(3), and 1/sqrt(3) twice. Of three runs,
    the shares below are (place - 1/2) / 3, and the two that are equal share the places 2 and 3.
    """
    wh = Warehouse(tmp_path / "tenths.duckdb")
    wh.ingest_qrels("tenths", {f"q{n}": {f"d{i}": 1 for i in range(10)} for n in range(3)})
    tenths = {"one": (1, 4, 0), "two": (2, 4, 5), "three": (6, 4, 5)}
    for name, some in tenths.items():
        lists = {
            f"q{n}": {f"{'d' if i < many else 'x'}{i}": 10.0 - i for i in range(10)}
            for n, many in enumerate(some)
        }
        wh.ingest_run("tenths", lists, name=name)
    z = {
        "one": (-2 / math.sqrt(7), 0, -2 / math.sqrt(3)),
        "two": (-1 / math.sqrt(7), 0, 1 / math.sqrt(3)),
        "three": (3 / math.sqrt(7), 0, 1 / math.sqrt(3)),
    }
    places = {"one": (1, 2, 1), "two": (2, 2, 2.5), "three": (3, 2, 2.5)}
    ways = {
        "z": z,
        "normal": {run: [NormalDist().cdf(one) for one in some] for run, some in z.items()},
        "uniform": {run: [(place - 0.5) / 3 for place in some] for run, some in places.items()},
    }
    for scale, wanted in ways.items():
        found = wh.compare("tenths", list(tenths), "P@10", scale=scale, sort="P@10")
        values = {row.run: row.value for row in found.values}
        assert values == pytest.approx({run: sum(some) / 3 for run, some in wanted.items()})
        assert list(values) == ["three", "two", "one"]
        assert f"({scale})" in found.notes[1]
    with expect_refusal("scale … store"):
        wh.compare("tenths", metrics="P@10", scale="z", store=True)
    with expect_refusal("GMAP"):
        wh.compare("tenths", metrics="GMAP", scale="z")
    for words in ({"scale": "zz"}, {"rope": -1}):
        with expect_refusal(next(iter(words))):
            wh.compare("tenths", metrics="P@10", **words)


def of_tenths(wh: Warehouse, one: list[int], other: list[int]) -> None:
    """Load two runs whose P@10 of each query are so many tenths."""
    wh.ingest_qrels("tenths", {f"q{n}": {f"r{k}": 1 for k in range(10)} for n in range(len(one))})
    for name, found in (("one", one), ("other", other)):
        run = {
            f"q{n}": {f"{'r' if k < hits else 'x'}{k}": float(-k) for k in range(10)}
            for n, hits in enumerate(found)
        }
        wh.ingest_run("tenths", run, name=name)
    wh.evaluate("tenths", metrics="P@10")


@pytest.mark.slow
def test_equal_differences_are_equal_whatever_their_last_bits(wh: Warehouse) -> None:
    """Nine queries differ by a tenth each, four up and five down: all have the rank 5.

    W is 4 * 5 = 20 of 45. Every choice of nine signs has a W of a multiple of 5, and 20 and 25 are the
    two in the middle: no choice is nearer to it, so that p is 1. As doubles, 0.7 - 0.6 is not 0.3 - 0.2.
    """
    one = [6, 2, 1, 8, 4, 7, 3, 9, 5, 5]
    other = [7, 3, 2, 9, 3, 6, 2, 8, 4, 5]
    assert len({abs(b / 10 - a / 10) for a, b in zip(one, other, strict=True)}) > 2
    of_tenths(wh, one, other)
    for test, statistic in (("wilcoxon", 20.0), ("sign", 4.0), ("randomisation", None)):
        (row,) = pairs(wh.compare("tenths", ["one", "other"], test=test))
        assert (row["wins"], row["ties"], row["losses"]) == (4, 1, 5)
        assert (row["statistic"], row["p"]) == (statistic, 1.0)
    # side by side, they are in the order of the ids
    lists = wh.side_by_side("tenths", "one", "other", "P@10", queries=20, depth=1).relation
    assert [query for (query,) in lists.project("query_id").fetchall()] == [
        f"q{n}" for n in range(9)
    ]


@pytest.mark.slow
def test_equal_values_share_a_place_whatever_their_last_bits(wh: Warehouse) -> None:
    """Six of thirty are (0.1 + 0.2 + 0.3) / 3 and (0.3 + 0.2 + 0.1) / 3, which are two doubles."""
    of_tenths(wh, [1, 2, 3], [3, 2, 1])
    values = wh.compare(dataset="tenths").values.relation.project("place, value").fetchall()
    assert len({value for _, value in values}) == 2
    assert [place for place, _ in values] == [1, 1]
    board = wh.leaderboard("tenths").relation.project("place, run")
    assert board.fetchall() == [(1, "one"), (1, "other")]
    wh.evaluate(metrics="R@10")
    assert wh.agree("tenths", of="runs").relation.project("tau_b, swapped_pairs").fetchall() == [
        (None, 0)
    ]
    judgments = {f"q{n}": {f"r{k}": 1 for k in range(11)} for n in range(3)}
    wh.ingest_qrels("tenths", judgments, replace=True)
    wh.evaluate(metrics="P@10")
    diff = wh.qrels_diff("tenths", 1, 2)
    assert diff.taus.fetchall() == [("P@10", 2, None, 0)]
    assert diff.boards.relation.project("place_before, place_after").fetchall() == [(1, 1), (1, 1)]


@pytest.mark.sample(4, 4)
@pytest.mark.parametrize(
    "number", [1, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 8, 700))]
)
def test_a_difference_that_is_the_same_everywhere_is_no_certainty(
    wh: Warehouse, number: int
) -> None:
    """Nothing deviates: there is no t, no d, no interval and no posterior. Of 2^n choices of signs two
    are as far from 0, and no test goes below them: six queries are needed at alpha 0.05. One is no test.
    """
    of_tenths(wh, [n % 9 for n in range(number)], [n % 9 + 1 for n in range(number)])
    least = 2.0 ** (1 - number)
    for test in comparing.significance.TESTS:
        interval = "bca" if test == "bootstrap" else "t"
        found = wh.compare(
            "tenths", ["one", "other"], test=test, interval=interval, rope=0.01, resamples=200
        )
        (row,) = pairs(found)
        assert row["difference"] == pytest.approx(0.1, abs=1e-13)
        assert [row[name] for name in ("low", "high", "effect_size", "p_better")] == [None] * 4
        if number == 1 and test in ("t", "wilcoxon", "tukey-anova"):
            assert (row["p"], row["is_significant"]) == (None, None)
        else:
            counted = test in ("randomisation", "bootstrap", "tukey")
            assert row["p"] >= least - 1e-15
            assert row["is_significant"] is (number >= 8)
            assert counted or test == "wilcoxon" or row["p"] == pytest.approx(least)
        assert "cannot be resolved with these queries" in " ".join(found.notes)
    macro = wh.query("select effect_size from compare('tenths', 'one', 'other', 'P@10')")
    assert macro.fetchall() == [(None,)]
    board = wh.leaderboard("tenths", ranks=True, ci=True, resamples=100)
    first = [(row.rank_low, row.rank_high, row.p_first) for row in board]
    assert first == ([(1, 1, 1.0), (2, 2, 0.0)] if number >= 8 else [(None, None, None)] * 2)
    resolved = not any("cannot be resolved with these queries" in note for note in board.notes)
    assert resolved == (number >= 8)
    assert [row[list(board.columns).index("P@10 ±")] is None for row in board] == [number == 1] * 2


@pytest.mark.sample(3)
@needs_cases
@pytest.mark.parametrize(
    ("correction", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")]
)
def test_corrections_are_statsmodels(dl19: Warehouse, correction: str, theirs: str) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    how = {"all_pairs": True, "correction": correction}
    of_all = pairs(dl19.compare("dl19", RUNS, METRICS, family="all", **how))
    of_one = pairs(dl19.compare("dl19", RUNS, METRICS, **how))
    families = [of_all, *(of_one[start : start + 10] for start in range(0, 40, 10))]
    for rows in families:
        rejected, adjusted, *_ = multitest.multipletests([r["p"] for r in rows], 0.05, theirs)
        assert [row["p_adjusted"] for row in rows] == pytest.approx(list(adjusted), rel=1e-9)
        assert [row["is_significant"] for row in rows] == list(rejected)


@needs_cases
def test_the_bootstrap_is_near_scipys(dl19: Warehouse) -> None:
    """Both are of random resamples: their ends lie within a twentieth of the interval's width."""
    (row,) = pairs(dl19.compare("dl19", ["bm25", "tasb"], "AP", interval="bootstrap"))
    difference = per_query(dl19, "tasb", "AP") - per_query(dl19, "bm25", "AP")
    theirs = stats.bootstrap(
        (difference,), np.mean, n_resamples=10_000, method="percentile", rng=1
    ).confidence_interval
    width = theirs.high - theirs.low
    assert row["low"] == pytest.approx(theirs.low, abs=width / 20)
    assert row["high"] == pytest.approx(theirs.high, abs=width / 20)


@pytest.mark.slow
@needs_cases
def test_several_bases_and_all_others(dl19: Warehouse) -> None:
    found = dl19.compare("dl19", ["tasb", "ada2"], "AP", bases=["bm25", "bm25_rm3"])
    assert [(row["base"], row["run"]) for row in pairs(found)] == [
        ("bm25", "tasb"), ("bm25", "ada2"), ("bm25_rm3", "tasb"), ("bm25_rm3", "ada2"),
    ]  # fmt: skip
    found = dl19.compare("dl19", "bm25", "AP")
    assert [row["run"] for row in pairs(found)] == RUNS[1:]
    found = dl19.compare("dl19", (), "AP", bases=["bm25", "tasb"])
    assert {(row["base"], row["run"]) for row in pairs(found)} == {
        (base, run) for base in ("bm25", "tasb") for run in ("ada2", "bm25_rm3", "splade_pp_ed")
    }
    assert len(pairs(dl19.compare("dl19", (), "AP", all_pairs=True))) == 10


@pytest.mark.slow
def test_undefined_values_are_counted_and_left_out(wh: Warehouse) -> None:
    """LAG is undefined where nothing relevant is retrieved: q2 of two, and q3 of both."""
    wh.ingest_qrels("tiny", {q: {"a": 1} for q in ("q1", "q2", "q3", "q4")})
    queries = ("q1", "q2", "q3", "q4")
    one = {q: {"x": 2.0, "a": 1.0} if q != "q3" else {"x": 1.0} for q in queries}
    wh.ingest_run("tiny", one, name="one")
    wh.ingest_run(
        "tiny", {"q1": {"a": 2.0}, "q2": {"x": 1.0}, "q3": {"x": 1.0}, "q4": {"a": 1.0}}, name="two",
    )  # fmt: skip
    wh.evaluate(metrics="LAG")
    found = wh.compare("tiny", ["one", "two"], "LAG")
    (row,) = pairs(found)
    assert (row["queries"], row["left_out"]) == (2, 2)
    assert any("2 queries left out" in note for note in found.notes)
    # both differ by the same: no p of two queries is below 1/2, and there is nothing to correct
    assert (row["p"], row["p_adjusted"], row["is_significant"]) == (0.5, 0.5, False)
    told = wh.compare("tiny", ["one", "two"], "LAG", test="tukey", resamples=100).notes
    assert "LAG: the test is over the queries that all runs have values of, 2 of 4" in told
    wh.ingest_run("tiny", {"q3": {"x": 1.0}}, name="none")
    wh.evaluate(metrics="LAG AUC")
    told = wh.compare("tiny", [], "LAG AUC", all_pairs=True, test="tukey", resamples=100).notes
    assert "p is undefined for 6 of 6: no query has values of all runs" in told
    assert not any("pairs have queries left out" in note for note in told)
    # five runs are ten pairs, and none of them has a value of q3
    for name in ("few", "fewer"):
        wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name=name)
    wh.evaluate(metrics="LAG")
    told = wh.compare("tiny", [], "LAG", all_pairs=True).notes
    assert "10 pairs have queries left out: see left_out (-f csv)" in told


@pytest.mark.slow
def test_queries_of_other_runs_are_not_left_out_of_a_pair(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {f"q{n}": {"a": 1} for n in range(6)})
    answered = {"all": range(6), "one": (0, 1), "other": (0, 2)}
    for name, queries in answered.items():
        wh.ingest_run("tiny", {f"q{n}": {"a": 1.0} for n in queries}, name=name)
    wh.evaluate("tiny", metrics="RR", protocol="trec_eval_9")
    found = wh.compare(
        "tiny", ["one", "other", "all"], "RR", all_pairs=True, protocol="trec_eval_9"
    )
    left = {(row["base"], row["run"]): (row["queries"], row["left_out"]) for row in pairs(found)}
    assert not any("empty lists" in note for note in found.notes)
    wh.evaluate("tiny", metrics="RR")
    told = wh.compare("tiny", ["one", "all"], "RR").notes
    assert "judged queries that a run has no document for count, as empty lists: one 4 of 6" in told
    # q1 and q2 have a value for one of the two; q3 to q5 for neither
    assert left == {("one", "other"): (1, 2), ("one", "all"): (2, 4), ("other", "all"): (2, 4)}


@pytest.mark.slow
def test_what_is_judged_is_no_hypothesis(four: Warehouse) -> None:
    four.evaluate(metrics="RR Judged@2")
    assert {row["metric"] for row in pairs(four.compare("tiny", ["old", "new"], test="sign"))} == {
        "RR", "MaxRank", "NumRet",
    }  # fmt: skip
    found = four.compare("tiny", ["old", "new"], "RR Judged@2", test="sign")
    assert [row["metric"] for row in pairs(found)] == ["RR"]
    assert "Judged@2: stands beside the values, and is no hypothesis" in found.notes
    with expect_refusal("Judged@2: says how much is judged"):
        four.compare("tiny", ["old", "new"], "Judged@2")
    with expect_refusal("Judged@2: says how much is judged"):
        four.check("tiny", "Judged@2", alpha=0.05)


def test_what_is_missing_or_wrong(four: Warehouse) -> None:
    for words, arguments, options in [
        ("ol … old", ("tiny", ["ol", "new"], "RR"), {}),
        ("old: named twice", ("tiny", ["old", "old"], "RR"), {}),
        ("tny … tiny", ("tny", ["old", "new"], "RR"), {}),
        ("wilcoxn … wilcoxon", ("tiny", ["old", "new"]), {"test": "wilcoxn"}),
        ("holms … holm", ("tiny", ["old"]), {"correction": "holms"}),
        ("no such interval", ("tiny", ["old"]), {"interval": "normal"}),
        ("would correct twice", ("tiny", ["old"]), {"test": "tukey", "correction": "holm"}),
        ("leave as_of and qrels out", ("tiny", ["old"]), {"judged_only": True, "qrels": 1}),
        ("alpha lies between", ("tiny", ["old"]), {"alpha": 5.0}),
        ("resamples are 100 to", ("tiny", ["old"]), {"resamples": 1}),
        ("resamples is a whole number", ("tiny", ["old"]), {"resamples": 1e4}),
    ]:
        with expect_refusal(words):
            four.compare(*arguments, **options)


def test_values_of_another_formula_are_not_compared(four: Warehouse) -> None:
    import duckdb

    with duckdb.connect(str(four.path)) as con:
        con.execute(
            "update store.evaluation set fingerprint = 'other' where metric = 'RR' "
            "and run_id = (select run_id from store.run where name = 'new')"
        )
    with pytest.raises(UsageError, match="none by the same formula"):
        four.compare("tiny", ["old", "new"], "RR")


@pytest.mark.slow
@pytest.mark.core
def test_unjudged_documents_by_hand(wh: Warehouse) -> None:
    """P@2 of q: x a is 1/2, and x is unjudged: half is judged. If x were relevant P@2 would be 1.

    Without x the list is a n: P@2 is 1/2 again; RR becomes 1. Of `low`, n x: P@2 0 and at most 1/2.
    """
    wh.ingest_qrels("tiny", {"q": {"a": 1, "n": 0}})
    wh.ingest_run("tiny", {"q": {"x": 3.0, "a": 2.0, "n": 1.0}}, name="high")
    wh.ingest_run("tiny", {"q": {"n": 3.0, "x": 2.0, "a": 1.0}}, name="low")
    wh.evaluate(metrics="P@2 RR")
    found = values(wh.compare("tiny", ["low", "high"], "P@2 RR", test="sign", all_relevant=True))
    assert {key: (r["value"], r["judged"], r["if_all_relevant"]) for key, r in found.items()} == {
        ("P@2", "low"): (0.0, 0.5, 0.5),
        ("P@2", "high"): (0.5, 0.5, 1.0),
        ("RR", "low"): (1 / 3, 2 / 3, 0.5),
        ("RR", "high"): (0.5, 2 / 3, 1.0),
    }
    alone = values(wh.compare("tiny", ["low", "high"], "P@2 RR", test="sign", judged_only=True))
    assert {key: row["value"] for key, row in alone.items()} == {
        ("P@2", "low"): 0.5, ("P@2", "high"): 0.5, ("RR", "low"): 0.5, ("RR", "high"): 1.0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.core
def test_a_judgment_below_0_is_none(wh: Warehouse) -> None:
    """P@1 of n is 0 and, if n were relevant, 1; RR 1/2 and 1. The query p counts, with 0."""
    wh.ingest_qrels("tiny", {"q": {"n": -1, "a": 1, "b": 0}, "p": {"n": -1}})
    wh.ingest_run("tiny", {"q": {"n": 3.0, "a": 2.0, "b": 1.0}}, name="high")
    wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}}, name="low")
    wh.evaluate(metrics="P@1 RR")
    found = values(wh.compare("tiny", ["low", "high"], "P@1 RR", test="sign", all_relevant=True))
    assert {key: (r["value"], r["if_all_relevant"]) for key, r in found.items()} == {
        ("P@1", "low"): (0.5, 0.5),
        ("P@1", "high"): (0.0, 0.5),
        ("RR", "low"): (0.5, 0.5),
        ("RR", "high"): (0.25, 0.5),
    }
    # nor is it there twice: of n and a, both relevant, infAP expects 1 at rank 1 and at rank 2
    # 1/2 + 1/2 * (1 + e) / (1 + 2e), for one document above is judged, and relevant
    wh.evaluate(metrics="infAP")
    e = 0.00001
    of_q = (1 + 1 / 2 + 1 / 2 * (1 + e) / (1 + 2 * e)) / 2
    found = values(wh.compare("tiny", ["low", "high"], "infAP", test="sign", all_relevant=True))
    assert found["infAP", "high"]["if_all_relevant"] == pytest.approx(of_q / 2, abs=1e-12)


@pytest.mark.slow
def test_a_cutoff_that_counts_other_than_ranks_is_no_depth(wh: Warehouse) -> None:
    """The one non-relevant document that PartialAUC@1 and PAP@1 count may stand at any rank: of x y a
    it is x, above a: 0. If x and y were relevant, as they would be, nothing would stand above: 1.
    """
    wh.ingest_qrels("tiny", {"q": {"a": 1, "n": 0}})
    wh.ingest_run("tiny", {"q": {"a": 3.0, "x": 2.0, "n": 1.0}}, name="one")
    wh.ingest_run("tiny", {"q": {"x": 3.0, "y": 2.0, "a": 1.0}}, name="other")
    wh.evaluate(metrics="PartialAUC@1 PAP@1")
    found = wh.compare(
        "tiny", ["one", "other"], "PartialAUC@1 PAP@1", test="sign", all_relevant=True
    )
    assert {
        key: (r["value"], r["judged"], r["if_all_relevant"]) for key, r in values(found).items()
    } == {
        (metric, run): numbers
        for metric in ("PartialAUC@1", "PAP@1")
        for run, numbers in (("one", (1.0, 2 / 3, 1.0)), ("other", (0.0, 1 / 3, 1.0)))
    }
    assert "Judged@" not in found.values.text("table")
    assert len(wh.explain("tiny", "one", "q", "PartialAUC@1").relation.fetchall()) == 3


@needs_cases
def test_queries_side_by_side(dl19: Warehouse) -> None:
    found = dl19.side_by_side("dl19", "bm25", "tasb", "nDCG@10", queries=3, depth=4)
    rows = found.relation.fetchall()
    assert len(rows) == 12
    differences = [row[4] for row in rows[::4]]
    assert differences == sorted(differences, key=abs, reverse=True)
    grades = {
        tuple(line.split()[::2]): int(line.split()[3])
        for line in case("dl19_passage").qrels.read_text().splitlines()
    }
    sql = "select query_id, rank, doc_id from predictions where run = $run and rank <= 4"
    listed = {
        run: {(query, rank): doc for query, rank, doc in stored(dl19, sql, run=run)}
        for run in ("bm25", "tasb")
    }
    for _, query, _, _, _, rank, base_doc, base_grade, doc, grade in rows:
        assert grades.get((query, base_doc)) == base_grade
        assert grades.get((query, doc)) == grade
        assert listed["bm25"][query, rank] == base_doc
        assert listed["tasb"][query, rank] == doc


@pytest.mark.slow
@pytest.mark.core
def test_a_comparison_is_kept(four: Warehouse) -> None:
    found = four.compare("tiny", ["old", "new"], "RR MaxRank", test="randomisation", store=True)
    rows = stored(
        four,
        "select metric, base, run, base_value, value, difference, low, high, effect_size, wins, ties, "
        "losses, queries, left_out, statistic, p, p_adjusted, is_significant from comparisons "
        "order by metric desc",
    )
    assert sorted(rows) == sorted(found.pairs.fetchall())
    assert stored(four, "select test, correction, resamples, seed from store.comparison") == [
        ("randomisation", "holm", 10_000, 0)
    ]
    four.ingest_run("tiny", ranks(1, 1, 2, 2), name="old", replace=True)
    four.evaluate(metrics="RR")
    four.compare("tiny", ["old", "new"], "RR", store=True)
    sql = "select distinct comparison_id, is_current from comparison_versions order by all"
    assert stored(four, sql) == [(1, False), (2, True)]
    four.ingest_qrels("tiny", {"q1": {"r": 2}}, replace=True)
    assert stored(four, sql) == [(1, False), (2, False)]
    assert four.verify().is_good
    four.forget("tiny", "new")
    assert stored(four, "from comparisons") == []
    assert four.verify().is_good


def test_letters() -> None:
    names = [letter(number) for number in range(800)]
    assert len(set(names)) == 800
    assert names[25:28] == ["z", "aa", "ab"]


def test_a_table_for_people(four: Warehouse) -> None:
    code, out, told = command(
        "compare", "old", "new", "-d", "tiny", "-m", "MaxRank", "--alpha", "0.1",
        "--db", str(four.path),
    )  # fmt: skip
    assert code == 0
    first, second = out.split("\n\n")
    # the interval at 90 %: 3/4 -+ 2.353363 * 1/2 / 2 = 3/4 -+ 0.58834 (2.353363 is of a table);
    # of new one document of two is judged in three queries, and the only one in the fourth: 2.5 / 4
    assert [line.split() for line in first.splitlines()[2:]] == [
        ["old", "a", "1.0000*", "b", "1.0000"],
        ["new", "b", "1.7500+", "0.6250"],
    ]
    assert "MaxRank ↓" in first
    assert second.splitlines()[2].split()[3:] == [
        "+0.7500", "[+0.1617,", "+1.3383]", "+1.50", "0/1/3", "0.058", "0.058*",
    ]  # fmt: skip
    assert (
        "4 queries; two-sided paired t-test, one pair, so nothing to correct, alpha 0.1; "
        "t-interval of 90%" in told
    )
    told = four.compare("tiny", ["old", "new"], "RR MaxRank", alpha=0.005, family="all").notes[0]
    assert told.endswith("Holm over the 2 pairs of all metrics, alpha 0.005; t-interval of 99.5%")


@pytest.mark.slow
def test_power_is_statsmodels() -> None:
    """Queries, the deviation of their differences, and the mean difference.

    With 43 queries, a deviation of 0.0774 and alpha 0.05, 0.0338 is found in 80 % of cases. The usual
    formula for large n gives the same: 2.80 * 0.0774 / sqrt(43) = 0.0330.
    """
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    rows = [
        (43, 0.0774, 0.03), (43, 0.2, 0.25), (2, 0.5, 0.01), (5, 1.0, -2.0), (50, 0.1, 0.0001),
        (200, 0.3, 0.1),
    ]  # fmt: skip
    nothing = [(1, None, 0.1), (43, 0.0, 0.1), (0, None, None), (43, 0.1, 0.0)]
    names = ["queries", "deviation", "difference"]
    con = database.memory()
    con.execute(
        "create temp table tested as select unnest(range(10)) as hypothesis, "
        + ", ".join(f"unnest(${name}::double[]) as {name}" for name in names),
        dict(zip(names, map(list, zip(*rows, *nothing, strict=True)), strict=True)),
    )
    for alpha in (0.05, 0.2):
        found = con.execute(
            render("analyses/power", tested="tested", alpha=alpha, power=0.8)
        ).fetchall()
        for (n, deviation, difference), (_, detectable, needed) in zip(rows, found, strict=False):
            effect = abs(difference) / deviation
            theirs = power.solve_power(nobs=n, alpha=alpha, power=0.8) * deviation
            assert detectable == pytest.approx(theirs, rel=1e-5)
            assert needed == math.ceil(power.solve_power(effect, alpha=alpha, power=0.8))
        assert [row[1:] for row in found[6:9]] == [(None, None), (0.0, None), (None, None)]
        assert found[9][2] is None
    assert con.execute(
        render("analyses/power", tested="tested", alpha=0.001, power=0.8)
    ).fetchall()[2] == (2, None, 42693)


def test_columns_names_and_percent(four: Warehouse) -> None:
    """RR of old is 1 and of new 0.625; MaxRank, which is no share, stays as it is."""
    layout = {"label": {"old": "Old, 2019", "new": "New & better"}, "percent": True}
    board = four.leaderboard(
        "tiny", metrics="RR MaxRank", columns="run, MaxRank,recip_rank", **layout
    )
    assert board.fetchall() == [("Old, 2019", 1.0, 100.0), ("New & better", 1.75, 62.5)]
    assert board.columns == ["run", "MaxRank", "RR"]
    assert board.to_csv().splitlines()[1] == '"Old, 2019",1.0,100.0'
    assert "values in percent, but not MaxRank" in board.notes
    latex = board.to_latex()
    assert r"New \& better & 1.75" in re.sub(" +", " ", latex)
    assert "values in percent, but not MaxRank." in latex
    assert "62.500" in board.to_markdown(places=3)
    found = four.compare("tiny", ["new", "old"], "RR", sort="RR", columns=["run", "RR"], **layout)
    assert found.runs == ("Old, 2019", "New & better")
    lines = found.values.to_markdown().splitlines()[2:4]
    assert [[cell.strip() for cell in line.split("|")[1:3]] for line in lines] == [
        ["Old, 2019", "**100.00**"], ["New &amp; better", "<u>62.50</u>"],
    ]  # fmt: skip
    assert found.values.fetchall() == [
        ("Old, 2019", "RR", 100.0), ("New & better", "RR", 62.5),
    ]  # fmt: skip
    pairs = four.compare("tiny", ["new", "old"], "RR", columns="run,difference,d,W/T/L", **layout)
    assert pairs.columns == ["run", "difference", "effect_size", "wins", "ties", "losses"]
    assert pairs.fetchall()[0][:2] == ("Old, 2019", 37.5)
    with expect_refusal("rnu … run"):
        four.leaderboard("tiny", metrics="RR", columns="rnu")
    with expect_refusal("odl … old"):
        four.leaderboard("tiny", metrics="RR", label={"odl": "x"})
    with expect_refusal("new: another run has this name"):
        four.leaderboard("tiny", metrics="RR", label={"old": "new"})
    with expect_refusal("AP … RR"):
        four.compare("tiny", ["new", "old"], "RR", sort="AP")
    # on the command line
    arguments = ("-d", "tiny", "-m", "RR", "--db", str(four.path))
    asked = ("--columns", "run,RR", "--label", "old=Old", "--percent", "--places", "1")
    _, out, _ = command("leaderboard", *arguments, *asked)
    assert [line.split() for line in out.splitlines()[2:]] == [["Old", "100.0"], ["new", "62.5"]]
    assert (
        command("leaderboard", *arguments, *asked, "-f", "csv")[1]
        == "run,RR\nOld,100.0\nnew,62.5\n"
    )
    code, _, told = command("compare", "new", "old", *arguments, *asked)
    assert (code, "--only values" in told) == (2, True)
    _, out, _ = command(
        "compare", "new", "old", *arguments, *asked, "--only", "values", "--sort", "RR"
    )
    assert [line.split() for line in out.splitlines()[2:]] == [["Old", "100.0*"], ["new", "62.5+"]]


@pytest.mark.slow
def test_marks_in_each_format(four: Warehouse, tmp_path: Path) -> None:
    """All pairs are tested: `old` is above the last run by 0, 0, 1/2, 1/2, so that t is sqrt(3), and p
    at three degrees of freedom 0.18."""
    four.ingest_run("tiny", ranks(1, 1, 1, 2), name="a_b & <c>")
    four.ingest_run("tiny", ranks(1, 1, 2, 2), name="[1] a--b | *c*")
    four.evaluate(metrics="RR")
    wanted = {
        "latex": (r"\textbf{1.0000}\textsuperscript{ad}", r"\underline{0.8750}", r"a\_b \& "),
        "html": ("<b>1.0000</b><sup>ad</sup>", "<u>0.8750</u>", "a_b &amp; &lt;c&gt;"),
        "markdown": ("**1.0000**<sup>ad</sup>", "<u>0.8750</u>", "a_b &amp; &lt;c&gt;"),
    }
    for format, marks in wanted.items():
        out = tmp_path / format
        command(
            "compare", "new", "old", "a_b & <c>", "[1] a--b | *c*", "-d", "tiny", "-m", "RR",
            "--alpha", "0.2", "--correction", "none", "-f", format, "-o", str(out),
            "--db", str(four.path),
        )  # fmt: skip
        text = out.read_text()
        for words in (*marks, "4 queries; two-sided paired t-test, no correction, alpha 0.2"):
            assert words in text, format
        assert not re.search("[\ufdd0-\ufdef]", text), format


def test_a_table_has_its_caption(four: Warehouse, tmp_path: Path) -> None:
    board = four.leaderboard("tiny", metrics="RR MaxRank", ci=True)
    words = "Runs on tiny by RR, MaxRank; the best values are bold. Mean over queries; 4 of 4"
    markdown, html, latex = (board.text(format) for format in ("markdown", "html", "latex"))
    assert markdown.count(words) == html.count(f"<caption>{words}") == 1
    assert rf"\caption{{{words}" in latex
    assert [line for line in latex.splitlines() if "table" in line or "label" in line] == [
        r"\begin{table*}", r"\label{tab:tiny-board}", r"\end{table*}",
    ]  # fmt: skip
    assert r"\begin{table}" in four.leaderboard("tiny", metrics="RR").to_latex()
    assert "aption" not in board.text("table") + board.text("csv")
    # in a notebook it is a part of a page, as a file a page that says how it is encoded
    assert board._repr_html_().startswith("<table>")
    board.save(tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '<meta charset="utf-8">' in page
    assert page.count(words) == 1


def compiles(text: str, folder: Path) -> None:
    """Let LaTeX compile a text, where it is installed; else look at what it would stumble over."""
    for table in re.findall(r"\\begin\{tabular\}\{(.*?)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        lines = [line for line in table[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(table[0]) - 1}
        assert table[1].count("{") == table[1].count("}")
    if shutil.which("pdflatex") is None:
        return
    rules = "".join(rf"\let\{name}rule\hline" for name in ("top", "mid", "bottom"))
    document = "\\documentclass{article}\\usepackage[utf8]{inputenc}\n"
    document += rf"\IfFileExists{{booktabs.sty}}{{\usepackage{{booktabs}}}}{{{rules}}}"
    document += "\n\\begin{document}\n"
    (folder / "t.tex").write_text(document + text + "\\end{document}\n")
    result = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert "Overfull" not in result.stdout


def test_the_command_side_by_side(four: Warehouse) -> None:
    arguments = ["compare", "old", "new", "-d", "tiny", "-m", "RR", "--db", str(four.path)]
    arguments += ["--queries", "1"]
    _, out, _ = command(*arguments)
    assert out.splitlines()[0] == "q1  RR 1.0000 -> 0.5000 (-0.5000)"
    _, out, _ = command(*arguments, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["rank"], row["base_document"], row["document"]) for row in rows] == [
        ("1", "a", "x1"), ("2", "", "a"),
    ]  # fmt: skip


def test_a_board_is_sorted_by_one_metric(four: Warehouse) -> None:
    for several in ("RR MaxRank", "P_1,2", "official"):
        with pytest.raises(UsageError, match=f"{several}: stands for several metrics; name one"):
            four.leaderboard("tiny", sort=several)


def test_marks_survive_what_a_format_escapes() -> None:
    cell = formats.marked("5 % & <b>", "best")
    assert r"\textbf{5 \% \& " in formats.table(["x"], [[cell]], [False], "latex")
    assert "<b>5 % &amp; &lt;b&gt;</b>" in formats.table(["x"], [[cell]], [False], "html")
    assert "5 % & <b>*" in formats.table(["x"], [[cell]], [False], "table")


@needs_cases
def test_intervals_on_a_board_are_scipys(dl19: Warehouse) -> None:
    board = dl19.leaderboard("dl19", metrics="AP P@10", ci=True, alpha=0.1)
    names = ["place", "run", "system", "AP", "AP ±", "P@10", "P@10 ±", "answered", "judged"]
    assert board.columns == names
    for row in board.fetchall():
        for metric, width in (("AP", row[4]), ("P@10", row[6])):
            one = per_query(dl19, row[1], metric)
            low, high = stats.ttest_1samp(one, 0).confidence_interval(0.9)
            assert width == pytest.approx((high - low) / 2, rel=1e-9)


@pytest.mark.slow
@needs_cases
def test_groups_on_a_board(dl19: Warehouse) -> None:
    """Worked anew: down the board, a run opens a group where it differs from the last that did."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    board = dl19.leaderboard("dl19", metrics="AP nDCG@10", sort="nDCG@10", ties=True)
    assert board.relation.columns[:3] == ["place", "group", "run"]
    runs = [row[2] for row in board.relation.fetchall()]
    tested = list(itertools.combinations(runs, 2))
    ps = [
        stats.ttest_rel(*(per_query(dl19, run, "nDCG@10") for run in pair)).pvalue
        for pair in tested
    ]
    rejected = dict(zip(tested, multitest.multipletests(ps, 0.05, "holm")[0], strict=True))
    groups, leader = [1], runs[0]
    for run in runs[1:]:
        opens = rejected[leader, run]
        groups.append(groups[-1] + int(opens))
        leader = run if opens else leader
    assert [row[1] for row in board.relation.fetchall()] == groups
    assert max(groups) > 1
    assert any(f"pairs of the {len(runs)} runs on the whole board" in note for note in board.notes)
    # the top of the board has the same groups, although fewer pairs would be corrected for
    for top in (2, 3, len(runs) - 1):
        some = dl19.leaderboard("dl19", metrics="AP nDCG@10", sort="nDCG@10", ties=True, top=top)
        assert [row[1] for row in some.relation.fetchall()] == groups[:top]


@pytest.mark.slow
def test_boards_that_have_no_intervals(four: Warehouse) -> None:
    four.evaluate(metrics="RR(aggregate=median)")
    rows = four.leaderboard("tiny", metrics="RR(aggregate=median)", ci=True).fetchall()
    assert [row[4] for row in rows] == [None, None]
    assert four.leaderboard("tiny", metrics="RR", top=1, ties=True).fetchall()[0][1] == 1
    # Judged stands first, and the groups are by the first metric that says how good a run is
    board = four.leaderboard("tiny", metrics="Judged@2 MaxRank", ties=True, alpha=0.1)
    assert [(row.run, row.group, row.MaxRank) for row in board] == [
        ("old", 1, 1.0), ("new", 2, 1.75),
    ]  # fmt: skip
    assert any(note.startswith("group: its first run by MaxRank") for note in board.notes)
    with expect_refusal("Judged@2 … another metric"):
        four.leaderboard("tiny", metrics="Judged@2", ties=True)
    four.ingest_qrels("other", FOUR)
    four.ingest_run("other", ranks(1, 1, 1, 1), name="old")
    four.evaluate(metrics="RR")
    with pytest.raises(UsageError, match="need one dataset, and no slice"):
        four.leaderboard(["tiny", "other"], metrics="RR", ci=True)


def test_ranks_on_a_board(four: Warehouse) -> None:
    """By hand: `new` is never above `old`, and equal to it if query 3 is drawn four times.

    They differ on three queries, so that no p can be below 2 of 2^3 choices of signs.
    """
    few = four.leaderboard("tiny", metrics="RR", ranks=True)
    assert [(row.rank_low, row.rank_high, row.p_first) for row in few] == [(None, None, None)] * 2
    assert any(
        "from, to, P(first): cannot be resolved with these queries" in note for note in few.notes
    )
    words = {"ranks": True, "alpha": 0.3}
    board = four.leaderboard("tiny", metrics="NumRet RR", sort="RR", ties=True, **words)
    assert board.columns[:7] == [
        "place", "group", "rank_low", "rank_high", "p_first", "run", "system",
    ]  # fmt: skip
    old, new = board
    assert (old.run, old.rank_low, old.rank_high, old.p_first) == ("old", 1, 1, 1.0)
    assert (new.rank_low, new.rank_high) == (2, 2)
    # in 1 of 256 draws, within four standard errors of 2,000
    assert new.p_first == pytest.approx(1 / 256, abs=0.0056)
    top = four.leaderboard("tiny", metrics="RR", top=1, resamples=300, seed=4, **words)
    assert [row.p_first for row in top] == [1.0]
    assert any("70% of 300 resamples of the queries (seed 4)" in note for note in top.notes)
    # lower is better
    assert next(iter(four.leaderboard("tiny", metrics="MaxRank", **words))).p_first == 1


def test_boards_that_have_no_ranks(four: Warehouse) -> None:
    with expect_refusal("NumRet … sum"):
        four.leaderboard("tiny", metrics="NumRet", ranks=True)
    with expect_refusal("resamples … 100 … 99"):
        four.leaderboard("tiny", metrics="RR", ranks=True, resamples=99)
    with expect_refusal("one dataset … no slice"):
        four.leaderboard("tiny", metrics="RR", ranks=True, slice="some")


@needs_cases
def test_the_leader_of_a_board_may_be_another(dl19: Warehouse) -> None:
    """As numpy's own draws have it, within sampling error."""
    board = dl19.leaderboard("dl19", metrics="nDCG@10", ranks=True)
    values = np.array([per_query(dl19, row.run, "nDCG@10") for row in board])
    picks = np.random.default_rng(0).integers(0, values.shape[1], (20_000, values.shape[1]))
    means = values[:, picks].mean(axis=2)
    is_first = np.isclose(means, means.max(axis=0), rtol=0, atol=1e-12)
    shares = [row.p_first for row in board]
    assert shares == pytest.approx(is_first.mean(axis=1), abs=0.05)
    assert 0 < shares[1] < shares[0] < 1


@pytest.mark.slow
def test_values_of_one_number_do_not_differ_side_by_side(wh: Warehouse) -> None:
    """AP of ranks 1 7 14 is (1 + 2/7 + 3/14) / 3 = 1/2, as that of 2 4 6; as doubles they differ."""
    ranks = {"one": {"p": (1, 7, 14), "q": (1, 2, 3)}, "other": {"p": (2, 4, 6), "q": (2, 4, 6)}}
    wh.ingest_qrels("tiny", {q: dict.fromkeys("abc", 1) for q in "pq"})
    for name, lists in ranks.items():
        run = {}
        for query, places in lists.items():
            run[query] = {f"x{n}": -float(n) for n in range(1, 15) if n not in places}
            run[query] |= {doc: -float(n) for doc, n in zip("abc", places, strict=True)}
        wh.ingest_run("tiny", run, name=name)
    wh.evaluate(metrics="AP")
    assert (
        len(wh.query("select distinct value from query_scores where query_id = 'p'").fetchall())
        == 2
    )
    found = wh.side_by_side("tiny", "one", "other", "AP", depth=1).relation
    assert found.project("query_id, difference").fetchall() == [("q", -0.5)]


@pytest.mark.slow
def test_an_older_version_of_the_qrels(four: Warehouse) -> None:
    """Against the second version RR of new is 1, 1, 1, 1: x1 is judged too, and first where a is not."""
    second = {query: {"a": 1, "x1": 1} for query in FOUR}
    four.ingest_qrels("tiny", second, replace=True)
    four.evaluate(metrics="RR")
    assert pairs(four.compare("tiny", ["old", "new"], "RR"))[0]["difference"] == 0
    older = four.compare("tiny", ["old", "new"], "RR", qrels=1, all_relevant=True)
    assert pairs(older)[0]["difference"] == -3 / 8
    assert values(older)["RR", "new"]["judged"] == 5 / 8
    assert values(older)["RR", "new"]["if_all_relevant"] == 1.0
    assert older.qrels_id != four.compare("tiny", ["old", "new"], "RR").qrels_id

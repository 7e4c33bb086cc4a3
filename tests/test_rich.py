"""One warehouse of special cases: many commands are asked, and plain Python computes the answers.

It has ties of three sizes, equal times, the ids 7, 007, 7.0 and +7, datasets and runs named as folders
of a report, blanks, a run without judged queries, a query without relevant documents, a dataset of two
runs, a metric where lower is better, values of slices only, and old versions of qrels and runs.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from extended import needs
from projects import invoked

from warehouse.warehouse import Warehouse

QRELS = {
    "7": {"7": 1, "007": 0, "x": 1},
    "007": {"007": 2, "7": 1, "7.0": 0},
    "7.0": {"+7": 1},
    "+7": {"7.0": 1, "+7": 1, "7": 0},
    "none": {"7": 0, "x": 0},
}
KINDS = {"7": "a", "007": "", "7.0": "a", "+7": "b", "none": "b"}
# The documents of each query, best first; those of one word have the same score.
RUNS = {
    "runs": {"7": "7 007,x", "007": "7,007,7.0", "7.0": "x +7", "+7": "y,7.0 +7", "none": "7 x"},
    "assets": {"7": "y,007 x 7", "007": "007 7", "7.0": "+7,7.0,7", "none": "y"},
    "a b": {"7": "x,7 y", "007": "y 7,7.0,007", "7.0": "y,x +7", "+7": "+7,7,7.0", "none": "x"},
    "007": {"+7": "7"},  # of numbers alone, so stored by number
    "Zero": {"other": "7"},
}
DATASETS = {"metrics": [*RUNS], "runs": ["runs", "a b"]}
Values = dict[tuple[str, str], Fraction]


def scored(run: Mapping[str, str]) -> dict[str, dict[str, float]]:
    return {
        query: {doc: -n for n, tied in enumerate(docs.split()) for doc in tied.split(",")}
        for query, docs in run.items()
    }


def ranked(run: str, query: str) -> list[str]:
    """Return the documents in order: of equal scores, the last name comes first."""
    tied = RUNS[run].get(query, "").split()
    return [doc for docs in tied for doc in sorted(docs.split(","), reverse=True)]


def is_relevant(run: str, query: str) -> list[bool]:
    return [QRELS[query].get(doc, 0) > 0 for doc in ranked(run, query)]


def rr(run: str, query: str) -> Fraction:
    ranks = [rank for rank, good in enumerate(is_relevant(run, query), 1) if good]
    return Fraction(1, min(ranks)) if ranks else Fraction(0)


def ap(run: str, query: str) -> Fraction:
    good = is_relevant(run, query)
    sums = [Fraction(sum(good[:rank]), rank) for rank in range(1, len(good) + 1) if good[rank - 1]]
    return sum(sums, Fraction(0)) / max(1, sum(grade > 0 for grade in QRELS[query].values()))


def unjudged(run: str, query: str) -> Fraction:
    return Fraction(sum(doc not in QRELS[query] for doc in ranked(run, query)[:2]), 2)


METRICS: dict[str, tuple[Callable[[str, str], Fraction], int]] = {
    "RR": (rr, 1),
    "Unjudged@2": (unjudged, -1),
}


def means(metric: Callable[[str, str], Fraction], queries: list[str]) -> dict[str, Fraction]:
    return {run: mean(metric(run, query) for query in queries) for run in RUNS}


def board(values: Mapping[str, Fraction], sign: int) -> list[tuple[int, str, float]]:
    """Return place, run and value: equal values share a place and are in order of name."""
    order = sorted(values, key=lambda run: (-sign * values[run], run))
    places = {
        run: 1 + sum(sign * v > sign * values[run] for v in values.values()) for run in values
    }
    return [(places[run], run, pytest.approx(float(values[run]))) for run in order]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wh = Warehouse(tmp_path_factory.mktemp("rich") / "w.duckdb")
    at = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    before = {"7": {"7": 0, "007": 3}, "old": {"7": 1}}
    for dataset, runs in DATASETS.items():
        wh.ingest_qrels(dataset, before)
        wh.ingest_run(dataset, scored(RUNS["assets"]), name="runs", run_at=at)
        wh.evaluate(dataset, metrics="RR")
        wh.ingest_qrels(dataset, QRELS, replace=True)
        for name in runs:
            wh.ingest_run(dataset, scored(RUNS[name]), name=name, run_at=at, replace=name == "runs")
    kinds = {query: {"kind": kind} for query, kind in KINDS.items()}
    wh.ingest_attributes("metrics", kinds, of="queries", name="qs")
    wh.evaluate(metrics="RR Unjudged@2")
    wh.evaluate("metrics", metrics="AP", slices="kind")
    return wh.path


Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ask(file: Path) -> Ask:
    def rows(*words: str) -> list[dict[str, Any]]:
        found = invoked(*words, "--db", str(file), "-f", "json")
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    return rows


def near(value: Fraction) -> object:
    return pytest.approx(float(value), abs=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_boards(ask: Ask, name: str) -> None:
    metric, sign = METRICS[name]
    values = means(metric, [*QRELS])
    rows = ask("leaderboard", "-d", "metrics", "-m", name)
    assert [(row["place"], row["run"], row[name]) for row in rows] == board(values, sign)
    assert ask("leaderboard", "-d", "metrics", "-m", name, "--top", "2") == rows[:2]
    answered = {run: sum(query in RUNS[run] for query in QRELS) for run in RUNS}
    assert {row["run"]: row["answered"] for row in rows} == answered
    assert {row["judged"] for row in rows} == {len(QRELS)}
    # the values of both datasets are the same, and two runs are in both
    both = {run: values[run] for run in DATASETS["runs"]}
    for datasets in (["runs"], ["metrics", "runs"]):
        given = [word for dataset in datasets for word in ("-d", dataset)]
        rows = ask("leaderboard", *given, "-m", name)
        assert [(row["place"], row["run"], row[name]) for row in rows] == board(both, sign)
    rows = ask("leaderboard", "-d", "metrics", "-d", "runs", "-m", name, "--ranks")
    assert [(row["mean_rank"], row["run"]) for row in rows] == [b[:2] for b in board(both, sign)]
    rows = ask("query", f"from leaderboard where dataset = 'runs' and metric = '{name}'")
    found = sorted((row["place"], row["run"], row["value"]) for row in rows)
    assert found == board(both, sign)
    # what was loaded later for another dataset ends no version of the qrels
    past = f"board_as_of('metrics', current_date + 1, metric_name := '{name}')"
    rows = ask("query", f"select run, value from {past}")
    wanted = {run: float(value) for run, value in values.items()}
    assert {row["run"]: row["value"] for row in rows} == pytest.approx(wanted)


def test_boards_of_slices(ask: Ask) -> None:
    rows = ask("leaderboard", "-d", "metrics", "-m", "AP", "--slice", "kind")
    found = [(row["part"], row["place"], row["run"], row["AP"]) for row in rows]
    expected = []
    for part, kind in (("a", "a"), ("b", "b"), ("not_included", "")):
        queries = [query for query in QRELS if KINDS[query] == kind]
        expected += [(part, *row) for row in board(means(ap, queries), 1)]
    assert found == expected


@pytest.mark.parametrize("name", [*METRICS, "AP"])
def test_comparisons(ask: Ask, name: str) -> None:
    """Pairs are in the order in which the runs were loaded; values of slices do not count."""
    metric, sign = METRICS.get(name, (ap, 1))
    rows = ask("compare", "-d", "metrics", "-m", name, "--only", "pairs")
    assert [(row["base"], row["run"]) for row in rows] == [*combinations(RUNS, 2)]
    for row in rows:
        differences = [metric(row["run"], q) - metric(row["base"], q) for q in QRELS]
        assert row["difference"] == near(mean(differences))
        better, worse = (sum(s * d > 0 for d in differences) for s in (sign, -sign))
        assert (row["wins"], row["losses"]) == (better, worse)
        assert (row["ties"], row["queries"], row["left_out"]) == (5 - better - worse, 5, 0)


@pytest.mark.parametrize("name", METRICS)
def test_checks(file: Path, name: str) -> None:
    """Each run beside the best of those before it; the first counts of runs that are as good."""
    metric, sign = METRICS[name]
    values = means(metric, [*QRELS])
    for place, run in enumerate(RUNS):
        if not place:
            continue
        best = max([*RUNS][:place], key=lambda one: sign * values[one])
        found = Warehouse(file).check(
            "metrics", name, run=run, against="best", max_drop=0.01, strict=True
        )
        (one,) = found.comparisons
        is_worse = sign * (values[best] - values[run]) > 0.01
        assert (one.against, one.difference) == (best, near(values[run] - values[best]))
        assert (one.verdict, "worse than" in str(one)) == (
            "worse" if is_worse else "good",
            is_worse,
        )
        gains = [sign * (metric(run, q) - metric(best, q)) for q in QRELS]
        assert (one.wins, one.losses) == (sum(g > 0 for g in gains), sum(g < 0 for g in gains))


@pytest.mark.parametrize("name", METRICS)
def test_history(ask: Ask, name: str) -> None:
    """All at one time, so in the order in which they were loaded; without what was replaced."""
    metric, sign = METRICS[name]
    values = means(metric, [*QRELS])
    expected: list[tuple[Any, ...]] = []
    best: Fraction | None = None
    for run in RUNS:
        is_record = best is None or sign * values[run] > sign * best
        gain = near(values[run] - best) if is_record and best is not None else None
        best = values[run] if is_record else best
        assert best is not None
        expected.append((run, near(values[run]), near(best), is_record, gain))
    rows = ask("history", "-d", "metrics", "-m", name)
    names = ("run", "value", "best_so_far", "is_record", "gain")
    assert [tuple(row[one] for one in names) for row in rows] == expected
    assert [row["version"] for row in rows] == [2, 1, 1, 1, 1]


@pytest.mark.parametrize("run", RUNS)
def test_queries(ask: Ask, run: str) -> None:
    for name, (metric, sign) in METRICS.items():
        rows = ask("queries", run, "-d", "metrics", "-m", name)
        assert [
            (row["query_id"], row[name], row["retrieved"], row["relevant_retrieved"])
            for row in rows
        ] == [
            (query, near(metric(run, query)), len(ranked(run, query)), sum(is_relevant(run, query)))
            for query in sorted(QRELS)
        ]
        assert [row["relevant"] for row in rows] == [
            sum(grade > 0 for grade in QRELS[query].values()) for query in sorted(QRELS)
        ]
        worst = sorted(QRELS, key=lambda query: (sign * metric(run, query), query))[:3]
        rows = ask("queries", run, "-d", "metrics", "-m", name, "--worst", "3")
        assert [row["query_id"] for row in rows] == worst


def test_explanations(ask: Ask) -> None:
    """Of a run that was replaced, too."""
    for run, query in product(("a b", "runs"), ("7", "007", "7.0", "+7")):
        good = is_relevant(run, query)
        rows = ask("explain", run, "RR", query, "-d", "metrics")
        assert [(row["rank"], row["doc_id"], row["relevance"]) for row in rows] == [
            (rank, doc, QRELS[query].get(doc)) for rank, doc in enumerate(ranked(run, query), 1)
        ]
        assert [row["part"] for row in rows] == [
            near(rr(run, query)) if n == good.index(True) else 0 for n in range(len(rows))
        ]


def test_holes(ask: Ask) -> None:
    """Unjudged documents: how many runs have them, their best and mean reciprocal rank."""
    expected = []
    for query in QRELS:
        lists = [ranked(run, query) for run in RUNS]
        for doc in {doc for one in lists for doc in one} - set(QRELS[query]):
            ranks = [1 + one.index(doc) for one in lists if doc in one]
            weight = sum(Fraction(1, rank) for rank in ranks) / len(RUNS)
            expected.append((-weight, query, doc, len(ranks), min(ranks)))
    rows = ask("holes", "-d", "metrics")
    names = ("query_id", "doc_id", "runs", "best_rank", "mean_reciprocal_rank")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (query, doc, runs, best, near(-weight))
        for weight, query, doc, runs, best in sorted(expected)
    ]


@needs("collections")
def test_ties(file: Path) -> None:
    """Runs with tied scores, and by how much an order of them moves RR."""
    tied, moves = [], {}
    for run, lists in RUNS.items():
        groups = {query: [tie.split(",") for tie in docs.split()] for query, docs in lists.items()}
        sizes = [[len(tie) for tie in ties] for ties in groups.values()]
        of_ties = sum(size for some in sizes for size in some if size > 1)
        num_lists = sum(max(some) > 1 for some in sizes)
        if num_lists:
            tied.append((-of_ties / sum(map(sum, sizes)), run, num_lists, len(lists)))
        spread = []
        for query in QRELS:
            found = [
                next((1 / n for n, d in enumerate(docs, 1) if QRELS[query].get(d, 0) > 0), 0)
                for order in product(*map(permutations, groups.get(query, ())))
                for docs in [[d for tie in order for d in tie]]
            ]
            spread.append(max(found) - min(found))
        moves[run] = mean(spread)
    asked = invoked("collection", "-d", "metrics", "--db", str(file), "-f", "json")
    (row,) = json.loads(asked.stdout)
    names = ("run", "tied_lists", "lists", "tied_share")
    assert [tuple(one[name] for name in names) for one in row["tied"]] == [
        (run, num_tied, lists, pytest.approx(-share))
        for share, run, num_tied, lists in sorted(tied)
    ]
    most = max(moves, key=lambda run: moves[run])
    assert f"RR of {most} by up to {moves[most]:.3f}" in asked.stderr


def test_listings(ask: Ask) -> None:
    found = {(row["dataset"], row["run"]): row for row in ask("runs")}
    assert sorted(found) == sorted((d, run) for d, runs in DATASETS.items() for run in runs)
    for (_, run), row in found.items():
        lists = [ranked(run, query) for query in RUNS[run]]
        assert (row["queries"], row["predictions"]) == (len(lists), sum(map(len, lists)))
        assert row["version"] == 1 + (run == "runs")
    rows = ask("datasets")
    assert [(r["dataset"], r["qrels"], r["queries"], r["judgments"], r["runs"]) for r in rows] == [
        (dataset, 2, 5, 12, len(runs)) for dataset, runs in DATASETS.items()
    ]
    assert [row["metrics"] for row in rows] == [3, 2]
    rows = ask("qrels", "-d", "metrics")
    assert [(r["version"], r["is_current"], r["judgments"], r["relevant"]) for r in rows] == [
        (1, False, 3, 2),
        (2, True, 12, 7),
    ]
    rows = ask("slices", "kind", "-d", "metrics")
    assert [(r["part"], r["queries"], r["judgments"], r["relevant"]) for r in rows] == [
        ("a", 2, 4, 3),
        ("b", 2, 5, 2),
        ("not_included", 1, 3, 2),
    ]
    assert ask("status") == []

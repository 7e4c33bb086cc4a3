"""What counts and what decides: repeated rows, queries without relevant documents, equal scores."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from projects import command
from shared_cases import CASES, needs_cases

from warehouse.evaluate import engine
from warehouse.warehouse import Warehouse

FIELD = CASES / "field"


def field(name: str) -> str:
    """Return the path of an input."""
    return str(FIELD / name)


@pytest.mark.slow
def test_the_best_row_of_a_document_is_kept(put, tmp_path):
    """a has 1 and 3, b has 2: the best row of a is above b, whichever scores are the best."""
    rows = [("q", "a", 1), ("q", "b", 2), ("q", "a", 3)]
    csv = put("query_id,doc_id,score\n" + "".join(f"{q},{d},{s}\n" for q, d, s in rows), "r.csv")
    trec = put("".join(f"{q} Q0 {d} 1 {s} x\n" for q, d, s in rows), "r.run")
    ranks = put("query_id,doc_id,rank\n" + "".join(f"{q},{d},{s}\n" for q, d, s in rows), "k.csv")
    jsonl = put(
        "".join(json.dumps({"query_id": q, "doc_id": d, "score": s}) + "\n" for q, d, s in rows),
        "r.jsonl",
    )
    qrels = {"q": {"a": 1}}
    for source in (csv, trec, jsonl, ranks):
        for lowest in (False, True) if source is not ranks else (False,):
            how = {"run_repeated": "best", "lower_is_better": lowest}
            assert Warehouse.score(qrels, source, "RR", **how).means() == {"RR": 1.0}
            wh = Warehouse(tmp_path / f"{source.name}{lowest}.duckdb")
            wh.ingest_qrels("d", qrels)
            wh.ingest_run("d", source, name="r", repeated="best", lower_is_better=lowest)
            (row,) = wh.query("select score from store.prediction where doc_id = 'a'")
            assert row.score == (1 if lowest or source is ranks else 3)
    assert Warehouse.score(qrels, csv, "RR", run_repeated="first").means() == {"RR": 0.5}


@needs_cases
def test_queries_without_relevant_documents_are_told_and_set(wh):
    """Of 3 users one has an item with 4 stars, and it is first: 1/3, or 1 without the others."""
    files = field("no_relevant/ratings.csv"), field("no_relevant/recs.csv")
    for wanted, value in (("", 1 / 3), (", no_relevant=skip", 1), (", no_relevant=1", 1)):
        found = Warehouse.score(*files, f"HR(rel=4{wanted})@1")
        assert list(found.means().values()) == pytest.approx([value])
        (note,) = found.notes
        assert "2 of 3 queries have no document with a relevance of 4 or more" in note
    assert Warehouse.score(*files, "HR@1").notes == ()
    wh.ingest_qrels("d", files[0])
    wh.ingest_run("d", files[1])
    told = wh.evaluate("d", metrics="HR(rel=4)@1 HR@1").notes
    assert ["2 of 3 queries have no document" in note for note in told] == [True]
    # LightGBM and XGBoost: q1 has its document second, 1/log2(3); q2 counts as 1, or is left out
    files = field("no_relevant/q.txt"), field("no_relevant/r.txt")
    first = 0.63092975
    for wanted, value in (("1", (first + 1) / 2), ("0", first / 2), ("skip", first)):
        found = Warehouse.score(*files, f"nDCG(no_relevant={wanted})@10").means()
        assert list(found.values()) == pytest.approx([value])


@pytest.mark.slow
def test_stored_values_tell_of_queries_without_relevant_documents(wh, tmp_path):
    """Of q1, q2 and q3 only q1 has a grade of 2; all have one of 1, so that MRR's are all there."""
    qrels = {"q1": {"a": 2}, "q2": {"b": 1}, "q3": {"c": 1}}
    wh.ingest_qrels("d", qrels)
    for name in ("one", "two"):
        wh.ingest_run("d", {"q1": {"a": 2.0, "x": 1.0}, "q2": {"b": 1.0}}, name=name)
    said = "2 of 3 queries have no document with a relevance of 2 or more and count as 0"
    metrics = "RR RR(rel=2) P(rel=2)@1"
    wh.evaluate("d", metrics=metrics)

    def told(notes) -> list[str]:
        return [note.partition(":")[0] for note in notes if said in note]

    assert told(wh.leaderboard("d").notes) == ["RR(rel=2), P(rel=2)@1"]
    assert told(wh.leaderboard("d", metrics="AP(rel=2)").notes) == ["AP(rel=2)"]  # not stored
    assert told(wh.compare("d", metrics=metrics).notes) == ["RR(rel=2), P(rel=2)@1"]
    wh.ingest_qrels("whole", {"q": {"a": 2}})
    wh.ingest_run("whole", {"q": {"a": 2.0}}, name="one")
    wh.evaluate("whole", metrics=metrics)
    assert not told(wh.leaderboard("whole").notes)
    (both,) = (n for n in wh.leaderboard(["d", "whole"]).notes if said in n)
    assert both.startswith("d: RR(rel=2), P(rel=2)@1: ")
    wh.report(tmp_path / "site")
    board = (tmp_path / "site" / "d" / "index.html").read_text(encoding="utf-8")
    assert board.count(f"<li>RR(rel=2), P(rel=2)@1: {said}</li>") == 1
    with Warehouse.scorer(qrels, metrics) as score_run:
        for run in ({"q1": {"a": 1.0}}, {"q2": {"b": 1.0}}):
            assert told(score_run(run).notes) == ["RR(rel=2), P(rel=2)@1"]


def test_every_metric_of_relevance_takes_what_counts_for_queries_without():
    """Where nothing is relevant, a value is the given one; where something is, it stays as it was."""
    qrels = {"q1": {"a": 2, "b": 0}, "q2": {"c": 0}}
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
    names = (
        "AP nDCG@5 RR P@2 R@2 Success@1 bpref Rprec ERR@3 RBP(rel=2) F@2 AUC SetP nDCG(gains={2:5})"
    )

    def values(wanted: str | None) -> list[tuple[float | None, float | None]]:
        """Return the values of q1 and q2 by each metric, in the order of the names."""
        asked = names.split()
        if wanted is not None:
            asked = [with_parameter(name, f"no_relevant={wanted}") for name in asked]
        rows = Warehouse.score(qrels, run, asked).relation.fetchall()
        found = {(query, metric): value for query, metric, value in rows}
        metrics = list(dict.fromkeys(metric for _, metric in found))
        return [(found["q1", one], found.get(("q2", one))) for one in metrics]

    before = [first for first, _ in values(None)]
    assert len(before) == len(names.split())
    for wanted, value in (("0", 0.0), ("1", 1.0), ("skip", None)):
        assert values(wanted) == [(first, value) for first in before], wanted


def with_parameter(metric: str, parameter: str) -> str:
    """Return a metric's notation with one more parameter.

    >>> with_parameter("P@2", "rel=2"), with_parameter("RBP(rel=2)", "p=0.5")
    ('P(rel=2)@2', 'RBP(rel=2, p=0.5)')
    """
    if "(" in metric:
        return metric.replace(")", f", {parameter})", 1)
    name, at, cutoff = metric.partition("@")
    return f"{name}({parameter}){at}{cutoff}"


@needs_cases
def test_what_the_order_of_equal_scores_changes_is_told():
    """The relevant document of each query shares its score with others; see the README there."""
    files = field("advice/q.txt"), field("advice/r.txt")
    (found,) = Warehouse.score(*files, "RR@10", tie_ranges=True).ranges
    assert (found.metric, found.low, found.high) == ("RR@10", approx(0.0663), approx(0.1513))
    code, _, err = command("score", *files, "RR@10", "-f", "csv")
    assert (code, "RR@10 0.0663\N{EN DASH}0.1513" in err) == (0, True)


def test_values_and_ranges_are_put_together_in_batches(monkeypatch):
    """a and b share a score for q, where a is relevant; for r it is first, and s lists b alone."""
    monkeypatch.setattr(engine, "_FEW", 0)
    monkeypatch.setattr(engine, "_VALUES", 1)
    found = Warehouse.score(
        {query: {"a": 1} for query in "qrs"},
        {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 2.0, "b": 1.0}, "s": {"b": 1.0}},
        "RR P@1 R@2 AvgRank", tie_ranges=True,
    )  # fmt: skip
    # AvgRank counts from 0, and where no relevant document is found, it is the list's length + 1
    means = {"RR": 1.5 / 3, "P@1": 1 / 3, "R@2": 2 / 3, "AvgRank": (1 + 0 + 2) / 3}
    assert found.means() == pytest.approx(means)
    assert {one.metric: (one.low, one.high) for one in found.ranges} == {
        "RR": pytest.approx((1.5 / 3, 2 / 3)),
        "P@1": pytest.approx((1 / 3, 2 / 3)),
        "AvgRank": pytest.approx((2 / 3, 3 / 3)),
    }


@pytest.mark.slow
def test_explain_tells_what_the_order_of_equal_scores_changes(wh):
    """a, c, d and e share ranks 2 to 5; one of them is relevant. b is first and alone."""
    wh.ingest_qrels("d", {"q": {"a": 1}, "other": {"b": 1}})
    tied = dict.fromkeys("acde", 1.0)
    wh.ingest_run("d", {"q": {"b": 2.0} | tied, "other": {"b": 2.0, "a": 1.0}}, name="r")
    wh.evaluate("d", metrics="RR RR@3 P@5")
    for metric, low, high in (("RR", 1 / 5, 1 / 2), ("RR@3", 0, 1 / 2), ("AP", 1 / 5, 1 / 2)):
        for top in (None, 1):
            found = wh.explain("d", "r", "q", metric, top=top)
            ties = found.details.tie_range
            assert (ties.low, ties.high) == (low, high), metric
            assert f"{low:.4f}\N{EN DASH}{high:.4f}" in "\n".join(found.rounded_notes(4))
    assert wh.explain("d", "r", "q", "P@5").details.tie_range is None  # all five are counted
    assert wh.explain("d", "r", "other", "RR").details.tie_range is None
    assert [row.value for row in wh.query("select value from query_scores where query_id = 'q'")]


def approx(value: float) -> object:
    return pytest.approx(value, abs=5e-5)


def _by_hand(order: tuple[str, ...], grades: dict[str, int]) -> dict[str, float]:
    """Return metrics of one ranked list, in plain Python."""
    gains = [max(grades.get(doc, 0), 0) for doc in order]
    relevant = [gain >= 1 for gain in gains]
    ranks = [rank for rank, is_rel in enumerate(relevant, 1) if is_rel]
    every = sum(grade >= 1 for grade in grades.values())
    ideal = sorted((max(grade, 0) for grade in grades.values()), reverse=True)

    def dcg(values: list[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:3], 1))

    return {
        "RR": 1 / ranks[0] if ranks else 0.0,
        "P@3": sum(relevant[:3]) / 3,
        "R@3": sum(relevant[:3]) / every,
        "AP": sum(number / rank for number, rank in enumerate(ranks, 1)) / every,
        "nDCG@3": dcg(gains) / dcg(ideal),
    }


@pytest.mark.slow
@settings(max_examples=8, deadline=None, phases=[Phase.generate])
@given(
    st.lists(st.sampled_from([1.0, 2.0]), min_size=5, max_size=5),
    st.lists(st.sampled_from([None, -1, 0, 1, 2]), min_size=5, max_size=5),
)
def test_the_range_over_orders_is_that_of_all_permutations(scores, grades):
    scored = dict(zip("abcde", scores, strict=True))
    judged = {doc: grade for doc, grade in zip("abcde", grades, strict=True) if grade is not None}
    judged["missed"] = 1
    orders = [
        _by_hand(order, judged)
        for order in itertools.permutations(scored)
        if all(scored[a] >= scored[b] for a, b in itertools.pairwise(order))
    ]
    other = _by_hand(("b", "a"), {"a": 1})  # a query without equal scores has one value
    found = Warehouse.score(
        {"q": judged, "other": {"a": 1}}, {"q": scored, "other": {"b": 2.0, "a": 1.0}},
        "RR P@3 R@3 AP nDCG@3", tie_ranges=True,
    )  # fmt: skip
    ranges = {one.metric: (one.low, one.high) for one in found.ranges}
    for metric, value in found.means().items():
        values = [(each[metric] + other[metric]) / 2 for each in orders]
        expected = min(values), max(values)
        assert ranges.get(metric, (value, value)) == pytest.approx(expected)

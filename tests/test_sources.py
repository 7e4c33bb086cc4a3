"""What the four sources ask for: their metrics against twins in plain Python, their tables, their names.

The sources: a thesis on premise selection (program roerei), notes on precision and recall, the rank
metrics calculator of ArDoCo, and a thesis on label ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import oracles
import oracles_sources
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick import examples
from test_metric_properties import COLLECTIONS, Qrels, Run, values
from twins import JUDGED_FIRST, OF_RUN, Ranked, own, rules_of, twin
from twins import compare as compare_twins

from warehouse.errors import UsageError
from warehouse.evaluate.chain import fingerprint_of
from warehouse.evaluate.plan import plan
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, parse
from warehouse.warehouse import Warehouse

# x a y b c z, of which a, b, c are relevant: the table of the notes
NOTES: tuple[Qrels, Run] = (
    {"goal": {"a": 1, "b": 1, "c": 1, "x": 0, "y": 0, "z": 0}},
    {"goal": {doc: 6.0 - place for place, doc in enumerate("xaybcz")}},
)


@pytest.mark.core
@given(
    data=COLLECTIONS,
    protocol=st.sampled_from(["default", "roerei", "ardoco", OF_RUN, JUDGED_FIRST]),
    depth=st.sampled_from([None, None, 1, 3]),
    judged_only=st.booleans(),
    level=st.sampled_from([None, None, 2]),
)
@examples(8)
def test_twins(
    data: tuple[Qrels, Run], protocol: str, depth: int | None, judged_only: bool, level: int | None
) -> None:
    qrels, run = data
    judged = {doc for grades in qrels.values() for doc in grades}
    every = rules_of(protocol=protocol).queries == "run"
    listed = {doc for query, found in run.items() if every or query in qrels for doc in found}
    placed = oracles_sources.placed(run)

    def of_query(metric: Metric, one: Ranked, _: object) -> float | None:
        beside = {"AUC": {"scores": placed.get(one.query, {})}}
        beside |= {"KAtRecall": {"known": len(judged)}, "Volume": {"named": len(judged | listed)}}
        return twin(metric.name, oracles_sources, oracles)(
            one.docs, one.grades, **own(metric), **beside.get(metric.name, {})
        )

    def pooled(metric: Metric, lists: Sequence[Ranked]) -> float | None:
        given = [(one.docs, one.grades, placed.get(one.query, {})) for one in lists]
        return twin(f"pooled_{metric.name}", oracles_sources)(given, **own(metric))

    compare_twins(
        data, oracles_sources.METRICS, of_query, pooled, protocol=protocol, depth=depth,
        judged_only=judged_only, level=level,
    )  # fmt: skip


def test_the_table_of_the_notes() -> None:
    """Rank, value, precision, recall; where the printed table slips, the number that is meant.

    The source prints 3/4 as the precision of c, and 5 and 3/5 as rank and precision of z.
    """
    table = [
        (1, "x", Fraction(0, 1), Fraction(0, 3)),
        (2, "a", Fraction(1, 2), Fraction(1, 3)),
        (3, "y", Fraction(1, 3), Fraction(1, 3)),
        (4, "b", Fraction(2, 4), Fraction(2, 3)),
        (5, "c", Fraction(3, 5), Fraction(3, 3)),
        (6, "z", Fraction(3, 6), Fraction(3, 3)),
    ]
    names = [f"{name}@{k}" for k in range(1, 7) for name in ("precision", "recall")]
    ours = Warehouse.score(*NOTES, names).means()
    ranking = sorted(NOTES[1]["goal"], key=lambda doc: -NOTES[1]["goal"][doc])
    shown = [
        (k, doc, *(Fraction(ours[f"{name}@{k}"]).limit_denominator(100) for name in ("P", "R")))
        for k, doc in enumerate(ranking, 1)
    ]
    assert shown == table


def test_the_names_of_the_notes() -> None:
    ours = Warehouse.score(
        *NOTES, "k@recall(0) k@recall(0.3) k@recall(0.5) k@recall(1) precision@recall(0.5) "
        "precision@recall(1) r-precision SetF E AP AP(norm=hits)@2",
    ).means()  # fmt: skip
    assert ours == pytest.approx(
        {
            "KAtRecall@0.0": 0, "KAtRecall@0.3": 2, "KAtRecall@0.5": 4, "KAtRecall@1.0": 5,
            "PAtRecall@0.5": 2 / 4, "PAtRecall@1.0": 3 / 5, "Rprec": 1 / 3, "SetF": 2 / 3,
            "E": (3 + 0) / (3 + 6), "AP": 8 / 15, "AP(norm=hits)@2": 1 / 2,
        },
        rel=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("required", "suggested", "wanted"),
    [
        # cover, oocover, ooprecision, recall, rank, auc
        ("abc", "xaybcz", (1, 1, 3 / 6, 5, (1 + 3 + 4) / 3, 4 / 9)),
        ("abc", "xaybz", (2 / 3, 2 / 3, 2 / 5, 6, (1 + 3) / 2, 3 / 6)),
        ("abc", "xyz", (0, 0, 0, 4, 4, 0)),
        ("abc", "", (0, 0, 0, 1, 1, 1)),
        ("abc", "abc", (1, 1, 1, 3, 1, 1)),
        ("", "xyz", (1, 1, 1, 0, 0, 1)),
        ("", "", (1, 1, 1, 0, 0, 1)),
    ],
)
def test_the_thesis_as_its_program_computes_it(
    required: str, suggested: str, wanted: tuple[float, ...]
) -> None:
    grades = dict.fromkeys(required, 1) | {"known": 0}
    scores = {doc: float(len(suggested) - place) for place, doc in enumerate(suggested)}
    names = ["Cover", "oocover", "ooprecision", "MaxRank", "AvgRank", "AUC"]
    # a run with no line for any judged query is refused: another query answers
    qrels = {"q": grades, "other": {"a": 1}}
    run = {"q": scores, "other": {"a": 1.0}}
    ours = values(qrels, run, names, protocol="roerei")
    canonical = parse(*names, defaults=protocols.get("roerei").defaults())
    assert [ours[str(m), "q"] for m in canonical] == pytest.approx(wanted, rel=1e-12)


def test_volume_of_the_thesis() -> None:
    qrels = {"1": {"a": 1, "b": 1}, "2": {"b": 1, "c": 0, "d": 1}}
    run = {"1": {"a": 3.0, "x": 2.0, "y": 1.0}, "2": {"d": 1.0}}
    assert Warehouse.score(qrels, run, "Volume").means() == {"Volume": (3 + 1) / 2}
    share = Warehouse.score(qrels, run, "Volume", protocol="roerei").means()
    assert share == {"Volume(share=True)": (3 / 6 + 1 / 6) / 2}  # a, b, c, d, x, y are known
    # each is at most 1, whatever the judgments know
    share = Warehouse.score({"1": {"a": 1}}, {"1": run["1"]}, "volume", protocol="roerei").means()
    assert share == {"Volume(share=True)": 3 / 3}


def test_recall_and_rank_of_the_thesis() -> None:
    """The guesses until all are found, and the average position, counted from 0; not R and a rank."""
    qrels = {"1": {"a": 1, "b": 1}, "2": {"b": 1}}
    run = {"1": {"a": 3.0, "x": 2.0, "b": 1.0}, "2": {"d": 1.0}}
    asked = Warehouse.score(qrels, run, "recall rank", protocol="roerei").means()
    assert asked == {"MaxRank": (3 + 2) / 2, "AvgRank": ((0 + 2) / 2 + 2) / 2}
    assert [str(one) for one in parse("recall")][:2] == ["R@5", "R@10"]


def ranked(*lists: str) -> Run:
    return {f"q{n}": {d: float(len(one) - i) for i, d in enumerate(one)}
            for n, one in enumerate(lists, 1)}  # fmt: skip


def judged(lists: Run, truth: str) -> Qrels:
    """Judge as the calculator does: one set of ids for all lists, and what is listed is all there is."""
    return {query: {doc: int(doc in truth) for doc in scores} for query, scores in lists.items()}


@pytest.mark.parametrize(
    ("lists", "mean_ap", "lag"),
    [
        (("ABC", "BAD"), Fraction(1), Fraction(0)),
        # second list: 1/2 and 2/3 over 2 hits; A and B each under one wrong link
        (("ABC", "DAB"), (1 + (Fraction(1, 2) + Fraction(2, 3)) / 2) / 2, Fraction(0 + 0 + 1 + 1, 4)),
        # the list without a hit is dropped from the mean
        (("ABC", "DEF"), Fraction(1), Fraction(0)),
    ],
)  # fmt: skip
def test_the_calculator_as_coded(lists: tuple[str, ...], mean_ap: Fraction, lag: Fraction) -> None:
    run = ranked(*lists)
    ours = Warehouse.score(judged(run, "AB"), run, "AP LAG", protocol="ardoco").means()
    assert ours == pytest.approx(
        {"AP(norm=hits)": float(mean_ap), "LAG(aggregate=pooled)": float(lag)}, rel=1e-12
    )


def test_the_calculator_without_any_hit_has_no_value() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"x": 1.0}}
    ours = Warehouse.score(qrels, run, "AP LAG", protocol="ardoco").means()
    assert ours == {"AP(norm=hits)": None, "LAG(aggregate=pooled)": None}
    assert Warehouse.score(qrels, run, "AP(norm=hits) LAG").means() == {
        "AP(norm=hits)": 0.0, "LAG": None,
    }  # fmt: skip


# Both examples of the documentation; the first has its scores on the page of the REST interface.
DOCUMENTED = [
    pytest.param(
        {"q1": {"A": 0.9, "B": 0.8, "C": 0.4}, "q2": {"B": 0.7, "A": 0.6, "D": 0.5}},
        # as documented: every list's area is 1; as coded: A A B B stand above C and D
        {"AP": 1, "LAG": 0, "AUC": 1}, {"AP": 1, "LAG": 0, "AUC": 1},
        id="all right",
    ),
    pytest.param(
        {"q1": {"A": 0.9, "B": 0.8, "C": 0.4}, "q2": {"D": 0.7, "A": 0.6, "B": 0.5}},
        {"AP": (1 + (1 / 2 + 2 / 3) / 2) / 2, "LAG": (0 / 2 + 2 / 2) / 2, "AUC": (2 / 2 + 0 / 2) / 2},
        # one curve: A and B of the first list beat D and C, those of the second C alone
        {"AP": (1 + (1 / 2 + 2 / 3) / 2) / 2, "LAG": (0 + 0 + 1 + 1) / 4, "AUC": (2 + 2 + 1 + 1) / 8},
        id="one above",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("run", "documented", "coded"), DOCUMENTED)
def test_the_calculators_documented_examples(
    run: Run, documented: dict[str, float], coded: dict[str, float]
) -> None:
    """As its documentation defines them, means over the queries; and as the program computes them."""
    for protocol, wanted in (("default", documented), ("ardoco", coded)):
        means = Warehouse.score(judged(run, "AB"), run, "AP LAG AUC", protocol=protocol).means()
        ours = {name.partition("(")[0]: value for name, value in means.items()}
        assert ours == pytest.approx(wanted, rel=1e-12), protocol


def test_the_calculator_over_what_is_not_retrieved() -> None:
    """Documented: a missing link costs precision, a list without a hit counts as 0. Coded: neither."""
    run = ranked("AxB", "xyz")
    qrels = {query: grades | {"C": 1} for query, grades in judged(run, "AB").items()}
    documented = Warehouse.score(qrels, run, "AP").means()
    assert documented == pytest.approx({"AP": ((1 + 2 / 3) / 3 + 0) / 2}, rel=1e-12)
    coded = Warehouse.score(qrels, run, "AP", protocol="ardoco").means()
    assert coded == pytest.approx({"AP(norm=hits)": (1 + 2 / 3) / 2}, rel=1e-12)


# a x x x: lag 0 of one; y b1 b2 b3: lag 1 each of three
TWO: tuple[Qrels, Run] = (
    {"1": {"a": 1}, "2": {"b1": 1, "b2": 1, "b3": 1}},
    {"1": {"a": 4, "x1": 3, "x2": 2, "x3": 1}, "2": {"y": 4, "b1": 3, "b2": 2, "b3": 1}},
)


def test_pooled_and_mean_differ() -> None:
    ours = values(*TWO, ["LAG", "LAG(aggregate=pooled)"])
    for name, whole in (("LAG", (0 + 1) / 2), ("LAG(aggregate=pooled)", (0 + 1 + 1 + 1) / 4)):
        assert [ours[name, query] for query in ("1", "2", "all")] == [0, 1, whole]


@pytest.mark.slow
def test_pooled_values_are_stored(tmp_path: Path) -> None:
    """Per run, with the values of its queries beside it; what is up to date stays so."""
    wh = Warehouse(tmp_path / "pooled.duckdb")
    qrels, run = TWO
    wh.ingest_qrels("two", qrels)
    wh.ingest_run("two", run, name="both")
    wh.ingest_run("two", {"1": run["1"]}, name="one")
    wh.ingest_run("two", {"1": {"none": 1.0}}, name="no hit")
    assert wh.evaluate(metrics=["LAG", "LAG(aggregate=pooled)"]).computed == 6
    assert wh.evaluate(metrics=["LAG", "LAG(aggregate=pooled)"]).up_to_date == 6
    found = wh.query(
        "select run, metric, aggregate, value, num_queries from scores order by all"
    ).fetchall()
    assert found == [
        ("both", "LAG", "mean", 0.5, 2),
        ("both", "LAG(aggregate=pooled)", "pooled", 0.75, 2),
        ("no hit", "LAG", "mean", None, 0),
        ("no hit", "LAG(aggregate=pooled)", "pooled", None, 0),
        ("one", "LAG", "mean", 0.0, 1),
        ("one", "LAG(aggregate=pooled)", "pooled", 0.0, 1),
    ]
    found = wh.query(
        "select run, query_id, value from query_scores where metric like '%pooled%' order by all"
    ).fetchall()
    assert [row for row in found if row[0] == "both"] == [("both", "1", 0.0), ("both", "2", 1.0)]
    assert all(row[1] is not None for row in found)
    board = wh.leaderboard("two", metrics=["LAG(aggregate=pooled)"]).fetchall()
    assert [row[1] for row in board] == ["one", "both", "no hit"]  # the smallest is the best


def test_a_protocols_undefined_is_in_the_fingerprint() -> None:
    ardoco = protocols.get("ardoco")
    (metric,) = parse("AP(norm=hits)")
    zero = plan([metric], replace(ardoco, undefined={}))
    assert fingerprint_of(plan([metric], ardoco), metric) != fingerprint_of(zero, metric)


@pytest.mark.parametrize(
    ("metric", "wanted"), [("AP", 1 / 2), ("GMAP", 1 / 2), ("NumRet", 2), ("P@1", 0)]
)
def test_a_query_without_a_value_is_no_part_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, metric: str, wanted: float
) -> None:
    """However the queries are put together; a metric that always has a value is not touched."""
    known = protocols.get("default")
    undefined = dict.fromkeys(["AP", "GMAP", "NumRet", "P"], "null")
    monkeypatch.setattr(protocols, "get", lambda _: replace(known, undefined=undefined))
    qrels, run = {"1": {"a": 1}, "n": {"a": 0}}, {"1": {"x": 2.0, "a": 1.0}}
    (whole,) = Warehouse.score(qrels, run, metric).means().values()
    assert whole == pytest.approx(wanted, rel=1e-12)


def test_normalised_recall_as_meant_and_as_coded() -> None:
    """The code divides by the number of instances, cut at k, in place of an instance's labels."""
    truth = {"1": {"a": 1}, "2": {"b": 1, "c": 1}, "3": {"d": 1, "e": 1, "f": 1}}
    run = {"1": {"a": 2.0, "x": 1.0}, "2": {"b": 2.0, "y": 1.0}, "3": {"d": 2.0, "z": 1.0}}
    k = 2
    ours = Warehouse.score(truth, run, f"nR@{k} nR_as_coded@{k} P(norm=retrieved)@{k}").means()
    as_coded = sum(
        sum(doc in truth[query] for doc in list(run[query])[:k]) / len(list(truth)[:k])
        for query in truth
    ) / len(truth)
    assert ours == pytest.approx(
        {
            "RelP@2": (1 / 1 + 1 / 2 + 1 / 2) / 3, "RelP(norm=queries)@2": as_coded,
            "P(norm=retrieved)@2": (1 / 2) * 3 / 3,
        },
        rel=1e-12,
    )  # fmt: skip
    assert as_coded == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("oocover", "Cover@100"),
        ("oocover(rel=2)", "Cover(rel=2)@100"),
        ("ooprecision", "P(norm=retrieved)@100"),
        ("max_rank", "MaxRank"),
        ("maxrank", "MaxRank"),
        ("avg_rank", "AvgRank"),
        ("auc", "AUC"),
        ("Accuracy@10", "Success@10"),
        ("volume", "Volume"),
        ("rank", "AvgRank"),
        ("F1", "SetF"),
        ("F1@5", "F@5"),
        ("R-precision", "Rprec"),
        ("average_precision", "AP"),
        ("p_at_k@5", "P(norm=retrieved)@5"),
        ("nDCG_at_k@5", "nDCG(dcg=binary, best=all)@5"),
        ("ndcg_at_k@5", "nDCG(dcg=binary)@5"),
        ("map_at_k@5", "AP(norm=min)@5"),
        ("precision_at_k@5", "P@5"),
        ("recall_at_k@5", "R@5"),
        ("RocAuc@5", "AUC(empty=replay)@5"),
        ("nR@5", "RelP@5"),
        ("f1@10", "F@10"),
        ("f1", "SetF"),
        ("f1@10-l2", "F(rel=2)@10"),
        ("k@recall(0.5)", "KAtRecall@0.5"),
        ("precision@recall(1)", "PAtRecall@1.0"),
        ("p_at_k_by_decile@5", "P(norm=retrieved)@5"),
        ("nDCG_at_k_by_decile@5", "nDCG(dcg=binary, best=all)@5"),
        ("nDCG_at_k_by_decile_as_coded@5", "nDCG(dcg=binary)@5"),
        ("mean_k_for_recall@0.5", "KAtRecall(never=half)@0.5"),
        ("mean_k_for_recall_as_coded@0.5", "KAtRecall(never=half, empty=null)@0.5"),
        ("median_k_for_recall@0.5", "KAtRecall(never=half, aggregate=median)@0.5"),
        ("prediction_proportions_at_k@5", "Share@5"),
        ("positive_coverage_at_k@5", "PositiveCoverage@5"),
        ("positive_coverage_at_k_as_coded@5", "PositiveCoverage(universe=mapping)@5"),
        ("overall_positive_coverage@5", "PositiveCoverage@5"),
        ("precision@10", "P@10"),
        ("recall@10", "R@10"),
        ("nDCG(dcg=binary)@5", "nDCG(dcg=binary)@5"),
        ("lag(aggregate=pooled)", "LAG(aggregate=pooled)"),
    ],
)
def test_names(text: str, metric: str) -> None:
    assert [str(one) for one in parse(text)] == [metric]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("oocover@50", ["the name fixes cutoff=100"]),
        ("ooprecision(norm=k)", ["the name fixes norm=retrieved"]),
        ("k@recall(2)", ["at most 1"]),
        ("k@recall()", ["recall is a number"]),
        ("k@recalls(0.5)", ["k@recalls(0.5)"]),
        ("Cover(aggregate=pooled)", ["mean, geometric_mean, median", "weighted, not pooled"]),
    ],
)
def test_wrong_names(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", list(protocols.catalogue()))
def test_what_a_protocol_says_of_metrics_and_curves_is_understood(name: str) -> None:
    chosen = protocols.get(name)
    for metric, params in chosen.params.items():
        for key, value in params.items():
            parameter = protocols.metrics_and_curves()[metric].parameter(key)
            assert parameter is not None, (metric, key)
            assert parameter.read(str(value)) == value, (metric, key)
    for metric in chosen.undefined:
        (asked,) = parse(metric, defaults=chosen.defaults())
        chosen.undefined_of(asked)

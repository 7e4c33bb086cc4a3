"""Equal scores as scikit-learn takes them: twins, identities, names, its golden values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import oracles
import oracles_sklearn
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peers import read_case
from quick import examples
from shared_cases import CASES, needs_cases, rows
from test_metric_properties import (
    COLLECTIONS,
    FEW,
    LARGE,
    Qrels,
    Run,
    collection,
    values,
    values_of_runs,
)
from twins import JUDGED_FIRST, OF_RUN, Ranked, close, own, twin
from twins import compare as compare_twins

from warehouse.errors import UsageError
from warehouse.metrics.notation import Metric, parse
from warehouse.warehouse import Warehouse


@pytest.mark.core
@given(
    data=COLLECTIONS,
    protocol=st.sampled_from(["default", "sklearn", "trec_eval_9", OF_RUN, JUDGED_FIRST]),
    depth=st.sampled_from([None, None, 1, 3]),
    judged_only=st.booleans(),
    level=st.sampled_from([None, None, 2]),
)
@examples(8)
def test_twins(
    data: tuple[Qrels, Run], protocol: str, depth: int | None, judged_only: bool, level: int | None
) -> None:

    def of_query(metric: Metric, one: Ranked, lists: Sequence[Ranked]) -> float | None:
        if metric.name == "RelP":
            return oracles.rel_p(one.docs, one.grades, **own(metric), queries=len(lists))
        known = twin(metric.name, oracles_sklearn)
        return known(one.docs, one.grades, **own(metric), scores=one.scores)

    def pooled(metric: Metric, lists: Sequence[Ranked]) -> float | None:
        given = [(one.docs, one.grades, one.scores) for one in lists]
        return twin(f"pooled_{metric.name}", oracles_sklearn)(given, **own(metric))

    compare_twins(
        data, oracles_sklearn.METRICS, of_query, pooled, protocol=protocol, depth=depth,
        judged_only=judged_only, level=level,
    )  # fmt: skip


@pytest.mark.long
def test_a_wrong_twin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with the twins is able to fail, for a query and for the pooled value."""
    data = collection(random.Random(1))
    compare = test_twins.hypothesis.inner_test
    names = ("LRAP", "RankingLoss", "CoverageError", "nDCG", "AP")
    few = [metric for metric in oracles_sklearn.METRICS if parse(metric)[0].name in names]
    monkeypatch.setattr(oracles_sklearn, "METRICS", few)
    compare(data, "default", None, False, None)
    for name in names:
        right = twin(name, oracles_sklearn)
        with monkeypatch.context() as patch:
            patch.setattr(
                oracles_sklearn, right.__name__,
                lambda *a, right=right, **k: (right(*a, **k) or 0) + 1e-9,
            )  # fmt: skip
            with pytest.raises(AssertionError):
                compare(data, "default", None, False, None)
    monkeypatch.setattr(oracles_sklearn, "pooled_ap", lambda *_, **__: 0.123)
    with pytest.raises(AssertionError):
        compare(data, "default", None, False, None)


# --------------------------------------------------------------------------- identities


def untied(run: Run) -> Run:
    """Give every document of a query a score of its own, in the order that it has."""
    return {
        query: {d: -float(rank) for rank, d in enumerate(oracles.ranking(found, {}))}
        for query, found in run.items()
    }


AVERAGED = ("nDCG", "DCG", "P", "R", "RR", "AP")
IDENTITIES = [
    "AP", "AP(ties=threshold)", "LRAP", "AUC", "AUC(ties=half)", "RankingLoss", "RankingLoss(ties=half)",
    "MaxRank", "CoverageError(never=retrieved)", "CoverageError", "NumRel", "NumRelRet", "NumRet",
    *(f"{m}{at}" for m in AVERAGED for at in ("@1", "@3")),
    *(f"{m}(ties=average){at}" for m in AVERAGED for at in ("@1", "@3")),
]  # fmt: skip


@FEW
@given(data=LARGE)
def test_identities_without_ties(data: tuple[Qrels, Run]) -> None:
    """Where no scores are equal, all rules about them give one value."""
    qrels, run = data
    ours = values(qrels, untied(run), IDENTITIES)
    for query in qrels:

        def of(name: str, query: str = query) -> float | None:
            return ours[str(parse(name)[0]), query]

        assert close(of("LRAP"), of("AP"))
        assert close(of("AP(ties=threshold)"), of("AP"))
        assert of("CoverageError(never=retrieved)") == of("MaxRank")
        for name in AVERAGED:
            for at in ("@1", "@3"):
                assert close(of(f"{name}(ties=average){at}"), of(name + at))
        assert of("RankingLoss(ties=half)") == of("RankingLoss")
        if of("NumRelRet") == of("NumRel") and of("AUC") is not None:
            assert close(of("RankingLoss"), 1 - of("AUC"))


@FEW
@given(data=LARGE)
def test_identities_with_ties(data: tuple[Qrels, Run]) -> None:
    qrels, run = data
    ours = values(qrels, run, IDENTITIES)
    for query in qrels:

        def of(name: str, query: str = query) -> float | None:
            return ours[str(parse(name)[0]), query]

        total = of("NumRel")
        assert of("LRAP") == of("AP(ties=threshold)")
        assert of("CoverageError(never=retrieved)") >= of("MaxRank")
        assert (of("CoverageError") is None) == (total > of("NumRelRet"))
        if of("RankingLoss") is None:
            assert not total or of("NumRet") == of("NumRelRet")
            continue
        assert of("RankingLoss(ties=half)") <= of("RankingLoss")
        if total == of("NumRelRet"):
            assert close(of("RankingLoss(ties=half)"), 1 - of("AUC(ties=half)"))
        if not of("NumRelRet"):
            assert of("RankingLoss") == 1


@FEW
@given(data=LARGE)
def test_a_cutoff_is_a_shorter_list(data: tuple[Qrels, Run]) -> None:
    names = ["AP(ties=threshold)", "AP(aggregate=pooled)", "AP(aggregate=pooled, ties=threshold)"]
    cut = values(*data, [f"{name}@3" for name in names])
    short = values(*data, names, depth=3)
    assert {(m.removesuffix("@3"), q): v for (m, q), v in cut.items()} == short


@FEW
@given(data=LARGE, rng=st.randoms(use_true_random=False))
def test_ids_have_no_say(data: tuple[Qrels, Run], rng: random.Random) -> None:
    """Where equal scores stand together, the names of the documents change nothing."""
    qrels, run = data
    docs = sorted({doc for found in [*qrels.values(), *run.values()] for doc in found})
    other = dict(zip(docs, rng.sample(docs, len(docs)), strict=True))
    names = ["LRAP", "RankingLoss", "CoverageError", "AP(ties=threshold)", "nDCG(ties=average)@3"]
    names += ["AP(ties=threshold, aggregate=pooled)", "DCG(ties=average)", "AUC(ties=half)"]
    names += [f"{name}(ties=average)@3" for name in ("P", "R", "RR", "AP")]

    def renamed(lists: Mapping[str, Mapping[str, float]]) -> dict:
        return {q: {other[doc]: x for doc, x in found.items()} for q, found in lists.items()}

    one, two = values(qrels, run, names), values(renamed(qrels), renamed(run), names)
    assert all(close(one[key], two[key]) for key in one | two)


@pytest.mark.slow
@pytest.mark.parametrize("judged_only", [False, True])
def test_averaged_ties_are_the_mean_of_all_orders(judged_only: bool) -> None:
    qrels = {
        "q": {"a": 3, "b": 1, "c": 2, "e": 1, "y": 0},  # x is not judged
        "r": {"y": 1, "d": 1, "x": -1},  # nothing relevant among the first three
    }
    tied = {"a": 2.0, "b": 2.0, "x": 2.0, "c": 1.0, "y": 1.0, "d": 0.0}
    orders = [
        [*first, *second, "d"]
        for first in itertools.permutations("abx")
        for second in itertools.permutations("cy")
    ]
    ordered = [{doc: -float(rank) for rank, doc in enumerate(one)} for one in orders]
    runs = [{"q": one, "r": one} for one in ordered]
    names = [
        "nDCG", "nDCG@2", "nDCG@4", "DCG@5", "P@1", "P@2", "P@4", "P(norm=retrieved)@6", "R@1", "R@5",
        "P(aggregate=pooled)@2", "R(aggregate=pooled)@4", "RR", "RR@1", "RR@4", "RR(rel=2)", "AP",
        "AP@1", "AP@2", "AP@5", "AP(norm=min)@2", "AP(norm=k)@4",
    ]  # fmt: skip
    names = [str(metric) for metric in parse(*names)]
    averaged = [
        str(replace(metric, values=tuple({**metric.params, "ties": "average"}.items())))
        for metric in parse(*names)
    ]
    ours, *found = values_of_runs(
        qrels, [{"q": tied, "r": tied}, *runs], [*names, *averaged], judged_only=judged_only
    )
    assert len(found) == 12
    for name, mean in zip(names, averaged, strict=True):
        for query in ("q", "r", "all"):
            seen = [one[name, query] for one in found]
            assert close(ours[mean, query], sum(seen) / len(seen)), (mean, query)


def test_what_the_mean_over_orders_does_not_go_with_is_refused() -> None:
    for other in ("norm=hits", "aggregate=pooled"):
        with pytest.raises(UsageError, match=f"ties=average does not go with {other}"):
            parse(f"AP(ties=average, {other})")


# --------------------------------------------------------------------------- names and the protocol


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("label_ranking_average_precision_score", "LRAP"),
        ("label_ranking_loss", "RankingLoss"),
        ("coverage_error", "CoverageError"),
        ("ndcg_score@5", "nDCG(ties=average)@5"),
        ("dcg_score", "DCG(ties=average)"),
        ("average_precision_score", "AP(ties=threshold)"),
        ("average_precision_score(aggregate=pooled)", "AP(ties=threshold, aggregate=pooled)"),
        ("roc_auc_score", "AUC(ties=half)"),
        ("top_k_accuracy_score", "Success@2"),  # its own default
        ("top_k_accuracy_score(rel=2)", "Success(rel=2)@2"),
        ("top_k_accuracy_score@5", "Success@5"),
        ("Accuracy@10", "Success@10"),
        ("nR_as_coded@2", "RelP(norm=queries)@2"),
    ],
)
def test_names(text: str, metric: str) -> None:
    assert [str(one) for one in parse(text)] == [metric]


def test_a_name_fixes_what_it_stands_for() -> None:
    with pytest.raises(UsageError, match="the name fixes ties=average"):
        parse("ndcg_score(ties=rank)")
    with pytest.raises(UsageError, match="aggregate is one of geometric_mean"):
        parse("GMAP(aggregate=pooled)")


def test_the_protocol() -> None:
    """Plain names mean what scikit-learn computes; a query that the run is silent on is no row."""
    qrels = {"1": {"a": 1, "b": 0}, "none": {"a": 0, "b": 0}, "silent": {"a": 1}}
    run = {"1": {"a": 1.0, "b": 1.0}, "none": {"a": 2.0, "b": 1.0}}
    names = ["LRAP", "RankingLoss", "CoverageError", "nDCG", "DCG", "AP", "AUC"]
    asked = Warehouse.score(qrels, run, names, protocol="sklearn")
    assert [str(one.metric) for one in asked.requested] == [
        "LRAP", "RankingLoss", "CoverageError", "nDCG(ties=average)", "DCG(ties=average)",
        "AP(ties=threshold)", "AUC(ties=half)",
    ]  # fmt: skip
    found: dict[str, list[float | None]] = {}
    for query, _, value in asked.relation.fetchall():
        found.setdefault(query, []).append(value)
    mean = (1 + 1 / math.log2(3)) / 2
    assert found["1"] == pytest.approx([1 / 2, 1, 2, mean, mean, 1 / 2, 1 / 2], rel=1e-12)
    assert found["none"] == [1, 0, 0, 0, 0, 0, None]
    assert set(found) == {"1", "none", "all"}


# --------------------------------------------------------------------------- golden values

BIBTEX = CASES / "bibtex"
NAMES = {
    "label_ranking_average_precision": "LRAP",
    "coverage_error": "CoverageError",
    "label_ranking_loss": "RankingLoss",
    "average_precision_score(micro)": "AP(ties=threshold, aggregate=pooled)",
    "average_precision_score(samples)": "AP(ties=threshold)",
} | {
    f"ndcg_score(k={k},ignore_ties={ignored})": f"nDCG{rule}" + (f"@{k}" if k else "")
    for k in (1, 3, 5, None)
    for ignored, rule in ((True, ""), (False, "(ties=average)"))
}
# Below this two sums of the same numbers in another order may differ.
SAME = 1e-12


def golden(run: str) -> dict[str, float]:
    found = rows(BIBTEX / "golden" / "sklearn.aggregate.tsv")
    values = {row["measure"]: float(row["value"]) for row in found if row["run"] == run}
    assert set(values) == set(NAMES)
    return values


def bibtex(run: str) -> dict[str, float | None]:
    files = BIBTEX / "qrels.txt.gz", BIBTEX / "runs" / f"{run}.run.gz"
    means = Warehouse.score(*files, list(NAMES.values())).means()
    return {measure: means[name] for measure, name in NAMES.items()}


@pytest.mark.slow
@needs_cases
def test_bibtex_whole_matrix() -> None:
    """The run ridge holds the score of every label; every row of the matrix has labels.

    With ignore_ties scikit-learn leaves equal scores in an order of numpy's, which is not defined: where
    it makes a difference, at 5 and without a cutoff, the value is another one.
    """
    ours, theirs = bibtex("ridge"), golden("ridge")
    arbitrary = {f"ndcg_score(k={k},ignore_ties=True)" for k in (5, None)}
    for measure, wanted in theirs.items():
        assert close(ours[measure], wanted, SAME) == (measure not in arbitrary), measure
        assert close(ours[measure], wanted, 1e-3)


@pytest.mark.slow
@needs_cases
def test_bibtex_cut_lists() -> None:
    """The runs prior and knn20 are cut to 50 labels, where scikit-learn had the scores of all 159.

    What looks at the first labels only is the same. Of knn20, lists shorter than 50 lack the labels of
    score 0, which stand together below the others: where there are 2, they reach into the first 3.
    """
    for run, cutoffs in (("prior", "135"), ("knn20", "1")):
        ours, theirs = bibtex(run), golden(run)
        for k in cutoffs:
            measure = f"ndcg_score(k={k},ignore_ties=False)"
            assert close(ours[measure], theirs[measure], SAME), (run, measure)
        for measure in ("label_ranking_average_precision", "label_ranking_loss"):
            assert not close(ours[measure], theirs[measure], 1e-3), (run, measure)


@pytest.mark.slow
@needs_cases
def test_bibtex_labels_of_score_0() -> None:
    """With the labels of score 0 put back, knn20 has the values of the whole matrix at 3 and 5 too."""
    qrels, run = read_case("bibtex", "knn20")
    labels = [row["label"] for row in rows(BIBTEX / "labels.tsv")]
    for found in run.values():
        if len(found) < 50:
            found |= {label: 0.0 for label in labels if label not in found}
    measures = [f"ndcg_score(k={k},ignore_ties=False)" for k in (1, 3, 5)]
    ours = Warehouse.score(qrels, run, [NAMES[measure] for measure in measures]).means()
    for measure in measures:
        assert close(ours[NAMES[measure]], golden("knn20")[measure], SAME), measure

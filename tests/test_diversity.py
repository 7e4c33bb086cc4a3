"""The measures of judgments by iteration against ir_measures, trec_eval and their twins.

`golden_peers/diversity.tsv` holds what ir_measures prints, by way of pyndeval, which is TREC's ndeval.
"""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path

import oracles
import pytest
from oracles_diversity import METRICS, TWINS
from test_metric_properties import collection

from warehouse import metrics as notation
from warehouse import protocols
from warehouse.warehouse import Warehouse

PEERS = Path(__file__).parent / "golden_peers"
Values = dict[tuple[str, str], float]


@cache
def golden() -> Values:
    comment, _, *rows = (PEERS / "diversity.tsv").read_text(encoding="utf-8").splitlines()
    assert comment == "# ir_measures 0.4.3, pyndeval 0.0.8"
    fields = [row.split("\t") for row in rows]
    return {(measure, query): float(value) for measure, query, value in fields}


@cache
def ours() -> Values:
    names = {measure: str(notation.parse(measure)[0]) for measure, _ in golden()}
    found = Warehouse.score(
        PEERS / "diversity.qrels", PEERS / "diversity.run", list(names), iterations=True
    ).relation.fetchall()
    by_canonical = {(metric, query): value for query, metric, value in found}
    return {(m, query): by_canonical[names[m], query] for m, query in golden()}


def is_first_rank_of_ndeval(measure: str) -> bool:
    return measure in ("ERR_IA@1", "alpha_DCG@1")


@pytest.mark.core
def test_ir_measures() -> None:
    compared = {
        key: value
        for key, value in golden().items()
        if not is_first_rank_of_ndeval(key[0]) and not math.isnan(value)
    }
    wrong = {k: (v, ours()[k]) for k, v in compared.items() if abs(ours()[k] - v) > 1e-12}
    assert not wrong
    assert len(compared) > 400
    assert {notation.parse(measure)[0].name for measure, _ in compared} == set(TWINS) - {"Rprec_IA"}


def test_known_disagreement_ndeval_forgets_to_divide_at_the_first_rank() -> None:
    """ERR-IA@1 and alpha-DCG@1 of ndeval are not divided by the number of subtopics."""
    differs = 0
    for (measure, query), value in golden().items():
        if not is_first_rank_of_ndeval(measure):
            continue
        subtopics = {
            line.split()[1]
            for line in (PEERS / "diversity.qrels").read_text(encoding="utf-8").splitlines()
            if line.split()[0] == query and int(line.split()[3]) > 0
        }
        assert ours()[measure, query] == pytest.approx(oracles.ratio(value, len(subtopics)))
        differs += ours()[measure, query] != value
    assert differs > 3


def test_known_disagreement_nnrbp_is_no_number_in_ndeval_where_nothing_is_relevant() -> None:
    without = [key for key, value in golden().items() if math.isnan(value)]
    assert without
    for measure, query in without:
        assert measure.startswith("nNRBP")
        assert ours()[measure, query] == 0


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("α_nDCG@5", "alpha_nDCG@5"),  # noqa: RUF001
        ("α_DCG(alpha=0.1)@5", "alpha_DCG(alpha=0.1)@5"),  # noqa: RUF001
        ("MAP_IA", "AP_IA"),
        ("strec@10", "StRecall@10"),
        ("map_avgjg", "AP_IA(groups=all)"),
        ("P_avgjg_5", "P_IA(groups=all)@5"),
        ("Rprec_mult_avgjg_0.40", "Rprec_IA(groups=all, multiple=0.4)"),
    ],
)
def test_names(name: str, canonical: str) -> None:
    assert [str(metric) for metric in notation.parse(name)] == [canonical]


# --------------------------------------------------------------------------- the twins

Judged = dict[str, dict[str, dict[str, int]]]


def by_iteration(rng: random.Random) -> tuple[Judged, dict[str, dict[str, float]]]:
    """Return random judgments of one to five iterations, and a run."""
    qrels, run = collection(rng)
    judged: Judged = {}
    for query, grades in qrels.items():
        for number in range(rng.randint(1, 5)):
            docs = rng.sample(sorted(grades), rng.randint(1, len(grades)))
            levels = rng.choice([[0, 1], [0, 1, 2, 3], [-1, 0, 2], [0], list(grades.values())])
            judged.setdefault(query, {})[f"i{number}"] = {d: rng.choice(levels) for d in docs}
    return judged, run


def written(judged: Judged, folder: Path) -> Path:
    path = folder / "iterations.txt"
    lines = [
        f"{query} {iteration} {doc} {grade}\n"
        for query, iterations in judged.items()
        for iteration, grades in iterations.items()
        for doc, grade in grades.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def highest(judged: Judged) -> dict[str, dict[str, int]]:
    """Return each document's highest grade: by it a document counts as judged."""
    found: dict[str, dict[str, int]] = {}
    for query, iterations in judged.items():
        for grades in iterations.values():
            for doc, grade in grades.items():
                now = found.setdefault(query, {})
                now[doc] = max(grade, now.get(doc, grade))
    return found


@pytest.mark.core
@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (1, {}),
        (2, {"protocol": "trec_eval_9"}),
        (3, {"depth": 3}),
        (4, {"level": 2}),
        (5, {"judged_only": True}),
        (6, {"judged_only": True, "depth": 4, "protocol": "trec_eval_10"}),
    ],
)
def test_twins(seed: int, options: dict, tmp_path: Path) -> None:
    judged, run = by_iteration(random.Random(seed))
    rules = protocols.get(options.get("protocol", "default"))
    scores = Warehouse.score(written(judged, tmp_path), run, METRICS, iterations=True, **options)
    found = {(metric, query): value for query, metric, value in scores.relation.fetchall()}
    grades = highest(judged)
    compared = 0
    for metric in {one.metric for one in scores.requested}:
        own = oracles.own(metric)
        values = []
        for query in judged:
            if rules.queries == "both" and query not in run:
                continue

            def ranking(known: dict[str, int], query: str = query) -> list[str]:
                return oracles.ranking(
                    run.get(query, {}), known, single=rules.score_precision == "single",
                    depth=options.get("depth"), judged_only=options.get("judged_only", False),
                )  # fmt: skip

            iterations = judged[query]
            twin = TWINS[metric.name]
            if own.get("groups") == "all":  # each takes out what it did not judge itself
                parts = [twin(ranking(g), {i: g}, **own) for i, g in iterations.items()]
                value = sum(parts) / len(parts)
            else:
                value = twin(ranking(grades[query]), iterations, **own)
            values.append(value)
            if query in run or rules.list_silent:
                compared += 1
                assert math.isclose(
                    found[str(metric), query], value, rel_tol=1e-12, abs_tol=1e-15
                ), (str(metric), query)
        assert math.isclose(found[str(metric), "all"], sum(values) / len(values), rel_tol=1e-12)
    assert compared > 800


def test_one_iteration_is_as_without(tmp_path: Path) -> None:
    """The mean over one iteration is the plain metric, and the subtopic recall is Success."""
    qrels, run = collection(random.Random(11))
    path = written({query: {"0": grades} for query, grades in qrels.items()}, tmp_path)
    pairs = {
        "AP_IA": "AP", "P_IA@4": "P@4", "Rprec_IA(groups=all)": "Rprec", "StRecall@3": "Success@3",
        "alpha_nDCG(alpha=0.0)@5": "nDCG(dcg=binary)@5",
    }  # fmt: skip
    rows = Warehouse.score(path, run, [*pairs, *pairs.values()], iterations=True)
    found = {(metric, query): value for query, metric, value in rows.relation.fetchall()}
    for query in [*qrels, "all"]:
        for one, other in pairs.items():
            assert found[one, query] == pytest.approx(found[other, query], rel=1e-12), (one, query)

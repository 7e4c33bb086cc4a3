"""How the queries' values are put together: held against Python's statistics and against each other."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import oracles
import pytest
from hypothesis import given
from refusals import expect_refusal
from test_metric_properties import FEW, SEEDS, Qrels, Run, collection

from warehouse.errors import UsageError
from warehouse.evaluate.chain import fingerprint_of
from warehouse.evaluate.plan import plan
from warehouse.metrics import protocols
from warehouse.metrics.aggregates import AGGREGATES, POOLED, WEIGHTED
from warehouse.metrics.notation import parse
from warehouse.warehouse import Warehouse

PLAIN = [name for name in AGGREGATES if name not in (POOLED, WEIGHTED)]
# AUC has no value for some queries, NumRet is a count, MCC may be below 0, E is better when lower.
BASES = ("nDCG@3", "AUC", "NumRet", "MCC(catalogue=20)@3", "E", "AP(rel=2)")
TWINS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "geometric_mean": lambda v: statistics.geometric_mean([max(x, 1e-5) for x in v]),
    "median": statistics.median,
    "min": min,
    "max": max,
    "stddev": statistics.stdev,
    "sum": math.fsum,
}


def put(base: str, aggregate: str) -> str:
    """Return the name of a metric whose queries are put together in some way."""
    (metric,) = parse(base)
    given = ", ".join([f"{k}={v}" for k, v in metric.values if k in ("rel", "catalogue") and v])
    weight = ", weight=relevant" if aggregate == WEIGHTED else ""
    at = "" if metric.params.get("cutoff") is None else f"@{metric.params['cutoff']}"
    comma = ", " if given else ""
    return str(parse(f"{metric.name}({given}{comma}aggregate={aggregate}{weight}){at}")[0])


def scored(
    qrels: object, run: object, metrics: Sequence[str], **how: object
) -> dict[str, dict[str, float | None]]:
    return scored_runs(qrels, [run], metrics, **how)[0]


def scored_runs(
    qrels: object, runs: Sequence[object], metrics: Sequence[str], **how: object
) -> list[dict[str, dict[str, float | None]]]:
    """Score runs at once, which takes hardly more time than one; return the values of each."""
    scores = Warehouse.score(qrels, runs, metrics, **how)  # type: ignore[arg-type]
    found: dict[str, dict[str, dict[str, float | None]]] = {name: {} for name in scores.names}
    for name, query, metric, value in scores.relation.fetchall():
        found[name].setdefault(metric, {})[query] = value
    return list(found.values())


def defined(values: Mapping[str, float | None]) -> dict[str, float]:
    return {q: v for q, v in sorted(values.items()) if q != "all" and v is not None}


def check(
    qrels: Mapping[str, Mapping[str, int]], found: dict[str, dict[str, float | None]]
) -> None:
    """Hold every value over all queries against the twin, worked out from the queries' values."""
    for base in map(str, parse(*BASES)):
        per_query = defined(found[base])
        values = list(per_query.values())
        level = int(parse(base)[0].params.get("rel") or 1)
        weights = [sum(g >= level for g in qrels[q].values()) for q in per_query]
        for aggregate in (*PLAIN, WEIGHTED):
            ours = found[put(base, aggregate)]
            assert {q: v for q, v in ours.items() if q != "all"} == {
                q: v for q, v in found[base].items() if q != "all"
            }
            if aggregate == WEIGHTED:
                total = sum(weights)
                wanted = (
                    math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total
                    if total
                    else None
                )
            elif not values or (aggregate == "stddev" and len(values) < 2):
                wanted = 0.0 if aggregate == "sum" and values else None
            else:
                wanted = TWINS[aggregate](values)
            value = ours["all"]
            if wanted is None or value is None:
                assert value is wanted, (base, aggregate)
            elif aggregate in ("median", "min", "max"):
                assert value == wanted, (base, aggregate)
            else:
                assert math.isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-15), (base, aggregate)


ASKED = [*BASES, *(put(base, aggregate) for base in BASES for aggregate in (*PLAIN, WEIGHTED))]


def collections(seed: int, runs: int = 4) -> tuple[Qrels, list[Run]]:
    """Return random judgments and several runs for them, each of which is silent on other queries."""
    rng = random.Random(seed)
    qrels, first = collection(rng)
    return qrels, [first, *(collection(rng)[1] for _ in range(runs - 1))]


SEVERAL = SEEDS.map(collections)


@pytest.mark.slow
@FEW
@given(data=SEVERAL)
def test_twins(data: tuple[Qrels, list[Run]]) -> None:
    qrels, runs = data
    for found in scored_runs(qrels, runs, ASKED):
        check(qrels, found)
        check_bounds(found)


def check_bounds(found: dict[str, dict[str, float | None]]) -> None:
    """What is between the lowest and the highest of the queries' values must be."""
    for base in BASES:
        over = {a: found[put(base, a)]["all"] for a in (*PLAIN, WEIGHTED)}
        low, high = over["min"], over["max"]
        if low is None or high is None:
            assert set(over.values()) == {None}
            continue
        for between in ("mean", "median", WEIGHTED):
            value = over[between]
            assert value is None or low - 1e-12 <= value <= high + 1e-12, (base, between)


@pytest.mark.core
@pytest.mark.parametrize(
    ("values", "median"),
    [([1], 1), ([1, 4], 2.5), ([4, 1, 2], 2), ([3, 3, 1, 7], 3), ([1, 2, 2, 2, 9, 9], 2)],
)
def test_the_middle(values: list[int], median: float) -> None:
    """NumRet's values are the lengths of the lists."""
    qrels = {f"q{n}": {"d0": 1} for n in range(len(values))}
    run = {f"q{n}": {f"d{m}": float(-m) for m in range(v)} for n, v in enumerate(values)}
    assert (
        scored(qrels, run, ["NumRet(aggregate=median)"])["NumRet(aggregate=median)"]["all"]
        == median
    )


POOLS = (
    "P@3", "P(norm=retrieved, no_relevant=1)@3", "R@3", "R(rel=2)@2", "F(beta=2)@3",
    "F(norm=retrieved)@3", "E", "E(beta=0.5)@2", "SetP", "SetR(rel=2)", "SetF", "SetF(x=4)",
)  # fmt: skip


def pooled_twin(text: str, qrels: Qrels, run: Run) -> float | None:
    """Return a metric over all queries by counting what is found, looked at and relevant."""
    metric = parse(text)[0]
    params = metric.params
    rel, cutoff = int(params["rel"] or 1), params.get("cutoff")
    found = looked = relevant = 0
    for query, grades in qrels.items():
        docs = oracles.ranking(run.get(query, {}), grades)[:cutoff]
        found += sum(grades.get(doc, 0) >= rel for doc in docs)
        looked += cutoff if params.get("norm") == "k" else len(docs)
        relevant += sum(grade >= rel for grade in grades.values())
    if metric.name in ("P", "SetP"):
        return found / looked if looked else None
    if metric.name in ("R", "SetR"):
        return found / relevant if relevant else None
    weight = params["x"] if params.get("x") is not None else params["beta"] ** 2
    if not looked + weight * relevant:
        return None
    f = (1 + weight) * found / (looked + weight * relevant)
    return 1 - f if metric.name == "E" else f


@pytest.mark.slow
@FEW
@given(data=SEVERAL)
def test_pooled(data: tuple[Qrels, list[Run]]) -> None:
    qrels, runs = data
    names = {text: text.replace(")", ", aggregate=pooled)") for text in POOLS if "(" in text}
    for text in POOLS:
        name, at, cutoff = text.partition("@")
        names.setdefault(text, f"{name}(aggregate=pooled){at}{cutoff}")
    by_weight = "R(aggregate=weighted, weight=relevant)@3"
    found_by_run = scored_runs(qrels, runs, [*POOLS, *names.values(), by_weight])
    pairs = itertools.product(zip(runs, found_by_run, strict=True), names.items())
    for (run, found), (text, name) in pairs:
        whole, pooled = found[str(parse(text)[0])], found[str(parse(name)[0])]
        wanted, value = pooled_twin(text, qrels, run), pooled["all"]
        if wanted is None or value is None:
            assert value is wanted, text
        else:
            assert math.isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-15), text
        # the queries' own values are the same to the last bit
        assert {**whole, "all": None} == {**pooled, "all": None}
    for found in found_by_run:  # recall is pooled by weight
        pooled, weighted = found["R(aggregate=pooled)@3"]["all"], found[by_weight]["all"]
        assert (pooled is None) == (weighted is None)
        if pooled is not None and weighted is not None:
            assert math.isclose(pooled, weighted, rel_tol=1e-12, abs_tol=1e-15)


QRELS = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
RUN = {"q1": {"a": 1.0}, "q2": {"z": 2.0, "a": 1.0}, "q3": {"z": 1.0}}  # RR 1, 1/2, 0
BY_LENGTH = "RR(aggregate=weighted, weight=length)"


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_an_attribute_of_the_queries_weighs(tmp_path: Path) -> None:
    lengths = table(tmp_path / "lengths.csv", "query_id,length\nq1,1\nq2,4\nq3,5\nq4,9\n")
    found = scored(QRELS, RUN, [BY_LENGTH], attributes=[lengths])[BY_LENGTH]
    assert found["all"] == (1 * 1 + 4 * 0.5 + 5 * 0) / 10
    # attributes of documents may stand beside them
    docs = table(tmp_path / "docs.csv", "doc_id,length\na,7\n")
    assert scored(QRELS, RUN, [BY_LENGTH], attributes=[docs, lengths])[BY_LENGTH] == found


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("q1,1\nq2,4\n", ["is not one number for 1 query", "q3", "give each"]),
        ("q1,1\nq2,-4\nq3,-1\n", ["is below 0 for 2 queries", "q2, q3"]),
        ("q1,short\nq2,4\nq3,2\n", ["is not one number for 3 queries", "q1, q2, q3"]),
    ],
)
def test_a_wrong_weight_is_refused(tmp_path: Path, rows: str, words: list[str]) -> None:
    lengths = table(tmp_path / "lengths.csv", f"query_id,length\n{rows}")
    with pytest.raises(UsageError) as caught:
        scored(QRELS, RUN, [BY_LENGTH], attributes=[lengths])
    for word in (BY_LENGTH, "length", *words):
        assert word in str(caught.value)


def test_weights_of_0_leave_nothing(tmp_path: Path) -> None:
    lengths = table(tmp_path / "lengths.csv", "query_id,length\nq1,0\nq2,0\nq3,0\n")
    assert scored(QRELS, RUN, [BY_LENGTH], attributes=[lengths])[BY_LENGTH]["all"] is None


def test_an_undefined_query_weighs_nothing(tmp_path: Path) -> None:
    name = "LAG(aggregate=weighted, weight=length)"
    lengths = table(tmp_path / "lengths.csv", "query_id,length\nq1,3\nq2,1\nq3,100\n")
    found = scored(QRELS, RUN, [name], attributes=[lengths])[name]
    assert found == {"q1": 0.0, "q2": 1.0, "q3": None, "all": (3 * 0 + 1 * 1) / 4}


def test_a_lacking_attribute_is_asked_for(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    with pytest.raises(UsageError) as caught:
        wh.evaluate(metrics=[BY_LENGTH])
    assert str(caught.value) == (
        f"{BY_LENGTH} reads the attribute length of the queries, and dataset tiny has none of that "
        "name; load it with: warehouse ingest attributes FILE --of queries -d tiny"
    )
    with pytest.raises(UsageError, match=r"what was given has none of that name.*column query_id"):
        scored(QRELS, RUN, [BY_LENGTH])
    with expect_refusal("relevent … relevant"):
        scored(QRELS, RUN, ["RR(aggregate=weighted, weight=relevent)"])


@pytest.mark.slow
def test_other_weights_make_values_stale(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    names = [BY_LENGTH, "RR(aggregate=weighted, weight=relevant)", "RR"]
    lengths = {"q1": {"length": 1}, "q2": {"length": 4}, "q3": {"length": 5}}
    wh.ingest_attributes("tiny", lengths, of="queries", name="lengths")
    assert wh.evaluate(metrics=names).computed == 3
    assert wh.evaluate(metrics=names).computed == 0
    lengths["q1"]["length"] = 3
    wh.ingest_attributes("tiny", lengths, of="queries", name="lengths", replace=True)
    assert wh.evaluate(metrics=names).stale == 1
    assert wh.leaderboard("tiny", metrics=BY_LENGTH).fetchall()[0][3] == (3 + 4 * 0.5) / 12
    # what is refused leaves everything as it was
    del lengths["q2"]
    wh.ingest_attributes("tiny", lengths, of="queries", name="lengths", replace=True)
    with pytest.raises(UsageError, match="is not one number for 1 query"):
        wh.evaluate(metrics=names)
    assert wh.leaderboard("tiny", metrics=BY_LENGTH).fetchall()[0][3] == (3 + 4 * 0.5) / 12


@pytest.mark.slow
def test_the_same_bits_stored_and_scored(wh: Warehouse) -> None:
    qrels, run = collection(random.Random(4), 40)
    names = [*ASKED, "P(aggregate=pooled)@3", "Spread(aggregate=median)@2", "Spread@2"]
    rows = [
        Warehouse.score(qrels, run, names, threads=threads).relation.fetchall()
        for threads in (1, 2, 4)
    ]
    assert rows[0] == rows[1] == rows[2]
    wh.ingest_qrels("tiny", qrels)
    wh.ingest_run("tiny", run, name="one")
    wh.evaluate(metrics=names)
    stored = wh.query("select metric, aggregate, value from scores").fetchall()
    ours = {metric: value for query, metric, value in rows[0] if query == "all"}
    assert {metric: value for metric, _, value in stored} == ours
    assert {metric: how for metric, how, _ in stored} == {
        str(metric): metric.aggregate for metric in parse(*names)
    }


def test_what_a_query_weighs_is_in_the_fingerprint() -> None:
    work = plan(parse("AP", "AP(aggregate=median)", "AP(aggregate=weighted, weight=relevant)",
                      "AP(aggregate=weighted, weight=n)"), protocols.get("default"))  # fmt: skip
    assert len({fingerprint_of(work, metric) for metric in work.queries}) == 4
    assert len(set(work.queries.values())) == 1


def test_a_board_says_what_it_shows(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    wh.evaluate(metrics=["RR", "NumRet", "NumRel", "AP(aggregate=median)", "RR(aggregate=stddev)"])
    board = wh.leaderboard("tiny")
    assert board.over_queries == (
        "mean over queries; NumRet, NumRel: sum; AP(aggregate=median): median; "
        "RR(aggregate=stddev): standard deviation"
    )
    assert wh.leaderboard("tiny", metrics="RR").over_queries == "mean over queries"
    assert wh.leaderboard("tiny", metrics="NumRel").over_queries == "sum over queries"
    assert board.notes == (f"{board.over_queries}; 3 of 3 judged queries answered by every run",)


@pytest.mark.slow
def test_a_board_names_each_way_that_values_of_a_metric_were_put_together(wh: Warehouse) -> None:
    """A template may have said another aggregate when the older run was evaluated."""
    wh.ingest_qrels("tiny", QRELS)
    for name in ("old", "new"):
        wh.ingest_run("tiny", RUN, name=name)
        wh.evaluate(metrics="RR", runs=name)
    with duckdb.connect(str(wh.path)) as con:
        con.execute("update store.score set aggregate = 'sum' where evaluation_id = 1")
    wh.verify(renew=True)
    assert wh.leaderboard("tiny", metrics="RR").over_queries == "mean over queries; RR: sum"


def test_only_sums_of_counts_are_counts() -> None:
    names = ["NumRet", "NumRet(aggregate=mean)", "AP(aggregate=sum)", "NumRel", "AP"]
    assert [m.is_count for m in parse(*names)] == [True, False, False, True, False]


@pytest.mark.slow
def test_parts_are_put_together_alike(wh: Warehouse) -> None:
    """Of queries, whose values are taken over, and of documents, where ranks start anew."""
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    queries = {"q1": {"length": 1, "sort": "x"}, "q2": {"length": 3, "sort": "x"}}
    queries["q3"] = {"length": 5, "sort": "y"}
    wh.ingest_attributes("tiny", queries, of="queries", name="lengths")
    wh.ingest_attributes("tiny", {"a": {"kind": "k"}, "z": {"kind": "l"}}, of="docs", name="kinds")
    names = [
        BY_LENGTH,
        "RR(aggregate=median)",
        "RR(aggregate=stddev)",
        "R(aggregate=pooled)@1",
        "RR",
    ]
    wh.evaluate(metrics=names, slices=["sort", "kind"])
    values = {
        (part, metric): value
        for part, metric, value in wh.query(
            "select part, metric, value from slice_scores"
        ).fetchall()
    }
    # RR is 1 and 1/2 in x and 0 in y; without the document z it is 1, 1 and 0
    wanted = {
        "x": ((1 * 1 + 3 * 0.5) / 4, 0.75, math.sqrt(0.125), 1 / 2, 0.75),
        "y": (0.0, 0.0, None, 0.0, 0.0),
        "k": ((1 + 3) / 9, 1.0, math.sqrt((1 / 9 + 1 / 9 + 4 / 9) / 2), 2 / 3, 2 / 3),
    }
    for part, row in wanted.items():
        for metric, value in zip(names, row, strict=True):
            assert values[part, metric] == (
                value if value is None else pytest.approx(value, rel=1e-15)
            )
    board = wh.leaderboard("tiny", slice="sort", metrics=["RR", "RR(aggregate=median)"])
    assert board.over_queries == "mean over queries; RR(aggregate=median): median"

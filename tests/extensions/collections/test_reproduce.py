"""Reproduction measures: by hand, and against repro_eval on real runs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import oracles_agreement as twin
import pytest
from projects import command
from refusals import expect_refusal
from shared_cases import case, needs_cases

from warehouse.errors import UsageError
from warehouse.extensions.collections import reproduce
from warehouse.extensions.collections.reproduction import Reproduction
from warehouse.warehouse import Warehouse

pytest.importorskip("scipy")

GOLDEN = json.loads((Path(__file__).parents[2] / "golden_peers" / "repro_eval.json").read_text())
CLOSE = {"rel": 1e-9, "abs": 1e-12}
# of these each half of the topics is a dataset
REPLICATED = ("dl19_passage",)


def ranks(**positions: int) -> dict[str, dict[str, float]]:
    """Return a run that has the relevant document of each query at this rank."""
    return {
        query: {"a" if r == rank else f"x{r}": -float(r) for r in range(1, rank + 1)}
        for query, rank in positions.items()
    }


def rows(found: Reproduction) -> dict[tuple[str, str], dict[str, Any]]:
    relation = found.relation
    made = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return {(row["metric"], row["pair"]): row for row in made}


def load(wh: Warehouse, dataset: str = "tiny", **runs: dict[str, dict[str, float]]) -> Warehouse:
    wh.ingest_qrels(
        dataset, {q: {"a": 1} for q in sorted({q for run in runs.values() for q in run})}
    )
    for name, run in runs.items():
        wh.ingest_run(dataset, run, name=name)
    wh.evaluate(dataset, metrics="RR")
    return wh


@pytest.mark.core
def test_a_reproduction_by_hand(wh: Warehouse) -> None:
    """RR of the original is 1, 1/2, 1/2, 1/4; of the reproduced run 1/2, 1/2, 1, 1/4.

    The means are 9/16 both. The errors are -1/2, 0, 1/2, 0: rmse = sqrt(2/4 * 1/4) = sqrt(1/8). At most
    they are 1, 1/2, 1/2, 3/4: sqrt((1 + 1/4 + 1/4 + 9/16)/4) = sqrt(33/64). t = 0, so p = 1.
    The base is 1/2, 1/2, 1/4, 1/4, mean 3/8, and 1/4 throughout: improvements 3/16 and 5/16. er = 5/3;
    dri = (3/16)/(3/8) - (5/16)/(1/4) = 1/2 - 5/4.
    """
    load(
        wh,
        theirs=ranks(q1=1, q2=2, q3=2, q4=4), ours=ranks(q1=2, q2=2, q3=1, q4=4),
        their_base=ranks(q1=2, q2=2, q3=4, q4=4), our_base=ranks(q1=4, q2=4, q3=4, q4=4),
    )  # fmt: skip
    found = rows(reproduce(wh, "tiny", "theirs", "ours", base=("their_base", "our_base")))
    row = found["RR", "advanced"]
    assert (row["original_arp"], row["reproduced_arp"], row["difference"]) == (9 / 16, 9 / 16, 0.0)
    assert row["rmse"] == pytest.approx(math.sqrt(1 / 8))
    assert row["nrmse"] == pytest.approx(math.sqrt(8 / 33))
    assert row["p"] == pytest.approx(1.0)
    assert row["er"] == pytest.approx(5 / 3)
    assert row["dri"] == pytest.approx(-3 / 4)
    assert (row["queries"], row["reproduced_queries"]) == (4, 4)
    base = found["RR", "base"]
    assert (base["original"], base["reproduced"], base["er"]) == ("their_base", "our_base", None)
    # differences -1/4, -1/4, 0, 0: mean -1/8, deviation sqrt(4/64 / 3), t = -1/8 * 2 / (1/4 / sqrt 3)
    # = -sqrt 3, and with three degrees of freedom p = 1 - 2/pi * (pi/4 + 1/2)
    assert base["p"] == pytest.approx(1 / 2 - 1 / math.pi, rel=1e-9)


@pytest.mark.slow
@pytest.mark.core
def test_a_replication_by_hand(wh: Warehouse) -> None:
    """RR 1, 1/2 against 1/2, 1/4, 1/4 on other queries: means 3/4 and 1/3, variances 1/8 and 1/48.

    Pooled (1/8 + 2/48)/3 = 1/18; error sqrt(1/18 * (1/2 + 1/3)) = sqrt(5/108); t = -5/12 / that.
    """
    load(wh, theirs=ranks(q1=1, q2=2))
    load(wh, "other", ours=ranks(r1=2, r2=4, r3=4))
    found = reproduce(wh, "tiny", "theirs", "ours", replicated_in="other")
    assert found.queries is None
    row = rows(found)["RR", "advanced"]
    assert row["difference"] == pytest.approx(-5 / 12)
    t = (5 / 12) / math.sqrt(5 / 108)
    # the tails of Student's t with three degrees of freedom
    inner = math.atan(t / math.sqrt(3)) + (t / math.sqrt(3)) / (1 + t * t / 3)
    assert row["p"] == pytest.approx(1 - 2 / math.pi * inner, rel=1e-9)
    empty = ("rmse", "nrmse", "ktu", "rbo", "er", "dri")
    assert {row[key] for key in empty} == {None}
    assert (row["queries"], row["reproduced_queries"]) == (2, 3)


def test_a_run_reproduces_itself(demo: Warehouse) -> None:
    found = rows(
        reproduce(demo, "dl19", "tasb", "tasb", base=("bm25", "bm25"), metrics="nDCG@10", depth=100)
    )
    row = found["nDCG@10", "advanced"]
    assert (row["rmse"], row["nrmse"], row["difference"], row["p"]) == (0.0, 0.0, 0.0, None)
    assert row["er"] == 1.0
    assert row["dri"] == 0.0
    assert row["ktu"] == 1.0
    assert row["rbo"] == pytest.approx(1, **CLOSE)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Warehouse]:
    """Return a function that makes the warehouse of a case, once."""
    return cache(
        lambda name: load_case(Warehouse(tmp_path_factory.mktemp(name) / "w.duckdb"), name)
    )


def load_case(wh: Warehouse, name: str) -> Warehouse:
    """Load the runs of a case's pairs, of all topics and of each half of them, and evaluate them."""
    found = case(name)
    pairs = [pair["runs"] for pair in GOLDEN["pairs"] if pair["case"] == name]
    parts = {name: (0, 1, 2, 3)}
    wh.ingest_qrels(name, str(found.qrels))
    if name in REPLICATED:
        rows = wh.query("select query_id, doc_id, relevance from qrels").fetchall()
        topics = sorted({row[0] for row in rows})
        for rest, sides in ((0, (0, 2)), (1, (1, 3))):
            kept: dict[str, dict[str, int]] = {topic: {} for topic in topics[rest::2]}
            for query, doc, relevance in rows:
                if query in kept:
                    kept[query][doc] = relevance
            wh.ingest_qrels(f"{name}{rest}", kept)
            parts[f"{name}{rest}"] = sides
    for dataset, sides in parts.items():
        for run in sorted({runs[side] for runs in pairs for side in sides}):
            wh.ingest_run(dataset, str(found.runs[run]))
    wh.evaluate(metrics="AP nDCG@10 P@10 RR", protocol="trec_eval_9")
    return wh


@pytest.mark.sample(3, 3)
@pytest.mark.slow
@needs_cases
@pytest.mark.parametrize(
    "golden",
    [
        pytest.param(
            pair, id="-".join(pair["runs"][:2]),
            marks=[] if pair["case"] in REPLICATED else [pytest.mark.long],
        )
        for pair in GOLDEN["pairs"]
    ],
)  # fmt: skip
def test_measures_are_repro_evals(evaluated: Callable[[str], Warehouse], golden: dict) -> None:
    name = golden["case"]
    wh = evaluated(name)
    a, a_rep, b, b_rep = golden["runs"]
    asked = {"base": (b, b_rep), "protocol": "trec_eval_9"}
    whole = reproduce(wh, name, a, a_rep, **asked)
    assert whole.notes == () or all("ktu is over the ranks" in note for note in whole.notes)
    found_of = {"reproduction": rows(whole)}
    if name in REPLICATED:
        halves = reproduce(wh, f"{name}0", a, a_rep, replicated_in=f"{name}1", **asked)
        found_of["replication"] = rows(halves)
    for kind, found in found_of.items():
        expected = golden[kind]
        for metric in ("AP", "nDCG@10", "P@10", "RR"):
            row = found[metric, "advanced"]
            assert row["original_arp"] == pytest.approx(
                expected["arp"]["original"][metric], **CLOSE
            )
            theirs = expected["arp"]["reproduced"][metric]
            assert row["reproduced_arp"] == pytest.approx(theirs, **CLOSE)
            for measure in ("p", "er", "dri", "rmse", "nrmse"):
                if measure in expected:
                    assert row[measure] == pytest.approx(expected[measure][metric], **CLOSE), (
                        measure
                    )
    by_default = rows(reproduce(wh, name, a, a_rep, protocol="trec_eval_9"))
    row = by_default["AP", "advanced"]
    assert row["rbo"] == pytest.approx(golden["rbo"], **CLOSE)
    if "ktu" in golden:
        assert row["ktu"] == pytest.approx(golden["ktu"], **CLOSE)
    shallow = rows(reproduce(wh, name, a, a_rep, depth=10, p=0.8, protocol="trec_eval_9"))
    assert shallow["AP", "advanced"]["rbo"] == pytest.approx(golden["rbo p=0.8 depth=10"], **CLOSE)


def leaves(found: Any, at: str = "") -> dict[str, float]:
    """Return the numbers in nested lists and dicts, each by its place."""
    if isinstance(found, dict):
        return {k: v for key in found for k, v in leaves(found[key], f"{at}/{key}").items()}
    if isinstance(found, list):
        return {k: v for n, one in enumerate(found) for k, v in leaves(one, f"{at}/{n}").items()}
    return {at: found} if isinstance(found, int | float) else {}


@pytest.mark.core
def test_random_lists_are_as_the_twins_say(wh: Warehouse) -> None:
    rng = random.Random(4)
    lists: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    for number in range(40):
        pool = [f"d{n}" for n in range(rng.randint(1, 25))]
        for run in lists:
            run[f"q{number}"] = rng.sample(pool, rng.randint(1, len(pool)))
    one, other = (
        {q: {d: -float(n) for n, d in enumerate(docs)} for q, docs in run.items()} for run in lists
    )
    load(wh, theirs=one, ours=other)
    found = reproduce(wh, "tiny", "theirs", "ours", depth=12, p=0.9)
    assert len(found.queries.fetchall()) == 40
    for _, query, ktu, rbo, *_ in found.queries.fetchall():
        first, second = lists[0][query], lists[1][query]
        expected = twin.ktu(first[:12], second[:12])
        assert ktu == (None if expected is None else pytest.approx(expected, **CLOSE))
        assert rbo == pytest.approx(twin.rbo_cut(first, second, 0.9, 12), **CLOSE)
    assert "advanced: ktu is over the ranks that both lists have" in found.notes[0]


@pytest.mark.slow
def test_what_is_undefined_or_missing_is_told(wh: Warehouse) -> None:
    """What is never reached is null, and what a run does not answer is missing."""
    wh.ingest_qrels("tiny", {q: {"a": 1} for q in ("q1", "q2", "q3", "q4")})
    wh.ingest_run("tiny", ranks(q1=1, q2=3), name="theirs")
    wh.ingest_run("tiny", ranks(q1=1, q2=4, q3=2, q4=1), name="ours")
    wh.evaluate(metrics="KAtRecall(never=null)@0.5", protocol="trec_eval_9")
    found = reproduce(wh, "tiny", "theirs", "ours", protocol="trec_eval_9")
    (row,) = rows(found).values()
    assert (row["queries"], row["reproduced_queries"]) == (2, 4)
    # ranks 1 and 3 against 1 and 4
    assert row["rmse"] == pytest.approx(math.sqrt(1 / 2))
    assert row["nrmse"] is None
    name = row["metric"]
    assert f"{name}: theirs and ours: 2 queries left out of error and test" in found.notes[0]
    assert "no nrmse, because not all values lie between 0 and 1" in found.notes[1]


@pytest.mark.slow
def test_it_is_told_over_which_queries_an_improvement_is(wh: Warehouse) -> None:
    """The base runs answer two of six queries: effect ratio and relative improvement are of these."""
    queries = [f"q{n}" for n in range(6)]
    runs = {
        "theirs": ranks(**dict.fromkeys(queries, 1)),
        "ours": ranks(**dict.fromkeys(queries[:5], 1), q5=2),
        "their_base": ranks(q0=2, q1=2),
        "our_base": ranks(q0=1, q1=2),
    }
    wh.ingest_qrels("tiny", {query: {"a": 1} for query in queries})
    for name, run in runs.items():
        wh.ingest_run("tiny", run, name=name)
    wh.evaluate(metrics="RR", protocol="trec_eval_9")
    base = ("their_base", "our_base")
    found = reproduce(wh, "tiny", "theirs", "ours", base=base, metrics="RR", protocol="trec_eval_9")
    row = rows(found)["RR", "advanced"]
    # improved by 1/2 and 1/2, and by 0 and 1/2
    assert row["er"] == pytest.approx(1 / 2)
    told = "RR: er and dri are over the queries that {} both have a value of: 2 of 6 queries"
    assert [note for note in found.notes if "er and dri" in note] == [
        told.format("theirs and their_base"), told.format("ours and our_base"),
    ]  # fmt: skip
    found = reproduce(wh, "tiny", "theirs", "ours", base=("theirs", "ours"), protocol="trec_eval_9")
    assert not any("er and dri" in note for note in found.notes)


@pytest.mark.slow
def test_one_query_is_no_test_and_a_steady_difference_is_no_certainty(wh: Warehouse) -> None:
    """P is undefined where there is one query. Of two that differ by the same, it is 2 of 4 signs."""
    both = {"protocol": "trec_eval_9"}  # only queries that a run answers
    runs = {
        "one": ranks(q1=1, q2=1), "other": ranks(q1=2, q2=2), "single": ranks(q1=2),
    }  # fmt: skip
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"a": 1}})
    for name, run in runs.items():
        wh.ingest_run("tiny", run, name=name)
    wh.evaluate(metrics="RR", **both)
    found = {
        other: rows(reproduce(wh, "tiny", "one", other, **both))["RR", "advanced"]["p"]
        for other in ("other", "single")
    }
    assert found == {"other": 0.5, "single": None}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"original": "tasp"}, "tasp … tasb"),
        ({"base": ("bm25", "bm26")}, "bm26: dataset dl19 has no run of that name"),
        # a text is no two runs, though "ab" has two letters
        ({"base": "bm25"}, "base must be two runs"),
        ({"base": ("bm25",)}, "base must be two runs"),
        ({"replicated_in": "dl91"}, "dl91 … dl19"),
        ({"metrics": "MRR@3"}, "warehouse evaluate -d dl19 -m RR@3"),
        ({"depth": 0}, "depth is at least 1, not 0"),
        ({"p": 1}, "lies between 0 and 1, not 1"),
    ],
)
def test_wrong_words_are_refused(demo: Warehouse, asked: dict, message: str) -> None:
    given = {"original": "tasb", "reproduced": "bm25", "dataset": "dl19"} | asked
    with expect_refusal(message):
        reproduce(demo, **given)


def test_values_that_are_missing_are_refused_with_the_command(demo: Warehouse) -> None:
    demo.ingest_run("dl19", {"19335": {"7067032": 1.0}}, name="late")
    with pytest.raises(UsageError, match=r"no value of AP\(rel=2\) for late.*warehouse evaluate"):
        reproduce(demo, "dl19", "tasb", "late", metrics="AP(rel=2)")


@pytest.mark.slow
def test_the_command(demo: Warehouse) -> None:
    asked = ["reproduce", "tasb", "ada2", "-d", "dl19", "-f", "csv", "--db", str(demo.path)]
    code, out, told = command(*asked, "-m", "nDCG@10", "--base", "bm25", "bm25_rm3")
    assert (code, told, len(out.splitlines())) == (0, "", 3)
    code, out, _ = command(*asked, "--by-query")
    assert (code, len(out.splitlines())) == (0, 44)


@pytest.mark.slow
def test_nothing_to_divide_by_is_undefined(wh: Warehouse) -> None:
    """Without an improvement there is no effect ratio; a base of 0 has no relative improvement."""
    lost = {"q1": {"x": 1.0}, "q2": {"x": 1.0}}
    load(wh, one=ranks(q1=1, q2=2), other=ranks(q1=2, q2=2), nothing=lost)
    row = rows(reproduce(wh, "tiny", "one", "other", base=("one", "other")))["RR", "advanced"]
    assert (row["er"], row["dri"]) == (None, 0.0)
    row = rows(reproduce(wh, "tiny", "one", "other", base=("nothing", "other")))["RR", "advanced"]
    assert (row["er"], row["dri"]) == (0.0, None)


@pytest.mark.slow
def test_last_bits_are_no_difference(wh: Warehouse) -> None:
    """AP is 7/12 of relevant documents at 1 and 12 and of those at 2 and 3; as doubles they differ."""
    queries = ("q1", "q2", "q3")
    wh.ingest_qrels("tiny", {query: {"a": 1, "b": 1} for query in queries})
    for name, places in (("theirs", {1: "a", 12: "b"}), ("ours", {2: "a", 3: "b"})):
        found = {places.get(rank, f"x{rank}"): -float(rank) for rank in range(1, 13)}
        wh.ingest_run("tiny", dict.fromkeys(queries, found), name=name)
    wh.evaluate(metrics="AP")
    found = reproduce(wh, "tiny", "theirs", "ours").relation
    assert found.project("rmse, nrmse, p").fetchall() == [(0.0, 0.0, None)]

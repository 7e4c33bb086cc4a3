"""Slices: parts of the queries or of the documents, by themselves, and what adds up to the whole."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest
from projects import stored

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
DOCS = [f"d{n:02}" for n in range(30)]
METRICS = (
    "AP", "AP(judged_only=True)", "AP(aggregate=pooled)", "AUC(aggregate=pooled)", "nDCG@5", "P@3",
    "P(norm=retrieved)@3", "R@5", "RR", "bpref", "Judged@4", "NumRet", "NumRel", "NumRelRet", "GMAP",
    "AUC(ties=half)", "LRAP", "Unjudged@3", "alpha_nDCG@5", "Rprec", "KAtRecall@0.5",
)  # fmt: skip


def collection(seed: int) -> tuple[Qrels, Run]:
    """Return random qrels and a run: ties, unjudged documents, grades below 0, a query not answered."""
    rng = random.Random(seed)
    qrels = {
        f"q{n}": {d: rng.choice([-1, 0, 0, 1, 1, 2]) for d in rng.sample(DOCS, rng.randint(3, 12))}
        for n in range(9)
    }
    run = {
        q: {d: float(rng.randint(0, 8)) for d in rng.sample(DOCS, rng.randint(1, 20))}
        for q in qrels
    }
    del run["q7"]
    return qrels, run


def loaded(wh: Warehouse, qrels: Qrels, run: Run) -> Warehouse:
    wh.ingest_qrels("tiny", qrels)
    wh.ingest_run("tiny", run, name="one")
    return wh


def parts(wh: Warehouse, slice: str, run: str = "one") -> dict[tuple[str, str], float | None]:
    """Return the values over all queries of the parts of a slice."""
    sql = "select part, metric, value from slice_scores where slice = $s and run = $r"
    return {(p, m): v for p, m, v in stored(wh, sql, s=slice, r=run)}


def of_queries(wh: Warehouse, slice: str) -> dict[tuple[str, str, str], float | None]:
    sql = "select part, metric, query_id, value from slice_query_scores where slice = $s"
    return {(p, m, q): v for p, m, q, v in stored(wh, sql, s=slice)}


def same(one: float | None, other: float | None) -> bool:
    return one == other or (
        one is not None and other is not None and math.isclose(one, other, rel_tol=0, abs_tol=1e-12)
    )


def check_against_scoring(
    wh: Warehouse,
    slice: str,
    cut: Mapping[str, tuple[Qrels, Run]],
    protocol: str,
    **options: object,
) -> None:
    """Hold each part against the scores of files that hold that part alone."""
    over_all, by_query = parts(wh, slice), of_queries(wh, slice)
    assert {part for part, _ in over_all} == set(cut)
    for part, (qrels, run) in cut.items():
        scores = Warehouse.score(qrels, run, METRICS, protocol=protocol, **options)
        for query, metric, value in scores.relation.fetchall():
            ours = over_all[part, metric] if query == "all" else by_query[part, metric, query]
            assert same(ours, value), (part, query, metric, ours, value)
        assert sum(key[0] == part for key in by_query) == len(scores.relation.fetchall()) - len(
            METRICS
        )


@pytest.mark.slow
@pytest.mark.sample(3, 3)
@pytest.mark.core
@pytest.mark.parametrize(("seed", "protocol"), [(1, "default"), (3, "trec_eval_9"), (4, "xclib")])
def test_a_part_of_the_queries_is_what_these_queries_alone_are(
    wh: Warehouse, seed: int, protocol: str
) -> None:
    qrels, run = collection(seed)
    loaded(wh, qrels, run)
    wh.ingest_attributes(
        "tiny", {q: {"n": int(q[1:])} for q in qrels if q != "q8"}, of="queries", name="n"
    )
    wh.evaluate(
        metrics=METRICS,
        protocol=protocol,
        slices="kind = case when n < 4 then 'low' when n >= 4 then 'high' end",
    )
    kinds = {q: "not_included" if q == "q8" else "low" if q < "q4" else "high" for q in qrels}
    cut = {
        part: (
            {q: found for q, found in qrels.items() if kinds[q] == part},
            {q: found for q, found in run.items() if kinds[q] == part},
        )
        for part in ("low", "high", "not_included")
    }
    check_against_scoring(wh, "kind", cut, protocol)


@pytest.mark.slow
@pytest.mark.sample(2, 2)
@pytest.mark.core
@pytest.mark.parametrize(("seed", "depth"), [(3, None), (4, 6)])
def test_a_part_of_the_documents_is_what_these_documents_alone_are(
    wh: Warehouse, seed: int, depth: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """Ranks start anew in a part; how far the protocol looks is about the whole list."""
    protocol = "default"
    if depth is not None:
        file = tmp_path / "warehouse.toml"
        file.write_text(
            f'[protocols.short]\nextends = "default"\nsummary = "Short lists."\ndepth = {depth}\n'
        )
        monkeypatch.setenv("WAREHOUSE_CONFIG", str(file))
        protocol = "short"
    qrels, run = collection(seed)
    loaded(wh, qrels, run)
    wh.evaluate(metrics=METRICS, protocol=protocol, slices="ending = doc_id[-1] in ('1', '2', '3')")
    top = {
        q: dict(sorted(found.items(), key=lambda one: (-one[1], [-ord(c) for c in one[0]]))[:depth])
        for q, found in run.items()
    }
    cut = {}
    for part in ("true", "false"):
        inside = {d for d in DOCS if (d[-1] in "123") == (part == "true")}
        cut[part] = tuple(
            {q: {d: v for d, v in found.items() if d in inside} for q, found in source.items()}
            for source in (qrels, top)
        )
        cut[part] = tuple({q: found for q, found in one.items() if found} for one in cut[part])
    # documents that nobody judged and that have no attribute are told apart by their ids too
    assert any(d not in judged for q, judged in qrels.items() for d in run.get(q, ()))
    check_against_scoring(wh, "ending", cut, "default")


@pytest.mark.slow
def test_ranks_of_a_part_worked_by_hand(wh: Warehouse) -> None:
    """The run has a x b y c d; of the films (a, b, c) those stand at 1, 2, 3, in the whole at 1, 3, 5.

    a and c are relevant films; y is a relevant book at rank 4, d (rank 6) is a book that nobody judged.
    """
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "y": 1}, "s": {"a": 1}}
    run = {"q": {"a": 6.0, "x": 5.0, "b": 4.0, "y": 3.0, "c": 2.0, "d": 1.0}, "s": {"z": 1.0}}
    kinds = {d: {"kind": "film"} for d in "abc"} | {d: {"kind": "book"} for d in "yd"}
    loaded(wh, qrels, run).ingest_attributes("tiny", kinds, of="docs", name="kinds")
    names = ["AP", "AP(scope=global)", "P@2", "P(scope=global)@2", "NumRet", "NumRet(scope=global)"]
    metrics = [*names, "RR", "R@4", "R(scope=global)@4"]
    wh.evaluate(metrics=metrics, slices="kind", protocol="trec_eval_10")
    found = of_queries(wh, "kind")
    expected = {
        ("film", "AP"): (1 / 1 + 2 / 3) / 2,
        ("film", "AP(scope=global)"): (1 / 1 + 2 / 5) / 2,
        ("film", "P@2"): 1 / 2,
        ("film", "P(scope=global)@2"): 1 / 2,
        ("film", "NumRet"): 3,
        ("film", "NumRet(scope=global)"): 6,
        ("film", "RR"): 1,
        ("film", "R@4"): 2 / 2,
        ("film", "R(scope=global)@4"): 1 / 2,
        ("book", "AP"): 1 / 1,
        ("book", "AP(scope=global)"): 1 / 4,
        ("book", "P@2"): 1 / 2,
        ("book", "P(scope=global)@2"): 0,
        ("book", "NumRet"): 2,
        ("book", "NumRet(scope=global)"): 6,
        ("book", "RR"): 1,
        ("book", "R@4"): 1,
        ("book", "R(scope=global)@4"): 1,
    }
    assert {(p, m): v for (p, m, q), v in found.items() if q == "q"} == pytest.approx(
        expected, rel=1e-12
    )
    # s has a list, though no film is in it: it counts, as 0; of books nothing is judged for it
    assert found["film", "AP", "s"] == 0
    assert ("book", "AP", "s") not in found
    # x and z have no kind, and nobody judged them: their part has no query that counts
    assert {p for p, *_ in found} == {"film", "book"}
    assert parts(wh, "kind")["not_included", "AP"] is None


@pytest.mark.slow
def test_what_is_counted_of_queries_and_documents(wh: Warehouse) -> None:
    qrels = {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"a": 1}}
    loaded(wh, qrels, {"q1": {"c": 2.0, "a": 1.0}, "q2": {"a": 1.0}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, name="two")
    wh.ingest_training("tiny", {"t1": {"a": 1, "e": 1}, "t2": {"a": 1}})
    wh.evaluate(metrics=["AP", "P@1"])
    wh.evaluate(
        metrics="P@1",
        slices=[
            "num_relevant",
            "difficulty",
            "p = mean_score('P@1')",
            "frequency",
            "training_frequency",
        ],
    )
    with pytest.raises(UsageError, match=r"stored as AP: write mean_score\('AP'\)$"):
        wh.evaluate(metrics="P@1", slices="p = mean_score('map')")
    rows = wh.query(
        "select name, subject_id, part from store.slice join store.slice_member using (slice_id)"
    )
    found: dict[str, dict[str, str]] = {}
    for name, subject, part in rows.fetchall():
        found.setdefault(name, {})[subject] = part
    assert found == {
        "num_relevant": {"q1": "2", "q2": "1"},
        # AP of q1: one finds a at 2 (1/2 / 2), two finds a at 1 (1 / 2); of q2: 1 and 0
        "difficulty": {"q1": str((0.25 + 0.5) / 2), "q2": "0.5"},
        "p": {"q1": "0.5", "q2": "0.5"},
        "frequency": {"a": "2", "b": "1", "c": "0"},
        "training_frequency": {"a": "2", "b": "0", "c": "0", "e": "1"},
    }


@pytest.mark.slow
def test_a_slice_is_made_from_values_that_the_same_call_computes(wh: Warehouse) -> None:
    loaded(wh, {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}, "q2": {"c": 2.0, "b": 1.0}})
    asked = {"metrics": ["RR", "AP"], "slices": ["difficulty", "d = mean_score('RR') < 1"]}
    with pytest.raises(UsageError, match="no run of tiny has values of RR"):
        wh.evaluate(metrics="AP", slices="d = mean_score('RR')")
    assert wh.evaluate(**asked, dry_run=True).details == wh.evaluate(**asked).details
    halves = {("0.5", metric): 0.5 for metric in ("AP", "RR")}
    assert parts(wh, "difficulty") == halves | {("1", metric): 1.0 for metric in ("AP", "RR")}
    # new judgments leave no values to make them from
    wh.ingest_qrels("tiny", {"q1": {"z": 1}, "q2": {"c": 1}}, replace=True)
    status = wh.status("tiny")
    assert (status.num_missing, status.num_orphaned) == (6, 0)
    # against the old ones it is made of the values against these
    wh.ingest_run("tiny", {"q1": {"z": 1.0}}, name="two")
    assert wh.evaluate("tiny", qrels=1, metrics="AP").computed == 1
    assert wh.evaluate("tiny", qrels=1, slices="difficulty").left_out == []
    with pytest.raises(UsageError, match=r"values of P@1 .*: warehouse .* -m P@1 --qrels 1$"):
        wh.evaluate("tiny", qrels=1, metrics="AP", slices="p = mean_score('P@1')")
    members = stored(
        wh,
        "select part from store.slice_member join store.slice using (slice_id) where version = 2",
    )
    assert members == [("0.25",), ("0.5",)]  # of one 1 and 1 / 2, of two 0
    done = wh.evaluate("tiny")
    assert (done.computed, done.left_out) == (12, [])
    # of one 0 and 1 / 1, of two 1 and 0
    assert {part for part, _ in parts(wh, "difficulty")} == {"0.5"}


@pytest.mark.slow
@pytest.mark.core
def test_each_protocol_and_version_of_the_qrels_has_its_members(wh: Warehouse) -> None:
    # the run lacks q2: its AP is 0 under the protocol default, and null under the other
    loaded(wh, {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}})
    by = {"metrics": "AP", "slices": ["difficulty", "num_relevant"]}
    one, other = ({"protocol": name} for name in ("default", "trec_eval_9"))
    made = [wh.evaluate(**by, **protocol).slices for protocol in (one, other)]
    assert [[line.split(": ")[0] for line in lines] for lines in made] == [
        ["slice difficulty", "slice num_relevant"], ["slice difficulty, version 2"]
    ]  # fmt: skip
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 1}, "q2": {"b": 1}}, replace=True)
    assert wh.evaluate("tiny").computed + wh.evaluate("tiny", **other).computed == 6
    assert wh.evaluate("tiny", qrels=1, **by).computed == 0
    status = wh.status("tiny")
    assert (status.num_to_compute, status.num_up_to_date) == (0, 6)
    assert (wh.verify().num_verified, wh.verify().skipped) == (12, {})

    def shown(slice: str, **options: object) -> list[str]:
        board = wh.leaderboard("tiny", slice=slice, **options)
        return [part for part, *_ in board.fetchall()]

    assert shown("difficulty", qrels=1, **one) == ["0", "1"]
    assert shown("difficulty", **one) == ["0", "0.5"]
    assert shown("difficulty", **other) == ["0.5", "not_included"]
    assert (shown("num_relevant", qrels=1), shown("num_relevant")) == (["1"], ["1", "2"])
    # members that go back are a version of their own, for both protocols the same one
    for grades in ({"a": 1}, {"a": 1, "b": 1}):
        wh.ingest_qrels("tiny", {"q1": grades, "q2": {"b": 1}}, replace=True)
    lines = [wh.evaluate("tiny", **protocol).slices for protocol in (one, other)]
    assert lines == [[], []]


@pytest.mark.slow
@pytest.mark.core
def test_boards_show_the_whole_or_a_slice(wh: Warehouse) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}}
    loaded(wh, qrels, {"q1": {"a": 1.0}, "q2": {"b": 2.0, "a": 1.0}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}, "q3": {"b": 1.0}}, name="two")
    wh.ingest_attributes(
        "tiny", {"q1": {"n": 10}, "q2": {"n": 10}, "q3": {"n": 9}}, of="queries", name="n"
    )
    wh.evaluate(metrics="RR", slices="n")
    columns = "part, place, run, RR, answered, judged"
    assert wh.leaderboard("tiny", slice="n").relation.project(columns).fetchall() == [
        ("9", 1, "two", 1.0, 1, 1),
        ("9", 2, "one", 0.0, 0, 1),
        ("10", 1, "one", (1 + 1 / 2) / 2, 2, 2),
        ("10", 2, "two", (1 / 2 + 0) / 2, 1, 2),
    ]
    top = wh.leaderboard("tiny", slice="n", top=1).relation.project("part, run").fetchall()
    assert top == [("9", "two"), ("10", "one")]
    assert len(wh.leaderboard("tiny").fetchall()) == 2
    assert wh.queries("tiny", "one", slice="n").fetchall() == [
        ("9", "q3", 0.0), ("10", "q1", 1.0), ("10", "q2", 0.5),
    ]  # fmt: skip
    assert wh.queries("tiny", "one", slice="n", worst=1).fetchall() == [
        ("9", "q3", 0.0), ("10", "q2", 0.5),
    ]  # fmt: skip
    assert wh.slices("tiny", "n").fetchall() == [("9", 1, 1, 1, 1), ("10", 2, 2, 2, 2)]
    # nothing of a slice is on the boards and in the views of the whole
    assert stored(wh, "select count(*) from scores") == [(2,)]
    assert stored(wh, "select count(*) from query_scores") == [(6,)]

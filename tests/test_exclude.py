"""Documents that are left out of the rankings: a rule of the evaluation, by which ranks close up."""

from __future__ import annotations

import pytest
from engines import InTurn
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from refusals import expect_refusal
from shared_cases import CASES, needs_cases

from warehouse.errors import InputError
from warehouse.evaluate.scorer import scorer
from warehouse.evaluate.scoring import score
from warehouse.warehouse import Warehouse

FIELD = CASES / "field"
IDS = ["a", "b", "c", "d", "q1", "q2"]
QUERIES = st.sampled_from(["q1", "q2", "q3"])
SCORES = st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1)
RUNS = st.dictionaries(QUERIES, SCORES, min_size=1)
LISTS = st.dictionaries(
    QUERIES, st.lists(st.sampled_from(IDS), min_size=1, unique=True), min_size=1
)
QRELS = {"q1": {"a": 2, "q1": 1, "b": 0}, "q2": {"q1": 1, "c": 1}, "q3": {"d": 1}}
# Metrics of hits, of lengths, of judged documents alone, and of whole lists.
METRICS = "nDCG@3 NumRet bpref P(judged_only=True)@2 AUC"
EACH = (Phase.explicit, Phase.generate)  # failing cases are small as they are


def filtered(run: dict, left_out: dict) -> dict:
    """Return a run without some documents of its queries; a list may be empty then, as BEIR's."""
    return {
        query: {doc: value for doc, value in docs.items() if doc not in left_out.get(query, ())}
        for query, docs in run.items()
    }


def means(*arguments: object, **options: object) -> dict:
    return score(*arguments, METRICS, **options).means()


@pytest.mark.slow
@settings(max_examples=6, deadline=None, phases=EACH)
@given(RUNS, LISTS, st.sampled_from(["default", "trec_eval_9", "ranx"]))
def test_a_run_is_scored_as_if_the_documents_were_not_in_its_file(run, left_out, protocol):
    training = {query: dict.fromkeys(docs, 1) for query, docs in left_out.items()}
    own = {query: [query] for query in run}
    for rule, pairs in (("self", own), (left_out, left_out), ("training", left_out)):
        found = means(QRELS, run, protocol=protocol, exclude=rule, training=training)
        assert found == means(QRELS, filtered(run, pairs), protocol=protocol)


@pytest.mark.slow
@settings(max_examples=3, deadline=None, phases=EACH)
@given(st.lists(RUNS, min_size=1, max_size=2), LISTS, st.sampled_from(["default", "trec_eval_9"]))
def test_stored_runs_get_the_values_of_filtered_files(tmp_path_factory, runs, left_out, protocol):
    wh = Warehouse(tmp_path_factory.mktemp("stored") / "x.duckdb")
    wh.ingest_qrels("d", QRELS)
    for number, run in enumerate(runs):
        wh.ingest_run("d", run, name=f"run {number}")
    done = wh.evaluate("d", metrics=METRICS, protocol=protocol, exclude=left_out)
    assert done.protocol == f"{protocol}~excluded"
    sql = "select metric, value from scores where protocol = $p and run = $run"
    for number, run in enumerate(runs):
        stored = wh.query(sql, p=done.protocol, run=f"run {number}").relation.fetchall()
        assert dict(stored) == means(QRELS, filtered(run, left_out), protocol=protocol)


@needs_cases
@pytest.mark.parametrize(
    ("folder", "qrels", "run", "metric", "rule", "value", "with_them"),
    [
        # BEIR: of a1 the first, 1/log2(2); of a2 the second, 1/log2(3) = 0.6309
        ("self_retrieval", "qrels.txt", "run.txt", "nDCG@10", "self", 0.81546488, 0.56546488),
        ("self_retrieval", "qrels.tsv", "run.csv", "nDCG@10", "self", 0.81546488, 0.56546488),
        ("exclusions", "q.txt", "r.txt", "RR", "excl.jsonl", 0.75, 0.5),
        ("seen", "ratings.csv", "knn.csv", "RR", "seen.csv", 1.0, 0.5),
    ],
)
def test_field_cases(folder, qrels, run, metric, rule, value, with_them):
    files = FIELD / folder / qrels, FIELD / folder / run
    exclude = rule if rule == "self" else FIELD / folder / rule
    (found,) = score(*files, metric, exclude=exclude).means().values()
    (before,) = score(*files, metric).means().values()
    assert (found, before) == pytest.approx((value, with_them))


# As BEIR's data: q1 and q2 are judged for themselves, q3 retrieves nothing but itself.
BEIR_QRELS = {
    "q1": {"q1": 1, "a": 2, "b": 1}, "q2": {"b": 1, "q2": 1, "d": 0}, "q3": {"q3": 1, "a": 1},
    "q4": {"c": 1},
}  # fmt: skip
BEIR_RUN = {
    "q1": {"q1": 9.0, "c": 8.0, "a": 7.0, "q2": 6.0, "b": 5.0},
    "q2": {"a": 4.0, "d": 3.0, "q2": 2.5, "b": 2.0, "q1": 1.0},
    "q3": {"q3": 1.0},
    "q4": {"q1": 3.0, "c": 2.0, "q4": 1.0},
}
# Printed by EvaluateRetrieval.evaluate of beir 2.2.0 (with pytrec_eval-terrier), which rounds to five
# places; a query whose list becomes empty counts as 0, and the judgments stay.
BEIR_VALUES = {
    True: "0.27764 0.33513 0.16667 0.20833 0.33333 0.45833 0.25 0.25",
    False: "0.40604 0.54736 0.33333 0.43056 0.45833 0.66667 0.375 0.41667",
}


@pytest.mark.parametrize("ignore_identical_ids", BEIR_VALUES)
def test_values_of_beir(ignore_identical_ids):
    names = "ndcg_cut_2,3 map_cut_2,3 recall_2,3 P_2,3"
    rule = "self" if ignore_identical_ids else None
    found = score(BEIR_QRELS, BEIR_RUN, names, protocol="trec_eval_9", exclude=rule).means()
    expected = [float(value) for value in BEIR_VALUES[ignore_identical_ids].split()]
    assert [round(value, 5) for value in found.values()] == expected


# a is seen and b is not. With a: RR 1/2 of c and 1 of a in q2. Without a: c is first (1), q2 is empty.
SEEN_QRELS = {"q1": {"c": 1}, "q2": {"a": 1}}
SEEN_RUN = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"a": 1.0}}


@pytest.fixture
def seen(wh: Warehouse) -> Warehouse:
    wh.ingest_qrels("d", SEEN_QRELS)
    wh.ingest_run("d", SEEN_RUN, name="r")
    wh.ingest_training("d", {"q1": {"a": 1}, "q2": {"a": 1}})
    wh.evaluate("d", metrics="RR NumRet")
    return wh


def board(wh: Warehouse, protocol: str) -> list[tuple]:
    found = wh.leaderboard("d", metrics="RR NumRet", protocol=protocol)
    return found.relation.project("RR, NumRet").fetchall()


@pytest.mark.slow
def test_values_with_and_without_stand_apart_and_follow_the_list(seen):
    seen.evaluate("d", metrics="RR NumRet", exclude="training")
    assert board(seen, "default") == [(0.75, 4.0)]
    assert board(seen, "default~training") == [(0.5, 2.0)]
    row = next(iter(seen.queries("d", "r", protocol="default~training")))
    assert (row.RR, row.retrieved, row.unjudged_at_10) == (1.0, 2, 1)
    seen.ingest_training("d", {"q1": {"c": 1}}, replace=True)
    assert seen.status("d").details.num_stale == 2
    seen.evaluate("d", exclude="training")
    assert board(seen, "default~training") == [(0.5, 3.0)]  # c is gone from q1, a is first in q2
    assert not seen.verify("d").relation.fetchall()


@pytest.mark.slow
def test_a_list_that_changes_makes_values_stale(seen):
    for documents, value in ((["a"], 1.0), (["a", "c"], 0.5), (["a"], 1.0)):
        done = seen.evaluate("d", metrics="RR NumRet", exclude={"q1": documents})
        assert (done.protocol, board(seen, done.protocol)[0][0]) == ("default~excluded", value)


def test_the_script_for_people_leaves_documents_out(seen, wh):
    import duckdb

    sql = Warehouse.sql("RR", protocol="default~training", dataset="d", by_query=True)
    con = duckdb.connect(str(wh.path))
    assert sorted(con.execute(sql).fetchall(), key=str) == [
        ("RR", "r", "q1", 1.0), ("RR", "r", "q2", 0.0),
    ]  # fmt: skip
    con.close()


def test_a_scorer_leaves_documents_out_of_each_run():
    with scorer(SEEN_QRELS, "RR", exclude={"q1": {"a": 0}}) as of:
        assert [of(SEEN_RUN).means()["RR"] for _ in range(2)] == [1.0, 1.0]


def test_what_cannot_be_left_out_is_refused(seen, put):
    with expect_refusal("RR … training"):
        score(SEEN_QRELS, SEEN_RUN, "RR", exclude="training")
    with expect_refusal("nope … d … ingest attributes"):
        seen.evaluate("d", metrics="RR", exclude="nope")
    with expect_refusal("default~self"):
        seen.evaluate("d", protocol="default~self", exclude="training")
    with expect_refusal("empty"):
        seen.evaluate("d", exclude="")
    with expect_refusal("dry_run"):
        seen.evaluate("d", exclude={"q1": ["a"]}, dry_run=True)
    with expect_refusal("default~"):
        seen.leaderboard("d", protocol="default~")
    with expect_refusal("defaul~self … default"):
        seen.leaderboard("d", protocol="defaul~self")
    with expect_refusal("nosuch"):
        seen.evaluate("nosuch", exclude={"q1": ["a"]})
    with expect_refusal("query_id", InputError):
        score(SEEN_QRELS, SEEN_RUN, "RR", exclude=put("a,b\n1,2\n", "x.csv"))


@pytest.mark.slow
def test_the_command_says_what_is_left_out(seen, run, put):
    listed = put('{"query_id": "q1", "excluded_ids": ["a"]}\n', "gone.jsonl")
    db = "--db", str(seen.path)
    answer = run("evaluate", "-d", "d", "-m", "RR", "--exclude", str(listed), *db)
    assert "default~gone" in answer.err
    answer = run("leaderboard", "-d", "d", "--protocol", "default~gone", *db)
    assert "attribute gone" in answer.out + answer.err
    answer = run("protocols", "show", "default~gone", "default", "-f", "csv")
    assert "exclude,≠,gone," in answer.out
    seen.ingest_run("d", SEEN_RUN | {"q2": {"b": 1.0}}, name="other")
    compared = seen.compare("d", "r", metrics="RR", protocol="default~gone")
    assert "attribute gone" in compared.text("latex")


@pytest.mark.slow
def test_parts_of_slices_leave_documents_out(seen):
    for id in ("docs", "queries"):
        names = "abc" if id == "docs" else ("q1", "q2")
        table = {name: {f"{id}_kind": "x"} for name in names}
        seen.ingest_attributes("d", table, of=id, name=id)
        seen.evaluate("d", metrics="RR NumRet", slices=f"{id}_kind", exclude="training")
        part = seen.leaderboard(
            "d", metrics="RR NumRet", slice=f"{id}_kind", protocol="default~training"
        )
        assert part.relation.project("RR, NumRet").fetchall() == [(0.5, 2.0)]


@pytest.mark.sample(2, 2)
@pytest.mark.slow
@pytest.mark.parametrize(("rule", "by"), [("list", "run"), ("training", "query")])
def test_tasks_elsewhere_leave_the_same_documents_out(seen, by, rule):
    given = {"q1": {"a": 1}, "q2": {"a": 1}}
    how = {"training": given, "exclude": given if rule == "list" else rule}
    alone = means(SEEN_QRELS, SEEN_RUN, **how)
    engine = {"engine": InTurn(), "by": by, "buckets": 2 if by == "query" else None}
    scores = score(SEEN_QRELS, [SEEN_RUN], METRICS, **how, **engine)
    assert scores.read[0].num_excluded == 2
    values = scores.relation.filter("query_id = 'all'").project("metric, value").fetchall()
    assert dict(values) == alone
    seen.evaluate("d", metrics="RR NumRet", exclude="training", **engine)
    assert board(seen, "default~training") == [(0.5, 2.0)]

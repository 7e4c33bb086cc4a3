"""Where numbers come from: status, show, explain and verify."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from projects import BEST, SUMMED, UNKNOWN, Folder, command
from refusals import tells

from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1}}
ONE = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"x": 1.0}}
TWO = {"q1": {"c": 3.0, "z": 2.0}, "q2": {"y": 2.0, "d": 1.0}}


def put(path: Path, *statements: str) -> None:
    """Change a file behind the program's back."""
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.ingest_run("tiny", TWO, name="two")
    wh.evaluate(metrics="AP Best@2 Summed@2 Unknown")


@pytest.fixture
def evaluated(here: Folder, prepared) -> Warehouse:
    """Return the project's warehouse with two runs and values of four metrics."""
    here.metric(SUMMED, "Summed")
    here.metric(UNKNOWN, "Unknown")
    prepared(Warehouse().path, two_runs)
    return Warehouse()


def standing(wh: Warehouse) -> list[tuple]:
    return (
        wh.status()
        .relation.project("state, what, protocol, number, predictions, detail")
        .fetchall()
    )


def test_all_is_well(evaluated: Warehouse) -> None:
    found = evaluated.status("tiny")
    assert found.relation.columns == [
        "dataset", "state", "what", "protocol", "number", "predictions", "detail",
    ]  # fmt: skip
    assert found.relation.fetchall() == []
    assert (found.num_up_to_date, found.num_to_compute, found.num_orphaned) == (8, 0, 0)


@pytest.mark.slow
def test_what_is_missing_and_what_it_costs(evaluated: Warehouse) -> None:
    evaluated.ingest_run("tiny", {"q1": {"c": 1.0}}, name="three")
    evaluated.evaluate("tiny", runs="two", metrics="RR")
    found = evaluated.status()
    assert standing(evaluated) == [
        ("missing", "AP", "default", 1, 1, "three"),
        ("missing", "Best@2", "default", 1, 1, "three"),
        ("missing", "Summed@2", "default", 1, 1, "three"),
        ("missing", "Unknown", "default", 1, 1, "three"),
        # one has its hits, three has none yet
        ("missing", "RR", "default", 2, 1, "one, three"),
    ]
    assert (found.num_missing, found.num_stale, found.num_predictions) == (6, 0, 1)
    due = evaluated.evaluate(metrics="AP Best@2 Summed@2 Unknown RR", dry_run=True)
    assert (due.computed, due.up_to_date) == (found.num_to_compute, found.num_up_to_date)
    evaluated.evaluate(metrics="AP Best@2 Summed@2 Unknown RR")
    assert standing(evaluated) == []


@pytest.mark.slow
def test_exactly_what_a_change_concerns_is_stale(here: Folder, evaluated: Warehouse) -> None:
    """A formula, a direction, an extended metric; not a title, a comment, a summary or a reference."""
    for words in (
        BEST.replace('"Best grade"', '"The best of them"'),
        BEST.replace("max(relevance)", "max(relevance) /* of the first */").replace(
            "from {{", "-- \nfrom {{"
        ),
        BEST.replace('"made up"', '"a book"').replace("How many are", "So many are"),
    ):
        here.metric(words)
        assert standing(evaluated) == []
    here.metric(BEST.replace("max(relevance)", "min(relevance)"))
    assert standing(evaluated) == [("stale", "Best@2", "default", 2, 0, "one, two")]
    here.metric(BEST.replace('"higher"', '"lower"'))
    assert standing(evaluated) == [("stale", "Best@2", "default", 2, 0, "one, two")]
    here.metric(BEST)
    here.metric(UNKNOWN.replace("is null", "is not null"), "Unknown")
    # it reads the whole lists again: 4 documents of one, 4 of two
    assert standing(evaluated) == [("stale", "Unknown", "default", 2, 8, "one, two")]
    here.metric(UNKNOWN, "Unknown")
    here.metric(SUMMED.replace('"sum"', '"median"'), "Summed")
    assert [row[:2] for row in standing(evaluated)] == [("stale", "Summed@2")]


def test_a_changed_relation_makes_its_readers_stale(
    evaluated: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msgspec.structs import replace

    from warehouse.sql_text import relations

    get = relations.get

    def other(name: str) -> relations.Relation:
        found = get(name)
        return replace(found, body=found.body + "\nand true") if name == "lists" else found

    monkeypatch.setattr(relations, "get", other)
    assert [row[:2] for row in standing(evaluated)] == [("stale", "Unknown")]


def test_other_qrels_make_everything_missing_against_them(evaluated: Warehouse) -> None:
    evaluated.ingest_qrels("tiny", {"q1": {"a": 2}}, replace=True)
    assert [row[:5] for row in standing(evaluated)] == [
        ("missing", name, "default", 2, 8) for name in ("AP", "Best@2", "Summed@2", "Unknown")
    ]


def test_what_belongs_to_nothing(here: Folder, evaluated: Warehouse) -> None:
    (here.path / "formulas" / "Best.sql.j2").unlink()
    evaluated.ingest_run("bare", ONE, name="one")
    put(evaluated.path, "insert into store.hit_set values (99, 1, 'x', 0, null)")
    assert standing(evaluated) == [
        ("orphaned", "Best@2", "default", 2, None, "no metric of that name"),
        ("orphaned", "runs", None, 1, None, "the dataset has no qrels"),
        ("orphaned", "rows of hit_set", None, 1, None, "no run of that number"),
    ]
    code, out, told = command("status", "-f", "csv")
    assert code == 0
    assert "tiny,orphaned,Best@2,default,2,,no metric of that name" in out
    assert told == "6 values up to date\n"


@pytest.mark.slow
def test_what_is_listed_is_what_evaluate_computes(here: Folder, evaluated: Warehouse) -> None:
    """Without metrics: what other runs have, what is stale; the usual ones in a new dataset."""
    evaluated.ingest_run("tiny", {"q1": {"c": 1.0}}, name="three")
    here.metric(BEST.replace("max(relevance)", "min(relevance)"))
    evaluated.evaluate(runs="one", metrics="AP", protocol="top2")
    found = evaluated.status()
    assert found.commands == (
        "warehouse evaluate -d tiny", "warehouse evaluate -d tiny --protocol top2",
    )  # fmt: skip
    due = evaluated.evaluate(dry_run=True)
    assert (due.computed, due.stale, due.up_to_date) == (6, 2, 6)
    _, _, told = command("status", "-d", "tiny")
    assert told.splitlines()[-1].endswith(f": {', '.join(found.commands)}")
    code, _, told = command("evaluate")
    assert code == 0
    assert told == "computed 6 values (2 of them stale) for 3 runs; 6 up to date\n"
    assert [row[:4] for row in standing(evaluated)] == [("missing", "AP", "top2", 2)]
    assert evaluated.evaluate("tiny", protocol="top2").computed == 2
    assert evaluated.status().num_to_compute == 0
    evaluated.ingest_qrels("other", QRELS)
    evaluated.ingest_run("other", ONE, name="one")
    done = evaluated.evaluate()
    assert done.computed == len(DEFAULT_METRICS)
    assert {detail[0] for detail in done.details} == {"other"}
    assert evaluated.evaluate(runs="two").up_to_date == 4


@pytest.mark.slow
def test_where_nothing_is_evaluated_status_lists_what_evaluate_begins_with(wh: Warehouse) -> None:
    """And says why there is nothing to list; names with blanks are quoted as a shell takes them."""
    wh.init()
    db = ("--db", str(wh.path))
    assert command("status", *db)[2] == "no runs yet: warehouse ingest run FILE -d DATASET\n"
    wh.ingest_qrels("my films", QRELS)
    code, _, told = command("leaderboard", "-d", "my films", *db)
    assert (code, told) == (
        2, "my films: it has no runs yet: warehouse ingest run FILE -d 'my films'",
    )  # fmt: skip
    wh.ingest_run("my films", ONE, name="one")
    found = wh.status()
    assert [row[:2] for row in standing(wh)] == [("missing", name) for name in DEFAULT_METRICS]
    assert (found.num_runs, found.num_predictions) == (1, 4)
    assert found.commands == ("warehouse evaluate -d 'my films'",)
    told = command("status", *db)[2].splitlines()[-1]
    assert told == f"to compute: 6 values, which reads 4 predictions: {found.commands[0]}"
    assert wh.evaluate().computed == found.num_to_compute == 6
    assert wh.status().num_up_to_date == 6


@pytest.mark.slow
def test_status_says_what_preferences_cannot_give(wh: Warehouse, tmp_path: Path) -> None:
    """And the command that it proposes, as a shell takes it, computes what they can."""
    (tmp_path / "prefs.txt").write_text("q1 0 1 a 2\nq1 0 1 b 1\n")
    wh.ingest_qrels("my prefs", tmp_path / "prefs.txt", format="prefs")
    wh.ingest_run("my prefs", {"q1": {"a": 2.0, "b": 1.0}}, name="one")
    db = ("--db", str(wh.path))
    assert wh.status().unfit == {"my prefs": list(DEFAULT_METRICS)}
    proposed = "evaluate -d 'my prefs' -m prefs"
    for verb in ("status", "evaluate"):
        assert command(verb, *db)[2].splitlines()[0].removeprefix("warning: ") == (
            "my prefs: left out nDCG@10, AP, RR, P@10, R@100 and 1 more: its qrels are "
            "preferences, and only metrics of preferences can be computed from them: "
            f"warehouse {proposed}"
        )
    assert command(*shlex.split(proposed), *db)[2].startswith("computed 7 values for 1 run")
    assert (wh.status().num_up_to_date, wh.status().unfit) == (7, {})


@pytest.mark.slow
def test_slices_are_brought_up_to_date_too_but_not_curves(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate("tiny", metrics="AP RR")
    wh.evaluate("tiny", metrics="AP", slices="first = query_id = 'q1'")
    wh.curve("tiny", "ROC", store=True)
    wh.ingest_run("tiny", TWO, name="two")
    assert wh.status().commands == (
        "warehouse evaluate -d tiny", "warehouse curve ROC --store -d tiny",
    )  # fmt: skip
    wh.ingest_qrels("other", QRELS)
    wh.ingest_run("other", ONE, name="one")
    before = wh.query("select max(evaluation_id) from store.evaluation").fetchall()[0][0]
    # of two values of the whole and one by the slice; those of "one" are there
    done = wh.evaluate()
    assert (done.computed, done.up_to_date) == (3 + len(DEFAULT_METRICS), 3)
    rows = wh.query(
        "select count(*), count(distinct evaluated_at) from store.evaluation "
        f"where evaluation_id > {before}"
    ).fetchall()
    assert rows == [(done.computed, 1)], "no board as of a moment has a part of one call"
    assert [row[:2] for row in standing(wh)] == [("missing", "ROC")]
    assert wh.leaderboard("tiny", slice="first").relation.project("part, run, AP").fetchall() == [
        ("false", "two", 1 / 2), ("false", "one", 0.0),
        ("true", "one", (1 / 2 + 2 / 3) / 2), ("true", "two", 1 / 2),
    ]  # fmt: skip
    done = wh.evaluate("tiny", slices="first")
    assert (done.computed, done.up_to_date) == (2, 6)


@pytest.mark.slow
def test_a_slice_that_is_no_more_what_it_was_is_left_out_and_told(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_attributes(
        "tiny", {"q1": {"kind": "x"}, "q2": {"kind": "y"}}, of="queries", name="kinds"
    )
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate("tiny", metrics="AP", slices="kind")
    wh.ingest_attributes("tiny", {"q1": {"sort": "x"}}, of="queries", name="kinds", replace=True)
    wh.ingest_run("tiny", TWO, name="two")
    code, _, told = command("evaluate", "--db", str(wh.path))
    assert code == 0
    first, last = told.splitlines()
    assert first.startswith("warning: tiny: left out kind: ")
    assert last == "computed 1 value for 1 run; 1 up to date"
    with pytest.raises(UsageError, match="kind"):
        wh.evaluate("tiny", slices="kind")


def test_where_a_run_came_from(here: Folder, evaluated: Warehouse) -> None:
    path = here.write("late.run", "q1 Q0 A 1 2.5 mine\n")
    evaluated.ingest_run(
        "tiny", str(path), name="one", system="S", tags={"b": "2", "a": "1"},
        normalise="lower(doc_id)", replace=True,
    )  # fmt: skip
    evaluated.evaluate(metrics="RR", protocol="top2")
    evaluated.evaluate(metrics="AP RR")
    new, old = evaluated.show("tiny", "one").fetchall()
    names = evaluated.show("tiny", "one").columns
    shown = dict(zip(names, new, strict=True))
    import hashlib

    assert shown["source_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (shown["version"], shown["system"], shown["tags"]) == (2, "S", "a=1 b=2")
    assert (shown["source"], shown["format"], shown["trec_tag"]) == (str(path), "trec", "mine")
    assert shown["normalise"] == "lower(doc_id)"
    assert shown["metrics"] == "default: AP RR; top2: RR"
    assert dict(zip(names, old, strict=True))["metrics"] == "default: AP Best@2 Summed@2 Unknown"
    evaluated.forget("tiny", "one", version=1, reason="old")
    assert evaluated.show("tiny", "one").relation.project(
        "version, metrics, reason"
    ).fetchall() == [(2, "default: AP RR; top2: RR", None), (1, None, "old")]
    code, out, _ = command("show", "one", "-d", "tiny")
    assert code == 0
    assert out.splitlines()[0].split() == ["of", "version", "2", "version", "1"]
    code, _, told = command("show", "onee", "-d", "tiny")
    assert (code, tells(told, "onee … one")) == (2, True)


# b (0), a (1), u, c (2), v; e is relevant and not found: three relevant documents
LIST = {"q": {"b": 5.0, "a": 4.0, "u": 3.0, "c": 2.0, "v": 1.0}, "r": {"b": 1.0}}
GRADES = {"q": {"a": 1, "b": 0, "c": 2, "e": 3}, "r": {"a": 1}}
# the gains 1 at rank 2 and 2 at rank 4; at best 3, 2, 1
IDEAL = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
TERMS = {
    # the precision at the rank of each relevant document, over all three
    "AP": [0, 1 / 2 / 3, 0, 2 / 4 / 3, 0],
    "nDCG": [0, 1 / math.log2(3) / IDEAL, 0, 2 / math.log2(5) / IDEAL, 0],
    "DCG": [0, 1 / math.log2(3), 0, 2 / math.log2(5), 0],
    "nDCG@3": [0, 1 / math.log2(3) / IDEAL, 0, 0, 0],
    "P@4": [0, 1 / 4, 0, 1 / 4, 0],
    "R@5": [0, 1 / 3, 0, 1 / 3, 0],
    "RR": [0, 1 / 2, 0, 0, 0],
    # 0.2 * 0.8 ** (rank - 1)
    "RBP(p=0.8)": [0, 0.2 * 0.8, 0, 0.2 * 0.8**3, 0],
}  # fmt: skip


def all_terms(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", GRADES)
    wh.ingest_run("tiny", LIST, name="one")
    wh.evaluate(metrics=list(TERMS))


@pytest.mark.sample(4, 2)
@pytest.mark.core
@pytest.mark.parametrize("metric", TERMS)
def test_the_parts_are_the_terms_of_the_sum(tmp_path: Path, prepared, metric: str) -> None:
    wh = prepared(tmp_path / "w.duckdb", all_terms)
    found = wh.explain("tiny", "one", "q", metric, top=10)
    assert found.relation.columns == [
        "rank", "doc_id", "score", "relevance", "value_so_far", "part",
    ]  # fmt: skip
    rows = found.relation.fetchall()
    assert [row[:4] for row in rows] == [
        (1, "b", 5.0, 0), (2, "a", 4.0, 1), (3, "u", 3.0, None), (4, "c", 2.0, 2), (5, "v", 1.0, None),
    ]  # fmt: skip
    assert [row[5] for row in rows] == pytest.approx(TERMS[metric], abs=1e-15)
    assert rows[-1][4] == found.value == found.recomputed
    assert found.value == pytest.approx(sum(TERMS[metric]), abs=1e-15)
    assert found.relevant_missed == ("e",)
    assert found.num_retrieved == 5
    assert not found.is_stale
    # what is not shown is one row, and the parts add up still
    short = wh.explain("tiny", "one", "q", metric, top=2).relation.fetchall()
    assert short[:2] == rows[:2]
    assert short[2][:4] == (5, None, None, None)
    assert sum(row[5] for row in short) == pytest.approx(found.value, abs=1e-15)


METRICS = (
    "AP(norm=hits)", "AUC(ties=half)", "nDCG(ties=average)@10", "ERR@20", "bpref", "infAP", "Rprec",
    "F@10", "SetF", "SetP", "E@10", "INSQ(max_rel=3)", "INST(max_rel=3)", "Compat", "NumRet",
    "Unjudged@10", "AP(aggregate=pooled)", "AP(ties=threshold)", "RankingLoss", "Success@10",
    "IPrec@0.1", "AP(judged_only=True)", "Judged@10",
)  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("protocol", "metrics"), [("trec_eval_9", METRICS[:3]), ("default", METRICS)]
)
def test_the_parts_add_up_to_the_stored_value(
    demo: Warehouse, protocol: str, metrics: tuple[str, ...]
) -> None:
    """Whatever the metric, and the value that the cuts end with is the stored one to the bit."""
    demo.evaluate(runs="bm25", metrics=metrics, protocol=protocol)
    for number, metric in enumerate(metrics):
        top = (7, 100)[number % 2]
        found = demo.explain("dl19", "bm25", "443396", metric, top=top, protocol=protocol)
        rows = found.relation.fetchall()
        assert found.recomputed == found.value, metric
        assert rows[-1][0] == found.num_retrieved == 100
        assert rows[-1][4] == found.value, metric
        parts = [row[5] for row in rows]
        # undefined until there is a pair: the parts begin with it
        first = next(place for place, row in enumerate(rows) if row[4] is not None)
        assert parts[:first] == [None] * first
        assert sum(parts[first:]) == pytest.approx(found.value, abs=1e-12), metric


@pytest.mark.slow
def test_a_list_that_is_not_there_and_a_value_of_its_own(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", GRADES)
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="one")
    wh.evaluate(metrics="AP AP(rel=2) MaxRank")
    found = wh.explain("tiny", "one", "r", "AP")
    assert (found.value, found.num_retrieved, found.relevant_missed) == (0.0, 0, ("a",))
    assert found.relation.fetchall() == []
    assert wh.explain("tiny", "one", "r", "AP(rel=2)").relevant_missed == ()  # a has the grade 1
    # MaxRank of an empty list is not 0: that is a row of its own, and the parts add up
    rows = wh.explain("tiny", "one", "q", "MaxRank").relation.fetchall()
    assert rows[0][:4] == (0, None, None, None)
    assert sum(row[5] for row in rows) == wh.explain("tiny", "one", "q", "MaxRank").value


@pytest.mark.slow
def test_a_stale_value_and_one_of_a_metric_that_is_gone(here: Folder, evaluated: Warehouse) -> None:
    assert evaluated.explain("tiny", "one", "q1", "Best@2").value == 1.0
    here.metric(BEST.replace("max(relevance)", "sum(relevance + 1)"))
    stale = evaluated.explain("tiny", "one", "q1", "Best@2")
    assert (stale.value, stale.recomputed, stale.is_stale) == (1.0, 2.0, True)
    code, _, told = command("explain", "one", "Best@2", "q1", "-d", "tiny")
    assert (code, "stale: the parts are those of today's formula" in told) == (0, True)
    (here.path / "formulas" / "Best.sql.j2").unlink()
    gone = evaluated.explain("tiny", "one", "q1", "Best@2")
    assert (gone.value, gone.recomputed) == (1.0, None)
    assert gone.relation.fetchall() == [
        (1, "b", 3.0, 0, None, None), (2, "a", 2.0, 1, None, None), (3, "c", 1.0, 2, None, None),
    ]  # fmt: skip
    code, _, told = command("explain", "one", "Best@2", "q1", "-d", "tiny")
    last = "no longer defined, so these are the stored values: Best@2"
    assert (code, told.splitlines()[-1]) == (0, last)


def test_what_an_explanation_tells(here: Folder, evaluated: Warehouse) -> None:
    code, out, told = command("explain", "one", "AP", "q1", "-d", "tiny", "-f", "csv")
    assert code == 0
    # a second, c third, both relevant: (1/2 + 2/3) / 2
    assert out.splitlines()[:3] == [
        "rank,doc_id,score,relevance,value_so_far,part",
        "1,b,3.0,0.0,0.0,0.0",
        "2,a,2.0,1.0,0.25,0.25",
    ]
    assert "AP of one for query q1: 0.5833" in told
    assert "run: version 1, loaded 20" in told
    assert f"with DuckDB {duckdb.__version__}; fingerprint" in told
    for words, message in (
        (("onee", "AP", "q1"), "onee … one"),
        (("one", "AP", "q11"), "q11 … q1"),
        (("one", "P.5,10", "q1"), "stands for several metrics"),
    ):
        code, _, told = command("explain", *words, "-d", "tiny")
        assert (code, tells(told, message)) == (2, True), told


@pytest.mark.slow
@pytest.mark.core
def test_all_is_as_it_was(evaluated: Warehouse, counts: Callable[[Path], dict[str, int]]) -> None:
    """Other versions of runs and qrels, protocols, slices and curves are computed anew too."""
    evaluated.evaluate(metrics="AP RR", protocol="top2")
    evaluated.evaluate(
        "tiny", metrics="AP", slices=["first = query_id = 'q1'", "same = doc_id = 'a'"]
    )
    evaluated.curve("tiny", "ROC", store=True)
    evaluated.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one", replace=True)
    evaluated.ingest_qrels("tiny", {"q1": {"b": 1, "z": 1}}, replace=True)
    evaluated.evaluate(metrics="AP Unknown")
    evaluated.evaluate("tiny", metrics="AP Unknown", qrels=1)
    before = counts(evaluated.path)
    content = evaluated.path.read_bytes()
    found = evaluated.verify()
    assert found.is_good, found.differences
    assert (found.num_verified, found.skipped) == (found.num_stored, {})
    assert found.num_stored == before["evaluation"] == 8 + 4 + 4 + 2 + 4 + 2
    assert evaluated.path.read_bytes() == content
    some = evaluated.verify(sample=1, seed=1)  # of run two, which has hits in both qrels
    assert (some.num_verified, some.is_good) == (1, True)


@pytest.mark.core
def test_a_changed_bit_is_seen(evaluated: Warehouse) -> None:
    """Of the run one 1 is AP and 3 Summed@2, of two 5 is AP; 1e-16 is the last bit of 7/12."""
    put(
        evaluated.path,
        "update store.query_score set value = value + 1e-16 where query_id = 'q1' and evaluation_id = 1",
        "delete from store.query_score where query_id = 'q2' and evaluation_id in (1, 5)",
        "insert into store.query_score values (1, 'q2', '-0.0'::double, null), (5, 'q3', 0.5, null)",
        "update store.score set num_judged = 3 where evaluation_id = 3",
        "update store.score set value = null where evaluation_id = 5",
    )
    found = evaluated.verify()
    assert not found.is_good
    of_a_and_c = (1 / 2 + 2 / 3) / 2
    columns = "evaluation_id, query_id, what, stored, computed"
    shown = found.differences.project(columns)
    assert sorted(shown.fetchall(), key=str) == [
        (1, "q1", "value", math.nextafter(of_a_and_c, 1), of_a_and_c),
        (1, "q2", "value", -0.0, 0.0),
        (3, None, "num_judged", 3.0, 2.0),
        (5, "q2", "value", None, 0.5),
        (5, "q3", "value", 0.5, None),
        (5, None, "value", None, 0.5),
    ]
    code, out, told = command("verify", "--all", "-f", "csv")
    assert code == 1
    assert len(out.splitlines()) == 7
    assert told.endswith("6 numbers not equal to the recomputed ones\n")
    for option in ("--sample", "--seed"):
        code, _, told = command("verify", "--all", option, "3")
        assert (code, f"{option}: goes with a sample" in told) == (2, True)


@pytest.mark.slow
def test_a_changed_prediction_or_hit_is_seen(evaluated: Warehouse) -> None:
    """AP of one in q1 is (1/2 + 2/3) / 2; with b at the end, a and c are first and second: 1."""
    put(
        evaluated.path,
        "update store.prediction_by_text set score = 0 where run_id = 1 and doc_id = 'b'",
    )
    found = evaluated.verify(sample=None)
    rows = found.differences.filter("metric = 'AP' and query_id = 'q1'").project(
        "run, stored, computed"
    )
    assert rows.fetchall() == [("one", pytest.approx((1 / 2 + 2 / 3) / 2), 1.0)]
    assert ("run", "its predictions are not those that were loaded", 1) in found.problems.fetchall()
    put(
        evaluated.path,
        "update store.prediction_by_text set score = 3 where run_id = 1 and doc_id = 'b'",
        "update store.hit set rank = 7 where run_id = 2 and query_id = 'q2'",
    )
    found = evaluated.verify()
    assert found.differences.fetchall() == []
    hit, hit_set = sorted(found.problems.fetchall())
    assert (hit[0], hit[2]) == ("hit", 2)
    assert hit[1].endswith("not what the predictions give, first in query q2")
    assert hit_set == ("hit_set", "not as it was written, in hit_set, hit, first of run_id 2", 1)


# What is done to the tables, of which table it is told then, in which words, and how many rows it is.
WRONG = (
    (
        "insert into store.prediction_by_text select * from store.prediction_by_text where doc_id = 'z'",
        ("prediction", "there more than once", 1),
    ),
    (
        "insert into store.judgment from store.judgment where doc_id = 'a'",
        ("judgment", "there more than once", 1),
    ),
    (
        "insert into store.score from store.score where evaluation_id in (2, 3)",
        ("score", "there more than once", 2),
    ),
    (
        "update store.prediction_by_text set score = 'inf' where doc_id = 'y'",
        ("prediction", "no finite number in score", 1),
    ),
    (
        "insert into store.hit values (9, 1, 'x', 'q', 'd', 1, 1, 1, 0)",
        ("hit", "no run of that number", 1),
    ),
    (
        "insert into store.query_score values (99, 'q', 1, null), (98, 'q', 1, null)",
        ("query_score", "no evaluation of that number", 2),
    ),
    ("insert into store.run_tag values (99, 'a', 'b')", ("run_tag", "no run of that number", 1)),
    (
        "delete from store.ranking where query_id = 'q1'",  # of two runs
        ("ranking", "has another length than its list", 2),
    ),
    (
        "delete from store.judgment where query_id = 'q2'",
        ("qrels", "its judgments are not those that were loaded", 1),
    ),
    (
        "update store.hit_set set num_hits = 9",
        ("hit_set", "not as it was written, in hit_set, hit, first of run_id 1", 2),
    ),
    (
        "delete from store.score where evaluation_id = 1",
        (
            "evaluation",
            "not as it was written, in evaluation, score, query_score, curve_point, "
            "first of evaluation_id 1",
            3,  # of 2 and 3 there are two
        ),
    ),
)


@pytest.mark.slow
def test_rows_that_cannot_be_are_found(evaluated: Warehouse) -> None:
    assert evaluated.verify(sample=1).problems.fetchall() == []
    put(
        evaluated.path,
        "insert into store.judgment values (1, 'q3', 'z', 0, '0')",
        *(w[0] for w in WRONG),
    )
    found = evaluated.verify("tiny", sample=1).problems.fetchall()
    assert {told for _, told in WRONG} - set(found) == set()


@pytest.mark.slow
def test_rows_of_which_none_is_left_are_missed(evaluated: Warehouse) -> None:
    """What has no row of its content left is told of: of runs, here, there are two."""
    evaluated.ingest_training("tiny", {"q0": {"a": 1}})
    evaluated.ingest_attributes("tiny", {"a": {"tags": ["x", "y"]}}, of="docs", name="kinds")
    assert evaluated.verify(sample=1).is_good
    tables = ("prediction_by_text", "judgment", "hit", "example", "attribute")
    put(evaluated.path, *(f"delete from store.{table}" for table in tables))
    found = evaluated.verify(sample=1).problems
    assert found.relation.filter("problem like '%not those that were loaded'").fetchall() == [
        ("attribute_set", "its attributes are not those that were loaded", 1),
        ("qrels", "its judgments are not those that were loaded", 1),
        ("run", "its predictions are not those that were loaded", 2),
        ("training", "its examples are not those that were loaded", 1),
    ]
    assert found.relation.filter("relation = 'hit_set'").fetchall() == [
        ("hit_set", "not as it was written, in hit_set, hit, first of run_id 1", 2)
    ]


@pytest.mark.slow
def test_what_nothing_computes_any_more_is_left_out(here: Folder, evaluated: Warehouse) -> None:
    evaluated.evaluate(metrics="AP", protocol="top2")
    here.metric(BEST.replace("max(relevance)", "min(relevance)"))
    (here.path / "formulas" / "Unknown.sql.j2").unlink()
    here.write("warehouse.toml", 'database = "results.duckdb"\nmetrics = "formulas"\n')
    found = evaluated.verify()
    assert found.is_good
    assert (found.num_verified, found.num_stored) == (4, 10)
    assert found.skipped == {"of a metric or protocol that is gone": 4, "stale or superseded": 2}
    code, out, told = command("verify", "--sample", "3", "--seed", "7")
    assert (code, out) == (0, "no number differs\n")
    assert "recomputed: 3 of 10 evaluations, the sample of --seed 7" in told
    assert "no differences, and no wrong rows" in told
    assert "left out: 2 stale or superseded" in told
    with pytest.raises(UsageError, match="no such dataset"):
        evaluated.verify("tinny")


@pytest.mark.slow
def test_a_slice_with_other_members_is_left_out(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.ingest_attributes(
        "tiny", {"q1": {"kind": "x"}, "q2": {"kind": "y"}}, of="queries", name="kinds"
    )
    wh.ingest_attributes("tiny", {"a": {"genre": "x"}, "b": {"genre": "y"}}, of="docs", name="x")
    # one metric reads what the dataset has beside its qrels
    wh.evaluate("tiny", metrics="AP ILD(attribute=genre)@2", slices="kind")
    assert wh.verify().num_verified == 4
    wh.ingest_attributes(
        "tiny", {"q1": {"kind": "y"}, "q2": {"kind": "y"}}, of="queries", name="kinds", replace=True
    )
    found = wh.verify()
    assert (found.num_verified, found.is_good) == (2, True)
    left_out = {"of a slice that has other members now, or that can no longer be made": 2}
    assert found.skipped == left_out
    # and where there is no such attribute any more
    wh.ingest_attributes("tiny", {"q1": {"sort": "y"}}, of="queries", name="kinds", replace=True)
    found = wh.verify()
    assert (found.num_verified, found.is_good, found.skipped) == (2, True, left_out)


def several_times(wh: Warehouse) -> None:
    two_runs(wh)
    for table, rows, times in (
        ("prediction_by_text", "run_id = 1", 2),
        ("hit", "run_id = 1", 2),
        ("query_score", "evaluation_id = (select max(evaluation_id) from store.query_score)", 1),
    ):
        again = f"create table store.again as from store.{table} where {rows}"
        put(
            wh.path,
            again,
            *[f"insert into store.{table} from store.again"] * times,
            "drop table store.again",
        )


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("size", [1, 3, 4, 1_000])
def test_long_tables_are_looked_through_in_stretches(
    evaluated: Warehouse, prepared, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Run 1 has 4 predictions and 3 hits, an evaluation 2 queries: all there three times, or twice."""
    prepared(evaluated.path, several_times)
    monkeypatch.setattr("warehouse.evaluate.verify._STRETCH", size)
    steps: list[str] = []
    found = evaluated.verify(sample=1, on_group=steps.append).problems.fetchall()
    assert [(of, number) for of, problem, number in found if problem.endswith("than once")] == [
        ("hit", 6),
        ("prediction", 8),
        ("query_score", 2),
    ]
    looked = [step for step in steps if step.startswith("what is there twice")]
    assert (len(looked) > 3) == (size < 1_000)

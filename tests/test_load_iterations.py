"""Judgments by iteration and preferences: loading them, and what of them comes in scope."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from projects import invoked
from refusals import tells
from shared_cases import CASES, needs_cases

from warehouse import readers
from warehouse.errors import ConflictError, InputError, UsageError
from warehouse.evaluate import candidates, file_scoring, stored_hits
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scope import Scope, qrels_kind
from warehouse.ingest import steps
from warehouse.metrics import notation, protocols
from warehouse.store import database
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Counts = Callable[[Path], dict[str, int]]
Rows = list[tuple]

# (query, iteration, document, grade): a is judged under two iterations, and differently
JUDGED = [
    ("q1", "1", "a", 2),
    ("q1", "2", "a", 0),
    ("q1", "2", "b", 1),
    ("q2", "1", "c", -1),
    ("q2", "3", "c", 0),
]
TREC = "".join(f"{q} {i} {d} {g}\n" for q, i, d, g in JUDGED)
RUN = {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}, "q2": {"c": 1.0}}

# ann prefers a to b to c; in bob's second subgroup c is as good as d, and he calls a not relevant
PREFERRED = [
    ("q1", "ann", "1", "a", 3.0),
    ("q1", "ann", "1", "b", 2.5),
    ("q1", "ann", "1", "c", 0.0),
    ("q1", "bob", "1", "b", 1.0),
    ("q1", "bob", "1", "a", 0.0),
    ("q1", "bob", "2", "c", 1.0),
    ("q1", "bob", "2", "d", 1.0),
    ("q2", "ann", "1", "e", 0.0),
]
PREFS = "# who prefers what\n" + "".join(
    "  ".join(map(str, row[:4])) + f"\t{row[4]}\n" for row in PREFERRED
)


def rows(wh: Warehouse, sql: str) -> Rows:
    return wh.query(sql).fetchall()


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_the_tables(wh: Warehouse, put) -> None:
    loaded = wh.ingest_qrels("tiny", put("q.txt", TREC), iterations=True)
    assert (loaded.kind, loaded.status, loaded.num_queries, loaded.num_rows) == (
        "qrels",
        "loaded",
        2,
        5,
    )
    found = rows(
        wh, "select query_id, iteration, doc_id, relevance from store.judgment order by all"
    )
    assert found == sorted(JUDGED)
    assert rows(wh, "select kind, num_judgments from store.qrels") == [("iterations", 5)]
    assert rows(wh, "select count(*) from store.preference") == [(0,)]


def sources(put) -> dict[str, object]:
    frame = pd.DataFrame(JUDGED, columns=["query_id", "iteration", "doc_id", "relevance"])
    csv = frame.to_csv(index=False)
    lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
    path = put("q.parquet", "")
    duckdb.from_df(frame).to_parquet(path)
    return {
        "csv": put("q.csv", csv),
        "tsv": put("q.tsv", csv.replace(",", "\t")),
        "jsonl": put("q.jsonl", lines),
        "parquet": path,
        "frame": frame,
        "comments": put("c.txt", "# a comment\n" + TREC.replace(" ", "\t ")),
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet", "frame", "comments"])
def test_every_format_with_a_column_for_it(wh: Warehouse, put, name: str) -> None:
    wh.ingest_qrels("tiny", put("q.txt", TREC), iterations=True)
    again = wh.ingest_qrels("tiny", sources(put)[name], iterations=True)
    assert again.status == "unchanged"


@pytest.mark.sample(5, 2)
@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet", "frame", "comments"])
def test_without_the_option_it_is_refused_and_says_what_to_do(
    wh: Warehouse, put, counts: Counts, name: str
) -> None:
    wh.init()
    before = counts(wh.path)
    with pytest.raises(InputError, match=r"2 problems; .*another iteration: iterations=True loads"):
        wh.ingest_qrels("tiny", sources(put)[name])
    assert counts(wh.path) == before


def test_one_that_is_twice_in_an_iteration(wh: Warehouse, put) -> None:
    path = put("q.txt", TREC + "q1 2 b 1\n")
    with pytest.raises(InputError) as found:
        wh.ingest_qrels("tiny", path, iterations=True)
    assert found.value.problems == (
        (6, "document 'b' is there twice for query 'q1', iteration '2', first on line 3"),
    )


def test_sources_without_iterations(wh: Warehouse, put) -> None:
    with pytest.raises(InputError, match="missing column iteration"):
        wh.ingest_qrels("d", put("q.csv", "query_id,doc_id,relevance\nq,a,1\n"), iterations=True)
    for source in ({"q": {"a": 1}}, put("q.json", '{"q": {"a": 1}}')):
        with pytest.raises(UsageError, match="holds no iterations"):
            wh.ingest_qrels("d", source, iterations=True)
    with pytest.raises(UsageError, match="take one of the two"):
        wh.ingest_qrels("d", put("p", PREFS), iterations=True, format="prefs")


def test_unchanged_refused_replaced(wh: Warehouse, put) -> None:
    path = put("q.txt", TREC)
    wh.ingest_qrels("tiny", path, iterations=True)
    assert wh.ingest_qrels("tiny", path, iterations=True, replace=True).status == "unchanged"
    with pytest.raises(ConflictError, match=r"other qrels already \(version 1, 5 judgments"):
        wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    assert wh.ingest_qrels("tiny", {"q1": {"a": 1}}, replace=True).version == 2
    assert rows(wh, "select version, kind from store.qrels order by 1") == [
        (1, "iterations"),
        (2, "judgments"),
    ]


def test_preferences(wh: Warehouse, put) -> None:
    path = put("p.txt", PREFS)
    loaded = wh.ingest_qrels("tiny", path, format="prefs")
    assert (loaded.status, loaded.num_queries, loaded.num_rows) == ("loaded", 2, 8)
    assert rows(wh, "select * exclude (qrels_id) from store.preference order by all") == sorted(
        PREFERRED
    )
    assert rows(wh, "select count(*) from store.judgment") == [(0,)]
    stored_row = "select kind, format, num_queries, num_judgments from store.qrels"
    assert rows(wh, stored_row) == [("preferences", "prefs", 2, 8)]
    assert wh.ingest_qrels("tiny", path, format="prefs").status == "unchanged"
    other = put("other.txt", PREFS.replace("3.0", "4.0"))
    with pytest.raises(ConflictError, match="other qrels already"):
        wh.ingest_qrels("tiny", other, format="prefs")
    assert wh.ingest_qrels("tiny", other, format="prefs", replace=True).version == 2


@needs_cases
@pytest.mark.parametrize("name", ["prefs.test", "prefs.comment.test"])
def test_the_preferences_of_trec_eval(wh: Warehouse, name: str) -> None:
    loaded = wh.ingest_qrels("p", str(CASES / "trec_eval_suite" / "data" / name), format="prefs")
    assert (loaded.num_rows, loaded.num_queries) == (164, 24)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("q g s a nan\n", [(1, "level 'nan' is not a finite number")]),
        ("q g s a 1e999\n", [(1, "level '1e999' is not a finite number")]),
        ("q g s a high\n", [(1, "level 'high' is not a number")]),
        (
            "q g s a 1\n\nq g a 1\n",
            [(3, "expected 5 fields (query group subgroup document level), found 4")],
        ),
        (
            "q g s a 1\nq g s a 2\n",
            [
                (
                    2,
                    "document 'a' is there twice for query 'q', group 'g', subgroup 's', "
                    "first on line 1",
                )
            ],
        ),
        (
            "q g s a 1\nq g s b 0\nq g t c 1\nq g t a 0\n",
            [
                (
                    4,
                    "document 'a' has level 0 and another level in group 'g' of query 'q', "
                    "first on line 1",
                )
            ],
        ),
        (
            # a over b, b over c, c over a
            "q g s a 2\nq g s b 1\nq g t b 2\nq g t c 1\nq g u c 2\nq g u a 1\nq h u d 1\n",
            [
                (
                    line,
                    f"document '{doc}' is preferred to itself in group 'g' of query 'q': "
                    "its subgroups contradict each other",
                )
                for line, doc in ((1, "a"), (2, "b"), (4, "c"))
            ],
        ),
    ],
    ids=["nan", "infinite", "no number", "fields", "twice", "zero and not", "a circle"],
)
def test_preferences_that_are_refused(wh: Warehouse, put, text: str, problems: list) -> None:
    with pytest.raises(InputError) as found:
        wh.ingest_qrels("tiny", put("p.txt", text), format="prefs")
    assert list(found.value.problems) == problems


def test_groups_may_contradict_each_other(wh: Warehouse, put) -> None:
    text = "q g s a 2\nq g s b 1\nq h s b 2\nq h s a 0\n"
    assert wh.ingest_qrels("tiny", put("p.txt", text), format="prefs").status == "loaded"


def test_a_run_beside_preferences_is_compared_with_their_queries(wh: Warehouse, put) -> None:
    wh.ingest_qrels("tiny", put("p.txt", PREFS), format="prefs")
    first, second = wh.ingest_run("tiny", {"q1": {"a": 1.0}, "x": {"a": 1.0}}, name="r").warnings
    assert "1 query of the run is not in the qrels" in first
    assert "1 of 2 judged queries has no line in the run" in second


@pytest.mark.slow
def test_metrics_of_judgments_are_refused_for_preferences(wh: Warehouse, put) -> None:
    path = put("p.txt", PREFS)
    wh.ingest_qrels("choices", path, format="prefs")
    wh.ingest_qrels("graded", {"q1": {"a": 1}})
    for dataset in ("choices", "graded"):
        wh.ingest_run(dataset, RUN, name="r")
    with pytest.raises(UsageError, match=r"choices: the qrels are preferences.*AP, RR cannot be"):
        wh.evaluate("choices", metrics="AP RR")
    done = wh.evaluate(metrics="AP RR")
    assert (done.computed, done.unfit) == (2, {"choices": ["AP", "RR"]})
    with pytest.raises(UsageError, match="its qrels are preferences: only metrics of preferences"):
        wh.leaderboard("choices")
    with pytest.raises(UsageError, match=r"p\.txt: the qrels are preferences.*AP cannot be"):
        Warehouse.score(path, RUN, "AP", qrels_format="prefs")
    kinds = wh.datasets().relation.project("dataset, kind, judgments").fetchall()
    assert kinds == [("choices", "preferences", 8), ("graded", "judgments", 1)]


HIGHEST = [("q1", "a", 2), ("q1", "b", 1), ("q2", "c", 0)]
# above 0 in some group: a, b, c and d; e is not
AS_GRADES = [("q1", "a", 1), ("q1", "b", 1), ("q1", "c", 1), ("q1", "d", 1), ("q2", "e", 0)]


def in_scope(con: duckdb.DuckDBPyConnection) -> dict[str, Rows]:
    """Return what is in scope, in order; the columns are those that metrics may count on."""
    wanted = {
        "scope_judgment": "query_id, doc_id, relevance",
        "scope_iteration": "query_id, iteration, doc_id, relevance",
        "scope_preference": "query_id, judgment_group, judgment_subgroup, doc_id, level",
        "scope_training": "query_id, doc_id, relevance",
    }
    for name, columns in wanted.items():
        found = {row[0] for row in con.execute(f"describe {name}").fetchall()}
        assert found == set(columns.split(", "))
    return {
        name: con.execute(f"select {columns} from {name} order by all").fetchall()
        for name, columns in wanted.items()
    }


@pytest.mark.slow
def test_scopes_of_stored_qrels_one_after_the_other(wh: Warehouse, put) -> None:
    wh.ingest_qrels("plain", {"q": {"a": 2, "b": -1}})
    wh.ingest_qrels("subtopics", put("q.txt", TREC), iterations=True)
    wh.ingest_qrels("choices", put("p.txt", PREFS), format="prefs")
    wh.ingest_training("plain", {"u": {"a": 1}})
    wh.ingest_training("plain", {"u": {"b": 1, "c": 3}}, replace=True)
    with database.transaction(wh.path) as con:
        con.execute("create temp table scope_run (run_id integer)")
        for qrels_id in (1, 2, 3, 2, 1):
            kind = qrels_kind(con, qrels_id)
            Scope(con).stored_truth(qrels_id)
            found = in_scope(con)
            training = [("u", "b", 1), ("u", "c", 3)] if qrels_id == 1 else []
            assert found["scope_training"] == training
            if kind == "judgments":
                assert found["scope_judgment"] == [("q", "a", 2), ("q", "b", -1)]
                assert found["scope_iteration"] == [("q", "0", "a", 2), ("q", "0", "b", -1)]
                assert found["scope_preference"] == [
                    ("q", "0", "0", "a", 2.0),
                    ("q", "0", "0", "b", -1.0),
                ]
            elif kind == "iterations":
                assert found["scope_judgment"] == HIGHEST
                assert found["scope_iteration"] == sorted(JUDGED)
                assert found["scope_preference"] == sorted(
                    (q, i, "0", d, float(g)) for q, i, d, g in JUDGED
                )
            else:
                assert found["scope_judgment"] == AS_GRADES
                assert found["scope_preference"] == sorted(PREFERRED)
                assert ("q1", "bob", "a", 0) in found["scope_iteration"]
                assert ("q1", "ann", "a", 1) in found["scope_iteration"]


def test_every_document_of_the_preferences_has_its_rank(wh: Warehouse, put) -> None:
    wh.ingest_qrels("choices", put("p.txt", PREFS), format="prefs")
    ranking = {"q1": {"x": 9.0, "c": 8.0, "a": 7.0, "y": 6.0, "d": 5.0}, "q2": {"e": 1.0}}
    wh.ingest_run("choices", ranking, name="r")
    rules = protocols.get("default")
    with database.transaction(wh.path) as con:
        scope = Scope(con)
        scope.runs([1])
        scope.stored_truth(1)
        scope.rankings(rules)
        scope.hits(rules, 1)
        assert len(stored_hits.make(con, rules, 1, candidates.find(con, "choices", []))) == 1
    found = rows(
        wh, "select query_id, doc_id, relevance, rank from store.hit order by query_id, rank"
    )
    assert found == [("q1", "c", 1, 2), ("q1", "a", 1, 3), ("q1", "d", 1, 5), ("q2", "e", 0, 1)]


def test_scopes_of_files(put) -> None:
    con = database.memory()
    work = plan(notation.parse("P@2"), protocols.get("default"))
    seen = put("seen.csv", "query_id,doc_id\nu,a\n")
    path = put("q.txt", TREC)
    (read,) = file_scoring.score(con, path, [RUN], work, iterations=True, training=seen)
    found = in_scope(con)
    assert found["scope_judgment"] == HIGHEST
    assert found["scope_iteration"] == sorted(JUDGED)
    assert found["scope_training"] == [("u", "a", 1)]
    assert read.training is not None
    assert read.training.rows == 1
    list(file_scoring.score(con, {"q1": {"a": 1}}, [RUN], work))
    found = in_scope(con)
    assert found["scope_preference"] == [("q1", "0", "0", "a", 1.0)]
    assert found["scope_training"] == []
    read = readers.stage(con, put("p", PREFS), "qrels", format="prefs")
    scope = Scope(con)
    rows = scope.rename_staged("given")
    readers.stage(con, RUN, "run")
    scope.read_qrels(read, rows)
    assert in_scope(con)["scope_judgment"] == AS_GRADES


PAIRS = """
with ranked as (
    select scope_preference.*, scope_hit.rank
    from scope_preference
    left join scope_hit using (query_id, doc_id)
)
select
    query_id,
    count(*),
    count(*) filter (where better.rank < worse.rank or (better.rank > 0 and worse.rank is null)),
    count(*) filter (where better.rank < worse.rank)
from ranked as better
join ranked as worse using (query_id, judgment_group, judgment_subgroup)
where better.level > worse.level
group by query_id
"""


@needs_cases
def test_the_scopes_hold_what_the_preferences_of_trec_eval_need() -> None:
    # trec_eval 10 -m all_prefs -q -R qrels_prefs; its measures of preferences alone break ties by
    # the document's id ascending: query 301 has one pair more the other way round
    suite = CASES / "trec_eval_suite"
    names = ("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
    golden: dict[str, dict[str, int]] = {}
    for line in (suite / "upstream_golden/10.0/out.test.qrels_prefs").read_text().splitlines():
        name, query, value = line.split()
        if name in names and query != "all":
            golden.setdefault(query, {})[name] = int(value)
    con = database.memory()
    rules = dataclasses.replace(protocols.get("trec_eval_10"), ties="doc_asc")
    qrels, run = (str(suite / "data" / name) for name in ("qrels.test", "results.test"))
    list(file_scoring.score(con, qrels, [run], plan(notation.parse("P@2"), rules), iterations=True))
    found = {query: counted for query, *counted in con.execute(PAIRS).fetchall()}
    assert found == {query: [values[name] for name in names] for query, values in golden.items()}


def test_the_highest_grade_counts_stored_and_from_files(wh: Warehouse, put) -> None:
    path = put("q.txt", TREC)
    wh.ingest_qrels("tiny", path, iterations=True)
    wh.ingest_run("tiny", RUN, name="r")
    wh.evaluate("tiny", metrics="P@2 R@1 NumRel")
    # q1: b (1), x (unjudged), a (2): one of the first two, one of two relevant; q2: nothing relevant
    expected = {"P@2": (1 / 2 + 0) / 2, "R@1": (1 / 2 + 0) / 2, "NumRel": 2.0}
    assert dict(rows(wh, "select metric, value from scores")) == expected
    scores = Warehouse.score(path, RUN, "P@2 R@1 NumRel", iterations=True)
    assert scores.means() == expected
    shown = (
        wh.queries("tiny", "r")
        .relation.project("query_id, relevant_retrieved, relevant")
        .fetchall()
    )
    assert shown == [("q1", 2, 2), ("q2", 0, 0)]


def test_the_options_of_trec_eval(put) -> None:
    qrels, run = put("q.txt", TREC), put("r.run", "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 c 1 1 t\n")
    prefs = put("p.txt", PREFS)

    def score(*arguments: str) -> tuple[int, str]:
        found = invoked("score", *arguments)
        return found.exit_code, found.output + str(found.exception or "")

    assert score(qrels, run, "P@2", "-R", "qrels_jg") == score(qrels, run, "P@2", "--iterations")
    assert score(qrels, run, "P@2", "-R", "qrels_prefs")[0] == 0
    assert "--iterations" in score(qrels, run, "P@2", "-R", "qrels")[1]
    assert "the qrels are preferences" in score(prefs, run, "P@2", "-R", "prefs")[1]
    assert tells(score(prefs, run, "P@2", "-R", "pref")[1], "pref … prefs")
    assert (
        "leave out --qrels-format csv"
        in score(prefs, run, "P@2", "-R", "prefs", "--qrels-format", "csv")[1]
    )
    assert "only one of the files" in score("-", run, "P@2", "--training", "-")[1]


def test_the_plain_refusal_does_not_speak_of_iterations(wh: Warehouse, put) -> None:
    with pytest.raises(InputError) as found:
        wh.ingest_qrels("tiny", put("q.txt", "q 0 a 1\nq 0 a 2\n"))
    assert "iteration" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "format", "iterations"), [(TREC, "trec", True), (PREFS, "prefs", False)]
)
def test_a_load_that_fails_half_way(
    wh: Warehouse,
    put,
    counts: Counts,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    format: str,
    iterations: bool,
) -> None:
    path = put("q.txt", text)
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    before = counts(wh.path)

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("the power went out")

    monkeypatch.setattr(steps, "outcome", failing)
    for dataset in ("tiny", "new"):
        with pytest.raises(RuntimeError, match="power"):
            wh.ingest_qrels(dataset, path, format=format, iterations=iterations, replace=True)
    assert counts(wh.path) == before

"""The views judgments, rankings and history: by hand, and against plain Python on random rankings."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import shlex
import tomllib
from pathlib import Path

import duckdb
import pytest

import warehouse
from warehouse.analyze.view_examples import EXAMPLES
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core


def rows(wh: Warehouse, sql: str, **params: object) -> list[tuple]:
    return wh.query(sql, **params).fetchall()


def test_rankings_of_versions(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="r")
    wh.ingest_run("tiny", {"q": {"b": 1.0}}, name="r", replace=True)
    wh.ingest_run("other", {"q": {"a": 1.0}}, name="r")
    wh.ingest_qrels("tiny", {"q": {"b": 2}}, replace=True)
    sql = "select dataset, run_version, doc_id, relevance, is_current from prediction_versions "
    sql += "order by all"
    assert rows(wh, sql) == [
        ("other", 1, "a", None, True),
        ("tiny", 1, "a", None, False),
        ("tiny", 2, "b", 2, True),
    ]
    sql = "select qrels_version, doc_id, relevance, is_current from qrels_versions order by all"
    assert rows(wh, sql) == [(1, "a", 1, False), (2, "b", 2, True)]


def test_a_document_judged_by_subtopic(wh: Warehouse, tmp_path) -> None:
    path = tmp_path / "subtopics.txt"
    path.write_text("q 1 a 1\nq 2 a 2\nq 1 b 0\n")
    wh.ingest_qrels("web", str(path), iterations=True)
    wh.ingest_run("web", {"q": {"a": 2.0, "b": 1.0, "c": 0.5}}, name="r")
    assert rows(wh, "select rank, doc_id, relevance from predictions order by rank") == [
        (1, "a", 2), (2, "b", 0), (3, "c", None),
    ]  # fmt: skip
    assert rows(wh, "select doc_id, iteration, relevance from qrels order by all") == [
        ("a", "1", 1), ("a", "2", 2), ("b", "1", 0),
    ]  # fmt: skip


def test_rankings_on_random_runs(wh: Warehouse) -> None:
    dice = random.Random(7)
    expected = set()
    qrels = {
        f"q{q}": {f"d{d}": dice.choice([-1, 0, 1, 2]) for d in dice.sample(range(30), 8)}
        for q in range(6)
    }
    wh.ingest_qrels("tiny", qrels)
    for number in range(4):
        down = number % 2 == 1
        run = {
            f"q{q}": {
                f"d{d}": dice.choice([0.0, 0.5, 1.0, 2.5]) for d in dice.sample(range(30), 12)
            }
            for q in dice.sample(range(8), 6)
        }
        wh.ingest_run("tiny", run, name=f"r{number}", lower_is_better=down)
        for query, scores in run.items():
            ranked = sorted(scores, reverse=True)
            ranked.sort(key=lambda d, s=scores, down=down: s[d] if down else -s[d])
            for rank, document in enumerate(ranked, 1):
                grade = qrels.get(query, {}).get(document)
                expected.add((f"r{number}", query, rank, document, scores[document], grade))
    found = rows(wh, "select run, query_id, rank, doc_id, score, relevance from predictions")
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.slow
def test_a_filter_reaches_the_predictions(wh: Warehouse) -> None:
    """No filter may stand above the window: every ranking would be made, to be thrown away."""
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    for number in range(3):
        for _ in range(2):
            run = {f"q{q}": {"a": 1.0, "b": 2.0 + number + _} for q in range(3)}
            wh.ingest_run("tiny", run, name=f"r{number}", system="s", replace=True)

    def above_the_windows(node: dict, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        name = node["name"].strip()
        inner = [found for c in node["children"] for found in above_the_windows(c, (*path, name))]
        of_predictions = name == "WINDOW" and '.prediction_by_text"' in json.dumps(node)
        return [path, *inner] if of_predictions else inner

    conditions = ("run = 'r1'", "query_id = 'q1'", "dataset = 'tiny'", "run_id = 2", "system = 's'")
    with wh.file.read() as con:
        for condition in conditions:
            sql = f"explain (format json) select * from predictions where {condition}"
            plan = json.loads(con.execute(sql).fetchall()[0][1])
            paths = above_the_windows(plan[0], ())
            assert paths, condition
            assert not [path for path in paths if "FILTER" in path], (condition, paths)


@pytest.mark.slow
def test_history_on_random_runs(wh: Warehouse) -> None:
    dice = random.Random(3)
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 1}, "q2": {"c": 2}})
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    days = dice.sample(range(40), 12)
    for number, day in enumerate(days):
        run = {q: {d: dice.random() for d in dice.sample("abcdef", 4)} for q in ("q1", "q2")}
        wh.ingest_run("tiny", run, name=f"r{number}", run_at=start + dt.timedelta(days=day))
    wh.evaluate(metrics="AP LAG RR")
    for metric, better in (("AP", max), ("RR", max), ("LAG", min)):
        values = dict(rows(wh, "select run, value from scores where metric = $m", m=metric))
        found = rows(
            wh,
            "select step, run, value, best_so_far, is_record from history where metric = $m "
            "order by step",
            m=metric,
        )
        seen: list[float] = []
        for step, number in enumerate(sorted(range(12), key=lambda n: days[n])):
            value = values[f"r{number}"]
            record = value is not None and (not seen or better(seen) != better([*seen, value]))
            seen += [] if value is None else [value]
            best = better(seen) if seen else None
            assert found[step] == (step + 1, f"r{number}", value, best, record)


def test_history_does_not_mix_qrels_versions(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0, "b": 0.5}}, name="r")
    wh.evaluate(metrics="RR")
    wh.ingest_qrels("tiny", {"q": {"b": 1}}, replace=True)
    wh.evaluate(metrics="RR")
    sql = (
        "select qrels_version, step, value, best_so_far, is_record from history_versions order by 1"
    )
    assert rows(wh, sql) == [(1, 1, 1.0, 1.0, True), (2, 1, 0.5, 0.5, True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "newer",
    [
        # one of a hundred thousand texts, after which the others come
        "(select max_by(text, hash(text)) from (select i::varchar as text from range(100_000) as r(i))) "
        "as content_hash",
        "evaluated_at + interval 1 microsecond as evaluated_at",
    ],
)
def test_the_views_show_the_newest_evaluation_alone(wh: Warehouse, newer: str) -> None:
    """Of metrics, slices and curves: each evaluation is there once more, its numbers greater by 1.

    Of equal times the content decides, however the rows are numbered.
    """
    wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="one")
    wh.evaluate("tiny", metrics="RR", slices=["some = query_id = 'q'", "other = query_id"])
    wh.curve("tiny", "ROC", store=True)
    shown = {
        "scores": ["value"],
        "query_scores": ["query_id", "direction", "run_id", "value"],
        "slice_scores": ["slice", "value"],
        "slice_query_scores": ["slice", "query_id", "direction", "run_id", "value"],
        "curve_points": ["query_id", "position", "x", "y"],
    }
    queries = {
        view: f"select {', '.join(of)} from {view} order by all" for view, of in shown.items()
    }
    with duckdb.connect(str(wh.path)) as con:
        before = {view: con.execute(sql).fetchall() for view, sql in queries.items()}
        assert all(before.values())
        for table, number in {
            "evaluation": newer,
            "score": "value + 1 as value",
            "query_score": "value + 1 as value",
            "curve_point": "y + 1 as y",
        }.items():
            more = f"evaluation_id - 1000 as evaluation_id, {number}"
            con.execute(f"insert into store.{table} select * replace ({more}) from store.{table}")
    wh.verify(renew=True)
    with duckdb.connect(str(wh.path)) as con:
        for view, sql in queries.items():
            newer = [(*row[:-1], row[-1] + 1) for row in before[view]]
            assert con.execute(sql).fetchall() == newer, view


def test_examples_give_the_number_of_the_board_after_new_judgments(
    wh: Warehouse, tmp_path: Path
) -> None:
    """Without a word about versions: of qrels that were replaced, and of a run that was.

    RR of "old" is 1 by the first qrels and 1/2 by the second; its first version, and the first of
    the qrels, would have the higher value in every example that takes the best.
    """
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}}, name="old", system="s")
    wh.ingest_run("tiny", {"q": {"b": 2.0, "c": 1.0}}, name="new", system="t", replace=True)
    wh.evaluate(metrics="RR")
    wh.ingest_qrels("tiny", {"q": {"b": 1}}, replace=True)
    wh.ingest_run(
        "tiny", {"q": {"c": 2.0, "d": 1.5, "b": 1.0}}, name="new", system="t", replace=True
    )
    wh.evaluate(metrics="RR")
    board = {row.run: row.RR for row in wh.leaderboard("tiny", metrics="RR")}
    assert board == {"old": 1 / 2, "new": pytest.approx(1 / 3, abs=1e-15)}
    shown = tomllib.loads(
        (Path(warehouse.__file__).with_name("demo") / "demo.toml").read_text(encoding="utf-8")
    )
    (asked,) = (line for line in shown["next"] if line.startswith("query"))
    printed = shlex.split(asked)[1].replace("nDCG@10", "RR")
    assert dict(rows(wh, printed)) == {"s": board["old"], "t": board["new"]}
    for sql in (
        "select run, max(value) from scores group by run",
        "select run, max(value) from query_scores group by run",
        "select run, max(value) from leaderboard group by run",
        "select run, arg_max(value, run_version) from history group by run",
        "select run, max(value) from board_as_of('tiny', now()) group by run",
        "select run, 1 / rank from predictions semi join qrels using (query_id, doc_id)",
    ):
        assert dict(rows(wh, sql)) == board, sql
    for name, example in EXAMPLES.items():
        if "_versions" not in name:
            assert not re.search("is_current|_versions", example), name


def test_a_run_that_is_not_evaluated_is_on_the_board(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}}, name="one")
    wh.evaluate(metrics="RR")
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="two")
    sql = "select place, run, value, is_evaluated from leaderboard order by place"
    assert rows(wh, sql) == [(1, "one", 1.0, True), (None, "two", None, False)]
    wh.evaluate(metrics="RR")
    assert rows(wh, sql) == [(1, "one", 1.0, True), (2, "two", 0.5, True)]


def test_queries_that_a_value_leaves_out(wh: Warehouse) -> None:
    """AUC of q1 is 1 and of q2 undefined; trec_eval_9 passes over q3; q9 is judged by nobody."""
    wh.ingest_qrels("tiny", {q: {"a": 1, "b": 0} for q in ("q1", "q2", "q3")})
    lists = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}
    wh.ingest_run("tiny", lists, name="one")
    wh.evaluate("tiny", metrics="AUC P@1")
    wh.evaluate("tiny", metrics="P@1", protocol="trec_eval_9")
    graded = [{"run": "one", "query_id": "q1", "metric": "tone", "value": 1}]
    wh.ingest_scores("tiny", graded)
    sql = "select protocol, metric, query_id, why from left_out_queries order by all"
    silent = "without documents"
    assert rows(wh, sql) == [
        ("default", "AUC", "q2", "undefined"),
        ("default", "AUC", "q3", "undefined"),
        ("default", "AUC", "q9", "not judged"),
        ("default", "P@1", "q9", "not judged"),
        *(("imported", "tone", query, "the source has no value") for query in ("q2", "q3", "q9")),
        ("trec_eval_9", "P@1", "q3", silent),
        ("trec_eval_9", "P@1", "q9", "not judged"),
    ]
    # the value counts what is judged or retrieved and not left out
    sql = (
        "select protocol, metric from scores join left_out_queries using (protocol, metric) "
        "group by all having any_value(num_queries) + count(*) <> 4"
    )
    assert rows(wh, sql) == []
    wh.ingest_qrels("tiny", {"q1": {"a": 1}}, replace=True)
    assert rows(wh, "from left_out_queries where protocol <> 'imported'") == []
    assert len(rows(wh, "from left_out_query_versions where not is_current")) == 9


def test_the_macro_compares_what_is_shown(wh: Warehouse) -> None:
    """Of 1, 0, 0 and 1, 1, 0 the mean difference is 1/3, and the medians are 0 and 1."""
    wh.ingest_qrels("tiny", {q: {"a": 1} for q in ("q1", "q2", "q3")})
    for name, found in (("one", "abb"), ("two", "aab")):
        wh.ingest_run("tiny", {f"q{n}": {d: 1.0} for n, d in enumerate(found, 1)}, name=name)
    median = "P(aggregate=median)@1"
    wh.evaluate("tiny", metrics=["P@1", median])
    sql = "from compare('tiny', 'one', 'two', $metric)"
    # the deviation of 0, 1, 0 is the root of 1/3
    (mean,) = rows(wh, sql, metric="P@1")
    assert mean == pytest.approx((1 / 3, 2 / 3, 1 / 3, 3**-0.5, 1, 2, 0, 3))
    assert rows(wh, sql, metric=median) == [(0.0, 1.0, 1.0, None, 1, 2, 0, 3)]


@pytest.mark.slow
def test_the_past_in_sql_is_that_of_the_command(wh: Warehouse) -> None:
    """At each moment at which something came or went: new qrels, a new run, a removed one."""
    moments = []

    def then() -> None:
        wh.evaluate(metrics="RR P@1")
        moments.append(wh.query("select max(evaluated_at) from scores").fetchall()[0][0])

    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="one")
    then()
    wh.ingest_run("tiny", {"q": {"a": 2.0}}, name="two")
    then()
    wh.ingest_qrels("tiny", {"q": {"b": 1}}, replace=True)
    then()
    wh.ingest_run("tiny", {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, name="one", replace=True)
    then()
    moments.append(dt.datetime.now(dt.UTC))
    seen = []
    for moment in moments:
        found = rows(
            wh, "select run, value from board_as_of('tiny', $t, metric_name := 'RR')", t=moment
        )
        board = wh.leaderboard("tiny", metrics="RR", as_of=moment)
        assert found == [(row.run, row.RR) for row in board]
        seen.append(dict(found))
    assert seen[0] == {"one": 0.5}
    assert seen[1] == {"one": 0.5, "two": 1.0}
    assert seen[2] == {"one": 1.0, "two": 0.0}
    assert seen[3] == seen[4] == {"one": pytest.approx(1 / 3, abs=1e-15), "two": 0.0}
    # a date is its end, a time without a zone is in UTC, in any session
    now = moments[-1]
    with duckdb.connect(str(wh.path), read_only=True) as con:
        con.execute("set timezone = 'Pacific/Auckland'")
        for written in (
            f"{now:%Y-%m-%d}",
            f"{now:%Y-%m-%d %H:%M:%S.%f}",
            f"{now:%Y-%m-%d %H:%M:%S.%f}+00",
        ):
            sql = "select run, value from board_as_of('tiny', $t, metric_name := 'RR') order by run"
            assert dict(con.execute(sql, {"t": written}).fetchall()) == seen[-1], written
        sql = "select count(*) from scores_as_of($t)"
        for written, number in (
            (f"{now - dt.timedelta(days=1):%Y-%m-%d}", 0),
            (f"{now:%Y-%m-%d}", 4),
        ):
            assert con.execute(sql, {"t": written}).fetchall() == [(number,)]


def test_each_attached_warehouse_answers_for_itself(wh: Warehouse, tmp_path: Path) -> None:
    """Under two names, from a file and from memory: views have their own rows, macros refuse."""
    other = Warehouse(tmp_path / "second.duckdb")
    for each, run in ((wh, {"a": 1.0}), (other, {"b": 2.0, "a": 1.0})):
        each.ingest_qrels("tiny", {"q": {"a": 1}})
        each.ingest_run("tiny", {"q": run}, name="r")
        each.evaluate(metrics="RR")
    with duckdb.connect(str(wh.path), read_only=True) as con:
        con.execute(f"attach '{other.path}' as other (read_only)")
        _check_each(con, {wh.path.stem: 1.0, "other": 0.5})
    with duckdb.connect() as con:
        for name, each in (("one", wh), ("two", other)):
            con.execute(f"attach '{each.path}' as {name} (read_only)")
        _check_each(con, {"one": 1.0, "two": 0.5})
        con.execute("use two")
        _check_each(con, {"one": 1.0, "two": 0.5})
        con.execute("detach one")
        assert con.execute("select value from board_as_of('tiny', now())").fetchall() == [(0.5,)]


def _check_each(con: duckdb.DuckDBPyConnection, values: dict[str, float]) -> None:
    asked = [
        *("scores_as_of(now())", "board_as_of('tiny', now())", "board_as_of('gone', now())"),
        *("compare('tiny', 'r', 'r', 'RR')", "compare('gone', 'r', 'r', 'RR')"),
    ]
    for name, value in values.items():
        for view in ("leaderboard", "scores", "query_scores", "history", "score_times"):
            assert con.execute(f'select value from "{name}".{view}').fetchall() == [(value,)]
        for one in asked:
            with pytest.raises(duckdb.Error, match=r"Several warehouses|Did you mean"):
                con.execute(f'from "{name}".{one}').fetchall()

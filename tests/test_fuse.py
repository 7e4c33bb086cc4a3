"""`Warehouse.fuse` and `warehouse fuse`: what goes in, what it leaves behind, and what it says."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fusions import DATASET, loaded
from projects import command
from refusals import expect_refusal

from warehouse.errors import ConflictError, UsageError
from warehouse.evaluate.plan import plan
from warehouse.fuse import tuning
from warehouse.fuse.recipe import Source, recipe
from warehouse.metrics import fusion, notation, protocols
from warehouse.warehouse import Warehouse

RUNS = {
    "one": {"q": {"x": 3.0, "y": 2.0}, "r": {"x": 1.0}, "s": {"y": 2.0, "x": 1.0}},
    "two": {"q": {"z": 2.0, "x": 1.0}, "s": {"x": 2.0, "z": 1.0}},
}
QRELS = {"q": {"x": 1, "y": 0}, "r": {"x": 1}, "s": {"z": 1}}
NAMES = ("one", "two")


@pytest.fixture(scope="module")
def made() -> Path:
    return loaded(RUNS, QRELS).path


@pytest.fixture
def wh(made: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copy(made, tmp_path / "fuse.duckdb"))


def rows(wh: Warehouse, sql: str) -> list[Any]:
    return wh.query(sql).fetchall()


def content(wh: Warehouse, run: str) -> list[Any]:
    return rows(
        wh, f"select query_id, doc_id, score from predictions where run = '{run}' order by all"
    )


def test_one_name_is_one_run_and_not_its_letters(wh: Warehouse) -> None:
    for letter in "xy":
        wh.ingest_run(DATASET, {"q": {letter: 1.0}}, name=letter)
    with pytest.raises(UsageError, match=r"^xy: dataset"):
        wh.fuse(DATASET, "xy", name="both")
    with pytest.raises(UsageError, match=r"^x: merging needs two or more runs"):
        wh.fuse(DATASET, "x", name="both")


@pytest.mark.slow
def test_the_new_run_is_a_run_as_any_other(wh: Warehouse) -> None:
    made = wh.fuse(DATASET, NAMES, "sum", normalise="none", name="both", tags={"stage": "late"})
    assert (made.loaded.status, made.loaded.num_rows, made.loaded.num_queries) == ("loaded", 7, 3)
    assert (made.method, made.normalisation, made.weights, made.trials) == ("sum", "none", (), None)
    assert ("q", "x", 4.0) in content(wh, "both")
    assert wh.evaluate(metrics="RR").computed == 3
    assert "both" in {row[1] for row in wh.leaderboard(DATASET, metrics=["RR"]).fetchall()}
    assert wh.verify(DATASET).is_good
    assert rows(wh, "select tags['stage'] from runs where run = 'both'") == [("late",)]


def test_it_is_written_down_where_it_comes_from(wh: Warehouse) -> None:
    wh.fuse(DATASET, ("two", "one"), "wsum", weights=(0.7, 0.3), name="both")
    assert rows(
        wh,
        "select method, normalisation, queries, position, source, source_version, weight, "
        "source_is_current, num_trained, is_left_out, tuned_by from fused_runs order by position",
    ) == [
        ("wsum", "min-max", "union", 1, "two", 1, 0.7, True, None, False, None),
        ("wsum", "min-max", "union", 2, "one", 1, 0.3, True, None, False, None),
    ]
    shown = wh.show(DATASET, "both").relation.project("fusion, fused_from").fetchall()
    assert shown == [
        ("wsum; normalisation min-max; union of the queries", "two v1 * 0.7, one v1 * 0.3")
    ]
    hashes = rows(wh, "select content_hash from store.run where name = 'two'")
    assert rows(wh, "select content_hash from store.fusion_source where name = 'two'") == hashes


@pytest.mark.slow
def test_a_source_that_is_forgotten_or_replaced_breaks_nothing(wh: Warehouse) -> None:
    wh.fuse(DATASET, NAMES, name="both")
    wh.ingest_run(DATASET, {"q": {"x": 1.0}}, name="one", replace=True)
    wh.forget(DATASET, "two")
    assert rows(wh, "select source, source_is_current from fused_runs order by position") == [
        ("one", False),
        ("two", False),
    ]
    assert wh.show(DATASET, "both").relation.project("fused_from").fetchall() == [
        ("one v1, two v1",)
    ]
    assert wh.verify(DATASET).is_good
    wh.forget(DATASET, "both", reason="enough")
    assert wh.verify(DATASET).is_good
    assert wh.show(DATASET, "both").relation.project("fused_from, reason").fetchall() == [
        ("one v1, two v1", "enough")
    ]
    assert rows(wh, "from fused_runs") == []


@pytest.mark.slow
def test_the_same_again_another_content_and_a_new_version(wh: Warehouse) -> None:
    wh.fuse(DATASET, NAMES, "sum", name="both")
    again = wh.fuse(DATASET, NAMES, "sum", name="both")
    assert (again.loaded.status, len(rows(wh, "from store.fusion"))) == ("unchanged", 1)
    before = content(wh, "both")
    with pytest.raises(ConflictError, match="another run named both already"):
        wh.fuse(DATASET, NAMES, "rrf", name="both")
    assert content(wh, "both") == before
    assert wh.fuse(DATASET, NAMES, "rrf", name="both", replace=True).loaded.version == 2
    assert rows(
        wh, "select run_version, method, is_current from fused_run_versions group by all order by 1"
    ) == [(1, "sum", False), (2, "rrf(k=60)", True)]


def test_queries_that_only_some_runs_have(wh: Warehouse) -> None:
    union = wh.fuse(DATASET, NAMES, name="union")
    assert union.loaded.num_queries == 3
    assert union.notes == (
        "1 of 3 queries is in only some of the runs: in the others it has no documents "
        "(queries='common' "
        "leaves it out)",
    )
    common = wh.fuse(DATASET, NAMES, name="common", queries="common")
    assert common.loaded.num_queries == 2
    assert common.notes == ("1 of 3 queries is in only some of the runs: left out",)


@pytest.mark.slow
def test_lists_that_the_highest_score_says_nothing_of_are_told(wh: Warehouse) -> None:
    """Distances are below 0 when they are turned round; divided by almost nothing they outdo all."""
    distances = {"q": {"x": 0.1, "y": 0.9}, "s": {"x": 0.0, "y": 0.5}}
    wh.ingest_run(DATASET, distances, name="apart", lower_is_better=True)
    told = (
        "apart: no score above 0 in 2 of 2 lists, of which normalise='max' makes huge numbers below 0: "
        "take another, as min-max"
    )
    for queries in ("union", "common"):
        made = wh.fuse(DATASET, ["apart", "one"], normalise="max", name=queries, queries=queries)
        assert made.notes[-1] == told
    assert told not in wh.fuse(DATASET, ["apart", "one"], normalise="min-max", name="other").notes
    assert told not in wh.fuse(DATASET, NAMES, normalise="max", name="both").notes


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse of two runs that, merged by votes, leave most documents in a tie."""
    dice = random.Random(5)
    queries, docs = [f"q{n}" for n in range(30)], [f"d{n}" for n in range(40)]
    runs = {
        name: {q: {d: dice.random() for d in dice.sample(docs, 30)} for q in queries}
        for name in NAMES
    }
    qrels = {q: dict.fromkeys(dice.sample(docs, 8), 1) for q in queries}
    return shutil.copy(loaded(runs, qrels).path, tmp_path_factory.mktemp("tied") / "tied.duckdb")


@pytest.mark.slow
@pytest.mark.sample(4, 4)
@pytest.mark.core
@pytest.mark.parametrize("method", ["condorcet", "bordafuse", "rrf", "max"])
def test_equal_scores_stand_in_the_order_of_the_default_protocol(
    tied: Path, tmp_path: Path, method: str
) -> None:
    """Other protocols take them as they stand; otherwise these values would be left to chance."""
    wh = Warehouse(shutil.copy(tied, tmp_path / "copy.duckdb"))
    wh.fuse(DATASET, NAMES, method, name="merged")
    stands = "select query_id, doc_id from store.prediction where run_id = 3 order by "
    found = rows(wh, f"{stands} position")
    assert len(found) > 1000
    assert found == rows(wh, f"{stands} query_id, score desc, doc_id desc")
    for protocol in ("default", "rectools"):
        wh.evaluate(DATASET, metrics="P@5", protocol=protocol)
    values = (
        "select value from query_scores where run = 'merged' and protocol = '{}' order by query_id"
    )
    assert len(rows(wh, values.format("default"))) == 30
    assert rows(wh, values.format("rectools")) == rows(wh, values.format("default"))


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("protocol", ["default", "rectools"])
def test_a_trial_is_what_the_merged_run_is(tied: Path, tmp_path: Path, protocol: str) -> None:
    """Also under rules that take equal scores as they stand."""
    wh = Warehouse(shutil.copy(tied, tmp_path / "copy.duckdb"))
    asked: dict[str, Any] = {"tune": "RR", "protocol": protocol, "train_share": 1}
    made = wh.fuse(DATASET, NAMES, "w_bordafuse", name="tuned", **asked)
    assert made.trials is not None
    tried = dict(made.trials.project('weights, "RR"').fetchall())
    wh.fuse(DATASET, NAMES, "w_bordafuse", weights=[0.5, 0.5], name="even")  # where most are tied
    wh.evaluate(DATASET, metrics="RR", protocol=protocol)
    values = dict(rows(wh, "select run, value from leaderboard"))
    assert values["tuned"] == tried[",".join(f"{w:g}" for w in made.weights)]
    assert values["even"] == tried["0.5,0.5"]


@pytest.mark.slow
def test_trained_on_some_queries_which_are_left_out_on_request(wh: Warehouse) -> None:
    made = wh.fuse(DATASET, NAMES, "posfuse", name="all", train_queries=["q", "s", "unjudged"])
    assert made.loaded.num_queries == 3
    assert made.notes[1:] == (
        "1 training query is not judged: ignored",
        "trained on 2 queries with version 1 of the qrels (q, s); values over these flatter the run "
        "(leave_out_training=True leaves them out)",
    )
    assert rows(wh, "from store.fusion_query order by all") == [(3, "q"), (3, "s")]
    left = wh.fuse(
        DATASET, NAMES, "posfuse", name="left", train_queries=["s", "q"], leave_out_training=True
    )
    assert content(wh, "left") == [row for row in content(wh, "all") if row[0] == "r"]
    assert rows(wh, "select num_trained, is_left_out from store.fusion order by run_id") == [
        (2, False), (2, True),
    ]  # fmt: skip
    assert "they are left out" in left.notes[-1]
    # compared on r alone: x is first in `one` and `left`, and `two` has no list; over all, left has 1/3
    found = wh.compare(DATASET, ["left", "one", "two"], "RR NumRet")
    assert [(r.base, r.run, r.base_value, r.value, r.difference, r.queries) for r in found][:3] == [
        ("left", "one", 1.0, 1.0, 0.0, 1), ("left", "two", 1.0, 0.0, -1.0, 1),
        ("one", "two", 1.0, 0.0, -1.0, 1),
    ]  # fmt: skip
    assert [row.value for row in found if row.metric == "NumRet"] == [1.0, 0.0, 0.0]
    assert any(
        "held-out queries, without the 2 training queries that left" in n for n in found.notes
    )
    with expect_refusal("RR(aggregate=median) … left … 2"):
        wh.compare(DATASET, ["left", "one"], "RR(aggregate=median)")
    assert not any("held-out" in n for n in wh.compare(DATASET, ["one", "two"], "RR").notes)
    shown = wh.show(DATASET, "left").relation.project("fusion").fetchall()[0][0]
    assert "; trained on 2 queries of qrels v1, left out" in shown
    wh.fuse(DATASET, NAMES, "posfuse", name="one query", train_queries=["q"])
    shown = wh.show(DATASET, "one query").relation.project("fusion").fetchall()[0][0]
    assert "; trained on 1 query of qrels v1" in shown


@pytest.mark.slow
def test_a_share_is_the_same_queries_each_time(wh: Warehouse) -> None:
    for name, share in (("a", 0.34), ("b", 0.34), ("c", 1)):
        wh.fuse(DATASET, NAMES, "mapfuse", name=name, train_share=share, replace=True)
    found = [
        [
            row[0]
            for row in rows(
                wh, f"select query_id from store.fusion_query where run_id = {n} order by 1"
            )
        ]
        for n in (3, 5)
    ]
    assert len(found[0]) == 1
    assert found[1] == ["q", "r", "s"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("metric", ["nDCG@2", "AvgRank"])
def test_the_best_of_the_grid_is_taken(wh: Warehouse, metric: str) -> None:
    """Each trial has the value that the run has which is made and scored by itself."""
    made = wh.fuse(DATASET, NAMES, "wsum", name="tuned", tune=metric, train_queries=list(QRELS))
    assert made.trials is not None
    found = made.trials.fetchall()
    assert len(found) == 11
    assert [row[0] for row in found] == list(range(1, 12))
    tried = {row[2]: row[3] for row in found}
    sign = -1 if metric == "nDCG@2" else 1
    # of equal ones the first in the grid, where the weight of the first run grows
    order = [f"{w / 10:g},{(10 - w) / 10:g}" for w in range(11)]
    assert list(tried) == sorted(order, key=lambda text: (sign * tried[text], order.index(text)))
    assert ",".join(f"{w:g}" for w in made.weights) == found[0][2]
    for text in ("0.4,0.6", "1,0") if metric == "nDCG@2" else ():
        weights = [float(w) for w in text.split(",")]
        wh.fuse(DATASET, NAMES, "wsum", weights=weights, name=f"w {text}")
        run: dict[str, dict[str, float]] = {}
        for query, doc, score in content(wh, f"w {text}"):
            run.setdefault(query, {})[doc] = score
        scores = Warehouse.score(QRELS, run, [metric])
        assert scores.means()[metric] == pytest.approx(tried[text], abs=1e-12)
    assert rows(wh, "select tuned_by, protocol from store.fusion where run_id = 3") == [
        (metric, "default")
    ]


@pytest.mark.parametrize(
    ("method", "number", "first", "last"),
    [
        ("rrf", 10, "rrf(k=10)", "rrf(k=100)"),
        ("rbc", 100, "rbc(phi=0.01)", "rbc(phi=1.0)"),
        ("gmnz", 100, "gmnz(gamma=0.01)", "gmnz(gamma=1.0)"),
        ("logn_isr", 100, "logn_isr(sigma=0.01)", "logn_isr(sigma=1.0)"),
        ("slidefuse", 100, "slidefuse(rel=1, w=1)", "slidefuse(rel=1, w=100)"),
        ("probfuse(rel=2)", 100, "probfuse(rel=2, segments=1)", "probfuse(rel=2, segments=100)"),
        ("wsum", 66, "wsum", "wsum"),
    ],
)
def test_grids(method: str, number: int, first: str, last: str) -> None:
    """Three runs have 66 sets of weights: 12 over 2, the ways to cut ten tenths into three."""
    runs = [Source(n, f"run {n}", 1, "") for n in range(3)]
    tried = list(tuning.grid(recipe(runs, method, None, None, tuned=True)))
    assert len(tried) == number
    assert [fusion.written(tried[n].method) for n in (0, -1)] == [first, last]


def test_of_equal_trials_the_first_in_the_grid_is_taken(wh: Warehouse) -> None:
    made = wh.fuse(DATASET, NAMES, "rrf", name="tuned", tune="R@5", train_share=1)
    assert made.trials is not None
    assert [row[1] for row in made.trials.fetchall()] == [f"rrf(k={k})" for k in range(10, 101, 10)]
    assert made.method == "rrf(k=10)"
    # 0.2 both, in two orders of adding: the first double is the smaller one
    values = ((0.3 + 0.2 + 0.1) / 3, (0.1 + 0.2 + 0.3) / 3)
    assert values[0] < values[1]
    runs = [Source(n, f"run {n}", 1, "") for n in range(2)]
    tried = tuple(tuning.grid(recipe(runs, "wsum", None, None, tuned=True)))[:2]
    assert tuning.Trials("P@10", tried, values, lower_is_better=False).order == [0, 1]


def test_an_undefined_metric_has_no_best(wh: Warehouse) -> None:
    with pytest.raises(UsageError, match="undefined over the training queries"):
        wh.fuse(DATASET, NAMES, "rrf", tune="AUC", name="n", train_queries=["r"])


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"runs": ["one", "tow"]}, "tow … two"),
        ({"runs": ["one"]}, "one: merging needs two or more runs; d has one, two"),
        ({"runs": ["one", "one", "two"]}, "one: named twice; a run is merged once"),
        ({"dataset": "e"}, "e: no such dataset; known are d"),
        ({"method": "combsom"}, "combsom … CombSUM"),
        ({"normalise": "minmx"}, "minmx … min-max"),
        ({"queries": "unoin"}, "queries … unoin … union"),
        ({"name": "one"}, "one: a run cannot take the place of one that it is made of"),
        ({"name": " "}, "the name of the run is empty"),
        ({"method": "wsum"}, "wsum needs a weight for each run, as in weights=[0.5, 0.5], or"),
        ({"weights": [1, 2]}, "rrf takes no weights; mixed, w_bordafuse, w_condorcet, wmnz, wsum do"),
        ({"method": "wsum", "weights": [1]}, "1 weight for 2 runs: give one for each run, in the"),
        ({"method": "wsum", "weights": [1, -1]}, "weights must be numbers of at least 0, and not all"),
        ({"method": "wsum", "weights": [0, 0]}, "weights must be numbers of at least 0, and not all"),
        ({"method": "wsum", "weights": [1, 2], "tune": "AP", "train_share": 1}, "weights are given"),
        ({"method": "mapfuse"}, "mapfuse is trained on judged queries; say on which, with train_qu"),
        (
            {"method": "rrf(k=9)", "tune": "AP", "train_share": 1},
            "k=9 is given, but tune= would choose it; leave",
        ),
        ({"tune": "AP"}, "tune='AP' tries on judged queries; say on which, with train_queries="),
        ({"tune": "APP", "train_share": 1}, "APP … AP"),
        ({"tune": "Judged@5", "method": "sum", "train_share": 1}, "sum: has nothing to tune; gmnz, "),
        ({"tune": "NumRet(aggregate=stddev)", "train_share": 1}, "NumRet(aggregate=stddev): neither"),
        ({"tune": "PSP@5", "train_share": 1}, "PSP@5 reads a training set, and dataset d has none"),
        ({"train_share": 1}, "rrf: is not trained; give training queries to a method that is, or"),
        ({"method": "mapfuse", "train_queries": ["nn"]}, "1 training query, of which d judges none"),
        ({"method": "mapfuse", "train_share": 0.01}, "a share of 0.01 of"),
        ({"method": "mapfuse", "train_share": 1.5}, "the share of the queries to train on is above 0"),
        ({"method": "mapfuse", "train_share": 1, "leave_out_training": True}, "every query of the runs"),
        ({"leave_out_training": True}, "there are no training queries to leave out"),
        ({"method": "mapfuse", "train_share": 1, "train_queries": ["q"]}, "training queries are given"),
        ({"protocol": "defalt", "tune": "AP", "train_share": 1}, "defalt: no such protocol"),
    ],
)  # fmt: skip
def test_what_is_refused(made: Path, given: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"runs": NAMES, "dataset": DATASET, "name": "new"} | given
    with expect_refusal(message):
        Warehouse(made).fuse(
            asked.pop("dataset"), asked.pop("runs"), asked.pop("method", "rrf"), **asked
        )


def test_what_is_refused_leaves_nothing(wh: Warehouse) -> None:
    """Also where the loading refuses it, after all else is done."""
    with pytest.raises(UsageError, match="the name of the run is empty"):
        wh.fuse(DATASET, NAMES, "mapfuse", train_share=1, name=" ")
    assert rows(
        wh, "select (select count(*) from store.run), (select count(*) from store.fusion)"
    ) == [(2, 0)]


def test_nothing_in_common_and_no_qrels() -> None:
    wh = loaded({"one": {"q": {"x": 1.0}}, "two": {"r": {"x": 1.0}}})
    with pytest.raises(UsageError, match="one, two: no query is common to all of them"):
        wh.fuse(DATASET, NAMES, name="new", queries="common")
    with pytest.raises(UsageError, match="d: has no qrels to train on"):
        wh.fuse(DATASET, NAMES, "mapfuse", name="new", train_share=1)
    wh.ingest_qrels(DATASET, {"s": {"x": 1}})
    with pytest.raises(
        UsageError, match="s: no run that is merged has any of the training queries"
    ):
        wh.fuse(DATASET, NAMES, "mapfuse", name="new", train_share=1)


def test_too_many_sets_of_weights() -> None:
    runs = [Source(n, f"run {n}", 1, "") for n in range(7)]
    work = plan(notation.parse("AP"), protocols.get("default"))
    with pytest.raises(UsageError, match="more than 5,000 sets of weights to try"):
        tuning.tune(duckdb.connect(), recipe(runs, "wsum", None, None, tuned=True), work)


def test_command(wh: Warehouse, tmp_path: Path) -> None:
    train = tmp_path / "train.txt"
    train.write_text("q\ns\n")
    code, out, err = command(
        "fuse", *NAMES, "-d", DATASET, "--method", "wsum", "--tune", "AP", "--name", "both",
        "-f", "json", "--train-queries", str(train), "--db", str(wh.path),
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)
    assert len(found) == 11
    assert set(found[0]) == {"place", "method", "weights", "AP"}
    said = err.splitlines()
    assert said[0].startswith(f"both: wsum of one, two with weights {found[0]['weights']}, norm")
    assert any("trained on 2 queries" in line for line in said)
    assert "both: loaded (7 predictions, 3 queries)" in said
    for weights, expected in (("1;2", 2), ("1,0", 0)):
        code, out, _ = command(
            "fuse", *NAMES, "-d", DATASET, "--method", "wsum", "--weights", weights,
            "--name", "w", "--db", str(wh.path),
        )  # fmt: skip
        assert (code, out) == (expected, "")


def test_methods_are_listed() -> None:
    _, out, said = command("fusions", "-f", "json")
    listed = {row["method"]: row for row in json.loads(out)}
    assert len(listed) == 25
    assert listed["rrf"]["parameters"] == "k=60"
    assert listed["wsum"]["needs"] == "weights"
    assert listed["sum"]["elsewhere"] == "literature CombSUM; ranx comb_sum"
    assert "zmuv: (s - mean) / max(standard deviation, 1e-9)." in said
    _, out, _ = command("fusions", "show", "RRF", "probfuse")
    assert "sum of 1 / (k + i_r)" in out
    assert "segments: integer; default 25; at least 1" in out

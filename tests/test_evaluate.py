"""Evaluating what is stored: only what is missing, all or nothing, the same bits every time."""

from __future__ import annotations

import gzip
import json
import random
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from projects import stored
from refusals import expect_refusal
from shared_cases import CASES

from warehouse.errors import UsageError
from warehouse.evaluate import engine, evaluation, plan, scope, stored_runs
from warehouse.metrics.notation import parse
from warehouse.warehouse import Warehouse

Counts = Callable[[Path], dict[str, int]]

QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
# first: RR (1/2 + 1) / 2, second: RR (1 + 0) / 2
RUNS = {
    "first": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}},
    "second": {"q1": {"a": 2.0, "b": 1.0}},
}


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    for name, run in RUNS.items():
        wh.ingest_run("tiny", run, name=name)


@pytest.fixture
def tiny(wh: Warehouse, prepared) -> Warehouse:
    return prepared(wh.path, two_runs)


@pytest.mark.slow
@pytest.mark.core
def test_computes_what_is_missing_and_nothing_twice(tiny: Warehouse, counts: Counts) -> None:
    first = tiny.evaluate(metrics="RR P@1")
    assert (first.computed, first.stale, first.up_to_date, first.runs) == (4, 0, 0, 2)
    assert first.new_hit_sets == 2
    assert stored(tiny, "select run, metric, value from scores order by all") == [
        ("first", "P@1", 0.5),
        ("first", "RR", 0.75),
        ("second", "P@1", 0.5),
        ("second", "RR", 0.5),
    ]
    before = counts(tiny.path)
    again = tiny.evaluate(metrics="RR P@1")
    assert (again.computed, again.up_to_date, again.runs) == (0, 4, 0)
    assert counts(tiny.path) == before

    tiny.ingest_run("tiny", {"q2": {"c": 1.0}}, name="third")
    more = tiny.evaluate(metrics="RR P@1 AP")
    assert (more.computed, more.up_to_date, more.runs) == (5, 4, 3)
    assert more.new_hit_sets == 1
    assert sorted(more.details) == [
        ("tiny", "first", "AP", "missing"),
        ("tiny", "second", "AP", "missing"),
        ("tiny", "third", "AP", "missing"),
        ("tiny", "third", "P@1", "missing"),
        ("tiny", "third", "RR", "missing"),
    ]


@pytest.mark.core
def test_what_is_there_already_is_not_computed_along(tiny: Warehouse) -> None:
    tiny.evaluate(metrics="RR")
    run: list[str] = []
    tiny.evaluate(metrics="RR AP", on_metric=run.append)
    assert run == ["AP"]


@pytest.mark.core
def test_values_of_each_query_and_the_silent_one(tiny: Warehouse) -> None:
    tiny.evaluate(metrics="RR")
    assert stored(tiny, "select run, query_id, value from query_score_versions order by all") == [
        ("first", "q1", 0.5),
        ("first", "q2", 1.0),
        ("second", "q1", 1.0),
        ("second", "q2", 0.0),
    ]
    found = stored(tiny, "select run, num_queries, num_answered, num_judged from scores order by 1")
    assert found == [("first", 2, 2, 2), ("second", 2, 1, 2)]


@pytest.mark.core
def test_the_queries_that_count_are_the_protocols(tiny: Warehouse) -> None:
    tiny.evaluate(metrics="RR", protocol="trec_eval_9")
    found = stored(tiny, "select run, protocol, value, num_queries from scores order by 1")
    # second is silent on q2: trec_eval 9 leaves the query out
    assert found == [("first", "trec_eval_9", 0.75, 2), ("second", "trec_eval_9", 1.0, 1)]


@pytest.mark.core
def test_protocols_share_no_column(tiny: Warehouse) -> None:
    tiny.evaluate(metrics="RR")
    assert tiny.evaluate(metrics="RR", protocol="trec_eval_9").computed == 2
    assert tiny.leaderboard("tiny").fetchall()[0][1:4] == ("first", None, 0.75)
    board = tiny.leaderboard("tiny", protocol="trec_eval_9").fetchall()
    assert board[0][1:4] == ("second", None, 1.0)


@pytest.mark.core
def test_dry_run_says_what_and_does_nothing(tiny: Warehouse, counts: Counts) -> None:
    before = counts(tiny.path)
    content = tiny.path.read_bytes()
    dry = tiny.evaluate(metrics="RR", dry_run=True)
    assert (dry.computed, dry.runs) == (2, 2)
    assert dry.details == [("tiny", "first", "RR", "missing"), ("tiny", "second", "RR", "missing")]
    assert counts(tiny.path) == before
    assert tiny.path.read_bytes() == content


@pytest.mark.core
def test_one_dataset_or_one_run(tiny: Warehouse) -> None:
    tiny.ingest_qrels("other", QRELS)
    tiny.ingest_run("other", RUNS["first"], name="first")
    assert tiny.evaluate("other", metrics="RR").computed == 1
    assert tiny.evaluate("tiny", runs="second", metrics="RR").computed == 1
    found = stored(tiny, "select dataset, run from scores order by all")
    assert found == [("other", "first"), ("tiny", "second")]
    # a name without a dataset stands for every run of that name
    assert tiny.evaluate(runs=["first"], metrics="AP").computed == 2


@pytest.mark.core
def test_wrong_names_get_the_nearest(tiny: Warehouse) -> None:
    with expect_refusal("tinny … tiny"):
        tiny.evaluate("tinny")
    with expect_refusal("frist … first"):
        tiny.evaluate(runs=["frist"])
    with pytest.raises(UsageError, match=r"(?s)nDGC@10.*nDCG.*RRR"):
        tiny.evaluate(metrics="nDGC@10 RRR AP")
    with expect_refusal("trec_eval9 … trec_eval_9"):
        tiny.evaluate(protocol="trec_eval9")


@pytest.mark.core
def test_datasets_without_qrels_are_reported_and_the_others_computed(tiny: Warehouse) -> None:
    tiny.ingest_run("bare", RUNS["first"], name="first")
    done = tiny.evaluate(metrics="RR")
    assert done.without_qrels == ["bare"]
    assert done.computed == 2


@pytest.mark.core
def test_an_empty_warehouse_has_nothing_to_do(wh: Warehouse) -> None:
    wh.init()
    done = wh.evaluate()
    assert (done.computed, done.up_to_date, done.without_qrels) == (0, 0, [])


@pytest.mark.core
def test_another_formula_makes_values_stale_and_keeps_the_old(
    tiny: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.evaluate(metrics="RR P@1")
    old = stored(tiny, "select evaluation_id, query_id, value from store.query_score order by all")
    add = plan.Plan.add

    def halved(self: plan.Plan, metric: object) -> str:
        values = add(self, metric)
        if str(metric) != "RR":
            return values
        self.queries[metric] = replace(values, sql=f"({values.sql}) / 2")
        return self.queries[metric]

    def once(self: plan.Plan, metric: object) -> str:
        return self.queries[metric] if metric in self.queries else halved(self, metric)

    monkeypatch.setattr(plan.Plan, "add", once)
    dry = tiny.evaluate(metrics="RR P@1", dry_run=True)
    assert (dry.computed, dry.stale, dry.up_to_date) == (2, 2, 2)
    assert {reason for *_, reason in dry.details} == {"stale"}
    done = tiny.evaluate(metrics="RR P@1")
    assert (done.computed, done.stale, done.up_to_date, done.new_hit_sets) == (2, 2, 2, 0)

    values = dict(stored(tiny, "select run, value from scores where metric = 'RR'"))
    assert values == {"first": 0.375, "second": 0.25}
    of_queries = stored(
        tiny,
        "select query_id, value from query_score_versions where metric = 'RR' and run = 'first' "
        "order by 1",
    )
    assert of_queries == [("q1", 0.25), ("q2", 0.5)]
    kept = stored(tiny, "select evaluation_id, query_id, value from store.query_score order by all")
    assert kept[: len(old)] == old
    assert len(kept) == len(old) + 4
    assert tiny.leaderboard("tiny", metrics="RR").fetchall()[0][3] == 0.375

    monkeypatch.undo()
    back = tiny.evaluate(metrics="RR")
    assert (back.computed, back.stale) == (2, 2)
    assert dict(stored(tiny, "select run, value from scores where metric = 'RR'"))["first"] == 0.75


@pytest.mark.sample(2)
@pytest.mark.core
@pytest.mark.parametrize("when", [1, "scores"])
def test_an_evaluation_that_fails_leaves_yesterdays_board(
    tiny: Warehouse, counts: Counts, monkeypatch: pytest.MonkeyPatch, when: object
) -> None:
    tiny.evaluate(metrics="RR")
    before, board = counts(tiny.path), tiny.leaderboard("tiny").fetchall()
    render = engine.render
    seen: list[str] = []

    def failing(name: str, **values: object) -> str:
        seen.append(name)
        if len(seen) == when or name == f"statements/{when}":
            raise RuntimeError("the power went out")
        return render(name, **values)

    monkeypatch.setattr(engine, "render", failing)
    with pytest.raises(RuntimeError, match="power"):
        tiny.evaluate(metrics="P@1 AP nDCG@10", protocol="default")
    assert seen[0] == "statements/query_scores"
    assert seen[1:] == ([] if when == 1 else ["statements/answered", "statements/scores"])
    assert counts(tiny.path) == before
    assert tiny.leaderboard("tiny").fetchall() == board
    monkeypatch.undo()
    assert tiny.evaluate(metrics="P@1 AP nDCG@10").computed == 6


@pytest.mark.core
def test_new_qrels_are_evaluated_again_and_boards_do_not_mix(tiny: Warehouse) -> None:
    tiny.evaluate(metrics="RR")
    tiny.ingest_qrels("tiny", {"q1": {"a": 0, "b": 1}, "q2": {"c": 1}}, replace=True)
    done = tiny.evaluate(runs="first", metrics="RR")
    assert (done.computed, done.stale, done.new_hit_sets) == (1, 0, 1)
    # both by the new judgments: first has b first and c first; second has b behind a, and no q2
    assert tiny.leaderboard("tiny").fetchall() == [
        (1, "first", None, 1.0, 2, 2),
        (2, "second", None, 0.25, 1, 2),
    ]
    history = "select qrels_version, run, value, is_current from score_versions order by all"
    assert stored(tiny, history) == [
        (1, "first", 0.75, False),
        (1, "second", 0.5, False),
        (2, "first", 1.0, True),
    ]


PROTOCOLS = ("default", "trec_eval_9", "trec_eval_10")
# The last ones read the whole lists, which are kept for few runs at a time.
METRICS = [
    str(metric)
    for metric in parse(
        "all_trec", "Judged@10", "AUC(ties=half)", "AUC(aggregate=pooled,ties=half)"
    )
]
Values = dict[tuple[str, ...], str | None]


def bits(value: float | None) -> str | None:
    return None if value is None else struct.pack(">d", value).hex()


def kept(wh: Warehouse, dataset: str, protocol: str) -> tuple[Values, Values]:
    """Return the bits of the values of each run and query, and of the totals of each run."""
    where = "where dataset = $d and protocol = $p"
    asked = {"d": dataset, "p": protocol}
    of_queries = stored(
        wh, f"select run, query_id, metric, value from query_score_versions {where}", **asked
    )
    totals = stored(wh, f"select run, 'all', metric, value from scores {where}", **asked)
    return (
        {tuple(key): bits(value) for *key, value in of_queries},
        {tuple(key): bits(value) for *key, value in totals},
    )


def scored(qrels: Path, runs: list[Path], protocol: str) -> tuple[Values, Values]:
    found = Warehouse.score(
        str(qrels), [str(run) for run in runs], METRICS, protocol=protocol
    ).relation
    assert found.columns == ["run", "query_id", "metric", "value"]
    values = {tuple(key): bits(value) for *key, value in found.fetchall()}
    queries = {key: value for key, value in values.items() if key[1] != "all"}
    return queries, {key: value for key, value in values.items() if key[1] == "all"}


def assert_stored_is_scored(wh: Warehouse, dataset: str, qrels: Path, runs: list[Path]) -> None:
    """Hold what `evaluate` stored against what `score` says of the same files, to the bit."""
    for protocol in PROTOCOLS:
        wh.evaluate(dataset, metrics=METRICS, protocol=protocol)
        kept_queries, kept_totals = kept(wh, dataset, protocol)
        queries, totals = scored(qrels, runs, protocol)
        assert len(totals) >= 50 * len(runs)
        assert kept_totals == totals
        if protocol == "trec_eval_9":  # which lists no query that the run is silent on
            kept_queries = {k: v for k, v in kept_queries.items() if k in queries}
        assert kept_queries == queries


@pytest.mark.slow
@pytest.mark.core
def test_stored_values_are_the_scored_ones_to_the_bit(
    wh: Warehouse, demo_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.evaluate.stored_runs.BATCH_LISTED", 10_000)
    qrels = demo_data / "qrels.txt.gz"
    runs = [demo_data / f"{name}.run.gz" for name in ("bm25", "rr_gpt35_bm25")]
    wh.ingest_qrels("dl19", str(qrels))
    for path in runs:
        wh.ingest_run("dl19", str(path))
    assert_stored_is_scored(wh, "dl19", qrels, runs)


def everything(wh: Warehouse) -> dict[tuple, str | None]:
    found = stored(wh, "select run, protocol, metric, query_id, value from query_score_versions")
    totals = stored(wh, "select run, protocol, metric, 'all', value from scores")
    return {tuple(row[:4]): bits(row[4]) for row in [*found, *totals]}


@pytest.mark.slow
def test_order_of_loading_lines_and_threads_change_no_bit(
    tmp_path: Path, demo_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it whether the ids of queries are enumerated or, as where they are many, text."""
    names = ["tasb", "bm25"]
    found = []
    for number, threads in enumerate((1, 2, 2)):
        if number == 2:
            monkeypatch.setattr(scope, "_ENUMERATED", 0)
        chance = random.Random(number)
        wh = Warehouse(tmp_path / f"{number}.duckdb", threads=threads)
        chance.shuffle(names)
        files = ["qrels.txt.gz", *(f"{name}.run.gz" for name in names)]
        if number == 2:
            files.reverse()
        for file in files:
            lines = gzip.decompress((demo_data / file).read_bytes()).decode().splitlines()
            chance.shuffle(lines)
            shuffled = tmp_path / file.removesuffix(".gz")
            shuffled.write_text("".join(line + "\n" for line in lines))
            if file.startswith("qrels"):
                wh.ingest_qrels("dl19", str(shuffled))
            else:
                wh.ingest_run("dl19", str(shuffled))
        if number == 1:  # metric by metric, run by run
            for metric in ("Judged@10", "nDCG", "all_trec"):
                for name in names:
                    wh.evaluate("dl19", runs=name, metrics=metric)
        wh.evaluate("dl19", metrics=METRICS)
        found.append(everything(wh))
    assert len(found[0]) > 2 * 43 * 50
    assert found[0] == found[1] == found[2]


@pytest.mark.core
def test_the_demo_is_what_its_files_say(demo: Warehouse, demo_data: Path) -> None:
    """The board of the demo against plain Python: nDCG@10 of each run by its definition."""
    from math import log2

    about = tomllib.loads((demo_data / "demo.toml").read_text(encoding="utf-8"))
    qrels: dict[str, dict[str, int]] = {}
    for line in gzip.decompress((demo_data / about["qrels"]).read_bytes()).decode().splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    board = demo.leaderboard("dl19", metrics="nDCG@10").fetchall()
    assert [row[3] for row in board] == sorted((row[3] for row in board), reverse=True)
    assert {row[1] for row in board} == set(about["runs"])
    for row in board:
        text = gzip.decompress((demo_data / f"{row[1]}.run.gz").read_bytes()).decode()
        run: dict[str, list[tuple[float, str]]] = {}
        for line in text.splitlines():
            query, _, doc, _, score, _ = line.split()
            run.setdefault(query, []).append((float(score), doc))
        values = []
        for query, judged in qrels.items():
            ranked = sorted(run.get(query, []), reverse=True)[:10]
            gains = [max(0, judged.get(doc, 0)) for _, doc in ranked]
            best = sorted(judged.values(), reverse=True)[:10]
            dcg, ideal = (
                sum(gain / log2(rank + 2) for rank, gain in enumerate(order) if gain > 0)
                for order in (gains, best)
            )
            values.append(dcg / ideal if ideal else 0.0)
        assert row[3] == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_what_is_below_the_cutoff_takes_no_memory() -> None:
    """ERR@2 of 20,000 judged documents is that of the first two: 1 / 16, and (1 - 1 / 16) / 16 / 2."""
    judged = {f"d{n:05}": 1 for n in range(20_000)}
    run = {doc: float(-n) for n, doc in enumerate(judged)}
    found = Warehouse.score({"q": judged}, {"q": run}, "ERR@2", memory_limit="300MB")
    assert found.means() == {"ERR@2": 1 / 16 + (1 - 1 / 16) / 16 / 2}


IN_LITTLE_MEMORY = """
import json, pathlib, re, resource, sys, time
from warehouse.warehouse import Warehouse

database, qrels, run, limit = sys.argv[1:]
wh = Warehouse(database, memory_limit=limit, threads=2)
times = {}
start = time.monotonic()
wh.ingest_qrels("big", qrels)
loaded = wh.ingest_run("big", run, name="run")
times["load"] = time.monotonic() - start
start = time.monotonic()
wh.evaluate("big", metrics=["RR@10", "R@1000", "AP", "nDCG@10", "Judged@10"])
times["evaluate"] = time.monotonic() - start
board = wh.leaderboard("big")
values = dict(zip(board.columns, board.fetchall()[0]))
status = pathlib.Path("/proc/self/status")
if status.exists():
    # what getrusage tells begins with the size of the process that this one was forked from
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) / 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"rows": loaded.num_rows, "values": values, "times": times, "peak_mb": peak}))
"""


def in_little_memory(tmp_path: Path, program, qrels: Path, run: Path, limit: str) -> dict:
    process = program.python(
        IN_LITTLE_MEMORY, str(tmp_path / "big.duckdb"), str(qrels), str(run), limit, cwd=tmp_path
    )
    out, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    found = json.loads(out)
    print(f"{found['rows']:,} lines in {limit}: {found['times']}, peak {found['peak_mb']:.0f} MB")
    return found


@pytest.mark.long
@pytest.mark.skipif(
    not (CASES / "make_msmarco_scale.py").exists(),
    reason="shared/cases/make_msmarco_scale.py is not beside the checkout",
)
def test_a_run_of_ms_marco_size_in_one_gigabyte(tmp_path: Path, program) -> None:
    """6,980 queries with 1,000 documents each, against the values that the generator computed."""
    pytest.importorskip("numpy")
    start = time.monotonic()
    subprocess.run(
        [sys.executable, CASES / "make_msmarco_scale.py", "--out", tmp_path / "data"],
        check=True,
        capture_output=True,
    )
    print(f"generated in {time.monotonic() - start:.0f} s")
    head, line = (tmp_path / "data" / "expected.tsv").read_text().splitlines()
    expected = dict(zip(head.split("\t"), line.split("\t"), strict=True))
    found = in_little_memory(
        tmp_path, program, tmp_path / "data" / "qrels.txt", tmp_path / "data" / "run00.trec", "1GB"
    )
    assert found["rows"] == int(expected["lines"]) == 6_980_000
    assert found["values"]["answered"] == found["values"]["judged"] == 6980
    assert found["values"]["RR@10"] == pytest.approx(float(expected["MRR@10_float64"]), abs=1e-12)
    assert found["values"]["R@1000"] == pytest.approx(
        float(expected["recall@1000_mean"]), abs=1e-12
    )
    # the whole process, Python and the libraries too
    assert found["peak_mb"] < 1024


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 21])
def test_every_level_of_every_list(seed: int, wh: Warehouse) -> None:
    """DuckDB 2.0.0 failed inside, with some lengths of the lists, when levels were cross joined."""
    dice = random.Random(seed)
    docs = [f"d{i}" for i in range(200)]
    qrels = {
        f"q{q}": dict.fromkeys(dice.sample(docs, dice.choice([1, 5, 100, 200])), 1)
        for q in range(25)
    }
    wh.ingest_qrels("d", qrels)
    for name in ("a", "b", "c"):
        run = {
            q: {doc: dice.random() for doc in dice.sample(docs, dice.choice([1, 50, 200]))}
            for q in qrels
            if dice.random() < 0.9
        }
        wh.ingest_run("d", run, name=name)
    wh.evaluate("d", metrics=["IAP", "IAP(rel=2)"])
    levels = [f"IPrec@{level / 10}" for level in range(11)]
    wh.evaluate("d", metrics=levels)
    means = {
        (run, metric): value
        for run, metric, value in wh.query("select run, metric, value from scores").fetchall()
    }
    for run in ("a", "b", "c"):
        mean = sum(means[run, level] for level in levels) / 11
        assert means[run, "IAP"] == pytest.approx(mean, rel=1e-12)
        assert means[run, "IAP(rel=2)"] == 0


@pytest.mark.slow
def test_others_write_while_values_are_computed(tiny: Warehouse, counts: Counts) -> None:
    other = Warehouse(tiny.path, lock_timeout=0)
    written = tiny.evaluate(metrics="RR", on_metric=lambda _: other.ingest_qrels("other", QRELS))
    assert (written.computed, counts(tiny.path)["evaluation"]) == (2, 2)
    assert [row.dataset for row in tiny.datasets()] == ["other", "tiny"]
    assert tiny.verify().is_good


@pytest.mark.slow
def test_what_changes_while_values_are_computed_is_in_them(tiny: Warehouse, counts: Counts) -> None:
    other, seen = Warehouse(tiny.path, lock_timeout=0), []

    def change(_: str) -> None:
        if not seen:
            other.forget("tiny", "second")
            other.ingest_run("tiny", {"q1": {"b": 1.0}}, name="third")
            other.evaluate("tiny", metrics="RR")
        seen.append(1)

    found = tiny.evaluate("tiny", metrics="RR P@1", on_metric=change)
    assert len(seen) > 2
    assert (found.computed, found.up_to_date) == (2, 2)
    assert stored(tiny, "select run, metric, value from scores order by all") == [
        ("first", "P@1", 0.5),
        ("first", "RR", 0.75),
        ("third", "P@1", 0.0),
        ("third", "RR", 0.0),
    ]
    assert counts(tiny.path)["evaluation"] == 4
    assert tiny.verify().is_good


@pytest.mark.slow
def test_values_of_several_datasets_are_computed_ahead(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed for one dataset does not look like a change to the next."""
    for dataset in ("one", "two"):
        wh.ingest_qrels(dataset, {"q": {"a": 1}})
        wh.ingest_run(dataset, {"q": {"a": 1.0}}, name="run")
    computations = []
    compute = stored_runs.evaluate

    def noted(con: Any, job: Any, *args: Any, computation: Any = None, **options: Any) -> Any:
        computations.extend([computation] if job.whole and not options.get("dry_run") else [])
        return compute(con, job, *args, computation=computation, **options)

    monkeypatch.setattr(stored_runs, "evaluate", noted)
    wh.evaluate(metrics="RR")
    assert len(computations) == 1
    assert computations[0] is not None


@pytest.mark.slow
def test_windows_of_runs_are_stored_one_after_another(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed together is bounded; a change in between, or a cut, loses and doubles nothing."""
    monkeypatch.setattr(evaluation, "WINDOW", 2)
    other, seen = Warehouse(wh.path, lock_timeout=0), []
    wh.ingest_qrels("tiny", QRELS)
    for n in range(5):
        wh.ingest_run("tiny", {"q1": {"b": 1.0, "a": 1.5 - n}, "q2": {"c": 1}}, name=f"run {n}")
    rows = "select run, value, count(*) over () from scores order by all"

    def cut(_: str) -> None:
        seen.append(len(stored(other, rows)))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wh.evaluate("tiny", metrics="RR", on_metric=cut)
    assert seen == [0, 2, 4]
    seen.clear()

    def change(_: str) -> None:
        seen.append(1)
        if len(seen) == 2:  # in the second of the three windows of AP
            other.forget("tiny", "run 0")
            other.ingest_run("tiny", RUNS["second"], name="second")

    found = wh.evaluate("tiny", metrics="RR AP", slices="n = num_relevant", on_metric=change)
    # RR of run 4 and second, AP of runs 0 to 4 and second, and both metrics by n of those left
    assert (found.computed, found.up_to_date) == (8 + 10, 3)
    assert stored(
        wh, "select run, metric, value from score_versions where is_current order by all"
    ) == [
        *((f"run {n}", metric, 0.75) for n in range(1, 5) for metric in ("AP", "RR")),
        ("second", "AP", 0.5),
        ("second", "RR", 0.5),
    ]
    assert stored(wh, "select count(*) from slice_score_versions where is_current") == [(10,)]
    # AP of run 0 and RR are gone with it; numbers are not used again, and none is left out
    assert stored(wh, "select max(evaluation_id) from store.evaluation") == [(4 + 8 + 10,)]
    assert wh.verify().is_good


@pytest.mark.slow
def test_what_changes_again_and_again_is_computed_with_the_lock(tiny: Warehouse) -> None:
    other, seen = Warehouse(tiny.path, lock_timeout=0), []

    def change(_: str) -> None:
        seen.append(1)
        if len(seen) <= 2:
            other.ingest_run("tiny", {"q1": {"b": len(seen)}}, name=f"run {len(seen)}")

    assert tiny.evaluate("tiny", metrics="RR", on_metric=change).computed == 4
    assert len(seen) == 3
    assert tiny.verify().num_verified == 4


def test_a_changed_sentence_makes_nothing_stale(
    tiny: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.evaluate(metrics="RR")
    add = plan.Plan.add

    def reworded(self: plan.Plan, metric: object) -> str:
        if metric not in self.queries:
            values = add(self, metric)
            words = f"/* better words */\n  {values.sql} -- said again\n"
            self.queries[metric] = replace(values, sql=words)
        return self.queries[metric]

    monkeypatch.setattr(plan.Plan, "add", reworded)
    assert tiny.evaluate(metrics="RR").computed == 0


def test_a_failure_in_the_second_dataset_undoes_the_first(
    tiny: Warehouse, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.ingest_qrels("zeta", QRELS)
    tiny.ingest_run("zeta", RUNS["first"], name="first")
    before = counts(tiny.path)
    compute = engine.compute
    calls: list[int] = []

    def failing(*args: object, **more: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("the power went out")
        compute(*args, **more)

    monkeypatch.setattr(engine, "compute", failing)
    with pytest.raises(RuntimeError, match="power"):
        tiny.evaluate(metrics="RR")
    assert counts(tiny.path) == before


@pytest.mark.long
def test_many_lines_in_little_memory(tmp_path: Path, program) -> None:
    """Every tenth document is judged; the one at rank 10 q is the first relevant one of query q."""
    queries, depth = 400, 1000
    with (tmp_path / "run.trec").open("w") as out, (tmp_path / "qrels.txt").open("w") as truth:
        for query in range(queries):
            out.writelines(
                f"q{query} Q0 doc{query}_{rank} {rank} {depth - rank} tag\n"
                for rank in range(1, depth + 1)
            )
            relevant = query % 20 + 1
            truth.writelines(
                f"q{query} 0 doc{query}_{rank} {int(rank == relevant)}\n" for rank in range(1, 101)
            )
    found = in_little_memory(
        tmp_path, program, tmp_path / "qrels.txt", tmp_path / "run.trec", "100MB"
    )
    assert found["rows"] == queries * depth
    # the relevant document lies at ranks 1 … 20, each as often: RR@10 = (1/1 + … + 1/10) / 20
    assert found["values"]["RR@10"] == pytest.approx(7381 / 2520 / 20, abs=1e-14)
    assert found["values"]["R@1000"] == 1.0
    assert found["values"]["Judged@10"] == 1.0

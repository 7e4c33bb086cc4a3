"""Runs held against runs before them: the command, the verb, and the gates of a sync."""

from __future__ import annotations

import builtins
import datetime as dt
import itertools
import json
import math
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest
from projects import BEST, Folder, command
from refusals import tells
from syncs import BETTER, QRELS, RUN, Project

from warehouse.analyze import regressions
from warehouse.analyze.significance import two_sided
from warehouse.cli.commands import sync
from warehouse.errors import DefinitionError, UsageError
from warehouse.sync.events import Event
from warehouse.warehouse import Warehouse

stats = pytest.importorskip("scipy.stats")

FOUR = {query: {"a": 1} for query in ("q1", "q2", "q3", "q4")}


def ranks(*positions: int) -> dict[str, dict[str, float]]:
    """Return a run that has the relevant document of q1, q2 … at these ranks."""
    return {
        f"q{number}": {
            "a" if rank == position else f"x{rank}": -float(rank) for rank in range(1, position + 1)
        }
        for number, position in enumerate(positions, 1)
    }


def load(wh: Warehouse, metrics: str = "RR", **runs: dict[str, dict[str, float]]) -> Warehouse:
    """Load runs, each a day younger than the one before, and evaluate them."""
    wh.ingest_qrels("tiny", FOUR)
    for day, (name, run) in enumerate(runs.items(), 1):
        wh.ingest_run("tiny", run, name=name, run_at=dt.datetime(2026, 1, day, tzinfo=dt.UTC))
    wh.evaluate(metrics=metrics)
    return wh


@pytest.fixture(scope="module")
def fallen_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse whose second run is worse in three of four queries, made once.

    RR of `old` is 1, 1, 1, 1; of `new` 1/2, 1/2, 1, 1/2: the differences are -1/2, -1/2, 0, -1/2. Their
    mean is -3/8 and 5/8 is the new value. The squared deviations are 3 * (1/8)^2 + (3/8)^2 = 12/64, the
    variance 12/64 / 3 = 1/16, the deviation 1/4, so that t = -3/8 / (1/4 / sqrt(4)) = -3.
    """
    wh = Warehouse(tmp_path_factory.mktemp("fallen") / "fallen.duckdb")
    return load(wh, "RR NumRet", old=ranks(1, 1, 1, 1), new=ranks(2, 2, 1, 2)).path


@pytest.fixture
def fallen(fallen_file: Path, tmp_path: Path) -> Warehouse:
    """Return a copy of that warehouse."""
    return Warehouse(shutil.copy(fallen_file, tmp_path / "fallen.duckdb"))


# For t = 3 and three degrees of freedom the distribution is 1/2 + (sqrt(3)/4 + pi/3) / pi.
P_FALLEN = 1 / 3 - math.sqrt(3) / (2 * math.pi)


# --------------------------------------------------------------------------- values and verdicts


def test_a_test_by_hand(fallen: Warehouse) -> None:
    (one,) = fallen.check("tiny", "RR", alpha=0.05).comparisons
    assert (one.run, one.against, one.value, one.their_value) == ("new", "old", 0.625, 1.0)
    assert (one.difference, one.t, one.num_pairs, one.num_left_out) == (-0.375, -3.0, 4, 0)
    assert one.p == pytest.approx(P_FALLEN, rel=1e-12)
    assert (one.wins, one.ties, one.losses) == (0, 1, 3)
    assert one.lost_most == (("q1", 0.5, 1.0), ("q2", 0.5, 1.0), ("q4", 0.5, 1.0))


@pytest.mark.parametrize(
    ("limits", "is_good"),
    [
        ({}, False),
        ({"max_drop": 0.374}, False),
        ({"max_drop": 0.375}, True),
        # p is 0.0577
        ({"alpha": 0.05}, True),
        ({"alpha": 0.06}, False),
        ({"max_drop": 0.5, "alpha": 0.05}, True),
        ({"max_drop": 0.5, "alpha": 0.06}, False),
        ({"max_drop": 0.3, "alpha": 0.05}, False),
    ],
)
def test_either_limit_is_enough(fallen: Warehouse, limits: dict, is_good: bool) -> None:
    found = fallen.check("tiny", "RR", **limits)
    assert found.is_good is is_good
    assert found.relation.project("verdict").fetchall() == [("good" if is_good else "regressed",)]


def test_last_bits_are_no_loss_and_not_significant(wh: Warehouse) -> None:
    """AP is 7/12 of relevant documents at 1 and 12 and of those at 2 and 3; as doubles they differ."""
    queries = ("q1", "q2", "q3", "q4")
    wh.ingest_qrels("tiny", {query: {"a": 1, "b": 1} for query in queries})
    for name, places in (("old", {1: "a", 12: "b"}), ("new", {2: "a", 3: "b"})):
        found = {places.get(rank, f"x{rank}"): -float(rank) for rank in range(1, 13)}
        wh.ingest_run("tiny", dict.fromkeys(queries, found), name=name)
    wh.evaluate(metrics="AP")
    found = wh.check("tiny", "AP", alpha=0.05)
    (one,) = found.comparisons
    assert one.value < one.their_value
    assert (found.is_good, one.p, one.t) == (True, None, None)
    assert (one.wins, one.ties, one.losses, one.lost_most) == (0, 4, 0, ())


def test_what_is_better_is_good_however_significant(wh: Warehouse) -> None:
    load(wh, old=ranks(2, 2, 1, 2), new=ranks(1, 1, 1, 1))
    found = wh.check("tiny", "RR", max_drop=0, alpha=0.99)
    assert (found.is_good, found.comparisons[0].t) == (True, 3.0)


def test_lower_may_be_better(wh: Warehouse) -> None:
    """MaxRank is the rank of the relevant document here: 5/4 after 1, and then 1 again."""
    load(wh, "MaxRank", one=ranks(1, 1, 1, 1), two=ranks(1, 1, 1, 2), three=ranks(1, 1, 1, 1))
    worse = wh.check("tiny", "MaxRank", run="two")
    (one,) = worse.comparisons
    assert (worse.is_good, one.difference, one.direction) == (False, 0.25, "lower")
    assert (one.wins, one.ties, one.losses) == (0, 3, 1)
    assert one.lost_most == (("q4", 2.0, 1.0),)
    assert wh.check("tiny", "MaxRank", run="two", max_drop=0.25).is_good
    # the best has the lowest value; of equal ones the oldest
    (one,) = wh.check("tiny", "MaxRank").comparisons
    assert (one.run, one.against, one.verdict) == ("three", "one", "good")
    (one,) = wh.check("tiny", "MaxRank", against="last").comparisons
    assert (one.against, one.difference, one.wins) == ("two", -0.25, 1)


def test_a_drop_of_just_the_limit_is_good(wh: Warehouse) -> None:
    """P@1 is 0.7 after 0.8: as doubles they are more than 0.1 apart."""
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    wh.ingest_qrels("tiny", qrels)
    for found in (8, 7):
        run = {q: {"a" if n < found else "x": 1.0} for n, q in enumerate(qrels)}
        wh.ingest_run("tiny", run, name=f"finds{found}")
    wh.evaluate(metrics="P@1")
    found = wh.check("tiny", "P@1", max_drop=0.1)
    assert found.comparisons[0].difference < -0.1
    assert found.is_good
    assert not wh.check("tiny", "P@1", max_drop=0.0999999).is_good


def test_differences_that_are_all_the_same(wh: Warehouse) -> None:
    """Without any deviation t is infinite and p is 0; where nothing differs both are undefined."""
    load(wh, one=ranks(1, 1, 1, 1), two=ranks(2, 2, 2, 2), three=ranks(2, 2, 2, 2))
    (one,) = wh.check("tiny", "RR", run="two", alpha=0.001).comparisons
    assert (one.t, one.p, one.verdict) == (-math.inf, 0.0, "regressed")
    (one,) = wh.check("tiny", "RR", against="two", alpha=0.99).comparisons
    assert (one.t, one.p, one.ties, one.verdict) == (None, None, 4, "good")


def test_what_is_undefined_is_counted(wh: Warehouse) -> None:
    """Accuracy is null where no pair of a relevant and another document was retrieved."""
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q3": {"a": 1.0}}
    better = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q4": {"a": 2.0, "x": 1.0}}
    load(wh, "Accuracy", old=better, new=run)
    (one,) = wh.check("tiny", "Accuracy").comparisons
    assert (one.num_pairs, one.num_left_out) == (2, 2)
    # 0 and 0 after 1, 0 and 1: over all queries 0 after 2/3
    assert (one.value, one.their_value, one.ties, one.losses) == (0.0, 2 / 3, 1, 1)
    code, _, told = command("check", "-m", "Accuracy", "--db", str(wh.path))
    assert (code, "2 queries left out, undefined or missing for one of the runs" in told) == (
        1,
        True,
    )


@pytest.mark.slow
def test_the_test_is_scipys_on_real_runs(demo: Warehouse) -> None:
    names = [row[0] for row in demo.query("select run from runs").fetchall()]
    rows = demo.query(
        "select metric, run, list(value order by query_id) as v from query_scores group by all"
    ).fetchall()
    values = {(metric, run): found for metric, run, found in rows}
    metrics = sorted({metric for metric, _ in values})
    assert len(metrics) > 2
    for run, against in itertools.islice(itertools.permutations(names, 2), 0, None, 4):
        found = demo.check("dl19", metrics, run=run, against=against, alpha=0.05)
        for one in found.comparisons:
            theirs = stats.ttest_rel(values[one.metric, run], values[one.metric, against])
            if one.ties == one.num_pairs:
                assert (one.t, one.p, math.isnan(theirs.pvalue)) == (None, None, True)
                continue
            assert one.t == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12)
            assert one.p == pytest.approx(theirs.pvalue, rel=1e-9)
            fell = one.difference < 0 and theirs.pvalue < 0.05
            assert one.verdict == ("regressed" if fell else "good")


@pytest.mark.parametrize("degrees", [1, 2, 7, 42, 999])
@pytest.mark.parametrize("t", [0.0, 0.3, -2.0, 5.5, -40.0])
def test_the_tail_is_scipys(t: float, degrees: int) -> None:
    assert two_sided(t, degrees) == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-9)


# --------------------------------------------------------------------------- which runs


def test_the_best_the_last_and_a_named_run(wh: Warehouse) -> None:
    load(
        wh, "RR P@1", best=ranks(1, 1, 1, 2), low=ranks(3, 3, 3, 3), mid=ranks(1, 1, 2, 2),
        later=ranks(1, 1, 1, 1),
    )  # fmt: skip

    def against(**asked: object) -> list[tuple]:
        found = wh.check("tiny", ["RR", "P@1"], run="mid", max_drop=1, **asked).relation
        return found.project("metric, against, difference").fetchall()

    # 7/8 after 3/4 in RR, and 3/4 after 1/2 in P@1; what came later is no part of it
    assert against() == [("RR", "best", -0.125), ("P@1", "best", -0.25)]
    assert against(against="last") == [("RR", "low", 0.75 - 1 / 3), ("P@1", "low", 0.5)]
    assert against(against="later") == [("RR", "later", -0.25), ("P@1", "later", -0.5)]


def test_a_run_comes_after_its_earlier_versions(wh: Warehouse) -> None:
    """Also where only a wrong time is put right, and it lies before all others now."""
    load(wh, one=ranks(1, 1, 1, 1))
    for rank, day in ((2, 8), (4, 9), (3, 1)):
        at = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
        wh.ingest_run("tiny", ranks(*[rank] * 4), name="nightly", run_at=at, replace=True)
        wh.evaluate(metrics="RR")

    def against(**asked: object) -> tuple:
        found = wh.check("tiny", "RR", run="nightly", max_drop=1, **asked).comparisons[0]
        return found.against, found.value, found.their_value, found.losses

    assert against() == ("one", 1 / 3, 1.0, 4)
    assert against(against="last") == ("nightly (version 2)", 1 / 3, 1 / 4, 0)
    wh.forget("tiny", "one")
    assert against() == ("nightly (version 1)", 1 / 3, 1 / 2, 4)
    code, out, told = command("check", "-m", "RR", "--db", str(wh.path), "-f", "csv")
    assert (code, out.split(",")[12:14]) == (1, ["nightly (version 1)", str(1 / 3)])
    assert told.splitlines()[-1] == "nightly is worse in RR (not good: any drop)"
    wh.forget("tiny", "nightly", version=1)
    assert against() == ("nightly (version 2)", 1 / 3, 1 / 4, 0)


def test_versions_without_a_value_are_told(wh: Warehouse) -> None:
    load(wh, one=ranks(1, 1, 1, 1))
    wh.ingest_run("tiny", ranks(2, 2, 2, 2), name="one", replace=True)
    wh.ingest_run("tiny", ranks(3, 3, 3, 3), name="one", replace=True)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR", max_drop=1).comparisons
    assert (one.against, one.num_versions_left_out) == ("one (version 1)", 1)
    asked = ("check", "-m", "RR", "--max-drop", "1", "--db", str(wh.path))
    left_out = "of it without a value by the same formula against the current qrels"
    assert (
        command(*asked)[2].splitlines()[0] == f"RR: not compared with 1 earlier version {left_out}"
    )
    # against other judgments only the newest is evaluated
    wh.ingest_qrels("tiny", FOUR | {"q5": {"a": 1}}, replace=True)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR").comparisons
    assert str(one) == f"one is good: no run was before it but 2 earlier versions {left_out}"
    assert command(*asked)[2].splitlines() == [
        "RR: no run of tiny was before one", f"RR: not compared with 2 earlier versions {left_out}",
    ]  # fmt: skip


def test_only_current_versions_count(wh: Warehouse) -> None:
    load(wh, one=ranks(1, 1, 1, 1), two=ranks(2, 2, 2, 2))
    early = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    wh.ingest_run("tiny", ranks(3, 3, 3, 3), name="one", run_at=early, replace=True)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR").comparisons
    assert (one.against, one.their_value, one.verdict) == ("one", pytest.approx(1 / 3), "good")


def test_the_first_run_is_good(wh: Warehouse) -> None:
    load(wh, one=ranks(1, 2, 3, 4))
    code, out, told = command(
        "check", "-m", "RR", "--alpha", "0.05", "--db", str(wh.path), "-f", "csv"
    )
    assert (code, out.splitlines()[1]) == (
        0,
        f"RR,one,,{(1 + 1 / 2 + 1 / 3 + 1 / 4) / 4},,,,0,0,0,first",
    )
    assert told == "RR: no run of tiny was before one\n"


# --------------------------------------------------------------------------- the command


def test_the_command_prints_and_ends_with_1(fallen: Warehouse) -> None:
    asked = ("check", "-m", "RR", "-d", "tiny", "--db", str(fallen.path))
    code, out, told = command(*asked, "--alpha", "0.06", "--max-drop", "0.5", "--places", "2")
    assert code == 1
    assert out.splitlines()[2].split() == [
        "RR", "new", "old", "0.62", "1.00", "-0.38", "0.058", "0", "1", "3", "regressed",
    ]  # fmt: skip
    assert told.splitlines() == [
        "RR: q1 lost: 1.00 -> 0.50",
        "RR: q2 lost: 1.00 -> 0.50",
        "RR: q4 lost: 1.00 -> 0.50",
        "new is worse in RR (not good: a drop of more than 0.5 or p < 0.06)",
    ]
    assert command(*asked, "--max-drop", "0.4")[0] == 0
    assert command(*asked, "--run", "old", "--against", "new")[0] == 0


def test_no_more_than_five_queries_are_told(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {f"q{n}": {"a": 1} for n in range(1, 8)})
    wh.ingest_run("tiny", ranks(1, 1, 1, 1, 1, 1, 1), name="old")
    wh.ingest_run("tiny", ranks(2, 3, 4, 1, 5, 6, 7), name="new")
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR").comparisons
    assert [query for query, *_ in one.lost_most] == ["q7", "q6", "q5", "q3", "q2"]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("-m AP", "tiny: no value of AP for new, old, or none by the same formula, under protocol "
                  "default yet: warehouse evaluate -d tiny -m AP"),
        ("-m AP --protocol trec_eval_9", "warehouse evaluate -d tiny -m AP --protocol trec_eval_9"),
        ("-m RRR", "RRR … RR"),
        ("-m RR -d tinny", "tinny … tiny"),
        ("-m RR --run nwe", "nwe … new"),
        ("-m RR --against odl", "odl … old"),
        ("-m RR --against bset", "bset … best"),
        ("-m RR --against xyz", "xyz: dataset tiny has no run of that name; it has new, old"),
        ("-m RR --against new", "new, the newest run: cannot be compared with itself"),
        ("-m RR --max-drop -1", "max-drop is 0 or more, not -1.0"),
        ("-m RR --alpha 1", "alpha lies between 0 and 1, not 1.0"),
        ("-m NumRet", "NumRet: neither higher nor lower is better"),
        ("-m RR --protocol defautl", "defautl … default"),
    ],
)  # fmt: skip
def test_what_is_refused(fallen: Warehouse, asked: str, problem: str) -> None:
    code, out, told = command("check", *asked.split(), "--db", str(fallen.path))
    assert (code, out) == (2, "")
    assert tells(told, problem)


def test_a_run_before_it_that_is_not_evaluated_is_said(fallen: Warehouse) -> None:
    """It might be the best."""
    early = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    fallen.ingest_run("tiny", ranks(1, 1, 1, 1), name="early", run_at=early)
    with pytest.raises(UsageError, match=r"^tiny: no value of RR for early, .* -d tiny -m RR$"):
        fallen.check("tiny", "RR", max_drop=1)
    assert fallen.check("tiny", "RR", against="last", max_drop=1).is_good


def test_a_dataset_may_be_left_out_where_there_is_one(fallen: Warehouse) -> None:
    assert fallen.check(None, "RR", max_drop=1).dataset == "tiny"
    fallen.ingest_qrels("other", FOUR)
    with pytest.raises(UsageError, match="name a dataset; known are other, tiny"):
        fallen.check(None, "RR")
    with pytest.raises(UsageError, match="other: it has no runs yet"):
        fallen.check("other", "RR")
    with pytest.raises(UsageError, match="name a metric"):
        fallen.check("tiny", [])


def test_a_test_needs_two_queries(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    for name, rank in (("old", 1), ("new", 2)):
        wh.ingest_run("tiny", ranks(rank), name=name)
    wh.evaluate(metrics="RR")
    with pytest.raises(UsageError, match=r"RR: a test needs two queries .* new and old have 1"):
        wh.check("tiny", "RR", alpha=0.05)


def test_without_scipy_the_extra_is_named(
    fallen: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: object, **options: object) -> object:
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    assert not fallen.check("tiny", "RR").is_good
    with pytest.raises(UsageError, match=r"needs SciPy: pip install 'ranking-warehouse\[stats\]'"):
        fallen.check("tiny", "RR", alpha=0.05)


# --------------------------------------------------------------------------- gates of a sync

GATE = '\n[[gates]]\ndataset = "tiny"\nmetric = "RR"\n'


def gated(project: Project, *gates: str) -> None:
    text = (project.path / "warehouse.toml").read_text()
    project.write("warehouse.toml", text + "".join(GATE + gate for gate in gates))


def test_a_gate_that_fires_makes_the_exit_code_1(synced: Project) -> None:
    """RR is 3/4, then 1, then (1/2 + 0) / 2."""
    gated(synced, "", "max_drop = 0.9\n")
    code, out, _ = command("sync")
    assert code == 0
    assert out.splitlines()[3:] == ["tiny: gate RR: one is good: no run was before it"] * 2
    assert command("sync") == (0, "", "")

    synced.write("runs/bm25/two.run", BETTER, age=1800)
    code, out, _ = command("sync")
    assert (code, out.splitlines()[-1]) == (
        0, "tiny: gate RR: two 1.0000 is good beside one 0.7500",
    )  # fmt: skip

    synced.write("runs/bm25/three.run", RUN.replace("q2 Q0 c", "q2 Q0 x"), age=900)
    code, out, err = command("sync")
    assert (code, err) == (1, "")
    assert out.splitlines()[1:] == [
        "tiny: computed 1 value for 1 run",
        "tiny: gate RR: three 0.2500 is worse than two 1.0000 (not good: any drop)",
        "tiny: gate RR: three 0.2500 is good beside two 1.0000",
    ]
    # nothing was computed: no gate runs
    assert command("sync") == (0, "", "")


def test_a_file_that_is_overwritten_is_held_against_what_it_was(synced: Project) -> None:
    gated(synced, "", 'against = "last"\n')
    assert command("sync")[0] == 0
    synced.write("runs/bm25/one.run", RUN.replace("q2 Q0 c", "q2 Q0 x"), age=1800)
    code, out, _ = command("sync")
    worse = "one 0.2500 is worse than one (version 1) 0.7500 (not good: any drop)"
    assert (code, out.splitlines()[2:]) == (1, [f"tiny: gate RR: {worse}"] * 2)


@pytest.mark.slow
def test_a_gate_that_a_sync_was_ended_before_is_held_by_the_next(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated(synced, "", "max_drop = 0.9\n")

    def end(event: Event) -> None:
        if event.status == "computed":
            raise KeyboardInterrupt

    for name, age in (("two", 1800), ("three", 900)):
        synced.write(f"runs/bm25/{name}.run", RUN.replace("q2 Q0 c", f"q2 Q0 {name}"), age=age)
        with pytest.raises(KeyboardInterrupt):
            synced.warehouse.sync(on_event=end)
    # a dry run holds nothing, and leaves it to the next
    assert [event.status for event in synced.warehouse.sync(dry_run=True).events] == []
    # nor is it forgotten where the telling fails
    with pytest.raises(ZeroDivisionError):
        synced.warehouse.sync(on_event=lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    code, out, _ = command("sync")
    assert code == 1
    assert [line.partition(" (")[0] for line in out.splitlines()] == [
        "tiny: gate RR: three 0.2500 is worse than one 0.7500",
        "tiny: gate RR: three 0.2500 is good beside one 0.7500",
    ]
    assert command("sync") == (0, "", "")
    assert synced.warehouse.query("from store.gate_due").fetchall() == []


def test_a_gate_that_the_engine_fails_at_stays_due(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.settings('metrics = ["RR"]', 'metrics = ["RR"]\nprotocols = ["default", "trec_eval_9"]')
    gated(synced, "", 'protocol = "trec_eval_9"\n')
    check = regressions.check_metrics

    def fails(*asked: Any, **options: Any) -> object:
        if asked[3].name == "trec_eval_9":
            raise duckdb.IOException("the disk is full")
        return check(*asked, **options)

    with monkeypatch.context() as patched:
        patched.setattr(regressions, "check_metrics", fails)
        code, out, err = command("sync")
    good = "one is good: no run was before it\n"
    assert (code, "the disk is full" in err) == (1, True)
    assert out.endswith(f"tiny: gate RR: {good}")
    # that of the other protocol is not due any more
    assert command("sync") == (0, f"tiny: gate RR by protocol trec_eval_9: {good}", "")


def test_json_has_the_gates(synced: Project) -> None:
    synced.write("runs/bm25/two.run", "q1 Q0 b 1 2 t\nq2 Q0 b 1 1 t\n", age=1800)
    gated(synced, 'against = "last"\nalpha = 0.5\nmax_drop = 0.5\n')
    code, out, _ = command("sync", "--json")
    found = json.loads(out)
    assert (code, found["exit_code"]) == (1, 1)
    event = found["events"][-1]
    # 0 and 0 after 1/2 and 1: t = -3/4 / (sqrt(1/8) / sqrt(2)) = -3; with one degree of freedom
    # p = 1 - 2/pi atan(3)
    p = event["details"].pop("p")
    assert p == pytest.approx(1 - 2 / math.pi * math.atan(3))
    assert (event["status"], event["dataset"]) == ("regressed", "tiny")
    assert event["details"] == {
        "metric": "RR", "run": "two", "against": "one", "value": 0.0, "their_value": 0.75,
        "difference": -0.75, "direction": "higher", "num_pairs": 2, "wins": 0, "ties": 0, "losses": 2,
        "num_left_out": 0, "num_versions_left_out": 0, "lost_most": [["q2", 0.0, 1.0], ["q1", 0.0, 0.5]],
        "verdict": "regressed",
        "protocol": "default",
    }  # fmt: skip


def test_the_metric_of_a_gate_is_computed(synced: Project) -> None:
    """By the protocol that the gate names; a dry run holds nothing against it."""
    synced.settings('qrels = "qrels.txt"', 'qrels = "qrels.txt"\nprotocols = ["default", "ranx"]')
    gated(synced, 'against = "one"\nprotocol = "ranx"\n')
    synced.settings('metric = "RR"', 'metric = "P@1"')
    synced.write("runs/bm25/two.run", BETTER, age=1800)
    assert command("sync")[0] == 0
    rows = synced.warehouse.query(
        "select metric, protocol from run_scores where run = 'two' order by all"
    ).fetchall()
    assert rows == [("P@1", "ranx"), ("RR", "default"), ("RR", "ranx")]
    synced.write("runs/bm25/three.run", RUN, age=900)
    assert [event.status for event in synced.warehouse.sync(dry_run=True).events] == ["due"]
    code, out, _ = command("sync")
    assert (code, out.splitlines()[-1]) == (
        0, "tiny: gate P@1 by protocol ranx: three 0.5000 is good beside one 0.5000",
    )  # fmt: skip


def test_a_gate_against_a_run_that_is_not_there_is_a_problem_of_its_own(synced: Project) -> None:
    gated(synced, 'against = "onne"\n', "")
    code, out, err = command("sync")
    assert (code, out.splitlines()[-1]) == (2, "tiny: gate RR: one is good: no run was before it")
    assert err == (
        "warehouse: tiny: gate RR: onne: dataset tiny has no run of that name; did you mean one?\n"
    )
    # it stays due, and who watches is told once
    told: set[str] = set()
    for lines in (2, 0):
        with redirect_stdout(StringIO()) as text, redirect_stderr(text):
            assert sync.run(synced.warehouse, reported=told).exit_code == 2
        assert text.getvalue().count("\n") == lines
    synced.settings("onne", "one")
    one = "tiny: gate RR: one is good: "
    assert command("sync") == (
        0, f"{one}it is the run that others are compared with\n{one}no run was before it\n", "",
    )  # fmt: skip
    assert command("sync") == (0, "", "")


def test_new_judgments_run_the_gates_again(synced: Project) -> None:
    """Now b is relevant in q1, which `one` has first, and `two` has not: (0 + 1) / 2 after 1."""
    gated(synced, "")
    synced.write("runs/bm25/two.run", BETTER, age=1800)
    assert command("sync")[0] == 0
    synced.write("qrels.txt", QRELS.replace("q1 0 a 1\nq1 0 b 0", "q1 0 a 0\nq1 0 b 1"), age=60)
    code, out, _ = command("sync")
    assert (code, out.splitlines()[-1]) == (
        1, "tiny: gate RR: two 0.5000 is worse than one 1.0000 (not good: any drop)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            'protocol = "ranx"\n',
            "gates 1: protocol: tiny is not evaluated by ranx; it is by default",
        ),
        ('protocol = "defaults"\n', "tiny is not evaluated by defaults; did you mean default?"),
    ],
)
def test_wrong_gates_are_refused(synced: Project, more: str, problem: str) -> None:
    gated(synced, more)
    with pytest.raises(DefinitionError, match=problem):
        synced.sync()


def test_a_gate_needs_a_direction(synced: Project) -> None:
    gated(synced, "")
    synced.settings('metric = "RR"', 'metric = "NumRet"')
    with pytest.raises(DefinitionError, match="neither a higher nor a lower NumRet is better"):
        synced.sync()


def test_values_of_two_formulas_are_not_compared(here: Folder) -> None:
    """A metric of the project's; then it means something else, and one run is evaluated anew."""
    wh = load(Warehouse(), "Best@2", one=ranks(1, 1, 1, 1), two=ranks(3, 1, 1, 1))
    assert command("check", "-m", "Best@2")[0] == 1
    here.metric(BEST.replace("max(relevance)", "2 * max(relevance)"))
    # both are of the old one
    assert command("check", "-m", "Best@2")[0] == 1
    wh.evaluate(runs="two", metrics="Best@2")
    code, _, told = command("check", "-m", "Best@2", "--max-drop", "9")
    assert (code, "no value of Best@2 for one, or none by the same formula" in told) == (2, True)
    wh.evaluate(metrics="Best@2")
    assert command("check", "-m", "Best@2", "--max-drop", "9")[0] == 0

"""Runs held against runs before them: the command, the verb, and the gates of a sync."""

from __future__ import annotations

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
from refusals import expect_refusal, tells
from syncs import BAD, BETTER, QRELS, RUN, Project, gated

from warehouse.analyze import regressions
from warehouse.cli.commands import sync
from warehouse.errors import DefinitionError, UsageError
from warehouse.store import clock
from warehouse.sync import gates
from warehouse.sync.events import Event
from warehouse.warehouse import Warehouse

stats = pytest.importorskip("scipy.stats")

FOUR = {query: {"a": 1} for query in ("q1", "q2", "q3", "q4")}


def ranks(*positions: int, other: str = "x") -> dict[str, dict[str, float]]:
    """Return a run that has the relevant document of q1, q2 … at these ranks."""
    return {
        f"q{number}": {
            "a" if rank == position else f"{other}{rank}": -float(rank)
            for rank in range(1, position + 1)
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
# A test beside the last run, at alpha = 0.5; see `Limits.level`.
LEVEL_OF_HALF = 0.5 / (1 + 2.1 * math.sqrt(0.5))


def test_a_sequential_test_by_hand(fallen: Warehouse) -> None:
    """The shares k/32 have the means 1/2, 21/64 of their squares, 31/128 of their cubes.

    Three losses of 1/2 make (1 + share/2)^3 of 1, in the mean 1 + 3/4 + 3/4 * 21/64 + 31/1024 =
    2075/1024. The query without a difference changes nothing, and p is the reciprocal.
    """
    found = fallen.check("tiny", "RR", alpha=0.5, sequential=True)
    (one,) = found.comparisons
    assert one.p == pytest.approx(1024 / 2075, rel=1e-12)
    assert one.verdict == "worse"
    assert "anytime-valid p = 0.493" in one.why
    assert "anytime-valid alpha 0.5" in found.verdicts[0]["limits"]
    assert fallen.check("tiny", "RR", alpha=0.49, sequential=True).is_good
    # the test is of what is worse: the other way round the money is 1 - 3/4 + 63/256 - 31/1024
    other = fallen.check("tiny", "RR", run="old", against="new", alpha=0.5, sequential=True)
    assert other.comparisons[0].p == 1.0
    # a query loses at most 1, and with a budget of 0.6 this counts as (1 - 0.6) / (1 + 0.6) = 1/4:
    # four of them make at most 1 + 4/4 * 1/2 + 6/16 * 21/64 + 4/64 * 31/128 + … < 1.7 of 1
    (one,) = fallen.check("tiny", "RR", alpha=0.5, sequential=True, max_drop=0.6).comparisons
    assert (one.verdict, one.p) == ("unchecked", None)
    for problem, asked in (
        ("NumRet: has no greatest", {"metrics": "NumRet", "alpha": 0.1}),
        ("strict", {"metrics": "RR", "strict": True}),
    ):
        with pytest.raises(UsageError, match=problem):
            fallen.check("tiny", sequential=True, **asked)


def test_alpha_that_is_spent_over_the_runs(fallen: Warehouse) -> None:
    """Each run loses 1/2 in three of four queries, so that p is 1024/2075 = 0.493, as above.

    Of an alpha of 0.99, the first run that the gate checks has 0.99/2 = 0.495, the second 0.99/6 and
    the third 0.99/12. A run that is checked again keeps its place.
    """
    limits = regressions.Limits(alpha=0.99, sequential=True, spend=True)
    assert sum(limits.at(n).alpha for n in range(1, 1000)) == pytest.approx(0.99 * 999 / 1000)
    gate = regressions.Gate("tiny", "RR", "system", "old", limits, "default")
    for day, name in enumerate(("second", "third"), 3):
        run_at = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
        fallen.ingest_run("tiny", ranks(2, 2, 1, 2, other=name), name=name, run_at=run_at)
    fallen.evaluate(metrics="RR")
    with fallen.file.transaction() as con:
        checked = [found for _, found in gates.check(con, gates.find(con, [gate], "new"))]
        verdicts = {found.due.run: found.one.verdict for found in checked}
        assert verdicts == {
            "old": "good", "new": "worse", "second": "good", "third": "unchecked",
        }  # fmt: skip
        gates.keep(con, [gate], [found for found in checked if found.due.run != "third"], ())
    with fallen.file.read() as con:
        for run, verdict in (("second", "good"), ("new", "worse"), ("third", "unchecked")):
            ((_, found),) = gates.check(con, gates.find(con, [gate], "newest", run))
            assert found.one.verdict == verdict
    assert "alpha 0.99 over all runs" in str(limits)
    with expect_refusal("spend"):
        regressions.Limits(alpha=0.05, spend=True)


def test_a_test_by_hand(fallen: Warehouse) -> None:
    (one,) = fallen.check("tiny", "RR", alpha=0.5).comparisons
    assert (one.run, one.against, one.value, one.their_value) == ("new", "old", 0.625, 1.0)
    assert (one.difference, one.num_pairs, one.num_left_out) == (-0.375, 4, 0)
    assert one.p == pytest.approx(P_FALLEN / 2, rel=1e-12)
    # the standard error is 1/8; the interval and the test are at one level
    bound = stats.t.ppf(1 - LEVEL_OF_HALF, 3)
    assert (one.low, one.high) == pytest.approx((-0.375 - bound / 8, -0.375 + bound / 8), rel=1e-9)
    assert one.could_see == pytest.approx((bound + stats.t.ppf(0.8, 3)) / 8, rel=1e-9)
    assert (one.wins, one.ties, one.losses) == (0, 1, 3)
    assert one.lost_most == (("q1", 0.5, 1.0), ("q2", 0.5, 1.0), ("q4", 0.5, 1.0))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ({"strict": True}, "worse"),
        ({"strict": True, "max_drop": 0.374}, "worse"),
        ({"strict": True, "max_drop": 0.375}, "good"),
        # four queries give no p below 1/16, and p of any drop is 0.0577 / 2
        ({}, "unchecked"),
        ({"alpha": 0.1}, "unchecked"),
        ({"alpha": 0.2}, "worse"),
        # t of a drop beyond 1/4 is 1, and its p 1/3 - sqrt(3) / (4 pi) = 0.1955; beyond 3/8 it is 1/2
        ({"alpha": 0.2, "max_drop": 0.25}, "good"),
        ({"alpha": 0.5, "max_drop": 0.25}, "worse"),
        ({"alpha": 0.9, "max_drop": 0.375}, "good"),
        ({"alpha": 0.2, "max_drop": 0.25, "min": 0.7}, "worse"),
    ],
)
def test_a_drop_beyond_the_limit_and_not_by_chance(
    fallen: Warehouse, limits: dict, verdict: str
) -> None:
    """At alpha 0.1, 0.2, 0.5 and 0.9 the level beside the last run is 0.060, 0.103, 0.201 and 0.301."""
    found = fallen.check("tiny", "RR", **limits)
    assert found.is_good is (verdict != "worse")
    assert found.relation.project("verdict").fetchall() == [(verdict,)]
    assert fallen.check("tiny", "RR", unchecked="fail", **limits).is_good is (verdict == "good")


@pytest.mark.slow
def test_last_bits_are_no_loss_and_not_significant(wh: Warehouse) -> None:
    """AP is 7/12 of relevant documents at 1 and 12 and of those at 2 and 3; as doubles they differ."""
    queries = ("q1", "q2", "q3", "q4")
    wh.ingest_qrels("tiny", {query: {"a": 1, "b": 1} for query in queries})
    for name, places in (("old", {1: "a", 12: "b"}), ("new", {2: "a", 3: "b"})):
        found = {places.get(rank, f"x{rank}"): -float(rank) for rank in range(1, 13)}
        wh.ingest_run("tiny", dict.fromkeys(queries, found), name=name)
    wh.evaluate(metrics="AP")
    found = wh.check("tiny", "AP", alpha=0.5)
    (one,) = found.comparisons
    assert one.value < one.their_value
    assert (one.verdict, one.p) == ("good", 1.0)
    assert (one.wins, one.ties, one.losses, one.lost_most) == (0, 4, 0, ())


@pytest.mark.slow
def test_a_drop_of_just_the_limit_is_good(wh: Warehouse) -> None:
    """P@1 is 0.7 after 0.8: as doubles they are more than 0.1 apart."""
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    wh.ingest_qrels("tiny", qrels)
    for found in (8, 7):
        run = {q: {"a" if n < found else "x": 1.0} for n, q in enumerate(qrels)}
        wh.ingest_run("tiny", run, name=f"finds{found}")
    wh.evaluate(metrics="P@1")
    found = wh.check("tiny", "P@1", max_drop=0.1, strict=True)
    assert found.comparisons[0].difference < -0.1
    assert found.is_good
    assert not wh.check("tiny", "P@1", max_drop=0.0999999, strict=True).is_good


@pytest.mark.slow
def test_differences_that_are_all_the_same(wh: Warehouse) -> None:
    """Without any deviation there is no t, and p is that of all choices of four signs, 1 of 2^4; where
    nothing differs, nothing has dropped. A level that no p can be below is no test."""
    load(wh, one=ranks(1, 1, 1, 1), two=ranks(2, 2, 2, 2), three=ranks(2, 2, 2, 2))
    (one,) = wh.check("tiny", "RR", run="two", alpha=0.2).comparisons
    assert (one.p, one.low, one.verdict) == (1 / 16, None, "worse")
    (one,) = wh.check("tiny", "RR", run="two", alpha=0.2, max_drop=0.5).comparisons
    assert (one.p, one.verdict) == (1.0, "good")
    (one,) = wh.check("tiny", "RR", run="two", against="one", alpha=1 / 16).comparisons
    assert tells(one.why, "cannot be resolved with these queries … 0.062")
    # a drop that is too large needs no test
    assert not wh.check("tiny", "RR", run="two", max_drop=0.4, strict=True).is_good
    (one,) = wh.check("tiny", "RR", against="two", alpha=0.5).comparisons
    assert (one.p, one.ties, one.verdict) == (1.0, 4, "good")


@pytest.mark.slow
def test_what_is_undefined_is_counted(wh: Warehouse) -> None:
    """AUC is null where no pair of a relevant and another document was retrieved."""
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q3": {"a": 1.0}}
    better = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q4": {"a": 2.0, "x": 1.0}}
    load(wh, "AUC(ties=input)", old=better, new=run)
    (one,) = wh.check("tiny", "AUC(ties=input)").comparisons
    assert (one.num_pairs, one.num_left_out) == (2, 2)
    # 0 and 0 after 1, 0 and 1: over all queries 0 after 2/3
    assert (one.value, one.their_value, one.ties, one.losses) == (0.0, 2 / 3, 1, 1)
    code, _, told = command("check", "-m", "AUC(ties=input)", "--strict", "--db", str(wh.path))
    assert (code, "2 queries left out, undefined or missing for one of the runs" in told) == (
        1,
        True,
    )


@pytest.mark.slow
def test_the_best_the_last_and_a_named_run(wh: Warehouse) -> None:
    load(
        wh, "RR P@1", best=ranks(1, 1, 1, 2), same=ranks(1, 1, 1, 2, other="y"),
        low=ranks(3, 3, 3, 3), mid=ranks(1, 1, 2, 2), later=ranks(1, 1, 1, 1),
    )  # fmt: skip

    def against(**asked: object) -> list[tuple]:
        asked = {"against": "best"} | asked
        found = wh.check("tiny", ["RR", "P@1"], run="mid", max_drop=1, **asked).relation
        return found.project("metric, against, difference").fetchall()

    # 3/4 after 7/8 in RR, and 1/2 after 3/4 in P@1; of runs that are as good, the first counts, and
    # later runs do not
    assert against() == [("RR", "best", -0.125), ("P@1", "best", -0.25)]
    assert against(against="last") == [("RR", "low", 0.75 - 1 / 3), ("P@1", "low", 0.5)]
    assert against(against="later") == [("RR", "later", -0.25), ("P@1", "later", -0.5)]


@pytest.mark.slow
def test_a_run_comes_after_its_earlier_versions(wh: Warehouse) -> None:
    """The order is that of loading: its times go back, and lie before those of the other run."""
    load(wh, one=ranks(1, 1, 1, 1))
    for rank, day in ((2, 8), (4, 9), (3, 1)):
        at = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
        wh.ingest_run("tiny", ranks(*[rank] * 4), name="nightly", run_at=at, replace=True)
        wh.evaluate(metrics="RR")

    def against(**asked: object) -> tuple:
        asked = {"against": "best"} | asked
        found = wh.check("tiny", "RR", run="nightly", max_drop=1, **asked).comparisons[0]
        return found.against, found.value, found.their_value, found.losses

    assert against() == ("one", 1 / 3, 1.0, 4)
    assert against(against="last") == ("nightly (version 2)", 1 / 3, 1 / 4, 0)
    wh.forget("tiny", "one")
    assert against() == ("nightly (version 1)", 1 / 3, 1 / 2, 4)
    code, out, told = command(
        "check", "-m", "RR", "--against", "best", "--strict", "--db", str(wh.path), "-f", "csv"
    )
    assert (code, out.split(",")[14:16]) == (1, ["nightly (version 1)", str(1 / 3)])
    assert told.splitlines()[-1] == "nightly is worse in RR (not good: any drop)"
    wh.forget("tiny", "nightly", version=1)
    assert against() == ("nightly (version 2)", 1 / 3, 1 / 4, 0)


@pytest.mark.slow
def test_versions_without_a_value_are_told(wh: Warehouse) -> None:
    load(wh, one=ranks(1, 1, 1, 1))
    wh.ingest_run("tiny", ranks(2, 2, 2, 2), name="one", replace=True)
    wh.ingest_run("tiny", ranks(3, 3, 3, 3), name="one", replace=True)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR", max_drop=1, strict=True).comparisons
    assert (one.against, one.num_versions_left_out) == ("one (version 1)", 1)
    asked = ("check", "-m", "RR", "--max-drop", "1", "--strict", "--db", str(wh.path))
    left_out = "of it without a value by the same formula against the current qrels"
    assert (
        command(*asked)[2].splitlines()[0] == f"RR: not compared with 1 earlier version {left_out}"
    )
    # against other judgments only the newest is evaluated
    wh.ingest_qrels("tiny", FOUR | {"q5": {"a": 1}}, replace=True)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR").comparisons
    assert str(one).endswith(
        f" is unchecked: no run was before it but 2 earlier versions {left_out}"
    )
    assert command(*asked)[2].splitlines() == [
        f"RR: {one}", f"RR: not compared with 2 earlier versions {left_out}",
    ]  # fmt: skip


@pytest.mark.slow
def test_runs_of_a_group(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", FOUR)
    for name, rank, system, stage in (
        ("a", 1, "A", "first"), ("b", 3, "B", "first"), ("c", 2, "A", None), ("d", 4, "B", "second"),
        ("e", 3, None, None), ("f", 4, None, "first"),
    ):  # fmt: skip
        tags = {} if stage is None else {"stage": stage}
        wh.ingest_run("tiny", ranks(*[rank] * 4), name=name, system=system, tags=tags)
    wh.evaluate(metrics="RR")

    def against(run: str, group: str | None) -> str | None:
        return (
            wh.check("tiny", "RR", run=run, group=group, max_drop=1, against="best")
            .comparisons[0]
            .against
        )

    assert [against(run, "system") for run in "bdf"] == [None, "b", "e"]
    assert [against(run, "stage") for run in "bde"] == ["a", None, "c"]
    assert against("f", None) == "a"
    code, _, told = command(*f"check -m RR --group staeg --db {wh.path}".split())
    assert (code, tells(told, "group: staeg … stage")) == (2, True)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"min": 0.625}, None),
        ({"min": 0.63}, "0.6250 is below 0.63"),
        ({"max": 0.625}, None),
        (
            {"max": 0.6, "max_drop": 0.3, "strict": True},
            "it fell by 0.3750 and 0.6250 is above 0.6",
        ),
        ({"min": 0.1, "alpha": 0.2}, "it fell by 0.3750 with p = 0.029"),
    ],
)
def test_bounds_of_the_value(fallen: Warehouse, limits: dict, why: str | None) -> None:
    """RR of the newest run is 5/8, after 1. Bounds alone let any drop pass."""
    (one,) = fallen.check("tiny", "RR", **limits).comparisons
    assert (one.why, one.verdict) == (why, "good" if why is None else "worse")


def test_bounds_need_no_direction_and_no_other_run(fallen: Warehouse) -> None:
    """NumRet of `old` is 4, of `new` 7."""
    (one,) = fallen.check("tiny", "NumRet", run="old", min=5).comparisons
    assert (one.verdict, one.why) == ("worse", "4.0000 is below 5")
    assert str(one) == "old 4.0000 is out of bounds"
    assert fallen.check("tiny", "NumRet", min=4, max=7).is_good


def test_the_command_prints_and_ends_with_1(fallen: Warehouse) -> None:
    asked = ("check", "-m", "RR", "-d", "tiny", "--db", str(fallen.path))
    code, out, told = command(*asked, "--alpha", "0.2", "--max-drop", "0.1", "--places", "2")
    assert code == 1
    # t is (3/8 - 1/10) / (1/8) = 2.2, of which scipy.stats.t.sf(2.2, 3) = 0.0575; and
    # t.isf(0.2 / (1 + 2.1 * sqrt(0.2)), 3) / 8 = 0.202
    assert out.splitlines()[-1].split() == [
        "RR", "new", "old", "0.62", "1.00", "-0.38", "-0.58", "-0.17", "0.058", "0", "1", "3",
        "worse",
    ]  # fmt: skip
    assert told.splitlines() == [
        "RR: q1 lost: 1.00 -> 0.50",
        "RR: q2 lost: 1.00 -> 0.50",
        "RR: q4 lost: 1.00 -> 0.50",
        "new is worse in RR (not good: a drop of more than 0.1 at alpha 0.2)",
    ]
    assert command(*asked, "--max-drop", "0.4", "--strict")[0] == 0
    assert command(*asked, "--run", "old", "--against", "new")[0] == 0


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("-m AP", "tiny: no value of AP for new, or none by the same formula, under protocol "
                  "default yet: warehouse evaluate -d tiny -m AP"),
        ("-m AP --protocol trec_eval_9", "warehouse evaluate -d tiny -m AP --protocol trec_eval_9"),
        ("-m RRR", "RRR … RR"),
        ("-m RR -d tinny", "tinny … tiny"),
        ("-m RR --run nwe", "nwe … new"),
        ("-m RR --against odl", "odl … old"),
        ("-m RR --against bset", "bset … best"),
        ("-m RR --alpha 0.1 --strict", "strict … without alpha"),
        ("-m RR --against xyz", "xyz: dataset tiny has no run of that name; it has new, old"),
        ("-m RR --against new", "new, the newest run: cannot be compared with itself"),
        ("-m RR --max-drop -1", "max-drop is 0 or more, not -1.0"),
        ("-m RR --alpha 1", "alpha lies between 0 and 1, not 1.0"),
        ("-m RR --min 2 --max 1", "min is at most max, and 2 is above 1"),
        ("-m RR --min nan", "min is a finite number, not nan"),
        ("-m RR --new", "new: is for the gates of warehouse.toml"),
        ("--max-drop 0.1", "limits go with a metric"),
        ("-m NumRet", "NumRet: neither higher nor lower is better"),
        ("-m RR --protocol defautl", "defautl … default"),
    ],
)  # fmt: skip
def test_what_is_refused(fallen: Warehouse, asked: str, problem: str) -> None:
    code, out, told = command("check", *asked.split(), "--db", str(fallen.path))
    assert (code, out) == (2, "")
    assert tells(told, problem)


@pytest.mark.slow
def test_a_run_before_it_that_is_not_evaluated_is_said(fallen: Warehouse) -> None:
    """It might be the best."""
    for name in ("early", "late", "newest"):
        fallen.ingest_run("tiny", ranks(1, 1, 1, 1), name=name)
    fallen.evaluate("tiny", runs=["late", "newest"], metrics="RR")
    with pytest.raises(UsageError, match=r"^tiny: no value of RR for early, .* -d tiny -m RR$"):
        fallen.check("tiny", "RR", max_drop=1, against="best")
    assert fallen.check("tiny", "RR", against="last", max_drop=1).is_good


def test_a_test_needs_queries(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    for name, rank in (("old", 1), ("new", 2)):
        wh.ingest_run("tiny", ranks(rank), name=name)
    wh.evaluate(metrics="RR")
    (one,) = wh.check("tiny", "RR", alpha=0.5).comparisons
    assert (one.verdict, one.p) == ("unchecked", None)
    assert tells(one.why, "cannot be resolved … 1 query … 0.500")


def test_runs_with_few_queries_in_common_are_not_compared(wh: Warehouse) -> None:
    """Of the queries of either run, both have one value of four."""
    load(wh, old=ranks(1, 1, 1, 1), new=ranks(2, 2, 2, 2))
    for run, queries in (("old", ("q1", "q2", "q3")), ("new", ("q3", "q4"))):
        rows = [{"query_id": q, "metric": "M", "value": float(run == "old")} for q in queries]
        wh.ingest_scores("tiny", rows, name=run)
    (one,) = wh.check("tiny", "M", strict=True, protocol="imported").comparisons
    assert (one.verdict, one.num_pairs, one.num_left_out) == ("unchecked", 1, 3)
    assert one.why == "old has a value of only 1 of their 4 queries in common"


NEW = ", as the database was made new in this sync"
RED = (
    "1 run is red: {0} of tiny (RR); see: warehouse gates; to accept: "
    "warehouse gates accept {0} --why '…' -d tiny"
)


@pytest.mark.slow
def test_a_gate_that_fires_makes_the_exit_code_1(synced: Project) -> None:
    """RR is 3/4, then 1, then (1/2 + 0) / 2."""
    gated(synced, 'against = "best"\n', 'against = "best"\nmax_drop = 0.9\n')
    code, out, _ = command("sync")
    assert code == 0
    assert (
        out.splitlines()[3:]
        == [f"tiny: gate RR: one 0.7500 is unchecked: no run was before it{NEW}"] * 2
    )
    assert command("sync") == (0, "", "")

    synced.write("runs/bm25/two.run", BETTER, age=1800)
    code, out, _ = command("sync")
    assert (code, out.splitlines()[-1]) == (
        0, "tiny: gate RR: two 1.0000 is good compared with one 0.7500",
    )  # fmt: skip

    synced.write("runs/bm25/three.run", RUN.replace("q2 Q0 c", "q2 Q0 x"), age=900)
    code, out, err = command("sync")
    assert (code, err) == (1, "")
    assert out.splitlines()[1:] == [
        "tiny: computed 1 value for 1 run",
        "tiny: gate RR: three 0.2500 is worse than two 1.0000 (not good: any drop)",
        "tiny: gate RR: three 0.2500 is good compared with two 1.0000",
        RED.format("three"),
    ]
    # no run is new, and one is still red
    assert command("sync") == (1, RED.format("three") + "\n", "")


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
    assert [line.partition(" (")[0] for line in out.splitlines()[2:6]] == [
        "tiny: gate RR: two 0.2500 is worse than one 0.7500",
        "tiny: gate RR: two 0.2500 is good compared with one 0.7500",
        "tiny: gate RR: three 0.2500 is worse than one 0.7500",
        "tiny: gate RR: three 0.2500 is good compared with one 0.7500",
    ]
    assert command("sync")[1].count("\n") == 1
    assert synced.warehouse.query("from store.gate_due").fetchall() == []


@pytest.mark.slow
def test_a_gate_that_the_engine_fails_at_stays_due(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.settings('metrics = ["RR"]', 'metrics = ["RR"]\nprotocols = ["default", "trec_eval_9"]')
    gated(synced, "", 'protocol = "trec_eval_9"\n')
    check = regressions._Line.__init__

    def fails(line: Any, *asked: Any) -> object:
        if asked[1].protocol == "trec_eval_9":
            raise duckdb.IOException("the disk is full")
        return check(line, *asked)

    with monkeypatch.context() as patched:
        patched.setattr(regressions._Line, "__init__", fails)
        code, out, err = command("sync")
    good = "one 0.7500 is unchecked: no run was before it\n"
    assert (code, "the disk is full" in err) == (1, True)
    assert out.endswith(f"tiny: gate RR: {good[:-1]}{NEW}\n")
    # that of the other protocol is not due any more
    assert command("sync")[:2] == (0, f"tiny: gate RR by protocol trec_eval_9: {good}")


@pytest.mark.slow
def test_json_has_the_gates(synced: Project) -> None:
    synced.write("runs/bm25/two.run", "q1 Q0 b 1 2 t\nq2 Q0 b 1 1 t\n", age=1800)
    gated(synced, 'against = "last"\nalpha = 0.9\nmax_drop = 0.25\n')
    synced.settings("strict = true\n", "")
    code, out, _ = command("sync", "--json")
    found = json.loads(out)
    assert (code, found["exit_code"]) == (1, 1)
    checked, red = found["events"][-2:]
    # 0 and 0 after 1/2 and 1: the standard error is sqrt(1/8) / sqrt(2) = 1/4, and t of a drop beyond
    # 1/4 is (3/4 - 1/4) / (1/4) = 2; with one degree of freedom p is 1/2 - atan(2) / pi, and the level
    # 0.9 / (1 + 2.1 sqrt(0.9)) has the bound tan(pi (1/2 - level))
    level = 0.9 / (1 + 2.1 * math.sqrt(0.9))
    found = checked["details"]
    p = found.pop("p")
    assert p == pytest.approx(1 / 2 - math.atan(2) / math.pi)
    half = math.tan(math.pi * (1 / 2 - level)) / 4
    ends = (found.pop("low"), found.pop("high"), found.pop("could_see"))
    power = math.tan(math.pi * 0.3) / 4
    assert ends == pytest.approx((-0.75 - half, -0.75 + half, 0.25 + half + power))
    assert (checked["status"], checked["dataset"]) == ("worse", "tiny")
    assert found == {
        "dataset": "tiny", "metric": "RR", "protocol": "default", "run": "two", "value": 0.0,
        "reference": "one", "reference_value": 0.75, "difference": -0.75, "direction": "higher",
        "num_pairs": 2, "wins": 0, "ties": 0, "losses": 2, "num_left_out": 0,
        "num_versions_left_out": 0, "lost_most": [["q2", 0.0, 1.0], ["q1", 0.0, 0.5]],
        "verdict": "worse", "why": "it fell by 0.7500 with p = 0.148",
        "grouped_by": "system", "against": "last", "limits": "a drop of more than 0.25 at alpha 0.9",
    }  # fmt: skip
    (stored,) = red["details"]["verdicts"]
    assert red["status"] == "red"
    assert (stored["run"], stored["p"], stored["is_red"]) == ("two", p, True)


@pytest.mark.slow
def test_a_gate_against_a_run_that_is_not_there_is_a_problem_of_its_own(synced: Project) -> None:
    gated(synced, 'against = "onne"\n', "")
    code, out, err = command("sync")
    assert (code, out.splitlines()[-1]) == (
        2,
        f"tiny: gate RR: one 0.7500 is unchecked: no run was before it{NEW}",
    )
    assert err.startswith(
        "warehouse: tiny: gate RR: onne: dataset tiny has no run of that name; did you mean one?\n"
    )
    # it stays due, and who watches is told once
    told: set[str] = set()
    for lines in (1, 0):
        with redirect_stdout(StringIO()) as text, redirect_stderr(text):
            assert sync.run(synced.warehouse, reported=told).exit_code == 2
        assert text.getvalue().count("\n") == lines
    synced.settings("onne", "one")
    good = "tiny: gate RR: one 0.7500 is good\n"
    assert command("sync") == (0, good, "")
    assert command("sync") == (0, "", "")


@pytest.mark.slow
def test_new_judgments_run_the_gates_again(synced: Project) -> None:
    """Now b is relevant in q1, which `one` has first, and `two` has not: (0 + 1) / 2 after 1."""
    gated(synced, "")
    synced.write("runs/bm25/two.run", BETTER, age=1800)
    assert command("sync")[0] == 0
    synced.write("qrels.txt", QRELS.replace("q1 0 a 1\nq1 0 b 0", "q1 0 a 0\nq1 0 b 1"), age=60)
    code, out, _ = command("sync")
    assert (code, out.splitlines()[-2:]) == (
        1, ["tiny: gate RR: two 0.5000 is worse than one 1.0000 (not good: any drop)",
            RED.format("two")],
    )  # fmt: skip


def verdicts(wh: Warehouse) -> list[tuple]:
    """Return run, metric, reference, verdict and whether it is red, in the order of the checks."""
    rows = wh.gates().relation.project("run, metric, reference, verdict, is_red").fetchall()
    return sorted(row for row in rows if row[0] != "one")


@pytest.mark.slow
def test_two_runs_in_one_night(night: Project) -> None:
    code, out, _ = command("sync")
    red = "1 run is red: bad of tiny (P@1, RR); see: warehouse gates; to accept: "
    line = f"{red}warehouse gates accept bad --why '…' -d tiny\n"
    assert code == 1
    assert out.endswith(line)
    assert verdicts(night.warehouse) == [
        # P@1 is 1/2, then 0 and 1; the run that fell is the reference of no other
        ("bad", "P@1", "one", "worse", True), ("bad", "RR", "one", "worse", True),
        ("good", "P@1", "one", "good", False), ("good", "RR", "one", "good", False),
    ]  # fmt: skip
    assert command("sync") == (1, line, "")
    code, out, told = command("status", "-f", "csv")
    assert (code, [row.split(",")[1:3] for row in out.splitlines()[1:]]) == (
        0, [["red", "P@1"], ["red", "RR"]],
    )  # fmt: skip
    assert told.endswith("red: 1 run: warehouse gates --red\n")
    assert json.loads(command("sync", "--json")[1])["exit_code"] == 1
    for words, problem in (
        (("bda",), "bda … bad"), (("good",), "no gate fired; red are bad"),
        ((), "name the runs to accept"), (("bad", "--all"), "name the runs to accept"),
    ):  # fmt: skip
        code, _, told = command("gates", "accept", *words, "--why", "x")
        assert (code, tells(told, problem)) == (2, True)
    with pytest.raises(UsageError, match="say in a few words"):
        night.warehouse.accept("tiny", "bad", why=" ")
    with expect_refusal("none.duckdb … warehouse init"):
        Warehouse("none.duckdb").accept("tiny", "bad", why="a new index")
    assert not Path("none.duckdb").exists()
    assert command("gates", "accept", "bad", "--why", "a new index") == (0, "", "accepted: bad\n")
    assert command("sync") == (0, "", "")
    (row, _) = [row for row in night.warehouse.gates() if row.run == "bad"]
    assert (row.verdict, row.is_red, row.accepted_why) == ("accepted", False, "a new index")
    assert list(night.warehouse.verify("tiny").problems) == []


@pytest.mark.slow
def test_a_run_that_was_accepted_is_a_reference_again(night: Project) -> None:
    """It is the last one then; the best is still the best."""
    command("sync")
    night.warehouse.accept("tiny", "bad", why="a new index")
    night.settings("max_drop", 'against = "last"\nmax_drop')
    night.write("runs/bm25/bad2.run", BAD.replace("x", "y"), age=600)
    assert command("sync")[0] == 1
    night.write("runs/bm25/bad3.run", BAD.replace("x", "z"), age=500)
    code, out, _ = command("sync")
    assert "bad3 0.2500 is worse than good 1.0000" in out
    night.warehouse.accept("tiny", why="both")
    night.write("runs/bm25/bad4.run", BAD.replace("x", "u"), age=400)
    code, out, _ = command("sync")
    assert (code, "bad4 0.2500 is good compared with bad3 0.2500" in out) == (0, True)


@pytest.mark.slow
def test_a_run_that_is_red_is_no_named_reference(night: Project) -> None:
    """The bounds hold for the reference itself, too."""
    night.settings("max_drop = 0.1", 'against = "bad"\nmin = 0.4\nmax_drop = 0')
    code, out, told = command("sync")
    assert code == 2
    assert "gate RR: bad 0.2500 is out of bounds (not good: any drop or a value below 0.4)" in out
    assert "gate RR: bad: a gate fired when it was checked, so nothing is compared with it" in told
    assert {row.run for row in night.warehouse.gates()} == {"one", "bad"}


@pytest.mark.slow
def test_runs_from_before_the_gate_are_not_checked(synced: Project) -> None:
    synced.write("runs/bm25/bad.run", BAD, age=1800)
    synced.sync()
    gated(synced, "")
    assert command("sync") == (0, "", "")
    assert len(synced.warehouse.gates()) == 0
    # a run that was loaded by hand is new
    synced.warehouse.ingest_run("tiny", str(synced.write("far.run", BAD)), system="bm25")
    code, out, _ = command("sync")
    assert (code, "gate RR: far 0.2500 is worse than one 0.7500" in out) == (1, True)
    # another system has a reference of its own, and a run that is forgotten is not red
    synced.write("runs/other/low.run", BAD, age=900)
    synced.warehouse.forget("tiny", "far")
    assert command("sync")[0] == 0
    assert {row.run: row.verdict for row in synced.warehouse.gates()} == {"low": "unchecked"}
    assert [row.verdict for row in synced.warehouse.gate_log("far")] == ["worse"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the clock says")
def test_the_newest_run_is_the_one_loaded_last(
    night: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock goes back a year, and with it the time of the file; the run is checked all the same."""
    now = dt.datetime.now(dt.UTC) - dt.timedelta(days=365)
    monkeypatch.setattr(clock, "_system_time", lambda: now)
    (night.path / "runs/bm25/good.run").unlink()
    night.write("runs/bm25/bad.run", BAD, age=86_400 * 365)
    assert command("sync")[0] == 1
    code, out, _ = command("check", "-f", "csv")
    assert (code, [row.split(",")[3] for row in out.splitlines()[1:]]) == (1, ["bad", "bad"])


@pytest.mark.slow
def test_check_runs_the_gates_of_the_project(night: Project) -> None:
    """It stores nothing, except for runs that are new."""
    synced = night.warehouse
    synced.ingest_run("tiny", str(night.path / "runs/bm25/bad.run"), system="bm25")
    synced.ingest_run("tiny", str(night.path / "runs/bm25/good.run"), system="bm25")
    with pytest.raises(UsageError, match="no value of RR for bad"):
        synced.check(new=True)
    synced.evaluate("tiny", metrics="RR P@1")
    assert synced.check().is_good
    assert synced.check("tiny").columns[:4] == ["dataset", "metric", "protocol", "run"]
    assert command("check", "--run", "bad")[0] == 1
    assert len(synced.gates(red=True)) == 0
    code, out, _ = command("check", "--new", "-f", "csv")
    shown = [",".join(row.split(",")[1:4]) for row in out.splitlines()[1:]]
    assert (code, shown) == (
        1, ["RR,default,bad", "P@1,default,bad", "RR,default,good", "P@1,default,good"],
    )  # fmt: skip


@pytest.mark.slow
def test_check_goes_by_what_is_red_and_accepted(night: Project) -> None:
    synced = night.warehouse
    night.sync()
    # no run is new, but one is red
    found = synced.check(new=True)
    assert [(one["run"], one["metric"]) for one in found.verdicts] == [
        ("bad", "P@1"),
        ("bad", "RR"),
    ]
    assert not synced.check().is_good
    synced.accept(runs="bad", why="x")
    assert synced.check(run="bad").is_good
    assert [row.verdict for row in synced.check(run="bad")] == ["accepted", "accepted"]
    assert command("check", "--new")[2] == "no run is new, and none is red\n"
    for words, problem in (
        ("--run god", "god … good"), ("-d tinny", "warehouse.toml has no gate of tinny"),
        ("--run good --new", "name no run"), ("--config no.toml", "--config: no.toml: no such file"),
    ):  # fmt: skip
        code, _, told = command("check", *words.split())
        assert (code, tells(told, problem)) == (2, True)


@pytest.mark.slow
def test_annotations_and_a_summary(night: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is no markup, and does not end a line."""
    (night.path / "runs/bm25/bad.run").rename(night.path / "runs/bm25/a|b%.run")
    command("sync")
    code, out, _ = command("check", "--format", "github")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == (
        "::notice title=warehouse check::tiny: gate RR: good 1.0000 is good compared with one 0.7500"
    )
    assert lines[2] == (
        "::error title=warehouse check::tiny: gate P@1: a|b%25 0.0000 is red: it fell by 0.5000, "
        "compared with one 0.5000"
    )
    assert lines[4] == "### Gates: 1 run red"
    assert r"| a\|b%" in out
    row = next(line for line in lines if "q2" in line)
    assert [cell.strip() for cell in row.split(" | ")][3:5] == ["q2", "0.0000"]
    page = night.path / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    code, out, _ = command("check", "--format", "github")
    assert (code, out.count("\n")) == (1, 4)
    assert page.read_text().startswith("before\n### Gates: 1 run red\n")
    code, out, _ = command("check", "-m", "RR", "--strict", "--run", "good", "--format", "github")
    assert (code, out.count("::notice")) == (0, 1)


@pytest.mark.slow
def test_a_command_is_told_what_fires(night: Project) -> None:
    night.settings("[evaluate]", 'on_fire = "cat >> told.json"\n[evaluate]')
    command("sync")
    command("sync")
    told = json.loads((night.path / "told.json").read_text())
    assert [(one["run"], one["metric"], one["verdict"]) for one in told["verdicts"]] == [
        ("bad", "P@1", "worse"), ("bad", "RR", "worse"),
    ]  # fmt: skip
    assert told["text"].splitlines()[0] == told["verdicts"][0]["text"]
    night.settings("cat >> told.json", "echo no route >&2; exit 7")
    night.write("runs/bm25/worse.run", BAD.replace("x", "y"), age=600)
    code, _, err = command("sync")
    assert (code, err) == (2, "warehouse: on_fire: the command ended with 7: no route\n")
    # the verdicts are stored all the same, and the command is called again
    night.settings("echo no route >&2; exit 7", "cat > again.json")
    assert command("sync")[0] == 1
    again = json.loads((night.path / "again.json").read_text())
    assert {one["run"] for one in again["verdicts"]} == {"bad", "worse"}


def test_a_command_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "_LONGEST", 0.2)
    with pytest.raises(UsageError, match=r"took longer than 0\.2 seconds"):
        gates.tell("sleep 60 | cat", [{"text": "x"}], tmp_path)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("min = 2\nmax = 1\n", "gates 1: min is at most max, and 2 is above 1"),
        ("min = nan\n", "gates 1: min is a finite number, not nan"),
        ('on_fire = "x"\n', "unknown key 'on_fire'; it stands in the lines above the first table"),
        (
            'protocol = "ranx"\n',
            "gates 1: protocol: tiny is not evaluated by ranx; it is by default",
        ),
        (
            "alpha = 0.05\nsequential = true\nspend = true\n",
            'gates 1: sequential: needs one reference for all looks, but against = "',
        ),
        ("alpha = 0.05\nspend = true\n", "gates 1: spend divides"),
        ('protocol = "defaults"\n', "tiny is not evaluated by defaults; did you mean default?"),
    ],
)
def test_wrong_gates_are_refused(synced: Project, more: str, problem: str) -> None:
    gated(synced, more)
    if "alpha" in more:
        synced.settings("strict = true\n", "")
    with pytest.raises(DefinitionError, match=problem):
        synced.sync()


@pytest.mark.slow
def test_a_gate_needs_a_direction(synced: Project) -> None:
    gated(synced, "")
    synced.settings('metric = "RR"', 'metric = "NumRet"')
    with pytest.raises(DefinitionError, match="neither a higher nor a lower NumRet is better"):
        synced.sync()
    synced.settings('metric = "NumRet"', "metric = []")
    with pytest.raises(DefinitionError, match="gates 1: metric: the list is empty"):
        synced.sync()
    synced.settings("metric = []", 'metric = "NumRet"\nmin = 4')
    synced.settings("strict = true\n", "")
    synced.settings('"NumRet"', '["NumRet", "RR"]')
    # of three documents; RR is 3/4
    assert [event.status for event in synced.sync().events][-3:] == ["worse", "worse", "red"]


@pytest.mark.slow
def test_values_of_two_formulas_are_not_compared(here: Folder) -> None:
    """A metric of the project's; then it means something else, and one run is evaluated anew."""
    wh = load(Warehouse(), "Best@2", one=ranks(1, 1, 1, 1), two=ranks(3, 1, 1, 1))
    assert command("check", "-m", "Best@2", "--strict")[0] == 1
    here.metric(BEST.replace("max(relevance)", "2 * max(relevance)"))
    # both are of the old one
    assert command("check", "-m", "Best@2", "--strict")[0] == 1
    wh.evaluate(runs="two", metrics="Best@2")
    code, _, told = command("check", "-m", "Best@2", "--max-drop", "9")
    assert (code, "no value of Best@2 for one, or none by the same formula" in told) == (2, True)
    wh.evaluate(metrics="Best@2")
    assert command("check", "-m", "Best@2", "--max-drop", "9")[0] == 0


@pytest.mark.long
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
            mine, theirs = values[one.metric, run], values[one.metric, against]
            if one.ties == one.num_pairs:
                assert one.p == 1.0
                continue
            test = stats.ttest_rel(theirs, mine, alternative="greater")
            assert one.p == pytest.approx(test.pvalue, rel=1e-9, abs=1e-12)
            assert one.verdict == ("worse" if test.pvalue < 0.05 / len(metrics) else "good")
            low, high = stats.ttest_rel(mine, theirs).confidence_interval(1 - 0.1 / len(metrics))
            assert (one.low, one.high) == pytest.approx((low, high), rel=1e-8, abs=1e-12)

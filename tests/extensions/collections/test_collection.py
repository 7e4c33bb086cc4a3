"""What a collection can tell: discriminative power, reusability, and the report on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from refusals import expect_refusal
from shared_cases import case

from warehouse.extensions.collections import collection, discriminate, report, reusability
from warehouse.report import charts
from warehouse.warehouse import Warehouse


@pytest.fixture(scope="module")
def dl19(demo_file: Path) -> Warehouse:
    """Return the demo, of which these tests only read."""
    return Warehouse(demo_file)


# the first relevant document of each of eight queries is at these ranks
RANKS = {"one": (1,) * 8, "two": (2,) * 8, "mixed": (1, 1, 2, 2, 2, 2, 2, 2)}


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse of three runs on eight queries with one relevant document each."""
    wh = Warehouse(tmp_path_factory.mktemp("eight") / "eight.duckdb")
    wh.ingest_qrels("eight", {f"q{n}": {"a": 1} for n in range(8)})
    for name, ranks in RANKS.items():
        lists = {
            f"q{n}": {"a": 2.0, "b": 1.0 if rank == 1 else 3.0} for n, rank in enumerate(ranks)
        }
        wh.ingest_run("eight", lists, name=name)
    return wh


@pytest.mark.slow
def test_discriminative_power_by_hand(eight: Warehouse) -> None:
    """In the sign test, eight of eight wins have p = 2/2^8, six of six 2/2^6, two of two 2/2^2.

    So two of three pairs are separated at 0.05, and one at 0.01. Of reciprocal ranks 1 and 1/2, two
    of eight make a mean difference of 1/8, six of eight one of 3/8. Success@2 is 1 for every run.
    """
    found = discriminate(eight, "eight", metrics="RR Success@2", test="sign")
    assert found.fetchall() == [("RR", 3, 2, 2 / 3, 1 / 8, 0), ("Success@2", 3, 0, 0.0, 0.0, 0)]
    levels = [row[1:] for row in found.levels.fetchall() if row[0] == "RR"]
    assert levels == [
        (1, "two", "mixed", 1 / 8, pytest.approx(1 / 2), False),
        (2, "one", "mixed", -3 / 8, pytest.approx(1 / 32), True),
        (3, "one", "two", -1 / 2, pytest.approx(1 / 128), True),
    ]
    assert discriminate(eight, "eight", metrics="RR", test="sign", alpha=0.01).fetchall() == [
        ("RR", 3, 1, 1 / 3, 3 / 8, 0)
    ]
    # a pair without a difference has no t, so that it is no hypothesis
    assert discriminate(eight, "eight", metrics="Success@2", test="t").fetchall() == [
        ("Success@2", 0, 0, None, None, 3)
    ]
    with expect_refusal("tuky … tukey"):
        discriminate(eight, "eight", metrics="RR", test="tuky")


def _labels(spec: charts.Spec) -> Sequence[str]:
    layer = next(layer for layer in spec["layer"] if layer["name"] == "labels")
    return [row["label"] for row in layer["data"]["values"]]


QRELS = {"q1": {"a": 1, "b": 1, "c": 0, "pooled": -1}, "q2": {"d": 2, "e": 0, "f": 1}}
LISTS = {
    "one": {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"e": 2.0, "f": 1.0}},
    "two": {"q1": {"b": 3.0, "pooled": 2.0, "a": 1.0}, "q2": {"d": 2.0, "f": 1.0}},
    "three": {"q1": {"c": 3.0, "a": 2.0, "b": 1.0}, "q2": {"e": 2.0, "f": 1.0}},
}
TEAMS = {"one": "north", "two": "south", "three": "north"}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse of three runs of two teams, whose judgments come from their first two."""
    wh = Warehouse(tmp_path_factory.mktemp("pool") / "pool.duckdb")
    wh.ingest_qrels("pool", QRELS)
    for name, lists in LISTS.items():
        wh.ingest_run("pool", lists, name=name, tags={"team": TEAMS[name]})
    wh.ingest_run("alone", LISTS["one"], name="one")
    wh.ingest_qrels("alone", QRELS)
    wh.ingest_run("unjudged", LISTS["one"], name="one")
    return wh


@pytest.mark.slow
def test_leave_out_uniques_by_hand(pool: Warehouse) -> None:
    """Of the first two, `one` shares all that is judged; `two` alone has b and d, `three` alone c.

    RR is 1 and 1/2 for `one`, 1 and 1 for `two`, 1/2 and 1/2 for `three`. Without b and d, `two` has
    a at the third place and f at the second: 1/3 and 1/2, so that it falls from the first place
    below `one` and `three`: two pairs of three swap, and tau-b is -1/3. c is not relevant: nothing
    changes.
    """
    found = reusability(pool, "pool", metrics="RR", depth=2)
    rows = [row.as_dict() for row in found]
    assert [(row["left_out"], row["unique_judged"], row["unique_relevant"]) for row in rows] == [
        ("two", 2, 2), ("three", 1, 0), ("one", 0, 0),
    ]  # fmt: skip
    assert rows[0] | {"tau_b": pytest.approx(-1 / 3)} == rows[0] | {
        "tau_b": rows[0]["tau_b"], "swapped_pairs": 2, "rank_loss": 2, "run": "two",
        "rank_before": 1, "rank_after": 3, "value_before": 1.0,
        "value_after": pytest.approx((1 / 3 + 1 / 2) / 2),
    }  # fmt: skip
    assert [(row["tau_b"], row["rank_loss"]) for row in rows[1:]] == [(1.0, 0)] * 2
    documents = reusability(pool, "pool", metrics="RR", depth=2).documents
    assert sorted(documents.fetchall()) == [
        ("three", "q1", "c", 0.0), ("two", "q1", "b", 1.0), ("two", "q2", "d", 2.0),
    ]  # fmt: skip
    # of the whole lists, only d and c have one run
    assert {row.left_out: row.unique_judged for row in reusability(pool, "pool", metrics="RR")} == {
        "one": 0, "two": 1, "three": 1,
    }  # fmt: skip
    # north has a, c, e among its first two, and south b, d and f of which north has none there
    teams = reusability(pool, "pool", metrics="RR", by="team", depth=2)
    assert {(row.left_out, row.runs, row.unique_judged) for row in teams} == {
        ("north", 2, 3), ("south", 1, 2),
    }  # fmt: skip


@pytest.mark.slow
def test_without_uniques_the_values_are_those_of_fewer_judgments(dl19: Warehouse, tmp_path) -> None:
    """Judgments that are left out, and judgments that were never loaded, give the same values."""
    metrics = ["nDCG@10", "AP(rel=2)", "bpref"]
    runs = ["bm25", "tasb", "ada2"]
    found = reusability(dl19, "dl19", runs, metrics, depth=10)
    left = {
        (query, document)
        for group, query, document, _ in found.documents.fetchall()
        if group == "ada2"
    }
    assert len(left) > 50
    qrels = dl19.query("select query_id, doc_id, relevance from qrels").fetchall()
    wh = Warehouse(tmp_path / "fewer.duckdb")
    fewer: dict[str, dict[str, float]] = {}
    for query, document, relevance in qrels:
        if (query, document) not in left:
            fewer.setdefault(query, {})[document] = relevance
    wh.ingest_qrels("fewer", fewer)
    data = case("dl19_passage")
    for run in runs:
        wh.ingest_run("fewer", data.runs[run], name=run)
    wh.evaluate(metrics=metrics)
    wanted = {
        (metric, row.run): row[metric]
        for row in wh.leaderboard("fewer", metrics=metrics)
        for metric in metrics
    }
    assert {
        (row.metric, row.run): row.after for row in found.boards if row.left_out == "ada2"
    } == wanted


def test_what_cannot_be_left_out(pool: Warehouse) -> None:
    refused = [
        ("alone … one", ("alone",), {"metrics": "RR"}),
        ("tag group", ("pool",), {"metrics": "RR", "by": "group"}),
        ("depth", ("pool",), {"metrics": "RR", "depth": 0}),
        ("twoo … two", ("pool", "twoo"), {"metrics": "RR"}),
    ]
    for wanted, names, words in refused:
        with expect_refusal(wanted):
            reusability(pool, *names, **words)


TIED = {"q1": {"x": 2.0, "a": 2.0, "c": 1.0}, "q2": {"d": 2.0, "e": 2.0, "y": 2.0, "f": 1.0}}


@pytest.mark.slow
def test_the_report_by_hand(tmp_path: Path) -> None:
    """Two queries, of which the second has grades 0 to 2, and a run with tied scores.

    Down to rank 1, `one` has a and e, which are judged, and `tied` x and y (of y, e and d, which are
    tied, the last id comes first): four documents, two of them judged. Of `tied`, x may stand before a,
    and d be first or third: RR is 1/2 and 1/3 with the relevant documents last, 1 and 1 with them first.
    """
    wh = Warehouse(tmp_path / "tied.duckdb")
    wh.ingest_qrels("tied", QRELS)
    wh.ingest_run("tied", LISTS["one"], name="one")
    wh.ingest_run("tied", TIED, name="tied")
    found = collection(wh, "tied", metrics="RR P@1", depth=3, test="t")
    assert list(found.sections) == [name for name in report.SECTIONS if name != "judges"]
    assert found.topics.fetchall() == [
        ("judged", 6, 3, 3.0, 3, 0, 2), ("relevant", 4, 2, 2.0, 2, 0, 2),
    ]  # fmt: skip
    assert found.grades.fetchall() == [
        (2.0, 1, 1 / 7, 1), (1.0, 3, 3 / 7, 2), (0.0, 2, 2 / 7, 2), (-1.0, 1, 1 / 7, 1),
    ]  # fmt: skip
    # to rank 2 also f, a of q1 again, e; to rank 3 b, c and d
    assert found.pool.fetchall() == [
        (1, 4, 2, 1 / 2, 1, 1), (2, 5, 3, 3 / 5, 2, 0), (3, 8, 6, 3 / 4, 4, 0),
    ]  # fmt: skip
    assert found.tied.fetchall() == [("tied", 2, 2, 5 / 7)]
    assert found.ties.fetchall() == [
        ("P@1", 1, 1, "tied", 0.0, 1.0, 1.0),
        ("RR", 1, 1, "tied", pytest.approx((1 / 2 + 1 / 3) / 2), 1.0, pytest.approx(7 / 12)),
    ]
    assert found.advice[-1].endswith("P@1 of tied by up to 1.000: write scores with more digits")
    (whole,) = found
    assert [row["depth"] for row in whole.pool] == [1, 2, 3]
    assert list(whole.advice) == list(found.advice)


def test_reports_that_cannot_be(pool: Warehouse) -> None:
    for wanted, names, words in (
        ("difference", ("pool",), {"metrics": "RR", "difference": 0}),
        ("higher or a lower", ("pool",), {"metrics": "Judged@10"}),
        ("no qrels", ("unjudged",), {"metrics": "RR"}),
    ):
        with expect_refusal(wanted):
            collection(pool, *names, **words)

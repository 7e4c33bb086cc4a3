"""What a collection can tell: discriminative power, reusability, and the report on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse.report import charts
from warehouse.warehouse import Warehouse


@pytest.fixture(scope="module")
def dl19(demo_file: Path) -> Warehouse:
    """Return the demo, of which these tests only read."""
    return Warehouse(demo_file)


# --------------------------------------------------------------------------- discriminative power

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


def test_discriminative_power_by_hand(eight: Warehouse) -> None:
    """In the sign test, eight of eight wins have p = 2/2^8, six of six 2/2^6, two of two 2/2^2.

    So two of three pairs are separated at 0.05, and one at 0.01. Of reciprocal ranks 1 and 1/2, two
    of eight make a mean difference of 1/8, six of eight one of 3/8. Success@2 is 1 for every run.
    """
    found = eight.discriminate("eight", metrics="RR Success@2", test="sign")
    assert found.fetchall() == [("RR", 3, 2, 2 / 3, 1 / 8, 0), ("Success@2", 3, 0, 0.0, 0.0, 0)]
    levels = [row[1:] for row in found.levels.fetchall() if row[0] == "RR"]
    assert levels == [
        (1, "two", "mixed", 1 / 8, pytest.approx(1 / 2), False),
        (2, "one", "mixed", -3 / 8, pytest.approx(1 / 32), True),
        (3, "one", "two", -1 / 2, pytest.approx(1 / 128), True),
    ]
    assert eight.discriminate("eight", metrics="RR", test="sign", alpha=0.01).fetchall() == [
        ("RR", 3, 1, 1 / 3, 3 / 8, 0)
    ]
    # a pair without a difference has no t, so that it is no hypothesis
    assert eight.discriminate("eight", metrics="Success@2", test="t").fetchall() == [
        ("Success@2", 0, 0, None, None, 3)
    ]
    with expect_refusal("tuky … tukey"):
        eight.discriminate("eight", metrics="RR", test="tuky")


def test_discriminative_power_of_the_demo(dl19: Warehouse) -> None:
    """The pairs are those of `compare`; the picture has a curve for each metric with low levels."""
    metrics = ["nDCG@10", "RR(rel=2)"]
    found = dl19.discriminate("dl19", metrics=metrics, resamples=500)
    wanted = dl19.compare("dl19", [], metrics, all_pairs=True, test="tukey", resamples=500)
    separated = {
        metric: sum(row.is_significant for row in wanted if row.metric == metric)
        for metric in metrics
    }
    assert {row.metric: row.separated for row in found} == separated
    assert [row.pairs for row in found] == [36, 36]
    spec = charts.significance_levels(found.details)
    drawn = next(layer for layer in spec["layer"] if layer["name"] == "named-lines")["data"][
        "values"
    ]
    low = [row for row in found.levels if row.p <= 0.15]
    assert sorted((point["x"], point["y"]) for point in drawn) == sorted(
        (r.place, r.p) for r in low
    )
    assert _labels(spec) == [f"{row.metric}, {row.share:.0%}" for row in found]


def _labels(spec: charts.Spec) -> Sequence[str]:
    layer = next(layer for layer in spec["layer"] if layer["name"] == "labels")
    return [row["label"] for row in layer["data"]["values"]]

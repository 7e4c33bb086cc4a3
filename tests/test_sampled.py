"""Sampled pools: reading five columns, and the values of NIST's scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Put = Callable[..., Path]
PEERS = Path(__file__).parent / "golden_peers"
GOLDEN = json.loads((PEERS / "sampled.json").read_text(encoding="utf-8"))


def test_values_of_sample_eval() -> None:
    """They are printed with four digits."""
    of = ["xinfAP@1000", "infNDCG@1000", "infNDCG(ideal=rounded)@1000"]
    found = Warehouse.score(
        PEERS / "sampled.qrels", PEERS / "sampled.run", of, qrels_format="sampled"
    )
    values = {(metric, query): value for query, metric, value in found.relation.fetchall()}
    for metric in of:
        for query, expected in GOLDEN[metric].items():
            assert values[metric, query] == pytest.approx(expected, abs=0.5001e-4), (metric, query)


def test_values_of_stat_ap(put: Put) -> None:
    """The probabilities with which the strata were sampled are the iterations; six digits."""
    rates = {"1": "1", "2": "0.5", "3": "0.25"}
    lines = [line.split() for line in (PEERS / "sampled.qrels").read_text().splitlines()]
    table = "".join(
        f"{query},{doc},{grade},{rates[stratum]}\n"
        for query, _, doc, stratum, grade in lines
        if grade != "-1"
    )
    file = put("query,doc,relevance,probability\n" + table, "prels.csv")
    metric = "statAP(inclusion=iteration)"
    found = Warehouse.score(
        file, PEERS / "sampled.run", metric, iterations=True, columns={"iteration": "probability"}
    )
    values = {query: value for query, _, value in found.relation.fetchall()}
    assert values.pop("6") is None  # nothing is relevant, and the script leaves it out
    assert values == {
        query: pytest.approx(v, abs=0.5001e-6) for query, v in GOLDEN["statAP"].items()
    }
    with expect_refusal("statAP … 0.5x"):
        wrong = put("query,doc,relevance,probability\n1,d,1,0.5x\n", "wrong.csv")
        Warehouse.score(
            wrong, {"1": {"d": 1.0}}, metric, iterations=True, columns={"iteration": "probability"}
        )


def test_a_sampled_pool_is_stored_and_read_again(put: Put, tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "sampled.duckdb")
    loaded = wh.ingest_qrels("tv", PEERS / "sampled.qrels", format="sampled")
    assert (loaded.num_queries, loaded.num_rows) == (6, 360)
    wh.ingest_run("tv", PEERS / "sampled.run")
    wh.evaluate("tv", metrics="infNDCG@1000 nDCG")
    ((value,),) = wh.query("select value from leaderboard where metric = 'infNDCG@1000'").fetchall()
    assert value == pytest.approx(GOLDEN["infNDCG@1000"]["all"], abs=0.5001e-4)
    assert wh.verify().is_good
    # the same from a table, whose column of the strata is named
    rows = [line.split() for line in (PEERS / "sampled.qrels").read_text().splitlines()]
    table = "qid,docid,stratum,rel\n" + "".join(f"{q},{d},{s},{g}\n" for q, _, d, s, g in rows)
    again = wh.ingest_qrels(
        "tv", put(table, "table.csv"), iterations=True, columns={"iteration": "stratum"}
    )
    assert again.status == "unchanged"
    # without its format, the file is told from preferences by the reader alone
    with expect_refusal("sampled.qrels … prefs … sampled", InputError):
        wh.ingest_qrels("other", PEERS / "sampled.qrels")
    twice = put("q 0 d 1 1\nq 0 d 2 0\n", "twice.txt")
    short = put("q 0 d 1\n", "short.txt")
    for file, names in ((twice, "twice.txt … d … twice"), (short, "short.txt … stratum")):
        with expect_refusal(names, InputError):
            wh.ingest_qrels("other", file, format="sampled")

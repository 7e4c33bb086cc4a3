"""Times that only grow, and hashes of content: what is newest, and what is the same in any file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pytest
from projects import stored

from warehouse.store import clock
from warehouse.warehouse import Warehouse

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
TIMES = """
select created_at as moment from dataset
union all select ingested_at from qrels
union all select ingested_at from run
union all select evaluated_at from evaluation
"""


def board(wh: Warehouse) -> list[tuple]:
    return wh.query(
        "select run, value from leaderboard where metric = 'RR' order by run"
    ).fetchall()


@pytest.mark.slow
def test_a_clock_that_is_set_back(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past boards stay as they were, whatever is loaded, computed and removed by the wrong clock."""
    start = NOON - dt.timedelta(days=2)
    monkeypatch.setattr(clock, "_system_time", lambda: start)
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="r")
    wh.evaluate(metrics="RR")
    monkeypatch.setattr(clock, "_system_time", lambda: NOON)
    wh.ingest_run("tiny", {"q": {"x": 2.0, "y": 1.5, "a": 1.0}}, name="r", replace=True)
    wh.evaluate(metrics="RR")
    moments = [start + dt.timedelta(hours=hours) for hours in (1, 24, 36, 49)]

    def past() -> list[list[tuple]]:
        return [wh.leaderboard("tiny", metrics="RR", as_of=at).fetchall() for at in moments]

    before = past()
    assert [rows[0][3] for rows in before] == [1.0, 1.0, 1.0, 1 / 3]
    back = NOON - dt.timedelta(days=1)
    monkeypatch.setattr(clock, "_system_time", lambda: back)
    with pytest.warns(
        UserWarning, match="clock says 2026-08-31 12:00 UTC.* of 2026-09-01 12:00 UTC"
    ):
        wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="r", replace=True)
    with pytest.warns(UserWarning, match="clock says"):
        wh.evaluate(metrics="RR AP")
    assert board(wh) == [("r", 0.5)]
    assert past()[:3] == before[:3]
    assert stored(
        wh, f"select count(*) from ({TIMES}) where moment between $a and $b", a=back, b=NOON
    ) == [
        (1,)  # of the version of NOON itself
    ]
    kept = stored(wh, "select stored_at > $noon, clock_at from clock_behind", noon=NOON)
    assert kept == [(True, back)] * 2
    assert wh.leaderboard("tiny", metrics="RR", as_of="2026-09-01").fetchall()[0][3] == 0.5
    assert wh.verify().is_good


def test_of_equal_times_the_content_decides(wh: Warehouse) -> None:
    """As two files may have them that are put together; numbers and versions do not count."""
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_qrels("tiny", {"q": {"b": 1}}, replace=True)
    for document in "ab":
        wh.ingest_run("tiny", {"q": {document: 1.0}}, name="r", replace=True)
    for qrels in (1, 2):
        wh.evaluate("tiny", metrics="RR", qrels=qrels)
    with duckdb.connect(str(wh.path)) as con:
        for table in ("qrels", "run"):
            con.execute(f"update store.{table} set ingested_at = $1", [NOON])
        # their hashes are in this order: '1' comes after '2'
        for run_hash, qrels_hash in ("21", "12"), ("12", "21"):
            for table, hashes in (("run", run_hash), ("qrels", qrels_hash)):
                for version, content_hash in enumerate(hashes, 1):
                    con.execute(
                        f"update store.{table} set content_hash = $1 where version = $2",
                        [content_hash, version],
                    )
            current = 1 + run_hash.index("1"), 1 + qrels_hash.index("1")
            sql = "select distinct run_version, qrels_version from predictions, qrels"
            assert con.execute(sql).fetchall() == [current]
    assert wh.runs("tiny").relation.project("version").fetchall() == [(1,)]
    found = wh.qrels("tiny").relation.filter("is_current").project("version").fetchall()
    assert found == [(2,)]


HASHES = """
select 'run', name, content_hash from run
union all select 'qrels', null, content_hash from qrels
union all select 'evaluation', metric, content_hash from evaluation
order by all
"""


@pytest.mark.slow
def test_hashes_are_those_of_the_content_in_any_file(tmp_path: Path) -> None:
    """Order of loading, format, versions and numbers do not matter; the dataset's name does."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.5}}
    one, other, third = (Warehouse(tmp_path / f"{name}.duckdb") for name in ("x", "y", "z"))
    (tmp_path / "r.run").write_text("q Q0 b 2 1.5 t\nq Q0 a 1 2 t\n")
    one.ingest_qrels("tiny", qrels)
    one.ingest_run("tiny", run, name="r")
    one.evaluate(metrics="RR AP", slices="each = query_id")
    other.ingest_run("another", {"q": {"x": 1.0}}, name="first")
    other.ingest_run("tiny", tmp_path / "r.run")
    other.ingest_qrels("another", qrels)
    other.ingest_qrels("tiny", qrels)
    other.evaluate("tiny", metrics="AP RR", slices="each = query_id")
    third.ingest_qrels("small", qrels)
    third.ingest_run("small", run, name="r")
    third.evaluate(metrics="RR AP", slices="each = query_id")
    found = set(stored(one, HASHES))
    assert len(found) == 1 + 1 + 4
    assert found <= set(stored(other, HASHES))
    assert not {row[2] for row in found} & {row[2] for row in stored(third, HASHES)}
    assert all(len(content_hash) == 32 for *_, content_hash in found)


def test_another_order_of_equal_scores_is_another_evaluation_where_it_counts(wh: Warehouse) -> None:
    """RR of a tie of a, relevant, and b: by the source's order 1 and then 1/2; by ids it stays 1/2."""
    wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
    for order in ("ab", "ba"):
        wh.ingest_run("tiny", {"q": dict.fromkeys(order, 1.0)}, name="r", replace=True)
        for protocol in ("default", "xclib"):
            wh.evaluate(metrics="RR", protocol=protocol)
        wh.evaluate(metrics=["AUC", "AUC(ties=input)"])
    assert stored(wh, "select count(*), count(distinct content_hash) from run") == [(2, 1)]
    found = stored(
        wh,
        "select protocol, list(value order by run_id), count(distinct content_hash) "
        "from evaluation join score using (evaluation_id) where metric = 'RR' "
        "group by protocol order by protocol",
    )
    assert found == [("default", [0.5, 0.5], 1), ("xclib", [1.0, 0.5], 2)]
    # of a metric that takes them as the source has them whatever the protocol
    found = stored(
        wh,
        "select metric, list(value order by run_id), count(distinct content_hash) "
        "from evaluation join score using (evaluation_id) where metric <> 'RR' group by all order by 1",
    )
    assert found == [("AUC", [0.0, 0.0], 1), ("AUC(ties=input)", [1.0, 0.0], 2)]

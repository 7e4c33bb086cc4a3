"""PyTerrier's experiments keep their runs in a warehouse, and never read those of other topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import ConflictError, InputError
from warehouse.extensions.training import pyterrier

pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed; it is in the extra 'dev'")

QRELS = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "a"], "label": [1, 1]})
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
# How often each system was called.
CALLS: list[str] = []


def system(name: str, scores: dict[str, float]) -> Any:
    """Return a transformer that gives every query the same documents."""

    def transform(topics: pd.DataFrame) -> pd.DataFrame:
        if len(topics):  # PyTerrier looks first at what a system makes of no topic
            CALLS.append(name)
        rows = [(qid, docno, 7, score) for qid in topics["qid"] for docno, score in scores.items()]
        return pt.model.add_ranks(pd.DataFrame(rows, columns=["qid", "docno", "docid", "score"]))

    return pt.apply.generic(transform)


GOOD, BAD = system("good", {"a": 0.1 + 0.2, "b": 0.1}), system("bad", {"a": 0.5, "b": 1.5})


def experiment(topics: pd.DataFrame, kept: Any, **named: Any) -> list[float]:
    """Run an experiment; return RR of each system, as PyTerrier computes it."""
    systems = named or {"good": GOOD, "bad": BAD}
    CALLS.clear()
    found = pt.Experiment(
        list(systems.values()), topics, QRELS, ["recip_rank"], names=list(systems), **kept
    )
    return list(found["recip_rank"])


@pytest.mark.slow
def test_an_experiment_keeps_its_runs(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    kept = pyterrier.kept_runs(db, "tiny", TOPICS, tags={"index": "small"})
    assert experiment(TOPICS, kept) == [1.0, 0.5]
    assert CALLS == ["good", "bad"]
    assert experiment(TOPICS, kept) == [1.0, 0.5]
    assert CALLS == []
    # another process, the same topics in another order: read back, and only a new system is computed
    again = pyterrier.kept_runs(Warehouse(db), "tiny", TOPICS[::-1])
    assert experiment(TOPICS, again, good=GOOD, bad=BAD, third=BAD) == [1.0, 0.5, 0.5]
    assert CALLS == ["bad"]
    # pyterrier#304: fewer topics, or another text of a query
    for topics in (TOPICS[:1], TOPICS.assign(query=["x", "z"])):
        assert experiment(topics, pyterrier.kept_runs(db, "tiny", topics))
        assert CALLS == ["good", "bad"]
    with expect_refusal("good … another run … again", ConflictError):
        experiment(TOPICS, kept)
    assert experiment(TOPICS, pyterrier.kept_runs(db, "tiny", TOPICS, reuse=False)) == [1.0, 0.5]
    assert CALLS == ["good", "bad"]

    wh = Warehouse(db)
    wh.ingest_qrels("tiny", QRELS)
    wh.evaluate(metrics="RR")
    assert [(row.run, row.RR) for row in wh.leaderboard()] == [
        ("good", 1.0), ("bad", 0.5), ("third", 0.5),
    ]  # fmt: skip
    kept = pyterrier.kept_runs(db, "tiny", TOPICS)
    read, _ = kept["save_format"]
    with (Path(kept["save_dir"]) / "good.custom").open("rb") as file:
        frame = read(file)
    assert frame.to_dict("list") == {
        "qid": ["1", "1", "2", "2"], "docno": ["a", "b", "a", "b"],
        "score": [0.1 + 0.2, 0.1, 0.1 + 0.2, 0.1], "rank": [0, 1, 0, 1],
    }  # fmt: skip


@pytest.mark.slow
def test_what_is_no_ranking_is_not_kept(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "runs.duckdb")
    with expect_refusal("topics … qid"):
        pyterrier.kept_runs(wh, "tiny", ["x"])
    kept = pyterrier.kept_runs(wh, "tiny", TOPICS)
    answers = pt.apply.generic(lambda topics: topics.assign(qanswer="42"))
    for _ in range(2):  # nothing is left that a second try would read
        with expect_refusal("answers … docno, score … qid, query, qanswer"):
            experiment(TOPICS, kept, answers=answers)
    twice = pt.apply.generic(lambda _: pd.DataFrame({"qid": "1", "docno": ["a"] * 2, "score": 1.0}))
    with expect_refusal("a … twice", InputError):
        experiment(TOPICS, kept, twice=twice)
    assert len(wh.runs()) == 0

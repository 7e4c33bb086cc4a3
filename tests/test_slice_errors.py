"""What is no slice, and slices that are not there: one clear error, and the database as it was."""

from __future__ import annotations

import pytest
from refusals import expect_refusal
from test_slices import collection, loaded

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse with attributes, which no error changes."""
    wh = Warehouse(tmp_path_factory.mktemp("described") / "warehouse.duckdb")
    loaded(wh, *collection(8))
    wh.ingest_attributes("tiny", {"q1": {"words": 3}, "q2": {"words": 4}}, of="queries", name="w")
    wh.ingest_attributes("tiny", {"d01": {"color": "red"}}, of="docs", name="c")
    return wh


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("colour", "colour.*color"),
        ("color = colour", "colour.*color"),
        ("x = docs.words", r"docs\.words.*queries\.words"),
        ("x = queries.wrods", r"queries\.wrods.*words"),
        (
            "x = nothing_like_it",
            "has of queries difficulty, num_relevant, query_id, words, of documents",
        ),
        ("x = words || color", "mixes columns of queries and of documents"),
        ("x = 1", "names no column; say which are meant"),
        ("x = (select 1)", "holds a subquery"),
        ("x = words, words", "more than one expression|not one value"),
        ("x = words; drop table store.run", "syntax error|more than one expression"),
        ("x = count(words)", "is an aggregate over many rows"),
        ("x = random() + words", "does not give the same value each time"),
        ("x = read_text(color)", "reads a file"),
        ("x = ", "is empty"),
        ("=", "write a name, or one expression"),
        ("x = [words]", "gives a list or a record"),
        ("x = cast(color as integer)", "Could not convert string 'red'"),
        ("x = nullif(words, words)", "gives null for all queries"),
        ("difficulty", "no run of tiny has values of AP under protocol default yet"),
        (
            "x = mean_score('P@7') > 0.5",
            r"values of P@7 under .* yet: warehouse evaluate -d tiny -m P@7",
        ),
        ("x = coalesce(mean_score('nDGC@5'), 0)", "nDGC@5.*nDCG@5"),
    ],
)
def test_what_is_no_slice(described: Warehouse, given: str, message: str) -> None:
    before = described.path.read_bytes()
    with pytest.raises(UsageError, match=message):
        described.evaluate(metrics="P@1", slices=given)
    assert described.path.read_bytes() == before


def test_the_command_for_missing_values_has_their_protocol(described: Warehouse) -> None:
    with pytest.raises(UsageError, match=r"evaluate -d tiny -m AP --protocol trec_eval_9$"):
        described.evaluate(metrics="P@1", slices="difficulty", protocol="trec_eval_9")


@pytest.mark.slow
def test_an_attribute_of_both_is_asked_back(wh: Warehouse) -> None:
    loaded(wh, *collection(9))
    wh.ingest_attributes("tiny", {"q1": {"kind": "a"}}, of="queries", name="w")
    wh.ingest_attributes("tiny", {"d01": {"kind": "b"}}, of="docs", name="c")
    with pytest.raises(UsageError, match="fits queries and documents; say which"):
        wh.evaluate(metrics="P@1", slices="kind")
    wh.evaluate(metrics="P@1", slices=["a = queries.kind", "b = docs.kind"])
    rows = wh.slices().relation.project('slice, "of"').fetchall()
    assert rows == [("a", "queries"), ("b", "docs")]


def test_an_id_is_no_partition(wh: Warehouse) -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(1001)}
    loaded(wh, qrels, {"q1": {"a": 1.0}})
    with pytest.raises(UsageError, match="makes 1,001 parts; 1,000 at most"):
        wh.evaluate(metrics="P@1", slices="x = query_id")


@pytest.mark.slow
def test_boards_of_slices_that_are_not_there(wh: Warehouse) -> None:
    loaded(wh, *collection(10))
    wh.evaluate(metrics="P@1", slices="size = quantiles(num_relevant, 2)")
    with expect_refusal("sise … size"):
        wh.leaderboard("tiny", slice="sise")
    wh.ingest_qrels("other", {"q": {"a": 1}})
    wh.ingest_run("other", {"q": {"a": 1.0}}, name="one")
    wh.evaluate("other", metrics="P@1")
    with pytest.raises(UsageError, match="a slice belongs to one dataset"):
        wh.leaderboard(["tiny", "other"], slice="size")
    with pytest.raises(UsageError, match=r"name a dataset.*; known are other, tiny"):
        wh.slices(name="size")

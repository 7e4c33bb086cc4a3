"""Runs of large Parquet files are scored without a copy of their rows: values, refusals, memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warehouse import Warehouse
from warehouse.errors import InputError
from warehouse.evaluate.scope import Scope
from warehouse.readers import parquet
from warehouse.store import database

QRELS = {"q1": {"a": 1, "x": 0}, "q2": {"c": 1}}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes rows as a Parquet file, which counts as large."""
    monkeypatch.setattr(parquet, "_LARGE", 0)

    def write(*rows: str, columns: str = "query_id, doc_id, score") -> Path:
        path = tmp_path / "run.parquet"
        with database.memory() as con:
            values = ", ".join(f"({row})" for row in rows)
            con.execute(f"copy (from (values {values}) as run({columns})) to '{path}'")
        return path

    return write


@pytest.fixture
def narrowed(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list with an element for each run that was scored in place."""
    found: list[None] = []
    near_hits = Scope.near_hits
    monkeypatch.setattr(Scope, "near_hits", lambda scope: found.append(near_hits(scope)))
    return found


def test_hits_among_equal_scores_have_their_ranks(write: Write, narrowed: list[None]) -> None:
    # of equal scores the highest id comes first: q1 is b, x, a, and q2 is d, c
    run = write(
        "'q1', 'a', 1e0", "'q1', 'x', 1e0", "'q1', 'b', 2e0", "'q2', 'd', 1e0", "'q2', 'c', 1e0"
    )
    in_order = write(
        "'q1', 'b', 2e0", "'q1', 'a', 1e0", "'q1', 'x', 1e0", "'q2', 'c', 1e0", "'q2', 'd', 1e0"
    )
    for given in (run, in_order):
        scores = Warehouse.score(QRELS, given, "RR bpref", tie_ranges=True)
        assert scores.means() == {"RR": (1 / 3 + 1 / 2) / 2, "bpref": (0 + 1) / 2}
        assert [(one.low, one.high) for one in scores.ranges if one.metric == "RR"] == [
            ((1 / 3 + 1 / 2) / 2, (1 / 2 + 1) / 2)
        ]
    assert len(narrowed) == 2


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("'q1', 'a', 0e0", "row 3: document 'a' is there twice for query 'q1', first in row 1"),
        ("'q1', null, 0e0", "row 3"),
        ("' ', 'b', 0e0", "row 3"),
        ("'q1', 'c', 'nan'::double", "row 3"),
    ],
)
def test_a_fault_is_refused_with_its_row(write: Write, row: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        Warehouse.score(QRELS, write("'q1', 'a', 2e0", "'q1', 'b', 1e0", row), "RR")
    ((_, found),) = refused.value.problems
    assert found.startswith(problem)


def test_a_scorer_takes_files_and_objects_in_turn(write: Write, narrowed: list[None]) -> None:
    run = write("'q1', 'a', 2e0", "'q1', 'b', 1e0", "'q2', 'b', 1e0")
    with Warehouse.scorer(QRELS, "RR") as scorer:
        assert scorer(run).means() == {"RR": (1 + 0) / 2}
        assert scorer({"q1": {"b": 2.0, "a": 1.0}}).means() == {"RR": (1 / 2 + 0) / 2}
        assert scorer(run).means() == {"RR": (1 + 0) / 2}
        assert scorer({"q2": {"c": 2.0}}).means() == {"RR": (0 + 1) / 2}
    assert len(narrowed) == 2


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("query_id, doc_id, score, file_row_number", "{} + 6"),
        ("query_id, doc_id, score, FILE_ROW_NUMBER", "{} + 6"),
        ("query_id, doc_id, score, rank", "{}"),
        ("query_id, doc_id, score, more", "{{'x': {}}}"),
    ],
)
def test_other_columns_change_nothing(write: Write, columns: str, value: str) -> None:
    first, second = value.format(1), value.format(2)
    run = write(f"'q1', 'b', 2e0, {first}", f"'q1', 'a', 1e0, {second}", columns=columns)
    assert Warehouse.score(QRELS, run, "RR").means() == {"RR": (1 / 2 + 0) / 2}


@pytest.mark.parametrize(
    ("score", "metric", "how", "value"),
    [
        ("2", "RR", {}, (1 / 2 + 0) / 2),
        ("2e0", "RR", {"normalise": "lower(doc_id)"}, (1 / 2 + 0) / 2),
        ("2e0", "CatalogCoverage@2", {}, 2),
    ],
)
def test_whole_scores_new_ids_and_metrics_of_all_documents_need_a_copy(
    write: Write, narrowed: list[None], score: str, metric: str, how: dict[str, str], value: float
) -> None:
    run = write(f"'q1', 'b', {score}", f"'q1', 'a', {score} - 1")
    assert list(Warehouse.score(QRELS, run, metric, **how).means().values()) == [value]
    assert narrowed == []


@pytest.mark.parametrize(
    ("is_whole", "problem"),
    [(True, "changed while it was read"), (False, "run.parquet: cannot be read as a table")],
)
def test_a_file_that_is_replaced_meanwhile_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, is_whole: bool, problem: str
) -> None:
    run = write("'q1', 'a', 2e0", "'q1', 'b', 1e0")
    near_hits = Scope.near_hits

    def replaced(scope: Scope) -> None:
        if is_whole:
            write("'q1', 'b', 2e0", "'q1', 'a', 1e0")
        else:
            run.write_bytes(b"PAR1")
        near_hits(scope)

    monkeypatch.setattr(Scope, "near_hits", replaced)
    with pytest.raises(InputError, match=problem):
        Warehouse.score(QRELS, run, "RR")

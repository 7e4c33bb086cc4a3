"""A warehouse that had junk before, replaced since, answers as a fresh one with the same data.

Another dataset stands beside it, with the same names of runs, queries, attributes and slices.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from extended import FOLDER
from projects import invoked

from warehouse.store import own_schema
from warehouse.warehouse import Warehouse

QUERIES = [f"q{n}" for n in range(1, 9)]
JUNK = [*QUERIES, "q9", "q10"]
RANKS = {"old": (1, 1, 9, 9, 9, 1, 9, 9), "new": (2, 2, 2, 2, 1, 2, 2, 3), "mid": (2,) * 8}
READING = (
    (
        """\
collection -d tiny
discriminate -d tiny --resamples 200
reproduce old new -d tiny
reusability -d tiny
"""
        if (FOLDER / "collections").is_dir()
        else ""
    )
    + """\
agree -d tiny
check -d tiny -m RR --run mid --against old --max-drop 1
check -d tiny -m RR --run mid --against last --max-drop 1
explain old RR q1 -d tiny
agree -d tiny --of queries
compare -d tiny -m RR
compare -d tiny -m RR --base old --correction bh
curve ROC -d tiny
history -d tiny -m RR
holes -d tiny
leaderboard -d tiny
leaderboard -d tiny -m AP
leaderboard -d tiny -m PSP@1
leaderboard -d tiny --slice kind
leaderboard -d tiny --ranks --ci --ties
leaderboard -d tiny --protocol trec_eval_9
leaderboard -d tiny -d other --ranks
leaderboard -d tiny -d other --by system --each
queries old -d tiny
queries old -d tiny --slice kind
queries mid -d tiny -m AP
runs
slices -d tiny
attributes -d tiny
status
query "from board_as_of('tiny', current_date + 1)"
query "from compare('tiny', 'old', 'new', 'RR')"
"""
)
# Views with a row for each version, and macros.
NOT_CURRENT = re.compile(r"_versions$|^(score_times|board_as_of|scores_as_of|compare)$")
# What differs between versions, in rows and on pages.
OF_A_VERSION = re.compile(r"version|_at$|(run|qrels|set|evaluation)_id$|hash|since|source")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?( UTC)?|[Vv]ersion [12]")


def ranked(rank: int) -> dict[str, float]:
    """Return a ranking with the document a at a rank."""
    return {"a" if k == rank else f"x{k}": -float(k) for k in range(1, rank + 1)}


def load(wh: Warehouse, *, replace: bool) -> None:
    for dataset in ("tiny", "other"):
        wh.ingest_qrels(dataset, {q: {"a": 1, "x1": 0} for q in QUERIES}, replace=replace)
    wh.ingest_training("tiny", {f"t{n}": {"a": 1, "x2": 1} for n in range(4)}, replace=replace)
    kinds = {q: {"kind": "ab"[n % 2], "length": n % 3} for n, q in enumerate(QUERIES)}
    wh.ingest_attributes("tiny", kinds, of="queries", name="qs", replace=replace)
    for day, (name, ranks) in enumerate(RANKS.items(), 1):
        run = {q: ranked(rank) for q, rank in zip(QUERIES, ranks, strict=True)}
        at = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
        known = {"name": name, "system": name.upper(), "tags": {"k": name}, "run_at": at}
        for dataset in ("tiny", "other"):
            wh.ingest_run(dataset, run, **known, replace=replace)
    wh.evaluate("other", metrics="RR P@1 nDCG@5")
    wh.evaluate("tiny", metrics="RR P@1 nDCG@5", slices=["kind", "n = num_relevant"])


def load_junk(wh: Warehouse) -> None:
    """Load other judgments, queries, runs, tags and attributes, and evaluate and compare them."""
    datasets = ("beside", "tiny", "other")
    for dataset in datasets:
        wh.ingest_qrels(dataset, {q: {"x1": 2, "z": 1, "a": 0} for q in JUNK})
    kinds = {q: {"kind": "xyz"[n % 3]} for n, q in enumerate(JUNK)}
    for dataset in datasets[:2]:
        wh.ingest_training(dataset, {f"t{n}": {"x1": 1} for n in range(9)})
        wh.ingest_attributes(dataset, kinds, of="queries", name="qs")
    for name in ("mid", "old", "new", "gone"):
        run = {q: {"z": 3.0, "x1": 2.0, "a": 1.0} for q in JUNK[: 1 if name == "new" else 9]}
        for dataset in datasets:
            wh.ingest_run(dataset, run, name=name, system="JUNK", tags={"k": "j", "z": "1"})
    wh.evaluate("other", metrics="RR P@1 nDCG@5")
    for dataset in datasets[:2]:
        wh.evaluate(dataset, metrics="RR P@1 nDCG@5", slices=["n = num_relevant", "kind"])
        wh.compare(dataset, metrics="RR", store=True)
    for dataset in datasets:
        wh.forget(dataset, "gone", reason="a mistake")


@pytest.fixture(scope="module")
def both(once) -> tuple[Warehouse, Warehouse]:
    """Return a fresh warehouse, and one with a past."""

    def fill(folder: Path) -> None:
        for name in ("fresh", "lived"):
            (folder / name).mkdir()
        lived = Warehouse(folder / "lived" / "w.duckdb")
        load(Warehouse(folder / "fresh" / "w.duckdb"), replace=False)
        load_junk(lived)
        load(lived, replace=True)

    folder = once("past", fill)
    return Warehouse(folder / "fresh" / "w.duckdb"), Warehouse(folder / "lived" / "w.duckdb")


def answer(wh: Warehouse, call: list[str]) -> list[str]:
    """Return the rows of a command as JSON, without what is of a version; those of SQL sorted."""
    found = invoked(*call, "--db", str(wh.path), "-f", "json")
    assert found.exit_code == 0, (call, found.output)
    rows = json.loads(found.stdout)
    kept = [
        {name: value for name, value in row.items() if not OF_A_VERSION.search(name)}
        for row in (rows if isinstance(rows, list) else [rows])
        if "beside" not in row.values()
    ]
    text = [json.dumps(row, sort_keys=True) for row in kept]
    return sorted(text) if call[0] == "query" else text


def calls() -> Iterator[str]:
    yield from READING.splitlines()
    yield from (f'query "from {v}"' for v in own_schema.for_people() if not NOT_CURRENT.search(v))


@pytest.mark.sample(6)
@pytest.mark.parametrize("call", [*calls()])
def test_a_command_or_view_answers_as_of_a_fresh_file(both, call: str) -> None:
    fresh, lived = both
    words = call.split(" ", 1)
    given = ["query", words[1].strip('"')] if words[0] == "query" else call.split()
    assert answer(lived, given) == answer(fresh, given)


@pytest.mark.slow
def test_pages_show_what_those_of_a_fresh_file_show(both, tmp_path: Path) -> None:
    """Pages of runs and of history have the versions before, too."""
    pages = []
    for number, wh in enumerate(both):
        folder = tmp_path / str(number)
        wh.report(folder, ["tiny", "other"])
        pages.append(
            {
                path.relative_to(folder).as_posix(): TIME.sub("", path.read_text(encoding="utf-8"))
                for path in folder.rglob("*.html")
                if "runs" not in path.parts and path.name != "history.html"
            }
        )
    assert pages[1].keys() == pages[0].keys()
    assert len(pages[0]) > 20
    assert [name for name in pages[0] if pages[1][name] != pages[0][name]] == []

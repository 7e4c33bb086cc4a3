"""mypy finds the mistakes of a user's file, and nothing in a file without any."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from warehouse import Result, Warehouse

RIGHT = """
from pathlib import Path

from warehouse import Result, Scorer, Scores, Source, Warehouse, WarehouseError

wh = Warehouse("w.duckdb", threads=2)
wh.ingest_qrels("tiny", {"q": {"a": 1}}, iterations=False, relevance="rating >= 4")
wh.ingest_qrels(source=Path("qrels.txt"), dataset="tiny")
wh.ingest_run("tiny", [("q", "a", 1.0)], name="one", tags={"stage": "first"}, name_from="tag")
wh.ingest_run(source="one.run")
for done in wh.ingest_runs("tiny", ["one.run", {"q": {"a": 1.0}}], where_it_lies=True):
    text: str = str(done) if isinstance(done, WarehouseError) else done.name
kept: Result = wh.query("from predictions")
wh.ingest_run("tiny", kept, name="kept")
board = wh.leaderboard(["a", "b"], weights={"a": 2.0, "b": 1.0}, by="system", each=True)
names: list[str] = list(board.metrics.values())
wins: Result = board.wins
print(board.text("markdown"), [row.RR for row in board], wh.compare("a").values.df())
good: bool = wh.check("tiny", "RR").is_good
source: Source = "one.run"
scores: Scores = Warehouse.score({"q": {"a": 1}}, source, "RR", qrels_format="trec")
with Warehouse.scorer({"q": {"a": 1}}, "RR") as scorer:
    one: Scorer = scorer
    means: dict[str, float | None] = scorer({"q": {"a": 1.0}}).means()
"""
# Each line has one mistake, and the code of the error that mypy gives it.
WRONG = """
from warehouse import Result, Warehouse, Wharehouse  # attr-defined
wh = Warehouse("w.duckdb", thread=2)  # call-arg
wh.ingest_run("tiny")  # call-overload
wh.ingest_qrels("tiny", 5)  # call-overload
wh.ingest_qrels("tiny", None)  # call-overload
wh.ingest_runs("tiny", 0.5)  # call-overload
wh.ingest_training("tiny")  # call-overload
wh.ingest_run("tiny", "one.run", nme="one")  # call-overload
wh.ingest_run("tiny", "one.run", name_from="file")  # call-overload
wh.ingest_attributes("tiny", 5, of="docs")  # arg-type
wh.ingest_text("tiny", "docs.jsonl", of="documents")  # arg-type
wh.leaderboard("tiny", metric="RR")  # call-arg
wh.leaderboard("tiny", weights="size")  # arg-type
wh.leaderboard("tiny", by="team")  # arg-type
wh.leaderboard("tiny").text("pdf")  # arg-type
wh.leaderboard("tiny").metric_names  # attr-defined
number: int = wh.leaderboard("tiny").datasets  # assignment
wh.evaluate("tiny", by="document")  # arg-type
wh.evaluate("tiny").computd  # attr-defined
wh.leaderbord("tiny")  # attr-defined
Warehouse.score({"q": {"a": 1}}, 5, "RR")  # arg-type
Warehouse.score({"q": {"a": 1}})  # call-arg
Warehouse.score({"q": {"a": 1}}, "one.run", "RR").mean()  # attr-defined
"""


def found(path: Path, text: str) -> dict[int, set[str]]:
    """Return the codes of mypy's errors in a user's file, by line."""
    api = pytest.importorskip("mypy.api")
    path.write_text(text)
    config = path.with_suffix(".ini")
    config.write_text("[mypy]\nstrict = true\nfollow_imports = silent\n")
    cache = Path(__file__).parents[1] / ".mypy_cache" / "users"
    output, errors, _ = api.run(
        [str(path), "--config-file", str(config), "--cache-dir", str(cache), "--no-error-summary"]
    )
    assert not errors
    lines: dict[int, set[str]] = {}
    for line in output.splitlines():
        if match := re.search(r":(\d+): error: .*\[([a-z-]+)\]$", line):
            lines.setdefault(int(match[1]), set()).add(match[2])
        else:
            assert ": note: " in line, line
    return lines


@pytest.mark.slow
def test_mypy_finds_mistakes(tmp_path: Path) -> None:
    assert found(tmp_path / "right.py", RIGHT) == {}
    planted = {
        number: {line.partition("  # ")[2]}
        for number, line in enumerate(WRONG.splitlines(), 1)
        if line
    }
    assert found(tmp_path / "wrong.py", WRONG) == planted


@pytest.mark.core
def test_shared_arguments_are_shown_and_checked(wh: Warehouse) -> None:
    for method, name in ((wh.ingest_qrels, "where"), (wh.ingest_runs, "on_run")):
        shown = inspect.signature(method).parameters
        assert list(shown)[:1] == ["dataset"]
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[name].default is None
        assert "how" not in shown
    assert inspect.signature(Warehouse.ingest_run).parameters["name_from"].default == "stem"
    with pytest.raises(TypeError, match=r"^ingest_run\(\) got an unexpected .* 'nme'$"):
        wh.ingest_run("tiny", {"q": {"a": 1.0}}, nme="one")


@pytest.mark.core
def test_the_facts_that_methods_name_have_types() -> None:
    known = {name for kind in Result.__mro__ for name in getattr(kind, "__annotations__", ())}
    for name, method in vars(Warehouse).items():
        text = " ".join((inspect.getdoc(method) or "").split())
        for sentence in re.findall(r"Attributes: ([^.]*)\.", text):
            parts = re.findall("`([^`]*)`", re.sub(r"\([^)]*\)", "", sentence))
            words = {word.strip() for part in parts for word in part.split(",")}
            words = {word.partition("(")[0] for word in words}
            assert words <= known, f"{name}: {words - known} of its result have no type"

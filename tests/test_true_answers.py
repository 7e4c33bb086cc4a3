"""Small answers that misled people who tried the program: each says now what is so."""

from __future__ import annotations

import pytest
from projects import command

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

RUN = {"q": {"a": 2.0, "b": 1.0}}
OTHER = {"q": {"b": 2.0, "a": 1.0}}


def test_a_run_is_like_the_present_lists_of_others_alone(wh: Warehouse) -> None:
    """Not like a version that has been replaced since."""
    wh.ingest_run("tiny", RUN, name="first")
    assert "same as those of run first" in str(wh.ingest_run("tiny", RUN, name="copy").warnings)
    wh.ingest_run("tiny", OTHER, name="first", replace=True)
    wh.ingest_run("tiny", OTHER, name="copy", replace=True)
    assert "same as" not in str(wh.ingest_run("tiny", RUN, name="third").warnings)


def test_runs_without_qrels_are_not_said_to_be_missing(wh: Warehouse) -> None:
    wh.ingest_run("tiny", RUN, name="first")
    code, _, err = command("evaluate", "-d", "tiny", "-m", "AP", "--db", str(wh.path))
    assert code == 0
    assert "no qrels yet" in err
    assert "no runs yet" not in err


def test_python_is_told_what_python_takes(wh: Warehouse) -> None:
    for name in ("A", "B"):
        wh.ingest_qrels(name, {"q": {"a": 1}})
        wh.ingest_run(name, RUN, name="first")
    with pytest.raises(UsageError, match='"A": 2'):
        wh.leaderboard(["A", "B"], metrics="RR", weights="A=2,B=1")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="20260901: is a text, a date or a time, not int"):
        wh.leaderboard("A", metrics="RR", as_of=20260901)  # type: ignore[arg-type]
    call = ("leaderboard", "-d", "A", "-d", "B", "-m", "RR", "--db", str(wh.path))
    assert "A=2,B=1" in command(*call, "--weights", "equl")[2] + command(*call, "--weights", "x")[2]

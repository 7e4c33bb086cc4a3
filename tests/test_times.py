"""Times as people write them: each means one thing, or is refused."""

from __future__ import annotations

import datetime as dt

import pytest
from projects import command
from syncs import BETTER, RUN, Project

from warehouse.config import times
from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

# 14:05, and half a minute later, in UTC
_FIVE = dt.datetime(2026, 1, 5, 14, 5, tzinfo=dt.UTC)
_HALF = _FIVE.replace(second=30)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-05T14:05", _FIVE),
        ("2026-01-05 14:05", _FIVE),
        ("2026-01-05T14:05Z", _FIVE),
        ("2026-01-05T16:05+02:00", _FIVE),
        ("2026-01-05T09:05-05:00", _FIVE),
        ("2026-01-05T09:05-05", _FIVE),
        ("2026-01-05T14:05:30.25", _HALF.replace(microsecond=250_000)),
        ("20260105T140530Z", _HALF),
        ("20260105T090530-0500", _HALF),
        ("2026-W02-1T14:05", _FIVE),
        ("2026-01-05T14", _FIVE.replace(minute=0)),
        ("2026-01-05T09-05:00", _FIVE.replace(minute=0)),
        ("2026-01-05_14-05", _FIVE),
        ("2026-01-05T14-05", _FIVE),
        ("2026-01-05_14-05-30", _HALF),
        ("2026-01-05T14-05-30", _HALF),
        ("2026-01-05T14-05-30Z", _HALF),
        ("2026-01-05-14-05-30", _HALF),
        ("2026-01-05_14_05_30", _HALF),
        ("2026-01-05_140530", _HALF),
        ("20260105-140530", _HALF),
        ("20260105_1405", _FIVE),
        ("20260105", _FIVE.replace(hour=0, minute=0)),
        ("2026-W02", _FIVE.replace(hour=0, minute=0)),
    ],
)
def test_what_a_time_means(text: str, moment: dt.datetime) -> None:
    assert times.begin(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        # the 14th of a day, or 14 o'clock
        "2026-01-05_14", "2026-01-05-14", "2026-01-05_14-05_30", "2026-01-05x14:05",
        "2026-01-05T14:05+25:00", "2026-01-05T14:05+02:00:30", "2026-01-05T24:00", "2026-02-30",
        "2026-01-05T14:05:61", "2026-01-05T", "20260105140530", "2026-W02T14:05", "noon", "",
    ],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as 2026-09-01 or 2026-09-01T12:00\+02:00"):
        times.read(text)


@pytest.mark.sample(2)
@pytest.mark.parametrize("text", ["9999-12-31T23:59-05:00", "0001-01-01T00:00+05:00"])
def test_no_time_lies_outside_the_years_of_utc(text: str, synced: Project) -> None:
    synced.sync()
    code, _, told = command("ingest", "run", "runs/bm25/one.run", "-d", "tiny", "--at", text)
    assert (code, told) == (2, f"--at {text}: it lies outside the years 1 to 9999 in UTC")
    code, _, told = command("leaderboard", "-d", "tiny", "--as-of", text)
    assert (code, told) == (2, f"as of {text}: it lies outside the years 1 to 9999 in UTC")
    at = dt.datetime.fromisoformat(text)
    with pytest.raises(
        UsageError, match=r"^run_at .*: it lies outside the years 1 to 9999 in UTC$"
    ):
        synced.warehouse.ingest_run("tiny", {"q1": {"a": 1.0}}, name="x", run_at=at)


@pytest.mark.slow
def test_the_time_in_the_name_of_a_file(synced: Project) -> None:
    synced.settings("{name}.run*", "{name}_{time}.run*")
    synced.write("runs/bm25/nightly_2026-01-05_14-05.run", RUN)
    synced.write("runs/bm25/nightly2_20260105-140530.run", BETTER)
    synced.write("runs/bm25/x_2026-01-05-14.run", RUN)
    (failed,) = [event for event in synced.sync().events if event.status == "failed"]
    assert failed.text.startswith(
        "runs/bm25/x_2026-01-05-14.run: time '2026-01-05-14': write it as"
    )
    assert synced.runs("name, run_at") == [("nightly2", _HALF), ("nightly", _FIVE)]


@pytest.mark.slow
@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31T23:59:59.999999"])
def test_the_first_and_the_last_time_are_drawn(wh: Warehouse, tmp_path, at: str) -> None:
    pytest.importorskip("vl_convert")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="far", run_at=times.begin(at))
    wh.ingest_run("tiny", {"q1": {"b": 1.0}}, name="now")
    wh.evaluate(metrics="RR")
    picture = tmp_path / "history.svg"
    asked = ("history", "-d", "tiny", "-m", "RR", "-o", str(picture), "--db", str(wh.path))
    assert command(*asked)[0] == 0
    assert picture.stat().st_size > 0

"""ir_metadata: the header of a run's file, and the file beside a run, say its system, time and tags."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import pytest

from tests.refusals import expect_refusal
from warehouse.errors import InputError
from warehouse.sync.run_description import read_sidecar
from warehouse.warehouse import Warehouse

# As repro_eval writes it (a blank at the end of each line), with the runtime of tirex_tracker.
HEADER = """\
# ir_metadata.start
# tag: bm25-ours \n\
# actor: \n\
#   team: IR Group \n\
# research goal: \n\
#   description: | \n\
#     1 2 3 4 5 6 7 fields, as a line of a run has \n\
# platform: \n\
#   software: \n\
#     libraries: \n\
#     - lucene \n\
#     - python \n\
#   gpu: null \n\
# method: \n\
#   automatic: true \n\
#   retrieval: \n\
#   - name: bm25 \n\
#     documents: 1000 \n\
# resources: \n\
#   cpu: \n\
#     timeseries: [0, 100] \n\
#   runtime: \n\
#     start time: "2026-03-05T16:09:14.397568991+0000" \n\
# ir_metadata.end
"""
LINES = "q1 Q0 d1 1 2.5 tag\nq1 Q0 #d2 2 1.5 tag\n"
START = dt.datetime(2026, 3, 5, 16, 9, 14, 397568, dt.UTC)
TAGS = {
    "actor.team": "IR Group",
    "research goal.description": "1 2 3 4 5 6 7 fields, as a line of a run has",
    "platform.software.libraries": "lucene, python",
    "method.automatic": "true",
    "method.retrieval.1.name": "bm25",
    "method.retrieval.1.documents": "1000",
    "resources.runtime.start time": "2026-03-05T16:09:14.397568991+0000",
}
# The skeleton of LongEval at CLEF 2026, filled in.
SKELETON = """\
# We use the ir-metadata standard to describe and process runs.
tag: ours-1
actor:
  team: ours
research goal:
  description: |
    Two lines
    of text
platform:
  software:
    libraries:
    - lucene
implementation:
  source:
    repository: https://example.org/ours
data:
  training data:
  - name: longeval-sci-2026
method:
  automatic: true
"""


def test_the_header_of_a_run(tmp_path: Path) -> None:
    """Alone and among others; what is given beside it takes precedence; without it, nothing changes."""
    pytest.importorskip("yaml")
    files = {"described.run": HEADER + LINES, "plain.run": LINES.replace("2.5", "3.5")}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_runs("d", [tmp_path / name for name in files])
    given = dt.datetime(2026, 4, 1, tzinfo=dt.UTC)
    wh.ingest_run(
        "d", tmp_path / "described.run", name="given", system="theirs", run_at=given,
        tags={"method.automatic": "no", "k1": "0.9"},
    )  # fmt: skip
    found = {row.run: row for row in wh.runs("d")}
    with wh.file.read() as con:
        rows = con.execute("select run, system, run_at, tags from runs").fetchall()
    described = {run: rest for run, *rest in rows}
    assert described["described"] == ["bm25-ours", START, TAGS]
    assert described["given"] == [
        "theirs", given, {**TAGS, "method.automatic": "no", "k1": "0.9"}
    ]  # fmt: skip
    assert (described["plain"][0], described["plain"][2]) == (None, None)
    assert found["described"].predictions == found["plain"].predictions == 2
    again = wh.ingest_run("d", tmp_path / "described.run")
    assert again.status == "unchanged"


def test_a_header_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    run, whole = tmp_path / "a.run", HEADER + LINES
    for text, wanted in (
        (whole.replace("# ir_metadata.end\n", ""), "a.run … line 1 … '# ir_metadata.end'"),
        (whole.replace("# actor: \n", "# actor: [\n"), "a.run, line 1 … no YAML"),
        (whole.replace("2026-03-05T16", "someday T16"), "a.run, line 1 … start time"),
        (whole.replace("d1 1 2.5", "d1 1 x"), "line 25"),
    ):
        run.write_text(text, encoding="utf-8")
        with expect_refusal(wanted, InputError):
            Warehouse.score({"q1": {"d1": 1}}, run, "RR")
    run.write_text(whole, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "yaml", None)
    scores = Warehouse.score({"q1": {"d1": 1}}, run, "RR")
    assert scores.means() == {"RR": 1.0}
    (warning,) = scores.read[0].staged.warnings
    assert "PyYAML" in warning


def test_the_file_beside_a_run(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    beside = tmp_path / "ours.yml"
    beside.write_text(SKELETON, encoding="utf-8")
    said = read_sidecar(beside)
    assert (said.name, said.system, said.time) == ("", "ours-1", None)
    assert said.tags == {
        "actor.team": "ours",
        "research goal.description": "Two lines\nof text",
        "platform.software.libraries": "lucene",
        "implementation.source.repository": "https://example.org/ours",
        "data.training data.1.name": "longeval-sci-2026",
        "method.automatic": "true",
    }
    # our own keys are still checked, and the two are not mixed
    beside.write_text("system: bm25\nactor: {team: ours}\n", encoding="utf-8")
    with expect_refusal("actor", InputError):
        read_sidecar(beside)

"""Logs of benchmarks: the values that Inspect, MTEB and lm-evaluation-harness wrote are read."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection as Connection
from refusals import expect_refusal

from warehouse.errors import InputError
from warehouse.readers.scores import stage_scores

pytestmark = pytest.mark.core

Put = Callable[..., Path]
SAMPLES = [
    {
        "id": "q1",
        "epoch": 1,
        "scores": {"match": {"value": "C"}, "rubric": {"value": {"tone": 0.25}}},
    },
    {
        "id": "q1",
        "epoch": 2,
        "scores": {"match": {"value": "I"}, "rubric": {"value": {"tone": 0.75}}},
    },
    {"id": "q2", "epoch": 1, "scores": {"match": {"value": "P"}}},
]
LOG = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": SAMPLES}
TASK = {
    "dataset_revision": "1", "task_name": "NFCorpus", "mteb_version": "2.26.24",
    "scores": {
        "test": [
            {"ndcg_at_10": 0.25, "main_score": 0.25, "hf_subset": "default", "languages": ["eng-Latn"]},
            {"main_score": 0.5, "hf_subset": "de", "languages": ["deu-Latn"]},
        ]
    },
    "evaluation_time": 1.5,
}  # fmt: skip
DOCS = [
    {"doc_id": 7, "arguments": [], "filtered_resps": [], "filter": "none", "metrics": ["acc", "ppl"],
     "acc": 1.0, "ppl": [0.5, 2]},
    {"doc_id": 7, "arguments": [], "filtered_resps": [], "filter": "strict", "metrics": ["acc"],
     "acc": True},
]  # fmt: skip


def archive(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        for sample in SAMPLES:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            made.writestr(name, json.dumps(sample))
    return path


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python's zipfile reads it since 3.14")
def test_a_log_that_is_packed_with_zstandard_is_refused(con: Connection, tmp_path: Path) -> None:
    """The method stands in both headers of each file in an archive."""
    path = archive(tmp_path / "log.eval")
    packed = path.read_bytes()
    for header, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        first, *others = packed.split(header)
        turned = (rest[: place - 4] + b"\x5d\x00" + rest[place - 2 :] for rest in others)
        packed = header.join((first, *turned))
    path.write_bytes(packed)
    with expect_refusal("log.eval … inspect log convert --to json", InputError):
        stage_scores(con, path, "(select 'q1' as query_id)")
    damaged = bytearray(archive(tmp_path / "damaged.eval").read_bytes())
    start = damaged.rindex(b"epoch_", 0, damaged.index(b"PK\x01\x02")) + len("epoch_1.json")
    damaged[start : start + 4] = b"\xff" * 4
    (tmp_path / "damaged.eval").write_bytes(damaged)
    with expect_refusal("damaged.eval … samples", InputError):
        stage_scores(con, tmp_path / "damaged.eval", "(select 'q1' as query_id)")


def test_what_benchmarks_write(con: Connection, put: Put, tmp_path: Path) -> None:
    """By their own rules: C is 1, P a half, I 0, and a sample has the mean of its epochs."""
    of_inspect = [
        ("q1", "match", 0.5), ("q1", "rubric.tone", 0.5), ("q2", "match", 0.5),
        ("q2", "rubric.tone", None),
    ]  # fmt: skip
    lines = "".join(json.dumps(doc) + "\n" for doc in DOCS)
    for source, format, wanted, texts in (
        (put(json.dumps(LOG, indent=2), "log.json"), "inspect", of_inspect, ()),
        (archive(tmp_path / "log.eval"), "inspect", of_inspect, ()),
        (
            put(json.dumps(TASK, indent=2), "NFCorpus.json"), "mteb",
            [
                ("NFCorpus/test", "main_score", 0.25), ("NFCorpus/test", "ndcg_at_10", 0.25),
                ("NFCorpus/test/de", "main_score", 0.5),
            ], (),
        ),
        (
            put(lines, "samples_tiny_2026.jsonl"), "lm_eval",
            [("7", "acc", 1.0), ("7", "acc(strict)", 1.0)], ("ppl",),
        ),
    ):  # fmt: skip
        read = stage_scores(con, source, "(select 'q1' as query_id)")
        assert (read.format, read.has_run, read.texts) == (format, False, texts)
        found = con.execute("select query_id, metric, value from staged order by all").fetchall()
        assert found == wanted
    for text, name, wanted in (
        (json.dumps(LOG | {"samples": None}), "a.json", "an Inspect log without samples"),
        (json.dumps(LOG)[:-1], "b.json", "is no JSON"),
        (
            json.dumps(LOG).replace('"C"', '"good"'),
            "c.json",
            "sample q1: the score match is neither",
        ),
        (json.dumps(TASK | {"scores": {"test": {}}}), "d.json", "is no result of MTEB"),
        (lines.replace('"metrics"', '"metric"'), "e.jsonl", "line 1 is no sample of lm-evaluation"),
        (lines + "{\n", "f.jsonl", "line 3 is no JSON"),
    ):
        with pytest.raises(InputError, match=wanted):
            stage_scores(con, put(text, name), "(select 'q1' as query_id)")

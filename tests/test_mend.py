"""A file whose writing was cut within a block is mended, and only if nothing in it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import command
from refusals import expect_refusal

from warehouse.errors import DatabaseError
from warehouse.warehouse import Warehouse

# DuckDB's first block, with its table of contents; its checksum is its first 8 bytes.
FIRST = 3 * 4096


def filled(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one")
    wh.evaluate(metrics="AP")


@pytest.mark.slow
def test_a_torn_block_is_mended_if_nothing_is_lost(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "w.duckdb", filled)
    whole = wh.path.read_bytes()
    assert wh.mend() == 0
    torn = bytearray(whole)
    torn[FIRST : FIRST + 8] = b"12345678"
    wh.path.write_bytes(torn)
    with expect_refusal("w.duckdb … warehouse verify --mend", DatabaseError):
        wh.runs()
    code, _, told = command("verify", "--all", "--mend", "--db", str(wh.path))
    assert (code, told.splitlines()[0]) == (0, "mended: 1 block"), told
    assert wh.path.read_bytes() == whole
    # of a block with other content, the checksum is right to be wrong
    at = whole.index(b"one", FIRST)
    while at != -1:
        torn[FIRST : FIRST + 8] = whole[FIRST : FIRST + 8]
        torn[at : at + 3] = b"two"
        at = whole.find(b"one", at + 1)
    wh.path.write_bytes(torn)
    with expect_refusal("w.duckdb … nothing was mended", DatabaseError):
        wh.mend()
    assert wh.path.read_bytes() == torn

"""Limits of what is loaded: their defaults, and those that `warehouse.toml` sets."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
import zstandard

from warehouse.config import limits, project
from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

LINE = "q1 Q0 d{} {} {}.5 tag\n"
RUN = "".join(LINE.format(n, n, 1000 - n) for n in range(100))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a project that sets every limit."""
    monkeypatch.chdir(tmp_path)
    Path("warehouse.toml").write_text(
        '[limits]\nunpacked = "10kB"\nline = "1kB"\nnesting = 3\nrows = 100\n'
    )
    return tmp_path


def refusal(source: object, name: str = "a") -> str:
    wh = Warehouse("w.duckdb")
    before = Path("w.duckdb").exists()
    with pytest.raises(InputError) as caught:
        wh.ingest_run("tiny", source, name=name)  # type: ignore[arg-type]
    assert wh.query("select count(*) from store.run").fetchall() == [(0,)] if before else True
    return str(caught.value)


@pytest.mark.slow
def test_each_limit_is_kept_and_named(here: Path) -> None:
    Warehouse("w.duckdb").init()
    whole = RUN * 5
    for name, pack in (("a.run.gz", gzip.compress), ("a.run.zst", zstandard.compress)):
        Path(name).write_bytes(pack(whole.encode()))
        told = (
            f"{name}: has more than 10kB unpacked; if that is right, set unpacked under [limits] in"
        )
        assert refusal(name).startswith(told)
    rows = RUN + LINE.format(100, 100, 0)
    told = (
        "has 101 rows, more than 100; if that is right, set rows under [limits] in warehouse.toml"
    )
    for name, text in (("b.run", rows), ("c.run", rows.replace(" ", "\t"))):
        Path(name).write_text(text)
        assert refusal(name) == f"{name}: {told}"
    assert refusal({"q1": {str(n): float(n) for n in range(101)}}).endswith(told)
    together = Warehouse("w.duckdb").ingest_runs("tiny", ["b.run", "c.run"])
    assert [str(one) for one in together] == [f"{name}: {told}" for name in ("b.run", "c.run")]
    Path("d.run").write_text("q Q0 d 1 1 t\n" + "x" * 5_000_000)
    assert "longer than 1kB: not a text of lines" in refusal("d.run")
    Path("e.jsonl").write_text('{"doc_id": "d1", "tags": [[[1]]]}\n')
    with pytest.raises(InputError, match="line 1: is nested too deeply"):
        Warehouse("w.duckdb").ingest_attributes("tiny", "e.jsonl", of="docs")
    Path("f.jsonl").write_text("".join(f'{{"doc_id": "d{n}", "year": {n}}}\n' for n in range(101)))
    with pytest.raises(InputError, match=f"f.jsonl: {told}".replace("[limits]", r"\[limits\]")):
        Warehouse("w.duckdb").ingest_attributes("tiny", "f.jsonl", of="docs")


def test_what_is_at_a_limit_is_loaded(here: Path) -> None:
    Path("a.run.gz").write_bytes(gzip.compress(RUN.encode()))
    assert Warehouse("w.duckdb").ingest_run("tiny", "a.run.gz").num_rows == 100


def test_defaults_where_no_project_sets_them(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is wrong, or another user's, loosens no limit."""
    usual = limits.Limits()
    assert (usual.line_bytes, usual.nesting, usual.rows) == (2**26, 128, 10**9)
    Path("warehouse.toml").write_text("[limits]\nrows = 7\n")
    assert limits.current() == limits.Limits(rows=7)
    caller = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: caller + 1)
        assert limits.current() == usual
    for text in ("[limits]\nrows = 0\n", '[limits]\nline = "long"\n', "not toml", ""):
        Path("warehouse.toml").write_text(text)
        assert limits.current() == usual
    Path("warehouse.toml").write_text('[limits]\nunpacked = "7 parsecs"\n')
    with pytest.raises(Exception, match="unpacked is a size, as in \"50GB\", not '7 parsecs'"):
        project.current()

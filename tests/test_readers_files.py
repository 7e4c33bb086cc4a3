"""Where bytes come from: plain and compressed files, standard input; and what is no file at all."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard
from refusals import expect_refusal

from warehouse import readers
from warehouse.config import limits
from warehouse.errors import InputError, UsageError
from warehouse.readers import batches, files, lines
from warehouse.store import database
from warehouse.warehouse import Warehouse

RUN = b"".join(b"q%d Q0 d%d 1 %d t\n" % (n % 50, n, n * 31 % 1009) for n in range(60_000))
SHA = hashlib.sha256(RUN).hexdigest()


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Give the folder of temporary files, which must be empty again afterwards."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    database.scratch(database.Resources())  # it makes its own folder elsewhere
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@cache
def packed(name: str) -> bytes:
    frames = zstandard.ZstdCompressor().compress
    parts = (RUN[:70_000], RUN[70_000:]) if name.startswith(("gzip, two", "zstd, two")) else (RUN,)
    kinds = {"plain": bytes, "gzip": gzip.compress, "zstd": frames}
    kinds |= {"bzip2": bz2.compress, "xz": lzma.compress}
    pack = kinds[name.partition(",")[0]]
    # RFC 8878: a frame to be skipped begins with one of 16 magic numbers and its size
    skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc" if "skipped" in name else b""
    return skipped + b"".join(map(pack, parts))


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "gzip",
        "gzip, two members",
        "zstd",
        "zstd, two frames",
        "zstd, one to be skipped",
        "bzip2",
        "xz",
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_compression_is_known_by_content(con, tmp_path, scratch, name, suffix):
    path = tmp_path / f"a.run{suffix}"
    path.write_bytes(packed(name))
    result = readers.stage(con, path, "run")
    assert (result.rows, result.source_sha256, result.source) == (60_000, SHA, str(path))
    assert con.execute("select * from staged where doc_id = 'd59999'").fetchall() == [
        ("q49", "d59999", float(59_999 * 31 % 1009))
    ]


def test_letters_are_no_compression(con, tmp_path, scratch):
    path = tmp_path / "a.run"
    path.write_text("BZh9 Q0 d 1 0.5 t\n")
    assert readers.stage(con, path, "run").rows == 1
    path.write_bytes(bz2.compress(b""))
    with pytest.raises(InputError, match="is empty"):
        readers.stage(con, path, "run")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gzip", "the gzip stream ends early: the file is truncated"),
        ("bzip2", "the bzip2 stream ends early: the file is truncated"),
        ("xz", "the xz stream ends early: the file is truncated"),
        ("zstd", "the zstd stream ends early: the file is truncated"),
        ("zstd, two frames", "the zstd stream ends early: the file is truncated"),
    ],
)
def test_truncated(con, tmp_path, scratch, name, words):
    path = tmp_path / "a.run"
    whole = packed(name)
    for length in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 10):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError) as caught:
            readers.stage(con, path, "run")
        assert str(caught.value) == f"{path}: {words}"


@pytest.mark.parametrize(("name", "word"), [(one, one) for one in ("gzip", "zstd", "bzip2", "xz")])
def test_damaged(con, tmp_path, scratch, name, word):
    path = tmp_path / "a.run"
    content = bytearray(packed(name))
    content[len(content) // 2 : len(content) // 2 + 200] = b"\xff" * 200
    path.write_bytes(content)
    with pytest.raises(InputError, match=word):
        readers.stage(con, path, "run")


@pytest.mark.parametrize("name", ["plain", "gzip", "zstd"])
def test_standard_input(con, scratch, monkeypatch, name):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed(name))))
    result = readers.stage(con, "-", "run")
    assert (result.source, result.rows, result.source_sha256) == ("<stdin>", 60_000, SHA)


def test_standard_input_that_is_empty(con, scratch, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="<stdin>: is empty"):
        readers.stage(con, "-", "run")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_named_pipe(con, tmp_path, scratch):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(packed("gzip"),))
    writer.start()
    result = readers.stage(con, path, "run")
    writer.join()
    assert (result.rows, result.source_sha256) == (60_000, SHA)


def test_missing_file(con, tmp_path):
    (tmp_path / "bm25.run").write_bytes(RUN)
    with expect_refusal("bm52.run … bm25.run", InputError):
        readers.stage(con, tmp_path / "bm52.run", "run")
    with pytest.raises(InputError, match="no such file"):
        readers.stage(con, tmp_path / "no" / "folder" / "a.run", "run")
    for url in ("ftp://example.org/a.run", Path("redis://example.org/a.run")):
        with expect_refusal(f"{str(url).split(':')[0]}://example.org/a.run … https", InputError):
            readers.stage(con, url, "run")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A server of this test's folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_urls(tmp_path: Path, site: str, wh: Warehouse) -> None:
    """A file on the web, compressed or not, is what the file is; its source is the URL."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "bm25.run.gz").write_bytes(gzip.compress(b"q1 Q0 a 1 2 t\nq2 Q0 a 1 1 t\n"))
    (tmp_path / "bad.run").write_bytes(b"q1 Q0 a 1 2 t\nq2 Q0 a\n")
    wh.ingest_qrels("d", f"{site}/qrels.txt")
    # as a command gives it, which takes it for a path
    wh.ingest_run("d", Path(f"{site}/bm25.run.gz?raw=1"))
    assert [(row.run, row.source) for row in wh.runs("d")] == [
        ("bm25", f"{site}/bm25.run.gz?raw=1")
    ]
    scores = Warehouse.score(tmp_path / "qrels.txt", f"{site}/bm25.run.gz", metrics="P@1")
    assert scores.means()["P@1"] == 0.5
    for name, said in (
        ("bad.run", f"{site}/bad.run … line 2"),
        ("no.run", f"{site}/no.run: no such file"),
    ):
        with expect_refusal(said, InputError):
            wh.ingest_run("d", f"{site}/{name}")


def test_directory(con, tmp_path):
    with pytest.raises(InputError, match="is a directory"):
        readers.stage(con, tmp_path, "run")


@pytest.mark.parametrize("name", ["trcc", "CSW", "yaml"])
def test_unknown_format(con, tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(RUN)
    with pytest.raises(
        UsageError, match="known: trec, csv, tsv, jsonl, parquet, arrow, ranx, bare"
    ):
        readers.stage(con, path, "run", format=name)


def test_the_look_at_a_file_over_the_edge_of_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 4)
    cases = {
        # bytes: lines, Windows ends, UTF-8
        b"abc\r\ndefg\r\n": (2, True, True),
        b"abc\r\nd\ng\r\n": (3, False, True),
        b"abc\n#def": (2, False, True),
        b"abcd#ef\n": (1, False, True),
        "abcé\n日本\n".encode(): (2, False, True),
        b"abc\xc3": (1, False, False),
        b"abc\xc3\nd": (2, False, False),
    }
    for content, expected in cases.items():
        path = tmp_path / "a"
        path.write_bytes(content)
        with files.open_file(path) as file:
            found = (file.lines, file.traits.windows_ends, file.traits.is_text)
            assert found == expected, content
            assert file.sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_that_cannot_be_read_to_its_end(con, tmp_path, monkeypatch):
    def fails(path):
        raise OSError(5, "Input/output error")

    path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 d 1 0.5 t\n")
    monkeypatch.setattr(files, "_scan_file", fails)
    with pytest.raises(InputError, match=r"a\.run: cannot be read: Input/output error"):
        readers.stage(con, path, "run")
    found = [one for group in batches.groups([path, path]) for one in group.read(con)]
    assert [type(one) for one in found] == [batches.Refusal] * 2


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_line_numbers_over_the_edge_of_blocks(tmp_path, monkeypatch, size):
    monkeypatch.setattr(lines, "BLOCK", size)
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfone  two\t\r\n\n \xff\xff\nfour\x00\n five")
    bad = lines.BadLines()
    with files.open_file(path) as file:
        found = {
            block.first + n: text
            for block in lines.blocks(file, bad, single_blanks=True)
            for n, text in enumerate(block.text.removesuffix("\n").split("\n"))
        }
    assert {line: text for line, text in found.items() if text} == {1: "one two", 5: "five"}
    assert bad.problems == [(3, "not UTF-8"), (4, "holds a NUL byte")]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such devices on this system")
def test_a_device_is_no_source(device: str) -> None:
    with pytest.raises(InputError, match="is a device"), files.open_file(device):
        pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_that_nobody_writes_into_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_WAIT_FOR_WRITER", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="nobody writes into"), files.open_file(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_a_file_that_is_overwritten_while_it_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(RUN) if name.endswith("gz") else RUN)
    with pytest.raises(InputError, match="changed while it was read"), files.open_file(path):
        path.write_bytes(b"q Q0 other 1 1 x\n")


def test_a_file_whose_time_is_set_back(tmp_path: Path) -> None:
    """It is overwritten by as many bytes, as by a copy that keeps times."""
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    before = path.stat()

    def overwrite() -> None:
        path.write_bytes(RUN[::-1])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(InputError, match="changed while it was read"), files.open_file(path):
        overwrite()


def test_a_run_that_changes_meanwhile_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    scan = files._scan_file

    def changed(scanned: Path) -> files.TextTraits:
        traits = scan(scanned)
        path.write_bytes(RUN.replace(b" 1 ", b" 2 "))
        return traits

    monkeypatch.setattr(files, "_scan_file", changed)
    with pytest.raises(InputError, match="changed while it was read"):
        wh.ingest_run("d", path, name="a")
    assert wh.runs().fetchall() == []


def test_a_table_of_a_million_columns_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["query_id,doc_id,score", *["c"] * 999_997]) + "\n")
    started = time.monotonic()
    with expect_refusal("wide.csv: line 1 has 1,000,000 columns … a row of its own", InputError):
        Warehouse.score({"q": {"a": 1}}, path, "AP")
    assert time.monotonic() - started < 20  # of minutes before


def test_the_bytes_of_parquet_are_not_looked_at(con, tmp_path, monkeypatch):
    """DuckDB reads them; what a text is like is asked of text alone."""
    path = tmp_path / "a.parquet"
    con.execute(
        f"copy (select 'q' as query_id, 'd' as doc_id, 0.5 as score) to '{path}' (format parquet)"
    ).fetchall()
    monkeypatch.setattr(files, "_scan_file", lambda path: pytest.fail(f"{path} is looked at"))
    assert readers.stage(con, path, "run").rows == 1
    (group,) = batches.groups([path, path])
    (batch,) = group.read(con)
    assert batch.together


def test_a_line_without_end(con, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 100)
    monkeypatch.setattr(limits, "current", lambda: limits.Limits(line="1kB"))
    path: Path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 d 1 1 t\n" + b"x" * 5_000)
    with pytest.raises(InputError) as caught:
        readers.stage(con, path, "run")
    assert caught.value.problems[0][0] is not None
    assert "not a text of lines" in str(caught.value)

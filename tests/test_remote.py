"""Files of an object store: patterns of them, and a sync of them; the store is a folder here."""

from __future__ import annotations

import threading
import zlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from projects import command
from refusals import expect_refusal
from syncs import BETTER, QRELS, RUN, Project

from warehouse.errors import InputError
from warehouse.readers import remote
from warehouse.sync.patterns import Pattern

PROJECT = """
database = "w.duckdb"
settle = 0
[evaluate]
metrics = ["RR"]
[datasets.tiny]
qrels = "qrels.txt"
[[runs]]
dataset = "tiny"
sidecar = true
files = "s3://team/{system}/{name}.run"
[[runs]]
dataset = "tiny"
files = "here/{name}.run"
"""
OTHER = BETTER


@pytest.fixture
def bucket(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow not installed")
    folder = tmp_path_factory.mktemp("store")
    (folder / "team").mkdir()

    def store(named: str) -> tuple[object, str]:
        path = unquote(urlsplit(named).path)  # a ? begins a query, a # a fragment
        return fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), f"team{path}"

    monkeypatch.setattr(remote, "_store", store)
    return folder / "team"


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


@pytest.fixture
def declared(synced: Project, bucket: Path) -> Project:
    project = synced
    put(project.path, "warehouse.toml", PROJECT)
    put(project.path, "qrels.txt", QRELS)
    put(project.path, "here/local.run", OTHER)
    put(bucket, "bm25/one.run", RUN)
    put(bucket, "bm25/one.run.json", '{"tags": {"k1": "0.9"}}')
    return project


def fail(_: str) -> tuple[object, str]:
    raise OSError("no route to host")


def test_a_sync_reads_a_store(declared: Project, bucket: Path) -> None:
    """New files are loaded, others left alone; one that is gone is named, and its run stays."""
    code, out, err = command("sync")
    assert (code, err) == (0, "")
    assert "run one loaded from s3://team/bm25/one.run (3 predictions" in out
    (run,) = [row for row in declared.warehouse.runs("tiny") if row.run == "one"]
    assert (run.system, run.source) == ("bm25", "s3://team/bm25/one.run")
    assert "k1" in str(run.tags)
    assert command("sync") == (0, "", "")
    put(bucket, "bm25/one.run", RUN + "q3 Q0 z 1 1 t\n")
    assert "one replaced as version 2" in command("sync")[1]
    (bucket / "bm25/one.run").rename(bucket / "bm25/two.run")
    assert "two" in command("sync")[1]
    put(bucket, "bm25/three.run", OTHER.replace("1 2 t", "1 3 t"))
    command("sync")
    (bucket / "bm25/three.run").unlink()
    assert "run three stays, though its file s3://team/bm25/three.run is gone" in command("sync")[1]


def test_a_store_that_does_not_answer_ends_its_source_alone(
    declared: Project, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are not gone, nor does 'no file match'; the other sources are read."""
    command("sync")
    put(declared.path, "here/more.run", OTHER.replace("1 2 t", "1 4 t"))
    with monkeypatch.context() as broken:
        broken.setattr(remote, "_store", fail)
        code, out, err = command("sync")
    assert code == 2
    assert "no route to host" in err
    assert "run more loaded" in out
    assert not any(word in out + err for word in ("gone", "no file matches"))
    assert len(declared.warehouse.runs("tiny")) == 3
    assert command("sync") == (0, "", "")


def test_commands_take_patterns_of_a_store(declared: Project, bucket: Path) -> None:
    put(bucket, "deep/er/two.run", OTHER)
    code, out, _ = command("score", "qrels.txt", "s3://team/**/*.run", "RR")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["one", "two"]
    assert command("ingest", "run", "s3://team/b*/*.run", "-d", "tiny")[0] == 0
    code, _, err = command("score", "qrels.txt", "s3://team/*.txt", "RR")
    assert code == 2
    assert "no file matches" in err


def test_names_that_a_url_has_to_quote(declared: Project, bucket: Path) -> None:
    """They are read, and their runs and side-cars have the names that the store has."""
    odd = ["a b", "100%", "a%20b", "why?", "h#1", "é", "[b]", "{x}", 'quote"']
    for number, name in enumerate(odd):
        put(bucket, f"my system/{name}.run", OTHER.replace("1 2 t", f"1 {number + 3} t"))
    put(bucket, "my system/a b.run.json", '{"tags": {"k1": "0.5"}}')
    code, out, err = command("sync")
    assert (code, err) == (0, "")
    assert "run a b loaded from s3://team/my%20system/a%20b.run (" in out
    runs = {row.run: row for row in declared.warehouse.runs("tiny")}
    assert {*odd} <= {*runs}
    assert {runs[name].system for name in odd} == {"my system"}
    assert "0.5" in str(runs["a b"].tags)
    assert command("sync") == (0, "", "")
    (bucket / "my system/h#1.run").unlink()
    assert "run h#1 stays, though its file s3://team/my%20system/h%231.run" in command("sync")[1]
    for folder in ("my system", "my%20system"):
        words = ("score", "qrels.txt", f"s3://team/{folder}/a b*.run", "RR", "-f", "csv")
        assert command(*words)[:2] == (0, "metric,value\nRR,1.0\n")


def test_hidden_files_and_folders_of_a_store(declared: Project, bucket: Path) -> None:
    for name in ("bm25/.part.run", ".trash/old.run", "bm25/.deep/er.run"):
        put(bucket, name, RUN)
    found = [[str(file) for file, _ in Pattern(f"s3://team/{text}").files(Path())]
             for text in ("*/*.run", "**/*.run", ".trash/*", "bm25/.{name}.run")]  # fmt: skip
    one = ["s3://team/bm25/one.run"]
    assert found == [one, one, ["s3://team/.trash/old.run"], ["s3://team/bm25/.part.run"]]


def test_a_pattern_of_a_folder_has_no_file_of_a_store(declared: Project, bucket: Path) -> None:
    """The first source that matches a file decides about its run when the file is gone."""
    text = PROJECT.partition("[[runs]]")[0] + "".join(
        f'[[runs]]\ndataset = "tiny"\nfiles = "{files}"\nmissing = "forget"\n'
        for files in ("**/{name}.run", "s3://team/*/{name}.run")
    )
    put(declared.path, "warehouse.toml", text)
    (declared.path / "runs/bm25/one.run").unlink()
    command("sync")
    assert {row.run for row in declared.warehouse.runs("tiny")} == {"local", "one"}
    assert command("sync") == (0, "", "")


def test_a_store_that_stops_answering_ends_no_sync(
    declared: Project, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that it has listed wait, or are named; the others are read."""
    listed = remote.files_in

    def list_alone(folder: str) -> list[remote.RemoteFile]:
        found = listed(folder)
        broken.setattr(remote, "_store", fail)
        return found

    for settle, code, told in (("0s", 2, "no route to host"), ("24h", 0, "one.run")):
        put(declared.path, "here/local.run", OTHER.replace("1 2 t", f"1 {len(settle)} t"))
        put(bucket, "bm25/one.run", RUN.replace("b 1 2", f"b 1 {len(settle) + 4}"))
        text = PROJECT.replace("settle = 0", f'settle = "{settle}"').replace("sidecar = true", "")
        put(declared.path, "warehouse.toml", text)
        with monkeypatch.context() as broken:
            broken.setattr(remote, "files_in", list_alone)
            broken.setattr("time.sleep", lambda _: None)
            done = command("sync")
        assert done[0] == code
        assert told in done[1] + done[2]
        assert "run local" in done[1]


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_store_that_fails_while_files_are_looked_for(
    declared: Project, bucket: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """A file that is gone is found to be so by a later sync."""
    put(bucket, "bm25/two.run", OTHER)
    command("sync")
    (bucket / "bm25/one.run").unlink()
    listed = iter([remote.files_in] * calls)

    def files_in(folder: str) -> list[remote.RemoteFile]:
        if (ask := next(listed, None)) is None:
            raise InputError(f"{folder}: no answer")
        return ask(folder)

    with monkeypatch.context() as broken:
        broken.setattr(remote, "files_in", files_in)
        assert command("sync") == (0, "", "")
    assert "run one stays" in command("sync")[1]


def test_a_server_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    monkeypatch.setattr(remote, "_ANSWER", 0.05)
    monkeypatch.setattr(remote, "_store", lambda _: asked.wait(5))
    for ask in (
        lambda: remote.files_in("s3://team"),
        lambda: remote.RemoteFile("s3://team/a.run").stat(),
        lambda: remote.opened("s3://team/a.run").__enter__(),
    ):
        with expect_refusal("s3://team … no answer within 0.05 seconds", InputError):
            ask()
    asked.set()


def test_qrels_on_the_web(declared: Project, tmp_path: Path) -> None:
    """A sync asks for the size and the time of qrels, and reads what has changed."""
    put(tmp_path, "site/qrels.txt", QRELS)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    site = partial(Quiet, directory=tmp_path / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}/qrels.txt?raw=true"
        put(declared.path, "warehouse.toml", PROJECT.replace("qrels.txt", at))
        assert f"qrels loaded from {at}" in command("sync")[1]
        assert command("sync") == (0, "", "")
        put(tmp_path, "site/qrels.txt", QRELS + "q3 0 a 1\n")
        assert "qrels replaced as version 2" in command("sync")[1]
        put(
            declared.path,
            "warehouse.toml",
            PROJECT.replace("qrels.txt", at.replace("qrels", "none")),
        )
        code, _, err = command("sync")
        assert code == 2
        assert "no such file" in err
        server.shutdown()


@pytest.mark.parametrize("code", [405, 501, 403])
def test_a_server_that_knows_no_head(tmp_path: Path, code: int) -> None:
    put(tmp_path, "qrels.txt", QRELS)

    class Old(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self.send_error(code)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Old, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        file = remote.RemoteFile(f"http://127.0.0.1:{server.server_port}/qrels.txt")
        if code == 403:
            with expect_refusal(f"{file} … Forbidden", InputError):
                file.stat()
        else:
            there = (tmp_path / "qrels.txt").stat()
            second = there.st_mtime_ns // 10**9 * 10**9
            assert file.stat() == (there.st_size, second)
        server.shutdown()


def test_a_store_named_in_a_url_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow not installed")

    class Store:
        region = "north"

        @classmethod
        def from_uri(cls, named: str) -> tuple[Store, str]:
            return cls(), named

    monkeypatch.setattr(fs, "FileSystem", Store)
    monkeypatch.setattr(fs, "S3FileSystem", lambda **given: given)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere:9000")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    asked = ("region", "endpoint_override", "scheme", "access_key", "secret_key")
    for named, expected in (
        ("s3://team/a b.run", ("north", "elsewhere:9000", "http", None, None)),
        (
            "s3://me:a%2Fb@team/a.run?endpoint_override=here:1&scheme=https",
            ("north", "here:1", "https", "me", "a/b"),
        ),
    ):
        store, path = remote._store(named)
        assert tuple(store.get(key) for key in asked) == expected
        assert path == named.replace(" ", "%20")


@pytest.mark.parametrize("has_tag", [True, False])
def test_qrels_of_a_server_that_gives_no_time(
    declared: Project, tmp_path: Path, has_tag: bool
) -> None:
    """Its tag, else its content, tells that the file has changed, also to one of the same length."""
    put(tmp_path, "site/qrels.txt", QRELS)

    class Timeless(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def send_header(self, keyword: str, value: str) -> None:
            if keyword != "Last-Modified":
                super().send_header(keyword, value)

        def end_headers(self) -> None:
            if has_tag:
                text = (tmp_path / "site/qrels.txt").read_bytes()
                super().send_header("ETag", f'"{zlib.crc32(text)}"')
            super().end_headers()

    site = partial(Timeless, directory=tmp_path / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}/qrels.txt"
        put(declared.path, "warehouse.toml", PROJECT.replace("qrels.txt", at))
        assert f"qrels loaded from {at}" in command("sync")[1]
        assert command("sync") == (0, "", "")
        put(tmp_path, "site/qrels.txt", QRELS.replace("q1 0 a 1", "q1 0 a 2"))
        assert "qrels replaced as version 2" in command("sync")[1]
        server.shutdown()

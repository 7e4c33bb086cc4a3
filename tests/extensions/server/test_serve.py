"""The pages from a server: their numbers are the commands', and only who may ask is answered."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from refusals import expect_refusal
from test_report import METRICS, RUNS, SCRIPT, Page, fill_rich

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")

from warehouse.errors import WarehouseError
from warehouse.extensions.server import api, application, console, guard, replicas
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.report.pages.keys import keys
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile
from warehouse.warehouse import Warehouse

# What data that a page loads have of the state that they are of.
_STAMP = r'"stamp":"[^"]*"'
TOKEN = "a token of twenty-four c"


@dataclass
class Answer:
    """What the server answers."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def page(self) -> Page:
        return Page(self.text)

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A server in this process, without a network."""

    app: Any
    replicas: replicas.Replicas
    warehouse: Warehouse

    def ask(self, address: str, *words: tuple[str, str], **asked: Any) -> Answer:
        return asyncio.run(self.asked(address, *words, **asked))

    async def asked(self, address: str, *words: tuple[str, str], method: str = "GET",
                    body: bytes = b"", **headers: str) -> Answer:  # fmt: skip
        path, _, query = address.partition("?")
        given = {"host": "localhost:8080"} | {k.replace("_", "-"): v for k, v in headers.items()}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": (query or urlencode(self._whole(path, words))).encode(), "headers": [
                (key.encode(), value.encode()) for key, value in given.items()
            ], "scheme": "http", "server": ("localhost", 8080), "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], headers, b"".join(m.get("body", b"") for m in sent[1:]))

    def _whole(self, path: str, words: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
        """Name the dataset where data have one."""
        has = any(one.path == path and "dataset" in one.parameters for one in api.ENDPOINTS)
        is_named = any(key == "dataset" for key, _ in words)
        return [*words, *([("dataset", "tiny")] if has and not is_named else [])]

    def get(self, address: str, *words: tuple[str, str]) -> Answer:
        answer = self.ask(address, *words)
        assert answer.code == 200, answer.text
        return answer


def _fill(wh: Warehouse) -> None:
    queries = ("q0", "q1", "q&<b>6</b>")
    wh.ingest_qrels("tiny", {query: {"a": 2, "b": 1.5, "c": 0, "<i>d</i>": 3} for query in queries})
    for run, documents in zip(RUNS, ("abc", "cab", "cba", "xab"), strict=True):
        found = {
            query: {document: 9.0 - place for place, document in enumerate(documents[number % 2 :])}
            for number, query in enumerate(queries)
        }
        wh.ingest_run("tiny", found, name=run, system=f"system of {run}", tags={"kind": SCRIPT})
    wh.evaluate("tiny", metrics=METRICS)


class _NoConsole(console.Console):
    def __init__(self) -> None:
        super().__init__()
        self.close()


@pytest.fixture(scope="module", autouse=True)
def unread() -> Iterator[None]:
    """Read nothing before it is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshot, "warm", lambda snapshot: None)
        yield


@pytest.fixture(scope="module")
def server(unread: None, tmp_path_factory: pytest.TempPathFactory) -> Server:
    folder = tmp_path_factory.mktemp("serve")
    wh = Warehouse(folder / "tiny.duckdb")
    _fill(wh)
    (folder / "own").mkdir()
    found = replicas.Replicas(WarehouseFile(wh.path), folder / "own", Resources(threads=1), depth=3)
    return Server(application.application(found, _NoConsole(), None, ["wh.test"]), found, wh)


ASKED = [("metric", "P@2"), ("metric", "RR")]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([("sort", "RR")], {"sort": "RR"}),
        pytest.param([], {}, marks=pytest.mark.slow),
        pytest.param(ASKED, {"metrics": ["P@2", "RR"]}, marks=pytest.mark.slow),
        pytest.param(
            [("metric", "recip_rank"), ("qrels", "1")],
            {"metrics": "RR", "qrels": 1},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_boards_have_the_numbers_of_the_command(
    server: Server, words: list[tuple[str, str]], options: dict[str, Any]
) -> None:
    found = server.get("/api/board", *words).data
    board = server.warehouse.leaderboard("tiny", ci=True, ties=True, **options)
    shown = found["rows"]
    assert [row["run"] for row in shown] == [row.run for row in board]
    for row, wanted in zip(shown, board, strict=True):
        metrics = {name: wanted[name] for name in found["metrics"]}
        assert row["values"] == metrics
        assert row["half_widths"] == {name: wanted[f"{name} \u00b1"] for name in metrics}
        assert row["place"] == wanted.place
    page = server.get("/tiny/", *words).page
    cells = [row[1].split("system of")[0] for row in page.cells[1:]]
    assert cells == [row.run for row in board]
    name, last = found["metrics"][0], found["metrics"][-1]
    marked = [row for row, cell in zip(board, page.cells[1:], strict=True) if "(best)" in cell[2]]
    assert {row.run for row in marked} == {
        row.run for row in board if row[name] == max(other[name] for other in board)
    }
    wanted_cells = [
        f"{row[last]:.0f}" if last == "NumRelRet" else f"{row[last]:.4f}" for row in board
    ]
    column = [row[1 + len(found["metrics"])] for row in page.cells[1:]]
    assert [one.partition("\u00b1")[0].replace(" (best)", "") for one in column] == wanted_cells
    assert page.wrong == []


@pytest.mark.slow
def test_a_board_is_filtered_ordered_and_cut_to_pages(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = server.get("/api/board", ("text", "BM25"), ("sort", "run"), ("reverse", "1")).data
    assert [row["run"] for row in found["rows"]] == ["bm25", "BM25"]
    assert (found["num_runs"], found["num_found"]) == (4, 2)
    found = server.get("/api/board", ("system", "system of ../up"), ("tag", f"kind={SCRIPT}")).data
    assert [row["run"] for row in found["rows"]] == ["../up"]
    monkeypatch.setattr("warehouse.extensions.server.live_board.ROWS", 3)
    whole = [row.run for row in server.warehouse.leaderboard("tiny")]
    pages = [server.get("/api/board", ("page", number)).data["rows"] for number in "12"]
    assert [[row["run"] for row in rows] for rows in pages] == [whole[:3], whole[3:]]
    assert "Page 2 of 2" in server.get("/tiny/", ("page", "2"), ("groups", "off")).page.text
    for words, told in (
        ([("page", "3")], "there are 2 pages"), ([("page", "x")], "whole number"),
        ([("sort", "AP")], "is not on this board"), ([("metric", "nDGC@3")], "did you mean nDCG"),
        ([("as_of", "2020-01-01")], "as of the end of 2020-01-01"), ([("qrels", "7")], "no version 7"),
        ([("slice", "x")], "no slice of that name"), ([("sord", "RR")], "did you mean sort"),
    ):  # fmt: skip
        for address in ("/api/board", "/tiny/"):
            answer = server.ask(address, *words)
            assert (answer.code, told in answer.text.replace("&#39;", "'")) == (400, True), (
                answer.text
            )


@pytest.mark.slow
def test_data_is_that_of_the_commands(server: Server) -> None:
    wh = server.warehouse
    run = server.get("/api/run", ("run", SCRIPT)).data
    (version,) = wh.show("tiny", SCRIPT)
    assert run["versions"][0]["content_hash"] == version.content_hash
    for row in wh.queries("tiny", SCRIPT, metrics=METRICS):
        assert run["queries"][row.query_id] == {name: row[name] for name in METRICS}
    query = server.get("/api/query", ("query", "q&<b>6</b>")).data
    told = wh.explain("tiny", SCRIPT, "q&<b>6</b>", "nDCG@3", top=3)
    shown = query["lists"][SCRIPT]
    assert [(one["doc_id"], one["relevance"]) for one in shown] == [
        (row.doc_id, row.relevance) for row in told if row.doc_id
    ]
    assert query["values"][SCRIPT] == run["queries"]["q&<b>6</b>"]
    pairs = server.get("/api/compare", *(("run", name) for name in RUNS[:3])).data["pairs"]
    wanted = wh.compare("tiny", RUNS[:3], METRICS, all_pairs=True, judged=False)
    names = ("base", "run", "difference", "low", "high", "p", "p_adjusted", "wins")
    assert [[row[name] for name in names] for row in pairs] == [
        [row[name] for name in names] for row in wanted
    ]
    history = server.get("/api/history", ("metric", "RR")).data["rows"]
    assert [(row["run"], row["value"]) for row in history] == [
        (row.run, row.value) for row in wh.history("tiny", "RR")
    ]
    # other metrics than the stored ones lead through all pages
    words = [("metric", "P@2")]
    address = f"/tiny/runs/{keys(RUNS)[SCRIPT]}.html"
    page = server.get(address, *words).page
    (value,) = [row["P@2"] for row in wh.leaderboard("tiny", metrics="P@2") if row.run == SCRIPT]
    assert repr(value) in page.text
    linked = [urljoin(address, link) for link in page.links if "?metric=P%402" in link]
    assert {link.split("/")[1] for link in linked} == {"tiny", "metrics"}
    for link in linked[:8]:
        server.get(link.partition("#")[0])


@pytest.mark.slow
def test_every_address_is_described(server: Server) -> None:
    described = server.get("/api/openapi.json").data["paths"]
    assert set(described) == {*(one.path for one in api.ENDPOINTS), "/api/sql"}
    words = {
        "/api/run": [("run", "bm25")], "/api/query": [("query", "q0")],
        "/api/compare": [("run", "bm25"), ("run", "BM25")],
    }  # fmt: skip
    for one in api.ENDPOINTS:
        asked = words.get(one.path, [])
        assert list(server.get(one.path, *asked).data) == list(one.keys)
    answer = server.ask("/api/board", ("dataset", "tinny"))
    assert (answer.code, answer.data) == (
        400, {"error": "tinny: no such dataset; did you mean tiny?"}
    )  # fmt: skip


@pytest.mark.slow
def test_pages_are_those_of_the_report(server: Server, tmp_path: Path) -> None:
    server.warehouse.report(tmp_path / "site", depth=3)
    compared = 0
    for path in sorted((tmp_path / "site").rglob("*")):
        name = path.relative_to(tmp_path / "site").as_posix()
        # a replica has tables of its own
        if path.is_dir() or name in ("report.json", "reference/schema.html"):
            continue
        answer = server.get(f"/{name}")
        if path.suffix != ".html":
            text = path.read_text(encoding="utf-8")
            assert re.sub(_STAMP, "", answer.text) == re.sub(_STAMP, "", text)
        elif not name.endswith("/index.html") or "queries" in name:
            found, wanted = answer.page, Page(path.read_text(encoding="utf-8"))
            assert found.cells == wanted.cells
            # what a server can be asked in addition
            for one in (*found.data, *wanted.data):
                if isinstance(one, dict):
                    one.pop("tests", None)
            assert found.data == wanted.data
            compared += 1
    assert compared > 15


def test_a_run_without_a_value_has_no_place(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "warehouse.duckdb")
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="old")
    wh.evaluate("tiny", metrics="AP")
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="new")
    wh.evaluate("tiny", metrics="P@1")
    past = ("as_of", dt.datetime.now(dt.UTC).isoformat())
    (tmp_path / "own").mkdir()
    found = replicas.Replicas(WarehouseFile(wh.path), tmp_path / "own", Resources(threads=1), 3)
    server = Server(application.application(found, _NoConsole(), None), found, wh)
    rows = server.get("/api/board", ("dataset", "tiny"), past, ("sort", "AP")).data["rows"]
    assert [(row["run"], row["place"], row["values"]["AP"]) for row in rows] == [
        ("old", 1, 1.0), ("new", None, None),
    ]  # fmt: skip
    assert "None" not in server.get("/tiny/", past, ("sort", "AP")).text


@pytest.mark.slow
def test_pages_of_analyses_and_of_past_days_have_the_numbers_of_the_commands(
    tmp_path: Path,
) -> None:
    wh = Warehouse(tmp_path / "rich.duckdb")
    fill_rich(wh)
    then = dt.datetime.now(dt.UTC).isoformat()
    wh.ingest_run(
        "rich", {f"q{n}": {"b": 2.0, "z": 1.0} for n in range(4)}, name="one", replace=True
    )
    wh.ingest_run("rich", {f"q{n}": {"b": 1.0} for n in range(4)}, name="late", system="S")
    wh.evaluate("rich", metrics=["nDCG@3", "AP"], slices="kind")
    (tmp_path / "own").mkdir()
    found = replicas.Replicas(WarehouseFile(wh.path), tmp_path / "own", Resources(threads=1), 3)
    server = Server(application.application(found, _NoConsole(), None), found, wh)

    for words, past in (([], {}), ([("as_of", then)], {"as_of": then})):
        asked = [("dataset", "rich"), *words]
        board = wh.leaderboard("rich", sort="nDCG@3", **past)
        rows = server.get("/api/board", *asked, ("sort", "nDCG@3")).data["rows"]
        assert [(row["run"], row["values"]["AP"]) for row in rows] == [
            (row.run, row.AP) for row in board
        ]
        assert ("late" in {row.run for row in board}) == (not past)
        run = server.get("/api/run", *asked, ("run", "one")).data
        (value,) = [row.AP for row in board if row.run == "one"]
        assert run["numbers"]["AP"]["value"] == value
        for row in wh.queries("rich", "one", metrics=["nDCG@3", "AP"], **past):
            values = {"nDCG@3": row["nDCG@3"], "AP": row.AP}
            assert run["queries"][row.query_id] == values
            query = server.get("/api/query", *asked, ("query", row.query_id)).data
            assert query["values"]["one"] == values
        history = server.get("/api/history", *asked).data["rows"]
        assert [(row["run"], row["value"]) for row in history if row["metric"] == "AP"] == [
            (row.run, row.value) for row in wh.history("rich", "AP", **past)
        ]
        parts = wh.leaderboard("rich", metrics=["nDCG@3", "AP"], slice="kind", **past)
        assert {
            (row["part"], row["run"], row["values"]["AP"])
            for row in server.get("/api/slices", *asked).data["rows"]
        } == {(row.part, row.run, row.AP) for row in parts}
        runs = [row.run for row in wh.leaderboard("rich", **past)]
        pairs = wh.compare("rich", runs, "nDCG@3", all_pairs=True, judged=False, **past)
        gains = {(row.base, row.run): row.difference for row in pairs}
        gains |= {(run, base): -difference for (base, run), difference in gains.items()}
        for row in server.get("/api/fusion", *asked).data["rows"]:
            assert row["gain"] == pytest.approx(gains[row["parent"], "both"], abs=1e-15)
            assert row["weight"] == (0.25 if row["parent"] == "one" else 0.75)
        keys_of = keys(runs)
        for path in (f"runs/{keys_of['one']}.html", "queries/q0.html", "history.html"):
            page = server.get(f"/rich/{path}", *words).page
            assert ("As of" in page.text) == bool(past)
            links = [link for link in page.links if "queries/" in link or "runs/" in link]
            assert all(("as_of=" in link) == bool(past) for link in links)
    asked = [("dataset", "rich")]
    first = server.ask("/api/slices", *asked)
    again = server.ask("/api/slices", *asked, if_none_match=first.headers["etag"])
    assert (again.code, again.body) == (304, b"")


@pytest.mark.slow
def test_what_a_reader_has_is_not_sent_again_until_the_warehouse_changes(server: Server) -> None:
    first = server.get("/api/home")
    again = server.ask("/api/home", if_none_match=first.headers["etag"])
    assert (again.code, again.body) == (304, b"")
    assert not server.replicas.refresh()
    server.warehouse.ingest_run("tiny", {"q0": {"b": 1.0}}, name="late")
    assert server.replicas.refresh()
    other = server.ask("/api/home", if_none_match=first.headers["etag"])
    assert other.code == 200
    assert "late" in other.text
    assert "late" in server.get("/").page.text
    server.warehouse.forget("tiny", "late")
    server.replicas.refresh()


@pytest.mark.slow
def test_a_replica_is_opened_again_when_it_is_replaced(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "replica.duckdb"
    server.warehouse.publish(path)
    found = replicas.Replicas(WarehouseFile(path), tmp_path, Resources(threads=1))
    before = found.snapshot
    assert not found.is_own
    assert not found.refresh()
    server.warehouse.publish(path)
    assert found.refresh()
    assert found.snapshot.stamp != before.stamp
    # whoever still reads the one before is not disturbed
    assert before.page("index.html")
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"broken")
    broken.replace(path)
    with pytest.raises(WarehouseError):
        found.refresh()
    assert found.snapshot.page("index.html")


def test_only_names_of_this_server_are_answered(server: Server) -> None:
    for host, code in (
        ("localhost", 200), ("127.0.0.1:8080", 200), ("[::1]:8080", 200), ("192.168.1.7", 200),
        ("WH.test:80", 200), ("evil.example", 421), ("localhost.evil.example", 421), ("", 421),
    ):  # fmt: skip
        assert server.ask("/api/home", host=host).code == code, host
    answer = server.ask("/nothing.html")
    assert answer.code == 404
    assert answer.headers["content-security-policy"] == guard.POLICY
    assert "unsafe" not in guard.POLICY
    assert "set-cookie" not in answer.headers
    for method in ("POST", "PUT", "DELETE"):
        assert server.ask("/tiny/", method=method).code == 405


def test_a_token_is_a_password(server: Server) -> None:
    locked = Server(
        application.application(server.replicas, _NoConsole(), TOKEN),
        server.replicas,
        server.warehouse,
    )

    def basic(word: str) -> str:
        return "Basic " + base64.b64encode(f"me:{word}".encode()).decode()

    for given, code in (
        ("", 401), (f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), (basic(TOKEN), 200),
        (f"Bearer {TOKEN[:-1]}", 401), (basic(TOKEN + "x"), 401), ("Basic !", 401), ("Basic 4A==", 401),
        (TOKEN, 401), ("Bearer \u00e9", 401),
    ):  # fmt: skip
        answer = locked.ask("/api/home", authorization=given)
        assert answer.code == code, given
        assert ("www-authenticate" in answer.headers) == (code == 401)
    assert locked.ask("/api/home", ("token", TOKEN)).code == 401
    with expect_refusal("0.0.0.0 … --token"):
        guard.check_token("0.0.0.0", None)
    with expect_refusal("16 characters"):
        guard.check_token("0.0.0.0", "short")
    for host in ("127.0.0.1", "localhost", "::1"):
        guard.check_token(host, None)


def test_only_pages_of_this_server_and_programs_run_sql(server: Server) -> None:
    body = b'{"sql": "select 1"}'
    refused = [
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "application/json", "origin": "http://evil.example"},
        {"content_type": "application/json", "sec_fetch_site": "cross-site"},
    ]
    for headers in refused:
        answer = server.ask("/api/sql", method="POST", body=body, **headers)
        assert answer.code == 415, headers
    assert server.ask("/api/sql").code == 404
    for wrong in (b"", b"[]", b'{"sql": 1}', b'"x"'):
        answer = server.ask("/api/sql", method="POST", body=wrong, content_type="application/json")
        assert answer.code == 400
    page = server.get("/sql", ("sql", "select '</textarea><script>' as x")).page
    assert "</textarea><script>" in page.text
    assert "predictions" in page.text


def test_a_port_in_use_and_a_missing_file_are_told_in_a_line(
    run: Any, server: Server, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = run("serve", "--db", str(server.warehouse.path), "--port", port)
    assert answer.code == 2
    assert f"127.0.0.1:{port}: cannot be opened" in answer.err
    assert "--port" in answer.err
    answer = run("serve", "--db", str(tmp_path / "none.duckdb"))
    assert (answer.code, "no such database" in answer.err) == (2, True)
    answer = run("serve", "--db", str(server.warehouse.path), "--host", "0.0.0.0")
    assert (answer.code, "--token" in answer.err) == (2, True)


def test_a_token_in_a_file(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, given = tmp_path / "token", []
    file.write_text(f"{TOKEN}\n")
    monkeypatch.setattr(
        "warehouse.extensions.server.serve", lambda *_, token, **__: given.append(token)
    )
    assert run("serve", "--token-file", str(file)).code == 0
    assert run("serve", "--token-file", str(file), "--token", TOKEN).code == 2
    assert run("serve", "--token-file", str(tmp_path / "no")).code == 2
    (tmp_path / "empty").write_text("\n")
    assert run("serve", "--token-file", str(tmp_path / "empty")).code == 2
    monkeypatch.setenv("WAREHOUSE_TOKEN_FILE", str(file))
    assert run("serve").code == 0
    assert given == [TOKEN, TOKEN]


@pytest.fixture
def sql(server: Server) -> Iterator[Any]:
    runs = console.Console()
    yield lambda text, format="json": runs.run(server.replicas.snapshot, text, format).content
    runs.close()


@pytest.mark.slow
def test_sql_has_the_rows_of_the_command_and_its_limits(
    server: Server, sql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    text = "select run, value from leaderboard where metric = 'RR' order by run"
    rows = server.warehouse.query(text).fetchall()
    assert [tuple(row.values()) for row in json.loads(sql(text))["rows"]] == rows
    pieces: list[str] = []
    server.warehouse.stream(text, write=pieces.append, format="csv")
    assert sql(text, "csv").decode() == "".join(pieces)
    (tmp_path / "rows.parquet").write_bytes(sql(text, "parquet"))
    assert duckdb.sql(f"from '{tmp_path}/rows.parquet'").fetchall() == rows
    found = json.loads(sql("select range as n from range(5000)"))
    assert (len(found["rows"]), found["is_cut_off"], found["limit"]) == (1000, True, 1000)
    for wrong, told in (
        ("from leaderbord", "leaderboard"), ("delete from store.run", "returns rows"),
        ("from read_text('/etc/passwd')", "disabled"), ("from runs; from runs", "one statement"),
    ):  # fmt: skip
        with pytest.raises(WarehouseError, match=told):
            sql(wrong)
    monkeypatch.setattr(console, "TIMEOUT", 0.3)
    with pytest.raises(WarehouseError, match=r"0\.3"):
        sql("select count(*) from range(1e12::bigint) as a, range(1e12::bigint) as b")
    assert json.loads(sql("select 1 as x"))["rows"] == [{"x": 1}]


def test_cells_keep_what_a_browser_cannot_count(sql: Any) -> None:
    """The order of columns also if their names are numbers, as after a pivot, and a head of nothing."""
    text = """
        select 'b' as "2020", 1 as "1", 'nan'::double as a, -'inf'::double as a, null as n, '' as e,
            9007199254740993 as h, 1.50::decimal(4, 2) as d, true as t, [1, null] as l
    """
    found = json.loads(sql(text, "cells"))
    assert found["columns"] == ["2020", "1", "a", "a", "n", "e", "h", "d", "t", "l"]
    assert found["rows"] == [
        ["b", 1, {"number": "nan"}, {"number": "-inf"}, None, "", {"number": "9007199254740993"},
         {"number": "1.50"}, True, "[1, null]"]
    ]  # fmt: skip
    empty = json.loads(sql("select 1 as x, 2 as y where false", "cells"))
    assert (empty["columns"], empty["rows"]) == (["x", "y"], [])


def test_many_heavy_statements_leave_the_pages_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 45 in one server, those that may neither run nor wait are told at once that it is busy."""
    let_go = threading.Event()

    def slow(*_: Any) -> console.Found:
        assert let_go.wait(30)
        return console.Found(b"[]", "application/json")

    monkeypatch.setattr(console.Console, "_run", slow)
    body = b'{"sql": "from runs"}'

    async def asked() -> list[list[int]]:
        ask = partial(
            server.asked, "/api/sql", method="POST", body=body, content_type="application/json"
        )
        found = [asyncio.create_task(ask()) for _ in range(45)]
        done: set[Any] = set()
        while len(done) < 45 - 8:
            done, rest = await asyncio.wait(found, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        page = await asyncio.wait_for(server.asked("/index.html"), 20)
        let_go.set()
        await asyncio.wait(rest)
        return [[one.result().code for one in some] for some in (done, rest)] + [[page.code]]

    try:
        done, rest, page = asyncio.run(asked())
    finally:
        let_go.set()
    assert (set(done), set(rest), page) == ({503}, {200}, [200])
    assert len(rest) == 8

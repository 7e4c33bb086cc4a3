"""The server: which address is answered by what."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from warehouse.errors import UsageError, WarehouseError
from warehouse.extensions.server import api, console, guard, live_board
from warehouse.extensions.server.live_board import View
from warehouse.extensions.server.replicas import Replicas
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.metrics import protocols
from warehouse.report.pages import rendering, site

_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "csv": "text/csv"}
# Bytes of a statement, and of an address.
_LONGEST = 1 << 20
Words = Sequence[tuple[str, str]]
Made = tuple[bytes, str]


def application(
    replicas: Replicas, run_sql: console.Console, token: str | None, names: Iterable[str] = ()
) -> Starlette:
    """Return the server as an ASGI application."""
    server = _Server(replicas, run_sql)
    routes = [
        *(Route(one.path, partial(server.data, one)) for one in api.ENDPOINTS),
        Route("/api/openapi.json", server.openapi),
        Route("/api/sql", server.sql, methods=["POST"]),
        Route("/{path:path}", server.page),
    ]
    # small pages are not worth the time
    middleware = [
        Middleware(guard.Guard, token=token, names=tuple(names)),
        Middleware(GZipMiddleware, minimum_size=2000, compresslevel=4),
    ]
    return Starlette(routes=routes, middleware=middleware)


class _Server:
    """Answers requests from the newest snapshot."""

    def __init__(self, replicas: Replicas, run_sql: console.Console) -> None:
        self._replicas, self._console = replicas, run_sql

    async def data(self, endpoint: api.Endpoint, request: Request) -> Response:
        """Answer with the data of a page."""

        def make(snapshot: Snapshot, words: Words) -> Made:
            found = api.plain(api.answer(endpoint, snapshot, words))
            return _json(found), "application/json"

        return await self._answer(request, make)

    async def openapi(self, request: Request) -> Response:
        """Answer with the description of the data."""
        return await self._answer(
            request, lambda snapshot, words: (_json(api.description()), "application/json")
        )

    async def page(self, request: Request) -> Response:
        """Answer with a page, a script or a stylesheet."""
        path = request.path_params["path"]
        if path.startswith("api/"):
            return _refusal(f"/{path}: no such address; /api/openapi.json has all", code=404)
        if path == "" or path.endswith("/"):
            path += "index.html"
        elif "." not in path.rpartition("/")[2] and path != "sql":
            return RedirectResponse(f"/{path}/", 308)
        asked = request.query_params
        if path.endswith("/index.html") and asked.get("protocol"):
            return await run_in_threadpool(self._other_protocol, path, request)
        return await self._answer(request, partial(_page, path), is_page=True)

    def _other_protocol(self, path: str, request: Request) -> Response:
        """Lead to the board of another protocol of the same dataset."""
        words = [(k, v) for k, v in request.query_params.multi_items() if k != "protocol" and v]
        snapshot, protocol = self._replicas.snapshot, request.query_params["protocol"]
        there = snapshot.at(path)
        if there is None or protocol not in protocols.catalogue():
            return _refusal(f"{protocol}: no such protocol", True, snapshot)
        folder = site.folder_of(there[0], protocol)
        return RedirectResponse(f"/{folder}/index.html{View.of(words).link()}", 303)

    async def sql(self, request: Request) -> Response:
        """Run a statement; only a page of this server, or a program, can ask for it."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or not guard.is_from_here(request.headers):
            return _refusal(
                "send the statement as application/json, from a page of this server", code=415
            )
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _LONGEST:
                return _refusal("the statement is too long", code=413)
        try:
            given = json.loads(body)
            sql, format = given["sql"], given.get("format", "json")
            if not isinstance(sql, str) or not isinstance(format, str):
                raise TypeError
        except (ValueError, TypeError, KeyError, AttributeError):
            return _refusal('send JSON as {"sql": "from runs", "format": "csv"}')
        try:
            found = await run_in_threadpool(self._console.run, self._replicas.snapshot, sql, format)
        except WarehouseError as error:
            return _refusal(str(error), code=503 if isinstance(error, console.BusyError) else 400)
        return Response(
            found.content, headers={"content-type": found.kind, "cache-control": "no-store"}
        )

    async def _answer(
        self,
        request: Request,
        make: Callable[[Snapshot, Words], Made | None],
        *,
        is_page: bool = False,
    ) -> Response:
        """Answer from the cache, or make the answer; an answer that the reader has is not sent again."""
        snapshot = self._replicas.snapshot
        words = request.query_params.multi_items()
        day = live_board.today() if request.query_params.get("as_of") else ""
        name = f"{snapshot.stamp} {day} {request.url.path}?{request.url.query}"
        tag = f'"{hashlib.sha256(name.encode()).hexdigest()[:24]}"'
        headers = {"etag": tag, "cache-control": "private, no-cache"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)

        def made() -> Made | None:
            kept = snapshot.answers.get(tag, lambda: make(snapshot, words) or (b"", ""))
            return kept if kept[1] else None

        try:
            found = await run_in_threadpool(made)
        except WarehouseError as error:
            return _refusal(str(error), is_page, snapshot)
        if found is None:
            return _refusal("There is no such page.", is_page, snapshot, code=404)
        return Response(found[0], headers=headers | {"content-type": found[1]})


def _page(path: str, snapshot: Snapshot, words: Words) -> Made | None:
    """Return a page."""
    if path == "sql":
        given = {"sql": dict(words).get("sql", ""), "views": console.schema(snapshot)}
        return _html("sql.html", "", "SQL", snapshot, None, given | {"limits": _limits()})
    there = snapshot.at(path)
    if there is not None and path == f"{site.folder_of(*there)}/index.html":
        return _board(snapshot, *there, words)
    metrics = tuple(value for key, value in words if key == "metric" and value)
    text = snapshot.page(path, metrics, live_board.then(words))
    if text is None:
        return None
    kind = _KINDS[path.rpartition(".")[2]]
    return text.encode("utf-8", "backslashreplace"), f"{kind}; charset=utf-8"


def _limits() -> dict[str, Any]:
    return {
        "shown": console.SHOWN, "most": console.MOST, "seconds": console.TIMEOUT,
        "memory": console.MEMORY,
    }  # fmt: skip


def _board(snapshot: Snapshot, dataset: str, protocol: str, words: Words) -> Made | None:
    view = View.of(words)
    contents = snapshot.contents(
        dataset, protocol, snapshot.metrics(dataset, protocol, view.metric), view.then
    )
    if contents is None:
        return None
    at = snapshot.kept.get(
        ("places", dataset, protocol, contents.names, contents.is_asked, contents.then),
        lambda: site.Paths(contents, is_live=True),
    )
    live = live_board.live_board(snapshot, contents, view)
    given = {
        "contents": contents,
        "board": live.board,
        "leaderboard": site.leaderboard_command(contents),
        "rows": live.board.rows,
        "live": live,
        "view": view,
        "choices": live_board.choices(snapshot, contents),
        "known_metrics": live_board.metric_names(),
        "others": (),
        "systems": live.systems,
        "tags": live.tags,
        "notes": (*(() if view.slice else contents.not_evaluated), *live.board.notes),
        "api_words": _api_words(dataset, protocol, words),
    }
    return _html("board.html", "../", "Board", snapshot, at, given)


def _api_words(dataset: str, protocol: str, words: Words) -> str:
    named = [("dataset", dataset), ("protocol", protocol)]
    not_data = ("groups", "intervals")
    return "?" + urlencode(
        [*named, *((key, value) for key, value in words if value and key not in not_data)]
    )


def _html(
    template: str,
    root: str,
    here: str,
    snapshot: Snapshot,
    at: site.Paths | None,
    values: dict[str, Any],
) -> Made:
    given = {"site": snapshot.about, "at": at, "here": here, **values}
    text = rendering.render(template, root, given)
    return text.encode("utf-8", "backslashreplace"), "text/html; charset=utf-8"


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def _refusal(
    text: str, is_page: bool = False, snapshot: Snapshot | None = None, code: int = 400
) -> Response:
    if is_page and snapshot is not None:
        content, kind = _html("refusal.html", "/", "", snapshot, None, {"text": text, "code": code})
        return Response(content, code, headers={"content-type": kind})
    return Response(_json({"error": text}), code, headers={"content-type": "application/json"})


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises UsageError if the port is taken or the host unknown."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        hint = (
            "; choose another with --port" if error.strerror and "in use" in error.strerror else ""
        )
        raise UsageError(
            f"{host}:{port}: cannot be opened: {error.strerror or error}{hint}"
        ) from None
    # else an answer in two packets waits for the reader's word that the first is there, 40 ms
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer requests until the program is interrupted."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, date_header=True,
        timeout_graceful_shutdown=3, lifespan="off",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])

"""`warehouse serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from warehouse.cli import options, output
from warehouse.config import project
from warehouse.errors import UsageError

SECTION, PLACE = "Share", 3
EXAMPLES = {
    "serve": (
        "warehouse serve",
        "warehouse serve --db replica.duckdb --port 9000",
        "warehouse serve --lake lake",
    )
}


def serve(
    host: Annotated[str, "The address to listen on; 0.0.0.0 is all of them."] = "127.0.0.1",
    port: Annotated[int, "The port; 0 takes a free one.", {"min": 0, "max": 65535}] = 8080,
    token: Annotated[
        str | None,
        "The password of readers, with any user name; needed beyond this machine.",
        {"envvar": "WAREHOUSE_TOKEN"},
    ] = None,
    token_file: Annotated[
        Path | None,
        "Take the password from a file, which no list of processes shows.",
        {"metavar": "FILE", "envvar": "WAREHOUSE_TOKEN_FILE"},
    ] = None,
    allow_host: Annotated[
        list[str] | None, "Another name of this server; repeatable.", {"metavar": "NAME"}
    ] = None,
    depth: Annotated[int, "Show so many documents of each list.", {"min": 1}] = 20,
    lake: Annotated[
        str | None,
        "Serve the values that a team has pushed into this lake, not the database.",
        {"metavar": "URL"},
    ] = None,
    *,
    database: options.LimitedFile,
) -> None:
    """Serve the pages of 'report' live, with more controls, SQL and JSON. Ctrl-C ends it.

    It reads a replica: the one that 'publish' writes, or a temporary one that it makes of a warehouse
    and keeps fresh, so that nobody who writes waits for readers. With --lake the replica is
    collected from a lake, and again when somebody has pushed. It writes nothing, and runs SQL in
    closed processes. Other machines reach it only with a token. Needs the extra "web": pip install
    'ranking-warehouse[web]'.
    """
    from warehouse.extensions import server

    if token_file is not None:
        if token is not None:
            raise UsageError("--token-file: goes without --token and WAREHOUSE_TOKEN")
        token = project.read_text(token_file).strip()
        if not token:  # nobody would be asked for it
            raise UsageError(f"{token_file}: holds no token")
    wh = database.open()
    try:
        server.serve(
            wh, host, port, token=token, allow_hosts=allow_host or (), depth=depth, lake=lake,
            say=output.say,
        )  # fmt: skip
    except KeyboardInterrupt:
        output.say("stopped")

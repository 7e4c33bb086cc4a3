"""The pages live: a read-only server over a replica that is kept fresh.

`replicas` keeps the newest replica open, `snapshot` answers from one, `live_board` has the controls
that only a server can have, `api` gives the data of the pages as JSON, `console` runs SQL, `guard` says
who may ask, and `application` puts them together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from warehouse.config.installation import adding
from warehouse.errors import UsageError, check_at_least, check_names
from warehouse.extensions.server.guard import check_token

if TYPE_CHECKING:
    from warehouse.warehouse import Warehouse

_THREADS = 2


def serve(
    warehouse: Warehouse,
    host: str = "127.0.0.1",
    port: int = 8080,
    *,
    token: str | None = None,
    allow_hosts: str | Iterable[str] = (),
    depth: int = 20,
    lake: str | os.PathLike[str] | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Serve the pages of `report` live until the program is interrupted.

    The pages are read from a replica: the file of the warehouse, if it is one, else a temporary one
    that is made again when this file changes, or of what was pushed into a `lake`. Beyond this
    machine, readers need the `token`. Requests are answered under addresses, localhost, the machine's
    name and `allow_hosts`. `say` is told the address, and what goes wrong later. Needs the extra "web".
    Raises UsageError for a host or port that cannot be opened.
    """
    file, names = warehouse.file, check_names("allow_hosts", allow_hosts)
    lake = None if lake is None else os.fspath(lake)
    try:
        from warehouse.extensions.server import application
    except ImportError:
        raise UsageError(
            f"'warehouse serve' needs Starlette and uvicorn: {adding('web')}"
        ) from None
    from warehouse.extensions.server import console, replicas

    check_at_least(1, depth=depth)
    check_token(host, token or None)
    if lake is None:
        file.existing()
    listening = application.bound(host, port)
    with listening:
        resources = replace(file.resources, threads=file.resources.threads or _THREADS)
        with replicas.followed(file, resources, depth, say, lake) as found:
            run_sql = console.Console()
            try:
                app = application.application(found, run_sql, token or None, [host, *names])
                shown = f"[{host}]" if ":" in host else host
                kind = "its replica, kept fresh" if found.is_own else "a replica"
                port = listening.getsockname()[1]
                say(
                    f"serving {lake or file.path} ({kind}) at http://{shown}:{port}/; Ctrl-C ends it"
                )
                application.serve(app, listening)
            finally:
                run_sql.close()

"""The pages live: a read-only server over a replica that is kept fresh.

`replicas` keeps the newest replica open, `snapshot` answers from one, `live_board` has the controls
that only a server can have, `api` gives the data of the pages as JSON, `console` runs SQL, `guard` says
who may ask, and `application` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from warehouse.config.installation import adding
from warehouse.errors import UsageError, check_at_least
from warehouse.report.server.guard import check_token
from warehouse.store.file import WarehouseFile

_THREADS = 2


def serve(
    file: WarehouseFile,
    host: str,
    port: int,
    *,
    token: str | None,
    names: Iterable[str],
    depth: int,
    say: Callable[[str], object],
    lake: str | None = None,
) -> None:
    """Serve the pages until the program is interrupted, as `Warehouse.serve` does."""
    try:
        from warehouse.report.server import application
    except ImportError:
        raise UsageError(
            f"'warehouse serve' needs Starlette and uvicorn: {adding('web')}"
        ) from None
    from warehouse.report.server import console, replicas

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

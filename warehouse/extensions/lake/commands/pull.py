"""`warehouse pull`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options
from warehouse.cli.output import say_loaded
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Share", 7
EXAMPLES = {"pull": ("warehouse pull --lake lake --db mine.duckdb",)}


def pull(
    lake: Annotated[
        str,
        typer.Option(
            "--lake", metavar="URL", help="The lake: a folder, or a URL as s3://bucket/lake."
        ),
    ],
    dataset: options.AnyDataset = None,
    runs: options.Runs = None,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load runs and qrels of colleagues from a lake, to compute other metrics.

    The runs are those whose predictions somebody has pushed with 'warehouse push --with-runs', and the
    qrels those that are current in the lake. Each is loaded only if its rows have the hash that the
    lake knows it by. What 'warehouse evaluate' then computes can be pushed. Needs the extra "lake".
    """
    from warehouse.extensions.lake import contents
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    for done in contents.pull(wh, lake, dataset, runs or ()):
        say_loaded(done)

"""`warehouse collect`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Share", 6
EXAMPLES = {"collect": ("warehouse collect --lake lake --db team.duckdb",)}


def collect(
    lake: Annotated[
        str,
        typer.Option(
            "--lake", metavar="URL", help="The lake: a folder, or a URL as s3://bucket/lake."
        ),
    ],
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Make a file of what a team has pushed into a lake.

    The file has the runs and values of all, for boards, comparisons, pages and SQL, but no
    predictions and judgments. It is a replica: the next collect replaces it, and nothing else
    writes into it. Needs the extra "lake".
    """
    from warehouse.warehouse import Warehouse

    made = Warehouse(db, lock_timeout=lock_timeout).collect(lake)
    output.say(f"{made.path}: collected from {lake}, {made.size / 1e6:,.1f} MB")

"""`warehouse collect`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import lakes, options, output
from warehouse.errors import UsageError

SECTION, PLACE = "Share", 6
EXAMPLES = {"collect": ("warehouse collect --lake lake --db team.duckdb",)}


def collect(
    lake: Annotated[
        str, "The lake: a folder, or a URL as s3://bucket/lake.", "--lake", {"metavar": "URL"}
    ],
    as_of: Annotated[
        str | None,
        "Collect the state after this push: see 'warehouse lake versions'.",
        {"metavar": "version:N"},
    ] = None,
    *,
    database: options.File,
) -> None:
    """Make a file of the values that a team has pushed into a lake.

    The file has the runs and values of all, for boards, comparisons, pages and SQL, but no
    predictions and judgments. It is a replica: the next collect replaces it, and nothing else
    writes into it. Needs the extra "lake".
    """
    from warehouse.extensions.lake import shared_lake

    version = lakes.version(as_of)
    if as_of is not None and version is None:
        raise UsageError(
            f"--as-of {as_of}: give version:N; a collected file has the boards of all days: "
            f"warehouse leaderboard --as-of {as_of}"
        )
    wh = database.open()
    made = shared_lake.collect(lake, wh.path, version=version, lock_timeout=database.lock_timeout)
    for note in made.notes:
        output.say(note)
    output.say(f"{made.path}: collected from {lake}, {made.size / 1e6:,.1f} MB")

"""Look after a lake that a team shares."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import output
from warehouse.errors import counted, visible

SECTION, PLACE = "Share", 7
EXAMPLES = {
    "lake optimize": ("warehouse lake optimize lake",),
    "lake versions": ("warehouse lake versions lake",),
    "lake views": ("warehouse lake views",),
}


def optimize(
    lake: Annotated[str, "The lake: a folder, or a URL as s3://bucket/lake.", {"metavar": "URL"}],
) -> None:
    """Join the small files of a lake.

    Many pushes leave many small files, which are slow to read. Each dataset's rows come into files
    of 128 MB; readers and pushes go on meanwhile, and nothing that they see changes. The small files
    stay, for those who read an earlier version of the lake. Needs the extra "lake".
    """
    from warehouse.extensions.lake import shared_lake

    for table, (before, after) in shared_lake.optimize(lake).items():
        output.say(
            f"{lake}/{table}: {counted(before.count, 'file')} of {before.size / 1e6:,.3f} MB before, "
            f"{after.count:,} of {after.size / 1e6:,.3f} MB now"
        )


def versions(
    lake: Annotated[str, "The lake: a folder, or a URL as s3://bucket/lake.", {"metavar": "URL"}],
) -> None:
    """List the versions of a lake, the newest first.

    Each push that adds something is a version, and so is each 'lake optimize' of the evaluations.
    Each line has its number, the time of its writing in UTC, and who wrote it. 'leaderboard',
    'history' and 'collect' take the number: --as-of version:N. Needs the extra "lake".
    """
    from warehouse.extensions.lake import shared_lake

    lines = [
        f"{number}\t{at:%Y-%m-%dT%H:%M:%SZ}\t{visible(by)}\n"
        for number, at, by in shared_lake.versions(lake)
    ]
    output.emit("".join(lines), None)


def views() -> None:
    """Print SQL with which other engines read a lake.

    Spark, Trino and others read the tables as they are, but rows may stand twice there, and values
    before they are visible. These views have each row once, with the current runs, values and board.
    """
    from warehouse.extensions.lake import shared_lake

    output.emit(shared_lake.views(), None)

"""Look after a lake that a team shares."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options, output
from warehouse.errors import counted

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
    table: options.Table,
) -> None:
    """List the versions of a lake, the newest first.

    Each push that adds something is a version, and so is each 'lake optimize' of the evaluations.
    The times are in UTC; 'by' is the user and the host. 'leaderboard', 'history' and 'collect' take the
    number: --as-of version:N. Needs the extra "lake".
    """
    from warehouse.analyze.protocol_catalogue import relation
    from warehouse.extensions.lake import shared_lake

    rows = [
        (number, f"{at:%Y-%m-%d %H:%M:%S}", by) for number, at, by in shared_lake.versions(lake)
    ]
    table.show(relation(("version", "written", "by"), rows))


def views() -> None:
    """Print SQL with which other engines read a lake.

    Spark, Trino and others read the tables as they are, but rows may stand twice there, and values
    before they are visible. These views have each row once, with the current runs, values and board.
    """
    from warehouse.extensions.lake import shared_lake

    output.emit(shared_lake.views(), None)

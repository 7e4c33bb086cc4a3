"""`warehouse push`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options, output

SECTION, PLACE = "Share", 5
EXAMPLES = {
    "push": (
        "warehouse push --lake lake",
        "warehouse push --lake lake --make-current",
        "warehouse push --lake lake --with-runs",
    )
}


def push(
    lake: Annotated[
        str, "The lake: a folder, or a URL as s3://bucket/lake.", "--lake", {"metavar": "URL"}
    ],
    make_current: Annotated[
        bool,
        "Make the current qrels of this file those of the lake: its boards, for all, are then "
        "against them.",
    ] = False,
    with_runs: Annotated[
        bool,
        "Push the predictions and judgments too, so that others can compute more metrics: "
        "warehouse pull.",
    ] = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Push runs and values into a lake that a team shares.

    A lake is a folder of Delta tables, which many may write at once. Only missing rows are
    added: the same push twice changes nothing. Values come before the row that makes them visible,
    so that nobody sees an evaluation by half. Predictions and judgments stay in the file, unless
    --with-runs pushes the current runs and qrels. What is
    current in the lake stays so: newer qrels of a dataset take their place with --make-current.
    Needs the extra "lake".
    """
    from warehouse.extensions.lake import shared_lake

    wh = database.open()
    added = shared_lake.push(wh.file, lake, make_current=make_current, with_runs=with_runs)
    for note in added.notes:
        output.say(note)
    output.say(f"{lake}: {shared_lake.summary(added) if any(added.values()) else 'has all of it'}")

"""`warehouse report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from warehouse.cli import options, output
from warehouse.cli.progress import Progress

SECTION, PLACE = "Share", 2
EXAMPLES = {"report": ("warehouse report site -d dl19 -m nDCG@10 --open",)}


def report(
    folder: Annotated[Path, "The folder to write.", {"metavar": "DIR"}],
    dataset: Annotated[
        list[str] | None, "Name of a dataset; repeatable. Default: all.", "-d"
    ] = None,
    metric: options.Metrics = None,
    depth: Annotated[int, "Show so many documents of each list.", {"min": 1}] = 20,
    with_text: Annotated[bool, "Show the texts of queries and documents."] = False,
    open_it: Annotated[bool, "Open the first page in a browser.", "--open"] = False,
    *,
    database: options.File,
) -> None:
    """Write pages that open in a browser: boards, runs, queries, comparisons and more.

    The folder has plain files: it needs no server and no network, and can be put on a web page, in
    an archive or into a mail. It must be new, empty, or an earlier report, which is replaced. The
    pages have every protocol that a dataset has values of, by default with all metrics. Every value
    leads to its inputs. Boards have intervals, and runs that cannot be told apart
    share a range of places, as in 2-5.
    """
    wh = database.open()
    with Progress("writing", "dataset") as step:
        made = wh.report(
            folder, dataset or (), metrics=metric or (), depth=depth, with_text=with_text,
            on_dataset=step,
        )  # fmt: skip
    output.say(f"{made.path}: written, {made.num_files:,} files, {made.size / 1e6:,.1f} MB")
    if open_it:
        import webbrowser

        if not webbrowser.open(made.path.absolute().as_uri()):
            output.say("no browser was found: open the file yourself")

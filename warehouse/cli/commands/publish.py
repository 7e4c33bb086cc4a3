"""`warehouse publish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress
from warehouse.errors import UsageError

if TYPE_CHECKING:
    from warehouse.report.replica import Published

SECTION, PLACE = "Share", 1
EXAMPLES = {"publish": ("warehouse publish replica.duckdb", "warehouse publish --parquet replica")}


def publish(
    path: Annotated[
        Path | None, typer.Argument(help="The DuckDB file to write.", show_default=False)
    ] = None,
    parquet: Annotated[Path | None, "Write a folder of Parquet files.", {"metavar": "DIR"}] = None,
    with_text: Annotated[bool, "Include the texts of queries and documents."] = False,
    storage_version: Annotated[
        str, "The oldest DuckDB version that must be able to read the file."
    ] = "v1.4.0",
    *,
    database: options.LimitedFile,
) -> None:
    """Write a replica that notebooks and BI tools can keep open.

    The new replica is written completely before it replaces the old one. The folder of Parquet
    files has one file for each table and view, and manifest.json lists their contents. Texts of
    queries and documents stay out without --with-text, as their licences may not allow it.
    """
    if path is None and parquet is None:
        raise UsageError("say where: warehouse publish FILE, or --parquet DIR")
    for given in (path, parquet):
        if given == Path("-"):
            raise UsageError("-: a replica is not written to stdout; name a file, or --parquet DIR")
    wh = database.open()
    if path is not None:
        with Progress("publishing"):
            made = wh.publish(path, with_text=with_text, storage_version=storage_version)
        _say_published(made)
    if parquet is not None:
        with Progress("publishing"):
            made = wh.publish_parquet(parquet, with_text=with_text)
        _say_published(made)


def _say_published(made: Published) -> None:
    output.say(
        f"{made.path}: published, {made.relations} tables and views, {made.size / 1e6:,.1f} MB"
    )

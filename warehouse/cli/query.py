"""`warehouse query`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.errors import UsageError


def query(
    sql: Annotated[
        str | None, typer.Argument(help="One SQL statement; - reads it from stdin.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read the statement from this file.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="Bind $NAME; may be given again."),
    ] = None,
    choice: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT|FILE",
            help="A format (table, json, jsonl, csv, tsv, markdown, latex, parquet with -o), or a "
            "file to read the statement from.",
        ),
    ] = None,
    out: options.Output = None,
    places: options.Places = 4,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = 30.0,
) -> None:
    """Ask anything in SQL. The database is open for reading only, closed to files and network.

    Start from the views leaderboard, run_scores, query_scores and runs; see: warehouse schema.
    """
    from warehouse.report import formats
    from warehouse.warehouse import Warehouse

    format = "table"
    for word in choice or ():
        if word in formats.FORMATS or not Path(word).is_file():
            format = formats.check(word)
        else:
            file = Path(word)
    if (sql is None) == (file is None):
        raise UsageError("give the SQL, or a file with it: warehouse query SQL | -f FILE")
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    else:
        text = sys.stdin.read() if sql == "-" else str(sql)
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    result = wh.query(text, out, **options.pairs(param, "--param"))
    output.show(result, format, out, places=places)
    if not result.limit(1).fetchall():
        output.say("no rows")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("query"))(query)

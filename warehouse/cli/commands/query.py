"""`warehouse query`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError

SECTION, PLACE = "Look", 6
EXAMPLES = {
    "query": (
        "warehouse query \"from leaderboard where metric = 'AP' order by place\"",
        "warehouse query 'select count(*) as judgments from qrels where query_id = $q' -p q=19335",
        "warehouse query 'from predictions' --limit 5 -f csv",
        "warehouse query 'from history' --timeout 5 -f parquet -o history.parquet",
    )
}

SHOWN = 1000


def query(
    sql: Annotated[
        str | None, typer.Argument(help="One SQL statement; - reads it from stdin.")
    ] = None,
    file: Annotated[Path | None, "Read the statement from this file."] = None,
    param: Annotated[
        list[str] | None, "Bind $NAME; repeatable.", "-p", {"metavar": "NAME=VALUE"}
    ] = None,
    *,
    table: options.Table,
    limit: Annotated[
        int | None,
        "Print at most this many rows.",
        {
            "min": 1,
            "show_default": "1,000 in table, markdown, latex and html; all in the other formats",
        },
    ] = None,
    timeout: Annotated[
        float, "Stop the query after this many seconds; 0 means never.", {"min": 0}
    ] = 60.0,
    places: options.Places = 4,
    db: options.Database = None,
    memory_limit: Annotated[
        str | None,
        "Memory for DuckDB, as in 1GB.",
        {"show_default": "4 GB, or half of the machine's"},
    ] = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Run an SQL query, read-only.

    The query has no access to files or network. Start from the views: leaderboard, scores,
    query_scores, runs, qrels, predictions, history. For their columns and examples, run: warehouse
    schema
    """
    from warehouse.report import formats
    from warehouse.warehouse import Warehouse

    if (sql is None) == (file is None):
        raise UsageError("give the SQL, or a file with it: warehouse query SQL | --file FILE")
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise UsageError(f"{file}: is not UTF-8: save it as UTF-8") from None
    else:
        text = sys.stdin.read() if sql == "-" else str(sql)
    if limit is None and table.format in formats.FOR_PEOPLE:
        limit = SHOWN
    params = options.pairs(param, "--param")
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    seconds = timeout or None
    if table.format == "parquet":
        target = output.parquet_file(table.out)
        answer = wh.stream_parquet(text, target, params, limit=limit, timeout=seconds)
        output.say(f"wrote {target}")
    else:
        screen = output.screen_for(table.format, table.out, digits=places, wide=table.wide)
        with output.open_writer(table.out, table.format) as write:
            answer = wh.stream(
                text, params, write=write, format=screen or table.format, limit=limit,
                places=places, timeout=seconds,
            )  # fmt: skip
    if answer.rows == 0:
        output.say("no rows")
    elif answer.truncated:
        output.say(
            f"only the first {answer.rows:,} rows: --limit N gives more, -f csv all"
            if limit == SHOWN and table.format in formats.FOR_PEOPLE
            else f"only the first {answer.rows:,} rows, as --limit says"
        )
    if answer.note:
        output.say(answer.note)

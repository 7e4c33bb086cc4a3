"""`warehouse ingest attributes` and `warehouse attributes`."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import counted


def ingest(
    file: Annotated[
        str, typer.Argument(help="The file; - is stdin. May be .gz, .bz2, .xz or .zst.")
    ],
    dataset: options.Dataset,
    of: Annotated[str, typer.Option("--of", help="What the rows describe: docs or queries.")],
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the table of attributes; default: the file's stem."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option("--id", help="The column that holds the ids; default: doc_id or query_id."),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            "--split",
            metavar="COLUMN=SEP",
            help="Split the text of a column into lists, as in genres='|'; repeatable.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of the file: csv, tsv, jsonl or parquet; default: guessed from the file.",
        ),
    ] = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load attributes of documents or queries.

    The file is CSV or TSV with a header, JSON Lines or Parquet. There is one row per id; each other
    column is an attribute: numbers, text, booleans, dates, or lists of them. An empty cell means no
    value. Loading the same content again does nothing ("unchanged").
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    loaded = wh.ingest_attributes(
        dataset,
        file,
        of=cast(Literal["docs", "queries"], of),
        name=name,
        id=id,
        split=options.pairs(split, "--split"),
        format=format,
        normalise=normalise,
        replace=replace,
    )
    version = f", version {loaded.version}" if loaded.status == "replaced" else ""
    subject = "document" if of == "docs" else "query"
    columns = ", ".join(f"{column} {kind}" for column, kind in loaded.columns.items())
    output.say(
        f"{loaded.name}: {loaded.status}{version} ({counted(loaded.num_values, 'value')} of "
        f"{counted(loaded.num_subjects, subject)}: {columns})"
    )


def attributes(
    dataset: options.AnyDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the attributes of documents and queries."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).attributes(dataset)
    output.show(found, format, out)


def register_ingest(group: typer.Typer) -> None:
    """Add the command to the group `ingest`."""
    group.command(name="attributes", epilog=epilog("ingest attributes"))(ingest)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("attributes"))(attributes)

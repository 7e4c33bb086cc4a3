"""`warehouse curve`, `warehouse curves` and `warehouse curves show`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.config.settings import LOCK_TIMEOUT


def curve(
    name: Annotated[
        str, typer.Argument(help="A curve, as in ROC, 'ROC(rel=2)@100' or PrecisionRecall.")
    ],
    dataset: options.OneDataset = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", "-r", help="A run; repeatable. Default: all."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", help="Show the curve of this query; default: of all queries."),
    ] = None,
    protocol: options.Protocol = "default",
    format: Annotated[
        str,
        options.formats_of(
            "table, json, jsonl, csv, tsv, markdown, latex or parquet for the points; svg, png, pdf "
            "or html for a picture (with -o).",
            ["svg", "png", "pdf", "html"],
        ),
    ] = "table",
    out: options.Output = None,
    places: options.Places = 4,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show a curve of some runs: its points, or a picture of it.

    Missing or stale curves are computed first. A picture needs the extra "plot".
    """
    from warehouse.errors import UsageError
    from warehouse.report import pictures
    from warehouse.warehouse import Warehouse

    drawn = format in pictures.FORMATS
    if drawn:
        pictures.check(format, out)
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    with output.Progress("computing", 1) as step:
        found = wh.curve(
            dataset, name, runs=run or (), query=query, protocol=protocol, on_curve=step
        )
    if not drawn or out is None:
        output.show(found, format, out, places=places)
        return
    for note in found.notes:
        output.say(note)
    shown = list(found.runs)
    if not shown:
        raise UsageError(f"{found.metric}: there is nothing to draw")
    if not run and len(shown) > pictures.MOST_LINES:
        best = set(found.best(pictures.MOST_LINES))
        output.say(
            f"the picture has the best {len(best)} of {len(shown)} runs; choose others with --run"
        )
        shown = [one for one in shown if one in best]
    with output.written(out) as path:
        pictures.draw(found.details, shown, path, format)


def curves(
    context: typer.Context,
    format: options.Format = "table",
    out: options.Output = None,
) -> None:
    """List the curves with their titles.

    The formats other than table also have the summaries, parameters and the names in other
    programs.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import curve_catalogue

    output.show(curve_catalogue.curves_for_people(format), format, out)
    output.say(
        "one in full: warehouse curves show NAME; its points: warehouse curve NAME -d DATASET"
    )


def show(
    names: Annotated[
        list[str], typer.Argument(help="Curves by any of their names, as in ROC or recall@k.")
    ],
    protocol: options.Protocol = "default",
) -> None:
    """Show a curve: formula, axes, parameters, other names and SQL."""
    from warehouse.analyze import curve_catalogue

    output.emit(curve_catalogue.describe(*names, protocol=protocol), None)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=epilog("curve"))(curve)
    group = typer.Typer(
        invoke_without_command=True,
        callback=curves,
        epilog=epilog("curves"),
        rich_markup_mode=None,
    )
    group.command(epilog=epilog("curves show"))(show)
    app.add_typer(group, name="curves")

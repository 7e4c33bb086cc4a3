"""`warehouse metrics` and `warehouse metrics show`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog


def metrics(
    context: typer.Context,
    format: options.Format = "table",
    out: options.Output = None,
) -> None:
    """List the metrics: name, direction, parameters and what each says.

    A project adds its own: files NAME.sql.j2, written as 'metrics show' prints the package's, in the
    folder that the key "metrics" of warehouse.toml names. Their origin is "project".
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import pages

    output.show(pages.metrics(), format, out)
    output.say("more of one: warehouse metrics show NAME")


def show(
    name: Annotated[
        str, typer.Argument(help="A metric by any of its names, as in nDCG@10 or map.")
    ],
    protocol: options.Protocol = "default",
) -> None:
    """Show one metric: formula, parameters, direction, reference, its names elsewhere and its SQL."""
    from warehouse.analyze import pages

    output.emit(pages.describe(name, protocol), None)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        invoke_without_command=True,
        callback=metrics,
        epilog=epilog("metrics"),
        rich_markup_mode=None,
    )
    group.command(epilog=epilog("metrics show"))(show)
    app.add_typer(group, name="metrics")

"""`warehouse config show`."""

from __future__ import annotations

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.config import project


def show(
    context: typer.Context,
    config: options.Config = None,
    format: options.Format = "table",
    out: options.Output = None,
    db: options.Database = None,
) -> None:
    """Show every setting and where it comes from.

    A setting comes from an option, the environment, a line of a file or a default. The whole file
    is checked; a wrong key, name or value is an error.
    """
    from warehouse.sync import project_settings

    source = context.get_parameter_source("db")
    from_option = source is not None and source.name == "COMMANDLINE"
    with project.using(config):
        output.show(project_settings.settings(db if from_option else None), format, out)


def register(app: typer.Typer) -> None:
    """Add the command."""
    group = typer.Typer(help="Show the settings.", no_args_is_help=True, rich_markup_mode=None)
    group.command(epilog=epilog("config show"))(show)
    app.add_typer(group, name="config")

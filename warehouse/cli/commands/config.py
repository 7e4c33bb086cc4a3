"""Show the settings, and the keys of warehouse.toml."""

from __future__ import annotations

import typer

from warehouse.cli import options, output
from warehouse.config import project

SECTION, PLACE = "Begin", 3
EXAMPLES = {
    "config show": ("warehouse config show", "warehouse config show -f json"),
    "config schema": ("warehouse config schema -o warehouse.schema.json",),
}


def show(
    context: typer.Context,
    config: options.Config = None,
    *,
    table: options.Table,
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
        table.show(project_settings.settings(db if from_option else None))


def schema(out: options.Output = None) -> None:
    """Print the JSON schema of warehouse.toml, for editors.

    Name the file on the first line of warehouse.toml: #:schema ./warehouse.schema.json
    """
    from warehouse.config.project_file import json_schema

    output.emit(json_schema() + "\n", out, "json")

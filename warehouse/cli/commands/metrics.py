"""`warehouse metrics`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

SECTION, PLACE = "Catalogue", 1
EXAMPLES = {
    "metrics": ("warehouse metrics", "warehouse metrics -f markdown"),
    "metrics show": ("warehouse metrics show nDCG", "warehouse metrics show nDCG@10 map_cut_100"),
}


def metrics(context: typer.Context, table: options.Table) -> None:
    """List the metrics with their direction and title.

    The formats other than table also have the summaries, parameters and the names in other
    programs; optional parts are in brackets. To add a metric, write a file NAME.sql.j2, in the
    form that 'metrics show' prints, into the folder that the key "metrics" of warehouse.toml names.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import metric_catalogue
    from warehouse.metrics.catalogue import MATURITY, broken

    table.show(metric_catalogue.metrics_for_people(table.format))
    for problem in broken().values():
        output.warn(f"left out: {problem}")
    if table.format == "table":
        for word, mark in metric_catalogue.MARKS.items():
            output.say(f"{mark} {word}: {MATURITY[word]}")
    output.say(
        "one in full: warehouse metrics show NAME; all with summaries: warehouse metrics -f markdown"
    )


def show(
    names: Annotated[
        list[str], "Metrics by any of their names, as in nDCG, nDCG@10 or map_cut_100."
    ],
    protocol: options.Protocol = "default",
) -> None:
    """Show a metric: formula, parameters, other names and SQL."""
    from warehouse.analyze import metric_catalogue

    output.emit(metric_catalogue.describe(*names, protocol=protocol), None)

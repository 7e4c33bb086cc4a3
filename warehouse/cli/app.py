"""The application: every command, each in its own module."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import (
    attributes,
    config,
    curve,
    deciles,
    demo,
    evaluate,
    ingest,
    init,
    leaderboard,
    listings,
    metrics,
    protocols,
    queries,
    query,
    schema,
    score,
    slices,
    sync,
    watch,
)
from warehouse.settings import VERSION

app = typer.Typer(
    name="warehouse",
    help="""Ranking evaluation in one DuckDB file: load runs and qrels, compute every metric in SQL,
    read leaderboards.

    New here? Start with: warehouse demo
    """,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"warehouse {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


demo.register(app)
init.register(app)
ingest.register(app)
config.register(app)
sync.register(app)
watch.register(app)
evaluate.register(app)
leaderboard.register(app)
queries.register(app)
curve.register(app)
score.register(app)
query.register(app)
listings.register(app)
attributes.register(app)
slices.register(app)
deciles.register(app)
metrics.register(app)
protocols.register(app)
schema.register(app)

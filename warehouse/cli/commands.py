"""The commands and their modules, so that a call imports only the one it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated

import typer

from warehouse.cli.values import Command, Group, Listing
from warehouse.config.settings import VERSION

# In the order of the help, with groups of commands last.
MODULES: Mapping[str, str] = {
    "demo": "demo",
    "init": "init",
    "ingest": "ingest",
    "config": "config",
    "sync": "sync",
    "watch": "watch",
    "evaluate": "evaluate",
    "leaderboard": "leaderboard",
    "queries": "queries",
    "curve": "curve",
    "fuse": "fuse",
    "score": "score",
    "query": "query",
    "publish": "publish",
    "shell": "shell",
    "runs": "listings",
    "datasets": "listings",
    "attributes": "attributes",
    "slices": "slices",
    "compare": "compare",
    "check": "check",
    "agree": "agree",
    "reproduce": "reproduce",
    "holes": "holes",
    "history": "history",
    "show": "explain",
    "explain": "explain",
    "status": "status",
    "verify": "status",
    "forget": "forget",
    "qrels": "qrels",
    "deciles": "deciles",
    "metrics": "metrics",
    "curves": "curve",
    "fusions": "fuse",
    "protocols": "protocols",
    "schema": "schema",
}


def application(command: str | None = None) -> typer.Typer:
    """Return the application with one command, or with all if the word is none of them."""
    app = typer.Typer(
        name="warehouse",
        cls=Group,
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
    app.callback()(_root)
    module = MODULES.get(command or "")
    for name in [module] if module else dict.fromkeys(MODULES.values()):
        register: Callable[[typer.Typer], None] = import_module(f"warehouse.cli.{name}").register
        register(app)
    _take_plainly(app)
    return app


def _take_plainly(app: typer.Typer) -> None:
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = Listing
            _take_plainly(group.typer_instance)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"warehouse {VERSION}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass

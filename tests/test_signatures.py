"""The parameters of a command: groups of options, and options with a help alone."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from warehouse.cli import options
from warehouse.cli.signatures import expanded

pytestmark = pytest.mark.core


@dataclass(frozen=True)
class Limits:
    at_most: Annotated[int, "Not more than this.", "-n", {"min": 1}] = 5
    exact: Annotated[bool, "Count every one."] = False


def command(
    what: Annotated[str, "What to count."],
    *,
    limits: Limits,
    seed: Annotated[int, "Of the random numbers.", "--start"] = 0,
) -> None:
    """Count."""
    typer.echo(f"{what} {limits.at_most} {limits.exact} {seed}")


def called(*words: str) -> Any:
    app = typer.Typer()
    app.command()(expanded(command))
    return CliRunner().invoke(app, words)


def test_a_group_is_its_options_in_their_place() -> None:
    parameters = inspect.signature(expanded(command)).parameters
    assert list(parameters) == ["what", "at_most", "exact", "seed"]
    shown = called("--help").output
    names = ["--at-most", "--exact", "--start"]
    assert [shown.index(name) for name in names] == sorted(shown.index(name) for name in names)
    assert "--seed" not in shown
    assert "--no-exact" not in shown
    assert "Not more than this." in shown


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["runs"], "runs 5 False 0\n"),
        (["runs", "-n", "2", "--exact", "--start", "7"], "runs 2 True 7\n"),
        (["runs", "--at-most", "3"], "runs 3 False 0\n"),
    ],
)
def test_a_command_gets_its_groups(words: list[str], output: str) -> None:
    assert called(*words).output == output


def test_an_option_of_a_group_is_checked() -> None:
    assert called("runs", "--at-most", "0").exit_code == 2


Size = Annotated[int, typer.Option(help="A size.")]


def fit(width: Size = 1, height: Size = 2) -> None:
    """Fit."""
    typer.echo(f"{width} {height}")


def test_one_option_may_stand_for_two_parameters() -> None:
    app = typer.Typer()
    app.command()(expanded(fit))
    assert CliRunner().invoke(app, ["--height", "7", "--width", "5"]).output == "5 7\n"


def show(
    table: Annotated[options.Table, options.format_option("table or tree.", ["tree"])],
) -> None:
    """Show."""
    typer.echo(table.format)


def test_a_table_has_the_formats_of_its_command() -> None:
    app = typer.Typer()
    app.command()(expanded(show))
    assert CliRunner().invoke(app, ["-f", "tree"]).output == "tree\n"
    assert CliRunner().invoke(app, ["-f", "bush"]).exception is not None

"""Values of the command line that go past typer's conversion are what it would have made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from warehouse.cli.commands import application
from warehouse.cli.values import Command, Group

ROOT = Path(__file__).parents[1]
GIVEN = (
    "",
    " ",
    "7",
    "007",
    "-7",
    "+7",
    "1_0",
    "12",
    "7.0",
    "1e1",
    "٣",
    "true",
    "x",
    "./x",
    "9" * 20,
)
DECLARED: dict[str, tuple[Any, Any]] = {
    "text": (str | None, typer.Option()),
    "number": (int | None, typer.Option()),
    "least": (int | None, typer.Option(min=8)),
    "between": (int, typer.Option(min=-8, max=9)),
    "fraction": (float | None, typer.Option(min=0)),
    "flag": (bool, typer.Option()),
    "path": (Path | None, typer.Option()),
    "folder": (Path | None, typer.Option(file_okay=False)),
    "there": (Path | None, typer.Option(exists=True)),
    "whole": (Path | None, typer.Option(resolve_path=True)),
    "parsed": (str | None, typer.Option(parser=str.upper)),
    "texts": (list[str] | None, typer.Option()),
    "numbers": (list[int] | None, typer.Option(max=9)),
    "paths": (list[Path] | None, typer.Option()),
}


def app(kind: Any, option: Any, default: Any, cls: type[Command] | None) -> typer.Typer:
    made = typer.Typer(rich_markup_mode=None)

    @made.command(cls=cls)
    def show(value: Annotated[kind, option] = default) -> None:  # type: ignore[valid-type]
        print(type(value).__name__, repr(value))

    show.__annotations__["value"] = Annotated[kind, option]
    return made


def said(kind: Any, option: Any, default: Any, cls: type[Command] | None, words: list[str]) -> str:
    found = CliRunner().invoke(app(kind, option, default, cls), words)
    return f"{found.exit_code} {found.output}"


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_taken_is_what_typer_makes_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results and refusals, of what is given, of what is not and of what stands in the signature."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("a file")
    kind, option = DECLARED[name]
    default = {"between": 3, "flag": False}.get(name)
    calls = [[], *(["--value", word] for word in GIVEN if name != "flag"), ["--value"]]
    if name.endswith("s"):
        calls.append(["--value", "1", "--value", "2"])
    for words in calls:
        ours, theirs = (said(kind, option, default, cls, words) for cls in (Command, None))
        assert ours == theirs, words
    assert said(kind, option, default, None, []).startswith("0 ")


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_text("a file")
    monkeypatch.setattr("os.access", lambda *_: False)
    kind, option = DECLARED["path"]
    found = said(kind, option, None, Command, ["--value", str(tmp_path / "x")])
    assert "is not readable" in found
    assert found == said(kind, option, None, None, ["--value", str(tmp_path / "x")])


def test_every_command_takes_values_so() -> None:
    whole = typer.main.get_command(application())
    assert isinstance(whole, Group)
    commands = [command for _, command in whole.commands.items()]
    within = [c for group in commands for c in getattr(group, "commands", {}).values()]
    assert all(isinstance(c, Command) for c in [*commands, *within] if not hasattr(c, "commands"))
    assert len(within) > 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "Q", "R", "AP", "--places", "3"], "1.000"),
        (["runs", "--db", "D"], "no such database"),
    ],
)
def test_a_command_waits_for_no_pydantic(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 1 t\n")
    places = {"Q": tmp_path / "qrels", "R": tmp_path / "run", "D": tmp_path / "none.duckdb"}
    given = ["warehouse", *(str(places.get(word, word)) for word in words)]
    code = (
        f"import sys; sys.argv = {given}; from warehouse import cli\n"
        "try: cli.run()\n"
        "except SystemExit as leaving: print(leaving.code)\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert said in done.stdout + done.stderr
    assert done.stdout.split()[-1] == "False", done

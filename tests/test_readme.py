"""The README and the docstrings say what is true: their commands and code are run.

In a ```console block a line that starts with `$ ` is a command (lines that start with `> ` go on with
it), and what follows up to the next command is what stdout must hold: a line `...` stands for any
lines. A command without such lines may print what it likes. All blocks of the README run in one
folder, empty at first, in order; what is exported holds for what follows. ```python blocks run as one
program each in a folder of its own. Commands that make an environment are not run here but held
against the two that are documented; CI runs them.

The table of metrics is generated. To write it anew after a change of the catalogue:
UPDATE_GOLDEN=1 pytest tests/test_readme.py -k table
"""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from projects import Answer, invoked, words_of

import warehouse
from warehouse.metrics.catalogue import catalogue
from warehouse.warehouse import Warehouse

README = Path(__file__).resolve().parents[1] / "README.md"
ENVIRONMENTS = {
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/warehouse demo",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest",
}
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Command:
    """A command of the README, the line it stands on and the lines that it is said to print."""

    line: int
    text: str
    expected: list[str] = field(default_factory=list)


def blocks(language: str) -> list[tuple[int, str]]:
    """Return the blocks of a language with the number of their first line."""
    text = README.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start()) + 2, found[2])
        for found in _BLOCK.finditer(text)
        if found[1] == language
    ]


def commands(first: int, text: str) -> list[Command]:
    """Read the commands of one console block."""
    made: list[Command] = []
    for number, line in enumerate(text.splitlines(), first):
        if line.startswith("$ "):
            made.append(Command(number, line[2:]))
        elif line.startswith("> ") and made and not made[-1].expected:
            made[-1].text += "\n" + line[2:]
        else:
            assert made, f"README.md:{number}: output before any command"
            made[-1].expected.append(line)
    return made


def matches(expected: list[str], printed: list[str]) -> bool:
    """Whether printed lines are the expected ones; `...` stands for any lines, none included."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in expected
    )
    text = "".join(line.rstrip() + "\n" for line in printed)
    return re.fullmatch(pattern, text) is not None


def test_matching_of_output() -> None:
    assert matches(["a", "...", "c"], ["a", "b", "b", "c"])
    assert matches(["..."], [])
    assert matches(["a", "..."], ["a"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["a", "...", "c"], ["a", "b"])
    assert not matches(["a.c"], ["abc"])


def test_what_the_shell_has_a_part_in() -> None:
    line = "warehouse query 'select 1 < $a | 2; -- `x`' -p \"b=*.gz ; ~\" -o out"
    words = ["query", "select 1 < $a | 2; -- `x`", "-p", "b=*.gz ; ~", "-o", "out"]
    assert words_of(line) == words
    for more in ("*.gz", "a | b", "> out", '-d "$NAME"', "$NAME", "`date`", "; ls", "&& ls", "~/x"):
        assert words_of(f"warehouse score {more}") is None, more
    assert words_of("ls 'warehouse '") is None


def test_the_documented_ways_to_install() -> None:
    found = [c.text for block in blocks("console") for c in commands(*block)]
    made = [text for text in found if "venv" in text or "pip " in text]
    assert set(made) == ENVIRONMENTS


def test_the_commands_of_the_readme(
    tmp_path: Path, program, run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own where the shell has a part in it."""
    todo = [
        command
        for block in blocks("console")
        for command in commands(*block)
        if command.text not in ENVIRONMENTS
    ]
    assert todo
    monkeypatch.chdir(tmp_path)
    wrong: list[str] = []
    for command in todo:
        if command.text.startswith("export "):
            _, exported = shlex.split(command.text, comments=True)
            monkeypatch.setenv(*exported.split("=", 1))
            continue
        words = words_of(command.text)
        if words is not None:
            found = run(*words)
        else:
            process = program.shell(command.text, tmp_path)
            found = Answer(process.returncode, process.stdout, process.stderr)
        where = f"README.md:{command.line}: {command.text}"
        if found.code != 0:
            wrong.append(f"{where}\nended with exit code {found.code}\n{found.err}")
        elif command.expected and not matches(command.expected, found.out.splitlines()):
            wrong.append(f"{where}\nprinted\n{found.out}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "code"), [pytest.param(*block, id=f"line {block[0]}") for block in blocks("python")]
)
def test_the_python_of_the_readme(
    line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program of its own, whose first line is where it stands in the README."""
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * (line - 1) + code, README, "exec"), {"__name__": "__main__"})


def section(title: str) -> str:
    """Return what stands in the README under a title, up to the next."""
    text = README.read_text(encoding="utf-8")
    return re.split(r"^## ", text.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_command_is_in_the_readme() -> None:
    from warehouse.cli.commands import MODULES
    from warehouse.cli.examples import EXAMPLES

    text = README.read_text(encoding="utf-8")
    missing = [name for name in EXAMPLES if f"warehouse {name}" not in text]
    assert not missing
    table = section("Commands")
    assert not [name for name in MODULES if not re.search(rf"`warehouse {name}[` ]", table)]


def test_every_table_and_view_is_in_the_readme(wh: Warehouse) -> None:
    wh.init()
    named = set(re.findall(r"\w+", section("SQL for everyone").split("```")[0]))
    relations = {row[1].removeprefix("store.") for row in wh.schema().fetchall()}
    relations -= {"alembic_version"}
    assert not relations - named


def test_paths_named_in_the_readme_exist() -> None:
    text = README.read_text(encoding="utf-8")
    named = re.findall(r"\]\((?!https?:|#)([^)]+)\)", text)
    missing = [name for name in named if not (README.parent / name.split("#")[0]).exists()]
    assert not missing


def test_every_heading_can_be_found_from_the_contents() -> None:
    """Links within the README lead to headings, and the list at its top has every section."""
    text = re.sub(_BLOCK, "", README.read_text(encoding="utf-8"))
    titles = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles]
    assert len(set(anchors)) == len(anchors)
    links = re.findall(r"\]\(#([^)]+)\)", text)
    assert set(links) <= set(anchors)
    contents = text.split("\n## ")[0]
    tops = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [title for title in tops if f"[{title}](#" not in contents] == ["Licence"]


def test_the_table_of_metrics() -> None:
    """Between its two markers stands what `warehouse metrics -f markdown` prints."""
    result = invoked("metrics", "-f", "markdown")
    assert result.exit_code == 0, result.output
    text = README.read_text(encoding="utf-8")
    pattern = r"(^<!-- metrics: [^\n]*-->\n).*?(^<!-- end of metrics -->$)"
    parts = re.split(pattern, text, maxsplit=1, flags=re.MULTILINE | re.DOTALL)
    assert len(parts) == 4, "README.md: the two markers of the table are gone"
    wanted = "".join([parts[0], parts[1], result.stdout, parts[2], parts[3]])
    if os.environ.get("UPDATE_GOLDEN"):
        README.write_text(wanted, encoding="utf-8")
    renew = "UPDATE_GOLDEN=1 pytest tests/test_readme.py -k table"
    assert README.read_text(encoding="utf-8") == wanted, f"the table is old; to renew it: {renew}"
    for name in catalogue():
        assert re.search(rf"^\| {name}(@\w|\[@\w\])? +\|", result.stdout, re.MULTILINE), name


def modules() -> list[str]:
    """Return the name of every module of the package."""
    found = pkgutil.walk_packages(warehouse.__path__, "warehouse.")
    skipped = ("warehouse.migrations", "warehouse.sql")
    return ["warehouse", *(m.name for m in found if not m.name.startswith(skipped))]


@pytest.mark.parametrize("name", modules())
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, made = tmp_path / "here", tmp_path / "made"
    here.mkdir()
    made.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    module: ModuleType = importlib.import_module(name)
    done = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert done.failed == 0
    assert list(here.iterdir()) == []


def test_there_are_docstrings_with_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    count = sum(
        len(test.examples)
        for name in modules()
        for test in finder.find(importlib.import_module(name))
    )
    assert count > 20
    assert sys.version_info >= (3, 11)

"""The README and the manual say what is true: their commands and code are run, and nothing is missing.

In a ```console block a line that starts with `$ ` is a command (lines that start with `> ` go on with
it), and what follows up to the next command is what stdout must hold: a line `...` stands for any
lines. A command without such lines may print what it likes. All blocks of a page run in one folder,
in order; what is exported holds for what follows. The folder is empty at first, or that of the demo if
the page says so. ```python blocks run as one program each in a folder of its own. Commands that make
an environment are not run here but held against the two that are documented; CI runs them.

Pages below docs/reference that are generated are not run: their examples are those of the help, which
other tests run.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest
from clusters import needs_spark
from extended import needs
from lakes import needs_lake
from projects import Answer, invoked, words_of

from warehouse.cli.application import examples
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.warehouse import Warehouse

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
# What the commands and the code of some pages need.
NEEDS = {
    "docs/how-to/cluster.md": [pytest.mark.slow, needs_spark],
    "docs/how-to/lake.md": [pytest.mark.slow, needs_lake],
    "docs/how-to/drop-in.md": [needs("peers")],
    "docs/how-to/serve.md": [needs("server")],
    "docs/how-to/collection.md": [needs("collections")],
    "docs/how-to/judges.md": [needs("answers")],
    "docs/how-to/rag.md": [needs("answers")],
    "docs/how-to/frameworks.md": [
        needs("training"),
        *(
            pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")
            for name in ("optuna", "pyterrier")
        ),
    ],
}
DOCS = ROOT / "docs"
GENERATED = ("metrics", "commands", "views")
GENERATED_PAGES = ("curves.md", "fusion-methods.md", "protocol-rules.md", "project-file.md")
DEMO = (
    "The examples use the demo: `warehouse demo --files .` in an empty folder, then "
    "`export WAREHOUSE_DB=demo.duckdb`."
)
# A page that says so is run as on a plain install, without the packages of any extra.
PLAIN = "needs no extra"
ENVIRONMENTS = {
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/warehouse demo",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest",
}
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written() -> list[Path]:
    """Return the pages that people write: the README and those of docs that are not generated."""
    reference = DOCS / "reference"
    generated = {reference / name for name in GENERATED_PAGES}
    return [
        README,
        ROOT / "CONTRIBUTING.md",
        *(
            page
            for page in sorted(DOCS.rglob("*.md"))
            if page not in generated
            and not page.is_relative_to(DOCS / "_build")
            and not any(page.is_relative_to(reference / name) for name in GENERATED)
        ),
    ]


PAGES = {str(page.relative_to(ROOT)): page for page in written()}


@dataclass
class Command:
    """A command of a page, the line it stands on and the lines that it is said to print."""

    line: int
    text: str
    expected: list[str] = field(default_factory=list)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return the blocks of a language with the number of their first line."""
    text = page.read_text(encoding="utf-8")
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
            assert made, f"line {number}: output before any command"
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
    found = [c.text for block in blocks(README, "console") for c in commands(*block)]
    made = [text for text in found if "venv" in text or "pip " in text]
    assert set(made) == ENVIRONMENTS


@pytest.fixture(scope="session")
def demo_folder(once) -> Path:
    """Return a folder with the demo and its files, made once; pages get a copy."""

    def fill(folder: Path) -> None:
        result = invoked("demo", "--files", str(folder), "--db", str(folder / "demo.duckdb"))
        assert result.exit_code == 0, result.output

    return once("demo-files", fill)


def begin(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Go to a folder, with a copy of the demo if the page begins with it."""
    if DEMO in " ".join(page.read_text(encoding="utf-8").split()):
        shutil.copytree(request.getfixturevalue("demo_folder"), folder, dirs_exist_ok=True)
        monkeypatch.setenv("WAREHOUSE_DB", "demo.duckdb")
    monkeypatch.chdir(folder)


def hide_extras(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing import the packages of extras: here, and in processes that begin now."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_others = {"pyyaml": "yaml", "vl_convert_python": "vl_convert", "mlflow_skinny": "mlflow"}
    packages = {
        re.split(r"[^\w-]", line)[0].lower().replace("-", "_")
        for name, lines in project["optional-dependencies"].items()
        for line in lines
        if name not in ("dev", "docs", "peers")
    }
    hidden = folder / ".hidden"
    hidden.mkdir()
    for package in sorted({of_others.get(name, name) for name in packages} | {"numpy"}):
        (hidden / f"{package}.py").write_text("raise ModuleNotFoundError(__name__)\n")
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("PYTHONPATH", str(hidden), prepend=os.pathsep)


@pytest.mark.sample(3, 3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=NEEDS.get(name, []))
        for name, page in PAGES.items()
        if blocks(page, "console")
    ],
)
def test_the_commands_of_a_page(
    page: str,
    tmp_path: Path,
    program,
    run: Callable[..., Answer],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """In a process of its own where the shell has a part in it."""
    todo = [
        command
        for block in blocks(PAGES[page], "console")
        for command in commands(*block)
        if command.text not in ENVIRONMENTS
    ]
    begin(PAGES[page], tmp_path, monkeypatch, request)
    if PLAIN in PAGES[page].read_text(encoding="utf-8"):
        hide_extras(tmp_path, monkeypatch)
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
        where = f"{page}:{command.line}: {command.text}"
        if found.code != 0:
            wrong.append(f"{where}\nended with exit code {found.code}\n{found.err}")
        elif command.expected and not matches(command.expected, found.out.splitlines()):
            wrong.append(f"{where}\nprinted\n{found.out}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.sample(9)
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("page", "line", "code"),
    [
        pytest.param(page, *block, id=f"{name}-{block[0]}", marks=NEEDS.get(name, []))
        for name, page in PAGES.items()
        for block in blocks(page, "python")
    ],
)
def test_the_python_of_a_page(
    page: Path,
    line: int,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """As a program of its own, whose first line is where it stands in the page."""
    begin(page, tmp_path, monkeypatch, request)
    try:
        exec(compile("\n" * (line - 1) + code, page, "exec"), {"__name__": "__main__"})
    finally:
        ours = sys.modules.get("warehouse.extensions.peers.ir_measures")
        if ours is not None:  # the page may have put it into ir_measures' own chain
            chain = sys.modules["ir_measures"].DefaultPipeline.providers
            chain[:] = [provider for provider in chain if provider is not ours.provider]


def test_the_readme_is_short() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.encode()) <= 12_000
    assert text.count("\n") <= 250


def test_every_metric_and_protocol_is_named_in_the_readme() -> None:
    words = set(re.findall(r"\w+", README.read_text(encoding="utf-8")))
    assert not [name for name in (*catalogue(), *protocols.catalogue()) if name not in words]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name: str) -> None:
    """None leads to a generated page, which a code host does not have: its title may name one."""
    page = PAGES[name]
    links = re.findall(
        r'\]\((?!https?:|#)([^)\s]+)(?: "([^"]+)")?\)', page.read_text(encoding="utf-8")
    )
    for target, title in links:
        path = (page.parent / target.split("#")[0]).resolve()
        assert path.exists(), f"{name}: {target}"
        inside = (
            path.relative_to(DOCS / "reference").parts
            if DOCS / "reference" in path.parents
            else [""]
        )
        assert inside[0] not in GENERATED, f"{name}: {target}: is generated"
        assert inside[0] not in GENERATED_PAGES, f"{name}: {target}: is generated"
        if title:
            first = title.partition("#")[0]
            assert path == DOCS / "reference/index.md"
            assert first.partition("/")[0] in GENERATED or first in GENERATED_PAGES


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """Return the generated pages by their path below docs/reference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        return dict(importlib.import_module("generate").all_pages())


@pytest.mark.sample(12, 4)
@pytest.mark.parametrize("name", catalogue())
def test_a_page_of_a_metric_is_complete(generated: dict[str, str], name: str) -> None:
    page = generated[f"metrics/{name}.md"]
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == [
        title
        for title in ("Formula", "Parameters", "Worked example", "Names elsewhere", "SQL", "Source")
        if f"## {title}\n" in page
    ]
    for title in ("Formula", "Worked example", "SQL", "Source"):
        assert f"## {title}\n" in page
    assert "\n$$\n" in page, "the header has no latex"


@pytest.mark.slow
def test_the_manual_is_built_without_warnings_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("myst_parser", reason="the extra docs is not installed")
    line = f"-m sphinx -q -W --keep-going -d {tmp_path}/trees {DOCS} {tmp_path}/html"
    done = subprocess.run(
        [sys.executable, *line.split()], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for page in (tmp_path / "html").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""<(script|link|img)[^>]+(src|href)=["']https?:""", text), page


@pytest.mark.long
def test_everything_has_its_page(generated: dict[str, str], wh: Warehouse) -> None:
    pages = {folder: set() for folder in GENERATED}
    for path in generated:
        folder, _, file = path.rpartition("/")
        pages.setdefault(folder, set()).add(file.removesuffix(".md"))
    assert pages["metrics"] == {*catalogue(), "index"}
    assert pages["commands"] == {*(name.replace(" ", "-") for name in examples()), "index"}
    wh.init()
    views = {
        name for kind, name, *_ in wh.schema().fetchall() if kind == "view" and "." not in name
    }
    assert pages["views"] == {*views, "index", "macros", "tables"}
    assert {f"{file}.md" for file in pages[""]} == set(GENERATED_PAGES)

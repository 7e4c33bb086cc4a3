"""Files for releases and containers: each is read, and its commands are held against the program."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quick
import typer
from extended import needs_extensions

from warehouse.cli import application

CHECKOUT = Path(__file__).resolve().parents[1]
EXAMPLES = CHECKOUT / "docs" / "examples"
WORKFLOWS = CHECKOUT / ".github" / "workflows"

pytestmark = pytest.mark.skipif(
    not (CHECKOUT / "pyproject.toml").exists() or not WORKFLOWS.exists(),
    reason="the tests do not run from a checkout",
)
yaml = pytest.importorskip("yaml")


def texts(given: Any) -> Iterator[str]:
    """Yield the texts in lists and mappings."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        yield from texts(list(given.values()))
    elif isinstance(given, list):
        for one in given:
            yield from texts(one)


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each call of the program in a script of a shell."""
    for line in re.split(r"\n|&&|\|\|", script):
        if line.strip().startswith("warehouse "):
            yield shlex.split(line)[1:]


def check(words: list[str]) -> None:
    """Parse a command, without running it. Raises an error of Typer's for unknown words."""
    command: Any = typer.main.get_command(application.application(words))
    context, rest = None, words
    while hasattr(command, "resolve_command") and not rest[0].startswith("-"):
        context = command.make_context("warehouse", [], parent=context, resilient_parsing=True)
        _, command, rest = command.resolve_command(context, rest)
        assert command is not None, words
    if rest != ["--version"]:
        command.make_context(words[0], list(rest), parent=context)


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_workflows() -> None:
    found = []
    for path in sorted(WORKFLOWS.iterdir()):
        workflow = load(path)
        # YAML 1.1 takes the key `on` for true
        assert {"name", True, "permissions", "jobs"} <= set(workflow)
        jobs = workflow["jobs"]
        for job in jobs.values():
            assert {*([job["needs"]] if "needs" in job else [])} <= set(jobs)
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step)
                # actions have a version; what comes from outside reaches the shell by variables alone
                assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step.get("uses", "a/b@c"))
                assert "${{" not in step.get("run", "")
                found += commands(step.get("run", ""))
    assert [words[0] for words in found] == ["--version", "demo", "leaderboard", "demo", "verify"]
    for words in found:
        check(words)
    # only the job that publishes may ask for an identity, and it runs nothing of ours
    publish = load(WORKFLOWS / "release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert not [step for step in publish["steps"] if "run" in step]
    assert (CHECKOUT / load(WORKFLOWS / "tests.yml")["jobs"]["all"]["steps"][-1]["run"]).exists()


@needs_extensions
def test_the_man_page_lists_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/share.py` writes it anew; completions ask the program for everything."""
    monkeypatch.syspath_prepend(str(CHECKOUT / "docs"))
    share = CHECKOUT / "docs" / "share"
    page = (share / "man/man1/warehouse.1").read_text(encoding="utf-8")
    assert page == importlib.import_module("share").man_page()
    if shutil.which("groff"):
        call = ["groff", "-man", "-ww", "-Tutf8", "-z"]
        done = subprocess.run(call, input=page, capture_output=True, text=True, check=True)
        assert done.stderr == ""
    scripts = [file for file in share.rglob("*") if file.is_file() and file.suffix != ".1"]
    assert len(scripts) == 3
    for script in scripts:
        assert "_WAREHOUSE_COMPLETE=complete_" in script.read_text(encoding="utf-8")


def test_a_skip_that_ci_does_not_expect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPECTED_SKIPS", str(CHECKOUT / ".ci" / "skips"))
    browser = "Skipped: no Chromium is installed (apt-get install chromium)"
    assert quick.unexpected(["Skipped: needs pdflatex", browser]) == [browser]


def test_the_conda_recipe() -> None:
    """Its requirements are the project's: DuckDB has another name there, and an extra is a package."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = load(EXAMPLES / "recipe.yaml")
    assert recipe["context"]["version"] == project["version"]
    # a marker of Python's version has no place in it
    ours = {one.partition(";")[0].replace("[widechars]", "") for one in project["dependencies"]}
    ours = {re.sub(r"^duckdb(?=>)", "python-duckdb", one) for one in ours} | {"wcwidth"}
    ours.add(f"python{project['requires-python']}")
    assert {one.replace(" ", "") for one in recipe["requirements"]["run"]} == ours
    for script in recipe["tests"][1]["script"]:
        check(shlex.split(script)[1:])
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry.split(" = ") == ["warehouse", project["scripts"]["warehouse"]]


@needs_extensions
def test_the_containers() -> None:
    lines = (EXAMPLES / "Dockerfile").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((CHECKOUT / name).exists() for name in line.split()[1:-1]), line
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (asked,) = [line for line in lines if line.startswith("RUN pip install")]
    assert set(re.findall(r"\[(.*)\]", asked)[0].split(",")) <= set(extras)
    assert 'ENTRYPOINT ["warehouse"]' in lines

    services = load(EXAMPLES / "compose.yaml")["services"]
    assert (EXAMPLES / services["sync"]["build"]["context"]).resolve() == CHECKOUT
    # compose has its own use of $, so that of the shell is doubled
    (script,) = [text.replace("$$", "$") for text in services["sync"]["command"]]
    subprocess.run(["sh", "-n", "-c", script], check=True)
    nightly = list(commands(script))
    assert [words[0] for words in nightly] == ["sync", "publish"]
    board = services["board"]["command"]
    assert board[:3] == ["serve", "--db", nightly[1][1]]
    development = json.loads((CHECKOUT / ".devcontainer/devcontainer.json").read_text())
    for words in (*nightly, board, *commands(development["postCreateCommand"])):
        check(words)
    for text in texts(services):
        assert not re.search(r"\$\{[^}]*$", text)


@pytest.mark.slow
def test_a_wrong_command_is_found() -> None:
    with pytest.raises(AssertionError):
        check(["leaderbord"])
    with pytest.raises(typer.TyperException):
        check(["publish", "--no-such-option"])


def test_what_is_said_of_the_project() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = load(CHECKOUT / ".github" / "CITATION.cff")
    for key in ("version", "license", "keywords"):
        assert citation[key] == project[key]
    hooks = load(CHECKOUT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    rules = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [hook["entry"] for hook in hooks] == [
        "ruff check",
        "ruff format",
        "mypy",
        "lint-imports",
    ]
    assert "ruff check . && ruff format . && mypy && lint-imports" in rules


def test_the_readme_of_a_registry_has_no_dead_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the code has no address, its files are named; with one, links are absolute."""
    monkeypatch.syspath_prepend(str(CHECKOUT / "docs"))
    registry = importlib.import_module("registry")
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!https?:|#)")
    assert relative.search(text)
    for source in (None, "https://example.org/w"):
        assert not relative.search(registry.readme(text, source))
    metadata: dict[str, Any] = {}
    registry.Hook.update(None, metadata)
    assert not relative.search(metadata["readme"]["text"])
    assert "# " in metadata["readme"]["text"]

"""Files for releases and containers: each is read, and its commands are held against the program."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quick
import typer

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
    command: Any = typer.main.get_command(application.application(words[0]))
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
    assert [words[0] for words in found] == ["--version", "demo", "leaderboard"]
    for words in found:
        check(words)
    # only the job that publishes may ask for an identity, and it runs nothing of ours
    publish = load(WORKFLOWS / "release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert not [step for step in publish["steps"] if "run" in step]
    assert (CHECKOUT / load(WORKFLOWS / "tests.yml")["jobs"]["all"]["steps"][-1]["run"]).exists()


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

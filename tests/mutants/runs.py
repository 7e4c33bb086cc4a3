"""Planting mutants in copies of the checkout: which tests run, and what they find."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.plants import AREAS, Mutant
from tests.mutants.reach import (
    PYTEST,
    ROOT,
    Reach,
    checkout,
    environment,
    family,
    functions,
    workspace,
)

# Scripts of pages run in a browser.
BROWSER = "tests/test_browser.py"
# These compare with what this program wrote before, which any change of a text changes.
OURS = re.compile(
    "is_as_kept|fits_the_terminal|board_in_each_format|every_kind_of_value|layout_of_trec_eval|"
    "test_mutants"
)
BROKEN = re.compile(
    r"(?:Parser|Binder|Catalog|TemplateSyntax|Undefined|Syntax)\s?Error|NameError|UnboundLocalError"
)
# Seconds of a test whose look-alikes are run as well.
QUICK = 0.2
_TIMES = count(1)
Tests = Callable[[Mutant], Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: found (by which test), survived or broken."""

    mutant: Mutant
    verdict: str
    test: str = ""


@cache
def text_of(file: str) -> str:
    """Return the text of a file of tests, or nothing if it is gone."""
    path = ROOT / file
    return path.read_text() if path.exists() else ""


def is_there(test: str) -> bool:
    """Whether a test of the map is still in its file."""
    file, *_, name = family(test).split("::")
    return f"def {name}(" in text_of(file)


class Choice:
    """The tests of a mutant: the narrowest and quickest first, as many as there is time for."""

    def __init__(self, reach: Reach, seconds: float) -> None:
        self.seconds = seconds
        self.tests = {
            test: one
            for test, one in reach.tests.items()
            if not OURS.search(test) and is_there(test)
        }
        self.of: dict[str, set[str]] = defaultdict(set)
        for test, (_, numbers) in self.tests.items():
            for name in (reach.names[number] for number in numbers):
                self.of[name].add(test)
                self.of[name.partition("::")[0]].add(test)

    def __call__(self, mutant: Mutant) -> list[str]:
        chosen: list[str] = []
        left = self.seconds
        near, far = self.reaching(mutant)
        for tests in (near, far - near):
            times = Counter[str]()
            cost: dict[str, float] = {}
            for test in sorted(tests):
                times[family(test)] += 1  # look-alikes come later
                seconds, numbers = self.tests[test]
                cost[test] = (seconds + 0.05) * (50 + len(numbers)) * times[family(test)]
            for test in sorted(cost, key=lambda test: (cost[test], test)):
                left -= self.tests[test][0]
                if left >= 0:
                    chosen.append(test)
        # of a quick test, every parameter
        return list(dict.fromkeys(family(t) if self.tests[t][0] < QUICK else t for t in chosen))

    def reaching(self, mutant: Mutant) -> tuple[set[str], set[str]]:
        """Return the tests that reach the very function or template, and those of its file."""
        file, text = mutant.file, (ROOT / mutant.file).read_text()
        if file.endswith(".js"):
            return {test for test in self.tests if test.startswith(BROWSER)}, set()
        if file.endswith(".sql"):
            names = re.findall(r"^create .*?(\w+)(?: as|\()", text[: mutant.start], re.M)
            return self.mentioning(names[-1] if names else "-"), set()
        if not file.endswith(".py"):
            return self.of[file], set()
        line = text.count("\n", 0, mutant.start) + 1
        around = [n for n, f in functions(ast.parse(text)) if f.lineno <= line <= f.end_lineno]
        return self.of[f"{file}::{around[-1]}" if around else file], self.of[file]

    def mentioning(self, word: str) -> set[str]:
        """Return the tests that reach a template with a macro or a view, and those that name it."""
        pattern = re.compile(rf"\b{word}\b")
        found: set[str] = set()
        for path in (*ROOT.glob("sql/**/*.sql.j2"), *ROOT.glob("warehouse/**/*.sql.j2")):
            if pattern.search(path.read_text()):
                found |= self.of[str(path.relative_to(ROOT))]
        for path in (ROOT / "tests").rglob("test_*.py"):
            if pattern.search(path.read_text()):
                name = path.relative_to(ROOT).as_posix()
                found |= {test for test in self.tests if test.startswith(f"{name}:")}
        return found


def plant(
    mutants: Iterator[Mutant], number: int, tests: Tests, workers: int, seconds: float
) -> list[Outcome]:
    """Plant mutants, one at a time in each copy, until so many were found or survived."""
    done: list[Outcome] = []
    copies: SimpleQueue[Path] = SimpleQueue()

    def one(mutant: Mutant) -> Outcome:
        copy, start = copies.get(), time.monotonic()
        try:
            outcome = attempt(copy, mutant, tests(mutant), seconds)
        finally:
            copies.put(copy)
        words = (mutant.area, mutant.kind, mutant.file, f"{time.monotonic() - start:.0f} s")
        print(f"{outcome.verdict:9}", *words, outcome.test, flush=True)
        if outcome.verdict == "survived":
            print(f"\n{mutant.diff()}\n", flush=True)
        return outcome

    with workspace() as folder, ThreadPoolExecutor(workers) as pool:
        for name in map(str, range(workers)):
            (folder / name).mkdir()
            copies.put(checkout(folder / name))
        while lack := number - sum(outcome.verdict != "broken" for outcome in done):
            batch = [mutant for _, mutant in zip(range(lack), mutants, strict=False)]
            if not batch:
                break
            done += pool.map(one, batch)
    return done


def attempt(copy: Path, mutant: Mutant, tests: Sequence[str], seconds: float) -> Outcome:
    """Run tests in a copy with a mutant."""
    path = copy / mutant.file
    old, stat = path.read_text(), path.stat()
    path.write_text(mutant.apply(old))
    # by its time in seconds, Python knows a module of the same size from one that it compiled before
    os.utime(path, (stat.st_atime, stat.st_mtime + next(_TIMES)))
    try:
        return run(copy, mutant, list(tests), seconds)
    finally:
        path.write_text(old)
        os.utime(path, (stat.st_atime, stat.st_mtime))


def run(copy: Path, mutant: Mutant, tests: list[str], seconds: float) -> Outcome:
    """Run the tests until one fails; those that are gone are left out."""
    options = ["-x", "-q", "-n", "0", "-o", "addopts=", "--tb=short", "-m", "not long"]
    while tests:
        process = subprocess.Popen(
            [*PYTEST, *options, *tests], cwd=copy, env=environment(copy), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=4 * seconds + 60)
        except subprocess.TimeoutExpired:
            return Outcome(mutant, "found", "no end")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        gone = re.findall(r"^ERROR: not found: .*?(tests/.*)$", out, re.M)
        if process.returncode != 4 or not gone:
            break
        tests = [test for test in tests if test not in gone]
    if not tests or process.returncode in (0, 5):
        return Outcome(mutant, "survived")
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", out, re.M)
    is_python = mutant.file.endswith(".py")
    verdict = "broken" if not is_python and BROKEN.search(out) else "found"
    return Outcome(mutant, verdict, failed[1] if failed else out[-300:])


def report(outcomes: Sequence[Outcome]) -> str:
    """Return a table by area."""
    lines: list[str] = []
    counts = Counter((one.mutant.area, one.verdict) for one in outcomes)
    for verdict in ("found", "survived"):
        counts["all", verdict] = sum(one.verdict == verdict for one in outcomes)
    lines.append(f"\n{'area':12}{'planted':>9}{'found':>9}{'survived':>9}")
    for area in (*AREAS, "all"):
        found, survived = counts[area, "found"], counts[area, "survived"]
        if found + survived:
            lines.append(f"{area:12}{found + survived:9}{found:9}{survived:9}")
    return "\n".join(lines)

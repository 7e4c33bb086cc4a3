"""Which tests reach which functions and templates: recorded by one run in an instrumented copy."""

from __future__ import annotations

import ast
import contextlib
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MAPS = ROOT / ".mutants"
MEMORY = Path("/dev/shm")
LEFT_OUT = (".git", ".venv", ".mutants", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info")
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
# Of the parameters of a test, how many are recorded and run.
LOOK_ALIKES = 3
# A module of the instrumented copy. In other processes than that of the tests it appends to a file.
TOUCHED = """\
import builtins, os
seen, owner = set(), None

def touch(n):
    if n not in seen:
        seen.add(n)
        if os.getpid() != owner and "TOUCHED" in os.environ:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            with open(f"{os.environ['TOUCHED']}/{os.getpid()}.txt", "a") as file:
                file.write(f"{n}\\t{test}\\n")

builtins._touch = touch  # a function may be run with globals of another module
"""
IMPORT = "import warehouse.config.touched as _touched\n"
HEADER = re.compile(r"\A\s*/\*.*?\*/", re.DOTALL)
_MACRO = re.compile(r"\{%-? macro .*?(-?)%\}", re.DOTALL)
_FUTURE = "from __future__ import annotations\n"


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the functions of a module with their qualified names, outer ones first."""
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{getattr(node, 'name', '')}"
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function:
            yield name, node
        yield from functions(
            node, f"{name}." if is_function or isinstance(node, ast.ClassDef) else prefix
        )


def instrument(copy: Path) -> list[str]:
    """Let each function and template of a copy note that it was reached; return their names."""
    names: list[str] = []
    for path in sorted((copy / "warehouse").rglob("*.py")):
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        before: dict[int, str] = {}
        for name, node in functions(ast.parse(text)):
            body = node.body[ast.get_docstring(node) is not None :]
            if not body:
                continue
            first = min(x.lineno for x in (body[0], *getattr(body[0], "decorator_list", ())))
            indent = " " * body[0].col_offset
            if not lines[first - 1][: len(indent)].strip():  # not `def f(): ...`
                before[first] = f"{indent}_touch({len(names)})\n"
                names.append(f"{path.relative_to(copy)}::{name}")
        if before:
            text = "".join(before.get(number, "") + line for number, line in enumerate(lines, 1))
            path.write_text(text.replace(_FUTURE, _FUTURE + IMPORT, 1))
    for path in sorted((*copy.glob("sql/**/*.sql.j2"), *copy.glob("warehouse/**/*.sql.j2"))):
        text, note = path.read_text(), f"{{% set touched = _touch({len(names)}) "
        names.append(str(path.relative_to(copy)))
        end = found.end() if (found := HEADER.match(text)) else 0
        if path.parent.name == "macros":
            text = _MACRO.sub(lambda macro, note=note: f"{macro[0]}{note}{macro[1]}%}}", text)
        elif text[end:].strip():  # a metric that extends another has no text of its own
            text = f"{text[:end]}{note}%}}\n{text[end:].lstrip()}"
        path.write_text(text)
    (copy / "warehouse/config/touched.py").write_text(TOUCHED)
    templates, line = copy / "warehouse/sql_text/templates.py", '    env.filters["ident"] = ident\n'
    known = f"    env.globals['_touch'] = _touch\n{line}"
    templates.write_text(templates.read_text().replace(line, known))
    return names


class Recorder:
    """A plugin of pytest: the functions and templates that each test reaches, with its fixtures."""

    def __init__(self) -> None:
        from warehouse.config import touched  # exists in an instrumented copy only

        touched.owner = os.getpid()
        self.seen: set[int] = touched.seen
        self.fixtures: dict[object, set[int]] = {}
        self.tests: dict[str, tuple[float, list[int]]] = {}
        self.passed = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out look-alikes: of a test's parameters the first ones are recorded."""
        times = Counter[str]()
        for item in list(items):
            times[family(item.nodeid)] += 1
            if times[family(item.nodeid)] > LOOK_ALIKES:
                items.remove(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Note by itself what a fixture reaches that several tests have from it."""
        before = set(self.seen)
        self.seen.clear()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.fixtures[fixturedef] = set(self.seen)
            self.seen.update(before)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed = report.passed and (self.passed or report.when == "setup")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.seen.clear()
        start = time.perf_counter()
        done = yield
        found = set(self.seen)
        for name in item.fixturenames:
            for one in item._fixtureinfo.name2fixturedefs.get(name, ()):
                found |= self.fixtures.get(one, set())
        if self.passed:
            self.tests[item.nodeid] = (round(time.perf_counter() - start, 3), sorted(found))
        return done

    def pytest_sessionfinish(self) -> None:
        file = Path(os.environ["TOUCHED"]) / f"{os.getpid()}.json"
        file.write_text(json.dumps(self.tests))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder())


def family(test: str) -> str:
    """Return a test's name without its parameters."""
    return test.partition("[")[0]


@dataclass(frozen=True)
class Reach:
    """Names of functions and templates; of each test the seconds and the numbers of what it reaches."""

    names: list[str]
    tests: dict[str, tuple[float, list[int]]]

    @classmethod
    def load(cls) -> Reach:
        """Return the map of this commit, else the newest."""
        file = place()
        if not file.exists():
            files = sorted(MAPS.glob("*.json.gz"), key=lambda file: file.stat().st_mtime)
            if not files:
                sys.exit("no map: python -m tests.mutants --record")
            print(f"no map of this commit: {files[-1].name} serves", file=sys.stderr)
            file = files[-1]
        return cls(**json.loads(gzip.decompress(file.read_bytes())))


def place() -> Path:
    """Return the file of this commit's map."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return MAPS / f"{subprocess.check_output(command, cwd=ROOT, text=True).strip()}.json.gz"


def record(arguments: Sequence[str]) -> None:
    """Run tests in an instrumented copy and add what they reach to this commit's map."""
    file = place()
    tests: dict[str, tuple[float, list[int]]] = {}
    with workspace() as folder:
        copy = checkout(folder)
        names = instrument(copy)
        notes = folder / "notes"
        notes.mkdir()
        command = [*PYTEST, "-q", "-p", "tests.mutants.reach", *arguments]
        variables = environment(copy) | {"TOUCHED": str(notes)}
        subprocess.run(command, cwd=copy, env=variables, check=False)
        for one in notes.glob("*.json"):
            tests |= json.loads(one.read_text())
        for one in notes.glob("*.txt"):
            for line in one.read_text().splitlines():
                number, _, test = line.partition("\t")
                if test in tests:
                    tests[test][1].append(int(number))
    if file.exists() and (old := Reach.load()).names == names:
        tests = old.tests | tests
    MAPS.mkdir(exist_ok=True)
    content = json.dumps({"names": names, "tests": tests}, separators=(",", ":"))
    file.write_bytes(gzip.compress(content.encode()))
    print(f"{len(tests)} tests reach {len(names)} functions and templates: {file}")


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """Make a temporary folder, in memory where there is one."""
    memory = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=memory) as folder:
        yield Path(folder)


def checkout(folder: Path) -> Path:
    """Copy the files of the checkout into a folder, with a link to the cases that lie beside it."""
    shutil.copytree(ROOT, folder / "checkout", ignore=shutil.ignore_patterns(*LEFT_OUT))
    if (cases := ROOT.parent / "shared" / "cases").is_dir():
        (folder / "shared").mkdir()
        (folder / "shared" / "cases").symlink_to(cases)
    return folder / "checkout"


def environment(copy: Path) -> dict[str, str]:
    """Return the variables with which the tests of a copy run."""
    temporary = str(copy.parent / "tmp")
    Path(temporary).mkdir(exist_ok=True)
    return os.environ | {
        "PYTHONPATH": str(copy),
        "TMPDIR": temporary,
        "PYTEST_DEBUG_TEMPROOT": temporary,
        "XDG_CACHE_HOME": str(copy.parent / "cache"),
    }

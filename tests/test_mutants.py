"""Planted faults are found: ten in CI; `python -m tests.mutants` plants as many as one asks for."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator

import pytest

from tests.mutants import plants, runs
from tests.mutants.plants import AREAS, Mutant
from tests.mutants.reach import ROOT, Reach, record
from tests.mutants.runs import Choice

SQL = """\
/*
undefined = 0
*/
select distinct coalesce(max(a), 0) as b -- where a = 1
from t
left join u using (k)
where a < 2 and c = 'd < 3'
"""
PYTHON = '''\
def check(a: int = -1) -> bool:
    """Whether a is not 2."""
    if a == 2:
        raise ValueError(f"{a} == {2}")
    return sorted(a, reverse=True) and not a
'''
SCRIPT = "if (!a && b === `${1}`) c = b - 1; // a < 2\n"

# These need no map: they are planted in these files, whose tests are known.
TESTS = {
    "sql/functions.sql": "tests/test_functions.py",
    "sql/analyses/holes.sql.j2": "tests/test_holes.py tests/test_rich.py::test_holes",
    "sql/analyses/history.sql.j2": "tests/test_history.py tests/test_rich.py::test_history",
    "warehouse/metrics/notation.py": "tests/test_notation.py tests/test_peer_names.py",
    "warehouse/readers/trec.py": "tests/test_readers_trec.py",
    "warehouse/report/pages/keys.py": "tests/test_report.py::test_keys_differ_where_file_systems_do_not",
    "warehouse/sync/sources.py": "tests/test_sync_sources.py",
}


@pytest.mark.parametrize(
    ("edits", "text", "lines"),
    [
        (
            plants.of_sql,
            SQL,
            {
                "undefined = 1", "select coalesce(max(a), 0) as b -- where a = 1",
                "select distinct max(a) as b -- where a = 1",
                "select distinct coalesce(min(a), 0) as b -- where a = 1",
                "select distinct coalesce(max(a), 1) as b -- where a = 1", "join u using (k)",
                "where a <= 2 and c = 'd < 3'", "where a > 2 and c = 'd < 3'",
                "where a < 3 and c = 'd < 3'", "where a < 2 and c <> 'd < 3'",
                "where a < 2 or c = 'd < 3'", "where c = 'd < 3'",
            },
        ),
        (
            plants.of_python,
            PYTHON,
            {
                "def check(a: int = (1)) -> bool:", "def check(a: int = -2) -> bool:",
                "    if a != 2:", "    if a == 3:", "    if False:", "    if True:",
                "    return ((sorted(a, reverse=True)) or (not a))", "    return ((not a))",
                "    return ((sorted(a, reverse=True)))", "    return sorted(a) and not a",
                "    return sorted(a, reverse=False) and not a",
                "    return sorted(a, reverse=True) and (a)",
            },
        ),
        (
            plants.of_js,
            SCRIPT,
            {
                line + "; // a < 2"
                for line in (
                    "if (a && b === `${1}`) c = b - 1", "if (!a || b === `${1}`) c = b - 1",
                    "if (!a && b !== `${1}`) c = b - 1", "if (!a && b === `${1}`) c = b + 1",
                    "if (!a && b === `${1}`) c = b - 2",
                )
            },
        ),
    ],
)  # fmt: skip
def test_what_is_planted(edits, text: str, lines: set[str]) -> None:
    """Nothing in comments, texts and what is raised; each time one line differs, or is lost."""
    changed = {line for edit in edits(text) for line in Mutant("", *edit).apply(text).splitlines()}
    assert changed - {*text.splitlines()} == lines


def found(mutants: Iterator[Mutant], count: int, tests: runs.Tests, least: float) -> None:
    """Plant so many; at least this share of them has to be found."""
    outcomes = runs.plant(mutants, count, tests, os.cpu_count() or 1, 60)
    verdicts = [one.verdict for one in outcomes]
    number = verdicts.count("found")
    assert number >= least * (number + verdicts.count("survived")) > 0, runs.report(outcomes)


@pytest.mark.slow
def test_ten_mutants() -> None:
    """Drawn by a fixed seed from files whose tests are known: without a map."""
    files = "|".join(re.escape(file) for file in TESTS)
    mutants = plants.drawn(random.Random(47), AREAS, f"^({files})$")
    found(mutants, 10, lambda mutant: TESTS[mutant.file].split(), 0.8)


@pytest.fixture(scope="module")
def choice() -> Choice:
    """Return the choice of tests by a map, which is recorded if there is none."""
    if not list((ROOT / ".mutants").glob("*")):
        record([])
    return Choice(Reach.load(), 60)


@pytest.mark.long
def test_sixty_mutants(choice: Choice) -> None:
    found(plants.drawn(random.Random(60), AREAS), 60, choice, 0.9)


@pytest.mark.long
def test_a_mutant_of_each_template(choice: Choice) -> None:
    dice = random.Random(1)
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "sql").rglob("*.sql.j2"))
    made = [dice.choice(one) for file in files if (one := plants.mutants(file))]
    found(iter(made), len(made), choice, 0.9)

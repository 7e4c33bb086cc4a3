"""The location of the shared cases, and readers of their golden files.

The folder holds real data with values from established tools; it is beside the checkout and not
part of the repository. Without it, the tests that need it are skipped.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
needs_cases = pytest.mark.skipif(
    not CASES.is_dir(),
    reason="the folder shared/cases with the real data is not beside this checkout",
)
EDGES = "edge_basic"

# Of one run: (measure, query_id) and the value as the tool printed it.
Golden = dict[tuple[str, str], str]


@dataclass(frozen=True)
class Case:
    """A folder of data with one qrels file, its runs, and the golden files of the tools."""

    name: str
    folder: Path
    qrels: Path
    infix: str = ""

    @cached_property
    def runs(self) -> dict[str, Path]:
        return {
            path.name.removesuffix(".gz").removesuffix(".run"): path
            for path in sorted((self.folder / "runs").iterdir())
        }

    @cached_property
    def qrels_name(self) -> str:
        return self.qrels.name.removesuffix(".gz").removesuffix(".txt")

    def golden(self, tool: str, opts: str) -> dict[str, Golden] | None:
        """Read `golden/<tool>[.<qrels>].<opts>.tsv[.gz]` by run; None if there is no such file."""
        return _golden(self.folder / "golden" / f"{tool}{self.infix}.{opts}.tsv")

    def refused(self, tool: str, version: str, opts: str, run: str) -> str | None:
        """Return why the tool gave no value for a run; None if it gave some."""
        for row in rows(self.folder / "golden" / "status.tsv"):
            key = (row["tool"], row["version"], row["qrels"], row["opts"], row["run"])
            if key == (tool, version, self.qrels_name, opts, run):
                return row["message"] or row["status"] if row["status"] == "error" else None
        return "not run"


@cache
def _golden(path: Path) -> dict[str, Golden] | None:
    if found(path) is None:
        return None
    runs: dict[str, Golden] = {}
    with opened(path) as lines:
        next(lines)
        for line in lines:
            run, measure, query_id, value = line.rstrip("\n").split("\t")
            runs.setdefault(run, {})[measure, query_id] = value
    return runs


def found(path: Path) -> Path | None:
    """Return the file or its gzipped twin, whichever exists."""
    packed = path.with_name(path.name + ".gz")
    return path if path.exists() else packed if packed.exists() else None


def opened(path: Path):
    """Open a text file, gzipped or not."""
    there = found(path)
    if there is None:
        raise FileNotFoundError(path)
    if there.suffix == ".gz":
        return gzip.open(there, "rt", encoding="utf-8", newline="")
    return there.open(encoding="utf-8", newline="")


@cache
def rows(path: Path) -> tuple[dict[str, str], ...]:
    """Return the rows of a table of golden values, with their column names."""
    with opened(path) as lines:
        return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def aggregate(case: Case) -> tuple[dict[str, str], ...]:
    """Return the rows of `golden/aggregate.tsv[.gz]`: every mean of every tool and option."""
    return rows(case.folder / "golden" / "aggregate.tsv")


def aggregate_of(case: Case, tool: str, run: str) -> tuple[dict[str, str], ...]:
    """Return those rows of `aggregate` that a tool printed of a run for the case's qrels."""
    table = _by_run(case.folder / "golden" / "aggregate.tsv")
    return tuple(table.get((tool, case.qrels_name, run), ()))


@cache
def _by_run(path: Path) -> dict[tuple[str, str, str], list[dict[str, str]]]:
    made: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows(path):
        made.setdefault((row["tool"], row["qrels"], row["run"]), []).append(row)
    return made


def cases() -> Iterator[Case]:
    """Return every case that has a qrels file, runs and golden files."""
    if not CASES.is_dir():
        return
    for name in ("dl19_passage", "robust03", "mptp2078", "bibtex"):
        folder = CASES / name
        qrels = found(folder / "qrels.txt")
        assert qrels is not None, f"{folder}: no qrels"
        yield Case(name, folder, qrels)
    folder = CASES / "ml_latest_small"
    for stem in ("qrels", "qrels.binary"):
        qrels = found(folder / f"{stem}.txt")
        assert qrels is not None, f"{folder}: no {stem}"
        yield Case(f"ml_latest_small.{stem}", folder, qrels, f".{stem}")
    for folder in sorted((CASES / EDGES).iterdir()):
        if folder.is_dir():
            yield Case(f"{EDGES}/{folder.name}", folder, folder / "qrels.txt")


def case(name: str) -> Case:
    """Return one case by its name."""
    return next(c for c in cases() if c.name == name)

"""A folder of qrels and runs: which of its files is which."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from warehouse.config.settings import BUNDLE_FILES
from warehouse.errors import UsageError, WarehouseError, command
from warehouse.readers import registry, stage
from warehouse.readers.files import nearest_path, open_file
from warehouse.store import database

# Suffixes of tables and texts that DuckDB or Python reads whole; a part of them means nothing.
_WHOLE = (".json", ".parquet", ".pq")
_KINDS: tuple[Literal["qrels", "run"], ...] = ("qrels", "run")
# The words in the name of qrels that decide if the content could be either.
_NAMED = ("qrel", "judg", "truth", "rating", "label")
# The kind of a file of a folder: of ratings, also a part of them.
_Role = Literal["qrels", "run", "training", "ratings", "test"]
# The words in names of files that say which part of some ratings they are.
_PARTS: Mapping[str, _Role | None] = {
    "test": "test", "train": "training", "training": "training",
    "val": None, "valid": None, "validation": None, "dev": None,
}  # fmt: skip


@dataclass(frozen=True)
class Folder:
    """The files of a folder: its qrels and its training set, if it has any, its runs, and the others.

    A folder of BEIR also has the texts of its queries and of its documents.
    """

    qrels: Path | None
    runs: tuple[Path, ...]
    others: tuple[Path, ...]
    training: Path | None = None
    queries: Path | None = None
    corpus: Path | None = None


def look_into(folder: Path, dataset: str) -> Folder:
    """Find the qrels and the runs below a folder, by the beginning of each file.

    Names that begin with a dot are not looked at, and a bundle is not opened. Of ratings, which could be
    anything, those of a test are the qrels, those of training are the training set, and all of them are
    the qrels if there is no test. Raises UsageError if there is no such folder, if
    nothing in it can be loaded, or if it has several qrels. In a folder of BEIR the qrels are the set of
    the test, or the only ones; what is temporary them is looked at as in any folder.
    """
    if not folder.is_dir():
        if folder.exists():
            raise UsageError(f"{folder}: is not a folder")
        raise UsageError(f"{folder}: no such folder{nearest_path(folder, is_folder=True)}")
    splits = sorted((folder / "qrels").glob("*.tsv"))
    texts = [folder / "queries.jsonl", folder / "corpus.jsonl"]
    is_beir = bool(splits) and texts[0].is_file()
    known = {*splits, *texts} if is_beir else set()
    found: dict[_Role | None, list[Path]] = {}
    with contextlib.closing(database.memory()) as con:
        for path in _files(folder):
            if path not in known:
                found.setdefault(_kind(con, path, folder), []).append(path)
    qrels, runs, others, training, ratings, test = (
        found.get(role, []) for role in ("qrels", "run", None, "training", "ratings", "test")
    )
    if test:
        qrels, others = [*qrels, *test], [*others, *ratings]
    else:
        qrels = [*qrels, *ratings]
    if len(training) > 1:
        training, others = [], [*others, *training]
    if is_beir:
        tests = [path for path in splits if path.stem == "test"] or splits
        others = sorted({*others, *splits} - {*tests})
        qrels += tests
    if len(qrels) > 1:
        names = ", ".join(map(str, qrels))
        first = min(qrels, key=lambda path: "test" not in re.findall("[a-z]+", path.name.lower()))
        how = command(shlex.join(["ingest", "qrels", str(first)]), dataset)
        raise UsageError(f"{folder}: has several qrels ({names}): load those that count: {how}")
    if not qrels and not runs:
        raise UsageError(
            f"{folder}: has neither qrels nor runs; what is wrong with a file says: "
            f"{command('ingest run FILE', dataset)}"
        )
    given, corpus = (path if is_beir and path.is_file() else None for path in texts)
    return Folder(
        qrels[0] if qrels else None, tuple(runs), tuple(sorted(others)),
        training[0] if training else None, given, corpus,
    )  # fmt: skip


def attribute_keys(file: Path) -> list[str]:
    """Return the keys of BEIR's queries or documents other than ids and texts, by the first one."""
    with file.open(encoding="utf-8-sig") as lines, contextlib.suppress(ValueError):
        first = json.loads(next(lines, ""))
        return [key for key in first if key not in ("_id", "title", "text")]
    return []


def _files(folder: Path, seen: set[Path] | None = None) -> Iterator[Path]:
    """Yield the files below a folder, and folders that hold one table in parts, by their paths.

    A bundle, which has data that are loaded already, is yielded as a whole. Links are followed, and
    files met a second time are passed over.
    """
    seen = set() if seen is None else seen
    if (real := folder.resolve()) in seen:
        return
    seen.add(real)
    try:
        is_one, paths = registry.is_source(folder), sorted(folder.iterdir())
    except PermissionError:
        return
    if is_one or all((folder / name).is_file() for name in BUNDLE_FILES):
        yield folder
        return
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files(path, seen)
        elif path.is_file():
            yield path


def _kind(con: duckdb.DuckDBPyConnection, path: Path, folder: Path) -> _Role | None:
    """Return what a file is: what its beginning can be read as, and if that is both, by its name.

    The names of the folders that it is in count, too: qrels/test.tsv.
    """
    name = str(path.relative_to(folder))
    if path.is_dir():
        return _fitting(con, path, name)
    with contextlib.suppress(WarehouseError), open_file(path, hashed=False) as file:
        if file.suffix in _WHOLE or len(file.head) == file.size:
            return _fitting(con, Path(file.path), name)
        with tempfile.TemporaryDirectory() as temporary:
            part = Path(temporary) / f"part{file.suffix}"
            part.write_bytes(file.head[: file.head.rfind(b"\n") + 1])
            return _fitting(con, part, name)
    return None


def _fitting(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> _Role | None:
    fits: list[Literal["qrels", "run"]] = []
    value = None
    for kind in _KINDS:
        with contextlib.suppress(WarehouseError):
            value = stage(con, path, kind, hashed=False).value
            fits.append(kind)
    if len(fits) < len(_KINDS):
        return fits[0] if fits else None
    if value is not None and "rating" in value.lower():
        words = re.findall("[a-z]+", Path(name).name.lower())
        for word in words:
            if word in _PARTS:
                return _PARTS[word]
        return "ratings" if "rating" in name.lower() else "run"
    return "qrels" if any(word in name.lower() for word in _NAMED) else "run"

"""Folders that hold one table in parts: of Spark, and of Hugging Face datasets."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, listing
from warehouse.readers import arrow, parquet
from warehouse.readers.files import LocalFile, check_name, open_file
from warehouse.readers.formats import ObjectFormat, Reading, Table
from warehouse.readers.kinds import ColumnNames, Contents, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# What `save_to_disk` of Hugging Face datasets writes next to the parts of one split, and next to splits.
_STATE, _SPLITS = "state.json", "dataset_dict.json"
# A folder of Spark in which a job has not finished.
_UNFINISHED = "_temporary"
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class PartFolder:
    """A folder that holds one table, by its path as given."""

    source: str

    @property
    def path(self) -> Path:
        """Its path."""
        return Path(self.source)


class PartFolders(ObjectFormat):
    """One table in parts: Parquet files as Spark writes them, or a dataset of Hugging Face's."""

    name = "folder"
    contents = ("run", "qrels", "iterations", "training", "attributes", "documents")
    names_columns = True

    def takes(self, source: Any) -> bool:
        """Take the folder that `meant` has found."""
        return isinstance(source, PartFolder)

    def meant(self, source: Any, contents: Contents) -> Any:
        """Return the folder of parts that a path names.

        >>> PartFolders().meant("qrels.txt", "qrels")
        'qrels.txt'
        """
        if not isinstance(source, str | os.PathLike):
            return source
        path = Path(os.fspath(source))
        try:
            is_one = path.is_dir() and (self.is_folder(path) or (path / _SPLITS).exists())
            return PartFolder(str(path)) if is_one else source
        except OSError:
            return source  # reading it says so

    def is_folder(self, folder: Path) -> bool:
        """Whether a folder holds one table; splits, of which one is to be named, are none."""
        names = {entry.name for entry in folder.iterdir()}
        is_of_spark = any(name.startswith("part-") and name.endswith(_PARQUET) for name in names)
        return is_of_spark or not names.isdisjoint({_STATE, _UNFINISHED})

    def source_name(self, source: PartFolder) -> str:
        """Return the path as given."""
        return source.source

    def read(
        self, con: Connection, source: PartFolder, kind: Kind, mapping: ColumnNames
    ) -> Reading:
        """Read the columns of all parts by their types."""
        with _parts(source) as (files, format):
            reading: Reading = format.read_parts(con, source.source, files, kind, mapping)
            return reading

    def read_table(
        self, con: Connection, source: PartFolder, key: str, ids: Collection[str]
    ) -> Table:
        """Read all columns of all parts."""
        with _parts(source) as (files, format):
            types = format.fill_from_parts(con, source.source, files)
            return Table(source.source, self.name, None, types)


@contextlib.contextmanager
def _parts(folder: PartFolder) -> Iterator[tuple[list[LocalFile], Any]]:
    """Yield the parts of a folder, opened, and the module that reads them. Raises InputError."""
    check_name(folder.source)
    names = {entry.name for entry in folder.path.iterdir()}
    if _SPLITS in names:
        splits = _read(folder.path / _SPLITS, "splits")
        raise InputError(
            f"{folder.source}: has the splits {listing(splits)}: name one, as in "
            f"{folder.path / str(splits[0] if splits else 'test')}"
        )
    if _UNFINISHED in names:
        raise InputError(f"{folder.source}: is still being written, as {_UNFINISHED} in it says")
    is_dataset = _STATE in names
    if is_dataset:
        parts = [str(one["filename"]) for one in _read(folder.path / _STATE, "_data_files")]
    else:
        parts = sorted(name for name in names if name.endswith(_PARQUET))
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open_file(folder.path / part, hashed=False)) for part in parts]
        yield files, arrow if is_dataset else parquet


def _read(file: Path, key: str) -> list[Any]:
    """Return a list in a file that Hugging Face's library writes."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))[key]
        if isinstance(found, list) and (key == "splits" or all(map(_is_part, found))):
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{file}: has no list {key!r}, as Hugging Face datasets write it")


def _is_part(one: Any) -> bool:
    """Whether an entry names a file of its folder, and none elsewhere."""
    return Path(one["filename"]).name == str(one["filename"])
